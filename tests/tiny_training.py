"""A run of train-from-oracle on 3×3 that takes a second."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from azfit.network_config import NetworkConfig
from azfit.oracle.config import TrainingConfig
from azfit.oracle.sampler import SampleMix


def tiny(**changes: Any) -> TrainingConfig:
    config = TrainingConfig(
        network=NetworkConfig(game="drop-3-3-3", width=16, blocks=1, max_plies=18),
        minutes=None,
        steps=40,
        batch=32,
        threads=1,
        warmup=5,
        mix=SampleMix(uniform=1, critical=1),
        held_out=0.1,
        mine_from=0.5,
        mine_rounds=2,
        ema=0.9,
    )
    return replace(config, **changes)
