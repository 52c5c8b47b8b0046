"""Self-play on Ray against worker processes, on the same cores, in turn.

``python bench/cluster_speed.py [--game connect4] [--workers 2] [--games 140] [--sims 100]``: the
same games of the same random network, by the workers of each kind; the others wait meanwhile.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from azfit.network import Network
from azfit.self_play.config import settled
from azfit.self_play.workers import Workers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="connect4")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--games", type=int, default=140)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sims", type=int, default=100)
    parser.add_argument("--cluster", default="local")
    given = parser.parse_args()
    config = settled({"game": given.game, "workers": given.workers, "sims": given.sims})
    torch.manual_seed(0)
    network = Network(config.network).eval()
    with Workers(config) as here, Workers(config, given.cluster, print) as cluster:
        pools = {"processes": here, "Ray": cluster}
        for workers in pools.values():
            workers.set_network("best", network)
            list(workers.play_games(range(2 * given.workers), 0, "best"))  # all are up
        ratios = []
        for number in range(1, given.rounds + 1):
            rates = {}
            for name, workers in pools.items():
                began = time.perf_counter()
                games = list(workers.play_games(range(given.games), number, "best"))
                rates[name] = len(games) / (time.perf_counter() - began)
            ratios.append(rates["Ray"] / rates["processes"])
            shown = ", ".join(f"{name} {rate:.2f} games/s" for name, rate in rates.items())
            print(f"round {number}: {shown}; ratio {ratios[-1]:.3f}", flush=True)
        print(f"{given.game}, {given.workers} workers: median {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
