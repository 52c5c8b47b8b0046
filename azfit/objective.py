"""What a network is taught, and how it does: the parts of the loss, and shares on a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from azfit.network import Network, Outputs
from azfit.oracle.config import TrainingConfig
from azfit.oracle.sampler import WDL_OF_BYTE, Batch
from solver.retrograde import IMPOSSIBLE

LEARNING_FIELDS = ("pieces", "values", "move_values", "policy")
EVALUATION_FIELDS = (*LEARNING_FIELDS, "optimal", "keeping")

ROWS_AT_A_TIME = 4096

WDL = torch.from_numpy(WDL_OF_BYTE)
IGNORED = -100  # what torch's cross_entropy leaves out

Metrics = dict[str, float]


@dataclass(frozen=True)
class Targets:
    """A batch as tensors."""

    planes: Tensor
    policy: Tensor
    wdl: Tensor
    steps: Tensor
    """The bin of the steps head, IGNORED for a draw."""
    moves: Tensor | None = None
    """The outcome of each move, IGNORED where there is none; None if it is not known."""

    @classmethod
    def of(cls, batch: Batch, network: Network) -> Targets:
        assert batch.pieces is not None and batch.values is not None
        assert batch.policy is not None and batch.move_values is not None
        values = torch.from_numpy(batch.values).long()
        moves = torch.from_numpy(batch.move_values).long()
        return cls(
            planes=network.planes_of(torch.from_numpy(batch.pieces)),
            policy=torch.from_numpy(batch.policy),
            wdl=WDL[values],
            steps=torch.where(values > 0, values - 2, IGNORED),  # byte = plies + 1, bin = plies - 1
            moves=moves.masked_fill(moves == IMPOSSIBLE, IGNORED),
        )


class Weights(Protocol):
    """How the parts of a loss are weighed."""

    @property
    def class_weights(self) -> bool: ...
    @property
    def policy_weight(self) -> float: ...
    @property
    def wdl_weight(self) -> float: ...
    @property
    def steps_weight(self) -> float: ...
    @property
    def moves_weight(self) -> float: ...


def losses(outputs: Outputs, targets: Targets, config: Weights) -> dict[str, Tensor]:
    """The parts of the loss, not yet weighted, and ``kl``: policy above its targets' entropy."""
    entropy = -(targets.policy * targets.policy.clamp(min=1e-9).log()).sum(1).mean()
    policy = -(targets.policy * outputs.policy.log_softmax(1)).sum(1).mean()
    weight = None
    if config.class_weights:
        counts = torch.bincount(targets.wdl, minlength=3).float()
        weight = counts.sum() / (3 * counts.clamp(min=1))
    parts = {
        "policy": policy,
        "kl": policy - entropy,
        "wdl": functional.cross_entropy(outputs.wdl, targets.wdl, weight),
        # A sum over those that end, so that a batch of draws alone gives 0 and not 0 / 0.
        "steps": functional.cross_entropy(outputs.steps, targets.steps, reduction="sum")
        / len(targets.steps),
    }
    if outputs.moves is not None and targets.moves is not None:
        parts["moves"] = functional.cross_entropy(
            outputs.moves.flatten(0, 1), targets.moves.flatten()
        )
    return parts


def total_loss(parts: dict[str, Tensor], config: Weights) -> Tensor:
    total = config.policy_weight * parts["policy"] + config.wdl_weight * parts["wdl"]
    total = total + config.steps_weight * parts["steps"]
    if "moves" in parts:
        total = total + config.moves_weight * parts["moves"]
    return total


def evaluate(network: Network, batch: Batch, config: TrainingConfig) -> Metrics:
    """Losses and shares over a batch with EVALUATION_FIELDS; see the keys."""
    assert batch.keeping is not None and batch.optimal is not None and batch.pieces is not None
    sums: dict[str, float] = {}
    size = len(batch.pieces)
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        for low in range(0, size, ROWS_AT_A_TIME):
            part = _rows(batch, low, low + ROWS_AT_A_TIME)
            assert part.keeping is not None and part.optimal is not None
            targets = Targets.of(part, network)
            outputs = network(targets.planes)
            found: dict[str, Any] = dict(losses(outputs, targets, config))
            played = outputs.policy.argmax(1).numpy()[:, None]
            found["keeping"] = np.take_along_axis(part.keeping, played, 1).mean()
            found["optimal"] = np.take_along_axis(part.optimal, played, 1).mean()
            found["wdl_accuracy"] = (outputs.wdl.argmax(1) == targets.wdl).float().mean()
            confidence = outputs.wdl.softmax(1).amax(1).mean()
            found["overconfidence"] = confidence - found["wdl_accuracy"]
            for name, value in found.items():
                sums[name] = sums.get(name, 0.0) + float(value) * len(played) / size
    network.train(was_training)
    return sums


def _rows(batch: Batch, low: int, high: int) -> Batch:
    arrays = {name: getattr(batch, name) for name in Batch.__dataclass_fields__}
    return Batch(**{name: a[low:high] for name, a in arrays.items() if a is not None})
