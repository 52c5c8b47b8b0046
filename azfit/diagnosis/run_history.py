"""What the iterations of a self-play run say, by side: recent figures and their course.

One iteration is a few dozen games, so "now" is the mean over the last ``LATELY``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from azfit.self_play.assessment import f1_scores, mean_of_known
from azfit.self_play.iteration import (
    CLASSES,
    SIDES,
    Assessment,
    Fresh,
    Games,
    Iteration,
    MatchResult,
)

if TYPE_CHECKING:
    from azfit.self_play.config import SelfPlayConfig

LATELY = 10

# Iterations over which what was learned and what came next are compared: fewer say little.
FEWEST_COMPARED = 3

# Fewer decisions than this say nothing of a rate of acceptance.
FEWEST_DECISIONS = 8


# ---- by side -------------------------------------------------------------------------


@dataclass(frozen=True)
class SideFigures:
    """One side's positions: what the network says about them and how their games ended. What is not
    known is None."""

    positions: int
    target_entropy: float | None = None
    network_entropy: float | None = None
    kl: float | None = None
    wdl_loss: float | None = None
    value: float | None = None
    outcome: float | None = None
    classes: dict[str, float] = field(default_factory=dict)
    """Shares of win, draw, loss."""
    f1: dict[str, float | None] = field(default_factory=dict)
    macro_f1: float | None = None


def by_side(entries: Sequence[Fresh]) -> dict[str, SideFigures]:
    """Means over some iterations; F1 from their confusions together."""
    figures = {}
    for side in SIDES:
        assessments = [entry.by_side()[side] for entry in entries if side in entry.by_side()]
        if assessments:
            figures[side] = _side_figures(assessments)
    return figures


def _side_figures(assessments: Sequence[Assessment]) -> SideFigures:
    confusion = np.sum([assessment.confusion for assessment in assessments], axis=0)
    scores = f1_scores(confusion)
    classes = confusion.sum(axis=1)
    return SideFigures(
        positions=int(classes.sum()),
        target_entropy=mean_of_known(assessment.target_entropy for assessment in assessments),
        network_entropy=mean_of_known(assessment.network_entropy for assessment in assessments),
        kl=mean_of_known(assessment.kl for assessment in assessments),
        wdl_loss=mean_of_known(assessment.wdl_loss for assessment in assessments),
        value=mean_of_known(assessment.value for assessment in assessments),
        outcome=mean_of_known(assessment.outcome for assessment in assessments),
        classes=dict(zip(CLASSES, (classes / max(1, classes.sum())).tolist(), strict=True)),
        f1=dict(zip(CLASSES, scores, strict=True)),
        macro_f1=mean_of_known(scores),
    )


def sides_lately(iterations: Sequence[Iteration]) -> dict[str, SideFigures]:
    return by_side(
        [iteration.fresh for iteration in iterations[-LATELY:] if iteration.fresh is not None]
    )


@dataclass(frozen=True)
class SideCourse:
    """One side's figures in one iteration."""

    target_entropy: float
    network_entropy: float
    kl: float
    wdl_loss: float | None
    value: float
    outcome: float
    macro_f1: float | None


@dataclass(frozen=True)
class CoursePoint:
    """Both sides' figures in one iteration."""

    iteration: int
    sides: dict[str, SideCourse]

    def to_dict(self) -> dict[str, Any]:
        return {"iteration": self.iteration, **asdict(self)["sides"]}


def course(iterations: Sequence[Iteration]) -> list[CoursePoint]:
    return [
        CoursePoint(
            iteration.iteration,
            {
                side: _side_course(assessment)
                for side, assessment in (iteration.fresh or Fresh()).by_side().items()
            },
        )
        for iteration in iterations
    ]


def _side_course(assessment: Assessment) -> SideCourse:
    return SideCourse(
        assessment.target_entropy,
        assessment.network_entropy,
        assessment.kl,
        assessment.wdl_loss,
        assessment.value,
        assessment.outcome,
        assessment.macro_f1,
    )


# ---- losses --------------------------------------------------------------------------


