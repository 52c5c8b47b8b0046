"""The retrograde analysis: duality of its own predecessor walk, brute force, golden counts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brute_force import all_positions, reachable
from brute_force import solve as brute_force_solve
from command_line import VARIANT33
from folders import snapshot
from hypothesis import given, settings
from hypothesis import strategies as st
from mismatched_counting import label_changes, mislabelled, predecessors, solve_canonical
from test_rules import as_position

from solver import Rules, Solution, solve
from solver.index import find_node, node_count, position_of, slice_bases, slice_sizes
from solver.kernels import ffi, index_of, lib, pointer
from solver.machine import zeroed
from solver.retrograde import READABLE_BEHIND
from solver.values import FINISHED, IMPOSSIBLE, value_of_byte

GOLDEN = Path(__file__).with_name("golden_4x4_m4.json")


class FullSlice:
    """The kernel's table of the full slice, set by hand and propagated by one ply."""

    def __init__(self, rules):
        assert 2 * rules.m - 2 > rules.n, "folded and unfolded are the same only for such rules"
        self.rules, self.base = rules, slice_bases(rules)[2 * rules.m]
        self.groups = slice_sizes(rules)[2 * rules.m - 2]
        self.table = zeroed(np.uint8, slice_sizes(rules)[2 * rules.m] + READABLE_BEHIND)
        self.fresh = [zeroed(np.uint8, self.groups) for _ in range(2)]
        self.run = ffi.new("ff_retrograde *")
        lib.ff_retrograde_init(
            self.run,
            index_of(rules),
            pointer(self.table, np.uint8, 0),
            *(pointer(rows, np.uint8, 0) for rows in self.fresh),
        )

    def work(self):
        return ffi.new("ff_work *", {"next": 0, "end": self.groups, "step": self.groups})

    def settled_from(self, nodes, depth):
        """The nodes that the kernel settles at depth + 1 when just these have that depth."""
        ranks = np.array(nodes, np.int64) - self.base
        self.table[ranks] = depth + 1
        lib.ff_resume(self.run, depth, self.work())
        lib.ff_propagate(self.run, depth, self.work())
        settled = np.flatnonzero(self.table == depth + 2)
        self.table[settled] = 0
        self.table[ranks] = 0
        for rows in self.fresh:
            rows[:] = 0
        return {int(rank) + self.base for rank in settled}


def full_parents(position):
    """By un-moving on the plain board: the full positions that can move here, as nodes."""
    rules = position.rules
    plain = (position.x, position.y, int(position.to_move == "y"))
    before = predecessors(plain, rules.n, rules.m, rules.k)
    full = [p for p in before if len(p[0]) == len(p[1]) == rules.m]
    return {find_node(as_position(p, rules))[0] for p in full}


def successor_nodes(position):
    return {find_node(position.play(cell))[0] for cell in position.legal_moves()}


def playable(position):
    return not position.is_impossible and not position.is_over


def test_kernel_predecessors_are_exactly_the_unmoves_on_all_of_3x3():
    """A in pred(B) <=> B in succ(A): a lone lost entry B makes the kernel settle pred(B)."""
    rules = Rules(3, 3, 3)
    bench = FullSlice(rules)
    successors: dict[int, set[int]] = {}
    parents: dict[int, set[int]] = {}
    for node in range(bench.base, node_count(rules)):
        position = position_of(node, rules)
        if position.is_impossible:
            continue
        parents[node] = bench.settled_from([node], 0)
        by_unmove = full_parents(position)
        # the kernel's bare table has no impossible or finished marks: leave those aside
        assert {p for p in parents[node] if playable(position_of(p, rules))} == {
            p for p in by_unmove if playable(position_of(p, rules))
        }
        successors[node] = successor_nodes(position)
    for a, after in successors.items():
        for b in after:
            assert a in parents[b]
    for b, before in parents.items():
        for a in before:
            if a in successors and playable(position_of(a, rules)):
                assert b in successors[a]


def test_kernel_needs_all_successors_and_no_more_on_all_of_3x3():
    """need(A) = |succ(A)|: with every successor won A is lost, with one missing it is not."""
    rules = Rules(3, 3, 3)
    bench = FullSlice(rules)
    for node in range(bench.base, node_count(rules), 5):
        position = position_of(node, rules)
        if not playable(position):
            continue
        after = sorted(successor_nodes(position))
        assert len(after) == len(position.legal_moves())
        assert node in bench.settled_from(after, 1)
        for missing in range(len(after)):
            assert node not in bench.settled_from(after[:missing] + after[missing + 1 :], 1)


