"""The sampler against probing and plain counting: labels, planes, symmetry, split, shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from consecutive_nodes import codes_from
from numpy.typing import NDArray

from azfit.games import DropOldest
from azfit.oracle.sampler import Batch, SampleMix, Sampler, byte_shares, label_nodes
from solver import Rules, find_nodes, open_table, solve, symmetry_of, write_table
from solver.errors import InputError
from solver.index import (
    look_up_codes,
    node_count,
    position_of,
    slice_bases,
    slice_sizes,
)
from solver.kernels import index_of
from solver.labels import is_validation
from solver.table import DenseTable

VARIANTS = [Rules(3, 3, 3), Rules(4, 3, 3), Rules(3, 4, 3)]


@pytest.fixture(scope="module", params=VARIANTS, ids=lambda rules: rules.name)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = tmp_path_factory.mktemp("tables")
    return solved(folder, request.param)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DenseTable]:
    yield solved(tmp_path_factory.mktemp("small"), Rules(3, 3, 3))


def solved(folder: Path, rules: Rules) -> DenseTable:
    write_table(folder, solve(rules, threads=1))
    return cast(DenseTable, open_table(folder, rules))


def arrays(batch: Batch) -> dict[str, NDArray[Any]]:
    return {name: getattr(batch, name) for name in Batch.__dataclass_fields__}


MIX = SampleMix(uniform=1, balanced=1, critical=1, opening=1)


def test_labels_say_what_probing_says(table: DenseTable) -> None:
    rules = table.rules
    batch = Sampler(table, MIX).batch(seed=3, number=0, size=300)
    labels = arrays(batch)
    for row in range(300):
        position = position_of(int(labels["nodes"][row]), rules)
        shown = symmetry_of(rules).apply(int(labels["transforms"][row]), position)
        moves = table.moves(shown)
        value = table.probe(shown)
        assert ["win", "draw", "loss"][batch.wdl[row]] == value.result
        assert batch.plies[row] == (-1 if value.plies is None else value.plies)
        assert np.flatnonzero(labels["legal"][row]).tolist() == sorted(m.cell for m in moves)
        keeping = sorted(move.cell for move in moves if move.result == value.result)
        assert np.flatnonzero(labels["keeping"][row]).tolist() == keeping
        best = table.best_moves(shown)
        assert np.flatnonzero(labels["optimal"][row]).tolist() == best
        assert np.allclose(labels["policy"][row, best], 1 / len(best))
        assert labels["policy"][row].sum() == pytest.approx(1)
        for move in moves:
            byte = labels["move_values"][row, move.cell]
            assert byte == (0 if move.plies is None else move.plies)
        assert (labels["move_values"][row][~labels["legal"][row]] == 255).all()


def test_planes_are_the_game_s_own(table: DenseTable) -> None:
    rules = table.rules
    game = DropOldest(rules.n, rules.m, rules.k)
    labels = arrays(Sampler(table, MIX).batch(seed=4, number=0, size=500))
    for row in range(500):
        position = position_of(int(labels["nodes"][row]), rules)
        shown = symmetry_of(rules).apply(int(labels["transforms"][row]), position)
        assert np.array_equal(labels["planes"][row], game.planes(game.state(shown)[None])[0])
    # and the compact form says the same
    planes = np.zeros((*labels["pieces"].shape, rules.cells + 1), np.float32)
    np.put_along_axis(planes, labels["pieces"][:, :, None].astype(np.intp), 1, axis=2)
    assert np.array_equal(
        planes[:, :, : rules.cells].reshape(labels["planes"].shape), labels["planes"]
    )


def test_a_transform_carries_planes_and_labels_together(table: DenseTable) -> None:
    rules = table.rules
    game = DropOldest(rules.n, rules.m, rules.k)
    nodes = Sampler(table, MIX).batch(5, 0, 200, ("nodes",)).nodes
    assert nodes is not None
    fields = ("planes", "legal", "optimal", "keeping", "move_values", "policy", "values")
    still = arrays(label_nodes(table, nodes, fields))
    for transform in range(8):
        turned = np.full(len(nodes), transform, np.uint8)
        carried = arrays(label_nodes(table, nodes, fields, transforms=turned))
        for name in ("legal", "optimal", "keeping", "move_values", "policy"):
            assert np.array_equal(carried[name], game.carry_policy(still[name], turned))
        assert np.array_equal(carried["values"], still["values"])
        flat = still["planes"].reshape(len(nodes), -1, rules.cells)
        expected = np.empty_like(flat)
        expected[:, :, game.cell_image[transform]] = flat
        assert np.array_equal(carried["planes"].reshape(flat.shape), expected)


def test_every_node_is_unranked_as_the_index_does(table: DenseTable) -> None:
    rules, count = table.rules, min(node_count(table.rules), 20_000)
    nodes = np.linspace(0, node_count(rules) - 1, count).astype(np.uint64)
    m = rules.m
    pieces = label_nodes(table, nodes, ("pieces",)).pieces
    assert pieces is not None
    impossible = table.bytes[nodes] == 255
    mover = np.where(pieces < rules.cells, pieces, -1).astype(np.int8)
    queues = [np.full((count, m), -1, np.int8) for _ in range(2)]
    for side, queue in enumerate(queues):
        planes = mover[:, side * m : side * m + m]
        for row in range(count):
            cells = planes[row][planes[row] >= 0]
            queue[row, : len(cells)] = cells
    sizes = [(queue >= 0).sum(1) for queue in queues]
    to_move = (sizes[0] != sizes[1]).astype(np.int8)  # a full one is given to X
    x = np.where(to_move[:, None] == 0, queues[0], queues[1])
    y = np.where(to_move[:, None] == 0, queues[1], queues[0])
    possible = ~impossible
    again, _ = find_nodes(x[possible], y[possible], to_move[possible], rules)
    assert np.array_equal(again, nodes[possible])


def beginnings_of(rules: Rules, pieces: int) -> list[tuple[tuple[int, int], int]]:
    """The index's list for this slice: two cells, and the rank of the first node behind them."""
    index = index_of(rules)
    return [
        (tuple(index.beginning[i]), index.beginning_rank[pieces][i])
        for i in range(index.beginnings)
    ]


