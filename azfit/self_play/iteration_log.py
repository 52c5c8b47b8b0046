"""What a self-play run reports: its progress, a line per iteration, metrics.jsonl, and TensorBoard
events if that is installed."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from azfit.metrics import read_metrics, tensorboard
from azfit.self_play.iteration import Iteration, MatchResult, read_iterations
from solver.progress import Bar, Lines, status
from solver.storage import write_atomically

WIDTH = 100
"""Columns of a line."""


class PhaseProgress:
    """How far a phase has come: a bar on a terminal, elsewhere a line every ten seconds.

    A game may take minutes to end, so a thread reports even if nothing does.
    """

    LINE_SECONDS, BAR_SECONDS = Lines.EVERY_SECONDS, 1.0

    def __init__(self, stream: TextIO, title: str, total: int, unit: str, done: int = 0) -> None:
        self._stream, self._title, self._total, self._unit = stream, title, total, unit
        self._done = self._done_before = done
        self._began = time.monotonic()
        self._bar = Bar.on(stream, title, total, unit, done) if stream.isatty() else None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_reporting, daemon=True)
        self._thread.start()

    def advance(self, count: int) -> None:
        self._done += count
        if self._bar is not None:
            self._bar.update(count)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        if self._bar is not None:
            self._bar.close()

    def _keep_reporting(self) -> None:
        seconds = self.LINE_SECONDS if self._bar is None else self.BAR_SECONDS
        with contextlib.suppress(OSError):  # the line at the end of the iteration reports it
            while not self._ended.wait(seconds):
                if self._bar is None:
                    print(self.line(), file=self._stream, flush=True)
                else:
                    self._bar.refresh()

    def line(self) -> str:
        seconds = time.monotonic() - self._began
        figures = status(self._done, self._total, self._unit, seconds, self._done_before)
        return f"{self._title}: {figures}"


class IterationLog:
    """Where the phases report to. One phase at a time."""

    def __init__(self, folder: Path, stream: TextIO | None, iteration: int) -> None:
        """iteration: how many are finished; lines of later ones, left by a crash, are dropped."""
        self._path, self._stream = folder / "metrics.jsonl", stream
        finished = [line.iteration for line in read_iterations(folder)]
        kept = [number for number in finished if number <= iteration]
        lines = {line.get("iteration"): line for line in read_metrics(self._path)}
        text = "".join(json.dumps(lines[number]) + "\n" for number in kept)
        write_atomically(self._path, text.encode())
        self._board = tensorboard(folder)
        self._progress: PhaseProgress | None = None
        self._iteration, self._noted = iteration, -1

    def begin(self, phase: str, total: int, unit: str, done: int = 0) -> None:
        if self._stream is not None:
            title = f"iteration {self._iteration + 1}, {phase}"
            self._progress = PhaseProgress(self._stream, title, total, unit, done)

    def advance(self, count: int = 1) -> None:
        if self._progress is not None:
            self._progress.advance(count)

    def end(self) -> None:
        if self._progress is not None:
            self._progress.end()
            self._progress = None

    def note_once(self, text: str) -> None:
        """A line that is not part of the progress, the first time in an iteration."""
        if self._noted != self._iteration:
            self._noted = self._iteration
            self.note(text)

    def note(self, text: str | None) -> None:
        """A line that is not part of the progress; None if there is nothing to say."""
        if self._stream is not None and text is not None:
            Bar.write(text, file=self._stream)

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
        if self._stream is not None:
            print(summary(line), file=self._stream, flush=True)

    def close(self) -> None:
        self.end()
        if self._board is not None:
            self._board.close()


def flattened(entries: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Numbers in nested dictionaries and lists, by path."""
    for name, value in entries.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict):
            yield from flattened(value, path + "/")
        elif isinstance(value, bool | int | float):
            yield path, float(value)
        elif isinstance(value, list) and len(value) <= 3:
            yield from flattened({str(i): v for i, v in enumerate(value)}, path + "/")


# ---- an iteration in one line --------------------------------------------------------


def summary(line: Iteration) -> str:
    """A finished iteration in at most ``WIDTH`` columns; what matters least is left out first."""
    games, training, match, seconds = line.games, line.training, line.match, line.phase_seconds
    assert games and training and match and seconds and line.elo is not None
    digits = len(str(games.played))
    outcomes = (
        f"first won {games.first_wins:{digits}}, second {games.second_wins:{digits}}, "
        f"drawn {games.draws:{digits}}"
    )
    loss, elo = f"loss {training.loss:.3f}", f"Elo {round(line.elo):4}"
    took, decision = f"{seconds.total:.0f} s", "accepted" if line.accepted else "rejected"
    score = f"match {score_in_words(match)}"
    parts = [f"iter {line.iteration:3}", outcomes, loss, elo, decision, score, took]
    for least in (took, loss):
        if len("  ".join(parts)) > WIDTH:
            parts.remove(least)
    return "  ".join(parts)


def score_in_words(match: MatchResult) -> str:
    """The candidate's score, and why, where no opening distinguished the two."""
    score = f"{100 * match.score:.0f}"
    if not match.all_pairs_even:
        return f"{score}±{100 * match.standard_error:.0f} %"
    if sum(match.draws) == match.games:
        return f"{score} % drawn"
    return f"{score} % even" if sum(match.draws) else f"{score} % by colour"
