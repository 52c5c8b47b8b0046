"""Runs through HTTP: metrics, games, diagnosis, and events as a run goes on."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Fadefour
from synthetic_runs import episode, write_config, write_games
from web_server import InProcess, ServerProcess

from azfit.games import game_by_name
from azfit.metrics import read_metrics
from azfit.self_play.episode import read_episodes
from azfit.web import runs as module
from azfit.web.diagnoses import Diagnoses


def test_runs_of_both_kinds_are_listed(web: InProcess) -> None:
    listed = {entry["id"]: entry for entry in web.get("/api/runs").json["runs"]}
    assert {name: (run["kind"], run["game"]) for name, run in listed.items()} == {
        "small": ("self-play", "drop-3-3-3"),
        "learned": ("oracle", "drop-4-4-4"),
        "four": ("self-play", "connect4"),
        "five": ("self-play", "gomoku-9"),
    }
    assert listed["small"]["iterations_with_games"] == [0, 1]
    assert listed["small"]["updated"] > 1.6e9 and listed["five"]["updated"] is None


@pytest.mark.parametrize("name", ["small", "learned"])
def test_metrics_are_the_lines_of_the_file(web: InProcess, web_runs: Path, name: str) -> None:
    lines = read_metrics(web_runs / name / "metrics.jsonl")
    assert len(lines) == 2
    for since in (0, 1, 2):
        entry = web.get(f"/api/runs/{name}/metrics", since=since).json
        assert (entry["since"], entry["next"], entry["lines"]) == (since, 2, lines[since:])
    entry = web.get(f"/api/runs/{name}/metrics", since=3).json
    assert (entry["since"], entry["lines"]) == (0, lines), "a run that was resumed from before"
    assert web.get("/api/runs/five/metrics").json["lines"] == [], "nothing is written yet"


def test_games_are_those_of_the_files(web: InProcess, web_runs: Path) -> None:
    game = game_by_name("drop-3-3-3")
    for iteration in (0, 1, None):
        asked = {} if iteration is None else {"iteration": iteration}
        entry = web.get("/api/runs/small/games", **asked).json
        number = 1 if iteration is None else iteration
        assert (entry["iteration"], entry["iterations"]) == (number, [0, 1])
        episodes = read_episodes(web_runs / "small" / "games" / f"{number:06d}.games", game)
        assert entry["count"] == len(entry["games"]) == len(episodes) == 5
        for answered, stored in zip(entry["games"], episodes, strict=True):
            moves = [game.action(name) for name in answered["moves"]]
            assert moves == [*stored.opening.tolist(), *stored.actions.tolist()]
            assert answered["opening"] == len(stored.opening)
            assert answered["values"] == pytest.approx(stored.values.tolist(), abs=1e-4)
            winner = {0: "first", 1: "second", -1: None}[stored.winner]
            assert (answered["number"], answered["winner"]) == (stored.number, winner)
            review = web.post("/api/drop/3/3/3/review", {"moves": answered["moves"]})
            assert review.status == 200, "the moves are what a review takes"
            won = review.json["winner"]
            assert won is None or won == {"first": "x", "second": "y"}[winner]
    (answered,) = web.get("/api/runs/four/games").json["games"]
    assert answered["moves"] == ["4", "4", "4", "3", "4", "3", "4"]


def test_games_that_are_not_there(web: InProcess) -> None:
    for where in ("/api/runs/learned/games", "/api/runs/small/games?iteration=2"):
        answer = web.run(web.ask("GET", where))
        assert answer.status == 404 and answer.json["remedy"]


def test_a_diagnosis_is_that_of_diagnose(
    web: InProcess,
    web_runs: Path,
    web_data: Path,
    fadefour: Fadefour,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = web.get("/api/runs/small/diagnosis")
    assert answer.status == 200, answer.body
    ended = fadefour("diagnose", web_runs / "small", "--data", web_data, "--json")
    expected = json.loads(ended.out) | {"subject": "small"}
    assert answer.json == expected
    monkeypatch.delattr(Diagnoses, "_diagnose")  # it is kept
    assert web.get("/api/runs/small/diagnosis").json == expected


def test_a_run_that_cannot_be_diagnosed_says_why(web: InProcess) -> None:
    answer = web.get("/api/runs/learned/diagnosis")
    assert answer.status == 404 and "no network yet" in answer.json["error"]


def test_a_diagnosis_that_is_killed_or_fails(
    web_data: Path, web_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed, as for want of memory, it says so; what is no message is a failure of ours."""
    python = tmp_path / "python"
    monkeypatch.setattr("azfit.web.diagnoses.sys.executable", str(python))
    with InProcess(web_data, web_runs) as web:
        for script, status in (("kill -9 $$", 422), ("echo 'fadefour: no games' >&2; exit 2", 404)):
            python.write_text(f"#!/bin/sh\n{script}\n")
            python.chmod(0o755)
            answer = web.get("/api/runs/small/diagnosis")
            assert answer.status == status and set(answer.json) == {"error", "remedy"}
        python.write_text("#!/bin/sh\necho 'KeyError: 1' >&2; exit 1\n")
        with pytest.raises(RuntimeError, match="KeyError"):
            web.get("/api/runs/small/diagnosis")


