"""Matches between checkpoints: who plays whom, and what the score means."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from small_networks import save_small_network

from azfit.games import game_by_name
from azfit.loading import load_player
from azfit.players import Player
from azfit.playing import match as match_module
from azfit.playing.commands import match_command
from azfit.playing.elo import PRIOR_DRAWS, difference, expected
from azfit.playing.match import enough_openings, play_match
from solver import InputError


def checkpoint(path: Path, game: str, seed: int = 0) -> str:
    return str(save_small_network(path / f"{game}-{seed}.safetensors", game, seed))


def test_a_network_draws_level_with_itself(tmp_path: Path) -> None:
    """Both sides of every pair are the same player, so a win as first is a loss as second."""
    name = checkpoint(tmp_path, "connect4")
    score = play_match(name, name, games=12, sims=8).score
    assert score.share == 0.5 and score.games == 12
    assert score.wins == score.losses[::-1] and score.draws[0] == score.draws[1]


def test_a_long_match_has_as_many_different_openings() -> None:
    """25 of two plies in Connect Four, up to symmetry: more come from longer ones."""
    random = np.random.default_rng(1)
    short, long = (enough_openings(game_by_name("connect4"), n, random) for n in (25, 60))
    assert [len(short), len(long)] == [25, 60]
    assert {len(opening) for opening in short} == {2} and {len(opening) for opening in long} == {4}


def test_search_beats_a_random_player(tmp_path: Path) -> None:
    """Even an untrained network sees wins and losses a few plies ahead."""
    match = play_match(checkpoint(tmp_path, "connect4"), "random", games=20, sims=64)
    assert match.score.share > 0.8
    assert match.to_dict()["opponent"] == "random"


def test_networks_in_a_match_prove_unless_that_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the players are called, who are made by ``load_player``."""
    names = []

    def watched(*given: Any, **options: Any) -> Player:
        player = load_player(*given, **options)
        names.append(player.name)
        return player

    monkeypatch.setattr(match_module, "load_player", watched)
    name = checkpoint(tmp_path, "connect4")
    for prove in (None, True, False):
        play_match(name, "random", games=2, sims=8, prove=prove)
    assert names == ["connect4-0 + 8 sims"] * 2 + ["connect4-0 + 8 sims, no proofs"]


def test_a_run_goes_by_its_name(tmp_path: Path) -> None:
    """Every run has a best.safetensors, so that name says nothing."""
    (tmp_path / "one").mkdir()
    Path(checkpoint(tmp_path, "connect4")).rename(tmp_path / "one" / "best.safetensors")
    run = str(tmp_path / "one")
    match = play_match(run, "random", games=2, sims=0)
    assert (match.player, match.opponent) == ("one", "random")
    match = play_match(run, checkpoint(tmp_path, "connect4", 1), games=2, sims=0)
    assert (match.player, match.opponent) == ("one", "connect4-1")


def test_the_difference_is_the_inverse_of_the_expected_score() -> None:
    for share, games in ((0.5, 10), (0.75, 40), (1.0, 20), (0.0, 20)):
        points = share * games + PRIOR_DRAWS / 2
        assert math.isclose(expected(difference(share, games)), points / (games + PRIOR_DRAWS))


@pytest.mark.parametrize(
    ("players", "options", "said"),
    [
        (("random", "random"), {}, "checkpoint for one"),
        (("connect4", "gomoku-9"), {}, "plays connect4, .* gomoku-9: give two"),
        (("connect4", "random"), {"games": 3}, "even number"),
        (("connect4", "random"), {"sims": -1}, "--sims -1"),
    ],
)
def test_impossible_matches_are_refused(
    tmp_path: Path, players: tuple[str, str], options: dict[str, int], said: str
) -> None:
    names = [player if player == "random" else checkpoint(tmp_path, player) for player in players]
    with pytest.raises(InputError, match=said):
        play_match(names[0], names[1], **options)


def test_the_command_tells_scores_by_colour(tmp_path: Path) -> None:
    name = checkpoint(tmp_path, "connect4")
    arguments = [name, "random", "--games", "4", "--sims", "0", "--json"]
    report = json.loads(CliRunner().invoke(match_command, arguments).stdout)
    assert report["games"] == 4 and sum(report["wins"] + report["draws"] + report["losses"]) == 4
    words = CliRunner().invoke(match_command, arguments[:-1]).stdout
    assert "moving first" in words and "Elo" in words
