"""A finished game of self-play, and the append-only files that keep such games.

A file of games is a row of frames, each a whole game:

    "FFG2" | u32 bytes | u32 CRC-32 of them | that many bytes, zlib

The bytes are a head (``_HEAD``) and the arrays of an ``Episode`` in their order; ``counted`` is
left out if every position is learned once. A frame is written with one call and synced, so that a
crash can only cut the last one short; whoever reads the file next leaves such a rest out, and
whoever appends to it cuts it off first.
A damaged frame that is there to its end, or with whole ones behind it, or bytes that are not part
of a frame, were not left by a crash: they are reported, and nothing is cut off.
"""

from __future__ import annotations

import contextlib
import math
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from azfit.games import Game
from azfit.self_play.iteration import Games
from solver.errors import CorruptTableError, InputError
from solver.storage import open_regular, refuse_to_write

DRAWN = -1
MAGIC = b"FFG2"
_FRAME = struct.Struct("<4sII")
_REMEDY = "remove it, and the run continues without it"

# Limits of what is read; a game of a thousand moves has about 50 KB.
MOST_FRAME_BYTES = 1 << 26
MOST_BYTES = 4_000_000_000
BYTES_AT_A_TIME = 1 << 20
# iteration, number, plies of the opening, plies, code length, actions, winner, counts
_HEAD = struct.Struct("<IIHHHHb6I")


@dataclass(frozen=True)
class Episode:
    """One game: what was searched at each of its T plies, and how it ended."""

    iteration: int
    number: int
    """Within the iteration."""
    opening: NDArray[np.int16]
    """int16: the random moves before the first position."""
    codes: NDArray[np.int8]
    """int8 [T, code_length]: the positions."""
    visits: NDArray[np.uint16]
    """uint16 [T, actions]: of the root's moves."""
    actions: NDArray[np.int16]
    """int16 [T]: the moves played."""
    values: NDArray[np.float32]
    """float32 [T]: what the search expects for the side to move (``Search.outcomes``)."""
    winner: int
    """0 the first player, 1 the second, -1 a draw."""
    walks: NDArray[np.uint32]
    """uint32 [3, 2]: nodes walked, open, starved (see ``search.WalkCounts``), by side to move."""
    counted: NDArray[np.uint8] | None = None
    """uint8 [T]: how often each position is learned; None: all once."""

    @property
    def plies(self) -> int:
        return len(self.actions)

    @property
    def length(self) -> int:
        """Plies of the game, its opening included."""
        return len(self.opening) + self.plies

    @property
    def counts(self) -> NDArray[np.uint8]:
        """uint8 [T]: how often each position enters the buffer."""
        return np.ones(self.plies, np.uint8) if self.counted is None else self.counted

    @property
    def learned(self) -> int:
        """Positions that enter the buffer."""
        return int(self.counts.sum())

    @property
    def sides(self) -> NDArray[np.int8]:
        """int8 [T]: the side to move at each ply."""
        return self.codes[:, -1]

    @property
    def wdl(self) -> NDArray[np.int8]:
        """int8 [T]: 0 win, 1 draw, 2 loss, for the side to move."""
        if self.winner == DRAWN:
            return np.ones(self.plies, np.int8)
        return np.where(self.sides == self.winner, 0, 2).astype(np.int8)

    @property
    def left(self) -> NDArray[np.int16]:
        """int16 [T]: plies to the end."""
        return np.arange(self.plies, 0, -1, dtype=np.int16)

    def to_bytes(self) -> bytes:
        """As a frame of a file of games."""
        head = _HEAD.pack(
            self.iteration,
            self.number,
            len(self.opening),
            self.plies,
            self.codes.shape[1],
            self.visits.shape[1],
            self.winner,
            *self.walks.ravel().tolist(),
        )
        arrays: list[NDArray[Any]] = [
            self.opening,
            self.codes,
            self.visits,
            self.actions,
            self.values,
        ]
        if self.counted is not None:
            arrays.append(self.counted)
        body = zlib.compress(head + b"".join(array.tobytes() for array in arrays), 1)
        return _FRAME.pack(MAGIC, len(body), zlib.crc32(body)) + body

    @classmethod
    def from_body(cls, body: bytes, game: Game) -> Episode:
        """From the bytes of a frame; ValueError if they are not a game of this kind.

        The head says how much more there is to unpack, and no more than that is unpacked.
        """
        packed = zlib.decompressobj()
        head = packed.decompress(body, _HEAD.size)
        iteration, number, first, plies, width, actions, winner, *walks = _HEAD.unpack(head)
        if (width, actions) != (game.code_length, game.actions) or winner not in (DRAWN, 0, 1):
            raise ValueError(f"it is not a game of {game.name}")
        shapes: tuple[tuple[Any, tuple[int, ...]], ...] = (
            (np.int16, (first,)),
            (np.int8, (plies, width)),
            (np.uint16, (plies, actions)),
            (np.int16, (plies,)),
            (np.float32, (plies,)),
        )
        sizes = [math.prod(shape) * np.dtype(dtype).itemsize for dtype, shape in shapes]
        data = packed.decompress(packed.unconsumed_tail, sum(sizes) + plies + 1)
        if len(data) not in (sum(sizes), sum(sizes) + plies) or not packed.eof:
            raise ValueError("its length does not fit")
        arrays: list[Any] = []
        at = 0
        for (dtype, shape), size in zip(shapes, sizes, strict=True):
            arrays.append(np.frombuffer(data, dtype, math.prod(shape), at).reshape(shape))
            at += size
        opening, codes, visits, moves, values = arrays
        nodes = np.array(walks, np.uint32).reshape(3, 2)
        counted = np.frombuffer(data, np.uint8, plies, at) if len(data) > at else None
        episode = cls(
            *(iteration, number, opening, codes, visits, moves, values, winner, nodes, counted)
        )
        episode._check(game)
        return episode

    def _check(self, game: Game) -> None:
        """ValueError for what a checksum cannot tell and whoever learns from the game would meet
        later: what is no position or no move, a position without a search, a value that is none."""
        for moves in (self.opening, self.actions):
            if ((moves < 0) | (moves >= game.actions)).any():
                raise ValueError(f"game {self.number} has moves that {game.name} has not")
        if not self.plies or not self.visits.any(axis=1).all():
            raise ValueError(f"game {self.number} has a position without a search")
        if not np.isfinite(self.values).all():
            raise ValueError(f"game {self.number} has a value that is not a number")
        try:
            game.decode(self.codes)
        except InputError:
            raise ValueError(
                f"game {self.number} has what is not a position of {game.name}"
            ) from None


