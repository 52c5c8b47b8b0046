"""Results without plies on disk: written whole, resumed, refused when damaged, read, verified."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import SCRIPT, VARIANT33
from damaged_files import DAMAGE, edit_manifest
from folders import names_in, snapshot
from interrupted_solves import Interrupted, SolveInterruptedError

from azfit.drop_oldest_players import TablePlayer, game_of
from azfit.grading.grade import grade
from azfit.players import RandomPlayer
from solver import CorruptTableError, InputError, Position, Rules, open_table, solve
from solver.checkpoint import ResultsCheckpointFile
from solver.index import look_up_positions, node_count
from solver.kernels import Crew
from solver.labels import labelled
from solver.manifest import NewFile
from solver.results import SolveState, solve_results
from solver.results_table import ResultsTable, results_bytes, results_path, write_results
from solver.statistics import Statistics
from solver.table import DenseTable, table_path, write_table
from solver.values import IMPOSSIBLE, RESULT_OF_BYTE, best_first
from solver.verify import verify_folder

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")
RULES33 = Rules(3, 3, 3)
RESULTS33 = ("solve", *VARIANT33, "--results-only")
Fadefour = Callable[..., Any]


def write(folder: Path, rules: Rules) -> Path:
    with Crew(1) as crew:
        write_results(folder, solve_results(rules), crew)
    return results_path(folder, rules)


@pytest.fixture(scope="module")
def both33(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dense table and the results of one variant."""
    folder = tmp_path_factory.mktemp("both")
    write_table(folder, solve(RULES33))
    write(folder, RULES33)
    return folder


@pytest.fixture
def results33(tmp_path: Path) -> Path:
    return write(tmp_path, RULES33)


# ---- solving and writing ------------------------------------------------------------------------


def test_the_command_prints_what_solve_prints(tmp_path: Path, fadefour: Fadefour) -> None:
    with_plies = fadefour("solve", *VARIANT33, "--table-only", "--data", tmp_path / "t", "--json")
    without = fadefour(*RESULTS33, "--data", tmp_path / "r", "--json")
    expected, printed = json.loads(with_plies.out), json.loads(without.out)
    assert printed.pop("written") == [str(results_path(tmp_path / "r", RULES33))]
    del expected["written"]
    assert printed == expected
    assert names_in(tmp_path / "r") == {"results_3x3_m3.bits", "results_3x3_m3.bits.json"}


def test_stats_only_writes_nothing(tmp_path: Path, fadefour: Fadefour) -> None:
    folder = ("--data", tmp_path / "none", "--json")
    counted = fadefour(*RESULTS33, "--stats-only", *folder)
    assert json.loads(counted.out) == Statistics.of(RULES33, solve(RULES33).counts).to_dict()
    assert not (tmp_path / "none").exists()


def test_one_thread_and_two_write_the_same_bytes(tmp_path: Path, fadefour: Fadefour) -> None:
    for threads in "12":
        folder = ("--data", tmp_path / threads, "--threads", threads)
        assert fadefour("solve", "--m", "3", "--k", "3", "--results-only", *folder).code == 0
    assert snapshot(tmp_path / "1") == snapshot(tmp_path / "2") != {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--table-only",), "--table-only and --results-only cannot be combined"),
        (("--player", "x"), "--player has no effect with --results-only"),
    ],
    ids=str,
)
def test_options_that_contradict_it_are_refused(
    tmp_path: Path, fadefour: Fadefour, options: tuple[str, ...], message: str
) -> None:
    ended = fadefour(*RESULTS33, *options, "--data", tmp_path / "none")
    assert ended.code == 2 and message in ended.err
    assert not (tmp_path / "none").exists()


def test_the_estimate_states_and_what_cannot_fit_is_refused(
    tmp_path: Path, fadefour: Fadefour
) -> None:
    large = ("solve", "--n", "5", "--m", "6", "--results-only", "--data", tmp_path)
    for options in (("--estimate",), ()):
        ended = fadefour(*large, *options)
        assert ended.code == 2
        assert re.search(r"not enough memory. 5x5_m6: .* needs [\d,.]+ GB of memory", ended.err)
    assert names_in(tmp_path) == set()
    small = json.loads(fadefour(*RESULTS33, "--estimate", "--data", tmp_path, "--json").out)
    assert small["disk_bytes"] == results_bytes(RULES33)


def test_solve_names_the_way_out_where_a_byte_per_position_is_too_much(
    tmp_path: Path, fadefour: Fadefour
) -> None:
    ended = fadefour("solve", "--n", "5", "--m", "5", "--data", tmp_path)
    assert ended.code == 2 and "use --results-only" in ended.err


