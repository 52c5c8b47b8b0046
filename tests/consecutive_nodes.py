"""Consecutive nodes as arrays, for tests that go through a range of them."""

from __future__ import annotations

import numpy as np

from solver.index import Int8Array, Uint64Array, look_up_codes, look_up_positions
from solver.rules import Rules


def nodes_from(first: int, count: int) -> Uint64Array:
    return np.arange(first, first + count, dtype=np.uint64)


def positions_from(first: int, count: int, rules: Rules) -> tuple[Int8Array, Int8Array, Int8Array]:
    """x, y and to_move of ``count`` nodes from ``first`` on."""
    return look_up_positions(nodes_from(first, count), rules)


def codes_from(first: int, count: int, rules: Rules) -> Uint64Array:
    """The state codes of ``count`` nodes from ``first`` on."""
    return look_up_codes(nodes_from(first, count), rules)
