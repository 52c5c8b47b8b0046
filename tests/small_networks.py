"""Checkpoints of small networks with random weights, for any game."""

from __future__ import annotations

from pathlib import Path

import torch

from azfit.checkpoint import save_checkpoint
from azfit.network import Network, NetworkConfig


def save_small_network(path: Path, game: str, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    shape = {"width": 16, "blocks": 1, "canonical": False, "hide_leaving": False}
    network = Network(NetworkConfig(game=game, max_plies=42, rate_moves=False, **shape))
    return save_checkpoint(path, network)
