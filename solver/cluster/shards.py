"""Shards: actors whose memory is the table of a solve for results, on the machines of a cluster.

What they say is asked for here; which pass they do is decided in ``solver.cluster.sharded_solve``.
A shard that dies is not replaced: the call that waits for it raises Ray's error.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from solver.cluster.connection import Cluster, Machine
from solver.index import Uint64Array
from solver.results import block_count, group_bytes
from solver.results_parts import GroupPart, dealt, first_groups
from solver.rules import Rules
from solver.wording import counted

MESSAGES = 1 << 20  # in a batch: 8 MB
CHUNK = 16 << 20  # bytes of a shard's state that travel at a time
CHUNKS = 2  # under way
WAIT_SECONDS = 2.0  # for an answer, before the cluster is looked at
START_SECONDS = 10.0  # after which shards that have not started are worth a line


# ---- on the shard's machine ----------------------------------------------------------


class Shard:
    """The groups of a range of blocks."""

    def __init__(self, rules: Rules, blocks: tuple[int, int], bounds: Uint64Array, own: int):
        """bounds: the first group of each shard, and behind the last; own: which one this is."""
        self._part = GroupPart(rules, *blocks)
        self._bounds, self._own = bounds, own
        self._depth = 0
        self._batches: Iterator[Uint64Array] = iter(())

    def node(self) -> str:
        """Ray's name for its machine."""
        return str(ray.get_runtime_context().get_node_id())

    def begin(self) -> int:
        """What the rules alone say; how many groups there are to settle."""
        self._part.begin()
        return self._part.commit(0)

    def load(self, at: int, states: NDArray[np.uint8]) -> None:
        self._part.states[at : at + len(states)] = states

    def take_up(self, counts: NDArray[np.uint64] | None) -> None:
        """All states are loaded. counts: those of all shards, for one of them."""
        if counts is not None:
            self._part.counts[:] = counts
        self._part.take_up()

    def settle(self, depth: int) -> None:
        """Begins the pass of this depth."""
        self._depth, self._batches = depth, self._part.settle(MESSAGES)

    def next_batch(self) -> tuple[Any, ...]:
        """How many messages each shard gets of the next batch, and the master (None: no batch is
        left); then the messages themselves. What is for this shard is applied at once."""
        batch = next(self._batches, None)
        shards = len(self._bounds) - 1
        if batch is None:
            return (None, *[None] * (shards + 1))
        parts = dealt(batch, self._bounds)
        self._part.apply(self._depth, parts[self._own])
        parts[self._own] = parts[self._own][:0]
        return ([len(part) for part in parts], *parts)

    def apply(self, depth: int, messages: Uint64Array) -> None:
        self._part.apply(depth, messages)

    def commit(self, depth: int) -> int:
        return self._part.commit(depth)

    def read(self, at: int, count: int) -> NDArray[np.uint8]:
        return self._part.states[at : at + count]

    def counts(self) -> NDArray[np.uint64]:
        return self._part.counts


# ---- in the master -------------------------------------------------------------------


def places_for(machines: list[Machine], count: int | None) -> list[Machine]:
    """The machine of each shard: one for each processor, in turn, at most ``count``."""
    most = max((machine.cpus for machine in machines), default=0)
    turns = [machine for turn in range(most) for machine in machines if turn < machine.cpus]
    return turns[:count]


