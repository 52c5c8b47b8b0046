"""The opening book: exact scores of every Connect Four position of the first plies.

    book = book_in(Path("data"))        # the one there, or the one that comes with fadefour
    book.get(mover, stones)             # a score, or None

Which positions there are follows from the rules, so the file does not list them. It has a byte for
each, ply after ply, mirror images once, in the order of ``keys_of``:

    fadefour connect4 book 1\\n
    {"plies": N, "seconds": {"N": ...}, "further": F, "sha256": ...}\\n
    scores of plies 0 to N      int8, UNKNOWN where it is not finished
    further keys                F times u64, little endian, rising
    further scores              F times int8

Further positions are later ones that the best line from the empty board needs. The checksum is of
all that follows the second line. Finished games are not listed.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from solver.connect4.keys import Bitboards, key_of, keys_of
from solver.connect4.position import COLUMN_BITS, COLUMNS, ROWS
from solver.errors import CorruptTableError
from solver.storage import read_bytes, write_atomically
from solver.wording import one_line

BOOK = "connect4.book"
MAGIC = b"fadefour connect4 book 1\n"

MOST_PLIES = 10  # 1.1 million positions
MOST_BYTES = 1 << 24
MOST_FURTHER = 1 << 20

UNKNOWN = 127
HIGHEST_SCORE = 18

Scores = NDArray[np.int8]


# ---- positions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ply:
    """The positions with this many stones in which play goes on, mirror images once."""

    keys: Bitboards
    """uint64 [N], rising."""
    movers: Bitboards
    stones: Bitboards


@cache
def positions_of(ply: int) -> Ply:
    """Made from the ply before by playing every move."""
    if ply == 0:
        empty = np.zeros(1, np.uint64)
        return Ply(empty, empty, empty)
    parts = [moves_of(ply - 1, column) for column in range(COLUMNS)]
    going_on = [~part.wins for part in parts]
    keys = np.concatenate([part.keys[on] for part, on in zip(parts, going_on, strict=True)])
    keys, first = np.unique(keys, return_index=True)
    movers = np.concatenate([part.movers[on] for part, on in zip(parts, going_on, strict=True)])
    stones = np.concatenate([part.stones[on] for part, on in zip(parts, going_on, strict=True)])
    return Ply(keys, movers[first], stones[first])


@dataclass(frozen=True)
class Moves:
    """A column played in every position of a ply where it has room."""

    rows: NDArray[np.intp]
    """The positions, by their number in their ply."""
    keys: Bitboards
    movers: Bitboards
    stones: Bitboards
    wins: NDArray[np.bool_]
    """The move makes four."""


def moves_of(ply: int, column: int) -> Moves:
    """column: 0 to 6."""
    before = positions_of(ply)
    placed = placed_in(column, before.stones)
    rows = np.flatnonzero(placed)
    stones = before.stones[rows] | placed[rows]
    own = before.movers[rows] | placed[rows]
    movers = before.stones[rows] ^ before.movers[rows]
    return Moves(rows, keys_of(movers, stones), movers, stones, have_four(own))


def placed_in(column: int, stones: Bitboards) -> Bitboards:
    """The cell that a stone falls on in this column (0 to 6) of many boards; 0 if it is full."""
    bottom = np.uint64(1 << column * COLUMN_BITS)
    cells = np.uint64(((1 << ROWS) - 1) << column * COLUMN_BITS)
    placed: Bitboards = (stones + bottom) & cells
    return placed


def have_four(stones: Bitboards) -> NDArray[np.bool_]:
    """Which of many sets of stones have four in a row, bool [N]."""
    fours = np.zeros(len(stones), np.bool_)
    for step in (1, COLUMN_BITS - 1, COLUMN_BITS, COLUMN_BITS + 1):
        pairs = stones & stones >> np.uint64(step)
        fours |= (pairs & pairs >> np.uint64(2 * step)) != 0
    return fours


# ---- scores -------------------------------------------------------------------------------------


@dataclass
class BookScores:
    """What a book says."""

    scores: list[Scores]
    """Of ply 0, 1, ...: int8 in the order of ``positions_of``."""
    further: dict[int, int] = field(default_factory=dict)
    """Score by key."""
    seconds: dict[int, float] = field(default_factory=dict)
    """Of search, by ply."""

    @classmethod
    def unknown(cls, plies: int) -> BookScores:
        counts = [len(positions_of(ply).keys) for ply in range(plies + 1)]
        return cls([np.full(count, UNKNOWN, np.int8) for count in counts])

    @property
    def plies(self) -> int:
        return len(self.scores) - 1

    @property
    def known(self) -> int:
        """Positions whose scores are known."""
        return sum(int((part != UNKNOWN).sum()) for part in self.scores) + len(self.further)

    @property
    def is_complete(self) -> bool:
        return self.complete_plies == self.plies

    @property
    def complete_plies(self) -> int:
        """The deepest ply of which every score is known, as are then those above; -1 for none."""
        complete = [ply for ply, part in enumerate(self.scores) if bool((part != UNKNOWN).all())]
        return max(complete, default=-1)

    def get(self, mover: int, stones: int) -> int | None:
        ply, key = stones.bit_count(), key_of(mover, stones)
        if ply > self.plies:
            return self.further.get(key)
        keys = positions_of(ply).keys
        row = int(np.searchsorted(keys, np.uint64(key)))
        if row == len(keys) or int(keys[row]) != key:
            return None  # a finished game
        score = int(self.scores[ply][row])
        return None if score == UNKNOWN else score

    # ---- the file ---------------------------------------------------------------

    def to_bytes(self) -> bytes:
        keys = sorted(self.further)
        body = b"".join(part.tobytes() for part in self.scores)
        body += np.array(keys, "<u8").tobytes()
        body += np.array([self.further[key] for key in keys], np.int8).tobytes()
        about = {
            "plies": self.plies,
            "seconds": {str(ply): round(spent, 1) for ply, spent in self.seconds.items()},
            "further": len(keys),
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        return MAGIC + json.dumps(about).encode() + b"\n" + body

    @classmethod
    def from_bytes(cls, data: bytes) -> BookScores:
        """ValueError, KeyError, TypeError and the like if it is no book."""
        if not data.startswith(MAGIC):
            raise ValueError("it does not begin as a book does")
        line, separator, body = data[len(MAGIC) :].partition(b"\n")
        about = json.loads(line)
        plies, count = about["plies"], about["further"]
        if type(plies) is not int or type(count) is not int or not separator:
            raise ValueError("its header is damaged")
        if not 0 <= plies <= MOST_PLIES or not 0 <= count <= MOST_FURTHER:
            raise ValueError(f"it claims {plies} plies and {count} further positions")
        book = cls.unknown(plies)
        listed = sum(len(part) for part in book.scores)
        if len(body) != listed + 9 * count:
            raise ValueError(f"it has {len(body):,} bytes of scores, not {listed + 9 * count:,}")
        if hashlib.sha256(body).hexdigest() != about["sha256"]:
            raise ValueError("its scores do not match its checksum")
        scores = np.frombuffer(body, np.int8, listed)
        keys = np.frombuffer(body, "<u8", count, listed).tolist()
        values = np.frombuffer(body, np.int8, count, listed + 8 * count)
        if (np.abs(scores[scores != UNKNOWN]) > HIGHEST_SCORE).any():
            raise ValueError("it has scores that no position has")
        if (np.abs(values) > HIGHEST_SCORE).any():
            raise ValueError("it has scores that no position has")
        if any(later <= key for key, later in pairwise(keys)):
            raise ValueError("its further positions are not in order")
        for part in book.scores:
            part[:], scores = scores[: len(part)], scores[len(part) :]
        book.further = dict(zip(keys, values.tolist(), strict=True))
        book.seconds = {int(ply): float(spent) for ply, spent in about["seconds"].items()}
        if not all(0 <= spent < math.inf for spent in book.seconds.values()):
            raise ValueError("its times are not numbers of seconds")
        return book


class Book:
    """A book in a file, read when it is first asked. For any number of threads."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def contents(self) -> BookScores:
        """CorruptTableError if the file is not a whole book."""
        remedy = "remove it, or run 'fadefour book' to make another"
        data = read_bytes(self.path, MOST_BYTES, "Connect Four book", remedy)
        try:
            return BookScores.from_bytes(data)
        except (
            *(ValueError, KeyError, TypeError, AttributeError),
            *(OverflowError, RecursionError),
        ) as error:
            raise CorruptTableError(
                f"Connect Four book '{self.path}' ({one_line(error)}): {remedy}"
            ) from None

    @cached_property
    def _last_ply(self) -> int:
        """No later position is in the book. The key's highest bits do not tell the ply, so further
        ones count up to the end of what a book is for."""
        return LAST_FURTHER_PLY if self.contents.further else self.contents.plies

    def get(self, mover: int, stones: int) -> int | None:
        """The score of a position; None if it is not in the book."""
        return None if stones.bit_count() > self._last_ply else self.contents.get(mover, stones)

    def save(self, contents: BookScores) -> None:
        write_atomically(self.path, contents.to_bytes())
        self.__dict__.pop("_last_ply", None)
        self.contents = contents


LAST_FURTHER_PLY = 14
"""From here on a best line takes no time to find."""

SHIPPED = Book(Path(__file__).with_name("opening.book"))
"""The one that comes with fadefour."""


def book_in(folder: Path) -> Book:
    """The folder's book if it knows more than the one that comes with fadefour, else that."""
    own = Book(folder / BOOK)
    if own.path.exists() and own.contents.known > SHIPPED.contents.known:
        return own
    return SHIPPED
