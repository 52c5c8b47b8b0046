"""A diagnosis says what was built into a run, and nothing of a run in which all is well."""

import json
import math

import numpy as np
import pytest
from synthetic_runs import (
    HISTORICAL_OPTIONS,
    episode,
    healthy_line,
    historical_line,
    policy,
    write_config,
    write_games,
    write_lines,
)

from azfit.checkpoint import save_checkpoint
from azfit.diagnosis.contradiction import canonical, gap_of, gaps_by_side, grouped
from azfit.diagnosis.diagnose import Subject, diagnose, diagnosis_of, own_games
from azfit.diagnosis.findings import findings
from azfit.diagnosis.oscillation import amplitude_of, equal_moves, period_of, swings
from azfit.diagnosis.report import text
from azfit.diagnosis.stored_games import StoredGames
from azfit.diagnosis.truth import Connect4Oracle, TableOracle, blunders, results_of_moves
from azfit.games import DropOldest, Result, game_by_name
from azfit.network import Network, NetworkConfig
from azfit.self_play.config import settled
from solver import Position, open_table

CONNECT4 = game_by_name("connect4")


def wrong(told):
    return {(one["about"], one["side"]) for one in told["findings"] if one["level"] == "wrong"}


def sentence(told, about, side=None):
    found = [f for f in told["findings"] if f["about"] == about and f["side"] in (side, None)]
    assert len(found) == 1, told["findings"]
    return found[0]


# ---- oscillation ---------------------------------------------------------------------


@pytest.mark.parametrize("period", [8, 25, 60])
def test_a_swing_about_a_trend_has_its_period_and_amplitude(period):
    time = np.arange(2 * period + 80)
    series = 0.3 + 0.001 * time + 0.12 * np.sin(2 * np.pi * time / period)
    assert period_of(series) == pytest.approx(period, abs=1 + period / 30)
    assert amplitude_of(series) == pytest.approx(0.12, rel=0.1)


def test_noise_a_climb_and_a_constant_have_no_period():
    random = np.random.default_rng(3)
    found = [period_of(random.normal(size=60)) for _ in range(100)]
    assert sum(one is not None for one in found) <= 8
    assert period_of(np.linspace(0.2, 0.9, 100)) is None
    assert period_of(np.full(100, 0.4)) is None


def test_a_short_series_is_not_judged():
    told = swings(CONNECT4, CONNECT4.start(), [policy(CONNECT4, {3: 0.5})] * 5)
    assert told["leading"][0]["period"] is None
    assert told["leading"][0]["amplitude"] is None


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
    told = gaps({0: 10}, {4: 10}, first_moves=[1, 1])
    assert told["second"]["gap"] == pytest.approx(math.log(2), abs=1e-6)
    assert told["second"]["repeated_share"] == 1.0
    assert told["first"]["gap"] == pytest.approx(0.0, abs=1e-6)


def test_searches_that_agree_have_no_gap_however_uncertain_they_are():
    told = gaps({0: 5, 4: 5}, {0: 5, 4: 5}, first_moves=[1, 1])
    assert told["second"]["gap"] == pytest.approx(0.0, abs=1e-6)


def test_the_gap_is_taken_up_to_symmetry():
    """2.-1. and its mirror image 6.-7. agree; 2.-1. and 6.-1. do not."""
    agreeing = gaps({0: 10}, {6: 10}, first_moves=[1, 5])
    assert agreeing["second"]["gap"] == pytest.approx(0.0, abs=1e-6)
    contrary = gaps({0: 10}, {0: 10}, first_moves=[1, 5])
    assert contrary["second"]["gap"] == pytest.approx(math.log(2), abs=1e-6)


def test_mirror_images_of_a_move_do_not_contradict_each_other():
    """After 4. the board is symmetric: 3 and 5 are one move. 3 against 4 is a contradiction:
    H(1/4, 1/2, 1/4) - (ln 2 + 0) / 2 = ln 2."""
    assert gaps({2: 10}, {4: 10})["second"]["gap"] == pytest.approx(0.0, abs=1e-6)
    assert gaps({2: 10}, {3: 10})["second"]["gap"] == pytest.approx(math.log(2), abs=1e-6)


