"""Record files, decoded with ``struct`` and judged by brute force; tables from them; probing."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import brute_force
import numpy as np
import pytest
from plain_records import (
    RULES33,
    TABLE,
    TREE,
    TRUTH,
    XWIN,
    YWIN,
    Pair,
    Record,
    by_pair,
    count_by_depth,
    craft,
    decode,
    encode,
    full_place,
    images,
    least_image,
    read_records,
    write_everything,
)

from solver import (
    CorruptTableError,
    InputError,
    Position,
    Rules,
    merge,
    open_records,
    open_table,
    solve,
    swap_colours,
    write_wins,
)
from solver.kernels import Crew
from solver.records import check_records, data_path, mark_impossible

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
