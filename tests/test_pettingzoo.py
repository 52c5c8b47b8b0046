"""The games as PettingZoo environments, with the real library: its own checks, and plain Python."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from libraries import library
from numpy.typing import NDArray
from plain_games import GOING_ON, MOVER_WON, PlainConnect4, PlainDrop, PlainGame, PlainGomoku

from azfit import RandomPlayer, game_by_name
from solver import InputError

library("pettingzoo")
adapter: Any = library("azfit.adapters.pettingzoo")
checks: Any = library("pettingzoo.test")
library("matplotlib")

PLAIN: list[PlainGame] = [
    PlainDrop(3, 3, 3),
    PlainDrop(4, 4, 4),
    PlainConnect4(),
    PlainGomoku(9),
    PlainGomoku(15),
]
every_game = pytest.mark.parametrize("plain", PLAIN, ids=lambda plain: plain.name)


def masked_random_move(env: Any, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"])))


# ---- PettingZoo's own checks --------------------------------------------------------------------


@every_game
def test_pettingzoos_api_and_seed_tests_pass(plain: PlainGame) -> None:
    with warnings.catch_warnings():
        # An empty board is all zeros, and observations are dictionaries, as in its classic games.
        warnings.simplefilter("ignore", UserWarning)
        checks.api_test(adapter.env(plain.name), num_cycles=60)
        checks.seed_test(lambda: adapter.env(plain.name), num_cycles=30)


@pytest.mark.parametrize("name", ["drop-3-3-3", "connect4", "gomoku-9"])
def test_pettingzoos_render_test_passes(name: str) -> None:
    checks.render_test(lambda render_mode: adapter.env(name, render_mode=render_mode))


# ---- games --------------------------------------------------------------------------------------


def exchanged(plain: PlainGame, planes: NDArray[np.float32]) -> NDArray[np.float32]:
    """The planes with the mover's and the opponent's in each other's place: in drop-oldest all of
    one side stand before all of the other, elsewhere they stand in pairs."""
    whose = planes.reshape(-1, 2, *planes.shape[1:])
    if plain.name.startswith("drop"):
        whose = planes.reshape(2, -1, *planes.shape[1:]).swapaxes(0, 1)
        return whose[:, ::-1].swapaxes(0, 1).reshape(planes.shape)
    return whose[:, ::-1].reshape(planes.shape)


@every_game
def test_games_go_as_in_plain_python(plain: PlainGame) -> None:
    """Observations, masks, rewards and ends, for both agents after every move."""
    rng, cap = np.random.default_rng(1), 60
    for _ in range(4):
        env, state, plies = adapter.env(plain.name, max_plies=cap), plain.start(), 0
        env.reset()
        while True:
            mover = plain.to_move(state)
            planes = plain.planes(state)
            swapped = exchanged(plain, planes)
            assert env.agent_selection == f"player_{mover}"
            seen = {side: env.observe(f"player_{side}") for side in (0, 1)}
            assert np.array_equal(seen[mover]["observation"], planes)
            assert np.array_equal(seen[1 - mover]["observation"], swapped)
            if env.terminations[f"player_{mover}"] or env.truncations[f"player_{mover}"]:
                break
            legal = np.flatnonzero(seen[mover]["action_mask"]).tolist()
            assert legal == plain.legal(state)
            assert not seen[1 - mover]["action_mask"].any()
            action = masked_random_move(env, rng)
            env.step(action)
            state, plies = plain.play(state, action), plies + 1
        winner = 1 - plain.to_move(state)
        if plain.result(state) == MOVER_WON:
            expected = {f"player_{winner}": 1, f"player_{1 - winner}": -1}
        else:
            expected = {"player_0": 0, "player_1": 0}
        assert env.rewards == expected
        ended = plain.result(state) != GOING_ON
        assert set(env.terminations.values()) == {ended}
        assert set(env.truncations.values()) == {not ended}
        assert ended or plies == cap
        for agent in env.agent_iter():
            assert env.last()[1] == expected[agent]
            env.step(None)
        assert env.agents == []


def test_the_winner_is_paid_once() -> None:
    """X wins with the fifth ply; each agent's own total is what its last() says."""
    env = adapter.env("drop-3-3-3")
    env.reset()
    totals = dict.fromkeys(env.possible_agents, 0)
    for agent, action in zip(env.agent_iter(), [0, 3, 1, 4, 2, None, None], strict=False):
        totals[agent] += env.last()[1]
        env.step(action)
    assert totals == {"player_0": 1, "player_1": -1}


