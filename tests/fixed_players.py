"""Players and networks whose answers tests know, and positions up to symmetry in plain Python."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.drop_oldest_players import CanonicalPlayer, TablePlayer, game_of, states_of
from azfit.games import States
from azfit.players import Choices, NetworkPlayer, Player, Plies
from azfit.search import Evaluator
from solver.playout import Positions
from solver.probing import Table
from solver.rules import Position, Rules

Queue = tuple[int, ...]
Key = tuple[Queue, Queue]
Floats = NDArray[np.float32]


@cache
def symmetries(n: int) -> list[list[int]]:
    """Where each of the eight symmetries carries each cell."""
    images = []
    for flip in (False, True):
        for turns in range(4):
            cells = []
            for row in range(n):
                for column in range(n):
                    r, c = (column, row) if flip else (row, column)
                    for _ in range(turns):
                        r, c = c, n - 1 - r
                    cells.append(r * n + c)
            images.append(cells)
    return images


def class_of(mover: Queue, opponent: Queue, n: int) -> Key:
    """A position as its mover sees it, the same for all its symmetric images."""
    return min(
        (tuple(image[c] for c in mover), tuple(image[c] for c in opponent))
        for image in symmetries(n)
    )


class Chosen(Player):
    """Plays what a function says, one position at a time."""

    def __init__(self, rules: Rules, cell_for: Callable[[Position], int]) -> None:
        self._drop_oldest, self.cell_for = game_of(rules), cell_for
        super().__init__(self._drop_oldest, "chosen")

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        cells = [self.cell_for(self._drop_oldest.position(state)) for state in states]
        return Choices(np.array(cells, np.int32))


class Fixed(Chosen):
    """One random choice for every position as its mover sees it, made once by the seed."""

    def __init__(self, rules: Rules, seed: int = 0) -> None:
        super().__init__(rules, self._drawn)
        self.seed, self.name = seed, f"random (seed {seed})"

    def _drawn(self, position: Position) -> int:
        legal = position.legal_moves()
        seen = repr((self.seed, position.mover, position.opponent)).encode()
        return legal[zlib.crc32(seen) // 7 % len(legal)]


def fixed(rules: Rules, seed: int = 0) -> CanonicalPlayer:
    """A player that looks random, plays alike on symmetric boards and never changes its mind."""
    return CanonicalPlayer(Fixed(rules, seed))


def perfect(table: Table) -> CanonicalPlayer:
    """The table's play, alike on symmetric boards."""
    return CanonicalPlayer(TablePlayer(table))


def network_player(evaluator: Evaluator, rules: Rules, **options: Any) -> CanonicalPlayer:
    """A network alone, asked about canonical boards, as ``azfit.load_player`` makes it."""
    return CanonicalPlayer(NetworkPlayer(game_of(rules), evaluator, **options))


def cells_chosen(player: Player, positions: Positions) -> NDArray[np.int32]:
    """The player's moves in these positions, int32 [N]."""
    return player.choose(states_of(game_of(positions.rules), positions)).actions


def dawdler(table: Table) -> Chosen:
    """Keeps every result, and takes as long about it as it can: the slowest win."""

    def cell_for(position: Position) -> int:
        moves = table.moves(position)
        same = [move for move in moves if move.result == moves[0].result]
        return max(same, key=lambda move: (move.plies or 0, -move.cell)).cell

    return Chosen(table.rules, cell_for)


class Spoiled(TablePlayer):
    """The table's player, but with its worst move in some positions."""

    def __init__(self, table: Table, spoiled: set[Key]) -> None:
        super().__init__(table)
        self._exact, self._spoiled, self.name = table, spoiled, "spoiled"

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        choices = super().choose(states)
        cells = choices.actions.copy()
        for row, state in enumerate(states):
            position = game_of(self._exact.rules).position(state)
            key = class_of(position.mover, position.opponent, self._exact.rules.n)
            if key in self._spoiled:
                cells[row] = self._exact.moves(position)[-1].cell
        return Choices(cells, choices.wdl, choices.steps)


class Opinion(TablePlayer):
    """The table's moves with one opinion of every position."""

    def __init__(self, table: Table, wdl: list[float], steps: float) -> None:
        super().__init__(table)
        self._wdl, self._steps, self.name = wdl, steps, "opinion"

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        count = len(states)
        wdl = np.tile(np.array(self._wdl, np.float32), (count, 1))
        return Choices(super().choose(states).actions, wdl, np.full(count, self._steps, "f4"))


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
