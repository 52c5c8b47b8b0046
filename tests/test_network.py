"""The network's laws, checkpoints that hold no code, and back-ends that agree."""

from __future__ import annotations

import errno
import json
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from consecutive_nodes import positions_from
from numpy.typing import NDArray
from slow import ASKED_FOR, more

from azfit.checkpoint import load_checkpoint, remove_old, save_checkpoint
from azfit.checkpoint_header import checkpoints_in
from azfit.games import DropOldest, game_by_name
from azfit.inference import BACKENDS, WORTH_SHARING, NetworkEvaluator
from azfit.network import (
    ILLEGAL,
    ConvolutionBody,
    Network,
    NetworkConfig,
    PlacePolicy,
    parameter_count,
)
from solver import Rules
from solver.errors import CorruptTableError, FadefourError, InputError, MissingTableError
from solver.index import position_at

SMALL: dict[str, Any] = {"width": 32, "blocks": 1, "max_plies": 10}
CONFIGS = [
    NetworkConfig(**SMALL),
    NetworkConfig(**SMALL, kind="tower"),
    NetworkConfig(**SMALL, canonical=False, hide_leaving=False, rate_moves=False),
    NetworkConfig(**SMALL, rate_moves=False),
    NetworkConfig(game="drop-3-3-3", width=16, blocks=2, max_plies=18),
    NetworkConfig(game="drop-5-5-5", width=16, blocks=1, max_plies=40),
    NetworkConfig(game="connect4", **SMALL, canonical=False, hide_leaving=False),
    NetworkConfig(game="gomoku-9", **SMALL, canonical=False, hide_leaving=False, rate_moves=False),
    *(
        NetworkConfig(
            game=name, **SMALL, kind="tower", canonical=False, hide_leaving=False, rate_moves=False
        )
        for name in ("connect4", "gomoku-9", "drop-4-4-4")
    ),
]
every_network = pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.game}-{c.kind}")


def random_states(game_name: str, count: int, seed: int) -> NDArray[Any]:
    """States of random play in which the game goes on."""
    game, choice = game_by_name(game_name), np.random.default_rng(seed)
    states: list[NDArray[np.uint8]] = []
    while len(states) < count:
        state = game.start()
        for _ in range(int(choice.integers(0, 14))):
            legal = game.legal_moves(state)
            if not legal:
                break
            state = game.play(state, int(choice.choice(legal)))
        if game.legal_moves(state):
            states.append(state)
    return np.array(states)


def shaken(config: NetworkConfig, seed: int = 0) -> Network:
    """A network with random weights everywhere, those that start at 0 included."""
    torch.manual_seed(seed)
    network = Network(config)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return network.eval()


@every_network
def test_shapes_and_the_mask(config: NetworkConfig) -> None:
    game, network = game_by_name(config.game), shaken(config)
    states = random_states(config.game, 60, 1)
    with torch.inference_mode():
        outputs = network(torch.from_numpy(game.planes(states)))
    legal = game.legal_masks(states)
    assert outputs.policy.shape == (60, game.actions)
    assert outputs.wdl.shape == (60, 3)
    assert outputs.steps.shape == (60, config.max_plies)
    assert np.array_equal(outputs.policy.numpy() > ILLEGAL / 2, legal)
    assert (outputs.policy.softmax(1).numpy()[~legal] == 0).all()
    for part in (outputs.policy, outputs.wdl, outputs.steps):
        assert torch.isfinite(part).all()


@pytest.mark.parametrize("name", ["connect4", "gomoku-9"])
def test_a_towers_policy_rates_every_place_by_itself_and_alike(name: str) -> None:
    game = game_by_name(name)
    rated = PlacePolicy(game)
    maps = torch.randn(1, ConvolutionBody.REDUCED, game.rows, game.columns)
    before = rated(maps.flatten(1))[0]
    assert before.shape == (game.actions,)
    # Everything moves one column to the left, around the board: so do the ratings.
    rows = game.actions // game.columns
    moved = rated(maps.roll(-1, 3).flatten(1))[0].view(rows, game.columns)
    assert torch.allclose(moved, before.view(rows, game.columns).roll(-1, 1), atol=1e-5)
    maps[0, :, 2, 3] += 1
    changed = (rated(maps.flatten(1))[0] != before).nonzero().flatten().tolist()
    assert changed == [3 if name == "connect4" else 2 * game.columns + 3]


