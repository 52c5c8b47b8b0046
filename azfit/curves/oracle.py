"""Curves of a run that learns from the table, as one PNG: what it learned, against time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azfit.metrics import read_metrics
from solver.errors import InputError
from solver.plotting import pyplot, save_png

# A run shorter than this is drawn against seconds, a longer one against minutes.
SHORT_RUN_SECONDS = 180.0

# Where the logarithmic part of an axis ends if no value is above 0.
SMALLEST_DECADE = 1e-5


@dataclass(frozen=True)
class Curve:
    """Seconds since the run began, and a value at each."""

    label: str
    seconds: list[float]
    values: list[float]


@dataclass(frozen=True)
class Panel:
    title: str
    curves: list[Curve]


def draw_oracle_run(metrics_path: Path, png: Path) -> None:
    """Draws the PNG; InputError without matplotlib, or if there is nothing to draw."""
    panels = _panels(read_metrics(metrics_path))
    curves = [curve for panel in panels for curve in panel.curves]
    if not curves:
        raise InputError(f"'{metrics_path}' has nothing to draw yet: let the run go on")
    short = max(curve.seconds[-1] for curve in curves) < SHORT_RUN_SECONDS
    figure, axes = pyplot().subplots(1, len(panels), figsize=(15, 4.5))
    for axis, panel in zip(axes, panels, strict=True):
        axis.set_title(panel.title)
        axis.set_xlabel("seconds" if short else "minutes")
        axis.grid(alpha=0.3)
        for curve in panel.curves:
            times = [second if short else second / 60 for second in curve.seconds]
            axis.plot(times, curve.values, marker=".", label=curve.label, clip_on=False, zorder=3)
        _scale(axis, [value for curve in panel.curves for value in curve.values])
        if panel.curves:
            axis.legend()
    figure.tight_layout()
    save_png(figure, png)


def _panels(metrics: list[dict[str, Any]]) -> list[Panel]:
    losses = {"loss": "all", "kl": "policy, KL", "wdl": "win/draw/loss", "moves": "moves"}
    evaluated = {"held_out": "held-out", "critical": "critical"}
    return [
        Panel(
            "loss (training)",
            [
                curve
                for name, label in losses.items()
                if (curve := _curve(metrics, "training", name, label))
            ],
        ),
        *(
            Panel(
                title,
                [
                    _missed(curve)
                    for kind, label in evaluated.items()
                    if (curve := _curve(metrics, kind, name, label))
                ],
            )
            for name, title in (
                ("keeping", "share of moves that lose the result"),
                ("wdl_accuracy", "share of win/draw/loss judged wrong"),
            )
        ),
    ]


def _curve(metrics: list[dict[str, Any]], kind: str, name: str, label: str) -> Curve | None:
    """An entry of the lines of a kind, where it and the time are finite numbers."""
    points = [
        (float(line["seconds"]), float(line[name]))
        for line in metrics
        if line.get("kind") == kind
        and _is_number(line.get("seconds"))
        and _is_number(line.get(name))
    ]
    if not points:
        return None
    return Curve(label, [second for second, _ in points], [value for _, value in points])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e300  # NaN is below nothing


def _missed(curve: Curve) -> Curve:
    """The share of what is wrong, from the share of what is right."""
    return Curve(curve.label, curve.seconds, [max(0.0, 1 - value) for value in curve.values])


def _scale(axis: Any, values: list[float]) -> None:
    """A logarithmic axis that ends in a 0: zero errors are what a run hopes for, so they show."""
    above = [value for value in values if value > 0]
    smallest = 10.0 ** math.floor(math.log10(min(above))) if above else SMALLEST_DECADE
    axis.set_yscale("symlog", linthresh=smallest, linscale=0.5)
    axis.set_ylim(0, 2 * max(above, default=10 * smallest))
