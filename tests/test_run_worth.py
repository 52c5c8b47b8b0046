"""What self-play says its result is worth: the judges' own figures, in a time that fits the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import run_cli
from tiny_self_play import TINY
from workers_here import WorkersHere

import azfit.self_play.loop as module
from azfit.grading import run_worth
from azfit.grading.grade import grade
from azfit.grading.run_worth import seconds_to_judge, within, worth_of_run
from azfit.loading import load_player
from azfit.self_play.config import SelfPlayConfig, settled
from azfit.self_play.run_folder import begun
from azfit.self_play.worth import StartMatch, Verdict, Worth
from solver import open_table


def untrained(folder: Path, **options: Any) -> SelfPlayConfig:
    """A run that has only begun."""
    given = {"width": 8, "blocks": 1, "sims": 8, "threads": 1, "workers": 1}
    config = settled(given | options)
    begun(config, folder, None)
    return config


@pytest.mark.parametrize("seconds", [0.1, 4.9, 5, 60, 599, 601, 10**6])
def test_judging_is_short_beside_the_run(seconds: float) -> None:
    allowed = seconds_to_judge(seconds)
    assert allowed <= 60 and allowed <= max(1, seconds / 9.99)
    assert (allowed > 0) == (seconds >= 5)


def test_a_sample_is_as_large_as_the_time_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(run_worth.time, "monotonic", lambda: 0.25 * sum(asked))

    def judge(sample: int) -> int:  # four positions per second
        asked.append(sample)
        return sample

    assert within(100.0, 20, 10_000, judge) == 380, "400 with the first 20"
    assert within(100.0, 20, 300, judge) == 300, "no more than there are"
    asked.clear()
    assert within(6.0, 20, 100, judge) == 20
    assert asked == [20], "no second sample once the time is gone"


def test_drop_oldest_has_the_blunder_rate_of_its_grade(tmp_path: Path, solved33: Path) -> None:
    run = tmp_path / "run"
    config = untrained(run, game="drop-3-3-3")
    worth = worth_of_run(run, config, 600.0, solved33)
    assert worth.judge == "the table of 3x3_m3" and worth.match is None
    with open_table(solved33 / "solved_3x3_m3.table") as table:
        for verdict, sims in zip(worth.verdicts, (None, 8), strict=True):
            graded = grade(load_player(run, sims, 1), table, threads=1).overall
            assert verdict.positions == graded.positions and verdict.sims == (sims or 0)
            assert verdict.wrong == pytest.approx(graded.blunder_rate)
            assert verdict.interval is None, "these are all positions"
    without = worth_of_run(run, config, 600.0, tmp_path / "nowhere")
    assert without.verdicts == worth.verdicts, "a small variant is solved on the spot"
    assert not (tmp_path / "nowhere").exists()


def test_a_variant_without_a_judge_plays_against_its_start(tmp_path: Path) -> None:
    config = untrained(tmp_path / "run", game="drop-5-4-4")
    worth = worth_of_run(tmp_path / "run", config, 1.0, tmp_path)
    match = worth.match
    assert worth.verdicts == () and worth.judge is None and match is not None
    assert match.wins + match.draws + match.losses == 20
    assert match.wins == match.losses, "against itself"
    (line,) = worth.lines()
    assert line.startswith("worth: against the network it began with, with")


def test_connect_four_is_judged_by_the_solver(tmp_path: Path) -> None:
    config = untrained(tmp_path / "run", game="connect4")
    worth = worth_of_run(tmp_path / "run", config, 1.0, tmp_path)
    assert worth.judge == "the solver, on random positions of 14 plies or more"
    alone, searching = worth.verdicts
    assert (alone.positions, searching.positions, searching.sims) == (50, 50, 8)
    for verdict in worth.verdicts:
        assert verdict.interval is not None
        assert 0 < verdict.interval[0] < verdict.wrong < verdict.interval[1] < 1
    assert [path.name for path in tmp_path.iterdir()] == ["run"], "labels are not kept"


def test_gomoku_is_judged_by_forced_wins_and_by_a_match(tmp_path: Path) -> None:
    config = untrained(tmp_path / "run", game="gomoku-9")
    worth = worth_of_run(tmp_path / "run", config, 4.0, tmp_path)
    assert worth.judge == "forced wins in random play" and worth.match is not None
    assert all(verdict.positions > 0 for verdict in worth.verdicts)
    assert worth_of_run(tmp_path / "run", config, 1.0, tmp_path).match is None


def test_the_words() -> None:
    verdicts = (Verdict(0, 8344, 0.222), Verdict(100, 595, 0.0546, (0.0391, 0.0764)))
    worth = Worth("the table", "loses the result", verdicts, StartMatch(0, 18, 0, 2), 1.2)
    assert worth.lines() == [
        "worth: by the table, its move loses the result in",
        "  22.2 % of 8,344 positions without search",
        "  5.5 % of 595 positions (95 %: 3.9 to 7.6 %) with 100 simulations per move",
        "worth: against the network it began with, without search: 18 won, 0 drawn, 2 lost",
    ]


# ---- at the end of a run -------------------------------------------------------------


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(module, "Workers", WorkersHere)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "options.toml").write_text(
        "".join(f"{name} = {json.dumps(value)}\n" for name, value in TINY.items())
    )
    return ["self-play", "--run", "run", "--config", "options.toml", "--iterations", 1]


def test_a_run_reports_what_it_is_worth(
    options: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_worth, "SHORTEST_RUN", 0.0)
    ended = run_cli(*options)
    assert ended.code == 0 and "judging the result, for about 1.0 s" in ended.err
    assert "worth: by the table of 3x3_m3, its move loses the result in" in ended.out
    report = json.loads(run_cli("self-play", "--run", "run", "--resume", "--json").out)
    assert report["worth"]["verdicts"][0]["positions"] > 100
    assert "not_judged" not in report


def test_a_run_of_seconds_is_not_judged(
    options: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_worth, "SHORTEST_RUN", 1e9)
    ended = run_cli(*options)
    assert ended.code == 0 and "judging" not in ended.err
    assert "not judged: the run was too short to spend time on it" in ended.out
    assert "next: fadefour grade run" in ended.out


@pytest.mark.parametrize("error", [ValueError("no\njudge"), MemoryError(), KeyboardInterrupt()])
def test_a_judge_that_fails_does_not_hide_the_report(
    options: list[Any], error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(run_worth, "SHORTEST_RUN", 0.0)
    monkeypatch.setattr(run_worth, "worth_of_run", fails)
    ended = run_cli(*options, "--json")
    assert ended.code == 0 and ended.err == ""
    report = json.loads(ended.out)
    reasons = {ValueError: "no judge", MemoryError: "MemoryError", KeyboardInterrupt: "interrupted"}
    assert report["not_judged"] == reasons[type(error)] and report["iterations"] == 1
