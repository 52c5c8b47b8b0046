"""Players and networks whose answers tests know, and positions up to symmetry in plain Python."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from azfit.players import Answers, Player, TablePlayer
from solver.playout import Positions
from solver.rules import Position, Rules
from solver.table import Table

Queue = tuple[int, ...]
Key = tuple[Queue, Queue]
Floats = NDArray[np.float32]


@cache
def symmetries(n: int) -> list[list[int]]:
    """Where each of the eight symmetries carries each cell."""
    found = []
    for flip in (False, True):
        for turns in range(4):
            cells = []
            for row in range(n):
                for column in range(n):
                    r, c = (column, row) if flip else (row, column)
                    for _ in range(turns):
                        r, c = c, n - 1 - r
                    cells.append(r * n + c)
            found.append(cells)
    return found


def class_of(mover: Queue, opponent: Queue, n: int) -> Key:
    """A position as its mover sees it, the same for all its symmetric images."""
    return min(
        (tuple(image[c] for c in mover), tuple(image[c] for c in opponent))
        for image in symmetries(n)
    )


class Chosen(Player):
    """Plays what a function says, one position at a time."""

    def __init__(
        self, rules: Rules, choose: Callable[[Position], int], canonical: bool = True
    ) -> None:
        self.rules, self.name, self.canonical, self.choose = rules, "chosen", canonical, choose

    def _answer(self, positions: Positions) -> Answers:
        cells = [self.choose(positions.at(row)) for row in range(len(positions))]
        return Answers(np.array(cells, np.int8))


def dawdler(table: Table) -> Chosen:
    """Keeps every result, and takes as long about it as it can: the slowest win."""

    def choose(position: Position) -> int:
        moves = table.moves(position)
        same = [move for move in moves if move.result == moves[0].result]
        return max(same, key=lambda move: (move.plies or 0, -move.cell)).cell

    return Chosen(table.rules, choose)


class Spoiled(TablePlayer):
    """The table's player, but with its worst move in some positions."""

    def __init__(self, table: Table, spoiled: set[Key]) -> None:
        super().__init__(table)
        self._exact, self._spoiled, self.name = table, spoiled, "spoiled"

    def _answer(self, positions: Positions) -> Answers:
        answers = super()._answer(positions)
        cells = answers.cells.copy()
        for row in range(len(positions)):
            position = positions.at(row)
            if class_of(position.mover, position.opponent, self.rules.n) in self._spoiled:
                cells[row] = self._exact.moves(position)[-1].cell
        return Answers(cells, answers.wdl, answers.steps)


class Opinion(TablePlayer):
    """The table's moves with one opinion of every position."""

    def __init__(self, table: Table, wdl: list[float], steps: float) -> None:
        super().__init__(table)
        self._wdl, self._steps, self.name = wdl, steps, "opinion"

    def _answer(self, positions: Positions) -> Answers:
        count = len(positions)
        wdl = np.tile(np.array(self._wdl, np.float32), (count, 1))
        return Answers(super()._answer(positions).cells, wdl, np.full(count, self._steps, "f4"))


class HashedNetwork:
    """A network that looks random and depends on its planes only; it likes illegal moves, too."""

    def __init__(self, actions: int, levels: int = 1000) -> None:
        self._actions, self._levels, self.calls = actions, levels, 0

    def __call__(self, planes: Floats) -> tuple[Floats, Floats, Floats]:
        self.calls += 1
        logits = np.empty((len(planes), self._actions), np.float32)
        for row, leaf in enumerate(planes):
            draw = np.random.default_rng(zlib.crc32(leaf.tobytes()))
            logits[row] = draw.integers(self._levels, size=self._actions)
        wdl = np.tile(np.array([0.2, 0.5, 0.3], np.float32), (len(planes), 1))
        return logits, wdl, np.full(len(planes), 5, np.float32)
