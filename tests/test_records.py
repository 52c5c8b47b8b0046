"""The interchange files, decoded here with ``struct`` and judged by brute force; merge; verify."""

from __future__ import annotations

import json
import re
import shutil
import struct
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any, NamedTuple

import brute_force
import numpy as np
import pytest
from mismatched_counting import canonical, symmetries, transform

from solver import (
    CorruptTableError,
    InputError,
    Position,
    Rules,
    Solution,
    merge,
    open_records,
    open_table,
    records,
    solve,
    swap_colours,
    verify_folder,
    write_table,
    write_wins,
)
from solver.kernels import Crew
from solver.manifest import NewFile
from solver.records import check_records, data_path, mark_impossible

RULES33 = Rules(3, 3, 3)
VARIANT33 = ("--n", "3", "--m", "3")
TABLE, XWIN, YWIN, TREE = (
    "solved_3x3_m3.table",
    "xwin_3x3_m3.data",
    "ywin_3x3_m3.data",
    "game_tree_3x3_m3.data",
)
TRUTH = dict[brute_force.Position, brute_force.Value]
Pair = tuple[brute_force.Queue, brute_force.Queue]


class Record(NamedTuple):
    """A record as DESIGN section 4 lists it."""

    code: int
    dp0: int
    dp1: int
    depth0: int
    depth1: int

    def pack(self) -> bytes:
        return struct.pack("<QbbHH", *self)


def read_records(path: Path) -> list[Record]:
    data = path.read_bytes()
    (count,) = struct.unpack_from("<Q", data)
    assert len(data) == 8 + 14 * count
    return [Record(*fields) for fields in struct.iter_unpack("<QbbHH", data[8:])]


def decode(code: int) -> Pair:
    """The queues (X's, Y's) behind a state code, from the drawing in csrc/index.h.

    Four bits of piece count, then six bits a cell: the mover's pieces but the oldest, the
    opponent's but the newest, the mover's oldest, the opponent's newest. X is the mover when the
    count is even.
    """
    bits = f"{code:064b}"
    pieces = int(bits[:4], 2)
    cells = [int(bits[4 + 6 * i : 10 + 6 * i], 2) for i in range(10)]
    assert not any(cells[pieces:])
    cells = cells[:pieces]
    movers = pieces // 2
    opponent = cells[max(0, movers - 1) : pieces - 2 if movers else 0] + cells[-1:]
    mover = ([cells[-2]] if movers else []) + cells[: max(0, movers - 1)]
    x, y = (mover, opponent) if pieces % 2 == 0 else (opponent, mover)
    return tuple(x), tuple(y)


def encode(x: Iterable[int], y: Iterable[int]) -> int:
    x, y = list(x), list(y)
    mover, opponent = (x, y) if len(x) == len(y) else (y, x)
    cells = mover[1:] + opponent[:-1] + mover[:1] + opponent[-1:]
    bits = f"{len(cells):04b}" + "".join(f"{cell:06b}" for cell in cells)
    return int(bits.ljust(64, "0"), 2)


def images(pair: Pair) -> set[Pair]:
    return {transform((*pair, 0), symmetry)[:2] for symmetry in symmetries(3)}


def least_image(pair: Pair) -> Pair:
    """The same member of its orbit for every image of a pair on the 3x3 board."""
    return canonical((*pair, 0), 3)[:2]


def sides_of(pair: Pair, m: int = 3) -> list[int]:
    """Who may be to move: 0 is X."""
    x, y = pair
    return [0, 1] if len(x) == len(y) == m else [int(len(x) > len(y))]


def told_by(value: brute_force.Value | None, side: int) -> tuple[int, int]:
    """(dp, depth) of a brute-force value; None is a position that cannot occur."""
    if value is None or value[1] is None:
        return 0, 0
    result, plies = value
    return (result if side == 0 else -result), plies


