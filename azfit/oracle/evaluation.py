"""How a network does on labelled positions while it is trained, and which network is the best.

Two batches are drawn once: positions that training never sees (all positions if none are held
out), and critical ones among them, in which some move loses the result.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch

from azfit.network import Network
from azfit.objective import Metrics, losses
from azfit.oracle.config import TrainingConfig
from azfit.oracle.sampler import SampleMix
from azfit.oracle.teacher import Labelled, Teacher
from azfit.typed_json import from_json

# Positions in each batch, at most; drawn with a seed of their own, the same for every run.
POSITIONS = 65_536
SEED = 20_240_229

ROWS_AT_A_TIME = 4096


@dataclass(frozen=True)
class Evaluation:
    """Losses and shares over a batch of positions."""

    policy: float
    kl: float
    """The policy loss above the entropy of its targets."""
    wdl: float
    steps: float
    keeping: float
    """Share of positions whose likeliest move keeps the result."""
    optimal: float
    """... and is depth-optimal."""
    wdl_accuracy: float
    overconfidence: float
    """Mean probability of the likeliest of win, draw, loss, less the share that is right."""
    moves: float | None = None
    """Loss of the outcomes of moves; None without rate_moves."""

    def to_metrics(self) -> Metrics:
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Evaluations:
    """How the network does on both batches after ``step`` steps."""

    step: int
    held_out: Evaluation
    critical: Evaluation

    @property
    def rank(self) -> tuple[float, float, float]:
        """The greater, the better: fewer critical positions whose result is lost, then fewer
        positions, then more of win/draw/loss right."""
        return (self.critical.keeping, self.held_out.keeping, self.held_out.wdl_accuracy)

    def to_metrics(self) -> Metrics:
        return {
            f"{name}_{key}": value
            for name, evaluation in (("held_out", self.held_out), ("critical", self.critical))
            for key, value in evaluation.to_metrics().items()
        }

    def to_header(self) -> dict[str, Any]:
        """For the header of a file of tensors."""
        return {"evaluated_step": self.step, "metrics": self.to_metrics()}

    @classmethod
    def from_header(cls, about: dict[str, Any]) -> Evaluations:
        """What ``to_header`` gave; KeyError, TypeError or ValueError if it is something else."""
        step, metrics = int(about["evaluated_step"]), about["metrics"]
        names = [field.name for field in fields(Evaluation)]
        parts = [
            from_json(
                Evaluation,
                {n: metrics[f"{part}_{n}"] for n in names if f"{part}_{n}" in metrics},
            )
            for part in ("held_out", "critical")
        ]
        return cls(step, *parts)


class EvaluationBatches:
    """The two batches of a run."""

    def __init__(self, config: TrainingConfig, teacher: Teacher) -> None:
        self._config = config
        part = "held-out" if config.held_out else "all"
        mixes = (SampleMix(), SampleMix(uniform=0, critical=1))
        self._held_out, self._critical = (
            teacher.lessons(config, mix, part).judged(SEED, number, POSITIONS)
            for number, mix in enumerate(mixes)
        )

    def evaluate(self, network: Network, step: int) -> Evaluations:
        return Evaluations(
            step,
            evaluate(network, self._held_out, self._config),
            evaluate(network, self._critical, self._config),
        )


def evaluate(network: Network, batch: Labelled, config: TrainingConfig) -> Evaluation:
    """Over a batch that is judged."""
    sums: Metrics = {}
    size = len(batch)
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        for low in range(0, size, ROWS_AT_A_TIME):
            rows = batch.rows(low, low + ROWS_AT_A_TIME)
            targets = rows.targets(network)
            outputs = network(targets.planes)
            parts = {name: float(v) for name, v in losses(outputs, targets, config).items()}
            played = outputs.policy.argmax(1).numpy()[:, None]
            right = float((outputs.wdl.argmax(1) == targets.wdl).float().mean())
            parts["keeping"] = float(np.take_along_axis(rows.keeping, played, 1).mean())
            parts["optimal"] = float(np.take_along_axis(rows.optimal, played, 1).mean())
            parts["wdl_accuracy"] = right
            parts["overconfidence"] = float(outputs.wdl.softmax(1).amax(1).mean()) - right
            for name, value in parts.items():
                sums[name] = sums.get(name, 0.0) + value * len(played)
    network.train(was_training)
    return Evaluation(**{name: total / size for name, total in sums.items()})
