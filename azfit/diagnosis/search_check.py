"""What an option of the search changes: the same positions searched with it and without.

    with_it = searched(game, evaluate, config, states, plies)
    without = searched(game, evaluate, other, states, plies)
    by_side = differences(game, states, with_it, without, config.sims)

Searches are from scratch, without noise, so that all that differs is the option. A node is starved
if the FPU of its untried moves is below -1, or would be without the clamp: then a move not tried
ranks below a proven loss and only the exploration term can ever reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from azfit.diagnosis.contradiction import canonical, gap_of
from azfit.games import Game, States
from azfit.search import Evaluator, Search
from azfit.search_config import SearchConfig
from azfit.self_play.assessment import entropies
from azfit.self_play.iteration import SIDES

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
        visits.append(search.targets().astype(np.float64))
        chosen.append(search.choose(temperature=0.0))
        counts = search.counts()
        opened += counts.open.sum(axis=0).astype(np.int64)
        starved += counts.starved.sum(axis=0).astype(np.int64)
    shares = np.concatenate(visits)
    shares /= shares.sum(axis=1, keepdims=True)
    return Searched(shares, np.concatenate(chosen), opened, starved)


def without_noise(config: SearchConfig) -> SearchConfig:
    return replace(config, noise_eps=0.0, noise_steps=0)


@dataclass(frozen=True)
class SearchDifference:
    """How two searches of the same positions differ, for one side; pairs are [with the option,
    without it]."""

    positions: int
    other_move: float
    """Share of the positions with another most visited move."""
    distance: float
    """Mean total-variation distance of the visits."""
    second_visits: list[float]
    """Visits of the second most visited move."""
    untried_moves: list[float]
    """Legal moves without a visit, per position."""
    starved: list[float]
    """Share of starved nodes."""


def differences(
    game: Game, states: States, searches: Searched, others: Searched, sims: int
) -> dict[str, SearchDifference]:
    """By side to move at the root."""
    sides, legal = game.sides(states), game.legal_masks(states)
    by_side = {}
    for side, name in enumerate(SIDES):
        rows = sides == side
        if not rows.any():
            continue
        visits, other_visits = searches.visits[rows], others.visits[rows]
        by_side[name] = SearchDifference(
            positions=int(rows.sum()),
            other_move=float((searches.chosen != others.chosen)[rows].mean()),
            distance=float(0.5 * np.abs(visits - other_visits).sum(axis=1).mean()),
            second_visits=[_second(visits) * sims, _second(other_visits) * sims],
            untried_moves=[_untried(visits, legal[rows]), _untried(other_visits, legal[rows])],
            starved=[searches.starved_shares[side], others.starved_shares[side]],
        )
    return by_side


def _untried(shares: NDArray[np.float64], legal: NDArray[np.bool_]) -> float:
    return float(((shares == 0) & legal).sum(axis=1).mean())


def _second(shares: NDArray[np.float64]) -> float:
    """The share of the second most visited move."""
    return float(np.sort(shares, axis=1)[:, -2].mean()) if shares.shape[1] > 1 else 0.0


@dataclass(frozen=True)
class RepeatedSearches:
    """One position, searched many times with noise."""

    moves: list[int]
    """The moves that lead to the position."""
    repeats: int
    gap: float
    """The Jensen gap of the searches."""
    entropy: float
    """Mean of a search's visits."""
    policy: list[float]
    """Mean of the searches."""


def repeated_searches(
    game: Game,
    evaluate: Evaluator,
    config: SearchConfig,
    moves: Sequence[int],
    repeats: int = REPEATS,
) -> RepeatedSearches:
    """One position searched as self-play does, with noise, by different seeds: do they agree?"""
    states = np.repeat(game.play_all(moves)[None], repeats, axis=0)
    plies = np.full(repeats, len(moves), np.int64)
    searches = searched(game, evaluate, config, states, plies, range(1, repeats + 1))
    _, policies = canonical(game, states, searches.visits)
    return RepeatedSearches(
        moves=list(moves),
        repeats=repeats,
        gap=gap_of(policies),
        entropy=float(entropies(searches.visits).mean()),
        policy=[round(float(p), 5) for p in searches.visits.mean(axis=0)],
    )
