"""The replay buffer: the newest positions of self-play, first in, first out.

    buffer = ReplayBuffer(game, 500_000)
    buffer.add(episode)
    batch = buffer.batch(buffer.epoch(512, random, balanced=False), random)

Positions lie in a ring of numpy arrays; those of the oldest games are overwritten.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from azfit.games import Game
from azfit.self_play.episode import Episode
from azfit.self_play.iteration import BufferOutcomes

Rows = NDArray[np.int64]

WIN, DRAW, LOSS = 0, 1, 2


@dataclass(frozen=True)
class ReplayBatch:
    """Positions to learn from, for the side to move."""

    planes: NDArray[np.float32]
    """float32 [B, planes, rows, columns]."""
    policy: NDArray[np.float32]
    """float32 [B, actions]: the share of the search's visits."""
    wdl: NDArray[np.int64]
    """int64 [B]: 0 win, 1 draw, 2 loss."""
    left: NDArray[np.int64]
    """int64 [B]: plies to the end of the game."""
    sides: NDArray[np.int8]
    """int8 [B]: 0 the first player to move, 1 the second."""
    values: NDArray[np.float32] | None = None
    """float32 [B]: the value that the search gave the position, -1 to 1."""
    replies: NDArray[np.float32] | None = None
    """float32 [B, actions]: the policy of the next position of the game, all 0 if it is not
    learned or there is none; None if it was not asked for."""


def _to_reply(counts: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """For each learned position of a game, of which each ply enters ``counts`` times: how many
    places further the first one of the next ply is; 0 if the next ply is not learned."""
    ends = np.cumsum(counts, dtype=np.int64)
    further = np.repeat(ends, counts) - np.arange(ends[-1] if len(ends) else 0)
    is_next_learned = np.append(counts[1:] > 0, False)
    return np.where(np.repeat(is_next_learned, counts), further, 0).astype(np.uint8)


class ReplayBuffer:
    """Up to ``capacity`` positions."""

    def __init__(self, game: Game, capacity: int) -> None:
        self.game, self.capacity = game, capacity
        self.size = 0
        self.added = 0
        """Positions ever added; the next one goes to ``added % capacity``."""
        self._room = 0
        self.codes: NDArray[np.int8] = np.empty((0, game.code_length), np.int8)
        self.visits: NDArray[np.uint16] = np.empty((0, game.actions), np.uint16)
        self.wdl: NDArray[np.int8] = np.empty(0, np.int8)
        self.left: NDArray[np.int16] = np.empty(0, np.int16)
        self.values: NDArray[np.float32] = np.empty(0, np.float32)
        self.to_reply: NDArray[np.uint8] = np.empty(0, np.uint8)
        """How many places further the next position of the game is; 0 if it is not learned. It is
        newer, so it stays in the ring as long as this one."""

    def _grow(self, wanted: int) -> None:
        """Memory as it is needed: a buffer of half a million is seldom full at first."""
        if wanted <= self._room:
            return
        self._room = min(self.capacity, max(wanted, 2 * self._room, 1 << 12))
        for name in ("codes", "visits", "wdl", "left", "values", "to_reply"):
            old = getattr(self, name)
            new = np.empty((self._room, *old.shape[1:]), old.dtype)
            new[: self.size] = old[: self.size]
            setattr(self, name, new)

    def add(self, episode: Episode) -> None:
        """Enters the positions of a game that are learned, in its order."""
        plies = np.repeat(np.arange(episode.plies), episode.counts)
        late = plies[max(0, len(plies) - self.capacity) :]
        count = len(late)
        self._grow(min(self.capacity, self.size + count))
        places = (self.added + np.arange(count)) % self.capacity
        self.codes[places] = episode.codes[late]
        self.visits[places] = episode.visits[late]
        self.wdl[places] = episode.wdl[late]
        self.left[places] = episode.left[late]
        self.values[places] = episode.values[late]
        self.to_reply[places] = _to_reply(episode.counts)[len(plies) - count :]
        self.added += count
        self.size = min(self.capacity, self.size + count)

    # ---- drawing ----------------------------------------------------------------

    def epoch(self, count: int, random: np.random.Generator, balanced: bool) -> Rows:
        """``count`` places for an epoch, in random order.

        Uniform: each place at most once, as long as there are enough. Balanced: wins, draws and
        losses in equal shares, with replacement; a class that is absent leaves its share to the
        others.

        Drawn by age, so that the same positions come whether the ring was filled in one run or
        again after a resume.
        """
        by_age = self.by_age
        if balanced:
            return self._stratified(by_age, count, random)
        whole, rest = divmod(count, self.size)
        rounds = [random.permutation(self.size) for _ in range(whole)]
        drawn: Rows = by_age[np.concatenate([*rounds, random.permutation(self.size)[:rest]])]
        return drawn

    @property
    def by_age(self) -> Rows:
        """int64 [size]: the places, the oldest position first."""
        places: Rows = (self.added + np.arange(self.size)) % max(1, self.size)
        return places

    def _stratified(self, by_age: Rows, count: int, random: np.random.Generator) -> Rows:
        outcomes = self.wdl[by_age]
        classes = [by_age[outcomes == c] for c in (WIN, DRAW, LOSS)]
        present = [places for places in classes if len(places)]
        shares = np.full(len(present), count // len(present))
        shares[: count % len(present)] += 1
        drawn = [
            places[random.integers(len(places), size=share)]
            for places, share in zip(present, shares, strict=True)
        ]
        return random.permutation(np.concatenate(drawn))

    def batch(
        self, places: Rows, random: np.random.Generator | None = None, replies: bool = False
    ) -> ReplayBatch:
        """These positions; each, and what is learned with it, carried by a random symmetry if
        ``random`` is given. replies: with the policies of the next positions."""
        game, count = self.game, len(places)
        transforms = None
        if random is not None:
            transforms = random.integers(game.symmetries, size=count).astype(np.uint8)
        codes = self.codes[places]
        return ReplayBatch(
            game.planes(game.decode(codes), transforms),
            self._policy(places, transforms),
            self.wdl[places].astype(np.int64),
            self.left[places].astype(np.int64),
            codes[:, -1],
            self.values[places],
            self._replies(places, transforms) if replies else None,
        )

    def _policy(self, places: Rows, transforms: NDArray[np.uint8] | None) -> NDArray[np.float32]:
        """float32 [B, actions]: shares of the visits, on boards that were carried so."""
        visits = self.visits[places].astype(np.float32)
        policy: NDArray[np.float32] = visits / visits.sum(axis=1, keepdims=True)
        return policy if transforms is None else self.game.carry_policy(policy, transforms)

    def _replies(self, places: Rows, transforms: NDArray[np.uint8] | None) -> NDArray[np.float32]:
        """A game has the same orientation throughout, so a reply is carried as its position is."""
        further = self.to_reply[places].astype(np.int64)
        replies = self._policy((places + further) % self.capacity, transforms)
        return np.where(further[:, None] > 0, replies, np.float32(0))

    def outcomes(self) -> BufferOutcomes:
        """How the games behind the positions ended, by side to move."""
        wdl, sides = self.wdl[: self.size], self.codes[: self.size, -1]
        first, second = (np.bincount(wdl[sides == side], minlength=3).tolist() for side in (0, 1))
        return BufferOutcomes(tuple(first), tuple(second))
