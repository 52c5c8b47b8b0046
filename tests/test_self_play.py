"""The loop of self-play: budget, resume from any point, what the folder holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_self_play import (
    TINY,
    assert_same_run,
    best_of,
    final_state,
    lines_of,
    same,
    tiny,
    weights,
)
from workers_here import WorkersHere

import azfit.self_play.loop as module
from azfit.checkpoint import load_checkpoint, save_checkpoint
from azfit.checkpoint_header import checkpoints_in
from azfit.games import game_by_name
from azfit.network import Network, NetworkConfig
from azfit.self_play import evaluation, run_folder
from azfit.self_play.config_sources import read_config
from azfit.self_play.episode import EpisodeFile, read_episodes
from azfit.self_play.iteration_log import IterationLog
from azfit.self_play.loop import iterations, self_play
from azfit.self_play.replay import ReplayBatch
from azfit.self_play.state import SelfPlayRun
from azfit.self_play.training import Trainer
from solver.errors import CorruptTableError, FadefourError, InputError, NoRoomError
from solver.storage import writing_in

GAME = game_by_name("drop-3-3-3")


@pytest.fixture(autouse=True)
def without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Workers", WorkersHere)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted. Read only."""
    folder = tmp_path_factory.mktemp("self_play") / "whole"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "Workers", WorkersHere)
        self_play(tiny(), folder, stream=None)
    return folder


# ---- what a run is -------------------------------------------------------------------


def test_n_iterations_mean_n(whole: Path) -> None:
    lines = lines_of(whole)
    assert [line["iteration"] for line in lines] == [1, 2, 3, 4]
    assert final_state(whole)[1]["iteration"] == 4
    for line in lines:
        assert line["games"]["played"] == TINY["games_per_iteration"]
        assert line["match"]["games"] == TINY["eval_games"]
    assert {line["accepted"] for line in lines} == {True, False}, "the test sees one case only"


def test_a_finished_run_resumes_to_nothing_more(whole: Path, tmp_path: Path) -> None:
    import shutil

    again = Path(shutil.copytree(whole, tmp_path / "again"))
    run = self_play(read_config(again), again, resume=True, stream=None)
    assert run.iteration == 4
    assert_same_run(whole, again)


def test_a_seed_repeats_a_run_and_another_does_not(whole: Path, tmp_path: Path) -> None:
    self_play(tiny(), tmp_path / "same", stream=None)
    assert_same_run(whole, tmp_path / "same")
    large = 2**63 - 1
    other = self_play(tiny(seed=large, iterations=1), tmp_path / "other", stream=None)
    assert other.iteration == 1
    assert lines_of(tmp_path / "other")[0]["games"] != lines_of(whole)[0]["games"]


def test_the_folder_stores_what_was_used(whole: Path) -> None:
    assert read_config(whole) == tiny()
    stored = json.loads((whole / "config.json").read_text())
    assert stored["sims"] == 5 and stored["c_init"] == 1.4
    network, about = load_checkpoint(whole / "best.safetensors", "drop-3-3-3")
    accepted = [line["iteration"] for line in lines_of(whole) if line["accepted"]]
    assert about["iteration"] == accepted[-1]
    latest = load_checkpoint(checkpoints_in(whole / "checkpoints")[-1])[0]
    assert same(weights(network), weights(latest))
    names = [path.stem for path in checkpoints_in(whole / "checkpoints")]
    assert names == [f"step-{iteration:09d}" for iteration in (0, *accepted)]
    assert not list(whole.glob("**/*.writing"))


def test_outcomes_in_the_metrics_are_those_of_the_games(whole: Path) -> None:
    lines = lines_of(whole)
    for path in sorted((whole / "games").iterdir()):
        games = lines[int(path.stem)]["games"]
        winners = [episode.winner for episode in read_episodes(path, GAME)]
        counted = [winners.count(winner) for winner in (0, 1, -1)]
        assert counted == [games["first_wins"], games["second_wins"], games["draws"]]
        assert games["positions"] == sum(episode.plies for episode in read_episodes(path, GAME))


def test_game_files_are_kept_as_long_as_their_positions_are(whole: Path) -> None:
    files = sorted((whole / "games").iterdir())
    sizes = [sum(episode.plies for episode in read_episodes(path, GAME)) for path in files]
    assert files[-1].name == "000003.games"
    assert len(files) < 4, "nothing was removed: the test sees too little"
    assert sum(sizes) >= TINY["buffer"], "removed too early"
    assert sum(sizes[1:]) < TINY["buffer"], "the oldest file is needed no more"


