"""A network as one ONNX file, to be run without torch and without fadefour.

    model = onnx_model_of("shipped")
    model.agreement.ok          # compared with torch, in ONNX Runtime
    Path("four.onnx").write_bytes(model.content)

In: ``planes`` float32 [batch, planes, rows, columns], for the side to move. Out, for the side to
move: ``policy`` [batch, actions], probabilities, 0 for illegal moves; ``wdl`` [batch, 3],
probabilities of win, draw and loss; ``plies`` [batch], expected plies to the end, if there is one.
The metadata says the rest: the game and its rules, what each plane shows, the names of the actions.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import solver
from azfit.checkpoint import load_checkpoint, rules_tag
from azfit.games import Game
from azfit.inference import Readout
from azfit.loading import checkpoint_path, network_path
from azfit.network import Network
from azfit.onnx_model import INPUT, described, onnx_bytes
from azfit.playing.openings import varied_opening
from solver.extras import need
from solver.wording import size

OUTPUTS = ("policy", "wdl", "plies")

# Sums in another order change the last digits of a float32; a wrong conversion changes much more.
MOST_PROBABILITY, MOST_PLIES = 1e-4, 1e-2

BATCHES = (1, 7, 248)
LONGEST_OPENING = 40  # random plies before a compared position


@dataclass(frozen=True)
class Agreement:
    """How far ONNX Runtime and torch are apart, at most, on positions from random games."""

    positions: int
    probability: float
    plies: float

    @property
    def ok(self) -> bool:
        return self.probability <= MOST_PROBABILITY and self.plies <= MOST_PLIES

    def __str__(self) -> str:
        return (
            f"compared with torch on {self.positions} positions: probabilities differ by "
            f"{self.probability:.1g} at most, plies by {self.plies:.1g}"
        )


@dataclass(frozen=True)
class OnnxModel:
    """A model and what is known about it."""

    name: str
    game: str
    content: bytes
    agreement: Agreement

    def to_dict(self) -> dict[str, Any]:
        return {
            "network": self.name,
            "game": self.game,
            "bytes": len(self.content),
            "agreement": asdict(self.agreement),
            "ok": self.agreement.ok,
        }

    def __str__(self) -> str:
        return f"{self.name}, {self.game}, {size(len(self.content))}; {self.agreement}"


class Exported(nn.Module):
    """The network with the outputs named above."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.readout = Readout(network)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        policy, wdl, plies = self.readout(planes)
        return policy.softmax(1), wdl, plies


def onnx_model_of(checkpoint: str | Path) -> OnnxModel:
    """The model of a network, by the names that ``load_player`` takes."""
    for package in ("onnx", "onnxruntime"):
        need(package, "an ONNX model")
    network, about = load_checkpoint(checkpoint_path(checkpoint))
    exported = Exported(network).eval()
    model = onnx_bytes(exported, network.game.plane_shape, OUTPUTS)
    name = network_path(checkpoint).name
    content = described(
        model, f"fadefour network {name}: plays {network.game.name}", metadata(network, about)
    )
    return OnnxModel(name, network.game.name, content, compare(content, exported, network.game))


def metadata(network: Network, about: dict[str, Any]) -> dict[str, str]:
    """What a user of the model has to know; lists and tables are JSON."""
    game = network.game
    planes, rows, columns = game.plane_shape
    shapes = {
        INPUT: ["batch", planes, rows, columns],
        "policy": ["batch", game.actions],
        "wdl": ["batch", 3],
        "plies": ["batch"],
    }
    meanings = {
        "policy": "probability of each action; 0 for illegal ones",
        "wdl": "probabilities of win, draw and loss for the side to move",
        "plies": "expected plies to the end, if the game has one",
    }
    return {
        "game": game.name,
        "rules": rules_tag(game.name),
        "shapes": json.dumps(shapes),
        "planes": json.dumps(game.plane_names),
        "cells": "row * columns + column; row 0 is row 1 of the board, its lowest; a1 is cell 0",
        "actions": json.dumps([game.action_name(action) for action in range(game.actions)]),
        "outputs": json.dumps(meanings),
        "weights_sha256": str(about["sha256"]),
        "fadefour_version": solver.__version__,
    }


def compare(content: bytes, exported: nn.Module, game: Game) -> Agreement:
    """Runs the model and the module on the same positions, in batches of several sizes."""
    import onnxruntime as ort

    session = ort.InferenceSession(content, providers=["CPUExecutionProvider"])
    apart = dict.fromkeys(OUTPUTS, 0.0)
    rng = np.random.default_rng(0)
    for count in BATCHES:
        planes = random_planes(game, count, rng)
        with torch.inference_mode():
            expected = [tensor.numpy() for tensor in exported(torch.from_numpy(planes))]
        for name, ours, theirs in zip(
            OUTPUTS, expected, session.run(OUTPUTS, {INPUT: planes}), strict=True
        ):
            apart[name] = max(apart[name], float(np.abs(ours - theirs).max()))
    return Agreement(sum(BATCHES), max(apart["policy"], apart["wdl"]), apart["plies"])


def random_planes(game: Game, count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Planes of positions in play, after 0 to ``LONGEST_OPENING`` random plies."""
    openings = [varied_opening(game, LONGEST_OPENING, rng) for _ in range(count)]
    return game.planes(np.stack([game.play_all(opening) for opening in openings]))
