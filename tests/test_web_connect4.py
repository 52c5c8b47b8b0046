"""Connect Four through HTTP says what the Python API says."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from plain_connect4 import POSITIONS
from web_server import InProcess

from azfit.web.solving import Solving
from solver.connect4 import Connect4Position, Connect4Solver
from solver.connect4.answers import ANSWERS, FEWEST_NODES, AnswerFile
from solver.connect4.book import SHIPPED
from solver.connect4.sets import read_set
from solver.connect4.text import Connect4Report

SCORED = read_set(POSITIONS)

LATE = [scored.position for scored in SCORED if scored.position.plies >= 20]


@pytest.fixture(scope="module")
def solver() -> Connect4Solver:
    return Connect4Solver(8)


def expected_traps(solver: Connect4Solver, after: Connect4Position) -> dict[str, int]:
    """Of the opponent's replies, how many are worse than the best."""
    results = [move.result for move in solver.moves(after)]
    losing = [result for result in results if result != results[0]]
    return {"losing": len(losing), "replies": len(results)}


def expected_entry(solver: Connect4Solver, position: Connect4Position) -> dict[str, Any]:
    """As ``probe --json`` says it, and what every answer has besides."""
    report = Connect4Report.of(solver, position).to_dict()
    images = [position.columns, tuple(8 - column for column in position.columns)]
    first = min(images)
    for move in report["moves"]:
        after = position.play(move["column"])
        row = position.columns.count(move["column"]) + 1
        move |= {"position": str(after), "cell": "abcdefg"[move["column"] - 1] + str(row)}
        move["traps"] = expected_traps(solver, after) if position.plies >= 14 else None
    stones: dict[int, int] = {}
    pieces = []
    for ply, column in enumerate(position.columns):
        stones[column] = stones.get(column, 0) + 1
        pieces.append({"cell": "abcdefg"[column - 1] + str(stones[column]), "side": "xo"[ply % 2]})
    return {
        **report,
        "result": "over" if position.is_over else report["result"],
        "canonical": "".join(map(str, first)) or "-",
        "transform": images.index(first),
        "to_move": "xo"[position.plies % 2],
        "winner": "xo"[1 - position.plies % 2] if position.is_won else None,
        "pieces": pieces,
    }


def test_positions_are_what_the_solver_says(web: InProcess, solver: Connect4Solver) -> None:
    draw, positions = random.Random(5), []
    for position in LATE[:40]:
        positions.append(position)
        reached = position
        while reached.legal_moves():
            reached = reached.play(draw.choice(reached.legal_moves()))
        positions.append(reached)
    over = 0
    for position in positions:
        answer = web.get("/api/connect4", position=position)
        assert answer.status == 200
        assert answer.json == expected_entry(solver, position)
        over += answer.json["result"] == "over"
    assert over == len(positions) // 2


def test_moves_have_what_those_of_drop_oldest_have(web: InProcess) -> None:
    drop = web.get("/api/drop/3/3/3", position="-/- x").json
    traps = []
    for position in ("-", "44443231116", *map(str, LATE[:10])):
        four = web.get("/api/connect4", position=position).json
        assert set(drop) < set(four) and set(four) - set(drop) == {"score"}
        for move in four["moves"]:
            assert set(drop["moves"][0]) | {"score", "column"} == set(move)
            traps.append(move["traps"])
    assert None in traps, "of an early position they are not counted"
    assert any(trap is not None and trap["losing"] for trap in traps)


def test_events_tell_each_move_and_then_the_answer(web: InProcess) -> None:
    for position in LATE[:5]:
        plain = web.get("/api/connect4", position=position).json
        answer = web.get("/api/connect4", [("accept", "text/event-stream")], position=position)
        names, data = zip(*answer.events, strict=True)
        moves = [body for name, body in answer.events if name == "move"]
        assert names[-1] == "answer" and data[-1] == plain
        assert all(isinstance(move.pop("nodes"), int) for move in moves)
        assert sorted(moves, key=str) == sorted(plain["moves"], key=str)


def test_scores_that_took_long_are_kept(tmp_path: Path) -> None:
    with InProcess(tmp_path) as first:
        answer = first.get("/api/connect4", position="44443231116").json
    assert (tmp_path / "connect4_answers.sqlite").exists()
    with InProcess(tmp_path) as second:
        streamed = second.get(
            "/api/connect4", [("accept", "text/event-stream")], position="44443231116"
        )
        assert streamed.events[-1] == ("answer", answer)
        most = max(body["nodes"] for name, body in streamed.events if name == "move")
        assert most < 20_000, "it was not searched again"


def test_replies_and_images(web: InProcess, solver: Connect4Solver) -> None:
    seen = set()
    for position in LATE[:25]:
        moves = {move.column: move for move in solver.moves(position)}
        best = next(iter(moves.values()))
        for mistakes in (0, 1):
            where = "/api/connect4/reply"
            entry = web.get(where, position=position, mistakes=mistakes, seed=1).json
            move = moves[entry["column"]]
            assert entry["traps"] == expected_traps(solver, position.play(move.column))
            assert entry["position"] == str(position.play(move.column))
            assert (entry["result"], entry["score"]) == (move.result, move.score)
            assert entry["mistake"] == (move.result != best.result)
            if mistakes == 0:
                assert move.score == best.score
            seen.add(entry["mistake"])
        images = web.get("/api/connect4/images", position=position).json["images"]
        mirrored = "".join(str(8 - column) for column in position.columns)
        assert images == [str(position), mirrored]
    assert seen == {True, False}
    over = Connect4Position.parse("1212121")
    assert web.get("/api/connect4/reply", position=over).status == 400


