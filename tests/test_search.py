"""The search: hand-computed trees, a plain reference, and the values of search.h."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from evaluators import PLAIN_UCT, Fixed, Floats, Hashed, f32, hashed, one_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_games import PlainConnect4, PlainDrop, PlainGame, PlainGomoku
from plain_search import PlainSearch

from azfit import Connect4, DropOldest, Evaluation, Result, Search, SearchConfig, game_by_name

# ---- trees computed by hand ------------------------------------------------------------------


def test_equal_moves_are_tried_in_turn() -> None:
    # All values 0: the least visited move leads, the lowest action among equals.
    search = one_tree(Connect4(), PLAIN_UCT, [])
    search.run(Fixed([1.0] * 7), sims=10, logits=False)
    assert search.visits()[0].tolist() == [2, 2, 2, 1, 1, 1, 1]
    assert search.root_visits()[0] == 11


def test_golden_visits_of_an_unequal_prior() -> None:
    # Every reply ends at the ply cap with 0. Scores P * sqrt(N) / (1 + n), P = 4/5 and 1/5:
    #   N=1: .8 .2 | N=2: .57 .28 | N=3: .46 .35 | N=4: .4 .4, a tie | N=5: .36 .45 | N=6: .39 .24
    config = dataclasses.replace(PLAIN_UCT, max_plies=1)
    search = one_tree(Connect4(), config, [])
    taken = []
    before = np.zeros(7, dtype=np.int64)
    search.run(Fixed([0, 4, 0, 0, 0, 1, 0]), sims=1, logits=False)
    for _ in range(6):
        taken.append(int(np.argmax(search.visits()[0] - before)))
        before = search.visits()[0].astype(np.int64)
        search.run(Fixed([0, 4, 0, 0, 0, 1, 0]), sims=1, logits=False)
    assert taken == [1, 1, 1, 1, 5, 1]


def test_golden_two_plies_with_signs() -> None:
    # Root 0.2; after one move the opponent has 0.6, so the move is worth -0.6; after two 0.1.
    # Sim 1: column 3 (P = 1), -0.6. Sim 2: FPU is the root's mean (0.2 - 0.6) / 2 = -0.2 for the
    # moves of no prior, against -0.6 + sqrt(2) / 2 = 0.107: column 3 again, and there again, a
    # value of +0.1 for the root's side: (-0.6 + 0.1) / 2 = -0.25. Sim 3: FPU -0.1 against
    # -0.25 + sqrt(3) / 3 = 0.327: column 3.
    search = one_tree(Connect4(), PLAIN_UCT, [])
    evaluate = Fixed([0, 0, 0, 1, 0, 0, 0], {0: 0.2, 1: 0.6, 2: 0.1, 3: 0.1})
    search.run(evaluate, sims=2, logits=False)
    assert search.visits()[0].tolist() == [0, 0, 0, 2, 0, 0, 0]
    assert search.action_values()[0, 3] == pytest.approx(-0.25)
    assert search.root_values()[0] == pytest.approx((0.2 - 0.6 + 0.1) / 3)
    search.run(evaluate, sims=1, logits=False)  # three plies down, 0.1 for the opponent
    assert search.action_values()[0, 3] == pytest.approx((-0.6 + 0.1 - 0.1) / 3)


def test_a_winning_move_is_worth_exactly_one() -> None:
    # Column 1 wins, 1 + .. each time. After k visits the others have the root's mean k / (k + 1),
    # less sqrt(1/7), plus sqrt(k + 1) / 7: at most 10/11 - 0.38 + 0.47 < 1 up to k = 10.
    config = dataclasses.replace(PLAIN_UCT, fpu_reduction=1.0)
    search = one_tree(Connect4(), config, [0, 1, 0, 1, 0, 1])
    search.run_constant(0.0, sims=10)
    assert search.visits()[0].tolist() == [10, 0, 0, 0, 0, 0, 0]
    assert search.action_values()[0, 0] == 1.0
    assert search.root_values()[0] == pytest.approx(10 / 11)


def test_a_win_in_three_plies_is_found_and_a_loss_in_two_avoided() -> None:
    # Three in the middle of the lowest row: an open two becomes an open three.
    game = Connect4()
    for actions, right in (([3, 3, 2, 2], {1, 4}), ([3, 6, 2, 6], {1, 4}), ([2, 6, 3], {1, 4})):
        search = one_tree(game, dataclasses.replace(PLAIN_UCT, sims=600), actions)
        search.run_constant()
        assert int(search.choose(0.0)[0]) in right


def test_outcomes_leave_out_the_steps_that_values_are_mixed_with() -> None:
    """A network that is sure to win, but late: its value shrinks, what is learned does not."""

    def evaluate(planes: Floats) -> Evaluation:
        sign = np.where(planes[:, :2].sum(axis=(1, 2, 3)) % 2 == 0, 1, -1).astype(np.float32)
        return np.ones((len(planes), 7), np.float32), 0.8 * sign, np.full(len(planes), 42.0, "f4")

    config = dataclasses.replace(PLAIN_UCT, lambda_steps=0.5, sims=50)
    search = one_tree(Connect4(), config, [])
    search.run(evaluate, logits=False)
    assert search.outcomes()[0] == pytest.approx(0.8)
    assert search.root_values()[0] == pytest.approx(0.5 * 0.8 - 0.5)
    search.advance(search.choose())
    assert search.outcomes()[0] == pytest.approx(-0.8)


# ---- against the plain search ----------------------------------------------------------------

GAMES: list[PlainGame] = [
    PlainDrop(3, 3, 3),
    PlainDrop(3, 2, 2),
    PlainDrop(4, 4, 4),
    PlainConnect4(),
    PlainGomoku(9),
]

options = st.fixed_dictionaries(
    {
        "c_init": st.sampled_from([0.3, 1.4, 4.0]),
        "c_base_factor": st.sampled_from([0.1, 1.0, 1000.0]),
        "fpu_reduction": st.sampled_from([0.0, 0.2, 0.8]),
        "fpu_clamp": st.booleans(),
        "fpu_dynamic": st.booleans(),
        "fpu_at_noised_root": st.booleans(),
        "lambda_steps": st.sampled_from([0.0, 0.1, 1.0]),
        "noise_eps": st.sampled_from([0.0, 0.25, 1.0]),
        "prove": st.booleans(),
        "forced_playouts": st.sampled_from([0.0, 2.0, 10.0]),
    }
)


@pytest.mark.parametrize("plain", GAMES, ids=lambda plain: plain.name)
@settings(max_examples=25, deadline=None)
@given(
    chosen=options,
    steps=st.booleans(),
    seed=st.integers(0, 1000),
    plies_left=st.integers(1, 12),
    opening=st.integers(0, 6),
)
def test_visits_equal_the_plain_search_move_after_move(
    plain: PlainGame,
    chosen: dict[str, Any],
    steps: bool,
    seed: int,
    plies_left: int,
    opening: int,
) -> None:
    """Every simulation's visits, through several moves of a game with its subtrees kept."""
    sims, game = 30, game_by_name(plain.name)
    draw = np.random.default_rng(seed)
    state = plain.start()
    actions: list[int] = []
    while len(actions) < opening and plain.legal(state):
        actions.append(int(draw.choice(plain.legal(state))))
        state = plain.play(state, actions[-1])
    cap = len(actions) + plies_left
    config = SearchConfig(sims=sims, max_plies=cap, max_steps=40.0, **chosen)
    search = Search(game, 1, config, node_capacity=400)
    search.reset(game.play_all(actions)[None], [len(actions)], [seed])
    if search.results()[0] != Result.GOING_ON:
        return
    noisy = chosen["noise_eps"] > 0
    formulas = {k: v for k, v in chosen.items() if k not in ("noise_eps", "c_base_factor")}
    reference = PlainSearch(
        plain,
        lambda planes: hashed(planes, game.actions, steps),
        c_base=sims * chosen["c_base_factor"],
        max_plies=cap,
        max_steps=40.0,
        **formulas,
    )
    evaluate = Hashed(game, steps)
    reference.begin(state, len(actions))
    for _ in range(4):
        search.run(evaluate, 1, logits=False)
        if noisy:
            reference.add_noise(search.priors()[0])
        for _ in range(sims - 1):
            reference.simulate()
            assert search.visits()[0].tolist() == reference.visits(game.actions)
            np.testing.assert_array_equal(search.targets()[0], reference.targets(game.actions))
            search.run(evaluate, 1, logits=False)
        reference.simulate()
        assert search.root_values()[0] == reference.root.mean
        assert search.outcomes()[0] == pytest.approx(reference.outcome(), abs=1e-5)
        counts = search.counts()
        assert counts.walked[0].tolist() == reference.walked
        assert counts.open[0].tolist() == reference.open
        assert counts.starved[0].tolist() == reference.starved
        action = int(search.choose()[0])
        if action not in reference.root.children:  # all that was tried is proven to lose
            assert chosen["prove"]
            return
        reference.advance(action)
        if search.advance([action])[0] != Result.GOING_ON:
            assert reference.root.final
            return
        assert search.visits()[0].tolist() == reference.visits(game.actions)
        assert search.root_visits()[0] == reference.root.visits
    assert search.forgotten()[0] == 0


