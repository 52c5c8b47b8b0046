"""Where a network of drop-oldest is known to be wrong: from the grade beside its checkpoint, or
from a sample that is graded now.

``fadefour grade CHECKPOINT --all --json > NAME.grade.json`` leaves such a grade beside
``NAME.safetensors``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from azfit.typed_json import from_json
from solver.errors import CorruptTableError, MissingTableError
from solver.probing import Table
from solver.storage import read_json

if TYPE_CHECKING:
    from azfit.players import Player

SAMPLE = 100_000
MOST_GRADE_BYTES = 1 << 26


@dataclass(frozen=True)
class StoredValue:
    result: str
    plies: int | None = None


@dataclass(frozen=True)
class KnownBlunder:
    """As ``grade --json`` lists it."""

    position: str
    move: str
    before: StoredValue
    after: StoredValue
    right: tuple[str, ...]
    refutation: tuple[str, ...]
    confidence: float | None = None


@dataclass(frozen=True)
class _Overall:
    positions: int
    blunders: float


@dataclass(frozen=True)
class KnownBlunders:
    """The worst blunders of a grade, the worst first."""

    population: str
    overall: _Overall
    worst_blunders: tuple[KnownBlunder, ...]
    checkpoint_sha256: str | None = None


@dataclass(frozen=True)
class _Grades:
    grades: tuple[KnownBlunders, ...]


def grade_path(checkpoint: Path) -> Path:
    return checkpoint.with_suffix(".grade.json")


def stored_blunders(checkpoint: Path, sha256: str) -> KnownBlunders | None:
    """From the grade beside a checkpoint; None if there is none of these weights."""
    path = grade_path(checkpoint)
    try:
        grades = from_json(_Grades, read_json(path, MOST_GRADE_BYTES, "grade")).grades
    except MissingTableError:
        return None
    except ValueError as error:
        raise CorruptTableError(f"'{path}' is not a grade ({error}): grade again") from None
    return next((grade for grade in grades if grade.checkpoint_sha256 == sha256), None)


def sampled_blunders(player: Player, table: Table, sample: int = SAMPLE) -> KnownBlunders:
    """From a grade of a sample, made now."""
    from azfit.grading.grade import grade

    entries = grade(player, table, sample=sample, threads=1).to_dict()
    return from_json(KnownBlunders, entries)
