"""Gomoku positions as people write them: the moves from the empty board, ``h8 g7 h9``.

``-`` or nothing is the empty board. Free-style: five or more in a row win, nothing is forbidden.
A cell is row * size + column; ``a1`` is cell 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solver.checks import integer, integer_in
from solver.errors import InputError
from solver.wording import quoted

SMALLEST, LARGEST = 5, 19
TO_WIN = 5

_COLUMNS = "abcdefghijklmnopqrs"


def cell_name(cell: int, size: int) -> str:
    """As in ``h8``: the column's letter, the row's number."""
    return f"{_COLUMNS[cell % size]}{cell // size + 1}"


def has_five(cells: NDArray[np.int8], size: int, last: int) -> bool:
    """Is the stone on this cell one of five or more in a row? cells: int8 [size * size]."""
    owner = cells[last]
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        length = 1
        for sign in (1, -1):
            row, column = divmod(last, size)
            while True:
                row, column = row + sign * down, column + sign * right
                inside = 0 <= row < size and 0 <= column < size
                if not inside or cells[row * size + column] != owner:
                    break
                length += 1
        if length >= TO_WIN:
            return True
    return False


@dataclass(frozen=True)
class GomokuPosition:
    """A position by the cells played from the empty board.

    Moves that no game could have are refused: on a cell that is taken, or after the end.
    """

    moves: tuple[int, ...] = ()
    size: int = 15

    def __post_init__(self) -> None:
        size = check_size(self.size)
        moves = tuple(integer("cell", cell) for cell in self.moves)
        object.__setattr__(self, "moves", moves)
        position = _built((), size)
        for cell in moves:
            position = position.play(cell)

    @classmethod
    def parse(cls, text: str, size: int = 15) -> GomokuPosition:
        """Reads ``h8 g7 h9``."""
        if not isinstance(text, str):
            raise InputError(f"position {text!r} is not text: give moves, as in 'h8 g7'")
        words = [] if text.strip() == "-" else text.split()
        cells = check_size(size) ** 2
        if len(words) > cells:
            raise InputError(f"{len(words):,} moves: a board of {size} lines has {cells} cells")
        return cls(tuple(_cell(word, n, size) for n, word in enumerate(words, 1)), size)

    def __str__(self) -> str:
        return " ".join(map(self.name_of, self.moves)) or "-"

    def name_of(self, cell: int) -> str:
        """A cell of this board, as in ``h8``."""
        return cell_name(cell, self.size)

    @property
    def cells(self) -> NDArray[np.int8]:
        """int8 [size * size]: +1 first player, -1 second, 0 empty."""
        cells = np.zeros(self.size**2, np.int8)
        cells[list(self.moves[::2])] = 1
        cells[list(self.moves[1::2])] = -1
        return cells

    @property
    def to_move(self) -> int:
        """0 for the first player, 1 for the second."""
        return len(self.moves) % 2

    @cached_property
    def is_won(self) -> bool:
        """The last move made five: the side to move has lost."""
        if len(self.moves) < 2 * TO_WIN - 1:
            return False
        return has_five(self.cells, self.size, self.moves[-1])

    @property
    def is_over(self) -> bool:
        return self.is_won or len(self.moves) == self.size**2

    def legal_moves(self) -> list[int]:
        """The empty cells, in rising order; none once the game is over."""
        if self.is_over:
            return []
        return sorted(set(range(self.size**2)).difference(self.moves))

    def play(self, cell: int) -> GomokuPosition:
        """The position after the side to move plays on a cell."""
        cell = integer("cell", cell)
        if not 0 <= cell < self.size**2:
            raise InputError(f"cell {cell}: cells are 0 to {self.size**2 - 1}")
        which = f"move {len(self.moves) + 1}, {self.name_of(cell)}"
        if self.is_over:
            raise InputError(f"{which}, comes after the end: give at most {len(self.moves)} moves")
        if cell in self.moves:
            raise InputError(f"{which}, is taken: play on an empty cell")
        return _built((*self.moves, cell), self.size)

    def images(self) -> list[GomokuPosition]:
        """Under the symmetries of the board, in the order of csrc/game.h, the identity first."""
        return [
            GomokuPosition(tuple(_image(t, cell, self.size) for cell in self.moves), self.size)
            for t in range(8)
        ]


def _built(moves: tuple[int, ...], size: int) -> GomokuPosition:
    """A position whose moves are known to be those of a game."""
    position = object.__new__(GomokuPosition)
    position.__dict__.update(moves=moves, size=size)
    return position


def _image(transform: int, cell: int, size: int) -> int:
    row, column = divmod(cell, size)
    if transform >= 4:
        row, column = column, row
    for _ in range(transform % 4):
        row, column = column, size - 1 - row
    return row * size + column


def check_size(size: int) -> int:
    return integer_in("lines of a Gomoku board", size, SMALLEST, LARGEST)


def _cell(word: str, number: int, size: int) -> int:
    match = re.fullmatch(r"([a-z])([0-9]{1,2})", word.lower(), re.ASCII)
    if match:
        column, row = ord(match[1]) - ord("a"), int(match[2]) - 1
        if column < size and 0 <= row < size:
            return row * size + column
    last = cell_name(size**2 - 1, size)
    raise InputError(f"move {number}, {quoted(word)}, is not a cell: cells are a1 to {last}")
