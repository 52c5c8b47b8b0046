"""What the replay buffer of a run holds, by side: the games on disk, the newest positions of them.

report = inspect_buffer(Path("runs/four"))
report.findings
"""

from __future__ import annotations

import os.path
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.diagnosis.contradiction import (
    Groups,
    JensenGap,
    canonical,
    gaps_by_side,
    grouped,
    keys_of,
    most_compared,
)
from azfit.diagnosis.figures import Figures, RunOptions, Truth
from azfit.diagnosis.finding import Finding
from azfit.diagnosis.findings import BUFFER_RULES, findings
from azfit.diagnosis.run_history import SideFigures
from azfit.diagnosis.run_history import outcomes as shares_of
from azfit.diagnosis.stored_games import StoredGames, read_games
from azfit.diagnosis.truth import (
    RESULT_NAMES,
    Judge,
    judge_for,
    keeping_and_right,
    results_of_moves,
)
from azfit.games import DropOldest, Game, State, game_by_name
from azfit.self_play.assessment import entropies
from azfit.self_play.config_sources import read_config
from azfit.self_play.episode import DRAWN, Episode
from azfit.self_play.iteration import CLASSES, SIDES, learns_from_oracle
from solver.errors import InputError

MOST_FREQUENT = 8  # positions shown
MOVES_SHOWN = 3  # of each
LENGTHS = (0, 10, 25, 50, 75, 90, 100)  # percentiles


# ---- the report ----------------------------------------------------------------------


@dataclass(frozen=True)
class IterationCount:
    """Positions of one iteration."""

    iteration: int
    positions: int


@dataclass(frozen=True)
class OutcomeCounts:
    """How the games ended."""

    first_wins: int
    second_wins: int
    draws: int


@dataclass(frozen=True)
class Lengths:
    """Plies of the games."""

    mean: float
    percentiles: dict[str, float]


@dataclass(frozen=True)
class Distinct:
    """The share of positions left when equal ones count once."""

    as_played: float
    up_to_symmetry: float


@dataclass(frozen=True)
class BufferSide:
    """The positions of one side to move."""

    positions: int
    classes: dict[str, float]
    """Shares of their games' outcomes: win, draw, loss."""
    target_entropy: float
    search_value: float
    """Mean value of the searches."""
    outcome: float
    """Mean of win - loss."""


@dataclass(frozen=True)
class PlyEntropy:
    """The targets at one ply."""

    ply: int
    side: str
    positions: int
    entropy: float


@dataclass(frozen=True)
class FrequentPosition:
    """A position met often, as one of its games met it."""

    position: str
    side: str
    exact: str | None
    """Its result for the side to move, where an exact judge knows it."""
    times: int
    gap: float
    """The Jensen gap of its targets."""
    outcome: float
    """Mean of win - loss."""
    target: dict[str, float]
    """The leading moves of the mean target; if none of the right moves is among them, the likeliest
    of those comes last."""
    right: list[str]
    """The right moves by an exact judge; none where it does not know, or where all are right."""


@dataclass(frozen=True)
class BufferReport:
    """What ``inspect-buffer`` prints."""

    run: str
    game: str
    cut: list[str]
    """A sentence for each file of games that a crash cut short."""
    capacity: int
    games_on_disk: int
    positions_on_disk: int
    games: int
    positions: int
    by_iteration: list[IterationCount]
    outcomes: OutcomeCounts
    lengths: Lengths
    compared: int
    """The newest positions among which equal ones were looked for."""
    distinct: Distinct
    sides: dict[str, BufferSide]
    jensen: dict[str, JensenGap]
    entropy_by_ply: list[PlyEntropy]
    frequent: list[FrequentPosition]
    judge: str
    """Its name; without a judge, what it would take to have one."""
    options: RunOptions
    start_result: str | None
    """What the start is worth to the first player, by an exact judge."""

    @property
    def findings(self) -> list[Finding]:
        """What looks wrong, by the rules of a diagnosis that need no more than games."""
        ended = self.outcomes
        figures = Figures(
            iterations=self.by_iteration[-1].iteration,
            options=self.options,
            outcomes=shares_of(ended.first_wins, ended.second_wins, ended.draws),
            sides={
                name: SideFigures(side.positions, classes=side.classes)
                for name, side in self.sides.items()
            },
            jensen=self.jensen,
            start_result=self.start_result,
            truth=Truth(self.judge),
        )
        return findings(figures, BUFFER_RULES)

    def to_dict(self) -> dict[str, Any]:
        """As in ``--json``."""
        entries = asdict(self)
        del entries["start_result"], entries["options"]["temp_moves"]
        known = self.start_result is not None
        entries["truth"] = {"start": {"result": self.start_result}} if known else {}
        entries["findings"] = [finding.to_dict() for finding in self.findings]
        return entries


