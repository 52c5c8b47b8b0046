"""A diagnosis says what was built into a run, and nothing of a run in which all is well."""

import json
import shutil
from dataclasses import asdict, replace

import numpy as np
import pytest
from synthetic_runs import (
    REFERENCE_OPTIONS,
    episode,
    healthy_line,
    policy,
    reference_line,
    write_config,
    write_games,
    write_lines,
)

from azfit.checkpoint import save_checkpoint
from azfit.curves import draw_run, drawing
from azfit.diagnosis import picture
from azfit.diagnosis.diagnose import (
    Subject,
    diagnose,
    diagnosis_of,
    open_subject,
    own_games,
)
from azfit.diagnosis.findings import ALL_RULES, findings, too_early
from azfit.diagnosis.picture import draw_diagnosis
from azfit.diagnosis.report import text
from azfit.games import game_by_name
from azfit.network import Network, NetworkConfig
from azfit.self_play.config import settled

CONNECT4 = game_by_name("connect4")


def wrong(diagnosis):
    return {(f.about, f.side) for f in diagnosis.findings if f.level == "wrong"}


def finding(diagnosis, about, side=None):
    """The one finding on this subject."""
    matches = [f for f in diagnosis.findings if f.about == about and f.side in (side, None)]
    assert len(matches) == 1, diagnosis.findings
    return matches[0]


# ---- starvation ----------------------------------------------------------------------


class LosingSecond:
    """Equal priors; the first player stands at +0.7, the second at -0.7."""

    def __call__(self, planes):
        second = planes[:, : CONNECT4.stone_planes].sum(axis=(1, 2, 3)).astype(int) % 2
        values = np.where(second, -0.7, 0.7).astype(np.float32)
        return np.zeros((len(planes), CONNECT4.actions), np.float32), values, None


def starving(clamp, reduction):
    config = settled(
        {"game": "connect4", "fpu_clamp": clamp, "fpu_reduction": reduction, "sims": 40}
    )
    evaluate = LosingSecond()
    games = own_games(CONNECT4, evaluate, config.search_config)
    subject = Subject(
        "synthetic", "checkpoint", config, config.search_config, None, evaluate, games
    )
    return diagnosis_of(subject, None, "none")


def test_a_starved_second_player_is_reported_with_the_option():
    """-0.7 - 0.4 sqrt(seen) < -1 once more than 9 / 16 of the priors are seen."""
    diagnosis = starving(clamp=False, reduction=0.4)
    starved = diagnosis.figures.starved
    assert starved["second"].share > 0.1
    assert starved["first"].share < 0.05
    assert ("starvation", "second") in wrong(diagnosis)
    assert ("starvation", "first") not in wrong(diagnosis)
    starvation = finding(diagnosis, "starvation", "second")
    assert "--fpu-clamp" in starvation.options and "--fpu-clamp" in starvation.sentence
    assert starvation.figure == starved["second"].share
    assert f"{starvation.figure:.0%}" in starvation.sentence
    clamp = diagnosis.figures.clamp["second"]
    on, off = clamp.untried_moves
    assert clamp.distance > 0 and on <= off


def test_with_the_clamp_the_same_nodes_are_a_note():
    diagnosis = starving(clamp=True, reduction=0.4)
    assert finding(diagnosis, "starvation", "second").level == "note"


def test_a_small_reduction_starves_nobody():
    """-0.7 - 0.2 is above -1."""
    diagnosis = starving(clamp=False, reduction=0.2)
    assert not any(about == "starvation" for about, _ in wrong(diagnosis))
    assert diagnosis.figures.clamp["second"].other_move <= 0.05


# ---- whole runs ----------------------------------------------------------------------


def agreeing_games():
    return [episode(CONNECT4, [3, 3], [{3: 10}, {3: 9, 2: 1}], -1, n) for n in range(4)]


def test_a_healthy_run_raises_nothing(tmp_path):
    write_config(tmp_path, game="connect4")
    write_lines(tmp_path, [healthy_line(i) for i in range(30)])
    write_games(tmp_path, agreeing_games())
    diagnosis = diagnose(tmp_path)
    assert wrong(diagnosis) == set()
    assert "nothing looks wrong" in text(diagnosis)


