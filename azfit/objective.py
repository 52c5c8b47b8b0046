"""What a network is taught: a batch of targets, and the parts of the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from azfit.network import Outputs

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
    has_policy: Tensor | None = None
    """bool [B]: where the policy is known; None: everywhere."""


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
    wanted, logits = targets.policy, outputs.policy
    if targets.has_policy is not None:
        wanted, logits = wanted[targets.has_policy], logits[targets.has_policy]
    taught = max(1, len(wanted))
    entropy = -(wanted * wanted.clamp(min=1e-9).log()).sum() / taught
    policy = -(wanted * logits.log_softmax(1)).sum() / taught
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