class Shards:
    """The shards of a variant, from their start to their end."""

    def __init__(
        self,
        rules: Rules,
        cluster: Cluster,
        count: int | None,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        """count: shards; None: one for each processor of the cluster. report: gets a line if they
        are long in coming up."""
        self._rules, self._cluster = rules, cluster
        while not (places := places_for(cluster.machines(report), count)):
            time.sleep(WAIT_SECONDS)  # until a machine joins
        blocks = block_count(rules)
        places = places[:blocks]
        cuts = [blocks * i // len(places) for i in range(len(places) + 1)]
        self._bounds = first_groups(rules, cuts)
        self.machines = places
        """Of each shard."""
        self.actors: list[Any] = []
        for i, place in enumerate(places):
            # On the machine that it was counted for; if that has gone, Ray says so.
            remote = ray.remote(
                num_cpus=1,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(place.node, soft=False),
            )(Shard)
            self.actors.append(remote.remote(rules, (cuts[i], cuts[i + 1]), self._bounds, i))
        try:
            self._wait_until_ready(report)
        except BaseException:
            self.end()
            raise

    def __len__(self) -> int:
        return len(self.actors)

    def _wait_until_ready(self, report: Callable[[str], None]) -> None:
        waiting = [actor.node.remote() for actor in self.actors]
        began, is_said = time.monotonic(), False
        while waiting:
            ready, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=WAIT_SECONDS)
            ray.get(ready)
            self._cluster.check_there()
            if waiting and not is_said and time.monotonic() - began >= START_SECONDS:
                is_said = True
                report(
                    f"cluster: waiting for {len(waiting)} of {counted(len(self), 'shard')} to "
                    "start: does other work hold the processors?"
                )

    def end(self) -> None:
        if not self._cluster.is_lost:
            for actor in self.actors:
                ray.kill(actor)
        self.actors = []

    def answer(self, call: Any) -> Any:
        """What was asked for; an error if the cluster is gone."""
        while not ray.wait([call], timeout=WAIT_SECONDS)[0]:
            self._cluster.check_there()
        return ray.get(call)

    def all(self, method: str, *arguments: Any) -> list[Any]:
        """What every shard says."""
        calls = [getattr(actor, method).remote(*arguments) for actor in self.actors]
        return [self.answer(call) for call in calls]

    def counts(self) -> NDArray[np.uint64]:
        return np.asarray(sum(self.all("counts")))

    # ---- their states -------------------------------------------------------------

    def ranges(self) -> list[tuple[Any, int, int]]:
        """Each shard, and which bytes of the whole it has."""
        ends = [int(bound) * group_bytes(self._rules) for bound in self._bounds]
        return list(zip(self.actors, ends, ends[1:], strict=False))

    def collect(self, states: NDArray[np.uint8]) -> None:
        """The states of all shards, into this array. A shard ends when its states are here, so that
        on one machine they are not in memory twice."""
        for actor, first, end in self.ranges():
            under_way: deque[tuple[int, Any]] = deque()
            places = deque(range(first, end, CHUNK))
            while places or under_way:
                while places and len(under_way) < CHUNKS:
                    at = places.popleft()
                    under_way.append((at, actor.read.remote(at - first, min(CHUNK, end - at))))
                at, call = under_way.popleft()
                chunk = self.answer(call)
                states[at : at + len(chunk)] = chunk
            ray.kill(actor)


class ShardedStates:
    """The states of all shards as an array of bytes, as far as writing and reading a checkpoint
    needs one: slices are copied from the shards and to them, and never all are here."""

    def __init__(self, shards: Shards) -> None:
        self._shards, self._ranges = shards, shards.ranges()
        self._loading: deque[Any] = deque()

    def __len__(self) -> int:
        return self._ranges[-1][2]

    def _pieces(self, where: slice) -> Iterator[tuple[Any, int, int, int]]:
        """Which shards have this slice: (shard, place in the slice, place in the shard, bytes)."""
        begin, stop, _ = where.indices(len(self))
        for actor, first, end in self._ranges:
            at, count = max(begin, first), min(stop, end) - max(begin, first)
            if count > 0:
                yield actor, at - begin, at - first, count

    def __getitem__(self, where: slice) -> NDArray[np.uint8]:
        calls = [actor.read.remote(at, count) for actor, _, at, count in self._pieces(where)]
        return np.concatenate([self._shards.answer(call) for call in calls])

    def __setitem__(self, where: slice, states: NDArray[np.uint8]) -> None:
        for actor, place, at, count in self._pieces(where):
            self._loading.append(actor.load.remote(at, states[place : place + count]))
        while len(self._loading) > CHUNKS:
            self._shards.answer(self._loading.popleft())

    def finish(self) -> None:
        """What was assigned has arrived."""
        while self._loading:
            self._shards.answer(self._loading.popleft())
