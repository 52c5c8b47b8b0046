"""The kernels under the record files: the colour swap, and what is taken for a record."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from consecutive_nodes import codes_from, positions_from
from numpy.typing import NDArray
from test_index import mover_has_line

from solver import Rules, solve, swap_colours
from solver.index import (
    find_nodes,
    look_up_positions,
    node_count,
    slice_bases,
    slice_sizes,
)
from solver.kernels import Crew, ffi, index_of, lib, pointer

RECORD = np.dtype(
    [("code", "<u8"), ("dp0", "i1"), ("dp1", "i1"), ("depth0", "<u2"), ("depth1", "<u2")]
)
ANYTHING = lib.FF_X_WINS | lib.FF_Y_WINS | lib.FF_EVERYTHING
NO_CODE = 2**64 - 1

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


# ---- what is taken for a record -----------------------------------------------------------------


def good_records(rules: Rules, records: NDArray[np.void]) -> int:
    """How many of these records the kernel takes before one that it does not."""
    data, counts = records.view(np.uint8), np.zeros(512, np.uint64)
    return int(
        lib.ff_read_records(
            *(index_of(rules), pointer(data, np.uint8, 0), len(records), ANYTHING),
            *(ffi.new("uint64_t *", NO_CODE), pointer(counts, np.uint64, 512), ffi.NULL),
        )
    )


def first_nodes_of_groups(rules: Rules) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Pieces, and the canonical codes of one group; all groups of 3x3, some of larger boards."""
    draw = np.random.default_rng(3)
    for pieces in range(2, 2 * rules.m + 1):
        first, size = slice_bases(rules)[pieces], slice_sizes(rules)[pieces]
        shift = np.uint64(72 - 6 * pieces)
        ranks = range(size) if rules.n == 3 else sorted(draw.integers(0, size, 100).tolist())
        seen: set[int] = set()
        for rank in ranks:
            low = max(0, rank - rules.n**4)
            codes = codes_from(first + low, min(2 * rules.n**4, size - low), rules)
            group = codes[rank - low] >> shift
            if int(group) not in seen:
                seen.add(int(group))
                yield pieces, codes[codes >> shift == group]


@pytest.mark.parametrize("rules", [Rules(3, 2, 2), Rules(3, 3, 3), Rules()], ids=str)
def test_behind_a_record_just_the_canonical_codes_of_its_group_are_taken(rules: Rules) -> None:
    """Every pair of last cells, two of them off the board, and stray bits behind the last."""
    cells = np.arange(rules.n**2 + 2, dtype=np.uint64)
    for pieces, canonical in first_nodes_of_groups(rules):
        unused = np.uint64(60 - 6 * pieces)
        group = canonical[0] >> (unused + np.uint64(12)) << (unused + np.uint64(12))
        codes = (group | cells[:, None] << (unused + np.uint64(6)) | cells << unused).ravel()
        for code in codes[codes > canonical[0]]:
            two = np.zeros(2, RECORD)
            two["code"] = canonical[0], code
            assert good_records(rules, two) == 1 + (code in canonical), hex(code)
        if unused:
            two["code"] = canonical[0], canonical[0] | np.uint64(1)
            assert good_records(rules, two) == 1


@pytest.mark.parametrize("rules", [Rules(3, 2, 2), Rules(3, 3, 3)], ids=str)
def test_a_result_is_taken_just_where_the_lines_allow_it(rules: Rules) -> None:
    """Over: the opponent has a line and the mover none. Not over: neither has one."""
    total = node_count(rules)
    x, y, x_or_y = positions_from(0, total, rules)
    codes, full = codes_from(0, total, rules), np.arange(total) >= slice_bases(rules)[2 * rules.m]
    for side in (0, 1):
        can_move = full | (x_or_y == side)
        sides = np.full(total, side, np.int8)
        mover, opponent = (mover_has_line(x, y, who, rules) for who in (sides, 1 - sides))
        for depth in (0, 1, 2):
            claims = np.zeros(total, RECORD)
            claims["code"], claims[f"depth{side}"] = codes, depth
            claims[f"dp{side}"] = (1 if side == 0 else -1) * (1 if depth % 2 else -1)
            allowed = can_move & ~mover & (opponent == (depth == 0))
            taken = [good_records(rules, claims[i : i + 1]) == 1 for i in range(total)]
            assert (np.array(taken) == allowed).all()