@pytest.fixture(scope="module")
def expected33(truth33: TRUTH) -> dict[Pair, Record]:
    """What every pair of queues of D(3, 3, 3), one for each orbit, must be recorded as."""
    pairs = {
        least_image((cells[:x_size], cells[x_size:]))
        for x_size, y_size in {sizes[:2] for sizes in brute_force.legal_sizes(3)}
        for cells in permutations(range(9), x_size + y_size)
    }
    records = {}
    for pair in pairs:
        fields = {0: (0, 0), 1: (0, 0)}
        for side in sides_of(pair):
            fields[side] = told_by(truth33.get((*pair, side)), side)
        (dp0, depth0), (dp1, depth1) = fields[0], fields[1]
        records[pair] = Record(encode(*pair), dp0, dp1, depth0, depth1)
    return records


def by_pair(records: list[Record]) -> dict[Pair, tuple[int, int, int, int]]:
    return {least_image(decode(record.code)): record[1:] for record in records}


# ---- the layout, and what the records mean ------------------------------------------------------


def test_the_decoder_of_this_file_inverts_its_encoder() -> None:
    assert decode(encode([], [])) == ((), ())
    assert decode(encode([4], [])) == ((4,), ())
    assert decode(encode([0, 1, 2, 3], [4, 5, 6, 7])) == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert decode(encode([8, 1, 2], [4, 5])) == ((8, 1, 2), (4, 5))


@pytest.mark.parametrize("name", [XWIN, YWIN, TREE])
def test_codes_rise_without_repeats_and_are_canonical(solved33: Path, name: str) -> None:
    codes = [record.code for record in read_records(solved33 / name)]
    assert all(low < high for low, high in pairwise(codes))
    for code in codes:
        assert code == min(encode(*image) for image in images(decode(code)))


@pytest.mark.parametrize(
    ("name", "count", "kept"),
    [(XWIN, 5_898, (1,)), (YWIN, 6_556, (-1,)), (TREE, None, (1, -1))],
)
def test_records_say_what_brute_force_finds(
    solved33: Path,
    expected33: dict[Pair, Record],
    name: str,
    count: int | None,
    kept: tuple[int, ...],
) -> None:
    """Exactly the pairs with a wanted result, each with exactly the wanted results."""
    wanted = {}
    for pair, record in expected33.items():
        _, dp0, dp1, depth0, depth1 = record
        fields = [
            (dp, depth) if dp in kept else (0, 0) for dp, depth in ((dp0, depth0), (dp1, depth1))
        ]
        if any(dp for dp, _ in fields):
            wanted[pair] = (fields[0][0], fields[1][0], fields[0][1], fields[1][1])
    records = read_records(solved33 / name)
    assert by_pair(records) == wanted
    assert len(records) == len(wanted)
    assert count is None or len(records) == count


def test_the_types_of_the_design(solved33: Path, truth33: TRUTH) -> None:
    """Type A: X to move, dp0 = +1; type B: Y to move, dp1 = +1; -1 for Y. A win has odd depth for
    the side to move, and depth 0 is exactly a finished game."""
    for name, sign in ((XWIN, 1), (YWIN, -1)):
        for record in read_records(solved33 / name):
            x, y = decode(record.code)
            for side, dp, depth in ((0, record.dp0, record.depth0), (1, record.dp1, record.depth1)):
                if dp == 0:
                    assert depth == 0
                    continue
                assert dp == sign
                mover_wins = (dp == 1) == (side == 0)
                assert depth % 2 == mover_wins
                winner = x if dp == 1 else y
                assert (depth == 0) == brute_force.has_line(winner, 3, 3)


def count_by_depth(records: list[Record]) -> dict[str, Any]:
    """The counts of a manifest: side to move, winner, depth."""
    counts: dict[str, Any] = {}
    for record in records:
        for side, dp, depth in (
            ("x_to_move", record.dp0, record.depth0),
            ("y_to_move", record.dp1, record.depth1),
        ):
            if dp:
                winner = "x_wins" if dp == 1 else "y_wins"
                depths = counts.setdefault(side, {}).setdefault(winner, {})
                depths[str(depth)] = depths.get(str(depth), 0) + 1
    return counts


