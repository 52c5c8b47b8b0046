"""Grading a Gomoku player by forced wins.

Where something is forced there is one question: does the move keep the win that is there, or stop
the win by fours that the opponent threatens, if it can be stopped? The judge
(``solver.gomoku.judge``) knows the answer exactly; other positions, and those in which every move
is right, do not count. Positions are those of the player's own games and of random play, a sample
each, hence the intervals.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from azfit.games import Gomoku
from azfit.grading.gomoku.positions import Sample
from azfit.grading.tally import wilson
from azfit.players import Player, PlayerInfo
from azfit.self_play.iteration import SIDES
from solver.errors import InputError
from solver.gomoku.judge import GomokuJudge, Stake, Task
from solver.progress import Progress, Silent

LONG = 5
"""Plies from which wins are counted together."""


@dataclass(frozen=True)
class Judged:
    """One position in which something is at stake, and whether the move was right."""

    task: Task
    side: int
    plies: int
    right: bool


@dataclass(frozen=True)
class Count:
    """Of some positions, those in which the move was right."""

    positions: int
    right: int

    @classmethod
    def of(cls, judged: Sequence[Judged]) -> Count:
        return cls(len(judged), sum(each.right for each in judged))

    @property
    def share(self) -> float | None:
        return self.right / self.positions if self.positions else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the share."""
        return None if self.share is None else wilson(self.share, self.positions)

    def to_dict(self) -> dict[str, Any]:
        return {
            "positions": self.positions,
            "right": self.right,
            "share": self.share,
            "interval_95": self.interval,
        }


@dataclass
class SampleGrade:
    """How a player did on one sample."""

    name: str
    positions: int
    """All of the sample."""
    judged: list[Judged] = field(default_factory=list)
    undecided: int = 0
    """Positions or moves for which the limit of nodes was reached; they do not count."""

    def count(
        self, task: Task, *, side: int | None = None, plies: tuple[int, int] | None = None
    ) -> Count:
        """The positions with this task; of one side, or with wins of this many plies only."""
        return Count.of(
            [
                each
                for each in self.judged
                if each.task is task
                and side in (None, each.side)
                and (plies is None or plies[0] <= each.plies <= plies[1])
            ]
        )

    @property
    def blunder_rate(self) -> float:
        """The share of wrong moves, whatever the task."""
        return sum(not each.right for each in self.judged) / max(1, len(self.judged))

    def to_dict(self) -> dict[str, Any]:
        tasks = {}
        for task in Task:
            entry = self.count(task).to_dict()
            entry["by_side"] = {
                name: self.count(task, side=side).to_dict() for side, name in enumerate(SIDES)
            }
            entry["by_plies"] = {
                name: self.count(task, plies=plies).to_dict() for name, plies in BY_PLIES.items()
            }
            tasks[task.name.lower()] = entry
        return {
            "sample": self.name,
            "positions": self.positions,
            "undecided": self.undecided,
            **tasks,
        }


BY_PLIES = {"1": (1, 1), "3": (3, 3), f"{LONG} or more": (LONG, 10**6)}


@dataclass
class GomokuGrade:
    """How a player did on several samples."""

    player: PlayerInfo
    bound: int
    """Plies of wins by fours and threes."""
    samples: list[SampleGrade] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def name(self) -> str:
        return self.player.name

    @property
    def together(self) -> SampleGrade:
        """All samples as one."""
        return SampleGrade(
            "all",
            sum(part.positions for part in self.samples),
            [each for part in self.samples for each in part.judged],
            sum(part.undecided for part in self.samples),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.player.to_dict(),
            "game": self.player.game,
            "bound": self.bound,
            "overall": self.together.to_dict(),
            "samples": [part.to_dict() for part in self.samples],
            "seconds": round(self.seconds, 3),
        }


def grade_gomoku(
    player: Player,
    samples: Sequence[Sample],
    judge: GomokuJudge,
    progress: Progress | None = None,
) -> GomokuGrade:
    """Grades a player on these samples."""
    if not isinstance(player.game, Gomoku) or player.game.rows != judge.size:
        raise InputError(f"{player.name} plays {player.game.name}, not gomoku-{judge.size}")
    report, began = progress or Silent(), time.monotonic()
    grade = GomokuGrade(player.info, judge.plies)
    for sample in samples:
        grade.samples.append(grade_sample(player, sample, judge, report))
    grade.seconds = time.monotonic() - began
    return grade


def grade_sample(
    player: Player, sample: Sample, judge: GomokuJudge, report: Progress
) -> SampleGrade:
    """Judges the player's moves in all positions in which something is at stake."""
    graded = SampleGrade(sample.name, len(sample.states))
    codes = player.game.encode(sample.states)
    cells, sides = np.ascontiguousarray(codes[:, :-1]), codes[:, -1].tolist()
    report.begin(f"{player.name}: {sample.name}", len(cells), "position")
    rows: list[int] = []
    stakes: list[Stake] = []
    for row, side in enumerate(sides):
        stake = judge.stake(cells[row], side)
        graded.undecided += not stake.is_decided
        if stake.is_question:
            rows.append(row)
            stakes.append(stake)
        report.reach(row + 1)
    if rows and sample.actions is None:
        moves = player.choose(sample.states[rows]).actions.tolist()
    else:
        moves = [] if sample.actions is None else sample.actions[rows].tolist()
    for row, stake, move in zip(rows, stakes, moves, strict=True):
        right = judge.is_right(cells[row], sides[row], stake, move)
        if right is None:
            graded.undecided += 1
            continue
        assert stake.task is not None and stake.plies is not None
        graded.judged.append(Judged(stake.task, sides[row], stake.plies, right))
    report.end(f"{len(graded.judged):>14,} positions judged")
    return graded
