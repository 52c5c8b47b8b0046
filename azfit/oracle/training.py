"""Training a network from the exact table: one loop, and what it stands on.

    with open_table("data") as table:
        train_from_oracle(preset("default", table), table, Path("runs/first"))

A run is a folder: ``config.json``, ``metrics.jsonl``, ``curves.png``, TensorBoard events,
``checkpoints/step-*.safetensors`` (networks) and ``resume.safetensors`` (all that the loop's next
step depends on). What a step does is a function of that state and the config: batch i is drawn
from (seed, i), and nothing else is random. So a run that was killed continues to the very same
weights, as long as its budget is in steps (a budget in minutes depends on the clock).
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
from typing import Any, TextIO

import numpy as np
import torch
from torch import Tensor

from azfit.checkpoint import (
    FORMAT,
    VERSION,
    read_tensors,
    remove_old,
    save_checkpoint,
    write_tensors,
)
from azfit.network import Network
from azfit.objective import Metrics, losses, total_loss
from azfit.oracle.config import TrainingConfig, deepest_byte
from azfit.oracle.log import Log
from azfit.oracle.mining import critical_nodes, mine, node_range
from azfit.oracle.sampler import Batch, SampleMix, Sampler
from azfit.oracle.targets import EVALUATION_FIELDS, LEARNING_FIELDS, evaluate, targets_of
from solver.errors import CorruptTableError, InputError
from solver.index import node_count
from solver.storage import write_atomically
from solver.table import DenseTable

# Positions on which a run is evaluated; drawn with a seed of their own, the same for every run.
EVALUATED = 65_536
EVALUATION_SEED = 20_240_229


# ---- the state of a run -------------------------------------------------------------


class Run:
    """Network, optimiser, averaged weights, mined positions, step and time: all that is saved."""

    def __init__(self, config: TrainingConfig, table: DenseTable, folder: Path) -> None:
        self.config, self.table, self.folder = config, table, folder
        torch.manual_seed(config.seed)
        self.network = Network(config.network)
        self.network.train()
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(),
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.average = Network(config.network) if config.ema else None
        if self.average is not None:
            self.average.load_state_dict(self.network.state_dict())
        self.step, self.mined_rounds = 0, 0
        self.seconds_before = self._mine_not_before = 0.0
        self.mined = np.empty(0, np.uint64)
        self._critical: np.ndarray[Any, np.dtype[np.uint64]] | None = None
        self._began = time.monotonic()
        self._plain = Sampler(
            table,
            config.mix,
            part="training",
            held_out=config.held_out,
            pieces=config.pieces,
            policy=config.policy_target,
        )
        self.sampler = self._plain

    @property
    def seconds(self) -> float:
        """Spent on this run, over all resumes."""
        return self.seconds_before + time.monotonic() - self._began

    @property
    def fraction(self) -> float:
        """Of the budget."""
        if self.config.steps is not None:
            return self.step / self.config.steps
        assert self.config.minutes is not None
        return self.seconds / (60 * self.config.minutes)

    @property
    def best_network(self) -> Network:
        """What is saved and evaluated: the averaged weights if there are any."""
        return self.network if self.average is None else self.average

    def learn(self, fraction: float) -> Metrics:
        """One step."""
        config = self.config
        batch = self.sampler.batch(config.seed, self.step, config.batch, LEARNING_FIELDS)
        targets = targets_of(batch, self.network)
        for group in self.optimiser.param_groups:
            group["lr"] = config.rate_at(self.step, fraction)
        outputs = self.network(targets.planes)
        parts = losses(outputs, targets, config)
        total = total_loss(parts, config)
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.clip)
        self.optimiser.step()
        if self.average is not None:
            self._follow(self.average)
        self.step += 1
        with torch.no_grad():
            likeliest = targets.policy.gather(1, outputs.policy.argmax(1, keepdim=True)) > 0
            told = {name: float(value) for name, value in parts.items()}
            told["accuracy"] = float(likeliest.float().mean())
            told["wdl_accuracy"] = float((outputs.wdl.argmax(1) == targets.wdl).float().mean())
        return {"loss": float(total.detach()), **told}

    def _follow(self, average: Network) -> None:
        with torch.no_grad():
            torch._foreach_lerp_(
                list(average.parameters()), list(self.network.parameters()), 1 - self.config.ema
            )

    # ---- mining ---------------------------------------------------------------------

    def mine_if_due(self, fraction: float) -> Metrics | None:
        """Lists what the network plays wrong, if a round is due, and draws from it from now on."""
        due = self.config.mining_due(fraction) > self.mined_rounds
        if not due or self.seconds < self._mine_not_before:
            return None
        began = self.seconds
        if self._critical is None:
            first, end = node_range(self.table, self.network)
            self._critical = np.concatenate(list(critical_nodes(self.table, first, end)))
        nodes, margins = mine(
            self.best_network, self.table, self._critical, self.config.mine_margin
        )
        self.mined_rounds = self.config.mining_due(fraction)
        if self.config.minutes is not None:  # learn from what was found for twice as long
            self._mine_not_before = self.seconds + 2 * (self.seconds - began)
        self.mined = nodes
        self._draw_from_mined()
        return {"mined": float(len(nodes)), "mined_blunders": float((margins < 0).sum())}

    def _draw_from_mined(self) -> None:
        if len(self.mined) and self.config.mine_share > 0:
            share = self.config.mine_share * sum(vars(self.config.mix).values())
            self.sampler = self._plain.with_list(self.mined, np.ones(len(self.mined)), share)
        else:
            self.sampler = self._plain

    # ---- saving ---------------------------------------------------------------------

    def save(self, metrics: Metrics) -> None:
        """The state to resume from, then the network; each whole or not at all."""
        tensors = {f"network.{n}": t for n, t in self.network.state_dict().items()}
        if self.average is not None:
            tensors |= {f"average.{n}": t for n, t in self.average.state_dict().items()}
        for name, parameter in self.network.named_parameters():
            for key, value in self.optimiser.state[parameter].items():
                tensors[f"optimiser.{key}.{name}"] = torch.as_tensor(value)
        tensors["mined"] = torch.from_numpy(self.mined.astype(np.int64))
        about = {
            "format": FORMAT,
            "version": VERSION,
            "step": self.step,
            "seconds": self.seconds,
            "mined_rounds": self.mined_rounds,
        }
        write_tensors(self.folder / "resume.safetensors", tensors, about)
        save_checkpoint(
            self.folder / "checkpoints" / f"step-{self.step:09d}.safetensors",
            self.best_network,
            {
                "step": self.step,
                "seconds": round(self.seconds, 1),
                "metrics": metrics,
                "table_sha256": self.table.manifest.sha256,
            },
        )
        remove_old(self.folder / "checkpoints", self.config.keep)

    def load(self) -> None:
        """Takes up the state that was saved last, if there is one."""
        path = self.folder / "resume.safetensors"
        if not path.exists():
            return  # killed before the first save: the beginning is the state
        tensors, about = read_tensors(path)
        try:
            self._take_up(tensors, about)
        except (RuntimeError, KeyError) as error:
            raise CorruptTableError(
                f"'{path}' does not fit its run ({str(error).splitlines()[0]}): begin a new one"
            ) from None

    def _take_up(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        self.network.load_state_dict(_under("network.", tensors))
        if self.average is not None:
            self.average.load_state_dict(_under("average.", tensors))
        for name, parameter in self.network.named_parameters():
            self.optimiser.state[parameter] = {
                key: tensors[f"optimiser.{key}.{name}"]
                for key in ("step", "exp_avg", "exp_avg_sq")
                if f"optimiser.{key}.{name}" in tensors
            }
        self.mined = tensors["mined"].numpy().astype(np.uint64)
        self.step, self.mined_rounds = int(about["step"]), int(about["mined_rounds"])
        self.seconds_before, self._began = float(about["seconds"]), time.monotonic()
        self._draw_from_mined()


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


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
) -> tuple[Network, Metrics]:
    """Trains until the budget is spent; returns the network and its last evaluation.

    resume: continue the run in this folder (``read_config`` gives its config). Raises
    KeyboardInterrupt after Ctrl-C, with the state saved.
    """
    folder = Path(folder)
    _prepare(config, table, folder, resume)
    torch.set_num_threads(config.threads)
    run = Run(config, table, folder)
    if resume:
        run.load()
    held = _held_out_batches(config, table)
    log = Log(folder, run, stream)
    saved_at = evaluated_at = time.monotonic()
    found: Metrics = {}
    try:
        with _interruptible() as is_asked_to_stop:
            while (fraction := run.fraction) < 1 and not is_asked_to_stop():
                mined = run.mine_if_due(fraction)
                if mined is not None:
                    log.flush("mining", mined)
                log.learned(run.learn(fraction))
                if time.monotonic() - evaluated_at >= config.evaluate_seconds:
                    log.flush("training")
                    found = _evaluate_all(run, held, log)
                    evaluated_at = time.monotonic()
                if time.monotonic() - saved_at >= config.save_seconds:
                    run.save(found)
                    saved_at = time.monotonic()
            log.flush("training")
            found = _evaluate_all(run, held, log)
            run.save(found)
            if run.fraction < 1:
                raise KeyboardInterrupt
    finally:
        log.close()
    return run.best_network.eval(), found


def _evaluate_all(run: Run, held: dict[str, Batch], log: Log) -> Metrics:
    found: Metrics = {}
    for name, batch in held.items():
        told = evaluate(run.best_network, batch, run.config)
        log.flush(name, told)
        found |= {f"{name}_{key}": value for key, value in told.items()}
    return found


def _held_out_batches(config: TrainingConfig, table: DenseTable) -> dict[str, Batch]:
    """Evaluation batches; if nothing is held out, of all positions."""
    part = "held-out" if config.held_out else "all"
    mixes = {"held_out": SampleMix(), "critical": SampleMix(uniform=0, critical=1)}
    found = {}
    for number, (name, mix) in enumerate(mixes.items()):
        sampler = Sampler(
            table, mix, part=part, held_out=config.held_out, policy=config.policy_target
        )
        size = min(EVALUATED, node_count(table.rules))
        found[name] = sampler.batch(EVALUATION_SEED, number, size, EVALUATION_FIELDS)
    return found


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
