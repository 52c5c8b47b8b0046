"""Threads share tables, and what they make of them does not depend on how many there are.

``make tsan`` runs this file under ThreadSanitizer, which sees two threads touch a byte without
agreeing on it even where no result shows it. The variants are chosen for the kernels' branches:
3x3 has groups that fit into a word and fills its last slice by columns, 4x4 has larger ones.
"""

from __future__ import annotations

from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import enumerate as enumerate_threads
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from plain_connect4 import scored_games

from azfit.kernels import ffi as tower_ffi
from azfit.kernels import lib as towers
from azfit.kernels import pointer
from azfit.oracle.sampler import SampleMix, Sampler
from solver import (
    FadefourError,
    Rules,
    Solution,
    merge,
    open_table,
    solve,
    solve_results,
    swap_colours,
    verify_folder,
    write_results,
    write_table,
    write_wins,
)
from solver.audit import audit_table
from solver.connect4 import Connect4Position, Connect4Solver
from solver.connect4.pool import SolverPool
from solver.index import look_up_positions, node_count
from solver.kernels import Crew, ffi, lib
from solver.labels import labelled
from solver.records import check_records, data_path, mark_impossible, open_records
from solver.retrograde import count_values
from solver.table import DenseTable, table_path
from solver.values import FINISHED, IMPOSSIBLE, RESULT_OF_BYTE

VARIANTS = [Rules(3, 3, 3), Rules(3, 4, 3), Rules(3, 2, 2), Rules(4, 3, 3)]
Bytes = NDArray[np.uint8]