def inspect_buffer(folder: Path, data: Path = Path("data")) -> BufferReport:
    """Figures of the games in this run's folder, with the truth if ``data`` holds the table
    (Connect Four needs none), and what looks wrong."""
    if not os.path.isdir(folder):
        raise InputError(f"'{folder}' is not a run: give the folder of a self-play run")
    if learns_from_oracle(folder):
        raise InputError(
            f"'{folder}' is a train-from-oracle run, which has no games: give a self-play run"
        )
    config = read_config(folder)
    game = game_by_name(config.game)
    stored = read_games(folder, game)
    if not stored.episodes:
        raise InputError(f"'{folder}' has no games yet: let it run, or give another run")
    buffer = stored.newest(config.buffer)
    compared = stored.newest(min(config.buffer, most_compared(game)))
    keys, policies = canonical(game, compared.states, compared.targets)
    groups = grouped(keys, policies, compared.sides)
    judge, judge_name = judge_for(game, data)
    return BufferReport(
        run=str(folder),
        game=config.game,
        cut=stored.cut,
        capacity=config.buffer,
        games_on_disk=len(stored.episodes),
        positions_on_disk=len(stored),
        games=len(buffer.episodes),
        positions=len(buffer),
        by_iteration=by_iteration(buffer),
        outcomes=outcomes(buffer.episodes),
        lengths=lengths(buffer.episodes),
        compared=len(compared),
        distinct=Distinct(
            as_played=distinct(keys_of(game, compared.states), compared.sides),
            up_to_symmetry=len(groups.first) / len(compared),
        ),
        sides=by_side(buffer),
        jensen=gaps_by_side(groups, compared.sides),
        entropy_by_ply=entropy_by_ply(buffer),
        frequent=frequent(game, compared, groups, judge),
        judge=judge_name,
        options=RunOptions(config.balance_sampling, config.random_plies),
        start_result=None if judge is None else exact_result(judge, game.start()),
    )


# ---- figures -------------------------------------------------------------------------


def by_iteration(buffer: StoredGames) -> list[IterationCount]:
    iterations, counts = np.unique(buffer.iterations, return_counts=True)
    return [
        IterationCount(int(i) + 1, int(count)) for i, count in zip(iterations, counts, strict=True)
    ]


def outcomes(episodes: list[Episode]) -> OutcomeCounts:
    winners = [episode.winner for episode in episodes]
    return OutcomeCounts(winners.count(0), winners.count(1), winners.count(DRAWN))


def lengths(episodes: list[Episode]) -> Lengths:
    plies = np.array([episode.length for episode in episodes])
    spread = {str(p): float(np.percentile(plies, p)) for p in LENGTHS}
    return Lengths(float(plies.mean()), spread)


def distinct(keys: NDArray[np.uint64], sides: NDArray[np.int8]) -> float:
    """The share of positions left when equal ones count once."""
    return sum(len(np.unique(keys[sides == side])) for side in range(2)) / len(keys)


