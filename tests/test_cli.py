"""The solver's commands as a user meets them: what they print and write."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from math import perm
from pathlib import Path
from typing import Any

import brute_force
import pytest
from command_line import SCRIPT, VARIANT33, Fadefour, cell_number, run_script
from mismatched_counting import canonical, symmetries
from plain_moves import Truth

from azfit import main
from solver.storage import writing_in

CHILD = multiprocessing.get_context("fork")
main.add_commands()
COMMANDS = main.cli.commands


# ---- help ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_shows_an_example(fadefour: Fadefour, name: str) -> None:
    ended = fadefour(name, "--help")
    assert ended.code == 0
    assert re.search(rf"Examples?:\n +fadefour {name}", ended.out)
    assert ended.err == ""


def test_the_commands_of_the_issue_are_there_with_their_common_options() -> None:
    for name in ("solve", "merge", "verify", "probe", "stats", "export"):
        options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
        assert {"--n", "--m", "--k", "--data", "--threads", "--json"} <= options
        defaults = {parameter.name: parameter.default for parameter in COMMANDS[name].params}
        assert (defaults["n"], defaults["m"], str(defaults["data"])) == (4, 4, "data")


def test_help_as_a_script_answers_without_loading_the_learner() -> None:
    code = f"import sys, runpy; sys.argv = ['cli.py', '--help']; runpy.run_path({SCRIPT!r})"
    code += "; from azfit import main; main.add_commands(); print('torch' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "False"
    assert run_script("--help").returncode == 0


# ---- solve and its estimate ---------------------------------------------------------------------


def test_the_counts_of_a_solve_add_up(tmp_path: Path, fadefour: Fadefour) -> None:
    ended = fadefour("solve", *VARIANT33, "--data", tmp_path, "--table-only")
    numbers = [int(word.replace(",", "")) for word in re.findall(r"\d[\d,]* (?=[a-z])", ended.out)]
    positions, won, lost, drawn, impossible = numbers[:5]
    assert positions == won + lost + drawn + impossible == 9_910
    assert "720 cannot occur" in ended.out


def orbits(n: int, pieces: int) -> int:
    """Burnside: ordered placements of so many pieces, up to the eight symmetries."""
    fixed = [sum(image[cell] == cell for cell in range(n * n)) for image in symmetries(n)]
    return sum(perm(cells, pieces) for cells in fixed) // 8


@pytest.mark.parametrize(("n", "m"), [(3, 3), (4, 4), (4, 5), (5, 5)])
def test_the_estimate_knows_the_number_of_positions(
    tmp_path: Path, fadefour: Fadefour, n: int, m: int
) -> None:
    nodes = sum(orbits(n, pieces) for pieces in range(2 * m + 1))
    command = ("solve", "--n", str(n), "--m", str(m), "--data", tmp_path / "new", "--estimate")
    ended = fadefour(*command, "--json")
    estimate = json.loads(ended.out)
    assert estimate["nodes"] == nodes
    assert estimate["memory_bytes"] >= nodes
    assert estimate["disk_bytes"] == nodes + 2 * (8 + 14 * nodes), "table and two files of records"
    words = fadefour(*command)
    assert f"{nodes:,} nodes" in words.out
    for what in ("memory", "disk", "roughly"):
        assert what in words.out
    assert list(tmp_path.iterdir()) == []
    fits = estimate["memory_bytes"] <= estimate["memory_available_bytes"]
    fits = fits and estimate["disk_bytes"] <= estimate["disk_available_bytes"]
    assert ended.code == (0 if fits else 2)
    table_only = json.loads(fadefour(*command, "--table-only", "--json").out)
    assert table_only["disk_bytes"] == nodes
    assert json.loads(fadefour(*command, "--stats-only", "--json").out)["disk_bytes"] == 0


def test_a_variant_that_cannot_fit_is_refused_with_the_figures(
    tmp_path: Path, fadefour: Fadefour
) -> None:
    nodes = sum(orbits(5, pieces) for pieces in range(11))
    for options in ((), ("--table-only",), ("--stats-only",)):
        ended = fadefour("solve", "--n", "5", "--m", "5", "--data", tmp_path / "new", *options)
        assert (ended.code, ended.out) == (2, "")
        assert re.fullmatch(
            rf"fadefour: not enough memory[^\n]* {nodes:,} nodes[^\n]*\n", ended.err
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ((), {"solved_3x3_m3.table", "xwin_3x3_m3.data", "ywin_3x3_m3.data"}),
        (("--player", "x"), {"solved_3x3_m3.table", "xwin_3x3_m3.data"}),
        (("--player", "y"), {"solved_3x3_m3.table", "ywin_3x3_m3.data"}),
        (("--table-only",), {"solved_3x3_m3.table"}),
        (("--stats-only",), None),
        (
            ("--checkpoint-minutes", "0", "--player", "x"),
            {"solved_3x3_m3.table", "xwin_3x3_m3.data"},
        ),
    ],
    ids=["all", "x", "y", "table only", "statistics only", "checkpoints"],
)
def test_solve_writes_what_was_asked_for_and_nothing_else(
    tmp_path: Path,
    solved33: Path,
    fadefour: Fadefour,
    options: tuple[str, ...],
    written: set[str] | None,
) -> None:
    folder = tmp_path / "data"
    ended = fadefour("solve", *VARIANT33, "--data", folder, "--json", *options)
    assert (ended.code, ended.err) == (0, "")
    report = json.loads(ended.out)
    assert (report["nodes"], report["deepest"]) == (9_910, 17)
    if written is None:
        assert not folder.exists()
        return
    assert {path.name for path in folder.iterdir()} == written | {f"{w}.json" for w in written}
    assert sorted(report["written"]) == sorted(str(folder / name) for name in written)
    for name in written:
        assert (folder / name).read_bytes() == (solved33 / name).read_bytes()


def test_solve_as_a_script_tells_how_it_gets_on(tmp_path: Path) -> None:
    """A line for every depth on standard error, the summary alone on standard output."""
    ended = run_script("solve", *VARIANT33, "--data", tmp_path)
    assert ended.returncode == 0
    depths = [int(depth) for depth in re.findall(r"^depth (\d+) ", ended.stderr, re.MULTILINE)]
    assert depths == list(range(1, 19)), "17 plies deep, and a pass that finds no more"
    assert len(ended.stdout.splitlines()) == 1
    assert ended.stdout.startswith("solved 3x3_m3: 9,910 positions")


# ---- one writer after the other -----------------------------------------------------------------


@contextlib.contextmanager
def held_by_another(folder: Path) -> Iterator[Callable[[], None]]:
    """Another process is the folder's writer; gives what makes it stop."""

    def hold(ready: Any, stop: Any) -> None:
        with writing_in(folder):
            ready.set()
            stop.wait()

    ready, stop = CHILD.Event(), CHILD.Event()
    child = CHILD.Process(target=hold, args=(ready, stop))
    child.start()
    ready.wait()
    try:
        yield stop.set
    finally:
        stop.set()
        child.join()


