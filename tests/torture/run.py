"""Runs the campaigns and prints a table: ``make torture``, or python tests/torture/run.py --help.

--only and --scale run a share of it. With --figures it goes on from the trials that an earlier one
has run, whether that was stopped by --minutes or killed. Exits with 1 if a trial did not end as
required, with 3 if none did but the time was up before all of them were run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from solver.progress import for_terminal  # noqa: E402
from solver.storage import write_atomically  # noqa: E402
from torture.campaign import Line, Setting, Trial, Verdict, table  # noqa: E402
from torture.shim import compiled, is_preloaded  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torture.inputs import Inputs

CAMPAIGNS = {
    "kills": "solve and merge are killed",
    "learning_kills": "training and self-play are killed",
    "bits": "a bit of a file is flipped",
    "blocks": "a bit in each block of the files of 4×4 is flipped",
    "lengths": "files end too early or too late",
    "limits": "files must not grow beyond a size",
    "failing_calls": "a call that changes files fails",
    "pairs": "two processes work in one folder",
    "strings": "parsers are given random strings",
}
FINDINGS = ROOT / "build" / "torture" / "findings.txt"
FINDINGS_SHOWN, LONGEST_SHOWN = 20, 600
SAVE_SECONDS = 10.0  # what a killed run has done and does again


def options_from(words: list[str] | None) -> argparse.Namespace:
    listed = "; ".join(f"{name}: {what}" for name, what in CAMPAIGNS.items())
    parser = argparse.ArgumentParser(
        description="Does to fadefour what happens to programs: kills, damage, full disks.",
        epilog=f"The campaigns: {listed}.",
    )
    add = parser.add_argument
    add(
        "--only",
        action="append",
        choices=CAMPAIGNS,
        metavar="CAMPAIGN",
        help="this, not all; may be repeated",
    )
    add("--part", default="", metavar="TEXT", help="only lines of the table with this text")
    add("--scale", type=float, default=1.0, help="the share of the trials to run (default: 1)")
    add("--seed", type=int, default=1, help="of all that is drawn at random (default: 1)")
    add("--lanes", type=int, default=os.cpu_count() or 1, help="trials at a time")
    add("--figures", type=Path, metavar="FILE", help="go on from this file (JSON), and write it")
    add("--minutes", type=float, default=math.inf, help="begin no trial after these minutes")
    options = parser.parse_args(words)
    if not 0 < options.scale <= 1:
        parser.error(f"--scale {options.scale} is not above 0 and at most 1")
    if options.lanes < 1:
        parser.error(f"--lanes {options.lanes} is less than 1")
    if not options.minutes > 0:
        parser.error(f"--minutes {options.minutes} is not above 0")
    return options


class Figures:
    """The lines of the table, by their part, in the order in which they began; and which trials of
    each part were run, by their numbers in it."""

    def __init__(self, setting: Setting, path: Path | None = None) -> None:
        self.setting, self._path, self._saved = setting, path, time.monotonic()
        self.lines: dict[str, Line] = {}
        self.done: dict[str, list[int]] = {}
        if path is not None and path.exists():
            stored = json.loads(path.read_text())
            if stored["setting"] != vars(setting):
                raise SystemExit(f"torture: '{path}' is of another scale or seed: give a new name")
            self.done = stored["done"]
            for entries in stored["lines"]:
                line = Line(**entries | {"endings": Counter(entries["endings"])})
                self.lines[line.part] = line

    def plan(self, trials: Iterable[Trial], only: str = "") -> dict[int, tuple[int, Trial]]:
        """Counts what a campaign will try; its trials that were not run yet, of parts with this
        text in their names, each with its number in its part: what one part comes to does not move
        the numbers of the others."""
        numbers, planned = Counter[str](), Counter[str]()
        left: dict[int, tuple[int, Trial]] = {}
        for place, trial in enumerate(trials):
            number = numbers[trial.part]
            numbers[trial.part] += 1
            planned[trial.part] += trial.count
            if only in trial.part and number not in self.done.get(trial.part, []):
                left[place] = number, trial
        for part, count in planned.items():
            self.lines.setdefault(part, Line(part)).planned = count
        return left

    def add(self, number: int, trial: Trial, verdict: Verdict) -> None:
        self.done.setdefault(trial.part, []).append(number)
        self.lines.setdefault(trial.part, Line(trial.part)).add(trial.label, verdict)
        if time.monotonic() - self._saved > SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        self._saved = time.monotonic()
        if self._path is not None:
            lines = [vars(line) for line in self.lines.values()]
            stored = {"setting": vars(self.setting), "lines": lines, "done": self.done}
            write_atomically(self._path, (json.dumps(stored) + "\n").encode())

    @property
    def findings(self) -> list[str]:
        return [finding for line in self.lines.values() for finding in line.findings]


def run_campaign(
    name: str, figures: Figures, inputs: Inputs, lanes: int, until: float, part: str = ""
) -> int:
    """Runs the trials of a campaign that were not run yet, and counts how they end. The number of
    those that the time was too short for. part: text in the names of the parts to run."""
    from torture.lanes import verdicts

    print(f"{name}: {CAMPAIGNS[name]}", file=sys.stderr, flush=True)
    module = importlib.import_module(f"torture.{name}")
    left = figures.plan(module.trials(figures.setting, inputs), part)
    order = list(left)
    # In random order: a campaign whose time is up has tried a bit of everything.
    figures.setting.random("order", name).shuffle(order)
    progress, done, known = for_terminal(), 0, len(figures.findings)
    progress.begin(name, len(order), "trial")
    place = inputs.room(f"trials of {name}")
    try:
        trials = {number: left[number][1] for number in order}
        for done, (number, verdict) in enumerate(verdicts(trials, place, lanes, until), 1):
            figures.add(*left[number], verdict)
            progress.reach(done)
    finally:
        figures.save()
    progress.end(f"{done:,} trials, {len(figures.findings) - known} findings")
    return len(order) - done


def main(words: list[str] | None = None) -> int:
    options = options_from(words)
    if not is_preloaded():
        preloaded = {"LD_PRELOAD": str(compiled()), "OMP_NUM_THREADS": "1"}
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | preloaded)
    from torture.inputs import Inputs
    from torture.processes import warm_up

    setting = Setting(options.scale, options.seed)
    figures = Figures(setting, options.figures)
    print(f"seed {setting.seed}, scale {setting.scale:g}", file=sys.stderr, flush=True)
    until = time.monotonic() + 60 * options.minutes
    if time.monotonic() <= until:
        warm_up()
    with tempfile.TemporaryDirectory(prefix="fadefour-torture-") as folder:
        inputs = Inputs(Path(folder))
        unfinished = []
        for name in options.only or CAMPAIGNS:
            if time.monotonic() > until:
                unfinished.append(f"{name} (not begun)")
            elif left := run_campaign(name, figures, inputs, options.lanes, until, options.part):
                unfinished.append(f"{name} ({left:,} trials to go)")
    print(table(list(figures.lines.values())))
    if unfinished:
        print(f"the time is up: {', '.join(unfinished)}; with --figures the same command goes on")
    if not figures.findings:
        return 3 if unfinished else 0
    FINDINGS.write_text("\n\n".join(figures.findings) + "\n")
    for finding in figures.findings[:FINDINGS_SHOWN]:
        print(f"finding: {finding[:LONGEST_SHOWN]}")
    print(f"all {len(figures.findings)} findings: {FINDINGS}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
