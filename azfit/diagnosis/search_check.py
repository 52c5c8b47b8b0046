"""What an option of the search changes: the same positions searched with it and without.

    on, off = (searched(game, evaluate, one, states, plies) for one in (config, other))
    told = differences(game, states, on, off, config.sims)

Searches are from scratch, without noise, so that all that differs is the option. A node is starved
if the FPU of its untried moves is below -1, or would be without the clamp: then a move not tried
ranks below a proven loss and only the exploration term can ever reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.diagnosis.contradiction import canonical, gap_of
from azfit.games import Game, States
from azfit.search import Evaluator, Search
from azfit.search_config import SearchConfig
from azfit.self_play.assessment import SIDES, entropies

TREES = 256  # searched side by side

REPEATS = 32  # searches of one position, each with noise of its own


@dataclass(frozen=True)
class Searched:
    """N positions, searched."""

    visits: NDArray[np.float64]
    """float64 [N, actions]: shares."""
    chosen: NDArray[np.int32]
    """int32 [N]: the most visited move."""
    open: NDArray[np.int64]
    """int64 [2]: nodes with an untried move that walks came through, by their side to move."""
    starved: NDArray[np.int64]
    """int64 [2]: those of them whose FPU is below -1."""

    @property
    def starved_shares(self) -> list[float]:
        return [float(s / max(1, o)) for s, o in zip(self.starved, self.open, strict=True)]


def searched(
    game: Game,
    evaluate: Evaluator,
    config: SearchConfig,
    states: States,
    plies: NDArray[np.int64],
    seeds: Sequence[int] | None = None,
) -> Searched:
    """Searches each of the states (uint8 [N, state_bytes]) from scratch."""
    visits, chosen = [], []
    opened, starved = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for low in range(0, len(states), TREES):
        part = slice(low, low + TREES)
        search = Search(game, len(states[part]), replace(config, reuse=False))
        numbers = np.asarray(seeds[part]) if seeds is not None else 0
        search.reset(states[part], plies=plies[part], seeds=numbers)
        search.run(evaluate)
        visits.append(search.visits().astype(np.float64))
        chosen.append(search.choose(temperature=0.0))
        counts = search.counts()
        opened += counts.open.sum(axis=0).astype(np.int64)
        starved += counts.starved.sum(axis=0).astype(np.int64)
    shares = np.concatenate(visits)
    shares /= shares.sum(axis=1, keepdims=True)
    return Searched(shares, np.concatenate(chosen), opened, starved)


def without_noise(config: SearchConfig) -> SearchConfig:
    return replace(config, noise_eps=0.0, noise_steps=0)


def differences(
    game: Game, states: States, one: Searched, other: Searched, sims: int
) -> dict[str, Any]:
    """By side to move at the root: how the searches of the same positions differ."""
    sides, legal = game.sides(states), game.legal_masks(states)
    told = {}
    for side, name in enumerate(SIDES):
        mine = sides == side
        if not mine.any():
            continue
        a, b = one.visits[mine], other.visits[mine]
        told[name] = {
            "positions": int(mine.sum()),
            "other_move": float((one.chosen != other.chosen)[mine].mean()),
            "distance": float(0.5 * np.abs(a - b).sum(axis=1).mean()),
            "second_visits": [_second(a) * sims, _second(b) * sims],
            "untried_moves": [
                float(((visits == 0) & legal[mine]).sum(axis=1).mean()) for visits in (a, b)
            ],
            "starved": [one.starved_shares[side], other.starved_shares[side]],
        }
    return told


def _second(shares: NDArray[np.float64]) -> float:
    """The share of the second most visited move."""
    return float(np.sort(shares, axis=1)[:, -2].mean()) if shares.shape[1] > 1 else 0.0


def repeated_searches(
    game: Game,
    evaluate: Evaluator,
    config: SearchConfig,
    moves: Sequence[int],
    repeats: int = REPEATS,
) -> dict[str, Any]:
    """One position searched as self-play does, with noise, by so many seeds: do they agree?"""
    states = np.repeat(game.play_all(moves)[None], repeats, axis=0)
    plies = np.full(repeats, len(moves), np.int64)
    found = searched(game, evaluate, config, states, plies, range(1, repeats + 1))
    _, policies = canonical(game, states, found.visits)
    return {
        "moves": list(moves),
        "repeats": repeats,
        "gap": gap_of(policies),
        "entropy": float(entropies(found.visits).mean()),
        "policy": [round(float(p), 5) for p in found.visits.mean(axis=0)],
    }
