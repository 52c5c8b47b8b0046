"""The games that a run of self-play keeps, as arrays over their positions.

    games = read_games(folder, game)
    buffer = games.newest(config.buffer)      # what replay draws from

A file that a crash cut short is read up to there, and ``cut`` says so; one whose content is wrong
is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from azfit.games import Game, States
from azfit.self_play.episode import Episode, read_with_rest
from azfit.self_play.game_files import files_of_games


@dataclass(frozen=True)
class StoredGames:
    """Finished games in the order in which they were played."""

    game: Game
    episodes: list[Episode]
    cut: list[str] = field(default_factory=list)
    """A sentence for each file whose last game was cut short."""
    skipped: int = 0
    """Positions at the beginning of the first game that the buffer has dropped already."""

    def __len__(self) -> int:
        return sum(episode.learned for episode in self.episodes) - self.skipped

    def newest(self, count: int) -> StoredGames:
        """The games that hold the last ``count`` positions: the buffer, first in, first out."""
        chosen: list[Episode] = []
        room = count
        for episode in reversed(self.episodes):
            if room <= 0:
                break
            chosen.append(episode)
            room -= episode.learned
        return StoredGames(self.game, chosen[::-1], self.cut, max(0, -room))

    def latest(self, iterations: int) -> StoredGames:
        """The games of the last ``iterations``."""
        last = max((episode.iteration for episode in self.episodes), default=0)
        recent = [game for game in self.episodes if game.iteration > last - iterations]
        return StoredGames(self.game, recent, self.cut)

    def _joined(self, parts: list[NDArray[np.generic]]) -> NDArray[np.generic]:
        """An entry for each position that is learned, from those of every game's plies."""
        counts = [episode.counts for episode in self.episodes]
        learned = [np.repeat(p, c, axis=0) for p, c in zip(parts, counts, strict=True)]
        return np.concatenate(learned)[self.skipped :]

    @cached_property
    def codes(self) -> NDArray[np.int8]:
        """int8 [N, code_length]."""
        return self._joined([episode.codes for episode in self.episodes]).astype(np.int8)

    @cached_property
    def states(self) -> States:
        """uint8 [N, state_bytes]."""
        return self.game.decode(self.codes)

    @cached_property
    def targets(self) -> NDArray[np.float32]:
        """float32 [N, actions]: the share of the search's visits."""
        visits = self._joined([episode.visits for episode in self.episodes]).astype(np.float32)
        return np.asarray(visits / visits.sum(axis=1, keepdims=True), np.float32)

    @cached_property
    def sides(self) -> NDArray[np.int8]:
        """int8 [N]: the side to move, 0 or 1."""
        return self.codes[:, -1]

    @cached_property
    def wdl(self) -> NDArray[np.int8]:
        """int8 [N]: 0 win, 1 draw, 2 loss, for the side to move."""
        return self._joined([episode.wdl for episode in self.episodes]).astype(np.int8)

    @cached_property
    def values(self) -> NDArray[np.float32]:
        """float32 [N]: what the search thought of the position, for the side to move."""
        return self._joined([episode.values for episode in self.episodes]).astype(np.float32)

    @cached_property
    def plies(self) -> NDArray[np.int64]:
        """int64 [N]: moves played before the position."""
        parts: list[NDArray[np.generic]] = [
            np.arange(len(episode.opening), episode.length) for episode in self.episodes
        ]
        return self._joined(parts).astype(np.int64)

    @cached_property
    def iterations(self) -> NDArray[np.int64]:
        """int64 [N]: which iteration's game the position is of."""
        parts: list[NDArray[np.generic]] = [
            np.full(episode.plies, episode.iteration) for episode in self.episodes
        ]
        return self._joined(parts).astype(np.int64)


# ---- reading -------------------------------------------------------------------------


def read_games(folder: Path, game: Game) -> StoredGames:
    """All games on disk of the run in this folder."""
    episodes: list[Episode] = []
    cut: list[str] = []
    for path in files_of_games(folder / "games"):
        in_file, rest = read_with_rest(path, game)
        if rest:
            cut.append(f"'{path}' ends within a game: its last {rest} bytes are left out")
        episodes += in_file
    return StoredGames(game, episodes, cut)
