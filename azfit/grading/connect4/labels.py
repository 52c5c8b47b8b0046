"""Which columns of a Connect Four position are right: what a grade judges moves by.

Exact, from the solver, and no more of it than a grade asks for: of each move, whether it keeps
win, draw or loss, and whether it also keeps the score. That takes one or two questions a move
instead of the move's score. Positions near the beginning still take seconds each, so labels are
kept in a file; it may be deleted at any time.
"""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from solver.connect4 import CELLS, Connect4Position, Connect4Solver
from solver.connect4.sets import Scored, read_set, set_files
from solver.errors import CorruptTableError, InputError
from solver.progress import Progress, Silent
from solver.storage import write_atomically

CACHE = "connect4_labels.npz"
SAVE_EVERY = 200  # new labels

# Of positions made by random play: earlier ones take long to solve, later ones have few choices.
FIRST_PLY, LAST_PLY = 8, 36
OWN_POSITIONS = 500


class Label(NamedTuple):
    """Of one position: its score, and sets of columns (bit column - 1)."""

    score: int
    keeping: int
    optimal: int


@dataclass(frozen=True)
class LabelledSet:
    """Positions in play with what is right in each."""

    name: str
    positions: Sequence[Connect4Position]
    labels: Sequence[Label]


def label(position: Connect4Position, solver: Connect4Solver, score: int | None = None) -> Label:
    """The label of a position in play. A ``score`` that is given is checked, which is quicker than
    finding it; InputError if it is wrong."""
    if position.is_over:
        raise InputError(f"'{position}' is over: there is no move to judge")
    if score is None:
        score = solver.score(position)
    elif solver.search(position.mover, position.stones, score - 1, score + 1) != score:
        raise InputError(f"'{position}' does not have the score {score}: run 'verify' on its set")
    keeping = optimal = 0
    for column in position.legal_moves():
        after, bit = position.play(column), 1 << (column - 1)
        if solver.search(after.mover, after.stones, -score, 1 - score) == -score:
            optimal |= bit
            keeping |= bit
        elif score < 0 or (score > 0 and solver.search(after.mover, after.stones, -1, 0) == -1):
            keeping |= bit
    return Label(score, keeping, optimal)


def random_positions(count: int, seed: int) -> list[Scored]:
    """Positions in play from random games, plies evenly spread; the same for the same seed."""
    draw = random.Random(seed)
    found: list[Scored] = []
    while len(found) < count:
        plies, position = draw.randint(FIRST_PLY, LAST_PLY), Connect4Position()
        while position.plies < plies and not position.is_over:
            position = position.play(draw.choice(position.legal_moves()))
        if not position.is_over:
            found.append(Scored(position, None))
    return found


class Labels:
    """Labels by position, those found before read from a file, new ones written to it.

    path: None keeps them in memory only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._unsaved = path, 0
        self._known: dict[str, Label] = {} if path is None else _read(path)

    def of(
        self,
        name: str,
        positions: Sequence[Scored],
        solver: Connect4Solver,
        progress: Progress | None = None,
    ) -> list[Label]:
        """The labels of these positions, in order; what is not known is solved."""
        missing = [pair for pair in positions if str(pair.position) not in self._known]
        if missing:
            report = progress or Silent()
            report.begin(f"solve {name}", len(missing), "position")
            try:
                for done, (position, score) in enumerate(missing, 1):
                    self._known[str(position)] = label(position, solver, score)
                    self._unsaved += 1
                    if self._unsaved >= SAVE_EVERY:
                        self._save()
                    report.reach(done)
            finally:
                self._save()
            report.end(f"{len(missing):>14,} positions")
        found = [self._known[str(position)] for position, _ in positions]
        for (position, score), known in zip(positions, found, strict=True):
            if score is not None and score != known.score:
                raise InputError(
                    f"'{position}' in {name} has the score {known.score}, not {score}: correct it"
                )
        return found

    def _save(self) -> None:
        if self._path is None or not self._unsaved:
            return
        packed = io.BytesIO()
        np.savez_compressed(
            packed,
            positions=np.array(list(self._known), dtype=f"S{CELLS}"),
            labels=np.array(list(self._known.values()), dtype=np.int16),
        )
        write_atomically(self._path, packed.getvalue())
        self._unsaved = 0


def _read(path: Path) -> dict[str, Label]:
    if not path.exists():
        return {}
    try:
        with np.load(path, allow_pickle=False) as file:
            positions, labels = file["positions"], file["labels"]
        good = labels.shape == (len(positions), 3) and labels.dtype == np.int16
        if not good or positions.dtype.kind != "S":
            raise ValueError
        texts = [text.decode("ascii") for text in positions.tolist()]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise CorruptTableError(
            f"'{path}' cannot be read: delete it, it is made again from the solver"
        ) from None
    return {text: Label(*row) for text, row in zip(texts, labels.tolist(), strict=True)}


def labelled_sets(
    files: Sequence[Path],
    sample: int | None,
    seed: int,
    folder: Path,
    progress: Progress | None = None,
) -> list[LabelledSet]:
    """What to grade on: these files, else those of the setting, else positions of our own.

    sample: so many positions of our own instead. Labels are kept in ``folder``.
    """
    if files and sample is not None:
        raise InputError("--sets and --sample exclude each other: give one of them")
    if sample is not None and sample < 1:
        raise InputError(f"--sample {sample}: use at least 1 position")
    if sample is None and (found := files or set_files()):
        sets = [(path.stem, read_set(path)) for path in found]
    else:
        count = sample or OWN_POSITIONS
        sets = [(f"{count} random (seed {seed})", random_positions(count, seed))]
    labels, labelled = Labels(folder / CACHE), []
    with Connect4Solver() as solver:
        for name, positions in sets:
            right = labels.of(name, positions, solver, progress)
            labelled.append(LabelledSet(name, [pair.position for pair in positions], right))
    return labelled
