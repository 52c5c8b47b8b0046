"""Solving for results alone: the same results and the same counts as the table of bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from brute_force import all_positions
from brute_force import solve as brute_force_solve
from numpy.typing import NDArray
from slow import slow
from test_rules import as_position

from solver import Rules, Solution, solve
from solver.index import find_node, node_count, slice_bases, slice_sizes
from solver.kernels import ffi, lib, pointer
from solver.results import (
    GROUP_ROOM,
    ResultsKernel,
    ResultsSolution,
    block_count,
    group_bytes,
    solve_results,
)
from solver.results_parts import GroupPart, SmallPart, positions_of
from solver.results_table import PackedResults
from solver.values import IMPOSSIBLE, RESULT_OF_BYTE

SMALL_BOARDS = [
    *((3, m, k) for m in (2, 3, 4) for k in (2, 3)),
    *((4, m, k) for m in (2, 3) for k in (2, 3, 4)),
    *((5, 2, k) for k in (2, 5)),
]
AS_BYTES = [*SMALL_BOARDS, (5, 3, 3)]
LARGE = [(4, 4, 4), (4, 4, 3), (5, 3, 5), (4, 5, 4), (5, 4, 4)]
NODES_AT_A_TIME = 1 << 22


def results_of(table: NDArray[np.uint8]) -> NDArray[np.int8]:
    """+1, 0, -1 for the side to move, and 2 for what is impossible."""
    results = RESULT_OF_BYTE[table]
    results[table == IMPOSSIBLE] = 2
    return results


def results_in_parts(
    solution: ResultsSolution, step: int = 1
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int8]]]:
    """Of every node, or of one in so many, some millions at a time."""
    packed, total = PackedResults.of(solution), node_count(solution.rules)
    for first in range(0, total, step * NODES_AT_A_TIME):
        end = min(first + step * NODES_AT_A_TIME, total)
        nodes = np.arange(first, end, step, dtype=np.uint64)
        yield nodes, results_of(packed.values(nodes)[0])


def check_against(truth: Solution, step: int = 1) -> None:
    solution = solve_results(truth.rules)
    assert np.array_equal(solution.counts, truth.counts), "by slice and depth"
    for nodes, results in results_in_parts(solution, step):
        assert np.array_equal(results, results_of(truth.table[nodes]))


@pytest.mark.parametrize("variant", AS_BYTES, ids=str)
def test_every_result_and_every_count_equals_the_table_of_bytes(
    variant: tuple[int, int, int],
) -> None:
    check_against(solve(Rules(*variant)))


def test_every_count_and_one_result_in_29_equals_the_table_of_bytes_on_4x4(
    solution44: Solution,
) -> None:
    check_against(solution44, step=29)


@slow
@pytest.mark.parametrize("variant", LARGE, ids=str)
def test_every_result_and_every_count_equals_the_table_of_bytes_on_large_variants(
    variant: tuple[int, int, int],
) -> None:
    check_against(solve(Rules(*variant)))


@pytest.mark.parametrize("variant", [(3, 3, 3), (3, 2, 2), (3, 3, 2), (4, 2, 3)], ids=str)
def test_every_result_equals_brute_force(variant: tuple[int, int, int]) -> None:
    """Without any symmetry, position by position; also where groups have mirror images."""
    rules = Rules(*variant)
    results = np.concatenate([part for _, part in results_in_parts(solve_results(rules))])
    for plain, (result, _) in brute_force_solve(all_positions(*variant), *variant).items():
        node, _ = find_node(as_position(plain, rules))
        assert results[node] == result, plain


@pytest.mark.parametrize("variant", [(3, 3, 3), (4, 3, 3), (5, 2, 2)], ids=str)
def test_one_thread_and_two_give_the_same_bytes(variant: tuple[int, int, int]) -> None:
    by_one, by_two = (solve_results(Rules(*variant), threads=threads) for threads in (1, 2))
    assert np.array_equal(by_one.states, by_two.states)
    assert np.array_equal(by_one.small, by_two.small)
    assert np.array_equal(by_one.counts, by_two.counts)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("variant", [(3, 3, 3), (3, 2, 2), (4, 3, 3), (5, 2, 3)], ids=str)
def test_parts_that_send_messages_find_the_same(variant: tuple[int, int, int], count: int) -> None:
    """In any order, and some of them twice."""
    rules, rng = Rules(*variant), np.random.default_rng(count)
    whole = solve_results(rules)
    cuts = [block_count(rules) * part // count for part in range(count + 1)]
    parts = [GroupPart(rules, *cuts[i : i + 2]) for i in range(count)]
    small = SmallPart.begun(rules)
    for part in parts:
        part.begin()
    depth, fresh = 0, sum(part.commit(0) for part in parts)
    while fresh:
        depth += 2
        batches = [batch for part in parts for batch in part.settle(room=1000)]
        messages = np.concatenate(batches)
        messages = rng.permutation(np.concatenate([messages, messages[::3]]))
        small.apply(depth, positions_of(messages))
        for part in parts:
            part.apply(depth, part.own(messages))
        fresh = sum(part.commit(depth) for part in parts)
    assert np.array_equal(np.concatenate([part.states for part in parts]), whole.states)
    assert np.array_equal(small.before, whole.small[-len(small.before) :])
    decided = sum(part.counts for part in parts)
    assert np.array_equal(np.asarray(decided)[:, 1:], whole.counts[-2:, 1:])


def test_a_part_takes_only_its_own_messages() -> None:
    rules = Rules(3, 3, 3)
    part, small = GroupPart(rules, 0, 1), SmallPart.begun(rules)
    elsewhere = np.array([part.end_group << 16 | 1], np.uint64)
    with pytest.raises(ValueError, match="another part"):
        part.apply(2, elsewhere)
    with pytest.raises(ValueError, match="for a group"):
        small.apply(2, elsewhere)


# ---- one kernel, two ways ------------------------------------------------------------------------


class Blocks:
    """Some blocks of a variant that would be too large as a whole: memory that nothing is written
    to is never there."""

    def __init__(self, rules: Rules, blocks: list[range]) -> None:
        groups, bases = slice_sizes(rules)[2 * rules.m - 2], slice_bases(rules)
        self.states = np.zeros(groups * group_bytes(rules) + GROUP_ROOM, np.uint8)
        self.before = np.zeros(bases[2 * rules.m - 1] - bases[2 * rules.m - 2], np.uint8)
        self.kernel = ResultsKernel(rules, self.states[:-GROUP_ROOM], self.before)
        self.rules, self._blocks = rules, blocks
        self._counts = np.zeros((2, 256), np.uint64)
        counts = ffi.cast("ff_results_counts *", pointer(self._counts, np.uint64, 512))
        for part in blocks:
            lib.ff_results_begin(self.kernel.solve, counts, self._work(part))
        for part in blocks:
            lib.ff_results_commit(self.kernel.solve, 0, counts, self._work(part))

    def _work(self, part: range) -> Any:
        return ffi.new("ff_work *", {"next": part.start, "end": part.stop, "step": len(part)})

    def messages(self) -> NDArray[np.uint64]:
        """What settling these blocks says."""
        room = 1 << 22
        listed, count = np.zeros(room, np.uint64), ffi.new("uint64_t *")
        parts = []
        for part in self._blocks:
            where = pointer(listed, np.uint64, room)
            end = lib.ff_results_list(self.kernel.solve, part.start, part.stop, where, room, count)
            assert end == part.stop
            parts.append(listed[: count[0]].copy())
        return np.concatenate(parts)

    def apply(self, messages: NDArray[np.uint64]) -> None:
        where = pointer(messages, np.uint64, len(messages))
        lib.ff_results_apply(self.kernel.solve, 2, where, len(messages))

    def settle(self) -> None:
        every = range(int(self.kernel.solve.tiles))
        lib.ff_results_settle(self.kernel.solve, 2, self._work(every))

    def groups(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint8]:
        size = group_bytes(self.rules)
        return self.states[:-GROUP_ROOM].reshape(-1, size)[numbers]


@pytest.mark.parametrize("variant", [(4, 4, 4), (4, 5, 4), (4, 6, 4)], ids=str)
def test_groups_settled_together_add_what_the_messages_say(variant: tuple[int, int, int]) -> None:
    """The only check of the code for six pieces that takes less than minutes."""
    rules = Rules(*variant)
    draw = np.random.default_rng(1)
    starts = sorted({0, *draw.integers(0, block_count(rules) - 60, 6).tolist()})
    parts = [range(first, first + 50) for first in starts]
    together, one_by_one = Blocks(rules, parts), Blocks(rules, parts)
    messages = one_by_one.messages()
    assert len(messages) > 10_000
    one_by_one.apply(messages)
    together.settle()
    to_position = messages >> np.uint64(8) & np.uint64(0xFF) == np.uint64(0xFF)
    targets = np.unique(messages >> np.uint64(16) << np.uint64(1) | to_position)
    positions, groups = (targets[targets & np.uint64(1) == kind] >> np.uint64(1) for kind in (1, 0))
    assert np.array_equal(together.before[positions], one_by_one.before[positions])
    assert np.array_equal(together.groups(groups), one_by_one.groups(groups))
    assert np.array_equal(together.kernel.marks, one_by_one.kernel.marks), "and nowhere else"
