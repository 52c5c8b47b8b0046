"""What is known about an iteration of self-play: a line of metrics.jsonl, as types.

    for iteration in read_iterations(Path("runs/four")):
        print(iteration.iteration, iteration.elo, iteration.accepted)

The names of the fields are the keys of the file (docs/diagnostics.md says what they mean). A part
that a line does not have is None; so are figures that older versions did not write. torch is
not needed to read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azfit.metrics import numbered_metrics, read_metrics
from azfit.typed_json import from_json, to_json
from solver.errors import CorruptTableError

SIDES = ("first", "second")
CLASSES = ("win", "draw", "loss")

BySide = tuple[int, int]
"""Counts for the first and the second player."""

ByClass = tuple[int, int, int]
"""Counts of wins, draws and losses."""


@dataclass(frozen=True)
class Games:
    """The self-play games of an iteration."""

    played: int
    first_wins: int
    second_wins: int
    draws: int
    positions: int
    """Positions to learn from: the plies of all games without their random openings."""
    mean_plies: float
    """Length of a game, its random opening included."""
    walked: BySide
    """Nodes at which a walk chose a move, by side to move."""
    open: BySide
    """Those of them that had an untried move."""
    starved: BySide
    """Those of them whose first-play urgency was below -1 before the clamp."""


@dataclass(frozen=True)
class BufferOutcomes:
    """How the games behind the positions of the buffer ended for the side to move."""

    first: ByClass
    second: ByClass


@dataclass(frozen=True)
class Assessment:
    """What a network says about one side's positions, compared with how their games ended."""

    positions: int
    target_entropy: float
    network_entropy: float
    kl: float
    value: float
    """Mean of win - loss as the network predicts it."""
    outcome: float
    """Mean of win - loss as the games ended."""
    confusion: tuple[ByClass, ByClass, ByClass]
    """Positions by [outcome][prediction]."""
    wdl_loss: float | None = None
    f1: dict[str, float | None] | None = None
    """By class; None for a class that is neither an outcome nor predicted."""
    macro_f1: float | None = None


@dataclass(frozen=True)
class Fresh:
    """The candidate on this iteration's games, before it was trained on them."""

    first: Assessment | None = None
    second: Assessment | None = None

    def by_side(self) -> dict[str, Assessment]:
        """The sides that had positions."""
        pairs = zip(SIDES, (self.first, self.second), strict=True)
        return {side: assessment for side, assessment in pairs if assessment is not None}


@dataclass(frozen=True)
class Training:
    """The training of an iteration; losses are means over its steps."""

    loss: float
    policy: float
    kl: float
    wdl: float
    steps: float
    positions: int
    """Positions in the buffer."""
    wdl_learned: float | None = None
    """The win/draw/loss loss after training, on a sample of the buffer."""
    steps_taken: int | None = None
    learning_rate: float | None = None
    value: float | None = None
    """With --value-mix: mean square of the predicted win - loss minus the search's value."""
    reply: float | None = None
    """With --reply-weight: cross-entropy of the opponent's reply, 0 where it is not known."""


@dataclass(frozen=True)
class MatchResult:
    """Candidate against best; wins, draws and losses by the candidate's colour."""

    games: int
    score: float
    standard_error: float
    wins: BySide
    draws: BySide
    losses: BySide
    pairs_by_colour: int | None = None
    """Openings from which the same colour won both games, so that each player won once."""

    @property
    def all_pairs_even(self) -> bool:
        """Did every pair of games end even: one colour won both, or both were drawn?"""
        by_colour = self.pairs_by_colour or 0
        return self.games > 0 and self.games == 2 * by_colour + sum(self.draws)


@dataclass(frozen=True)
class WatchedPosition:
    """The candidate's policy and value in one position."""

    moves: tuple[int, ...]
    """The moves that lead there."""
    policy: tuple[float, ...]
    value: float


@dataclass(frozen=True)
class Watch:
    """The positions that are followed over a run."""

    start: WatchedPosition | None = None
    reply: WatchedPosition | None = None
    """After the first player's move in the middle."""

    def by_name(self) -> dict[str, WatchedPosition]:
        pairs = (("start", self.start), ("reply", self.reply))
        return {name: position for name, position in pairs if position is not None}


@dataclass(frozen=True)
class PhaseSeconds:
    """How long each phase took."""

    play: float | None = None
    training: float | None = None
    match: float | None = None

    @property
    def total(self) -> float:
        return sum(part or 0.0 for part in (self.play, self.training, self.match))


@dataclass(frozen=True)
class Iteration:
    """A line of metrics.jsonl; also what is known so far of an iteration under way."""

    iteration: int = 0
    """Iterations finished with this one."""
    seconds: float = 0.0
    """Spent on the run, over all resumes."""
    phase_seconds: PhaseSeconds | None = None
    games: Games | None = None
    buffer: BufferOutcomes | None = None
    fresh: Fresh | None = None
    training: Training | None = None
    match: MatchResult | None = None
    elo: float | None = None
    accepted: bool | None = None
    watch: Watch | None = None
    workers_replaced: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As in metrics.jsonl."""
        entries: dict[str, Any] = to_json(self)
        return entries

    @classmethod
    def from_dict(cls, entries: Any) -> Iteration:
        """ValueError names the entry that is missing or of the wrong type."""
        return from_json(cls, entries)


def read_iterations(folder: Path) -> list[Iteration]:
    """The iterations of a run of self-play in order; none for a run that has not finished one, or
    for a run of train-from-oracle. CorruptTableError names a line that cannot be read."""
    path = folder / "metrics.jsonl"
    iterations: dict[int, Iteration] = {}
    for number, line in numbered_metrics(path):
        if "kind" in line and "iteration" not in line:  # a line of train-from-oracle
            continue
        try:
            if "iteration" not in line:
                raise ValueError("'iteration' is missing")
            iteration = Iteration.from_dict(line)
        except ValueError as error:
            raise CorruptTableError(
                f"line {number} of '{path}' is damaged ({error}): restore or remove that line"
            ) from None
        iterations[iteration.iteration] = iteration
    return [iterations[number] for number in sorted(iterations)]


def learns_from_oracle(folder: Path) -> bool:
    """Whether this is a train-from-oracle run, by what it has logged."""
    lines = read_metrics(folder / "metrics.jsonl")
    return any("kind" in line for line in lines) and not any("iteration" in line for line in lines)
