"""How the program ends: its exit codes, its one line of error, and what keeps its traceback."""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from command_line import SCRIPT, VARIANT33
from conftest import Outcome, run_cli

from azfit import main


def run_script(stdout: Any, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.parametrize(
    "command",
    [
        ("--help",),
        ("stats", *VARIANT33),
        ("stats", *VARIANT33, "--json"),
        ("probe", "-/- x", *VARIANT33),
    ],
)
def test_a_full_disk_behind_stdout_is_one_line(solved33: Path, command: tuple[str, ...]) -> None:
    data = () if command == ("--help",) else ("--data", solved33)
    with open("/dev/full", "w") as full:
        ended = run_script(full, *command, *data)
    assert ended.stderr == "fadefour: cannot write the output: No space left on device\n"
    assert ended.returncode == 2


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_stop_the_work(tmp_path: Path, closed: str) -> None:
    """A file opened in the place of a closed standard error would receive its messages."""
    command = shlex.join([sys.executable, SCRIPT, "solve", *VARIANT33, "--data", str(tmp_path)])
    ended = subprocess.run(f"{command} {closed}", shell=True, check=False, capture_output=True)
    assert ended.returncode == 0 and ended.stderr == b""
    assert (tmp_path / "ywin_3x3_m3.data").exists()


def test_a_reader_that_has_seen_enough_ends_a_command_quietly(solved33: Path) -> None:
    receive, send = os.pipe()
    os.close(receive)
    try:
        ended = run_script(send, "stats", *VARIANT33, "--data", solved33)
    finally:
        os.close(send)
    assert (ended.stderr, ended.returncode) == ("", 141)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], Outcome]:
    """Runs a command that does this."""

    def run(work: Callable[[], object]) -> Outcome:
        monkeypatch.setitem(main.cli.commands, "fail", click.Command("fail", callback=work))
        return run_cli("fail")

    return run


def raise_it(error: BaseException) -> None:
    raise error


SYSTEM_ERRORS: dict[str, Callable[[], object]] = {
    "No space left on device": lambda: raise_it(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))),
    "Permission denied: '/etc/shadow'": lambda: raise_it(
        PermissionError(errno.EACCES, "Permission denied", "/etc/shadow")
    ),
    "File name too long": lambda: Path("a" * 300).exists(),
    "Is a directory": lambda: Path("/").read_bytes(),
    "not enough memory": lambda: bytes(1 << 60),
    "the input is nested too deeply": lambda: json.loads("[" * 100_000),
    "nested too deeply": lambda: tomllib.loads("a = " + "[" * 100_000),
}


@pytest.mark.parametrize("words", SYSTEM_ERRORS)
def test_what_the_system_refuses_is_one_line(
    failing: Callable[[Callable[[], object]], Outcome], words: str
) -> None:
    ended = failing(SYSTEM_ERRORS[words])
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("fadefour: ") and ended.err.count("\n") == 1
    assert words in ended.err


def test_memory_that_torch_cannot_have_is_one_line(
    failing: Callable[[Callable[[], object]], Outcome],
) -> None:
    torch = pytest.importorskip("torch")
    ended = failing(lambda: torch.zeros(1 << 50))
    assert ended.code == 2
    assert ended.err.startswith("fadefour: not enough memory") and ended.err.count("\n") == 1


def recurse() -> None:
    recurse()


@pytest.mark.parametrize(
    "work",
    [
        lambda: raise_it(ValueError("two\nlines")),
        lambda: raise_it(KeyError("name")),
        lambda: raise_it(OSError("without a number")),
        recurse,
    ],
    ids=["value", "key", "no errno", "recursion"],
)
def test_a_mistake_of_ours_keeps_its_traceback(
    failing: Callable[[Callable[[], object]], Outcome], work: Callable[[], object]
) -> None:
    with pytest.raises((ValueError, KeyError, OSError, RecursionError)):
        failing(work)


def test_a_name_with_line_breaks_stays_on_one_line(tmp_path: Path) -> None:
    ended = run_cli("verify", tmp_path / "two\nlines.table")
    assert ended.code == 2
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (("solve", "--threads", "\x1b[2J\x07"), r"\x1b[2J\x07"),
        (("solve", "a\x06b"), r"a\x06b"),
        (("grade", "net", "--seed", "two\nlines"), "two lines"),
        (("probe", "\udcff/- x", *VARIANT33), r"\udcff"),
    ],
)
def test_what_was_typed_cannot_control_the_terminal(typed: tuple[str, ...], shown: str) -> None:
    ended = run_cli(*typed)
    assert ended.code == 2 and ended.err.endswith("\n")
    assert ended.err[:-1].isprintable() and shown in ended.err


def test_a_very_long_value_is_repeated_in_part() -> None:
    ended = run_cli("grade", "net", "--seed", "9" * 20_000)
    assert ended.code == 2 and len(ended.err) < 6_000
    assert ended.err.startswith("fadefour: --seed 999") and "use a whole number" in ended.err
