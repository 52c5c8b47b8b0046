"""The commands as a user meets them: what they print, write and refuse."""

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
from mismatched_counting import canonical, symmetries
from plain_moves import Truth, goodness, moves_of

import cli
from solver.errors import InputError
from solver.storage import writing_in

CHILD = multiprocessing.get_context("fork")
SCRIPT = str(Path(__file__).parents[1] / "cli.py")
VARIANT33 = ("--n", "3", "--m", "3")
Fadefour = Callable[..., Any]
RESULT = {1: "win", 0: "draw", -1: "loss"}

cli.add_commands()
COMMANDS = cli.cli.commands


def run_script(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def cell_name(cell: int, n: int = 3) -> str:
    return "abcde"[cell % n] + str(cell // n + 1)


def cell_number(name: str, n: int = 3) -> int:
    return "abcde".index(name[0]) + n * (int(name[1]) - 1)


def notation(position: brute_force.Position) -> str:
    x, y, side = position
    queues = ["".join(map(cell_name, queue)) or "-" for queue in (x, y)]
    return f"{queues[0]}/{queues[1]} {'xy'[side]}"


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
    code += "; import cli; cli.add_commands(); print('torch' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "False"
    assert run_script("--help").returncode == 0


# ---- probe --------------------------------------------------------------------------------------


def probe(fadefour: Fadefour, folder: Path, position: str, *options: str) -> dict[str, Any]:
    ended = fadefour("probe", position, *VARIANT33, "--data", folder, "--json", *options)
    assert (ended.code, ended.err) == (0, "")
    return dict(json.loads(ended.out))


def test_probe_tells_what_brute_force_finds(
    solved33: Path, truth33: Truth, fadefour: Fadefour
) -> None:
    """JSON keys and their values, for positions of every size and result."""
    sample = [*list(truth33)[::2003], next(p for p, v in truth33.items() if v == (1, 17))]
    seen = set()
    for position in sample:
        result, plies = truth33[position]
        report = probe(fadefour, solved33, notation(position))
        assert list(report) == ["position", "result", "plies", "moves", "line"]
        assert report["position"] == notation(position)
        assert (report["result"], report["plies"]) == (RESULT[result], plies)
        expected = moves_of(position, truth33)
        moves = [
            (cell_number(move["cell"]), move["result"], move["plies"]) for move in report["moves"]
        ]
        assert all(list(move) == ["cell", "result", "plies"] for move in report["moves"])
        assert sorted(moves) == [
            (cell, RESULT[won], depth) for cell, (won, depth) in sorted(expected.items())
        ]
        worth = [goodness(expected[cell]) for cell, _, _ in moves]
        assert worth == sorted(worth, reverse=True), "best first"
        seen.add((result, plies == 0))
    assert seen == {(1, False), (0, False), (-1, False), (-1, True)}


def test_probe_of_the_start(solved33: Path, fadefour: Fadefour) -> None:
    """The first player wins in 13; as a script, since the shell sees a leading dash."""
    report = probe(fadefour, solved33, "-/- x")
    assert (report["position"], report["result"], report["plies"]) == ("-/- x", "win", 13)
    assert [move["cell"] for move in report["moves"] if move["plies"] == 13] == [
        "b1",
        "a2",
        "c2",
        "b3",
    ]
    for words in (("-/- x", *VARIANT33), (*VARIANT33, "-/- x"), (*VARIANT33, "--", "-/- x")):
        ended = run_script("probe", "--data", solved33, *words)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.startswith("-/- x: X to move, win in 13 plies")


def test_the_line_of_a_decided_position_ends_in_the_promised_ply_by_the_rules(
    solved33: Path, truth33: Truth, fadefour: Fadefour
) -> None:
    decided = [p for p, (result, plies) in truth33.items() if result and plies and plies > 2]
    for position in [brute_force.START, *decided[::1999]]:
        result, plies = truth33[position]
        line = [cell_number(cell) for cell in probe(fadefour, solved33, notation(position))["line"]]
        assert len(line) == plies
        before = position
        for cell in line:
            assert not brute_force.is_over(before, 3, 3)
            empty = [c for c in range(9) if c not in before[0] and c not in before[1]]
            before = brute_force.successors(before, 3, 3, 3)[empty.index(cell)]
        assert brute_force.is_over(before, 3, 3)
        winner = 1 - before[2]
        assert (winner == position[2]) == (result == 1)


def test_the_line_of_a_draw_stays_drawn(solved33: Path, truth33: Truth, fadefour: Fadefour) -> None:
    position = next(p for p, value in truth33.items() if value == (0, None))
    line = probe(fadefour, solved33, notation(position))["line"]
    assert line
    for cell in map(cell_number, line):
        empty = [c for c in range(9) if c not in position[0] and c not in position[1]]
        position = brute_force.successors(position, 3, 3, 3)[empty.index(cell)]
        assert truth33[position] == (0, None)


def test_symmetric_positions_have_symmetric_answers(
    solved33: Path, truth33: Truth, fadefour: Fadefour
) -> None:
    for x, y, side in list(in_truth_with_moves(truth33))[::4001]:
        report = probe(fadefour, solved33, notation((x, y, side)))
        moves = {cell_number(m["cell"]): (m["result"], m["plies"]) for m in report["moves"]}
        for image in symmetries(3):
            turned = tuple(image[c] for c in x), tuple(image[c] for c in y), side
            other = probe(fadefour, solved33, notation(turned))
            assert (other["result"], other["plies"]) == (report["result"], report["plies"])
            assert {cell_number(m["cell"]): (m["result"], m["plies"]) for m in other["moves"]} == {
                image[cell]: value for cell, value in moves.items()
            }


def in_truth_with_moves(truth: Truth) -> Iterator[brute_force.Position]:
    return (position for position, (_, plies) in truth.items() if plies != 0)


def test_probe_draws_the_board_with_the_ages_of_the_pieces(
    solved33: Path, fadefour: Fadefour
) -> None:
    ended = fadefour("probe", "a1b1c3/a2b2 y", *VARIANT33, "--data", solved33)
    assert ended.code == 0
    rows = [line.split("|")[1].split() for line in ended.out.splitlines() if "|" in line]
    assert rows == [["·", "·", "X3"], ["Y1", "Y2", "·"], ["X1", "X2", "·"]]
    assert "Y to move, win in 1 ply" in ended.out
    assert "Best line: Y c2" in ended.out


def test_probe_reads_a_table_or_a_game_tree_by_name(solved33: Path, fadefour: Fadefour) -> None:
    answers = [
        probe(fadefour, Path("nowhere"), "a1/b2 x", "--table", str(solved33 / name))
        for name in ("solved_3x3_m3.table", "game_tree_3x3_m3.data")
    ]
    assert answers[0] == answers[1] == probe(fadefour, solved33, "a1/b2 x")


@pytest.mark.parametrize("name", ["solved_3x3_m3.table", "game_tree_3x3_m3.data"])
def test_the_variant_is_read_from_the_table_that_is_named(
    solved33: Path, fadefour: Fadefour, name: str
) -> None:
    ended = fadefour("probe", "-/- x", "--table", solved33 / name)
    assert ended.code == 0 and "X to move, win in 13 plies" in ended.out, ended.err
    ended = fadefour("verify-defense", "--positions", 10, "--table", solved33 / name)
    assert ended.code == 0, ended.err
    ended = fadefour("probe", "-/- x", "--m", 4, "--table", solved33 / name)
    assert ended.code == 2 and "was made for drop-oldest n=3 m=3 k=3" in ended.err


def test_a_device_is_not_called_a_folder_without_a_table(fadefour: Fadefour) -> None:
    ended = fadefour("probe", "-/- x", "--table", "/dev/urandom")
    assert ended.err == "fadefour: cannot read table '/dev/urandom': it is a device\n"


def test_the_counts_of_a_solve_add_up(tmp_path: Path, fadefour: Fadefour) -> None:
    ended = fadefour("solve", *VARIANT33, "--data", tmp_path, "--table-only")
    numbers = [int(word.replace(",", "")) for word in re.findall(r"\d[\d,]* (?=[a-z])", ended.out)]
    positions, won, lost, drawn, impossible = numbers[:5]
    assert positions == won + lost + drawn + impossible == 9_910
    assert "720 cannot occur" in ended.out


# ---- bad use ------------------------------------------------------------------------------------

BAD_USE: dict[str, tuple[str, ...]] = {
    "bad cell": ("probe", "a1d2/b1 y", *VARIANT33),
    "no cell": ("probe", "a1b/b1 y", *VARIANT33),
    "no position": ("probe", "hello", *VARIANT33),
    "empty position": ("probe", "", *VARIANT33),
    "line breaks": ("probe", "a1\nb2/c3 y\n", *VARIANT33),
    "two pieces on a cell": ("probe", "a1/a1 x", *VARIANT33),
    "wrong counts": ("probe", "a1b1/- x", *VARIANT33),
    "wrong side": ("probe", "a1/- x", *VARIANT33),
    "too many pieces": ("probe", "a1b1c2a3/a2b2c3 y", *VARIANT33),
    "impossible position": ("probe", "a1b1c1/a2b2a3 x", *VARIANT33),
    "board too large": ("probe", "-/- x", "--n", "6"),
    "board too small": ("stats", "--n", "2"),
    "too many pieces for the board": ("solve", "--n", "3", "--m", "5"),
    "line longer than the board": ("verify", "--n", "3", "--m", "3", "--k", "4"),
    "missing table": ("probe", "-/- x", "--n", "4", "--m", "2"),
    "missing table for stats": ("stats", "--n", "4", "--m", "2"),
    "missing table for summary": ("summary", "--n", "4", "--m", "2"),
    "missing table for export": ("export", "--out", "NEW", "--n", "4", "--m", "2"),
    "nothing to merge": ("merge", "--n", "4", "--m", "2"),
    "nothing to verify": ("verify", "--n", "4", "--m", "2"),
    "missing file": ("probe", "-/- x", *VARIANT33, "--table", "nowhere.table"),
    "missing records": ("probe", "-/- x", *VARIANT33, "--table", "nowhere.data"),
    "table of other rules": ("probe", "-/- x", "--n", "4", "--table", "DATA/solved_3x3_m3.table"),
    "device as table": ("probe", "-/- x", "--table", "/dev/urandom"),
    "no threads": ("solve", *VARIANT33, "--threads", "0"),
    "less than no threads": ("verify", *VARIANT33, "--threads", "-1"),
    "too many threads": ("stats", *VARIANT33, "--threads", "100000"),
    "two kinds of only": ("solve", *VARIANT33, "--table-only", "--stats-only"),
    "checkpoints in the past": ("solve", *VARIANT33, "--checkpoint-minutes", "-1"),
    "checkpoints at no time": ("solve", *VARIANT33, "--checkpoint-minutes", "nan"),
    "checkpoints never": ("solve", *VARIANT33, "--checkpoint-minutes", "inf"),
    "no name for a folder": ("stats", *VARIANT33, "--data", ""),
    "no name for a folder to solve in": ("solve", *VARIANT33, "--data", ""),
    "no name for a table": ("probe", "-/- x", *VARIANT33, "--table", ""),
    "no name for a picture": ("stats", *VARIANT33, "--png", ""),
    "no positions to defend": ("verify-defense", *VARIANT33, "--positions", "0"),
    "too many positions to defend": ("verify-defense", *VARIANT33, "--positions", str(10**30)),
    "negative seed of play": ("verify-defense", *VARIANT33, "--seed", "-1"),
    "no threads to defend": ("verify-defense", *VARIANT33, "--threads", "0"),
    "picture in place of a folder": ("stats", *VARIANT33, "--png", "DATA"),
    "picture on a device": ("stats", *VARIANT33, "--png", "/dev/null"),
    "existing folder": ("export", *VARIANT33, "--out", "DATA"),
    "share of one": ("export", *VARIANT33, "--out", "NEW", "--validation", "1"),
    "negative share": ("export", *VARIANT33, "--out", "NEW", "--validation", "-0.1"),
    "share that is no number": ("export", *VARIANT33, "--out", "NEW", "--validation", "nan"),
    "empty shards": ("export", *VARIANT33, "--out", "NEW", "--shard", "0"),
    "empty sample": ("export", *VARIANT33, "--out", "NEW", "--sample", "0"),
    "negative seed": ("export", *VARIANT33, "--out", "NEW", "--sample", "5", "--seed", "-1"),
    "folder below a file": ("export", *VARIANT33, "--out", "DATA/solved_3x3_m3.table/new"),
    "picture below a file": ("stats", *VARIANT33, "--png", "DATA/solved_3x3_m3.table/a.png"),
    "unknown command": ("dissolve",),
    "unknown option": ("solve", "--fast"),
    "unknown option of probe": ("probe", "-/- x", *VARIANT33, "--fast"),
    "unknown player": ("solve", "--player", "z"),
    "no number": ("solve", "--threads", "two"),
    "no position given": ("probe", *VARIANT33),
    "no folder given": ("export", *VARIANT33),
    "file as folder": ("stats", *VARIANT33, "--data", "DATA/solved_3x3_m3.table"),
}


@pytest.mark.parametrize("use", BAD_USE)
def test_bad_use_is_one_line_and_exit_code_2(
    solved33: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fadefour: Fadefour,
    use: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(solved33.iterdir())
    command = [word.replace("DATA", str(solved33)) for word in BAD_USE[use]]
    if "--data" not in command and len(command) > 1 and use != "unknown option":
        command[1:1] = ["--data", str(solved33)]
    ended = fadefour(*command)
    assert ended.code == 2
    assert ended.out == ""
    assert re.fullmatch(r"[^\n]+\n", ended.err), ended.err
    assert "Traceback" not in ended.err
    assert sorted(solved33.iterdir()) == before
    assert list(tmp_path.iterdir()) == []


def test_bad_use_as_a_script_shows_no_traceback(solved33: Path) -> None:
    ended = run_script("probe", "a1b1c1/a2b2a3 x", *VARIANT33, "--data", solved33)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert re.fullmatch(r"fadefour: 'a1b1c1/a2b2a3 x' cannot occur: [^\n]*\n", ended.stderr)


def test_a_folder_without_a_name_is_refused_by_every_command() -> None:
    """--data "" would be the current folder."""
    options = [
        option
        for command in COMMANDS.values()
        for option in command.params
        if "--data" in option.opts
    ]
    assert len(options) >= 12
    for option in options:
        with pytest.raises(InputError, match="--data '' is empty: give a name"):
            option.type.convert("", option, None)


def test_targets_that_cannot_be_written_are_refused_before_the_work(
    copy33: Path, tmp_path: Path, fadefour: Fadefour, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(*arguments: Any, **options: Any) -> None:
        raise AssertionError("work began")

    for work in ("solve_variant", "count_values", "merge_wins"):
        monkeypatch.setattr(f"solver.commands.{work}", too_late)
    taken = tmp_path / "taken"
    for name in ("ywin_3x3_m3.data", "game_tree_3x3_m3.data"):
        (taken / name).mkdir(parents=True)
    for command in (
        ("solve", *VARIANT33, "--data", taken),
        ("merge", *VARIANT33, "--data", taken),
        ("stats", *VARIANT33, "--data", copy33, "--png", taken),
        ("stats", *VARIANT33, "--data", copy33, "--png", copy33 / "solved_3x3_m3.table" / "x.png"),
    ):
        ended = fadefour(*command)
        assert (ended.code, ended.out) == (2, ""), command
        assert re.fullmatch(r"fadefour: [^\n]*(cannot write|is a directory)[^\n]*\n", ended.err)


def test_data_below_a_file_is_one_line(solved33: Path, fadefour: Fadefour) -> None:
    folder = solved33 / "solved_3x3_m3.table" / "data"
    ended = fadefour("solve", *VARIANT33, "--data", folder, "--json")
    assert (ended.code, ended.out) == (2, "")
    assert re.fullmatch(r"fadefour: cannot write in [^\n]+\n", ended.err)


# ---- solve and its estimate ---------------------------------------------------------------------


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
    ids=str,
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