def test_logits_become_a_softmax_over_the_legal_moves() -> None:
    game = Connect4()
    search = one_tree(game, PLAIN_UCT, [0, 0, 0, 0, 0, 0])
    logits = np.array([[9, 1, -2, 0, 80, 3, 0.5]], dtype=np.float32)
    search.begin(1)
    search.select()
    search.expand(logits, np.zeros((1, 3), dtype=np.float32))
    legal = np.exp(logits[0, 1:].astype(np.float64))
    assert search.priors()[0, 0] == 0
    np.testing.assert_allclose(search.priors()[0, 1:], legal / legal.sum(), rtol=1e-5)


def test_win_draw_loss_is_read_as_win_minus_loss() -> None:
    search = one_tree(Connect4(), PLAIN_UCT, [])
    search.begin(1)
    search.select()
    wdl = np.array([[0.5, 0.375, 0.125]], dtype=np.float32)
    search.expand(np.zeros((1, 7), dtype=np.float32), wdl)
    assert search.root_values()[0] == np.float32(0.375)


@pytest.mark.parametrize(
    ("value", "steps", "expected"),
    [
        (0.5, 0.0, 0.8 * 0.5 + 0.2),  # a win at once is better
        (0.5, 40.0, 0.8 * 0.5 - 0.2),
        (-0.5, 0.0, -0.8 * 0.5 - 0.2),  # a loss far away is better
        (-0.5, 40.0, -0.8 * 0.5 + 0.2),
        (0.5, 20.0, 0.4),
        (0.0, 10.0, 0.0),
        (1.0, 0.0, 1.0),
    ],
)
def test_steps_are_mixed_into_the_value(value: float, steps: float, expected: float) -> None:
    config = dataclasses.replace(PLAIN_UCT, lambda_steps=0.2, max_steps=40.0)
    search = one_tree(Connect4(), config, [])
    search.begin(1)
    search.select()
    search.expand(np.zeros((1, 7), np.float32), f32([value]), f32([steps]))
    assert search.root_values()[0] == pytest.approx(expected)