def test_positions_met_once_are_not_counted():
    told = gaps({0: 10}, {0: 10}, first_moves=[1, 2])
    assert told["second"]["gap"] is None


def test_the_gap_is_the_mean_divergence_from_the_mean():
    policies = np.random.default_rng(1).dirichlet(np.full(5, 0.5), size=7)
    mean = policies.mean(axis=0)
    assert gap_of(policies) == pytest.approx((policies * np.log(policies / mean)).sum(1).mean())


# ---- starvation ----------------------------------------------------------------------


class LosingSecond:
    """Equal priors; the first player stands at +0.7, the second at -0.7."""

    def __call__(self, planes):
        second = planes.sum(axis=(1, 2, 3)).astype(int) % 2
        values = np.where(second, -0.7, 0.7).astype(np.float32)
        return np.zeros((len(planes), CONNECT4.actions), np.float32), values, None


def starving(clamp, reduction):
    config = settled(
        {"game": "connect4", "fpu_clamp": clamp, "fpu_reduction": reduction, "sims": 40}
    )
    evaluate = LosingSecond()
    subject = Subject("synthetic", "checkpoint", config, config.search, None, evaluate)
    subject.games = own_games(CONNECT4, evaluate, config.search)
    return diagnosis_of(subject, None, "none")


def test_a_starved_second_player_is_told_with_the_option():
    """-0.7 - 0.4 sqrt(seen) < -1 once more than 9 / 16 of the priors are seen."""
    told = starving(clamp=False, reduction=0.4)
    assert told["starved"]["second"]["share"] > 0.1
    assert told["starved"]["first"]["share"] < 0.05
    assert ("starvation", "second") in wrong(told)
    assert ("starvation", "first") not in wrong(told)
    found = sentence(told, "starvation", "second")
    assert "--fpu-clamp" in found["options"] and "--fpu-clamp" in found["sentence"]
    assert found["figure"] == told["starved"]["second"]["share"]
    assert f"{found['figure']:.0%}" in found["sentence"]
    on, off = told["clamp"]["second"]["untried_moves"]
    assert told["clamp"]["second"]["distance"] > 0 and on <= off


def test_with_the_clamp_the_same_nodes_are_a_note():
    told = starving(clamp=True, reduction=0.4)
    assert sentence(told, "starvation", "second")["level"] == "note"


def test_a_small_reduction_starves_nobody():
    """-0.7 - 0.2 is above -1."""
    told = starving(clamp=False, reduction=0.2)
    assert not any(about == "starvation" for about, _ in wrong(told))
    assert told["clamp"]["second"]["other_move"] <= 0.05


# ---- whole runs ----------------------------------------------------------------------


def agreeing_games():
    return [episode(CONNECT4, [3, 3], [{3: 10}, {3: 9, 2: 1}], -1, n) for n in range(4)]


def test_a_healthy_run_raises_nothing(tmp_path):
    write_config(tmp_path, game="connect4")
    write_lines(tmp_path, [healthy_line(i) for i in range(30)])
    write_games(tmp_path, agreeing_games())
    told = diagnose(tmp_path)
    assert wrong(told) == set()
    assert "nothing looks wrong" in text(told)


