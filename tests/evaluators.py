"""Evaluators whose answers tests know, and a search with one tree."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from azfit import Evaluation, Game, Search, SearchConfig

Floats = NDArray[np.float32]

# c(s) = 1 to single precision, and nothing else: so that trees can be computed by hand
PLAIN_UCT = SearchConfig(c_init=1.0, c_base_factor=1e12, fpu_reduction=0.0, noise_eps=0.0)


def hashed(planes: Floats, actions: int, steps: bool = True) -> tuple[Floats, Any, Any]:
    """An evaluation of one leaf that depends on its planes only, and looks random."""
    draw = np.random.default_rng(zlib.crc32(planes.tobytes()))
    weights = draw.gamma(0.5, size=actions).astype(np.float32) + np.float32(1e-3)
    value = np.float32(draw.uniform(-1, 1))
    return weights, value, np.float32(draw.uniform(0, 40)) if steps else None


class Hashed:
    """The same for a batch."""

    def __init__(self, game: Game, steps: bool = True) -> None:
        self.game, self.steps, self.rows = game, steps, 0

    def __call__(self, planes: Floats) -> Evaluation:
        self.rows += len(planes)
        leaves = [hashed(leaf, self.game.actions, self.steps) for leaf in planes]
        weights, values, steps = (list(part) for part in zip(*leaves, strict=True))
        return np.array(weights), np.array(values), np.array(steps) if self.steps else None


class Fixed:
    """One evaluation for every leaf; but value by the number of pieces where that is given."""

    def __init__(self, weights: list[float], values: dict[int, float] | None = None) -> None:
        self.weights, self.values = np.array(weights, dtype=np.float32), values or {}

    def __call__(self, planes: Floats) -> Evaluation:
        pieces = planes.sum(axis=(1, 2, 3)).astype(int)
        values = np.array([self.values.get(count, 0.0) for count in pieces], dtype=np.float32)
        return np.tile(self.weights, (len(planes), 1)), values, None


def one_tree(game: Game, config: SearchConfig, actions: list[int], **options: Any) -> Search:
    search = Search(game, 1, config, **options)
    search.reset(game.play_all(actions)[None], plies=[len(actions)])
    return search


def f32(numbers: ArrayLike) -> Floats:
    return np.array(numbers, dtype=np.float32)
