"""Fixtures that several test files share: solved folders, the truth, the command, kill -9."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import brute_force
import pytest
from plain_records import TRUTH, Pair, Record, claim_of, encode, least_image, sides_of

import cli
from solver import DenseTable, Rules, Solution, merge, solve, swap_colours, write_table, write_wins
from solver.kernels import Crew
from solver.table import table_path


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def run_cli(*arguments: str | Path) -> Outcome:
    """Runs ``fadefour`` in this process, from ``cli.main`` on, as the console script does."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    kept, sys.argv = sys.argv, ["fadefour", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.argv = kept
    return Outcome(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def fadefour() -> Callable[..., Outcome]:
    return run_cli


def kill_at_line(number: int, source: str) -> None:
    """From now on, this process dies by SIGKILL before the ``number``-th line run in a file."""
    left = number

    def each_line(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != source:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return each_line

    sys.settrace(each_line)


def killed_at_line(number: int, module: ModuleType, work: Callable[[], object]) -> bool:
    """Runs ``work`` in a child that is killed as above; False once it ends before that line."""

    def doomed() -> None:
        kill_at_line(number, str(module.__file__))
        work()

    child = multiprocessing.get_context("fork").Process(target=doomed)
    child.start()
    child.join()
    assert child.exitcode in (0, -signal.SIGKILL)
    return child.exitcode != 0


@pytest.fixture(scope="session", name="killed_at_line")
def killed_at_line_fixture() -> Callable[[int, ModuleType, Callable[[], object]], bool]:
    return killed_at_line


@pytest.fixture
def plain_user() -> Iterator[Path]:
    """A folder in which this process, while the test runs, has no more rights than a plain user."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)  # nobody
        try:
            yield Path(name)
        finally:
            if is_root:
                os.seteuid(0)


@pytest.fixture(scope="session")
def rules33() -> Rules:
    return Rules(3, 3, 3)


@pytest.fixture(scope="session")
def truth33() -> dict[brute_force.Position, brute_force.Value]:
    """Every position of D(3, 3, 3), reachable or not, valued without any product code."""
    return brute_force.solve(brute_force.all_positions(3, 3, 3), 3, 3, 3)


@pytest.fixture(scope="session")
def solved33(tmp_path_factory: pytest.TempPathFactory, rules33: Rules) -> Path:
    """A folder with the table, both players' wins and the game tree of D(3, 3, 3). Read only."""
    folder, solution = tmp_path_factory.mktemp("solved33"), solve(rules33)
    write_table(folder, solution)
    with Crew() as crew:
        swapped = swap_colours(rules33, solution.table, crew)
        for kind in ("xwin", "ywin"):
            write_wins(folder, kind, rules33, solution.table, swapped, crew)
    merge(folder, rules33)
    return folder


@pytest.fixture
def copy33(solved33: Path, tmp_path: Path) -> Path:
    """The same files, to be damaged."""
    return Path(shutil.copytree(solved33, tmp_path / "data"))


@pytest.fixture(scope="session")
def expected33(truth33: TRUTH) -> dict[Pair, Record]:
    """What every pair of queues of D(3, 3, 3), one for each orbit, must be recorded as."""
    pairs = {
        least_image((cells[:x_size], cells[x_size:]))
        for x_size, y_size in {sizes[:2] for sizes in brute_force.legal_sizes(3)}
        for cells in permutations(range(9), x_size + y_size)
    }
    records = {}
    for pair in pairs:
        fields = {0: (0, 0), 1: (0, 0)}
        for side in sides_of(pair):
            fields[side] = claim_of(truth33.get((*pair, side)), side)
        (dp0, depth0), (dp1, depth1) = fields[0], fields[1]
        records[pair] = Record(encode(*pair), dp0, dp1, depth0, depth1)
    return records


@pytest.fixture(scope="session")
def table33(solved33: Path, rules33: Rules) -> DenseTable:
    """The dense table of D(3, 3, 3)."""
    return DenseTable(table_path(solved33, rules33), rules33)


@pytest.fixture(scope="session")
def solution44() -> Solution:
    """D(4, 4, 4), solved once for the whole session, by two threads."""
    return solve(Rules(4, 4, 4), threads=2)


@pytest.fixture(scope="session")
def table44(solution44: Solution, tmp_path_factory: pytest.TempPathFactory) -> DenseTable:
    """The dense table of D(4, 4, 4)."""
    folder = tmp_path_factory.mktemp("solved44")
    write_table(folder, solution44)
    return DenseTable(table_path(folder, solution44.rules), solution44.rules)


@pytest.fixture
def without_waiting_for_the_disk() -> Iterator[None]:
    """A killed process loses nothing that it has handed to the system, so most tests of files go
    without fsync; that it happens, and when, is a test of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield
