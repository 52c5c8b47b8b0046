"""Between two searches: noise, the choice of moves, kept subtrees, seeds, room; and bad use."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from evaluators import PLAIN_UCT, Fixed, Hashed, f32, hashed, one_tree
from plain_games import PlainConnect4
from plain_search import PlainSearch
from search_noise import noise_share

from azfit import (
    Connect4,
    DropOldest,
    Game,
    Gomoku,
    Result,
    Search,
    SearchConfig,
    game_by_name,
)
from solver.errors import FadefourError, InputError

# ---- noise -----------------------------------------------------------------------------------


def test_clean_priors_are_those_of_the_evaluator_whatever_the_noise() -> None:
    """At a new root, at one with a kept subtree, and in a quiet search."""
    game = Connect4()
    noisy = one_tree(game, SearchConfig(sims=30, noise_eps=0.9), [])
    for quiet in (False, False, True):
        noisy.run(Hashed(game), logits=False, quiet=quiet)
        planes = game.planes(noisy.states())
        weights = hashed(planes[0], 7)[0]
        np.testing.assert_allclose(noisy.clean_priors()[0], weights / weights.sum(), rtol=1e-6)
        assert np.array_equal(noisy.clean_priors(), noisy.priors()) == quiet
        noisy.advance(noisy.choose())


def test_noise_schedule() -> None:
    constant = SearchConfig(noise_eps=0.25, noise_eps_min=0.1, noise_steps=0)
    assert [noise_share(constant, ply) for ply in (0, 5, 500)] == [0.25] * 3
    falling = SearchConfig(noise_eps=0.5, noise_eps_min=0.1, noise_steps=12)
    shares = [noise_share(falling, ply) for ply in (0, 3, 6, 12, 40)]
    np.testing.assert_allclose(shares, [0.5, 0.4, 0.3, 0.1, 0.1])


@pytest.mark.parametrize(("ply", "share"), [(0, 0.5), (6, 0.3), (30, 0.1)])
def test_noise_is_a_dirichlet_share_of_the_root_prior(ply: int, share: float) -> None:
    """Mean and variance over many trees; Var of a component is (1/n)(1 - 1/n) / (n alpha + 1)."""
    trees, alpha, weights = 4000, 0.4, [6.0, 1, 1, 1, 1, 1, 1]
    config = SearchConfig(
        noise_eps=0.5, noise_eps_min=0.1, noise_steps=12, dirichlet_alpha=alpha, reuse=False
    )
    search = Search(Connect4(), trees, config, node_capacity=2)
    search.reset(np.tile(Connect4().start(), (trees, 1)), plies=ply)
    search.run(Fixed(weights), sims=1, logits=False)
    clean = np.array(weights) / 12
    noise = (search.priors() - (1 - share) * clean) / share
    assert noise.min() > -1e-5
    np.testing.assert_allclose(noise.sum(axis=1), 1, atol=1e-4)
    variance = (1 / 7) * (6 / 7) / (7 * alpha + 1)
    assert np.abs(noise.mean(axis=0) - 1 / 7).max() < 5 * np.sqrt(variance / trees)
    np.testing.assert_allclose(noise.var(axis=0), variance, rtol=0.12)


def test_noise_of_a_tiny_alpha_is_still_a_distribution() -> None:
    search = Search(Gomoku(15), 20, SearchConfig(dirichlet_alpha=1e-4, noise_eps=1.0, sims=1))
    search.reset(np.tile(Gomoku(15).start(), (20, 1)))
    search.run_constant()
    np.testing.assert_allclose(search.priors().sum(axis=1), 1, rtol=1e-5)


def test_noise_comes_once_per_root_and_only_at_the_root() -> None:
    game = Connect4()
    search = one_tree(game, SearchConfig(noise_eps=0.25), [])
    search.run(Fixed([1.0] * 7), sims=50, logits=False)
    first = search.priors()[0]
    search.run(Fixed([1.0] * 7), sims=50, logits=False)
    assert np.array_equal(search.priors()[0], first)
    assert np.ptp(first) > 1e-3
    search.advance(search.choose(0.0))
    np.testing.assert_allclose(search.priors()[0], 1 / 7, rtol=1e-6)  # not yet searched
    search.run(Fixed([1.0] * 7), sims=1, logits=False)
    assert np.ptp(search.priors()[0]) > 1e-3


def test_forced_playouts_look_at_what_noise_proposes_and_leave_the_target_alone() -> None:
    """A tried move gets the visits that its noisy prior calls for; the target gives them back."""
    game = Connect4()
    for k in (0.0, 2.0):
        config = SearchConfig(sims=200, noise_eps=0.5, forced_playouts=k, reuse=False)
        search = Search(game, 20, config, seed=4)
        search.reset(np.tile(game.start(), (20, 1)))
        search.run(Hashed(game), logits=False)
        visits, priors, targets = search.visits(), search.priors(), search.targets()
        needed = np.sqrt(2.0 * priors * visits.sum(axis=1, keepdims=True))
        enough = (visits[visits > 0] + 1 >= needed[visits > 0]).mean()
        if k:
            assert enough > 0.97  # a move first tried at the very end may lack some
            assert (targets <= visits).all()
            assert targets.sum() < visits.sum()
            assert (targets.argmax(axis=1) == visits.argmax(axis=1)).all()
            assert (targets.max(axis=1) == visits.max(axis=1)).all()
        else:
            assert enough < 0.95, "nothing to force here"
            assert (targets == visits).all()
    search.advance(search.choose())
    search.run(Hashed(game), 20, logits=False, quiet=True)  # no noise, nothing to force
    assert (search.targets() == search.visits()).all()


# ---- moves from visits -----------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.25, 0.5, 1.0, 2.0, 100.0])
def test_policy_is_visits_to_the_power_of_one_over_t(temperature: float) -> None:
    game = DropOldest(4, 4, 4)
    search = one_tree(game, SearchConfig(), [])
    search.run(Hashed(game), logits=False)
    visits = search.visits()[0].astype(np.float64)
    expected = np.where(visits > 0, visits ** (1 / temperature), 0)
    expected /= expected.sum()
    np.testing.assert_allclose(search.policy(temperature)[0], expected, rtol=1e-5, atol=1e-9)


def test_cold_policies_are_argmax_with_ties_to_the_lowest_action() -> None:
    search = one_tree(Connect4(), PLAIN_UCT, [])
    search.run(Fixed([1.0] * 7), sims=10, logits=False)
    assert search.visits()[0].tolist() == [2, 2, 2, 1, 1, 1, 1]
    assert search.policy(0.0)[0].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert search.choose(0.0)[0] == 0
    nearly = search.policy(1e-6)[0]  # 2^1000000 would overflow outside log space
    np.testing.assert_allclose(nearly, [1 / 3, 1 / 3, 1 / 3, 0, 0, 0, 0], rtol=1e-6)


@pytest.mark.parametrize("z", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("prove", [False, True])
def test_the_surest_move_is_that_of_the_values_themselves(z: float, prove: bool) -> None:
    """Against a plain search that keeps every value; it is not always the most visited move. With
    proofs the values of lost moves are withdrawn, deep in the tree too."""
    plain, game, others = PlainConnect4(), Connect4(), 0
    draw = np.random.default_rng(7)
    for _ in range(40):
        state, actions = plain.start(), list[int]()
        while len(actions) < int(draw.integers(3, 24)) or not plain.legal(state):
            if not plain.legal(state):
                state, actions = plain.start(), []
            actions.append(int(draw.choice(plain.legal(state))))
            state = plain.play(state, actions[-1])
        config = SearchConfig(
            sims=60, noise_eps=0.0, reuse=False, lcb=z, max_steps=40.0, prove=prove
        )
        search = one_tree(game, config, actions)
        search.run(Hashed(game), logits=False)
        reference = PlainSearch(
            plain,
            lambda planes: hashed(planes, 7),
            c_base=60_000,
            max_steps=40.0,
            max_plies=42,
            prove=prove,
        )
        reference.begin(state, len(actions))
        for _ in range(60):
            reference.simulate()
        if reference.root.proof:
            continue
        chosen = int(search.choose(0.0)[0])
        assert chosen == reference.surest(z), actions
        assert search.policy(0.0)[0, chosen] == 1
        others += chosen != search.visits()[0].argmax()
    assert others > 0
    assert SearchConfig(lcb=z).for_matches().lcb == z


def test_moves_are_drawn_as_often_as_the_policy_says() -> None:
    trees, game = 6000, Connect4()
    config = dataclasses.replace(PLAIN_UCT, sims=10, reuse=False)
    search = Search(game, trees, config, seed=5)
    search.reset(np.tile(game.start(), (trees, 1)))
    search.run_constant()
    drawn = np.bincount(search.choose(0.5), minlength=7) / trees
    expected = np.array([4, 4, 4, 1, 1, 1, 1]) / 16
    assert np.abs(drawn - expected).max() < 5 * np.sqrt(0.25 / trees)


def test_temperature_schedule_by_move_number() -> None:
    config = SearchConfig(temperature=0.8, temp_moves=3)
    plies = np.array([0, 2, 3, 50], dtype=np.int32)
    np.testing.assert_allclose(config.temperature_at(plies), [0.8, 0.8, 0, 0])
    game = Connect4()
    search = Search(game, 2, dataclasses.replace(PLAIN_UCT, temp_moves=3))
    search.reset(np.tile(game.start(), (2, 1)), plies=[2, 3])
    search.run_constant()
    assert (search.policy(None)[0] > 0).sum() > 1
    assert search.policy(None)[1].max() == 1


# ---- seeds, batches, reuse, room -------------------------------------------------------------


def play_games(game: Game, seeds: list[int], order: list[int]) -> dict[int, list[Any]]:
    """Six moves with noise and temperature; what each seed's game saw."""
    search = Search(game, len(order), SearchConfig(sims=25, noise_eps=0.5))
    search.reset(np.tile(game.start(), (len(order), 1)), seeds=[seeds[i] for i in order])
    seen: dict[int, list[Any]] = {seeds[i]: [] for i in order}
    for _ in range(6):
        search.run(Hashed(game), logits=False)
        actions, visits = search.choose(), search.visits()
        for tree, i in enumerate(order):
            seen[seeds[i]].append((int(actions[tree]), visits[tree].tolist()))
        search.advance(actions)
    return seen


