"""Every command that reads a file, with everything that can lie in a file's place.

One line that names the file, exit code 2 (1 where ``verify`` reports damage), no traceback, in
little memory and time; and the file stays as it is.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command_line import VARIANT33
from conftest import Outcome, run_cli
from limited_memory import run_with_memory
from tiny_self_play import tiny

from azfit.checkpoint import save_checkpoint
from azfit.network import Network, NetworkConfig
from azfit.self_play.loop import self_play

SETS = "connect4.txt"
MEMORY = 3 << 30  # searches set aside much of it without use
SMALL = NetworkConfig("drop-3-3-3", width=8, blocks=1)


@pytest.fixture(scope="module")
def inputs(solved33: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one good file of every kind that a command reads."""
    folder = tmp_path_factory.mktemp("inputs")
    shutil.copytree(solved33, folder / "data")
    save_checkpoint(folder / "net.safetensors", Network(SMALL))
    (folder / SETS).write_text("4444441 2\n")
    (folder / "options.toml").write_text("sims = 4\n")
    self_play(tiny(iterations=2), folder / "played", stream=None)
    training = ("train-from-oracle", "--run", folder / "trained", *VARIANT33, "--json")
    options = ("--steps", "4", "--batch", "16", "--width", "8", "--data", folder / "data")
    assert run_cli(*training, "--preset", "quick", *options).code == 0
    assert run_cli("certify", folder / "net.safetensors", *VARIANT33, "--as", "x").code in (0, 1)
    return folder


class Reader(NamedTuple):
    """A command, and the file that it reads and that is spoilt."""

    command: tuple[str, ...]
    file: str


TABLE = "data/solved_3x3_m3.table"
DATA = (*VARIANT33, "--data", "data")

READERS = {
    f"{command[0]} {file}": Reader(command, file)
    for command, files in {
        ("probe", "-/- x", *DATA): (TABLE, f"{TABLE}.json"),
        ("probe", "-/- x", *VARIANT33, "--table", TABLE, "--json"): (TABLE,),
        ("probe", "-/- x", *VARIANT33, "--table", "data/game_tree_3x3_m3.data"): (
            "data/game_tree_3x3_m3.data",
            "data/game_tree_3x3_m3.data.json",
        ),
        ("stats", *DATA): (TABLE, f"{TABLE}.json"),
        ("summary", *DATA): (TABLE,),
        ("verify-defense", *DATA, "--positions", "5", "--json"): (TABLE,),
        ("export", *DATA, "--out", "out", "--json"): (TABLE,),
        ("merge", *DATA, "--json"): ("data/xwin_3x3_m3.data", "data/xwin_3x3_m3.data.json"),
        ("verify", *DATA, "--json"): (
            TABLE,
            f"{TABLE}.json",
            "data/game_tree_3x3_m3.data",
            "data/ywin_3x3_m3.data.json",
        ),
        ("verify", "--game", "connect4", SETS, "--json"): (SETS,),
        ("grade", "net.safetensors", *DATA, "--json"): ("net.safetensors", TABLE),
        ("certify", "net.safetensors", *DATA, "--json"): ("net.safetensors",),
        ("certify", "--check", "x_net.certificate.npz", *VARIANT33, "--json"): (
            "x_net.certificate.npz",
        ),
        ("match", "net.safetensors", "random", "--games", "2", "--json"): ("net.safetensors",),
        ("play", "--against", "net.safetensors", *DATA): ("net.safetensors",),
        ("diagnose", "net.safetensors", "--json"): ("net.safetensors",),
        ("diagnose", "played", "--data", "data", "--json"): (
            "played/config.json",
            "played/metrics.jsonl",
            "played/games/000000.games",
            "played/best.safetensors",
        ),
        ("inspect-buffer", "played", "--data", "data", "--json"): (
            "played/config.json",
            "played/games/000000.games",
        ),
        ("plot", "played", "--json"): ("played/config.json", "played/metrics.jsonl"),
        ("plot", "trained", "--json"): ("trained/metrics.jsonl",),
        ("self-play", "--run", "played", "--resume", "--json"): (
            "played/config.json",
            "played/metrics.jsonl",
            "played/resume.safetensors",
            "played/games/000000.games",
        ),
        ("self-play", "--run", "new", "--config", "options.toml", "--json"): ("options.toml",),
        ("self-play", "--run", "new", "--init", "net.safetensors", "--json"): ("net.safetensors",),
        ("train-from-oracle", "--run", "trained", "--resume", "--data", "data", "--json"): (
            "trained/config.json",
            "trained/resume.safetensors",
            TABLE,
        ),
    }.items()
    for file in files
}


def sparse(path: Path, good: bytes) -> None:
    with open(path, "wb") as file:
        file.truncate(50 << 30)


def forbid(path: Path, good: bytes) -> None:
    path.write_bytes(good)
    path.chmod(0)


SPOIL: dict[str, Callable[[Path, bytes], object]] = {
    "folder": lambda path, good: path.mkdir(),
    "endless": lambda path, good: path.symlink_to("/dev/urandom"),
    "no text": lambda path, good: path.write_bytes(b"\xff\x00\x80" * 100 + b"\n"),
    "no permission": forbid,
    "pipe": lambda path, good: os.mkfifo(path),
    "large": sparse,
    "nested": lambda path, good: path.write_text("[" * 200_000 + "\n"),
    "empty": lambda path, good: path.write_text(""),
}


