"""What --overlap gains in games per hour, and what it does to strength, judged exactly.

``python bench/overlap.py --data DIR [--game connect4] [--seeds 1 2] [--games 100] [--cluster
local]``: the same run with and without, in turn, then the share of moves that lose the result, for
the networks of all iterations; in the end the means over all seeds. With ``--no-judge`` only the
games per hour. drop-3-3-3 is judged by the table in ``--data`` on every position (``fadefour solve
--n 3 --m 3 --table-only``), Connect Four by the solver on the sets of ``fadefour grade``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from azfit.checkpoint import load_checkpoint
from azfit.checkpoint_header import checkpoints_in
from azfit.drop_oldest_players import CanonicalPlayer
from azfit.grading.connect4.grade import grade_connect4
from azfit.grading.connect4.labels import labelled_sets
from azfit.grading.grade import grade
from azfit.inference import NetworkEvaluator
from azfit.players import NetworkPlayer
from azfit.self_play.config import settled
from azfit.self_play.iteration import read_iterations
from azfit.self_play.loop import self_play
from solver import Rules, open_table

SMALL, CONNECT4 = "drop-3-3-3", "connect4"

# As bench/experiments.py: every network is kept and judged, so there is no gate.
BASE: dict[str, Any] = {
    "games_per_iteration": 100,
    "sims": 60,
    "replay_ratio": 0.5,
    "epochs": 1,
    "dropout": 0.0,
    "policy_lr_scale": 1.0,
    "gate": False,
    "eval_games": 20,
    "pool_games": 0,
    "keep": 1000,
    "workers": 1,
    "threads": 1,
}
BY_GAME: dict[str, dict[str, Any]] = {
    SMALL: {"sims": 50, "width": 64, "replay_ratio": 1.0, "epochs": 2, "batch_size": 128},
    CONNECT4: {"width": 32, "blocks": 2},
}


def blunder_rates(run: Path, game: str, data: Path) -> list[float]:
    """Of the network after each iteration."""
    rates = []
    for path in checkpoints_in(run / "checkpoints")[1:]:
        network, _ = load_checkpoint(path)
        player = NetworkPlayer(network.game, NetworkEvaluator(network))
        if game == CONNECT4:
            rate = grade_connect4(player, labelled_sets([], None, 1, data)).together.groups()["all"]
            rates.append(rate.blunder_rate or 0.0)
        else:
            with open_table(data, Rules(3, 3, 3)) as table:
                rates.append(grade(CanonicalPlayer(player), table).overall.blunder_rate or 0.0)
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", choices=BY_GAME, default=CONNECT4)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--games", type=int, default=100, help="Games per iteration.")
    parser.add_argument("--sims", type=int, help="Simulations per move, if not the game's.")
    parser.add_argument("--cluster", help="Workers on Ray.")
    parser.add_argument("--no-judge", action="store_true")
    given = parser.parse_args()
    base = {"game": given.game, **BASE, **BY_GAME[given.game], "iterations": given.iterations}
    base["games_per_iteration"] = given.games
    if given.sims is not None:
        base["sims"] = given.sims
    where = "Ray" if given.cluster else "processes"
    rates_of: dict[bool, list[float]] = {False: [], True: []}
    hourly_of: dict[bool, list[float]] = {False: [], True: []}
    for seed in given.seeds:
        for overlap in (False, True):
            config = settled({**base, "seed": seed, "overlap": overlap})
            with tempfile.TemporaryDirectory() as folder:
                run = Path(folder) / "run"
                self_play(config, run, stream=None, cluster=given.cluster)
                # Without the start of workers: from the first to the last line of metrics.jsonl.
                lines = read_iterations(run)
                rates = [] if given.no_judge else blunder_rates(run, given.game, given.data)
            seconds = lines[-1].seconds - lines[0].seconds
            hourly = (given.iterations - 1) * base["games_per_iteration"] / seconds * 3600
            hourly_of[overlap].append(hourly)
            line = (
                f"{given.game} on {where}, seed {seed} {'overlap' if overlap else 'plain  '}: "
                f"{seconds:.1f} s, {hourly:,.0f} games/hour"
            )
            if rates:
                rates_of[overlap].append(sum(rates[-3:]) / 3)
                shown = " ".join(f"{rate:.2%}" for rate in rates)
                line += f"; blunders {shown}; mean of the last three {rates_of[overlap][-1]:.2%}"
            print(line, flush=True)
    gains = [o / p for p, o in zip(hourly_of[False], hourly_of[True], strict=True)]
    line = (
        f"{given.game} on {where}, {len(gains)} seeds: games per hour with / without, median "
        f"{statistics.median(gains):.2f}"
    )
    if worse := [o - p for p, o in zip(rates_of[False], rates_of[True], strict=True)]:
        spread = statistics.stdev(worse) / len(worse) ** 0.5 if len(worse) > 1 else float("nan")
        line += (
            f"; blunders with - without, mean {statistics.mean(worse):+.2%} "
            f"(standard error {spread:.2%})"
        )
    print(line)


if __name__ == "__main__":
    main()
