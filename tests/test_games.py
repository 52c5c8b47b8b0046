"""The C games against plain Python ones, and the laws that game.h promises."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from plain_games import GOING_ON, PlainConnect4, PlainDrop, PlainGame, PlainGomoku, windows
from slow import slow

from azfit import Connect4, DropOldest, Game, Gomoku, Result, game_by_name
from azfit.search import Search
from azfit.search_config import SearchConfig
from solver import Solution, find_nodes, solve
from solver.connect4 import Connect4Position
from solver.errors import InputError
from solver.index import look_up_positions, node_count
from solver.rules import Position, Rules
from solver.values import IMPOSSIBLE

DROPS = [(3, 2, 2), (3, 3, 3), (3, 4, 3), (4, 4, 4), (4, 5, 4), (4, 4, 3), (5, 5, 5), (5, 4, 4)]
PLAIN: list[PlainGame] = [
    *(PlainDrop(*rules) for rules in DROPS),
    PlainConnect4(),
    *(PlainGomoku(size) for size in (9, 11, 13, 15, 19)),
]
SLOWLY = ("gomoku-11", "gomoku-13")  # between sizes that always run, by the same code
every_game = pytest.mark.parametrize(
    "plain",
    [pytest.param(plain, id=plain.name, marks=[slow] * (plain.name in SLOWLY)) for plain in PLAIN],
)


def favourite_line(size: int, choice: random.Random) -> list[int]:
    """A row, a column or a long diagonal of a square board."""
    at = choice.randrange(size)
    return choice.choice(
        [
            [at * size + i for i in range(size)],
            [i * size + at for i in range(size)],
            [i * size + i for i in range(size)],
            [i * size + size - 1 - i for i in range(size)],
        ]
    )


def playout(plain: PlainGame, seed: int, longest: int = 60) -> list[int]:
    """A random game; each player likes one line of the board, so that there are wins."""
    choice = random.Random(seed)
    size = 7 if plain.name == "connect4" else plain.planes(plain.start()).shape[1]
    lines = [favourite_line(size, choice) for _ in range(2)]
    state = plain.start()
    actions: list[int] = []
    while (legal := plain.legal(state)) and len(actions) < longest:
        liked = [action for action in legal if action in lines[plain.to_move(state)]]
        actions.append(choice.choice(liked if liked and choice.random() < 0.7 else legal))
        state = plain.play(state, actions[-1])
    return actions


@every_game
def test_random_games_go_as_in_plain_python(plain: PlainGame) -> None:
    game = game_by_name(plain.name)
    results = set()
    # Many on the small boards, where they are quick: wins in every direction must be among them.
    for seed in range(12 if game.actions > 25 else 100):
        ours, state = game.start(), plain.start()
        for action in [*playout(plain, seed), None]:
            assert game.legal_moves(ours) == plain.legal(state)
            assert game.result(ours) == plain.result(state)
            assert game.to_move(ours) == plain.to_move(state)
            assert np.array_equal(game.planes(ours[None])[0], plain.planes(state))
            assert game.encode(ours[None])[0].tolist() == plain.code(state)
            if action is not None:
                ours, state = game.play(ours, action), plain.play(state, action)
        results.add(plain.result(state))
    assert Result.MOVER_WON in results, "the playouts never saw a win"


@every_game
def test_a_code_gives_back_the_same_bytes(plain: PlainGame) -> None:
    game = game_by_name(plain.name)
    for seed in range(6):
        state = game.start()
        for action in playout(plain, seed):
            state = game.play(state, action)
            assert np.array_equal(game.decode(game.encode(state[None]))[0], state)


@every_game
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_planes_moves_and_play_are_carried_together(
    plain: PlainGame, seed: int, data: st.DataObject
) -> None:
    game = game_by_name(plain.name)
    transform = data.draw(st.integers(0, game.symmetries - 1))
    actions = playout(plain, seed)
    actions = actions[: data.draw(st.integers(0, len(actions)))]
    state = game.play_all(actions)
    image = game.play_all(int(game.action_image[transform][action]) for action in actions)
    carried = game.planes(state[None], np.array([transform], dtype=np.uint8))
    assert np.array_equal(carried, game.planes(image[None]))
    mask = game.carry_policy(game.legal_masks(state[None]), np.array([transform]))
    assert np.array_equal(mask, game.legal_masks(image[None]))
    assert game.result(state) == game.result(image)


@pytest.mark.parametrize("name", ["drop-4-4-4", "drop-5-4-4", "gomoku-9"])
def test_square_transforms_are_transpose_then_quarter_turns(name: str) -> None:
    # numpy's rot90 by -1 carries (row, column) to (column, n - 1 - row), symmetry.h's quarter turn
    game = game_by_name(name)
    numbers = np.arange(game.actions).reshape(game.rows, game.rows)
    for transform in range(8):
        board = numbers.T if transform >= 4 else numbers
        board = np.rot90(board, -(transform % 4))
        assert np.array_equal(board.ravel()[game.cell_image[transform]], np.arange(game.actions))
    assert np.array_equal(game.cell_image, game.action_image)


def test_connect4_mirror_reverses_columns() -> None:
    game = Connect4()
    assert game.action_image[1].tolist() == [6, 5, 4, 3, 2, 1, 0]
    board = np.arange(42).reshape(6, 7)
    assert np.array_equal(game.cell_image[1], board[:, ::-1].ravel())


def test_drop_oldest_planes_count_the_moves_until_a_piece_leaves() -> None:
    game = DropOldest(4, 4, 4)
    for text in ("a1b1/c1 y", "a1b1c2d4/a2b2c3d3 x", "a1b1c2d4/a2b2c3 y"):
        state = game.state(Position.parse(text))
        planes = game.planes(state[None])[0]
        mover = Position.parse(text).mover
        for cell in mover:
            left = int(np.argmax(planes[:4, cell // 4, cell % 4]))
            # passing moves of the mover, as if the opponent stood still
            queue = list(mover)
            for _ in range(left):
                queue = [*queue, 99][-4:]
            assert cell in queue
            assert cell not in [*queue, 99][-4:]


def test_connect4_draw_on_a_full_board() -> None:
    columns = [0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 2, 3, 2, 3, 3, 2, 3, 2, 2, 3, 2, 3]
    columns += [4, 5, 4, 5, 5, 4, 5, 4, 4, 5, 4, 5, 6, 6, 6, 6, 6, 6]
    game, plain = Connect4(), PlainConnect4()
    state: Any = plain.start()
    for column in columns:
        state = plain.play(state, column)
    ours = game.play_all(columns)
    assert plain.result(state) == game.result(ours) == Result.DRAWN
    assert game.legal_moves(ours) == []
    assert np.array_equal(game.decode(game.encode(ours[None]))[0], ours)


def test_gomoku_draw_on_a_full_board() -> None:
    game = Gomoku(9)
    # rows of XX..XX..X shifted by two from row to row have no five, and 41 of one kind
    board = [1 if (column + 2 * row) % 4 < 2 else -1 for row in range(9) for column in range(9)]
    first = [cell for cell, piece in enumerate(board) if piece == 1]
    second = [cell for cell, piece in enumerate(board) if piece == -1]
    assert (len(first), len(second)) == (41, 40)
    actions = [cell for pair in zip(first, [*second, -1], strict=True) for cell in pair][:-1]
    state = game.play_all(actions)
    assert game.result(state) == Result.DRAWN
    assert PlainGomoku(9).result(tuple(board)) == Result.DRAWN


@pytest.mark.parametrize("size", [9, 19])
def test_gomoku_codes_see_every_five_and_no_other_five_cells(size: int) -> None:
    game, fives = Gomoku(size), set(windows(size, size, 5))
    # five equal steps through the numbers of the cells may wrap around the edge of the board
    steps = (1, size - 1, size, size + 1)
    chains = {
        tuple(first + step * i for i in range(5))
        for step in steps
        for first in range(size * size - 4 * step)
    }
    assert fives < chains
    codes, expected = [], []
    for chain in sorted(chains):
        code = [0] * (size * size + 1)
        for cell in chain:
            code[cell] = 1
        empty = [cell for cell in range(0, size * size, 7) if code[cell] == 0]
        for cell in empty[:4]:
            code[cell] = -1
        code[-1] = 1
        codes.append(code)
        expected.append(Result.MOVER_WON if chain in fives else Result.GOING_ON)
    assert game.results(game.decode(np.array(codes, np.int8))).tolist() == expected


def test_gomoku_six_in_a_row_wins() -> None:
    game = Gomoku(9)
    state = game.play_all([0, 20, 1, 22, 2, 24, 4, 26, 5, 40])
    assert game.result(state) == Result.GOING_ON
    assert game.result(game.play(state, 3)) == Result.MOVER_WON


@pytest.mark.parametrize(
    ("game", "code"),
    [
        (DropOldest(3, 3, 3), [0, -1, -1, 0, -1, -1, 0]),  # two pieces on one cell
        (DropOldest(3, 3, 3), [9, -1, -1, -1, -1, -1, 1]),  # off the board
        (DropOldest(3, 3, 3), [0, -1, -1, -1, -1, -1, 0]),  # X again
        (DropOldest(3, 3, 3), [-1, 0, -1, -1, -1, -1, 1]),  # a hole in the queue
        (DropOldest(3, 3, 3), [0, 1, 2, 3, 5, 7, 0]),  # the side to move has a line
        (DropOldest(3, 3, 3), [0, 1, 5, 3, 4, 7, 2]),  # no such side
        (Connect4(), [0] * 7 + [1] + [0] * 34 + [1]),  # a piece in the air
        (Connect4(), [1, 1] + [0] * 40 + [0]),  # two pieces ahead
        (Connect4(), [2] + [0] * 41 + [1]),
        (Gomoku(9), [1] * 5 + [-1] * 4 + [-1] + [0] * 71 + [0]),  # the side to move has five
        (Gomoku(9), [1] + [0] * 80 + [0]),
    ],
)
def test_codes_of_no_position_are_refused(game: Game, code: list[int]) -> None:
    with pytest.raises(InputError, match="is not a position of"):
        game.decode(np.array([code], dtype=np.int8))


@every_game
def test_illegal_actions_are_refused(plain: PlainGame) -> None:
    game = game_by_name(plain.name)
    state = plain.start()
    for action in playout(plain, 3):
        state = plain.play(state, action)
    ours = game.play_all(playout(plain, 3))
    for action in (-1, game.actions, *set(range(game.actions)) - set(plain.legal(state))):
        with pytest.raises(InputError, match="is not legal here"):
            game.play(ours, action)
    assert plain.result(state) == GOING_ON or game.legal_moves(ours) == []


def test_positions_travel_to_states_and_back() -> None:
    game = DropOldest(4, 4, 4)
    for text in ("-/- x", "a1/- y", "a1b2c3d4/a2a3b4 y", "a1b2c3d3/a2a3b4c4 y"):
        assert str(game.position(game.state(Position.parse(text)))) == text
    with pytest.raises(InputError, match="cannot occur"):
        game.state(Position.parse("a1b1c1d1/a2a3b4c4 x"))
    with pytest.raises(InputError, match="not of Rules"):
        game.state(Position.parse("-/- x", Rules(3, 3, 3)))


def test_the_stones_of_a_connect4_state_are_those_of_its_position() -> None:
    game, plain = Connect4(), PlainConnect4()
    for seed in range(20):
        actions = playout(plain, seed)
        for length in range(len(actions) + 1):
            position = Connect4Position(tuple(action + 1 for action in actions[:length]))
            stones = game.stones(game.play_all(actions[:length]))
            assert (stones.mover, stones.stones) == (position.mover, position.stones)


@every_game
def test_a_copied_or_pickled_game_is_the_game_of_its_name(plain: PlainGame) -> None:
    """So that whatever holds a game can be copied and sent to another process."""
    game = game_by_name(plain.name)
    assert copy.deepcopy(game) is game
    assert pickle.loads(pickle.dumps(game)) is game


def check_states_of_nodes(game: DropOldest, nodes: NDArray[np.uint64]) -> None:
    """Against node -> arrays -> code -> state, and back to the node."""
    x, y, to_move = look_up_positions(nodes, game.rules)
    states = game.states_of_nodes(nodes)
    codes = np.concatenate([x, y, to_move[:, None]], axis=1)
    assert np.array_equal(states, game.decode(codes))
    assert np.array_equal(states, game.states(x, y, to_move))
    again, _ = find_nodes(*game.arrays(states), game.rules)
    assert np.array_equal(again, nodes)


@pytest.mark.parametrize("variant", [(3, 3, 3), (3, 4, 3), (3, 2, 2), (4, 2, 2)])
def test_states_of_all_nodes_are_those_of_their_positions(variant: tuple[int, int, int]) -> None:
    game = DropOldest(*variant)
    table = solve(game.rules).table
    check_states_of_nodes(game, np.flatnonzero(table != IMPOSSIBLE).astype(np.uint64))
    for node in np.flatnonzero(table == IMPOSSIBLE)[:20].astype(np.uint64):
        with pytest.raises(InputError, match="cannot occur"):
            game.states_of_nodes(np.array([0, node], np.uint64))


def test_states_of_sampled_4x4_nodes_are_those_of_their_positions(solution44: Solution) -> None:
    rng, game = np.random.default_rng(1), DropOldest(4, 4, 4)
    nodes = rng.integers(0, node_count(game.rules), 50_000).astype(np.uint64)
    check_states_of_nodes(game, nodes[solution44.table[nodes] != IMPOSSIBLE])
    with pytest.raises(InputError, match="node 72864169"):
        game.states_of_nodes(np.array([node_count(game.rules)], np.uint64))
    with pytest.raises(InputError, match="expected an array of int8"):
        game.states(*(np.zeros((2, 3), np.int8),) * 2, np.zeros(2, np.int8))


def test_names_of_games_and_actions() -> None:
    for name in ("drop-4-4-4", "connect4", "gomoku-15"):
        game = game_by_name(name)
        assert game.name == name
        assert [game.action(game.action_name(a)) for a in range(game.actions)] == list(
            range(game.actions)
        )
    assert DropOldest(4, 4, 4).action_name(6) == "c2"
    assert Connect4().action_name(3) == "4"
    for wrong in ("drop-6-4-4", "drop-3-5-3", "gomoku-10", "gomoku-17", "go", "connect4 "):
        with pytest.raises(InputError):
            game_by_name(wrong)
    with pytest.raises(InputError, match="a1 to d4"):
        DropOldest(4, 4, 4).action("e1")


def is_accepted(game: Game, state: NDArray[np.uint8]) -> bool:
    try:
        game.check_states(state[None])
    except InputError:
        return False
    return True


def uses_of(game: Game, states: NDArray[np.uint8]) -> list[Callable[[], object]]:
    """Everything that can be asked of states."""
    actions = np.zeros(len(states), np.int32)
    transforms = np.full(len(states), game.symmetries - 1, np.uint8)
    search = Search(game, len(states), SearchConfig(sims=2))
    return [
        lambda: game.legal_masks(states),
        lambda: game.results(states),
        lambda: game.sides(states),
        lambda: game.encode(states),
        lambda: game.planes(states),
        lambda: game.planes(states, transforms),
        lambda: game.play_many(states, actions),
        lambda: search.reset(states),
    ]


def test_a_state_of_a_larger_board_is_refused_and_named() -> None:
    """Every drop-oldest state has 24 bytes: the size alone does not tell the variant."""
    game, other = DropOldest(3, 3, 3), DropOldest(5, 5, 5)
    foreign = other.play_all([24, 23, 22, 21, 20, 19, 18, 17, 16, 15])
    states = np.stack([game.start()] * 3 + [foreign] * 50)
    for use in uses_of(game, states):
        with pytest.raises(InputError, match=r"states\[3\] is not a state of drop-3-3-3"):
            use()
    with pytest.raises(InputError, match="not a state of drop-3-3-3"):
        game.play(foreign, 0)


@every_game
def test_every_state_of_a_game_is_accepted(plain: PlainGame) -> None:
    game = game_by_name(plain.name)
    for seed in range(20):
        state = game.start()
        for action in playout(plain, seed):
            assert is_accepted(game, state)
            state = game.play(state, action)
        assert is_accepted(game, state)


def broken_states(game: Game, plain: PlainGame, count: int) -> NDArray[np.uint8]:
    """Random bytes, and states of real games with a few bytes or bits changed."""
    rng = np.random.default_rng(3)
    real = []
    for seed in range(30):
        state = game.start()
        for action in playout(plain, seed):
            real.append(state := game.play(state, action))
    states = np.array(real)[rng.integers(len(real), size=count)]
    rows = np.arange(count)
    for change in (1, 2, 3):
        chosen = rows[rows % 6 >= change]
        places = rng.integers(game.state_bytes, size=len(chosen))
        bits = rng.integers(256, size=len(chosen)).astype(np.uint8)
        single = np.uint8(1) << rng.integers(8, size=len(chosen)).astype(np.uint8)
        states[chosen, places] ^= np.where(chosen % 2, bits, single)
    noise = rows[rows % 6 == 5]
    states[noise] = rng.integers(256, size=(len(noise), game.state_bytes))
    return states


def accepted_rows(game: Game, states: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.array([is_accepted(game, state) for state in states])


@every_game
def test_no_bytes_crash_a_kernel(plain: PlainGame) -> None:
    """What is accepted is a position: its code gives the same bytes back. All else is refused."""
    game = game_by_name(plain.name)
    states = broken_states(game, plain, 100_000 // len(PLAIN))
    accepted = accepted_rows(game, states)
    assert accepted.any() and not accepted.all()
    assert np.array_equal(game.decode(game.encode(states[accepted])), states[accepted])
    legal = game.legal_masks(states[accepted])
    assert (legal.any(axis=1) == (game.results(states[accepted]) == Result.GOING_ON)).all()
    for use in uses_of(game, states[:1000][~accepted[:1000]]):
        with pytest.raises(InputError, match="is not a state of"):
            use()
    going_on = states[accepted][legal.any(axis=1)]
    after, _ = game.play_many(going_on, game.legal_masks(going_on).argmax(axis=1).astype(np.int32))
    game.planes(after, np.full(len(after), game.symmetries - 1, np.uint8))


@every_game
def test_states_of_other_games_are_refused_or_positions(plain: PlainGame) -> None:
    game = game_by_name(plain.name)
    for foreign in PLAIN:
        other = game_by_name(foreign.name)
        if other.state_bytes != game.state_bytes or other.name == game.name:
            continue
        for seed in range(10):
            state = other.play_all(playout(foreign, seed))
            if is_accepted(game, state):
                assert np.array_equal(game.decode(game.encode(state[None]))[0], state)


def test_wrong_arrays_are_refused() -> None:
    game = DropOldest(3, 3, 3)
    with pytest.raises(TypeError, match="uint8"):
        game.legal_moves(np.zeros(game.state_bytes, dtype=np.int8))
    with pytest.raises(ValueError, match="must be"):
        game.planes(np.zeros((2, game.state_bytes + 1), dtype=np.uint8))
    with pytest.raises(ValueError, match="transform 8"):
        game.planes(game.start()[None], np.array([8], dtype=np.uint8))
