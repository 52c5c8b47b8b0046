"""Gomoku positions as lists of moves, against the game's own states and plain rules."""

from __future__ import annotations

import random

import numpy as np
import pytest
from plain_games import GOING_ON, PlainGomoku

from azfit.games import GOMOKU_SIZES, Connect4, DropOldest, Gomoku, game_by_name
from azfit.notation import after_action, read_position
from solver.connect4 import Connect4Position
from solver.errors import InputError
from solver.gomoku import GomokuPosition
from solver.rules import Position


def random_moves(size: int, plies: int, seed: int) -> list[int]:
    draw, game = random.Random(seed), PlainGomoku(size)
    state, moves = game.start(), []
    while len(moves) < plies and game.result(state) == GOING_ON:
        moves.append(draw.choice(game.legal(state)))
        state = game.play(state, moves[-1])
    return moves


@pytest.mark.parametrize("size", GOMOKU_SIZES)
def test_notation_goes_in_and_out(size: int) -> None:
    for seed in range(3):
        moves = random_moves(size, 40, seed)
        names = ["abcdefghijklmnopqrs"[cell % size] + str(cell // size + 1) for cell in moves]
        position = GomokuPosition.parse(" ".join(names), size)
        assert position.moves == tuple(moves)
        assert str(position) == " ".join(names)
        assert position == GomokuPosition.parse("  " + "   ".join(names).upper() + " ", size)
    for empty in ("-", "", "  "):
        assert str(GomokuPosition.parse(empty, size)) == "-"


def test_positions_are_those_of_the_plain_game() -> None:
    for seed in range(6):
        plain, game = PlainGomoku(9), Gomoku(9)
        state, position = plain.start(), GomokuPosition((), 9)
        for ply, cell in enumerate(random_moves(9, 81, seed)):
            assert position.legal_moves() == plain.legal(state)
            assert (position.to_move, position.is_over) == (ply % 2, False)
            position, state = position.play(cell), plain.play(state, cell)
            assert np.array_equal(game.state(position), game.play_all(position.moves))
        assert position.is_over == (plain.result(state) != GOING_ON)
        assert position == GomokuPosition(position.moves, 9), "played or given at once"


def test_images_are_the_symmetries_of_the_game() -> None:
    position = GomokuPosition.parse("e5 a1 b7 c3", 9)
    game, images = Gomoku(9), position.images()
    assert images[0] == position and len({str(image) for image in images}) == 8
    transforms = np.arange(8, dtype=np.uint8)
    carried = game.planes(np.repeat(game.state(position)[None], 8, axis=0), transforms)
    assert np.array_equal(carried, game.planes(np.array([game.state(image) for image in images])))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("h8 z9", "move 2, 'z9', is not a cell: cells are a1 to i9"),
        ("e5 e10", "move 2, 'e10'"),
        ("e5 e0", "move 2, 'e0'"),
        ("e5 é5", "move 2, 'é5'"),
        ("e5 d4 e5", "move 3, e5, is taken"),
        ("a1 a2 b1 b2 c1 c2 d1 d2 e1 e2", "move 10, e2, comes after the end: give at most 9"),
        ("a1 " * 100, "100 moves"),
    ],
)
def test_bad_positions_name_the_move(text: str, names: str) -> None:
    text = text.replace("h8", "e5")
    with pytest.raises(InputError, match=names):
        GomokuPosition.parse(text, 9)


def test_bad_use_is_named() -> None:
    for moves in ([1.5], ["a1"], [True]):
        with pytest.raises(InputError, match="cell="):
            GomokuPosition(tuple(moves))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="cells are 0 to 80"):
        GomokuPosition((81,), 9)
    with pytest.raises(InputError, match="lines of a Gomoku board=4: use 5 to 19"):
        GomokuPosition.parse("a1", 4)
    with pytest.raises(InputError, match="not a position of gomoku-15"):
        Gomoku(15).state(GomokuPosition.parse("a1", 9))
    with pytest.raises(InputError, match="is not text"):
        GomokuPosition.parse(5)  # type: ignore[arg-type]


# ---- any game -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "action", "after"),
    [
        ("drop-4-4-4", "a1b2/c3 y", 15, "a1b2/c3d4 x"),
        ("connect4", "44433", 0, "444331"),
        ("connect4", "-", 6, "7"),
        ("gomoku-15", "h8 g7", 0, "h8 g7 a1"),
    ],
)
def test_positions_of_any_game_are_read_and_played(
    name: str, text: str, action: int, after: str
) -> None:
    game = game_by_name(name)
    position = read_position(game, text)
    kind = {DropOldest: Position, Connect4: Connect4Position, Gomoku: GomokuPosition}[type(game)]
    assert isinstance(position, kind) and str(position) == text
    played = after_action(position, action)
    assert str(played) == after
    expected = game.play(game.state(position), action)
    assert np.array_equal(game.state(played), expected)


def test_a_position_that_cannot_occur_is_refused() -> None:
    with pytest.raises(InputError, match="cannot occur"):
        read_position(game_by_name("drop-3-3-3"), "a1b1c1/a2b2c2 x")