def test_what_was_wrong_with_the_reference_run_is_found(tmp_path):
    write_config(tmp_path, **REFERENCE_OPTIONS)
    write_lines(tmp_path, [reference_line(i) for i in range(300)])
    replies = [{3: 10}, {1: 10}, {0: 10}, {3: 10}, {1: 10}, {0: 10}]
    write_games(
        tmp_path,
        [episode(CONNECT4, [3, 3], [{3: 10}, visits], 0, n) for n, visits in enumerate(replies)],
    )
    diagnosis = diagnose(tmp_path)
    starvation = finding(diagnosis, "starvation", "second")
    assert "30%" in starvation.sentence and "--fpu-clamp" in starvation.options
    constant = finding(diagnosis, "exploration")
    assert "1.000" in constant.sentence and "1.001" in constant.sentence
    assert "--c-base-factor" in constant.options
    floor = finding(diagnosis, "policy loss")
    assert all(figure in floor.sentence for figure in ("1.00", "0.79", "0.21"))
    above = finding(diagnosis, "entropy", "second")
    assert above.level == "wrong"
    assert "1.29" in above.sentence and "1.11" in above.sentence
    below = finding(diagnosis, "entropy", "first")
    assert below.level == "note" and "0.59" in below.sentence
    classes = finding(diagnosis, "classes", "second")
    assert "81% of the second player's positions are losses" in classes.sentence
    assert classes.options == ("--balance-sampling",)
    assert "81%" in finding(diagnosis, "balance", "first").sentence
    swing = finding(diagnosis, "oscillation", "second")
    figures = diagnosis.figures
    assert figures.watch["reply"].leading[0].period == pytest.approx(100, abs=3)
    assert figures.buffer.iterations_held == pytest.approx(50)
    assert "0.5 periods" in swing.sentence and "--buffer 5" in swing.sentence
    assert swing.figure == pytest.approx(0.15, rel=0.1)
    assert ("oscillation", "first") not in wrong(diagnosis)
    words = text(diagnosis)
    assert all(f.sentence in words for f in diagnosis.findings)


def test_a_buffer_of_two_periods_is_not_blamed_for_a_swing(tmp_path):
    write_config(tmp_path, **{**REFERENCE_OPTIONS, "buffer": 500_000})
    write_lines(tmp_path, [reference_line(i) for i in range(300)])
    diagnosis = diagnose(tmp_path)
    assert finding(diagnosis, "oscillation", "second").options == ("--policy-lr-scale", "--lr")


def test_a_reply_that_stands_still_undecided_is_reported(tmp_path):
    write_config(tmp_path, **REFERENCE_OPTIONS)
    lines = [healthy_line(i) for i in range(90)]
    for line in lines:
        line["watch"]["reply"]["policy"] = policy(CONNECT4, {3: 0.465, 2: 0.22, 4: 0.22})
    write_lines(tmp_path, lines)
    diagnosis = diagnose(tmp_path)
    assert ("standstill", "second") in wrong(diagnosis)
    assert "--fpu-clamp" in finding(diagnosis, "standstill", "second").options


def test_targets_not_learned_yet_are_not_called_contradicting(tmp_path):
    write_config(tmp_path, game="connect4")
    lines = [healthy_line(i) for i in range(20)]
    for line in lines:
        line["fresh"]["second"]["network_entropy"] = 1.4
    write_lines(tmp_path, lines)
    write_games(tmp_path, agreeing_games())
    diagnosis = diagnose(tmp_path)
    assert ("entropy", "second") not in wrong(diagnosis)
    assert "--policy-lr-scale" in finding(diagnosis, "unlearned", "second").options


def test_overfitting_is_reported_and_more_training_is_not_advised(tmp_path):
    write_config(tmp_path, game="connect4", epochs=2, replay_ratio=0.5)
    lines = [healthy_line(i) for i in range(20)]
    for line in lines:
        line["fresh"]["first"]["wdl_loss"], line["fresh"]["second"]["wdl_loss"] = 0.45, 0.55
        line["fresh"]["second"]["network_entropy"] = 1.4
        line["training"]["positions"] = 22_000
        line["accepted"] = True
    write_lines(tmp_path, lines)
    write_games(tmp_path, agreeing_games())
    diagnosis = diagnose(tmp_path)
    wanted = {"learned": 0.3, "fresh": 0.5, "times_drawn": 11.0}
    assert asdict(diagnosis.figures.value_loss) == pytest.approx(wanted)
    overfitting = finding(diagnosis, "overfitting")
    assert overfitting.level == "wrong" and overfitting.figure == pytest.approx(0.2)
    assert "0.30" in overfitting.sentence and "drawn 11.0 times" in overfitting.sentence
    unlearned = finding(diagnosis, "unlearned", "second")
    assert unlearned.options == ("--games-per-iteration", "--policy-lr-scale")
    # Of a rejected candidate nothing is left: what counts is what the best had learned.
    for line in lines[5:]:
        line["accepted"], line["training"]["wdl_learned"] = False, 0.1
    write_lines(tmp_path, lines)
    assert asdict(diagnose(tmp_path).figures.value_loss) == pytest.approx(wanted)
    write_lines(tmp_path, lines[5:])
    assert diagnose(tmp_path).figures.value_loss is None


