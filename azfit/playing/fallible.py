"""Exact play that makes mistakes on purpose, at a given rate."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from solver.connect4 import Connect4Move
from solver.errors import InputError
from solver.values import MoveValue

Move = TypeVar("Move", MoveValue, Connect4Move)


def fallible_choice(moves: Sequence[Move], mistakes: float, draw: random.Random) -> Move:
    """One of all moves of a position, which are given best first.

    mistakes: how often it is one that gives the result away, where there is one: 0 to 1. Otherwise
    it is one of the best; of these, one with most traps, where traps are known.
    """
    if not 0 <= mistakes <= 1:
        raise InputError(f"mistakes={mistakes}: use a share from 0 to 1")
    if not moves:
        raise InputError("the game is over: there is no move to choose")
    wrong = [move for move in moves if move.result != moves[0].result]
    if wrong and draw.random() < mistakes:
        return draw.choice(wrong)
    return draw.choice([move for move in moves if move[1:] == moves[0][1:]])  # all but the cell
