"""The nodes in play: neither finished nor impossible, so that there is a move to choose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.checked_files import NodeTable
from solver.index import Uint64Array, node_count
from solver.values import FINISHED, IMPOSSIBLE


def is_in_play(values: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Of table bytes, bool [N]."""
    return np.asarray((values != FINISHED) & (values != IMPOSSIBLE))


def nodes_in_play(table: NodeTable, first: int, end: int) -> Uint64Array:
    """Those from ``first`` up to ``end``, in rising order."""
    nodes = np.arange(first, end, dtype=np.uint64)
    return nodes[is_in_play(table.values_of(nodes))]


def count_in_play(counts: NDArray[np.uint64]) -> int:
    """By how often each table byte occurs, uint64 [..., 256]."""
    total = counts.reshape(-1, 256).sum(axis=0)
    return int(total.sum() - total[FINISHED] - total[IMPOSSIBLE])


def drawn_in_play(table: NodeTable, count: int, seed: int) -> Uint64Array:
    """``count`` different nodes in play, uniformly drawn, in rising order; all if there are fewer.

    Nodes are drawn until enough of them are new and in play; the order of drawing decides which
    are taken, so that the sample is uniform.
    """
    total, random = node_count(table.rules), np.random.default_rng(seed)
    if 2 * count >= total:
        nodes = nodes_in_play(table, 0, total)
        if count >= len(nodes):
            return nodes
        return np.sort(random.choice(nodes, count, replace=False))
    drawn = np.empty(0, np.int64)
    while len(drawn) < count:
        more = random.integers(total, size=count - len(drawn) + 1000)
        in_play = is_in_play(table.values_of(more.astype(np.uint64)))
        drawn = np.concatenate([drawn, more[in_play]])
        _, places = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(places)]
    return np.sort(drawn[:count]).astype(np.uint64)