def test_damaged_metrics_are_no_crash(web_data: Path, tmp_path: Path) -> None:
    write_config(tmp_path / "run", game="drop-3-3-3")
    (tmp_path / "run" / "metrics.jsonl").write_text('{"iteration": 1}\nbroken\n{"iteration": 2}\n')
    with InProcess(web_data, tmp_path) as web:
        answer = web.get("/api/runs/run/metrics")
        assert answer.status == 409 and "line 2" in answer.json["error"]
        assert "restore" in answer.json["remedy"]


def test_numbers_that_are_not_finite_are_null(web_data: Path, tmp_path: Path) -> None:
    """A run that diverged writes NaN, which Python reads and JSON does not have."""
    write_config(tmp_path / "run", game="drop-3-3-3")
    lines = '{"iteration": 1, "loss": NaN, "value": {"loss": [1.5, Infinity, -Infinity]}}\n'
    (tmp_path / "run" / "metrics.jsonl").write_text(lines)
    with InProcess(web_data, tmp_path) as web:
        (line,) = web.get("/api/runs/run/metrics").json["lines"]
        assert line == {"iteration": 1, "loss": None, "value": {"loss": [1.5, None, None]}}
        assert web.get("/api/runs/run/curves").status == 200


@pytest.mark.parametrize(
    "line",
    ['{"a": "\\ud800"}', '{"a": "\\u2028é"}', '{"a": ' + "[" * 900 + "]" * 900 + "}"],
    ids=["half a letter", "line separator", "deep"],
)
def test_strange_metrics_are_told_or_refused(web_data: Path, tmp_path: Path, line: str) -> None:
    write_config(tmp_path / "run", game="drop-3-3-3")
    (tmp_path / "run" / "metrics.jsonl").write_text(line + "\n")
    with InProcess(web_data, tmp_path) as web:
        answer = web.get("/api/runs/run/metrics")
        assert answer.status in (200, 409)
        json.loads(answer.body.decode())


# ---- events -------------------------------------------------------------------------------------


class Listener:
    """A client that reads a stream of events, one after another."""

    def __init__(self, server: ServerProcess, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        request = f"GET {path} HTTP/1.1\r\nHost: {server.address}\r\n\r\n"
        self.socket.sendall(request.encode())
        self._file = self.socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        while self._file.readline() != b"\r\n":
            pass

    def events(self) -> Iterator[tuple[str, Any]]:
        name = ""
        for line in self._file:
            if line.startswith(b"event: "):
                name = line[7:].decode().strip()
            elif line.startswith(b"data: "):
                yield name, json.loads(line[6:])

    def close(self) -> None:
        self._file.close()
        self.socket.close()


def test_a_run_is_followed_as_it_goes_on(web_data: Path, tmp_path: Path) -> None:
    """Lines appended, games that appear, lines dropped by a resume."""
    write_config(tmp_path / "run", game="connect4")
    metrics = tmp_path / "run" / "metrics.jsonl"
    metrics.write_text('{"iteration": 1}\n')
    game = game_by_name("connect4")
    with ServerProcess(web_data, tmp_path) as server:
        listener = Listener(server, "/api/runs/run/events")
        events = listener.events()
        name, body = next(events)
        assert (name, body["since"], body["lines"]) == ("metrics", 0, [{"iteration": 1}])
        assert next(events) == ("games", {"iterations": []})
        with open(metrics, "a") as out:
            out.write('{"iteration": 2}\n{"iteration": 3}\n')
        name, body = next(events)
        assert (body["since"], body["next"]) == (1, 3)
        assert body["lines"] == [{"iteration": 2}, {"iteration": 3}]
        write_games(tmp_path / "run", [episode(game, [3, 3, 3, 2, 3, 2, 3], [], winner=0)], 4)
        assert next(events) == ("games", {"iterations": [4]})
        metrics.write_text('{"iteration": 9}\n')
        name, body = next(events)
        assert (body["since"], body["lines"]) == (0, [{"iteration": 9}])
        late = Listener(server, "/api/runs/run/events?since=1")
        assert next(late.events())[1]["lines"] == []
        assert server.interrupt() == (0, "stopped\n"), "a stream does not keep it from stopping"
        listener.close()
        late.close()


def test_streams_are_bounded_and_given_back(
    web_data: Path, web_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    monkeypatch.setattr(module, "MOST_STREAMS", 3)
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    with InProcess(web_data, web_runs) as web:

        async def follow() -> list[Any]:
            tasks = [
                asyncio.ensure_future(web.ask("GET", "/api/runs/small/events")) for _ in range(5)
            ]
            pending = set(tasks)
            while len(pending) > 3:
                _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            _, pending = await asyncio.wait(pending, timeout=0.2)  # the others go on
            answers = [task.result() for task in tasks if task not in pending]
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
            assert len(pending) == 3
            return answers

        for _ in range(2):
            assert [answer.status for answer in web.run(follow())] == [429, 429]
