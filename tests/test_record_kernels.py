"""The kernels under the record files: the colour swap."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from test_index import mover_has_line

from solver import Rules, swap_colours
from solver.index import (
    find_nodes,
    look_up_positions,
    node_count,
    slice_bases,
    slice_sizes,
)
from solver.kernels import Crew, ffi, index_of, lib, pointer

# ---- the colour swap ----------------------------------------------------------------------------


def any_table(rules: Rules, decided: float) -> NDArray[np.uint8]:
    """Any byte for about this share of the nodes, 0 for the others."""
    draw = np.random.default_rng(rules.m)
    table = draw.integers(0, 256, node_count(rules), np.uint8)
    table[draw.random(len(table), np.float32) >= decided] = 0
    return table


def assert_swapped(
    rules: Rules, table: NDArray[np.uint8], swapped: NDArray[np.uint8], ranks: NDArray[np.uint64]
) -> None:
    """(x; y) with Y to move is the node whose mover owns y."""
    x, y, _ = look_up_positions(ranks + np.uint64(slice_bases(rules)[2 * rules.m]), rules)
    to_move = np.ones(len(x), np.int8)
    possible = ~mover_has_line(x, y, to_move, rules)
    nodes, _ = find_nodes(x[possible], y[possible], to_move[possible], rules)
    assert (swapped[ranks[possible]] == table[nodes]).all()


@pytest.mark.parametrize("decided", [0.05, 1.0])
@pytest.mark.parametrize(
    "rules",
    [Rules(3, 2, 2), Rules(3, 3, 3), Rules(3, 4, 3), Rules(4, 2, 2), Rules(4, 3, 4)],
    ids=str,
)
def test_the_colour_swap_is_the_value_with_the_other_side_to_move(
    rules: Rules, decided: float
) -> None:
    table = any_table(rules, decided)
    with Crew(2) as crew:
        swapped = swap_colours(rules, table, crew)
    assert_swapped(rules, table, swapped, np.arange(len(swapped), dtype=np.uint64))
    # Impossible nodes have no position to ask for, but none of their values is lost.
    full = table[slice_bases(rules)[2 * rules.m] :]
    assert (np.bincount(swapped, minlength=256) == np.bincount(full, minlength=256)).all()


def test_the_colour_swap_of_4x4_is_right_where_sampled() -> None:
    rules = Rules()
    table = any_table(rules, 0.2)
    with Crew(2) as crew:
        swapped = swap_colours(rules, table, crew)
        other_way = swap_colours(rules, np.concatenate([table[: -len(swapped)], swapped]), crew)
    ranks = np.random.default_rng(1).integers(0, len(swapped), 500_000, np.uint64)
    assert_swapped(rules, table, swapped, ranks)
    assert other_way.tobytes() == table[-len(swapped) :].tobytes()


@pytest.mark.parametrize("rules", [Rules(3, 3, 3), Rules(3, 4, 3)], ids=str)
def test_swapping_by_groups_and_by_nodes_is_the_same(rules: Rules) -> None:
    table, groups, nodes = any_table(rules, 0.5), *np.zeros((2, slice_sizes(rules)[-1]), np.uint8)
    for kernel, swapped, items in (
        (lib.ff_swap_groups, groups, slice_sizes(rules)[2 * rules.m - 2]),
        (lib.ff_swap_nodes, nodes, len(nodes)),
    ):
        work = ffi.new("ff_work *", {"next": 0, "end": items, "step": 7})
        kernel(index_of(rules), *(pointer(array, np.uint8, 0) for array in (table, swapped)), work)
    assert groups.tobytes() == nodes.tobytes()
