"""Training a candidate and deciding on it: what is kept, what is reset, what is reported."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_self_play import same, tiny, weights
from workers_here import WorkersHere

from azfit.games import game_by_name
from azfit.playing.arena import Score
from azfit.self_play import training
from azfit.self_play.ahead import PlayAhead
from azfit.self_play.evaluation import decide, evaluate
from azfit.self_play.iteration import MatchResult
from azfit.self_play.iteration_log import IterationLog
from azfit.self_play.loop import learn, play
from azfit.self_play.rating_pool import EARLIER_MEMBERS, Rated, thinned
from azfit.self_play.replay import ReplayBatch
from azfit.self_play.state import SelfPlayRun

GAME = game_by_name("drop-3-3-3")


@pytest.fixture
def trained(tmp_path: Path) -> SelfPlayRun:
    """A run after its first training, before its match."""
    run = SelfPlayRun(tiny(), tmp_path / "run")
    log = IterationLog(tmp_path / "run", None, 0)
    play(run, PlayAhead(run, WorkersHere(run.config)), log)
    learn(run, log)
    log.close()
    assert not same(weights(run.best), weights(run.candidate))
    return run


def decide_at(run: SelfPlayRun, score: float) -> None:
    match = MatchResult(4, score, 0.1, (2, 0), (0, 0), (0, 2))
    run.line = replace(run.line, match=match, elo=33.0)
    decide(run)


def moments(run: SelfPlayRun) -> list[Any]:
    return [
        state["exp_avg"].clone()
        for p in run.candidate.parameters()
        if (state := run.trainer.optimiser.state[p])
    ]


def test_the_candidate_starts_as_a_copy_of_the_best(tmp_path: Path) -> None:
    run = SelfPlayRun(tiny(), tmp_path)
    assert run.best is not run.candidate
    assert same(weights(run.best), weights(run.candidate))
    shared = {p.data_ptr() for p in run.best.parameters()}
    assert not shared & {p.data_ptr() for p in run.candidate.parameters()}


def test_accepting_keeps_the_optimiser(trained: SelfPlayRun) -> None:
    candidate, before = weights(trained.candidate), moments(trained)
    decide_at(trained, 0.5)  # exactly the threshold
    assert trained.line.accepted is True
    assert same(weights(trained.best), candidate)
    assert same(weights(trained.candidate), candidate)
    assert before and all(a.equal(b) for a, b in zip(before, moments(trained), strict=True))
    assert trained.pool == [(0, 0.0), (1, 33.0)]
    assert trained.iteration == 1


def test_rejecting_restores_the_best_and_resets_the_optimiser(trained: SelfPlayRun) -> None:
    best = weights(trained.best)
    decide_at(trained, 0.49)
    assert trained.line.accepted is False
    assert same(weights(trained.best), best)
    assert same(weights(trained.candidate), best)
    assert not trained.trainer.optimiser.state
    learned = {p for group in trained.trainer.optimiser.param_groups for p in group["params"]}
    assert learned == set(trained.candidate.parameters()), "it must teach the candidate"
    assert trained.pool == [(0, 0.0)]
    assert trained.iteration == 1


PAIRS = {
    "colour": Score(wins=(1, 0), losses=(0, 1)),
    "other colour": Score(wins=(0, 1), losses=(1, 0)),
    "drawn": Score(draws=(1, 1)),
    "won": Score(wins=(1, 1)),
    "lost": Score(losses=(1, 1)),
    "half won": Score(wins=(1, 0), draws=(0, 1)),
    "half lost": Score(losses=(0, 1), draws=(1, 0)),
}


@pytest.mark.parametrize(
    ("pairs", "by_colour", "accepted"),
    [
        (["colour"] * 3, 3, True),
        (["colour", "other colour"], 2, True),
        (["drawn"] * 3, 0, True),
        (["colour", "drawn", "other colour"], 2, True),
        (["colour", "colour", "won"], 2, True),  # by its score
        (["colour", "colour", "lost"], 2, False),
        (["colour", "won", "lost"], 1, False),  # 50 %, and two pairs that tell them apart
        (["half won", "half lost"], 0, False),
        (["half won", "half lost", "drawn"], 0, False),
        (["lost"], 0, False),
    ],
)
def test_a_match_that_no_pair_decides_is_no_reason_to_reject(
    trained: SelfPlayRun, pairs: list[str], by_colour: int, accepted: bool
) -> None:
    """A game that one side wins: with the default gate such a run would stand still for ever."""

    class Pool(WorkersHere):
        def play_pairs(self, openings: Any, player: str, opponent: str) -> Any:
            return enumerate(PAIRS[name] for name in pairs)

    trained.config = replace(trained.config, accept=0.52)
    log = IterationLog(trained.folder, None, 0)
    evaluate(trained, Pool(trained.config), log)
    decide(trained)
    log.close()
    assert trained.line.match is not None
    assert trained.line.match.pairs_by_colour == by_colour
    assert trained.line.accepted is accepted


def test_without_a_gate_every_candidate_is_accepted(trained: SelfPlayRun) -> None:
    trained.config = replace(trained.config, gate=False)
    candidate = weights(trained.candidate)
    decide_at(trained, 0.0)
    assert trained.line.accepted is True
    assert same(weights(trained.best), candidate)


def test_training_on_leaves_an_accepted_best_alone(trained: SelfPlayRun) -> None:
    decide_at(trained, 1.0)
    best = weights(trained.best)
    log = IterationLog(trained.folder, None, 1)
    learn(trained, log)
    log.close()
    assert same(weights(trained.best), best)
    assert not same(weights(trained.candidate), best)


def test_what_was_learned_is_judged_as_fresh_games_are(trained: SelfPlayRun) -> None:
    """The candidate's win/draw/loss loss on the buffer, all of it as it is small."""
    buffer = trained.games.buffer
    batch = buffer.batch(np.arange(buffer.size))
    with torch.inference_mode():
        said = trained.candidate(torch.from_numpy(batch.planes)).wdl
    wanted = torch.nn.functional.cross_entropy(said, torch.from_numpy(batch.wdl))
    assert trained.line.training.wdl_learned == pytest.approx(float(wanted), abs=1e-5)


