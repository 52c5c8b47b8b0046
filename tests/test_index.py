"""Symmetry and index: the laws of DESIGN section 2, exhaustive where small, sampled on 4x4."""

import itertools

import numpy as np
import pytest
from brute_force import all_positions
from consecutive_nodes import codes_from, positions_from
from hypothesis import given, settings
from hypothesis import strategies as st
from mismatched_counting import symmetries, transform
from test_rules import as_position, played_positions

from solver import InputError, Position, Rules, canonicalise, symmetry_of
from solver.index import (
    find_node,
    find_nodes,
    look_up_positions,
    node_count,
    position_at,
    slice_bases,
    slice_sizes,
)

SMALL = [(3, 2, 2), (3, 3, 3), (3, 4, 3), (4, 2, 2), (4, 3, 4), (5, 2, 3)]


def mover_has_line(x, y, to_move, rules):
    """bool [N]: positions that cannot occur, by the plain list of lines."""
    mover = np.where(to_move[:, None] == 0, x, y)
    owned = np.zeros(len(mover), np.int64)
    for column in mover.T:
        owned |= np.where(column >= 0, 1 << np.maximum(column, 0).astype(np.int64), 0)
    lines = [sum(1 << cell for cell in line) for line in rules.lines]
    return np.any([(owned & line) == line for line in lines], axis=0)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_transforms_are_the_eight_symmetries_of_the_square(n):
    image = symmetry_of(Rules(n, 3, 3)).image
    assert {tuple(map(int, row)) for row in image} == set(symmetries(n))


@pytest.mark.parametrize("n", [3, 4, 5])
def test_inverse_and_composition_tables_are_a_group(n):
    group = symmetry_of(Rules(n, 3, 3))
    for s, t in itertools.product(range(8), repeat=2):
        assert (group.image[group.compose[s, t]] == group.image[s][group.image[t]]).all()
    for t in range(8):
        assert (group.image[group.inverse[t]][group.image[t]] == np.arange(n * n)).all()
    assert (group.image[0] == np.arange(n * n)).all()


@given(played_positions(), st.integers(0, 7))
def test_canonical_form_is_the_same_for_all_images(position, t):
    canonical, used = canonicalise(position)
    group = symmetry_of(position.rules)
    image = group.apply(t, position)
    assert canonicalise(image)[0] == canonical
    assert find_node(image)[0] == find_node(position)[0]
    assert group.apply(used, position) == canonical


@given(played_positions())
def test_canonical_form_is_the_smallest_image_in_priority_order(position):
    """Read as index.h orders the pieces: mover's younger ones, opponent's older ones, mover's
    oldest, opponent's newest."""

    def priority(of: Position):
        return (*of.mover[1:], *of.opponent[:-1], *of.mover[:1], *of.opponent[-1:])

    images = [symmetry_of(position.rules).apply(t, position) for t in range(8)]
    assert priority(canonicalise(position)[0]) == min(map(priority, images))


@pytest.mark.parametrize("variant", SMALL)
def test_rank_and_unrank_are_a_bijection_in_every_slice(variant):
    """Every node number gives a position, and that position gives the number back."""
    rules = Rules(*variant)
    nodes = np.arange(node_count(rules), dtype=np.uint64)
    x, y, to_move = look_up_positions(nodes, rules)
    possible = ~mover_has_line(x, y, to_move, rules)  # the others have a number but no value
    found_nodes, transforms = find_nodes(x[possible], y[possible], to_move[possible], rules)
    assert np.array_equal(found_nodes, nodes[possible])
    image = symmetry_of(rules).image
    carried = image[transforms[:, None], x[possible]].astype(np.int8)
    assert np.array_equal(np.where(x[possible] >= 0, carried, -1), x[possible])


@pytest.mark.parametrize("variant", [(3, 2, 2), (3, 3, 3), (4, 2, 2)])
def test_every_position_without_symmetry_falls_into_its_orbit_and_no_other(variant):
    """Orbits counted by brute force, colours swapped into one node set, equal the nodes."""
    rules = Rules(*variant)
    orbit_of_node: dict[int, set] = {}
    for plain in all_positions(*variant):
        node, _ = find_node(as_position(plain, rules))
        x, y, to_move = plain
        seen_by_mover = (x, y) if to_move == 0 else (y, x)
        orbit_of_node.setdefault(node, set()).add(seen_by_mover)
    for members in orbit_of_node.values():
        member = next(iter(members))
        images = {transform((*member, 0), s)[:2] for s in symmetries(rules.n)}
        assert members == images
    impossible = mover_has_line(*positions_from(0, node_count(rules), rules), rules).sum()
    assert len(orbit_of_node) + impossible == node_count(rules)


