"""Probing: single, in batches and from threads, against brute force; transforms on the way back."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from plain_moves import goodness, in_play, moves_of, traps_of
from test_rules import as_position, played_positions

from solver import (
    CorruptTableError,
    InputError,
    MissingTableError,
    Position,
    Rules,
    merge,
    open_table,
    solve,
    symmetry_of,
    verify_folder,
    write_table,
)
from solver.index import look_up_positions, node_count
from solver.playout import Positions

NAMES = {1: "win", 0: "draw", -1: "loss"}


@pytest.fixture(scope="module")
def small(solved33):
    with open_table(solved33, Rules(3, 3, 3)) as table:
        yield table


@pytest.fixture(scope="module")
def in_memory():
    return solve(Rules(3, 3, 3))


@pytest.fixture(scope="module")
def default(solved44):
    with open_table(solved44) as table:
        yield table


@pytest.fixture(scope="module")
def positions33(truth33):
    return [as_position(plain, Rules(3, 3, 3)) for plain in truth33]


def test_probe_and_probe_many_equal_brute_force(small, truth33, positions33):
    results, plies = small.probe_many(*Positions.of(positions33, small.rules).arrays)
    assert results.dtype == np.int8
    assert plies.dtype == np.int16
    assert list(results) == [result for result, _ in truth33.values()]
    assert list(plies) == [-1 if depth is None else depth for _, depth in truth33.values()]
    for position, (result, depth) in list(zip(positions33, truth33.values(), strict=True))[::50]:
        assert small.probe(position) == (NAMES[result], depth)


def test_a_solution_in_memory_answers_as_its_file_does(small, in_memory, positions33):
    arrays = Positions.of(positions33, small.rules).arrays
    with in_memory as table:
        for ours, theirs in zip(table.probe_many(*arrays), small.probe_many(*arrays), strict=True):
            assert np.array_equal(ours, theirs)
        for position in positions33[::997]:
            assert table.probe(position) == small.probe(position)
            assert table.moves(position) == small.moves(position)
            assert table.best_moves(position) == small.best_moves(position)
            assert table.line(position, 9) == small.line(position, 9)
    start = in_memory.rules.start()
    assert in_memory.probe(start) == ("win", 13), "closing it closes nothing"
    assert in_memory.get(start, None) == ("win", 13)


def test_moves_are_best_first_and_their_best_is_the_position(small, truth33):
    for plain, (result, depth) in list(truth33.items())[::211]:
        position = as_position(plain, small.rules)
        moves = small.moves(position)
        assert [move.cell for move in moves] != [] or depth == 0
        if not moves:
            continue
        assert (moves[0].result, moves[0].plies) == (NAMES[result], depth)
        order = {"win": 0, "draw": 1, "loss": 2}
        assert [order[move.result] for move in moves] == sorted(order[m.result] for m in moves)
        wins = [move.plies for move in moves if move.result == "win"]
        losses = [move.plies for move in moves if move.result == "loss"]
        assert wins == sorted(wins)
        assert losses == sorted(losses, reverse=True)
        for move in moves:
            after = position.play(move.cell)
            key = (after.x, after.y, int(after.to_move == "y"))
            other, left = truth33[key]
            assert (move.result, move.plies) == (NAMES[-other], None if left is None else left + 1)


def test_traps_are_the_replies_that_lose_the_opponents_result(small, truth33):
    """Every position up to symmetry and colour, and some images; of equal moves the one with most
    traps first, then the lowest cell."""
    kinds = set()
    for plain in [*(position for position, _ in in_play(truth33)), *list(truth33)[::101]]:
        position = as_position(plain, small.rules)
        expected, worth = traps_of(plain, truth33), moves_of(plain, truth33)
        moves = small.moves(position)
        assert {move.cell: (move.traps, move.replies) for move in moves} == expected
        order = sorted(
            expected, key=lambda cell: (*(-g for g in goodness(worth[cell])), -expected[cell][0])
        )
        assert [move.cell for move in moves] == order
        kinds |= {(move.result, bool(move.traps), bool(move.replies)) for move in moves}
    assert kinds == {
        ("win", False, False),  # the move ends the game
        ("win", False, True),  # every reply loses anyway
        ("draw", True, True),
        ("draw", False, True),
        ("loss", True, True),
        ("loss", False, True),
    }


@settings(max_examples=60, deadline=None)
@given(position=played_positions())
def test_best_moves_travel_with_the_board(default, position):
    """A best move of any image, carried back, is a best move of the position."""
    group = symmetry_of(position.rules)
    best = default.best_moves(position)
    for t in range(8):
        image = group.apply(t, position)
        back = group.image[group.inverse[t]]
        assert sorted(int(back[cell]) for cell in default.best_moves(image)) == best


@settings(max_examples=40, deadline=None)
@given(position=played_positions())
def test_lines_end_when_promised(default, position):
    value = default.probe(position)
    line = default.line(position, longest=40)
    for cell in line:
        position = position.play(cell)
    assert position.is_over == (value.plies is not None)
    assert len(line) == (40 if value.plies is None else value.plies)


def test_start_of_4x4_is_a_draw_and_every_opening_keeps_it(default):
    assert default.probe(Rules().start()) == ("draw", None)
    assert len(default.best_moves(Rules().start())) == 16


def test_probing_from_several_threads_gives_the_same(default):
    rules = default.rules
    nodes = np.random.default_rng(3).integers(0, node_count(rules), 200_000).astype(np.uint64)
    nodes = nodes[default.bytes[nodes] != 255]
    arrays = look_up_positions(nodes, rules)
    expected = default.probe_many(*arrays)
    with open_table(default.path) as fresh, ThreadPoolExecutor(4) as pool:
        for values in pool.map(lambda _: fresh.probe_many(*arrays), range(8)):
            assert np.array_equal(values[0], expected[0])
            assert np.array_equal(values[1], expected[1])


def test_opening_reads_no_block_of_the_table(default, monkeypatch):
    checked = []
    monkeypatch.setattr("solver.checked_files.check_block", lambda *args: checked.append(args[2]))
    with open_table(default.path) as table:
        assert checked == []
        table.probe(Rules().start())
        assert checked == [0]


def test_impossible_and_foreign_positions_are_refused(default):
    impossible = Position.parse("a1b1c1d1/a2b2c2a4 x")
    with pytest.raises(InputError, match="cannot occur"):
        default.probe(impossible)
    with pytest.raises(InputError, match="cannot occur"):
        default.moves(impossible)
    assert default.get(impossible, None) is None
    with pytest.raises(InputError, match="the table is for"):
        default.probe(Rules(3, 3, 3).start())


def test_a_folder_may_be_text(tmp_path, in_memory):
    folder, rules = str(tmp_path), in_memory.rules
    write_table(folder, in_memory)
    assert verify_folder(folder, rules).ok
    with pytest.raises(MissingTableError, match=r"xwin_3x3_m3\.data"):
        merge(folder, rules)


def test_a_missing_table_says_what_to_run(tmp_path):
    with pytest.raises(MissingTableError, match=r"solve --n 4 --m 4 --k 4 --data .*'$"):
        open_table(tmp_path)
    with pytest.raises(MissingTableError, match="does not exist: run 'fadefour solve"):
        open_table(tmp_path / "solved_4x4_m4.table")


def flip_bit(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["solved_3x3_m3.table", "game_tree_3x3_m3.data"])
def test_get_gives_the_default_for_what_has_no_value_and_not_for_damage(copy33, name):
    rules = Rules(3, 3, 3)
    impossible = Position.parse("a1b1c1/a2b2a3 x", rules)
    flip_bit(copy33 / name, 9)
    with open_table(copy33 / name) as table:
        assert table.get(impossible, "none") == "none"
        assert table.get(Rules().start(), "none") == "none"
        with pytest.raises(CorruptTableError, match=name):
            table.get(rules.start(), "none")
        with pytest.raises(InputError, match="'-/- x' is not a Position"):
            table.get("-/- x", "none")


@pytest.mark.parametrize("name", ["solved_3x3_m3.table", "game_tree_3x3_m3.data"])
def test_a_closed_table_says_so(copy33, name):
    rules = Rules(3, 3, 3)
    start = rules.start()
    arrays = Positions.of([start], rules).arrays
    with open_table(copy33 / name) as table:
        table.probe(start)
    for use in (
        lambda: table.probe(start),
        lambda: table.get(start, None),
        lambda: table.moves(start),
        lambda: table.best_moves(start),
        lambda: table.line(start),
        lambda: table.probe_many(*arrays),
    ):
        with pytest.raises(InputError, match=rf"{name}' is closed: open it again"):
            use()
    table.close()


def test_probing_what_is_no_position_is_one_line(small, in_memory):
    for table in (small, in_memory):
        for use in (table.probe, table.moves, table.best_moves, table.line):
            with pytest.raises(InputError, match=r"^'a1/b2 x' is not a Position: give one"):
                use("a1/b2 x")
        with pytest.raises(InputError, match="to_move is of type list: expected an array of int8"):
            table.probe_many([[0, -1, -1]], [[1, -1, -1]], [0])
