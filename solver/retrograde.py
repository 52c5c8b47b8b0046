"""Solving a variant: who wins every position, and in how many plies.

The phases, top to bottom in ``solve``: begin with the finished positions, settle one ply of depth
after another in the full slice until nothing new follows, drop mirror images, fill the slices
with fewer pieces. The loops themselves are C (``csrc/retrograde.h`` has the argument why they are
right); this file allocates, drives, counts and reports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from solver.errors import FadefourError
from solver.exploring import Exploration, Limits, explore_bytes
from solver.index import (
    Int8Array,
    find_node,
    find_nodes,
    node_count,
    slice_bases,
    slice_sizes,
)
from solver.kernels import Crew, ffi, index_of, lib, pointer
from solver.machine import zeroed
from solver.probing import Table
from solver.progress import Progress, Silent
from solver.rules import Position, Rules
from solver.values import IMPOSSIBLE
from solver.wording import counted

READABLE_BEHIND = 16  # the kernels look at sixteen bytes of a row at a time

TILES_AT_A_TIME = 1  # a tile (csrc/tiles.h) is thousands of groups in large variants


@dataclass(frozen=True)
class Solution(Table):
    """A solved variant: a table in memory.

    ``table`` uint8 [nodes]: 0 draw (endless), 255 impossible, else plies to the end + 1 (an even
    number of plies is a loss for the side to move). ``counts`` uint64 [slices, 256] counts them.
    """

    rules: Rules
    table: NDArray[np.uint8]
    counts: NDArray[np.uint64]

    @property
    def name(self) -> str:
        return f"the solution of {self.rules.name}"

    def close(self) -> None:
        """Nothing is open: the memory goes with the last reference to the table."""

    def _byte(self, position: Position) -> int:
        return int(self.table[find_node(position)[0]])

    def _bytes(self, x: Int8Array, y: Int8Array, to_move: Int8Array) -> NDArray[np.uint8]:
        return self.table[find_nodes(x, y, to_move, self.rules)[0]]

    def _explore(self, position: Position, limits: Limits) -> Exploration:
        return explore_bytes(position, limits, self.table, self.name)


class Checkpoints(Protocol):
    """Where a long solve can leave its state between two depths, and find it again."""

    def load(self, full: NDArray[np.uint8]) -> int | None:
        """Fills ``full`` with what was saved; returns the depth settled by then, or None."""

    def save_if_due(self, full: NDArray[np.uint8], depth: int) -> None: ...


def deepest_of(counts: NDArray[np.uint64]) -> int:
    """The deepest result in a histogram [..., 256] of table bytes."""
    decided = np.flatnonzero(counts.reshape(-1, 256).sum(axis=0)[1:IMPOSSIBLE])
    return int(decided[-1]) if len(decided) else 0


def work_bytes(rules: Rules) -> int:
    """Memory that ``solve`` takes: the table, unfolded, and two bytes for every group."""
    groups = slice_sizes(rules)[2 * rules.m - 2]
    return _table_bytes(rules) + 2 * groups


def _unfolded_full(rules: Rules) -> int:
    free = rules.cells - 2 * rules.m + 2
    return slice_sizes(rules)[2 * rules.m - 2] * free * (free - 1)


def _table_bytes(rules: Rules) -> int:
    smaller_slices = slice_bases(rules)[2 * rules.m]
    return smaller_slices + _unfolded_full(rules) + READABLE_BEHIND


def solve(
    rules: Rules,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
) -> Solution:
    """Solves the variant for both players. The result does not depend on ``threads``."""
    progress = progress or Silent()
    with Crew(threads) as crew:
        memory = zeroed(np.uint8, _table_bytes(rules))
        _solve_full_slice(
            rules, memory[slice_bases(rules)[2 * rules.m] :], crew, progress, checkpoints
        )
        table = memory[: node_count(rules) + READABLE_BEHIND]
        fill_slices(rules, table, 2 * rules.m - 1, crew, progress)
        table = table[:-READABLE_BEHIND]
        return Solution(rules, table, count_values(rules, table, crew))


def _solve_full_slice(
    rules: Rules,
    full: NDArray[np.uint8],
    crew: Crew,
    progress: Progress,
    checkpoints: Checkpoints | None,
) -> None:
    groups = slice_sizes(rules)[2 * rules.m - 2]
    fresh = [zeroed(np.uint8, groups) for _ in range(2)]
    index, run = index_of(rules), ffi.new("ff_retrograde *")
    lib.ff_retrograde_init(
        run,
        index,
        pointer(full, np.uint8, _unfolded_full(rules) + READABLE_BEHIND),
        *(pointer(rows, np.uint8, groups) for rows in fresh),
    )

    def one_pass(label: str, kernel: Callable[[Any], int], what: str) -> int:
        progress.begin(label, run.tiles, "tile")
        parts = crew.share(run.tiles, kernel, step=TILES_AT_A_TIME, report=progress.reach)
        if min(parts) < 0:
            raise FadefourError(
                f"{rules}: a forced win takes more than {lib.FF_DEEPEST - 1} plies, "
                "which a byte per position cannot hold"
            )
        progress.end(f"{sum(parts):>14,} {what}")
        return sum(parts)

    saved = checkpoints.load(full[: _unfolded_full(rules)]) if checkpoints else None
    if saved is None:
        depth = 0
        settled = one_pass("finished positions", partial(lib.ff_begin, run), "lost in 0")
    else:
        depth = saved
        settled = one_pass(
            f"resume at depth {depth}",
            partial(lib.ff_resume, run, depth),
            "positions of that depth",
        )
    while settled:
        result = "won" if depth % 2 == 0 else "lost"
        settled = one_pass(
            f"depth {depth + 1}",
            partial(lib.ff_propagate, run, depth),
            f"{result} in {depth + 1}",
        )
        depth += 1
        if checkpoints and settled:
            checkpoints.save_if_due(full[: _unfolded_full(rules)], depth)
    lib.ff_fold(run)


def fill_slices(
    rules: Rules, table: NDArray[np.uint8], first: int, crew: Crew, progress: Progress
) -> None:
    """Decides the slices with ``first`` pieces and fewer, of a table that holds those above as far
    as slice ``first`` + 1, and READABLE_BEHIND bytes behind it."""
    index, sizes = index_of(rules), slice_sizes(rules)
    start = pointer(table, np.uint8, slice_bases(rules)[first + 2] + READABLE_BEHIND)
    for pieces in range(first, 0, -1):
        tiles = lib.ff_fill_tiles(index, pieces)
        progress.begin(counted(pieces, "piece"), tiles, "tile")
        parts = crew.share(
            tiles,
            partial(lib.ff_fill_slice, index, start, pieces),
            step=TILES_AT_A_TIME,
            report=progress.reach,
        )
        progress.end(f"{sum(parts):>14,} of {sizes[pieces]:,} decided")
    lib.ff_fill_root(index, start)


def count_values(
    rules: Rules, table: NDArray[np.uint8], crew: Crew, last: int | None = None
) -> NDArray[np.uint64]:
    """How often each byte occurs in each slice: uint64 [slices, 256]. ``last``: the last slice that
    the table holds, if that is not the full one."""
    bases, sizes = slice_bases(rules), slice_sizes(rules)
    sizes = sizes if last is None else sizes[: last + 1]
    counts = np.zeros((len(sizes), 256), np.uint64)
    for pieces, size in enumerate(sizes):
        values = pointer(table[bases[pieces] :], np.uint8, size)
        histogram = pointer(counts[pieces], np.uint64, 256)
        crew.share(
            size,
            partial(lib.ff_count_values, values, histogram),
            step=1 << 20,
        )
    return counts