def test_the_historical_run_is_seen_through(tmp_path):
    write_config(tmp_path, **HISTORICAL_OPTIONS)
    write_lines(tmp_path, [historical_line(i) for i in range(300)])
    replies = [{3: 10}, {1: 10}, {0: 10}, {3: 10}, {1: 10}, {0: 10}]
    write_games(
        tmp_path,
        [episode(CONNECT4, [3, 3], [{3: 10}, one], 0, n) for n, one in enumerate(replies)],
    )
    told = diagnose(tmp_path)
    starvation = sentence(told, "starvation", "second")
    assert "30%" in starvation["sentence"] and "--fpu-clamp" in starvation["options"]
    constant = sentence(told, "exploration")
    assert "1.000" in constant["sentence"] and "1.001" in constant["sentence"]
    assert "--c-base-factor" in constant["options"]
    floor = sentence(told, "policy loss")
    assert all(figure in floor["sentence"] for figure in ("1.00", "0.79", "0.21"))
    above = sentence(told, "entropy", "second")
    assert above["level"] == "wrong"
    assert "1.29" in above["sentence"] and "1.11" in above["sentence"]
    below = sentence(told, "entropy", "first")
    assert below["level"] == "note" and "0.59" in below["sentence"]
    classes = sentence(told, "classes", "second")
    assert "81% of the second player's positions are losses" in classes["sentence"]
    assert classes["options"] == ["--balance-sampling"]
    assert "81%" in sentence(told, "balance", "first")["sentence"]
    swing = sentence(told, "oscillation", "second")
    assert told["watch"]["reply"]["leading"][0]["period"] == pytest.approx(100, abs=3)
    assert told["buffer"]["iterations_held"] == pytest.approx(50)
    assert "0.5 periods" in swing["sentence"] and "--buffer 5" in swing["sentence"]
    assert swing["figure"] == pytest.approx(0.15, rel=0.1)
    assert ("oscillation", "first") not in wrong(told)
    words = text(told)
    assert all(one["sentence"] in words for one in told["findings"])


def test_a_buffer_of_two_periods_is_not_blamed_for_a_swing(tmp_path):
    write_config(tmp_path, **{**HISTORICAL_OPTIONS, "buffer": 500_000})
    write_lines(tmp_path, [historical_line(i) for i in range(300)])
    told = diagnose(tmp_path)
    assert sentence(told, "oscillation", "second")["options"] == ["--policy-lr-scale", "--lr"]


def test_a_reply_that_stands_still_undecided_is_told(tmp_path):
    write_config(tmp_path, **HISTORICAL_OPTIONS)
    lines = [healthy_line(i) for i in range(90)]
    for one in lines:
        one["watch"]["reply"]["policy"] = policy(CONNECT4, {3: 0.465, 2: 0.22, 4: 0.22})
    write_lines(tmp_path, lines)
    told = diagnose(tmp_path)
    assert ("standstill", "second") in wrong(told)
    assert "--fpu-clamp" in sentence(told, "standstill", "second")["options"]


def test_targets_not_learned_yet_are_not_called_contradicting(tmp_path):
    write_config(tmp_path, game="connect4")
    lines = [healthy_line(i) for i in range(20)]
    for one in lines:
        one["fresh"]["second"]["network_entropy"] = 1.4
    write_lines(tmp_path, lines)
    write_games(tmp_path, agreeing_games())
    told = diagnose(tmp_path)
    assert ("entropy", "second") not in wrong(told)
    assert "--policy-lr-scale" in sentence(told, "unlearned", "second")["options"]


def test_games_learned_by_heart_are_told_and_more_training_is_not_advised(tmp_path):
    write_config(tmp_path, game="connect4", epochs=2, replay_ratio=0.5)
    lines = [healthy_line(i) for i in range(20)]
    for one in lines:
        one["fresh"]["first"]["wdl_loss"], one["fresh"]["second"]["wdl_loss"] = 0.45, 0.55
        one["fresh"]["second"]["network_entropy"] = 1.4
        one["training"]["positions"] = 22_000
        one["accepted"] = True
    write_lines(tmp_path, lines)
    write_games(tmp_path, agreeing_games())
    told = diagnose(tmp_path)
    wanted = {"learned": 0.3, "fresh": 0.5, "times_drawn": 11.0}
    assert told["value_loss"] == pytest.approx(wanted)
    found = sentence(told, "by heart")
    assert found["level"] == "wrong" and found["figure"] == pytest.approx(0.2)
    assert "0.30" in found["sentence"] and "drawn 11.0 times" in found["sentence"]
    cure = sentence(told, "unlearned", "second")
    assert cure["options"] == ["--games-per-iteration", "--policy-lr-scale"]
    # Of a rejected candidate nothing is left: what counts is what the best had learned.
    for one in lines[5:]:
        one["accepted"], one["training"]["wdl_learned"] = False, 0.1
    write_lines(tmp_path, lines)
    assert diagnose(tmp_path)["value_loss"] == pytest.approx(wanted)
    write_lines(tmp_path, lines[5:])
    assert diagnose(tmp_path)["value_loss"] is None


