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
from solver.index import Int8Array, impossible_message
from solver.rules import Position, Rules
from solver.values import (
    FOR_THE_OPPONENT,
    IMPOSSIBLE,
    PLIES_OF_BYTE,
    RESULT_OF_BYTE,
    MoveValue,
    Value,
    best_first,
    value_of_byte,
)

Default = TypeVar("Default")


class Table(ABC):
    """Exact results of one variant. Use as a context manager, or call ``close``."""

    rules: Rules

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
        return value_of_byte(byte)

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

    def moves(self, position: Position) -> list[MoveValue]:
        """Every legal move with its value, best first: soonest win, draw, latest loss."""
        self._check_rules(position)
        if position.is_impossible:
            raise InputError(impossible_message(position))
        moves = []
        for cell in position.legal_moves():
            result, plies = self.probe(position.play(cell))
            further = None if plies is None else plies + 1
            moves.append(MoveValue(cell, FOR_THE_OPPONENT[result], further))
        return sorted(moves, key=best_first)  # a stable sort: the lowest cell among equals

    def best_moves(self, position: Position) -> list[int]:
        """All moves as good as the best one, in rising order of cell; none once it is over."""
        moves = self.moves(position)
        return [move.cell for move in moves if best_first(move) == best_first(moves[0])]

    def line(self, position: Position, longest: int = 64) -> list[int]:
        """Best play by both sides from here: to the end, or ``longest`` plies of a draw."""
        self._check_rules(position)
        cells: list[int] = []
        while len(cells) < longest and position.legal_moves():
            cells.append(self.best_moves(position)[0])
            position = position.play(cells[-1])
        return cells

    def probe_many(
        self, x: Int8Array, y: Int8Array, to_move: Int8Array
    ) -> tuple[Int8Array, NDArray[np.int16]]:
        """Values of many positions: x, y int8 [N, m] (-1 for no piece), to_move int8 [N] (0 = X).

        Returns results int8 [N] for the side to move (+1, 0, -1) and plies int16 [N] (-1 for a
        draw). Raises InputError if one of them is not a position or cannot occur.
        """
        values = self._bytes(x, y, to_move)
        if len(values) and int(values.max()) == IMPOSSIBLE:
            raise CorruptTableError(
                f"{self.name} has no value for a position that has one: solve it again"
            )
        return RESULT_OF_BYTE[values], PLIES_OF_BYTE[values]

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
