"""Record files that checksums vouch for, but that no solve wrote."""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import VARIANT33
from damaged_files import edit_manifest
from folders import snapshot
from plain_records import (
    RULES33,
    TABLE,
    TREE,
    XWIN,
    YWIN,
    Record,
    craft,
    decode,
    encode,
    full_place,
    images,
    read_records,
)

from solver import (
    merge,
    verify_folder,
)
from solver.manifest import NewFile


def swapped_order(records: list[Record]) -> None:
    records[100], records[101] = records[101], records[100]


def duplicate(records: list[Record]) -> None:
    records.insert(100, records[100])


def duplicate_at_the_end(records: list[Record]) -> None:
    records.append(records[-1])


def change(records: list[Record], wanted: Callable[[Record], bool], **fields: int) -> None:
    place = full_place(records, wanted)
    records[place] = records[place]._replace(**fields)


WITHOUT_RULES: dict[str, Callable[[list[Record]], object]] = {
    "unsorted": swapped_order,
    "duplicate": duplicate,
    "duplicate at the end": duplicate_at_the_end,
    "result 2": lambda records: change(records, lambda r: r.dp0 == 1, dp0=2),
    "a win of Y": lambda records: change(records, lambda r: r.dp0 == 1, dp0=-1),
    "a win of Y beside": lambda records: change(records, lambda r: r.dp1 == 0, dp1=-1, depth1=3),
    "even depth for a win": lambda records: change(records, lambda r: r.dp0 == 1, depth0=2),
    "odd depth for a loss": lambda records: change(records, lambda r: r.dp1 == 1, depth1=3),
    "depth beyond a byte": lambda records: change(records, lambda r: r.dp0 == 1, depth0=301),
    "depth 0 for a win": lambda records: change(records, lambda r: r.dp0 == 1, depth0=0),
    "depth without result": lambda records: change(records, lambda r: r.dp0 == 0, depth0=5),
    "a code that is no code": lambda records: records.append(Record(2**64 - 1, 1, 0, 5, 0)),
    "no result at all": lambda records: change(
        records, lambda r: r.dp1 == 0, dp0=0, dp1=0, depth0=0, depth1=0
    ),
}


def other_image(records: list[Record]) -> None:
    """A code that is an image of a canonical one, in its place by order."""
    place = full_place(records, lambda r: True)
    code = records.pop(place).code
    records.append(Record(max(encode(*image) for image in images(decode(code))), 1, 0, 5, 0))
    records.sort()


def strange_code(code: int) -> Callable[[list[Record]], object]:
    def insert(records: list[Record]) -> None:
        records.append(Record(code, 1, 0, 5, 0))
        records.sort()

    return insert


CODES: dict[str, Callable[[list[Record]], object]] = {
    "not canonical": other_image,
    "two pieces on a cell": strange_code(encode((0, 1, 2), (0, 4, 5))),
    "a cell off the board": strange_code(encode((0, 1, 9), (3, 4, 5))),
    "eight pieces": strange_code(encode((0, 1, 2, 3), (4, 5, 6, 7))),
    "bits behind the last cell": strange_code(encode((0, 1, 4), (3, 2, 5)) | 1),
}


def wrong_side(records: list[Record]) -> None:
    """X to move where X has one piece more."""
    place = next(i for i, record in enumerate(records) if record.code >> 60 == 5)
    records[place] = records[place]._replace(dp0=1, depth0=3)


def finished_without_line(records: list[Record]) -> None:
    change(records, lambda r: r.dp1 == 1 and r.depth1 > 0, depth1=0)


def deep_with_line(records: list[Record]) -> None:
    change(records, lambda r: r.dp1 == 1 and r.depth1 == 0, depth1=2)


def result_of_an_impossible_position(records: list[Record]) -> None:
    """X to move, and X has a line already."""
    change(records, lambda r: r.dp1 == 1 and r.depth1 == 0, dp0=1, depth0=1)


ON_THE_BOARD: dict[str, Callable[[list[Record]], object]] = {
    "a side that cannot be to move": wrong_side,
    "over without a line": finished_without_line,
    "not over with a line": deep_with_line,
    "result of an impossible position": result_of_an_impossible_position,
}


def craft_xwin(folder: Path, spoil: Callable[[list[Record]], object]) -> None:
    records = read_records(folder / XWIN)
    spoil(records)
    craft(folder / XWIN, "xwin", records)


def assert_refused(fadefour: Callable[..., Any], folder: Path, named: str, *command: str) -> None:
    """One line that names the file and the way out, and nothing changed. To find damage is what
    verify is for: a failed check, exit code 1. Others cannot go on: exit code 2."""
    before = snapshot(folder)
    ended = fadefour(*command, *VARIANT33, "--data", folder, "--json")
    if command == ("verify",):
        assert (ended.code, ended.err) == (1, "")
        report = json.loads(ended.out)
        assert report["ok"] is False
        lines = report["problems"]
    else:
        assert (ended.code, ended.out) == (2, "")
        lines = ended.err.splitlines()
        assert len(lines) == 1 and lines[0].startswith("fadefour: ")
    assert any(re.fullmatch(rf"[^\n]*{named}.*run 'fadefour solve.*", line) for line in lines)
    assert snapshot(folder) == before


