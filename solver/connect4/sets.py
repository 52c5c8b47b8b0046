"""Files of Connect Four positions with their scores, and the solver held against them.

A line is ``MOVES SCORE``, as in ``44433 -3``; ``solver.connect4`` says what both mean. Such sets
are the usual benchmark of Connect Four solvers. None is included: the environment variable
``FADEFOUR_CONNECT4_SETS`` names the folder that holds them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from solver.connect4.position import Connect4Position
from solver.connect4.solver import HIGHEST, Connect4Solver
from solver.errors import InputError
from solver.progress import Progress, Silent

SETTING = "FADEFOUR_CONNECT4_SETS"

SHOWN = 10  # wrong positions of each file


class Scored(NamedTuple):
    """A position and the score that a file gives it; None where it gives none."""

    position: Connect4Position
    score: int | None


def set_files() -> list[Path]:
    """The sets in the folder that the setting names, in order of name; none without the setting."""
    folder = os.environ.get(SETTING)
    return sorted(Path(folder).glob("*.txt")) if folder else []


def read_set(path: Path) -> list[Scored]:
    """The positions of a file. One clear error names the first line that is not one."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not plain text"
        raise InputError(f"cannot read '{path}' ({why}): give lines of MOVES SCORE") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        words = line.split()
        try:
            if len(words) != 2:
                raise InputError(f"{line.strip()!r}: a line is MOVES SCORE, as in '44433 -3'")
            found.append(Scored(Connect4Position.parse(words[0]), _score(words[1])))
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
    if not found:
        raise InputError(f"'{path}' has no positions: give lines of MOVES SCORE")
    return found


def _score(text: str) -> int:
    try:
        score = int(text)
    except ValueError:
        score = HIGHEST
    if abs(score) >= HIGHEST:
        raise InputError(f"score {text!r}: scores are -{HIGHEST - 1} to {HIGHEST - 1}")
    return score


@dataclass
class SetCheck:
    """How the solver did on one file."""

    name: str
    total: int
    correct: int = 0
    nodes: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)
    """The first positions with another score than the file's, in words."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "set": self.name,
            "positions": self.total,
            "correct": self.correct,
            "mean_nodes": self.nodes / self.total,
            "mean_ms": 1000 * self.seconds / self.total,
            "seconds": self.seconds,
            "wrong": self.wrong,
        }


def verify_sets(
    paths: Sequence[Path], solver: Connect4Solver, progress: Progress | None = None
) -> list[SetCheck]:
    """Solves every position of every file; all files are read before the first is solved."""
    report = progress or Silent()
    sets = [(path.name, read_set(path)) for path in paths]
    return [_verify(name, positions, solver, report) for name, positions in sets]


def _verify(
    name: str, positions: list[Scored], solver: Connect4Solver, report: Progress
) -> SetCheck:
    check = SetCheck(name, len(positions))
    report.begin(name, len(positions), "position")
    before, began = solver.nodes, time.perf_counter()
    for done, (position, score) in enumerate(positions, 1):
        found = solver.score(position)
        if found == score:
            check.correct += 1
        elif len(check.wrong) < SHOWN:
            check.wrong.append(f"'{position}': the file says {score}, the solver {found}")
        report.reach(done)
    check.nodes, check.seconds = solver.nodes - before, time.perf_counter() - began
    report.end(f"{check.correct:,} of {check.total:,} correct")
    return check
