"""Every error: its status, JSON with what was wrong and what to do, and never a 5xx."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from web_server import Answer, InProcess

from azfit.web import at_once
from solver import Rules
from solver.table import table_path

DROP = "/api/drop/4/4/4"


def refused(answer: Answer, status: int, *words: str) -> None:
    """The status, and each of the words in the error or the remedy."""
    assert answer.status == status, answer.body
    entry = answer.json
    assert list(entry) == ["error", "remedy"]
    assert all(isinstance(text, str) and text and "\n" not in text for text in entry.values())
    for word in words:
        assert word in entry["error"] + " | " + entry["remedy"], entry


# ---- 400: what cannot be used, and where ---------------------------------------------------------


@pytest.mark.parametrize(
    ("position", "words"),
    [
        ("a1e9/- y", ["cell 'e9' is not on the board", "a1 to d4"]),
        ("a1b2/a1 y", ["two pieces on a1"]),
        ("a1b2c3/- x", ["X has 3 and Y 0 pieces"]),
        ("a1b2c3d4a2/a3 y", ["X has 5 pieces", "at most 4"]),
        ("nonsense", ["'nonsense' is not of the form", "a1b2/c3 y"]),
        ("", ["'' is not of the form"]),
        ("a1b2/c3 z", ["is not of the form"]),
        ("a1b1c1d1/a2b2c2d2 x", ["cannot occur", "X is to move"]),
        ("a1/b2 y", ["X has 1 and Y 1 pieces"]),
        ("a1\n/- y", ["is not of the form"]),
        ("é1/- y", ["cell 'é' is not on the board"]),
        ("\ud800", ["is not of the form"]),
    ],
)
@pytest.mark.parametrize("address", ["", "/images", "/reply"])
def test_a_bad_position_names_the_place(
    web: InProcess, position: str, words: list[str], address: str
) -> None:
    position = position.encode("utf-8", "replace").decode()
    words = words if "?" not in position else []
    refused(web.get(DROP + address, position=position), 400, *words)
    refused(
        web.post(DROP + "/probe", {"positions": ["-/- x", position]}), 400, "positions[1]", *words
    )
    refused(web.post(DROP + "/review", {"start": position, "moves": []}), 400, *words)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/api/connect4?position=4449", ["'9' in position '4449' is not a column"]),
        (
            "/api/connect4?position=1111111",
            ["column 1 is full before move 7", "give another column"],
        ),
        ("/api/connect4?position=12121212", ["continues after the end", "at most 7 moves"]),
        ("/api/connect4/review?position=x", ["'x'"]),
        ("/api/connect4/reply?position=1212121", ["the game is over"]),
        ("/api/connect4/images?position=0", ["'0'"]),
        ("/api/gomoku/9?position=e5%20j1", ["move 2, 'j1'", "a1 to i9"]),
        ("/api/gomoku/9/images?position=e5%20e5", ["move 2, e5, is taken"]),
        ("/api/gomoku/10?position=-", ["no board of '10' lines", "9, 11, 13, 15, 19"]),
        ("/api/gomoku/x?position=-", ["'x'"]),
        ("/api/drop/4/4?position=-", []),
        ("/api/networks/shipped/evaluate?position=zz", ["'zz' is not of the form"]),
        ("/api/networks/shipped/evaluate?position=-/-%20x&sims=10001", ["sims='10001'", "10,000"]),
        ("/api/networks/shipped/evaluate?position=-/-%20x&sims=-1", ["sims='-1'"]),
        ("/api/networks/shipped/evaluate?position=-/-%20x&sims=1e3", ["sims='1e3'"]),
        ("/api/networks/shipped/evaluate?position=-&game=connect4", ["plays drop-4-4-4"]),
        (
            "/api/networks/shipped/evaluate?position=a1b1c1d1/a2b2c2%20y",
            ["is over", "a position in play"],
        ),
        ("/api/runs/small/metrics?since=x", ["since='x'"]),
        ("/api/runs/small/metrics?since=-1", ["since='-1'"]),
        ("/api/runs/small/events?since=99999999999", ["since="]),
        ("/api/runs/small/games?iteration=x", ["iteration='x'"]),
        (f"{DROP}/reply?position=-/-%20x&mistakes=2", ["mistakes='2' is not a share"]),
        (f"{DROP}/reply?position=-/-%20x&mistakes=nan", ["'nan'"]),
        (f"{DROP}/reply?position=-/-%20x&seed=-1", ["seed='-1'"]),
        (f"{DROP}/reply?position=a1b1c1d1/a2b2c2%20y", ["the game is over"]),
        (f"{DROP}?position=-/-%20x&position=-/-%20x", ["given 2 times"]),
        (DROP, ["'position' is missing"]),
        ("/api/drop/4/4/5?position=-/-%20x", ["k=5"]),
        ("/api/drop/9/4/4?position=-/-%20x", ["n=9"]),
        ("/api/drop/4/x/4?position=-/-%20x", ["'4/x/4' is not a variant"]),
        ("/api/drop/-1/4/4?position=-/-%20x", ["is not a variant"]),
        ("/api/drop/444/4/4/stats", ["is not a variant"]),
    ],
)
def test_bad_values_are_named(web: InProcess, path: str, words: list[str]) -> None:
    answer = web.run(web.ask("GET", path))
    refused(answer, 404 if path == "/api/drop/4/4?position=-" else 400, *words)


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b"[]", 400, "not a JSON object"),
        (b"{}", 400, "'positions' is not a list"),
        (b'{"positions": 5}', 400, "'positions' is not a list"),
        (b'{"positions": [5]}', 400, "positions[0]"),
        (b'{"positions": ["-/- x", null]}', 400, "positions[1]"),
        (b'{"positions": [["-/- x"]]}', 400, "positions[0]"),
        (b"\xff\xfe\x00", 400, "not JSON"),
        (b"[" * 100_000, 400, "nested too deeply"),
        (b'{"positions": ' + b"9" * 5_000 + b"}", 400, "not JSON"),
        (b'{"positions": ["\\ud800"]}', 400, "positions[0]"),
        (b'{"positions": ["' + b"a" * 65 + b'"]}', 400, "positions[0]"),
        (b" " * 1_100_000, 413, "more than 1,048,576 bytes"),
        (json.dumps({"positions": ["-/- x"] * 10_001}).encode(), 413, "10,001 entries"),
    ],
)
def test_bad_bodies_are_named(web: InProcess, body: bytes, status: int, word: str) -> None:
    refused(web.post(DROP + "/probe", body), status, word)


def test_a_move_that_is_not_legal_names_its_ply(web: InProcess) -> None:
    where = DROP + "/review"
    refused(web.post(where, {"moves": ["a1", "b2", "a1"]}), 400, "ply 3", "a1")
    refused(web.post(where, {"moves": ["a1", "z9"]}), 400, "ply 2", "'z9'")
    refused(web.post(where, {"moves": ["a1"], "start": 5}), 400, "'start' is not a text")
    won = ["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2"]
    refused(web.post(where, {"moves": won}), 400, "ply 8")
    refused(web.post(where, {"moves": ["a1"] * 2_001}), 413, "2,001 entries")


# ---- 404, 405, 413, 415 -------------------------------------------------------------------------


def test_a_variant_that_is_not_solved_names_the_command(web: InProcess, web_data: Path) -> None:
    command = f"fadefour solve --n 4 --m 3 --k 4 --data {web_data}"
    for path in ("", "/stats", "/reply"):
        refused(web.get("/api/drop/4/3/4" + path, position="-/- x"), 404, "not solved", command)
    for path, body in (("/probe", {"positions": []}), ("/review", {"moves": []})):
        refused(web.post("/api/drop/4/3/4" + path, body), 404, "not solved", command)


@pytest.mark.parametrize(
    "path",
    [
        *("/nothing", "/api", "/api/", "/api/drop", "/api//variants", "/api/networks/x/y"),
        *("/static/", "/static/../app.py", "/static/%2e%2e/app.py", "/index.html", "//", "/\x00"),
    ],
)
def test_an_address_that_is_not_there(web: InProcess, path: str) -> None:
    refused(web.run(web.ask("GET", path)), 404)


def test_unknown_networks_and_runs(web: InProcess) -> None:
    for path in ("evaluate", "blunders"):
        refused(web.get(f"/api/networks/none/{path}", position="-"), 404, "no network 'none'")
    for path in ("metrics", "events", "diagnosis", "games"):
        refused(web.get(f"/api/runs/none/{path}"), 404, "no run 'none'")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_another_method_lists_those_there_are(web: InProcess, method: str) -> None:
    for path, allowed in (("/api/variants", "GET"), (DROP + "/probe", "POST"), ("/", "GET")):
        answer = web.run(web.ask(method, path))
        refused(answer, 405, allowed)
        assert allowed in answer.headers["allow"]
    refused(web.run(web.ask("POST", "/api/variants")), 405)
    refused(web.run(web.ask("GET", DROP + "/probe")), 405)


def test_head_is_get_without_a_body(web: InProcess) -> None:
    answer = web.run(web.ask("HEAD", "/api/variants"))
    assert answer.status == 200


def test_texts_that_are_too_long(web: InProcess) -> None:
    refused(web.get(DROP, position="a1" * 40), 413, "80 characters")
    for path in ("/api/connect4", "/api/gomoku/19", "/api/networks/shipped/evaluate"):
        refused(web.get(path, position="4" * 2_001), 413, "2,001 characters")
    many = "&".join(f"x{i}=1" for i in range(101))
    refused(web.run(web.ask("GET", f"/api/connect4?position=4&{many}")), 413, "100 parameters")


@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-www-form-urlencoded"])
def test_a_body_of_another_type(web: InProcess, kind: str) -> None:
    body = b'{"positions": []}'
    headers = [("content-type", kind)] if kind else []
    refused(web.run(web.ask("POST", DROP + "/probe", headers, body)), 415, "application/json")


# ---- what is not the client's fault --------------------------------------------------------------


def damage(path: Path) -> bytes:
    """Flips a bit in place: a file that is mapped and cut short, even for a moment, would end the
    process that reads it. Gives what was there before."""
    sound = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(bytes([sound[100] ^ 4]))
    return sound


def test_a_damaged_table_is_409_and_says_so(web_data: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(web_data, tmp_path / "data"))
    damage(table_path(folder, Rules(3, 3, 3)))
    with InProcess(folder) as web:
        refused(web.get("/api/drop/3/3/3", position="-/- x"), 409, "solve")
        assert web.get("/api/drop/4/4/4", position="-/- x").status == 200
        names = [entry["name"] for entry in web.get("/api/variants").json["variants"]]
        assert names == ["4x4_m4"], "it is not offered"


def test_a_table_that_is_solved_again_is_opened_again(
    web_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by the address that answers at once."""
    monkeypatch.setattr(at_once, "LOOK_SECONDS", 0.0)
    folder = Path(shutil.copytree(web_data, tmp_path / "data"))
    path = table_path(folder, Rules(3, 3, 3))
    with InProcess(folder) as web:
        for _ in range(2):
            assert web.get("/api/drop/3/3/3", position="-/- x").status == 200
            web.service.tables.table(Rules(3, 3, 3)).check_all()  # as the server does at leisure
            assert web.get("/api/drop/3/3/3", position="-/- x").status == 200
            assert web.get("/api/drop/3/3/3/stats").json["nodes"] > 0
            sound = damage(path)
            refused(web.get("/api/drop/3/3/3", position="-/- x"), 409, "solve")
            refused(web.get("/api/drop/3/3/3/stats"), 409, "solve")
            beside = path.with_suffix(".new")
            beside.write_bytes(sound)
            beside.rename(path)
        assert web.get("/api/drop/3/3/3", position="-/- x").status == 200
        for each in folder.glob("*3x3_m3*"):
            each.unlink()
        refused(web.get("/api/drop/3/3/3", position="-/- x"), 404, "solve")


def test_a_bug_of_our_own_is_500_without_its_traceback(
    web_data: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with InProcess(web_data) as web:

        def broken() -> None:
            raise ZeroDivisionError("secret")

        monkeypatch.setattr(web.service.tables, "variants", broken)
        with pytest.raises(ZeroDivisionError):  # the server above logs it once more
            web.get("/api/variants")
    assert "secret" in caplog.text and "GET /api/variants" in caplog.text
