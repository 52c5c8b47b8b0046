"""The kernel for towers: against the same arithmetic in torch, and board by board."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import conv2d, group_norm, linear

from azfit import inference
from azfit.games import game_by_name
from azfit.inference import AUTO, NetworkEvaluator, Readout
from azfit.kernels import ffi, lib
from azfit.network import ILLEGAL, Network, NetworkConfig
from azfit.self_play.config import SelfPlayConfig
from azfit.tower_kernel import TowerKernel, has_fast_path
from solver.errors import InputError

PLAIN: dict[str, Any] = {"canonical": False, "hide_leaving": False, "rate_moves": False}
TOWERS = [
    ("connect4", 32, 3, 42),
    ("connect4", 64, 4, 42),
    ("connect4", 5, 1, 42),
    ("connect4", 1, 2, 1),
    ("connect4", 48, 1, 42),
    ("connect4", 32, 0, 13),  # 3 + 13 outputs are one vector
    ("drop-3-3-3", 16, 1, 18),
    ("drop-5-5-5", 33, 1, 30),
    ("gomoku-9", 32, 2, 81),
    ("gomoku-11", 20, 1, 121),
    ("gomoku-15", 32, 2, 225),
    ("gomoku-19", 16, 1, 361),
]
every_tower = pytest.mark.parametrize("shape", TOWERS, ids=lambda shape: "-".join(map(str, shape)))

fast_only = pytest.mark.skipif(not has_fast_path(), reason="this processor has no AVX512_BF16")
every_path = pytest.mark.parametrize("fast", [pytest.param(True, marks=fast_only), False])


def tower(shape: tuple[str, int, int, int], seed: int = 0, threats: bool = False) -> Network:
    """Random weights everywhere, those that start at 0 included; logits of about the size of a
    trained network's."""
    game, width, blocks, plies = shape
    torch.manual_seed(seed)
    config = NetworkConfig(game, "tower", width, blocks, plies, threats=threats, **PLAIN)
    network = Network(config).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "second" in name or "norm" in name:
                parameter.add_(torch.randn_like(parameter) * (9 * width) ** -0.5)
            elif "heads" in name:
                parameter.mul_(16)
    return network


def played_planes(game_name: str, count: int, seed: int = 0) -> NDArray[np.float32]:
    """Positions of random play, full columns and nearly full boards included."""
    game, choice = game_by_name(game_name), np.random.default_rng(seed)
    states: list[NDArray[np.uint8]] = []
    state = game.start()
    while len(states) < count:
        legal = game.legal_moves(state)
        state = game.play(state, int(choice.choice(legal))) if legal else game.start()
        if game.legal_moves(state) and choice.random() < 0.3:
            states.append(state)
    return game.planes(np.array(states))


def rounded(values: Tensor) -> Tensor:
    return values.bfloat16().float()


