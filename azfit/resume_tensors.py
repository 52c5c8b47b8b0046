"""Networks and their optimisers as named tensors: what runs of both kinds resume from."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

# What AdamW keeps of each parameter.
OPTIMISER_STATE = ("step", "exp_avg", "exp_avg_sq")


def network_tensors(name: str, network: nn.Module) -> dict[str, Tensor]:
    """The weights, each as ``name.weight``."""
    return {f"{name}.{weight}": tensor for weight, tensor in network.state_dict().items()}


def restore_network(name: str, network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """From what ``network_tensors`` gave; RuntimeError if it does not fit."""
    prefix = f"{name}."
    weights = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    network.load_state_dict(weights)


def optimiser_tensors(network: nn.Module, optimiser: torch.optim.AdamW) -> dict[str, Tensor]:
    """The state of the network's optimiser; parameters that took no step have none."""
    return {
        f"optimiser.{key}.{name}": torch.as_tensor(value)
        for name, parameter in network.named_parameters()
        for key, value in optimiser.state[parameter].items()
    }


def restore_optimiser(
    network: nn.Module, optimiser: torch.optim.AdamW, tensors: Mapping[str, Tensor]
) -> None:
    """From what ``optimiser_tensors`` gave; the optimiser is new. ValueError if it does not fit."""
    for name, parameter in network.named_parameters():
        places = {key: f"optimiser.{key}.{name}" for key in OPTIMISER_STATE}
        stored = {key: tensors[place] for key, place in places.items() if place in tensors}
        for key, tensor in stored.items():
            shape = torch.Size() if key == "step" else parameter.shape
            if tensor.shape != shape or tensor.dtype != parameter.dtype:
                raise ValueError(f"'{places[key]}' has the wrong shape or type")
        if stored and len(stored) < len(OPTIMISER_STATE):
            raise ValueError(f"it has only {', '.join(stored)} of the optimiser for '{name}'")
        optimiser.state[parameter] = stored
