"""The games of a run: on disk, a file per iteration, and their newest positions in the buffer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from azfit.games import Game
from azfit.self_play.episode import Episode, read_episodes
from azfit.self_play.replay import ReplayBatch, ReplayBuffer
from solver.errors import CorruptTableError, InputError


class GameFiles:
    """Keeps the file of an iteration as long as a position of it is in the buffer."""

    def __init__(self, folder: Path, game: Game, capacity: int, games: int) -> None:
        """capacity: positions in the buffer. games: in an iteration."""
        self._folder, self._game, self._games = folder, game, games
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
        self._positions[iteration] = sum(episode.learned for episode in episodes)

    def load(self, iterations: int) -> None:
        """Fills the buffer from the files of the first ``iterations``, the newest that fit. A file
        may be missing, but one that is there has all games of its iteration."""
        needed: list[tuple[int, list[Episode]]] = []
        room = self.buffer.capacity
        for iteration in sorted(self._on_disk(), reverse=True):
            if iteration >= iterations:
                continue
            if room <= 0:
                break
            episodes = self.read(iteration)
            if len(episodes) != self._games:
                raise CorruptTableError(
                    f"'{self.path(iteration)}' has {len(episodes)} of the {self._games} games that "
                    "were played: restore it, or remove it, and the run continues without them"
                )
            if episodes:
                needed.append((iteration, episodes))
                room -= sum(episode.learned for episode in episodes)
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
        for iteration in self._on_disk():
            if iteration < oldest:
                self.path(iteration).unlink()

    def discard(self, iteration: int) -> None:
        """Games that will not be needed."""
        self.path(iteration).unlink(missing_ok=True)

    def _on_disk(self) -> list[int]:
        """The iterations that have a file."""
        names = [path.stem for path in files_of_games(self._folder)]
        numbers = [int(name) for name in names if re.fullmatch("[0-9]{6,9}", name)]
        return [number for number in numbers if self.path(number).stem in names]


def files_of_games(folder: Path) -> list[Path]:
    """In order of the iterations; none if there is no such folder."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"cannot read the games in '{folder}': {error.strerror}") from None
    return [folder / name for name in sorted(names) if name.endswith(".games")]


def positions_of(game: Game, episodes: Iterable[Episode]) -> ReplayBatch:
    """All positions of these games that are learned, as training sees them."""
    episodes = list(episodes)
    buffer = ReplayBuffer(game, max(1, sum(episode.learned for episode in episodes)))
    for episode in episodes:
        buffer.add(episode)
    return buffer.batch(np.arange(buffer.size))
