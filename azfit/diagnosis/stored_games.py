"""The games that a run of self-play keeps, as arrays over their positions.

    games = read_games(folder, game)
    buffer = games.newest(config.buffer)      # what replay draws from

A file that a crash cut short is read up to there, and ``cut`` says so; one whose content is wrong
is refused.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from azfit.games import Game, States
from azfit.self_play.episode import (
    MAGIC,
    MOST_FRAME_BYTES,
    Episode,
    frames,
    open_games,
    read_episodes,
)
from solver.errors import CorruptTableError, InputError

_LENGTHS = struct.Struct("<II")  # of a frame, behind its magic: bytes, CRC-32


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
        return sum(episode.plies for episode in self.episodes) - self.skipped

    def newest(self, count: int) -> StoredGames:
        """The games that hold the last ``count`` positions: the buffer, first in, first out."""
        chosen: list[Episode] = []
        room = count
        for episode in reversed(self.episodes):
            if room <= 0:
                break
            chosen.append(episode)
            room -= episode.plies
        return StoredGames(self.game, chosen[::-1], self.cut, max(0, -room))

    def latest(self, iterations: int) -> StoredGames:
        """The games of the last ``iterations``."""
        last = max((episode.iteration for episode in self.episodes), default=0)
        recent = [game for game in self.episodes if game.iteration > last - iterations]
        return StoredGames(self.game, recent, self.cut)

    def _joined(self, parts: list[NDArray[np.generic]]) -> NDArray[np.generic]:
        return np.concatenate(parts)[self.skipped :]

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
        in_file = read_episodes(path, game)
        rest = unread_bytes(path)
        if rest:
            cut.append(f"'{path}' ends within a game: its last {rest} bytes are left out")
        _check(path, in_file, game)
        episodes += in_file
    return StoredGames(game, episodes, cut)


def files_of_games(folder: Path) -> list[Path]:
    """In order of the iterations; none if there is no such folder."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"cannot read the games in '{folder}': {error.strerror}") from None
    return [folder / name for name in sorted(names) if name.endswith(".games")]


def unread_bytes(path: Path) -> int:
    """Bytes of a last game that was not written to its end, or zeros that a crash left in its
    place; CorruptTableError if they are anything else."""
    with open_games(path) as source:
        whole = max((end for end, _ in frames(source)), default=0)
        size = source.seek(0, os.SEEK_END)
        source.seek(whole)
        rest = source.read(MOST_FRAME_BYTES)
    head = len(MAGIC) + _LENGTHS.size
    if not any(rest):
        return size - whole
    begins = rest[: len(MAGIC)] == MAGIC[: len(rest)]
    complete = len(rest) >= head and len(rest) >= head + _LENGTHS.unpack_from(rest, len(MAGIC))[0]
    if rest and (not begins or complete or MAGIC in rest[len(MAGIC) :]):
        raise CorruptTableError(
            f"'{path}' is damaged at byte {whole} of {size}: restore it, or remove it"
        )
    return len(rest)


def _check(path: Path, episodes: list[Episode], game: Game) -> None:
    """Checks what a checksum cannot: that these are positions of the game, each with a search."""
    for episode in episodes:
        try:
            game.decode(episode.codes)
        except InputError as error:
            raise CorruptTableError(
                f"'{path}', game {episode.number}: {error}; remove it"
            ) from None
        if not episode.plies or not episode.visits.any(axis=1).all():
            raise CorruptTableError(
                f"'{path}', game {episode.number}: a position without a search; remove it"
            )
