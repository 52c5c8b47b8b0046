"""The game D(n, m, k): rules and positions, in plain Python.

Cells are numbered ``row * n + column``; ``a1`` is cell 0, columns are letters, rows are numbers,
row 1 is drawn at the bottom. A position is written ``X-queue/Y-queue side``, oldest piece first,
``-`` for no pieces: ``a1b2c3d4/a2a3b4 y``, ``-/- x``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from solver.checks import integer
from solver.errors import InputError
from solver.wording import quoted

Side = Literal["x", "y"]

_POSITION = re.compile(r"\s*([^/\s]+)/([^/\s]+)\s+([xyXY])\s*")
_CELLS = re.compile(r"[a-zA-Z][0-9]+|.", re.DOTALL)

SMALLEST_N, LARGEST_N, LARGEST_M = 3, 5, 6


@dataclass(frozen=True)
class Rules:
    """An n x n board, at most m pieces each, k in a row wins.

    The cell of one's own oldest piece is still occupied when the new piece is placed.
    """

    n: int = 4
    m: int = 4
    k: int = 4

    def __post_init__(self) -> None:
        for name in ("n", "m", "k"):
            object.__setattr__(self, name, integer(name, getattr(self, name)))
        if not SMALLEST_N <= self.n <= LARGEST_N:
            raise InputError(f"n={self.n}: the board side n must be {SMALLEST_N} to {LARGEST_N}")
        most = min(LARGEST_M, (self.n**2 - 1) // 2)
        if not 2 <= self.m <= most:
            raise InputError(
                f"m={self.m}: on a {self.n}x{self.n} board each player has 2 to {most} pieces"
            )
        if not 2 <= self.k <= self.n:
            raise InputError(f"k={self.k}: the line length k must be 2 to n={self.n}")

    @property
    def cells(self) -> int:
        return self.n * self.n

    @property
    def tag(self) -> str:
        """The rules as every file's manifest states them."""
        return (
            f"drop-oldest n={self.n} m={self.m} k={self.k}; "
            "place on an empty cell, then the oldest beyond m leaves, then lines count; "
            "endless play is a draw"
        )

    @property
    def name(self) -> str:
        """The part of a file name that tells variants apart; k is left out where k = n."""
        suffix = "" if self.k == self.n else f"_k{self.k}"
        return f"{self.n}x{self.n}_m{self.m}{suffix}"

    @property
    def lines(self) -> tuple[frozenset[int], ...]:
        return _lines(self.n, self.k)

    @property
    def cell_names(self) -> tuple[str, ...]:
        """Of all cells, in order: ``a1``, ``b1`` ..."""
        return _names(self.n)

    def cell_name(self, cell: int) -> str:
        return f"{chr(ord('a') + cell % self.n)}{cell // self.n + 1}"

    def cell(self, name: str) -> int:
        """The number of a named cell, ``a1`` = 0."""
        known = _cells_by_name(self.n).get(name)
        if known is not None:
            return known
        match = re.fullmatch(r"([a-z])([0-9]{1,3})", name.lower(), re.ASCII)  # A1, a01
        if match:
            column, row = ord(match[1]) - ord("a"), int(match[2]) - 1
            if column < self.n and 0 <= row < self.n:
                return row * self.n + column
        corner = self.cell_name(self.cells - 1)
        raise InputError(f"cell {quoted(name)} is not on the board: cells are a1 to {corner}")

    def has_line(self, pieces: Iterable[int]) -> bool:
        owned = 0
        for cell in pieces:
            owned |= 1 << cell
        for line in _line_masks(self.n, self.k):  # noqa: SIM110 - twice as fast as any()
            if owned & line == line:
                return True
        return False

    def start(self) -> Position:
        return Position((), (), "x", self)


@cache
def _lines(n: int, k: int) -> tuple[frozenset[int], ...]:
    lines = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for row in range(n):
            for column in range(n):
                cells = [(row + down * i, column + right * i) for i in range(k)]
                if all(0 <= r < n and 0 <= c < n for r, c in cells):
                    lines.append(frozenset(r * n + c for r, c in cells))
    return tuple(lines)


@cache
def _line_masks(n: int, k: int) -> tuple[int, ...]:
    """The same as bit masks: bit c for cell c."""
    return tuple(sum(1 << cell for cell in line) for line in _lines(n, k))


@cache
def _names(n: int) -> tuple[str, ...]:
    return tuple(Rules(n, 2, 2).cell_name(cell) for cell in range(n * n))


@cache
def _cells_by_name(n: int) -> dict[str, int]:
    return {name: cell for cell, name in enumerate(_names(n))}


