"""The games of a run: on disk, a file per iteration, and their newest positions in the buffer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from azfit.games import Game
from azfit.self_play.episode import Episode, read_episodes
from azfit.self_play.replay import ReplayBatch, ReplayBuffer


class GameFiles:
    """Keeps the file of an iteration as long as a position of it is in the buffer."""

    def __init__(self, folder: Path, game: Game, capacity: int) -> None:
        self._folder, self._game = folder, game
        self.buffer = ReplayBuffer(game, capacity)
        self._positions: dict[int, int] = {}
        """In the file of each iteration that is still needed."""

    def path(self, iteration: int) -> Path:
        return self._folder / f"{iteration:06d}.games"

    def read(self, iteration: int) -> list[Episode]:
        """The games of this iteration that are finished."""
        path = self.path(iteration)
        return read_episodes(path, self._game) if path.exists() else []

    def enter(self, iteration: int, episodes: Sequence[Episode]) -> None:
        """Puts the games of an iteration into the buffer."""
        for episode in episodes:
            self.buffer.add(episode)
        self._positions[iteration] = sum(episode.plies for episode in episodes)

    def load(self, iterations: int) -> None:
        """Fills the buffer from the files of the first ``iterations``, the newest that fit."""
        needed: list[tuple[int, list[Episode]]] = []
        room = self.buffer.capacity
        for iteration in reversed(range(iterations)):
            if room <= 0:
                break
            episodes = self.read(iteration)
            if episodes:
                needed.append((iteration, episodes))
                room -= sum(episode.plies for episode in episodes)
        for iteration, episodes in reversed(needed):
            self.enter(iteration, episodes)

    def remove_unneeded(self) -> None:
        """Removes the files whose positions have all left the buffer."""
        newer = 0
        for iteration in sorted(self._positions, reverse=True):
            if newer >= self.buffer.capacity:
                del self._positions[iteration]
            else:
                newer += self._positions[iteration]
        oldest = min(self._positions, default=0)
        for path in self._folder.glob("*.games"):
            if path.stem.isdigit() and int(path.stem) < oldest:
                path.unlink()


def positions_of(game: Game, episodes: Iterable[Episode]) -> ReplayBatch:
    """All positions of these games, as training sees them."""
    episodes = list(episodes)
    buffer = ReplayBuffer(game, max(1, sum(episode.plies for episode in episodes)))
    for episode in episodes:
        buffer.add(episode)
    return buffer.batch(np.arange(buffer.size))
