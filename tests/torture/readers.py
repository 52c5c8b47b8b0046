"""Commands that read files, given good files and damaged ones: what they make of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torture.campaign import Verdict
from torture.contents import Contents, contents, without_times
from torture.judging import names, problems_with
from torture.processes import Ended, run
from torture.quickly import quickly

CHECKED, APPENDED, TEXT = "checked", "appended", "text"
"""What a file promises. CHECKED: damage is noticed, or does no harm. APPENDED: the same, but the
last entry may be cut short by a crash and is then left out. TEXT: for people to read and edit; it
is refused or read as it stands."""

GROUPS = {
    **dict.fromkeys((".table", ".data", ".bits", ".checkpoint"), "tables and records"),
    ".safetensors": "networks and states",
    ".npz": "certificates and labels",
    ".games": "games",
    ".book": "book and answers",
    ".sqlite": "book and answers",
}


@dataclass(frozen=True)
class Reader:
    """A command that reads files below the folder that it is run in."""

    command: tuple[str, ...]
    leaves: tuple[str, ...] = ()
    """Files or folders that it writes, which must be right too if it does not refuse."""
    is_slow: bool = False
    """Whether it is given fewer damaged files than the others."""
    reports_first: bool = False
    """Whether it prints what it has found before it says what was wrong with a file."""
    only_looks: bool = False
    """Whether it says what there is, without going on from there."""

    @property
    def name(self) -> str:
        return " ".join(self.command)

    def run(self, here: Path) -> Ended:
        return run(here, *self.command, prepare=quickly)


@dataclass(frozen=True)
class Kind:
    """A kind of file, one such file, its readers, and what it promises."""

    name: str
    file: str
    readers: tuple[Reader, ...]
    promise: str = CHECKED

    @property
    def group(self) -> str:
        """The line of the table that trials with it belong to."""
        path = Path(self.file)
        if self.promise == TEXT:
            return "text"
        return "manifests" if path.suffix == ".json" else GROUPS[path.suffix]


@dataclass(frozen=True)
class Result:
    """What a reader makes of files: its exit code, what it prints and what it leaves."""

    code: int
    report: Any
    left: Contents


def result_of(reader: Reader, here: Path, ended: Ended) -> Result:
    try:
        report = without_times(json.loads(ended.out))
    except ValueError:
        report = ended.out
    return Result(ended.code, report, contents(here, reader.leaves) if reader.leaves else {})


def replace_file(path: Path, data: bytes) -> None:
    """Other bytes under this name, without touching what else is linked to the file."""
    path.unlink()
    path.write_bytes(data)


def _without(file: str, result: Result) -> Result:
    """What counts is what a reader makes of a file, not that the file is as it was damaged."""
    return replace(result, left={name: what for name, what in result.left.items() if name != file})


def judged(
    kind: Kind, reader: Reader, here: Path, damaged: bytes, right: Result, *, is_cut: bool = False
) -> Verdict:
    """Runs a reader on a damaged file.

    right: what it makes of the good one. is_cut: the file ends too early or too late.
    """
    path = here / kind.file
    replace_file(path, damaged)
    ended = reader.run(here)
    said = replace(ended, out="") if reader.reports_first and ended.code == 2 else ended
    problems = problems_with(said, (0, 1, 2))
    if _without(kind.file, result_of(reader, here, ended)) == _without(kind.file, right):
        ending = "no harm done"
    elif ended.code == 2 or (ended.code == 1 and right.code == 0):
        ending = "refused"
        if kind.promise != TEXT and not names(said, kind.file):  # of text, a value may be named
            problems.append(f"the damaged file is not named: {ended}")
        if path.read_bytes() != damaged:
            problems.append(f"the damaged file was changed: {ended}")
    elif kind.promise == TEXT:
        ending = "read as it stands"
    elif kind.promise == APPENDED and is_cut and reader.only_looks:
        ending = "read as far as it is whole"
    else:
        ending = "accepted"
        problems.append(f"accepted silently, with another result: {reader.name}")
    return Verdict(ending, tuple(problems))