def by_side(buffer: StoredGames) -> dict[str, BufferSide]:
    sides = {}
    spread = entropies(buffer.targets)
    for side, name in enumerate(SIDES):
        rows = buffer.sides == side
        if not rows.any():
            continue
        classes = np.bincount(buffer.wdl[rows], minlength=3) / rows.sum()
        sides[name] = BufferSide(
            positions=int(rows.sum()),
            classes=dict(zip(CLASSES, classes.tolist(), strict=True)),
            target_entropy=float(spread[rows].mean()),
            search_value=float(buffer.values[rows].mean()),
            outcome=float(classes[0] - classes[2]),
        )
    return sides


def entropy_by_ply(buffer: StoredGames) -> list[PlyEntropy]:
    """Entropy of the targets at each ply that has positions."""
    spread = entropies(buffer.targets)
    counts = np.bincount(buffer.plies)
    sums = np.bincount(buffer.plies, spread)
    return [
        PlyEntropy(ply, SIDES[ply % 2], int(count), float(total / count))
        for ply, (count, total) in enumerate(zip(counts, sums, strict=True))
        if count
    ]


def frequent(
    game: Game, buffer: StoredGames, groups: Groups, judge: Judge | None
) -> list[FrequentPosition]:
    """The positions met most often."""
    positions = []
    for group in np.argsort(-groups.members, kind="stable")[:MOST_FREQUENT]:
        rows = np.flatnonzero(groups.of == group)
        first = int(groups.first[group])
        mean = _as_in(game, buffer, first, groups.mean[group])
        state = buffer.states[first]
        right = [] if judge is None else right_moves(judge, game, state)
        positions.append(
            FrequentPosition(
                position=position_name(game, buffer, first),
                side=SIDES[int(buffer.sides[first])],
                exact=None if judge is None else exact_result(judge, state),
                times=len(rows),
                gap=float(groups.gap[group]),
                outcome=float((buffer.wdl[rows] == 0).mean() - (buffer.wdl[rows] == 2).mean()),
                target={
                    game.action_name(action): round(float(mean[action]), 4)
                    for action in leading_actions(mean, right)
                },
                right=[game.action_name(action) for action in right],
            )
        )
    return positions


def leading_actions(mean: NDArray[np.float64], right: list[int]) -> list[int]:
    """The likeliest moves; if none of the right moves is among them, the likeliest of those too."""
    order = np.argsort(-mean, kind="stable").tolist()
    leading: list[int] = order[:MOVES_SHOWN]
    if not set(leading) & set(right):
        leading += [action for action in order if action in right][:1]
    return leading


def exact_result(judge: Judge, state: State) -> str | None:
    """For the side to move; None where it is not known."""
    known = judge.known(state[None])[0]
    return RESULT_NAMES[int(judge.results(state[None])[0])] if known else None


def right_moves(judge: Judge, game: Game, state: State) -> list[int]:
    """None where the judge does not know, or where all moves are right."""
    results = results_of_moves(judge, game, state)
    right = keeping_and_right(judge, state, results)[1] if results else []
    return right if len(right) < len(results) else []


def _as_in(
    game: Game, buffer: StoredGames, row: int, mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A mean target of the canonical position, carried back to this position's board."""
    state = buffer.states[row : row + 1]
    images = [int(keys_of(game, state, t)[0]) for t in range(game.symmetries)]
    return np.asarray(mean[game.action_image[images.index(min(images))]])


def position_name(game: Game, buffer: StoredGames, row: int) -> str:
    """In the game's notation, or as the moves that led to it."""
    if isinstance(game, DropOldest):
        return str(game.position(buffer.states[row]))
    at = row + buffer.skipped
    for episode in buffer.episodes:
        if at < episode.learned:
            ply = int(np.repeat(np.arange(episode.plies), episode.counts)[at])
            played = (*episode.opening, *episode.actions[:ply])
            moves = [game.action_name(int(action)) for action in played]
            return ("" if game.name == "connect4" else " ").join(moves) or "start"
        at -= episode.learned
    raise AssertionError("row beyond the games")
