"""``verify``: it passes what is right, and refuses every table and record file that is not.

Files are spoilt here with valid checksums and counts, so that only what they say is wrong.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import SCRIPT, VARIANT33
from folders import snapshot
from plain_records import (
    RULES33,
    TABLE,
    TREE,
    TRUTH,
    XWIN,
    YWIN,
    craft,
    decode,
    full_place,
    least_image,
    read_records,
)
from slow import ASKED_FOR, more

from solver import (
    NoRoomError,
    Position,
    Rules,
    Solution,
    audit_table,
    merge,
    verify_folder,
    write_table,
)
from solver.kernels import Crew
from solver.manifest import NewFile
from solver.retrograde import count_values
from solver.values import IMPOSSIBLE


def rewrite_table(folder: Path, table: np.ndarray[Any, Any]) -> None:
    """A table with valid checksums and counts, whatever it says."""
    with Crew(1) as crew:
        write_table(folder, Solution(RULES33, table, count_values(RULES33, table, crew)))


def test_verify_passes_and_counts_what_brute_force_counts(
    copy33: Path, truth33: TRUTH, fadefour: Callable[..., Any]
) -> None:
    ended = fadefour("verify", *VARIANT33, "--data", copy33, "--json")
    assert ended.code == 0
    report = json.loads(ended.out)
    assert report["ok"] is True
    assert report["problems"] == []
    assert set(report["files"]) == {TABLE, XWIN, YWIN, TREE}
    nodes = {  # a full pair with Y to move is the node of its colour swap
        least_image((x, y)): value
        for (x, y, side), value in truth33.items()
        if not (side == 1 and len(y) == 3)
    }
    wins = sum(result == 1 for result, _ in nodes.values())
    finished = sum(plies == 0 for _, plies in nodes.values())
    losses = sum(result == -1 for result, _ in nodes.values()) - finished
    assert report["nodes"] == {
        "checked": 9_910,
        "wins": wins,
        "losses": losses,
        "finished": finished,
        "draws": len(nodes) - wins - losses - finished,
        "impossible": 9_910 - len(nodes),
        "wrong": 0,
    }
    words = fadefour("verify", *VARIANT33, "--data", copy33)
    assert words.code == 0
    assert words.out.splitlines()[-1] == "verified"


@pytest.mark.parametrize("kept", [(TABLE,), (XWIN, YWIN), (TREE,)], ids=str)
def test_verify_passes_on_every_account_of_its_own(copy33: Path, kept: tuple[str, ...]) -> None:
    for name in {TABLE, XWIN, YWIN, TREE} - set(kept):
        (copy33 / name).unlink()
    report = verify_folder(copy33, RULES33)
    assert report.ok
    assert set(report.files) == set(kept)
    assert report.audit.checked == 9_910


def test_verify_names_a_flipped_label_in_words(copy33: Path, fadefour: Callable[..., Any]) -> None:
    """Node numbers follow code order, so the records of a complete tree name the nodes."""
    merge(copy33, RULES33, complete=True)
    records = read_records(copy33 / TREE)
    for name in (XWIN, YWIN, TREE):
        (copy33 / name).unlink()
    table = np.fromfile(copy33 / TABLE, np.uint8)
    node = next(i for i, record in enumerate(records) if record.dp0 == 1 and record.depth0 == 13)
    x, y = decode(records[node].code)
    position = Position(x, y, "x", RULES33)
    table[node] = 0
    rewrite_table(copy33, table)
    ended = fadefour("verify", *VARIANT33, "--data", copy33)
    assert ended.code == 1
    assert (
        f"WRONG: '{position}' is stored as a draw, its successors make it a win in 13" in ended.out
    )
    assert ended.out.splitlines()[-1] == "verification FAILED"
    as_json = fadefour("verify", *VARIANT33, "--data", copy33, "--json")
    assert as_json.code == 1
    assert json.loads(as_json.out)["ok"] is False


def test_the_audit_finds_any_single_wrong_byte(solved33: Path) -> None:
    """A position is none of its own successors: they still say what its byte should be."""
    right = np.fromfile(solved33 / TABLE, np.uint8)
    with Crew(1) as crew:
        assert audit_table(RULES33, right, crew).ok
        for place, node in enumerate([0, 1, 3, *range(50, len(right), 97)]):
            wrong = right.copy()
            others = [
                b for b in (0, 1, 2, 3, 12, 13, 254, 255, right[node] ^ 2) if b != right[node]
            ]
            wrong[node] = others[place % len(others)]
            audit = audit_table(RULES33, wrong, crew)
            assert audit.wrong >= 1
            assert audit.checked == len(right)
            assert audit.problems


def test_verify_names_a_record_that_disagrees_with_the_table(
    copy33: Path, fadefour: Callable[..., Any]
) -> None:
    records = read_records(copy33 / TREE)
    place = full_place(records, lambda r: r.dp0 == 1 and r.depth0 == 5)
    x, y = decode(records[place].code)
    records[place] = records[place]._replace(depth0=7)
    craft(copy33 / TREE, "game_tree", records, complete=False)
    ended = fadefour("verify", *VARIANT33, "--data", copy33, "--json")
    assert ended.code == 1
    problems = json.loads(ended.out)["problems"]
    name = str(Position(x, y, "x", RULES33))
    assert any(name in problem and TREE in problem for problem in problems)


def test_verify_finds_a_result_that_only_one_colour_has(
    copy33: Path, fadefour: Callable[..., Any]
) -> None:
    """dp1 of a full record speaks of the node that the colour swap of another record speaks of."""
    records = read_records(copy33 / XWIN)
    place = full_place(records, lambda r: r.dp0 == 0 and r.dp1 == 1 and r.depth1 == 2)
    del records[place]
    craft(copy33 / XWIN, "xwin", records)
    for name in (TABLE, TREE):
        (copy33 / name).unlink()
    ended = fadefour("verify", *VARIANT33, "--data", copy33)
    assert ended.code == 1
    assert re.search(r"WRONG: .*colours swapped", ended.out)


@pytest.mark.parametrize("name", [TABLE, XWIN, YWIN, TREE])
@pytest.mark.parametrize(
    "damage", ["flipped bit", "truncated", "no manifest", "emptied", "folder", "folder as manifest"]
)
def test_verify_reports_a_damaged_file_and_goes_on_with_the_others(
    copy33: Path, fadefour: Callable[..., Any], name: str, damage: str
) -> None:
    """A failed check: exit code 1, the report names the file; what the others say is audited."""
    data = bytearray((copy33 / name).read_bytes())
    if damage == "no manifest":
        (copy33 / f"{name}.json").unlink()
    elif damage.startswith("folder"):
        replaced = copy33 / (name if damage == "folder" else f"{name}.json")
        replaced.unlink()
        replaced.mkdir()
    else:
        data[-7] ^= 64
        kept = {"flipped bit": data, "truncated": data[:-5], "emptied": b""}[damage]
        (copy33 / name).write_bytes(kept)
    ended = fadefour("verify", *VARIANT33, "--data", copy33, "--json")
    assert (ended.code, ended.err) == (1, "")
    report = json.loads(ended.out)
    assert report["ok"] is False
    (problem,) = report["problems"]
    assert name in problem and "\n" not in problem
    assert "run 'fadefour " in problem or problem.endswith("it is a folder")
    assert set(report["files"]) == {TABLE, XWIN, YWIN, TREE} - {name}
    assert (report["nodes"]["checked"], report["nodes"]["wrong"]) == (9_910, 0)
    words = fadefour("verify", *VARIANT33, "--data", copy33).out.splitlines()
    assert f"WRONG: {problem}" in words
    assert words[-1] == "verification FAILED"


def test_verify_of_nothing_but_damage_says_that_nothing_was_checked(
    copy33: Path, fadefour: Callable[..., Any]
) -> None:
    for name in (TABLE, XWIN, YWIN, TREE):
        (copy33 / name).write_bytes((copy33 / name).read_bytes()[:-1])
    ended = fadefour("verify", *VARIANT33, "--data", copy33)
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert lines[0] == "no position was checked against its successors"
    assert [line.split(":")[0] for line in lines[1:-1]] == ["WRONG"] * 4
    assert lines[-1] == "verification FAILED"


def test_verify_reads_the_wins_of_one_player_too(
    copy33: Path, fadefour: Callable[..., Any]
) -> None:
    """What ``solve --player x`` leaves: the table and the X-wins. Both are verified."""
    (copy33 / YWIN).unlink()
    (copy33 / TREE).unlink()
    assert set(verify_folder(copy33, RULES33).files) == {TABLE, XWIN}
    right = snapshot(copy33)
    for field, depth in (("depth0", 5), ("depth1", 4)):
        for name in (XWIN, f"{XWIN}.json"):
            (copy33 / name).write_bytes(right[name])
        records = read_records(copy33 / XWIN)
        place = full_place(records, lambda r, f=field, d=depth: getattr(r, f) == d)
        records[place] = records[place]._replace(**{field: depth + 2})
        craft(copy33 / XWIN, "xwin", records)
        ended = fadefour("verify", *VARIANT33, "--data", copy33)
        assert ended.code == 1
        x, y = decode(records[place].code)
        assert f"'{Position(x, y, 'xy'[int(field[-1])], RULES33)}'" in ended.out
        assert XWIN in ended.out


def test_verify_of_one_players_wins_alone_says_what_is_missing(
    copy33: Path, fadefour: Callable[..., Any]
) -> None:
    for name in (TABLE, YWIN, TREE):
        (copy33 / name).unlink()
    ended = fadefour("verify", *VARIANT33, "--data", copy33)
    assert ended.code == 1
    assert re.search(r"WRONG: ywin_3x3_m3.data is missing.*fadefour solve --player y", ended.out)


# ---- every kind of byte for every other ---------------------------------------------------------


SHARE = 1 if ASKED_FOR else 5
"""Of the changes below one in so many is verified as a file, all with FADEFOUR_SLOW_TESTS=1. Every
kind has a few others in its place, and stands in the place of a few others."""


def some(changes: Iterator[Any]) -> Iterator[Any]:
    return itertools.islice(changes, 0, None, SHARE)


def kinds_changed(right: np.ndarray[Any, Any]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """For every ordered pair of byte kinds that occur, one position of the first kind made the
    second, then all of them."""
    kinds = np.unique(right)
    random = np.random.default_rng(17)
    for kind in kinds:
        places = np.flatnonzero(right == kind)
        for other in kinds[kinds != kind]:
            for name, changed in (("one", random.choice(places, 1)), ("all", places)):
                table = right.copy()
                table[changed] = other
                yield f"{name} {kind} -> {other}", table


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of files are written, and none has to outlive a power cut."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@more
def test_any_kind_of_byte_in_place_of_any_other_is_refused(
    solved33: Path, tmp_path: Path, fadefour: Callable[..., Any], no_sync: None
) -> None:
    """Impossible, over, draw and each depth of D(3, 3, 3), with a manifest that agrees."""
    right = np.fromfile(solved33 / TABLE, np.uint8)
    assert np.unique(right).tolist() == [*range(19), IMPOSSIBLE]
    with Crew(1) as crew:
        changes = dict(kinds_changed(right))
        assert len(changes) == 2 * 20 * 19
        for change, table in changes.items():
            assert audit_table(RULES33, table, crew).wrong > 0, change
    for change, table in some(iter(changes.items())):
        rewrite_table(tmp_path, table)
        ended = fadefour("verify", *VARIANT33, "--data", tmp_path, "--json", "--threads", "1")
        assert ended.code == 1, change
        assert json.loads(ended.out)["nodes"]["wrong"] > 0, change
    rewrite_table(tmp_path, right)
    assert fadefour("verify", *VARIANT33, "--data", tmp_path, "--json").code == 0


@pytest.mark.parametrize("kinds", [(IMPOSSIBLE, 0), (0, IMPOSSIBLE), (1, IMPOSSIBLE), (5, 7)])
def test_a_wrong_table_is_refused_as_a_script(
    solved33: Path, tmp_path: Path, kinds: tuple[int, int]
) -> None:
    table = np.fromfile(solved33 / TABLE, np.uint8)
    table[table == kinds[0]] = kinds[1]
    rewrite_table(tmp_path, table)
    command = [sys.executable, SCRIPT, "verify", *VARIANT33, "--data", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[-1] == "verification FAILED"


# ---- every kind of record for every other -------------------------------------------------------

KEPT = {  # the file that is changed, and what is there beside it
    "X-wins beside the table": (XWIN, [TABLE]),
    "Y-wins beside the table": (YWIN, [TABLE]),
    "tree beside the table": (TREE, [TABLE]),
    "X-wins beside Y-wins": (XWIN, [YWIN]),
    "Y-wins beside X-wins": (YWIN, [XWIN]),
    "tree alone": (TREE, []),
}


SIDES = ("x_to_move", "y_to_move")
DTYPE = np.dtype([("code", "<u8"), ("dp", "i1", 2), ("depth", "<u2", 2)])
Value = tuple[int, int]  # dp, depth


def recount(counts: dict[str, Any], side: int, value: Value, more: int) -> None:
    """So many more of this value in a manifest's counts."""
    if value != (0, 0):
        depths = counts[SIDES[side]]["x_wins" if value[0] > 0 else "y_wins"]
        depths[str(value[1])] += more
        if not depths[str(value[1])]:
            del depths[str(value[1])]


