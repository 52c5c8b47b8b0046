"""The noise of the search, asked of the kernel itself."""

from __future__ import annotations

from azfit.games import Connect4
from azfit.kernels import lib
from azfit.search_config import SearchConfig


def noise_share(config: SearchConfig, ply: int) -> float:
    """The share of Dirichlet noise at the root of this move number."""
    return float(lib.ff_noise_share(config.c_options(Connect4()), ply))