def test_a_gate_that_accepts_nothing_is_told(tmp_path):
    write_config(tmp_path, game="connect4")
    write_lines(tmp_path, [{**healthy_line(i), "accepted": i < 5} for i in range(30)])
    told = diagnose(tmp_path)
    assert "last 25 iterations" in sentence(told, "acceptance")["sentence"]


def test_a_gate_on_drawn_games_is_told_to_open(tmp_path):
    write_config(tmp_path, game="connect4")
    lines = [{**healthy_line(i), "accepted": i < 2} for i in range(30)]
    for one in lines:
        one["match"] |= {"score": 0.5, "wins": [1, 1], "draws": [8, 8], "losses": [1, 1]}
    write_lines(tmp_path, lines)
    told = sentence(diagnose(tmp_path), "acceptance")
    assert told["options"] == ["--accept", "--no-gate"] and "80% of the match games" in str(told)


def drawn(told, result):
    """The same diagnosis had all games been drawn, and the start this by an exact judge."""
    for side in told["sides"].values():
        side["classes"] = {"win": 0.01, "draw": 0.98, "loss": 0.01}
    told["truth"]["start"] = {"result": result, "all_alike": True}
    return {(one.level, one.about, one.side) for one in findings(told)}


def test_an_outcome_that_is_right_is_not_called_wrong(tmp_path):
    write_config(tmp_path, game="connect4")
    write_lines(tmp_path, [healthy_line(i) for i in range(20)])
    told = diagnose(tmp_path)
    assert {("note", "classes", side) for side in ("first", "second")} <= drawn(told, "draw")
    assert {("wrong", "classes", side) for side in ("first", "second")} <= drawn(told, "win")
    # The start says nothing of games that begin elsewhere.
    told["options"]["random_plies"] = 8
    assert {("wrong", "classes", side) for side in ("first", "second")} <= drawn(told, "draw")


# ---- the truth -----------------------------------------------------------------------


def test_the_table_judges_moves_as_brute_force_does(solved33, truth33):
    game = DropOldest(3, 3, 3)
    oracle = TableOracle(game, solved33)
    for moves in ([], [4], [0, 4], [1, 0, 4, 8]):
        state = game.play_all(moves)
        x, y, side = tuple(moves[0::2]), tuple(moves[1::2]), len(moves) % 2
        judged = results_of_moves(oracle, game, state)
        assert sorted(judged) == [cell for cell in range(9) if cell not in moves]
        for action, result in judged.items():
            after = (x, (*y, action), 0) if side else ((*x, action), y, 1)
            assert result == -truth33[after][0], (moves, action)


def test_blunders_are_counted_by_side(solved33):
    """From the start only the edges win; the first player's a1 is a blunder, b1 is none."""
    game = DropOldest(3, 3, 3)
    oracle = TableOracle(game, solved33)
    states = np.repeat(game.start()[None], 4, axis=0)
    truth = oracle.results(states)
    assert truth.tolist() == [1] * 4
    told = blunders(oracle, game, states, truth, np.array([0, 1, 1, 3], np.int32))
    assert told == {"first": {"positions": 4, "blunders": 0.25}}


def test_where_every_move_keeps_the_result_the_best_ones_are_still_known(solved33):
    """Of the table by its own probe; of Connect Four's reply to the centre by the solver's scores,
    which 'fadefour probe --game connect4 4' takes a minute to find again."""
    game = DropOldest(3, 3, 3)
    with open_table(solved33, game.rules) as table:
        for text in ("-/- x", "a1/- y", "b2/- y", "a1b2c1/b1c3a2 x"):
            position = Position.parse(text, game.rules)
            state = game.state(position)
            assert TableOracle(game, solved33).best_moves(state) == sorted(
                table.best_moves(position)
            )
    oracle = Connect4Oracle(CONNECT4)
    assert oracle.best_moves(CONNECT4.start()) == [3]
    assert oracle.best_moves(CONNECT4.play_all([3])) == [3]
    assert oracle.best_moves(CONNECT4.play_all([2])) == []


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    network = Network(NetworkConfig(game="drop-3-3-3", kind="mlp", width=8, blocks=1))
    return save_checkpoint(tmp_path_factory.mktemp("network") / "net.safetensors", network)


