"""Curves of runs, one module per kind of run; ``draw_run`` looks at a folder and picks one."""

from __future__ import annotations

from pathlib import Path

from azfit.curves.oracle import draw_curves
from solver.errors import InputError
from solver.plotting import pyplot


def draw_run(folder: Path, png: Path | None = None) -> Path:
    """Draws ``folder/curves.png``, or the file that is given; returns its path."""
    from azfit.diagnosis.curves import draw_self_play
    from azfit.self_play.config_sources import read_config
    from azfit.self_play.iteration import read_iterations

    png = png or folder / "curves.png"
    metrics = folder / "metrics.jsonl"
    if not metrics.exists():
        raise InputError(f"'{folder}' is no run: it has no metrics.jsonl; give another folder")
    lines = [line.to_dict() for line in read_iterations(folder)]
    if lines:
        draw_self_play(lines, read_config(folder), png)
    else:
        pyplot()  # one clear line if it is not installed
        if not draw_curves(metrics, png):
            raise InputError(f"'{metrics}' has nothing to draw yet")
    return png
