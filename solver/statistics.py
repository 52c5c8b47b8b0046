"""Counts by slice, result and depth, as numbers, as text and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.drawing import outcome
from solver.plotting import pyplot, save_png
from solver.retrograde import deepest_of
from solver.rules import Rules
from solver.values import FINISHED, IMPOSSIBLE, UNDECIDED, value_of_byte

Counts = NDArray[np.uint64]

RESULTS = ("finished", "win", "loss", "draw", "impossible")


def by_result(counts: Counts) -> dict[str, int]:
    """A histogram [256] of table bytes, by result for the side to move."""
    return {
        "finished": int(counts[FINISHED]),
        "win": int(counts[2:IMPOSSIBLE:2].sum()),
        "loss": int(counts[3:IMPOSSIBLE:2].sum()),
        "draw": int(counts[UNDECIDED]),
        "impossible": int(counts[IMPOSSIBLE]),
    }


def summary(rules: Rules, counts: Counts) -> dict[str, Any]:
    """Counts [slices, 256] as a JSON-ready dictionary."""
    total = counts.sum(axis=0)
    depths = [
        {"plies": plies, "result": "win" if plies % 2 else "loss", "nodes": int(total[plies + 1])}
        for plies in range(deepest_of(counts) + 1)
    ]
    result, plies = value_of_byte(int(np.flatnonzero(counts[0])[0]))  # slice 0 is the start
    return {
        "rules": {"n": rules.n, "m": rules.m, "k": rules.k},
        "start": {"result": result, "plies": plies},
        "nodes": int(total.sum()),
        "results": by_result(total),
        "deepest": deepest_of(counts),
        "slices": [
            {"pieces": pieces, "nodes": int(row.sum()), **by_result(row)}
            for pieces, row in enumerate(counts)
        ],
        "depths": depths,
    }


def text(rules: Rules, counts: Counts) -> str:
    """Two tables for people: by slice, and by depth."""
    told = summary(rules, counts)
    head = ["pieces", "nodes", *RESULTS]
    rows = [[f"{row[name]:,}" for name in head] for row in told["slices"]]
    total = ["all", f"{told['nodes']:,}", *(f"{told['results'][name]:,}" for name in RESULTS)]
    by_slice = _aligned([head, *rows, total])
    by_depth = _aligned(
        [
            ["plies", "result", "nodes"],
            *([str(row["plies"]), row["result"], f"{row['nodes']:,}"] for row in told["depths"]),
        ]
    )
    start = outcome(value_of_byte(int(np.flatnonzero(counts[0])[0])))
    return (
        f"Canonical positions of {rules.name}, for the side to move\n\n{by_slice}\n\n"
        f"Plies to the end\n\n{by_depth}\n\nThe start, for X: {start}"
    )


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def histogram_png(path: Path, rules: Rules, counts: Counts) -> None:
    """Draws the nodes by plies to the end, wins and losses in their colours, log scale."""
    total = counts.sum(axis=0)
    plies = np.arange(deepest_of(counts) + 1)
    nodes = total[1 : len(plies) + 1].astype(float)
    figure, axes = pyplot().subplots(figsize=(8, 4.5), dpi=120, layout="constrained")
    for parity, colour, label in ((1, "#2b7a4b", "win"), (0, "#b3402e", "loss")):
        some = plies % 2 == parity
        axes.bar(plies[some], nodes[some], color=colour, label=f"{label} for the side to move")
    axes.set_yscale("log")
    axes.set_xticks(plies)
    axes.set_xlabel("plies to the end")
    axes.set_ylabel("canonical positions")
    results = by_result(total)
    axes.set_title(
        f"drop-oldest {rules.n}×{rules.n}, m={rules.m}, k={rules.k}: "
        f"{results['draw']:,} of {int(total.sum()):,} are draws (endless)"
    )
    axes.set_ylim(top=10 * nodes.max())  # room for the legend
    axes.legend(ncols=2)
    save_png(figure, path)
