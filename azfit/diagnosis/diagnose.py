"""What may be wrong with a self-play run or with a network: all figures, by side.

    diagnosis = diagnose(Path("runs/four"), data=Path("data"))
    diagnosis["findings"]

A run brings its lines and its games. A checkpoint brings neither: it plays a few games against
itself first, and then the same is asked of those.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.checkpoint import SUFFIX, load_checkpoint
from azfit.diagnosis import run_history as history
from azfit.diagnosis.contradiction import canonical, gaps_by_side, grouped, most_compared
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
    MOST_SOLVED,
    RESULT_NAMES,
    Oracle,
    blunders,
    judged_sample,
    oracle_for,
    results_of_moves,
    value_errors,
)
from azfit.evaluation_cache import EvaluationCache
from azfit.games import Game, States, game_by_name
from azfit.inference import NetworkEvaluator
from azfit.network import Network
from azfit.search import Evaluator
from azfit.search_config import SearchConfig
from azfit.self_play.assessment import SIDES, assess, judge
from azfit.self_play.config import SelfPlayConfig, settled
from azfit.self_play.config_sources import read_config
from azfit.self_play.episode import summarised
from azfit.self_play.iteration import read_iterations
from azfit.self_play.play_games import play_games
from azfit.self_play.replay import ReplayBatch
from azfit.self_play.watched import watch, watched_positions
from azfit.typed_json import to_json
from solver.errors import InputError

# Positions searched with an option and without, per side: a share is then known to 3 points.
SAMPLED = 256

# Games that a checkpoint plays against itself to be looked at.
CHECKPOINT_GAMES = 32


@dataclass
class Subject:
    """What is diagnosed."""

    name: str
    kind: str  # "run" or "checkpoint"
    config: SelfPlayConfig
    search: SearchConfig
    network: Network | None
    evaluate: Evaluator | None
    lines: list[dict[str, Any]] = field(default_factory=list)
    games: StoredGames | None = None

    @property
    def game(self) -> Game:
        return game_by_name(self.config.game)


def open_run(folder: Path, sims: int | None = None) -> Subject:
    """A run's config, lines, games and best network."""
    config = with_sims(read_self_play_config(folder), sims)
    game, best = game_by_name(config.game), folder / f"best{SUFFIX}"
    network = load_checkpoint(best, config.game)[0] if best.exists() else None
    games = read_games(folder, game)
    lines = [line.to_dict() for line in read_iterations(folder)]
    if not lines and not games.episodes:
        raise InputError(f"'{folder}' has no iteration and no game yet: let it run")
    evaluate = (
        None if network is None else EvaluationCache(NetworkEvaluator(network, threads=1), game)
    )
    search = config.search
    if network is not None:
        search = replace(search, max_steps=float(network.config.max_plies))
    return Subject(str(folder), "run", config, search, network, evaluate, lines, games)


def read_self_play_config(folder: Path) -> SelfPlayConfig:
    """The config of a run of self-play, and of no other."""
    if not folder.exists():
        raise InputError(f"'{folder}' does not exist: give the folder of a run, or a checkpoint")
    metrics = folder / "metrics.jsonl"
    if metrics.exists() and not read_iterations(folder) and metrics.stat().st_size:
        raise InputError(
            f"'{folder}' is no run of self-play: diagnose one of its checkpoints instead"
        )
    return read_config(folder)


def with_sims(config: SelfPlayConfig, sims: int | None) -> SelfPlayConfig:
    if sims is None:
        return config
    if sims < 1:
        raise InputError(f"--sims {sims}: use at least 1")
    return replace(config, sims=sims)


def open_checkpoint(path: Path, sims: int | None = None) -> Subject:
    """A network, and games that it plays now with the default options."""
    network, _ = load_checkpoint(path)
    config = with_sims(settled({"game": network.config.game}), sims)
    evaluate = EvaluationCache(NetworkEvaluator(network, threads=1), network.game)
    search = replace(config.search, max_steps=float(network.config.max_plies))
    subject = Subject(str(path), "checkpoint", config, search, network, evaluate)
    subject.games = own_games(network.game, evaluate, search)
    return subject