@dataclass(frozen=True)
class PolicyLoss:
    """The loss and its parts: the entropy of the targets and the KL above it."""

    loss: float
    kl: float
    target_entropy: float


def policy_loss(iterations: Sequence[Iteration]) -> PolicyLoss | None:
    """The mean over the last iterations."""
    trainings = [
        iteration.training for iteration in iterations[-LATELY:] if iteration.training is not None
    ]
    if not trainings:
        return None
    loss = sum(training.policy for training in trainings) / len(trainings)
    kl = sum(training.kl for training in trainings) / len(trainings)
    return PolicyLoss(loss, kl, loss - kl)


@dataclass(frozen=True)
class ValueLoss:
    """The win/draw/loss loss of the best network."""

    learned: float
    """On what it had been trained on when it became the best."""
    fresh: float
    """On the games that it has played since."""
    times_drawn: float
    """How often training draws a position."""


def value_loss(config: SelfPlayConfig, iterations: Sequence[Iteration]) -> ValueLoss | None:
    """The mean over the last iterations that have all of it."""
    losses: list[tuple[float, float, float]] = []
    learned = None
    for iteration in iterations:
        training, games = iteration.training, iteration.games
        fresh = _fresh_loss(iteration.fresh)
        if learned is not None and fresh is not None and training and games and games.positions:
            drawn = config.epochs * config.replay_ratio * training.positions
            losses.append((learned, fresh, drawn / games.positions))
        if iteration.accepted:
            learned = training.wdl_learned if training else None
    if len(losses) < FEWEST_COMPARED:
        return None
    return ValueLoss(*np.mean(losses[-LATELY:], axis=0).tolist())


def _fresh_loss(fresh: Fresh | None) -> float | None:
    """The win/draw/loss loss over the positions of both sides."""
    pairs = [
        (assessment.positions, assessment.wdl_loss)
        for assessment in (fresh or Fresh()).by_side().values()
        if assessment.wdl_loss is not None
    ]
    positions = sum(count for count, _ in pairs)
    return sum(count * loss for count, loss in pairs) / positions if positions else None


# ---- games ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcomes:
    """How games ended, as shares."""

    games: int
    first_wins: float
    second_wins: float
    draws: float


def outcomes(first_wins: int, second_wins: int, draws: int) -> Outcomes | None:
    """None if there are no games."""
    games = first_wins + second_wins + draws
    if not games:
        return None
    return Outcomes(games, first_wins / games, second_wins / games, draws / games)


def outcomes_of(games: Sequence[Games]) -> Outcomes | None:
    return outcomes(
        sum(entry.first_wins for entry in games),
        sum(entry.second_wins for entry in games),
        sum(entry.draws for entry in games),
    )


@dataclass(frozen=True)
class Starvation:
    """Of one side's nodes with an untried move, the share whose FPU is below -1, or would be
    without the clamp."""

    open: int
    share: float | None
    """None if there are no such nodes."""


def starvation(games: Sequence[Games]) -> dict[str, Starvation]:
    by_side = {}
    for side, name in enumerate(SIDES):
        opened = sum(entry.open[side] for entry in games)
        below = sum(entry.starved[side] for entry in games)
        by_side[name] = Starvation(opened, below / opened if opened else None)
    return by_side


def games_lately(iterations: Sequence[Iteration]) -> list[Games]:
    return [iteration.games for iteration in iterations[-LATELY:] if iteration.games is not None]


# ---- buffer, gate, search ------------------------------------------------------------


@dataclass(frozen=True)
class BufferReach:
    """How many iterations of games the buffer holds when full, at the present rate."""

    capacity: int
    positions: int | None
    positions_per_iteration: float | None
    iterations_held: float | None


def buffer_reach(config: SelfPlayConfig, iterations: Sequence[Iteration]) -> BufferReach:
    rate = mean_of_known(games.positions for games in games_lately(iterations))
    training = iterations[-1].training if iterations else None
    return BufferReach(
        capacity=config.buffer,
        positions=None if training is None else training.positions,
        positions_per_iteration=rate,
        iterations_held=config.buffer / rate if rate else None,
    )


