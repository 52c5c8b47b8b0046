"""What the options of self-play do, judged by the exact table: docs/experiments.md.

``python bench/experiments.py --data data --runs runs/experiments`` plays every variant with every
seed at the same budget (the same number of games, simulations and training steps), grades the
network after each iteration on the same sample of positions, and prints the tables as Markdown.
Runs that are finished are not played again; an interrupted one is resumed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from azfit.checkpoint import checkpoints_in, load_checkpoint
from azfit.grade import grade
from azfit.inference import Evaluator
from azfit.iteration_log import read_iterations
from azfit.players import NetworkPlayer
from azfit.self_play import read_config, self_play
from azfit.self_play_config import settled
from solver import Rules, open_table
from solver.plotting import pyplot, save_png
from solver.storage import write_atomically
from solver.table import Table

RULES = Rules(4, 4, 4)

# Every iteration's network is kept and judged, so no gate; the budget goes into games.
BASE: dict[str, Any] = {
    "game": "drop-4-4-4",
    "iterations": 20,
    "games_per_iteration": 120,
    "sims": 60,
    "gate": False,
    "eval_games": 2,
    "pool_games": 0,
    "keep": 1000,
    "workers": 1,
    "threads": 1,
}

HARSH = {"fpu_reduction": 0.4}  # as the users had it when their search starved

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "no clamp": {"fpu_clamp": False},
    "reduction 0.4": HARSH,
    "reduction 0.4, no clamp": {**HARSH, "fpu_clamp": False},
    "lambda 0.2": {"lambda_steps": 0.2},
    "lambda 0": {"lambda_steps": 0.0},
    "balance sampling": {"balance_sampling": True},
    "noise decay": {"noise_eps": 0.5, "noise_eps_min": 0.1, "noise_steps": 12},
}

QUESTIONS: dict[str, tuple[str, ...]] = {
    "(a) clamp": ("default", "no clamp", "reduction 0.4", "reduction 0.4, no clamp"),
    "(b) lambda": ("default", "lambda 0.2", "lambda 0"),
    "(c) balance sampling": ("default", "balance sampling"),
    "(d) noise decay": ("default", "noise decay"),
}


def folder_of(runs: Path, variant: str, seed: int) -> Path:
    return runs / f"{variant.replace(', ', '_').replace(' ', '_')}-{seed}"


def play_all(runs: Path, variants: list[str], seeds: list[int], overrides: dict[str, Any]) -> None:
    for seed in seeds:
        for variant in variants:
            folder = folder_of(runs, variant, seed)
            print(f"{variant}, seed {seed}", file=sys.stderr, flush=True)
            if (folder / "config.json").exists():
                self_play(read_config(folder), folder, resume=True, stream=None)
            else:
                given = {**BASE, **VARIANTS[variant], "seed": seed, **overrides}
                self_play(settled(given), folder, stream=None)


def judged(folder: Path, table: Table, sample: int) -> list[dict[str, float]]:
    """The exact grade of each iteration's network on the sample; remembered in the folder."""
    kept = folder / "truth.json"
    if kept.exists():
        told: list[dict[str, float]] = json.loads(kept.read_text())
        return told
    told = []
    for path in checkpoints_in(folder / "checkpoints"):
        network, about = load_checkpoint(path)
        player = NetworkPlayer(Evaluator(network, threads=1), RULES)
        graded = grade(player, table, sample=sample, seed=1)
        sides, results = graded.by_side(), graded.by_result()
        told.append(
            {
                "iteration": about["iteration"],
                "blunders": graded.overall.blunder_rate or 0.0,
                "wdl": graded.overall.to_dict()["wdl_accuracy"],
                **{f"blunders_{s}": sides[s].blunder_rate or 0.0 for s in ("x", "y")},
                **{f"blunders_{r}": results[r].blunder_rate or 0.0 for r in ("win", "draw")},
            }
        )
    write_atomically(kept, (json.dumps(told, indent=1) + "\n").encode())
    return told


def starved(folder: Path) -> list[float]:
    """Of the nodes with an untried move, those whose FPU without clamp is below -1, by side."""
    lines = read_iterations(folder)
    met = np.array([line["games"]["starved"] for line in lines], float).sum(axis=0)
    among = np.array([line["games"]["open"] for line in lines], float).sum(axis=0)
    return [float(share) for share in met / np.maximum(among, 1)]


def spread(values: list[float]) -> str:
    return f"{np.mean(values):.2%} ({min(values):.2%} – {max(values):.2%})"


def report(runs: Path, table: Table, seeds: list[int], sample: int) -> str:
    lines = []
    for question, variants in QUESTIONS.items():
        lines += [f"### {question}", "", "| variant | blunders, all | in won positions | in drawn "]
        lines[-1] += "positions | win/draw/loss wrong | starved nodes X / Y |"
        lines.append("|---|---|---|---|---|---|")
        for variant in variants:
            folders = [folder_of(runs, variant, seed) for seed in seeds]
            ends = [judged(folder, table, sample)[-1] for folder in folders if folder.exists()]
            if not ends:
                continue
            share = np.mean([starved(folder) for folder in folders if folder.exists()], axis=0)
            columns = [spread([end[k] for end in ends]) for k in COLUMNS]
            columns.append(spread([1 - end["wdl"] for end in ends]))
            lines.append(f"| {variant} | {' | '.join(columns)} | {share[0]:.2%} / {share[1]:.2%} |")
        lines.append("")
    return "\n".join(lines)


COLUMNS = ("blunders", "blunders_win", "blunders_draw")


def draw(runs: Path, table: Table, seeds: list[int], sample: int, png: Path) -> None:
    """Blunders against iterations, a panel a question; thin lines are seeds, thick ones means."""
    plt = pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(12, 9), sharex=True, sharey=True)
    for axis, (question, variants) in zip(axes.flat, QUESTIONS.items(), strict=True):
        for colour, variant in enumerate(variants):
            folders = [folder_of(runs, variant, seed) for seed in seeds]
            told = [judged(folder, table, sample) for folder in folders if folder.exists()]
            if not told:
                continue
            x = [one["iteration"] for one in told[0]]
            y = np.array([[one["blunders"] for one in run] for run in told])
            axis.plot(x, y.T, color=f"C{colour}", alpha=0.25, linewidth=1)
            axis.plot(x, y.mean(axis=0), color=f"C{colour}", linewidth=2, label=variant)
        axis.set_title(question)
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
        axis.legend()
    for axis in axes[-1]:
        axis.set_xlabel("iteration")
    for axis in axes[:, 0]:
        axis.set_ylabel("share of moves that lose the result")
    figure.tight_layout()
    save_png(figure, png)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--runs", type=Path, default=Path("runs/experiments"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--sample", type=int, default=50_000)
    parser.add_argument("--iterations", type=int, help="Fewer or more than the base has.")
    parser.add_argument("--png", type=Path)
    given = parser.parse_args()
    overrides = {} if given.iterations is None else {"iterations": given.iterations}
    play_all(given.runs, given.only, given.seeds, overrides)
    with open_table(given.data, RULES) as table:
        print(report(given.runs, table, given.seeds, given.sample))
        if given.png is not None:
            draw(given.runs, table, given.seeds, given.sample, given.png)


if __name__ == "__main__":
    main()