def test_a_game_is_judged_move_by_move(tmp_path: Path, solver: Connect4Solver) -> None:
    """Solving an opening takes a minute, so behind the opening book its scores are made up and put
    into the file: the first player wins until ply 8, then the second; every other move would have
    drawn."""
    game, made_up = LATE[0], 16
    known = {
        ply: (3 if ply < 8 else -3) * (1 if ply % 2 == 0 else -1)
        for ply in range(SHIPPED.contents.complete_plies + 1, made_up + 1)
    }
    with AnswerFile(tmp_path / ANSWERS) as answers:
        for ply in range(made_up):
            position = Connect4Position(game.columns[:ply])
            for after in map(position.play, position.legal_moves()):
                answers.put(after.mover, after.stones, 0, FEWEST_NODES)
        for ply, score in known.items():
            position = Connect4Position(game.columns[:ply])
            answers.put(position.mover, position.stones, score, FEWEST_NODES)
    for_opponent = {"win": "loss", "draw": "draw", "loss": "win"}
    order = ["win", "draw", "loss"]
    with InProcess(tmp_path) as web:
        headers = [("accept", "text/event-stream")]
        streamed = web.get("/api/connect4/review", headers, position=game)
        entry = web.get("/api/connect4/review", position=game).json
    assert streamed.events[-1] == ("answer", entry)
    plies = [body["ply"] for name, body in streamed.events if name == "value"]
    assert plies == list(reversed(range(game.plies + 1)))
    for ply, point in enumerate(entry["positions"]):
        position = Connect4Position(game.columns[:ply])
        score = known[ply] if ply in known else solver.score(position)
        result = order[1 - (score > 0) + (score < 0)]
        assert (point["position"], point["result"]) == (str(position), result)
    mistakes = {"x": 0, "o": 0}
    for ply, move in enumerate(entry["moves"]):
        before, left = (entry["positions"][ply + i]["result"] for i in (0, 1))
        after = for_opponent[left]
        assert (move["before"]["result"], move["after"]["result"]) == (before, after)
        assert move["mistake"] == (order.index(after) > order.index(before))
        if ply >= made_up and move["mistake"]:
            position = Connect4Position(game.columns[:ply])
            right = [m.column for m in solver.moves(position) if m.result == before]
            assert move["right"] == sorted(right)
        elif not move["mistake"]:
            assert move["right"] == []
        mistakes[move["side"]] += move["mistake"]
    assert sum(mistakes.values()) > 0
    assert {side: entry["accuracy"][side]["mistakes"] for side in "xo"} == mistakes


# ---- limits -------------------------------------------------------------------------------------

HARD = "7115571465"  # beyond any book


def with_limits(data: Path, **limits: Any) -> InProcess:
    """An application whose solver has one thread and these limits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("azfit.web.app.Solving", lambda folder: Solving(folder, 1, **limits))
        return InProcess(data)


def test_a_search_ends_when_its_time_is_over(tmp_path: Path) -> None:
    with with_limits(tmp_path, seconds=0.3) as web:
        answer = web.get("/api/connect4", position=HARD)
        assert answer.status == 422
        assert "takes longer than 0.3 s" in answer.json["error"]
        streamed = web.get("/api/connect4", [("accept", "text/event-stream")], position=HARD)
        assert streamed.events[-1][0] == "error"
        assert "takes longer" in streamed.events[-1][1]["error"]
        assert web.get("/api/connect4", position=LATE[0]).status == 200, "and others go on"


def test_a_full_queue_is_429_and_says_when_to_come_back(tmp_path: Path) -> None:
    with with_limits(tmp_path, seconds=1.5, waiting=2) as web:

        async def ask(stream: bool) -> Any:
            headers = [("accept", "text/event-stream")] if stream else []
            return await web.ask("GET", f"/api/connect4?position={HARD}", headers)

        async def many() -> list[Any]:
            return await asyncio.gather(*(ask(i % 2 == 1) for i in range(8)))

        answers = web.run(many())
        busy = [answer for answer in answers if answer.status == 429]
        assert len(busy) == 5, "one is searched, two wait"
        for answer in busy:
            assert answer.headers["retry-after"] == "5"
            assert set(answer.json) == {"error", "remedy"}
        assert web.service.solving.workers.busy == 0
        assert web.get("/api/connect4", position=LATE[0]).status == 200


def test_answers_are_given_without_a_file_to_keep_them_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "connect4_answers.sqlite").write_bytes(b"something else" * 50)
    with InProcess(tmp_path) as web:
        assert web.get("/api/connect4", position=LATE[0]).status == 200
    assert "answers are not kept" in capsys.readouterr().err
    assert (tmp_path / "connect4_answers.sqlite").read_bytes() == b"something else" * 50
