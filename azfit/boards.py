"""States of any game as text and as pictures, and what the two sides are called."""

from __future__ import annotations

import numpy as np

from azfit.games import Connect4, DropOldest, Game, Result, State
from solver import board_picture, drawing
from solver.board_picture import BoardPicture, Piece
from solver.connect4 import picture as connect4_picture
from solver.connect4 import text as connect4_text


def side_names(game: Game) -> str:
    """The letters of the first and the second player."""
    return "XY" if isinstance(game, DropOldest) else connect4_text.STONES


def board(game: Game, state: State) -> str:
    """The board as people see it, row 1 at the bottom, with the names of rows and columns."""
    if isinstance(game, DropOldest):
        return drawing.board(game.position(state))
    if isinstance(game, Connect4):
        return connect4_text.board(game.stones(state))
    return _stones(game, state)


def _stones(game: Game, state: State) -> str:
    """A board of stones that stay: Gomoku."""
    names = side_names(game)
    shown = {1: names[0], -1: names[1], 0: "·"}
    cells = game.encode(state[None])[0, :-1].reshape(game.rows, game.columns).tolist()
    rows = [
        f"  {row + 1:>2} | " + " ".join(shown[stone] for stone in cells[row])
        for row in reversed(range(game.rows))
    ]
    letters = " ".join(board_picture.letters(game.columns))
    return "\n".join([*rows, "     +" + "--" * game.columns, f"       {letters}"])


def standing(game: Game, state: State) -> str:
    """``X to move``, ``X has won``, ``a draw``."""
    mover = side_names(game)[game.to_move(state)]
    result = game.result(state)
    if result == Result.MOVER_WON:
        return f"{side_names(game)[1 - game.to_move(state)]} has won"
    return "a draw: the board is full" if result == Result.DRAWN else f"{mover} to move"


def picture(game: Game, state: State) -> BoardPicture:
    """The board with whose turn it is or who has won."""
    title = standing(game, state)
    if isinstance(game, DropOldest):
        return board_picture.picture_of(game.position(state), title)
    if isinstance(game, Connect4):
        return connect4_picture.picture_of(game.stones(state), title)
    cells = game.encode(state[None])[0, :-1]
    names = side_names(game)
    pieces = {
        int(cell): Piece(int(cells[cell] < 0), names[int(cells[cell] < 0)])
        for cell in np.flatnonzero(cells)
    }
    columns, rows = board_picture.letters(game.columns), board_picture.numbers(game.rows)
    return BoardPicture(game.rows, game.columns, pieces, columns, rows, title)
