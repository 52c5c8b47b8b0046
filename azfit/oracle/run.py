"""The state of a run that learns from an oracle: what a step changes, and how it is saved.

What a step does is a function of this state and the config: batch i is drawn from (seed, i), and
nothing else is random. So a run that was killed continues to the very same weights, as long as its
budget is in steps (a budget in minutes depends on the clock).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from azfit.checkpoint import read_tensors, remove_old, save_checkpoint, write_tensors
from azfit.checkpoint_header import FORMAT, SUFFIX, VERSION
from azfit.network import Network
from azfit.objective import Metrics, losses, total_loss
from azfit.oracle.config import TrainingConfig
from azfit.oracle.evaluation import Evaluations
from azfit.oracle.teacher import Numbers, Report, Teacher
from azfit.resume_tensors import (
    network_tensors,
    optimiser_tensors,
    restore_network,
    restore_optimiser,
)
from azfit.typed_json import from_json
from solver.connect4.sets import SETTING
from solver.errors import CorruptTableError, InputError
from solver.wording import one_line, printable

STATE_KIND = "state of train-from-oracle"


@dataclass(frozen=True)
class Mined:
    """What a round of mining came upon."""

    positions: int
    blunders: int

    def to_metrics(self) -> Metrics:
        return {"mined": float(self.positions), "mined_blunders": float(self.blunders)}


@dataclass(frozen=True)
class _Reached:
    """How far a run has come, as the header of its state says it."""

    step: int
    seconds: float
    mined_rounds: int
    metrics_lines: int | None = None

    def __post_init__(self) -> None:
        if min(self.step, self.seconds, self.mined_rounds, self.metrics_lines or 0) < 0:
            raise ValueError("a number in its header is below 0")


def _numbers(stored: Tensor) -> Numbers:
    """As they are saved, int64 [N]."""
    if stored.dtype != torch.int64 or stored.dim() != 1:
        raise ValueError("'mined' has the wrong shape or type")
    return stored.numpy().astype(np.uint64)


class Run:
    """Network, optimiser, averaged weights, mined positions, step and time."""

    def __init__(
        self, config: TrainingConfig, teacher: Teacher, folder: Path, init: Network | None = None
    ) -> None:
        """init: the network to begin with; None: random weights."""
        self.config, self.teacher, self.folder = config, teacher, folder
        torch.manual_seed(config.seed)
        self.network = Network(config.network)
        if init is not None:
            self.network.load_state_dict(init.state_dict())
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
        self.mined: Numbers = np.empty(0, np.uint64)
        self.evaluations: Evaluations | None = None
        """The latest ones, of this step or an earlier one."""
        self.metrics_lines: int | None = 0
        """Lines of metrics.jsonl that belong to this state; None: all of them."""
        self.seconds_before = self._mine_not_before = 0.0
        self._critical: Numbers | None = None
        self._began = time.monotonic()
        self._plain = teacher.lessons(config, config.mix, "training")
        self.lessons = self._plain

    @property
    def seconds(self) -> float:
        """Spent on this run, over all resumes."""
        return self.seconds_before + time.monotonic() - self._began

    @property
    def fraction(self) -> float:
        """The share of the budget that is spent."""
        if self.config.steps is not None:
            return self.step / self.config.steps
        assert self.config.minutes is not None
        return self.seconds / (60 * self.config.minutes)

    @property
    def trained(self) -> Network:
        """What is evaluated and saved: the averaged weights if there are any."""
        return self.network if self.average is None else self.average

    # ---- learning -------------------------------------------------------------------

    def learn(self, fraction: float) -> Metrics:
        """One step."""
        config = self.config
        if config.network.dropout:  # the one thing that draws from torch's generator
            torch.manual_seed((config.seed << 32) + self.step & (1 << 63) - 1)
        batch = self.lessons.batch(config.seed, self.step, config.batch)
        targets = batch.targets(self.network)
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
            if targets.has_policy is not None:
                likeliest = likeliest[targets.has_policy]
            metrics = {name: float(value) for name, value in parts.items()}
            metrics["accuracy"] = float(likeliest.float().sum()) / max(1, len(likeliest))
            metrics["wdl_accuracy"] = float((outputs.wdl.argmax(1) == targets.wdl).float().mean())
        return {"loss": float(total.detach()), **metrics}

    def _follow(self, average: Network) -> None:
        with torch.no_grad():
            torch._foreach_lerp_(
                list(average.parameters()), list(self.network.parameters()), 1 - self.config.ema
            )

    # ---- mining ---------------------------------------------------------------------

    def mine_if_due(self, fraction: float, report: Report | None = None) -> Mined | None:
        """Lists what the network plays wrong, if a round is due, and draws from it from now on."""
        due = self.config.mining_due(fraction)
        if due <= self.mined_rounds or self.seconds < self._mine_not_before:
            return None
        began = self.seconds
        if self._critical is None:  # listed once
            self._critical = self.teacher.critical(self.network, report)
        critical, looked_at = self._critical, 0

        def advance(positions: int) -> None:
            nonlocal looked_at
            looked_at += positions
            if report is not None:
                report("mining", looked_at / max(1, len(critical)))

        margin = self.config.mine_margin
        positions, leads = self.teacher.mine(self.trained, critical, margin, advance)
        self.mined_rounds = due
        if self.config.minutes is not None:  # learn from what was mined for twice as long
            self._mine_not_before = self.seconds + 2 * (self.seconds - began)
        self.mined = positions
        self._draw_from_mined()
        return Mined(len(positions), int((leads < 0).sum()))

    def _draw_from_mined(self) -> None:
        if len(self.mined) and self.config.mine_share > 0:
            share = self.config.mine_share * sum(vars(self.config.mix).values())
            self.lessons = self._plain.with_list(self.mined, share)
        else:
            self.lessons = self._plain

    # ---- saving ---------------------------------------------------------------------

    @property
    def state_path(self) -> Path:
        return self.folder / f"resume{SUFFIX}"

    def save_state(self, metrics_lines: int) -> None:
        """All that the next step depends on; whole or not at all."""
        tensors = network_tensors("network", self.network)
        if self.average is not None:
            tensors |= network_tensors("average", self.average)
        tensors |= optimiser_tensors(self.network, self.optimiser)
        tensors["mined"] = torch.from_numpy(self.mined.astype(np.int64))
        about: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "kind": STATE_KIND,
            "game": self.config.network.game,
            "step": self.step,
            "seconds": self.seconds,
            "mined_rounds": self.mined_rounds,
            "metrics_lines": metrics_lines,
            **self.teacher.provenance,
        }
        if self.evaluations is not None:
            about |= self.evaluations.to_header()
        write_tensors(self.state_path, tensors, about)

    def save_network(self, path: Path) -> None:
        """What is trained, with the latest evaluation."""
        about: dict[str, Any] = {
            "step": self.step,
            "seconds": round(self.seconds, 1),
            **self.teacher.provenance,
        }
        if self.evaluations is not None:
            about |= self.evaluations.to_header()
        save_checkpoint(path, self.trained, about)

    def save_checkpoint(self) -> None:
        """``checkpoints/step-*``, of which the latest are kept."""
        folder = self.folder / "checkpoints"
        self.save_network(folder / f"step-{self.step:09d}{SUFFIX}")
        remove_old(folder, self.config.keep)

    def load_state(self) -> None:
        """Restores the state that was saved last, if any."""
        path = self.state_path
        if not path.exists():
            return  # killed before the first save: the beginning is the state
        tensors, about = read_tensors(path)
        self._check_provenance(about)
        try:
            self._restore(tensors, about)
        except (RuntimeError, KeyError, TypeError, ValueError) as error:
            raise CorruptTableError(
                f"'{path}' does not fit its run ({one_line(error)}): start a new run"
            ) from None

    def _check_provenance(self, about: dict[str, Any]) -> None:
        """Other positions would go by the numbers of those that were mined."""
        for name, now in self.teacher.provenance.items():
            if about.get(name, now) != now:
                claimed = printable(str(about[name])[:12])
                raise InputError(
                    f"{self.teacher.name} is not what '{self.folder}' began with ({name} was "
                    f"{claimed}, is {now[:12]}): restore it, for Connect Four with the sets of "
                    f"{SETTING} that were left out, or start a new run"
                )

    def _restore(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        restore_network("network", self.network, tensors)
        if self.average is not None:
            restore_network("average", self.average, tensors)
        restore_optimiser(self.network, self.optimiser, tensors)
        self.mined = _numbers(tensors["mined"])
        reached = from_json(_Reached, about)
        self.step, self.mined_rounds = reached.step, reached.mined_rounds
        self.seconds_before, self._began = reached.seconds, time.monotonic()
        self.metrics_lines = reached.metrics_lines
        if "metrics" in about:
            self.evaluations = Evaluations.from_header(about)
        self._draw_from_mined()
