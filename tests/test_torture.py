"""``make torture`` counts, goes on and stops as it says, and its judges can find something."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from slow import slow
from torture.campaign import Line, Setting, Trial, Verdict, table
from torture.inputs import Inputs
from torture.judging import problems_with
from torture.processes import Ended
from torture.run import CAMPAIGNS, ROOT, Figures, run_campaign
from torture.shim import compiled
from torture.strings import drawn

RUNNER = ROOT / "tests" / "torture" / "run.py"


def torture(*options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, RUNNER, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@slow
def test_a_small_share_of_every_campaign_finds_nothing(tmp_path: Path) -> None:
    """CI runs ``make torture`` at the same scale."""
    figures = tmp_path / "figures.json"
    ended = torture("--scale", "0.001", "--seed", "3", "--figures", figures)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "seed 3" in ended.stderr and " 0 findings" in ended.stderr
    lines = json.loads(figures.read_text())["lines"]
    assert all(line["trials"] and not line["failed"] for line in lines)
    beginnings = {line["part"].split(",")[0].split(" of ")[0] for line in lines}
    assert {"kill -9", "flipped bit", "two at once", "random strings"} <= beginnings
    parts = {line["part"] for line in lines}
    assert "flipped bit, every block of 3×3" in parts
    assert {"kill -9 of training", "kill -9 of self-play"} <= parts
    assert all(line["trials"] == line["planned"] for line in lines)


def test_a_run_that_was_out_of_time_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def trials(setting: Setting, inputs: Inputs) -> Iterator[Trial]:
        for number in range(5):
            yield Trial("odd ones", str(number), lambda here, n=number: Verdict(f"ended {n}"))

    monkeypatch.setitem(sys.modules, "torture.odd", SimpleNamespace(trials=trials))
    monkeypatch.setitem(CAMPAIGNS, "odd", "a trial of the trials")
    path, setting, now = tmp_path / "figures.json", Setting(), time.monotonic()
    none = Figures(setting, path)
    assert run_campaign("odd", none, Inputs(tmp_path / "1"), 2, until=now - 1) == 5
    begun = Figures(setting, path)
    assert begun.done == {} and begun.lines["odd ones"].planned == 5
    begun.add(3, Trial("odd ones", "3", lambda here: Verdict("")), Verdict("before"))
    assert not run_campaign("odd", begun, Inputs(tmp_path / "2"), 2, until=now + 600)
    figures = Figures(setting, path)
    assert sorted(figures.done["odd ones"]) == [0, 1, 2, 3, 4]
    assert set(figures.lines["odd ones"].endings) == {
        "before",
        *(f"ended {n}" for n in (0, 1, 2, 4)),
    }
    assert not run_campaign("odd", figures, Inputs(tmp_path / "3"), 2, until=now + 600)
    assert "0 trials, 0 findings" in capfd.readouterr().err
    with pytest.raises(SystemExit, match="another scale or seed"):
        Figures(Setting(seed=7), path)


def test_a_killed_run_keeps_the_trials_that_it_has_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are on disk before the campaign ends, not only after it."""
    monkeypatch.setattr("torture.run.SAVE_SECONDS", 0.0)
    figures = Figures(Setting(), tmp_path / "figures.json")
    figures.add(0, Trial("odd ones", "0", lambda here: Verdict("")), Verdict("ended"))
    time.sleep(0.001)
    figures.add(1, Trial("odd ones", "1", lambda here: Verdict("")), Verdict("ended"))
    assert Figures(Setting(), tmp_path / "figures.json").done == {"odd ones": [0, 1]}


def test_a_campaign_that_had_no_time_is_named_and_is_no_success(tmp_path: Path) -> None:
    ended = torture("--minutes", "1e-9", "--only", "strings", "--only", "limits")
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert "time is up: strings (not begun), limits (not begun)" in ended.stdout


# ---- what would be found ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (Ended("solve", 1, "", "Traceback (most recent call last):", 0.1), "traceback"),
        (Ended("solve", -11, "", "", 0.1), "exit code -11"),
        (Ended("solve", 2, "", "fadefour: one\nfadefour: two\n", 0.1), "not one line"),
        (Ended("solve", 2, "half a report", "fadefour: full disk\n", 0.1), "not one line"),
        (Ended("solve", 0, "", "", 0.1, ("a worker",)), "left behind"),
    ],
)
def test_ends_that_are_findings(ended: Ended, words: str) -> None:
    [problem] = problems_with(ended)
    assert words in problem


def test_clean_ends_are_none() -> None:
    assert not problems_with(Ended("solve", 2, "", "fadefour: full disk: give another\n", 0.1))
    assert not problems_with(Ended("solve", 0, "a report\n", "", 0.1))


def test_the_table_counts_trials_and_findings() -> None:
    kept, other = Line("kept", 20), Line("other", 1)
    kept.add("first", Verdict("refused", (), 10, {"taken": 3}))
    other.add("second", Verdict("accepted", ("silently",)))
    assert (kept.trials, kept.failed, dict(kept.endings)) == (10, 0, {"refused": 7, "taken": 3})
    assert other.findings == ["other: second: silently"]
    rows = [[cell.strip() for cell in row.split("|")] for row in table([kept, other]).split("\n")]
    assert rows[2][1:6] == ["kept", "10", "20", "0", "refused 7, taken 3"]
    assert rows[4][1:5] == ["all", "11", "21", "1"]


def test_figures_are_added_up_across_runs(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    trial = Trial("kills", "a trial", lambda _: Verdict("same"))
    for number in (2, 3):
        figures = Figures(Setting(), path)
        figures.add(number, trial, Verdict("same", ("lost",), number))
        figures.save()
    figures = Figures(Setting(), path)
    line = figures.lines["kills"]
    assert (line.trials, line.failed, line.endings["same"]) == (5, 2, 5)
    assert len(figures.findings) == 2 and figures.done == {"kills": [2, 3]}


def test_the_chosen_call_fails_and_no_other(tmp_path: Path) -> None:
    """Three files of two calls each, an open and a write; a write that failed is tried again when
    the file is closed."""
    script = (
        "import os, sys; sys.path[:0] = ['tests']\n"
        "from pathlib import Path\n"
        "from torture.shim import Failure\n"
        "failure = Failure(Path(sys.argv[1]), int(sys.argv[2]), 28, False)\n"
        "failure()\n"
        "for number in range(3):\n"
        "    try:\n"
        "        Path(sys.argv[1], str(number)).write_text('text')\n"
        "    except OSError as error:\n"
        "        print(number, error.errno)\n"
        "print(failure.calls)\n"
    )
    environment = os.environ | {"LD_PRELOAD": str(compiled())}
    for call, expected in ((0, "6\n"), (1, "0 28\n5\n"), (4, "1 28\n7\n")):
        command = [sys.executable, "-c", script, tmp_path, str(call)]
        ended = subprocess.run(command, env=environment, cwd=ROOT, stdout=-1, text=True, check=True)
        assert ended.stdout == expected


def test_random_strings_are_of_all_sorts() -> None:
    setting = Setting()
    strings = [drawn(setting.random("strings", number), ("a1b2/c3 y",)) for number in range(2000)]
    assert len(set(strings)) > 1500
    assert any(len(text) > 200 for text in strings) and "" in strings
    assert sum(set(text) <= set("a1b2/c3 y") for text in strings) > 500
    assert sum(not text.isascii() for text in strings) > 500
    again = [drawn(setting.random("strings", number), ("a1b2/c3 y",)) for number in range(2000)]
    assert strings == again