@pytest.fixture(scope="module", params=VARIANTS, ids=lambda rules: rules.name)
def solution(request: pytest.FixtureRequest) -> Solution:
    return solve(request.param, threads=1)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records are written and read in many parts, so that several are at work at once."""
    monkeypatch.setattr("solver.records.NODES_AT_A_TIME", 1 << 10)
    monkeypatch.setattr("solver.merging.NODES_AT_A_TIME", 1 << 10)
    monkeypatch.setattr("solver.records.CHUNK_BYTES", 1 << 10)
    monkeypatch.setattr("solver.results.BLOCKS_AT_A_TIME", 4)
    monkeypatch.setattr("solver.results.POSITIONS_AT_A_TIME", 64)
    monkeypatch.setattr("solver.results_table.GROUPS_AT_A_TIME", 1 << 9)


several_threads = pytest.mark.parametrize("threads", [2, 4])


class Kept:
    """Checkpoints in memory, of every depth up to one."""

    def __init__(self, last: int) -> None:
        self.last, self.depth = last, 0
        self.full: Bytes = np.empty(0, np.uint8)

    def load(self, full: Bytes) -> int | None:
        if not self.depth:
            return None
        full[:] = self.full
        return self.depth

    def save_if_due(self, full: Bytes, depth: int) -> None:
        if depth <= self.last:
            self.full, self.depth = full.copy(), depth


@several_threads
def test_a_solve_is_the_same(solution: Solution, threads: int) -> None:
    for _ in range(3):
        table = solve(solution.rules, threads=threads).table
        assert np.array_equal(table, solution.table)


@several_threads
def test_a_solve_for_results_is_the_same(solution: Solution, threads: int) -> None:
    """3x3 m=3 and m=4 keep a group in a word, the others in bytes."""
    by_one = solve_results(solution.rules, threads=1)
    assert np.array_equal(by_one.counts, solution.counts)
    for _ in range(3):
        results = solve_results(solution.rules, threads=threads)
        assert np.array_equal(results.states, by_one.states)
        assert np.array_equal(results.small, by_one.small)
        assert np.array_equal(results.counts, by_one.counts)


@several_threads
def test_results_are_written_and_verified_the_same(
    solution: Solution, threads: int, tmp_path: Path
) -> None:
    results = solve_results(solution.rules, threads=1)
    with Crew(threads) as crew:
        write_results(tmp_path, results, crew)
    assert verify_folder(tmp_path, solution.rules, threads=threads).ok


@several_threads
def test_a_resumed_solve_is_the_same(solution: Solution, threads: int) -> None:
    for last in (1, 2):
        checkpoints = Kept(last)
        solve(solution.rules, threads=threads, checkpoints=checkpoints)
        assert checkpoints.depth
        resumed = solve(solution.rules, threads=threads, checkpoints=checkpoints)
        assert np.array_equal(resumed.table, solution.table)


@several_threads
def test_an_audit_finds_nothing_wrong_and_each_wrong_byte(solution: Solution, threads: int) -> None:
    with Crew(threads) as crew:
        audit = audit_table(solution.rules, solution.table, crew)
        assert audit.ok and audit.checked == len(solution.table)
        wrong = solution.table.copy()
        wrong[-1] ^= 2
        assert not audit_table(solution.rules, wrong, crew).ok


@several_threads
def test_counts_are_the_same(solution: Solution, threads: int) -> None:
    with Crew(threads) as crew:
        counts = count_values(solution.rules, solution.table, crew)
    assert np.array_equal(counts, solution.counts)


@several_threads
def test_the_colour_swap_is_the_same(solution: Solution, threads: int) -> None:
    """3x3 m=2 is swapped node by node, the others group by group."""
    swapped = []
    for crew_size in (1, threads):
        with Crew(crew_size) as crew:
            swapped.append(swap_colours(solution.rules, solution.table, crew))
    assert np.array_equal(*swapped)


def written_by(threads: int, solution: Solution, folder: Path) -> dict[str, bytes]:
    """All files of a solution, as this many threads write and merge them."""
    rules = solution.rules
    folder.mkdir()
    write_table(folder, solution)
    with Crew(threads) as crew:
        swapped = swap_colours(rules, solution.table, crew)
        for kind in ("xwin", "ywin"):
            write_wins(folder, kind, rules, solution.table, swapped, crew)
    tree = data_path(folder, "game_tree", rules)
    merge(folder, rules, complete=True, threads=threads)
    complete = tree.read_bytes()
    merge(folder, rules, threads=threads)
    return {"complete": complete} | {path.name: path.read_bytes() for path in folder.iterdir()}


@several_threads
def test_files_are_written_and_merged_the_same(
    solution: Solution, threads: int, tmp_path: Path
) -> None:
    by_one = written_by(1, solution, tmp_path / "one")
    assert written_by(threads, solution, tmp_path / "several") == by_one


@several_threads
def test_files_give_the_table_back_and_are_verified(
    solution: Solution, threads: int, tmp_path: Path
) -> None:
    rules = solution.rules
    written_by(threads, solution, tmp_path / "files")
    table = np.zeros(node_count(rules), np.uint8)
    with Crew(threads) as crew:
        tree = open_records(data_path(tmp_path / "files", "game_tree", rules), "game_tree", rules)
        check_records(tree, crew, enter_into=table)
        mark_impossible(rules, table, crew)
        checked = check_records(tree, crew, compare_with=solution.table)
    assert np.array_equal(table, solution.table)
    assert checked.disagreement is None
    verification = verify_folder(tmp_path / "files", rules, threads=threads)
    assert verification.ok and len(verification.files) == 4


@several_threads
def test_threads_that_share_an_open_file_read_the_same(
    solution: Solution, threads: int, tmp_path: Path
) -> None:
    """Whoever comes first checks a block; the others read on."""
    rules = solution.rules
    written_by(threads, solution, tmp_path / "files")
    possible = np.flatnonzero(solution.table != IMPOSSIBLE)[-4_000:].astype(np.uint64)
    parts = [look_up_positions(part, rules) for part in np.array_split(possible, 16)]
    for path in (
        table_path(tmp_path / "files", rules),
        data_path(tmp_path / "files", "game_tree", rules),
    ):
        with open_table(path, rules) as table, Crew(threads) as crew:
            probed = [results for results, _ in crew.map(lambda p: table.probe_many(*p), parts)]
        values = RESULT_OF_BYTE[solution.table[possible]]
        assert np.array_equal(np.concatenate(probed), values), path.name


@several_threads
def test_labels_and_batches_are_the_same(solution: Solution, threads: int, tmp_path: Path) -> None:
    write_table(tmp_path, solution)
    with open_table(tmp_path, solution.rules) as opened, Crew(threads) as crew:
        table = cast(DenseTable, opened)
        in_play = np.flatnonzero((table.bytes != FINISHED) & (table.bytes != IMPOSSIBLE))
        parts = np.array_split(in_play[:20_000].astype(np.uint64), 8)
        for labels, nodes in zip(
            crew.map(lambda nodes: labelled(table, nodes), parts), parts, strict=True
        ):
            assert np.array_equal(labels.optimal, labelled(table, nodes).optimal)
        sampler = Sampler(table, SampleMix(uniform=1, balanced=1, critical=1, opening=1))
        for number, batch in enumerate(crew.map(lambda i: sampler.batch(1, i, 500), range(8))):
            assert np.array_equal(batch.planes, sampler.batch(1, number, 500).planes)


def test_what_is_taken_is_counted_and_can_be_stopped() -> None:
    work = ffi.new("ff_work *", {"next": 0, "end": 10, "step": 4})
    assert lib.ff_work_taken(work) == 0
    work.next = 8
    assert lib.ff_work_taken(work) == 8
    work.next = 12  # a thread has looked for more
    assert lib.ff_work_taken(work) == 10
    work.next = 4
    lib.ff_work_stop(work)
    assert lib.ff_work_taken(work) == 10


@several_threads
def test_connect4_scores_are_the_same_and_searches_can_be_stopped(threads: int) -> None:
    games = scored_games()[:24]
    with SolverPool(threads, megabytes=1, book=None) as pool:
        positions = [Connect4Position(tuple(columns)) for columns, _ in games]
        asked = [pool.submit(partial(Connect4Solver.score, position=p)) for p in positions]
        assert [question.result() for question in asked] == [score for _, score in games]
        long = [pool.submit(lambda solver: solver.search(0, 0)) for _ in range(threads)]
    for question in long:  # leaving the pool stopped them
        with pytest.raises((FadefourError, CancelledError)):
            question.result()


@several_threads
def test_threads_that_search_one_position_together_find_its_score(threads: int) -> None:
    """The slices are short, so that the helpers are called in positions that are soon solved."""
    early = [Connect4Position(tuple(columns[:24])) for columns, _ in scored_games()[:6]]
    with Connect4Solver(1) as alone:
        expected = [alone.move_scores(position) for position in early]
    with Connect4Solver(1, threads=threads, slice_nodes=1) as together:
        for columns, score in scored_games()[:24]:
            assert together.score(Connect4Position(tuple(columns))) == score
        assert [together.move_scores(position) for position in early] == expected


@several_threads
def test_helpers_join_a_search_that_takes_long_and_end_with_it(threads: int) -> None:
    def helpers() -> int:
        return sum(thread.name.startswith("connect4") for thread in enumerate_threads())

    class EnoughError(Exception):
        pass

    def watch() -> None:
        assert helpers() == threads - 1
        if solver.nodes > 1 << 16:
            raise EnoughError

    assert helpers() == 0
    with Connect4Solver(1, threads=threads, slice_nodes=1 << 10, book=None) as solver:
        with solver.watched_by(watch), pytest.raises(EnoughError):
            solver.score(Connect4Position())
        nodes = solver.nodes
        columns, score = scored_games()[0]
        assert solver.score(Connect4Position(tuple(columns))) == score
        assert nodes > 1 << 16
    assert helpers() == 0


@several_threads
def test_boards_of_a_tower_are_shared_by_threads(threads: int) -> None:
    sizes = {"rows": 6, "columns": 7, "width": 16, "blocks": 1, "actions": 7, "max_plies": 5}
    sizes |= {"planes": 2, "seen_planes": 2, "stone_planes": 2}
    shape = tower_ffi.new("ff_tower_shape *", sizes)
    random = np.random.default_rng(0)
    floats = random.normal(0, 0.1, towers.ff_tower_floats(shape)).astype(np.float32)
    packed = np.zeros(towers.ff_tower_packed_bytes(shape), np.uint8)
    assert towers.ff_tower_pack(shape, pointer(floats), pointer(packed)) == 0
    planes = (random.random((40, 2, 6, 7)) < 0.1).astype(np.float32)

    def answers(count: int) -> bytes:
        policy, values = np.zeros((40, 7), np.float32), np.zeros((40, 4), np.float32)
        wdl, steps = values[:30].ravel(), values[30:].ravel()
        work = tower_ffi.new("ff_work *", {"next": 0, "end": 40, "step": 3})

        def take(_: int) -> int:
            memory = pointer(np.zeros(towers.ff_tower_memory_bytes(shape), np.uint8))
            given = (shape, pointer(packed), memory, pointer(planes), work)
            fast, outputs = towers.ff_tower_fast(), map(pointer, (policy, wdl, steps))
            return int(towers.ff_tower_run(*given, fast, *outputs))

        with ThreadPoolExecutor(count) as pool:
            assert list(pool.map(take, range(count))) == [0] * count
        return policy.tobytes() + values.tobytes()

    assert len(set(answers(1))) > 2
    assert answers(threads) == answers(1)
