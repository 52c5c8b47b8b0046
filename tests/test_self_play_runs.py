"""Self-play as a user runs it: interrupted and killed, resumed; and 3 x 3 learned from zero."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import run_cli
from slow import slow
from tiny_self_play import TINY, assert_same_run, lines_of, tiny
from workers_here import WorkersHere

import azfit.self_play.loop as module
from azfit import SearchConfig, SearchPlayer, game_by_name
from azfit.drop_oldest_players import CanonicalPlayer
from azfit.grading.certify import certify
from azfit.grading.conversion import conversion
from azfit.inference import NetworkEvaluator
from azfit.network import Network
from azfit.self_play.config import settled
from azfit.self_play.episode import read_episodes
from azfit.self_play.loop import self_play
from solver import Position, Rules, open_table

ROOT = Path(__file__).resolve().parent.parent

# Iterations long enough to be hit in the middle.
LONGER = {"iterations": 3, "games_per_iteration": 8, "sims": 40}


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    """The command in a session of its own, as a terminal would start it."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "cli.py"), "self-play", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not condition():
        assert process.poll() is None, f"it ended too soon: {process.communicate()}"
        time.sleep(0.01)


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def wait_for_the_end_of(workers: list[int]) -> None:
    """Processes whose parent is gone end by themselves; as zombies, if nobody asks for them."""
    assert workers
    for pid in workers:
        stat = Path(f"/proc/{pid}/stat")
        while stat.exists():
            with contextlib.suppress(OSError):
                if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                    break
            time.sleep(0.05)


def games_in(path: Path) -> int:
    return len(read_episodes(path, game_by_name("drop-3-3-3"))) if path.exists() else 0


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for workers in /proc")
def test_a_run_interrupted_and_killed_resumes_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the first iteration, kill -9 in the second: as if nothing had happened."""
    monkeypatch.setattr(module, "Workers", WorkersHere)
    self_play(tiny(**LONGER), tmp_path / "whole", stream=None)

    run, options = tmp_path / "run", tmp_path / "options.toml"
    given = {"preset": "historical"} | TINY | LONGER
    text = {name: json.dumps(value) for name, value in given.items()}
    options.write_text("".join(f"{name} = {value}\n" for name, value in text.items()))
    first, second = (run / "games" / f"00000{number}.games" for number in range(2))

    process = start("--run", run, "--config", options)
    wait_until(lambda: games_in(first) >= 2, process)
    workers = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert [line for line in err.splitlines() if line][-2:] == [
        f"to continue: fadefour self-play --run {run} --resume",
        "fadefour: interrupted; what was finished is kept",
    ]
    wait_for_the_end_of(workers)
    assert 2 <= games_in(first) < 8, "it was not hit in the middle"
    kept = first.read_bytes()

    process = start("--run", run, "--resume")
    wait_until(lambda: games_in(second) >= 2, process)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    wait_for_the_end_of(workers)
    assert first.read_bytes().startswith(kept)
    assert games_in(second) < 8 and len(lines_of(run)) == 1, "it was not hit in the middle"

    ended = run_cli("self-play", "--run", run, "--resume", "--json")  # with workers of this process
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["iterations"] == 3
    assert_same_run(tmp_path / "whole", run)


# ---- from zero to perfect play -------------------------------------------------------

LEARN_3X3 = {
    "game": "drop-3-3-3",
    "iterations": 8,
    "games_per_iteration": 100,
    "sims": 50,
    "width": 64,
    "replay_ratio": 1.0,
    "epochs": 2,
    "batch_size": 128,
    "dropout": 0.0,
    "policy_lr_scale": 1.0,
    "gate": False,
    "eval_games": 2,
    "pool_games": 0,
    "workers": 1,
    "threads": 1,
    "backend": "torch",
}


@slow
def test_3x3_is_learned_from_zero_to_certified_perfect_play(
    solved33: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the first move the game is won: against every reply, in as few plies as can be. That a
    run from zero is proven unbeatable is also a test of docs/first_hour.md."""
    monkeypatch.setattr(module, "Workers", WorkersHere)
    rules = Rules(3, 3, 3)
    run = self_play(settled(LEARN_3X3), tmp_path / "run", stream=None)

    def player(network: Network) -> CanonicalPlayer:
        evaluator = NetworkEvaluator(network, "torch", 1)
        return CanonicalPlayer(SearchPlayer(network.game, evaluator, SearchConfig(sims=100)))

    with open_table(solved33, rules) as table:
        (proof,) = certify(player(run.best), "x")
        assert proof.kind == "unbeaten"
        won = conversion(player(run.best), table)
        depth = table.probe(Position.parse("-/- x", rules)).plies
        assert won.plies[0] == depth == 13
        assert won.converts > 0.9 * won.won
        # What search alone achieves with a network that has learned nothing:
        blank = player(Network(run.config.network).eval())
        assert conversion(blank, table).plies[0] == 0