def twin(network: Network, planes: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    """Policy, win/draw/loss and steps by the rule of csrc/tower.h, in torch."""
    state = network.state_dict()

    def layer(name: str) -> tuple[Tensor, Tensor]:
        return rounded(state[f"{name}.weight"]), state[f"{name}.bias"]

    stones = planes if network.config.game.startswith("drop") else planes[:, :2]
    given = torch.from_numpy(planes if network.config.threats else stones)
    x = conv2d(rounded(given), *layer("body.first"), padding=1)
    for block in range(network.config.blocks):
        name = f"body.blocks.{block}"
        scale = state[f"{name}.norm.weight"], state[f"{name}.norm.bias"]
        hidden = conv2d(rounded(group_norm(x, 1, *scale)), *layer(f"{name}.first"), padding=1)
        x = x + conv2d(rounded(hidden.relu()), *layer(f"{name}.second"), padding=1)
    maps = rounded(conv2d(rounded(x.relu()), *layer("body.reduce")).relu())
    policy = conv2d(maps, *layer("heads.policy.rate")).flatten(1)
    top = stones.sum(1)[:, -1] if policy.shape[1] == planes.shape[3] else stones.sum(1)
    yield np.where(top.reshape(len(planes), -1) == 0, policy.numpy(), np.float32(ILLEGAL))
    yield linear(maps.flatten(1), *layer("heads.wdl")).softmax(1).numpy()
    steps = linear(maps.flatten(1), *layer("heads.steps")).softmax(1).numpy()
    yield steps @ np.arange(1, network.config.max_plies + 1, dtype=np.float32)


def in_float32(network: Network, planes: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    with torch.inference_mode():
        return [each.numpy() for each in Readout(network)(torch.from_numpy(planes))]


@every_path
@every_tower
def test_the_kernel_rounds_as_its_twin(shape: tuple[str, int, int, int], fast: bool) -> None:
    """Sums in another order round some factors the other way, which changes all that follows a
    little: on average by far less than bfloat16 itself does (0.15 times as much at most)."""
    check_against_twin(tower(shape), shape, fast)


@every_path
@pytest.mark.parametrize("shape", [TOWERS[0], ("gomoku-9", 32, 2, 81)])
def test_threats_are_seen_by_networks_that_ask_for_them(
    shape: tuple[str, int, int, int], fast: bool
) -> None:
    network = tower(shape, threats=True)
    check_against_twin(network, shape, fast)
    planes = played_planes(shape[0], 40)  # some of them with threats
    blind = planes.copy()
    blind[:, 2:] = 0
    for threats in (True, False):
        kernel = TowerKernel(tower(shape, threats=threats), fast=fast)
        assert np.array_equal(kernel(planes)[0], kernel(blind)[0]) == (not threats)


def check_against_twin(network: Network, shape: tuple[str, int, int, int], fast: bool) -> None:
    planes = played_planes(shape[0], 30 if fast else 4)
    answers, same_rule = TowerKernel(network, fast=fast)(planes), list(twin(network, planes))
    assert [each.dtype for each in answers] == [np.float32] * 3
    for given, wanted, exact in zip(answers, same_rule, in_float32(network, planes), strict=True):
        assert np.abs(given - wanted).mean() <= 0.4 * np.abs(wanted - exact).mean()
    assert np.array_equal(answers[0] == ILLEGAL, same_rule[0] == ILLEGAL)
    if shape[2] == 0:  # nothing to round before the last layers
        assert np.allclose(answers[0], same_rule[0], rtol=0, atol=1e-5)
    assert np.allclose(answers[0], same_rule[0], rtol=0, atol=0.04)


@fast_only
@every_tower
def test_both_paths_agree(shape: tuple[str, int, int, int]) -> None:
    network, planes = tower(shape, 1), played_planes(shape[0], 4, 1)
    fast, plain = (TowerKernel(network, fast=fast)(planes) for fast in (True, False))
    for one, other, most in zip(fast, plain, (0.04, 0.01, 0.3), strict=True):
        assert np.allclose(one, other, rtol=0, atol=most)


@every_tower
def test_bfloat16_is_near_float32(shape: tuple[str, int, int, int]) -> None:
    """The policy's logits have a deviation of about 1."""
    network = tower(shape, 2)
    noise = np.random.default_rng(2).random((4, *network.game.plane_shape)) < 0.1
    evaluator = NetworkEvaluator(network, "kernel", 1)
    for planes in (played_planes(shape[0], 4, 2), noise.astype(np.float32)):
        answers = zip(evaluator(planes), in_float32(network, planes), strict=True)
        for (given, exact), most in zip(answers, (0.1, 0.02, 0.6), strict=True):
            assert np.allclose(given, exact, rtol=0, atol=most)


@every_path
@pytest.mark.parametrize("game", ["connect4", "gomoku-9"])
def test_a_board_is_answered_alike_in_every_batch(game: str, fast: bool) -> None:
    """To the bit: alone, among others, in another order, by several threads."""
    network = tower((game, 20, 1, 42), 3)
    planes = played_planes(game, 75 if fast else 26, 3)
    kernel = TowerKernel(network, fast=fast)
    together = kernel(planes)
    order = np.random.default_rng(3).permutation(len(planes))
    for row in (0, 11, 12, 23, 24, 25):
        for all_boards, alone in zip(together, kernel(planes[row : row + 1]), strict=True):
            assert all_boards[row].tobytes() == alone[0].tobytes()
    for boards, shuffled in zip(together, kernel(planes[order]), strict=True):
        assert boards[order].tobytes() == shuffled.tobytes()
    for boards, shared in zip(together, TowerKernel(network, 3, fast)(planes), strict=True):
        assert boards.tobytes() == shared.tobytes()


def test_no_boards_give_no_answers() -> None:
    answers = NetworkEvaluator(tower(TOWERS[2]), "kernel", 2)(np.zeros((0, 4, 6, 7), np.float32))
    assert [each.shape for each in answers] == [(0, 7), (0, 3), (0,)]


def test_weights_that_are_not_numbers_are_not_hidden() -> None:
    """The search refuses such an evaluation; relu and softmax must let it through."""
    network = tower(TOWERS[2])
    with torch.no_grad():
        network.body.blocks[0].first.bias[0] = np.nan  # type: ignore[union-attr,index]
    for fast in {False, has_fast_path()}:
        policy, wdl, steps = TowerKernel(network, fast=fast)(played_planes("connect4", 2))
        assert np.isnan(policy[policy != ILLEGAL]).all()
        assert np.isnan(wdl).all()
        assert np.isnan(steps).all()


@pytest.mark.parametrize("deviation", [0.1, 1.0, 10.0, 40.0])
def test_probabilities_and_plies_are_those_of_the_logits(deviation: float) -> None:
    """Without features the logits are the biases, and nothing is rounded to bfloat16."""
    network = tower(("connect4", 16, 0, 42))
    generator = torch.Generator().manual_seed(int(deviation))
    with torch.no_grad():
        for parameter in network.body.reduce.parameters():  # type: ignore[union-attr]
            parameter.zero_()
        for head in (network.heads.wdl, network.heads.steps):  # type: ignore[union-attr]
            head.bias.normal_(0, deviation, generator=generator)
    _, wdl, steps = NetworkEvaluator(network, "kernel", 1)(played_planes("connect4", 1))
    exact = [
        torch.softmax(head.bias.detach().double(), 0).numpy()
        for head in (network.heads.wdl, network.heads.steps)  # type: ignore[union-attr]
    ]
    assert np.allclose(wdl, exact[0], rtol=2e-6, atol=1e-30)
    assert np.allclose(steps, exact[1] @ np.arange(1, 43), rtol=2e-6)


def test_large_logits_are_no_overflow() -> None:
    network = tower(TOWERS[2])
    with torch.no_grad():
        for head in (network.heads.wdl, network.heads.steps):  # type: ignore[union-attr]
            head.bias.copy_(torch.linspace(-500, 500, len(head.bias)))
    _, wdl, steps = NetworkEvaluator(network, "kernel", 1)(played_planes("connect4", 3))
    assert np.allclose(wdl, [0, 0, 1])
    assert np.allclose(steps, 42)


def test_wrong_planes_are_refused() -> None:
    network = tower(TOWERS[2])
    for run in (NetworkEvaluator(network, "kernel", 1), TowerKernel(network)):
        with pytest.raises(TypeError, match="float32"):
            run(np.zeros((1, 2, 6, 7)))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="shape"):
            run(np.zeros((1, 3, 6, 7), np.float32))


@pytest.mark.parametrize(
    "config",
    [
        NetworkConfig(width=16, blocks=1),
        NetworkConfig(kind="tower", width=16, blocks=1),
        NetworkConfig("connect4", "tower", 16, 1, canonical=False, hide_leaving=False),
        NetworkConfig(kind="tower", width=16, blocks=1, rate_moves=False, canonical=False),
        NetworkConfig(kind="tower", width=16, blocks=1, rate_moves=False, hide_leaving=False),
    ],
)
def test_other_networks_are_left_to_the_other_back_ends(config: NetworkConfig) -> None:
    network = Network(config)
    assert inference.fastest(network) in ("onnx", "torch")
    with pytest.raises(InputError, match="kernel is for towers without rate_moves"):
        NetworkEvaluator(network, "kernel")


@pytest.mark.parametrize("able", [True, False])
def test_auto_takes_the_kernel_where_it_is_fast(
    able: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, "has_fast_path", lambda: able)
    evaluator = NetworkEvaluator(tower(TOWERS[2]), AUTO, 1)
    assert (evaluator.backend == "kernel") == able


def test_self_play_refuses_the_kernel_where_it_cannot_run() -> None:
    SelfPlayConfig(game="connect4", iterations=1, backend="kernel")
    for wrong in ({"game": "drop-4-4-4"}, {"game": "connect4", "kind": "mlp"}):
        with pytest.raises(InputError, match="backend=kernel"):
            SelfPlayConfig(iterations=1, backend="kernel", **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 0},
        {"columns": 20},
        {"width": 0},
        {"blocks": -1},
        {"actions": 8},
        {"seen_planes": 5},
        {"seen_planes": 1},
        {"stone_planes": 0},
    ],
)
def test_shapes_that_are_no_tower_have_no_size(wrong: dict[str, int]) -> None:
    shape = {"rows": 6, "columns": 7, "planes": 4, "seen_planes": 4, "stone_planes": 2}
    shape |= {"width": 32, "blocks": 3, "actions": 7, "max_plies": 42}
    assert lib.ff_tower_floats(ffi.new("ff_tower_shape *", shape))
    bad = ffi.new("ff_tower_shape *", shape | wrong)
    assert not lib.ff_tower_floats(bad)
    assert not lib.ff_tower_packed_bytes(bad)
    assert not lib.ff_tower_memory_bytes(bad)
    assert lib.ff_tower_pack(bad, ffi.NULL, ffi.NULL) == lib.FF_BAD_TOWER
    arrays = (ffi.NULL,) * 3
    code = lib.ff_tower_run(bad, ffi.NULL, ffi.NULL, ffi.NULL, ffi.NULL, 0, *arrays)
    assert code == lib.FF_BAD_TOWER