@pytest.mark.parametrize("rules", [*VARIANTS, Rules(4, 5, 4), Rules(5, 4, 4)], ids=lambda r: r.name)
def test_beginnings_are_all_pairs_that_break_the_symmetry_in_order(rules: Rules) -> None:
    """Against turning every pair eight times, and against the enumeration of the slice."""
    image = symmetry_of(rules).image.tolist()
    expected = []
    for pair in permutations(range(rules.cells), 2):
        images = [tuple(turned[cell] for cell in pair) for turned in image]
        if min(images) == pair and images.count(pair) == 1:
            expected.append(pair)
    for pieces in range(2, 6):
        codes = codes_from(slice_bases(rules)[pieces], slice_sizes(rules)[pieces], rules)
        of_two = codes >> np.uint64(48)  # the number of pieces and the first two cells
        listed = beginnings_of(rules, pieces)
        assert [pair for pair, _ in listed] == expected
        for (first, second), rank in listed:
            assert rank == np.searchsorted(of_two, pieces << 12 | first << 6 | second)


def test_beginnings_serve_nine_tenths_of_the_ranks() -> None:
    """The share that a binary search of the list finds, over a grid of ranks of 4x4 m=4."""
    rules, pieces = Rules(), 8
    first = np.array([rank for _, rank in beginnings_of(rules, pieces)])
    sequences = slice_sizes(rules)[pieces]
    behind_two_cells = 14 * 13 * 12 * 11 * 10 * 9
    ranks = np.linspace(0, sequences - 1, 100_001).astype(np.int64)
    place = np.searchsorted(first, ranks, side="right") - 1
    served = (place >= 0) & (ranks - first[place] < behind_two_cells)
    assert served.mean() == pytest.approx(0.9, abs=0.005)


