"""Networks as ONNX files: what ONNX Runtime answers is what torch answers, and the file says what
it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import Fadefour
from libraries import library
from small_networks import save_small_network

from azfit.adapters import onnx_export
from azfit.checkpoint import load_checkpoint, save_checkpoint
from azfit.games import DropOldest, game_by_name
from azfit.network import Network, NetworkConfig
from solver import Position

onnxruntime = library("onnxruntime")
library("onnx")

CONFIGS = [
    NetworkConfig(game="drop-3-3-3", width=16, blocks=1),
    NetworkConfig(game="drop-4-4-4", kind="tower", width=8, blocks=1, canonical=False),
    NetworkConfig(game="connect4", kind="tower", width=8, canonical=False, hide_leaving=False,
                  rate_moves=False, max_plies=42),
    NetworkConfig(game="gomoku-9", width=16, canonical=False, hide_leaving=False),
]  # fmt: skip


def saved(folder: Path, config: NetworkConfig) -> Path:
    """A checkpoint whose weights are far from those that networks begin with."""
    torch.manual_seed(1)
    network = Network(config)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return save_checkpoint(folder / "net.safetensors", network)


def session_of(path: Path) -> Any:
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.game} {config.kind}")
def test_the_file_answers_as_the_network(
    tmp_path: Path, fadefour: Fadefour, config: NetworkConfig
) -> None:
    checkpoint, out = saved(tmp_path, config), tmp_path / "model.onnx"
    ended = fadefour("export-onnx", checkpoint, "--out", out, "--json")
    assert (ended.code, ended.err) == (0, "")
    report = json.loads(ended.out)
    assert (report["game"], report["ok"], report["file"]) == (config.game, True, str(out))
    assert report["bytes"] == out.stat().st_size
    network, session = load_checkpoint(checkpoint)[0], session_of(out)
    for count in (1, 5, 64):  # the batch size is free
        planes = onnx_export.random_planes(network.game, count, np.random.default_rng(count))
        policy, wdl, plies = session.run(["policy", "wdl", "plies"], {"planes": planes})
        with torch.inference_mode():
            expected = network(torch.from_numpy(planes))
        assert np.allclose(policy, expected.policy.softmax(1).numpy(), atol=1e-5)
        assert np.allclose(wdl, expected.wdl.softmax(1).numpy(), atol=1e-5)
        steps = expected.steps.softmax(1).numpy() @ np.arange(1, config.max_plies + 1)
        assert np.allclose(plies, steps, atol=1e-3)
        legal = network.legal(torch.from_numpy(planes).flatten(2)).numpy()
        assert (policy[~legal] == 0).all()
        assert np.allclose(policy.sum(axis=1), 1, atol=1e-5)


def test_the_file_says_which_game_which_planes_and_which_actions(tmp_path: Path) -> None:
    checkpoint = saved(tmp_path, CONFIGS[0])
    model = onnx_export.onnx_model_of(checkpoint)
    session = onnxruntime.InferenceSession(model.content, providers=["CPUExecutionProvider"])
    about = session.get_modelmeta()
    stored = about.custom_metadata_map
    assert (about.producer_name, stored["game"]) == ("fadefour", "drop-3-3-3")
    assert stored["rules"] == DropOldest(3, 3, 3).rules.tag
    assert stored["weights_sha256"] == load_checkpoint(checkpoint)[1]["sha256"]
    assert json.loads(stored["actions"]) == ["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"]
    (given,) = session.get_inputs()
    assert (given.name, given.shape[1:]) == ("planes", [6, 3, 3])
    assert json.loads(stored["shapes"])["planes"] == ["batch", 6, 3, 3]
    assert [output.name for output in session.get_outputs()] == list(json.loads(stored["outputs"]))


def moves_until_it_leaves(queue: tuple[int, ...], cell: int, m: int) -> int:
    """By the rule: a new piece joins, and beyond m pieces the oldest goes."""
    pieces, moves = list(queue), 0
    while cell in pieces:
        pieces, moves = [*pieces, -1 - moves][-m:], moves + 1
    return moves


def test_the_names_of_planes_say_when_a_piece_leaves() -> None:
    game = DropOldest(4, 4, 4)
    for text in ("a1b2/c3 y", "a1b2c3d1/a2a3b4 y", "a1b2c3d1/a2a3b4d4 y", "a1b2c3d1/a2a3b4d4 x"):
        position = Position.parse(text)
        planes = game.planes(game.state(position)[None])[0]
        shown = {
            int(plane.argmax()): name
            for plane, name in zip(planes, game.plane_names, strict=True)
            if plane.any()
        }
        assert shown == {
            cell: f"the {owner}'s piece that leaves with the {owner}'s move "
            f"{moves_until_it_leaves(queue, cell, 4)} from now"
            for owner, queue in (("mover", position.mover), ("opponent", position.opponent))
            for cell in queue
        }


def test_a_model_that_disagrees_with_torch_is_not_written(
    tmp_path: Path, fadefour: Fadefour, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, out = saved(tmp_path, CONFIGS[0]), tmp_path / "model.onnx"
    true_bytes = onnx_export.onnx_bytes

    def of_another(module: Any, *shape: Any) -> bytes:
        """The model of a network with one weight changed a little."""
        weights = module.readout.network.body.first.weight
        kept = weights.data[0, 0].item()
        weights.data[0, 0] += 0.5
        try:
            return true_bytes(module, *shape)
        finally:
            weights.data[0, 0] = kept

    monkeypatch.setattr(onnx_export, "onnx_bytes", of_another)
    ended = fadefour("export-onnx", checkpoint, "--out", out)
    assert ended.code == 1 and "DISAGREE" in ended.out and not out.exists()
    ended = fadefour("export-onnx", checkpoint, "--out", out, "--json")
    assert ended.code == 1 and json.loads(ended.out)["ok"] is False and not out.exists()


def test_without_a_name_the_file_is_named_after_the_network(
    tmp_path: Path, fadefour: Fadefour, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = save_small_network(tmp_path / "mine.safetensors", "connect4")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    ended = fadefour("export-onnx", checkpoint)
    assert ended.code == 0 and ended.out.startswith("wrote mine.onnx (mine, connect4, ")
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["mine.onnx"]
    assert game_by_name(session_of(Path("mine.onnx")).get_modelmeta().custom_metadata_map["game"])


def test_bad_use_is_one_line_and_writes_nothing(
    tmp_path: Path, fadefour: Fadefour, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = save_small_network(tmp_path / "net.safetensors", "connect4")
    before = sorted(tmp_path.iterdir())
    for arguments, words in (
        ((tmp_path / "none.safetensors",), "none.safetensors"),
        ((tmp_path / "net.json",), "net.json"),
        ((checkpoint, "--out", tmp_path), "is a directory"),
        ((checkpoint, "--out", ""), "--out ''"),
        ((checkpoint, "--out", Path("/proc/model.onnx")), "cannot write"),
        ((), "NETWORK"),
    ):
        ended = fadefour("export-onnx", *arguments)
        assert (ended.code, ended.out) == (2, "") and ended.err.count("\n") == 1
        assert words in ended.err
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "onnxruntime" else object()
    )
    ended = fadefour("export-onnx", checkpoint, "--out", tmp_path / "model.onnx")
    assert (ended.code, ended.out) == (2, "") and "needs onnxruntime" in ended.err
    assert sorted(tmp_path.iterdir()) == before