@pytest.fixture(scope="module")
def bench_4x4():
    return FullSlice(Rules())


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_duality_and_need_on_4x4(bench_4x4, data):
    rules = Rules()
    node = data.draw(st.integers(bench_4x4.base, node_count(rules) - 1))
    position = position_of(node, rules)
    if not playable(position):
        return
    parents = bench_4x4.settled_from([node], 0)
    assert {p for p in parents if playable(position_of(p, rules))} == {
        p for p in full_parents(position) if playable(position_of(p, rules))
    }
    for parent in parents:
        before = position_of(parent, rules)
        if playable(before):
            assert node in successor_nodes(before)
    after = sorted(successor_nodes(position))
    assert node in bench_4x4.settled_from(after, 1)
    missing = data.draw(st.integers(0, len(after) - 1))
    assert node not in bench_4x4.settled_from(after[:missing] + after[missing + 1 :], 1)


@pytest.mark.parametrize("variant", [(3, 3, 3), (3, 2, 2), (3, 3, 2), (4, 2, 2), (4, 2, 3)])
def test_every_result_and_depth_equals_brute_force(variant):
    """Without any symmetry, position by position; also where groups have mirror images."""
    rules = Rules(*variant)
    table = solve(rules).table
    truth = brute_force_solve(all_positions(*variant), *variant)
    names = {1: "win", 0: "draw", -1: "loss"}
    for plain, (result, plies) in truth.items():
        node, _ = find_node(as_position(plain, rules))
        assert value_of_byte(int(table[node])) == (names[result], plies), plain


def test_published_facts_of_3x3():
    solution = solve(Rules(3, 3, 3))
    bytes_of = {}
    for plain in reachable(3, 3, 3):
        node, _ = find_node(as_position(plain, solution.rules))
        bytes_of[plain] = int(solution.table[node])
    values = np.array(list(bytes_of.values()))
    assert len(values) == 128_170
    assert (values == FINISHED).sum() == 12_096
    assert (values == 0).sum() == 13_193
    assert value_of_byte(bytes_of[(), (), 0]) == ("win", 13)
    assert values[values % 2 == 0].max() - 1 == 17
    assert IMPOSSIBLE not in values


def test_counts_by_slice_and_depth_of_4x4_are_golden():
    """Confirmed by `fadefour verify` and by bench/textbook.c (see the file)."""
    golden = json.loads(GOLDEN.read_text())
    counts = solve(Rules()).counts
    assert {
        str(pieces): {str(byte): int(row[byte]) for byte in np.flatnonzero(row)}
        for pieces, row in enumerate(counts)
    } == golden["bytes_by_slice"]


@pytest.mark.parametrize("variant", [(3, 3, 3), (4, 3, 3), (5, 2, 2), (4, 4, 4)])
def test_threads_do_not_change_a_byte(variant):
    one_thread, two_threads = (solve(Rules(*variant), threads=threads).table for threads in (1, 2))
    assert np.array_equal(one_thread, two_threads)


def test_wrong_pairings_mislabel_3x3_and_the_right_one_does_not():
    """The historical bug on purpose: counters of one kind, walks of another."""
    assert mislabelled(3, 3, 3, "distinct", "distinct") == (0, 0)
    assert mislabelled(3, 3, 3, "moves", "distinct") == (2, 0)
    assert mislabelled(3, 2, 2, "moves", "distinct") == (4, 0)
    right = solve_canonical(3, 3, 3, "distinct", "distinct")
    wrong = solve_canonical(3, 3, 3, "distinct", "distinct", vacated_cell_counts=True)
    changes = label_changes(right, wrong)
    assert changes.total() == 8_024
    assert (changes[-1, 0], changes[1, 0]) == (3_034, 4_990)


def test_right_pairing_agrees_with_the_kernel_on_3x3():
    rules, names = Rules(3, 3, 3), {1: "win", 0: "draw", -1: "loss"}
    table = solve(rules).table
    for plain, (result, plies) in solve_canonical(3, 3, 3, "distinct", "distinct").items():
        node, _ = find_node(as_position(plain, rules))
        assert value_of_byte(int(table[node])) == (names[result], plies)


@pytest.mark.parametrize("variant", [VARIANT33, ("--n", "4", "--m", "3", "--k", "3")], ids=str)
def test_one_thread_and_two_write_the_same_bytes(
    tmp_path: Path, fadefour: Callable[..., Any], variant: tuple[str, ...]
) -> None:
    for threads in "12":
        folder = ("--data", tmp_path / threads, "--threads", threads)
        assert fadefour("solve", *variant, *folder).code == 0
        assert fadefour("merge", *variant, *folder).code == 0
    first, second = snapshot(tmp_path / "1"), snapshot(tmp_path / "2")
    assert len(first) == 8, "table, X-wins, Y-wins, game tree, and their manifests"
    assert first == second


def test_one_thread_and_two_solve_4x4_to_the_same_bytes(solution44: Solution) -> None:
    """The session's solution is the one that two threads found."""
    single_threaded = solve(solution44.rules, threads=1)
    assert np.array_equal(single_threaded.table, solution44.table)
    assert np.array_equal(single_threaded.counts, solution44.counts)