def test_a_tree_depends_on_its_seed_and_not_on_its_batch() -> None:
    game = DropOldest(3, 3, 3)
    seeds = [11, 12, 13, 14, 15]
    together = play_games(game, seeds, [0, 1, 2, 3, 4])
    assert together == play_games(game, seeds, [4, 2, 0, 1, 3])
    assert together[13] == play_games(game, seeds, [2])[13]
    assert len({str(games) for games in together.values()}) == 5  # and seeds matter


def test_the_seed_of_a_search_repeats_it() -> None:
    game = Connect4()
    runs = []
    for seed in (3, 3, 4):
        search = Search(game, 4, SearchConfig(sims=20), seed=seed)
        search.reset(np.tile(game.start(), (4, 1)))
        search.run(Hashed(game), logits=False)
        runs.append((search.visits().tolist(), search.choose().tolist()))
    assert runs[0] == runs[1] != runs[2]


def test_one_long_search_equals_several_short_ones() -> None:
    game = DropOldest(4, 4, 4)
    whole, parts = (one_tree(game, SearchConfig(sims=100), [0]) for _ in range(2))
    evaluate = Hashed(game)
    whole.run(evaluate, 90, logits=False)
    for sims in (1, 29, 60):
        parts.run(evaluate, sims, logits=False)
    assert np.array_equal(whole.visits(), parts.visits())
    assert np.array_equal(whole.action_values(), parts.action_values())


def test_a_kept_subtree_saves_its_evaluations() -> None:
    game = DropOldest(4, 4, 4)
    for reuse in (True, False):
        evaluate = Hashed(game)
        search = one_tree(game, SearchConfig(sims=60, noise_eps=0.0, reuse=reuse), [])
        search.run(evaluate, logits=False)
        action = int(search.choose(0.0)[0])
        kept, value = int(search.visits()[0, action]), search.action_values()[0, action]
        search.advance([action])
        assert kept > 5
        assert search.root_visits()[0] == (kept if reuse else 0)
        assert search.root_values()[0] == (-value if reuse else 0)
        assert np.array_equal(search.states()[0], game.play(game.start(), action))
        assert search.plies()[0] == 1


def test_advancing_along_a_move_never_tried_starts_a_new_tree() -> None:
    game = Connect4()
    search = one_tree(game, PLAIN_UCT, [])
    search.run(Fixed([1.0] * 7), sims=2, logits=False)
    search.advance([6])
    assert search.root_visits()[0] == 0
    assert np.array_equal(search.states()[0], game.play_all([6]))
    unsearched = one_tree(game, PLAIN_UCT, [])
    unsearched.advance([6])
    assert np.array_equal(unsearched.states(), search.states())


def test_a_tree_without_room_forgets_and_goes_on() -> None:
    game = DropOldest(3, 3, 3)
    config = SearchConfig(sims=40, noise_eps=0.0)
    tight = one_tree(game, config, [], node_capacity=41)
    for _ in range(6):
        tight.run(Hashed(game), logits=False)
        fresh = Search(game, 1, config)
        fresh.reset(tight.states(), tight.plies())
        fresh.run(Hashed(game), logits=False)
        assert np.array_equal(tight.visits(), fresh.visits())
        tree = tight._search.tree[0]
        assert tree.node_count <= 41
        assert tree.edge_count <= tight._search.edge_capacity
        if tight.advance(tight.choose(0.0))[0] != Result.GOING_ON:
            break
    assert tight.forgotten()[0] >= 3