def summarised(episodes: Sequence[Episode]) -> Games:
    """Outcomes by colour, lengths, and what the searches met, by side to move."""
    winners = [episode.winner for episode in episodes]
    walks = np.array([episode.walks for episode in episodes], np.int64).sum(axis=0)
    walked, opened, starved = (tuple(counts) for counts in walks.tolist())
    return Games(
        played=len(episodes),
        first_wins=winners.count(0),
        second_wins=winners.count(1),
        draws=winners.count(DRAWN),
        positions=sum(episode.learned for episode in episodes),
        mean_plies=float(np.mean([episode.length for episode in episodes])),
        walked=walked,
        open=opened,
        starved=starved,
    )


# ---- files of games ------------------------------------------------------------------


def open_games(path: Path) -> contextlib.AbstractContextManager[BinaryIO]:
    """A file of games, open for reading."""
    return open_regular(path, MOST_BYTES, "file of games", _REMEDY)


def _frame_at(source: BinaryIO, at: int) -> bytes | None:
    """The body of the frame that begins here; None if there is no whole one."""
    source.seek(at)
    head = source.read(_FRAME.size)
    if len(head) < _FRAME.size:
        return None
    magic, size, checksum = _FRAME.unpack(head)
    if magic != MAGIC or not 0 < size <= MOST_FRAME_BYTES:
        return None
    body = source.read(size)
    return body if len(body) == size and zlib.crc32(body) == checksum else None


