"""What may be wrong with a self-play run or with a network: all figures, by side.

    diagnosis = diagnose(Path("runs/four"), data=Path("data"))
    diagnosis.findings

A run brings its iterations and its games. A checkpoint brings neither: it plays a few games against
itself first, and these are looked at instead.
"""

from __future__ import annotations

import os.path
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.checkpoint import load_checkpoint
from azfit.checkpoint_header import SUFFIX, checkpoints_in
from azfit.diagnosis import run_history as history
from azfit.diagnosis.contradiction import (
    JensenGap,
    canonical,
    gaps_by_side,
    grouped,
    most_compared,
)
from azfit.diagnosis.figures import Figures, RunOptions, Truth
from azfit.diagnosis.finding import Finding
from azfit.diagnosis.findings import findings
from azfit.diagnosis.search_check import (
    Searched,
    differences,
    repeated_searches,
    searched,
    without_noise,
)
from azfit.diagnosis.stored_games import StoredGames, read_games
from azfit.diagnosis.truth import (
    Judge,
    SampleTruth,
    blunder_rates,
    judge_for,
    judged_sample,
    value_offsets,
    watched_truths,
)
from azfit.diagnosis.watched_history import watched
from azfit.evaluation_cache import EvaluationCache
from azfit.games import Game, State, States, game_by_name
from azfit.inference import NetworkEvaluator
from azfit.loading import checkpoint_path, is_shipped
from azfit.network import Network
from azfit.players import NetworkPlayer
from azfit.search import Evaluator
from azfit.search_config import SearchConfig
from azfit.self_play.assessment import assess, predictions
from azfit.self_play.config import SelfPlayConfig, settled
from azfit.self_play.config_sources import read_config
from azfit.self_play.episode import summarised
from azfit.self_play.game_files import positions_of
from azfit.self_play.iteration import Iteration, learns_from_oracle, read_iterations
from azfit.self_play.play_games import play_games
from azfit.self_play.watched import watch, watched_positions
from solver.errors import InputError

# Positions searched with an option and without, per side: a share is then known to 3 points.
SAMPLED = 256

# Games that a checkpoint plays against itself to be looked at.
CHECKPOINT_GAMES = 32


# ---- what is diagnosed ---------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """What is diagnosed."""

    name: str
    kind: str  # "run" or "checkpoint"
    config: SelfPlayConfig
    search: SearchConfig
    network: Network | None
    evaluate: Evaluator | None
    games: StoredGames
    iterations: list[Iteration] = field(default_factory=list)

    @property
    def game(self) -> Game:
        return game_by_name(self.config.game)


def open_subject(path: str | Path, sims: int | None = None) -> Subject:
    """A self-play run as such; a train-from-oracle run as its best network, or else its latest."""
    folder = checkpoint_path(path) if is_shipped(path) else Path(path)
    if not os.path.isdir(folder):
        return open_checkpoint(folder, sims)
    if not learns_from_oracle(folder):
        return open_run(folder, sims)
    best, saved = folder / f"best{SUFFIX}", checkpoints_in(folder / "checkpoints")
    if os.path.lexists(best):
        return open_checkpoint(best, sims)
    if saved:
        return open_checkpoint(saved[-1], sims)
    raise InputError(f"run '{folder}' has no network yet: let it run")


def open_run(folder: Path, sims: int | None = None) -> Subject:
    """A run's config, iterations, games and best network."""
    config = with_sims(read_config(folder), sims)
    game, best = game_by_name(config.game), folder / f"best{SUFFIX}"
    network = load_checkpoint(best, config.game)[0] if os.path.lexists(best) else None
    games = read_games(folder, game)
    iterations = read_iterations(folder)
    if not iterations and not games.episodes:
        raise InputError(f"'{folder}' has no iteration and no game yet: let it run")
    if network is None:
        return Subject(
            str(folder), "run", config, config.search_config, None, None, games, iterations
        )
    evaluate, search = searching(network, config)
    return Subject(str(folder), "run", config, search, network, evaluate, games, iterations)


