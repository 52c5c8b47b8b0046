"""Panels as one PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from azfit.curves.panels import Curve, Panel, Style
from solver.plotting import pyplot, save_png

Axis = Any

COLOURS = {"first": "tab:blue", "second": "tab:red"}
OTHER_COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:purple", "tab:gray", "tab:brown")
LINES: dict[Style, str] = {"line": "-", "dashed": "--", "dotted": ":"}
MARKS: dict[Style, tuple[str, str]] = {"up": ("^", "tab:green"), "cross": ("x", "tab:orange")}

# Both can be seen where two curves are equal: the first is wider.
WIDTHS = (3.5, 2.0, 1.5, 1.0)
SIDE_WIDTHS = {"first": 3.0, "second": 1.2}

MOST_IN_A_ROW = 4

MOST_MARKS = 60
"""Where there are more points, marks would hide whether a line is dashed."""

MARGIN = 0.03
"""Beyond the range, so that a line along its end is not hidden by the frame."""

SMALLEST_DECADE = 1e-5
"""Where the logarithmic part of an axis ends if no figure is above 0."""

LEGEND = {"fontsize": "small", "loc": "upper center", "bbox_to_anchor": (0.5, -0.12), "ncol": 3}


def draw_panels(panels: Sequence[Panel], png: Path, title: str) -> None:
    """InputError without matplotlib."""
    rows = 1 if len(panels) <= MOST_IN_A_ROW else 2
    columns = -(-len(panels) // rows)
    size = (5 * columns, 5.25 * rows)
    figure, axes = pyplot().subplots(rows, columns, figsize=size, squeeze=False)
    places = [axis for row in axes for axis in row]
    for axis, panel in zip(places, panels, strict=False):
        _draw(axis, panel)
    for axis in places[len(panels) :]:
        axis.set_visible(False)
    figure.suptitle(title)
    figure.tight_layout()
    save_png(figure, png)


def _draw(axis: Axis, panel: Panel) -> None:
    axis.set_title(panel.title)
    axis.set_xlabel(panel.x_label)
    axis.grid(alpha=0.3)
    if panel.x_label == "iteration":
        axis.xaxis.get_major_locator().set_params(integer=True)
    drawn = [curve for curve in panel.curves if curve.x]
    for number, curve in enumerate(drawn):
        _plot(axis, curve, number)
    if panel.logarithmic:
        _logarithmic(axis, panel)
    else:
        _linear(axis, panel)
    if drawn:
        axis.legend(**LEGEND)


def _plot(axis: Axis, curve: Curve, number: int) -> None:
    if curve.style in MARKS:
        mark, colour = MARKS[curve.style]
        axis.scatter(curve.x, curve.y, marker=mark, color=colour, label=curve.label, zorder=3)
        return
    if curve.side is None:
        colour, width = OTHER_COLOURS[number % len(OTHER_COLOURS)], WIDTHS[min(number, 3)]
    else:
        colour, width = COLOURS[curve.side], SIDE_WIDTHS[curve.side]
    axis.plot(
        curve.x,
        curve.y,
        label=curve.label,
        color=colour,
        linewidth=width,
        linestyle=LINES[curve.style],
        marker="." if len(curve.x) <= MOST_MARKS else None,
        markersize=4 * width,
        clip_on=not curve.y or min(curve.y) < 0,
        zorder=3,
    )


def _linear(axis: Axis, panel: Panel) -> None:
    figures = [value for curve in panel.curves for value in curve.y]
    low = min([0.0, *figures]) if panel.low is None else panel.low
    high = max([panel.least_high, *figures]) if panel.high is None else panel.high
    margin = MARGIN * (high - low or 1.0)
    axis.set_ylim(low - margin, high + margin)


def _logarithmic(axis: Axis, panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

    above = [value for curve in panel.curves for value in curve.y if value > 0]
    smallest = 10.0 ** math.floor(math.log10(min(above))) if above else SMALLEST_DECADE
    largest = max(above, default=10 * smallest)
    axis.set_yscale("symlog", linthresh=smallest, linscale=0.5)
    axis.set_ylim(0, 2 * largest)
    between = (1, 2, 5) if largest < 100 * smallest else (1,)
    axis.yaxis.set_major_locator(SymmetricalLogLocator(linthresh=smallest, base=10, subs=between))
    axis.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{100 * value:g} %" if panel.share else f"{value:g}")
    )
