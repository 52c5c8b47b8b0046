"""Grading a Connect Four player against the solver, on sets of positions.

The headline is the blunder rate: the share of positions in which the move does not keep the
result (a win stays a win, a draw a draw; of a lost position every move keeps it). Besides: the
share of moves that keep the score too, that is the soonest win or the latest loss, and how often
win, draw or loss is judged right. A set is a sample of all positions, hence the intervals.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.columns import aligned
from azfit.grading.connect4_labels import LabelledSet
from azfit.grading.connect4_players import AT_A_TIME, Columns, Connect4Player
from azfit.grading.report import percent
from azfit.grading.tally import RESULTS, Group, wilson
from solver.connect4 import COLUMNS
from solver.errors import InputError
from solver.progress import Progress, Silent

Rows = NDArray[np.bool_]


@dataclass
class SetGrade:
    """How a player did on one set: one entry per position."""

    name: str
    side: NDArray[np.int8]
    result: NDArray[np.int8]
    """0 win, 1 draw, 2 loss of the side to move, as in RESULTS."""
    kept: NDArray[np.float64]
    """The chance that the move keeps the result: 0 or 1 of a player who plays one move."""
    optimal: NDArray[np.float64]
    judged_right: Rows | None

    def group(self, rows: Rows | None = None) -> Group:
        chosen = np.ones(len(self.kept), np.bool_) if rows is None else rows
        count = int(chosen.sum())
        if not count:
            return Group(0, None, None, None, None, None, 0.0)
        right = None if self.judged_right is None else float(self.judged_right[chosen].mean())
        kept = self.kept[chosen]
        return Group(
            positions=count,
            keeping=float(kept.mean()),
            optimal=float(self.optimal[chosen].mean()),
            wdl_accuracy=right,
            calibration_error=None,
            steps_error=None,
            errors=round(float(count - kept.sum()), 6),
        )

    def groups(self) -> dict[str, Group]:
        """All, by side to move, and by result."""
        found = {"all": self.group()}
        for side, name in enumerate(("first player", "second player")):
            found[name] = self.group(self.side == side)
        for number, name in enumerate(RESULTS):
            found[name] = self.group(self.result == number)
        return found

    def to_dict(self) -> dict[str, Any]:
        unused = ("calibration_error", "steps_error")
        groups = {name: group.to_dict(sampled=True) for name, group in self.groups().items()}
        for group in groups.values():
            for entry in unused:
                del group[entry]
            if group["positions"]:
                low, high = wilson(group["blunder_rate"], group["positions"])
                group["interval_95"]["blunder_rate"] = (low, high)
        return {"set": self.name, **groups.pop("all"), "groups": groups}


@dataclass
class Connect4Grade:
    """How a player did on several sets."""

    player: dict[str, Any]
    sets: list[SetGrade] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def name(self) -> str:
        return str(self.player["player"])

    @property
    def together(self) -> SetGrade:
        """All sets as one."""
        parts = self.sets
        judged = [part.judged_right for part in parts if part.judged_right is not None]
        return SetGrade(
            "all sets",
            np.concatenate([part.side for part in parts]),
            np.concatenate([part.result for part in parts]),
            np.concatenate([part.kept for part in parts]),
            np.concatenate([part.optimal for part in parts]),
            np.concatenate(judged) if judged else None,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.player,
            "game": "connect4",
            "overall": self.together.to_dict(),
            "sets": [part.to_dict() for part in self.sets],
            "seconds": round(self.seconds, 3),
        }


def grade_set(player: Connect4Player, labelled: LabelledSet) -> SetGrade:
    """Asks the player about every position of a set."""
    positions = labelled.positions
    if not positions:
        raise InputError(f"{labelled.name} has no positions to grade on")
    parts: list[Columns] = [
        player.answer(positions[first : first + AT_A_TIME])
        for first in range(0, len(positions), AT_A_TIME)
    ]
    chances = np.concatenate([part.chances for part in parts])
    judged = [part.wdl for part in parts if part.wdl is not None]
    scores, keeping, optimal = np.array(labelled.labels, np.int64).T
    result = (1 - np.sign(scores)).astype(np.int8)
    return SetGrade(
        labelled.name,
        np.array([position.to_move for position in positions], np.int8),
        result,
        (chances * _columns(keeping)).sum(axis=1),
        (chances * _columns(optimal)).sum(axis=1),
        np.concatenate(judged).argmax(axis=1) == result if judged else None,
    )


def _columns(masks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sets of columns as 0 and 1, int64 [N, 7]."""
    return np.asarray((masks[:, None] >> np.arange(COLUMNS)) & 1)


def grade_connect4(
    player: Connect4Player, sets: Sequence[LabelledSet], progress: Progress | None = None
) -> Connect4Grade:
    """Grades a player on these sets."""
    report, graded, began = progress or Silent(), Connect4Grade(player.to_dict()), time.monotonic()
    report.begin(player.name, len(sets), "set")
    for labelled in sets:
        graded.sets.append(grade_set(player, labelled))
        report.reach(len(graded.sets))
    graded.seconds = time.monotonic() - began
    report.end(f"{len(graded.together.kept):>14,} positions")
    return graded


# ---- text ---------------------------------------------------------------------------------------

HEAD = ("positions", "blunders", "blunder rate", "95 % interval", "optimal", "W/D/L right")


def _cells(group: Group) -> list[str]:
    exact = float(group.errors).is_integer()
    blunders = f"{group.errors:,.0f}" if exact else f"{group.errors:,.1f}"
    if group.blunder_rate is None:
        return ["0", "0", "-", "-", "-", "-"]
    low, high = wilson(group.blunder_rate, group.positions)
    return [
        f"{group.positions:,}",
        blunders,
        f"{100 * group.blunder_rate:.2f} %",
        f"{100 * low:.2f} to {100 * high:.2f} %",
        percent(group.optimal),
        percent(group.wdl_accuracy),
    ]


def text(grade: Connect4Grade) -> str:
    """A grade for people: every set, then all together by side and result."""
    rows: list[Sequence[str]] = [("", *HEAD)]
    rows += [(part.name, *_cells(part.group())) for part in grade.sets]
    for name, group in grade.together.groups().items():
        label = name + (" to move" if "player" in name else "")
        rows.append((label, *_cells(group)))
    return f"{grade.name} on Connect Four\n\n{aligned(rows)}"


def compare(grades: Sequence[Connect4Grade]) -> str:
    """Several grades side by side: blunder rates by set."""
    names = [part.name for part in grades[0].sets]
    rows: list[Sequence[str]] = [("blunder rate", *names, "all")]
    for grade in grades:
        parts = [*grade.sets, grade.together]
        rates = [f"{100 * (part.group().blunder_rate or 0):.2f} %" for part in parts]
        rows.append((grade.name, *rates))
    return aligned(rows)
