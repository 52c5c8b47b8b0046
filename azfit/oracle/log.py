"""What a training run writes and shows: metrics.jsonl, TensorBoard events, a bar or plain lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol, TextIO

from azfit.curves import draw_finished_run
from azfit.metrics import tensorboard
from azfit.objective import Metrics
from azfit.oracle.config import TrainingConfig
from azfit.oracle.display import display_on
from azfit.oracle.evaluation import Evaluations
from solver.storage import write_atomically
from solver.wording import duration


class RunClock(Protocol):
    """What the log needs from a run."""

    config: TrainingConfig
    step: int

    @property
    def seconds(self) -> float: ...

    @property
    def fraction(self) -> float: ...


class TrainingLog:
    """Averages over steps until a line of metrics.jsonl is due; a status line all the while."""

    def __init__(
        self, folder: Path, run: RunClock, stream: TextIO | None, keep_lines: int | None = None
    ) -> None:
        """keep_lines: lines of metrics.jsonl that belong to the state the run continues from; later
        ones, left by a run that was killed, are dropped. None keeps all of them."""
        self._folder, self._run = folder, run
        self._path = folder / "metrics.jsonl"
        self.lines = self._drop_later_lines(keep_lines)
        self._board = tensorboard(folder, hide_from=run.step + 1)
        self._display = display_on(stream)
        self._stream = stream
        self._sums: Metrics = {}
        self._steps, self._seconds = 0, 0.0

    def _drop_later_lines(self, keep: int | None) -> int:
        """Returns the number of lines that are left."""
        if not self._path.exists():
            return 0
        lines = self._path.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines[:keep] if line.endswith(b"\n")]
        if kept != lines:
            write_atomically(self._path, b"".join(kept))
        return len(kept)

    # ---- training -------------------------------------------------------------------

    def learned(self, metrics: Metrics, seconds: float) -> None:
        """A step, and how long it took."""
        for name, value in metrics.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        self._steps += 1
        self._seconds += seconds
        self._display.status(self._status, self._run.fraction)

    def doing(self, label: str, share: float) -> None:
        """What is being done between two steps, and the share of it that is done."""
        self._display.status(lambda: f"{self._spent()}  {label}: {share:.0%}", self._run.fraction)

    def _status(self) -> str:
        return f"{self._spent()}  {_in_words(self._averages())}"

    def _spent(self) -> str:
        return budget_spent(self._run)

    def _averages(self) -> Metrics:
        averages = {name: value / max(1, self._steps) for name, value in self._sums.items()}
        rate = self._steps * self._run.config.batch / max(1e-9, self._seconds)
        return {**averages, "positions_per_second": rate}

    def flush_training(self) -> None:
        """The averages of the steps since the last time, as a line of metrics.jsonl."""
        if self._steps:
            self._write("training", self._averages())
            self._sums, self._steps, self._seconds = {}, 0, 0.0

    # ---- results --------------------------------------------------------------------

    def mined(self, metrics: Metrics) -> None:
        self._write("mining", metrics)
        self._say_at_step("mining", metrics)

    def evaluated(self, evaluations: Evaluations) -> None:
        held_out = "held-out" if self._run.config.held_out else "all"
        for kind, label, evaluation in (
            ("held_out", held_out, evaluations.held_out),
            ("critical", "critical", evaluations.critical),
        ):
            self._write(kind, evaluation.to_metrics())
            self._say_at_step(label, evaluation.to_metrics())

    def say(self, text: str) -> None:
        """One line for the user."""
        self._display.line(text)

    def _say_at_step(self, label: str, metrics: Metrics) -> None:
        run = self._run
        self.say(f"{run.seconds:6.0f} s  step {run.step:7,}  {label:<8}  {_in_words(metrics)}")

    def _write(self, kind: str, metrics: Metrics) -> None:
        run = self._run
        line: dict[str, Any] = {"kind": kind, "step": run.step, "seconds": round(run.seconds, 2)}
        with open(self._path, "a") as out:
            out.write(json.dumps(line | metrics) + "\n")
        self.lines += 1
        if self._board is not None:
            for name, value in metrics.items():
                self._board.add_scalar(f"{kind}/{name}", value, run.step)

    def close(self) -> None:
        self._display.close()
        if self._board is not None:
            self._board.close()
        draw_finished_run(self._folder, self._stream)


def budget_spent(run: RunClock) -> str:
    """``9.8 s of 60 s``, ``10.2 of 20 min`` or ``step 412 of 1,000, 12 s left``."""
    if run.config.minutes is None:
        left = ""
        if 0 < run.fraction < 1:
            left = f", {duration(run.seconds * (1 / run.fraction - 1))} left"
        return f"step {run.step:,} of {run.config.steps:,}{left}"
    total = 60 * run.config.minutes
    if total < 120:
        return f"{run.seconds:.1f} s of {total:.3g} s"
    return f"{run.seconds / 60:.1f} of {run.config.minutes:g} min"


FORMATS = {
    "positions_per_second": "{:,.0f} positions/s",
    "loss": "loss {:.4f}",
    "keeping": "keeps result {:9.4%}",
    "optimal": "optimal {:7.2%}",
    "accuracy": "optimal {:.2%}",
    "wdl_accuracy": "W/D/L {:7.2%}",
    "kl": "KL {:.4f}",
    "mined": "{:,.0f} positions mined",
    "mined_blunders": "{:,.0f} of them blunders",
}


def _in_words(metrics: Metrics) -> str:
    return "  ".join(
        text.format(metrics[name]) for name, text in FORMATS.items() if name in metrics
    )
