"""What the options of self-play do, judged exactly: docs/experiments.md.

``python bench/experiments.py --game connect4 --runs runs/experiments`` plays every variant with
every seed at the same budget (the same number of games and simulations), grades the network after
each iteration, and the last one with search too, and prints the tables as Markdown. Drop-oldest is
judged by the table in ``--data`` on a sample of positions, Connect Four by the solver on sets of
positions (those that ``fadefour grade --game connect4`` uses). Finished runs are not repeated; an
interrupted one is resumed. ``--init CHECKPOINT`` starts every run from a network that knows the
game, at a lower learning rate, in a folder named after it.

With ``--minutes`` all runs have the same time instead, the variants are the tricks of
bench/equal_time.py, which says more, and the game may also be Gomoku.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import equal_time

from azfit.checkpoint import load_checkpoint
from azfit.checkpoint_header import checkpoints_in
from azfit.drop_oldest_players import CanonicalPlayer
from azfit.games import Gomoku
from azfit.grading.connect4.grade import grade_connect4
from azfit.grading.connect4.labels import LabelledSet, labelled_sets
from azfit.grading.gomoku.grade import grade_gomoku
from azfit.grading.gomoku.positions import random_positions
from azfit.grading.grade import grade
from azfit.grading.tally import Group
from azfit.inference import NetworkEvaluator
from azfit.players import NetworkPlayer, Player, SearchPlayer
from azfit.search_config import SearchConfig
from azfit.self_play.config import settled
from azfit.self_play.config_sources import read_config
from azfit.self_play.iteration import read_iterations
from azfit.self_play.loop import self_play
from solver import Rules, open_table
from solver.gomoku.judge import GomokuJudge
from solver.plotting import pyplot, save_png
from solver.storage import write_atomically

DROP, CONNECT4, GOMOKU = "drop-4-4-4", "connect4", "gomoku-9"
RULES = Rules(4, 4, 4)

# The recipe of docs/self_play.md, with fewer games and simulations and, for Connect Four, a smaller
# network. Every network is kept and judged, so there is no gate.
BASE: dict[str, Any] = {
    "iterations": 15,
    "games_per_iteration": 100,
    "parallel_games": 100,
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
BY_GAME: dict[str, dict[str, Any]] = {DROP: {}, CONNECT4: {"width": 32, "blocks": 2}}

FROM_TRAINED = {"lr": 5e-4}  # with --init: keep what the network knows

HARSH = {"fpu_reduction": 0.4}  # as in the reference runs of docs/diagnostics.md
JUDGING_SIMS = 100
FORCED_SAMPLE = 1_000  # positions of random play, in about half of which something is forced

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

# ---- playing and judging --------------------------------------------------------------

Judge = Callable[[NetworkEvaluator, int | None], dict[str, Group]]
"""(network, simulations or None) -> its grade: on all positions, with the first and the second
player to move, and on positions that are won, drawn, lost."""

TRUTH = "truth.json"


def folder_of(runs: Path, game: str, init: Path | None, variant: str, seed: int) -> Path:
    origin = game if init is None else f"{game}-{init.stem}"
    return runs / f"{origin}-{variant.replace(', ', '_').replace(' ', '_')}-{seed}"


def player_of(evaluator: NetworkEvaluator, sims: int | None) -> Player:
    network = evaluator.network
    if not sims:
        return NetworkPlayer(network.game, evaluator)
    config = SearchConfig(sims=sims, max_steps=float(network.config.max_plies))
    return SearchPlayer(network.game, evaluator, config)


def table_judge(data: Path, sample: int) -> Judge:
    table = open_table(data, RULES)

    def judge(network: NetworkEvaluator, sims: int | None) -> dict[str, Group]:
        graded = grade(CanonicalPlayer(player_of(network, sims)), table, sample=sample, seed=1)
        sides = graded.by_side()
        named = {"all": graded.overall, "first": sides["x"], "second": sides["y"]}
        return named | graded.by_result()

    return judge


def sets_judge(data: Path) -> Judge:
    @functools.cache
    def sets() -> list[LabelledSet]:  # solving unknown positions takes a while
        return labelled_sets([], None, 1, data)

    def judge(network: NetworkEvaluator, sims: int | None) -> dict[str, Group]:
        graded = grade_connect4(player_of(network, sims), sets())
        return {
            name.removesuffix(" player"): group for name, group in graded.together.groups().items()
        }

    return judge


def figures(groups: dict[str, Group]) -> dict[str, float]:
    judged = {f"blunders, {name}": group.blunder_rate or 0.0 for name, group in groups.items()}
    judged["lost sooner than need be"] = 1 - (groups["loss"].optimal or 0.0)
    if groups["all"].wdl_accuracy is not None:
        judged["win/draw/loss wrong"] = 1 - groups["all"].wdl_accuracy
    return judged


def play(folder: Path, given: dict[str, Any], init: Path | None) -> None:
    """Plays one run to its end."""
    if (folder / "config.json").exists():
        self_play(read_config(folder), folder, resume=True, stream=None)
    else:
        network = None if init is None else load_checkpoint(init)[0]
        self_play(settled(given), folder, init=network, stream=None)
    print(folder.name, file=sys.stderr, flush=True)


def judge_run(folder: Path, judge: Judge) -> None:
    """Grades every network of a run, unless that was done before."""
    if (folder / TRUTH).exists():
        return
    networks = [load_checkpoint(path)[0] for path in checkpoints_in(folder / "checkpoints")]
    evaluators = [NetworkEvaluator(network) for network in networks]
    truth = {
        "learning": [figures(judge(evaluator, None)) for evaluator in evaluators],
        "searched": figures(judge(evaluators[-1], JUDGING_SIMS)),
    }
    write_atomically(folder / TRUTH, (json.dumps(truth, indent=1) + "\n").encode())


# ---- report ---------------------------------------------------------------------------

ALL = "blunders, all"
COLUMNS = {
    ALL: "blunders",
    "blunders, first": "first player",
    "blunders, second": "second player",
    "blunders, win": "won positions",
    "blunders, draw": "drawn positions",
    "lost sooner than need be": "lost too soon",
    "win/draw/loss wrong": "win/draw/loss wrong",
}


class Results:
    """The judged runs of one game, from zero or from one checkpoint."""

    def __init__(self, runs: Path, game: str, init: Path | None, seeds: list[int]) -> None:
        self._begun, self._seeds = (runs, game, init), seeds

    def folders(self, variant: str) -> list[Path]:
        folders = [folder_of(*self._begun, variant, seed) for seed in self._seeds]
        return [folder for folder in folders if (folder / TRUTH).exists()]

    def truths(self, variant: str) -> list[dict[str, Any]]:
        return [json.loads((folder / TRUTH).read_text()) for folder in self.folders(variant)]

    def answered(self) -> dict[str, list[str]]:
        """The questions for which more than the base was played, with their variants."""
        played = {q: [v for v in variants if self.folders(v)] for q, variants in QUESTIONS.items()}
        return {question: variants for question, variants in played.items() if len(variants) > 1}


def starved(folder: Path) -> list[float]:
    """The share of nodes with an untried move whose FPU, unclamped, is below -1; by side."""
    games = [line.games for line in read_iterations(folder) if line.games is not None]
    met = np.array([game.starved for game in games], float).sum(axis=0)
    among = np.array([game.open for game in games], float).sum(axis=0)
    return [float(share) for share in met / np.maximum(among, 1)]


def spread(values: list[float]) -> str:
    return f"{np.mean(values):.2%} ({min(values):.2%} – {max(values):.2%})"


def report(results: Results) -> str:
    lines = []
    heads = ["variant", *COLUMNS.values(), f"blunders with {JUDGING_SIMS} sims", "starved X / Y"]
    for question, variants in results.answered().items():
        lines += [f"### {question}", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        for variant in variants:
            truths = results.truths(variant)
            cells = [spread([truth["learning"][-1][name] for truth in truths]) for name in COLUMNS]
            cells.append(spread([truth["searched"][ALL] for truth in truths]))
            share = np.mean([starved(folder) for folder in results.folders(variant)], axis=0)
            cells.append(f"{share[0]:.2%} / {share[1]:.2%}")
            lines.append(f"| {variant} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def draw(results: Results, png: Path) -> None:
    """Blunders by iteration, one panel per question; thin lines are seeds, thick ones means."""
    plt, answered = pyplot(), results.answered()
    figure, axes = plt.subplots(
        1, len(answered), figsize=(4.5 * len(answered), 5), sharex=True, sharey=True, squeeze=False
    )
    for axis, (question, variants) in zip(axes[0], answered.items(), strict=True):
        for colour, variant in enumerate(variants):
            runs = [
                [judged[ALL] for judged in truth["learning"]] for truth in results.truths(variant)
            ]
            y = np.array(runs)
            axis.plot(y.T, color=f"C{colour}", alpha=0.25, linewidth=1)
            axis.plot(y.mean(axis=0), color=f"C{colour}", linewidth=2, label=variant)
        axis.set_title(question)
        axis.set_yscale("log")
        for set_formatter in (axis.yaxis.set_major_formatter, axis.yaxis.set_minor_formatter):
            set_formatter(lambda share, _: f"{100 * share:.3g} %")
        axis.grid(alpha=0.3, which="both")
        axis.legend()
        axis.set_xlabel("iteration")
    axes[0][0].set_ylabel("share of moves that lose the result")
    figure.tight_layout()
    save_png(figure, png)


def rate_by(game: str, data: Path, sample: int) -> equal_time.Rate:
    """The judge of this game, for players of any kind."""
    if game == CONNECT4:
        sets = labelled_sets([], None, 1, data)
        return lambda player: grade_connect4(player, sets).together.group().blunder_rate or 0.0
    if game == GOMOKU:
        return rate_by_forced_wins
    table = open_table(data, RULES)

    def rate(player: Player) -> float:
        return (
            grade(CanonicalPlayer(player), table, sample=sample, seed=1).overall.blunder_rate or 0.0
        )

    return rate


def rate_by_forced_wins(player: Player) -> float:
    """The share of forced wins, on a sample of random play, that are missed or not stopped."""
    assert isinstance(player.game, Gomoku)
    with GomokuJudge(player.game.rows) as judge:
        sample = random_positions(player.game, FORCED_SAMPLE, 1)
        return grade_gomoku(player, [sample], judge).together.blunder_rate


def measured(trial: equal_time.Trial, given: argparse.Namespace) -> dict[str, Any]:
    """Plays a trial to its end and judges it."""
    folder = trial.folder(given.runs)
    play(folder, trial.options(given.processes), None)
    rate = rate_by(given.game, given.data, given.sample)
    return equal_time.rated(trial, folder, given.sims, rate)


def at_equal_time(given: argparse.Namespace) -> None:
    """Plays, judges and prints the tricks, each with every seed."""
    variants = given.only or list(equal_time.TRICKS)
    trials = [
        equal_time.Trial(given.game, variant, seed, given.minutes)
        for seed in given.seeds
        for variant in variants
    ]
    path = given.runs / equal_time.RESULTS
    unjudged = [trial for trial in trials if not equal_time.results_of([trial], path)]
    rate_by(given.game, given.data, given.sample)  # labels what is not labelled yet, once
    with ProcessPoolExecutor(given.processes, multiprocessing.get_context("spawn")) as crew:
        for job in as_completed([crew.submit(measured, trial, given) for trial in unjudged]):
            equal_time.keep(job.result(), path)
    text = equal_time.table(equal_time.results_of(trials, path), given.level)
    write_atomically(given.runs / equal_time.TABLE, text.encode())
    print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", choices=equal_time.RECIPES, default=CONNECT4)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--runs", type=Path, default=Path("runs/experiments"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", nargs="+", choices=[*VARIANTS, *equal_time.TRICKS])
    parser.add_argument("--minutes", type=float, help="Equal time: minutes per run.")
    parser.add_argument("--sims", type=int, default=JUDGING_SIMS, help="Equal time: of the judge.")
    parser.add_argument("--level", type=float, default=0.1, help="Equal time: blunders to reach.")
    parser.add_argument("--sample", type=int, default=10_000, help="Positions (drop-oldest).")
    parser.add_argument("--iterations", type=int, help="Iterations per run, if not the base's.")
    parser.add_argument("--init", type=Path, help="Start every run from this checkpoint.")
    parser.add_argument("--processes", type=int, help="Runs at the same time: 2, or 1.")
    parser.add_argument("--png", type=Path)
    given = parser.parse_args()
    given.processes = given.processes or (2 if given.minutes is None else 1)
    given.runs.mkdir(parents=True, exist_ok=True)
    variants = VARIANTS if given.minutes is None else equal_time.TRICKS
    if wrong := sorted(set(given.only or []) - set(variants)):
        parser.error(f"--only {wrong[0]}: use some of {', '.join(variants)}")
    if given.minutes is not None:
        at_equal_time(given)
        return
    if given.game not in BY_GAME:
        parser.error(f"--game {given.game}: only at equal time, with --minutes")
    judge = table_judge(given.data, given.sample) if given.game == DROP else sets_judge(given.data)
    shape_or_rate = BY_GAME[given.game] if given.init is None else FROM_TRAINED
    base = {"game": given.game, **BASE, **shape_or_rate}
    if given.iterations is not None:
        base["iterations"] = given.iterations
    runs = [
        (folder_of(given.runs, given.game, given.init, variant, seed), variant, seed)
        for seed in given.seeds
        for variant in given.only or VARIANTS
    ]
    with ProcessPoolExecutor(given.processes, multiprocessing.get_context("spawn")) as crew:
        jobs = [
            crew.submit(play, folder, {**base, **VARIANTS[variant], "seed": seed}, given.init)
            for folder, variant, seed in runs
        ]
        for job in jobs:
            job.result()
    for folder, _, _ in runs:
        judge_run(folder, judge)
    results = Results(given.runs, given.game, given.init, given.seeds)
    print(report(results))
    if given.png is not None:
        draw(results, given.png)


if __name__ == "__main__":
    main()
