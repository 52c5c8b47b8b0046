"""The options of the search, checked once and then constant."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.games import Game
from azfit.kernels import ffi
from solver.errors import InputError

MOST_SIMS = 10_000_000


@dataclass(frozen=True)
class PlayoutCaps:
    """Two kinds of moves: searched in full and learned, or quickly and only played."""

    full: int
    fast: int
    share: float
    """Of full searches."""


@dataclass(frozen=True)
class SearchConfig:
    """All options of the search; None means the game's own default."""

    sims: int = 100
    """Simulations per search; evaluating a new root is not one of them."""
    full_share: float = 1.0
    """Share of the moves of self-play that are searched in full; the others get ``fast_sims``, no
    noise, and are not learned. With 1, all moves get ``sims``."""
    full_sims: int | None = None
    """Simulations of a full search where ``full_share`` is below 1; None: ``sims``."""
    fast_sims: int | None = None
    """Simulations of the others; None: a sixth of a full search."""
    search: str = "puct"
    """How the root is searched: "puct", or "gumbel", by sequential halving."""
    gumbel_candidates: int = 16
    c_init: float = 1.4
    c_base_factor: float = 1000.0
    """c_base = sims * c_base_factor."""
    fpu_reduction: float = 0.2
    fpu_clamp: bool = True
    """A move not tried is never rated below a proven loss."""
    fpu_dynamic: bool = False
    """Reduction times (V + 1) / 2: gentle where the position is bad."""
    fpu_at_noised_root: bool = True
    """False: no reduction at a root with noise."""
    noise_eps: float = 0.25
    noise_eps_min: float = 0.1
    noise_steps: int = 0
    """Plies over which noise falls from noise_eps to noise_eps_min; 0: it stays at noise_eps."""
    dirichlet_alpha: float | None = None
    """None: 10 / typical number of legal moves."""
    temperature: float = 1.0
    temp_moves: int | None = None
    """The plies before this one are drawn at ``temperature``, later ones are the most visited
    move; None: all plies are drawn."""
    lambda_steps: float = 0.1
    """Share of the steps head in a leaf's value; without a steps head it is not used."""
    max_steps: float | None = None
    """The steps head's largest answer, the network's max_plies; None: that of the games."""
    max_plies: int | None = None
    """A game that reaches this ply is a draw."""
    reuse: bool = True
    """Keep the subtree of the move played."""
    prove: bool = False
    """Back up wins, losses and draws that the tree proves as such."""
    forced_playouts: float = 0.0
    """k: at a root with noise a move that was tried gets sqrt(k * P * visits of the root), and the
    target leaves out what was only forced; 0: none."""

    lcb: float = 0.0
    """z: where the most visited move would be played, play the one with the highest lower bound, z
    standard errors below its value; 0: the most visited one. Not with ``reuse``."""

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("sims", self.sims, 1, MOST_SIMS),
            ("full_share", self.full_share, 0.0, 1.0),
            ("full_sims", self.full_sims, 1, MOST_SIMS),
            ("fast_sims", self.fast_sims, 1, MOST_SIMS),
            ("gumbel_candidates", self.gumbel_candidates, 1, 361),
            ("c_init", self.c_init, 0.0, 1e6),
            ("c_base_factor", self.c_base_factor, 1e-9, 1e12),
            ("fpu_reduction", self.fpu_reduction, 0.0, 10.0),
            ("noise_eps", self.noise_eps, 0.0, 1.0),
            ("noise_eps_min", self.noise_eps_min, 0.0, 1.0),
            ("noise_steps", self.noise_steps, 0, 1_000_000),
            ("dirichlet_alpha", self.dirichlet_alpha, 1e-6, 1e6),
            ("temperature", self.temperature, 0.0, 1e6),
            ("temp_moves", self.temp_moves, 0, 1_000_000),
            ("lambda_steps", self.lambda_steps, 0.0, 1.0),
            ("max_steps", self.max_steps, 1e-6, 1e9),
            ("max_plies", self.max_plies, 1, 1_000_000),
            ("lcb", self.lcb, 0.0, 100.0),
            ("forced_playouts", self.forced_playouts, 0.0, 100.0),
        ):
            if value is None:
                continue
            if isinstance(low, int) and (isinstance(value, bool) or not isinstance(value, int)):
                raise InputError(f"{name}={value!r}: use a whole number from {low} to {high}")
            if not math.isfinite(value) or not low <= value <= high:
                raise InputError(f"{name}={value}: use {low} to {high}")
        if self.search not in ("puct", "gumbel"):
            raise InputError(f"search={self.search!r}: use puct or gumbel")
        if self.noise_steps and self.noise_eps_min > self.noise_eps:
            raise InputError(
                f"noise_eps_min={self.noise_eps_min} is above noise_eps={self.noise_eps}: "
                "noise falls during a game, so use a smaller noise_eps_min"
            )

    @property
    def caps(self) -> PlayoutCaps | None:
        """How the moves of self-play are searched; None: all alike, with ``sims``."""
        if self.full_share >= 1.0:
            return None
        full = self.full_sims or self.sims
        return PlayoutCaps(full, self.fast_sims or max(1, full // 6), self.full_share)

    @property
    def most_sims(self) -> int:
        """The simulations of the longest search."""
        caps = self.caps
        return self.sims if caps is None else max(self.sims, caps.full, caps.fast)

    def for_matches(self) -> SearchConfig:
        """As a player is judged and plays matches: no noise, the most visited move, every position
        searched from scratch, by PUCT."""
        return replace(
            self,
            noise_eps=0.0,
            noise_steps=0,
            temperature=0.0,
            reuse=False,
            full_share=1.0,
            search="puct",
        )

    def temperature_at(self, plies: NDArray[np.int32]) -> NDArray[np.float32]:
        """The temperature of each move number (int32 [count]), float32 [count]."""
        last = np.iinfo(np.int32).max if self.temp_moves is None else self.temp_moves
        return np.where(plies < last, self.temperature, 0.0).astype(np.float32)

    def c_options(self, game: Game) -> Any:
        """These options as the kernel reads them, with the game's defaults filled in."""
        max_plies = game.max_plies if self.max_plies is None else self.max_plies
        alpha = self.dirichlet_alpha
        options = ffi.new("ff_search_options *")
        options.c_init = self.c_init
        options.c_base = self.sims * self.c_base_factor
        options.fpu_reduction = self.fpu_reduction
        options.fpu_clamp = self.fpu_clamp
        options.fpu_dynamic = self.fpu_dynamic
        options.fpu_at_noised_root = self.fpu_at_noised_root
        gumbel = self.search == "gumbel"
        options.gumbel = self.gumbel_candidates if gumbel else 0
        if not gumbel:  # it has its own noise
            options.noise_eps, options.noise_eps_min = self.noise_eps, self.noise_eps_min
        options.noise_steps = self.noise_steps
        options.dirichlet_alpha = 10.0 / game.typical_moves if alpha is None else alpha
        options.lambda_steps = self.lambda_steps
        options.max_steps = max_plies if self.max_steps is None else self.max_steps
        options.max_plies = max_plies
        options.reuse = self.reuse and not gumbel
        options.prove = self.prove
        options.lcb = 0.0 if self.reuse else self.lcb
        options.forced_playouts = self.forced_playouts
        return options
