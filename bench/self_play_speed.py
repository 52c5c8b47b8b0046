"""Self-play throughput: network-backed simulations per second on this machine.

``python bench/self_play_speed.py [--game connect4] [--workers 2]``: games of a random network of a
fixed shape (Connect Four: a 64 x 4 residual tower), 100 simulations per move, one torch thread per
worker. ``--backend onnx`` compares back-ends, ``--width 32 --blocks 3`` other networks of the kind;
``--network RUN`` takes a trained one, and ``--prove`` lets the search prove results, so that fewer
leaves are evaluated. A simulation ends in a leaf that the network evaluates, in a leaf whose
evaluation is in the cache, or in a finished game; the shares are printed too. With ``--prove``
those that a proven root spares count as simulations that needed no evaluation. Where pgx and mctx
are installed, they are measured in the same run. Compare ratios: rates differ between machines.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from azfit.evaluation_cache import EvaluationCache
from azfit.games import game_by_name
from azfit.inference import AUTO, BACKENDS, NetworkEvaluator
from azfit.loading import load_network
from azfit.network import Network
from azfit.self_play.config import settled
from azfit.self_play.play_games import play_games

# What is measured does not follow the defaults of self-play.
SHAPES: dict[str, dict[str, Any]] = {
    "connect4": {"kind": "tower", "width": 64, "blocks": 4},
    "gomoku": {"kind": "tower", "width": 64, "blocks": 3},
    "drop": {"kind": "mlp", "width": 256, "blocks": 2},
}
SEARCH = {"sims": 100, "temperature": 1.0, "random_plies": 0}


def play(
    worker: int,
    game: str,
    games: int,
    backend: str,
    options: dict[str, Any],
    trained: str | None,
    barrier: Any,
    answers: Any,
) -> None:
    """One worker; reports simulations, positions asked for, positions computed, seconds."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    config, rules = settled({"game": game, **options, **SEARCH}), game_by_name(game)
    network = load_network(trained).network if trained else Network(config.network).eval()
    evaluate = EvaluationCache(NetworkEvaluator(network, backend, 1), rules)
    numbers = range(worker * games, (worker + 1) * games)
    barrier.wait()
    began = time.perf_counter()
    plies = sum(
        episode.plies
        for episode in play_games(
            rules, evaluate, config.search_config, numbers, seed=1, iteration=0, parallel=games
        )
    )
    seconds = time.perf_counter() - began
    answers.put((plies * config.sims, evaluate.asked, evaluate.computed, seconds))


def measure(
    game: str, workers: int, games: int, backend: str, options: dict[str, Any], trained: str | None
) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, queue = context.Barrier(workers), context.Queue()
    crew = [
        context.Process(
            target=play, args=(worker, game, games, backend, options, trained, barrier, queue)
        )
        for worker in range(workers)
    ]
    for process in crew:
        process.start()
    answers = [queue.get() for _ in crew]
    for process in crew:
        process.join()
    sims, asked, computed = (sum(answer[i] for answer in answers) for i in range(3))
    seconds = max(answer[3] for answer in answers)
    print(
        f"{game}, {backend}, {workers} workers of {games} games: {sims / seconds:,.0f} "
        f"simulations/s ({computed / sims:.0%} computed by the network, "
        f"{(asked - computed) / sims:.0%} in the cache, {1 - asked / sims:.0%} needed none); "
        f"{computed / seconds:,.0f} evaluations/s; {seconds:.1f} s"
    )


def measure_peer(games: int, sims: int = 100, moves: int = 4) -> None:
    """pgx's Connect Four with mctx's search and a residual tower of the same size, on the CPU."""
    if not all(importlib.util.find_spec(name) for name in ("pgx", "mctx", "jax", "haiku")):
        print("peer: pgx, mctx and dm-haiku are not installed")
        return
    import haiku as hk
    import jax
    import jax.numpy as jnp
    import mctx
    import pgx

    env = pgx.make("connect_four")

    def forward(observation: Any) -> Any:
        x = hk.Conv2D(64, 3)(observation.astype(jnp.float32))
        for _ in range(4):
            y = hk.Conv2D(64, 3)(jax.nn.relu(hk.Conv2D(64, 3)(x)))
            x = jax.nn.relu(x + y)
        x = hk.Flatten()(jax.nn.relu(hk.Conv2D(32, 1)(x)))
        return hk.Linear(env.num_actions)(x), jnp.tanh(hk.Linear(1)(x))[:, 0]

    network = hk.without_apply_rng(hk.transform(forward))
    step = jax.vmap(env.step)

    def recurrent(weights: Any, _key: Any, action: Any, state: Any) -> Any:
        mover = state.current_player
        state = step(state, action)
        logits, value = network.apply(weights, state.observation)
        logits = jnp.where(state.legal_action_mask, logits, jnp.finfo(logits.dtype).min)
        reward = state.rewards[jnp.arange(games), mover]
        value = jnp.where(state.terminated, 0.0, value)
        discount = jnp.where(state.terminated, 0.0, -1.0)
        output = mctx.RecurrentFnOutput(
            reward=reward, discount=discount, prior_logits=logits, value=value
        )
        return output, state

    @jax.jit
    def search(weights: Any, key: Any, state: Any) -> Any:
        logits, value = network.apply(weights, state.observation)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state)
        policy = mctx.muzero_policy(
            weights, key, root, recurrent, sims, invalid_actions=~state.legal_action_mask
        )
        return step(state, policy.action)

    state = jax.vmap(env.init)(jax.random.split(jax.random.PRNGKey(0), games))
    weights = network.init(jax.random.PRNGKey(1), state.observation)
    state = jax.block_until_ready(search(weights, jax.random.PRNGKey(2), state))  # compiles
    began = time.perf_counter()
    for move in range(moves):
        state = search(weights, jax.random.PRNGKey(3 + move), state)
    jax.block_until_ready(state)
    seconds = time.perf_counter() - began
    print(f"peer pgx + mctx: {games * sims * moves / seconds:,.0f} simulations/s, all cores")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="connect4")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--backend", default=AUTO, choices=(AUTO, *BACKENDS))
    parser.add_argument("--width", type=int)
    parser.add_argument("--blocks", type=int)
    parser.add_argument("--network", help="A checkpoint or a run, instead of random weights.")
    parser.add_argument("--prove", action="store_true")
    given = parser.parse_args()
    if given.network and (given.width or given.blocks is not None):
        parser.error("--network has a width and blocks of its own: leave them out")
    options = dict(SHAPES[given.game.split("-", maxsplit=1)[0]])
    options |= {"width": given.width} if given.width else {}
    options |= {"blocks": given.blocks} if given.blocks is not None else {}
    options["prove"] = given.prove
    measure(given.game, given.workers, given.games, given.backend, options, given.network)
    if given.game == "connect4":
        measure_peer(given.games)


if __name__ == "__main__":
    main()
