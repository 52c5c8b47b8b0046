"""What a self-play run tells: a live line per phase, a summary per iteration, metrics.jsonl
and TensorBoard events if that is installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from tqdm import tqdm

from azfit.metrics import read_metrics, tensorboard
from azfit.self_play.iteration import SIDES, Iteration, read_iterations
from solver.storage import write_atomically


class IterationLog:
    """On a terminal each phase has a bar; elsewhere only the summaries are printed."""

    def __init__(self, folder: Path, stream: TextIO | None, iteration: int) -> None:
        """iteration: how many are finished; lines of later ones, left by a crash, are dropped."""
        self._path, self._stream = folder / "metrics.jsonl", stream
        known = [line.iteration for line in read_iterations(folder)]
        lines = {line["iteration"]: line for line in read_metrics(self._path)}
        text = "".join(json.dumps(lines[number]) + "\n" for number in known if number <= iteration)
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

    def write(self, line: Iteration) -> None:
        """The line of a finished iteration, everywhere."""
        self._iteration = line.iteration
        entries = line.to_dict()
        with open(self._path, "a") as out:
            out.write(json.dumps(entries) + "\n")
        if self._board is not None:
            del entries["iteration"], entries["seconds"]
            for name, value in flattened(entries):
                self._board.add_scalar(name, value, line.iteration)
            self._board.flush()
        if self._stream is not None:
            print(summary(line), file=self._stream, flush=True)

    def close(self) -> None:
        self.end()
        if self._board is not None:
            self._board.close()


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


def summary(line: Iteration) -> str:
    """A whole iteration in one line."""
    games, training, match, seconds = line.games, line.training, line.match, line.phase_seconds
    assert games and training and match and seconds and line.elo is not None
    assessed = {} if line.fresh is None else line.fresh.by_side()
    scores = [assessed[side].macro_f1 if side in assessed else None for side in SIDES]
    f1 = "/".join("-" if score is None else f"{score:.2f}" for score in scores)
    spent = sum(part or 0.0 for part in (seconds.play, seconds.training, seconds.match))
    return (
        f"{line.iteration:4d}  X {games.first_wins} Y {games.second_wins} "
        f"draw {games.draws} ({games.mean_plies:.0f} plies)  "
        f"loss {training.loss:.3f} (policy {training.policy:.3f} wdl {training.wdl:.3f} "
        f"steps {training.steps:.3f})  KL {training.kl:.3f}  F1 {f1}  "
        f"score {match.score:.1%}±{match.standard_error:.1%}  Elo {line.elo:.0f}  "
        f"{'accepted' if line.accepted else 'rejected'}  "
        f"{spent:.0f} s, {line.seconds / 60:.1f} min in all"
    )
