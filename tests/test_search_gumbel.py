"""The Gumbel root: sequential halving, the move it chooses, and what a policy learns from it."""

from __future__ import annotations

import numpy as np
import pytest
from evaluators import Floats, Hashed, hashed, one_tree
from plain_games import PlainConnect4, PlainDrop, PlainGame, PlainGomoku
from plain_search import PlainGumbel

from azfit import Connect4, Evaluation, Result, Search, SearchConfig, game_by_name
from solver.errors import InputError

GAMES: list[PlainGame] = [PlainDrop(3, 3, 3), PlainConnect4(), PlainGomoku(9)]


@pytest.mark.parametrize("plain", GAMES, ids=lambda plain: plain.name)
@pytest.mark.parametrize("prove", [False, True])
def test_visits_choice_and_targets_equal_the_plain_search(plain: PlainGame, prove: bool) -> None:
    """Simulation by simulation, with budgets that end within a halving, after one, and long after
    the last; positions of random games."""
    game, draw = game_by_name(plain.name), np.random.default_rng(2)
    proven = 0
    for sims, candidates in ((1, 16), (5, 16), (16, 4), (33, 16), (50, 3), (40, 1), (90, 16)):
        state, actions = plain.start(), list[int]()
        for _ in range(int(draw.integers(0, 8))):
            actions.append(int(draw.choice(plain.legal(state))))
            state = plain.play(state, actions[-1])
            if not plain.legal(state):
                state, actions = plain.start(), []
        config = SearchConfig(
            sims=sims,
            search="gumbel",
            gumbel_candidates=candidates,
            prove=prove,
            max_plies=60,
            max_steps=40.0,
        )
        search = one_tree(game, config, actions)
        search.begin()
        planes = search.select()
        search.expand(*Hashed(game)(planes), logits=False)
        legal = plain.legal(state)
        reference = PlainGumbel(
            plain,
            lambda planes: hashed(planes, game.actions),
            c_base=sims * 1000,
            max_steps=40.0,
            max_plies=60,
            prove=prove,
            gumbels=dict(zip(legal, search._search.tree[0].gumbel, strict=False)),
            levels=PlainGumbel.levels_of(min(candidates, len(legal)), sims),
        )
        reference.begin(state, len(actions))
        left = sims
        while True:
            rows = search.select()
            done = left - int(search._search.tree[0].sims_left) - len(rows)
            spared = int(search.spared()[0]) if not len(rows) else 0
            for _ in range(done - spared):
                reference.simulate()
            left -= done
            assert search.visits()[0].tolist() == reference.visits(game.actions)
            if not len(rows):
                break
            search.expand(*Hashed(game)(rows), logits=False)
            reference.simulate()
            left -= 1
        assert search.root_values()[0] == reference.root.mean
        assert search.outcomes()[0] == pytest.approx(reference.outcome(), abs=1e-5)
        np.testing.assert_allclose(search.targets()[0], reference.targets(game.actions), rtol=1e-5)
        if reference.root.proof and reference.root.proof[0]:
            proven += 1
            continue
        most = max(reference.visits(game.actions))
        assert search.choose(1.0)[0] == reference.best(most)
        assert search.choose(0.0)[0] == reference.best(most, with_gumbel=False)
    assert proven < 7


def test_the_published_order_of_visits() -> None:
    """16 simulations of 4 candidates: two rounds of four, then four of the best two."""
    levels = PlainGumbel.levels_of(4, 16)
    assert levels == [0] * 4 + [1] * 4 + [2, 2, 3, 3, 4, 4, 5, 5]
    search = one_tree(Connect4(), SearchConfig(sims=16, search="gumbel", gumbel_candidates=4), [])
    search.run(Hashed(Connect4()), logits=False)
    assert sorted(search.visits()[0].tolist()) == [0, 0, 0, 2, 2, 6, 6]


