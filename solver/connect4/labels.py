"""Which columns of a Connect Four position are right: what moves are judged by and learned from.

For each move, whether it keeps win, draw or loss, and whether it also keeps the score. That takes
one or two questions per move instead of the move's score.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.connect4.position import COLUMNS, Stones
from solver.connect4.solver import Connect4Solver
from solver.errors import InputError


class Label(NamedTuple):
    """What is right in one position: its score, and sets of columns (bit column - 1)."""

    score: int
    keeping: int
    optimal: int


def label(position: Stones, solver: Connect4Solver, score: int | None = None) -> Label:
    """The label of a position in play. A ``score`` that is given is checked, which is quicker than
    finding it; InputError if it is wrong."""
    if position.is_over:
        raise InputError(f"'{position}' is over: there is no move to judge")
    if score is None:
        score = solver.score(position)
    elif solver.search(position.mover, position.stones, score - 1, score + 1) != score:
        raise InputError(f"'{position}' does not have the score {score}: run 'verify' on its set")
    keeping = optimal = 0
    for column in position.legal_moves():
        after, bit = position.play(column), 1 << (column - 1)
        if solver.search(after.mover, after.stones, -score, 1 - score) == -score:
            optimal |= bit
            keeping |= bit
        elif score < 0 or (score > 0 and solver.search(after.mover, after.stones, -1, 0) == -1):
            keeping |= bit
    return Label(score, keeping, optimal)


def columns_of(masks: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Sets of columns (bit column - 1) as bool [N, 7]."""
    return np.asarray(masks[:, None] >> np.arange(COLUMNS) & 1, np.bool_)
