"""The figures of a diagnosis, each against a value worked out by other means."""

import math

import numpy as np
import pytest
from synthetic_runs import episode, policy

from azfit.diagnosis.contradiction import canonical, gap_of, gaps_by_side, grouped
from azfit.diagnosis.oscillation import amplitude_of, equal_moves, leading_moves, period_of
from azfit.diagnosis.stored_games import StoredGames
from azfit.diagnosis.truth import (
    BlunderRate,
    Connect4Judge,
    TableJudge,
    blunder_rates,
    results_of_moves,
)
from azfit.games import DropOldest, Result, game_by_name
from solver import Position, open_table
from solver.connect4.book import SHIPPED

CONNECT4 = game_by_name("connect4")


# ---- oscillation ---------------------------------------------------------------------


@pytest.mark.parametrize("period", [8, 25, 60])
def test_a_swing_about_a_trend_has_its_period_and_amplitude(period):
    time = np.arange(2 * period + 80)
    series = 0.3 + 0.001 * time + 0.12 * np.sin(2 * np.pi * time / period)
    assert period_of(series) == pytest.approx(period, abs=1 + period / 30)
    assert amplitude_of(series) == pytest.approx(0.12, rel=0.1)


def test_noise_a_climb_and_a_constant_have_no_period():
    random = np.random.default_rng(3)
    periods = [period_of(random.normal(size=60)) for _ in range(100)]
    assert sum(period is not None for period in periods) <= 8
    assert period_of(np.linspace(0.2, 0.9, 100)) is None
    assert period_of(np.full(100, 0.4)) is None


def test_a_short_series_is_not_judged():
    leading = leading_moves(CONNECT4, CONNECT4.start(), [policy(CONNECT4, {3: 0.5})] * 5)
    assert leading[0].period is None
    assert leading[0].amplitude is None


def test_mirror_images_are_one_move_where_the_position_is_symmetric():
    assert equal_moves(CONNECT4, CONNECT4.start()) == [[0, 6], [1, 5], [2, 4], [3]]
    assert len(equal_moves(CONNECT4, CONNECT4.play_all([1]))) == 7
    drop = DropOldest(3, 3, 3)
    assert equal_moves(drop, drop.start()) == [[0, 2, 6, 8], [1, 3, 5, 7], [4]]


# ---- contradiction -------------------------------------------------------------------


def gaps(*targets, first_moves=None):
    """The gaps of games that all begin alike (or by first_moves), with these targets there."""
    firsts = first_moves or [3] * len(targets)
    games = [
        episode(CONNECT4, [first, 3], [{first: 1}, target], -1, number)
        for number, (first, target) in enumerate(zip(firsts, targets, strict=True))
    ]
    stored = StoredGames(CONNECT4, games)
    keys, policies = canonical(CONNECT4, stored.states, stored.targets)
    return gaps_by_side(grouped(keys, policies, stored.sides), stored.sides)


def test_two_searches_that_contradict_each_other_have_a_gap_of_ln_2():
    """At 2., an asymmetric position: all on one column against all on another."""
    by_side = gaps({0: 10}, {4: 10}, first_moves=[1, 1])
    assert by_side["second"].gap == pytest.approx(math.log(2), abs=1e-6)
    assert by_side["second"].repeated_share == 1.0
    assert by_side["first"].gap == pytest.approx(0.0, abs=1e-6)


def test_searches_that_agree_have_no_gap_however_uncertain_they_are():
    by_side = gaps({0: 5, 4: 5}, {0: 5, 4: 5}, first_moves=[1, 1])
    assert by_side["second"].gap == pytest.approx(0.0, abs=1e-6)


def test_the_gap_is_taken_up_to_symmetry():
    """2.-1. and its mirror image 6.-7. agree; 2.-1. and 6.-1. do not."""
    agreeing = gaps({0: 10}, {6: 10}, first_moves=[1, 5])
    assert agreeing["second"].gap == pytest.approx(0.0, abs=1e-6)
    contrary = gaps({0: 10}, {0: 10}, first_moves=[1, 5])
    assert contrary["second"].gap == pytest.approx(math.log(2), abs=1e-6)


def test_mirror_images_of_a_move_do_not_contradict_each_other():
    """After 4. the board is symmetric: 3 and 5 are one move. 3 against 4 is a contradiction:
    H(1/4, 1/2, 1/4) - (ln 2 + 0) / 2 = ln 2."""
    assert gaps({2: 10}, {4: 10})["second"].gap == pytest.approx(0.0, abs=1e-6)
    assert gaps({2: 10}, {3: 10})["second"].gap == pytest.approx(math.log(2), abs=1e-6)


def test_positions_met_once_are_not_counted():
    by_side = gaps({0: 10}, {0: 10}, first_moves=[1, 2])
    assert by_side["second"].gap is None


def test_the_gap_is_the_mean_divergence_from_the_mean():
    policies = np.random.default_rng(1).dirichlet(np.full(5, 0.5), size=7)
    mean = policies.mean(axis=0)
    assert gap_of(policies) == pytest.approx((policies * np.log(policies / mean)).sum(1).mean())


