"""Labels against probing one position after another, and against the table's own bytes."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from solver import Rules, open_table, solve, write_table
from solver.errors import InputError
from solver.index import look_up_positions, node_count, position_of
from solver.labels import Labels, is_validation, labelled
from solver.table import DenseTable
from solver.values import FINISHED, IMPOSSIBLE, best_first, value_of_byte


@pytest.fixture(scope="module", params=[(3, 3, 3), (3, 4, 3), (4, 3, 3)], ids=str)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DenseTable:
    folder, rules = tmp_path_factory.mktemp("table"), Rules(*request.param)
    write_table(folder, solve(rules))
    return cast(DenseTable, open_table(folder, rules))


def cells_in(mask: int) -> list[int]:
    return [cell for cell in range(mask.bit_length()) if mask >> cell & 1]


def check_against_probing(table: DenseTable, labels: Labels) -> None:
    names = {1: "win", 0: "draw", -1: "loss"}
    for row, node in enumerate(labels.nodes.tolist()):
        position = position_of(node, table.rules)
        value, moves = table.probe(position), table.moves(position)
        plies = None if labels.plies[row] < 0 else int(labels.plies[row])
        assert (names[int(labels.result[row])], plies) == value
        assert cells_in(int(labels.optimal[row])) == table.best_moves(position)
        keeping = sorted(move.cell for move in moves if move.result == value.result)
        assert cells_in(int(labels.keeping[row])) == keeping


def test_labels_say_what_probing_says(table: DenseTable) -> None:
    count = node_count(table.rules)
    nodes = np.unique(np.linspace(0, count - 1, 2000).astype(np.uint64))
    values = table.bytes[nodes]
    check_against_probing(table, labelled(table, nodes[values != IMPOSSIBLE]))


def test_labels_on_4x4_say_what_probing_says(table44: DenseTable) -> None:
    nodes = np.random.default_rng(5).integers(0, len(table44.bytes), 500).astype(np.uint64)
    check_against_probing(table44, labelled(table44, nodes[table44.bytes[nodes] != IMPOSSIBLE]))


def test_positions_are_those_of_the_nodes(table: DenseTable) -> None:
    nodes = np.arange(0, node_count(table.rules), 7, dtype=np.uint64)
    labels = labelled(table, nodes)
    for column, expected in zip(
        (labels.x, labels.y, labels.to_move), look_up_positions(nodes, table.rules), strict=True
    ):
        assert np.array_equal(column, expected)
    assert np.array_equal(labels.nodes, nodes) and len(labels) == len(nodes)


def test_a_finished_or_impossible_position_has_no_moves(table: DenseTable) -> None:
    over = np.flatnonzero((table.bytes == FINISHED) | (table.bytes == IMPOSSIBLE))
    labels = labelled(table, over.astype(np.uint64))
    assert len(over) and not labels.optimal.any() and not labels.keeping.any()


def test_every_position_in_play_has_an_optimal_move_that_keeps_its_result(
    table: DenseTable,
) -> None:
    in_play = np.flatnonzero((table.bytes != FINISHED) & (table.bytes != IMPOSSIBLE))
    labels = labelled(table, in_play.astype(np.uint64))
    assert labels.optimal.all()
    assert not (labels.optimal & ~labels.keeping).any()


def test_the_key_sorts_soonest_win_draw_latest_loss() -> None:
    order = [*range(2, 255, 2), 0, *range(253, 0, -2)]
    assert sorted(range(255), key=lambda byte: best_first(value_of_byte(byte))) == order


def test_nodes_that_do_not_exist_are_refused(table: DenseTable) -> None:
    for wrong in (np.array([node_count(table.rules)], np.uint64), np.array([1], np.int64)):
        with pytest.raises(InputError, match="node"):
            labelled(table, wrong)


def test_the_validation_part_has_the_share_asked_for() -> None:
    codes = np.arange(100_000, dtype=np.uint64)
    for share in (0.0, 0.05, 0.5, 0.999):
        assert is_validation(codes, share).mean() == pytest.approx(share, abs=0.005)
