"""What the table teaches: labelled positions as targets of the loss."""

from __future__ import annotations

import torch

from azfit.network import Network
from azfit.objective import IGNORED, Targets
from azfit.oracle.sampler import WDL_OF_BYTE, Batch
from solver.values import IMPOSSIBLE

LEARNING_FIELDS = ("pieces", "values", "move_values", "policy")
EVALUATION_FIELDS = (*LEARNING_FIELDS, "optimal", "keeping")

WDL = torch.from_numpy(WDL_OF_BYTE)


def targets_of(batch: Batch, network: Network) -> Targets:
    """The labels of a batch with LEARNING_FIELDS, as tensors."""
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