def test_a_budget_in_minutes_finishes_the_iteration_under_way() -> None:
    class Run:
        iteration, phase, budget_spent = 0, "play", 0.5
        has_more = SelfPlayRun.has_more

    run = Run()
    ended = []
    for number in iterations(run):  # type: ignore[arg-type]
        ended.append(number)
        run.iteration += 1
        run.budget_spent += 0.3
    assert ended == [0, 1]
    run.phase = "match"  # resumed when the time is over, with the match still to be played
    assert next(iterations(run)) == 2  # type: ignore[arg-type]


# ---- resume --------------------------------------------------------------------------


def stop(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int, after: bool = False
) -> None:
    """Ctrl-C before or after the call-th call of a function."""
    real, calls = getattr(owner, name), 0

    def stopping(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call and not after:
            raise KeyboardInterrupt
        result = real(*arguments, **named)
        if calls == call:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, name, stopping)


POINTS: dict[str, tuple[Any, str, int, bool]] = {
    "before anything is saved": (SelfPlayRun, "save_best", 1, False),
    "before the first state is saved": (SelfPlayRun, "save", 1, False),
    "before the first game": (module, "play", 1, False),
    "after three games": (EpisodeFile, "append", 3, True),
    "in a game of the third iteration": (EpisodeFile, "append", 12, False),
    "before training": (module, "learn", 2, False),
    "in training": (Trainer, "step", 9, True),
    "after training": (module, "learn", 3, True),
    "before the match": (module, "evaluate", 3, False),
    "between matches": (evaluation, "play_match", 4, True),
    "after the match": (module, "evaluate", 2, True),
    "after the decision": (module, "decide", 2, True),
    "after the line of metrics": (IterationLog, "write", 3, True),
    "before the state is saved": (SelfPlayRun, "save", 5, False),
    "after the state is saved": (SelfPlayRun, "save", 5, True),
    "after the best is saved": (SelfPlayRun, "save_best", 3, True),
    "before the last files are removed": (SelfPlayRun, "tidy", 4, False),
    "at the very end": (SelfPlayRun, "tidy", 4, True),
}


