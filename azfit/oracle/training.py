"""Training a network from the exact table: one loop, and what it stands on.

    with open_table("data") as table:
        train_from_oracle(preset("default", table), table, Path("runs/first"))

A run is a folder: ``config.json``, ``metrics.jsonl``, ``curves.png``, TensorBoard events,
``checkpoints/step-*.safetensors`` (networks) and ``resume.safetensors`` (``azfit.oracle.run``).
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import torch

from azfit.network import Network
from azfit.oracle.config import TrainingConfig, deepest_byte
from azfit.oracle.evaluation import EvaluationBatches, Evaluations
from azfit.oracle.log import Log
from azfit.oracle.run import Run
from solver.errors import InputError
from solver.storage import write_atomically
from solver.table import DenseTable


@contextlib.contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Ctrl-C ends the loop between two steps; a second one ends it at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def ask(*_: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)


# ---- the loop -----------------------------------------------------------------------


def train_from_oracle(
    config: TrainingConfig,
    table: DenseTable,
    folder: str | Path,
    *,
    resume: bool = False,
    stream: TextIO | None = sys.stderr,
) -> tuple[Network, Evaluations]:
    """Trains until the budget is spent; returns the network and its last evaluation.

    resume: continue the run in this folder (``read_config`` gives its config). Raises
    KeyboardInterrupt after Ctrl-C, with the state saved.
    """
    folder = Path(folder)
    _prepare(config, table, folder, resume)
    torch.set_num_threads(config.threads)
    run = Run(config, table, folder)
    if resume:
        run.load_state()
    batches = EvaluationBatches(config, table)
    log = Log(folder, run, stream)
    saved_at = evaluated_at = time.monotonic()
    try:
        with _interruptible() as is_asked_to_stop:
            while (fraction := run.fraction) < 1 and not is_asked_to_stop():
                mined = run.mine_if_due(fraction)
                if mined is not None:
                    log.flush("mining", mined.to_metrics())
                log.learned(run.learn(fraction))
                if time.monotonic() - evaluated_at >= config.evaluate_seconds:
                    log.flush("training")
                    _evaluate(run, batches, log)
                    evaluated_at = time.monotonic()
                if time.monotonic() - saved_at >= config.save_seconds:
                    run.save_state(0)
                    run.save_checkpoint()
                    saved_at = time.monotonic()
            log.flush("training")
            evaluations = _evaluate(run, batches, log)
            run.save_state(0)
            run.save_checkpoint()
            if run.fraction < 1:
                raise KeyboardInterrupt
    finally:
        log.close()
    return run.trained.eval(), evaluations


def _evaluate(run: Run, batches: EvaluationBatches, log: Log) -> Evaluations:
    run.evaluations = batches.evaluate(run.trained, run.step)
    log.flush("held_out", run.evaluations.held_out.to_metrics())
    log.flush("critical", run.evaluations.critical.to_metrics())
    return run.evaluations


def read_config(folder: str | Path) -> TrainingConfig:
    """The config of a run that exists."""
    path = Path(folder) / "config.json"
    try:
        return TrainingConfig.from_dict(json.loads(path.read_text()))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"'{folder}' is no run to resume: it has no config.json") from None
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"'{path}' cannot be read: {str(error).splitlines()[0]}") from None


def _prepare(config: TrainingConfig, table: DenseTable, folder: Path, resume: bool) -> None:
    rules = table.rules
    game = f"drop-{rules.n}-{rules.m}-{rules.k}"
    if config.network.game != game:
        raise InputError(f"the network plays {config.network.game}, the table is for {game}")
    deepest = deepest_byte(table)
    if config.network.max_plies < deepest:
        raise InputError(
            f"max_plies={config.network.max_plies}: the table has games of {deepest} plies"
        )
    if resume:
        if read_config(folder) != config:
            raise InputError(f"'{folder}' was begun with another config: resume it with its own")
        return
    if (folder / "config.json").exists():
        raise InputError(f"'{folder}' holds a run already: use --resume, or another folder")
    text = json.dumps(config.to_dict(), indent=1) + "\n"
    write_atomically(folder / "config.json", text.encode())
