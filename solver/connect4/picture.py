"""Connect Four positions as pictures."""

from __future__ import annotations

from collections.abc import Sequence

from solver.board_picture import BoardPicture, Mark, Piece, numbers
from solver.connect4.position import COLUMN_BITS, COLUMNS, ROWS, Stones
from solver.connect4.solver import Connect4Move
from solver.connect4.text import STONES


def picture_of(position: Stones, title: str, moves: Sequence[Connect4Move] = ()) -> BoardPicture:
    """The stones; with the values of the columns, best first, where their stones would land."""
    pieces = {}
    height = dict.fromkeys(range(COLUMNS), 0)
    for column in range(COLUMNS):
        for row in range(ROWS):
            bit = 1 << (column * COLUMN_BITS + row)
            if position.stones & bit:
                owner = position.to_move if position.mover & bit else 1 - position.to_move
                pieces[row * COLUMNS + column] = Piece(owner, STONES[owner])
                height[column] = row + 1
    marks = {}
    for move in moves:
        cell = height[move.column - 1] * COLUMNS + move.column - 1
        plies = None if move.result == "draw" else move.plies
        marks[cell] = Mark(move.result, plies, move.score == moves[0].score)
    return BoardPicture(ROWS, COLUMNS, pieces, numbers(COLUMNS), (), title, marks)
