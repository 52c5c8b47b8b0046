"""What self-play says at its end: figures that are those of the run, and commands that exist."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import run_cli
from tiny_self_play import lines_of
from workers_here import WorkersHere

import azfit.self_play.loop as module
from azfit.grading import run_worth
from azfit.self_play.run_report import RunReport

SMALL = {
    "--iterations": 2,
    "--sims": 4,
    "--games-per-iteration": 3,
    "--width": 8,
    "--blocks": 1,
    "--eval-games": 2,
    "--pool-games": 0,
    "--workers": 1,
    "--threads": 1,
    "--backend": "torch",
    "--max-plies": 12,
    "--n": 3,
    "--m": 3,
}
OPTIONS = [part for option in SMALL.items() for part in option]

REPORT = RunReport(
    run="runs/my run",
    game="connect4",
    iterations=12,
    seconds=90.0,
    games=1200,
    positions=30_000,
    accepted=1,
    elo=48.4,
    best="runs/my run/best.safetensors",
    best_iteration=7,
    first_loss=3.0,
    last_loss=1.5,
)


@pytest.fixture(autouse=True)
def without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Workers", WorkersHere)
    monkeypatch.setattr(run_worth, "SHORTEST_RUN", 1e9)  # tests/test_run_worth.py is about that


def test_the_end_of_a_run_is_a_few_readable_lines() -> None:
    assert str(REPORT).splitlines() == [
        "12 iterations in 1.5 minutes: 1,200 games, 30,000 positions, 1 candidate accepted",
        "training loss 3.000 in the first iteration, 1.500 in the last",
        "best network: runs/my run/best.safetensors "
        "(iteration 7, Elo +48 against the first network)",
        "next: fadefour grade 'runs/my run'     count the moves that lose the result",
        "      fadefour diagnose 'runs/my run'  see what looks wrong in the run",
    ]
    assert all(len(line) <= 100 for line in str(REPORT).splitlines())
    none = str(replace(REPORT, iterations=1, best_iteration=0, elo=0.0))
    assert "1 iteration in" in none and "no candidate has beaten the first network yet" in none
    assert "match 'runs/my run' random" in str(replace(REPORT, game="gomoku-15"))


def test_the_report_is_of_the_whole_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    ended = run_cli("self-play", "--run", run, *OPTIONS)
    assert ended.code == 0, ended.err
    plan, iteration, chosen, *lines = ended.err.splitlines()
    assert plan.startswith("learning drop-3-3-3: 2 iterations, mlp of 8 x 1 (")
    assert plan.endswith(" parameters), 1 worker")
    assert iteration.startswith("each iteration: 3 games with 4 simulations per move; ")
    assert chosen.startswith("chosen: ") and chosen.endswith(f"(why: {run / 'choices.json'})")
    assert len(lines) == 2, "a line per iteration"
    assert len(ended.out.splitlines()) == 6
    report = json.loads(run_cli("self-play", "--run", run, "--resume", "--json").out)
    lines = lines_of(run)
    assert report["iterations"] == 2 and report["games"] == 6
    assert report["positions"] == sum(line["games"]["positions"] for line in lines)
    assert report["accepted"] == sum(line["accepted"] for line in lines)
    assert report["first_loss"] == lines[0]["training"]["loss"]
    assert report["last_loss"] == lines[1]["training"]["loss"]
    assert Path(report["best"]).exists()


def test_the_commands_that_are_named_exist() -> None:
    for game in ("drop-3-3-3", "connect4", "gomoku-15"):
        for command, _ in replace(REPORT, game=game).next_commands():
            name, *arguments = shlex.split(command)[1:]
            assert run_cli(name, "--help").code == 0
            assert arguments[0] == REPORT.run


def test_curves_that_cannot_be_drawn_hide_neither_the_report_nor_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    run = tmp_path / "run"
    (run / "curves.png").mkdir(parents=True)
    ended = run_cli("self-play", "--run", run, *OPTIONS)
    assert ended.code == 0 and "best network" in ended.out
    assert "curves.png was not drawn" in ended.err.splitlines()[-1]

    real = module.evaluate

    def interrupted(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        if len(lines_of(stopped)) == 1:
            raise KeyboardInterrupt

    stopped = tmp_path / "stopped"
    (stopped / "curves.png").mkdir(parents=True)
    monkeypatch.setattr(module, "evaluate", interrupted)
    ended = run_cli("self-play", "--run", stopped, *OPTIONS)
    assert ended.code == 130
    assert "interrupted" in ended.err.splitlines()[-1]


def test_a_run_can_begin_with_the_best_network_of_another(tmp_path: Path) -> None:
    """The game and the shape are those of the network; the folder of a run names its best."""
    first = tmp_path / "first"
    assert run_cli("self-play", "--run", first, *OPTIONS, "--json").code == 0
    options = {
        name: value
        for name, value in SMALL.items()
        if name not in ("--n", "--m", "--width", "--blocks")
    }
    more = [part for option in options.items() for part in option]
    for number, init in enumerate((first, first / "best.safetensors")):
        second = tmp_path / f"second{number}"
        ended = run_cli("self-play", "--run", second, "--init", init, *more, "--json")
        assert ended.code == 0, ended.err
        assert json.loads(ended.out)["game"] == "drop-3-3-3"
        assert json.loads((second / "config.json").read_text())["width"] == 8
