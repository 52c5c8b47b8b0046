"""Exported training data: every label as brute force finds it, and folders whole or not at all."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import brute_force
import numpy as np
import pytest
from command_line import SCRIPT, VARIANT33
from conftest import KilledAtLine, run_cli
from mismatched_counting import canonical
from plain_moves import Truth, goodness, in_play, moves_of

import solver.export
from solver import DenseTable, Rules
from solver.table import table_path

CHILD = multiprocessing.get_context("fork")
Fadefour = Callable[..., Any]

Rows = dict[brute_force.Position, tuple[int, int, int, int]]


def exported(folder: Path, part: str) -> Rows:
    """Position -> (result, plies, optimal, keeping) of one part, whatever its shards' format."""
    rows: Rows = {}
    manifest = json.loads((folder / "export.json").read_text())
    for shard in manifest["shards"]:
        if shard["part"] != part:
            continue
        columns = read_shard(folder / shard["file"])
        assert len(columns["to_move"]) == shard["positions"]
        for i in range(shard["positions"]):
            x, y = (tuple(int(c) for c in columns[q][i] if c >= 0) for q in "xy")
            position = x, y, int(columns["to_move"][i])
            assert position not in rows
            rows[position] = tuple(
                int(columns[name][i]) for name in ("result", "plies", "optimal", "keeping")
            )
    assert len(rows) == manifest["positions"][part]
    return rows


