"""Positions whose value is known, but not which moves are right: they teach values only.

Most follow from labels. A label names the moves that keep the result and those that also keep the
score, so it speaks for the positions that they lead to:

    the mover     a move that keeps the result      any other move
    wins          the opponent loses                unknown: a draw or a loss
    draws         a draw                            the opponent wins
    loses         the opponent wins                 there is none

and after an optimal move one ply less is left. So a label that took a search gives several values
for the price of one. The others are those of the last ply of the opening book, which knows scores
and not what follows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from azfit.oracle.connect4.labelling import Rows
from solver.connect4 import CELLS, COLUMNS, plies_to_end
from solver.connect4.book import Book, have_four, placed_in, positions_of
from solver.connect4.keys import Bitboards, keys_of, stone_counts

UNKNOWN_PLIES = -1
NO_PARENT = -1


@dataclass(frozen=True)
class Valued:
    """Positions with their values; all arrays have one entry for each."""

    movers: Bitboards
    stones: Bitboards
    keys: Bitboards
    results: NDArray[np.int8]
    """1 the side to move wins, 0 a draw, -1 it loses."""
    plies_left: NDArray[np.int64]
    """To the end, or UNKNOWN_PLIES."""
    parents: NDArray[np.intp]
    """The labelled positions that they follow, by row, or NO_PARENT."""

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def joined(cls, parts: list[Valued]) -> Valued:
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in _NAMES))

    def chosen(self, rows: NDArray[np.intp]) -> Valued:
        return Valued(*(getattr(self, name)[rows] for name in _NAMES))

    def new_to(self, rows: Rows, excluded: Collection[int]) -> Valued:
        """Each once, mirror images too, and none that is labelled itself or excluded by its key.
        Of several values of a position, one that knows the plies counts."""
        knows_plies_first = np.argsort(self.plies_left == UNKNOWN_PLIES, kind="stable")
        ordered = self.chosen(knows_plies_first)
        once = ordered.chosen(np.sort(np.unique(ordered.keys, return_index=True)[1]))
        barred = np.array(sorted(excluded), np.uint64)
        new = ~np.isin(once.keys, keys_of(rows.movers, rows.stones)) & ~np.isin(once.keys, barred)
        return once.chosen(np.flatnonzero(new))


_NAMES = ("movers", "stones", "keys", "results", "plies_left", "parents")


def in_book(book: Book) -> Valued:
    """The last ply of which it has every score."""
    contents = book.contents
    ply = contents.complete_plies
    positions, scores = positions_of(ply), contents.scores[ply]
    left = np.array([plies_to_end(score, ply) for score in scores.tolist()], np.int64)
    parents = np.full(len(scores), NO_PARENT, np.intp)
    results = np.sign(scores)
    return Valued(positions.movers, positions.stones, positions.keys, results, left, parents)


def implied_by(rows: Rows, plies_left: NDArray[np.int64]) -> Valued:
    """The positions after a move whose result follows from a label; games that are over left
    out."""
    return Valued.joined([_after(rows, plies_left, column) for column in range(COLUMNS)])


def _after(rows: Rows, plies_left: NDArray[np.int64], column: int) -> Valued:
    """After a move in this column (0 to 6), where there is one and its result follows."""
    placed = placed_in(column, rows.stones)
    bit = np.uint8(1 << column)
    keeps, is_optimal = rows.keeping & bit != 0, rows.optimal & bit != 0
    stones, own = rows.stones | placed, rows.movers | placed
    goes_on = (placed != 0) & ~have_four(own) & (stone_counts(stones) < CELLS)
    known = goes_on & (keeps | (rows.scores == 0))
    parents = np.flatnonzero(known)
    results = np.where(keeps, -np.sign(rows.scores), 1).astype(np.int8)[parents]
    left = np.where(is_optimal, plies_left - 1, UNKNOWN_PLIES)[parents]
    movers, stones = (rows.stones ^ rows.movers)[parents], stones[parents]
    return Valued(movers, stones, keys_of(movers, stones), results, left, parents)
