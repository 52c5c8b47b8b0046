"""The passes of a solve for results, over the memories of many machines.

The groups are dealt over shards, actors whose memory is the table. What a shard settles becomes
messages for the shards that own the groups they speak of; these go from machine to machine through
Ray's object store, a few batches at a time, and the master only says who gets what. There is a
barrier before and after the end of each depth. Positions with 2m - 2 pieces stay with the master.

A checkpoint is that of the plain solve; it is copied from the shards to the disk, and from the disk
to the shards, a few megabytes at a time. When a shard dies, new ones begin from the last one, or
with the first depth if there is none, as many as the cluster has processors then. A checkpoint
appears whole or not at all, so a shard that dies while one is written leaves the one before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import ray
from numpy.typing import NDArray

from solver.cluster.connection import Cluster
from solver.cluster.shards import WAIT_SECONDS, ShardedStates, Shards
from solver.errors import FadefourError, NoRoomError
from solver.progress import Progress
from solver.results import ResultsCheckpoints, SolveState
from solver.results_parts import SmallPart
from solver.rules import Rules
from solver.wording import counted

BATCHES = 2  # of a shard that are not applied everywhere yet
RESTART_SECONDS = 8.0  # until Ray has noticed which machine is gone; more after the next failure
FAILURES_IN_A_ROW = 3  # without getting any further: no accident


@dataclass
class Traffic:
    """What went over the network, and what went wrong."""

    sent: int = 0
    """Messages of 8 bytes from one shard to another or to the master."""
    restarts: int = 0


class ShardedPasses:
    """The passes over the full slice, as ``solve_results`` takes them."""

    def __init__(
        self,
        rules: Rules,
        cluster: Cluster,
        count: int | None = None,
        report: Callable[[str], None] = lambda line: None,
        counts_only: bool = False,
    ) -> None:
        """count: shards at most; None: one for each processor of the cluster. report: gets a line
        when shards start, wait or die. counts_only: the states stay where they are, and those of
        the solution are all zero."""
        self._rules, self._cluster, self._count = rules, cluster, count
        self._report, self._counts_only = report, counts_only
        self._shards: Shards | None = None
        self._furthest = 0
        self.traffic = Traffic()

    def run(
        self, state: SolveState, checkpoints: ResultsCheckpoints | None, progress: Progress
    ) -> None:
        """From the last checkpoint, or the beginning, to the end, in ``state``."""
        failures = 0
        try:
            while True:
                furthest = self._furthest
                try:
                    self._solve(state, checkpoints, progress)
                    return
                except ray.exceptions.RayError as error:
                    _raise_what_is_no_accident(error)
                    self._cluster.check_there()
                    failures = 1 if self._furthest > furthest else failures + 1
                    self.traffic.restarts += 1
                    if failures >= FAILURES_IN_A_ROW:
                        raise _explained(error) from error
                    self._report(f"cluster: a shard is lost ({_reason(error)}): starting again")
                    self._end()
                    time.sleep(failures * RESTART_SECONDS)
        finally:
            self._end()

    def _end(self) -> None:
        if self._shards is not None:
            self._shards.end()
            self._shards = None

    def _solve(
        self, state: SolveState, checkpoints: ResultsCheckpoints | None, progress: Progress
    ) -> None:
        """The same, as long as no shard dies."""
        shards = self._shards = Shards(self._rules, self._cluster, self._count, self._report)
        machines = len({machine.address for machine in shards.machines})
        self._report(f"cluster: {counted(len(shards), 'shard')} on {counted(machines, 'machine')}")
        # What a checkpoint is of: the arrays of the master, but the states of the shards.
        theirs = ShardedStates(shards)
        copied = SolveState(cast(NDArray[np.uint8], theirs), state.before, state.counts)
        small = SmallPart(self._rules, state.before)
        depth = checkpoints.load(copied) if checkpoints else None
        if depth is None:
            small.begin()
            depth, fresh = 0, sum(shards.all("begin"))
        else:
            theirs.finish()
            fresh = 1
            for actor, counts in zip(shards.actors, _for_the_first(state.counts), strict=False):
                shards.answer(actor.take_up.remote(counts))
        while fresh:
            depth += 2
            progress.begin(f"depth {depth}", len(shards), "shard")
            self._settle(shards, depth, small, progress)
            fresh = sum(shards.all("commit", depth))
            state.counts[:] = shards.counts()
            progress.end(f"{int(state.counts[1, depth + 1]):>14,} lost in {depth}")
            self._furthest = max(self._furthest, depth)
            if checkpoints and fresh:
                checkpoints.save_if_due(copied, depth)
        if not self._counts_only:
            shards.collect(state.states)

    def _settle(self, shards: Shards, depth: int, small: SmallPart, progress: Progress) -> None:
        """All messages of this depth, from the shards that settle to those that are spoken of."""
        shards.all("settle", depth)
        count, ended = len(shards), 0
        under_way: dict[Any, int] = {}
        """By call: the shard whose batch it is about."""
        open_batches, messages = [0] * count, {}

        def ask(shard: int) -> None:
            call = shards.actors[shard].next_batch.options(num_returns=count + 2)
            head, *parts = call.remote()
            under_way[head], messages[head] = shard, parts

        for shard in range(count):
            ask(shard)
        is_asked = [True] * count
        while under_way:
            ready, _ = ray.wait(list(under_way), num_returns=1, timeout=WAIT_SECONDS)
            if not ready:
                self._cluster.check_there()
            for call in ready:
                shard, answer = under_way.pop(call), ray.get(call)
                if call not in messages:  # a batch has been applied
                    open_batches[shard] -= 1
                else:
                    *parts, positions = messages.pop(call)
                    is_asked[shard] = False
                    if answer is None:
                        ended += 1
                        is_asked[shard] = True  # nothing more to ask for
                        progress.reach(ended)
                        continue
                    self.traffic.sent += sum(answer)
                    for other, (size, part) in enumerate(zip(answer, parts, strict=False)):
                        if size:
                            applied = shards.actors[other].apply.remote(depth, part)
                            under_way[applied] = shard
                            open_batches[shard] += 1
                    if answer[-1]:
                        small.apply(depth, ray.get(positions))
                if not is_asked[shard] and open_batches[shard] < BATCHES * max(1, count - 1):
                    is_asked[shard] = True
                    ask(shard)


def _for_the_first(counts: NDArray[np.uint64]) -> Iterator[NDArray[np.uint64] | None]:
    """The sum over all shards counts, so the first one is given all."""
    yield counts
    while True:
        yield None


FULL = (ray.exceptions.ObjectStoreFullError, ray.exceptions.OutOfDiskError)


def _raise_what_is_no_accident(error: Exception) -> None:
    """What a shard raises itself it would raise again."""
    if isinstance(error, ray.exceptions.RayTaskError) and not isinstance(error, FULL):
        if isinstance(error.cause, FadefourError):
            raise error.cause from None
        raise RuntimeError(f"in a shard:\n{error}") from None


def _reason(error: Exception) -> str:
    """In a line; of what a shard raised, without Ray's picture of where."""
    cause = getattr(error, "cause", None) or error
    lines = str(cause).strip().splitlines() or [type(cause).__name__]
    return lines[0].strip().rstrip(".:")


def _explained(error: Exception) -> FadefourError:
    if isinstance(error, FULL):
        return NoRoomError(
            f"Ray's object store on a machine of the cluster is full, and its disk too "
            f"({_reason(error)}): start Ray with a larger --object-store-memory"
        )
    return FadefourError(
        f"shards of the solve died {FAILURES_IN_A_ROW} times in a row ({_reason(error)}): is there "
        "enough memory on the machines of the cluster?"
    )
