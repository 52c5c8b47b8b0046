"""Pictures of boards: what is on them is what brute force finds, and where it is drawn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import VARIANT33, Fadefour
from plain_connect4 import GAME, scored_games, state_of
from plain_moves import Truth, goodness, moves_of, traps_of

from solver import DenseTable, Position, Rules
from solver.board_picture import COLOUR_OF_RESULT, BoardPicture, Mark, Piece, draw, picture_of
from solver.connect4 import Connect4Position, Connect4Solver
from solver.connect4 import picture as connect4_picture
from solver.plotting import rgb_array

RESULT = {1: "win", 0: "draw", -1: "loss"}
PNG = b"\x89PNG\r\n\x1a\n"

pytest.importorskip("matplotlib")


def test_every_legal_cell_has_the_value_that_brute_force_finds(
    table33: DenseTable, rules33: Rules, truth33: Truth
) -> None:
    for x, y, side in list(truth33)[::997]:
        position = Position(x, y, "xy"[side], rules33)  # type: ignore[arg-type]
        picture = picture_of(position, "title", table33.moves(position))
        expected = moves_of((x, y, side), truth33)
        if truth33[(x, y, side)][1] == 0:
            expected = {}
        best = max(map(goodness, expected.values()), default=None)
        traps = traps_of((x, y, side), truth33) if expected else {}
        assert picture.marks == {
            cell: Mark(
                RESULT[won],
                plies,
                goodness((won, plies)) == best,
                traps[cell],
            )
            for cell, (won, plies) in expected.items()
        }
        assert {cell: piece.owner for cell, piece in picture.pieces.items()} == {
            **dict.fromkeys(x, 0),
            **dict.fromkeys(y, 1),
        }


def test_pieces_show_their_age_and_the_next_one_to_leave(rules33: Rules) -> None:
    picture = picture_of(Position.parse("a1b1c3/a2b2 y", rules33), "")
    assert picture.pieces == {
        0: Piece(0, "X1", leaves=True),
        1: Piece(0, "X2"),
        8: Piece(0, "X3"),
        3: Piece(1, "Y1"),
        4: Piece(1, "Y2"),
    }


def test_connect4_values_are_where_the_stone_would_land() -> None:
    with Connect4Solver(4) as solver:
        for game, _ in scored_games()[::20]:
            position = Connect4Position(tuple(game))
            moves = solver.moves(position)
            picture = connect4_picture.picture_of(position, "", moves)
            board = state_of(game)
            assert {cell: piece.owner for cell, piece in picture.pieces.items()} == {
                cell: 0 if owner == 1 else 1 for cell, owner in enumerate(board) if owner
            }
            landed = {}
            for move in moves:
                after = GAME.play(board, move.column - 1)
                (cell,) = (c for c, owner in enumerate(after) if owner != board[c])
                plies = None if move.result == "draw" else move.plies
                landed[cell] = Mark(move.result, plies, move.score == moves[0].score)
            assert picture.marks == landed


# ---- pixels -------------------------------------------------------------------------------------


def pixels_of(picture: BoardPicture, colour: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the pixels of this colour."""
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return np.nonzero((rgb_array(draw(picture)) == wanted).all(axis=2))  # type: ignore[return-value]


def single(cell: int, mark: Mark, rows: int = 6, columns: int = 7) -> BoardPicture:
    return BoardPicture(rows, columns, {}, "abcdefg", (), "", {cell: mark})


def test_a_mark_is_drawn_in_its_colour_on_its_cell_row_0_at_the_bottom() -> None:
    for result, colour in COLOUR_OF_RESULT.items():
        centres = []
        for cell in (0, 1, 6, 7, 35):
            y, x = pixels_of(single(cell, Mark(result, 3, is_best=True)), colour)
            assert len(x) > 1000
            centres.append(((x.min() + x.max()) / 2, (y.min() + y.max()) / 2))
        first, right, corner, above, top = centres
        step = right[0] - first[0]
        assert step > 20 and right[1] == pytest.approx(first[1], abs=1)
        assert corner[0] - first[0] == pytest.approx(6 * step, rel=0.02)
        assert above[0] == pytest.approx(first[0], abs=1)
        assert first[1] - above[1] == pytest.approx(step, abs=2)
        assert first[1] - top[1] == pytest.approx(5 * step, rel=0.02)


def test_a_best_move_is_filled_and_any_other_is_not() -> None:
    colour = COLOUR_OF_RESULT["win"]
    filled, _ = pixels_of(single(10, Mark("win", 3, is_best=True)), colour)
    hollow, _ = pixels_of(single(10, Mark("win", 3, is_best=False)), colour)
    assert 0 < len(hollow) < len(filled) / 2


# ---- the command --------------------------------------------------------------------------------


def test_probe_writes_the_picture_it_names(
    solved33: Path, tmp_path: Path, fadefour: Fadefour
) -> None:
    drop, four = tmp_path / "drop.png", tmp_path / "four.png"
    ended = fadefour("probe", "-/- x", *VARIANT33, "--data", solved33, "--png", drop)
    assert ended.code == 0 and ended.out.endswith(f"\nwrote {drop}\n")
    ended = fadefour("probe", "--game", "connect4", "4444442266", "--png", four, "--json")
    assert ended.code == 0 and json.loads(ended.out)["png"] == str(four)
    for path in (drop, four):
        assert path.read_bytes().startswith(PNG) and path.stat().st_size > 5000


def test_probe_that_cannot_draw_says_so_before_it_solves(
    solved33: Path, tmp_path: Path, fadefour: Fadefour, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("probe", "-/- x", *VARIANT33, "--data", solved33, "--png")
    for path in (solved33 / "solved_3x3_m3.table" / "b.png", tmp_path, Path("/proc/board.png")):
        ended = fadefour(*command, path)
        assert (ended.code, ended.out) == (2, "") and ended.err.count("\n") == 1
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ended = fadefour(*command, tmp_path / "board.png")
    assert (ended.code, ended.out) == (2, "") and "--png needs matplotlib" in ended.err
    ended = fadefour("probe", "--game", "connect4", "-", "--png", tmp_path / "board.png")
    assert (ended.code, ended.out) == (2, "")
    assert list(tmp_path.iterdir()) == []