def test_the_held_out_part_is_never_drawn_for_training(table: DenseTable) -> None:
    share = 0.25
    seen: dict[str, set[int]] = {}
    for part in ("training", "held-out"):
        sampler = Sampler(table, MIX, part=part, held_out=share)
        nodes = sampler.batch(6, 0, 20_000, ("nodes",)).nodes
        assert nodes is not None
        held = is_validation(look_up_codes(nodes, table.rules), share)
        assert held.all() if part == "held-out" else not held.any()
        seen[part] = set(nodes.tolist())
    assert not seen["training"] & seen["held-out"]


def test_listed_nodes_of_the_other_part_are_not_drawn(small: DenseTable) -> None:
    nodes = np.flatnonzero((small.bytes != 1) & (small.bytes != 255)).astype(np.uint64)
    held = is_validation(look_up_codes(nodes, small.rules), 0.5)
    listed = (nodes, np.ones(len(nodes)))
    sampler = Sampler(small, SampleMix(uniform=0, listed=1), held_out=0.5, listed=listed)
    drawn = sampler.batch(1, 0, 5000, ("nodes",)).nodes
    assert drawn is not None and set(drawn.tolist()) <= set(nodes[~held].tolist())
    hidden = Sampler(
        small,
        SampleMix(uniform=0, listed=1),
        held_out=0.5,
        listed=(nodes[held], np.ones(held.sum())),
    )
    with pytest.raises(InputError, match="no position to draw"):
        hidden.batch(1, 0, 1, ("nodes",))


def chi_square(counts: NDArray[Any], expected: NDArray[Any]) -> float:
    """The statistic in standard deviations from its mean, for many cells."""
    freedom = len(counts) - 1
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return (statistic - freedom) / float(np.sqrt(2 * freedom))


def orbit_sizes(table: DenseTable, nodes: NDArray[Any]) -> NDArray[Any]:
    """By turning every position eight times and counting the different ones."""
    symmetry = symmetry_of(table.rules)
    return np.array(
        [
            len({str(symmetry.apply(t, position_of(int(node), table.rules))) for t in range(8)})
            for node in nodes
        ]
    )


def test_uniform_draws_are_uniform_over_positions(small: DenseTable) -> None:
    # slices 0 to 4 have orbits of every size; the chi-square is over all their nodes
    end = slice_bases(small.rules)[5]
    values = small.bytes[:end]
    nodes = np.flatnonzero((values != 1) & (values != 255))
    weight = orbit_sizes(small, nodes)
    size = 200_000
    drawn = Sampler(small, part="all", pieces=(0, 4)).batch(7, 0, size, ("nodes",)).nodes
    counts = np.bincount(np.asarray(drawn, np.intp), minlength=end)
    assert counts.sum() == counts[nodes].sum(), "a finished or impossible node was drawn"
    assert abs(chi_square(counts[nodes], size * weight / weight.sum())) < 4
    # the same test refuses nodes drawn evenly, without their orbits
    assert chi_square(counts[nodes], np.full(len(nodes), size / len(nodes))) > 4


def test_all_eight_symmetries_are_drawn_evenly(small: DenseTable) -> None:
    transforms = Sampler(small).batch(8, 0, 80_000, ("transforms",)).transforms
    counts = np.bincount(np.asarray(transforms), minlength=8)
    assert abs(chi_square(counts, np.full(8, 10_000.0))) < 4


def test_critical_draws_are_the_positions_where_a_move_can_go_wrong(small: DenseTable) -> None:
    sampler = Sampler(small, SampleMix(uniform=0, critical=1), part="all")
    drawn = arrays(sampler.batch(9, 0, 60_000))
    assert (drawn["keeping"] != drawn["legal"]).any(1).all()
    nodes = np.flatnonzero((small.bytes != 1) & (small.bytes != 255)).astype(np.uint64)
    labels = arrays(label_nodes(small, nodes, ("keeping", "legal")))
    critical = nodes[(labels["keeping"] != labels["legal"]).any(1)]
    full = critical[critical >= slice_bases(small.rules)[-2]]
    missed = set(full.tolist()) - set(drawn["nodes"].tolist())
    assert len(missed) < 0.02 * len(full)  # 60,000 draws of 7,000 nodes miss few