@pytest.mark.parametrize("command", ["solve", "merge"])
def test_a_second_writer_waits_for_the_first(copy33: Path, command: str) -> None:
    with held_by_another(copy33) as release:
        waiting = subprocess.Popen(
            [sys.executable, SCRIPT, command, *VARIANT33, "--data", copy33, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert waiting.stderr is not None
        notice = waiting.stderr.readline()
        assert notice == f"waiting for another fadefour that is writing to '{copy33}'\n"
        assert waiting.poll() is None
        release()
        out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, err) == (0, "")
    assert json.loads(out)


def test_ctrl_c_ends_the_waiting(copy33: Path) -> None:
    with held_by_another(copy33):
        waiting = subprocess.Popen(
            [sys.executable, SCRIPT, "solve", *VARIANT33, "--data", copy33],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert waiting.stderr is not None
        waiting.stderr.readline()
        waiting.send_signal(signal.SIGINT)
        out, _ = waiting.communicate(timeout=60)
    assert (waiting.returncode, out) == (130, "")


# ---- merge, stats, summary ----------------------------------------------------------------------


def test_merge_tells_what_it_wrote(copy33: Path, fadefour: Fadefour) -> None:
    ended = fadefour("merge", *VARIANT33, "--data", copy33, "--json")
    assert (ended.code, ended.err) == (0, "")
    report = json.loads(ended.out)
    path = copy33 / "game_tree_3x3_m3.data"
    assert report["file"] == str(path)
    assert report["bytes"] == path.stat().st_size == 8 + 14 * report["records"]
    assert report["complete"] is False


def test_merge_without_the_wins_of_y_says_what_to_run(copy33: Path, fadefour: Fadefour) -> None:
    (copy33 / "ywin_3x3_m3.data").unlink()
    ended = fadefour("merge", *VARIANT33, "--data", copy33)
    assert (ended.code, ended.out) == (2, "")
    assert re.fullmatch(
        r"fadefour: '.*ywin_3x3_m3.data' does not exist: run 'fadefour solve --player y .*\n",
        ended.err,
    )


def test_stats_count_what_brute_force_counts(
    solved33: Path, truth33: Truth, fadefour: Fadefour
) -> None:
    ended = fadefour("stats", *VARIANT33, "--data", solved33, "--json")
    assert (ended.code, ended.err) == (0, "")
    report = json.loads(ended.out)
    results = report["results"]
    assert report["nodes"] == sum(results.values()) == 9_910
    assert [row["nodes"] for row in report["slices"]] == [orbits(3, pieces) for pieces in range(7)]
    for name in ("nodes", *results):
        total = report["nodes"] if name == "nodes" else results[name]
        assert sum(row[name] for row in report["slices"]) == total
    for row in report["slices"]:
        assert row["nodes"] == sum(row[name] for name in results)
    by_depth: dict[int, int] = {}
    draws = 0
    for position, (_, plies) in truth33.items():
        _, y, side = position
        if (side == 1 and len(y) == 3) or canonical(position, 3) != position:
            continue
        if plies is None:
            draws += 1
        else:
            by_depth[plies] = by_depth.get(plies, 0) + 1
    assert {row["plies"]: row["nodes"] for row in report["depths"]} == by_depth
    assert all(row["result"] == ("win" if row["plies"] % 2 else "loss") for row in report["depths"])
    assert results["draw"] == draws
    assert results["finished"] == by_depth[0]
    assert results["win"] == sum(nodes for plies, nodes in by_depth.items() if plies % 2)
    assert report["deepest"] == max(by_depth) == 17
    words = fadefour("stats", *VARIANT33, "--data", solved33)
    assert words.code == 0
    assert re.search(r"^ *all +9,910 ", words.out, re.MULTILINE)


@pytest.mark.parametrize("name", ["depths.png", "depths"])
def test_stats_draw_a_png_under_the_name_given(
    solved33: Path, tmp_path: Path, fadefour: Fadefour, name: str
) -> None:
    command = ("stats", *VARIANT33, "--data", solved33, "--png", tmp_path / name)
    ended = fadefour(*command)
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == f"wrote {tmp_path / name}"
    assert json.loads(fadefour(*command, "--json").out)["png"] == str(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_a_game_that_nobody_can_win_is_counted_and_drawn(
    tmp_path: Path, fadefour: Fadefour
) -> None:
    """Two pieces make no line of three."""
    variant = ("--n", "3", "--m", "2", "--data", tmp_path)
    assert fadefour("solve", *variant, "--table-only").code == 0
    ended = fadefour("stats", *variant, "--png", tmp_path / "depths.png")
    assert ended.code == 0
    assert (tmp_path / "depths.png").read_bytes().startswith(b"\x89PNG")
    words = fadefour("summary", *variant).out
    assert "a draw" in words and "deepest" not in words
    assert fadefour("verify", *variant).code == 0


ONLY = {
    "wins": (["xwin_3x3_m3.data", "ywin_3x3_m3.data"], "fadefour merge --n 3 --m 3 --k 3 --data"),
    "wins of X": (["xwin_3x3_m3.data"], "fadefour solve --n 3 --m 3 --k 3 --data"),
}


@pytest.mark.parametrize("only", ONLY)
def test_folders_with_records_alone_say_what_to_run(
    solved33: Path, tmp_path: Path, fadefour: Fadefour, only: str
) -> None:
    names, remedy = ONLY[only]
    for name in names:
        for suffix in ("", ".json"):
            shutil.copy(solved33 / f"{name}{suffix}", tmp_path)
    ended = fadefour("probe", "-/- x", *VARIANT33, "--data", tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert re.fullmatch(rf"fadefour: '{tmp_path}' has [^\n]*'{remedy} {tmp_path}'\n", ended.err)
    for command in ("stats", "summary"):
        ended = fadefour(command, *VARIANT33, "--data", tmp_path)
        assert (ended.code, ended.out) == (2, "")
        assert re.fullmatch(
            rf"fadefour: '{tmp_path}' has {', '.join(names)}, but this needs the dense table "
            rf"solved_3x3_m3.table: run 'fadefour solve [^\n]* --data {tmp_path} --table-only'\n",
            ended.err,
        )


def test_the_summary_plays_out_the_deepest_win(
    solved33: Path, truth33: Truth, fadefour: Fadefour
) -> None:
    report = json.loads(fadefour("summary", *VARIANT33, "--data", solved33, "--json").out)
    assert report["start"] == {"result": "win", "plies": 13, "winner": "X"}
    assert report["deepest_plies"] == report["deepest_win"]["plies"] == 17
    queues, side = report["deepest_win"]["position"].split()
    x, y = (
        tuple(cell_number(name) for name in re.findall(r"[a-c][1-3]", queue))
        for queue in queues.split("/")
    )
    position = x, y, "xy".index(side)
    assert truth33[position] == (1, 17)
    for cell in map(cell_number, report["deepest_win"]["line"]):
        empty = [c for c in range(9) if c not in position[0] and c not in position[1]]
        position = brute_force.successors(position, 3, 3, 3)[empty.index(cell)]
    assert brute_force.is_over(position, 3, 3)
    words = fadefour("summary", *VARIANT33, "--data", solved33)
    assert words.code == 0
    assert "X wins in 13 plies" in words.out
