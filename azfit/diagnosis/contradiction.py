"""Do the policy targets of one position contradict each other?

Many searches of one position give policies p_1 ... p_n. A network can only learn their mean, and

    mean of KL(p_i | mean) = H(mean) - mean of H(p_i)      (the Jensen gap, in nats, >= 0)

is what stays in its loss for ever. Near 0 the searches agree; ln 2 = 0.69 is the gap of two moves
that are each right half of the time.

Positions count as equal if a symmetry carries one to the other, and each policy is averaged over
the symmetries that leave its position as it is: that a search begins with a1 and not with the
corner across is not a contradiction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.games import Game, States
from azfit.self_play.assessment import entropies
from azfit.self_play.iteration import SIDES
from solver.hashing import mix

POSITIONS_AT_A_TIME = 1 << 13

# Probabilities held at once, 160 MB: enough for a full buffer of the small games, and for the
# newest 88,000 positions of Gomoku on 15 lines.
MOST_PROBABILITIES = 20_000_000

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]


def most_compared(game: Game) -> int:
    """Positions of this game that are compared with each other at once."""
    return MOST_PROBABILITIES // game.actions


def keys_of(game: Game, states: States, transform: int = 0) -> Keys:
    """A 64-bit hash of what a network sees of each state, carried by this transform.

    Among a million positions two different ones share a hash with a chance of 3e-8.
    """
    transforms = np.full(len(states), transform, np.uint8)
    stones = game.planes(states, transforms)[:, : game.stone_planes].reshape(len(states), -1)
    bits = np.packbits(stones != 0, axis=1)
    padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
    keys = np.zeros(len(states), np.uint64)
    for word in np.ascontiguousarray(padded).view(np.uint64).T:
        keys = mix(keys ^ word)
    return keys


def canonical(game: Game, states: States, policies: NDArray[Any]) -> tuple[Keys, Floats]:
    """Keys uint64 [N] that symmetric positions share, and the policies [N, actions] as they are
    for the position that the key stands for."""
    keys = np.empty(len(states), np.uint64)
    carried = np.empty(policies.shape, np.float64)
    for low in range(0, len(states), POSITIONS_AT_A_TIME):
        part = slice(low, low + POSITIONS_AT_A_TIME)
        images = np.array([keys_of(game, states[part], t) for t in range(game.symmetries)])
        keys[part] = images.min(axis=0)
        lowest = images == keys[part]
        total = np.zeros(policies[part].shape, np.float64)
        for transform, chosen in enumerate(lowest):
            transforms = np.full(len(chosen), transform, np.uint8)
            total += chosen[:, None] * game.carry_policy(policies[part], transforms)
        carried[part] = total / lowest.sum(axis=0)[:, None]
    return keys, carried


@dataclass(frozen=True)
class Groups:
    """Equal positions with the same side to move, and what their policies have in common."""

    first: NDArray[np.int64]
    """int64 [G]: a member of each group."""
    members: NDArray[np.int64]
    """int64 [G]: how many."""
    of: NDArray[np.int64]
    """int64 [N]: the group of each position."""
    mean: Floats
    """float64 [G, actions], for the position that the key stands for."""
    gap: Floats
    """float64 [G]: H(mean) - mean H."""

    @property
    def repeated(self) -> NDArray[np.bool_]:
        return np.asarray(self.members > 1)


def grouped(keys: Keys, policies: Floats, sides: NDArray[np.int8]) -> Groups:
    """The positions of each side by key."""
    keys_with_side = mix(keys + sides.astype(np.uint64))
    _, first, of, members = np.unique(
        keys_with_side, return_index=True, return_inverse=True, return_counts=True
    )
    mean = np.zeros((len(first), policies.shape[1]))
    np.add.at(mean, of, policies)
    mean /= members[:, None]
    within = np.bincount(of, entropies(policies), len(first)) / members
    return Groups(first, members, of, mean, np.maximum(0.0, entropies(mean) - within))


def gap_of(policies: NDArray[Any]) -> float:
    """The Jensen gap of several policies [n, actions] of one position."""
    return float(max(0.0, entropies(policies.mean(axis=0)) - entropies(policies).mean()))


@dataclass(frozen=True)
class JensenGap:
    """The Jensen gap of one side's positions."""

    gap: float | None
    """Over the positions met more than once, each visit counting alike; None if there are
    no such positions."""
    repeated_share: float
    """The share of all positions that these are."""


def gaps_by_side(groups: Groups, sides: NDArray[np.int8]) -> dict[str, JensenGap]:
    gaps = {}
    for side, name in enumerate(SIDES):
        of_side = sides[groups.first] == side
        repeated = of_side & groups.repeated
        weights = groups.members[repeated]
        total = int(groups.members[of_side].sum())
        gaps[name] = JensenGap(
            float(np.average(groups.gap[repeated], weights=weights)) if len(weights) else None,
            float(weights.sum() / total) if total else 0.0,
        )
    return gaps
