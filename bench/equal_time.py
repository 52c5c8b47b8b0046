"""Tricks of self-play at equal time: every variant with every seed for the same minutes, judged
exactly.

``python bench/experiments.py --minutes 3 --runs runs/equal_time`` plays them one after the other
(``--processes`` at a time, each with its share of the cores), judges some thirty networks of each
run alone and the last one with search, and prints a Markdown table. Beside the runs lie
``results.jsonl``, a line for each run, and ``table.md``. Finished runs are neither played nor
judged again; an interrupted one is resumed. Connect Four is judged by its solver, on the sets in
FADEFOUR_CONNECT4_SETS or else on 500 seeded random positions; drop-oldest by the table in
``--data``; Gomoku by the forced wins of random play that a player misses or does not stop.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from azfit.checkpoint import load_checkpoint
from azfit.checkpoint_header import checkpoints_in
from azfit.inference import AUTO, NetworkEvaluator
from azfit.network import Network
from azfit.players import NetworkPlayer, Player, SearchPlayer
from azfit.search_config import SearchConfig
from azfit.self_play.iteration import read_iterations
from solver.machine import available_cores
from solver.storage import write_atomically

RESULTS, TABLE = "results.jsonl", "table.md"

# The recipes of docs/self_play.md for two cores, with fewer games per iteration, so that a few
# minutes have some dozens of them. Every network is kept and judged, so there is no gate.
COMMON: dict[str, Any] = {
    "games_per_iteration": 150,
    "parallel_games": 75,
    "epochs": 1,
    "dropout": 0.0,
    "policy_lr_scale": 1.0,
    "gate": False,
    "eval_games": 2,
    "pool_games": 0,
    "keep": 100_000,
}
RECIPES: dict[str, dict[str, Any]] = {
    "connect4": {
        **COMMON,
        "width": 32,
        "blocks": 3,
        "temp_moves": 42,
        "random_plies": 12,
        "buffer": 100_000,
        "replay_ratio": 0.15,
    },
    "drop-4-4-4": {**COMMON, "replay_ratio": 0.5},
    "gomoku-9": {
        **COMMON,
        "games_per_iteration": 40,
        "parallel_games": 40,
        "width": 32,
        "blocks": 2,
        "sims": 108,
        "fpu_at_noised_root": False,
        "replay_ratio": 0.5,
        "epochs": 2,
        "batch_size": 128,
    },
}

BOTH: dict[str, Any] = {"value_mix": 0.5, "surprise_weight": 0.5}
GUMBEL: dict[str, Any] = {**BOTH, "threats": True, "search": "gumbel", "sims": 32}
FOUR_DRAWS: dict[str, Any] = {
    **GUMBEL,
    "games_per_iteration": 150,
    "parallel_games": 75,
    "buffer": 60_000,
    "replay_ratio": 0.35,
    "epochs": 1,
    "batch_size": 512,
}

TRICKS: dict[str, dict[str, Any]] = {
    "base": {},
    "prove": {"prove": True},
    "playout caps": {"full_share": 0.25, "full_sims": 200, "fast_sims": 40},
    "forced playouts": {"forced_playouts": 2.0},
    "gumbel, 32 sims": {"search": "gumbel", "sims": 32},
    "gumbel, 16 sims": {"search": "gumbel", "sims": 16},
    "32 sims": {"sims": 32},
    "no reuse": {"reuse": False},
    "value mix 0.5": {"value_mix": 0.5},
    "surprise 0.5": {"surprise_weight": 0.5},
    "ema 0.999": {"ema": 0.999},
    "reply 0.15": {"reply_weight": 0.15},
    "threats": {"threats": True},
    "64 x 4": {"width": 64, "blocks": 4},
    # The two that help most, and what others add to them.
    "both": BOTH,
    "both, mix 1": {**BOTH, "value_mix": 1.0},
    "both, 32 sims": {**BOTH, "sims": 32},
    "both, gumbel, 32 sims": {**BOTH, "search": "gumbel", "sims": 32},
    "both, threats": {**BOTH, "threats": True},
    "both, threats, gumbel, 32 sims": GUMBEL,
    "both, varied games": {**BOTH, "random_plies": 16, "temp_moves": 40},
    "both, batch 128": {**BOTH, "batch_size": 128},
    # Gomoku, where training took most of the time.
    "four draws": FOUR_DRAWS,
    "four draws, random plies": {**FOUR_DRAWS, "random_plies": 8},
    "four draws, batch 128": {**FOUR_DRAWS, "batch_size": 128},
    "four draws, 64 sims": {**FOUR_DRAWS, "sims": 64},
}
"""What each variant changes. Lower bounds (lcb) and proofs in play cost no training: every network
is judged with and without them."""

JUDGED: dict[str, dict[str, Any]] = {
    "": {},
    ", prove": {"prove": True},
    ", lcb 5": {"lcb": 5.0},
}
"""How the last network is searched when it is judged."""

CURVE = 30  # networks of a run that are judged


@dataclass(frozen=True)
class Trial:
    """One run: a variant with a seed."""

    game: str
    variant: str
    seed: int
    minutes: float

    def folder(self, runs: Path) -> Path:
        name = self.variant.replace(", ", "_").replace(" ", "_")
        return runs / f"{self.game}-{self.minutes:g}min-{name}-{self.seed}"

    def options(self, processes: int) -> dict[str, Any]:
        """With its share of the cores."""
        share = max(1, available_cores() // processes)
        return {
            "game": self.game,
            "minutes": self.minutes,
            "seed": self.seed,
            "workers": share,
            "threads": share,
            **RECIPES[self.game],
            **TRICKS[self.variant],
        }


Rate = Callable[[Player], float]
"""The share of positions in which this player's move loses the result."""