@pytest.mark.parametrize("point", POINTS)
def test_a_run_stopped_anywhere_resumes_to_the_same_end(
    whole: Path, tmp_path: Path, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        stop(patch, *POINTS[point])
        with pytest.raises(KeyboardInterrupt):
            self_play(tiny(), folder, stream=None)
    kept = (folder / "games").glob("*.games")
    before = {path.name: path.read_bytes() for path in kept}
    self_play(read_config(folder), folder, resume=True, stream=None)
    assert_same_run(whole, folder)
    for name, data in before.items():
        now = folder / "games" / name
        assert not now.exists() or now.read_bytes().startswith(data), "a finished game was lost"


def test_a_run_stopped_after_its_last_state_still_gets_its_last_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, config = tmp_path / "run", tiny(iterations=1, gate=False)
    with monkeypatch.context() as patch:
        stop(patch, SelfPlayRun, "save_best", 2)
        with pytest.raises(KeyboardInterrupt):
            self_play(config, folder, stream=None)
    run = self_play(config, folder, resume=True, stream=None)
    assert run.pool[-1][0] == run.iteration == 1
    network, about = load_checkpoint(folder / "best.safetensors")
    assert about["iteration"] == 1
    assert same(weights(network), weights(run.best))
    assert run.best_path(1).exists()


def test_a_torn_game_is_played_again(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        stop(patch, EpisodeFile, "append", 8, True)
        with pytest.raises(KeyboardInterrupt):
            self_play(tiny(), folder, stream=None)
    path = folder / "games" / "000001.games"
    path.write_bytes(path.read_bytes()[:-7])
    self_play(tiny(), folder, resume=True, stream=None)
    assert_same_run(whole, folder)


def test_a_match_that_ends_otherwise_when_repeated_leaves_no_other_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounding may differ on another machine; then the network of the folder must not be that of
    the match which does not count."""
    folder, gate_open = tmp_path / "run", tiny(iterations=1, accept=0.0)
    with monkeypatch.context() as patch:
        stop(patch, IterationLog, "write", 1, True)
        with pytest.raises(KeyboardInterrupt):
            self_play(gate_open, folder, stream=None)
    real = module.evaluate

    def lost(run: SelfPlayRun, *arguments: Any) -> None:
        real(run, *arguments)
        run.line = replace(run.line, match=replace(run.line.match, score=-1.0))

    monkeypatch.setattr(module, "evaluate", lost)
    run = self_play(gate_open, folder, resume=True, stream=None)
    assert [line["accepted"] for line in lines_of(folder)] == [False]
    assert same(weights(load_checkpoint(folder / "best.safetensors")[0]), weights(run.best))
    assert len(checkpoints_in(folder / "checkpoints")) == 1


def test_a_full_disk_is_one_line_and_the_run_goes_on_later(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    real, calls = EpisodeFile.append, 0

    def full(file: EpisodeFile, frame: bytes) -> None:
        nonlocal calls
        calls += 1
        if calls == 7:
            raise OSError(28, "No space left on device")
        real(file, frame)

    with monkeypatch.context() as patch:
        patch.setattr(EpisodeFile, "append", full)
        with pytest.raises(NoRoomError, match=r"No space left on device.*--resume"):
            self_play(tiny(), folder, stream=None)
    self_play(tiny(), folder, resume=True, stream=None)
    assert_same_run(whole, folder)


def test_the_buffer_of_a_resumed_run_is_the_same_by_age(whole: Path, tmp_path: Path) -> None:
    run = self_play(tiny(), tmp_path / "run", stream=None)
    resumed = SelfPlayRun(tiny(), tmp_path / "run")
    resumed.load()
    assert resumed.games.buffer.size == run.games.buffer.size == TINY["buffer"]
    assert resumed.games.buffer.added != run.games.buffer.added
    for name in ("codes", "visits", "wdl", "left"):
        first, second = (
            getattr(b, name)[b.by_age] for b in (run.games.buffer, resumed.games.buffer)
        )
        assert np.array_equal(first, second)


# ---- the other games -----------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"game": "connect4", "balance_sampling": True, "backend": "auto"},
        {"game": "gomoku-9", "fpu_at_noised_root": False},
        {"game": "connect4", "prove": True, "full_share": 0.5, "full_sims": 30, "fast_sims": 4},
        {"game": "connect4", "search": "gumbel", "sims": 12, "ema": 0.9, "value_mix": 0.5},
        {"game": "connect4", "reply_weight": 0.15, "full_share": 0.5, "surprise_weight": 0.5},
    ],
    ids=["connect4", "gomoku", "proofs and caps", "gumbel", "replies"],
)
def test_the_loop_learns_other_games_and_resumes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    """With a tower, augmentation by the game's own symmetries, a stop before a match."""
    shape = {"kind": "tower", "width": 8, "max_plies": 30}
    config = tiny(iterations=2, **shape, **changes)
    run = self_play(config, tmp_path / "whole", stream=None)
    assert run.iteration == 2 and run.best.game.name == config.game
    assert all(line["games"]["played"] == 5 for line in lines_of(tmp_path / "whole"))
    assert not same(weights(run.candidate), weights(Network(config.network)))
    with monkeypatch.context() as patch:
        stop(patch, module, "evaluate", 2)
        with pytest.raises(KeyboardInterrupt):
            self_play(config, tmp_path / "stopped", stream=None)
    self_play(config, tmp_path / "stopped", resume=True, stream=None)
    assert_same_run(tmp_path / "whole", tmp_path / "stopped")


def test_a_loss_that_is_not_finite_ends_the_run_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverged(trainer: Trainer, batch: ReplayBatch) -> dict[str, float]:
        torch.nn.init.constant_(next(trainer.candidate.parameters()), float("nan"))
        return dict.fromkeys(("loss", "policy", "wdl", "steps"), float("nan"))

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "step", diverged)
        with pytest.raises(FadefourError, match=r"step 1 of iteration 1 is nan"):
            self_play(tiny(lr=5.0), tmp_path / "run", stream=None)
    tensors, _ = final_state(tmp_path / "run")
    assert all(tensor.isfinite().all() for tensor in tensors.values()), "nothing of it is kept"


# ---- a network to begin with ---------------------------------------------------------


def oracle_network(**changes: Any) -> Network:
    torch.manual_seed(9)
    shape = {"game": "drop-3-3-3", "width": 24, "blocks": 1, "max_plies": 14}
    return Network(NetworkConfig(**shape | changes)).eval()


def test_init_is_where_a_run_begins_also_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, init = tiny(iterations=1, width=None, blocks=None), oracle_network()
    self_play(config, tmp_path / "whole", init=init, stream=None)
    stored = load_checkpoint(tmp_path / "whole" / "checkpoints" / "step-000000000.safetensors")[0]
    assert same(weights(stored), weights(init))
    assert (read_config(tmp_path / "whole").width, stored.config.dropout) == (24, 0.2)
    for name in ("save_best", "save"):
        folder = tmp_path / name
        with monkeypatch.context() as patch:
            stop(patch, SelfPlayRun, name, 1)
            with pytest.raises(KeyboardInterrupt):
                self_play(config, folder, init=init, stream=None)
        self_play(read_config(folder), folder, resume=True, stream=None)
        assert_same_run(tmp_path / "whole", folder)


def test_a_run_stopped_before_its_config_is_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, config = tmp_path / "run", tiny(iterations=1)
    with monkeypatch.context() as patch:
        stop(patch, run_folder, "write_atomically", 1)
        with pytest.raises(KeyboardInterrupt):
            self_play(tiny(width=None), folder, init=oracle_network(), stream=None)
    with pytest.raises(InputError, match=r"has no config\.json"):
        read_config(folder)
    run = self_play(config, folder, stream=None)
    assert run.best.config.width == 16, "what the other run began with must not come in"


@pytest.mark.parametrize(
    ("init", "changes", "words"),
    [
        ({"game": "drop-4-4-4"}, {"width": None}, "plays drop-4-4-4, not drop-3-3-3"),
        ({}, {"width": 48}, "width=48"),
        ({"max_plies": 40}, {"width": None}, "max_plies=16"),
    ],
)
def test_an_init_that_does_not_fit_is_refused(
    tmp_path: Path, init: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        self_play(tiny(**changes), tmp_path / "run", init=oracle_network(**init), stream=None)
    assert not (tmp_path / "run").exists()


# ---- folders that are not what they should be ----------------------------------------


def damaged(whole: Path, folder: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    import shutil

    copy = Path(shutil.copytree(whole, folder))
    (copy / name).write_bytes(change((copy / name).read_bytes()))
    return copy


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("resume.safetensors", lambda data: data[:-1] + bytes([data[-1] ^ 1])),
        ("resume.safetensors", lambda data: data[: len(data) // 2]),
        ("resume.safetensors", lambda data: b""),
        ("games/000003.games", lambda data: data[:50] + b"xx" + data[52:]),
        ("metrics.jsonl", lambda data: b"\xff\xfe" + data),
        ("config.json", lambda data: b"[]"),
        ("config.json", lambda data: b"{"),
        ("config.json", lambda data: data.replace(b'"sims"', b'"simms"')),
    ],
)
def test_damaged_files_are_named(
    whole: Path, tmp_path: Path, name: str, change: Callable[[bytes], bytes]
) -> None:
    folder = damaged(whole, tmp_path / "run", name, change)
    with pytest.raises((CorruptTableError, InputError)) as raised:
        self_play(read_config(folder), folder, resume=True, stream=None)
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_state_of_another_network_is_refused(whole: Path, tmp_path: Path) -> None:
    text = json.dumps(json.loads((whole / "config.json").read_text()) | {"width": 17}).encode()
    folder = damaged(whole, tmp_path / "run", "config.json", lambda _: text)
    with pytest.raises(CorruptTableError, match="does not fit its run, or is of another version"):
        self_play(read_config(folder), folder, resume=True, stream=None)


def test_runs_are_not_mixed_up(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="already holds a run"):
        self_play(tiny(), whole, stream=None)
    with pytest.raises(InputError, match="another config"):
        self_play(tiny(sims=9), whole, resume=True, stream=None)
    with pytest.raises(InputError, match="not a self-play run"):
        self_play(tiny(), tmp_path / "nowhere", resume=True, stream=None)
    assert not (tmp_path / "nowhere").exists()


def test_one_process_at_a_time_writes_a_run(whole: Path, tmp_path: Path) -> None:
    import shutil

    folder = Path(shutil.copytree(whole, tmp_path / "run"))
    with writing_in(folder), pytest.raises(InputError, match="another fadefour is writing"):
        self_play(tiny(), folder, resume=True, stream=None)


def test_only_litter_of_ours_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / "notes").mkdir(parents=True)
    for name in ("notes/mine.writing", "mine.writing", ".fadefour-0.writing"):
        (folder / name).write_text("x")
    save_checkpoint(folder / "my_own.safetensors", oracle_network())
    self_play(tiny(iterations=1), folder, stream=None)
    assert (folder / "notes/mine.writing").exists()
    assert (folder / "my_own.safetensors").exists()
    assert (folder / "mine.writing").exists()
    assert not (folder / ".fadefour-0.writing").exists()
    assert best_of(folder)
