"""Connect Four positions: the columns played from the empty board, 1 to 7, or the stones alone.

Written ``44433``; ``-`` or nothing is the empty board. As bitboards, cell (column, row) is bit
(column - 1) * 7 + row; the top bit of each column of seven stays empty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from solver.checks import integer
from solver.errors import InputError
from solver.wording import quoted

COLUMNS, ROWS = 7, 6
CELLS = COLUMNS * ROWS
COLUMN_BITS = ROWS + 1


def _bit(column: int, row: int) -> int:
    return 1 << ((column - 1) * COLUMN_BITS + row)


def _has_four(stones: int) -> bool:
    for step in (1, COLUMN_BITS - 1, COLUMN_BITS, COLUMN_BITS + 1):
        pairs = stones & stones >> step
        if pairs & pairs >> 2 * step:
            return True
    return False


class Stones(ABC):
    """Where the stones are and who is to move: all that the solver needs to know."""

    mover: int
    """The stones of the side to move; bit = (column - 1) * 7 + row."""
    stones: int
    """All stones, the same way."""

    @property
    def plies(self) -> int:
        """Moves played, that is stones on the board."""
        return self.stones.bit_count()

    @property
    def to_move(self) -> int:
        """0 for the first player, 1 for the second."""
        return self.plies % 2

    @cached_property
    def is_won(self) -> bool:
        """The last move made four: the side to move has lost."""
        return _has_four(self.stones ^ self.mover)

    @property
    def is_over(self) -> bool:
        return self.is_won or self.plies == CELLS

    def legal_moves(self) -> list[int]:
        """The columns with room, in rising order; none once the game is over."""
        if self.is_over:
            return []
        return [c for c in range(1, COLUMNS + 1) if not self.stones & _bit(c, ROWS - 1)]

    def play(self, column: int) -> Self:
        """The position after the side to move plays ``column``."""
        if integer("column", column) not in self.legal_moves():
            raise InputError(f"column {column} is not a legal move in '{self}'")
        return self._after(column)

    @abstractmethod
    def _after(self, column: int) -> Self:
        """The position after a legal move."""


@dataclass(frozen=True)
class Connect4Stones(Stones):
    """A position by its stones alone, where nothing is known of the moves that led to it."""

    mover: int
    stones: int

    def _after(self, column: int) -> Connect4Stones:
        lowest = _bit(column, 0)
        return Connect4Stones(self.stones ^ self.mover, self.stones | (self.stones + lowest))


@dataclass(frozen=True)
class Connect4Position(Stones):
    """A position by the columns (1 to 7) played from the empty board.

    Columns that no game could play are refused: a full one, or one more after the end.
    """

    columns: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Iterable) or isinstance(self.columns, str):
            raise InputError(
                f"columns={self.columns!r}: give numbers, or use Connect4Position.parse('44433')"
            )
        columns = tuple(integer("column", column) for column in self.columns)
        if len(columns) > CELLS:
            raise InputError(f"{len(columns):,} columns: a game has at most {CELLS} moves")
        object.__setattr__(self, "columns", columns)
        stones, mover = 0, 0
        for number, column in enumerate(self.columns, 1):
            if not 1 <= column <= COLUMNS:
                raise InputError(f"column {column} in '{self}': columns are 1 to {COLUMNS}")
            if _has_four(stones ^ mover):
                raise InputError(
                    f"'{self}' continues after the end: move {number - 1} makes four in a row, "
                    f"give at most {number - 1} moves"
                )
            height = self.columns[: number - 1].count(column)
            if height == ROWS:
                raise InputError(
                    f"column {column} is full before move {number} of '{self}': it holds {ROWS}, "
                    "give another column"
                )
            mover, stones = stones ^ mover, stones | _bit(column, height)
        object.__setattr__(self, "mover", mover)
        object.__setattr__(self, "stones", stones)

    @classmethod
    def parse(cls, text: str) -> Connect4Position:
        """Reads ``44433``; ``-`` or nothing is the empty board."""
        if not isinstance(text, str):
            raise InputError(
                f"position {text!r} is not text: give the columns played, as in '44433'"
            )
        played = text.strip()
        played = "" if played == "-" else played
        for letter in played:
            if letter not in "1234567":
                raise InputError(
                    f"{letter!r} in position {quoted(text)} is not a column: give the columns "
                    "played, 1 to 7, for example '44433', or - for the empty board"
                )
        return cls(tuple(map(int, played)))

    def __str__(self) -> str:
        return "".join(map(str, self.columns)) or "-"

    @property
    def mirrored(self) -> Connect4Position:
        """Left and right exchanged."""
        return Connect4Position(tuple(COLUMNS + 1 - column for column in self.columns))

    def pieces(self) -> list[tuple[int, int, int]]:
        """Column (1 to 7), row (1 to 6) and side (0 or 1) of every stone, in order of play."""
        heights = [0] * (COLUMNS + 1)
        pieces = []
        for ply, column in enumerate(self.columns):
            heights[column] += 1
            pieces.append((column, heights[column], ply % 2))
        return pieces

    def _after(self, column: int) -> Connect4Position:
        return Connect4Position((*self.columns, column))
