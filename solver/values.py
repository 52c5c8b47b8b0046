"""What a position is worth, and the byte that says so in a table.

====  =========================================================================================
byte  meaning for the side to move
====  =========================================================================================
0     undecided: a draw (endless) once the variant is solved
b     the game ends in b - 1 plies: an even byte is a win, an odd one a loss; 1 is a finished game
255   impossible: the side to move has a line already, so the position has no value
====  =========================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

UNDECIDED, FINISHED, IMPOSSIBLE = 0, 1, 255

RESULT_OF_BYTE = np.array([0, *(-1 if byte % 2 else 1 for byte in range(1, 255)), 0], np.int8)
"""int8 [256]: +1 win, 0 draw, -1 loss."""

PLIES_OF_BYTE = np.arange(-1, 255, dtype=np.int16)
"""int16 [256]: plies to the end, -1 for a draw."""

RESULTS = ("win", "draw", "loss")
"""Best first."""

FOR_THE_OPPONENT = {"win": "loss", "draw": "draw", "loss": "win"}


class Value(NamedTuple):
    """What a position is worth to the side to move, or a move to the player making it."""

    result: str  # "win", "draw" or "loss"
    plies: int | None
    """To the end under best play; None for a draw (endless), and where the table has no plies."""


class MoveValue(NamedTuple):
    """A legal move and its worth; plies count from the position, the move included."""

    cell: int
    result: str
    plies: int | None
    traps: int
    """How many of the opponent's replies lose the opponent's result: a win becomes a draw or a
    loss, a draw a loss. Among moves of equal worth it says which one asks most of the opponent."""
    replies: int
    """How many replies there are; none once the game is over."""


@dataclass(frozen=True)
class ResultCounts:
    """How many positions have which result for the side to move. A finished game is lost, but is
    counted as ``finished``, not as ``loss``."""

    finished: int
    win: int
    loss: int
    draw: int
    impossible: int

    @classmethod
    def of(cls, histogram: NDArray[Any]) -> ResultCounts:
        """From a histogram of table bytes, integers [256]."""
        return cls(
            finished=int(histogram[FINISHED]),
            win=int(histogram[2:IMPOSSIBLE:2].sum()),
            loss=int(histogram[3:IMPOSSIBLE:2].sum()),
            draw=int(histogram[UNDECIDED]),
            impossible=int(histogram[IMPOSSIBLE]),
        )

    @property
    def lost(self) -> int:
        """All losses, the finished games included."""
        return self.loss + self.finished


def value_of_byte(byte: int) -> Value:
    """The value that a table byte other than IMPOSSIBLE stands for."""
    if byte == UNDECIDED:
        return Value("draw", None)
    return Value("loss" if byte % 2 else "win", byte - 1)


def result_of_byte(byte: int) -> Value:
    """The same of a table without plies: only that a finished game is over is known."""
    result = value_of_byte(byte).result
    return Value(result, 0 if byte == FINISHED else None)


PLIES_OF_RESULT = np.where(np.arange(256) == FINISHED, 0, -1).astype(np.int16)
"""int16 [256]: as ``PLIES_OF_BYTE``, of a table without plies: -1 for what is not known."""

DECIDED = 1000
"""Worth of a win or a loss at once; more than any number of plies."""


def worth_of(results: NDArray[np.int8], plies: NDArray[np.int16]) -> NDArray[np.int16]:
    """The one order of values, int16 [...], as numbers that grow with what the mover prefers.

    1000 - d for a win in d plies, 0 for a draw, d - 1000 for a loss in d. ``csrc/values.h`` orders
    table bytes in the same way.
    """
    return np.asarray(results * (DECIDED - plies), np.int16)


def best_first(value: Value | MoveValue) -> int:
    """A key that sorts the soonest win first, then draws, then losses, the latest loss first. A win
    or loss in an unknown number of plies counts as the latest."""
    sign = 1 - RESULTS.index(value.result)
    return -sign * (DECIDED - (DECIDED - 1 if value.plies is None else value.plies))


def best_and_hardest_first(move: MoveValue) -> tuple[int, int]:
    """A key that sorts as ``best_first``, and equal moves by their traps, the most first."""
    return best_first(move), -move.traps


def describe(byte: int) -> str:
    """A table byte in words."""
    return "impossible" if byte == IMPOSSIBLE else in_words(value_of_byte(byte))


def in_words(value: Value) -> str:
    """``a draw``, ``a win in 5``, ``a win``, ``a finished game``."""
    if value.plies is None:
        return f"a {value.result}"
    return f"a {value.result} in {value.plies}" if value.plies else "a finished game"