def own_games(game: Game, evaluate: Evaluator, search: SearchConfig) -> StoredGames:
    """Games of a network against itself."""
    numbers, count = range(CHECKPOINT_GAMES), CHECKPOINT_GAMES
    played = play_games(game, evaluate, search, numbers, seed=1, iteration=0, parallel=count)
    return StoredGames(game, sorted(played, key=lambda one: one.number))


# ---- the parts -----------------------------------------------------------------------


def diagnose(path: Path, *, sims: int | None = None, data: Path = Path("data")) -> dict[str, Any]:
    """Everything that is known of a run (a folder) or of a checkpoint (a file)."""
    subject = open_checkpoint(path, sims) if path.is_file() else open_run(path, sims)
    oracle, judge_name = oracle_for(subject.game, data)
    return diagnosis_of(subject, oracle, judge_name)


def diagnosis_of(subject: Subject, oracle: Oracle | None, judge_name: str) -> dict[str, Any]:
    """The figures, the truth beside them, and what follows from both."""
    config, lines = subject.config, subject.lines
    told: dict[str, Any] = {
        "subject": subject.name,
        "kind": subject.kind,
        "game": config.game,
        "iterations": len(lines),
        "search": history.exploration(config),
        "watch": history.watched(lines or now_watched(subject), subject.game),
        "policy_loss": history.policy_loss(lines),
        "value_loss": history.value_loss(config, lines),
        "course": history.course(lines),
        "acceptance": history.acceptance(config, lines),
        "buffer": history.buffer_reach(config, lines) if lines else None,
        "options": {
            name: getattr(config, name)
            for name in ("balance_sampling", "random_plies", "temp_moves")
        },
        **told_of_games(subject),
    }
    if subject.evaluate is not None:
        told |= searches_told(subject, oracle)
    told["truth"] = {"judge": judge_name, "there": oracle is not None}
    if oracle is not None:
        told["truth"] |= truth_told(subject, oracle)
    told["findings"] = [one.to_dict() for one in findings(told)]
    return told


def now_watched(subject: Subject) -> list[dict[str, Any]]:
    """One line with what the network says now of the watched positions."""
    return [] if subject.network is None else [{"watch": to_json(watch(subject.network))}]


def told_of_games(subject: Subject) -> dict[str, Any]:
    """Sides, outcomes, starved nodes, from the lines if there are any, else from the games."""
    lines, games = subject.lines, subject.games
    told: dict[str, Any] = {"jensen": None, "cut": [] if games is None else games.cut}
    entries = history.games_lately(lines)
    if lines:
        told["sides"] = history.sides_lately(lines)
    else:
        assert games is not None
        entries = [to_json(summarised(games.episodes))]
        fresh = {}
        if subject.network is not None:
            fresh = to_json(assess(subject.network, batch_of(games)))
        told["sides"] = history.by_side([fresh])
    told["outcomes"], told["starved"] = history.outcomes(entries), history.starved(entries)
    if games is not None and games.episodes:
        buffer = games.newest(min(subject.config.buffer, most_compared(subject.game)))
        keys, policies = canonical(subject.game, buffer.states, buffer.targets)
        told["jensen"] = gaps_by_side(grouped(keys, policies, buffer.sides), buffer.sides)
    return told


def batch_of(games: StoredGames) -> ReplayBatch:
    """All positions, as training sees them."""
    left = np.concatenate([one.left for one in games.episodes])[games.skipped :].astype(np.int64)
    planes = games.game.planes(games.states)
    return ReplayBatch(planes, games.targets, games.wdl.astype(np.int64), left, games.sides)


# ---- searches ------------------------------------------------------------------------