def test_a_checkpoint_is_diagnosed_with_the_truth_beside_it(fadefour, checkpoint, solved33):
    done = fadefour("diagnose", checkpoint, "--data", solved33, "--sims", 8, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["truth"]["start"]["keeping"] == ["b1", "a2", "c2", "b3"]
    assert set(told["blunders"]) == {"network", "clamp on", "clamp off", "lambda 0", "value"}
    for side in ("first", "second"):
        assert told["sides"][side]["positions"] > 0
        assert 0 <= told["blunders"]["network"][side]["blunders"] <= 1
    done = fadefour("diagnose", checkpoint, "--data", "nowhere", "--sims", 8)
    assert done.code == 0 and "no table in 'nowhere'" in done.out


def plain_result(state):
    """Of a Connect Four position by trying everything: +1, 0, -1 for the side to move."""
    if CONNECT4.result(state) != Result.GOING_ON:
        return -1 if CONNECT4.result(state) == Result.MOVER_WON else 0
    return max(-plain_result(CONNECT4.play(state, a)) for a in CONNECT4.legal_moves(state))


def test_late_connect4_positions_are_judged_as_by_trying_everything():
    pytest.importorskip("solver.connect4")
    oracle, random, judged = Connect4Oracle(CONNECT4), np.random.default_rng(5), set()
    while len(judged) < 3:
        state = CONNECT4.start()
        for _ in range(34):
            if CONNECT4.result(state) == Result.GOING_ON:
                state = CONNECT4.play(state, int(random.choice(CONNECT4.legal_moves(state))))
        if CONNECT4.result(state) == Result.GOING_ON:
            assert oracle.known(state[None])[0]
            judged.add(plain_result(state))
            assert oracle.results(state[None])[0] == plain_result(state)


def test_the_connect4_opening_is_known():
    pytest.importorskip("solver.connect4")
    oracle = Connect4Oracle(CONNECT4)
    opening = results_of_moves(oracle, CONNECT4, CONNECT4.start())
    assert [action for action, result in opening.items() if result == 1] == [3]
    assert set(results_of_moves(oracle, CONNECT4, CONNECT4.play_all([3])).values()) == {-1}
    assert results_of_moves(oracle, CONNECT4, CONNECT4.play_all([0])) == {}  # minutes of search


# ---- bad input -----------------------------------------------------------------------


def refused(outcome, *words):
    assert outcome.code == 2, outcome
    assert outcome.out == "" and len(outcome.err.strip().splitlines()) == 1, outcome.err
    for word in words:
        assert word in outcome.err
    return True


def test_bad_input_is_one_line(fadefour, tmp_path, checkpoint):
    assert refused(fadefour("diagnose", tmp_path / "nowhere"), "does not exist")
    assert refused(fadefour("diagnose", tmp_path), "no config.json")
    a_file = tmp_path / "file"
    a_file.write_text("no run\n")
    for command in ("inspect-buffer", "plot"):
        assert refused(fadefour(command, a_file), "is no run")
    foreign = tmp_path / "foreign.safetensors"
    foreign.write_bytes(b"not a network at all")
    assert refused(fadefour("diagnose", foreign), "foreign.safetensors")
    assert refused(fadefour("diagnose", checkpoint, "--sims", 0), "--sims 0")
    write_config(tmp_path / "empty", game="connect4")
    assert refused(fadefour("diagnose", tmp_path / "empty"), "no iteration")


def test_a_run_of_another_kind_is_refused(fadefour, tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"kind": "training", "step": 1, "seconds": 1}\n')
    assert refused(fadefour("diagnose", tmp_path), "no run of self-play")


def test_a_damaged_game_file_is_refused(fadefour, tmp_path):
    write_config(tmp_path, game="connect4")
    path = write_games(tmp_path, agreeing_games())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    for command in ("diagnose", "inspect-buffer"):
        assert refused(fadefour(command, tmp_path), "damaged", path.name)
