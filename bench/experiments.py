"""What the options of self-play do, judged by the exact table: docs/experiments.md.

``python bench/experiments.py --data data --runs runs/experiments`` plays every variant with every
seed at the same budget (the same number of games and simulations), grades the network after each
iteration on the same sample of positions, grades the last one with search on the positions that it
reaches itself, and prints the tables as Markdown. Runs that are finished are not played again; an
interrupted one is resumed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from azfit.checkpoint import checkpoints_in, load_checkpoint
from azfit.grading.grade import grade
from azfit.grading.in_play import grade_in_play
from azfit.inference import Evaluator
from azfit.players import NetworkPlayer, SearchPlayer
from azfit.self_play.config import settled
from azfit.self_play.iteration_log import read_iterations
from azfit.self_play.loop import read_config, self_play
from solver import Rules, open_table
from solver.plotting import pyplot, save_png
from solver.storage import write_atomically
from solver.table import Table

RULES = Rules(4, 4, 4)

# The recipe of docs/self_play.md with fewer games and simulations. Every network is kept and
# judged, so there is no gate.
BASE: dict[str, Any] = {
    "game": "drop-4-4-4",
    "iterations": 20,
    "games_per_iteration": 120,
    "parallel_games": 120,
    "sims": 60,
    "replay_ratio": 0.5,
    "epochs": 1,
    "dropout": 0.0,
    "policy_lr_scale": 1.0,
    "gate": False,
    "eval_games": 2,
    "pool_games": 0,
    "keep": 1000,
    "workers": 1,
    "threads": 1,
}

HARSH = {"fpu_reduction": 0.4}  # as the users had it when their search starved
JUDGING_SIMS, JUDGING_GAMES = 100, 100  # the last network, against each opponent

VARIANTS: dict[str, dict[str, Any]] = {
    "base": {},
    "no clamp": {"fpu_clamp": False},
    "reduction 0.4": HARSH,
    "reduction 0.4, no clamp": {**HARSH, "fpu_clamp": False},
    "lambda 0.2": {"lambda_steps": 0.2},
    "lambda 0": {"lambda_steps": 0.0},
    "balance sampling": {"balance_sampling": True},
    "noise decay": {"noise_eps": 0.5, "noise_eps_min": 0.1, "noise_steps": 12},
    "dropout 0.2": {"dropout": 0.2},
    "policy rate 0.1": {"policy_lr_scale": 0.1},
}

QUESTIONS: dict[str, tuple[str, ...]] = {
    "(a) clamp": ("base", "no clamp", "reduction 0.4", "reduction 0.4, no clamp"),
    "(b) lambda": ("base", "lambda 0.2", "lambda 0"),
    "(c) balance sampling": ("base", "balance sampling"),
    "(d) noise decay": ("base", "noise decay"),
    "(e) training": ("base", "dropout 0.2", "policy rate 0.1"),
}


def folder_of(runs: Path, variant: str, seed: int) -> Path:
    return runs / f"{variant.replace(', ', '_').replace(' ', '_')}-{seed}"


def experiment(
    folder: Path, variant: str, seed: int, overrides: dict[str, Any], data: Path, sample: int
) -> None:
    """Plays one run to its end and judges it."""
    if (folder / "config.json").exists():
        self_play(read_config(folder), folder, resume=True, stream=None)
    else:
        given = {**BASE, **VARIANTS[variant], "seed": seed, **overrides}
        self_play(settled(given), folder, stream=None)
    if not (folder / TRUTH).exists():
        with open_table(data, RULES) as table:
            told = judged(folder, table, sample)
        write_atomically(folder / TRUTH, (json.dumps(told, indent=1) + "\n").encode())
    print(f"{variant}, seed {seed}", file=sys.stderr, flush=True)


TRUTH = "truth.json"


def judged(folder: Path, table: Table, sample: int) -> dict[str, Any]:
    """The exact grade of each iteration's network, and of the last one with search."""
    paths, learning = checkpoints_in(folder / "checkpoints"), []
    for path in paths:
        network, about = load_checkpoint(path)
        evaluator = Evaluator(network, threads=1)
        graded = grade(NetworkPlayer(evaluator, RULES), table, sample=sample, seed=1)
        results = graded.by_result()
        learning.append(
            {
                "iteration": about["iteration"],
                "blunders": graded.overall.blunder_rate or 0.0,
                "misjudged": 1 - (graded.overall.wdl_accuracy or 0.0),
                "missed_wins": results["win"].blunder_rate or 0.0,
                "lost_draws": results["draw"].blunder_rate or 0.0,
                "short_losses": 1 - (results["loss"].optimal or 0.0),
            }
        )
    player = SearchPlayer(evaluator, RULES, JUDGING_SIMS)
    matches = grade_in_play(player, table, games=JUDGING_GAMES, seed=1)
    positions = sum(match.grade.overall.positions for match in matches)
    blunders = sum(match.grade.overall.errors for match in matches)
    against_table = next(match for match in matches if match.opponent == "table")
    return {
        "learning": learning,
        "searched": {"blunders": blunders / positions, "lost_games": against_table.losses},
    }


