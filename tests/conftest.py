"""Fixtures that several test files share: the command, kill -9, solved folders, the truth."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import blank_curves
import brute_force
import numpy as np
import pytest
import slow
from kills import Killer
from plain_records import TRUTH, Pair, Record, claim_of, encode, least_image, sides_of

from azfit import main
from solver import DenseTable, Rules, Solution, merge, solve, swap_colours, write_table, write_wins
from solver.kernels import Crew
from solver.storage import writing_in
from solver.table import table_path

# The processes of the tests share the cores: one thread of torch for each, set before it is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
blank_curves.install()
# A shell's background job ignores Ctrl-C, and so would every command that the tests start there.
signal.signal(signal.SIGINT, signal.default_int_handler)

KilledAtLine = Callable[[int, ModuleType, Callable[[], object]], bool]
MadeOnce = Callable[[str, Callable[[Path], object]], Path]


LONGEST = ("test_first_hour.py", "test_self_play_runs.py", "test_learning_cli.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests begin first, so that no process is left alone with one at the end."""
    items.sort(key=lambda item: item.path.name not in LONGEST)
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(slow.page)
    if not slow.ASKED_FOR:
        for item in items:
            if item.get_closest_marker("slow") is not None:
                item.add_marker(pytest.mark.skip("minutes: set FADEFOUR_SLOW_TESTS=1"))


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def run_cli(*arguments: str | Path) -> Outcome:
    """Runs ``fadefour`` in this process, from ``main`` on, as the console script does."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    kept, sys.argv = sys.argv, ["fadefour", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main.main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.argv = kept
    return Outcome(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def fadefour() -> Callable[..., Outcome]:
    return run_cli


@pytest.fixture(scope="session")
def killed_at_line() -> Iterator[KilledAtLine]:
    """Runs work in a child that dies before a line of a module; False once it ends before."""
    with Killer() as killer:
        yield killer.killed_at_line


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


# ---- what is solved and learned once ------------------------------------------------------------


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    """Makes a folder by its name and what fills it, once for all of pytest-xdist's processes."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    def folder_of(name: str, fill: Callable[[Path], object]) -> Path:
        with writing_in(shared / f"{name}.lock", wait=True):
            if not (shared / name).exists():
                pending = tmp_path_factory.mktemp(name)
                fill(pending)
                pending.rename(shared / name)
        return shared / name

    return folder_of


@pytest.fixture(scope="session")
def rules33() -> Rules:
    return Rules(3, 3, 3)


@pytest.fixture(scope="session")
def truth33(made_once: MadeOnce) -> dict[brute_force.Position, brute_force.Value]:
    """Every position of D(3, 3, 3), reachable or not, valued without any product code."""

    def solve_plainly(folder: Path) -> None:
        values = brute_force.solve(brute_force.all_positions(3, 3, 3), 3, 3, 3)
        (folder / "values").write_bytes(pickle.dumps(values))

    values: TRUTH = pickle.loads((made_once("truth33", solve_plainly) / "values").read_bytes())
    return values


@pytest.fixture(scope="session")
def solved33(made_once: MadeOnce, rules33: Rules) -> Path:
    """A folder with the table, both players' wins and the game tree of D(3, 3, 3). Read only."""

    def write_all(folder: Path) -> None:
        solution = solve(rules33)
        write_table(folder, solution)
        with Crew() as crew:
            swapped = swap_colours(rules33, solution.table, crew)
            for kind in ("xwin", "ywin"):
                write_wins(folder, kind, rules33, solution.table, swapped, crew)
        merge(folder, rules33)

    return made_once("solved33", write_all)


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
def solved44(made_once: MadeOnce) -> Path:
    """A folder with the table of D(4, 4, 4), solved by two threads. Read only."""

    def solve_and_write(folder: Path) -> None:
        solution = solve(Rules(), threads=2)
        write_table(folder, solution)
        np.save(folder / "counts.npy", solution.counts)

    return made_once("solved44", solve_and_write)


@pytest.fixture(scope="session")
def solution44(solved44: Path) -> Solution:
    """D(4, 4, 4) as it was solved. Read only."""
    table = np.memmap(table_path(solved44, Rules()), np.uint8, "r")
    return Solution(Rules(), table, np.load(solved44 / "counts.npy"))


@pytest.fixture(scope="session")
def table44(solved44: Path) -> DenseTable:
    """The dense table of D(4, 4, 4)."""
    return DenseTable(table_path(solved44, Rules()), Rules())


@pytest.fixture(scope="session")
def learned33(made_once: MadeOnce, solved33: Path) -> Path:
    """A folder with a run of the quick preset on D(3, 3, 3) and its report. Read only."""

    def train(folder: Path) -> None:
        options = ("--n", "3", "--m", "3", "--data", solved33, "--threads", "1", "--json")
        ended = run_cli("train-from-oracle", "--run", folder / "run", "--preset", "quick", *options)
        assert ended.code == 0, ended.err
        (folder / "report.json").write_text(ended.out)

    return made_once("learned33", train)


@pytest.fixture
def drawn_curves() -> Iterator[None]:
    """Runs end with the real picture of their curves."""
    with blank_curves.really_drawn():
        yield


@pytest.fixture
def without_waiting_for_the_disk() -> Iterator[None]:
    """A killed process loses nothing that it has handed to the system, so most tests of files go
    without fsync; that it happens, and when, is a test of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


# ---- fadefour serve -----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def web_data(solved33: Path, solved44: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with D(3, 3, 3), table and game tree, the table of D(4, 4, 4), and the scores of
    some Connect Four openings."""
    from web_folders import write_openings

    folder = Path(shutil.copytree(solved33, tmp_path_factory.mktemp("web") / "data"))
    table = table_path(solved44, Rules())
    for name in (table.name, f"{table.name}.json"):
        os.link(solved44 / name, folder / name)
    write_openings(folder)
    return folder


@pytest.fixture(scope="session")
def web_runs(made_once: MadeOnce, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs of both kinds, with networks of all games."""
    from web_folders import write_runs

    made = made_once("web_runs", lambda folder: write_runs(folder / "runs")) / "runs"
    return Path(shutil.copytree(made, tmp_path_factory.mktemp("web") / "runs"))


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of self-play with metrics, games and a network, for tests of the page that leave it as
    it is; others import a folder of their own."""
    from browser import write_run

    folder = tmp_path_factory.mktemp("runs")
    write_run(folder / "small")
    return folder


@pytest.fixture(scope="session")
def server(web_data: Path, runs: Path) -> Iterator[str]:
    """The address of a server for the page, of one process for all tests that leave it as it is."""
    from browser import need_browser
    from web_server import ServerProcess

    need_browser()
    with ServerProcess(web_data, runs) as process:
        yield process.url


@pytest.fixture(scope="session")
def web(web_data: Path, web_runs: Path) -> Iterator[Any]:
    """The application, in this process."""
    from web_server import InProcess

    with InProcess(web_data, web_runs) as application:
        yield application


@pytest.fixture(scope="session")
def web_server(web_data: Path, web_runs: Path) -> Iterator[Any]:
    """A server in a process of its own; for tests that leave it as it is."""
    from web_server import ServerProcess

    with ServerProcess(web_data, web_runs) as server:
        yield server