# ---- first play urgency ----------------------------------------------------------------------


def lost_on_column_1(planes: Floats) -> Evaluation:
    """The first player stands badly, loses on column 1 and wins on column 6; likes column 1."""
    values = []
    for leaf in planes:
        pieces = int(leaf.sum())
        first = leaf[pieces % 2, 0]  # the first player's pieces in the lowest row
        value = -0.9 if pieces == 0 else 1.0 if first[5] and not first[0] else -1.0
        values.append(value if pieces % 2 == 0 else -value)
    weights = np.tile(f32([14, 1, 1, 1, 1, 1, 1]), (len(planes), 1))
    return weights, np.array(values, dtype=np.float32), None


@pytest.mark.parametrize("clamp", [True, False])
def test_without_the_clamp_a_losing_side_starves(clamp: bool) -> None:
    """The favourite move is as bad as a proven loss; only with the clamp are others tried.

    After the first simulation V = -0.95, seen = 0.7: FPU = -0.95 - 0.4 * 0.84 = -1.28. A move of
    prior 0.05 then scores at most -1.28 + 0.25 * 0.05 * sqrt(61) < -1.18, the favourite above -1.
    With -1 instead it comes to its turn when 0.7 / (1 + n) < 0.05: n = 14.
    """
    config = SearchConfig(c_init=0.25, fpu_reduction=0.4, fpu_clamp=clamp, noise_eps=0.0)
    search = one_tree(Connect4(), config, [])
    search.run(lost_on_column_1, sims=60, logits=False)
    visits, starved = search.visits()[0], search.counts().starved[0]
    if clamp:
        assert int(np.argmax(visits)) == 5
        assert visits[1:5].tolist() == [1, 1, 1, 1]
        assert visits[0] == 14
    else:
        assert visits.tolist() == [60, 0, 0, 0, 0, 0, 0]
        assert starved[0] >= 59  # every walk after the first starves at the root


