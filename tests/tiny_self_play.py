"""A run of self-play that takes a second, and what to compare two runs by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from azfit.checkpoint import read_tensors
from azfit.network import Network
from azfit.self_play.config import SelfPlayConfig, settled
from azfit.self_play.iteration import read_iterations

# One game at a time: a network's answers depend on the number of rows by a rounding, so only then
# are games that were lost and played again the same to the last bit.
TINY: dict[str, Any] = {
    "game": "drop-3-3-3",
    "iterations": 4,
    "sims": 5,
    "games_per_iteration": 5,
    "parallel_games": 1,
    "workers": 1,
    "threads": 1,
    "backend": "torch",
    "width": 16,
    "blocks": 1,
    "buffer": 90,
    "replay_ratio": 1.0,
    "epochs": 2,
    "batch_size": 32,
    "eval_games": 4,
    "accept": 0.5,
    "pool_games": 2,
    "max_plies": 16,
}


def tiny(**changes: Any) -> SelfPlayConfig:
    return settled(TINY | changes)


def final_state(run: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    tensors, about = read_tensors(run / "resume.safetensors")
    del about["seconds"]
    about["line"].pop("phase_seconds", None)
    return tensors, about


def lines_of(run: Path) -> list[dict[str, Any]]:
    """The lines of the iterations without what the clock decides."""
    lines = [line.to_dict() for line in read_iterations(run)]
    assert len((run / "metrics.jsonl").read_text().splitlines()) == len(lines), "a line twice"
    for line in lines:
        del line["seconds"], line["phase_seconds"]
    return lines


def games_of(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run / "games").iterdir()}


def assert_same_run(run: Path, other: Path) -> None:
    """The same weights, optimiser, ratings, metrics, games and best network, to the last bit."""
    (tensors, about), (others, about_other) = final_state(run), final_state(other)
    assert tensors.keys() == others.keys()
    for name in tensors:
        assert tensors[name].equal(others[name]), name
    about.pop("sha256"), about_other.pop("sha256")
    assert about == about_other
    assert lines_of(run) == lines_of(other)
    assert games_of(run) == games_of(other)
    assert best_of(run) == best_of(other)
    checkpoints = [sorted(p.name for p in (r / "checkpoints").iterdir()) for r in (run, other)]
    assert checkpoints[0] == checkpoints[1]


def best_of(run: Path) -> str:
    return str(read_tensors(run / "best.safetensors")[1]["sha256"])


def weights(network: Network) -> dict[str, Any]:
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}


def same(weights: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(weights[name].equal(other[name]) for name in weights)