def test_an_interrupted_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("solver.results_table.GROUPS_AT_A_TIME", 64)
    monkeypatch.setattr(NewFile, "commit", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write(tmp_path, RULES33)
    assert names_in(tmp_path) == set()


def test_a_file_in_many_parts_has_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = write(tmp_path, Rules(4, 3, 3)).read_bytes()
    monkeypatch.setattr("solver.results_table.GROUPS_AT_A_TIME", 64)
    monkeypatch.setattr("solver.results_table.SMALL_AT_A_TIME", 12)
    assert write(tmp_path, Rules(4, 3, 3)).read_bytes() == whole


# ---- checkpoints --------------------------------------------------------------------------------


class InterruptedAt(Interrupted, ResultsCheckpointFile):
    """Saves after every pass, and is interrupted after one of them."""

    def save_if_due(self, state: SolveState, depth: int) -> None:
        self._took = 0.0
        super().save_if_due(state, depth)


@pytest.mark.parametrize("rules", [Rules(3, 3, 3), Rules(4, 3, 3), Rules(3, 4, 3)], ids=str)
def test_a_solve_interrupted_after_any_pass_and_resumed_gives_the_same(
    tmp_path: Path, rules: Rules
) -> None:
    whole = solve_results(rules)
    passes = 0
    for depth in range(2, 254, 2):
        interrupted = InterruptedAt(tmp_path, rules, 0)
        interrupted.at_depth = depth
        try:
            solve_results(rules, checkpoints=interrupted)
        except SolveInterruptedError:
            passes += 1
        else:
            break
        resuming = InterruptedAt(tmp_path, rules, 0)
        resumed = solve_results(rules, threads=1 + passes % 2, checkpoints=resuming)
        assert resuming.resumed_from == depth
        assert np.array_equal(resumed.states, whole.states)
        assert np.array_equal(resumed.small, whole.small)
        assert np.array_equal(resumed.counts, whole.counts)
        resuming.discard()
        assert names_in(tmp_path) == set()
    assert passes >= 2


def test_a_solve_that_is_killed_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    variant = ("--m", "4", "--k", "3", "--results-only")
    command = [sys.executable, SCRIPT, "solve", *variant, "--data", str(tmp_path / "killed")]
    running = subprocess.Popen(
        [*command, "--checkpoint-minutes", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    checkpoint = tmp_path / "killed" / "solving_results_4x4_m4_k3.checkpoint"
    while not checkpoint.with_name(checkpoint.name + ".json").exists():
        assert running.poll() is None, "the solve ended without a checkpoint"
        time.sleep(0.005)
    running.kill()
    running.wait()
    assert not results_path(tmp_path / "killed", Rules(4, 4, 3)).exists()
    resumed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert resumed.returncode == 0, resumed.stderr
    assert "resume at depth" in resumed.stderr
    whole = write(tmp_path, Rules(4, 4, 3))
    assert names_in(tmp_path / "killed") == {whole.name, whole.name + ".json"}
    for name in (whole.name, whole.name + ".json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_without_room_for_a_checkpoint_the_solve_goes_on_and_says_so(tmp_path: Path) -> None:
    notices: list[str] = []
    checkpoints = ResultsCheckpointFile(tmp_path, RULES33, 0, 1 << 62, notices.append)
    solution = solve_results(RULES33, checkpoints=checkpoints)
    assert np.array_equal(solution.counts, solve(RULES33).counts)
    assert len(notices) == 1, "several depths had no room"
    assert "going on without a checkpoint" in notices[0] and "GB" in notices[0]
    assert names_in(tmp_path) == set()


CHECKPOINT_DAMAGE: dict[str, Callable[[Path], object]] = {
    name: DAMAGE[name]
    for name in ("truncated", "last bit flipped", "wrong version", "no manifest", "other variant")
} | {
    "no depth": lambda path: edit_manifest(path, lambda body: body["counts"].clear()),
    "a smaller depth": lambda path: edit_manifest(
        path, lambda body: body["counts"].update(depth=2)
    ),
    "an odd depth": lambda path: edit_manifest(path, lambda body: body["counts"].update(depth=7)),
    "a depth in words": lambda path: edit_manifest(
        path, lambda body: body["counts"].update(depth="six")
    ),
}


@pytest.mark.parametrize("damage", CHECKPOINT_DAMAGE)
def test_a_damaged_checkpoint_is_refused_in_one_line_with_the_way_out(
    tmp_path: Path, fadefour: Fadefour, damage: str
) -> None:
    interrupted = InterruptedAt(tmp_path, RULES33, 0)
    interrupted.at_depth = 6
    with pytest.raises(SolveInterruptedError):
        solve_results(RULES33, checkpoints=interrupted)
    CHECKPOINT_DAMAGE[damage](interrupted.path)
    before = snapshot(tmp_path)
    ended = fadefour(*RESULTS33, "--data", tmp_path, "--json")
    assert (ended.code, ended.out) == (2, "")
    assert re.fullmatch(r"fadefour: .*checkpoint.*: remove '.*' to start .*\n", ended.err)
    assert snapshot(tmp_path) == before


# ---- damage -------------------------------------------------------------------------------------


RESULTS_DAMAGE: dict[str, Callable[[Path], object]] = {
    name: damage for name, damage in DAMAGE.items() if name not in ("bit flipped", "other variant")
} | {
    "first bit flipped": lambda path: path.write_bytes(
        bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]
    ),
    "no counts": lambda path: edit_manifest(path, lambda body: body["counts"].clear()),
    "counts of fewer": lambda path: edit_manifest(
        path, lambda body: body["counts"]["bytes_by_slice"]["6"].popitem()
    ),
    "counts of words": lambda path: edit_manifest(
        path, lambda body: body["counts"]["bytes_by_slice"].update({"6": {"2": "many"}})
    ),
    "counts of a slice that is not": lambda path: edit_manifest(
        path, lambda body: body["counts"]["bytes_by_slice"].update({"99": {"2": 1}})
    ),
}


@pytest.mark.parametrize("damage", RESULTS_DAMAGE)
def test_a_damaged_file_is_refused_and_verify_says_so(
    results33: Path, fadefour: Fadefour, damage: str
) -> None:
    RESULTS_DAMAGE[damage](results33)
    with pytest.raises((CorruptTableError, InputError)), ResultsTable(results33, RULES33) as table:
        table.check_all()
        table.probe(RULES33.start())
    ended = fadefour("verify", *VARIANT33, "--data", results33.parent)
    assert ended.code == 1 and "FAILED" in ended.out


# ---- reading ------------------------------------------------------------------------------------


def test_every_position_probes_as_in_the_dense_table_without_plies(both33: Path) -> None:
    truth = solve(RULES33).table
    nodes = np.flatnonzero(truth != IMPOSSIBLE).astype(np.uint64)
    arrays = look_up_positions(nodes, RULES33)
    with open_table(results_path(both33, RULES33)) as results:
        assert results.rules == RULES33 and not results.has_plies
        found, plies = results.probe_many(*arrays)
    assert np.array_equal(found, RESULT_OF_BYTE[truth[nodes]])
    assert np.array_equal(plies, np.where(truth[nodes] == 1, 0, -1))


def test_a_folder_gives_the_table_with_plies_if_it_has_one(both33: Path, results33: Path) -> None:
    with open_table(both33, RULES33) as table:
        assert table.has_plies
    with open_table(results33.parent, RULES33) as table:
        assert not table.has_plies


def test_moves_have_results_and_only_a_win_at_once_has_plies(both33: Path) -> None:
    rules = RULES33
    with (
        ResultsTable(results_path(both33, rules)) as results,
        DenseTable(table_path(both33, rules)) as dense,
    ):
        for text in ("-/- x", "a1b2c1/a2a3b3 x", "a1b1c2/a2b2a3 x", "a1b1/a2b2 x"):
            position = Position.parse(text, rules)
            exact = {move.cell: move for move in dense.moves(position)}
            moves = results.moves(position)
            assert [best_first(move) for move in moves] == sorted(map(best_first, moves))
            for move in moves:
                assert move.result == exact[move.cell].result
                assert (move.traps, move.replies) == exact[move.cell][3:]
                assert move.plies == (1 if exact[move.cell].plies == 1 else None)
            assert set(results.best_moves(position)) >= set(dense.best_moves(position))
            assert results.probe(position).result == dense.probe(position).result


def test_labels_are_those_of_the_dense_table_without_plies(both33: Path) -> None:
    rules = RULES33
    nodes = np.arange(node_count(rules), dtype=np.uint64)
    with (
        ResultsTable(results_path(both33, rules)) as results,
        DenseTable(table_path(both33, rules)) as dense,
    ):
        nodes = nodes[dense.values_of(nodes) != IMPOSSIBLE]
        exact, found = labelled(dense, nodes), labelled(results, nodes)
    assert np.array_equal(found.result, exact.result)
    assert np.array_equal(found.keeping, exact.keeping)
    at_once = exact.plies == 1
    assert np.array_equal(found.optimal[at_once], exact.optimal[at_once])
    assert np.array_equal(found.optimal[~at_once], exact.keeping[~at_once])
    assert set(found.plies.tolist()) == {0, -1}


def test_commands_read_results_where_plies_are_not_needed(
    results33: Path, tmp_path: Path, fadefour: Fadefour
) -> None:
    folder = (*VARIANT33, "--data", results33.parent)
    exact = Statistics.of(RULES33, solve(RULES33).counts).to_dict()
    assert json.loads(fadefour("stats", *folder, "--json").out) == exact
    summary = json.loads(fadefour("summary", *folder, "--json").out)
    assert summary["start"] == {"result": "win", "plies": 13, "winner": "X"}
    assert summary["deepest_plies"] == 17 and "deepest_win" not in summary
    probed = json.loads(fadefour("probe", "-/- x", *folder, "--json").out)
    assert (probed["result"], probed["plies"], probed["line"]) == ("win", None, [])
    shown = fadefour("probe", "-/- x", *folder).out
    assert "X to move, win\n" in shown and "without plies" in shown
    assert fadefour("verify", *folder).code == 0


@pytest.mark.parametrize("sample", [None, 500])
def test_exported_rows_agree_with_the_dense_table(
    both33: Path, results33: Path, tmp_path: Path, fadefour: Fadefour, sample: int | None
) -> None:
    options = ("--validation", "0", *(("--sample", sample) if sample else ()))
    out = tmp_path / "positions"
    folder = (*VARIANT33, "--data", results33.parent)
    assert fadefour("export", "--out", out, *map(str, options), *folder).code == 0
    rows = np.load(out / "train" / "00000.npz")
    assert len(rows["result"]) == (sample or 8344)
    with DenseTable(table_path(both33, RULES33)) as dense:
        results, _ = dense.probe_many(rows["x"], rows["y"], rows["to_move"])
    assert np.array_equal(rows["result"], results)
    assert (rows["plies"] == -1).all()


def test_what_needs_plies_says_so(results33: Path) -> None:
    with ResultsTable(results33) as table, pytest.raises(InputError, match="without plies"):
        TablePlayer(table)


# ---- verification -------------------------------------------------------------------------------


def rewritten(path: Path, change: Callable[[bytearray], object]) -> None:
    """The file with other bytes and a manifest that vouches for them."""
    with ResultsTable(path) as table:
        rules, counts = table.rules, table.manifest.counts
        data = bytearray(table.packed.tobytes())
    change(data)
    with NewFile(path, "results", rules, len(data)) as new:
        new.write(bytes(data))
        new.commit(counts)


@pytest.mark.parametrize("rules", [Rules(3, 3, 3), Rules(3, 2, 2), Rules(4, 3, 3)], ids=str)
def test_verify_finds_nothing_wrong_and_any_wrong_byte(tmp_path: Path, rules: Rules) -> None:
    path = write(tmp_path, rules)
    report = verify_folder(tmp_path, rules)
    assert report.ok and report.results is not None
    assert "not shown" in str(report) and report.results.compared == 0
    good, rng = path.read_bytes(), np.random.default_rng(1)
    for place in [0, len(good) - 1, *rng.integers(len(good), size=20).tolist()]:
        bit = int(rng.integers(8)) if place != len(good) - 1 else 0

        def flip(data: bytearray, place: int = place, bit: int = bit) -> None:
            data[place] ^= 1 << bit

        rewritten(path, flip)
        assert not verify_folder(tmp_path, rules).ok, (place, bit)
        rewritten(path, flip)
    assert path.read_bytes() == good


def test_verify_compares_with_the_dense_table(both33: Path) -> None:
    report = verify_folder(both33, RULES33)
    assert report.ok and report.results is not None
    assert report.results.compared == node_count(RULES33)
    assert "compared with the dense table" in str(report)


def test_verify_finds_counts_that_the_file_does_not_have(results33: Path) -> None:
    def move_one(body: dict[str, Any]) -> None:
        row = body["counts"]["bytes_by_slice"]["6"]
        row["2"], row["3"] = row["2"] - 1, row["3"] + 1

    edit_manifest(results33, move_one)
    report = verify_folder(results33.parent, RULES33)
    assert not report.ok and "says otherwise" in report.problems[0]


def test_grade_reads_results(results33: Path, both33: Path) -> None:
    """The same shares as by the dense table, but nothing by depth."""
    grades = []
    for path in (results33, table_path(both33, RULES33)):
        player = RandomPlayer(game_of(RULES33), np.random.default_rng(1))
        with open_table(path, RULES33) as table:
            grades.append(grade(player, table, threads=1))
    found, exact = grades
    assert found.total == exact.total
    assert found.overall.keeping == pytest.approx(exact.overall.keeping)
    assert found.by_depth() == {} and exact.by_depth()
