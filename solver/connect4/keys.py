"""One number for a Connect Four position and its mirror image: where scores are looked up.

mover + stones is unique (csrc/connect4_solver.h); of a position and its image the smaller one
counts. The same for single positions and for arrays of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.connect4.position import COLUMN_BITS, COLUMNS

Bitboards = NDArray[np.uint64]


def key_of(mover: int, stones: int) -> int:
    """The same number for a position and its mirror image, and for no other position."""
    return int(min(mover + stones, _mirrored(mover) + _mirrored(stones)))


def keys_of(movers: Bitboards, stones: Bitboards) -> Bitboards:
    """The keys of many positions, uint64 [N]."""
    keys: Bitboards = np.minimum(movers + stones, _mirrored(movers) + _mirrored(stones))
    return keys


def stone_counts(stones: Bitboards) -> NDArray[np.int64]:
    """The number of stones of many positions, int64 [N]."""
    bits = np.unpackbits(np.ascontiguousarray(stones).view(np.uint8).reshape(-1, 8), axis=1)
    return np.asarray(bits.sum(axis=1, dtype=np.int64))


def bitboards_of(key: int) -> tuple[int, int]:
    """The mover's stones and all stones of the position that has this key, or of its image.

    A column of h stones, the mover's among them as the bits m, adds m + 2^h - 1.
    """
    mover = stones = 0
    for column in range(COLUMNS):
        place = column * COLUMN_BITS
        part = (key >> place & (1 << COLUMN_BITS) - 1) + 1
        height = part.bit_length() - 1
        mover |= part - (1 << height) << place
        stones |= (1 << height) - 1 << place
    return mover, stones


def _mirrored(stones: Any) -> Any:
    """Left and right exchanged; an int or uint64 [N]."""
    column = (1 << COLUMN_BITS) - 1
    image = stones & 0
    for _ in range(COLUMNS):
        image = image << COLUMN_BITS | stones & column
        stones = stones >> COLUMN_BITS
    return image
