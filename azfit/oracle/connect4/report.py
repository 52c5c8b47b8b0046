"""What labelling a dataset took, by ply."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from azfit.columns import aligned
from azfit.oracle.connect4.labelling import Rows, Source
from solver.connect4.keys import stone_counts


@dataclass(frozen=True)
class PlyReport:
    """Positions of some plies."""

    plies: str
    positions: int
    labels_per_second: float
    """Of one worker."""
    share_of_time: float


@dataclass(frozen=True)
class DatasetReport:
    """What a dataset has."""

    folder: str
    positions: int
    sources: dict[str, int]
    by_ply: list[PlyReport]

    @classmethod
    def of(cls, folder: str, rows: Rows) -> DatasetReport:
        plies, seconds = stone_counts(rows.stones), rows.seconds.astype(np.float64)
        total, by_ply = max(float(seconds.sum()), 1e-9), []
        for first, last in GROUPS:
            chosen = (plies >= first) & (plies <= last)
            if chosen.any():
                spent = max(float(seconds[chosen].sum()), 1e-9)
                name = str(first) if first == last else f"{first}-{last}"
                count = int(chosen.sum())
                by_ply.append(PlyReport(name, count, round(count / spent, 2), spent / total))
        sources = {
            source.name.lower(): int((rows.sources == source).sum())
            for source in Source
            if (rows.sources == source).any()
        }
        return cls(folder, len(rows), sources, by_ply)

    def __str__(self) -> str:
        sources = ", ".join(f"{count:,} {name}" for name, count in self.sources.items())
        rows = [("plies", "positions", "labels/s per worker", "share of the time")]
        for part in self.by_ply:
            rate = f"{part.labels_per_second:,.2f}"
            rows.append((part.plies, f"{part.positions:,}", rate, f"{part.share_of_time:.0%}"))
        head = f"{self.folder}: {self.positions:,} labelled positions ({sources})"
        return f"{head}\n{aligned(rows)}"


GROUPS = [(0, 5), *((ply, ply) for ply in range(6, 16)), (16, 19), (20, 24), (25, 29), (30, 41)]