def truth_of(runs: Path, variant: str, seeds: list[int]) -> list[dict[str, Any]]:
    paths = [folder_of(runs, variant, seed) / TRUTH for seed in seeds]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def starved(folder: Path) -> list[float]:
    """Of the nodes with an untried move, those whose FPU without clamp is below -1, by side."""
    lines = read_iterations(folder)
    met = np.array([line["games"]["starved"] for line in lines], float).sum(axis=0)
    among = np.array([line["games"]["open"] for line in lines], float).sum(axis=0)
    return [float(share) for share in met / np.maximum(among, 1)]


def spread(values: list[float]) -> str:
    return f"{np.mean(values):.2%} ({min(values):.2%} – {max(values):.2%})"


COLUMNS = {
    "blunders": "blunders, all positions",
    "missed_wins": "won positions",
    "lost_draws": "drawn positions",
    "short_losses": "lost sooner than need be",
    "misjudged": "win/draw/loss wrong",
}


def report(runs: Path, seeds: list[int]) -> str:
    lines = []
    for question, variants in QUESTIONS.items():
        heads = ["variant", *COLUMNS.values(), "with search, in its own games", "games lost"]
        heads.append("starved nodes X / Y")
        lines += [f"### {question}", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        for variant in variants:
            truths = truth_of(runs, variant, seeds)
            if not truths:
                continue
            cells = [spread([one["learning"][-1][name] for one in truths]) for name in COLUMNS]
            cells.append(spread([one["searched"]["blunders"] for one in truths]))
            cells.append(", ".join(str(one["searched"]["lost_games"]) for one in truths))
            share = np.mean([starved(folder_of(runs, variant, seed)) for seed in seeds], axis=0)
            cells.append(f"{share[0]:.2%} / {share[1]:.2%}")
            lines.append(f"| {variant} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def draw(runs: Path, seeds: list[int], png: Path) -> None:
    """Blunders against iterations, a panel a question; thin lines are seeds, thick ones means."""
    plt = pyplot()
    figure, axes = plt.subplots(1, len(QUESTIONS), figsize=(22, 5), sharex=True, sharey=True)
    for axis, (question, variants) in zip(axes, QUESTIONS.items(), strict=True):
        for colour, variant in enumerate(variants):
            told = [one["learning"] for one in truth_of(runs, variant, seeds)]
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
        axis.set_xlabel("iteration")
    axes[0].set_ylabel("share of moves that lose the result")
    figure.tight_layout()
    save_png(figure, png)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--runs", type=Path, default=Path("runs/experiments"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--sample", type=int, default=20_000)
    parser.add_argument("--iterations", type=int, help="Fewer or more than the base has.")
    parser.add_argument("--png", type=Path)
    parser.add_argument("--processes", type=int, default=2, help="Runs side by side.")
    given = parser.parse_args()
    overrides = {} if given.iterations is None else {"iterations": given.iterations}
    with open_table(given.data, RULES):
        pass  # without a table there is nothing to judge by: better said now than in an hour
    given.runs.mkdir(parents=True, exist_ok=True)
    work = [
        (folder_of(given.runs, variant, seed), variant, seed, overrides, given.data, given.sample)
        for seed in given.seeds
        for variant in given.only
    ]
    with ProcessPoolExecutor(given.processes, multiprocessing.get_context("spawn")) as crew:
        for one in [crew.submit(experiment, *arguments) for arguments in work]:
            one.result()
    print(report(given.runs, given.seeds))
    if given.png is not None:
        draw(given.runs, given.seeds, given.png)


if __name__ == "__main__":
    main()