def test_dynamic_reduction_never_starves() -> None:
    game = DropOldest(4, 4, 4)
    starved = []
    for dynamic in (False, True):
        config = SearchConfig(fpu_reduction=0.4, fpu_dynamic=dynamic, noise_eps=0.0)
        search = one_tree(game, config, [])
        search.run(Hashed(game, steps=False), sims=100, logits=False)
        starved.append(int(search.counts().starved.sum()))
    assert starved[0] > 0
    assert starved[1] == 0  # V - 0.4 * (V + 1) / 2 >= -1 for every V >= -1


# ---- the end of the game ---------------------------------------------------------------------


def test_the_ply_cap_is_a_draw_inside_the_search_and_at_the_root() -> None:
    game = DropOldest(4, 4, 4)
    evaluate = Fixed([1.0] * 16, {0: 0.5, 1: 0.5, 2: 0.5, 3: 0.5})
    search = one_tree(game, dataclasses.replace(PLAIN_UCT, max_plies=1), [])
    search.run(evaluate, sims=64, logits=False)
    assert not search.action_values().any()  # every move ends the game
    assert search.visits()[0].tolist() == [4] * 16
    assert search.advance([0])[0] == Result.DRAWN
    assert search.game.result(search.states()[0]) == Result.GOING_ON  # by the rules it is not
    search.reset(game.start()[None], plies=[1])
    assert search.results()[0] == Result.DRAWN
    search.run(evaluate, sims=5, logits=False)
    assert not search.visits().any()


def test_a_win_at_the_ply_cap_is_a_win() -> None:
    search = one_tree(Connect4(), dataclasses.replace(PLAIN_UCT, max_plies=7), [0, 1, 0, 1, 0, 1])
    search.run_constant()
    assert search.action_values()[0, 0] == 1.0
    assert search.advance([0])[0] == Result.MOVER_WON


def test_finished_trees_ask_for_nothing_and_the_others_go_on() -> None:
    game = Connect4()
    search = Search(game, 3, PLAIN_UCT)
    won = game.play_all([0, 1, 0, 1, 0, 1, 0])
    search.reset(np.stack([game.start(), won, game.start()]))
    search.begin(4)
    assert len(search.select()) == 2
    assert search.leaf_trees.tolist() == [0, 2]
    search.expand(np.zeros((2, 7), np.float32), np.zeros(2, np.float32))
    while rows := len(search.select()):
        search.expand(np.zeros((rows, 7), np.float32), np.zeros(rows, np.float32))
    assert search.visits().sum(axis=1).tolist() == [4, 0, 4]
    assert search.choose().tolist()[1] == -1
    assert search.policy()[1].sum() == 0
