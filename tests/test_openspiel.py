"""Drop-oldest in OpenSpiel, and our players at its boards, with the real library."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from libraries import library
from plain_games import MOVER_WON, PlainConnect4, PlainDrop, PlainGame, PlainGomoku
from small_networks import save_small_network

import azfit
from azfit import RandomPlayer, game_by_name
from solver import InputError, MissingTableError
from solver.connect4 import Connect4Position, Connect4Solver

pyspiel = library("pyspiel")
openspiel: Any = library("azfit.adapters.openspiel")
evaluate_bots = library("open_spiel.python.algorithms.evaluate_bots").evaluate_bots
make_observation = library("open_spiel.python.observation").make_observation
uniform = library("open_spiel.python.bots.uniform_random")

GAMES: dict[str, PlainGame] = {
    "drop_oldest(n=3,m=3)": PlainDrop(3, 3, 3),
    "drop_oldest": PlainDrop(4, 4, 4),
    "drop_oldest(n=4,m=5,k=3)": PlainDrop(4, 5, 3),
    "connect_four": PlainConnect4(),
    "connect_four(egocentric_obs_tensor=true)": PlainConnect4(),
    "gomoku(size=9)": PlainGomoku(9),
    "mnk(m=9,n=9,k=5)": PlainGomoku(9),
}
OURS = [name for name in GAMES if name.startswith("drop")]


def random_game(game: Any, seed: int, longest: int = 10_000) -> Any:
    state, choice = game.new_initial_state(), random.Random(seed)
    while not state.is_terminal() and state.move_number() < longest:
        state.apply_action(choice.choice(state.legal_actions()))
    return state


# ---- the game -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*OURS, "drop_oldest(n=3,m=3,max_plies=7)"])
def test_openspiels_own_checks_pass(name: str) -> None:
    game = pyspiel.load_game(name)
    pyspiel.random_sim_test(game, num_sims=5, serialize=False, verbose=False)
    pyspiel.random_sim_test(game, num_sims=2, serialize=True, verbose=False)


@pytest.mark.parametrize("name", list(GAMES))
def test_games_go_as_in_plain_python(name: str) -> None:
    """Ours and OpenSpiel's own: legal moves, ends, winners, and what we make of their states."""
    game, plain = pyspiel.load_game(name), GAMES[name]
    ours = openspiel.our_game(game)
    assert ours.name == plain.name
    for seed in range(15):
        choice, state, expected = random.Random(seed), game.new_initial_state(), plain.start()
        actions: list[int] = []
        while not state.is_terminal():
            assert state.legal_actions() == plain.legal(expected)
            assert state.current_player() == plain.to_move(expected)
            actions.append(choice.choice(state.legal_actions()))
            state.apply_action(actions[-1])
            expected = plain.play(expected, actions[-1])
            assert np.array_equal(openspiel.our_state(state), ours.play_all(actions))
        assert state.legal_actions() == []
        if plain.result(expected) == MOVER_WON:
            winner = 1 - plain.to_move(expected)
            assert state.returns() == [1 - 2 * winner, 2 * winner - 1]
        else:
            assert state.returns() == [0, 0]
            assert len(actions) == game.max_game_length()


def test_a_game_without_an_end_is_drawn_at_the_cap() -> None:
    game = pyspiel.load_game("drop_oldest(max_plies=6)")
    state = game.new_initial_state()
    for action in (0, 1, 2, 3, 4, 5):
        assert not state.is_terminal()
        state.apply_action(action)
    assert state.is_terminal() and state.returns() == [0, 0] and state.legal_actions() == []
    assert game.max_game_length() == 6


def test_observations_are_our_planes_the_observers_pieces_first() -> None:
    game = pyspiel.load_game("drop_oldest")
    observation, plain = make_observation(game), PlainDrop(4, 4, 4)
    assert game.observation_tensor_shape() == [8, 4, 4]
    for seed in range(10):
        state, expected = random_game(game, seed, longest=9), plain.start()
        for action in state.history():
            expected = plain.play(expected, action)
        mover = plain.to_move(expected)
        planes = plain.planes(expected)
        observation.set_from(state, mover)
        assert np.array_equal(observation.dict["observation"], planes)
        assert np.array_equal(state.observation_tensor(mover), planes.ravel())
        other = np.concatenate([planes[4:], planes[:4]])
        assert np.array_equal(state.observation_tensor(1 - mover), other.ravel())
        assert state.observation_string(0) == str(state)


def test_states_are_cloned_pickled_and_serialized() -> None:
    game = pyspiel.load_game("drop_oldest(n=3,m=3,max_plies=50)")
    state = random_game(game, seed=4, longest=8)
    before = str(state)
    again, same = pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))
    assert str(again) == str(game) and str(pickle.loads(pickle.dumps(game))) == str(game)
    for copy in (state.clone(), same, pickle.loads(pickle.dumps(state))):
        assert str(copy) == before and copy.history() == state.history()
        if not copy.is_terminal():
            copy.apply_action(copy.legal_actions()[0])
        assert str(state) == before  # a copy is no alias


def test_names_of_states_and_moves() -> None:
    state = pyspiel.load_game("drop_oldest(n=3,m=3)").new_initial_state()
    assert state.action_to_string(0, 4) == "X b2"
    state.apply_action(4)
    assert state.action_to_string(1, 0) == "Y a1"
    assert str(state).startswith("b2/- y, ply 1 of 100\n")
    assert "X1" in str(state)


