"""Curves of runs, one module per kind of run; ``draw_run`` looks at a folder and picks one.

Drawing reads what a run has written as JSON and imports no torch.
"""

from __future__ import annotations

import os.path
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from azfit.curves.oracle import MOST_CONFIG_BYTES, draw_oracle_run
from azfit.curves.self_play import draw_self_play
from azfit.self_play.iteration import read_iterations
from solver.errors import FadefourError, InputError
from solver.storage import check_writable, read_json


def draw_run(folder: Path, png: Path | None = None, data: Path = Path("data")) -> Path:
    """Draws ``folder/curves.png``, or the file that is given; returns its path.

    data: the folder of the solved table, by which the right moves of a self-play run are marked.
    """
    metrics = folder / "metrics.jsonl"
    if not os.path.lexists(metrics):  # Path.exists raises for a name that is too long
        raise InputError(
            f"'{folder}' is not a run folder: it has no metrics.jsonl; give another folder"
        )
    png = png or folder / "curves.png"
    check_writable(png)
    iterations = read_iterations(folder)
    if iterations:
        draw_self_play(iterations, game_of_run(folder), png, data)
    else:
        draw_oracle_run(metrics, png)
    return png


def draw_finished_run(folder: Path, stream: TextIO | None) -> None:
    """Draws what a run leaves behind. A picture that cannot be drawn is worth a line on the
    stream; it never fails the run, nor hides the error that ended it. Without matplotlib, or
    before the first line of metrics, there is nothing to say."""
    metrics = folder / "metrics.jsonl"
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
