"""What is proved of Gomoku positions: against a full search of small boards, and through HTTP
against ``solver.gomoku``."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import numpy as np
import pytest
from gomoku_positions import Cells, close_game, has_five, scattered
from web_server import InProcess

from azfit.games import Gomoku
from azfit.web import gomoku as module
from solver.gomoku import ForcedPlay, GomokuPosition, GomokuTactics, Verdict
from solver.gomoku.judge import GomokuJudge
from solver.gomoku.tactics import PLIES
from solver.gomoku.verdict import _Search

# ---- verdicts against every continuation --------------------------------------------------------


def plain_value(cells: Cells, size: int, side: int) -> int:
    """1, 0 or -1 for the side to move, by trying everything."""

    @cache
    def value(stones: tuple[int, ...], mover: int) -> int:
        board, best = np.array(stones, np.int8), -1
        empty = np.flatnonzero(board == 0).tolist()
        if not empty:
            return 0
        for cell in empty:
            board[cell] = 1 - 2 * mover
            if has_five(board, size, cell):
                return 1
            best = max(best, -value(tuple(board.tolist()), 1 - mover))
            board[cell] = 0
            if best == 1:
                break
        return best

    return value(tuple(cells.tolist()), side)


def test_what_is_proved_is_true_of_the_whole_game() -> None:
    """Full boards of 6 lines but for a few cells: a win, a loss, and every move that is said to win
    or lose. The other way round nothing is promised, but most of it is found."""
    draw, tactics, seen = random.Random(41), GomokuTactics(6), Counter[str]()
    while min(seen[kind] for kind in ("win", "loss", "move wins", "move loses")) < 15:
        cells = scattered(draw, 6, draw.randint(5, 8), draw.choice([0.3, 0.5, 0.7]))
        truth = plain_value(cells, 6, 0)
        if seen["win" if truth > 0 else "loss" if truth < 0 else "draw"] > 40:
            continue
        verdict = _Search(tactics, 1_000_000, 60).verdict(cells, 0)
        seen[verdict.result or "nothing"] += 1
        seen["missed"] += verdict.result is None and truth != 0
        assert verdict.result is None or verdict.result == ("win" if truth > 0 else "loss")
        assert len(verdict.line) == (verdict.plies or 0)
        assert sorted(move.cell for move in verdict.moves) == np.flatnonzero(cells == 0).tolist()
        assert verdict.result is None or verdict.moves[0].plies == verdict.plies
        for move in verdict.moves:
            if move.result is not None:
                after = cells.copy()
                after[move.cell] = 1
                wins = has_five(after, 6, move.cell) or plain_value(after, 6, 1) == -1
                assert wins == (move.result == "win"), (cells.tolist(), move)
                assert wins or plain_value(after, 6, 1) == 1, (cells.tolist(), move)
                seen[f"move {'wins' if wins else 'loses'}"] += 1
    assert seen["missed"] < (seen["win"] + seen["loss"]) / 4, seen


def test_without_a_budget_nothing_is_said() -> None:
    position = GomokuPosition.parse("h8 a1 h9 a3 h10 a5")
    with GomokuTactics() as tactics:
        assert Verdict.of(tactics, position).result == "win"
        for verdict in (
            Verdict.of(tactics, position, seconds=-1),
            Verdict.of(tactics, position, most_nodes=0),
        ):
            assert (verdict.result, verdict.line, verdict.threat) == (None, [], None)
            assert {(move.result, move.plies) for move in verdict.moves} == {(None, None)}
            assert len(verdict.moves) == 225 - 6


# ---- through HTTP -------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def without_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the limit of time would come before that of nodes."""
    monkeypatch.setattr(module, "SECONDS", 600.0)


@pytest.mark.parametrize("size", [9, 15])
def test_positions_are_those_of_the_game(web: InProcess, size: int) -> None:
    draw = random.Random(size)
    for _ in range(2):
        position = GomokuPosition((), size)
        game = Gomoku(size)
        while not position.is_over and len(position.moves) < 120:
            if len(position.moves) % 20 == 0:
                entry = web.get(f"/api/gomoku/{size}", position=position).json
                assert entry["position"] == str(position)
                assert entry["winner"] is None and entry["result"] != "over"
                assert entry["to_move"] == "xo"[len(position.moves) % 2]
                after = {
                    game.action_name(cell): str(position.play(cell))
                    for cell in position.legal_moves()
                }
                assert {move["cell"]: move["position"] for move in entry["moves"]} == after
                assert [piece["cell"] for piece in entry["pieces"]] == [
                    game.action_name(cell) for cell in position.moves
                ]
                images = web.get(f"/api/gomoku/{size}/images", position=position).json["images"]
                assert images == [*map(str, position.images())] and len(images) == 8
            position = position.play(draw.choice(position.legal_moves()))