def test_manifests_count_the_records_by_side_result_and_depth(solved33: Path) -> None:
    for name in (XWIN, YWIN, TREE):
        records = read_records(solved33 / name)
        counts = json.loads((solved33 / f"{name}.json").read_text())["counts"]
        assert counts.pop("records") == len(records)
        assert counts.pop("complete", False) is False
        assert counts == count_by_depth(records)


def test_x_wins_and_y_wins_of_full_positions_are_each_other_with_the_colours_swapped(
    solved33: Path,
) -> None:
    def full(name: str) -> dict[Pair, tuple[int, int, int, int]]:
        pairs = by_pair(read_records(solved33 / name))
        return {pair: record for pair, record in pairs.items() if len(pair[0]) == len(pair[1]) == 3}

    x_wins, y_wins = full(XWIN), full(YWIN)
    assert {
        least_image((y, x)): (-dp1, -dp0, depth1, depth0)
        for (x, y), (dp0, dp1, depth0, depth1) in x_wins.items()
    } == y_wins


# ---- merging ------------------------------------------------------------------------------------


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


def write_everything(folder: Path, solution: Solution) -> None:
    write_table(folder, solution)
    with Crew() as crew:
        swapped = swap_colours(solution.rules, solution.table, crew)
        for kind in ("xwin", "ywin"):
            write_wins(folder, kind, solution.rules, solution.table, swapped, crew)


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


# ---- files that a checksum vouches for, but that no solve wrote ---------------------------------


def craft(path: Path, kind: str, records: list[Record], **counts: Any) -> None:
    """Writes any records as if they were right: count, manifest and checksums fit."""
    data = struct.pack("<Q", len(records)) + b"".join(record.pack() for record in records)
    with NewFile(path, kind, RULES33, len(data)) as new:
        new.write(data)
        new.commit({"records": len(records), **counts, **count_by_depth(records)})


def full_place(records: list[Record], wanted: Callable[[Record], bool]) -> int:
    return next(i for i, record in enumerate(records) if record.code >> 60 == 6 and wanted(record))


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


def snapshot(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


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


def test_counts_in_a_manifest_that_the_records_contradict_are_found(copy33: Path) -> None:
    for name in (XWIN, TABLE):
        folder = copy33.with_name(f"counts-{name}")
        shutil.copytree(copy33, folder)
        manifest = folder / f"{name}.json"
        body = json.loads(manifest.read_text())
        if name == XWIN:
            body["counts"]["x_to_move"]["x_wins"]["1"] += 1
        else:
            body["counts"]["bytes_by_slice"]["6"]["2"] += 1
        manifest.write_text(json.dumps(body))
        assert any(name in problem for problem in verify_folder(folder, RULES33).problems), name


# ---- tables from records ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rules", [RULES33, Rules(3, 2, 2), Rules(3, 4, 3), Rules(4, 2, 2)], ids=str
)
@pytest.mark.parametrize("form", ["wins", "tree", "complete tree"])
def test_table_to_records_to_table_gives_the_same_bytes(
    tmp_path: Path, rules: Rules, form: str
) -> None:
    solution = solve(rules)
    write_everything(tmp_path, solution)
    kinds = ("xwin", "ywin")
    if form != "wins":
        merge(tmp_path, rules, complete=form == "complete tree")
        kinds = ("game_tree",)
    table = np.zeros(len(solution.table), np.uint8)
    with Crew(2) as crew:
        for kind in kinds:
            source = open_records(data_path(tmp_path, kind, rules), kind, rules)
            check_records(source, crew, enter_into=table)
        mark_impossible(rules, table, crew)
        assert table.tobytes() == solution.table.tobytes()
        swapped = swap_colours(rules, table, crew)
        folder = tmp_path / "again"
        folder.mkdir()
        for kind in ("xwin", "ywin"):
            write_wins(folder, kind, rules, table, swapped, crew)
            name = data_path(Path(), kind, rules).name
            assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()