def read_shard(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    if path.suffix == ".npz":
        with np.load(path) as columns:
            return dict(columns)
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(path)
    return {name: np.array(table[name].to_pylist()) for name in table.column_names}


def export(fadefour: Fadefour, data: Path, out: Path, *options: str) -> dict[str, Any]:
    ended = fadefour("export", *VARIANT33, "--data", data, "--out", out, "--json", *options)
    assert (ended.code, ended.err) == (0, "")
    return dict(json.loads(ended.out))


@pytest.mark.parametrize("file_format", ["npz", "parquet"])
def test_exported_labels_are_what_brute_force_finds(
    solved33: Path, truth33: Truth, tmp_path: Path, fadefour: Fadefour, file_format: str
) -> None:
    """Every position in play once, each with its result and with exactly its best moves."""
    if file_format == "parquet":
        pytest.importorskip("pyarrow")
    export(fadefour, solved33, tmp_path / "out", "--format", file_format, "--shard", "1000")
    rows = exported(tmp_path / "out", "train") | exported(tmp_path / "out", "validation")
    assert len({canonical(position, 3) for position in rows}) == len(rows)
    assert {canonical(position, 3) for position in rows} == {p for p, _ in in_play(truth33)}
    for position, (result, plies, optimal, keeping) in rows.items():
        won, depth = truth33[position]
        assert (result, plies) == (won, -1 if depth is None else depth)
        moves = moves_of(position, truth33)
        best = max(map(goodness, moves.values()))
        assert optimal == sum(1 << c for c, move in moves.items() if goodness(move) == best)
        assert keeping == sum(1 << c for c, move in moves.items() if move[0] == won)


def test_the_split_depends_on_nothing_but_the_position(
    solved33: Path, tmp_path: Path, fadefour: Fadefour
) -> None:
    whole, other, sampled_folder = (tmp_path / name for name in ("whole", "other", "some"))
    report = export(fadefour, solved33, whole, "--validation", "0.2")
    export(fadefour, solved33, other, "--validation", "0.2", "--shard", "777", "--seed", "5")
    sampled = ("--sample", "3000", "--seed", "9", "--validation", "0.2")
    export(fadefour, solved33, sampled_folder, *sampled)
    train, validation = exported(whole, "train"), exported(whole, "validation")
    assert train.keys().isdisjoint(validation)
    assert report["positions"] == {"train": len(train), "validation": len(validation)}
    assert 0.17 < len(validation) / (len(train) + len(validation)) < 0.23
    assert (exported(other, "train"), exported(other, "validation")) == (train, validation)
    part, held = exported(sampled_folder, "train"), exported(sampled_folder, "validation")
    assert len(part) + len(held) == 3000
    assert part.items() <= train.items()
    assert held.items() <= validation.items()
    export(fadefour, solved33, tmp_path / "again", *sampled)
    assert same_files(sampled_folder, tmp_path / "again")
    export(fadefour, solved33, tmp_path / "none", "--validation", "0")
    assert exported(tmp_path / "none", "train") == train | validation


def same_files(first: Path, second: Path) -> bool:
    def arrays(folder: Path) -> dict[str, bytes]:
        return {
            f"{path.relative_to(folder)}/{name}": column.tobytes()
            for path in folder.glob("*/*.npz")
            for name, column in read_shard(path).items()
        }

    return arrays(first) == arrays(second)


def test_a_sample_has_the_size_asked_for_wherever_there_are_enough(
    tmp_path: Path, fadefour: Fadefour
) -> None:
    """D(4, 3, 2): nearly every position is over or impossible, but tens of thousands are not."""
    variant = ("--n", "4", "--m", "3", "--k", "2", "--data", tmp_path / "data", "--json")
    assert fadefour("solve", *variant, "--table-only").code == 0
    results = json.loads(fadefour("stats", *variant).out)["results"]
    playable = results["win"] + results["loss"] + results["draw"]
    asked = playable // 2
    ended = fadefour("export", *variant, "--out", tmp_path / "out", "--sample", str(asked))
    assert ended.code == 0
    assert sum(json.loads(ended.out)["positions"].values()) == asked


def left_by_killed(folder: Path) -> list[Path]:
    return sorted(folder.glob("fadefour-export-*.partial"))


def export_some(data: Path, out: Path) -> None:
    rules = Rules(3, 3, 3)
    with DenseTable(table_path(data, rules), rules) as table:
        solver.export.export(table, out, solver.export.ExportOptions(sample=200, shard=100))


def test_an_export_killed_at_any_moment_leaves_no_half_folder(
    solved33: Path, tmp_path: Path, killed_at_line: KilledAtLine
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    export_some(solved33, whole)
    killed, work = 0, partial(export_some, solved33, out)
    while killed_at_line(7 * killed, solver.export, work) and not out.exists():
        killed += 1
    assert killed > 10
    assert same_files(whole, out)
    names = {path.name for path in tmp_path.iterdir()} - {p.name for p in left_by_killed(tmp_path)}
    assert names == {"whole", "out"}


def test_an_export_after_a_killed_one_uses_nothing_of_it(
    solved33: Path, tmp_path: Path, fadefour: Fadefour
) -> None:
    """Killed while the second shard is written: the first is in a folder of another name."""
    out = tmp_path / "out"

    def doomed() -> None:
        write, shards = solver.export._write_shard, []

        def second_is_the_last(path: Path, columns: Any) -> None:
            shards.append(path)
            if len(shards) == 2:
                path.write_bytes(b"half a shard")
                os.kill(os.getpid(), signal.SIGKILL)
            write(path, columns)

        solver.export._write_shard = second_is_the_last
        export(fadefour, solved33, out, "--shard", "500")

    child = CHILD.Process(target=doomed)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    assert not out.exists()
    [left] = left_by_killed(tmp_path)
    export(fadefour, solved33, out)
    assert left_by_killed(tmp_path) == [left]
    assert len(exported(out, "train")) > 5000


def test_a_folder_of_somebody_else_is_left_alone(
    solved33: Path, tmp_path: Path, fadefour: Fadefour
) -> None:
    notes = tmp_path / "out.partial" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    export(fadefour, solved33, tmp_path / "out", "--sample", "10")
    assert notes.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.partial"}


def test_what_exists_is_refused_and_left_alone(
    solved33: Path, tmp_path: Path, fadefour: Fadefour
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("folder", "file", "link"):
        ended = fadefour("export", *VARIANT33, "--data", solved33, "--out", tmp_path / name)
        assert ended.code == 2
        assert "already exists" in ended.err
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "file", "link"}


def test_a_folder_that_cannot_be_made_is_found_out_before_the_work(
    solved33: Path, tmp_path: Path, fadefour: Fadefour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solver.export, "_chosen_nodes", lambda *_: pytest.fail("work was done"))
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file" / "out", Path("/proc/out"), tmp_path / ("a" * 300)):
        ended = fadefour("export", *VARIANT33, "--data", solved33, "--out", out)
        assert ended.code == 2
        assert re.fullmatch(r"fadefour: cannot write '[^\n]+\n", ended.err)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_so_many_shards_that_their_names_end_are_refused(
    solved33: Path, tmp_path: Path, fadefour: Fadefour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solver.export, "MOST_SHARDS", 100)
    command = ("export", *VARIANT33, "--data", solved33, "--out", tmp_path / "out", "--shard", "99")
    ended = fadefour(*command)
    assert (ended.code, list(tmp_path.iterdir())) == (2, [])
    assert "shard=99: 9,910 positions would be more than 100 shards; use at least 100" in ended.err
    assert fadefour(*command, "--sample", "9900").code == 0


def test_without_pyarrow_parquet_is_refused_with_the_way_to_get_it(
    solved33: Path, tmp_path: Path, fadefour: Fadefour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    command = ("export", *VARIANT33, "--data", solved33, "--out", tmp_path / "out")
    ended = fadefour(*command, "--format", "parquet")
    assert (ended.code, list(tmp_path.iterdir())) == (2, [])
    assert "needs pyarrow: run 'make parquet'" in ended.err and "--format npz" in ended.err


@pytest.mark.parametrize("file_format", ["npz", "parquet"])
def test_a_full_disk_in_export_is_one_line_and_leaves_nothing(
    solved33: Path, tmp_path: Path, file_format: str
) -> None:
    if file_format == "parquet":
        pytest.importorskip("pyarrow")
    room = 20_000
    command = ["export", *VARIANT33, "--data", solved33, "--out", tmp_path / "out", "--json"]
    ended = subprocess.run(
        [sys.executable, SCRIPT, *map(str, command), "--format", file_format],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert re.fullmatch(r"fadefour: no room to write '.*out' [^\n]+\n", ended.stderr)
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_fails_at_its_very_end_leaves_nothing(
    solved33: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder was there, called not written, and in the way of the next export."""

    def fail_outside(folder: Path, sync: Any = solver.export.sync_folder) -> None:
        if folder == tmp_path:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(folder)

    command = ("export", *VARIANT33, "--data", solved33, "--out", tmp_path / "out", "--json")
    with monkeypatch.context() as patch:
        patch.setattr(solver.export, "sync_folder", fail_outside)
        ended = run_cli(*command)
    assert ended.code == 2 and "Input/output error" in ended.err
    assert list(tmp_path.iterdir()) == []
    assert run_cli(*command).code == 0