@pytest.mark.parametrize("config", [c for c in CONFIGS if c.canonical], ids=lambda c: c.game)
def test_a_canonical_network_answers_alike_on_symmetric_boards(config: NetworkConfig) -> None:
    game, network = game_by_name(config.game), shaken(config)
    assert isinstance(game, DropOldest)
    states = random_states(config.game, 80, 2)
    planes = game.planes(states)
    # with more pieces than n besides the hidden one no symmetry is left; else moves may tie
    broken = planes[:, 1:].sum((1, 2, 3)) > game.rules.n
    assert broken.any()
    with torch.inference_mode():
        still = network(torch.from_numpy(planes))
        for transform in range(8):
            turned = np.full(len(states), transform, np.uint8)
            carried = network(torch.from_numpy(game.planes(states, turned)))
            expected = game.carry_policy(still.policy.numpy(), turned)
            assert np.allclose(carried.policy.numpy()[broken], expected[broken], atol=1e-4)
            if not config.hide_leaving or broken.all():
                assert torch.allclose(carried.wdl, still.wdl, atol=1e-4)
            wdl = carried.wdl[torch.from_numpy(broken)]
            assert torch.allclose(wdl, still.wdl[torch.from_numpy(broken)], atol=1e-4)


def test_the_leaving_piece_only_blocks_its_cell() -> None:
    config = NetworkConfig(**SMALL)
    game, network = game_by_name(config.game), shaken(config)
    states = random_states(config.game, 200, 3)
    planes = game.planes(states)
    full = planes[:, 0].any((1, 2))
    without = planes.copy()
    without[:, 0] = 0
    with torch.inference_mode():
        blocked = network(torch.from_numpy(planes)).policy.numpy()
        freed = network(torch.from_numpy(without)).policy.numpy()
    assert full.any()
    legal = game.legal_masks(states)
    assert np.allclose(blocked[legal], freed[legal], atol=1e-5)


def test_pieces_and_planes_are_one_input() -> None:
    network = shaken(CONFIGS[0])
    pieces = torch.tensor(
        [[16, 3, 4, 5, 16, 16, 7, 9], [0, 1, 2, 3, 4, 5, 6, 7]], dtype=torch.uint8
    )
    planes = network.planes_of(pieces)
    assert planes.shape == (2, 8, 4, 4)
    assert planes.sum() == 13
    assert planes[0, 1, 0, 3] == planes[0, 7, 2, 1] == 1


@every_network
def test_weights_are_counted_without_making_them(config: NetworkConfig) -> None:
    assert parameter_count(config) == Network(config).parameter_count


def test_impossible_configs_are_refused() -> None:
    for wrong in (
        {"kind": "transformer"},
        {"width": 0},
        {"width": 1.5},
        {"blocks": -1},
        {"game": "go"},
        {"game": "connect4"},
        {"max_plies": True},
        {"canonical": 1},
        {"dropout": 1.0},
        {"dropout": "0.5"},
        {"dropout": float("nan")},
        {"width": 10**400},
        {"game": None},
        {"game": "drop-" + "9" * 5000 + "-4-4"},
    ):
        with pytest.raises(InputError):
            NetworkConfig(**wrong)
    with pytest.raises(InputError, match="unknown"):
        NetworkConfig.from_dict({"colour": "blue"})


# ---- checkpoints --------------------------------------------------------------------


