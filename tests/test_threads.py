"""Threads share tables, and what they make of them does not depend on how many there are.

``make tsan`` runs this file under ThreadSanitizer, which sees two threads touch a byte without
agreeing on it even where no result shows it. The variants are chosen for the kernels' branches:
3x3 has groups that fit into a word and fills its last slice by columns, 4x4 has larger ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from azfit.oracle.sampler import SampleMix, Sampler
from solver import Rules, Solution, merge, open_table, solve, swap_colours, write_table, write_wins
from solver.audit import audit_table
from solver.index import node_count
from solver.kernels import Crew, ffi, lib
from solver.labels import labelled
from solver.records import check_records, data_path, mark_impossible, open_records
from solver.retrograde import count_values
from solver.table import DenseTable
from solver.values import FINISHED, IMPOSSIBLE

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
def test_files_are_the_same_and_give_the_table_back(
    solution: Solution, threads: int, tmp_path: Path
) -> None:
    rules = solution.rules
    written = {}
    for crew_size in (1, threads):
        folder = tmp_path / str(crew_size)
        folder.mkdir()
        write_table(folder, solution)
        with Crew(crew_size) as crew:
            swapped = swap_colours(rules, solution.table, crew)
            for kind in ("xwin", "ywin"):
                write_wins(folder, kind, rules, solution.table, swapped, crew)
        merge(folder, rules)
        written[crew_size] = {path.name: path.read_bytes() for path in folder.glob("*.data")}
    assert written[1] == written[threads]
    table = np.zeros(node_count(rules), np.uint8)
    with Crew(threads) as crew:
        tree = open_records(data_path(folder, "game_tree", rules), "game_tree", rules)
        check_records(tree, crew, enter_into=table)
        mark_impossible(rules, table, crew)
        checked = check_records(tree, crew, compare_with=solution.table)
    assert np.array_equal(table, solution.table)
    assert checked.disagreement is None


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
