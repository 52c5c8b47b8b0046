"""Perfect play of Connect Four, by the solver."""

from __future__ import annotations

import numpy as np

from azfit.games import Connect4, States, game_by_name
from azfit.players import Choices, Player, Plies
from solver.connect4 import Connect4Solver
from solver.values import RESULTS


class SolverPlayer(Player):
    """Soonest win, draw, latest loss; the most central of the best columns.

    The first plies are in the opening book; after it a move takes up to a minute, from the sixth
    stone on seconds or less.
    """

    def __init__(self, solver: Connect4Solver) -> None:
        game = game_by_name("connect4")
        assert isinstance(game, Connect4)
        super().__init__(game, "solver")
        self._connect4, self._solver = game, solver

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        best = [self._solver.best_move(self._connect4.stones(state)) for state in states]
        wdl = np.zeros((len(best), 3), np.float32)
        wdl[np.arange(len(best)), [RESULTS.index(move.result) for move in best]] = 1
        return Choices(
            np.array([move.column - 1 for move in best], np.int32),
            wdl,
            np.array([move.plies for move in best], np.float32),
        )