# ---- records compared with a table --------------------------------------------------------------


def first_difference(
    rules: Rules, records: NDArray[np.void], wanted: int, table: NDArray[np.uint8]
) -> tuple[int, int, int, int, int]:
    """How many records agree with the table, and node, side, claim and expectation of the next."""
    first = ffi.new("ff_disagreement *")
    data = np.ascontiguousarray(records).view(np.uint8)
    agreeing = lib.ff_compare_records(
        *(index_of(rules), pointer(data, np.uint8, 0), len(records), wanted),
        *(pointer(table, np.uint8, len(table)), first),
    )
    return int(agreeing), first.node, first.side, first.claimed, first.expected


@pytest.mark.parametrize("rules", [Rules(3, 2, 2), Rules(3, 3, 3), Rules(3, 4, 3)], ids=str)
def test_a_table_byte_is_compared_with_just_the_records_that_speak_of_it(rules: Rules) -> None:
    """A node is spoken of under its own code, and a full one for Y to move under another."""
    table, total = solve(rules).table, node_count(rules)
    x, y, to_move = positions_from(0, total, rules)
    records = np.zeros(total, RECORD)
    records["code"] = codes_from(0, total, rules)
    full = np.arange(total) >= slice_bases(rules)[2 * rules.m]
    speaks_of = {0: np.arange(total), 1: np.arange(total)}
    sides = np.ones(total, np.int8)
    swapped = full & ~mover_has_line(x, y, sides, rules)
    speaks_of[1][swapped] = find_nodes(x[swapped], y[swapped], sides[swapped], rules)[0]
    for side in (0, 1):
        value = table[speaks_of[side]].astype(int)
        decided = ((full & (swapped | (side == 0))) | (~full & (to_move == side))) & (
            value % 255 > 0
        )
        records[f"dp{side}"] = np.where(decided, np.where(value % 2 == side, 1, -1), 0)
        records[f"depth{side}"] = np.where(decided, value - 1, 0)
    assert first_difference(rules, records, ANYTHING, table)[0] == total
    random = np.random.default_rng(5)
    for node in random.choice(np.flatnonzero(table % 255), 200):
        wrong = table.copy()
        wrong[node] = 0
        agreeing, place, side, claimed, expected = first_difference(rules, records, ANYTHING, wrong)
        listing = [
            (record, which)
            for which in (0, 1)
            for record in np.flatnonzero(speaks_of[which] == node)
            if records[record][f"dp{which}"]
        ]
        assert (agreeing, side) == min(listing)
        assert (place, claimed, expected) == (agreeing, table[node], 0)


@pytest.mark.parametrize("wanted", [lib.FF_X_WINS, lib.FF_Y_WINS])
def test_a_players_file_is_compared_with_that_players_wins_alone(wanted: int) -> None:
    rules = Rules(3, 3, 3)
    table = solve(rules).table
    nodes = np.flatnonzero((table % 255 > 0) & (np.arange(len(table)) < slice_bases(rules)[6]))
    sides = look_up_positions(nodes.astype(np.uint64), rules)[2]
    x_wins = (table[nodes] % 2 == 0) == (sides == 0)
    for node, side, x_wins_it in list(zip(nodes, sides, x_wins, strict=True))[::7]:
        record = np.zeros(1, RECORD)
        record["code"] = codes_from(int(node), 1, rules)
        ours = x_wins_it == (wanted == lib.FF_X_WINS)
        assert first_difference(rules, record, wanted, table)[0] == (0 if ours else 1)
        record[f"dp{side}"], record[f"depth{side}"] = 1 if x_wins_it else -1, table[node] - 1
        assert first_difference(rules, record, wanted, table)[0] == (1 if ours else 0)