def test_a_gate_that_accepts_nothing_is_reported(tmp_path):
    write_config(tmp_path, game="connect4")
    write_lines(tmp_path, [{**healthy_line(i), "accepted": i < 5} for i in range(30)])
    diagnosis = diagnose(tmp_path)
    assert "last 25 iterations" in finding(diagnosis, "acceptance").sentence


def test_where_match_games_are_drawn_an_open_gate_is_advised(tmp_path):
    write_config(tmp_path, game="connect4")
    lines = [{**healthy_line(i), "accepted": i < 2} for i in range(30)]
    for line in lines:
        line["match"] |= {"score": 0.5, "wins": [1, 1], "draws": [8, 8], "losses": [1, 1]}
    write_lines(tmp_path, lines)
    gate = finding(diagnose(tmp_path), "acceptance")
    assert gate.options == ("--accept", "--no-gate") and "80% of the match games" in gate.sentence


def drawn(figures, result):
    """What is found if all games are drawn, and the start is this by an exact judge."""
    classes = {"win": 0.01, "draw": 0.98, "loss": 0.01}
    sides = {name: replace(side, classes=classes) for name, side in figures.sides.items()}
    figures = replace(figures, sides=sides, start_result=result)
    return {(f.level, f.about, f.side) for f in findings(figures)}


def test_an_outcome_that_is_right_is_not_called_wrong(tmp_path):
    write_config(tmp_path, game="connect4")
    write_lines(tmp_path, [healthy_line(i) for i in range(20)])
    figures = diagnose(tmp_path).figures
    assert {("note", "classes", side) for side in ("first", "second")} <= drawn(figures, "draw")
    assert {("wrong", "classes", side) for side in ("first", "second")} <= drawn(figures, "win")
    # The start says nothing of games that begin elsewhere.
    figures = replace(figures, options=replace(figures.options, random_plies=8))
    assert {("wrong", "classes", side) for side in ("first", "second")} <= drawn(figures, "draw")


# ---- checkpoints -------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    network = Network(NetworkConfig(game="drop-3-3-3", kind="mlp", width=8, blocks=1))
    return save_checkpoint(tmp_path_factory.mktemp("network") / "net.safetensors", network)