def kinds_for(reader: Reader) -> list[str]:
    """All kinds, but a few of a table for every command: it is opened in one way."""
    if reader.file.startswith("data/") and reader.command[0] not in ("probe", "verify"):
        return ["folder", "endless", "no text", "no permission"]
    return [kind for kind in SPOIL if (reader.file, kind) != ("options.toml", "empty")]


HARMLESS = {
    ("played/metrics.jsonl", "empty"),
    ("trained/metrics.jsonl", "empty"),
    ("played/games/000000.games", "empty"),
}


def assert_refused(outcome: Outcome, file: str, may_report: bool) -> None:
    assert outcome.code in ((1, 2) if may_report else (2,)), outcome
    assert "Traceback" not in outcome.err
    if outcome.code == 2:
        assert outcome.out == ""
        assert re.fullmatch(r"fadefour: [^\n]+\n", outcome.err), outcome.err
    names = (Path(file).name.removesuffix(".json"), Path(file).name, Path(file).parent.name)
    assert any(name in outcome.err + outcome.out for name in names if name)


@pytest.mark.parametrize(
    ("reader", "kind"),
    [(reader, kind) for reader in READERS for kind in kinds_for(READERS[reader])],
)
def test_whatever_lies_in_the_place_of_a_file_is_refused_in_one_line(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str, kind: str
) -> None:
    command, file = READERS[reader]
    here = tmp_path / "here"
    shutil.copytree(inputs, here, copy_function=os.link)
    monkeypatch.chdir(here)
    good = Path(file).read_bytes()
    Path(file).unlink()
    SPOIL[kind](Path(file), good)
    before = Path(file).lstat()
    outcome = run_with_memory(MEMORY, *command)
    if kind == "no permission" and outcome.code == 2:
        assert "remove" not in outcome.err
        assert re.search("Permission denied|is not readable", outcome.err)
    if outcome.code or (file, kind) not in HARMLESS:
        assert_refused(outcome, file, may_report=command[0] == "verify")
        after = Path(file).lstat()
        assert (after.st_mode, after.st_size, after.st_ino) == (
            before.st_mode,
            before.st_size,
            before.st_ino,
        )


# ---- names --------------------------------------------------------------------------------------

LONG = "a" * 300
NAMED: list[tuple[str, ...]] = [
    ("solve", *VARIANT33, "--data", LONG),
    ("merge", "--data", LONG),
    ("verify", "--data", LONG),
    ("verify", "--game", "connect4", LONG),
    ("probe", "-/- x", "--data", LONG),
    ("probe", "-/- x", "--table", LONG),
    ("stats", "--data", LONG),
    ("stats", *DATA, "--png", LONG),
    ("export", *DATA, "--out", LONG),
    ("grade", LONG),
    ("certify", LONG),
    ("certify", "--check", LONG),
    ("match", LONG, "random"),
    ("play", "--against", LONG),
    ("diagnose", LONG),
    ("inspect-buffer", LONG),
    ("plot", LONG),
    ("self-play", "--run", LONG),
    ("self-play", "--run", LONG, "--resume"),
    ("self-play", "--run", "new", "--config", LONG),
    ("self-play", "--run", "new", "--init", LONG),
    ("train-from-oracle", "--run", LONG, *DATA),
    ("train-from-oracle", "--run", LONG, "--resume"),
]


@pytest.mark.parametrize("command", NAMED, ids=lambda command: " ".join(command).replace(LONG, "A"))
def test_a_name_that_is_too_long_is_one_line(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(inputs)
    before = sorted(inputs.rglob("*"))
    outcome = run_cli(*command)
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch(r"fadefour: [^\n]*a{300}[^\n]*\n", outcome.err), outcome.err
    assert sorted(inputs.rglob("*")) == before


# ---- damaged metrics ----------------------------------------------------------------------------


def damaged(entries: Any) -> Iterator[Any]:
    """Every way to leave out an entry or to put text, a list or nothing in its place."""
    items = entries.items() if isinstance(entries, dict) else ()
    for name, value in items:
        for other in ("left out", "text", [], None, 1e400):
            changed = copy.deepcopy(entries)
            if other == "left out":
                del changed[name]
            else:
                changed[name] = other
            yield changed
        for inner in damaged(value):
            yield {**entries, name: inner}


@pytest.mark.parametrize("run", ["played", "trained"])
def test_a_damaged_entry_of_the_metrics_is_no_traceback(
    inputs: Path, tmp_path: Path, run: str
) -> None:
    """Refused in one line, or drawn without the entry; some of all damages, to save time."""
    folder = tmp_path / run
    shutil.copytree(inputs / run, folder)
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    kinds = {json.loads(line).get("kind"): json.loads(line) for line in lines}
    damages = [changed for entries in kinds.values() for changed in damaged(entries)]
    for changed in random.Random(0).sample(damages, 6):
        text = "".join(f"{line}\n" for line in (*lines, json.dumps(changed)))
        (folder / "metrics.jsonl").write_text(text)
        outcome = run_cli("plot", folder, "--png", tmp_path / "curves.png", "--json")
        assert outcome.code in (0, 2)
        assert re.fullmatch(r"(fadefour: [^\n]+\n)?", outcome.err), outcome.err
