"""Connect Four, 7 columns of 6, solved exactly, one position at a time.

A score speaks for the side to move: 0 is a draw; positive, the mover wins, and it is 22 minus the
stones the winner will have played when the game ends; negative, the same for a loss.
``csrc/connect4_solver.h`` has the method and why it is right.
"""

from __future__ import annotations

import threading
from typing import NamedTuple, Self

import numpy as np

from solver.checks import integer, integer_in
from solver.connect4.position import CELLS, COLUMNS, Connect4Position
from solver.errors import FadefourError, InputError
from solver.kernels import ffi, lib, pointer
from solver.machine import zeroed

HIGHEST = 22
"""No score reaches it: a win takes four stones, so 18 is the highest."""

MEGABYTES = 64
"""Default size of the table. More helps little, see bench/log.md."""

# Nodes between two chances for Ctrl-C, about a tenth of a second.
SLICE = 1 << 20


class Connect4Value(NamedTuple):
    """What a position is worth to the side to move."""

    result: str  # "win", "draw" or "loss"
    plies: int  # to the end under best play; for a draw, to the full board
    score: int


class Connect4Move(NamedTuple):
    """A legal column and its worth; plies count from the position, the move included."""

    column: int
    result: str
    plies: int
    score: int


def plies_to_end(score: int, plies: int) -> int:
    """Moves from a position with ``plies`` stones to the end that its score promises."""
    if score == 0:
        return CELLS - plies
    winners = plies // 2 if score > 0 else (plies + 1) // 2  # stones that the winner has
    to_play = HIGHEST - abs(score) - winners
    return 2 * to_play - 1 if score > 0 else 2 * to_play


def value_of_score(score: int, plies: int) -> Connect4Value:
    """The score of a position with ``plies`` stones, in words and plies."""
    result = "win" if score > 0 else "loss" if score < 0 else "draw"
    return Connect4Value(result, plies_to_end(score, plies), score)


class Connect4Solver:
    """Exact scores, with a table of bounds that all questions to this solver share.

    Use as a context manager, or call ``close``; the table goes with it. Threads may share a solver,
    and then wait for each other; give each its own to search at once. Ctrl-C stops a search within
    a fraction of a second, and the solver stays usable.
    """

    def __init__(self, megabytes: int = MEGABYTES, *, slice_nodes: int = SLICE) -> None:
        """megabytes: the size of the table, rounded down to a power of two."""
        megabytes = integer_in("megabytes", megabytes, 1, 1 << 17)
        self._slice = integer_in("slice_nodes", slice_nodes, 1, 1 << 62)
        bits = ((megabytes << 20) // (8 * lib.FF_C4_WAYS)).bit_length() - 1
        self._table = zeroed(np.uint64, lib.FF_C4_WAYS << bits)
        self._solver = ffi.new("ff_connect4_solver *")
        table = pointer(self._table, np.uint64, lib.FF_C4_WAYS << bits)
        if lib.ff_connect4_init(self._solver, table, bits) != lib.FF_OK:
            raise InputError(f"megabytes={megabytes}: the kernel refuses this size")
        self._keeps_table_alive: object | None = table
        self._lock = threading.Lock()
        self._stopped = False
        self.nodes = 0
        """Positions opened by all searches so far."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the table's memory back."""
        with self._lock:
            self._solver = self._keeps_table_alive = None
            self._table = np.empty(0, np.uint64)

    def stop(self) -> None:
        """Ends a search of another thread within a fraction of a second: it raises FadefourError.
        Later searches do not begin."""
        self._stopped = True

    def forget(self) -> None:
        """Empties the table: the next search is a cold one."""
        with self._lock:
            self._table[:] = 0

    def search(self, mover: int, stones: int, low: int = -HIGHEST, high: int = HIGHEST) -> int:
        """The score of a position given as bitboards (bit = (column - 1) * 7 + row).

        Searched between ``low`` and ``high`` only, which is faster: for a score outside them the
        nearer of the two is returned. ``low=-1, high=1`` asks for win, draw or loss.
        """
        with self._lock:
            if self._stopped:
                raise FadefourError("the search was stopped")
            if self._solver is None:
                raise InputError("this Connect4Solver is closed: make another one")
            mover, stones = integer("mover", mover), integer("stones", stones)
            low, high = integer("low", low), integer("high", high)
            in_range = min(mover, stones) >= 0 and max(mover, stones) < 1 << 64
            in_range = in_range and max(abs(low), abs(high)) <= HIGHEST
            if not in_range or lib.ff_connect4_begin(self._solver, mover, stones, low, high):
                raise InputError(
                    f"mover={mover:#x}, stones={stones:#x} between {low} and {high}: "
                    "not a Connect Four position, or bounds in the wrong order"
                )
            try:
                while lib.ff_connect4_run(self._solver, self._slice) == lib.FF_C4_UNFINISHED:
                    if self._stopped:  # signals are heard here, by the main thread
                        raise FadefourError("the search was stopped")
            finally:
                self.nodes += self._solver.nodes
            return int(self._solver.low)

    def score(self, position: Connect4Position) -> int:
        """The exact score for the side to move."""
        return self.search(position.mover, position.stones)

    def value(self, position: Connect4Position) -> Connect4Value:
        """Result, plies to the end and score for the side to move."""
        return value_of_score(self.score(position), position.plies)

    def plies(self, position: Connect4Position) -> int:
        """Plies to the end under best play; for a draw, the cells left."""
        return self.value(position).plies

    def move_scores(self, position: Connect4Position) -> dict[int, int]:
        """The exact score of every legal column, for the side to move; none once it is over."""
        scores = {}
        for column in sorted(position.legal_moves(), key=_central_first):
            after = position.play(column)
            scores[column] = -self.search(after.mover, after.stones)
        return dict(sorted(scores.items()))

    def moves(self, position: Connect4Position) -> list[Connect4Move]:
        """Every legal column with its worth, best first, central columns first among equals."""
        scores = self.move_scores(position)
        ordered = sorted(scores, key=lambda column: (-scores[column], _central_first(column)))
        return [
            Connect4Move(column, *value_of_score(scores[column], position.plies))
            for column in ordered
        ]

    def best_line(self, position: Connect4Position) -> list[int]:
        """Best play of both sides to the end, the most central of the best columns each time."""
        columns: list[int] = []
        score = self.score(position)
        while not position.is_over:
            column = self._move_reaching(position, score)
            columns.append(column)
            position, score = position.play(column), -score
        return columns

    def _move_reaching(self, position: Connect4Position, score: int) -> int:
        """The most central column that keeps this score, which is the position's."""
        legal = sorted(position.legal_moves(), key=_central_first)
        for column in legal[:-1]:
            after = position.play(column)
            if -self.search(after.mover, after.stones, -score, 1 - score) == score:
                return column
        return legal[-1]


def _central_first(column: int) -> tuple[int, int]:
    return abs(column - (COLUMNS + 1) // 2), column
