"""The network in data/: it loads, plays without a blunder, and its grade is its own."""

import json
from pathlib import Path

import numpy as np
import pytest
from fixed_players import cells_chosen
from slow import slow

import azfit
from azfit.grading.certificate import listed_positions, read_certificate
from azfit.grading.certificate_check import check_certificate
from azfit.grading.grade import grade
from solver import Rules, open_table, solve, write_table
from solver.index import find_nodes
from solver.playout import is_won, play, successors

DATA = Path(__file__).resolve().parent.parent / "data"
CERTIFICATE = DATA / "network_4x4_m4.certificate.npz"


@pytest.fixture(scope="module")
def player():
    return azfit.load_player("shipped")


def test_it_makes_no_blunder_in_a_sample(player, tmp_path):
    """All positions are graded by `fadefour grade shipped --all`; here a part, in seconds."""
    write_table(tmp_path, solve(Rules()))
    with open_table(tmp_path) as table:
        graded = grade(player, table, sample=100_000, seed=2)
    assert graded.overall.keeping == 1.0
    assert graded.overall.wdl_accuracy >= 0.999


def test_its_grade_is_of_this_network(player):
    report = json.loads((DATA / "network_4x4_m4.grade.json").read_text())["grades"][0]
    assert report["checkpoint_sha256"] == player.sha256
    assert report["overall"]["positions"] == 72_113_641


def test_its_certificate_is_closed_where_it_is_looked_at(player):
    """`fadefour certify shipped --check` goes through all of it; here a part, in seconds."""
    certificate = read_certificate(CERTIFICATE)
    assert (certificate.kind, certificate.sides) == ("unbeaten", "xy")
    assert certificate.player.checkpoint_sha256 == player.sha256
    with np.load(CERTIFICATE) as stored:
        listed = np.unpackbits(stored["nodes"])
    rows = np.random.default_rng(3).choice(certificate.positions, 20_000, replace=False)
    boards = listed_positions(certificate.rules, certificate.queues[rows])
    after = play(boards, cells_chosen(player, boards))
    replies = successors(after.take(~is_won(after))).positions
    assert not is_won(replies).any()
    reached, _ = find_nodes(*replies.arrays, certificate.rules)
    assert listed[reached.astype(np.int64)].all()


@slow
def test_its_certificate_holds(player):
    assert check_certificate(CERTIFICATE, player).ok
