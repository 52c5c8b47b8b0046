"""Positions of any game as people write them, and the actions of the game in them.

position = read_position(game, "44433")
game.state(position), after_action(position, 3)
"""

from __future__ import annotations

from typing import TypeAlias

from azfit.games import Connect4, DropOldest, Game, Gomoku
from solver.connect4 import Connect4Position
from solver.errors import InputError
from solver.gomoku import GomokuPosition
from solver.index import impossible_message
from solver.rules import Position

AnyPosition: TypeAlias = Position | Connect4Position | GomokuPosition


def read_position(game: Game, text: str) -> AnyPosition:
    """A position of this game; InputError names what is wrong with it, and where."""
    if isinstance(game, DropOldest):
        position = Position.parse(text, game.rules)
        if position.is_impossible:
            raise InputError(impossible_message(position))
        return position
    if isinstance(game, Connect4):
        return Connect4Position.parse(text)
    assert isinstance(game, Gomoku)
    return GomokuPosition.parse(text, game.rows)


def after_action(position: AnyPosition, action: int) -> AnyPosition:
    """The position after an action of the game: a cell, or a column less 1."""
    if isinstance(position, Connect4Position):
        return position.play(action + 1)
    return position.play(action)
