"""Folders that are not what they should be: one line that says what is wrong, nothing lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import run_cli
from tiny_self_play import TINY, tiny
from workers_here import WorkersHere

import azfit.self_play.loop as module
from azfit.network import Network
from azfit.self_play import run_folder
from azfit.self_play.episode import EpisodeFile, frames
from azfit.self_play.loop import self_play
from azfit.self_play.training import Trainer
from solver.errors import FadefourError, InputError, NoRoomError


@pytest.fixture(autouse=True)
def without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Workers", WorkersHere)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one iteration to go. Read only."""
    folder = tmp_path_factory.mktemp("run_folder") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "Workers", WorkersHere)
        self_play(tiny(iterations=2), folder, stream=None)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"iterations": 3}))
    return folder


def emptied(path: Path) -> Path:
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()
    return path


def as_folder(path: Path) -> None:
    emptied(path).mkdir()


def as_circle(path: Path) -> None:
    """A link to itself: it is there and cannot be opened, by any user."""
    emptied(path).symlink_to(path.name)


def as_file(path: Path) -> None:
    emptied(path).write_text("x")


def missing(path: Path) -> None:
    emptied(path)


def written(data: bytes) -> Callable[[Path], None]:
    return lambda path: emptied(path).write_bytes(data) and None


DEEP = written(b"[" * 200_000)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("config.json", as_folder, "it is a folder"),
        ("config.json", as_circle, "Too many levels"),
        ("config.json", DEEP, "nested too deeply"),
        ("config.json", written(b'{"sims": {"a": [' + b"1," * 500 + b"1]}}"), "whole number"),
        ("config.json", written(b'{"sims": 1%s}' % (b"0" * 30)), "from 1 to 1000000"),
        ("config.json", written(b'{"batch": 5}'), "unknown option 'batch'"),
        ("config.json", written(b'[{"sims": 5}]'), "not a list of options"),
        ("metrics.jsonl", as_folder, "it is a folder|not a file"),
        ("metrics.jsonl", as_circle, "Too many levels"),
        ("metrics.jsonl", written(b"[" * 200_000 + b"\n"), "line 1"),
        ("metrics.jsonl", written(b'{"iteration": "x"}\n'), "line 1"),
        ("resume.safetensors", as_folder, "folder|directory"),
        ("resume.safetensors", DEEP, "--init"),
        ("resume.safetensors", missing, "is missing"),
        ("init.safetensors", as_folder, "folder|directory"),
        ("best.safetensors", as_folder, "it is a folder"),
        ("games", as_file, "File exists|Not a directory"),
        ("games/000001.games", as_folder, "folder|directory"),
        ("games/000002.games", as_folder, "folder|directory"),
        ("checkpoints", as_file, "Not a directory|File exists"),
        ("tensorboard", as_file, "File exists|Not a directory"),
    ],
)
def test_a_run_that_cannot_go_on_says_why_and_keeps_what_there_is(
    stopped: Path, tmp_path: Path, name: str, change: Callable[[Path], None], words: str
) -> None:
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    change(folder / name)
    before = contents(folder)
    ended = run_cli("self-play", "--run", folder, "--resume", "--json")
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert str(folder / name) in line and len(line) < 400
    assert any(word in line for word in words.split("|")), line
    kept = contents(folder)
    assert all(kept[path] == data for path, data in before.items() if "tensorboard" not in path)


def contents(folder: Path) -> dict[str, bytes]:
    """The files as they are, but for those that every start writes anew."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("best")
    }


LONG = "x" * 300


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (LONG, "File name too long"),
        (f"{LONG}/run", "File name too long"),
        ("file", "is a file"),
        ("file/run", "Not a directory"),
        ("circle", "Too many levels"),
        ("circle/run", "Too many levels"),
    ],
)
@pytest.mark.parametrize("resume", [False, True])
def test_a_place_where_no_run_can_be_is_named(
    tmp_path: Path, place: str, words: str, resume: bool
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "circle").symlink_to("circle")
    options = ["--resume"] if resume else ["--n", 3, "--m", 3, "--iterations", 1]
    ended = run_cli("self-play", "--run", tmp_path / place, *options)
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert words in line and str(tmp_path) in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["circle", "file"]


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (errno.ENOSPC, NoRoomError, "free some disk"),
        (errno.EDQUOT, NoRoomError, "free some disk"),
        (errno.EACCES, InputError, "fixed"),
        (errno.EROFS, InputError, "fixed"),
        (errno.EIO, InputError, "fixed"),
    ],
)
def test_a_disk_that_fails_is_not_always_a_full_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[Any], words: str
) -> None:
    def fails(file: EpisodeFile, frame: bytes) -> None:
        raise OSError(code, os.strerror(code), "some/file")

    with monkeypatch.context() as patch:
        patch.setattr(EpisodeFile, "append", fails)
        with pytest.raises(kind) as raised:
            self_play(tiny(), tmp_path / "run", stream=None)
    message = str(raised.value)
    assert "'some/file'" in message and os.strerror(code) in message and words in message
    assert "--resume" in message and "remove" not in message and "\n" not in message
    assert ("disk" in message) == (kind is NoRoomError)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 1 TB"),
    ],
)
def test_too_little_memory_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: Any) -> None:
        raise error

    monkeypatch.setattr(Trainer, "step", fails)
    with pytest.raises(NoRoomError, match=r"not enough memory.*--buffer"):
        self_play(tiny(), tmp_path / "run", stream=None)


def test_other_errors_stay_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("in a worker:\nTraceback")

    monkeypatch.setattr(Trainer, "step", fails)
    with pytest.raises(RuntimeError, match="in a worker"):
        self_play(tiny(), tmp_path / "run", stream=None)


def test_a_network_that_does_not_fit_is_refused_before_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights of 4 bytes: 5 copies in training, 2 in each worker."""
    config = tiny(game="connect4", kind="tower", width=64, blocks=4, max_plies=42)
    need = 4 * 7 * Network(config.network).parameter_count
    monkeypatch.setattr(run_folder, "available_memory", lambda: need - 1)
    with pytest.raises(NoRoomError, match=r"4 blocks of width 64 need at least 0\.0 GB"):
        self_play(config, tmp_path / "run", stream=None)
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr(run_folder, "available_memory", lambda: need)
    run_folder.check_memory(config)


@pytest.mark.parametrize("kept", [0, 1, 4])
def test_a_file_that_lost_whole_games_is_named(stopped: Path, tmp_path: Path, kept: int) -> None:
    """The run went on without them, as if they had never been played."""
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    path = folder / "games" / "000001.games"
    with open(path, "rb") as source:
        ends = [0, *(end for end, _ in frames(source))]
    os.truncate(path, ends[kept])
    ended = run_cli("self-play", "--run", folder, "--resume", "--json")
    assert (ended.code, ended.out) == (2, "")
    assert f"'{path}' has {kept} of the 5 games" in ended.err and "remove it" in ended.err
    path.unlink()
    assert run_cli("self-play", "--run", folder, "--resume", "--json").code == 0


def test_a_lost_state_does_not_start_the_run_over(stopped: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    (folder / "resume.safetensors").unlink()
    with pytest.raises(FadefourError, match=r"resume\.safetensors' is missing.*--init"):
        self_play(tiny(**TINY | {"iterations": 3}), folder, resume=True, stream=None)
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 2
