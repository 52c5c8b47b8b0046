"""Simulations per second of the tree work alone: equal priors, value 0, one thread.

    python bench/search_speed.py                         # 4x4 drop-oldest, 100 simulations
    python bench/search_speed.py --game gomoku-15 --sims 800 --trees 50

Every round starts new trees from random positions a few plies into the game; only the search is
timed. The last column is the same work done batch by batch, one leaf per tree and call, with
features and evaluations passed through Python, as with a network that takes no time.
"""

from __future__ import annotations

import time

import click
import numpy as np
from numpy.typing import NDArray

from azfit import Evaluation, Game, Search, SearchConfig, game_by_name
from azfit.games import Result


def random_states(game: Game, count: int, plies: int, seed: int = 0) -> NDArray[np.uint8]:
    """States after at most ``plies`` random plies, all of games still going on."""
    draw = np.random.default_rng(seed)
    states = np.tile(game.start(), (count, 1))
    for _ in range(plies):
        noise = draw.random((count, game.actions)) * game.legal_masks(states)
        after, results = game.play_many(states, noise.argmax(axis=1).astype(np.int32))
        going_on = results == Result.GOING_ON
        states[going_on] = after[going_on]
    return states


def best_rate(search: Search, states: NDArray[np.uint8], rounds: int, batched: bool) -> float:
    """The highest rate of several rounds, in simulations per second."""
    game = search.game
    policy = np.zeros((search.trees, game.actions), dtype=np.float32)
    value = np.zeros(search.trees, dtype=np.float32)

    def evaluate(planes: NDArray[np.float32]) -> Evaluation:
        return policy[: len(planes)], value[: len(planes)], None

    rates = []
    for _ in range(rounds):
        search.reset(states)
        began = time.perf_counter()
        if batched:
            search.run(evaluate)
        else:
            search.run_constant()
        rates.append(search.trees * search.config.sims / (time.perf_counter() - began))
    return max(rates)


@click.command()
@click.option("--game", "name", default="drop-4-4-4", show_default=True)
@click.option("--trees", default=1000, show_default=True)
@click.option("--sims", default=100, show_default=True)
@click.option("--rounds", default=10, show_default=True)
def main(name: str, trees: int, sims: int, rounds: int) -> None:
    """Print simulations per second from the start and from positions 10 plies on."""
    game = game_by_name(name)
    search = Search(game, trees, SearchConfig(sims=sims, noise_eps=0.0, reuse=False))
    print(f"{name}: {trees} trees x {sims} simulations, constant evaluator, one thread")
    for plies in (0, 10):
        states = random_states(game, trees, plies)
        inside = best_rate(search, states, rounds, batched=False)
        batched = best_rate(search, states, max(1, rounds // 3), batched=True)
        print(
            f"  from ply {plies:2}: {inside / 1e6:6.2f} M simulations/s in C,"
            f" {batched / 1e6:6.2f} M/s batch by batch from Python"
        )


if __name__ == "__main__":
    main()
