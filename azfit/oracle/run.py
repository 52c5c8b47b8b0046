"""The state of a run that learns from the table: what a step changes, and how it is saved.

What a step does is a function of this state and the config: batch i is drawn from (seed, i), and
nothing else is random. So a run that was killed continues to the very same weights, as long as its
budget is in steps (a budget in minutes depends on the clock).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from azfit.checkpoint import (
    FORMAT,
    SUFFIX,
    VERSION,
    read_tensors,
    remove_old,
    save_checkpoint,
    write_tensors,
)
from azfit.network import Network
from azfit.objective import Metrics, losses, total_loss
from azfit.oracle.config import TrainingConfig
from azfit.oracle.evaluation import Evaluations
from azfit.oracle.mining import NODES_AT_A_TIME, critical_nodes, mine, node_range
from azfit.oracle.sampler import Sampler
from azfit.oracle.targets import LEARNING_FIELDS, targets_of
from solver.errors import CorruptTableError, FadefourError
from solver.table import DenseTable

STATE_KIND = "state of train-from-oracle"

OPTIMISER_STATE = ("step", "exp_avg", "exp_avg_sq")


@dataclass(frozen=True)
class Mined:
    """What a round of mining came upon."""

    positions: int
    blunders: int

    def to_metrics(self) -> Metrics:
        return {"mined": float(self.positions), "mined_blunders": float(self.blunders)}


class Run:
    """Network, optimiser, averaged weights, mined positions, step and time."""

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
        self.mined: NDArray[np.uint64] = np.empty(0, np.uint64)
        self.evaluations: Evaluations | None = None
        """The latest ones, of this step or an earlier one."""
        self.metrics_lines: int | None = 0
        """Lines of metrics.jsonl that belong to this state; None: all of them."""
        self.seconds_before = self._mine_not_before = 0.0
        self._critical: NDArray[np.uint64] | None = None
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
            metrics = {name: float(value) for name, value in parts.items()}
            metrics["accuracy"] = float(likeliest.float().mean())
            metrics["wdl_accuracy"] = float((outputs.wdl.argmax(1) == targets.wdl).float().mean())
        return {"loss": float(total.detach()), **metrics}

    def _follow(self, average: Network) -> None:
        with torch.no_grad():
            torch._foreach_lerp_(
                list(average.parameters()), list(self.network.parameters()), 1 - self.config.ema
            )

    # ---- mining ---------------------------------------------------------------------

    def mine_if_due(
        self, fraction: float, report: Callable[[str, float], None] | None = None
    ) -> Mined | None:
        """Lists what the network plays wrong, if a round is due, and draws from it from now on.

        report: called with what is being done, and the share of it that is done.
        """
        due = self.config.mining_due(fraction)
        if due <= self.mined_rounds or self.seconds < self._mine_not_before:
            return None
        began = self.seconds
        critical = self._critical_nodes(report)
        looked_at = 0

        def advance(positions: int) -> None:
            nonlocal looked_at
            looked_at += positions
            if report is not None:
                report("mining", looked_at / max(1, len(critical)))

        nodes, margins = mine(
            self.trained, self.table, critical, self.config.mine_margin, report=advance
        )
        self.mined_rounds = due
        if self.config.minutes is not None:  # learn from what was mined for twice as long
            self._mine_not_before = self.seconds + 2 * (self.seconds - began)
        self.mined = nodes
        self._draw_from_mined()
        return Mined(len(nodes), int((margins < 0).sum()))

    def _critical_nodes(self, report: Callable[[str, float], None] | None) -> NDArray[np.uint64]:
        """Listed once."""
        if self._critical is None:
            first, end = node_range(self.table, self.network)
            parts: list[NDArray[np.uint64]] = []
            for nodes in critical_nodes(self.table, first, end):
                parts.append(nodes)
                if report is not None:
                    done = min(1.0, len(parts) * NODES_AT_A_TIME / (end - first))
                    report("listing critical positions", done)
            self._critical = np.concatenate(parts)
        return self._critical

    def _draw_from_mined(self) -> None:
        if len(self.mined) and self.config.mine_share > 0:
            share = self.config.mine_share * sum(vars(self.config.mix).values())
            self.sampler = self._plain.with_list(self.mined, np.ones(len(self.mined)), share)
        else:
            self.sampler = self._plain

    # ---- saving ---------------------------------------------------------------------

    @property
    def state_path(self) -> Path:
        return self.folder / f"resume{SUFFIX}"

    def save_state(self, metrics_lines: int) -> None:
        """All that the next step depends on; whole or not at all."""
        tensors = {f"network.{n}": t for n, t in self.network.state_dict().items()}
        if self.average is not None:
            tensors |= {f"average.{n}": t for n, t in self.average.state_dict().items()}
        for name, parameter in self.network.named_parameters():
            for key, value in self.optimiser.state[parameter].items():
                tensors[f"optimiser.{key}.{name}"] = torch.as_tensor(value)
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
        }
        if self.evaluations is not None:
            about["evaluated_step"] = self.evaluations.step
            about["metrics"] = self.evaluations.to_metrics()
        write_tensors(self.state_path, tensors, about)

    def save_network(self, path: Path) -> None:
        """What is trained, with the latest evaluation."""
        about: dict[str, Any] = {
            "step": self.step,
            "seconds": round(self.seconds, 1),
            "table_sha256": self.table.manifest.sha256,
        }
        if self.evaluations is not None:
            about["evaluated_step"] = self.evaluations.step
            about["metrics"] = self.evaluations.to_metrics()
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
        try:
            self._restore(tensors, about)
        except FadefourError:
            raise
        except (RuntimeError, KeyError, TypeError, ValueError, OverflowError) as error:
            reason = str(error).split("\n", 1)[0]
            raise CorruptTableError(
                f"'{path}' does not fit its run ({reason}): start a new run"
            ) from None

    def _restore(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        self.network.load_state_dict(_under("network.", tensors))
        if self.average is not None:
            self.average.load_state_dict(_under("average.", tensors))
        for name, parameter in self.network.named_parameters():
            self.optimiser.state[parameter] = {
                key: tensors[f"optimiser.{key}.{name}"]
                for key in OPTIMISER_STATE
                if f"optimiser.{key}.{name}" in tensors
            }
        self.mined = tensors["mined"].numpy().astype(np.uint64)
        self.step, self.mined_rounds = int(about["step"]), int(about["mined_rounds"])
        self.seconds_before, self._began = float(about["seconds"]), time.monotonic()
        self.metrics_lines = about.get("metrics_lines")
        if "metrics" in about:
            self.evaluations = Evaluations.from_metrics(
                int(about["evaluated_step"]), about["metrics"]
            )
        self._draw_from_mined()


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
