"""``fadefour probe``: what it says of a position, compared with brute force."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import brute_force
import pytest
from command_line import VARIANT33, Fadefour, cell_number, run_script
from mismatched_counting import symmetries
from plain_moves import Truth, goodness, moves_of

RESULT = {1: "win", 0: "draw", -1: "loss"}


def cell_name(cell: int, n: int = 3) -> str:
    return "abcde"[cell % n] + str(cell // n + 1)


def notation(position: brute_force.Position) -> str:
    x, y, side = position
    queues = ["".join(map(cell_name, queue)) or "-" for queue in (x, y)]
    return f"{queues[0]}/{queues[1]} {'xy'[side]}"


def probe(fadefour: Fadefour, folder: Path, position: str, *options: str) -> dict[str, Any]:
    ended = fadefour("probe", position, *VARIANT33, "--data", folder, "--json", *options)
    assert (ended.code, ended.err) == (0, "")
    return dict(json.loads(ended.out))


def test_probe_tells_what_brute_force_finds(
    solved33: Path, truth33: Truth, fadefour: Fadefour
) -> None:
    """JSON keys and their values, for positions of every size and result."""
    sample = [*list(truth33)[::2003], next(p for p, v in truth33.items() if v == (1, 17))]
    seen = set()
    for position in sample:
        result, plies = truth33[position]
        report = probe(fadefour, solved33, notation(position))
        assert list(report) == ["position", "result", "plies", "moves", "line"]
        assert report["position"] == notation(position)
        assert (report["result"], report["plies"]) == (RESULT[result], plies)
        expected = moves_of(position, truth33)
        moves = [
            (cell_number(move["cell"]), move["result"], move["plies"]) for move in report["moves"]
        ]
        assert all(list(move) == ["cell", "result", "plies"] for move in report["moves"])
        assert sorted(moves) == [
            (cell, RESULT[won], depth) for cell, (won, depth) in sorted(expected.items())
        ]
        worth = [goodness(expected[cell]) for cell, _, _ in moves]
        assert worth == sorted(worth, reverse=True), "best first"
        seen.add((result, plies == 0))
    assert seen == {(1, False), (0, False), (-1, False), (-1, True)}


def test_probe_of_the_start(solved33: Path, fadefour: Fadefour) -> None:
    """The first player wins in 13; as a script, since the shell sees a leading dash."""
    report = probe(fadefour, solved33, "-/- x")
    assert (report["position"], report["result"], report["plies"]) == ("-/- x", "win", 13)
    assert [move["cell"] for move in report["moves"] if move["plies"] == 13] == [
        "b1",
        "a2",
        "c2",
        "b3",
    ]
    for words in (("-/- x", *VARIANT33), (*VARIANT33, "-/- x"), (*VARIANT33, "--", "-/- x")):
        ended = run_script("probe", "--data", solved33, *words)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.startswith("-/- x: X to move, win in 13 plies")


def test_the_line_of_a_decided_position_ends_in_the_promised_ply_by_the_rules(
    solved33: Path, truth33: Truth, fadefour: Fadefour
) -> None:
    decided = [p for p, (result, plies) in truth33.items() if result and plies and plies > 2]
    for position in [brute_force.START, *decided[::1999]]:
        result, plies = truth33[position]
        line = [cell_number(cell) for cell in probe(fadefour, solved33, notation(position))["line"]]
        assert len(line) == plies
        before = position
        for cell in line:
            assert not brute_force.is_over(before, 3, 3)
            empty = [c for c in range(9) if c not in before[0] and c not in before[1]]
            before = brute_force.successors(before, 3, 3, 3)[empty.index(cell)]
        assert brute_force.is_over(before, 3, 3)
        winner = 1 - before[2]
        assert (winner == position[2]) == (result == 1)


def test_the_line_of_a_draw_stays_drawn(solved33: Path, truth33: Truth, fadefour: Fadefour) -> None:
    position = next(p for p, value in truth33.items() if value == (0, None))
    line = probe(fadefour, solved33, notation(position))["line"]
    assert line
    for cell in map(cell_number, line):
        empty = [c for c in range(9) if c not in position[0] and c not in position[1]]
        position = brute_force.successors(position, 3, 3, 3)[empty.index(cell)]
        assert truth33[position] == (0, None)


def test_symmetric_positions_have_symmetric_answers(
    solved33: Path, truth33: Truth, fadefour: Fadefour
) -> None:
    for x, y, side in list(in_truth_with_moves(truth33))[::4001]:
        report = probe(fadefour, solved33, notation((x, y, side)))
        moves = {cell_number(m["cell"]): (m["result"], m["plies"]) for m in report["moves"]}
        for image in symmetries(3):
            turned = tuple(image[c] for c in x), tuple(image[c] for c in y), side
            other = probe(fadefour, solved33, notation(turned))
            assert (other["result"], other["plies"]) == (report["result"], report["plies"])
            assert {cell_number(m["cell"]): (m["result"], m["plies"]) for m in other["moves"]} == {
                image[cell]: value for cell, value in moves.items()
            }


def in_truth_with_moves(truth: Truth) -> Iterator[brute_force.Position]:
    return (position for position, (_, plies) in truth.items() if plies != 0)


def test_probe_draws_the_board_with_the_ages_of_the_pieces(
    solved33: Path, fadefour: Fadefour
) -> None:
    ended = fadefour("probe", "a1b1c3/a2b2 y", *VARIANT33, "--data", solved33)
    assert ended.code == 0
    rows = [line.split("|")[1].split() for line in ended.out.splitlines() if "|" in line]
    assert rows == [["·", "·", "X3"], ["Y1", "Y2", "·"], ["X1", "X2", "·"]]
    assert "Y to move, win in 1 ply" in ended.out
    assert "Best line: Y c2" in ended.out


def test_probe_reads_a_table_or_a_game_tree_by_name(solved33: Path, fadefour: Fadefour) -> None:
    answers = [
        probe(fadefour, Path("nowhere"), "a1/b2 x", "--table", str(solved33 / name))
        for name in ("solved_3x3_m3.table", "game_tree_3x3_m3.data")
    ]
    assert answers[0] == answers[1] == probe(fadefour, solved33, "a1/b2 x")


@pytest.mark.parametrize("name", ["solved_3x3_m3.table", "game_tree_3x3_m3.data"])
def test_the_variant_is_read_from_the_table_that_is_named(
    solved33: Path, fadefour: Fadefour, name: str
) -> None:
    ended = fadefour("probe", "-/- x", "--table", solved33 / name)
    assert ended.code == 0 and "X to move, win in 13 plies" in ended.out, ended.err
    ended = fadefour("verify-defense", "--positions", 10, "--table", solved33 / name)
    assert ended.code == 0, ended.err
    ended = fadefour("probe", "-/- x", "--m", 4, "--table", solved33 / name)
    assert ended.code == 2 and "was made for drop-oldest n=3 m=3 k=3" in ended.err