@every_network
def test_a_checkpoint_gives_back_the_same_network(config: NetworkConfig, tmp_path: Path) -> None:
    network = shaken(config)
    path = save_checkpoint(
        tmp_path / "net.safetensors", network, {"step": 7, "metrics": {"a": 1.5}}
    )
    loaded, about = load_checkpoint(path, config.game)
    assert loaded.config == config
    assert about["step"] == 7 and about["metrics"] == {"a": 1.5}
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, loaded.state_dict()[name])
    assert json.loads(path.with_suffix(".json").read_text())["sha256"] == about["sha256"]
    assert not list(tmp_path.glob("*.writing"))


class Hostile:
    """A pickle that leaves a mark when it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("name", ["net.pt", "net.safetensors", "net.pkl", "net"])
@pytest.mark.parametrize("protocol", [0, 2, 5])
@pytest.mark.parametrize("archive", [False, True])
def test_a_hostile_pickle_is_refused_unread(
    tmp_path: Path, name: str, protocol: int, archive: bool
) -> None:
    mark, path = tmp_path / "mark", tmp_path / name
    if archive:
        torch.save({"weights": Hostile(mark)}, path)
    else:
        path.write_bytes(pickle.dumps(Hostile(mark), protocol=protocol))
    with pytest.raises(FadefourError) as refusal:
        load_checkpoint(path)
    assert not mark.exists()
    assert "\n" not in str(refusal.value) and str(path) in str(refusal.value)
    if archive or protocol:
        assert "pickle" in str(refusal.value)
    pickle.loads(pickle.dumps(Hostile(mark)))
    assert mark.exists(), "the pickle was harmless: the test shows nothing"


def test_corrupt_checkpoints_are_refused(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path / "net.safetensors", shaken(CONFIGS[0]))
    whole = path.read_bytes()
    length = struct.unpack("<Q", whole[:8])[0]
    flipped = bytearray(whole)
    flipped[-3] ^= 1
    cases = {
        "empty": b"",
        "short": whole[:100],
        "cut": whole[:-10],
        "flipped": bytes(flipped),
        "longer": whole + b"\0" * 8,
        "huge header": struct.pack("<Q", 2**60) + whole[8:],
        "no json": whole[:8] + b"?" * length + whole[8 + length :],
        "nested": struct.pack("<Q", 200_000) + b"[" * 200_000,
    }
    for name, data in cases.items():
        path.write_bytes(data)
        with pytest.raises(CorruptTableError) as refusal:
            load_checkpoint(path)
        assert "\n" not in str(refusal.value), name
    with pytest.raises(MissingTableError, match="does not exist"):
        load_checkpoint(tmp_path / "other.safetensors")


def test_files_that_are_no_checkpoint_of_ours_are_refused(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    path = tmp_path / "foreign.safetensors"
    save_file({"weight": torch.zeros(3)}, path)
    with pytest.raises(InputError, match="not a fadefour checkpoint"):
        load_checkpoint(path)


def test_other_variants_and_changed_configs_are_refused(tmp_path: Path) -> None:
    network = shaken(CONFIGS[0])
    path = save_checkpoint(tmp_path / "net.safetensors", network)
    with pytest.raises(InputError, match=r"plays drop-4-4-4, not drop-3-3-3"):
        load_checkpoint(path, "drop-3-3-3")
    save_checkpoint(path, network, {"rules": "other rules"})
    with pytest.raises(InputError, match="was made for the rules 'other rules'"):
        load_checkpoint(path)
    save_checkpoint(path, network, {"network": {**network.config.to_dict(), "width": 33}})
    with pytest.raises(CorruptTableError, match="wrong shape"):
        load_checkpoint(path)
    save_checkpoint(path, network, {"network": {**network.config.to_dict(), "rate_moves": False}})
    with pytest.raises(CorruptTableError):
        load_checkpoint(path)
    with torch.no_grad():
        next(network.parameters()).fill_(float("nan"))
    save_checkpoint(path, network)
    with pytest.raises(CorruptTableError, match="not finite"):
        load_checkpoint(path)


def test_the_last_checkpoints_are_kept(tmp_path: Path) -> None:
    for step in (1, 20, 300, 4000):
        save_checkpoint(tmp_path / f"step-{step:09d}.safetensors", shaken(CONFIGS[4]))
    remove_old(tmp_path, 2)
    assert [path.stem for path in checkpoints_in(tmp_path)] == ["step-000000300", "step-000004000"]
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("failing", range(4))
def test_old_checkpoints_that_could_not_be_removed_are_removed_the_next_time(
    failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(4):
        save_checkpoint(tmp_path / f"step-{step:09d}.safetensors", shaken(CONFIGS[4]))
    unlink, calls = Path.unlink, iter(range(4))

    def unlink_or_fail(path: Path, missing_ok: bool = False) -> None:
        if next(calls) == failing:
            raise OSError(errno.EIO, "Input/output error")
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink_or_fail)
        with pytest.raises(OSError, match="Input/output"):
            remove_old(tmp_path, 2)
    remove_old(tmp_path, 2)
    assert [path.stem for path in checkpoints_in(tmp_path)] == ["step-000000002", "step-000000003"]
    assert len(list(tmp_path.iterdir())) == 4


# ---- back-ends ----------------------------------------------------------------------


@more
@pytest.mark.parametrize("backend", [each for each in BACKENDS if each != "kernel"])
def test_back_ends_agree_with_the_network(backend: str) -> None:
    if backend == "compile" and not ASKED_FOR:
        pytest.skip("torch.compile takes most of a minute: set FADEFOUR_SLOW_TESTS=1")
    network = shaken(CONFIGS[0])
    game = game_by_name(network.config.game)
    try:
        evaluator = NetworkEvaluator(network, backend, threads=1)
    except FadefourError as error:
        pytest.skip(str(error))
    for count in (1, 7, 64):
        planes = game.planes(random_states(network.config.game, count, count))
        with torch.inference_mode():
            outputs = network(torch.from_numpy(planes))
        policy, wdl, steps = evaluator(planes)
        assert policy.dtype == wdl.dtype == steps.dtype == np.float32
        assert np.allclose(policy, outputs.policy.numpy(), atol=1e-3)
        assert np.allclose(wdl, outputs.wdl.softmax(1).numpy(), atol=1e-4)
        plies = np.arange(1, network.config.max_plies + 1)
        assert np.allclose(steps, outputs.steps.softmax(1).numpy() @ plies, atol=1e-3)
    with pytest.raises(TypeError, match="float32"):
        evaluator(planes.astype(np.float64))
    with pytest.raises(ValueError, match="shape"):
        evaluator(planes[:, :3])


def test_an_unknown_back_end_is_refused() -> None:
    with pytest.raises(InputError, match="torch, compile, onnx"):
        NetworkEvaluator(shaken(CONFIGS[4]), "tpu")


def test_boards_that_share_the_body_get_the_same_answers() -> None:
    """Consecutive nodes, most of which differ only in the piece about to leave."""
    rules, game = Rules(), DropOldest(4, 4, 4)
    arrays = positions_from(50_000_000, 1500, rules)
    boards = [position_at(*arrays, row, rules) for row in range(1500)]
    states = [game.state(board) for board in boards if not board.is_impossible]
    planes = game.planes(np.stack(states))
    assert len(planes) >= WORTH_SHARING
    torch.manual_seed(3)
    network = Network(NetworkConfig(width=32, blocks=1))
    seen = []
    network.body.register_forward_hook(lambda _, inputs, __: seen.append(len(inputs[0])))
    together = NetworkEvaluator(network)(planes)
    assert seen[0] < len(planes) / 5
    few = [NetworkEvaluator(network)(planes[i : i + 200]) for i in range(0, len(planes), 200)]
    for whole, parts in zip(together, zip(*few, strict=True), strict=True):
        assert np.allclose(whole, np.concatenate(parts), atol=1e-5)