def test_a_game_that_is_won(web: InProcess) -> None:
    entry = web.get("/api/gomoku/9", position="a1 a2 b1 b2 c1 c2 d1 d2 e1").json
    assert (entry["result"], entry["plies"], entry["winner"]) == ("over", 0, "x")
    assert (entry["moves"], entry["line"], entry["threat"], entry["stops"]) == ([], [], None, [])


def check_line(position: GomokuPosition, line: list[str], plies: int) -> None:
    assert len(line) == plies
    for ply, name in enumerate(line, 1):
        position = GomokuPosition.parse(f"{position} {name}".removeprefix("- "), position.size)
        assert position.is_won == (ply == plies)


def check_verdict(
    entry: dict, position: GomokuPosition, tactics: GomokuTactics, judge: GomokuJudge
) -> None:
    cells, side, name = position.cells, position.to_move, position.name_of
    fours, threes = tactics.fours(cells, side), tactics.threes(cells, side)
    wins = [attack.plies for attack in (fours, threes) if attack.plies is not None]
    assert (entry["result"] == "win") == bool(wins), position
    threat = tactics.fours(cells, 1 - side)
    said = None if threat.move is None else {"move": name(threat.move), "plies": threat.plies}
    assert entry["threat"] == said, position
    stops = ForcedPlay(tactics).stops(cells, side).moves if said and not wins else []
    assert entry["stops"] == [name(cell) for cell in stops], position
    if entry["result"] == "win":
        assert entry["plies"] == min(wins)
    elif entry["result"] == "loss":
        assert judge.value(cells, side) == -1, position
    if entry["result"] is not None:
        assert (entry["moves"][0]["result"], entry["moves"][0]["plies"]) == (
            entry["result"],
            entry["plies"],
        )
        check_line(position, entry["line"], entry["plies"])
    order = {"win": 0, None: 1, "loss": 2}
    keys = [order[move["result"]] for move in entry["moves"]]
    assert keys == sorted(keys)


@pytest.mark.parametrize("size", [9, 15])
def test_verdicts_are_those_of_the_solver(web: InProcess, size: int) -> None:
    draw, seen = random.Random(42 + size), Counter[str | None]()
    with GomokuTactics(size) as tactics, GomokuJudge(size, plies=PLIES) as judge:
        for number in range(30):
            position = close_game(draw, size, draw.randint(8, 40))
            entry = web.get(f"/api/gomoku/{size}", position=position).json
            seen[entry["result"]] += 1
            seen["stops"] += bool(entry["stops"])
            check_verdict(entry, position, tactics, judge)
            decided = [move for move in entry["moves"] if move["result"] is not None]
            for move in draw.sample(decided, min(3, len(decided))) if number < 10 else ():
                after = GomokuPosition.parse(move["position"], size)
                if not after.is_over:
                    worth = judge.value(after.cells, after.to_move)
                    assert worth == (-1 if move["result"] == "win" else 1), move
    assert min(seen[kind] for kind in ("win", "loss", None, "stops")) > 0, seen


def test_an_open_three_is_a_threat_and_is_stopped_at_its_ends(web: InProcess) -> None:
    entry = web.get("/api/gomoku/15", position="h8 a1 h9 a3 h10").json
    assert (entry["result"], entry["threat"]["plies"]) == (None, 3)
    assert entry["stops"] == ["h7", "h11"]
    results = {move["cell"]: (move["result"], move["plies"]) for move in entry["moves"]}
    assert results["h11"][0] is None and results["o15"] == ("loss", 4)


def test_a_four_that_only_delays_the_end_is_in_the_line(web: InProcess) -> None:
    """X cannot stop O, but a four of its own, h8, forces O to i9 first."""
    text = "e5 e3 e1 g1 h1 f4 f6 c4 i1 d3 d2 f5 c2 i3 e6 d4 g7 f7 a6 c8 d9 i5"
    position = GomokuPosition.parse(text, 9)
    entry = web.get("/api/gomoku/9", position=text).json
    assert (entry["result"], entry["plies"], entry["stops"]) == ("loss", 10, [])
    assert {move["result"] for move in entry["moves"]} == {"loss"}
    assert entry["moves"][0]["cell"] == "h8" and entry["line"][:2] == ["h8", "i9"]
    check_line(position, entry["line"], 10)
