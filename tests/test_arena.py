"""Matches: fair openings and colours, scores, and ratings against what they mean."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from evaluators import Hashed
from plain_games import GOING_ON, MOVER_WON, PlainConnect4, PlainDrop, PlainGame, PlainGomoku
from search_noise import noise_share

from azfit import SearchConfig, game_by_name
from azfit.players import Choices, NetworkPlayer, Player, RandomPlayer, SearchPlayer
from azfit.playing.arena import Score, play_pairs
from azfit.playing.elo import PRIOR_DRAWS, expected, rating
from azfit.playing.openings import Opening, random_openings
from azfit.self_play.config import settled
from solver.errors import InputError

PLAIN: list[PlainGame] = [PlainDrop(3, 3, 3), PlainDrop(4, 4, 4), PlainConnect4(), PlainGomoku(9)]
every_game = pytest.mark.parametrize("plain", PLAIN, ids=lambda plain: plain.name)


class Scripted(Player):
    """Plays the legal move that a number of its own picks; notes what it was asked."""

    def __init__(self, plain: PlainGame, taste: int) -> None:
        super().__init__(game_by_name(plain.name), "scripted")
        self._plain, self._taste = plain, taste
        self.asked: list[tuple[int, int]] = []  # side to move, ply

    def choice(self, legal: list[int], ply: int) -> int:
        return legal[(self._taste * (ply + 3) + 7 * ply * ply) % len(legal)]

    def choose(self, states: Any, plies: Any = None) -> Choices:
        actions = []
        for state, ply in zip(states, plies.tolist(), strict=True):
            self.asked.append((self.game.to_move(state), ply))
            actions.append(self.choice(self.game.legal_moves(state), ply))
        return Choices(np.array(actions, np.int32))


def plain_result(plain: PlainGame, first: Any, second: Any, opening: Opening, most: int) -> int:
    """1 if the first player wins, -1 if the second does, 0 for a draw; nothing but the rules."""
    state, ply = plain.start(), 0
    for action in opening:
        state, ply = plain.play(state, action), ply + 1
    while plain.result(state) == GOING_ON and ply < most:
        mover = (first, second)[plain.to_move(state)]
        state, ply = plain.play(state, mover.choice(plain.legal(state), ply)), ply + 1
    if plain.result(state) != MOVER_WON:
        return 0
    return -1 if plain.to_move(state) == 0 else 1


# ---- openings ------------------------------------------------------------------------


@every_game
def test_openings_are_legal_distinct_and_leave_the_first_player_to_move(plain: PlainGame) -> None:
    game = game_by_name(plain.name)
    openings = random_openings(game, 12, 2, np.random.default_rng(1))
    assert len(openings) == len(set(openings)) == 12
    for opening in openings:
        state = plain.start()
        for action in opening:
            assert action in plain.legal(state)
            state = plain.play(state, action)
        assert len(opening) == 2
        assert plain.result(state) == GOING_ON
        assert plain.to_move(state) == 0
    assert openings == random_openings(game, 12, 2, np.random.default_rng(1))
    assert openings != random_openings(game, 12, 2, np.random.default_rng(2))


def test_the_default_is_two_random_plies() -> None:
    assert settled({}).opening_plies == 2


def test_no_opening_is_an_image_of_another_and_there_are_no_more_than_there_are() -> None:
    """Of two plies: 12 on 3 x 3, 33 on 4 x 4 (Burnside), 25 of Connect Four's 49."""
    for name, there_are in (("drop-3-3-3", 12), ("drop-4-4-4", 33), ("connect4", 25)):
        game = game_by_name(name)
        openings = random_openings(game, 200, 2, np.random.default_rng(1))
        assert len(openings) == there_are
        images = {
            frozenset(tuple(image[action] for action in opening) for image in game.action_image)
            for opening in openings
        }
        assert len(images) == there_are
    assert random_openings(game_by_name("connect4"), 3, 0, np.random.default_rng(1)) == [()]


def test_openings_longer_than_the_game_are_refused() -> None:
    with pytest.raises(InputError, match="opening_plies=42"):
        random_openings(game_by_name("connect4"), 2, 42, np.random.default_rng(1))


# ---- games ---------------------------------------------------------------------------


@every_game
def test_pairs_are_played_as_the_plain_rules_say(plain: PlainGame) -> None:
    game, most = game_by_name(plain.name), 81 if plain.name == "gomoku-9" else 24
    openings = random_openings(game, 12, 2, np.random.default_rng(5))
    player, opponent = Scripted(plain, 1), Scripted(plain, 4)
    scores = play_pairs(game, player, opponent, openings, most)
    seen = set()
    for opening, score in zip(openings, scores, strict=True):
        as_first = plain_result(plain, player, opponent, opening, most)
        as_second = -plain_result(plain, opponent, player, opening, most)
        results = (as_first, as_second)
        for points, count in ((1, score.wins), (0, score.draws), (-1, score.losses)):
            assert count == tuple(int(result == points) for result in results)
        seen.add(results)
    assert len(seen) > 1, "all pairs ended alike: the test sees too little"


