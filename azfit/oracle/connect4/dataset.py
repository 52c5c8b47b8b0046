"""Labelled Connect Four positions on disk: a folder that grows, and is never rewritten.

    dataset = Dataset(Path("data") / DATASET)
    dataset.grow(200_000, workers=2)        # continues where it stopped

A file has the positions of ITEMS_PER_FILE items, in their order, or a ply of the opening book, with
a checksum, and appears whole: what a killed run loses is the file it was at. Positions of the
public sets are left out, mirror images included, when they are made and again when they are read:
the sets judge networks.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.oracle.connect4.labelling import DTYPES, LabelTask, LabelWorker, Rows
from azfit.oracle.connect4.positions import FIRST_PLY
from azfit.oracle.connect4.row_check import problem_of
from solver.archives import open_archive
from solver.connect4.book import Book, positions_of
from solver.connect4.keys import key_of, keys_of
from solver.connect4.sets import read_set, set_files
from solver.errors import InputError
from solver.progress import Progress, Silent
from solver.storage import check_writable, write_atomically, writing_in
from solver.workers.pool import Pool
from solver.workers.processes import Processes
from solver.workers.worker import Item

DATASET = "connect4_positions"
ITEMS_PER_FILE = 64
SEED = 1  # all datasets begin with the same positions, whoever learns from them
LAST_BOOK_PLY = 9  # taught whole; the next one has a million positions
MOST_FILE_BYTES = 1 << 26
MOST_ROWS = 1 << 20  # in a file
REMEDY = "remove it and all later ones, and they are made again"

Given = Iterable[NDArray[np.uint64]]
"""Games from elsewhere, positions of each: uint64 [N, 2], movers and stones."""


def keys_of_the_sets() -> frozenset[int]:
    """The positions that judge networks, as far as they are known here."""
    files = set_files()
    positions = itertools.chain.from_iterable(read_set(path) for path in files)
    return frozenset(key_of(pair.position.mover, pair.position.stones) for pair in positions)


class Dataset:
    """The positions in a folder."""

    def __init__(self, folder: Path, items_per_file: int = ITEMS_PER_FILE) -> None:
        self.folder, self._items_per_file = folder, items_per_file
        self.excluded = keys_of_the_sets()
        self._parts = [_read(path) for path in self._files()]
        self._keys = set[int]()
        self._rows = [self._new_rows(part) for part in self._parts]

    def _files(self) -> list[Path]:
        found = {
            int(match[1]): path
            for path in self.folder.glob("positions-*.npz")
            if (match := re.fullmatch(r"positions-([0-9]{6})\.npz", path.name))
        }
        if sorted(found) != list(range(len(found))):
            missing = next(n for n in range(len(found) + 1) if n not in found)
            raise InputError(f"'{self._path(missing)}' is missing: restore it, or {REMEDY}")
        return [found[number] for number in sorted(found)]

    def _path(self, number: int) -> Path:
        return self.folder / f"positions-{number:06d}.npz"

    def _new_rows(self, part: Rows) -> NDArray[np.intp]:
        """Of a part, the positions that are not in earlier ones and not in a set."""
        chosen = []
        for row, key in enumerate(keys_of(part.movers, part.stones).tolist()):
            if key not in self._keys and key not in self.excluded:
                self._keys.add(key)
                chosen.append(row)
        return np.array(chosen, np.intp)

    def __len__(self) -> int:
        """Different positions, mirror images counted once."""
        return len(self._keys)

    def rows(self, count: int) -> Rows:
        """The first positions, each once."""
        if count > len(self):
            raise InputError(
                f"'{self.folder}' has {len(self):,} positions, not {count:,}: "
                "run it again without --resume to label more"
            )
        pairs = zip(self._parts, self._rows, strict=True)
        whole = Rows.joined([part.chosen(chosen) for part, chosen in pairs])
        return whole.chosen(np.arange(count))

    # ---- growing ------------------------------------------------------------------

    def grow(
        self,
        count: int,
        *,
        book: Book,
        workers: int,
        first_ply: int = FIRST_PLY,
        given: Given = (),
        progress: Progress | None = None,
    ) -> None:
        """Labels positions until there are this many, those of the book first. first_ply: the
        earliest to be searched; given: the source of a third of the items, while it lasts."""
        if len(self) >= count:
            return
        report = progress or Silent()
        task = LabelTask(SEED, book.path, self.excluded, first_ply)
        report.begin("label positions", count, "position")
        with writing_in(self.folder):
            check_writable(self._path(len(self._parts)))
            self._take_book(book, task)
            if len(self) >= count:
                return
            with Pool(Processes(partial(LabelWorker, task), workers)) as pool:
                first = len(self._parts) * self._items_per_file
                job = pool.begin(None, _items(first, given))
                self._collect(iter(job), count, report)
        report.end(f"{len(self):>14,} positions")

    def _take_book(self, book: Book, task: LabelTask) -> None:
        """The plies all of whose moves the book knows, as far as they are not here already."""
        for ply in range(min(book.contents.complete_plies, LAST_BOOK_PLY + 1)):
            if set(positions_of(ply).keys.tolist()) - self._keys - self.excluded:
                self.append(LabelWorker(task).rows_of_book(ply))

    def lacks(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of these positions are to be labelled: those it does not have, and no set has."""
        known = self._keys | self.excluded
        return np.array([key not in known for key in keys.tolist()], np.bool_)

    def append(self, part: Rows) -> None:
        """One more file."""
        write_atomically(self._path(len(self._parts)), _packed(part))
        self._parts.append(part)
        self._rows.append(self._new_rows(part))

    def _collect(self, answers: Iterator[tuple[int, Rows]], count: int, report: Progress) -> None:
        """Writes a file as soon as all its items are there."""
        waiting: dict[int, Rows] = {}
        for number, rows in answers:
            waiting[number] = rows
            first = len(self._parts) * self._items_per_file
            items = range(first, first + self._items_per_file)
            if all(item in waiting for item in items):
                self.append(Rows.joined([waiting.pop(item) for item in items]))
                report.reach(min(len(self), count))
                if len(self) >= count:
                    return


def _items(first: int, given: Given) -> Iterator[Item]:
    games = iter(given)
    for number in itertools.count(first):
        yield number, next(games, None) if number % 3 == 2 else None


def _digest(rows: Rows) -> bytes:
    whole = hashlib.sha256()
    for name in DTYPES:
        whole.update(getattr(rows, name).tobytes())
    return whole.digest()


def _packed(rows: Rows) -> bytes:
    packed = io.BytesIO()
    arrays: dict[str, Any] = {name: getattr(rows, name) for name in DTYPES}
    np.savez_compressed(packed, **arrays, sha256=np.frombuffer(_digest(rows), np.uint8))
    return packed.getvalue()


def _read(path: Path) -> Rows:
    with open_archive(path, MOST_FILE_BYTES, "file of labelled positions", REMEDY) as file:
        (count,) = file.arrays["movers"].shape
        if count > MOST_ROWS:
            raise ValueError(f"it lists {count:,} positions")
        rows = Rows(*(file.read(name, dtype, (count,)) for name, dtype in DTYPES.items()))
        digest = file.read("sha256", np.uint8, (hashlib.sha256().digest_size,))
        if digest.tobytes() != _digest(rows):
            raise ValueError("its positions do not match its checksum")
        if problem := problem_of(rows):
            raise ValueError(problem)
        return rows