@dataclass(frozen=True)
class RejectedMatches:
    """The matches of the candidates that were rejected in a row, up to now."""

    first_wins: float
    """Share of the games won by the first player, whichever network that was."""
    second_wins: float
    draws: float
    score: float
    """Of the candidates, on average."""
    spread: float
    """Of their scores about one half, as a variance: about 1 if the networks are equally strong and
    the games independent, 0 if every opening gives both networks the same."""
    by_colour: float | None
    """Share of the openings from which the same colour won both games; None in older runs."""


@dataclass(frozen=True)
class Acceptance:
    """How many candidates the gate let through."""

    threshold: float
    """The score from which a candidate is accepted."""
    decisions: int
    rate: float
    early: float | None
    """In the first half of the run; None, as ``late``, with too few decisions."""
    late: float | None
    rejected_in_a_row: int
    """Up to now."""
    drawn: float
    """Share of the match games of the second half."""
    rejected: RejectedMatches | None
    """None if the last candidate was accepted."""


def acceptance(config: SelfPlayConfig, iterations: Sequence[Iteration]) -> Acceptance | None:
    """None without a gate, or before its first decision."""
    decided = [iteration for iteration in iterations if iteration.accepted is not None]
    if not config.gate or not decided:
        return None
    accepted = [bool(iteration.accepted) for iteration in decided]
    half = len(decided) // 2
    since = next((i for i, yes in enumerate(reversed(accepted)) if yes), len(accepted))
    enough = len(decided) >= FEWEST_DECISIONS
    matches = [iteration.match for iteration in decided[half:] if iteration.match is not None]
    return Acceptance(
        threshold=config.accept,
        decisions=len(decided),
        rate=sum(accepted) / len(accepted),
        early=sum(accepted[:half]) / half if enough else None,
        late=sum(accepted[half:]) / (len(accepted) - half) if enough else None,
        rejected_in_a_row=since,
        drawn=sum(sum(match.draws) for match in matches)
        / max(1, sum(match.games for match in matches)),
        rejected=rejected_matches([entry.match for entry in decided[len(decided) - since :]]),
    )


def rejected_matches(matches: Sequence[MatchResult | None]) -> RejectedMatches | None:
    played = [match for match in matches if match is not None and match.games]
    games = sum(match.games for match in played)
    if not games:
        return None
    return RejectedMatches(
        first_wins=sum(match.wins[0] + match.losses[1] for match in played) / games,
        second_wins=sum(match.wins[1] + match.losses[0] for match in played) / games,
        draws=sum(sum(match.draws) for match in played) / games,
        score=sum(match.games * match.score for match in played) / games,
        spread=sum(4 * match.games * (match.score - 0.5) ** 2 for match in played) / len(played),
        by_colour=None
        if any(match.pairs_by_colour is None for match in played)
        else sum(2 * (match.pairs_by_colour or 0) for match in played) / games,
    )


@dataclass(frozen=True)
class SearchFigures:
    """The options of the search that a diagnosis looks at, and the c of PUCT at the root at the
    beginning and at the end of a search."""

    sims: int
    c_init: float
    c_base_factor: float
    fpu_reduction: float
    fpu_clamp: bool
    fpu_dynamic: bool
    lambda_steps: float
    noise_eps: float
    noise_steps: int
    c_first: float
    c_last: float


def search_figures(config: SelfPlayConfig) -> SearchFigures:
    base = config.sims * config.c_base_factor

    def exploration(visits: int) -> float:
        return config.c_init + math.log((visits + base + 1) / base)

    return SearchFigures(
        sims=config.sims,
        c_init=config.c_init,
        c_base_factor=config.c_base_factor,
        fpu_reduction=config.fpu_reduction,
        fpu_clamp=config.fpu_clamp,
        fpu_dynamic=config.fpu_dynamic,
        lambda_steps=config.lambda_steps,
        noise_eps=config.noise_eps,
        noise_steps=config.noise_steps,
        c_first=exploration(1),
        c_last=exploration(config.sims),
    )