@pytest.mark.parametrize(
    ("name", "words"),
    [("drop_oldest(n=9)", "n=9"), ("drop_oldest(m=9)", "m=9"), ("drop_oldest(k=9)", "k=9"),
     ("drop_oldest(max_plies=0)", "max_plies=0"), ("drop_oldest(max_plies=-5)", "max_plies=-5")],
)  # fmt: skip
def test_bad_parameters_are_named(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        pyspiel.load_game(name)


# ---- bots ---------------------------------------------------------------------------------------


def test_the_exact_bot_wins_3x3_from_the_start_in_13_plies(solved33: Path) -> None:
    game = pyspiel.load_game("drop_oldest(n=3,m=3)")
    state, exact = game.new_initial_state(), openspiel.exact_bot(game, solved33)
    assert evaluate_bots(state, [exact, exact], np.random) == [1, -1]
    assert state.move_number() == 13
    for seed in range(10):  # any best moves of both sides take the same time
        bots = [openspiel.exact_bot(game, solved33, seed=2 * seed + side) for side in (0, 1)]
        state = game.new_initial_state()
        assert evaluate_bots(state, bots, np.random) == [1, -1]
        assert state.move_number() == 13


def test_the_exact_bot_of_4x4_never_loses_and_never_beats_itself(
    solved44: Path,
) -> None:
    game = pyspiel.load_game("drop_oldest(max_plies=60)")
    exact, rng = openspiel.exact_bot(game, solved44), np.random.RandomState(1)
    assert evaluate_bots(game.new_initial_state(), [exact, exact], rng) == [0, 0]
    scores = []
    for seat in (0, 1):
        for _ in range(10):
            bots = [exact, exact]
            bots[1 - seat] = uniform.UniformRandomBot(1 - seat, rng)
            scores.append(evaluate_bots(game.new_initial_state(), bots, rng)[seat])
    assert min(scores) >= 0 and sum(scores) > 10


def test_the_shipped_network_plays_its_own_moves_as_a_bot() -> None:
    game, player = pyspiel.load_game("drop_oldest"), azfit.load_player("shipped", threads=1)
    bot = openspiel.PlayerBot(player)
    for seed in range(20):
        state = random_game(game, seed, longest=6)
        if not state.is_terminal():
            assert bot.step(state) == player.move(player.game.play_all(state.history()))


@pytest.mark.parametrize(
    ("text", "winner"),
    [("73356637437663", 0), ("17127227233256", 0), ("637676651747261", 1), ("433442147526473", 1)],
)
def test_the_solver_wins_won_positions_of_openspiels_connect_four(text: str, winner: int) -> None:
    """As either side, against random play, no later than the solver promises."""
    game = pyspiel.load_game("connect_four")
    state, bot, rng = game.new_initial_state(), openspiel.exact_bot(game), np.random.RandomState(3)
    position = Connect4Position.parse(text)
    for column in position.columns:
        state.apply_action(column - 1)
    assert state.current_player() == winner
    with Connect4Solver(4) as solver:
        value = solver.value(position)
    assert value.result == "win"
    bots = [bot, bot]
    bots[1 - winner] = uniform.UniformRandomBot(1 - winner, rng)
    assert evaluate_bots(state, bots, rng)[winner] == 1
    assert state.move_number() <= position.plies + value.plies


@pytest.mark.parametrize("name", [name for name in GAMES if not name.startswith("drop")])
def test_networks_play_openspiels_games_to_the_end(name: str, tmp_path: Path) -> None:
    game = pyspiel.load_game(name)
    ours = openspiel.our_game(game).name
    checkpoint = save_small_network(tmp_path / "net.safetensors", ours)
    alone, searching = (azfit.load_player(checkpoint, sims, threads=1) for sims in (None, 8))
    state = game.new_initial_state()
    bots = [openspiel.PlayerBot(alone), openspiel.PlayerBot(searching)]
    returns = evaluate_bots(state, bots, np.random)
    assert state.is_terminal() and sum(returns) == 0
    assert game_by_name(ours).result(openspiel.our_state(state)) != 0


def test_a_position_that_was_set_up_is_read_from_the_board() -> None:
    """Without a history."""
    rows = ["xo.....", "x......", *["......."] * 4]  # row 0 is the lowest
    struct = {
        "board": [list(row) for row in rows],
        "current_player": "o",
        "is_terminal": False,
        "winner": "",
    }
    state = pyspiel.load_game("connect_four").new_initial_state(struct)
    expected = game_by_name("connect4").play_all([0, 1, 0])
    assert state.history() == [] and np.array_equal(openspiel.our_state(state), expected)


def test_games_that_we_do_not_play_are_refused(tmp_path: Path) -> None:
    for name in ("connect_four(rows=7)", "gomoku(size=9,wrap=true)", "mnk(m=9,n=11,k=5)", "chess"):
        with pytest.raises(InputError, match="our players play"):
            openspiel.our_game(pyspiel.load_game(name))
    with pytest.raises(InputError, match="9, 11, 13"):
        openspiel.our_game(pyspiel.load_game("gomoku(size=8)"))
    with pytest.raises(InputError, match="perfect play"):
        openspiel.exact_bot(pyspiel.load_game("gomoku"))
    with pytest.raises(MissingTableError, match="fadefour solve"):
        openspiel.exact_bot(pyspiel.load_game("drop_oldest"), tmp_path)
    rng = np.random.default_rng(0)
    bot = openspiel.PlayerBot(RandomPlayer(game_by_name("connect4"), rng))
    with pytest.raises(InputError, match="plays connect4, not gomoku-9"):
        bot.step(pyspiel.load_game("gomoku(size=9)").new_initial_state())
