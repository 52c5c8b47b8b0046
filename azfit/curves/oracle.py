"""What is drawn of a run that learns from the table: what it learned, against time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from azfit.curves.panels import Curve, Panel
from azfit.metrics import read_metrics
from solver.errors import FadefourError
from solver.storage import read_json

# A run shorter than this is drawn against seconds, a longer one against minutes.
SHORT_RUN_SECONDS = 180.0

MOST_CONFIG_BYTES = 1 << 20


def oracle_panels(metrics_path: Path) -> list[Panel]:
    """Nothing before there is something to draw."""
    metrics = read_metrics(metrics_path)
    held_out = _evaluated_positions(metrics_path.parent)
    losses = {"loss": "total", "kl": "policy, KL", "wdl": "win/draw/loss", "moves": "moves"}
    training = [_curve(metrics, "training", name, label) for name, label in losses.items()]
    wrong = {
        title: [
            _missed(_curve(metrics, kind, name, label))
            for kind, label in (("held_out", held_out), ("critical", "critical"))
        ]
        for name, title in (
            ("keeping", "moves that lose the result"),
            ("wdl_accuracy", "win/draw/loss judged wrong"),
        )
    }
    curves = [*training, *(curve for group in wrong.values() for curve in group)]
    last = max((curve.x[-1] for curve in curves if curve.x), default=None)
    if last is None:
        return []
    unit, factor = ("seconds", 1.0) if last < SHORT_RUN_SECONDS else ("minutes", 1 / 60)

    def panel(title: str, group: list[Curve], share: bool) -> Panel:
        drawn = [curve.scaled(factor) for curve in group if curve.x]
        return Panel(title, unit, drawn, share=share, logarithmic=True)

    return [
        panel("loss (training)", training, False),
        *(panel(title, group, True) for title, group in wrong.items()),
    ]


def _evaluated_positions(folder: Path) -> str:
    """What the run calls held_out: if it holds nothing out, all positions."""
    try:
        config = read_json(folder / "config.json", MOST_CONFIG_BYTES, "config")
    except FadefourError:
        return "held-out"
    nothing = isinstance(config, dict) and config.get("held_out") == 0
    return "all" if nothing else "held-out"


def _curve(metrics: list[dict[str, Any]], kind: str, name: str, label: str) -> Curve:
    """An entry of the lines of a kind, where it and the time are finite numbers."""
    points = [
        (float(line["seconds"]), float(line[name]))
        for line in metrics
        if line.get("kind") == kind
        and _is_number(line.get("seconds"))
        and _is_number(line.get(name))
    ]
    return Curve.of(label, points)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e300  # NaN is below nothing


def _missed(curve: Curve) -> Curve:
    """The share of what is wrong, from the share of what is right."""
    return Curve(curve.label, curve.x, [max(0.0, 1 - value) for value in curve.y])