@pytest.mark.parametrize(("capacity", "visits"), [(11, 10), (10, 5)])
def test_the_last_node_of_the_room_is_used_and_no_more(capacity: int, visits: int) -> None:
    # No simulation of the first ten ends the game: a root and ten nodes, eleven in all.
    search = one_tree(Connect4(), PLAIN_UCT, [], node_capacity=capacity)
    for _ in range(2):
        search.run_constant(sims=5)
    assert search.visits().sum() == visits
    assert search.forgotten()[0] == (capacity == 10)


def test_more_simulations_than_room_are_refused() -> None:
    search = one_tree(Connect4(), SearchConfig(), [], node_capacity=20)
    with pytest.raises(InputError, match="sims=20: with node_capacity=20 use 1 to 19"):
        search.run_constant(sims=20)
    search.run_constant(sims=19)
    assert search.visits().sum() == 19


@pytest.mark.parametrize("name", ["drop-5-5-5", "connect4", "gomoku-19"])
def test_the_constant_evaluator_in_c_is_the_same_search(name: str) -> None:
    game = game_by_name(name)
    config = SearchConfig(sims=200, noise_eps=0.0)
    inside, outside = (one_tree(game, config, [0, 1, 2]) for _ in range(2))
    inside.run_constant(0.25)
    outside.run(
        lambda planes: (
            np.ones((len(planes), game.actions), np.float32),
            np.full(len(planes), 0.25, np.float32),
            None,
        ),
        logits=False,
    )
    assert np.array_equal(inside.visits(), outside.visits())
    assert inside.root_values() == outside.root_values()


# ---- bad use ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "value", "steps"),
    [
        (np.nan, 0.0, None),
        (np.inf, 0.0, None),
        (0.0, np.nan, None),
        (0.0, 1.5, None),
        (0.0, 0.0, np.nan),
        (0.0, 0.0, -3.0),
        (0.0, 0.0, 1e6),
    ],
)
def test_a_broken_evaluation_is_refused_and_changes_nothing(
    policy: float, value: float, steps: float | None
) -> None:
    search = one_tree(Connect4(), PLAIN_UCT, [])
    search.begin(2)
    search.select()
    given_steps = None if steps is None else f32([steps])
    with pytest.raises(FadefourError, match="check the network"):
        search.expand(np.full((1, 7), policy, np.float32), f32([value]), given_steps)
    assert search.root_visits()[0] == 0
    search.expand(np.zeros((1, 7), np.float32), np.zeros(1, np.float32))
    assert search.root_visits()[0] == 1


def test_weights_that_leave_no_legal_move_are_refused() -> None:
    search = one_tree(Connect4(), PLAIN_UCT, [0] * 6)
    with pytest.raises(FadefourError, match="check the network"):
        search.run(Fixed([1, 0, 0, 0, 0, 0, 0]), logits=False)


def test_calls_out_of_order_and_wrong_arrays_are_refused() -> None:
    search = one_tree(Connect4(), PLAIN_UCT, [])
    search.begin(2)
    search.select()
    with pytest.raises(RuntimeError, match="alternate"):
        search.select()
    with pytest.raises(RuntimeError, match="alternate"):
        search.advance([0])
    with pytest.raises(TypeError, match="float32"):
        search.expand(np.zeros((1, 7)), np.zeros(1, np.float32))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="policy has shape"):
        search.expand(np.zeros((2, 7), np.float32), np.zeros(2, np.float32))
    search.reset(Connect4().start()[None])
    search.run_constant(sims=3)
    with pytest.raises(InputError, match="action 7 is not legal"):
        search.advance([7])
    with pytest.raises(ValueError, match="states has shape"):
        search.reset(np.zeros((2, 32), np.uint8))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("sims", 0),
        ("sims", 2.5),
        ("sims", True),
        ("c_init", -1.0),
        ("c_base_factor", 0.0),
        ("fpu_reduction", float("nan")),
        ("noise_eps", 1.1),
        ("noise_steps", -1),
        ("dirichlet_alpha", 0.0),
        ("temperature", float("inf")),
        ("temp_moves", -1),
        ("lambda_steps", 2.0),
        ("max_steps", 0.0),
        ("max_plies", 0),
    ],
)
def test_an_impossible_option_is_named_in_one_line(option: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{option}=.*: use [^\n]*$"):
        SearchConfig(**{option: value})


def test_noise_cannot_rise_during_a_game() -> None:
    with pytest.raises(InputError, match=r"noise_eps_min=0\.3 is above noise_eps=0\.2"):
        SearchConfig(noise_eps=0.2, noise_eps_min=0.3, noise_steps=10)
