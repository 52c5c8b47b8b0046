"""Curves of a run as one PNG: what it learned, against time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from solver.errors import InputError
from solver.plotting import pyplot, save_png

Lines = dict[str, tuple[list[float], list[float]]]


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl; a last line cut short by a crash is left out."""
    found = []
    for line in path.read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


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
    pending = png.with_name(png.name + ".writing.png")
    save_png(figure, pending)
    pending.replace(png)
    return True


def draw_run(folder: Path, png: Path | None = None) -> Path:
    """The curves of a run of either kind as a PNG (``folder/curves.png``); returns its path."""
    from azfit.iteration_log import read_iterations

    png = png or folder / "curves.png"
    metrics = folder / "metrics.jsonl"
    if not metrics.exists():
        raise InputError(f"'{folder}' is no run: it has no metrics.jsonl")
    lines = read_iterations(folder)
    if lines:
        from azfit.self_play import read_config
        from azfit.self_play_curves import draw_self_play

        draw_self_play(lines, read_config(folder), png)
    else:
        pyplot()  # one clear line if it is not installed
        if not draw_curves(metrics, png):
            raise InputError(f"'{metrics}' has nothing to draw yet")
    return png


def _missed(lines: Lines) -> Lines:
    """Shares of what is wrong from shares of what is right, those above 0 only (log scale)."""
    return {
        label: (
            [m for m, v in zip(minutes, values, strict=True) if v < 1],
            [1 - v for v in values if v < 1],
        )
        for label, (minutes, values) in lines.items()
    }
