"""What the table teaches: labelled positions as targets, and how a network does on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from azfit.network import Network
from azfit.objective import IGNORED, Metrics, Targets, losses
from azfit.oracle.config import TrainingConfig
from azfit.oracle.sampler import WDL_OF_BYTE, Batch
from solver.values import IMPOSSIBLE

LEARNING_FIELDS = ("pieces", "values", "move_values", "policy")
EVALUATION_FIELDS = (*LEARNING_FIELDS, "optimal", "keeping")

ROWS_AT_A_TIME = 4096

WDL = torch.from_numpy(WDL_OF_BYTE)


def targets_of(batch: Batch, network: Network) -> Targets:
    """What the table says of a batch with LEARNING_FIELDS, as tensors."""
    assert batch.pieces is not None and batch.values is not None
    assert batch.policy is not None and batch.move_values is not None
    values = torch.from_numpy(batch.values).long()
    moves = torch.from_numpy(batch.move_values).long()
    return Targets(
        planes=network.planes_of(torch.from_numpy(batch.pieces)),
        policy=torch.from_numpy(batch.policy),
        wdl=WDL[values],
        steps=torch.where(values > 0, values - 2, IGNORED),  # byte = plies + 1, bin = plies - 1
        moves=moves.masked_fill(moves == IMPOSSIBLE, IGNORED),
    )


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
            targets = targets_of(part, network)
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
