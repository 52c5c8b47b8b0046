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
    plies: int | None  # to the end under best play; None for a draw (endless)


class MoveValue(NamedTuple):
    """A legal move and its worth; plies count from the position, the move included."""

    cell: int
    result: str
    plies: int | None


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


DECIDED = 1000
"""Worth of a win or a loss at once; more than any number of plies."""


def worth_of(results: NDArray[np.int8], plies: NDArray[np.int16]) -> NDArray[np.int16]:
    """The one order of values, int16 [...], as numbers that grow with what the mover prefers.

    1000 - d for a win in d plies, 0 for a draw, d - 1000 for a loss in d. ``csrc/values.h`` orders
    table bytes in the same way.
    """
    return np.asarray(results * (DECIDED - plies), np.int16)


def best_first(value: Value | MoveValue) -> int:
    """A key that sorts the soonest win first, then draws, then losses, the latest loss first."""
    sign = 1 - RESULTS.index(value.result)
    return -sign * (DECIDED - (value.plies or 0))


def describe(byte: int) -> str:
    """A table byte in words."""
    return "impossible" if byte == IMPOSSIBLE else in_words(value_of_byte(byte))


def in_words(value: Value) -> str:
    """``a draw``, ``a win in 5``, ``a finished game``."""
    if value.plies is None:
        return "a draw"
    return f"a {value.result} in {value.plies}" if value.plies else "a finished game"
