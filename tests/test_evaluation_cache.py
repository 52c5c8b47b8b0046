"""Remembered evaluations: the same answers and the same searches as without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from evaluators import Hashed

from azfit import Search, SearchConfig, game_by_name
from azfit.evaluation_cache import EvaluationCache


class Counted:
    """Logits, win/draw/loss and steps from a hash of the planes; counts the rows it is asked."""

    def __init__(self, name: str) -> None:
        self._hashed, self.rows = Hashed(game_by_name(name)), 0

    def __call__(self, planes: Any) -> Any:
        self.rows += len(planes)
        weights, values, steps = self._hashed(planes)
        assert steps is not None
        wdl = np.stack([(1 + values) / 2, 0 * values, (1 - values) / 2], axis=1)
        return np.log(weights), wdl, steps


def some_planes(name: str, count: int, seed: int = 0) -> Any:
    game, draw = game_by_name(name), np.random.default_rng(seed)
    states = []
    for _ in range(count):
        state = game.start()
        for _ in range(draw.integers(0, 5)):
            state = game.play(state, int(draw.choice(game.legal_moves(state))))
        states.append(state)
    return game.planes(np.array(states))


@pytest.mark.parametrize("name", ["drop-3-3-3", "connect4", "gomoku-9"])
def test_answers_are_those_of_the_evaluator(name: str) -> None:
    plain, asked = Counted(name), Counted(name)
    cache = EvaluationCache(asked, game_by_name(name))
    for seed in (0, 1, 0):
        planes = some_planes(name, 40, seed)
        for cached, expected in zip(cache(planes), plain(planes), strict=True):
            assert cached.dtype == expected.dtype
            assert np.array_equal(cached, expected)
    distinct = {board.tobytes() for seed in (0, 1) for board in some_planes(name, 40, seed)}
    assert cache.computed == asked.rows == len(distinct)
    assert cache.asked == 120


def test_twins_within_a_batch_are_asked_once() -> None:
    asked = Counted("connect4")
    cache = EvaluationCache(asked, game_by_name("connect4"))
    planes = np.repeat(some_planes("connect4", 1), 7, axis=0)
    policy, _, _ = cache(planes)
    assert asked.rows == 1
    assert (policy == policy[0]).all()


def test_a_full_cache_forgets_and_still_answers() -> None:
    plain, asked = Counted("connect4"), Counted("connect4")
    cache = EvaluationCache(asked, game_by_name("connect4"), room=30)
    for seed in (0, 1, 2, 0):
        planes = some_planes("connect4", 25, seed)
        for cached, expected in zip(cache(planes), plain(planes), strict=True):
            assert np.array_equal(cached, expected)
        assert len(cache._places) <= 30
    more = some_planes("connect4", 31)
    assert np.array_equal(cache(more)[0], plain(more)[0]), "a batch beyond its room passes by"


def test_answers_are_the_callers_own() -> None:
    cache = EvaluationCache(Counted("connect4"), game_by_name("connect4"))
    planes = some_planes("connect4", 5)
    for part in cache(planes):
        part[:] = 0
    assert np.array_equal(cache(planes)[0], Counted("connect4")(planes)[0])


@pytest.mark.parametrize("name", ["drop-3-3-3", "connect4"])
def test_searches_are_the_same_with_and_without(name: str) -> None:
    game, plain = game_by_name(name), Counted(name)
    config = SearchConfig(sims=60, max_plies=42)
    cache = EvaluationCache(Counted(name), game, room=150)
    results = []
    for evaluate in (plain, cache):
        search = Search(game, 8, config)
        search.reset(np.repeat(game.start()[None], 8, axis=0), seeds=np.arange(8))
        searched = []
        for _ in range(4):
            search.run(evaluate)
            searched.append((search.visits(), search.root_values()))
            search.advance(search.choose())
        results.append(searched)
    for cached, expected in zip(*results, strict=True):
        assert np.array_equal(cached[0], expected[0])
        assert np.array_equal(cached[1], expected[1])
    assert cache.computed < 0.9 * plain.rows, "nothing was remembered"


@pytest.mark.parametrize("wrong", ["raises", "too few rows", "other width"])
def test_an_evaluation_that_failed_is_not_remembered(wrong: str) -> None:
    """Whatever the evaluator does, the next question about the same boards is asked again."""
    plain, fail = Counted("connect4"), True

    def evaluator(planes: Any) -> Any:
        policy, wdl, steps = plain(planes)
        if not fail:
            return policy, wdl, steps
        if wrong == "raises":
            raise KeyboardInterrupt
        return (policy[:-1] if wrong == "too few rows" else policy[:, :-1]), wdl, steps

    cache = EvaluationCache(evaluator, game_by_name("connect4"))
    planes = some_planes("connect4", 10)
    with pytest.raises((KeyboardInterrupt, ValueError)):
        cache(planes)
    fail = False
    for kept, asked in zip(cache(planes), plain(planes), strict=True):
        assert np.array_equal(kept, asked)