def sample_of(games: StoredGames, seed: int = 0) -> tuple[States, NDArray[np.int64]]:
    """Positions of the latest games, as many of each side: states and plies."""
    recent = games.latest(history.LATELY)
    random = np.random.default_rng(seed)
    rows = []
    for side in range(2):
        mine = np.flatnonzero(recent.sides == side)
        rows.append(random.permutation(mine)[:SAMPLED])
    chosen = np.sort(np.concatenate(rows))
    return recent.states[chosen], recent.plies[chosen]


def searches_told(subject: Subject, oracle: Oracle | None) -> dict[str, Any]:
    """Searches repeated, and searches with the options that failed others switched over."""
    game, evaluate, config = subject.game, subject.evaluate, subject.search
    assert evaluate is not None
    told: dict[str, Any] = {
        "repeats": {
            name: repeated_searches(game, evaluate, config, moves)
            for name, moves in watched_positions(game).items()
        }
    }
    if subject.games is None or not subject.games.episodes:
        return told
    states, plies = sample_of(subject.games)
    plain = without_noise(config)
    clamped, unclamped, stepless = (
        searched(game, evaluate, one, states, plies)
        for one in (
            replace(plain, fpu_clamp=True),
            replace(plain, fpu_clamp=False),
            replace(plain, lambda_steps=0.0),
        )
    )
    present = clamped if config.fpu_clamp else unclamped
    told["clamp"] = differences(game, states, clamped, unclamped, config.sims)
    told["steps_head"] = differences(game, states, present, stepless, config.sims)
    if oracle is not None:
        variants = {"clamp on": clamped, "clamp off": unclamped, "lambda 0": stepless}
        told["blunders"] = blunders_told(subject, oracle, states, variants)
    return told


def blunders_told(
    subject: Subject, oracle: Oracle, states: States, variants: dict[str, Searched]
) -> dict[str, Any]:
    """By mover and side: how often the move gives a result away, on the sampled positions."""
    game = subject.game
    limit = MOST_SOLVED if game.name == "connect4" else None
    rows, truth = judged_sample(oracle, states, limit)
    if not len(rows) or subject.network is None:
        return {}
    judged = states[rows]
    policies, wdl = judge(subject.network, game.planes(judged))
    argmax = np.where(game.legal_masks(judged), policies, -1.0).argmax(axis=1).astype(np.int32)
    movers = {"network": argmax} | {name: one.chosen[rows] for name, one in variants.items()}
    told: dict[str, Any] = {
        name: blunders(oracle, game, judged, truth, np.ascontiguousarray(chosen, np.int32))
        for name, chosen in movers.items()
    }
    told["value"] = value_errors(truth, wdl[:, 0] - wdl[:, 2], game.sides(judged))
    return told


# ---- the truth -----------------------------------------------------------------------


def truth_told(subject: Subject, oracle: Oracle) -> dict[str, Any]:
    """Of the watched positions: the result, the moves that keep it, the right ones among them, and
    how likely those are. Where every move keeps the result, the right ones win soonest or lose
    latest, if that is known."""
    game, told = subject.game, {}
    for name, moves in watched_positions(game).items():
        state = game.play_all(moves)
        worth = results_of_moves(oracle, game, state)
        if not worth:
            continue
        best = max(worth.values())
        keeping = [action for action, result in worth.items() if result == best]
        right = keeping if len(keeping) < len(worth) else oracle.best_moves(state) or keeping
        entry = {
            "result": RESULT_NAMES[best],
            "keeping": [game.action_name(action) for action in keeping],
            "right": [game.action_name(action) for action in right],
            "keeps_anyway": len(keeping) == len(worth),
            "all_alike": len(right) == len(worth),
            "side": SIDES[game.to_move(state)],
        }
        if subject.network is not None:
            policy = judge(subject.network, game.planes(state[None]))[0][0]
            legal = policy[list(worth)].sum()
            entry["probability"] = float(policy[right].sum() / legal)
        told[name] = entry
    return told