def changed_records(path: Path) -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """For either side to move and every ordered pair of values that occur, one record of the first
    value given the second: what was changed, the file's bytes and its counts.

    No result is a value too; a record without any is left out.
    """
    records = np.frombuffer(path.read_bytes()[8:], DTYPE)
    counts = json.loads(path.with_name(path.name + ".json").read_text())["counts"]
    pieces = records["code"] >> np.uint64(60)
    random = np.random.default_rng(23)
    for side in (0, 1):
        in_play = (pieces == 6) | (pieces % 2 == side)
        fields = np.stack([records["dp"][:, side], records["depth"][:, side]], axis=1).astype(int)
        values = sorted({(int(dp), int(depth)) for dp, depth in fields[in_play]})
        for value in values:
            places = np.flatnonzero(in_play & (fields == value).all(axis=1))
            for other in [other for other in values if other != value]:
                place, spoilt = int(random.choice(places)), records.copy()
                spoilt["dp"][place, side], spoilt["depth"][place, side] = other
                if not spoilt["dp"][place].any():
                    spoilt = np.delete(spoilt, place)
                recounted = json.loads(json.dumps({**counts, "records": len(spoilt)}))
                recount(recounted, side, value, -1)
                recount(recounted, side, other, +1)
                data = len(spoilt).to_bytes(8, "little") + spoilt.tobytes()
                yield f"{SIDES[side]}: {value} -> {other} in record {place}", data, recounted


