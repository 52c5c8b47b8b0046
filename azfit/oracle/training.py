"""Training a network from an oracle: one loop, whatever the game.

    with open_table("data") as table:
        teacher = TableTeacher(table)
        train_from_oracle(preset("default", teacher), teacher, Path("runs/first"))

A run is a folder:

    config.json             the options
    init.safetensors        the network that it began with, if one was given
    metrics.jsonl           one line per evaluation, round of mining and stretch of training
    resume.safetensors      all that the next step depends on (azfit.oracle.run)
    checkpoints/step-*      the latest networks
    best.safetensors        the best of those evaluated (Evaluations.rank), the later one of equals
    curves.png, tensorboard
"""

from __future__ import annotations

import contextlib
import math
import os.path
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import torch

from azfit.checkpoint import init_path, load_checkpoint, save_checkpoint
from azfit.checkpoint_header import SUFFIX
from azfit.games import game_by_name
from azfit.network import Network, parameter_count
from azfit.oracle.best import BestNetwork
from azfit.oracle.config import (
    TrainingConfig,
    config_path,
    read_config,
    write_config,
)
from azfit.oracle.evaluation import EvaluationBatches
from azfit.oracle.log import TrainingLog
from azfit.oracle.report import TrainingReport
from azfit.oracle.run import Run
from azfit.oracle.teacher import Teacher
from azfit.torch_memory import keep_freed_memory
from azfit.torch_threads import Pace, choose_threads
from solver.errors import FadefourError, InputError, NoRoomError
from solver.machine import available_cores, available_memory
from solver.storage import check_writable, writing_in
from solver.wording import counted

# Checked before the work starts, so that nothing is learned that cannot be written.
WRITTEN = (
    "metrics.jsonl",
    f"init{SUFFIX}",
    f"resume{SUFFIX}",
    f"best{SUFFIX}",
    f"checkpoints/step-000000000{SUFFIX}",
)

# A run that has become slow says so again after this time.
SLOWNESS_SECONDS = 600.0


def train_from_oracle(
    config: TrainingConfig,
    teacher: Teacher,
    folder: str | Path,
    *,
    init: Network | None = None,
    resume: bool = False,
    stream: TextIO | None = sys.stderr,
) -> tuple[Network, TrainingReport]:
    """Trains until the budget is spent; returns the network as it is then, and a report.

    init: the network to begin with, of the config's shape; None: random weights.
    resume: continue the run in this folder (``read_config`` gives its config; only the number of
    threads may be another one). Raises KeyboardInterrupt after Ctrl-C, with the state saved.
    """
    folder = Path(folder)
    check_config(config, teacher)
    if init is not None and init.config != config.network:
        raise InputError("the config describes another network than init: give it init's")
    if resume:
        check_resumed(config, folder)  # before the folder is made
    try:
        with writing_in(folder):
            if not resume and os.path.lexists(config_path(folder)):
                raise InputError(f"'{folder}' already holds a run: use --resume, or another folder")
            for name in WRITTEN:
                check_writable(folder / name)
            return _train(config, teacher, folder, init, resume, stream)
    except FadefourError:
        raise
    except OSError as error:
        raise NoRoomError(
            f"cannot continue in '{folder}' ({error.strerror or error}): what was saved is kept; "
            "fix the folder, then continue with --resume"
        ) from error


def check_config(config: TrainingConfig, teacher: Teacher) -> None:
    """The network must be one for this teacher, and fit into memory."""
    game = teacher.game.name
    if config.network.game != game:
        raise InputError(
            f"the network plays {config.network.game}, but {teacher.name} is for {game}"
        )
    if config.network.max_plies < teacher.deepest:
        raise InputError(
            f"max_plies={config.network.max_plies}: {teacher.name} has games of "
            f"{teacher.deepest} plies"
        )
    needed, free = memory_needed(config), available_memory()
    if needed > free:
        raise NoRoomError(
            f"this training needs about {needed / 1e9:.1f} GB of memory, but only "
            f"{free / 1e9:.1f} GB are free: use a smaller --width, --blocks or --batch"
        )


def memory_needed(config: TrainingConfig) -> int:
    """Bytes, roughly: weights, gradients, two averages of the optimiser and perhaps one of the
    weights; of a batch, its planes and what the layers keep for the backward pass."""
    network, game = config.network, game_by_name(config.network.game)
    cells = game.rows * game.columns
    copies = 5 if config.ema else 4
    features = network.width * (cells if network.kind == "tower" else 1)
    outcomes = game.actions * (network.max_plies + 2) if network.rate_moves else 0
    position = 3 * game.plane_shape[0] * cells + 4 * features * (network.blocks + 1) + 4 * outcomes
    return 4 * (copies * parameter_count(network) + config.batch * position)


def check_resumed(config: TrainingConfig, folder: Path) -> None:
    stored = read_config(folder)
    if replace(stored, threads=config.threads) != config:
        raise InputError(f"'{folder}' was started with another config: resume it with its own")


# ---- the loop -----------------------------------------------------------------------


def _train(
    config: TrainingConfig,
    teacher: Teacher,
    folder: Path,
    init: Network | None,
    resume: bool,
    stream: TextIO | None,
) -> tuple[Network, TrainingReport]:
    """For the folder's one writer."""
    beginning = init_path(folder)
    if resume:
        init = load_checkpoint(beginning, config.network.game)[0] if beginning.exists() else None
    else:
        beginning.unlink(missing_ok=True)
        if init is not None:
            save_checkpoint(beginning, init)
    config = _settle_threads(config, teacher, folder, resume, stream)
    run = Run(config, teacher, folder, init)
    if resume:
        run.load_state()
    batches, best = EvaluationBatches(config, teacher), BestNetwork(folder, resume)
    log = TrainingLog(folder, run, stream, run.metrics_lines)
    try:
        with _interruptible() as is_asked_to_stop:
            report = _Training(run, batches, best, log).run_to_its_end(is_asked_to_stop)
    finally:
        log.close()
    return run.trained.eval(), report


