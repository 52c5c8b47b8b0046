"""Bad use of the solver: one line, exit code 2, and nothing is touched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from command_line import VARIANT33, Fadefour, run_script

from azfit import main
from solver.errors import InputError

main.add_commands()
COMMANDS = main.cli.commands


def test_a_device_is_not_called_a_folder_without_a_table(fadefour: Fadefour) -> None:
    ended = fadefour("probe", "-/- x", "--table", "/dev/urandom")
    assert ended.err == "fadefour: cannot read table '/dev/urandom': it is a device\n"


BAD_USE: dict[str, tuple[str, ...]] = {
    "bad cell": ("probe", "a1d2/b1 y", *VARIANT33),
    "no cell": ("probe", "a1b/b1 y", *VARIANT33),
    "no position": ("probe", "hello", *VARIANT33),
    "empty position": ("probe", "", *VARIANT33),
    "line breaks": ("probe", "a1\nb2/c3 y\n", *VARIANT33),
    "two pieces on a cell": ("probe", "a1/a1 x", *VARIANT33),
    "wrong counts": ("probe", "a1b1/- x", *VARIANT33),
    "wrong side": ("probe", "a1/- x", *VARIANT33),
    "too many pieces": ("probe", "a1b1c2a3/a2b2c3 y", *VARIANT33),
    "impossible position": ("probe", "a1b1c1/a2b2a3 x", *VARIANT33),
    "board too large": ("probe", "-/- x", "--n", "6"),
    "board too small": ("stats", "--n", "2"),
    "too many pieces for the board": ("solve", "--n", "3", "--m", "5"),
    "line longer than the board": ("verify", "--n", "3", "--m", "3", "--k", "4"),
    "missing table": ("probe", "-/- x", "--n", "4", "--m", "2"),
    "missing table for stats": ("stats", "--n", "4", "--m", "2"),
    "missing table for summary": ("summary", "--n", "4", "--m", "2"),
    "missing table for export": ("export", "--out", "NEW", "--n", "4", "--m", "2"),
    "nothing to merge": ("merge", "--n", "4", "--m", "2"),
    "nothing to verify": ("verify", "--n", "4", "--m", "2"),
    "missing file": ("probe", "-/- x", *VARIANT33, "--table", "nowhere.table"),
    "missing records": ("probe", "-/- x", *VARIANT33, "--table", "nowhere.data"),
    "table of other rules": ("probe", "-/- x", "--n", "4", "--table", "DATA/solved_3x3_m3.table"),
    "device as table": ("probe", "-/- x", "--table", "/dev/urandom"),
    "no threads": ("solve", *VARIANT33, "--threads", "0"),
    "less than no threads": ("verify", *VARIANT33, "--threads", "-1"),
    "too many threads": ("stats", *VARIANT33, "--threads", "100000"),
    "two kinds of only": ("solve", *VARIANT33, "--table-only", "--stats-only"),
    "checkpoints in the past": ("solve", *VARIANT33, "--checkpoint-minutes", "-1"),
    "checkpoints at no time": ("solve", *VARIANT33, "--checkpoint-minutes", "nan"),
    "checkpoints never": ("solve", *VARIANT33, "--checkpoint-minutes", "inf"),
    "no name for a folder": ("stats", *VARIANT33, "--data", ""),
    "no name for a folder to solve in": ("solve", *VARIANT33, "--data", ""),
    "no name for a table": ("probe", "-/- x", *VARIANT33, "--table", ""),
    "no name for a picture": ("stats", *VARIANT33, "--png", ""),
    "no positions to defend": ("verify-defense", *VARIANT33, "--positions", "0"),
    "too many positions to defend": ("verify-defense", *VARIANT33, "--positions", str(10**30)),
    "negative seed of play": ("verify-defense", *VARIANT33, "--seed", "-1"),
    "no threads to defend": ("verify-defense", *VARIANT33, "--threads", "0"),
    "picture in place of a folder": ("stats", *VARIANT33, "--png", "DATA"),
    "picture on a device": ("stats", *VARIANT33, "--png", "/dev/null"),
    "existing folder": ("export", *VARIANT33, "--out", "DATA"),
    "share of one": ("export", *VARIANT33, "--out", "NEW", "--validation", "1"),
    "negative share": ("export", *VARIANT33, "--out", "NEW", "--validation", "-0.1"),
    "share that is no number": ("export", *VARIANT33, "--out", "NEW", "--validation", "nan"),
    "empty shards": ("export", *VARIANT33, "--out", "NEW", "--shard", "0"),
    "empty sample": ("export", *VARIANT33, "--out", "NEW", "--sample", "0"),
    "negative seed": ("export", *VARIANT33, "--out", "NEW", "--sample", "5", "--seed", "-1"),
    "folder below a file": ("export", *VARIANT33, "--out", "DATA/solved_3x3_m3.table/new"),
    "picture below a file": ("stats", *VARIANT33, "--png", "DATA/solved_3x3_m3.table/a.png"),
    "unknown command": ("dissolve",),
    "unknown option": ("solve", "--fast"),
    "unknown option of probe": ("probe", "-/- x", *VARIANT33, "--fast"),
    "unknown player": ("solve", "--player", "z"),
    "no number": ("solve", "--threads", "two"),
    "no position given": ("probe", *VARIANT33),
    "no folder given": ("export", *VARIANT33),
    "file as folder": ("stats", *VARIANT33, "--data", "DATA/solved_3x3_m3.table"),
}


@pytest.mark.parametrize("use", BAD_USE)
def test_bad_use_is_one_line_and_exit_code_2(
    solved33: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fadefour: Fadefour,
    use: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(solved33.iterdir())
    command = [word.replace("DATA", str(solved33)) for word in BAD_USE[use]]
    if "--data" not in command and len(command) > 1 and use != "unknown option":
        command[1:1] = ["--data", str(solved33)]
    ended = fadefour(*command)
    assert ended.code == 2
    assert ended.out == ""
    assert re.fullmatch(r"[^\n]+\n", ended.err), ended.err
    assert "Traceback" not in ended.err
    assert sorted(solved33.iterdir()) == before
    assert list(tmp_path.iterdir()) == []


def test_bad_use_as_a_script_shows_no_traceback(solved33: Path) -> None:
    ended = run_script("probe", "a1b1c1/a2b2a3 x", *VARIANT33, "--data", solved33)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert re.fullmatch(r"fadefour: 'a1b1c1/a2b2a3 x' cannot occur: [^\n]*\n", ended.stderr)


def test_a_folder_without_a_name_is_refused_by_every_command() -> None:
    """--data "" would be the current folder."""
    options = [
        option
        for command in COMMANDS.values()
        for option in command.params
        if "--data" in option.opts
    ]
    assert len(options) >= 12
    for option in options:
        with pytest.raises(InputError, match="--data '' is empty: give a name"):
            option.type.convert("", option, None)


def test_targets_that_cannot_be_written_are_refused_before_the_work(
    copy33: Path, tmp_path: Path, fadefour: Fadefour, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(*arguments: Any, **options: Any) -> None:
        raise AssertionError("work began")

    for work in ("commands.solve_variant", "table.count_values", "commands.merge_wins"):
        monkeypatch.setattr(f"solver.{work}", too_late)
    taken = tmp_path / "taken"
    for name in ("ywin_3x3_m3.data", "game_tree_3x3_m3.data"):
        (taken / name).mkdir(parents=True)
    for command in (
        ("solve", *VARIANT33, "--data", taken),
        ("merge", *VARIANT33, "--data", taken),
        ("stats", *VARIANT33, "--data", copy33, "--png", taken),
        ("stats", *VARIANT33, "--data", copy33, "--png", copy33 / "solved_3x3_m3.table" / "x.png"),
    ):
        ended = fadefour(*command)
        assert (ended.code, ended.out) == (2, ""), command
        assert re.fullmatch(r"fadefour: [^\n]*(cannot write|is a directory)[^\n]*\n", ended.err)


def test_data_below_a_file_is_one_line(solved33: Path, fadefour: Fadefour) -> None:
    folder = solved33 / "solved_3x3_m3.table" / "data"
    ended = fadefour("solve", *VARIANT33, "--data", folder, "--json")
    assert (ended.code, ended.out) == (2, "")
    assert re.fullmatch(r"fadefour: cannot write in [^\n]+\n", ended.err)