def test_an_illegal_move_ends_the_game_and_costs_its_maker() -> None:
    for name, moves in (("drop-3-3-3", [4, 4]), ("connect4", [3] * 7), ("gomoku-9", [40, 40])):
        env = adapter.env(name)
        env.reset()
        for move in moves[:-1]:
            env.step(move)
        culprit = env.agent_selection
        env.last()
        env.step(moves[-1])
        assert all(env.terminations.values())
        rewards = {}
        for agent in env.agent_iter():
            rewards[agent] = env.last()[1]
            env.step(None)
        other = next(agent for agent in env.possible_agents if agent != culprit)
        assert rewards == {culprit: -1, other: 0}
    bare = adapter.raw_env("connect4")
    bare.reset()
    with pytest.raises(InputError, match="not legal"):
        bare.step(9)
    with pytest.raises(TypeError):
        bare.step(None)


def test_the_cap_of_drop_oldest_is_a_truncation_and_a_win_at_the_cap_a_win() -> None:
    env = adapter.env("drop-4-4-4", max_plies=5)
    env.reset()
    for action in (0, 15, 2, 13, 6):
        env.step(action)
    assert all(env.truncations.values()) and not any(env.terminations.values())
    env = adapter.env("drop-3-3-3", max_plies=5)
    env.reset()
    for action in (0, 3, 1, 4, 2):
        env.step(action)
    assert all(env.terminations.values()) and not any(env.truncations.values())
    assert adapter.env("drop-4-4-4").unwrapped.max_plies == 40
    assert adapter.env("connect4").unwrapped.max_plies == 42


def test_a_player_of_ours_can_be_an_agent() -> None:
    env, game = adapter.env("connect4"), game_by_name("connect4")
    player = RandomPlayer(game, np.random.default_rng(2))
    env.reset()
    for _ in env.agent_iter():
        _, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else player.move(env.unwrapped.board))
    assert game.result(env.unwrapped.board) != 0


def test_environments_are_copied_and_pickled_as_new_ones() -> None:
    env = adapter.env("gomoku-9", max_plies=7, render_mode="ansi")
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        other.reset()
        assert other.unwrapped.max_plies == 7 and other.unwrapped.game.name == "gomoku-9"
        other.step(40)
        assert " X " in other.render()


# ---- rendering ----------------------------------------------------------------------------------


def test_text_shows_the_board_and_whose_turn_it_is() -> None:
    env = adapter.env("connect4", render_mode="ansi")
    env.reset()
    for action in (3, 3, 2, 2, 1, 1):
        env.step(action)
    lines = env.render().splitlines()
    assert lines[4:6] == ["  | · O O O · · ·", "  | · X X X · · ·"]
    assert lines[-1] == "X to move"
    env.step(0)
    assert env.render().splitlines()[-1] == "X has won"


def test_pictures_keep_their_size_and_change_where_a_piece_is_placed() -> None:
    for name in ("drop-3-3-3", "connect4", "gomoku-9"):
        env, rng = adapter.env(name, render_mode="rgb_array"), np.random.default_rng(5)
        env.reset()
        before = env.render()
        assert before.dtype == np.uint8 and before.shape[2] == 3 and min(before.shape[:2]) > 300
        for _ in range(7):
            if not all(env.terminations.values()):
                env.step(masked_random_move(env, rng))
            after = env.render()
            assert after.shape == before.shape  # frames of one film
        assert (after != before).any(axis=2).mean() > 0.01


def test_without_a_render_mode_there_is_nothing_to_see() -> None:
    env = adapter.env("connect4")
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_bad_options_are_named() -> None:
    for options, words in (
        ({"game": "chess"}, "'chess'"),
        ({"game": "drop-9-9-9"}, "n=9"),
        ({"game": "connect4", "render_mode": "braille"}, "'braille'"),
        ({"game": "connect4", "max_plies": 0}, "max_plies=0"),
        ({"game": "connect4", "max_plies": 1.5}, "max_plies=1.5"),
    ):
        with pytest.raises(InputError, match=words):
            adapter.env(**options)
