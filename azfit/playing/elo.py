"""Elo ratings of networks against a pool of earlier ones.

A difference of d means an expected score of 1 / (1 + 10^(-d / 400)). The first network has 0.
Ratings of pool members stay as they were when they entered; a new one gets the rating under which
its scores against them are likeliest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

# Two drawn games against the latest best are added to every record, so that a clean sweep gives
# a finite rating.
PRIOR_DRAWS = 2.0


def expected(difference: float) -> float:
    """The expected score of a player whose rating is higher by ``difference``."""
    return 1.0 / (1.0 + math.pow(10.0, -difference / 400.0))


def rating(results: Sequence[tuple[float, float, float]], anchor: float) -> float:
    """The likeliest rating from (opponent's rating, games, points), near ``anchor``."""
    played = [*results, (anchor, PRIOR_DRAWS, PRIOR_DRAWS / 2)]
    points = math.fsum(p for _, _, p in played)
    low, high = anchor - 4000.0, anchor + 4000.0
    for _ in range(60):  # the expected points rise with the rating: halve the interval
        middle = (low + high) / 2
        if math.fsum(n * expected(middle - r) for r, n, _ in played) < points:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def difference(share: float, games: int) -> float:
    """The rating difference that a score means, with the prior draws added."""
    total = games + PRIOR_DRAWS
    points = share * games + PRIOR_DRAWS / 2
    return 400.0 * math.log10(points / (total - points))
