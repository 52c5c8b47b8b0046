"""Counting how a player did, by number of pieces and table value at once.

Everything a grade says is a sum over one joint count [pieces, table byte]: by result, by depth,
by pieces, by side are four ways of adding it up, so they cannot contradict each other. Each
canonical position counts once; it is not weighted by the size of its orbit (above n pieces all
orbits are equal).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.rules import Rules
from solver.values import IMPOSSIBLE, UNDECIDED

Counts = NDArray[np.float64]

VALUES = 256
BINS = 20  # of equal width, for the calibration error

WINS, DRAWS, LOSSES = range(2, IMPOSSIBLE, 2), (UNDECIDED,), range(3, IMPOSSIBLE, 2)
"""The table bytes of positions in play, by result for the side to move."""


def wilson(share: float, count: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95 % confidence interval of a share seen in ``count`` independent draws."""
    if count == 0:
        return 0.0, 1.0
    middle = share + z * z / (2 * count)
    reach = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    scale = 1 + z * z / count
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


@dataclass(frozen=True)
class Group:
    """How a player did on a group of positions; None where it did not say or nothing counts."""

    positions: int
    keeping: float | None
    """Share of positions in which the move keeps the result."""
    optimal: float | None
    """Share in which it is also the soonest win or the latest loss."""
    wdl_accuracy: float | None
    calibration_error: float | None
    steps_error: float | None
    """Mean |expected plies - plies| over won and lost positions."""
    errors: float
    """Positions in which the move does not keep the result."""

    @property
    def blunder_rate(self) -> float | None:
        return self.errors / self.positions if self.positions else None

    def to_dict(self, sampled: bool = False) -> dict[str, Any]:
        shares = ("keeping", "optimal", "wdl_accuracy")
        content: dict[str, Any] = {"positions": self.positions, "blunders": self.errors}
        content |= {name: getattr(self, name) for name in shares}
        content |= {"blunder_rate": self.blunder_rate}
        content |= {"calibration_error": self.calibration_error, "steps_error": self.steps_error}
        if sampled:
            content["interval_95"] = {
                name: wilson(getattr(self, name), self.positions)
                for name in shares
                if getattr(self, name) is not None
            }
        return content


@dataclass(frozen=True)
class ReliabilityBin:
    """Positions judged with about the same confidence: how often they were judged right."""

    positions: int
    confidence: float
    right: float


def _zeros(rules: Rules, *more: int) -> Counts:
    return np.zeros((2 * rules.m + 1, VALUES, *more))


@dataclass
class Tally:
    """Sums over positions, float64 [pieces, table byte], and [.., bins] for the calibration."""

    rules: Rules
    count: Counts = field(init=False)
    kept: Counts = field(init=False)
    optimal: Counts = field(init=False)
    judged: Counts = field(init=False)
    right: Counts = field(init=False)
    timed: Counts = field(init=False)
    steps_off: Counts = field(init=False)
    in_bin: Counts = field(init=False)
    confidence: Counts = field(init=False)
    right_in_bin: Counts = field(init=False)
    confusion: NDArray[np.int64] = field(init=False)
    """[true result, judged result], in the order of ``solver.values.RESULTS``."""
    after: NDArray[np.int64] = field(init=False)
    """[result of the position, result after the move], for the side to move."""

    def __post_init__(self) -> None:
        for name in ("count", "kept", "optimal", "judged", "right", "timed", "steps_off"):
            setattr(self, name, _zeros(self.rules))
        for name in ("in_bin", "confidence", "right_in_bin"):
            setattr(self, name, _zeros(self.rules, BINS))
        self.confusion = np.zeros((3, 3), np.int64)
        self.after = np.zeros((3, 3), np.int64)

    def add_moves(self, key: NDArray[np.int64], kept: Counts, optimal: Counts) -> None:
        """key int64 [N]: pieces * 256 + table byte; kept, optimal [N]: chances, 0 or 1."""
        self._add("count", key, None)
        self._add("kept", key, kept)
        self._add("optimal", key, optimal)

    def add_wdl(
        self, key: NDArray[np.int64], result: NDArray[np.int64], wdl: NDArray[np.float32]
    ) -> None:
        """result int64 [N]: 0 win, 1 draw, 2 loss, as the columns of wdl float32 [N, 3]."""
        judged = wdl.argmax(axis=1)
        sure, right = wdl.max(axis=1).astype(np.float64), (judged == result).astype(np.float64)
        self._add("judged", key, None)
        self._add("right", key, right)
        cell = key * BINS + np.clip((sure * BINS).astype(np.int64), 0, BINS - 1)
        self._add("in_bin", cell, None)
        self._add("confidence", cell, sure)
        self._add("right_in_bin", cell, right)
        self.confusion += np.bincount(3 * result + judged, minlength=9).reshape(3, 3)

    def add_steps(
        self, key: NDArray[np.int64], plies: NDArray[np.int16], steps: NDArray[np.float32]
    ) -> None:
        """plies int16 [N], -1 for a draw, which does not count."""
        decided = plies >= 0
        self._add("timed", key[decided], None)
        off = np.abs(steps[decided].astype(np.float64) - plies[decided])
        self._add("steps_off", key[decided], off)

    def add_after(self, before: NDArray[np.int64], after: NDArray[np.int64]) -> None:
        """Results before and after the move, int64 [N], 0 win, 1 draw, 2 loss for the mover."""
        self.after += np.bincount(3 * before + after, minlength=9).reshape(3, 3)

    def _add(self, name: str, key: NDArray[np.int64], weights: Counts | None) -> None:
        total: Counts = getattr(self, name)
        total += np.bincount(key, weights, minlength=total.size).reshape(total.shape)

    def group(
        self, pieces: Sequence[int] | None = None, values: Sequence[int] | None = None
    ) -> Group:
        """The positions with these numbers of pieces and table bytes; None for all."""
        rows = np.array(range(2 * self.rules.m + 1) if pieces is None else pieces, np.int64)
        columns = np.array(range(VALUES) if values is None else values, np.int64)
        chosen = np.ix_(rows, columns)
        count, judged, timed = (
            float(array[chosen].sum()) for array in (self.count, self.judged, self.timed)
        )
        kept = float(self.kept[chosen].sum())
        return Group(
            positions=int(count),
            keeping=_share(kept, count),
            optimal=_share(float(self.optimal[chosen].sum()), count),
            wdl_accuracy=_share(float(self.right[chosen].sum()), judged),
            calibration_error=_share(self._off_calibration(rows, columns), judged),
            steps_error=_share(float(self.steps_off[chosen].sum()), timed),
            errors=round(count - kept, 6),
        )

    def _off_calibration(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> float:
        """Sum over bins of |confidence - right|: the calibration error times the positions."""
        chosen = np.ix_(rows, columns)
        gap = (self.confidence[chosen] - self.right_in_bin[chosen]).sum(axis=(0, 1))
        return float(np.abs(gap).sum())

    def reliability(self) -> list[ReliabilityBin]:
        """The bins of the calibration that hold any positions, by rising confidence."""
        count, sure, right = (
            array.sum(axis=(0, 1)) for array in (self.in_bin, self.confidence, self.right_in_bin)
        )
        return [
            ReliabilityBin(int(count[i]), float(sure[i] / count[i]), float(right[i] / count[i]))
            for i in np.flatnonzero(count)
        ]


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
