"""The rules and the notation, against hand-worked cases and the plain brute force."""

import numpy as np
import pytest
from brute_force import all_positions, is_over, successors
from hypothesis import given
from hypothesis import strategies as st

from solver import InputError, Position, Rules


def as_position(plain, rules):
    x, y, to_move = plain
    return Position(x, y, "y" if to_move else "x", rules)


@st.composite
def played_positions(draw):
    """A 4x4 position reached by random play, not over."""
    position = Rules().start()
    for _ in range(draw(st.integers(0, 30))):
        after = position.play(draw(st.sampled_from(position.legal_moves())))
        if after.is_over:
            break
        position = after
    return position


def test_fifth_piece_removes_the_oldest_in_the_same_move():
    position = Position.parse("a1b1a3d3/a2b2c2b4 x")
    assert str(position.play(Rules().cell("c1"))) == "b1a3d3c1/a2b2c2b4 y"


def test_cell_of_the_own_oldest_piece_cannot_be_chosen():
    position = Position.parse("a1b1a3d3/a2b2c2b4 x")
    with pytest.raises(InputError, match="a1 is not a legal move in 'a1b1a3d3/a2b2c2b4 x'"):
        position.play(0)


def test_a_line_counts_only_after_the_oldest_has_left():
    """X's row a1 b1 c1 d1 would need the piece that the move removes."""
    position = Position.parse("a1b1c1a3/a2b2c2a4 x").play(Rules().cell("d1"))
    assert not position.is_over
    assert str(position) == "b1c1a3d1/a2b2c2a4 y"


def test_a_line_ends_the_game():
    position = Position.parse("a3a1b1c1/a2b2c2a4 x").play(Rules().cell("d1"))
    assert position.is_over
    assert position.legal_moves() == []


def test_side_to_move_with_a_line_is_impossible_not_over():
    position = Position.parse("a1b1c1d1/a2b2c2a4 x")
    assert position.is_impossible
    assert not position.is_over


@given(played_positions())
def test_notation_round_trip(position):
    assert Position.parse(str(position)) == position


def test_start_is_written_with_dashes():
    assert str(Rules().start()) == "-/- x"
    assert Position.parse("-/- x") == Rules().start()


@pytest.mark.parametrize("variant", [(3, 2, 2), (3, 3, 3)])
def test_moves_and_ends_agree_with_brute_force(variant):
    rules = Rules(*variant)
    for plain in list(all_positions(*variant))[::7]:
        position = as_position(plain, rules)
        assert position.is_over == is_over(plain, rules.n, rules.k)
        after = {as_position(p, rules) for p in successors(plain, *variant)}
        assert {position.play(cell) for cell in position.legal_moves()} == after


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a1b2c3d4/a2a3 y", "X has 4 and Y 2"),
        ("a1/- x", "X has 1 and Y 0"),
        ("a1a1/- y", "two pieces on a1"),
        ("e1/- y", "'e1'"),
        ("a1b1c1d1a2/a3b3c3d3 y", "5 pieces"),
        ("a1/b1", "'a1/b1'"),
        ("a/- y", "'a'"),
        ("a1/b1 z", "'a1/b1 z'"),
    ],
)
def test_bad_positions_are_refused_in_one_line_that_names_the_value(text, names):
    with pytest.raises(InputError) as refused:
        Position.parse(text)
    assert names in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["a1" * 5000, "a1" * 5000 + "/- y", "z9" * 5000 + "/- y"])
def test_a_long_text_is_not_repeated_whole(text):
    with pytest.raises(InputError) as refused:
        Position.parse(text)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    "variant", [(2, 2, 2), (6, 4, 4), (4, 8, 4), (4, 1, 2), (3, 3, 4), (4, 4, 1)]
)
def test_rules_outside_the_family_are_refused(variant):
    with pytest.raises(InputError):
        Rules(*variant)


@pytest.mark.parametrize("value", [3.0, "3", True, None, np.float64(3), [3]])
def test_rules_are_integers(value):
    for numbers in ((value, 3, 3), (3, value, 3), (3, 3, value)):
        with pytest.raises(InputError, match=r"^[nmk]=.*: give an integer$"):
            Rules(*numbers)


def test_numpy_integers_are_integers():
    rules = Rules(np.int64(3), np.uint8(3), np.int8(3))
    assert rules == Rules(3, 3, 3)
    assert [type(number) for number in (rules.n, rules.m, rules.k)] == [int] * 3
    position = Position(np.array([0, 4]), np.array([1], np.int8), "y", rules)
    assert str(position) == "a1b2/b1 y"
    assert position.play(np.int64(2)) == position.play(2)


@pytest.mark.parametrize(
    ("x", "y", "names"),
    [
        ((0.5,), (), "cell=0.5"),
        ((True,), (), "cell=True"),
        (("a1",), (), "cell='a1'"),
        ((0,), (None,), "cell=None"),
        (5, (), "queue 5"),
        (None, (), "queue None"),
    ],
)
def test_queues_hold_integers(x, y, names):
    with pytest.raises(InputError) as refused:
        Position(x, y, "y")
    assert names in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_no_text_or_no_rules_is_refused_in_one_line():
    with pytest.raises(InputError, match="position 5 is not of the form"):
        Position.parse(5)
    with pytest.raises(InputError, match=r"rules='4x4': give Rules"):
        Position((), (), "x", "4x4")
    for odd in (0.5, None, True):
        with pytest.raises(InputError, match=f"cell={odd}: give an integer"):
            Rules().start().play(odd)


def test_cells_are_played_by_number_or_by_name():
    start = Rules().start()
    assert start.play("b3") == start.play("B3") == start.play(9)
    assert str(start.play("b3").play("a1")) == "b3/a1 x"
    for name, why in (("b3", "b3 is not a legal move in 'b3/- y'"), ("e1", "'e1' is not on")):
        with pytest.raises(InputError, match=why):
            start.play("b3").play(name)
    for odd in ("", "b", "b33", "33", "b\u0663", "b" + "9" * 5000):
        with pytest.raises(InputError, match="not on the board"):
            start.play(odd)
