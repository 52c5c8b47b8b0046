"""What a run tells: metrics.jsonl, TensorBoard events if that is installed, a bar or lines."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Protocol, TextIO

from tqdm import tqdm

from azfit.curves.oracle import draw_oracle_run
from azfit.metrics import tensorboard
from azfit.objective import Metrics
from azfit.oracle.config import TrainingConfig


class Timed(Protocol):
    """What the log asks of a run."""

    config: TrainingConfig
    step: int

    @property
    def seconds(self) -> float: ...


class Log:
    """Averages over steps until a line is due; on a terminal they stand beside the bar."""

    def __init__(self, folder: Path, run: Timed, stream: TextIO | None) -> None:
        self._folder, self._run, self._stream = folder, run, stream
        self._file = open(folder / "metrics.jsonl", "a")  # noqa: SIM115 - closed by close()
        self._board = tensorboard(folder)
        config = run.config
        self._by_steps = config.steps is not None
        self._bar: tqdm[None] | None = None
        if stream is not None and stream.isatty():
            total = config.steps if self._by_steps else int(60 * (config.minutes or 0))
            self._bar = tqdm(
                total=total, unit="step" if self._by_steps else "s", file=stream, leave=False
            )
        self._sums: Metrics = {}
        self._count, self._since = 0, time.monotonic()

    def learned(self, told: Metrics) -> None:
        for name, value in told.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        self._count += 1
        if self._bar is not None:
            done = self._run.step if self._by_steps else self._run.seconds
            self._bar.update(min(done, self._bar.total) - self._bar.n)
            if self._count % 20 == 0:
                self._bar.set_postfix_str(_short(self._averages()))

    def _averages(self) -> Metrics:
        told = {name: value / max(1, self._count) for name, value in self._sums.items()}
        passed = max(1e-9, time.monotonic() - self._since)
        told["positions_per_second"] = self._count * self._run.config.batch / passed
        return told

    def flush(self, kind: str, told: Metrics | None = None) -> None:
        """One line of metrics: averages of the steps since the last one, or what is given."""
        if told is None:
            if not self._count:
                return
            told = self._averages()
            self._sums, self._count, self._since = {}, 0, time.monotonic()
        run = self._run
        line: dict[str, Any] = {"kind": kind, "step": run.step, "seconds": round(run.seconds, 2)}
        self._file.write(json.dumps(line | told) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in told.items():
                self._board.add_scalar(f"{kind}/{name}", value, run.step)
        if self._stream is not None:
            text = f"{run.seconds:7.0f} s  step {run.step:7d}  {kind:<9} {_short(told)}"
            if self._bar is not None:
                self._bar.write(text, file=self._stream)
            else:
                print(text, file=self._stream, flush=True)

    def close(self) -> None:
        self._file.close()
        if self._board is not None:
            self._board.close()
        if self._bar is not None:
            self._bar.close()
        draw_oracle_run(self._folder / "metrics.jsonl", self._folder / "curves.png")


def _short(told: Metrics) -> str:
    formats = {
        "loss": "loss {:.4f}",
        "kl": "KL {:.4f}",
        "accuracy": "move {:.2%}",
        "keeping": "keeping {:.4%}",
        "optimal": "optimal {:.3%}",
        "wdl_accuracy": "wdl {:.3%}",
        "positions_per_second": "{:,.0f} pos/s",
        "mined": "mined {:,.0f}",
        "mined_blunders": "blunders {:,.0f}",
    }
    return "  ".join(text.format(told[name]) for name, text in formats.items() if name in told)
