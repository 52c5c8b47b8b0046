"""Which Connect Four positions a network is taught: how often each ply, and how they come about.

A label takes 1.5 to 2 times as long with every ply towards the beginning, while the share of a ply
falls to 0.7 of the next one's. So the early plies, which every game goes through, take most of the
time and are still rare. Equal time for every ply, a share that halves, would leave plies up to 9
with a fifth of a percent. Late plies cost nothing, and need few: their games are nearly over.

    ply     FIRST_PLY ......... QUICK_PLY ........ LATE_PLY ........ LAST_PLY
    share   0.7^(QUICK_PLY - p) 1        1       1 0.9^(p - LATE_PLY)

Plies before the first are those of the opening book, whose positions are all taught.
"""

from __future__ import annotations

import random
from functools import cache

from solver.connect4.position import COLUMN_BITS, COLUMNS, ROWS, Connect4Stones

FIRST_PLY, LAST_PLY = 6, 40
"""Searched, by default. Before them only what the book knows."""
QUICK_PLY = 14
"""From here on a label takes milliseconds."""
LATE_PLY = 24

EARLIER, LATER = 0.7, 0.9
"""The share of a ply, relative to the one after it before QUICK_PLY, and to the one before it after
LATE_PLY."""

_BOARD = sum(((1 << ROWS) - 1) << column * COLUMN_BITS for column in range(COLUMNS))
_BOTTOM = sum(1 << column * COLUMN_BITS for column in range(COLUMNS))


@cache
def shares_by_ply(first_ply: int = FIRST_PLY) -> list[float]:
    """How often each ply is drawn, at most 1."""
    shares = []
    for ply in range(LAST_PLY + 1):
        share = EARLIER ** max(0, QUICK_PLY - ply) * LATER ** max(0, ply - LATE_PLY)
        shares.append(share if ply >= first_ply else 0.0)
    return shares


def drawn_ply(draw: random.Random, first_ply: int, latest: int = LAST_PLY) -> int:
    shares = shares_by_ply(first_ply)[: max(latest, first_ply) + 1]
    return draw.choices(range(len(shares)), shares)[0]


def random_position(draw: random.Random, ply: int) -> Connect4Stones:
    """In play, after this many random moves."""
    while True:
        position = Connect4Stones(0, 0)
        while position.plies < ply and not position.is_over:
            position = position.play(draw.choice(position.legal_moves()))
        if not position.is_over:
            return position


def careful_position(draw: random.Random, ply: int) -> Connect4Stones:
    """In play, after this many moves of which none overlooks a win or a loss that is one move
    away. At random, most games are decided by such an oversight; good play meets few of these."""
    while True:
        mover = stones = 0
        while stones.bit_count() < ply:
            cells = _careful_cells(mover, stones)
            if not cells:
                break  # the mover wins at once, or the board is full
            placed = draw.choice(_single_cells(cells))
            mover, stones = stones ^ mover, stones | placed
        else:
            return Connect4Stones(mover, stones)


def _careful_cells(mover: int, stones: int) -> int:
    """Where a careful mover may play, as bits; 0 if the game ends with this move."""
    playable = (stones + _BOTTOM) & _BOARD
    if playable & winning_cells(mover, stones):
        return 0
    threats = winning_cells(stones ^ mover, stones)
    forced = playable & threats
    return forced or playable & ~(threats >> 1) or playable


def winning_cells(own: int, stones: int) -> int:
    """The empty cells that would make four of ``own``, within reach or not yet."""
    cells = own << 1 & own << 2 & own << 3
    for step in (COLUMN_BITS - 1, COLUMN_BITS, COLUMN_BITS + 1):
        below = own << step & own << 2 * step
        above = own >> step & own >> 2 * step
        cells |= below & (own << 3 * step | own >> step)
        cells |= above & (own >> 3 * step | own << step)
    return cells & _BOARD & ~stones


def _single_cells(cells: int) -> list[int]:
    single = []
    while cells:
        single.append(cells & -cells)
        cells &= cells - 1
    return single