def test_rates_fall_over_the_run_and_the_policy_head_has_its_own(trained: SelfPlayRun) -> None:
    head = set(trained.candidate.heads.policy.parameters())  # type: ignore[union-attr,operator]
    rates = {}
    for group in trained.trainer.optimiser.param_groups:
        for parameter in group["params"]:
            rates[parameter in head] = group["lr"]
    assert rates[True] == pytest.approx(0.1 * rates[False])
    assert rates[False] == pytest.approx(3e-3)
    cosine = [trained.config.rate_at(fraction) for fraction in (0, 0.5, 1, 2)]
    assert cosine == pytest.approx([3e-3, 3e-3 * 0.525, 1.5e-4, 1.5e-4])
    linear = replace(trained.config, lr_schedule="linear")
    assert linear.rate_at(0.25) == pytest.approx(3e-3 * (0.05 + 0.95 * 0.75))
    assert replace(linear, lr_schedule="constant").rate_at(0.9) == 3e-3


def test_the_pool_keeps_the_first_the_latest_and_a_spread_between() -> None:
    pool = [Rated(0, 0.0)]
    for iteration in range(1, 200):
        pool = thinned([*pool, Rated(iteration, float(iteration))], 5)
        assert len(pool) <= EARLIER_MEMBERS + 5
        assert pool[0][0] == 0
        latest = [member.iteration for member in pool[-5:]]
        assert latest == list(range(max(0, iteration - 4), iteration + 1))[-len(latest) :]
    between = [member.iteration for member in pool[:-4]]
    assert max(b - a for a, b in itertools.pairwise(between)) < 60


def test_steps_targets_beyond_the_last_bin_keep_their_parity(
    trained: SelfPlayRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = np.arange(1, 60)
    seen: list[Any] = []
    real = training.losses
    monkeypatch.setattr(training, "losses", lambda o, t, c: seen.append(t) or real(o, t, c))
    planes = np.repeat(GAME.planes(GAME.start()[None]), len(left), axis=0)
    policy = np.full((len(left), 9), 1 / 9, np.float32)
    wdl = np.where(left == 7, 1, 0)
    trained.trainer.step(ReplayBatch(planes, policy, wdl, left, left.astype(np.int8)))
    for plies, outcome, target in zip(left.tolist(), wdl, seen[0].steps.tolist(), strict=True):
        if outcome == 1:
            assert target == -100
        elif plies <= 16:
            assert target == plies - 1
        else:
            assert target in (14, 15) and (target + 1) % 2 == plies % 2
