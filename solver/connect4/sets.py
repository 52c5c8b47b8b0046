"""Files of Connect Four positions with their scores, and the solver compared with them.

A line is ``MOVES SCORE``, as in ``44433 -3``; ``solver.connect4`` says what both mean. Such sets
are the usual benchmark of Connect Four solvers. None is included: the environment variable
``FADEFOUR_CONNECT4_SETS`` names the folder that holds them.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from solver.connect4.book import SHIPPED, Book
from solver.connect4.pool import SolverPool
from solver.connect4.position import Connect4Position
from solver.connect4.solver import HIGHEST, Connect4Solver
from solver.errors import InputError
from solver.progress import Progress, Silent
from solver.storage import read_text_file
from solver.wording import quoted

SETTING = "FADEFOUR_CONNECT4_SETS"

SHOWN = 10  # wrong positions of each file

MOST_BYTES = 1 << 26  # more than a million positions
REMEDY = "give lines of MOVES SCORE"


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
    lines = read_text_file(path, MOST_BYTES, "set of positions", REMEDY).splitlines()
    scored = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        words = line.split()
        try:
            if len(words) != 2:
                raise InputError(f"{quoted(line.strip())}: a line is MOVES SCORE, as in '44433 -3'")
            scored.append(Scored(Connect4Position.parse(words[0]), _score(words[1])))
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
    if not scored:
        raise InputError(f"'{path}' has no positions: {REMEDY}")
    return scored


def _score(text: str) -> int:
    score = int(text) if re.fullmatch(r"[+-]?[0-9]{1,2}", text) else HIGHEST
    if abs(score) >= HIGHEST:
        raise InputError(f"score {quoted(text)}: scores are -{HIGHEST - 1} to {HIGHEST - 1}")
    return score


@dataclass
class SetCheck:
    """How the solver did on one file."""

    name: str
    total: int
    correct: int = 0
    nodes: int = 0
    seconds: float = 0.0
    """From the first position to the last."""
    search_seconds: float = 0.0
    """Search time, summed over threads: it can exceed the time that passed."""
    wrong: list[str] = field(default_factory=list)
    """The first positions with another score than the file's, in words."""

    @property
    def mean_nodes(self) -> float:
        return self.nodes / self.total

    @property
    def mean_ms(self) -> float:
        return 1000 * self.search_seconds / self.total

    def to_dict(self) -> dict[str, Any]:
        return {
            "set": self.name,
            "positions": self.total,
            "correct": self.correct,
            "mean_nodes": self.mean_nodes,
            "mean_ms": self.mean_ms,
            "seconds": self.seconds,
            "wrong": self.wrong,
        }


def verify_sets(
    paths: Sequence[Path],
    threads: int | None = None,
    progress: Progress | None = None,
    book: Book | None = SHIPPED,
) -> list[SetCheck]:
    """Solves every position of every file; all files are read before the first is solved.

    The scores do not depend on ``threads``.
    """
    sets = [(path.name, read_set(path)) for path in paths]
    with SolverPool(threads, book=book) as pool:
        return [_verify(name, positions, pool, progress or Silent()) for name, positions in sets]


def _verify(name: str, positions: list[Scored], pool: SolverPool, progress: Progress) -> SetCheck:
    check = SetCheck(name, len(positions))
    progress.begin(name, len(positions), "position")
    nodes, began = pool.nodes, time.perf_counter()
    searches = [pool.submit(partial(_timed_score, position)) for position, _ in positions]
    for done, ((position, score), search) in enumerate(zip(positions, searches, strict=True), 1):
        solved, seconds = search.result()
        check.search_seconds += seconds
        if solved == score:
            check.correct += 1
        elif len(check.wrong) < SHOWN:
            check.wrong.append(f"'{position}': the file says {score}, the solver {solved}")
        progress.reach(done)
    check.nodes, check.seconds = pool.nodes - nodes, time.perf_counter() - began
    progress.end(f"{check.correct:,} of {check.total:,} correct")
    return check


def _timed_score(position: Connect4Position, solver: Connect4Solver) -> tuple[int, float]:
    began = time.perf_counter()
    return solver.score(position), time.perf_counter() - began
