"""What labels say about the positions after a move: their result, and often how soon they end.

A label names the moves that keep the result and those that also keep the score, so it speaks for
the positions that they lead to:

    the mover     a move that keeps the result      any other move
    wins          the opponent loses                unknown: a draw or a loss
    draws         a draw                            the opponent wins
    loses         the opponent wins                 there is none

and after an optimal move one ply less is left. So a label that took a search gives several values
for the price of one. Which moves are right there is not known: these positions teach values only.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from azfit.oracle.connect4.labelling import Rows
from solver.connect4 import CELLS, COLUMN_BITS, COLUMNS, ROWS
from solver.connect4.book import have_four
from solver.connect4.keys import Bitboards, keys_of, stone_counts

UNKNOWN_PLIES = -1


@dataclass(frozen=True)
class Successors:
    """Positions whose result is known; all arrays have one entry for each."""

    movers: Bitboards
    stones: Bitboards
    keys: Bitboards
    results: NDArray[np.int8]
    """1 the side to move wins, 0 a draw, -1 it loses."""
    plies_left: NDArray[np.int64]
    """To the end, UNKNOWN_PLIES where the label does not say it."""
    parents: NDArray[np.intp]
    """The labelled positions that they follow, by row."""

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def joined(cls, parts: list[Successors]) -> Successors:
        names = ("movers", "stones", "keys", "results", "plies_left", "parents")
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))

    def chosen(self, rows: NDArray[np.intp]) -> Successors:
        names = ("movers", "stones", "keys", "results", "plies_left", "parents")
        return Successors(*(getattr(self, name)[rows] for name in names))


def successors_of(
    rows: Rows, plies_left: NDArray[np.int64], excluded: Collection[int] = ()
) -> Successors:
    """Each once, mirror images too, and none that is labelled itself, over, or excluded by its
    key. Where several labels speak for a position, one that knows the plies comes first."""
    whole = Successors.joined([_after(rows, plies_left, column) for column in range(COLUMNS)])
    knows_plies_first = np.argsort(whole.plies_left == UNKNOWN_PLIES, kind="stable")
    ordered = whole.chosen(knows_plies_first)
    once = ordered.chosen(np.sort(np.unique(ordered.keys, return_index=True)[1]))
    barred = np.array(sorted(excluded), np.uint64)
    new = ~np.isin(once.keys, keys_of(rows.movers, rows.stones)) & ~np.isin(once.keys, barred)
    return once.chosen(np.flatnonzero(new))


def _after(rows: Rows, plies_left: NDArray[np.int64], column: int) -> Successors:
    """After a move in this column (0 to 6), where there is one and its result follows."""
    bottom = np.uint64(1 << column * COLUMN_BITS)
    cells = np.uint64(((1 << ROWS) - 1) << column * COLUMN_BITS)
    placed = (rows.stones + bottom) & cells
    bit = np.uint8(1 << column)
    keeps, is_optimal = rows.keeping & bit != 0, rows.optimal & bit != 0
    stones, own = rows.stones | placed, rows.movers | placed
    goes_on = (placed != 0) & ~have_four(own) & (stone_counts(stones) < CELLS)
    known = goes_on & (keeps | (rows.scores == 0))
    parents = np.flatnonzero(known)
    results = np.where(keeps, -np.sign(rows.scores), 1).astype(np.int8)[parents]
    left = np.where(is_optimal, plies_left - 1, UNKNOWN_PLIES)[parents]
    movers, stones = (rows.stones ^ rows.movers)[parents], stones[parents]
    return Successors(movers, stones, keys_of(movers, stones), results, left, parents)