def test_balanced_draws_have_equal_results_and_the_depths_asked_for(small: DenseTable) -> None:
    counts = np.bincount(small.bytes, minlength=256)
    for power in (0.0, 0.5, 1.0):
        sampler = Sampler(
            small, SampleMix(uniform=0, balanced=1), part="all", pieces=(0, 6), depth_power=power
        )
        batch = sampler.batch(10, 0, 90_000, ("values", "nodes"))
        results = np.bincount(batch.wdl, minlength=3) / 90_000
        # orbits smaller than 8 are drawn less, which moves the shares by less than this
        assert np.allclose(results, 1 / 3, atol=0.02), results
        bytes_drawn = Counter(np.asarray(batch.values).tolist())
        wins = [byte for byte in range(2, 255, 2) if counts[byte]]
        expected = np.array([float(counts[byte]) ** power for byte in wins])
        expected /= expected.sum() * 3
        drawn = np.array([bytes_drawn[byte] / 90_000 for byte in wins])
        assert np.allclose(drawn, expected, atol=0.02)
    shares = byte_shares(counts, 0.0)
    assert shares[1] == shares[255] == 0 and shares.sum() == pytest.approx(1)


def test_opening_draws_take_every_slice_alike(small: DenseTable) -> None:
    nodes = Sampler(small, SampleMix(uniform=0, opening=1), part="all").batch(11, 0, 7000).nodes
    slices = np.searchsorted(slice_bases(small.rules), np.asarray(nodes), side="right") - 1
    counts = np.bincount(slices, minlength=7)
    in_play = (small.bytes != 1) & (small.bytes != 255)
    bases = slice_bases(small.rules)
    # a node not in play is drawn again, slice and all
    expected = np.array([in_play[bases[s] : bases[s + 1]].mean() for s in range(7)])
    assert abs(chi_square(counts, 7000 * expected / expected.sum())) < 4


def test_listed_draws_follow_their_weights(small: DenseTable) -> None:
    chosen = np.flatnonzero((small.bytes != 1) & (small.bytes != 255))[-50:].astype(np.uint64)
    weights = np.arange(1.0, 51.0)
    sampler = Sampler(small, part="all").with_list(chosen, weights, share=1.0)
    nodes = sampler.batch(12, 0, 100_000, ("nodes",)).nodes
    counts = np.array([(np.asarray(nodes) == node).sum() for node in chosen])
    assert counts.sum() / 100_000 == pytest.approx(0.5, abs=0.02)  # share 1 beside uniform's 1
    assert abs(chi_square(counts, counts.sum() * weights / weights.sum())) < 4


def test_a_batch_depends_on_seed_and_number_only(table: DenseTable) -> None:
    sampler, same = Sampler(table, MIX), Sampler(table, MIX)
    for number in (0, 5, 2):
        same.batch(99, number, 17)
    first, again = arrays(sampler.batch(1, 7, 100)), arrays(same.batch(1, 7, 100))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    longer = arrays(same.batch(1, 7, 250))
    assert all(np.array_equal(first[name], longer[name][:100]) for name in first)
    for seed, number in ((1, 8), (2, 7)):
        assert not np.array_equal(arrays(sampler.batch(seed, number, 100))["nodes"], first["nodes"])


def test_keeping_policy_is_spread_over_all_keeping_moves(small: DenseTable) -> None:
    labels = arrays(Sampler(small, policy="keeping").batch(13, 0, 500))
    expected = labels["keeping"] / labels["keeping"].sum(1, keepdims=True)
    assert np.allclose(labels["policy"], expected)


def test_wrong_options_are_refused(small: DenseTable) -> None:
    for wrong in (
        lambda: SampleMix(uniform=-1),
        lambda: SampleMix(uniform=0),
        lambda: SampleMix(uniform=float("nan")),
        lambda: Sampler(small, part="test"),
        lambda: Sampler(small, held_out=1.0),
        lambda: Sampler(small, pieces=(3, 9)),
        lambda: Sampler(small, policy="best"),
        lambda: Sampler(small, SampleMix(listed=1)),
        lambda: Sampler(small).batch(0, 0, 0),
        lambda: Sampler(small).batch(0, 0, 1, ("colour",)),
        lambda: label_nodes(small, np.array([10**9], np.uint64)),
    ):
        with pytest.raises(InputError):
            wrong()
