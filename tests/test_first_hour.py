"""docs/first_hour.md, run as it stands: every command with a ``$``, in order, in one folder.

What the page shows must be what is printed. A line ``…`` stands for any lines, and ``…`` at the end
of a line for its rest. Networks differ in the last digits from machine to machine, so in what they
print every number stands for any number; the solver's lines are compared as they are.

The commands that the page lists without output are for larger games. They run too, in order, those
that take minutes with the options of ``CUT_SHORT``. Setting up downloads, so it is only compared
with the Makefile.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Outcome, run_cli

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "first_hour.md").read_text()
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
OF_THE_SOLVER = {"solve", "probe", "verify"}
CHECKS_THAT_FAIL = {"certify runs/taught --as y"}
TYPED = {"play": "hint\nquit\n"}
ONE_ITERATION = (
    *("--iterations", "1", "--games-per-iteration", "4", "--sims", "4", "--workers", "1"),
    *("--width", "16", "--blocks", "1", "--batch-size", "32", "--eval-games", "2"),
)
CUT_SHORT = {
    "train-from-oracle": ("--steps", "2", "--width", "16", "--batch", "64", "--threads", "1"),
    "grade": ("--sample", "1000"),
    "self-play": ONE_ITERATION,
}


@dataclass
class Example:
    """A command of the page, and the lines shown below it."""

    command: str
    shown: list[str]


def blocks(section: str) -> list[str]:
    return re.findall(r"^```\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


def examples(section: str) -> list[Example]:
    listed = []
    for block in blocks(section):
        for line in block.splitlines():
            if line.startswith("$ fadefour "):
                listed.append(Example(line.removeprefix("$ fadefour "), []))
            elif block.startswith("$"):
                listed[-1].shown.append(line)
    return listed


def comparable(line: str, exactly: bool) -> str:
    if exactly:
        return line.rstrip()
    return " ".join(re.sub(r"[-+]?\d[\d,.]*", "#", line).split())


def is_shown(shown: str, printed: str) -> bool:
    if shown.endswith("…"):
        return printed.startswith(shown.removesuffix("…").rstrip())
    return shown == printed


def check(example: Example, printed: str) -> None:
    """The lines shown are what was printed, with gaps only where the page has them."""
    exactly = example.command.split()[0] in OF_THE_SOLVER
    rest = [comparable(line, exactly) for line in printed.splitlines()]
    may_skip = False
    for line in example.shown:
        if line == "…":
            may_skip = True
            continue
        wanted = comparable(line, exactly)
        where = [place for place, text in enumerate(rest) if is_shown(wanted, text)]
        assert where and (may_skip or where[0] == 0), (
            f"'fadefour {example.command}' does not print '{line}' there, but:\n{printed}"
        )
        rest, may_skip = rest[where[0] + 1 :], False
    assert may_skip or not rest, f"'fadefour {example.command}' prints more: {rest}"


def cut_short(command: str) -> str:
    """The command with the options that make it end soon, in the place of its minutes."""
    options = CUT_SHORT.get(command.split(maxsplit=1)[0], ())
    return shlex.join([*shlex.split(re.sub(r" --minutes \d+", "", command)), *options])


def run(example: Example, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    arguments = shlex.split(example.command)
    monkeypatch.setattr("sys.stdin", io.StringIO(TYPED.get(arguments[0], "")))
    ended = run_cli(*arguments)
    assert ended.code == int(example.command in CHECKS_THAT_FAIL), ended.err
    return ended


@pytest.mark.parametrize(
    "title", ["A network taught by the table", "A network that teaches itself"]
)
def test_the_commands_print_what_the_page_shows(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both parts begin with what the first one solves, and need nothing of each other."""
    monkeypatch.chdir(tmp_path)
    for example in [*examples(SECTIONS["The truth"]), *examples(SECTIONS[title])]:
        check(example, run(example, monkeypatch).out)


def test_every_section_is_run_or_says_that_it_is_not() -> None:
    assert list(SECTIONS) == [
        *("Set up", "The truth", "A network taught by the table"),
        *("A network that teaches itself", "Next"),
    ]
    assert PAGE.count("\n$ ") == sum(len(examples(section)) for section in SECTIONS.values())
    assert "$ " not in "".join(blocks(SECTIONS["Next"]) + blocks(SECTIONS["Set up"]))


def test_the_commands_for_larger_games_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    listed = re.findall(r"^fadefour (.*?)(?: {2,}#.*)?$", blocks(SECTIONS["Next"])[0], re.MULTILINE)
    assert len(listed) == len(blocks(SECTIONS["Next"])[0].splitlines()) == 7
    for command in listed:
        run(Example(cut_short(command), []), monkeypatch)


def test_setting_up_is_what_the_makefile_does() -> None:
    clone, enter, install, activate = blocks(SECTIONS["Set up"])[0].splitlines()
    assert clone.split()[:2] == ["git", "clone"] and enter == f"cd {clone.split()[-1]}"
    # Not as a part of the make that runs the tests, which would name its folder first.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    planned = subprocess.run(
        [*shlex.split(install), "--dry-run", "--always-make"],
        cwd=ROOT,
        env=outside,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    folder = activate.removeprefix(". ").removesuffix("/bin/activate")
    assert planned[0].endswith(f"-m venv {folder}")
    assert planned[-1].startswith(f"{folder}/bin/python -m pip ")
    assert planned[-1].endswith("-c constraints.txt -e '.[learn]'")
