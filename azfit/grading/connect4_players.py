"""Players of Connect Four for a grade: many positions in, a column for each out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.games import Connect4, States
from azfit.search import Evaluator, Search
from azfit.search_config import SearchConfig
from solver.connect4 import COLUMN_BITS, COLUMNS, ROWS, Connect4Position, Connect4Solver
from solver.errors import FadefourError, InputError

AT_A_TIME = 1 << 10  # positions in a batch, or trees of a search


@dataclass(frozen=True)
class Columns:
    """What a player says of N positions."""

    chances: NDArray[np.float64]
    """float64 [N, 7]: how likely each column is to be played; 1 for the move of most players."""
    wdl: NDArray[np.float32] | None = None
    """float32 [N, 3]: probabilities of win, draw, loss for the side to move."""


def chosen(actions: NDArray[Any]) -> NDArray[np.float64]:
    """Chances of players who play one move: actions int [N], 0 to 6."""
    return np.asarray(np.eye(COLUMNS)[actions])


def states_of(positions: Sequence[Connect4Position]) -> States:
    """The positions as states of the game, uint8 [N, state_bytes]."""
    game = Connect4()
    codes = np.zeros((len(positions), game.code_length), np.int8)
    bits = np.array([[p.mover, p.stones ^ p.mover] for p in positions], np.uint64)
    sides = np.array([p.to_move for p in positions], np.int8)
    sign = 1 - 2 * sides  # the first player's stones are +1
    for row in range(ROWS):
        for column in range(COLUMNS):
            here = (bits >> np.uint64(column * COLUMN_BITS + row)) & np.uint64(1)
            mover, other = here.astype(np.int8).T
            codes[:, row * COLUMNS + column] = sign * (mover - other)
    codes[:, -1] = sides
    return game.decode(codes)


class Connect4Player(ABC):
    """Answers for positions in play."""

    name: str
    sims: int = 0
    sha256: str | None = None

    @abstractmethod
    def answer(self, positions: Sequence[Connect4Position]) -> Columns: ...

    def to_dict(self) -> dict[str, Any]:
        return {"player": self.name, "sims": self.sims, "checkpoint_sha256": self.sha256}


class SolverPlayer(Connect4Player):
    """Perfect play: the most central of the columns with the best score."""

    def __init__(self, solver: Connect4Solver) -> None:
        self.name, self._solver = "solver", solver

    def answer(self, positions: Sequence[Connect4Position]) -> Columns:
        best = [self._solver.moves(position)[0] for position in positions]
        wdl = np.zeros((len(best), 3), np.float32)
        results = ("win", "draw", "loss")
        wdl[np.arange(len(best)), [results.index(move.result) for move in best]] = 1
        return Columns(chosen(np.array([move.column - 1 for move in best], np.intp)), wdl)


class UniformPlayer(Connect4Player):
    """Every legal column with equal chance: its grade is an expectation, exact."""

    name = "uniform"

    def answer(self, positions: Sequence[Connect4Position]) -> Columns:
        legal = Connect4().legal_masks(states_of(positions)).astype(np.float64)
        return Columns(legal / legal.sum(axis=1, keepdims=True))


class NetworkPlayer(Connect4Player):
    """The network alone: the legal column with the highest logit, the lowest among equals."""

    def __init__(
        self, evaluator: Evaluator, *, name: str = "network", sha256: str | None = None
    ) -> None:
        self.name, self.sha256 = name, sha256
        self._evaluator, self._game = evaluator, Connect4()

    def answer(self, positions: Sequence[Connect4Position]) -> Columns:
        states = states_of(positions)
        logits, wdl, _ = self._evaluator(self._game.planes(states))
        masked = np.where(self._game.legal_masks(states), logits, -np.inf)
        actions = masked.argmax(axis=1)
        best = masked[np.arange(len(actions)), actions]
        if not np.isfinite(best).all() or not np.isfinite(wdl).all():
            raise FadefourError(f"{self.name} gives numbers that are not finite: retrain it")
        return Columns(chosen(actions), wdl)


class SearchPlayer(NetworkPlayer):
    """The network with search: the most visited column, no noise, every position from scratch.

    Win, draw and loss are judged by the network alone.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        sims: int,
        *,
        max_steps: float | None = None,
        name: str = "network",
        sha256: str | None = None,
    ) -> None:
        if sims < 1:
            raise InputError(
                f"--sims {sims}: use at least 1, or leave it out for the network alone"
            )
        super().__init__(evaluator, name=f"{name} + {sims} sims", sha256=sha256)
        self.sims = sims
        self._config = SearchConfig().for_matches(sims, max_steps)

    def answer(self, positions: Sequence[Connect4Position]) -> Columns:
        search = Search(self._game, len(positions), self._config)
        search.reset(states_of(positions), seeds=0)
        search.run(self._evaluator)
        wdl = super().answer(positions).wdl
        return Columns(chosen(search.choose(temperature=0.0)), wdl)


def load_player(checkpoint: str | Path, sims: int | None, threads: int | None) -> Connect4Player:
    """The network of a checkpoint, with search if ``sims`` is given. Needs torch."""
    from azfit.checkpoint import load_checkpoint
    from azfit.inference import NetworkEvaluator

    network, about = load_checkpoint(checkpoint, "connect4")
    evaluator = NetworkEvaluator(network, threads=threads)
    name, sha256 = Path(checkpoint).stem, about["sha256"]
    if sims is None:
        return NetworkPlayer(evaluator, name=name, sha256=sha256)
    steps = float(network.config.max_plies)
    return SearchPlayer(evaluator, sims, max_steps=steps, name=name, sha256=sha256)
