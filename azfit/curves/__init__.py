"""Curves of runs: a module for each kind of run says what is drawn, ``draw_run`` draws it.

Drawing reads what a run has written as JSON and imports no torch.
"""

from __future__ import annotations

import os.path
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from azfit.curves.drawing import draw_panels
from azfit.curves.oracle import MOST_CONFIG_BYTES, oracle_panels
from azfit.curves.panels import Panel
from azfit.curves.self_play import self_play_panels
from azfit.self_play.iteration import read_iterations
from solver.errors import FadefourError, InputError
from solver.storage import check_writable, read_json
from solver.wording import counted

METRICS = "metrics.jsonl"


def draw_run(folder: Path, png: Path | None = None, data: Path = Path("data")) -> Path:
    """Draws ``folder/curves.png``, or the file that is given; returns its path.

    data: the folder of the solved table, by which the right moves of a self-play run are marked.
    """
    png = png or folder / "curves.png"
    check_run(folder)
    check_writable(png)
    curves = curves_of_run(folder, data)
    if not curves.panels:
        raise InputError(f"'{folder / METRICS}' has nothing to draw yet: let the run continue")
    draw_panels(curves.panels, png, curves.title)
    return png


def check_run(folder: Path) -> None:
    """InputError if the folder is none of a run."""
    if not os.path.lexists(folder / METRICS):  # Path.exists raises for a name that is too long
        raise InputError(
            f"'{folder}' is not a run folder: it has no {METRICS}; give another folder"
        )


@dataclass(frozen=True)
class RunCurves:
    """What there is to draw of a run; no panels before its first line of metrics."""

    title: str
    panels: list[Panel]


def curves_of_run(folder: Path, data: Path = Path("data")) -> RunCurves:
    """Of a run of either kind."""
    check_run(folder)
    iterations = read_iterations(folder)
    if not iterations:
        return RunCurves("", oracle_panels(folder / METRICS))
    game = game_of_run(folder)
    title = f"{game}, self-play, {counted(len(iterations), 'iteration')}"
    return RunCurves(title, self_play_panels(iterations, game, data))


def draw_finished_run(folder: Path, stream: TextIO | None) -> None:
    """Draws what a run leaves behind. A picture that cannot be drawn is worth a line on the
    stream; it never fails the run, nor hides the error that ended it. Without matplotlib, or
    before the first line of metrics, there is nothing to say."""
    metrics = folder / METRICS
    nothing_yet = not os.path.exists(metrics) or not os.path.getsize(metrics)
    if nothing_yet or find_spec("matplotlib") is None:
        return
    try:
        draw_run(folder)
    except (FadefourError, OSError, ValueError, RuntimeError, MemoryError) as error:
        if stream is not None:
            reason = str(error).split("\n", 1)[0]
            print(f"curves.png was not drawn: {reason}", file=stream, flush=True)


def game_of_run(folder: Path) -> str:
    """The game that a run of self-play learns, from its config.json."""
    path = folder / "config.json"
    config = read_json(path, MOST_CONFIG_BYTES, "config", "restore it")
    if not isinstance(config, dict) or not isinstance(config.get("game"), str):
        raise InputError(f"'{path}' does not say which game the run learns: restore it")
    return str(config["game"])
