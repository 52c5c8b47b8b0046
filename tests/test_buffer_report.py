"""inspect-buffer and plot: figures of games that were written by hand, and of broken files."""

import json
import math
from dataclasses import replace

import pytest
from synthetic_runs import (
    episode,
    healthy_line,
    write_config,
    write_games,
    write_lines,
)
from two_plies import book_of_two_plies

from azfit.curves import draw_run
from azfit.diagnosis.buffer_figures import Distinct, IterationCount, OutcomeCounts, inspect_buffer
from azfit.diagnosis.buffer_report import text
from azfit.diagnosis.stored_games import read_games
from azfit.games import game_by_name

CONNECT4 = game_by_name("connect4")
PNG = b"\x89PNG"


@pytest.fixture
def run(tmp_path):
    """Ten games of four plies in iterations 11 and 12: the first player wins eight, loses one and
    draws one. They begin with 2 or, mirrored, 6; the replies are 1 (7) five times and 5 (3) five
    times."""
    write_config(tmp_path, game="connect4", buffer=36)
    for iteration in (10, 11):
        games = []
        for number in range(5):
            winner = (0, 0, 0, 0, 21 - 2 * iteration)[number]
            reply = 0 if number < 13 - iteration else 4
            moves = [1, reply, 3, 3]
            if number % 2:
                moves = [6 - move for move in moves]
            game = episode(CONNECT4, moves, [{moves[0]: 5, 3: 5}, {moves[1]: 7}], winner, number)
            games.append(type(game)(**{**vars(game), "iteration": iteration}))
        write_games(tmp_path, games, iteration)
    return tmp_path


def test_the_buffer_is_reported_by_side(run):
    """Of 40 positions it holds 36: the first game has lost its four."""
    report = inspect_buffer(run)
    assert (report.games_on_disk, report.positions_on_disk) == (10, 40)
    assert (report.games, report.positions) == (9, 36)
    assert report.by_iteration == [IterationCount(11, 16), IterationCount(12, 20)]
    assert report.outcomes == OutcomeCounts(first_wins=7, second_wins=1, draws=1)
    assert report.lengths.mean == 4
    second = report.sides["second"]
    assert second.classes["loss"] == pytest.approx(7 / 9)
    assert second.classes["win"] == pytest.approx(1 / 9)
    assert second.outcome == pytest.approx(-6 / 9)


def found_in(report):
    return {(finding.level, finding.about, finding.side) for finding in report.findings}


def test_what_looks_wrong_in_a_buffer_is_said_in_sentences(run):
    report = inspect_buffer(run)
    assert found_in(report) == {("wrong", "contradiction", "second")}
    assert "the second player's targets contradict each other" in text(report)
    # The same of ten times the games: the first player wins most, as it must in Connect Four.
    assert report.start_result == "win"
    many = replace(report, outcomes=OutcomeCounts(first_wins=70, second_wins=10, draws=10))
    assert ("note", "balance", "first") in found_in(many)
    assert ("wrong", "balance", "first") in found_in(replace(many, start_result=None))


def test_a_buffer_of_a_few_iterations_is_too_early_to_judge(run):
    report = inspect_buffer(run)
    report = replace(report, by_iteration=[IterationCount(3, 36)])
    assert found_in(report) == {("early", "iterations", None)}
    assert "too early to tell after 3 iterations" in text(report)


def test_entropy_gap_and_distinct_positions(run):
    report = inspect_buffer(run)
    assert report.entropy_by_ply[0].entropy == pytest.approx(math.log(2))
    assert report.entropy_by_ply[1].entropy == 0
    # The reply: 4 of 9 one way, 5 of 9 the other; ply 3 comes after it and is no contradiction.
    p = 4 / 9
    of_the_reply = -(p * math.log(p) + (1 - p) * math.log(1 - p))
    assert report.jensen["second"].gap == pytest.approx(of_the_reply / 2)
    assert report.jensen["first"].gap == pytest.approx(0, abs=1e-6)
    # Up to symmetry: start, one reply, two positions each at plies 2 and 3.
    assert report.distinct == Distinct(
        as_played=pytest.approx((1 + 2 + 4 + 4) / 36), up_to_symmetry=pytest.approx(6 / 36)
    )


def test_frequent_positions_show_their_mean_target_on_their_own_board(run):
    start, reply = inspect_buffer(run).frequent[:2]
    assert (start.position, start.times) == ("start", 9)
    assert start.target == pytest.approx({"4": 0.5, "2": 0.25, "6": 0.25}, abs=1e-3)
    assert reply.times == 9 and reply.position in ("2", "6")
    here = {"2": ("1", "5"), "6": ("7", "3")}[reply.position]
    assert reply.target[here[0]] == pytest.approx(4 / 9, abs=1e-3)
    assert reply.target[here[1]] == pytest.approx(5 / 9, abs=1e-3)


