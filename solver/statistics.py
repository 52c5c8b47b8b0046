"""Counts by slice, result and depth, as numbers, as text and as a picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.checked_files import NodeTable
from solver.drawing import outcome
from solver.plotting import pyplot, save_png
from solver.retrograde import deepest_of
from solver.rules import Rules
from solver.values import ResultCounts, Value, value_of_byte

Counts = NDArray[np.uint64]


@dataclass(frozen=True)
class SliceCounts:
    """The positions with this many pieces on the board."""

    pieces: int
    nodes: int
    results: ResultCounts

    def to_dict(self) -> dict[str, int]:
        return {"pieces": self.pieces, "nodes": self.nodes, **asdict(self.results)}


@dataclass(frozen=True)
class DepthCount:
    """The positions that end in this many plies."""

    plies: int
    result: str
    nodes: int


@dataclass(frozen=True)
class Statistics:
    """How many canonical positions have which result, in all, by slice and by depth."""

    rules: Rules
    start: Value
    nodes: int
    results: ResultCounts
    deepest: int
    slices: list[SliceCounts]
    depths: list[DepthCount]

    @classmethod
    def of_table(cls, table: NodeTable, threads: int | None = None) -> Statistics:
        """Counts the whole table, which is checked first."""
        return cls.of(table.rules, table.count_bytes(threads))

    @classmethod
    def of(cls, rules: Rules, counts: Counts) -> Statistics:
        """From counts of table bytes, uint64 [slices, 256]."""
        total, deepest = counts.sum(axis=0), deepest_of(counts)
        return cls(
            rules,
            value_of_byte(int(np.flatnonzero(counts[0])[0])),  # slice 0 is the start
            int(total.sum()),
            ResultCounts.of(total),
            deepest,
            [
                SliceCounts(pieces, int(row.sum()), ResultCounts.of(row))
                for pieces, row in enumerate(counts)
            ],
            [
                DepthCount(plies, "win" if plies % 2 else "loss", int(total[plies + 1]))
                for plies in range(deepest + 1)
            ],
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "rules": asdict(self.rules),
            "start": self.start._asdict(),
            "nodes": self.nodes,
            "results": asdict(self.results),
            "deepest": self.deepest,
            "slices": [part.to_dict() for part in self.slices],
            "depths": [asdict(depth) for depth in self.depths],
        }

    def __str__(self) -> str:
        """Two tables: by slice, and by depth."""
        head = list(self.slices[0].to_dict())
        rows = [[f"{part.to_dict()[name]:,}" for name in head] for part in self.slices]
        everything = {"nodes": self.nodes, **asdict(self.results)}
        total = ["all", *(f"{everything[name]:,}" for name in head[1:])]
        by_slice = _aligned([head, *rows, total])
        depths = [[str(depth.plies), depth.result, f"{depth.nodes:,}"] for depth in self.depths]
        by_depth = _aligned([["plies", "result", "nodes"], *depths])
        return (
            f"Canonical positions of {self.rules.name}, for the side to move\n\n{by_slice}\n\n"
            f"Plies to the end\n\n{by_depth}\n\nThe start, for X: {outcome(self.start)}"
        )


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def histogram_png(path: Path, statistics: Statistics) -> None:
    """Draws the nodes by plies to the end, wins and losses in their colours, log scale."""
    rules = statistics.rules
    figure, axes = pyplot().subplots(figsize=(8, 4.5), dpi=120, layout="constrained")
    for result, colour in (("win", "#2b7a4b"), ("loss", "#b3402e")):
        depths = [depth for depth in statistics.depths if depth.result == result]
        axes.bar(
            [depth.plies for depth in depths],
            [depth.nodes for depth in depths],
            color=colour,
            label=f"{result} for the side to move",
        )
    if any(depth.nodes for depth in statistics.depths):  # else nobody can win: there are no bars
        axes.set_yscale("log")
        axes.set_ylim(top=10 * max(depth.nodes for depth in statistics.depths))  # room for a legend
    axes.set_xticks([depth.plies for depth in statistics.depths])
    axes.set_xlabel("plies to the end")
    axes.set_ylabel("canonical positions")
    axes.set_title(
        f"drop-oldest {rules.n}×{rules.n}, m={rules.m}, k={rules.k}: "
        f"{statistics.results.draw:,} of {statistics.nodes:,} are draws (endless)"
    )
    axes.legend(ncols=2)
    save_png(figure, path)
