"""Grading a Connect Four player against the solver, on sets of positions.

The headline is the blunder rate: the share of positions in which the move does not keep the
result (a win stays a win, a draw a draw; in a lost position every move keeps it). Also: the
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

from azfit.games import Connect4
from azfit.grading.connect4.labels import LabelledSet
from azfit.grading.tally import Group, wilson
from azfit.players import Player, PlayerInfo
from solver.connect4 import COLUMNS
from solver.connect4.labels import columns_of
from solver.errors import InputError
from solver.progress import Progress, Silent
from solver.values import RESULTS

Rows = NDArray[np.bool_]


@dataclass
class SetGrade:
    """How a player did on one set: one entry per position."""

    name: str
    side: NDArray[np.int8]
    result: NDArray[np.int8]
    """0 win, 1 draw, 2 loss of the side to move, as in RESULTS."""
    kept: NDArray[np.float64]
    """The chance that the move keeps the result: 0 or 1 for a player with a fixed move."""
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
        groups = {"all": self.group()}
        for side, name in enumerate(("first player", "second player")):
            groups[name] = self.group(self.side == side)
        for number, name in enumerate(RESULTS):
            groups[name] = self.group(self.result == number)
        return groups

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

    player: PlayerInfo
    sets: list[SetGrade] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def name(self) -> str:
        return self.player.name

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
            **self.player.to_dict(),
            "game": self.player.game,
            "overall": self.together.to_dict(),
            "sets": [part.to_dict() for part in self.sets],
            "seconds": round(self.seconds, 3),
        }


def grade_set(player: Player, labelled: LabelledSet) -> SetGrade:
    """Asks the player about every position of a set."""
    positions = labelled.positions
    if not positions:
        raise InputError(f"{labelled.name} has no positions to grade on")
    choices = player.choose(np.stack([player.game.state(position) for position in positions]))
    chances = choices.chances
    if chances is None:
        chances = np.eye(COLUMNS)[choices.actions]
    scores, keeping, optimal = np.array(labelled.labels, np.int64).T
    result = (1 - np.sign(scores)).astype(np.int8)
    return SetGrade(
        labelled.name,
        np.array([position.to_move for position in positions], np.int8),
        result,
        (chances * columns_of(keeping)).sum(axis=1),
        (chances * columns_of(optimal)).sum(axis=1),
        None if choices.wdl is None else choices.wdl.argmax(axis=1) == result,
    )


def grade_connect4(
    player: Player, sets: Sequence[LabelledSet], progress: Progress | None = None
) -> Connect4Grade:
    """Grades a player on these sets."""
    if not isinstance(player.game, Connect4):
        raise InputError(f"{player.name} plays {player.game.name}, not Connect Four")
    report, graded, began = progress or Silent(), Connect4Grade(player.info), time.monotonic()
    report.begin(player.name, len(sets), "set")
    for labelled in sets:
        graded.sets.append(grade_set(player, labelled))
        report.reach(len(graded.sets))
    graded.seconds = time.monotonic() - began
    report.end(f"{len(graded.together.kept):>14,} positions")
    return graded
