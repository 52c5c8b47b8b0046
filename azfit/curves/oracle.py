"""Curves of a run that learns from the table, as one PNG: what it learned, against time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azfit.metrics import read_metrics
from solver.errors import FadefourError, InputError
from solver.plotting import pyplot, save_png
from solver.storage import read_json

# A run shorter than this is drawn against seconds, a longer one against minutes.
SHORT_RUN_SECONDS = 180.0

MOST_CONFIG_BYTES = 1 << 20

# Where the logarithmic part of an axis ends if no value is above 0.
SMALLEST_DECADE = 1e-5


# The first curve is the widest, so that it shows behind one that is equal.
WIDTHS = (3.5, 2.0, 1.5, 1.0)


@dataclass(frozen=True)
class Curve:
    """Seconds since the run began, and a value at each."""

    label: str
    seconds: list[float]
    values: list[float]


@dataclass(frozen=True)
class Panel:
    """Curves on one pair of axes."""

    title: str
    curves: list[Curve]
    is_share: bool
    """Values are shares, written as percentages."""


def draw_oracle_run(metrics_path: Path, png: Path) -> None:
    """Draws the PNG; InputError without matplotlib, or if there is nothing to draw."""
    panels = _panels(read_metrics(metrics_path), _evaluated_positions(metrics_path.parent))
    curves = [curve for panel in panels for curve in panel.curves]
    if not curves:
        raise InputError(f"'{metrics_path}' has nothing to draw yet: let the run continue")
    short = max(curve.seconds[-1] for curve in curves) < SHORT_RUN_SECONDS
    figure, axes = pyplot().subplots(1, len(panels), figsize=(15, 4.5))
    for axis, panel in zip(axes, panels, strict=True):
        axis.set_title(panel.title)
        axis.set_xlabel("seconds" if short else "minutes")
        axis.grid(alpha=0.3)
        for number, curve in enumerate(panel.curves):
            times = [second if short else second / 60 for second in curve.seconds]
            look = {"marker": ".", "linewidth": WIDTHS[number], "markersize": 4 * WIDTHS[number]}
            axis.plot(times, curve.values, label=curve.label, clip_on=False, zorder=3, **look)
        _scale(axis, panel)
        if panel.curves:
            axis.legend()
    figure.tight_layout()
    save_png(figure, png)


def _evaluated_positions(folder: Path) -> str:
    """What the run calls held_out: if it holds nothing out, all positions."""
    try:
        config = read_json(folder / "config.json", MOST_CONFIG_BYTES, "config")
    except FadefourError:
        return "held-out"
    nothing = isinstance(config, dict) and config.get("held_out") == 0
    return "all" if nothing else "held-out"


def _panels(metrics: list[dict[str, Any]], held_out: str) -> list[Panel]:
    losses = {"loss": "total", "kl": "policy, KL", "wdl": "win/draw/loss", "moves": "moves"}
    training = [_curve(metrics, "training", name, label) for name, label in losses.items()]
    panels = [Panel("loss (training)", [curve for curve in training if curve], False)]
    for name, title in (
        ("keeping", "moves that lose the result"),
        ("wdl_accuracy", "win/draw/loss judged wrong"),
    ):
        right = [
            _curve(metrics, "held_out", name, held_out),
            _curve(metrics, "critical", name, "critical"),
        ]
        panels.append(Panel(title, [_missed(curve) for curve in right if curve], True))
    return panels


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


def _scale(axis: Any, panel: Panel) -> None:
    """A logarithmic axis that ends in a 0: zero errors are what a run hopes for, so they show."""
    from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

    above = [value for curve in panel.curves for value in curve.values if value > 0]
    smallest = 10.0 ** math.floor(math.log10(min(above))) if above else SMALLEST_DECADE
    largest = max(above, default=10 * smallest)
    axis.set_yscale("symlog", linthresh=smallest, linscale=0.5)
    axis.set_ylim(0, 2 * largest)
    between = (1, 2, 5) if largest < 100 * smallest else (1,)
    axis.yaxis.set_major_locator(SymmetricalLogLocator(linthresh=smallest, base=10, subs=between))
    axis.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{100 * value:g} %" if panel.is_share else f"{value:g}")
    )
