"""Merging the win files: the union, complete or not, in constant memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import VARIANT33
from plain_records import (
    RULES33,
    TREE,
    XWIN,
    YWIN,
    Pair,
    Record,
    by_pair,
    read_records,
    write_everything,
)

from solver import (
    Position,
    Rules,
    merge,
    open_table,
    records,
    solve,
    verify_folder,
)


def test_the_merge_is_the_union(solved33: Path) -> None:
    union = {record.code: record for record in read_records(solved33 / XWIN)}
    for record in read_records(solved33 / YWIN):
        other = union.get(record.code, Record(record.code, 0, 0, 0, 0))
        assert other.dp0 * record.dp0 == other.dp1 * record.dp1 == 0
        union[record.code] = Record(
            record.code, *(a + b for a, b in zip(other[1:], record[1:], strict=True))
        )
    assert read_records(solved33 / TREE) == [union[code] for code in sorted(union)]


def test_a_complete_merge_lists_every_canonical_position_once_in_code_order(
    copy33: Path, expected33: dict[Pair, Record], fadefour: Callable[..., Any]
) -> None:
    ended = fadefour("merge", *VARIANT33, "--data", copy33, "--complete", "--json")
    assert ended.code == 0
    report = json.loads(ended.out)
    records = read_records(copy33 / TREE)
    assert report["records"] == len(records) == len(expected33) == 9_910
    assert report["bytes"] == (copy33 / TREE).stat().st_size == 8 + 14 * 9_910
    codes = [record.code for record in records]
    assert codes == sorted(set(codes))
    assert by_pair(records) == {pair: record[1:] for pair, record in expected33.items()}
    assert verify_folder(copy33, RULES33).ok


@pytest.mark.parametrize("complete", [False, True])
def test_merging_nothing_gives_nothing_or_all_draws(tmp_path: Path, complete: bool) -> None:
    """D(3, 2, 3): nobody ever has three pieces, so no position is decided."""
    rules = Rules(3, 2, 3)
    write_everything(tmp_path, solve(rules))
    assert merge(tmp_path, rules, complete=complete).counts["records"] == (460 if complete else 0)
    (tmp_path / "solved_3x3_m2.table").unlink()
    with open_table(tmp_path, rules) as table:
        assert table.probe(Position("a1b1", "a2b2", "x", rules)) == ("draw", None)
    assert verify_folder(tmp_path, rules).ok


@pytest.fixture(scope="module")
def solved43(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """D(4, 3, 3) without its game tree: files of megabytes."""
    folder = tmp_path_factory.mktemp("solved43")
    write_everything(folder, solve(Rules(4, 3, 3)))
    return folder


@pytest.mark.parametrize("complete", [False, True])
def test_merging_takes_constant_memory(
    solved43: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complete: bool
) -> None:
    rules = Rules(4, 3, 3)
    for path in solved43.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.setattr("solver.merging.NODES_AT_A_TIME", 1 << 13)
    monkeypatch.setattr(records, "CHUNK_BYTES", 1 << 16)
    tracemalloc.start()
    try:
        manifest = merge(tmp_path, rules, complete=complete)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    read = sum((solved43 / f"{kind}_4x4_m3_k3.data").stat().st_size for kind in ("xwin", "ywin"))
    assert read > 16e6
    assert manifest.bytes > 11e6
    assert peak < 3e6
