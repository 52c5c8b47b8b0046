"""What a self-play run tells: a live line per phase, a summary per iteration, metrics.jsonl
and TensorBoard events if that is installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from tqdm import tqdm

from azfit.metrics import read_metrics, tensorboard
from azfit.self_play.assessment import SIDES
from solver.errors import CorruptTableError
from solver.storage import write_atomically


class IterationLog:
    """On a terminal each phase has a bar; elsewhere only the summaries are printed."""

    def __init__(self, folder: Path, stream: TextIO | None, iteration: int) -> None:
        """iteration: how many are finished; lines of later ones, left by a crash, are dropped."""
        self._path, self._stream = folder / "metrics.jsonl", stream
        lines = [line for line in read_iterations(folder) if line["iteration"] <= iteration]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        write_atomically(self._path, text.encode())
        self._board = tensorboard(folder)
        self._bar: tqdm[None] | None = None
        self._iteration = iteration

    def begin(self, phase: str, total: int, unit: str, done: int = 0) -> None:
        if self._stream is not None and self._stream.isatty():
            title = f"iteration {self._iteration + 1}, {phase}"
            self._bar = tqdm(
                total=total, unit=unit, initial=done, desc=title, file=self._stream, leave=False
            )

    def advance(self, count: int = 1) -> None:
        if self._bar is not None:
            self._bar.update(count)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def write(self, iteration: int, seconds: float, told: dict[str, Any]) -> None:
        """The iteration's line, everywhere."""
        self._iteration = iteration
        line = {"iteration": iteration, "seconds": round(seconds, 2), **told}
        with open(self._path, "a") as out:
            out.write(json.dumps(line) + "\n")
        if self._board is not None:
            for name, value in flattened(told):
                self._board.add_scalar(name, value, iteration)
            self._board.flush()
        if self._stream is not None:
            print(summary(line), file=self._stream, flush=True)

    def close(self) -> None:
        self.end()
        if self._board is not None:
            self._board.close()


def read_iterations(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's metrics.jsonl, one an iteration, in order."""
    path = folder / "metrics.jsonl"
    try:
        found = read_metrics(path) if path.exists() else []
    except UnicodeDecodeError:
        raise CorruptTableError(f"'{path}' is no text: remove it, and the run goes on") from None
    by_iteration = {line["iteration"]: line for line in found if "iteration" in line}
    return [by_iteration[iteration] for iteration in sorted(by_iteration)]


def flattened(told: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Numbers in nested dictionaries and lists, by path."""
    for name, value in told.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict):
            yield from flattened(value, path + "/")
        elif isinstance(value, bool | int | float):
            yield path, float(value)
        elif isinstance(value, list) and len(value) <= 3:
            yield from flattened({str(i): v for i, v in enumerate(value)}, path + "/")


def summary(line: dict[str, Any]) -> str:
    """One iteration in one line."""
    games, training, match = line["games"], line["training"], line["match"]
    f1 = "/".join(
        "-" if (one := line["fresh"].get(side, {}).get("macro_f1")) is None else f"{one:.2f}"
        for side in SIDES
    )
    return (
        f"{line['iteration']:4d}  X {games['first_wins']} Y {games['second_wins']} "
        f"draw {games['draws']} ({games['mean_plies']:.0f} plies)  "
        f"loss {training['loss']:.3f} (policy {training['policy']:.3f} wdl {training['wdl']:.3f} "
        f"steps {training['steps']:.3f})  KL {training['kl']:.3f}  F1 {f1}  "
        f"score {match['score']:.1%}±{match['standard_error']:.1%}  Elo {line['elo']:.0f}  "
        f"{'accepted' if line['accepted'] else 'rejected'}  "
        f"{sum(line['phase_seconds'].values()):.0f} s, {line['seconds'] / 60:.1f} min in all"
    )
