"""Curves of a run that learns from the table, as one PNG: what it learned, against time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from azfit.metrics import read_metrics
from solver.errors import InputError
from solver.plotting import pyplot, save_png

Lines = dict[str, tuple[list[float], list[float]]]


def _series(metrics: list[dict[str, Any]], wanted: dict[str, tuple[str, str]]) -> Lines:
    """By label: minutes and values of a (kind, name)."""
    lines: Lines = {}
    for label, (kind, name) in wanted.items():
        told = [m for m in metrics if m.get("kind") == kind and name in m]
        if told:
            lines[label] = ([m["seconds"] / 60 for m in told], [m[name] for m in told])
    return lines


def draw_curves(metrics_path: Path, png: Path) -> bool:
    """Draws the PNG; False if matplotlib is not installed or there is nothing to draw."""
    try:
        plt = pyplot()
    except InputError:
        return False
    metrics = read_metrics(metrics_path)
    panels: list[tuple[str, Lines]] = [
        (
            "loss (training)",
            _series(metrics, {n: ("training", n) for n in ("loss", "kl", "wdl", "moves")}),
        ),
        (
            "moves that lose the result",
            _missed(
                _series(
                    metrics,
                    {"held-out": ("held_out", "keeping"), "critical": ("critical", "keeping")},
                )
            ),
        ),
        (
            "win/draw/loss wrong",
            _missed(
                _series(
                    metrics,
                    {
                        "held-out": ("held_out", "wdl_accuracy"),
                        "critical": ("critical", "wdl_accuracy"),
                    },
                )
            ),
        ),
    ]
    if not any(lines for _, lines in panels):
        return False
    figure, axes = plt.subplots(1, len(panels), figsize=(15, 4.5))
    for axis, (title, lines) in zip(axes, panels, strict=True):
        for label, (minutes, values) in lines.items():
            axis.plot(minutes, values, marker=".", label=label)
        axis.set_title(title)
        axis.set_xlabel("minutes")
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
        if lines:
            axis.legend()
    figure.tight_layout()
    save_png(figure, png)
    return True


def _missed(lines: Lines) -> Lines:
    """Shares of what is wrong from shares of what is right, those above 0 only (log scale)."""
    return {
        label: (
            [m for m, v in zip(minutes, values, strict=True) if v < 1],
            [1 - v for v in values if v < 1],
        )
        for label, (minutes, values) in lines.items()
    }
