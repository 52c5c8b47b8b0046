"""The main figures of a diagnosis as one PNG: two positions, and what differs between the sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from azfit.diagnosis.diagnose import Diagnosis
from azfit.diagnosis.figures import Figures
from azfit.diagnosis.layout import number, share, signed
from azfit.self_play.iteration import SIDES
from solver.plotting import pyplot, save_png

Axis = Any
T = TypeVar("T")
Bars = dict[str, Sequence[float | None]]

# Below the axis, where it hides nothing.
LEGEND = {"fontsize": "small", "loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncol": 3}


def draw_diagnosis(diagnosis: Diagnosis, png: Path) -> None:
    """Policies of the start and the reply; entropies; starved nodes; value and outcome."""
    plt = pyplot()
    figures = diagnosis.figures
    figure, axes = plt.subplots(1, 5, figsize=(25, 5))
    for axis, name in zip(axes[:2], ("start", "reply"), strict=True):
        axis.set_title(f"{name}: leading moves")
        if name in figures.watch:
            _position(axis, figures, name)
    _bars(axes[2], "policy entropy (nats)", _entropies(figures), number)
    _bars(axes[3], "value and outcome", _values(figures), signed)
    _bars(axes[4], "search", _searches(figures), share)
    axes[2].margins(y=0.1)
    axes[3].set_ylim(-1.08, 1.08)
    axes[4].set_ylim(0, 1.08)
    figure.suptitle(f"{diagnosis.subject} ({diagnosis.game})")
    figure.tight_layout()
    save_png(figure, png)


def _entropies(figures: Figures) -> Bars:
    return {
        "network": _by_side(figures.sides, lambda side: side.network_entropy),
        "targets": _by_side(figures.sides, lambda side: side.target_entropy),
        "Jensen gap": _by_side(figures.jensen or {}, lambda side: side.gap),
    }


def _values(figures: Figures) -> Bars:
    return {
        "mean value": _by_side(figures.sides, lambda side: side.value),
        "mean outcome": _by_side(figures.sides, lambda side: side.outcome),
    }


def _searches(figures: Figures) -> Bars:
    return {
        "starved nodes (FPU < -1)": _by_side(figures.starved, lambda side: side.share),
        "different move with the clamp": _by_side(
            figures.clamp or {}, lambda side: side.other_move
        ),
    }


def _by_side(figures: Mapping[str, T], get: Callable[[T], float | None]) -> list[float | None]:
    return [get(figures[side]) if side in figures else None for side in SIDES]


def _position(axis: Axis, figures: Figures, name: str) -> None:
    """The network's and the searches' probability of each leading move; the right one is marked."""
    leading = figures.watch[name].leading
    labels = [move.label.replace(" (", "\n(") for move in leading]
    bars: Bars = {"network": [move.now for move in leading]}
    if figures.repeats:
        policy = figures.repeats[name].policy
        bars["searches"] = [sum(policy[action] for action in move.actions) for move in leading]
    _grouped_bars(axis, labels, bars, share)
    axis.set_ylim(0, 1.08)


def _bars(axis: Axis, title: str, bars: Bars, write: Callable[[float], str]) -> None:
    axis.set_title(title)
    _grouped_bars(axis, [f"{side} player" for side in SIDES], bars, write)


def _grouped_bars(axis: Axis, labels: list[str], bars: Bars, write: Callable[[float], str]) -> None:
    """Each bar with its figure, so that 0 is visible, and not confused with what is unknown."""
    width = 0.8 / len(bars)
    for place, (name, values) in enumerate(bars.items()):
        places = [i + (place + 0.5) * width - 0.4 for i in range(len(labels))]
        drawn = axis.bar(places, [value or 0.0 for value in values], width, label=name)
        written = ["no data" if value is None else write(value) for value in values]
        axis.bar_label(drawn, written, fontsize="x-small", padding=2)
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_xticks(range(len(labels)), labels, fontsize="small")
    axis.grid(alpha=0.3, axis="y")
    axis.legend(**LEGEND)