# ---- the truth -----------------------------------------------------------------------


def test_the_table_judges_moves_as_brute_force_does(solved33, truth33):
    game = DropOldest(3, 3, 3)
    judge = TableJudge(game, solved33)
    for moves in ([], [4], [0, 4], [1, 0, 4, 8]):
        state = game.play_all(moves)
        x, y, side = tuple(moves[0::2]), tuple(moves[1::2]), len(moves) % 2
        judged = results_of_moves(judge, game, state)
        assert sorted(judged) == [cell for cell in range(9) if cell not in moves]
        for action, result in judged.items():
            after = (x, (*y, action), 0) if side else ((*x, action), y, 1)
            assert result == -truth33[after][0], (moves, action)


def test_blunders_are_counted_by_side(solved33):
    """From the start only the edges win; the first player's a1 is a blunder, b1 is none."""
    game = DropOldest(3, 3, 3)
    judge = TableJudge(game, solved33)
    states = np.repeat(game.start()[None], 4, axis=0)
    truth = judge.results(states)
    assert truth.tolist() == [1] * 4
    rates = blunder_rates(judge, game, states, truth, np.array([0, 1, 1, 3], np.int32))
    assert rates == {"first": BlunderRate(4, 0.25)}


def test_where_every_move_keeps_the_result_the_best_ones_are_still_known(solved33):
    """Of the table by its own probe; of Connect Four's replies to the centre and to its neighbour
    by what is known of them: latest losses, and draws."""
    game = DropOldest(3, 3, 3)
    with open_table(solved33, game.rules) as table:
        for text in ("-/- x", "a1/- y", "b2/- y", "a1b2c1/b1c3a2 x"):
            position = Position.parse(text, game.rules)
            state = game.state(position)
            assert TableJudge(game, solved33).best_moves(state) == sorted(
                table.best_moves(position)
            )
    judge = Connect4Judge(CONNECT4, SHIPPED)
    assert judge.best_moves(CONNECT4.start()) == [3]
    assert judge.best_moves(CONNECT4.play_all([3])) == [3]
    assert judge.best_moves(CONNECT4.play_all([2])) == [2, 3, 4, 5]
    beyond_the_book = [2, 3] * SHIPPED.contents.plies
    assert judge.best_moves(CONNECT4.play_all(beyond_the_book[: SHIPPED.contents.plies])) == []


def plain_result(state):
    """Of a Connect Four position by trying everything: +1, 0, -1 for the side to move."""
    if CONNECT4.result(state) != Result.GOING_ON:
        return -1 if CONNECT4.result(state) == Result.MOVER_WON else 0
    return max(-plain_result(CONNECT4.play(state, a)) for a in CONNECT4.legal_moves(state))


def test_late_connect4_positions_are_judged_as_by_trying_everything():
    judge, random, seen = Connect4Judge(CONNECT4, SHIPPED), np.random.default_rng(5), set()
    while len(seen) < 3:
        state = CONNECT4.start()
        for _ in range(34):
            if CONNECT4.result(state) == Result.GOING_ON:
                state = CONNECT4.play(state, int(random.choice(CONNECT4.legal_moves(state))))
        if CONNECT4.result(state) == Result.GOING_ON:
            assert judge.known(state[None])[0]
            seen.add(plain_result(state))
            assert judge.results(state[None])[0] == plain_result(state)


def test_the_connect4_opening_is_known():
    judge = Connect4Judge(CONNECT4, SHIPPED)
    opening = results_of_moves(judge, CONNECT4, CONNECT4.start())
    assert [action for action, result in opening.items() if result == 1] == [3]
    assert set(results_of_moves(judge, CONNECT4, CONNECT4.play_all([3])).values()) == {-1}
    last_ply = CONNECT4.play_all(([0, 1] * SHIPPED.contents.plies)[: SHIPPED.contents.plies])
    assert results_of_moves(judge, CONNECT4, last_ply) == {}  # minutes of search


# ---- the right move ------------------------------------------------------------------


def test_the_right_move_is_listed_however_unlikely_it_is():
    """The centre wins in Connect Four; here it is the least likely of four kinds of moves."""
    policies = [policy(CONNECT4, {0: 0.3, 6: 0.1, 1: 0.2, 5: 0.1, 2: 0.15, 4: 0.1, 3: 0.05})] * 3
    leading = leading_moves(CONNECT4, CONNECT4.start(), policies, right=["4"])
    assert [(move.move, move.right) for move in leading] == [
        ("1=7", False),
        ("2=6", False),
        ("3=5", False),
        ("4", True),
    ]
    assert leading[-1].now == pytest.approx(0.05)


def test_a_right_move_that_leads_is_marked_and_nothing_is_added():
    policies = [policy(CONNECT4, {3: 0.9})] * 3
    leading = leading_moves(CONNECT4, CONNECT4.start(), policies, right=["4"])
    assert [move.right for move in leading] == [True, False, False]
    assert not any(m.right for m in leading_moves(CONNECT4, CONNECT4.start(), policies))
