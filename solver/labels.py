"""What a solved table says about many positions: results, plies, the best moves and the good ones.

Labels belong to canonical positions, named by their nodes (``solver.index``). Which part of the
data a position belongs to, training or validation, depends on a hash of its state code, so that
every run, every machine and every symmetric image agree on the split.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver.checked_files import NodeTable
from solver.hashing import mix
from solver.index import Int8Array, Uint64Array, check_nodes, look_up_positions, node_count
from solver.kernels import ffi, index_of, lib, pointer
from solver.playout import BIT, Positions, successors
from solver.rules import Rules
from solver.table import DenseTable
from solver.values import FINISHED, PLIES_OF_BYTE, PLIES_OF_RESULT, RESULT_OF_BYTE


@dataclass(frozen=True)
class Labels:
    """What a table says about N canonical positions; a full one is given with X to move.

    A set of moves is a mask: bit c is set if placing on cell c is one of them. A finished
    position has no moves.
    """

    rules: Rules
    nodes: Uint64Array
    """uint64 [N]."""
    x: Int8Array
    """int8 [N, m]: X's queue, oldest first, -1 for no piece."""
    y: Int8Array
    """int8 [N, m]: Y's queue."""
    to_move: Int8Array
    """int8 [N]: 0 for X, 1 for Y."""
    result: Int8Array
    """int8 [N], for the side to move: +1 win, 0 draw (endless), -1 loss."""
    plies: NDArray[np.int16]
    """int16 [N]: to the end under best play, -1 for a draw and where the table has no plies."""
    optimal: NDArray[np.uint32]
    """uint32 [N]: the best moves (soonest win, draw, latest loss)."""
    keeping: NDArray[np.uint32]
    """uint32 [N]: the moves that keep the result, however many plies they take."""

    def __len__(self) -> int:
        return len(self.nodes)


def labelled(table: NodeTable, nodes: Uint64Array) -> Labels:
    """The labels of these nodes, uint64 [N]. The table's blocks are taken as checked.

    A table without plies gives -1 for them; its best moves are those that win at once, or else all
    that keep the result.
    """
    nodes = check_nodes(nodes, table.rules)
    if isinstance(table, DenseTable):
        return _labelled_by_kernel(table, nodes)
    return _labelled_by_probing(table, nodes)


def _labelled_by_probing(table: NodeTable, nodes: Uint64Array) -> Labels:
    rules, arrays = table.rules, look_up_positions(nodes, table.rules)
    values = table.values_of(nodes)
    after = successors(Positions.from_arrays(rules, *arrays))
    theirs = table.bytes_of(*after.positions.arrays)
    results = RESULT_OF_BYTE[theirs].astype(np.int64)  # to the opponent
    masks = []
    for judged in (2 * results - (theirs == FINISHED), results):  # with wins at once first; without
        least = np.full(len(nodes), 9, np.int64)
        np.minimum.at(least, after.parent, judged)
        good = judged == least[after.parent]
        mask = np.zeros(len(nodes), np.uint32)
        np.bitwise_or.at(mask, after.parent[good], BIT[after.cell[good]])
        masks.append(mask)
    result, plies = RESULT_OF_BYTE[values], PLIES_OF_RESULT[values]
    return Labels(rules, nodes, *arrays, result, plies, *masks)


def _labelled_by_kernel(table: DenseTable, nodes: Uint64Array) -> Labels:
    rules, count = table.rules, len(nodes)
    x, y = np.empty((count, rules.m), np.int8), np.empty((count, rules.m), np.int8)
    to_move, values = np.empty(count, np.int8), np.empty(count, np.uint8)
    optimal, keeping = np.empty(count, np.uint32), np.empty(count, np.uint32)
    wanted = ffi.new("ff_labels *")
    wanted.x = pointer(x, np.int8, count * rules.m)
    wanted.y = pointer(y, np.int8, count * rules.m)
    wanted.to_move = pointer(to_move, np.int8, count)
    wanted.values = pointer(values, np.uint8, count)
    wanted.optimal_mask = pointer(optimal, np.uint32, count)
    wanted.keeping_mask = pointer(keeping, np.uint32, count)
    lib.ff_label_nodes(
        index_of(rules),
        pointer(table.bytes, np.uint8, node_count(rules)),
        pointer(nodes, np.uint64, count),
        ffi.NULL,
        count,
        wanted,
    )
    result, plies = RESULT_OF_BYTE[values], PLIES_OF_BYTE[values]
    return Labels(rules, nodes, x, y, to_move, result, plies, optimal, keeping)


def is_validation(codes: Uint64Array, share: float) -> NDArray[np.bool_]:
    """Which state codes belong to the validation part, of about this share."""
    return mix(codes) < np.uint64(held_below(share))


def held_below(share: float) -> int:
    """The bound under which the hashes of this share of all positions lie."""
    return min(int(share * 2.0**64), 2**64 - 1)