def test_known_sizes():
    assert node_count(Rules(4, 4, 4)) == 72_864_169
    assert slice_sizes(Rules(4, 4, 4))[-1] == 64_864_800
    assert node_count(Rules(3, 3, 3)) == 9_910
    assert node_count(Rules(4, 5, 4)) == 4_224_211_369


@given(st.data())
@settings(max_examples=200)
def test_rank_and_unrank_on_4x4(data):
    rules = Rules()
    pieces = data.draw(st.integers(0, 8))
    base = slice_bases(rules)[pieces]
    node = base + data.draw(st.integers(0, slice_sizes(rules)[pieces] - 1))
    x, y, to_move = look_up_positions(np.array([node], np.uint64), rules)
    position = position_at(x, y, to_move, 0, rules)
    assert len(position.x) + len(position.y) == pieces
    if position.is_impossible:
        with pytest.raises(InputError, match="cannot occur"):
            find_node(position)
    else:
        assert find_node(position) == (node, 0)


@pytest.mark.parametrize("variant", [(3, 3, 3), (4, 3, 4)])
def test_code_order_is_node_order_and_codes_spell_the_position(variant):
    rules = Rules(*variant)
    codes = codes_from(0, node_count(rules), rules)
    assert (codes[1:] > codes[:-1]).all()
    x, y, to_move = positions_from(0, node_count(rules), rules)
    for node in range(0, node_count(rules), 97):
        code = int(codes[node])
        pieces = code >> 60
        cells = [code >> (54 - 6 * i) & 63 for i in range(pieces)]
        position = position_at(x, y, to_move, node, rules)
        mover, opponent = list(position.mover), list(position.opponent)
        assert cells == mover[1:] + opponent[:-1] + mover[:1] + opponent[-1:]


def test_arrays_of_wrong_type_or_shape_are_refused():
    x = y = np.full((2, 4), -1, np.int8)
    with pytest.raises(InputError, match=r"to_move is int64"):
        find_nodes(x, y, np.zeros(2, np.int64), Rules())
    with pytest.raises(InputError, match=r"x is int8 \[2, 3\]: expected an array of int8 \[2, 4\]"):
        find_nodes(x[:, :3], y, np.zeros(2, np.int8), Rules())
    odd = {r"int8 \[\]": np.array(0, np.int8), "of type int8": np.int8(0), "of type str": "xy"}
    for named, to_move in odd.items():
        with pytest.raises(InputError, match=rf"to_move is {named}: expected an array"):
            find_nodes(x, y, to_move, Rules())
    with pytest.raises(InputError, match="y is of type list: expected an array"):
        find_nodes(x, [[-1] * 4] * 2, np.zeros(2, np.int8), Rules())
    with pytest.raises(InputError, match="nodes is of type list: expected an array of uint64"):
        look_up_positions([1, 2], Rules())


@pytest.mark.parametrize(
    ("x", "y", "side", "why"),
    [
        ([0, 1, 2, 3], [4, 5, 6, 7], 0, "cannot occur"),
        ([0, -1, 2, -1], [4, 5, -1, -1], 0, "oldest first"),
        ([0, 25, -1, -1], [4, 5, -1, -1], 0, "not on the board"),
        ([0, 1, -1, -1], [1, 5, -1, -1], 0, "two pieces on b1"),
        ([0, 1, -1, -1], [5, -1, -1, -1], 0, "X has 2 and Y 1"),
        ([0, 1, -1, -1], [5, 6, -1, -1], 2, "to_move is 0 for X or 1 for Y"),
        ([0, -3, -1, -1], [5, -1, -1, -1], 0, "oldest first"),
    ],
)
def test_impossible_rows_are_named(x, y, side, why):
    arrays = np.array([[0, -1, -1, -1], x], np.int8), np.array([[1, -1, -1, -1], y], np.int8)
    with pytest.raises(InputError, match=why) as refused:
        find_nodes(*arrays, np.array([0, side], np.int8), Rules())
    assert str(refused.value).startswith("row 1 ")
