"""One 64-bit hash, the same on every machine and in every run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The words well mixed, uint64 of the same shape: SplitMix64, as in ``csrc/random.h``."""
    mixed = words + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
