"""Drop-oldest through HTTP says what the Python API says."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import run_cli
from web_server import InProcess

from azfit.web import drop_oldest as module
from azfit.web.drop_oldest_entries import position_entry
from azfit.web.position_text import PositionWriter
from solver import Position, Rules, Solution, canonicalise, open_table, symmetry_of
from solver.drawing import ProbeReport
from solver.playout import random_play
from solver.review import review_game
from solver.statistics import Statistics
from solver.table import DenseTable

RULES = [Rules(3, 3, 3), Rules(4, 4, 4)]


def address(rules: Rules) -> str:
    return f"/api/drop/{rules.n}/{rules.m}/{rules.k}"


def positions(rules: Rules, count: int, seed: int = 1) -> list[Position]:
    """Of random games, and what their last moves ended."""
    sample = random_play(rules, count, np.random.default_rng(seed))
    played = [sample.at(row) for row in range(count)]
    ended = [
        after
        for position in played
        for after in map(position.play, position.legal_moves())
        if after.is_over
    ]
    return [*played, *ended[: count // 10]]


@pytest.fixture
def at_hand(web: InProcess) -> InProcess:
    """With both tables read as a whole, so that positions are answered without delay."""
    for rules in RULES:
        web.service.tables.table(rules).check_all()
    return web


# ---- one position -------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_a_position_is_what_the_table_says(
    at_hand: InProcess, web_data: Path, rules: Rules
) -> None:
    name = rules.cell_name
    with open_table(web_data, rules) as table:
        for position in positions(rules, 1500):
            answer = at_hand.get(address(rules), position=position)
            assert answer.status == 200
            entry, value = answer.json, table.probe(position)
            canonical, transform = canonicalise(position)
            assert entry["position"] == str(position)
            assert (entry["canonical"], entry["transform"]) == (str(canonical), transform)
            assert entry["to_move"] == position.to_move
            assert entry["result"] == ("over" if position.is_over else value.result)
            assert entry["plies"] == value.plies
            other = {"x": "y", "y": "x"}[position.to_move]
            assert entry["winner"] == (other if position.is_over else None)
            assert entry["moves"] == [
                {
                    "cell": name(move.cell),
                    "position": str(position.play(move.cell)),
                    "result": move.result,
                    "plies": move.plies,
                    "traps": {"losing": move.traps, "replies": move.replies},
                }
                for move in table.moves(position)
            ]
            longest = 8 if value.plies is None else 256
            assert entry["line"] == [name(cell) for cell in table.line(position, longest)]
            queues: dict[str, list[str]] = {"x": [], "y": []}
            for piece in entry["pieces"]:
                queues[piece["side"]].append(piece["cell"])
                assert piece["age"] == len(queues[piece["side"]])
                full = len(getattr(position, piece["side"])) == rules.m
                assert piece["leaves"] == (full and piece["age"] == 1)
            assert queues == {side: [*map(name, getattr(position, side))] for side in "xy"}


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_both_ways_to_write_a_position_are_the_same_to_the_byte(
    at_hand: InProcess, web_data: Path, rules: Rules
) -> None:
    """Straight from the kernel, and by dictionaries, which serve every kind of table."""
    with open_table(web_data, rules) as table:
        for position in positions(rules, 300, seed=2):
            written = at_hand.get(address(rules), position=position)
            entry = position_entry(ProbeReport.of(table, position))
            assert written.body == json.dumps(entry, separators=(",", ":")).encode()


def test_a_game_tree_answers_as_a_table_does(
    solved33: Path, at_hand: InProcess, tmp_path: Path
) -> None:
    rules = Rules(3, 3, 3)
    for path in solved33.glob("game_tree*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with InProcess(tmp_path) as records:
        for position in positions(rules, 60):
            ours = records.get(address(rules), position=position)
            assert ours.status == 200
            assert ours.json == at_hand.get(address(rules), position=position).json
        assert records.get(address(rules) + "/stats").status == 404
        (variant,) = records.get("/api/variants").json["variants"]
        assert (variant["game"], variant["stats"]) == ("drop-3-3-3", False)


def test_a_position_in_another_spelling_is_the_same_position(at_hand: InProcess) -> None:
    plain = at_hand.get("/api/drop/4/4/4", position="a1b2/c3 y").json
    for spelling in ("A1B2/C3 Y", "  a1b2/c3   y ", "a01b02/c3 y", "a1b2/c3+y"):
        asked = at_hand.run(
            at_hand.ask("GET", "/api/drop/4/4/4?position=" + spelling.replace(" ", "%20"))
        )
        assert asked.json == plain, spelling


def test_the_first_answer_does_not_wait_for_the_whole_table(web_data: Path) -> None:
    with InProcess(web_data) as fresh:
        first = fresh.get("/api/drop/4/4/4", position="-/- x")
        assert first.status == 200
        fresh.service.tables.table(Rules()).check_all()
        assert fresh.get("/api/drop/4/4/4", position="-/- x").body == first.body


# ---- many positions, counts, images -------------------------------------------------------------


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_many_positions_are_those_of_probing_each(
    web: InProcess, web_data: Path, rules: Rules
) -> None:
    asked = positions(rules, 9_000)[:10_000]
    answer = web.post(address(rules) + "/probe", {"positions": [*map(str, asked)]})
    assert answer.status == 200
    values = answer.json["values"]
    assert len(values) == len(asked)
    with open_table(web_data, rules) as table:
        for position, value in list(zip(asked, values, strict=True))[::7]:
            result, plies = table.probe(position)
            assert value == {"result": "over" if plies == 0 else result, "plies": plies}
    assert web.post(address(rules) + "/probe", {"positions": []}).json == {"values": []}


def test_counts_are_those_of_stats(web: InProcess, solution44: Solution) -> None:
    expected = Statistics.of(solution44.rules, solution44.counts).to_dict()
    for _ in range(2):
        assert web.get("/api/drop/4/4/4/stats").json == expected


def test_what_is_solved_is_listed_and_found_as_soon_as_it_is_there(
    web: InProcess, solved33: Path, tmp_path: Path
) -> None:
    listed = web.get("/api/variants").json["variants"]
    assert [(entry["n"], entry["m"], entry["k"]) for entry in listed] == [(3, 3, 3), (4, 4, 4)]
    assert listed[0] == {
        "n": 3,
        "m": 3,
        "k": 3,
        "name": "3x3_m3",
        "game": "drop-3-3-3",
        "file": "solved_3x3_m3.table",
        "start": {"result": "win", "plies": 13},
        "plies": True,
        "stats": True,
    }
    with InProcess(tmp_path) as empty:
        assert empty.get("/api/variants").json == {"variants": []}
        assert empty.get("/api/drop/3/3/3", position="-/- x").status == 404
        for path in solved33.glob("solved*"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
        assert empty.get("/api/drop/3/3/3", position="-/- x").json["plies"] == 13
        assert len(empty.get("/api/variants").json["variants"]) == 1


def test_images_are_those_of_the_symmetries(web: InProcess) -> None:
    rules = Rules()
    symmetry = symmetry_of(rules)
    for position in positions(rules, 40):
        entry = web.get(address(rules) + "/images", position=position).json
        images = [str(symmetry.apply(transform, position)) for transform in range(8)]
        assert (entry["position"], entry["images"]) == (str(position), images)
        if len(position.x) == len(position.y) == rules.m:
            other = "y" if position.to_move == "x" else "x"
            swapped = Position(position.y, position.x, other, rules)  # type: ignore[arg-type]
            assert entry["swapped"] == str(swapped)
        else:
            assert entry["swapped"] is None


# ---- playing and reviewing ----------------------------------------------------------------------


def test_replies_are_perfect_or_wrong_as_often_as_asked(web: InProcess, web_data: Path) -> None:
    rules, wrong = Rules(3, 3, 3), 0
    with open_table(web_data, rules) as table:
        choosable = [
            position
            for position in positions(rules, 400)
            if len({move.result for move in table.moves(position)}) > 1
        ]
        assert len(choosable) > 100
        for position in choosable:
            moves = {rules.cell_name(move.cell): move for move in table.moves(position)}
            best = next(iter(moves.values()))

            def reply(mistakes: float, seed: int = 1, position: Position = position) -> Any:
                where = address(rules) + "/reply"
                return web.get(where, position=position, mistakes=mistakes, seed=seed).json

            perfect, bad, mixed = reply(0), reply(1), reply(0.3)
            assert moves[perfect["cell"]][1:] == best[1:] and not perfect["mistake"]
            assert moves[bad["cell"]].result != best.result and bad["mistake"]
            assert perfect["position"] == str(position.play(perfect["cell"]))
            assert reply(0.3) == mixed, "the same seed gives the same reply"
            wrong += mixed["mistake"]
    assert 0.2 < wrong / len(choosable) < 0.4


def test_another_seed_gives_other_replies(web: InProcess) -> None:
    where, start = "/api/drop/3/3/3/reply", "-/- x"
    cells = {web.get(where, position=start, seed=seed).json["cell"] for seed in range(20)}
    assert cells == {"b1", "a2", "c2", "b3"}


def test_a_game_is_judged_move_by_move(web: InProcess, web_data: Path) -> None:
    """Against probing before and after each move of random games, some from a later start."""
    rules, draw = Rules(3, 3, 3), random.Random(3)
    worse = {"win": 0, "draw": 1, "loss": 2}
    for_opponent = {"win": "loss", "draw": "draw", "loss": "win"}
    with open_table(web_data, rules) as table:
        for number in range(30):
            start = Position.parse("a1/b2 x", rules) if number % 3 == 0 else rules.start()
            position, played = start, [start]
            names: list[str] = []
            while position.legal_moves() and len(names) < 25:
                cell = draw.choice(position.legal_moves())
                names.append(rules.cell_name(cell))
                position = position.play(cell)
                played.append(position)
            body = {"start": str(start), "moves": names} if number % 3 == 0 else {"moves": names}
            entry = web.post(address(rules) + "/review", body).json
            assert [point["position"] for point in entry["positions"]] == [*map(str, played)]
            mistakes = {"x": 0, "y": 0}
            for ply, move in enumerate(entry["moves"]):
                before, left = table.probe(played[ply]), table.probe(played[ply + 1])
                after = for_opponent[left.result]
                assert (move["ply"], move["side"]) == (ply + 1, played[ply].to_move)
                assert move["cell"] == names[ply]
                assert move["before"] == before._asdict()
                further = None if left.plies is None else left.plies + 1
                assert move["after"] == {"result": after, "plies": further}
                assert move["mistake"] == (worse[after] > worse[before.result])
                keeping = [m for m in table.moves(played[ply]) if m.result == before.result]
                right = sorted(m.cell for m in keeping) if move["mistake"] else []
                assert move["right"] == [*map(rules.cell_name, right)]
                mistakes[move["side"]] += move["mistake"]
            for side in "xy":
                count = sum(move["side"] == side for move in entry["moves"])
                share = None if count == 0 else pytest.approx(1 - mistakes[side] / count)
                assert entry["accuracy"][side] == {
                    "moves": count,
                    "mistakes": mistakes[side],
                    "accuracy": share,
                }
            last = played[-1]
            won = {"x": "y", "y": "x"}[last.to_move] if last.is_over else None
            assert entry["winner"] == won
            final = entry["positions"][-1]["result"]
            assert (final == "over") == last.is_over
    assert web.post(address(rules) + "/review", {"moves": []}).json["moves"] == []


def test_results_without_plies(table33: DenseTable, tmp_path: Path) -> None:
    """The same results, and no plies; what has ended has none left in any table."""
    rules = table33.rules
    ended = run_cli("solve", "--n", "3", "--m", "3", "--results-only", "--data", tmp_path)
    assert ended.code == 0, ended.err
    with InProcess(tmp_path) as web:
        (variant,) = web.get("/api/variants").json["variants"]
        assert variant["file"] == "results_3x3_m3.bits" and variant["plies"] is False
        assert variant["start"] == {"result": "win", "plies": None}
        asked = positions(rules, 300)
        values = web.post(address(rules) + "/probe", {"positions": [*map(str, asked)]}).json
        for position, value in zip(asked, values["values"], strict=True):
            answer = web.get(address(rules), position=position)
            assert answer.status == 200
            entry, exact = answer.json, table33.probe(position)
            result = "over" if position.is_over else exact.result
            assert entry["result"] == value["result"] == result
            assert entry["plies"] == value["plies"] == (0 if position.is_over else None)
            results = {move["cell"]: move["result"] for move in entry["moves"]}
            assert results == {
                rules.cell_name(move.cell): move.result for move in table33.moves(position)
            }
        game = ["a1", "b1", "a2", "b2", "a3"]
        judged = web.post(address(rules) + "/review", {"moves": game}).json["moves"]
        known = review_game(table33, rules.start(), [rules.cell(name) for name in game])
        assert [move["mistake"] for move in judged] == [move.is_mistake for move in known.moves]
        assert len(known.mistakes) == sum(move["mistake"] for move in judged) > 0
        assert web.get(address(rules) + "/stats").json == Statistics.of_table(table33).to_dict()
        assert web.get(address(rules) + "/reply", position="-/- x").json["mistake"] is False


def test_what_is_answered_at_once_is_the_ordinary_answer(
    at_hand: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever way the position is written, and only for the server's own clients."""
    addresses = [
        "/api/drop/4/4/4?position=a1b2c3d1/a2a3b4%20y",
        "/api/drop/4/4/4?position=a1b2c3d1%2Fa2a3b4+y",
        "/api/drop/4/4/4?position=A1B2C3D1/A2A3B4%20Y",
        "/api/drop/4/4/4?position=a1b2c3d1/a2a3b4%20y&position=-/-%20x",
        "/api/drop/4/4/4?position=a1b2c3d1/a2a3b4%20z",
        "/api/drop/3/3/3?position=a1b2c3d1/a2a3b4%20y",
        "/api/drop/9/9/9?position=-/-%20x",
        "/api/drop/4/4/4?position=a1a1/-%20x",
    ]
    cases = [
        (method, address, headers)
        for address in addresses
        for method in ("GET", "HEAD", "POST")
        for headers in ((), [("host", "evil.example")], [("origin", "http://evil.example")])
    ]
    written = Counter[bool]()
    write = PositionWriter.write

    def noted(writer: PositionWriter, query: bytes) -> bytes | None:
        text = write(writer, query)
        written[text is not None] += 1
        return text

    monkeypatch.setattr(PositionWriter, "write", noted)
    at_once = [at_hand.run(at_hand.ask(*case)) for case in cases]
    assert written[True] == 2, "plain GETs of the first two"
    monkeypatch.setattr(PositionWriter, "write", lambda writer, query: None)
    assert at_once == [at_hand.run(at_hand.ask(*case)) for case in cases]
    assert {answer.status for answer in at_once} == {200, 400, 403, 405}