def test_the_right_move_of_a_frequent_position_is_shown_however_rare_it_is(tmp_path, monkeypatch):
    """From the start only the centre wins; here the searches hardly look at it."""
    monkeypatch.setattr("solver.connect4.book.SHIPPED", book_of_two_plies(tmp_path))
    write_config(tmp_path, game="connect4")
    visits = {0: 40, 1: 30, 2: 20, 3: 1, 4: 9}
    write_games(tmp_path, [episode(CONNECT4, [0, 0, 0], [visits], 0, n) for n in range(3)])
    report = inspect_buffer(tmp_path)
    start, *later = report.frequent
    assert start.right == ["4"] and list(start.target)[-1] == "4" and len(start.target) == 4
    assert start.target["4"] == pytest.approx(0.01)
    assert "4 1% (right)" in text(report)
    known = [bool(position.right) for position in later]
    assert known == [True, False]  # by the opening book; it ends there, and a search takes minutes


def test_random_moves_before_a_game_count_and_are_named(tmp_path):
    write_config(tmp_path, game="connect4", random_plies=2)
    whole = episode(CONNECT4, [1, 0, 3, 3], [], 0)
    begun = {name: getattr(whole, name)[2:] for name in ("codes", "visits", "actions", "values")}
    write_games(tmp_path, [replace(whole, opening=whole.actions[:2], **begun)])
    report = inspect_buffer(tmp_path)
    assert report.lengths.mean == 4 and report.positions == 2
    assert [entry.ply for entry in report.entropy_by_ply] == [2, 3]
    assert sorted(position.position for position in report.frequent) == ["21", "214"]


def test_a_part_of_a_game_can_be_dropped(run):
    games = read_games(run, CONNECT4).newest(6)
    assert (len(games), len(games.episodes), games.skipped) == (6, 2, 2)
    assert games.plies.tolist() == [2, 3, 0, 1, 2, 3]


def test_a_file_cut_short_is_read_up_to_there(fadefour, run):
    path = run / "games" / "000011.games"
    path.write_bytes(path.read_bytes()[:-7])
    done = fadefour("inspect-buffer", run)
    assert done.code == 0, done.err
    assert "ends within a game" in done.out and "9 games with 36 positions" in done.out
    report = json.loads(fadefour("inspect-buffer", run, "--json").out)
    assert report["games_on_disk"] == 9 and len(report["cut"]) == 1


@pytest.mark.parametrize(
    "damage", ["flipped bit", "last bit", "foreign text", "lost length", "another game"]
)
def test_damaged_files_are_refused_in_one_line(fadefour, run, damage):
    path = run / "games" / "000010.games"
    data = bytearray(path.read_bytes())
    if damage == "flipped bit":
        data[len(data) // 2] ^= 16
    elif damage == "last bit":
        data[-1] ^= 1
    elif damage == "foreign text":
        data = bytearray(b"hello, this is no game")
    elif damage == "lost length":
        data[4:8] = b"\xff\xff\xff\x00"
    else:
        drop = game_by_name("drop-3-3-3")
        data = bytearray(episode(drop, [0, 4], [], -1).to_bytes())
    path.write_bytes(data)
    done = fadefour("inspect-buffer", run)
    assert done.code == 2 and done.out == "" and len(done.err.splitlines()) == 1
    assert "000010.games" in done.err


def test_a_run_without_games_is_refused(fadefour, tmp_path):
    write_config(tmp_path, game="connect4")
    done = fadefour("inspect-buffer", tmp_path)
    assert done.code == 2 and "no games yet" in done.err


# ---- plot ----------------------------------------------------------------------------


def test_curves_of_a_run_are_drawn(fadefour, tmp_path):
    pytest.importorskip("matplotlib")
    write_config(tmp_path, game="connect4")
    write_lines(tmp_path, [healthy_line(i) for i in range(5)])
    done = fadefour("plot", tmp_path)
    assert done.code == 0, done.err
    assert (tmp_path / "curves.png").read_bytes()[:4] == PNG
    elsewhere = tmp_path / "pictures" / "one.png"
    assert fadefour("plot", tmp_path, "--png", elsewhere).code == 0
    assert elsewhere.read_bytes()[:4] == PNG


def test_curves_of_a_run_from_the_oracle_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    line = {"kind": "training", "step": 1, "seconds": 60.0, "loss": 0.5, "kl": 0.1, "wdl": 0.2}
    (tmp_path / "metrics.jsonl").write_text(json.dumps(line) + "\n")
    assert draw_run(tmp_path).read_bytes()[:4] == PNG


def test_there_is_nothing_to_draw_of_no_run(fadefour, tmp_path):
    done = fadefour("plot", tmp_path)
    assert done.code == 2 and "not a run" in done.err and len(done.err.splitlines()) == 1
