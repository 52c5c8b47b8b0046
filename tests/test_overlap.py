"""--overlap: the next games are played meanwhile, by a network that the run's history decides."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_self_play import assert_same_run, lines_of, tiny
from workers_here import PoolHere, WorkersHere

from azfit.checkpoint import load_checkpoint
from azfit.games import game_by_name
from azfit.inference import NetworkEvaluator
from azfit.self_play import loop
from azfit.self_play.episode import read_episodes
from azfit.self_play.loop import self_play
from azfit.self_play.play_games import play_games
from solver.errors import FadefourError

CONFIG = tiny(overlap=True, iterations=5, buffer=10_000, keep=1, cache=False, seed=2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("overlap") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "Workers", WorkersHere)
        self_play(CONFIG, folder, stream=None)
    return folder


def test_each_iteration_is_played_by_the_best_before_the_last_match(whole: Path) -> None:
    """Played once more from the networks on disk, without the loop."""
    lines, game = lines_of(whole), game_by_name(CONFIG.game)
    assert {line["accepted"] for line in lines[:-1]} == {True, False}
    best = [0]  # after each number of iterations: the one whose candidate is the best
    for i, line in enumerate(lines):
        best.append(i + 1 if line["accepted"] else best[-1])
    for iteration in range(len(lines)):
        player = best[max(0, iteration - 1)]
        network, _ = load_checkpoint(whole / "checkpoints" / f"step-{player:09d}.safetensors")
        games = play_games(
            game,
            NetworkEvaluator(network.eval(), "torch", threads=1),
            replace(CONFIG.search_config, max_steps=float(network.config.max_plies)),
            range(CONFIG.games_per_iteration),
            seed=CONFIG.seed,
            iteration=iteration,
            parallel=1,
        )
        path = whole / "games" / f"{iteration:06d}.games"
        stored = {episode.number: episode.to_bytes() for episode in read_episodes(path, game)}
        assert {episode.number: episode.to_bytes() for episode in games} == stored
    assert len(list((whole / "games").iterdir())) == CONFIG.iterations, "games of no iteration"


def test_the_games_are_played_while_the_master_learns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, learn, seen = tmp_path / "run", loop.learn, []

    def learn_and_look(state: Any, log: Any) -> None:
        path = run / "games" / f"{state.iteration + 1:06d}.games"
        if state.iteration + 1 < 5:
            deadline = time.monotonic() + 60
            while not path.exists() or len(read_episodes(path, state.game)) < 5:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            seen.append(state.iteration)
        learn(state, log)

    monkeypatch.setattr(loop, "Workers", WorkersHere)
    monkeypatch.setattr(loop, "learn", learn_and_look)
    self_play(CONFIG, run, stream=None)
    assert seen == [0, 1, 2, 3]


@pytest.mark.parametrize("phase", ["play", "learn", "evaluate", "decide"])
@pytest.mark.parametrize("stop", [1, 3])
def test_a_run_that_is_stopped_in_any_phase_resumes_to_the_same_end(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str, stop: int
) -> None:
    monkeypatch.setattr(loop, "Workers", WorkersHere)
    real = getattr(loop, phase)

    def interrupted(run: Any, *arguments: Any) -> None:
        if run.iteration == stop:
            raise KeyboardInterrupt
        real(run, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(loop, phase, interrupted)
        with pytest.raises(KeyboardInterrupt):
            self_play(CONFIG, tmp_path / "run", stream=None)
    assert not any(thread.name.endswith("(_play)") for thread in threading.enumerate())
    if phase == "play":  # as if none of its games had ended before the match that came before it
        (tmp_path / "run" / "games" / f"{stop:06d}.games").unlink(missing_ok=True)
    self_play(CONFIG, tmp_path / "run", resume=True, stream=None)
    assert_same_run(tmp_path / "run", whole)


def test_worker_processes_play_the_same_run(whole: Path, tmp_path: Path) -> None:
    self_play(CONFIG, tmp_path / "run", stream=None)
    assert_same_run(tmp_path / "run", whole)


def test_an_error_in_the_games_ahead_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(WorkersHere):
        def play_games(self, numbers: Any, iteration: int, network: str) -> Any:
            job = super().play_games(numbers, iteration, network)
            if iteration == 2:
                raise FadefourError("no more games")
            if iteration == 1:
                monkeypatch.setattr(PoolHere, "begin", failing)
            return job

    def failing(*_: Any) -> Any:
        raise FadefourError("no more workers")

    monkeypatch.setattr(loop, "Workers", Failing)
    with pytest.raises(FadefourError, match="no more"):
        self_play(CONFIG, tmp_path / "run", stream=None)


def test_with_minutes_the_games_that_are_not_needed_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "Workers", WorkersHere)
    run = self_play(
        tiny(overlap=True, iterations=None, minutes=0.02, buffer=10_000),
        tmp_path / "run",
        stream=None,
    )
    names = sorted(path.name for path in (tmp_path / "run" / "games").iterdir())
    assert names == [f"{iteration:06d}.games" for iteration in range(run.iteration)]