def frames(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """End and body of every whole frame. ValueError if a damaged one is not the last, or if what
    follows the last whole one is nothing that a crash leaves: part of a frame, or zeros in the
    place of one or of its end. The file may grow meanwhile."""
    at = 0
    source.seek(0)
    magic = source.read(len(MAGIC))
    if magic[:3] == MAGIC[:3] and magic[3:] not in (b"", b"\0", MAGIC[3:]):
        raise InputError("its games are of another version of fadefour: use that one")
    while True:
        while (body := _frame_at(source, at)) is not None:
            at += _FRAME.size + len(body)
            yield at, body
        try:
            _check_rest(source, at)
            return
        except ValueError:
            if _frame_at(source, at) is None:  # otherwise it has been written to its end by now
                raise


def _check_rest(source: BinaryIO, at: int) -> None:
    """ValueError if what begins here, where no whole frame was, is nothing that a crash leaves."""
    for later in _places(source, MAGIC, at + 1):
        if _frame_at(source, later) is not None:
            raise ValueError(f"damaged between bytes {at} and {later}")
    source.seek(at)
    if not MAGIC.startswith(source.read(len(MAGIC)).rstrip(b"\0")):
        raise ValueError(f"what begins at byte {at} is not a game, nor part of one")
    if _reaches_its_end(source, at):
        raise ValueError(f"the game that begins at byte {at} is damaged")


def _reaches_its_end(source: BinaryIO, at: int) -> bool:
    """Whether a damaged frame was once written to its end: the bytes that its head promises are
    there and do not end in zeros, or, in case it is the head that is damaged, what it holds can be
    unpacked to its end."""
    source.seek(at)
    head = source.read(_FRAME.size)
    if len(head) < _FRAME.size:
        return False
    end = source.seek(0, os.SEEK_END)
    source.seek(-4, os.SEEK_END)
    if at + _FRAME.size + _FRAME.unpack(head)[1] <= end and any(source.read(4)):
        return True
    source.seek(at + _FRAME.size)
    packed, waiting = zlib.decompressobj(), b""
    with contextlib.suppress(zlib.error):
        while not packed.eof and (waiting := waiting or source.read(BYTES_AT_A_TIME)):
            packed.decompress(waiting, BYTES_AT_A_TIME)
            waiting = packed.unconsumed_tail
    return packed.eof


def _places(source: BinaryIO, wanted: bytes, at: int) -> Iterator[int]:
    """Where these bytes are, from here on; the file is read a little at a time."""
    while True:
        source.seek(at)
        data = source.read(BYTES_AT_A_TIME)
        if len(data) < len(wanted):
            return
        place = data.find(wanted)
        while place >= 0:
            yield at + place
            place = data.find(wanted, place + 1)
        at += len(data) - len(wanted) + 1


def read_episodes(path: Path, game: Game) -> list[Episode]:
    """The whole games of a file, in order of their numbers; of two alike the first."""
    with open_games(path) as source, _one_line(path):
        return _whole_games(source, game)[0]


def read_with_rest(path: Path, game: Game) -> tuple[list[Episode], int]:
    """As ``read_episodes``, and the bytes left out at the end: of a last game that was not written
    to its end, or zeros that a crash left in its place."""
    with open_games(path) as source, _one_line(path):
        episodes, whole = _whole_games(source, game)
        return episodes, source.seek(0, os.SEEK_END) - whole


def _whole_games(source: BinaryIO, game: Game) -> tuple[list[Episode], int]:
    """The whole games in order of their numbers, and the byte at which the last one ends."""
    episodes: dict[int, Episode] = {}
    whole = 0
    for end, body in frames(source):
        episode = Episode.from_body(body, game)
        episodes.setdefault(episode.number, episode)
        whole = end
    return [episodes[number] for number in sorted(episodes)], whole


@contextlib.contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """Errors of ``frames`` and ``from_body`` with the name of the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"'{path}': {error}") from None
    except (ValueError, struct.error, zlib.error) as error:
        raise CorruptTableError(f"'{path}' cannot be read ({error}): {_REMEDY}") from None


class EpisodeFile:
    """Appends games; what an interrupted write left of the last one is cut off first."""

    def __init__(self, path: Path) -> None:
        self._path, self._whole = path, 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: what could not be written must not be tried again by close().
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 - closed by close()
        except OSError as error:
            refuse_to_write(path, error)
        try:
            with open_games(path) as source, _one_line(path):
                for end, _ in frames(source):
                    self._whole = end
            self._file.truncate(self._whole)
        except BaseException:
            self._file.close()
            raise

    def append(self, frame: bytes) -> None:
        """Returns once the frame is on disk; if it does not fit there, nothing of it is left."""
        try:
            rest = memoryview(frame)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self._whole)
            refuse_to_write(self._path, error)
        self._whole += len(frame)

    def close(self) -> None:
        self._file.close()