def test_moves_are_drawn_by_the_policy_if_nothing_is_known() -> None:
    """With one simulation and equal values the chosen move is drawn from the prior."""
    trees, weights = 4000, np.array([1, 2, 3, 4, 5, 6, 7], np.float32)
    config = SearchConfig(sims=1, search="gumbel")
    search = Search(Connect4(), trees, config, seed=3)
    search.reset(np.tile(Connect4().start(), (trees, 1)))
    search.run(
        lambda planes: (
            np.tile(weights, (len(planes), 1)),
            np.zeros(len(planes), np.float32),
            None,
        ),
        logits=False,
    )
    drawn = np.bincount(search.choose(), minlength=7) / trees
    assert np.abs(drawn - weights / 28).max() < 5 * np.sqrt(0.25 / trees)
    np.testing.assert_allclose(search.policy()[0], weights / 28, rtol=1e-4)


def test_the_outcome_is_that_of_good_moves_though_bad_ones_are_visited() -> None:
    """Two candidates get the same visits; one loses at once, so no good player plays it."""

    def evaluate(planes: Floats) -> Evaluation:
        alone = planes.sum(axis=(1, 2, 3)) == 0
        bad = planes[:, 1, 0, 0] > 0  # the piece that the mover's opponent put into column 1
        value = np.where(alone, 0.5, np.where(bad, 1.0, -0.5)).astype(np.float32)
        weights = np.tile(np.array([1, 1, 0, 0, 0, 0, 0], np.float32), (len(planes), 1))
        return weights + np.float32(1e-9), value, None

    config = SearchConfig(sims=2, search="gumbel", gumbel_candidates=2)
    search = one_tree(Connect4(), config, [])
    search.run(evaluate, logits=False)
    assert search.visits()[0, :2].tolist() == [1, 1]
    assert search.root_values()[0] == pytest.approx((0.5 - 1.0 + 0.5) / 3)
    assert search.outcomes()[0] == pytest.approx(0.5, abs=0.01)


def test_a_quiet_search_has_no_gumbel_noise_and_draws_from_its_policy() -> None:
    """As a move that is only played, not learned: the same candidates whatever the seed, and at a
    temperature a move drawn from the improved policy, as by PUCT from the visits."""
    game, trees = Connect4(), 3000
    search = Search(game, trees, SearchConfig(sims=6, search="gumbel", gumbel_candidates=3), seed=5)
    search.reset(np.tile(game.start(), (trees, 1)))
    search.run(Hashed(game), logits=False, quiet=True)
    visits, policy = search.visits(), search.policy()[0]
    assert (visits == visits[0]).all()
    tried = set(np.flatnonzero(visits[0]).tolist())
    assert tried == set(np.argsort(search.priors()[0])[-3:].tolist())
    drawn = np.bincount(search.choose(1.0), minlength=7) / trees
    assert np.abs(drawn - policy).max() < 5 * np.sqrt(0.25 / trees)
    assert len(set(search.choose(0.0).tolist())) == 1
    search.reset(np.tile(game.start(), (trees, 1)))
    search.run(Hashed(game), logits=False)
    assert (search.visits() != visits[0]).any()


def test_every_search_begins_anew_and_has_no_other_noise() -> None:
    game = Connect4()
    search = one_tree(game, SearchConfig(sims=20, search="gumbel", noise_eps=1.0), [])
    search.run(Hashed(game), logits=False)
    priors = search.priors()[0]
    assert search.advance(search.choose())[0] == Result.GOING_ON
    assert search.root_visits()[0] == 0
    search.run(Hashed(game), logits=False)
    search.run(Hashed(game), logits=False)
    assert search.visits().sum() == 20
    quiet = one_tree(game, SearchConfig(sims=20, noise_eps=0.0), [])
    quiet.run(Hashed(game), logits=False)
    assert np.array_equal(priors, quiet.priors()[0])
    assert SearchConfig(search="gumbel").for_matches().search == "puct"
    with pytest.raises(InputError, match="use puct or gumbel"):
        SearchConfig(search="uct")
