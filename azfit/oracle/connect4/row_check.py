"""Whether rows that were read could have been labelled: what a checksum cannot tell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from azfit.oracle.connect4.labelling import Rows, Source
from solver.connect4 import CELLS, COLUMN_BITS, COLUMNS, HIGHEST, ROWS
from solver.connect4.book import have_four
from solver.connect4.keys import Bitboards, stone_counts

_BOTTOM = np.uint64(sum(1 << column * COLUMN_BITS for column in range(COLUMNS)))
_BOARD = np.uint64(int(_BOTTOM) * ((1 << ROWS) - 1))


def problem_of(rows: Rows) -> str | None:
    """What is wrong, in words; None if these are positions in play with possible labels."""
    for wrong, what in (
        (_not_in_play(rows), "no position in play"),
        (_impossible_score(rows), "a score that no such position has"),
        (_wrong_moves(rows), "moves that are not right or not legal"),
        (rows.sources > max(Source), "an unknown source"),
        (~((rows.seconds >= 0) & np.isfinite(rows.seconds)), "a time that is not one"),
    ):
        if wrong.any():
            return f"row {int(np.flatnonzero(wrong)[0])} has {what}"
    return None


def _not_in_play(rows: Rows) -> NDArray[np.bool_]:
    """Stones that float or lie beside the board, wrong numbers of them, or a finished game."""
    movers, stones = rows.movers, rows.stones
    inside = (stones & ~_BOARD == 0) & (movers & ~stones == 0)
    on_board = stones & _BOARD
    piled = on_board + _BOTTOM & on_board == 0  # a column of h stones becomes bit h
    plies = stone_counts(stones)
    numbered = (stone_counts(movers) == plies // 2) & (plies < CELLS)
    over = have_four(movers) | have_four(stones ^ movers)
    return np.asarray(~(inside & piled & numbered) | over)


def _impossible_score(rows: Rows) -> NDArray[np.bool_]:
    """The winner has HIGHEST - |score| stones in the end, one of them not played yet."""
    plies, scores = stone_counts(rows.stones), rows.scores.astype(np.int64)
    winners = np.where(scores > 0, plies // 2, (plies + 1) // 2)
    return np.asarray((scores != 0) & (HIGHEST - abs(scores) <= winners))


def _wrong_moves(rows: Rows) -> NDArray[np.bool_]:
    """Some move is best, best moves keep the result, and those that do are legal."""
    keeping, optimal = rows.keeping, rows.optimal
    return np.asarray(
        (optimal == 0) | (optimal & ~keeping != 0) | (keeping & ~_legal(rows.stones) != 0)
    )


def _legal(stones: Bitboards) -> NDArray[np.uint8]:
    """Sets of the columns with room, bit column - 1."""
    legal = np.zeros(len(stones), np.uint8)
    for column in range(COLUMNS):
        top = np.uint64(column * COLUMN_BITS + ROWS - 1)
        legal |= ((~stones >> top & np.uint64(1)) << np.uint64(column)).astype(np.uint8)
    return legal