def with_sims(config: SelfPlayConfig, sims: int | None) -> SelfPlayConfig:
    return config if sims is None else replace(config, sims=sims)


def searching(network: Network, config: SelfPlayConfig) -> tuple[Evaluator, SearchConfig]:
    """How this network is searched with: as the config says, with its own scale of steps."""
    evaluate = EvaluationCache(NetworkEvaluator(network, threads=1), network.game)
    return evaluate, replace(config.search_config, max_steps=float(network.config.max_plies))


def open_checkpoint(path: Path, sims: int | None = None) -> Subject:
    """A network, and games that it plays now with the default options."""
    network, _ = load_checkpoint(path)
    config = with_sims(settled({"game": network.config.game}), sims)
    evaluate, search = searching(network, config)
    games = own_games(network.game, evaluate, search)
    return Subject(str(path), "checkpoint", config, search, network, evaluate, games)


def own_games(game: Game, evaluate: Evaluator, search: SearchConfig) -> StoredGames:
    """Games of a network against itself."""
    numbers, count = range(CHECKPOINT_GAMES), CHECKPOINT_GAMES
    played = play_games(game, evaluate, search, numbers, seed=1, iteration=0, parallel=count)
    return StoredGames(game, sorted(played, key=lambda episode: episode.number))


# ---- the diagnosis -------------------------------------------------------------------


