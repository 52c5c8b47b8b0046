"""A network as bytes, to be sent to another process or machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from safetensors.torch import load, save

from azfit.network import Network
from azfit.network_config import NetworkConfig


@dataclass(frozen=True)
class Weights:
    tensors: bytes
    config: NetworkConfig

    @classmethod
    def of(cls, network: Network) -> Self:
        weights = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
        return cls(save(weights), network.config)

    def network(self) -> Network:
        """The network, in evaluation mode."""
        network = Network(self.config)
        network.load_state_dict(load(self.tensors))
        return network.eval()
