"""The best networks of a run so far: the opponents that a candidate's rating comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# Earlier bests that a candidate meets for its rating: the latest, and others evenly back in time.
OPPONENTS = 3

# Earlier bests kept on disk in addition to the latest ones.
EARLIER_MEMBERS = 12


class Rated(NamedTuple):
    """A network that became the best."""

    iteration: int
    """After which it was accepted."""
    elo: float


def opponents(pool: Sequence[Rated]) -> list[Rated]:
    """A few of the bests before the present one, the earliest among them."""
    earlier = list(pool[:-1])
    if len(earlier) <= OPPONENTS:
        return earlier
    chosen = np.linspace(0, len(earlier) - 1, OPPONENTS).round().astype(int)
    return [earlier[i] for i in chosen]


def thinned(pool: Sequence[Rated], latest: int) -> list[Rated]:
    """The first, the latest ones, and between them a few that are spread evenly in time."""
    kept = list(pool)
    while len(kept) > EARLIER_MEMBERS + latest:
        middle = range(1, len(kept) - latest)
        kept.pop(min(middle, key=lambda i: kept[i + 1].iteration - kept[i - 1].iteration))
    return kept
