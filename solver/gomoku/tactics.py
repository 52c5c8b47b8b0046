"""Forced wins in Gomoku, proved by the kernel: by fours, or by fours and threes.

    with GomokuTactics(15) as tactics:
        tactics.fours(position.cells, attacker=0)     # Attack(answer='win', plies=7, ...)

``csrc/gomoku_tactics.h`` says what a four, a three and a defence are, and why an answer is right.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from solver.checks import integer_in
from solver.errors import InputError
from solver.gomoku.position import check_size
from solver.kernels import ffi, lib, pointer
from solver.machine import zeroed

Cells = NDArray[np.int8]
"""int8 [size * size]: +1 first player, -1 second, 0 empty."""

MEGABYTES = 16
"""Default size of the table."""

PLIES = 11
"""Default bound of wins by fours and threes."""

NODES = 1_000_000
"""Default limit of a search: about a second."""

MOST_PLIES = 399
MOST_NODES = 1 << 40

# Nodes between two chances for Ctrl-C, about a tenth of a second.
SLICE = 1 << 17


class Answer(StrEnum):
    """What is known of an attack; all but UNKNOWN are proved."""

    WIN = "win"
    NONE = "none"
    """No such moves win, however many."""
    NOT_WITHIN = "not within the bound"
    UNKNOWN = "unknown"
    """The limit of nodes was reached first."""


@dataclass(frozen=True)
class Attack:
    """Does a side win by force?"""

    answer: Answer
    nodes: int
    """Moves tried to find out."""
    plies: int | None = None
    """Of a win: to the five, against the longest defence."""
    move: int | None = None
    """Of a win with the attacker to move: the first move."""

    @property
    def wins(self) -> bool:
        return self.answer is Answer.WIN

    @property
    def is_known(self) -> bool:
        return self.answer is not Answer.UNKNOWN


class GomokuTactics:
    """Answers questions about boards of one size, with a table that they share.

    Use as a context manager, or call ``close``; the table goes with it. Threads may share one, and
    then wait for each other. Ctrl-C stops a search within a fraction of a second, and what is
    stopped leaves nothing wrong behind.
    """

    def __init__(self, size: int = 15, megabytes: int = MEGABYTES) -> None:
        """megabytes: the size of the table, rounded down to a power of two."""
        self.size = check_size(size)
        megabytes = integer_in("megabytes", megabytes, 1, 1 << 14)
        words = lib.FF_GOMOKU_ENTRY_WORDS
        bits = ((megabytes << 20) // (8 * words)).bit_length() - 1
        self._table = zeroed(np.uint64, words << bits)
        self._tactics: Any = ffi.new("ff_gomoku_tactics *")
        table = pointer(self._table, np.uint64, words << bits)
        if lib.ff_gomoku_tactics_init(self._tactics, self.size, table, bits) != lib.FF_OK:
            raise InputError(f"megabytes={megabytes}: the kernel refuses this size")
        self._keeps_table_alive: object | None = table
        self._lock = threading.Lock()
        self.nodes = 0
        """Moves tried by all searches so far."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the table's memory back."""
        with self._lock:
            self._tactics = self._keeps_table_alive = None
            self._table = np.empty(0, np.uint64)

    def fours(
        self, cells: Cells, attacker: int, *, attacker_moves: bool = True, most_nodes: int = NODES
    ) -> Attack:
        """Does the attacker (0 or 1) win by continuous fours?

        attacker_moves: False asks whether it wins whatever the other side, to move, does. Never
        ``NOT_WITHIN``: all sequences of fours are searched.
        """
        return self._ask(cells, attacker, attacker_moves, False, MOST_PLIES, most_nodes)

    def threes(
        self,
        cells: Cells,
        attacker: int,
        *,
        attacker_moves: bool = True,
        plies: int = PLIES,
        most_nodes: int = NODES,
    ) -> Attack:
        """Does the attacker win by fours and threes within this many plies?"""
        plies = integer_in("plies", plies, 1, MOST_PLIES)
        return self._ask(cells, attacker, attacker_moves, True, plies, most_nodes)

    def completing_cell(self, cells: Cells, side: int) -> int | None:
        """A cell on which the side makes five, if there is one."""
        return self._ask(cells, side, True, False, 1, NODES).move

    def _ask(
        self,
        cells: Cells,
        attacker: int,
        attacker_moves: bool,
        threes: bool,
        plies: int,
        most_nodes: int,
    ) -> Attack:
        left = integer_in("most_nodes", most_nodes, 1, MOST_NODES)
        bound = (plies + 1) // 2 if attacker_moves else max(1, plies // 2)
        with self._lock:
            tactics = self._tactics
            if tactics is None:
                raise InputError("this GomokuTactics is closed: make another one")
            attacker = integer_in("attacker", attacker, 0, 1)
            board = pointer(cells, np.int8, self.size**2)
            if cells.size != self.size**2:
                raise InputError(f"{cells.size} cells: a board of {self.size} has {self.size**2}")
            if lib.ff_gomoku_tactics_begin(tactics, board, attacker, attacker_moves, threes, bound):
                raise InputError("the game is over, or cells are not 1, -1 and 0")
            try:
                while left > 0:  # signals are heard here
                    if lib.ff_gomoku_tactics_run(tactics, min(left, SLICE)) == lib.FF_OK:
                        break
                    left = most_nodes - tactics.nodes
                return self._answer(attacker_moves)
            finally:
                self.nodes += tactics.nodes

    def _answer(self, attacker_moves: bool) -> Attack:
        tactics = self._tactics
        answer = {
            lib.FF_GOMOKU_WIN: Answer.WIN,
            lib.FF_GOMOKU_NONE: Answer.NONE,
            lib.FF_GOMOKU_NOT_WITHIN: Answer.NOT_WITHIN,
        }.get(tactics.answer, Answer.UNKNOWN)
        if answer is not Answer.WIN:
            return Attack(answer, tactics.nodes)
        plies = 2 * tactics.limit - (1 if attacker_moves else 0)
        return Attack(answer, tactics.nodes, plies, tactics.best if attacker_moves else None)