@dataclass(frozen=True)
class Diagnosis:
    """Everything that is known about a run or a checkpoint, and what follows from it."""

    subject: str
    kind: str  # "run" or "checkpoint"
    game: str
    iterations: int
    course: list[history.CoursePoint]
    cut: list[str]
    """A sentence for each file of games that a crash cut short."""
    figures: Figures
    findings: list[Finding]

    def to_dict(self) -> dict[str, Any]:
        """As in ``--json``."""
        return {
            "subject": self.subject,
            "kind": self.kind,
            "game": self.game,
            "iterations": self.iterations,
            "course": [point.to_dict() for point in self.course],
            "cut": self.cut,
            **self.figures.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def diagnose(path: str | Path, *, sims: int | None = None, data: Path = Path("data")) -> Diagnosis:
    """Diagnoses a run (a folder) or a checkpoint (a file, or ``shipped``)."""
    subject = open_subject(path, sims)
    judge, judge_name = judge_for(subject.game, data)
    return diagnosis_of(subject, judge, judge_name)


def diagnosis_of(subject: Subject, judge: Judge | None, judge_name: str) -> Diagnosis:
    """The figures, the truth, and what follows from both."""
    figures = with_searches(subject, judge, figures_of(subject, judge, judge_name))
    return Diagnosis(
        subject=subject.name,
        kind=subject.kind,
        game=subject.config.game,
        iterations=len(subject.iterations),
        course=history.course(subject.iterations),
        cut=subject.games.cut,
        figures=figures,
        findings=findings(figures),
    )


def figures_of(subject: Subject, judge: Judge | None, judge_name: str) -> Figures:
    """All that is known without new searches; without iterations, from the games alone."""
    config, iterations, game = subject.config, subject.iterations, subject.game
    if iterations:
        games, sides = history.games_lately(iterations), history.sides_lately(iterations)
    else:
        games, sides = [summarised(subject.games.episodes)], {}
        if subject.network is not None:
            positions = positions_of(game, subject.games.episodes)
            sides = history.by_side([assess(subject.network, positions)])
    truth = truth_of(subject, judge, judge_name)
    start = truth.positions.get("start")
    return Figures(
        iterations=len(iterations) if subject.kind == "run" else None,
        options=RunOptions(config.balance_sampling, config.random_plies, config.temp_moves),
        outcomes=history.outcomes_of(games),
        sides=sides,
        jensen=jensen_gaps(subject),
        start_result=None if start is None else start.result,
        truth=truth,
        search=history.search_figures(config),
        watch=watched(iterations or now_watched(subject), game, truth.positions),
        policy_loss=history.policy_loss(iterations),
        value_loss=history.value_loss(config, iterations),
        acceptance=history.acceptance(config, iterations),
        buffer=history.buffer_reach(config, iterations) if iterations else None,
        starved=history.starvation(games),
    )


def now_watched(subject: Subject) -> list[Iteration]:
    """One iteration with what the network says now of the watched positions."""
    return [] if subject.network is None else [Iteration(watch=watch(subject.network))]


def jensen_gaps(subject: Subject) -> dict[str, JensenGap] | None:
    """The Jensen gap of the targets in the buffer; None without games."""
    if not subject.games.episodes:
        return None
    buffer = subject.games.newest(min(subject.config.buffer, most_compared(subject.game)))
    keys, policies = canonical(subject.game, buffer.states, buffer.targets)
    return gaps_by_side(grouped(keys, policies, buffer.sides), buffer.sides)


def truth_of(subject: Subject, judge: Judge | None, judge_name: str) -> Truth:
    """The watched positions before the judge, and how likely the network plays them right."""
    if judge is None:
        return Truth(judge_name)
    network, game = subject.network, subject.game
    if network is None:
        return Truth(judge_name, True, watched_truths(judge, game))

    def policy_of(state: State) -> NDArray[np.float32]:
        policies, _ = predictions(network, game.planes(state[None]))
        return np.asarray(policies[0])

    return Truth(judge_name, True, watched_truths(judge, game, policy_of))


# ---- searches ------------------------------------------------------------------------


def sample_of(games: StoredGames, seed: int = 0) -> tuple[States, NDArray[np.int64]]:
    """Positions of the latest games, as many of each side: states and plies."""
    recent = games.latest(history.LATELY)
    random = np.random.default_rng(seed)
    rows = [random.permutation(np.flatnonzero(recent.sides == side))[:SAMPLED] for side in range(2)]
    chosen = np.sort(np.concatenate(rows))
    return recent.states[chosen], recent.plies[chosen]


def with_searches(subject: Subject, judge: Judge | None, figures: Figures) -> Figures:
    """Adds searches repeated, and searches with the clamp and the steps head switched over."""
    game, evaluate, config = subject.game, subject.evaluate, subject.search
    if evaluate is None:
        return figures
    figures = replace(
        figures,
        repeats={
            name: repeated_searches(game, evaluate, config, moves)
            for name, moves in watched_positions(game).items()
        },
    )
    if not subject.games.episodes:
        return figures
    states, plies = sample_of(subject.games)
    plain = without_noise(config)
    clamped, unclamped, stepless = (
        searched(game, evaluate, variant, states, plies)
        for variant in (
            replace(plain, fpu_clamp=True),
            replace(plain, fpu_clamp=False),
            replace(plain, lambda_steps=0.0),
        )
    )
    present = clamped if config.fpu_clamp else unclamped
    variants = {"clamp on": clamped, "clamp off": unclamped, "lambda 0": stepless}
    return replace(
        figures,
        clamp=differences(game, states, clamped, unclamped, config.sims),
        steps_head=differences(game, states, present, stepless, config.sims),
        sample_truth=None if judge is None else sample_truth(subject, judge, states, variants),
    )


def sample_truth(
    subject: Subject, judge: Judge, states: States, variants: dict[str, Searched]
) -> SampleTruth:
    """How often the network and each search give a result away, on the sampled positions."""
    game = subject.game
    rows, truth = judged_sample(judge, states)
    if not len(rows) or subject.network is None or subject.evaluate is None:
        return SampleTruth({}, {})
    judged = states[rows]
    choices = NetworkPlayer(game, subject.evaluate).choose(judged)
    assert choices.wdl is not None
    certain = (truth != 0) | judge.knows_draws
    moves = {"network": choices.actions}
    moves |= {name: np.asarray(search.chosen[rows], np.int32) for name, search in variants.items()}
    return SampleTruth(
        blunders={
            player: blunder_rates(judge, game, judged, truth, np.ascontiguousarray(chosen))
            for player, chosen in moves.items()
        },
        value=value_offsets(
            truth[certain],
            (choices.wdl[:, 0] - choices.wdl[:, 2])[certain],
            game.sides(judged)[certain],
        ),
    )
