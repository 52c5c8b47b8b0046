"""Positions per second of each inference back-end that works here, by boards per call.

``python bench/inference_speed.py [CHECKPOINT] [--threads 1]``: the shipped network by default.
``--game connect4 --width 32 --blocks 3`` instead of a checkpoint: a tower with random weights.
Each back-end is timed several times, in turn with the others, and its best time counts: what else
the machine does disturbs that least.
``--agreement`` instead of speed: how far each back-end is from torch on positions of random play.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from azfit.checkpoint import load_checkpoint
from azfit.games import Game, game_by_name
from azfit.inference import BACKENDS, NetworkEvaluator
from azfit.loading import SHIPPED, checkpoint_path
from azfit.network import ILLEGAL, Network, NetworkConfig
from solver.errors import FadefourError

ROWS = (1, 64, 100, 1024, 8192)
TURNS = 5


def measure_backends(
    network: Network,
    rows: tuple[int, ...] = ROWS,
    seconds: float = 1.0,
    threads: int | None = None,
    left_out: tuple[str, ...] = (),
) -> dict[str, dict[int, float]]:
    """Positions per second of each back-end that works here, by boards per call (``rows``)."""
    generator = np.random.default_rng(0)
    evaluators: dict[str, NetworkEvaluator] = {}
    for backend in BACKENDS:
        if backend not in left_out:
            with suppress(FadefourError):
                evaluators[backend] = NetworkEvaluator(network, backend, threads)
    rates: dict[str, dict[int, float]] = {backend: {} for backend in evaluators}
    for count in rows:
        shape = (count, *network.game.plane_shape)
        planes = (generator.random(shape) < 0.06).astype(np.float32)
        for evaluator in evaluators.values():
            evaluator(planes)
        for _ in range(TURNS):
            for backend, evaluator in evaluators.items():
                rate = _rate(evaluator, planes, seconds / TURNS)
                rates[backend][count] = max(rate, rates[backend].get(count, 0.0))
    return rates


def _rate(evaluator: NetworkEvaluator, planes: NDArray[np.float32], seconds: float) -> float:
    began, calls = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        evaluator(planes)
        calls += 1
    return calls * len(planes) / (time.perf_counter() - began)


def random_planes(game: Game, count: int) -> NDArray[np.float32]:
    """Positions of random play in which the game goes on."""
    choice, state, states = np.random.default_rng(0), game.start(), []
    while len(states) < count:
        legal = game.legal_moves(state)
        state = game.play(state, int(choice.choice(legal))) if legal else game.start()
        if game.legal_moves(state) and choice.random() < 0.3:
            states.append(state)
    return game.planes(np.array(states))


def show_agreement(network: Network, boards: int = 4000) -> None:
    planes = random_planes(network.game, boards)
    logits, wdl, _ = NetworkEvaluator(network, "torch", 1)(planes)
    legal = logits > ILLEGAL / 2
    print(f"{boards} positions; deviation of torch's policy logits {logits[legal].std():.2f}")
    for backend in ("onnx", "kernel"):
        with suppress(FadefourError):
            other, other_wdl, _ = NetworkEvaluator(network, backend, 1)(planes)
            apart = np.abs(other - logits)[legal]
            change = other_wdl - wdl
            values = np.abs(change[:, 0] - change[:, 2])
            same = (other.argmax(1) == logits.argmax(1)).mean()
            print(
                f"{backend:<8} policy logits differ by {apart.mean():.2g} (at most "
                f"{apart.max():.2g}), values by {values.mean():.2g} (at most {values.max():.2g}); "
                f"same best move in {same:.2%}"
            )


def _tower(game_name: str, width: int, blocks: int) -> Network:
    game = game_by_name(game_name)
    plain = {"canonical": False, "hide_leaving": False, "rate_moves": False}
    shape = {"width": width, "blocks": blocks, "max_plies": game.max_plies}
    return Network(NetworkConfig(game_name, "tower", **shape, **plain))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", nargs="?", default=SHIPPED)
    parser.add_argument("--game", help="A tower with random weights, instead of the checkpoint.")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="Boards per call.")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--without", nargs="*", default=(), choices=BACKENDS)
    parser.add_argument("--agreement", action="store_true")
    given = parser.parse_args()
    if given.game:
        network = _tower(given.game, given.width, given.blocks)
    else:
        network = load_checkpoint(checkpoint_path(given.checkpoint))[0]
    if given.agreement:
        show_agreement(network)
        return
    measured = measure_backends(
        network, tuple(given.rows), given.seconds, given.threads, tuple(given.without)
    )
    for backend, rates in measured.items():
        listed = ", ".join(f"{rows}: {rate:,.0f}" for rows, rate in rates.items())
        print(f"{backend:<8} positions/s by boards per call {listed}")


if __name__ == "__main__":
    main()
