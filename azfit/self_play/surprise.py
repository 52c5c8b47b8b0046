"""Surprise: positions whose search differs more from the network are learned more often (KataGo).

Of a game's n positions that are learned, position i counts

    w_i = (1 - s) + s * n * KL_i / (sum of KL)        s: --surprise-weight

times, where KL_i = KL(target || prior) says how far the search's target is from the network's own
policy, before noise. The w sum up to n, so a game has as many positions as before in the mean; a
fraction is rounded up with a chance of that fraction, by the game's own random numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST_COPIES = np.iinfo(np.uint8).max


def surprise(targets: NDArray[np.floating], priors: NDArray[np.floating]) -> float:
    """KL(target || prior) in nats; targets [actions] need not sum to 1."""
    p = targets.astype(np.float64) / max(float(targets.sum()), 1e-30)
    asked = p > 0
    return float((p[asked] * np.log(p[asked] / np.maximum(priors[asked], 1e-12))).sum())


def copies(
    surprises: Sequence[float],
    learned: Sequence[bool],
    weight: float,
    random: np.random.Generator,
) -> NDArray[np.uint8]:
    """How often each position of a game is learned, uint8 [T]: 0 for those that are not."""
    among = np.array(learned, bool)
    divergence = np.where(among, np.maximum(np.array(surprises, np.float64), 0.0), 0.0)
    share = among / max(1, among.sum())
    if divergence.sum() > 0:
        share = (1 - weight) * share + weight * divergence / divergence.sum()
    wanted = share * among.sum()
    whole = np.floor(wanted)
    drawn = whole + (random.random(len(wanted)) < wanted - whole)
    return np.asarray(np.minimum(drawn, MOST_COPIES), np.uint8)