@more
@pytest.mark.parametrize("case", KEPT)
def test_any_result_in_place_of_any_other_in_a_record_is_refused(
    solved33: Path,
    tmp_path: Path,
    fadefour: Callable[..., Any],
    no_sync: None,
    case: str,
) -> None:
    name, beside = KEPT[case]
    for file in (name, *beside):
        for suffix in ("", ".json"):
            shutil.copy(solved33 / f"{file}{suffix}", tmp_path)
    command = ("verify", *VARIANT33, "--data", tmp_path, "--json", "--threads", "1")
    assert fadefour(*command).code == 0
    kind, checked = name.split("_3x3", maxsplit=1)[0], 0
    for change, data, counts in some(changed_records(solved33 / name)):
        with NewFile(tmp_path / name, kind, RULES33, len(data)) as new:
            new.write(data)
            new.commit(counts)
        ended = fadefour(*command)
        assert ended.code == 1, change
        problems = json.loads(ended.out)["problems"]
        assert problems and not any("counts" in problem for problem in problems), change
        checked += 1
    pairs = {XWIN: 2 * 10 * 9, YWIN: 2 * 10 * 9, TREE: 2 * 19 * 18}[name]
    assert checked == -(-pairs // SHARE)


@pytest.mark.parametrize("name", [XWIN, YWIN, TREE])
@pytest.mark.parametrize("place", [0, 700, -1])
def test_a_record_left_out_is_named(
    copy33: Path, fadefour: Callable[..., Any], name: str, place: int
) -> None:
    """All that is listed is right: only the number of records tells that one is missing."""
    records = read_records(copy33 / name)
    left_out = records.pop(place)
    complete = {"complete": False} if name == TREE else {}
    craft(copy33 / name, name.split("_3x3", maxsplit=1)[0], records, **complete)
    ended = fadefour("verify", *VARIANT33, "--data", copy33, "--json")
    assert ended.code == 1
    (problem,) = json.loads(ended.out)["problems"]
    named = re.match(rf"'([^']+)' has no result in {name}, but is a (win|loss|finished)", problem)
    assert named
    position = Position.parse(named[1], RULES33)
    assert least_image((position.x, position.y)) == least_image(decode(left_out.code))
    assert left_out[1 + (position.to_move == "y")] != 0


# ---- memory -------------------------------------------------------------------------------------


def test_a_table_that_does_not_fit_is_refused_with_the_figures(
    copy33: Path, fadefour: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("solver.estimate.available_memory", lambda: 60_000_000)
    with pytest.raises(NoRoomError, match=r"needs 0\.10 GB of memory \(0\.06 GB available\)"):
        verify_folder(copy33, RULES33)
    ended = fadefour("verify", *VARIANT33, "--data", copy33)
    assert (ended.code, ended.out) == (2, "")
    assert re.fullmatch(r"fadefour: not enough memory[^\n]*\n", ended.err)


def test_a_large_variant_says_what_it_will_take_before_it_starts(
    copy33: Path, fadefour: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "needs" not in fadefour("verify", *VARIANT33, "--data", copy33).err
    monkeypatch.setattr("solver.estimate.LARGE", 9_910)
    ended = fadefour("verify", *VARIANT33, "--data", copy33)
    assert ended.code == 0
    said = r"3x3_m3: 9,910 nodes; needs 0\.10 GB of memory \([\d.,]+ GB available\), roughly 0\.1 s"
    assert re.fullmatch(said, ended.err.splitlines()[0])
    assert fadefour("verify", *VARIANT33, "--data", copy33, "--json").err == ""


def test_verify_maps_the_table_and_copies_none_of_it(
    solved44: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4x4 has 73 million nodes: what Python and numpy allocate stays far below one copy. Memory
    for tables, which tracemalloc does not see, is not asked for at all."""
    for module in ("verify", "records"):
        monkeypatch.delattr(f"solver.{module}.zeroed")
    tracemalloc.start()
    try:
        assert verify_folder(solved44, Rules(), threads=2).ok
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10e6