@every_game
def test_both_players_have_both_colours_in_every_opening(plain: PlainGame) -> None:
    game = game_by_name(plain.name)
    openings = random_openings(game, 10, 2, np.random.default_rng(6))
    player, opponent = Scripted(plain, 2), Scripted(plain, 3)
    scores = play_pairs(game, player, opponent, openings, 100)
    assert all(score.games == 2 for score in scores)
    for asked, colours in ((player.asked, (0, 1)), (opponent.asked, (1, 0))):
        first_moves = Counter(side for side, ply in asked if ply in (2, 3))
        assert first_moves[colours[0]] == first_moves[colours[1]] == 10


@pytest.mark.parametrize("name", ["drop-3-3-3", "connect4", "gomoku-9"])
@pytest.mark.parametrize("kind", ["search", "network", "scripted"])
def test_a_player_against_itself_scores_exactly_half(name: str, kind: str) -> None:
    game, hashed = game_by_name(name), Hashed(game_by_name(name))
    plain = next(candidate for candidate in PLAIN if candidate.name == name)
    config = SearchConfig(sims=10, noise_eps=0.0, reuse=False, max_plies=40)

    def player() -> Player:
        if kind == "scripted":
            return Scripted(plain, 5)
        if kind == "network":
            return NetworkPlayer(game, hashed)
        return SearchPlayer(game, hashed, config)

    openings = random_openings(game, 10, 2, np.random.default_rng(7))
    total = sum(play_pairs(game, player(), player(), openings, 40), Score())
    assert total.games == 20
    assert total.share == 0.5
    assert total.wins == total.losses[::-1], "a win as X is the other's loss as Y"
    assert total.draws[0] == total.draws[1]


def test_a_match_repeats_itself() -> None:
    game = game_by_name("connect4")
    openings = random_openings(game, 5, 2, np.random.default_rng(7))
    config = replace(settled({"game": "connect4"}).search_config, sims=10)
    players = [SearchPlayer(game, Hashed(game), config), NetworkPlayer(game, Hashed(game))]
    assert play_pairs(game, *players, openings, 42) == play_pairs(game, *players, openings, 42)


def test_evaluation_has_no_noise_and_no_chance() -> None:
    given = settled({"noise_eps": 0.5, "noise_steps": 9, "temperature": 2.0})
    config = given.search_config.for_matches()
    assert [noise_share(config, ply) for ply in (0, 5, 50)] == [0, 0, 0]
    assert config.temperature_at(np.arange(20, dtype=np.int32)).tolist() == [0] * 20
    assert config.sims == settled({}).sims


def test_the_random_player_is_legal_and_even() -> None:
    game = game_by_name("connect4")
    state = game.play_all([3] * 6)
    choices = RandomPlayer(game, np.random.default_rng(3)).choose(np.repeat(state[None], 6000, 0))
    counts = Counter(choices.actions.tolist())
    assert set(counts) == {0, 1, 2, 4, 5, 6}
    assert all(abs(count - 1000) < 5 * 1000**0.5 for count in counts.values())
    assert choices.chances is not None
    assert choices.chances[0].tolist() == [1 / 6] * 3 + [0] + [1 / 6] * 3


# ---- scores and ratings --------------------------------------------------------------


def test_scores_count_points_and_their_error() -> None:
    score = Score((6, 2), (1, 3), (3, 5)) + Score((0, 1), (0, 0), (1, 0))
    assert (score.wins, score.draws, score.losses) == ((6, 3), (1, 3), (4, 5))
    points = [1.0] * 9 + [0.5] * 4 + [0.0] * 9
    assert score.games == len(points)
    assert score.share == pytest.approx(np.mean(points))
    assert score.standard_error == pytest.approx(np.std(points) / math.sqrt(len(points)))
    report = score.to_dict()
    assert report["score"] == score.share and report["wins"] == [6, 3]
    assert (Score().share, Score().standard_error, Score().games) == (0.0, 0.0, 0)


def test_expected_scores_are_elos() -> None:
    for difference, score in ((0, 0.5), (400, 10 / 11), (-400, 1 / 11), (800, 100 / 101)):
        assert expected(difference) == pytest.approx(score)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.52, 0.9, 1.0])
def test_a_rating_against_one_opponent_is_the_inverse_of_the_expected_score(share: float) -> None:
    games = 50.0
    elo = rating([(120.0, games, games * share)], 120.0)
    with_prior = (games * share + PRIOR_DRAWS / 2) / (games + PRIOR_DRAWS)
    assert elo == pytest.approx(120 + 400 * math.log10(with_prior / (1 - with_prior)), abs=1e-6)


def test_a_rating_against_many_is_the_likeliest() -> None:
    results = [(0.0, 10.0, 8.0), (150.0, 20.0, 9.0), (-80.0, 6.0, 6.0)]
    elo = rating(results, 150.0)

    def log_likelihood(value: float) -> float:
        played = [*results, (150.0, PRIOR_DRAWS, PRIOR_DRAWS / 2)]
        return math.fsum(
            p * math.log(expected(value - r)) + (n - p) * math.log(expected(r - value))
            for r, n, p in played
        )

    nearby = [elo + step for step in (-20, -1, -0.1, 0.1, 1, 20)]
    assert all(log_likelihood(elo) > log_likelihood(other) for other in nearby)