@pytest.mark.parametrize("spoilt", WITHOUT_RULES)
def test_records_out_of_order_or_range_are_refused(
    copy33: Path, fadefour: Callable[..., Any], spoilt: str
) -> None:
    craft_xwin(copy33, WITHOUT_RULES[spoilt])
    for command in (("merge",), ("merge", "--complete"), ("verify",)):
        assert_refused(fadefour, copy33, XWIN, *command)


@pytest.mark.parametrize("spoilt", CODES)
def test_codes_of_no_canonical_position_are_refused(
    copy33: Path, fadefour: Callable[..., Any], spoilt: str
) -> None:
    craft_xwin(copy33, CODES[spoilt])
    for command in (("merge",), ("merge", "--complete"), ("verify",)):
        assert_refused(fadefour, copy33, XWIN, *command)


@pytest.mark.parametrize("spoilt", ON_THE_BOARD)
def test_results_that_the_board_rules_out_are_refused(
    copy33: Path, fadefour: Callable[..., Any], spoilt: str
) -> None:
    craft_xwin(copy33, ON_THE_BOARD[spoilt])
    for command in (("merge",), ("merge", "--complete"), ("verify",)):
        assert_refused(fadefour, copy33, XWIN, *command)


@pytest.mark.parametrize("command", [("merge",), ("merge", "--complete"), ("verify",)], ids=str)
def test_x_wins_passed_as_y_wins_are_refused(
    copy33: Path, fadefour: Callable[..., Any], command: tuple[str, ...]
) -> None:
    for suffix in ("", ".json"):
        shutil.copy(copy33 / f"{XWIN}{suffix}", copy33 / f"{YWIN}{suffix}")
    assert_refused(fadefour, copy33, YWIN, *command)


@pytest.mark.parametrize("command", [("merge",), ("merge", "--complete"), ("verify",)], ids=str)
def test_x_wins_declared_as_y_wins_are_refused(
    copy33: Path, fadefour: Callable[..., Any], command: tuple[str, ...]
) -> None:
    craft(copy33 / YWIN, "ywin", read_records(copy33 / XWIN))
    assert_refused(fadefour, copy33, YWIN, *command)


def test_two_files_that_claim_the_same_position_are_refused(
    copy33: Path, fadefour: Callable[..., Any]
) -> None:
    y_wins = read_records(copy33 / YWIN)
    x_win = read_records(copy33 / XWIN)[200]
    assert x_win.dp0 == 1
    claim = Record(x_win.code, -1, 0, 4, 0)
    others = [record for record in y_wins if record.code != x_win.code]
    craft(copy33 / YWIN, "ywin", sorted([*others, claim]))
    for command in (("merge",), ("merge", "--complete")):
        assert_refused(fadefour, copy33, "xwin_3x3_m3.data", *command)
    ended = fadefour("verify", *VARIANT33, "--data", copy33)
    assert ended.code == 1
    assert YWIN in ended.out


@pytest.mark.parametrize("counted", [5_897, 5_899, 2**63, 2**64 - 1])
def test_a_count_that_the_size_contradicts_is_refused(
    copy33: Path, fadefour: Callable[..., Any], counted: int
) -> None:
    data = struct.pack("<Q", counted) + (copy33 / XWIN).read_bytes()[8:]
    with NewFile(copy33 / XWIN, "xwin", RULES33, len(data)) as new:
        new.write(data)
        new.commit({"records": counted})
    for command in (("merge",), ("verify",)):
        assert_refused(fadefour, copy33, XWIN, *command)


def test_a_complete_tree_that_leaves_out_a_draw_is_refused(copy33: Path) -> None:
    merge(copy33, RULES33, complete=True)
    records = read_records(copy33 / TREE)
    records.remove(next(record for record in records if record.dp0 == record.dp1 == 0))
    craft(copy33 / TREE, "game_tree", records, complete=True)
    assert any(TREE in problem for problem in verify_folder(copy33, RULES33).problems)


@pytest.mark.parametrize(
    ("name", "entry"), [(XWIN, ("x_to_move", "x_wins", "1")), (TABLE, ("bytes_by_slice", "6", "2"))]
)
def test_counts_in_a_manifest_that_the_records_contradict_are_found(
    copy33: Path, name: str, entry: tuple[str, str, str]
) -> None:
    def miscount(body: dict[str, Any]) -> None:
        body["counts"][entry[0]][entry[1]][entry[2]] += 1

    edit_manifest(copy33 / name, miscount)
    assert any(name in problem for problem in verify_folder(copy33, RULES33).problems)
