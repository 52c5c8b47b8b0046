"""Evaluation and gate: the candidate's matches, its rating, and whether it becomes the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from azfit.checkpoint import load_checkpoint
from azfit.playing.arena import Score
from azfit.playing.elo import rating
from azfit.playing.openings import Opening, random_openings
from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.iteration import MatchResult
from azfit.self_play.iteration_log import IterationLog
from azfit.self_play.rating_pool import opponents
from azfit.self_play.state import SelfPlayRun
from azfit.self_play.watched import watch
from azfit.self_play.workers import Workers


def evaluate(run: SelfPlayRun, workers: Workers, log: IterationLog) -> None:
    """Candidate against best, and against earlier bests for its rating."""
    config, best = run.config, run.pool[-1]
    workers.set_network("best", run.best)
    workers.set_network("candidate", run.candidate)
    earlier = opponents(run.pool) if config.pool_games else []
    openings = match_openings(run, config.eval_games, 2)
    pool_openings = [match_openings(run, config.pool_games, 3 + i) for i in range(len(earlier))]
    log.begin("match", 2 * (len(openings) + sum(map(len, pool_openings))), "game")
    pairs = play_match(workers, log, openings, "best")
    results = [(best.elo, *games_and_points(pairs))]
    for opponent, its_openings in zip(earlier, pool_openings, strict=True):
        workers.set_network("pool", load_checkpoint(run.best_path(opponent.iteration))[0])
        against = play_match(workers, log, its_openings, "pool")
        results.append((opponent.elo, *games_and_points(against)))
    workers.forget("pool")
    run.line = replace(run.line, match=match_result(pairs), elo=rating(results, best.elo))
    log.end()


def match_openings(run: SelfPlayRun, games: int, draw: int) -> list[Opening]:
    """One for every two games, as far as there are that many. ``draw`` numbers the draws of an
    iteration."""
    random = np.random.default_rng([run.config.seed, run.iteration, draw])
    return random_openings(run.game, games // 2, run.config.opening_plies, random)


def play_match(
    workers: Workers, log: IterationLog, openings: Sequence[Opening], opponent: str
) -> list[Score]:
    """The candidate against this opponent: its score in the two games from each opening."""
    pairs = []
    for _, pair in workers.play_pairs(openings, "candidate", opponent):
        pairs.append(pair)
        log.advance(2)
    return pairs


def games_and_points(pairs: Sequence[Score]) -> tuple[float, float]:
    score = sum(pairs, Score())
    return float(score.games), score.games * score.share


def match_result(pairs: Sequence[Score]) -> MatchResult:
    """The match of these pairs of games, each from one opening with the colours exchanged."""
    score = sum(pairs, Score())
    return MatchResult(
        games=score.games,
        score=score.share,
        standard_error=score.standard_error,
        wins=score.wins,
        draws=score.draws,
        losses=score.losses,
        pairs_by_colour=sum(sum(pair.wins) == sum(pair.losses) == 1 for pair in pairs),
    )


def passes(match: MatchResult, config: SelfPlayConfig) -> bool:
    """Does the gate let the candidate through? It must reach the score; but a match in which no
    pair of games distinguishes the two is not a reason to discard what was learned. In a game that
    one side wins, every match of good players is such a match."""
    return not config.gate or match.score >= config.accept or match.all_pairs_even


def decide(run: SelfPlayRun) -> None:
    """The gate: an accepted candidate keeps its optimiser, a rejected one starts from the best."""
    match, elo = run.line.match, run.line.elo
    assert match is not None and elo is not None
    accepted = passes(match, run.config)
    run.line = replace(run.line, accepted=accepted, watch=watch(run.candidate))
    if accepted:
        run.accept(elo)
    else:
        run.reject()