def rated(trial: Trial, folder: Path, sims: int, rate: Rate) -> dict[str, Any]:
    """The line of a finished run: its networks, judged alone, and the last one with search."""
    seconds = {line.iteration: line.seconds for line in read_iterations(folder)}
    games = [line.games for line in read_iterations(folder) if line.games is not None]
    curve, saved = [], list(checkpoints_in(folder / "checkpoints"))
    assert saved, f"{folder} has no networks"
    for number in np.unique(np.linspace(0, len(saved) - 1, CURVE).round().astype(int)):
        network, about = load_checkpoint(saved[number])
        iteration = int(about["iteration"])
        blunders = rate(NetworkPlayer(network.game, NetworkEvaluator(network)))
        curve.append([seconds.get(iteration, 0.0), iteration, blunders])
    searched = {
        f"{sims} sims{name}": rate(searching(network, sims, options))
        for name, options in JUDGED.items()
    }
    return {
        "game": trial.game,
        "variant": trial.variant,
        "seed": trial.seed,
        "minutes": trial.minutes,
        "changes": TRICKS[trial.variant],
        "iterations": max(seconds, default=0),
        "games": sum(entry.played for entry in games),
        "positions": sum(entry.positions for entry in games),
        "alone": curve[-1][2],
        "searched": searched,
        "curve": curve,
    }


def searching(network: Network, sims: int, options: dict[str, Any]) -> Player:
    config = SearchConfig(sims=sims, max_steps=float(network.config.max_plies), **options)
    return SearchPlayer(network.game, NetworkEvaluator(network, AUTO), config)


def read_results(path: Path) -> list[dict[str, Any]]:
    """What was judged before; a last line that was cut short is left out."""
    lines = path.read_text().splitlines() if path.exists() else []
    results = []
    for number, line in enumerate(lines):
        try:
            results.append(json.loads(line))
        except ValueError:
            if number < len(lines) - 1:
                raise
    return results


def is_of(result: dict[str, Any], trial: Trial) -> bool:
    key = (trial.game, trial.variant, trial.seed, trial.minutes)
    return (result["game"], result["variant"], result["seed"], result["minutes"]) == key


def keep(result: dict[str, Any], path: Path) -> None:
    """Appends a result to the file."""
    lines = [json.dumps(line) + "\n" for line in [*read_results(path), result]]
    write_atomically(path, "".join(lines).encode())


def results_of(trials: Sequence[Trial], path: Path) -> list[dict[str, Any]]:
    """Those in the file, in the order of the trials."""
    known = read_results(path)
    return [result for trial in trials for result in known if is_of(result, trial)]


# ---- report ---------------------------------------------------------------------------


def minutes_to(result: dict[str, Any], level: float) -> float | None:
    """Minutes until the network alone first blundered no more than this; None: it never did."""
    for seconds, _, blunders in result["curve"]:
        if blunders <= level:
            return float(seconds) / 60
    return None


def in_words(shares: Sequence[float]) -> str:
    return f"{np.mean(shares):.2%} ({min(shares):.2%} – {max(shares):.2%})"


def time_in_words(times: Sequence[float | None]) -> str:
    reached = [time for time in times if time is not None]
    if not reached:
        return "never"
    words = f"{np.mean(reached):.1f} min"
    return words if len(reached) == len(times) else f"{words} ({len(reached)} of {len(times)})"


def table(results: Sequence[dict[str, Any]], level: float) -> str:
    """Markdown: mean over the seeds, the least and the most."""
    judged = list(results[0]["searched"])
    heads = [
        "variant",
        "seeds",
        "iterations",
        "games",
        "alone",
        *judged,
        f"time to {level:.0%} alone",
    ]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for variant in dict.fromkeys(result["variant"] for result in results):
        rows = [result for result in results if result["variant"] == variant]
        cells = [
            variant,
            str(len(rows)),
            f"{np.mean([row['iterations'] for row in rows]):.0f}",
            f"{np.mean([row['games'] for row in rows]):,.0f}",
            in_words([row["alone"] for row in rows]),
            *(in_words([row["searched"][name] for row in rows]) for name in judged),
            time_in_words([minutes_to(row, level) for row in rows]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
