"""Positions per second of each inference back-end that works here, by boards per call.

``python bench/inference_speed.py [CHECKPOINT] [--threads 1]``: the shipped network by default.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from azfit.checkpoint import load_checkpoint
from azfit.inference import BACKENDS, NetworkEvaluator
from azfit.loading import SHIPPED, checkpoint_path
from azfit.network import Network
from solver.errors import FadefourError

ROWS = (1, 64, 100, 1024, 8192)


def measure_backends(
    network: Network,
    rows: tuple[int, ...] = ROWS,
    seconds: float = 1.0,
    threads: int | None = None,
) -> dict[str, dict[int, float]]:
    """Positions per second of each back-end that works here, by boards per call (``rows``)."""
    generator = np.random.default_rng(0)
    rates: dict[str, dict[int, float]] = {}
    for backend in BACKENDS:
        try:
            evaluator = NetworkEvaluator(network, backend, threads)
        except FadefourError:
            continue
        rates[backend] = {}
        for count in rows:
            shape = (count, *network.game.plane_shape)
            planes = (generator.random(shape) < 0.06).astype(np.float32)
            evaluator(planes)
            began, calls = time.perf_counter(), 0
            while time.perf_counter() - began < seconds:
                evaluator(planes)
                calls += 1
            rates[backend][count] = calls * count / (time.perf_counter() - began)
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", nargs="?", default=SHIPPED)
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    network = load_checkpoint(checkpoint_path(given.checkpoint))[0]
    for backend, rates in measure_backends(network, threads=given.threads).items():
        listed = ", ".join(f"{rows}: {rate:,.0f}" for rows, rate in rates.items())
        print(f"{backend:<8} positions/s by boards per call {listed}")


if __name__ == "__main__":
    main()
