"""The figures of a diagnosis, as the rules, the report and the picture read them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from azfit.diagnosis.contradiction import JensenGap
from azfit.diagnosis.run_history import (
    Acceptance,
    BufferReach,
    Outcomes,
    PolicyLoss,
    SearchFigures,
    SideFigures,
    Starvation,
    ValueLoss,
)
from azfit.diagnosis.search_check import RepeatedSearches, SearchDifference
from azfit.diagnosis.truth import PositionTruth, SampleTruth
from azfit.diagnosis.watched_history import WatchedHistory


@dataclass(frozen=True)
class RunOptions:
    """Options of a run that decide what a figure means."""

    balance_sampling: bool
    random_plies: int
    temp_moves: int | None = None


@dataclass(frozen=True)
class Truth:
    """What an exact judge says about the watched positions."""

    judge: str
    """Its name; without a judge, what it would take to have one."""
    available: bool = False
    positions: dict[str, PositionTruth] = field(default_factory=dict)
    """Start and reply, as far as the judge knows them."""

    def to_dict(self) -> dict[str, Any]:
        positions = {name: position.to_dict() for name, position in self.positions.items()}
        return {"judge": self.judge, "there": self.available, **positions}


@dataclass(frozen=True)
class Figures:
    """What the rules look at; a part that is not known is None or empty. Dictionaries are by side,
    ``watch`` and ``repeats`` by position ("start", "reply")."""

    iterations: int | None
    """Iterations of the run; None for a checkpoint, which is judged as it is."""
    options: RunOptions
    outcomes: Outcomes | None
    sides: dict[str, SideFigures]
    jensen: dict[str, JensenGap] | None
    start_result: str | None
    """What the start is worth to the first player, by an exact judge."""
    truth: Truth
    search: SearchFigures | None = None
    watch: dict[str, WatchedHistory] = field(default_factory=dict)
    policy_loss: PolicyLoss | None = None
    value_loss: ValueLoss | None = None
    acceptance: Acceptance | None = None
    buffer: BufferReach | None = None
    starved: dict[str, Starvation] = field(default_factory=dict)
    repeats: dict[str, RepeatedSearches] | None = None
    clamp: dict[str, SearchDifference] | None = None
    """Searches with the clamp and without."""
    steps_head: dict[str, SearchDifference] | None = None
    """Searches with the steps head at its lambda and at 0."""
    sample_truth: SampleTruth | None = None

    def to_dict(self) -> dict[str, Any]:
        """As in ``--json``; what was not searched is left out."""
        entries = asdict(self)
        del entries["iterations"], entries["start_result"], entries["sample_truth"]
        for name in ("repeats", "clamp", "steps_head"):
            if entries[name] is None:
                del entries[name]
        if self.sample_truth is not None:
            entries["blunders"] = self.sample_truth.to_dict()
        entries["truth"] = self.truth.to_dict()
        return entries