@dataclass(frozen=True)
class Position:
    """A position: both queues, oldest piece first, and the side to move, ``"x"`` or ``"y"``.

    Queues may be given as cell numbers or as text (``"a1b2"``). A position of sizes that play
    can never give is refused; one in which the side to move has a line can be written down but
    has no value (see ``is_impossible``).
    """

    x: tuple[int, ...]
    y: tuple[int, ...]
    to_move: Side
    rules: Rules = field(default=Rules())

    def __post_init__(self) -> None:
        if not isinstance(self.rules, Rules):
            raise InputError(f"rules={self.rules!r}: give Rules, for example Rules(4, 4, 4)")
        for side in ("x", "y"):
            object.__setattr__(self, side, _queue(getattr(self, side), self.rules))
        _check(self)

    @classmethod
    def parse(cls, text: str, rules: Rules | None = None) -> Position:
        """Reads ``X-queue/Y-queue side``, for example ``a1b2c3d4/a2a3b4 y``."""
        match = isinstance(text, str) and _POSITION.fullmatch(text)
        if not match:
            raise InputError(
                f"position {quoted(text)} is not of the form 'X-queue/Y-queue side', oldest piece "
                "first, - for no pieces: for example 'a1b2/c3 y' or '-/- x'"
            )
        side: Side = "x" if match[3] in "xX" else "y"
        x, y = ("" if queue == "-" else queue for queue in match.groups()[:2])
        return cls(x, y, side, rules or Rules())  # type: ignore[arg-type]

    def __str__(self) -> str:
        return self.written_with(_names(self.rules.n))

    def written_with(self, names: Sequence[str]) -> str:
        """In notation, with these names for the cells: those of an image write the image."""
        x = "".join([names[cell] for cell in self.x]) or "-"
        y = "".join([names[cell] for cell in self.y]) or "-"
        return f"{x}/{y} {self.to_move}"

    @property
    def mover(self) -> tuple[int, ...]:
        return self.x if self.to_move == "x" else self.y

    @property
    def opponent(self) -> tuple[int, ...]:
        return self.y if self.to_move == "x" else self.x

    @property
    def is_impossible(self) -> bool:
        """The side to move has a line: play ended before this could arise."""
        return self.rules.has_line(self.mover)

    @property
    def is_over(self) -> bool:
        """The previous mover has a line: the side to move has lost."""
        return not self.is_impossible and self.rules.has_line(self.opponent)

    @property
    def swapped(self) -> Position | None:
        """The same position with the colours exchanged; None where the rules have no such
        position, that is unless both sides have all their pieces on the board."""
        if not len(self.x) == len(self.y) == self.rules.m:
            return None
        return Position(self.y, self.x, "y" if self.to_move == "x" else "x", self.rules)

    def legal_moves(self) -> list[int]:
        """The empty cells, in rising order; none once the game is over."""
        if self.rules.has_line(self.opponent) or self.is_impossible:
            return []
        occupied = {*self.x, *self.y}
        return [cell for cell in range(self.rules.cells) if cell not in occupied]

    def play(self, cell: int | str) -> Position:
        """The position after the side to move places a piece on a cell, by number or by name."""
        place = self.rules.cell(cell) if isinstance(cell, str) else integer("cell", cell)
        if place not in self.legal_moves():
            name = self.rules.cell_name(place) if 0 <= place < self.rules.cells else str(place)
            raise InputError(f"{name} is not a legal move in '{self}'")
        queue = (*self.mover, place)[-self.rules.m :]
        if self.to_move == "x":
            return Position(queue, self.y, "y", self.rules)
        return Position(self.x, queue, "x", self.rules)

    def written_after(self) -> dict[int, str]:
        """The notation of the position after each legal move, by cell in rising order."""
        names, moves = _names(self.rules.n), self.legal_moves()
        kept = self.mover[1:] if len(self.mover) == self.rules.m else self.mover
        stays = "".join([names[cell] for cell in kept])
        other = "".join([names[cell] for cell in self.opponent]) or "-"
        if self.to_move == "x":
            return {cell: f"{stays}{names[cell]}/{other} y" for cell in moves}
        return {cell: f"{other}/{stays}{names[cell]} x" for cell in moves}


def _queue(given: str | Iterable[int], rules: Rules) -> tuple[int, ...]:
    if isinstance(given, str):
        names = _CELLS.findall(given)
        return tuple(rules.cell(name) for name in names)
    if not isinstance(given, Iterable):
        raise InputError(f"queue {given!r}: give cells, as numbers or as text such as 'a1b2'")
    if type(given) is tuple and all(type(cell) is int for cell in given):
        return given
    return tuple(integer("cell", cell) for cell in given)


def _check(position: Position) -> None:
    rules, x, y = position.rules, position.x, position.y
    if position.to_move not in ("x", "y"):
        raise InputError(f"side to move {position.to_move!r}: it is 'x' or 'y'")
    cells = (*x, *y)
    for cell in cells:
        if not 0 <= cell < rules.cells:
            raise InputError(f"cell {cell} is not on the board: cells are 0 to {rules.cells - 1}")
    if len(set(cells)) < len(cells):
        twice = next(cell for cell in cells if cells.count(cell) > 1)
        raise InputError(
            f"two pieces on {rules.cell_name(twice)} in {quoted(str(position))}: "
            "give each piece a cell of its own"
        )
    for owner, queue in (("X", x), ("Y", y)):
        if len(queue) > rules.m:
            raise InputError(
                f"{owner} has {len(queue)} pieces in {quoted(str(position))}: with m={rules.m} "
                f"at most {rules.m} are on the board"
            )
    full = len(x) == len(y) == rules.m
    if not full and len(x) - len(y) != (position.to_move == "y"):
        raise InputError(
            f"X has {len(x)} and Y {len(y)} pieces in {quoted(str(position))}: X moves when the "
            "numbers are equal, Y when X has one more, and either side only when both have "
            f"m={rules.m}"
        )
