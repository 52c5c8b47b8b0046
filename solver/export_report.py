"""What an export is asked for, and what it has written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from solver.errors import InputError
from solver.rules import Rules
from solver.wording import counted

PARTS = ("train", "validation")
MOST_IN_A_SHARD = 100_000_000  # a shard is put together in memory


@dataclass(frozen=True)
class ExportOptions:
    """What to export and how; ``sample`` None takes every position in play."""

    format: str = "npz"
    shard: int = 4_000_000
    validation: float = 0.05
    sample: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.format not in ("npz", "parquet"):
            raise InputError(f"format {self.format!r}: use npz or parquet")
        if not 1 <= self.shard <= MOST_IN_A_SHARD:
            raise InputError(f"shard={self.shard}: use 1 to {MOST_IN_A_SHARD:,} positions")
        if not 0 <= self.validation < 1:
            raise InputError(f"validation={self.validation}: use a share from 0 up to 1")
        if self.sample is not None and self.sample < 1:
            raise InputError(f"sample={self.sample}: use at least 1 position")
        if self.seed < 0:
            raise InputError(f"seed={self.seed}: use 0 or more")


@dataclass(frozen=True)
class Shard:
    """A file of an export, by its name in the folder."""

    file: str
    part: str
    positions: int


@dataclass(frozen=True)
class PartCounts:
    """How many positions of a part are won, drawn and lost for the side to move."""

    win: int
    draw: int
    loss: int

    @property
    def positions(self) -> int:
        return self.win + self.draw + self.loss


@dataclass(frozen=True)
class ExportReport:
    """What was exported; ``export.json`` says the same."""

    rules: Rules
    options: ExportOptions
    table_sha256: str
    counts: Mapping[str, PartCounts]
    """By part."""
    shards: list[Shard]

    @property
    def positions(self) -> int:
        return sum(part.positions for part in self.counts.values())

    def to_dict(self) -> dict[str, Any]:
        return {
            "rules": {**asdict(self.rules), "tag": self.rules.tag},
            "options": asdict(self.options),
            "table_sha256": self.table_sha256,
            "positions": {part: counts.positions for part, counts in self.counts.items()},
            "results": {part: asdict(counts) for part, counts in self.counts.items()},
            "shards": [asdict(shard) for shard in self.shards],
        }

    def __str__(self) -> str:
        train, validation = (f"{self.counts[part].positions:,}" for part in PARTS)
        return (
            f"{train} training and {validation} validation positions in "
            f"{counted(len(self.shards), 'shard')}"
        )