# ---- probing records ----------------------------------------------------------------------------


def arrays_of(positions: list[brute_force.Position]) -> tuple[Any, Any, Any]:
    queues = np.full((2, len(positions), 3), -1, np.int8)
    for i, position in enumerate(positions):
        for side in (0, 1):
            queues[side, i, : len(position[side])] = position[side]
    return queues[0], queues[1], np.array([position[2] for position in positions], np.int8)


@pytest.mark.parametrize("name", [TABLE, TREE, "complete"])
def test_tables_and_records_agree_with_brute_force_on_all_positions(
    copy33: Path, truth33: TRUTH, name: str
) -> None:
    if name == "complete":
        merge(copy33, RULES33, complete=True)
    positions = list(truth33)
    with open_table(copy33 / (TREE if name == "complete" else name)) as table:
        results, plies = table.probe_many(*arrays_of(positions))
        for x, y, side in positions[::997]:
            result, depth = table.probe(Position(x, y, "xy"[side], RULES33))
            assert ({"win": 1, "draw": 0, "loss": -1}[result], depth) == truth33[x, y, side]
    assert results.tolist() == [result for result, _ in truth33.values()]
    assert plies.tolist() == [-1 if depth is None else depth for _, depth in truth33.values()]


def test_impossible_positions_have_no_value_in_records(copy33: Path) -> None:
    impossible = Position("a1b1c1", "a2b2a3", "x", RULES33)
    with open_table(copy33 / TREE) as table:
        with pytest.raises(InputError, match="cannot occur"):
            table.probe(impossible)
        assert table.get(impossible, "none") == "none"
        with pytest.raises(InputError, match="cannot occur"):
            table.probe_many(*arrays_of([((0, 1, 2), (3, 4, 6), 0)]))


@pytest.mark.parametrize("byte", [0, 2, 3, 7])
def test_a_damaged_code_never_turns_a_result_into_a_draw(
    copy33: Path, truth33: TRUTH, byte: int
) -> None:
    """A code that the search cannot find again is damage, not a position left out."""
    records = read_records(copy33 / TREE)
    place = max(i for i, record in enumerate(records) if record.dp0 == 1 and record.depth0 == 9)
    assert 14 * place > 1 << 16, "not in the first block, which any search may have checked"
    x, y = decode(records[place].code)
    data = bytearray((copy33 / TREE).read_bytes())
    data[8 + 14 * place + byte] ^= 1
    (copy33 / TREE).write_bytes(data)
    with open_table(copy33 / TREE) as table, pytest.raises(CorruptTableError, match=TREE):
        table.probe(Position(x, y, "x", RULES33))


def test_a_result_against_its_depth_is_refused_when_probed(copy33: Path) -> None:
    """dp0 = -1 in 9 plies: X would make the last move, and lose."""
    records = read_records(copy33 / TREE)
    place = full_place(records, lambda r: r.dp0 == 1 and r.depth0 == 9)
    x, y = decode(records[place].code)
    records[place] = records[place]._replace(dp0=-1)
    craft(copy33 / TREE, "game_tree", records, complete=False)
    with open_table(copy33 / TREE) as table, pytest.raises(CorruptTableError, match=TREE):
        table.probe(Position(x, y, "x", RULES33))


def test_the_wins_of_one_player_do_not_call_the_others_wins_draws(
    copy33: Path, truth33: TRUTH
) -> None:
    """The X-wins know what X wins; of everything else they know only that X does not win it."""
    won = next(p for p, value in truth33.items() if value == (1, 3) and p[2] == 1)
    position = Position(won[0], won[1], "y", RULES33)
    try:
        with open_table(copy33 / XWIN) as table:
            assert table.get(position, None) != ("draw", None)
    except InputError as refused:
        assert "fadefour merge" in str(refused)
