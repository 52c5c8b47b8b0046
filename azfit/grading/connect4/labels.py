"""The positions that a Connect Four network is graded on, with what is right in each.

Positions near the beginning take seconds each to label, so labels are kept in a file with a
checksum; it may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import random
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from solver.archives import open_archive
from solver.connect4 import CELLS, COLUMNS, HIGHEST, Connect4Position, Connect4Solver
from solver.connect4.book import book_in
from solver.connect4.labels import Label, label
from solver.connect4.pool import SolverPool
from solver.connect4.sets import Scored, read_set, set_files
from solver.errors import CorruptTableError, FadefourError, InputError, MissingTableError
from solver.progress import Progress, Silent
from solver.storage import check_writable, write_atomically, writing_in

CACHE = "connect4_labels.npz"
SAVE_EVERY = 200  # new labels
MOST_FILE_BYTES = 1 << 30
MOST_LABELS = 10_000_000

# Random positions: earlier ones take long to solve, later ones have few choices.
FIRST_PLY, LAST_PLY = 8, 36
RANDOM_POSITIONS = 500
MOST_POSITIONS = 100_000


@dataclass(frozen=True)
class LabelledSet:
    """Positions in play with what is right in each."""

    name: str
    positions: Sequence[Connect4Position]
    labels: Sequence[Label]


def random_positions(count: int, seed: int, first_ply: int = FIRST_PLY) -> list[Scored]:
    """Positions in play from random games, plies evenly spread from ``first_ply`` on; the same for
    the same seed."""
    draw = random.Random(seed)
    made: list[Scored] = []
    while len(made) < count:
        plies, position = draw.randint(first_ply, LAST_PLY), Connect4Position()
        while position.plies < plies and not position.is_over:
            position = position.play(draw.choice(position.legal_moves()))
        if not position.is_over:
            made.append(Scored(position, None))
    return made


# ---- the file of labels -------------------------------------------------------------------------


def on_stderr(words: str) -> None:
    print(f"fadefour: {words}", file=sys.stderr, flush=True)


class LabelFile:
    """Labels by position: known ones are read from a file, new ones written to it.

    Several processes may use one file: what another has written meanwhile is kept. If the file
    cannot be read or written, labels are kept in memory only, after one warning.
    """

    def __init__(self, path: Path | None = None, warn: Callable[[str], object] = on_stderr) -> None:
        """path: None keeps labels in memory only."""
        self.known: dict[str, Label] = {}
        self._path, self._warn, self._unsaved = path, warn, 0
        if path is None:
            return
        try:
            self.known = _read(path)
            check_writable(path)
        except CorruptTableError:
            raise
        except FadefourError as error:
            self._give_up(error)

    def add(self, position: Connect4Position, label: Label) -> None:
        """Keeps a label; the file is written now and then."""
        self.known[str(position)] = label
        self._unsaved += 1
        if self._unsaved >= SAVE_EVERY:
            with contextlib.suppress(FadefourError):  # another writes: there is a next time
                self._write(wait=False)

    def save(self) -> None:
        """Writes what is not written yet."""
        try:
            for _ in range(20):  # another grader is done in no time; a solve may take minutes
                with contextlib.suppress(InputError):
                    self._write(wait=False)
                    return
                time.sleep(0.05)
            self._write(wait=True)
        except FadefourError as error:
            self._give_up(error)

    def _give_up(self, error: FadefourError) -> None:
        self._warn(f"Connect Four labels are not kept: {error}")
        self._path = None

    def _write(self, wait: bool) -> None:
        if self._path is None or not self._unsaved:
            return
        with writing_in(self._path.parent, wait=wait, notice=self._warn):
            with contextlib.suppress(CorruptTableError):  # damaged meanwhile: ours replaces it
                self.known = {**_read(self._path), **self.known}
            positions = np.array(sorted(self.known), dtype=f"S{CELLS}")
            labels = np.array([self.known[text] for text in sorted(self.known)], dtype=np.int16)
            packed = io.BytesIO()
            digest = np.frombuffer(_digest(positions, labels), np.uint8)
            np.savez_compressed(packed, positions=positions, labels=labels, sha256=digest)
            write_atomically(self._path, packed.getvalue())
        self._unsaved = 0


def _digest(positions: NDArray[np.bytes_], labels: NDArray[np.int16]) -> bytes:
    whole = hashlib.sha256(positions.tobytes())
    whole.update(labels.tobytes())
    return whole.digest()


def _read(path: Path) -> dict[str, Label]:
    remedy = "delete it, the solver makes it again"
    try:
        with open_archive(path, MOST_FILE_BYTES, "file of Connect Four labels", remedy) as file:
            (count,) = file.arrays["positions"].shape
            if count > MOST_LABELS:
                raise ValueError(f"it lists {count:,} positions")
            positions = file.read("positions", f"S{CELLS}", (count,))
            labels = file.read("labels", np.int16, (count, 3))
            digest = file.read("sha256", np.uint8, (hashlib.sha256().digest_size,))
            if digest.tobytes() != _digest(positions, labels):
                raise ValueError("its labels do not match its checksum")
            scores, keeping, optimal = labels.T
            wrong = (optimal == 0) | (optimal & ~keeping != 0) | (keeping >> COLUMNS != 0)
            if (wrong | (scores >= HIGHEST) | (scores <= -HIGHEST)).any():
                raise ValueError("it has labels that no position has")
            texts = [text.decode("ascii") for text in positions.tolist()]
    except MissingTableError:
        return {}
    return {text: Label(*row) for text, row in zip(texts, labels.tolist(), strict=True)}


# ---- solving ------------------------------------------------------------------------------------


class Labeller(SolverPool):
    """Labels positions, several at a time."""

    def labels(
        self,
        name: str,
        positions: Sequence[Scored],
        file: LabelFile,
        progress: Progress | None = None,
    ) -> list[Label]:
        """The labels of these positions, in order; what the file does not have is solved."""
        missing = {str(pair.position): pair for pair in positions}
        missing = {text: pair for text, pair in missing.items() if text not in file.known}
        if missing:
            report = progress or Silent()
            report.begin(f"solve {name}", len(missing), "position")
            try:
                running = {self.submit(partial(_label, pair)): pair for pair in missing.values()}
                for done, future in enumerate(as_completed(running), 1):
                    file.add(running[future].position, future.result())
                    report.reach(done)
            finally:
                file.save()
            report.end(f"{len(missing):>14,} positions")
        labels = [file.known[str(position)] for position, _ in positions]
        for (position, score), known in zip(positions, labels, strict=True):
            if score is not None and score != known.score:
                raise InputError(
                    f"'{position}' in {name} has the score {known.score}, not {score}: correct it"
                )
        return labels


def _label(pair: Scored, solver: Connect4Solver) -> Label:
    return label(pair.position, solver, pair.score)


def labelled_sets(
    files: Sequence[Path],
    sample: int | None,
    seed: int,
    folder: Path,
    threads: int | None = None,
    progress: Progress | None = None,
    warn: Callable[[str], object] = on_stderr,
) -> list[LabelledSet]:
    """What to grade on: these files, else those of the setting, else random positions.

    sample: this many random positions instead. Labels are kept in ``folder``.
    """
    if files and sample is not None:
        raise InputError("--sets and --sample cannot be combined: give one of them")
    if sample is not None and not 1 <= sample <= MOST_POSITIONS:
        raise InputError(f"--sample {sample}: Connect Four takes 1 to {MOST_POSITIONS:,} positions")
    if sample is None and (chosen := files or set_files()):
        sets = [(path.stem, read_set(path)) for path in chosen]
    else:
        count = sample or RANDOM_POSITIONS
        sets = [(f"{count} random (seed {seed})", random_positions(count, seed))]
    file = LabelFile(folder / CACHE, warn)
    with Labeller(threads, book=book_in(folder)) as labeller:
        return [
            LabelledSet(
                name,
                [pair.position for pair in positions],
                labeller.labels(name, positions, file, progress),
            )
            for name, positions in sets
        ]
