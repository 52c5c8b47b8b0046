"""The shipped networks: they load and have grades of their own; that of 4x4 makes no blunder."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fixed_players import cells_chosen
from plain_connect4 import scored_games
from slow import ASKED_FOR, more, slow
from small_networks import save_small_network

import azfit
from azfit import loading
from azfit.command_options import TypedVariant
from azfit.grading.certificate import listed_positions, read_certificate
from azfit.grading.certificate_check import check_certificate
from azfit.grading.grade import grade
from azfit.loading import SHIPPED_FILE, certificate_path
from azfit.playing.opponents import Wish, opponent_for
from solver.connect4 import Connect4Position, Connect4Solver
from solver.connect4.labels import label
from solver.errors import InputError
from solver.index import find_nodes
from solver.playout import is_won, play, successors

CERTIFICATE = certificate_path(Path("shipped"))


@pytest.fixture(scope="module")
def player():
    return azfit.load_player("shipped")


@more
def test_it_makes_no_blunder_in_a_sample(player, table44):
    """All positions are graded by `fadefour grade shipped --all`; here a part, in seconds."""
    graded = grade(player, table44, sample=50_000 if ASKED_FOR else 10_000, seed=2)
    assert graded.overall.keeping == 1.0
    assert graded.overall.wdl_accuracy >= 0.999


def test_its_grade_is_of_this_network(player):
    report = json.loads(SHIPPED_FILE.with_suffix(".grade.json").read_text())["grades"][0]
    assert report["checkpoint_sha256"] == player.sha256
    assert report["overall"]["positions"] == 72_113_641


@more
def test_its_certificate_is_closed_where_it_is_looked_at(player):
    """`fadefour certify shipped --check` goes through all of it; here a part, in seconds."""
    certificate = read_certificate(CERTIFICATE)
    assert (certificate.kind, certificate.sides) == ("unbeaten", "xy")
    assert certificate.player.checkpoint_sha256 == player.sha256
    with np.load(CERTIFICATE) as stored:
        listed = np.unpackbits(stored["nodes"])
    rows = np.random.default_rng(3).choice(
        certificate.positions, 20_000 if ASKED_FOR else 4_000, replace=False
    )
    boards = listed_positions(certificate.rules, certificate.queues[rows])
    after = play(boards, cells_chosen(player, boards))
    replies = successors(after.take(~is_won(after))).positions
    assert not is_won(replies).any()
    reached, _ = find_nodes(*replies.arrays, certificate.rules)
    assert listed[reached.astype(np.int64)].all()


@slow
def test_its_certificate_holds(player):
    assert check_certificate(CERTIFICATE, player).ok


# ---- by name, for each game ---------------------------------------------------------------------

KINDS = ["connect4", "gomoku"]


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A folder of shipped networks that may lack some."""
    files = {name: tmp_path / path.name for name, path in loading.SHIPPED_FILES.items()}
    monkeypatch.setattr(loading, "SHIPPED_FILES", files)
    return files


def test_every_shipped_network_plays_the_game_of_its_name_and_has_its_grade():
    assert "shipped" in loading.shipped_names()
    for name in loading.shipped_names():
        path = loading.checkpoint_path(name)
        kind = "drop" if name == "shipped" else name.removeprefix("shipped-")
        assert loading.game_of_network(name).name.partition("-")[0] == kind
        grades = json.loads(path.with_suffix(".grade.json").read_text())["grades"]
        about = json.loads(path.with_suffix(".json").read_text())
        assert {grade["checkpoint_sha256"] for grade in grades} == {about["sha256"]}


def test_that_of_connect4_keeps_the_results_of_our_own_positions():
    """`fadefour grade shipped --game connect4 --sims 600` judges it on the public sets; here 120
    late positions, with 100 simulations, where a network that knows nothing loses some."""
    player = azfit.load_player("shipped-connect4", 100, 1)
    positions = [Connect4Position(tuple(columns)) for columns, _ in scored_games()]
    states = np.stack([player.game.state(position) for position in positions])
    moves = player.choose(states).actions
    with Connect4Solver() as solver:
        keeping = [label(position, solver).keeping for position in positions]
    lost = sum(not columns >> int(move) & 1 for columns, move in zip(keeping, moves, strict=True))
    assert lost == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_game_without_a_shipped_network_is_named_in_one_line(fadefour, tmp_path, shipped, kind):
    for arguments in (
        ("play", "--game", kind, "--against", "shipped"),
        ("grade", "shipped", "--game", kind),
        ("self-play", "--game", kind, "--run", tmp_path / "run", "--init", "shipped"),
        ("match", f"shipped-{kind}", "random"),
        ("diagnose", f"shipped-{kind}"),
    ):
        ended = fadefour(*arguments)
        assert (ended.code, ended.out) == (2, ""), ended
        assert ended.err.count("\n") == 1
        assert f"no network for {kind} comes with fadefour: train one" in ended.err
    assert not (tmp_path / "run").exists()


def test_the_shipped_network_of_a_game_is_used_where_the_game_is_said(fadefour, tmp_path, shipped):
    save_small_network(shipped["shipped-connect4"], "connect4")
    assert loading.shipped_names() == ["shipped-connect4"]
    assert loading.game_of_network("shipped-connect4").name == "connect4"
    assert azfit.load_player("shipped-connect4", threads=1).name == "network_connect4"
    ended = fadefour(
        *("grade", "shipped", "--game", "connect4", "--sample", 3, "--seed", 4, "--data", tmp_path),
        *("--threads", 1, "--json"),
    )
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["grades"][0]["player"] == "network_connect4"
    wish = Wish("connect4", "shipped", TypedVariant(), None, None, 1)
    with contextlib.ExitStack() as opened:
        opponent, adviser = opponent_for(wish, tmp_path, opened)
        assert opponent.name == "network_connect4" and adviser is not None
    with pytest.raises(InputError, match="plays drop"):
        fadefour_shipped = replace(wish, game="connect4", against=str(loading.SHIPPED_FILE))
        opponent_for(fadefour_shipped, tmp_path, contextlib.ExitStack())
