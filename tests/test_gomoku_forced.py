"""Lines, threats and the moves that stop them, against plain rules and a brute force; and what
``probe --game gomoku`` says."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from conftest import run_cli
from gomoku_positions import cell, close_game, scattered
from plain_gomoku_tactics import PlainStops

from solver.errors import InputError
from solver.gomoku import ForcedPlay, GomokuPosition, GomokuTactics
from solver.gomoku.text import GomokuReport

# ---- lines --------------------------------------------------------------------------------------


@pytest.mark.parametrize("threes", [False, True], ids=["fours", "threes"])
def test_a_line_is_as_long_as_promised_and_ends_in_five(threes: bool) -> None:
    draw, tactics, lengths = random.Random(21), GomokuTactics(9), set()
    play = ForcedPlay(tactics, threes=threes)
    for _ in range(40):
        position = close_game(draw, 9, draw.randint(8, 30))
        attack = play.attack(position.cells, position.to_move)
        if not attack.wins:
            with pytest.raises(InputError, match="no line"):
                play.line(position.cells, position.to_move)
            continue
        line = play.line(position.cells, position.to_move)
        assert len(line) == attack.plies and line[0] == attack.move
        for ply, move in enumerate(line, 1):
            position = position.play(move)
            assert position.is_won == (ply == len(line))
        lengths.add(len(line))
    assert {1, 3, 5} <= lengths


# ---- stopping -----------------------------------------------------------------------------------


def test_stops_are_those_of_a_brute_force() -> None:
    draw, plain, play = random.Random(22), PlainStops(6), ForcedPlay(GomokuTactics(6))
    compared, sizes = 0, set()
    while compared < 12:
        cells = scattered(draw, 6, draw.randint(8, 14), draw.choice([0.3, 0.4]))
        if play.attack(cells, 0).wins or not play.attack(cells, 1).wins:
            continue
        stops = play.stops(cells, 0)
        legal = np.flatnonzero(cells == 0).tolist()
        assert stops.moves == [move for move in legal if not plain.loses(cells, 0, move)]
        assert not stops.unknown
        for move in legal:
            assert play.is_refuted(cells, 0, move) == (move not in stops.moves)
        compared += 1
        sizes.add(len(stops.moves))
    assert 0 in sizes and len(sizes) > 2


def on_fifteen(text: str) -> GomokuPosition:
    return GomokuPosition.parse(text)


def test_an_open_three_is_stopped_at_its_ends() -> None:
    position = on_fifteen("h8 a1 h9 a3 h10")
    with GomokuTactics() as tactics:
        report = GomokuReport.of(tactics, position)
    assert report.mover is not None and not report.mover.wins
    assert report.threat is not None and (report.threat.means, report.threat.plies) == ("fours", 3)
    assert report.stops == ("h7", "h11")


def test_a_four_that_only_delays_stops_nothing() -> None:
    """Against an open four the defender's four, with one completing cell, is no help; against an
    open three it is one if the three can still be stopped after it."""
    four = on_fifteen("h8 a1 h9 a2 h10 a3 h11")
    three = on_fifteen("h8 a1 h9 a2 h10 a3 o15")
    with GomokuTactics() as tactics:
        play = ForcedPlay(tactics)
        assert play.stops(four.cells, 1).moves == []
        cells = three.cells
        cells[cell("o15", 15)] = 0
        cells[cell("a5", 15)] = 1  # closes the defender's three: one completing cell, a4
        stops = play.stops(cells, 1).moves
    names = {GomokuPosition((), 15).name_of(move) for move in stops}
    assert {"h7", "h11"} <= names
    assert "a4" not in names, "a4 completes nothing: the row ends at a5"


def test_a_limit_leaves_moves_undecided() -> None:
    position = on_fifteen("h8 a1 h9 a3 h10")
    with GomokuTactics() as tactics:
        stops = ForcedPlay(tactics, most_nodes=50).stops(position.cells, 1)
    assert stops.unknown and set(stops.moves) <= {cell("h7", 15), cell("h11", 15)}


# ---- probe --------------------------------------------------------------------------------------


def probed(*arguments: str) -> dict[str, object]:
    answer = run_cli("probe", "--game", "gomoku", "--json", *arguments)
    assert answer.code == 0, answer.err
    body: dict[str, object] = json.loads(answer.out)
    return body


def test_probe_shows_a_win_with_its_line() -> None:
    answer = run_cli("probe", "--game", "gomoku", "h8 a1 h9 a3 h10 a5")
    assert answer.code == 0
    assert "X to move, wins by fours in 3 plies" in answer.out
    assert "Line: X h7  O h6  X h11" in answer.out
    body = probed("h8 a1 h9 a3 h10 a5")
    assert body["mover"] == {
        **{"side": "x", "means": "fours", "fours": "win", "threes": None, "bound": 11},
        **{"plies": 3, "line": ["h7", "h6", "h11"]},
    }
    assert (body["threat"], body["stops"], body["over"], body["size"]) == (None, [], False, 15)


def test_probe_shows_a_threat_and_what_stops_it() -> None:
    answer = run_cli("probe", "--game", "gomoku", "h8 a1 h9 a3 h10")
    assert "If X were to move: wins by fours in 3 plies" in answer.out
    assert "2 moves of O stop this: h7 h11" in answer.out
    lost = run_cli("probe", "--game", "gomoku", "h8 a1 h9 a3 h10 a5 h11")
    assert "No move of O stops this: lost" in lost.out


def test_probe_on_other_boards_and_without_stones(tmp_path: Path) -> None:
    body = probed("e5 a1 e6 a3 f5 a9", "--size", "9", "--png", str(tmp_path / "board.png"))
    assert body["size"] == 9 and (tmp_path / "board.png").stat().st_size > 1000
    assert probed("e5 a1 e6 a3", "--board", "9")["size"] == 9
    empty = probed("-")
    assert empty["stops"] == [] and empty["mover"]["plies"] is None  # type: ignore[index]
    over = probed("a1 a2 b1 b2 c1 c2 d1 d2 e1", "--size", "5")
    assert (over["over"], over["mover"], over["threat"]) == (True, None, None)


def test_probe_says_that_a_limit_was_reached() -> None:
    words = run_cli("probe", "--game", "gomoku", "h8 a1 h9 c3 j7 e11 k6", "--nodes", "3")
    assert words.code == 0 and "not decided within the limit of nodes" in words.out
    position = str(close_game(random.Random(2), 15, 40))
    words = run_cli("probe", "--game", "gomoku", position, "--nodes", "1")
    assert "found: the limit of nodes was reached" in words.out


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--game", "gomoku", ""], "is empty: give -"),
        (["--game", "gomoku", "h8 h8"], "move 2, h8, is taken"),
        (["--game", "gomoku", "h8", "--size", "4"], "--size 4: use a whole number from 5 to 19"),
        (["--game", "gomoku", "h8", "--plies", "0"], "--plies 0"),
        (["--game", "gomoku", "h8", "--m", "4"], "--m has no effect with --game gomoku"),
        (["--game", "connect4", "44", "--plies", "5"], "--plies has no effect"),
        (["-/- x", "--size", "9"], "--size has no effect without --game gomoku"),
    ],
)
def test_bad_use_of_probe_is_refused_in_one_line(arguments: list[str], names: str) -> None:
    answer = run_cli("probe", *arguments)
    assert answer.code == 2 and names in answer.err
    assert len(answer.err.strip().splitlines()) == 1