def _settle_threads(
    config: TrainingConfig, teacher: Teacher, folder: Path, resume: bool, stream: TextIO | None
) -> TrainingConfig:
    """Measures the number of threads if none is given, sets it, and writes the config with it."""
    keep_freed_memory()
    note = None
    if config.threads is None:
        trial = Run(config, teacher, folder)  # the real run begins at step 0
        choice = choose_threads(lambda: trial.learn(0.0), available_cores())
        config = replace(config, threads=choice.threads)
        note = f"torch runs on {choice.describe('steps')}; --threads N sets the number"
    assert config.threads is not None
    torch.set_num_threads(config.threads)
    before = read_config(folder).threads if resume else None
    if resume and before == config.threads:
        note = f"torch runs on {counted(config.threads, 'thread')}, as this run did before"
    elif before is not None:
        note = (
            f"torch runs on {counted(config.threads, 'thread')} instead of {before}: sums are "
            "rounded differently from here on"
        )
    if before != config.threads:
        write_config(config, folder)
    if note is not None and stream is not None:
        print(note, file=stream, flush=True)
    return config


def pause_after(seconds: float, wanted: float) -> float:
    """How long to train after an evaluation that took this long: what is wanted; on a machine so
    busy that this would be mostly evaluations, four times as long as they take, within reason."""
    return max(wanted, min(4 * seconds, 10 * wanted))


class _StopAskedError(Exception):
    """Someone asked to stop in the middle of mining."""


class _Training:
    """The loop over the steps of a run, with what happens between them."""

    def __init__(
        self, run: Run, batches: EvaluationBatches, best: BestNetwork, log: TrainingLog
    ) -> None:
        self._run, self._batches, self._best, self._log = run, batches, best, log
        self._pace = Pace()
        self._slowness_mentioned_at = -math.inf

    def run_to_its_end(self, is_asked_to_stop: Callable[[], bool]) -> TrainingReport:
        run, log = self._run, self._log
        self._take_steps(is_asked_to_stop)
        log.flush_training()
        run.save_state(log.lines)  # a second Ctrl-C may cut the evaluation off
        if run.evaluations is None or run.evaluations.step != run.step:
            self._evaluate()
        self._save()
        if run.fraction < 1:
            raise KeyboardInterrupt
        assert run.evaluations is not None
        best = self._best.evaluations or self._best.offer(run, run.evaluations)
        return TrainingReport(
            run.folder, run.config, run.step, run.seconds, run.evaluations, best, self._best.path
        )

    def _take_steps(self, is_asked_to_stop: Callable[[], bool]) -> None:
        run, config = self._run, self._run.config
        saved_at = time.monotonic()
        evaluate_at = saved_at + config.evaluate_seconds
        while (fraction := run.fraction) < 1 and not is_asked_to_stop():
            try:
                self._mine_if_due(fraction, is_asked_to_stop)
            except _StopAskedError:
                return
            self._learn(fraction)
            if (began := time.monotonic()) >= evaluate_at:
                self._evaluate()
                ended = time.monotonic()
                evaluate_at = ended + pause_after(ended - began, config.evaluate_seconds)
            if time.monotonic() - saved_at >= config.save_seconds:
                self._save()
                saved_at = time.monotonic()

    def _mine_if_due(self, fraction: float, is_asked_to_stop: Callable[[], bool]) -> None:
        def report(label: str, share: float) -> None:
            if is_asked_to_stop():
                raise _StopAskedError
            self._log.doing(label, share)

        mined = self._run.mine_if_due(fraction, report)
        if mined is not None:
            self._log.mined(mined.to_metrics())

    def _learn(self, fraction: float) -> None:
        began = time.monotonic()
        metrics = self._run.learn(fraction)
        if not math.isfinite(metrics["loss"]):
            raise FadefourError(
                f"the loss of step {self._run.step:,} is not finite: start another run with a "
                f"--learning-rate below {self._run.config.learning_rate:g}"
            )
        seconds = time.monotonic() - began
        self._log.learned(metrics, seconds)
        if self._pace.took(seconds):
            self._mention_slowness()

    def _mention_slowness(self) -> None:
        """Once in a while."""
        if time.monotonic() - self._slowness_mentioned_at < SLOWNESS_SECONDS:
            return
        self._slowness_mentioned_at = time.monotonic()
        remedy = "it continues as fast as the machine allows"
        if self._run.config.threads != 1:
            remedy = "if this lasts, stop it and continue with --resume --threads 1"
        self._log.say(
            f"training has slowed down from {self._pace.best:.3g} to {self._pace.latest:.3g} "
            f"steps/s: the machine is busy with other work; {remedy}"
        )

    def _evaluate(self) -> None:
        run = self._run
        self._log.flush_training()
        run.evaluations = self._batches.evaluate(run.trained, run.step)
        self._log.evaluated(run.evaluations)
        self._best.offer(run, run.evaluations)

    def _save(self) -> None:
        """The state last: a run that is cut off before it repeats what leads to it."""
        self._run.save_checkpoint()
        self._run.save_state(self._log.lines)


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