def test_a_checkpoint_is_diagnosed_with_the_truth_beside_it(fadefour, checkpoint, solved33):
    done = fadefour("diagnose", checkpoint, "--data", solved33, "--sims", 8, "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["truth"]["start"]["keeping"] == ["b1", "a2", "c2", "b3"]
    assert set(report["blunders"]) == {"network", "clamp on", "clamp off", "lambda 0", "value"}
    for side in ("first", "second"):
        assert report["sides"][side]["positions"] > 0
        assert 0 <= report["blunders"]["network"][side]["blunders"] <= 1
    assert set(report) == {
        *("subject", "kind", "game", "iterations", "course", "cut", "options", "search", "watch"),
        *("sides", "jensen", "outcomes", "starved", "policy_loss", "value_loss", "acceptance"),
        *("buffer", "repeats", "clamp", "steps_head", "blunders", "truth", "findings"),
    }
    done = fadefour("diagnose", checkpoint, "--data", "nowhere", "--sims", 8)
    assert done.code == 0 and "no table in 'nowhere'" in done.out


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
        assert refused(fadefour(command, a_file), "is not a run")
    foreign = tmp_path / "foreign.safetensors"
    foreign.write_bytes(b"not a network at all")
    assert refused(fadefour("diagnose", foreign), "foreign.safetensors")
    assert refused(fadefour("diagnose", checkpoint, "--sims", 0), "--sims 0")
    write_config(tmp_path / "empty", game="connect4")
    assert refused(fadefour("diagnose", tmp_path / "empty"), "no iteration")


def test_the_network_of_a_run_from_the_oracle_is_diagnosed(fadefour, tmp_path, checkpoint):
    """Its best network; before there is one, its latest."""
    (tmp_path / "metrics.jsonl").write_text('{"kind": "training", "step": 1, "seconds": 1}\n')
    assert refused(fadefour("diagnose", tmp_path), "has no network yet")
    assert refused(fadefour("inspect-buffer", tmp_path), "train-from-oracle")
    (tmp_path / "checkpoints").mkdir()
    for name in ("checkpoints/step-000000001", "checkpoints/step-000000002", "best"):
        path = tmp_path / f"{name}.safetensors"
        shutil.copy(checkpoint, path)
        report = json.loads(fadefour("diagnose", tmp_path, "--sims", 2, "--json").out)
        assert (report["kind"], report["subject"]) == ("checkpoint", str(path))


def test_the_shipped_network_is_diagnosed_by_name():
    subject = open_subject("shipped", sims=1)
    assert subject.kind == "checkpoint" and subject.game.name == "drop-4-4-4"


def test_a_damaged_game_file_is_refused(fadefour, tmp_path):
    write_config(tmp_path, game="connect4")
    path = write_games(tmp_path, agreeing_games())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    for command in ("diagnose", "inspect-buffer"):
        assert refused(fadefour(command, tmp_path), "damaged", path.name)


# ---- too early to tell ---------------------------------------------------------------


def test_a_run_of_three_iterations_is_too_early_to_tell(tmp_path):
    """Everything is off in these lines; after ten iterations that means something."""
    write_config(tmp_path, **{**REFERENCE_OPTIONS, "fpu_clamp": True})
    write_lines(tmp_path, [reference_line(i) for i in range(3)])
    diagnosis = diagnose(tmp_path)
    assert wrong(diagnosis) == set()
    early = [f for f in diagnosis.findings if f.level == "early"]
    assert len(early) == 1 and early[0].figure == 3
    assert "3 iterations" in early[0].sentence and "10 iterations" in early[0].sentence
    words = text(diagnosis)
    assert early[0].sentence in words and "too early to tell" in words
    assert "nothing looks wrong" not in words
    write_lines(tmp_path, [reference_line(i) for i in range(10)])
    diagnosis = diagnose(tmp_path)
    assert {("entropy", "second"), ("classes", "second")} <= wrong(diagnosis)
    assert "too early" not in text(diagnosis)


def test_a_search_that_starves_one_side_is_wrong_from_the_first_iteration(tmp_path):
    write_config(tmp_path, **REFERENCE_OPTIONS)
    write_lines(tmp_path, [reference_line(0)])
    assert wrong(diagnose(tmp_path)) == {("starvation", "second")}
    assert "too early to tell" in text(diagnose(tmp_path))


@pytest.mark.parametrize("iterations", [1, 7, 8, 9, 10, 11, 12])
def test_a_rule_says_nothing_before_it_has_what_it_needs(tmp_path, iterations):
    write_config(tmp_path, **REFERENCE_OPTIONS)
    write_lines(tmp_path, [reference_line(i) for i in range(iterations)])
    figures = diagnose(tmp_path).figures
    for rule in ALL_RULES:
        if rule.iterations > iterations or rule.candidates > iterations:
            assert findings(figures, (rule,)) in ([], [too_early(figures, (rule,))])


def test_a_run_without_an_iteration_is_too_early_to_tell(tmp_path):
    write_config(tmp_path, game="connect4")
    write_games(tmp_path, agreeing_games())
    assert "0 iterations" in finding(diagnose(tmp_path), "iterations").sentence


# ---- the gate where the colour decides -----------------------------------------------


def gated(tmp_path, **match):
    """A run whose candidates were rejected since the third, after matches that ended like this."""
    write_config(tmp_path, game="connect4")
    lines = [{**healthy_line(i), "accepted": i < 3} for i in range(30)]
    for entry in lines:
        entry["match"] |= match
    write_lines(tmp_path, lines)
    return finding(diagnose(tmp_path), "acceptance")


@pytest.mark.parametrize(("side", "colour"), [("first", 0), ("second", 1)])
def test_where_one_side_wins_every_match_game_an_open_gate_is_advised(tmp_path, side, colour):
    won, lost = ([10, 0], [0, 10]) if colour == 0 else ([0, 10], [10, 0])
    gate = gated(tmp_path, score=0.5, wins=won, draws=[0, 0], losses=lost)
    assert gate.level == "wrong" and gate.options == ("--accept", "--no-gate")
    assert f"the {side} player won 100% of the match games" in gate.sentence
    assert "last 27 candidates" in gate.sentence and "--accept 0.5" in gate.sentence
    assert "--lr" not in gate.sentence and "--eval-games" not in gate.sentence


def test_where_the_opening_decides_every_match_game_an_open_gate_is_advised(tmp_path):
    """Each opening is played from both sides and won by the same colour, now one, now the other."""
    gate = gated(tmp_path, score=0.5, wins=[6, 4], draws=[0, 0], losses=[4, 6])
    assert gate.options == ("--accept", "--no-gate") and "opening" in gate.sentence
    # Now with the openings counted: one in ten was lost, nine went to the colour.
    match = {"score": 0.45, "wins": [5, 4], "draws": [0, 0], "losses": [5, 6]}
    gate = gated(tmp_path, **match, pairs_by_colour=9)
    assert gate.options == ("--accept", "--no-gate") and "opening" in gate.sentence
    # The same score, but of openings that the networks decide.
    assert "--lr" in gated(tmp_path, **match, pairs_by_colour=3).options


def test_candidates_that_are_worse_are_not_excused_by_the_colour(tmp_path):
    gate = gated(tmp_path, score=0.4, wins=[8, 0], draws=[0, 0], losses=[2, 10])
    assert "--lr" in gate.options and "--no-gate" not in gate.options


# ---- pictures ------------------------------------------------------------------------


@pytest.fixture
def pictured(monkeypatch):
    """The axes of the picture drawn last, which then is not written."""
    plots = pytest.importorskip("matplotlib.pyplot")
    saved = []
    for module in (picture, drawing):
        monkeypatch.setattr(module, "save_png", lambda figure, png: saved.append(figure))
    yield lambda: saved[-1].axes
    for figure in saved:
        plots.close(figure)


def test_the_right_move_of_a_watched_position_is_in_table_and_picture(tmp_path, pictured):
    """The network plays everything but the centre, which alone wins."""
    write_config(tmp_path, game="connect4")
    lines = [healthy_line(i) for i in range(15)]
    for entry in lines:
        start = policy(CONNECT4, {0: 0.3, 6: 0.2, 1: 0.2, 5: 0.1, 2: 0.1, 4: 0.09, 3: 0.01})
        entry["watch"]["start"]["policy"] = start
    write_lines(tmp_path, lines)
    diagnosis = diagnose(tmp_path)
    row = next(line for line in text(diagnosis).splitlines() if line.startswith("4 (right)"))
    assert "1.0%" in row
    draw_diagnosis(diagnosis, tmp_path / "diagnosis.png")
    axis = pictured()[0]
    labels = [label.get_text() for label in axis.get_xticklabels()]
    assert labels == ["1=7", "2=6", "3=5", "4\n(right)"]
    draw_run(tmp_path)
    curves = [axis for axis in pictured() if axis.get_title().startswith("policy of the start")]
    assert [line.get_label() for line in curves[0].lines] == ["1=7", "2=6", "3=5", "4 (right)"]


def written_on(axis):
    return [text.get_text() for text in axis.texts]


def test_zero_is_visible_in_the_picture_and_unlike_what_is_not_known(tmp_path, pictured):
    write_config(tmp_path, game="connect4")
    write_lines(tmp_path, [healthy_line(i) for i in range(12)])
    draw_diagnosis(diagnose(tmp_path), tmp_path / "diagnosis.png")
    search = next(axis for axis in pictured() if axis.get_title() == "search")
    assert written_on(search) == ["0.0%", "0.0%", "no data", "no data"]


def test_a_line_along_zero_is_visible_in_the_curves(tmp_path, pictured):
    """Not hidden by the frame; the same for a line along 1."""
    write_config(tmp_path, game="connect4")
    write_lines(tmp_path, [healthy_line(i) for i in range(12)])
    draw_run(tmp_path)
    for axis in pictured():
        low, high = axis.get_ylim()
        for line in axis.lines:
            assert low < min(line.get_ydata()) and max(line.get_ydata()) < high, axis.get_title()
    starved = next(axis for axis in pictured() if "FPU" in axis.get_title())
    assert {value for line in starved.lines for value in line.get_ydata()} == {0.0}
