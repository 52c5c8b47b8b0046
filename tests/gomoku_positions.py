"""Gomoku boards for tests: drawn, random, and from random games that stay close together."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray
from plain_games import windows

from solver.gomoku import GomokuPosition

Cells = NDArray[np.int8]


def drawn(*rows: str) -> Cells:
    """The top row first; X is +1, O is -1, spaces do not count."""
    lines = [row.replace(" ", "") for row in reversed(rows)]
    assert all(len(line) == len(rows) for line in lines), "the board is not square"
    return np.array([{"X": 1, "O": -1, ".": 0}[stone] for line in lines for stone in line], np.int8)


def cell(name: str, size: int) -> int:
    return (int(name[1:]) - 1) * size + ord(name[0]) - ord("a")


def has_five(cells: Cells, size: int, last: int) -> bool:
    """By plain rules: is this stone one of five or more in a row?"""
    owner, (row, column) = cells[last], divmod(last, size)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        length = 1
        for sign in (1, -1):
            r, c = row + sign * down, column + sign * right
            while 0 <= r < size and 0 <= c < size and cells[r * size + c] == owner:
                length, r, c = length + 1, r + sign * down, c + sign * right
        if length >= 5:
            return True
    return False


def any_five(cells: Cells, size: int) -> bool:
    return any(abs(int(cells[list(window)].sum())) == 5 for window in windows(size, size, 5))


def scattered(draw: random.Random, size: int, empty: int, share: float) -> Cells:
    """Random stones, this share of them +1, with this many empty cells and no five."""
    while True:
        cells = np.zeros(size * size, np.int8)
        for at in draw.sample(range(size * size), size * size - empty):
            cells[at] = 1 if draw.random() < share else -1
        if not any_five(cells, size):
            return cells


def close_game(draw: random.Random, size: int, plies: int) -> GomokuPosition:
    """A position in play from random moves close to the stones."""
    while True:
        position = GomokuPosition((size * size // 2,), size)
        while len(position.moves) < plies and not position.is_over:
            near = [
                at
                for at in position.legal_moves()
                if any(
                    abs(at // size - other // size) <= 2 and abs(at % size - other % size) <= 2
                    for other in position.moves
                )
            ]
            position = position.play(draw.choice(near))
        if not position.is_over:
            return position
