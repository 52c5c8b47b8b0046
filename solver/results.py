"""Solving a variant for results alone: who wins every position, in less than a bit a position.

``solve_results`` drives the passes of ``csrc/results.h``, which has the argument why they are
right: wins in one ply first, then two plies at a time, until nothing new follows; then the slices
with fewer pieces. Depths are counted as they arise but not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from solver.errors import FadefourError
from solver.index import slice_bases, slice_sizes
from solver.kernels import Crew, ffi, index_of, lib, pointer
from solver.machine import zeroed
from solver.progress import Progress, Silent
from solver.retrograde import READABLE_BEHIND, TILES_AT_A_TIME, count_values, fill_slices
from solver.rules import Rules
from solver.values import UNDECIDED

GROUP_ROOM: int = 32  # readable bytes behind the groups (csrc/winning.h)
# Columns that fit into a word, and its bytes; a larger group has a byte a column, and one more.
WORDS = ((6, 4), (8, 8))

BLOCKS_AT_A_TIME = 256
POSITIONS_AT_A_TIME = 1 << 16


@dataclass(frozen=True)
class ResultsSolution:
    """A variant solved for results.

    ``states`` uint8 [groups * bytes of a group]: the columns of the full slice (csrc/winning.h).
    ``small`` uint8 [nodes of slices 0 .. 2m - 2]: table bytes, with plies. ``counts`` uint64
    [slices, 256]: how often each table byte occurs, as in ``Solution``.
    """

    rules: Rules
    states: NDArray[np.uint8]
    small: NDArray[np.uint8]
    counts: NDArray[np.uint64]


class Passes(Protocol):
    """How the full slice is solved elsewhere than on threads of this machine."""

    def run(
        self, state: SolveState, checkpoints: ResultsCheckpoints | None, progress: Progress
    ) -> None:
        """From the last checkpoint, or the beginning, to the end, in ``state``."""


class ResultsCheckpoints(Protocol):
    """Where a long solve can leave its state between two passes, and find it again."""

    def load(self, state: SolveState) -> int | None:
        """Fills the arrays with what was saved; returns the depth settled by then, or None."""

    def save_if_due(self, state: SolveState, depth: int) -> None: ...


@dataclass(frozen=True)
class SolveState:
    """All that a solve knows between two passes.

    ``states`` as in ``ResultsSolution``; ``before`` uint8: table bytes of slice 2m - 2;
    ``counts`` uint64 [2, 256]: those of slices 2m - 1 and 2m.
    """

    states: NDArray[np.uint8]
    before: NDArray[np.uint8]
    counts: NDArray[np.uint64]


def group_bytes(rules: Rules) -> int:
    """What a group takes while it is being solved."""
    columns = rules.cells - 2 * rules.m + 2
    return next((size for most, size in WORDS if columns <= most), columns + 1)


def results_work_bytes(rules: Rules) -> int:
    """Memory that ``solve_results`` takes."""
    groups = slice_sizes(rules)[2 * rules.m - 2]
    small = slice_bases(rules)[2 * rules.m - 1]
    return groups * group_bytes(rules) + small + 2 * block_count(rules)


def solve_results(
    rules: Rules,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    checkpoints: ResultsCheckpoints | None = None,
    passes: Passes | None = None,
) -> ResultsSolution:
    """Solves the variant for both players. The result does not depend on ``threads``, nor on
    ``passes``, by which the full slice is solved elsewhere."""
    progress = progress or Silent()
    groups, bases = slice_sizes(rules)[2 * rules.m - 2], slice_bases(rules)
    states = zeroed(np.uint8, groups * group_bytes(rules) + GROUP_ROOM)
    small = zeroed(np.uint8, bases[2 * rules.m - 1] + READABLE_BEHIND)
    state = SolveState(
        states[:-GROUP_ROOM],
        small[bases[2 * rules.m - 2] : -READABLE_BEHIND],
        np.zeros((2, 256), np.uint64),
    )
    with Crew(threads) as crew:
        if passes is None:
            _Passes(rules, state, crew, progress).run(checkpoints)
        else:
            passes.run(state, checkpoints, progress)
        fill_slices(rules, small, 2 * rules.m - 3, crew, progress)
        small = small[:-READABLE_BEHIND]
        counts = np.zeros((2 * rules.m + 1, 256), np.uint64)
        counts[: 2 * rules.m - 1] = count_values(rules, small, crew, 2 * rules.m - 2)
    counts[2 * rules.m - 1 :] = state.counts
    for slice_counts, size in zip(counts, slice_sizes(rules), strict=True):
        slice_counts[UNDECIDED] += np.uint64(size - int(slice_counts.sum()))
    return ResultsSolution(rules, state.states, small, counts)


def block_count(rules: Rules) -> int:
    """How many blocks the groups of a variant have (csrc/blocks.h)."""
    return int(lib.ff_results_blocks(index_of(rules)))


class ResultsKernel:
    """The C side of a solve, on these arrays. ``solve`` is valid as long as this object lives."""

    def __init__(
        self,
        rules: Rules,
        states: NDArray[np.uint8],
        before: NDArray[np.uint8],
        first_block: int = 0,
    ) -> None:
        self.solve = ffi.new("ff_results_solve *")
        lines = np.zeros(1 << 16, np.uint16)
        self.marks = zeroed(np.uint8, 2 * block_count(rules))
        self._kept = (
            pointer(states, np.uint8, 0),
            pointer(before, np.uint8, 0),
            pointer(self.marks, np.uint8, 0),
            pointer(lines, np.uint16, 1 << 16),
        )
        lib.ff_results_init(self.solve, index_of(rules), *self._kept, first_block)

    def settle_every_block(self) -> None:
        """Forgets which blocks there are to settle, so that all are looked at: for states that come
        from elsewhere."""
        self.marks[:] = 1


class _Passes:
    """The passes over the full slice."""

    def __init__(self, rules: Rules, state: SolveState, crew: Crew, progress: Progress) -> None:
        self._rules, self._state, self._crew, self._progress = rules, state, crew, progress
        self._kernel = ResultsKernel(rules, state.states, state.before)
        self._solve = self._kernel.solve
        self._counts = ffi.cast("ff_results_counts *", pointer(state.counts, np.uint64, 512))

    def run(self, checkpoints: ResultsCheckpoints | None) -> None:
        depth = checkpoints.load(self._state) if checkpoints else None
        if depth is None:
            depth, fresh = 0, self._begin()
        else:
            self._progress.begin(f"resume at depth {depth}", 1, "pass")
            self._kernel.settle_every_block()
            self._progress.end(self._note(depth + 2, "lost"))
            fresh = 1
        while fresh:
            depth += 2
            self._share(
                f"depth {depth}",
                partial(lib.ff_results_settle, self._solve, depth),
                partial(self._note, depth, "lost"),
                self._solve.tiles,
                TILES_AT_A_TIME,
                "tile",
            )
            fresh = self._commit(depth)
            if checkpoints and fresh:
                checkpoints.save_if_due(self._state, depth)

    def _begin(self) -> int:
        """What the rules alone say, and what follows; how many groups there are to settle."""
        self._share(
            "finished positions",
            partial(lib.ff_results_begin, self._solve, self._counts),
            partial(self._note, 0, "lost"),
        )
        before = self._state.before
        self._share(
            f"{2 * self._rules.m - 2} pieces, won at once",
            partial(lib.ff_results_begin_before, self._solve),
            lambda: f"{len(before):>14,} positions",
            len(before),
            POSITIONS_AT_A_TIME,
            "position",
        )
        return self._commit(0)

    def _note(self, plies: int, result: str) -> str:
        """How many full positions end in this many plies."""
        return f"{int(self._state.counts[1, plies + 1]):>14,} {result} in {plies}"

    def _commit(self, depth: int) -> int:
        """Ends the pass of this depth; how many groups there are to settle next."""
        fresh = self._share(
            f"depth {depth + 1}",
            partial(lib.ff_results_commit, self._solve, depth, self._counts),
            partial(self._note, depth + 1, "won"),
        )
        if min(fresh) < 0:
            raise FadefourError(
                f"{self._rules}: a forced win takes more than {lib.FF_DEEPEST - 1} plies, "
                "which is more than is counted"
            )
        return sum(fresh)

    def _share(
        self,
        label: str,
        kernel: Callable[[Any], Any],
        note: Callable[[], str],
        items: int | None = None,
        step: int = BLOCKS_AT_A_TIME,
        unit: str = "block",
    ) -> list[Any]:
        items = int(self._solve.blocks) if items is None else items
        self._progress.begin(label, items, unit)
        parts = self._crew.share(items, kernel, step=step, report=self._progress.reach)
        self._progress.end(note())
        return parts
