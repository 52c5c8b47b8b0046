"""Search with a network: simulations per second, and the share of time outside the network.

    python bench/network_search.py [--trees 512] [--sims 100] [--threads 2]

The network is the default one with random weights; the time it takes is measured within the search.
"""

from __future__ import annotations

import time
from typing import Any

import click
import torch
from search_speed import random_states

from azfit import Search, SearchConfig, game_by_name
from azfit.inference import NetworkEvaluator
from azfit.network import Network, NetworkConfig


@click.command(help=__doc__)
@click.option("--trees", default=512, show_default=True)
@click.option("--sims", default=100, show_default=True)
@click.option("--threads", default=2, show_default=True)
@click.option("--backend", default=None, help="torch, compile, onnx or kernel.  [default: torch]")
def main(trees: int, sims: int, threads: int, backend: str | None) -> None:
    game = game_by_name("drop-4-4-4")
    torch.manual_seed(1)
    evaluator = NetworkEvaluator(Network(NetworkConfig()), backend, threads)
    in_network = 0.0

    def evaluate(planes: Any) -> Any:
        nonlocal in_network
        began = time.perf_counter()
        answers = evaluator(planes)
        in_network += time.perf_counter() - began
        return answers

    search = Search(game, trees, SearchConfig(sims=sims, noise_eps=0.0), seed=1)
    states = random_states(game, trees, 8)
    evaluator(game.planes(states))  # the first call includes one-time setup
    search.reset(states)
    began = time.perf_counter()
    search.run(evaluate)
    total = time.perf_counter() - began
    done = int(search.root_visits().sum())
    print(
        f"{game.name}: {trees} trees x {sims} simulations, {evaluator.backend}, {threads} threads: "
        f"{done / total:,.0f} simulations/s, {100 * (1 - in_network / total):.1f} % of the time "
        "outside the network"
    )


if __name__ == "__main__":
    main()
