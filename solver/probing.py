"""Asking for values: one position or many, every move of a position, the best line.

``Table`` is what everything that knows a variant's results has in common: the files that
``solver.table`` opens, and a ``Solution`` in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from solver.errors import CorruptTableError, InputError
from solver.exploring import LONGEST_LINE, Exploration, Limits, explore_by_probing
from solver.index import Int8Array, impossible_message
from solver.rules import Position, Rules
from solver.values import (
    IMPOSSIBLE,
    PLIES_OF_BYTE,
    PLIES_OF_RESULT,
    RESULT_OF_BYTE,
    MoveValue,
    Value,
    best_first,
    result_of_byte,
    value_of_byte,
)

Default = TypeVar("Default")


class Table(ABC):
    """Exact results of one variant. Use as a context manager, or call ``close``."""

    rules: Rules

    has_plies = True
    """Whether it knows in how many plies a game ends, not only who wins."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call this table."""

    @abstractmethod
    def _byte(self, position: Position) -> int:
        """The table byte of a position of these rules."""

    @abstractmethod
    def _bytes(self, x: Int8Array, y: Int8Array, to_move: Int8Array) -> NDArray[np.uint8]:
        """The table bytes of many positions, which are checked here."""

    def _explore(self, position: Position, limits: Limits) -> Exploration:
        """Of a position of these rules that can occur."""
        return explore_by_probing(self, position, limits)

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def probe(self, position: Position) -> Value:
        """The value for the side to move. Raises InputError for a position without one."""
        self._check_rules(position)
        byte = self._byte(position)
        if byte == IMPOSSIBLE:
            raise CorruptTableError(f"{self.name} has no value for '{position}': solve it again")
        return value_of_byte(byte) if self.has_plies else result_of_byte(byte)

    def get(self, position: Position, default: Default) -> Value | Default:
        """``probe``, or the default for a position that this table has no value for: one that
        cannot occur, or one of another variant.

        Everything else that ``probe`` raises is raised here too: a damaged table
        (CorruptTableError), a closed one, something that is not a position (InputError).
        """
        _check_is_position(position)
        if position.rules != self.rules or position.is_impossible:
            return default
        return self.probe(position)

    def explore(self, position: Position, limits: Limits) -> Exploration:
        """The value of a position, its moves, and a line of best play, in one go."""
        self._check_rules(position)
        if position.is_impossible:
            raise InputError(impossible_message(position))
        return self._explore(position, limits)

    def moves(self, position: Position) -> list[MoveValue]:
        """Every legal move with its value, best first: soonest win, draw, latest loss; of equal
        ones the one with most traps first, then the lowest cell."""
        return self.explore(position, Limits(0, 0)).moves

    def best_moves(self, position: Position) -> list[int]:
        """All moves as good as the best one, in rising order of cell; none once it is over."""
        moves = self.moves(position)
        return sorted(move.cell for move in moves if best_first(move) == best_first(moves[0]))

    def line(self, position: Position, longest: int = 64) -> list[int]:
        """Best play by both sides from here: to the end, or ``longest`` plies of a draw. Without
        plies nobody knows which win is the way to the end: then at most a move that wins at once,
        unless the position is a draw."""
        plies = min(longest, LONGEST_LINE)
        cells = self.explore(position, Limits(plies, plies)).line
        if plies == longest or len(cells) < plies:
            return cells
        for cell in cells:  # a draw: there is always more of it
            position = position.play(cell)
        return [*cells, *self.line(position, longest - plies)]

    def probe_many(
        self, x: Int8Array, y: Int8Array, to_move: Int8Array
    ) -> tuple[Int8Array, NDArray[np.int16]]:
        """Values of many positions: x, y int8 [N, m] (-1 for no piece), to_move int8 [N] (0 = X).

        Returns results int8 [N] for the side to move (+1, 0, -1) and plies int16 [N] (-1 for a
        draw, and where the table has no plies). Raises InputError if one of them is not a position
        or cannot occur.
        """
        values = self.bytes_of(x, y, to_move)
        plies = PLIES_OF_BYTE if self.has_plies else PLIES_OF_RESULT
        return RESULT_OF_BYTE[values], plies[values]

    def bytes_of(self, x: Int8Array, y: Int8Array, to_move: Int8Array) -> NDArray[np.uint8]:
        """As ``probe_many``, but as table bytes (``solver.values``), uint8 [N]."""
        values = self._bytes(x, y, to_move)
        if len(values) and int(values.max()) == IMPOSSIBLE:
            raise CorruptTableError(
                f"{self.name} has no value for a position that has one: solve it again"
            )
        return values

    def _check_rules(self, position: Position) -> None:
        _check_is_position(position)
        if position.rules != self.rules:
            raise InputError(
                f"'{position}' is a position of {position.rules}, but the table is for {self.rules}"
            )


def _check_is_position(position: object) -> None:
    if not isinstance(position, Position):
        raise InputError(
            f"{position!r} is not a Position: give one, for example Position.parse('a1b2/c3 y')"
        )
