"""The network in data/: it loads, plays without a blunder, and its grade is its own."""

import json
from pathlib import Path

import pytest

from azfit.checkpoint import load_checkpoint
from azfit.grade import grade
from azfit.inference import Evaluator
from azfit.players import NetworkPlayer
from solver import Rules, open_table, solve, write_table

DATA = Path(__file__).resolve().parent.parent / "data"
NETWORK = DATA / "network_4x4_m4.safetensors"


@pytest.fixture(scope="module")
def player():
    network, about = load_checkpoint(NETWORK, "drop-4-4-4")
    return NetworkPlayer(Evaluator(network), Rules(), name=NETWORK.stem, sha256=about["sha256"])


def test_it_makes_no_blunder_in_a_sample(player, tmp_path):
    """All positions are graded by `fadefour grade shipped --all`; here a part, in seconds."""
    write_table(tmp_path, solve(Rules()))
    with open_table(tmp_path) as table:
        found = grade(player, table, sample=100_000, seed=2)
    assert found.overall.keeping == 1.0
    assert found.overall.wdl_accuracy >= 0.999


def test_its_grade_is_of_this_network(player):
    told = json.loads((DATA / "network_4x4_m4.grade.json").read_text())["grades"][0]
    assert told["checkpoint_sha256"] == player.sha256
    assert told["overall"]["positions"] == 72_113_641