def test_counting_keeps_nobody_waiting_and_is_done_once(
    web_data: Path, web_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table may take minutes to count: its clients are sent away after a while, others are
    answered, and the count goes on."""
    counted, go_on, real = Counter[str](), threading.Event(), Statistics.of_table

    def slow(table: Any, threads: int | None = None) -> Statistics:
        counted[table.rules.name] += 1
        assert go_on.wait(60)
        return real(table, threads)

    monkeypatch.setattr(Statistics, "of_table", slow)
    monkeypatch.setattr(module, "COUNTING_SECONDS", 2.0)
    with InProcess(web_data, web_runs) as web:

        async def ask() -> None:
            asked = [web.ask("GET", f"/api/drop/{n}/{n}/{n}/stats") for n in (3, 3, 3, 4, 4, 4)]
            waiting = [asyncio.ensure_future(each) for each in asked]
            leaving = asyncio.ensure_future(web.ask("GET", "/api/drop/3/3/3/stats", stays=0.1))
            for path in ("/api/variants", "/api/runs", "/api/networks"):
                assert (await web.ask("GET", path)).status == 200
            missing = await web.ask("GET", "/api/drop/3/2/3/stats")
            assert missing.status == 404
            await leaving
            for answer in await asyncio.gather(*waiting):
                assert answer.status == 422 and "goes on" in answer.json["remedy"]
            go_on.set()
            monkeypatch.setattr(module, "COUNTING_SECONDS", 60.0)
            late = [await web.ask("GET", f"/api/drop/{n}/{n}/{n}/stats") for n in (3, 4)]
            assert [answer.status for answer in late] == [200, 200]

        web.run(ask())
    assert counted == {"3x3_m3": 1, "4x4_m4": 1}
