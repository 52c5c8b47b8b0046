"""Forced wins in Gomoku against a brute force from the definitions, against every defence by plain
rules, and against laws: symmetry, colours, more stones, suspended searches."""

from __future__ import annotations

import random

import numpy as np
import pytest
from gomoku_positions import Cells, any_five, cell, close_game, drawn, has_five, scattered
from plain_gomoku_tactics import PlainTactics

from solver.errors import InputError
from solver.gomoku import Answer, Attack, GomokuPosition, GomokuTactics, tactics

BOTH = pytest.mark.parametrize("threes", [False, True], ids=["fours", "threes"])


def ask(
    solver: GomokuTactics,
    cells: Cells,
    attacker: int,
    threes: bool,
    *,
    plies: int = 9,
    attacker_moves: bool = True,
) -> Attack:
    if threes:
        return solver.threes(cells, attacker, attacker_moves=attacker_moves, plies=plies)
    return solver.fours(cells, attacker, attacker_moves=attacker_moves)


# ---- brute force --------------------------------------------------------------------------------

# Lines, most empty cells, attacking moves up to which threes are compared, boards.
SMALL = [(5, 14, 4, 40), (6, 15, 4, 30), (6, 20, 3, 12), (7, 21, 3, 30)]


@BOTH
@pytest.mark.parametrize(("size", "empty", "most", "boards"), SMALL)
def test_answers_are_those_of_a_brute_force(
    size: int, empty: int, most: int, boards: int, threes: bool
) -> None:
    draw = random.Random(100 * size + empty)
    solver, plain = GomokuTactics(size, 1), PlainTactics(size, threes)
    lengths = set()
    for number in range(boards):
        cells = scattered(draw, size, draw.randint(6, empty), (0.5, 0.6, 0.7)[number % 3])
        if solver.completing_cell(cells, 0) is not None and number % 4:
            continue  # most boards are won at once
        for attacker, attacker_moves in ((0, True), (0, False), (1, True)):
            limit = most if threes else (int((cells == 0).sum()) + 1) // 2
            expected = plain.least_moves(tuple(cells.tolist()), attacker, attacker_moves, limit)
            plies = 2 * limit - attacker_moves
            attack = ask(
                solver, cells, attacker, threes, plies=plies, attacker_moves=attacker_moves
            )
            plies_expected = None if expected is None else 2 * expected - attacker_moves
            assert attack.plies == plies_expected, (cells.tolist(), attacker, attacker_moves)
            assert attack.is_known
            assert threes or attack.answer is not Answer.NOT_WITHIN
            lengths.add(expected)
    assert None in lengths and len(lengths) >= 3, f"a plain sample: {lengths}"


# ---- every defence ------------------------------------------------------------------------------


def survives(
    solver: GomokuTactics,
    cells: Cells,
    attacker: int,
    threes: bool,
    plies: int,
    seen: set[bytes],
) -> int:
    """Plays the solver's moves against every legal reply, by plain rules; returns the number of
    positions."""
    if cells.tobytes() in seen:
        return 0
    seen.add(cells.tobytes())
    size, own = solver.size, 1 - 2 * attacker
    attack = ask(solver, cells, attacker, threes, plies=plies)
    assert attack.wins and attack.plies is not None and attack.plies <= plies
    assert attack.move is not None and cells[attack.move] == 0
    board, count = cells.copy(), 1
    board[attack.move] = own
    if has_five(board, size, attack.move):
        assert attack.plies == 1
        return 1
    for reply in np.flatnonzero(board == 0).tolist():
        after = board.copy()
        after[reply] = -own
        assert not has_five(after, size, reply)
        count += survives(solver, after, attacker, threes, attack.plies - 2, seen)
    return count


@BOTH
@pytest.mark.parametrize(("size", "positions", "longest"), [(9, 30, 9), (15, 8, 7)])
def test_every_claimed_win_survives_every_defence(
    size: int, positions: int, longest: int, threes: bool
) -> None:
    draw, solver = random.Random(size), GomokuTactics(size)
    wins = replayed = 0
    while wins < positions:
        position = close_game(draw, size, draw.randint(8, 40))
        attack = ask(solver, position.cells, position.to_move, threes, plies=longest)
        if not attack.wins or attack.plies is None or attack.plies < 3:
            continue
        seen: set[bytes] = set()
        if attack.plies <= longest:
            wins += 1
            replayed += survives(
                solver, position.cells, position.to_move, threes, attack.plies, seen
            )
    assert replayed > 1000


def test_long_wins_by_fours_survive_every_defence() -> None:
    draw, solver = random.Random(5), GomokuTactics(15)
    longest = 0
    for _ in range(60):
        position = close_game(draw, 15, draw.randint(30, 70))
        attack = solver.fours(position.cells, position.to_move)
        if attack.plies is not None and attack.plies >= 7:
            longest = max(longest, attack.plies)
            survives(solver, position.cells, position.to_move, False, attack.plies, set())
    assert longest >= 9


# ---- known positions ----------------------------------------------------------------------------


def on_nine(**stones: str) -> Cells:
    cells = np.zeros(81, np.int8)
    for owner, names in stones.items():
        for name in names.split():
            cells[cell(name, 9)] = 1 if owner == "x" else -1
    return cells


@pytest.mark.parametrize(
    ("cells", "plies", "first"),
    [
        (on_nine(x="c5 d5 e5 f5"), 1, "b5 g5"),
        (on_nine(x="c5 d5 e5 f5", o="b5"), 1, "g5"),
        (on_nine(x="d5 e5 f5"), 3, "c5 g5"),
        (on_nine(x="c5 d5 f5"), 3, "e5"),
        # two fours that meet in e5, both closed on one side
        (on_nine(x="b5 c5 d5 e6 e7 e8", o="a5 e9"), 3, "e5"),
        # a four that makes an open three, then an open four
        (on_nine(x="b5 c5 d5 e6 e7", o="a5"), 5, "e5"),
        # overlines win: b5 to d5 and f5 to h5
        (on_nine(x="b5 c5 d5 f5 g5 h5", o="a5 i5"), 1, "e5"),
    ],
    ids=["open four", "closed four", "open three", "gap", "double four", "four-three", "overline"],
)
def test_known_wins_by_fours(cells: Cells, plies: int, first: str) -> None:
    with GomokuTactics(9) as solver:
        attack = solver.fours(cells, 0)
        assert attack.wins and attack.plies == plies
        assert attack.move in [cell(name, 9) for name in first.split()]
        assert solver.threes(cells, 0).plies == plies
        mirrored = solver.fours(-cells, 1)
        assert (mirrored.plies, mirrored.move) == (plies, attack.move)


def test_a_four_does_not_win_if_the_reply_is_a_four() -> None:
    """Four-three as above, but the forced reply at f5 is the defender's fourth in column f."""
    four_three = on_nine(x="b5 c5 d5 e6 e7", o="a5 f2 f3 f4")
    with GomokuTactics(9) as solver:
        assert solver.fours(four_three, 0).answer is Answer.NONE
        without = four_three.copy()
        without[cell("f2", 9)] = 0
        assert solver.fours(without, 0).plies == 5


def test_the_stone_that_stops_a_four_may_be_a_four() -> None:
    """e5 is a four; the reply f5 is one, too, and has to be stopped at f6."""
    cells = on_nine(x="b5 c5 d5 f1 d4", o="a5 f2 f3 f4")
    with GomokuTactics(9) as solver:
        assert solver.fours(cells, 0).answer is Answer.NONE
        cells[cell("c3", 9)] = 1  # now f6 is an open four, c3 to f6
        attack = solver.fours(cells, 0)
        assert (attack.plies, attack.move) == (5, cell("e5", 9))


def test_a_four_does_not_win_if_the_reply_makes_five() -> None:
    cells = on_nine(x="b5 c5 d5 e6 e7", o="a5 f1 f2 f3 f4")
    with GomokuTactics(9) as solver:
        assert solver.completing_cell(cells, 1) == cell("f5", 9)
        assert solver.fours(cells, 0).answer is Answer.NONE
        assert solver.fours(cells, 1).plies == 1


def test_two_open_threes_at_once_win_unless_the_defender_has_a_four() -> None:
    cells = on_nine(x="d5 e5 f6 f7")
    with GomokuTactics(9) as solver:
        assert solver.fours(cells, 0).answer is Answer.NONE
        attack = solver.threes(cells, 0)
        assert (attack.plies, attack.move) == (5, cell("f5", 9))
        assert solver.threes(cells, 0, plies=3).answer is Answer.NOT_WITHIN
        # g5, where one of the threes can be stopped, is then a four
        defended = cells.copy()
        for name in ("g2", "g3", "g4"):
            defended[cell(name, 9)] = -1
        assert solver.threes(defended, 0, plies=5).answer is Answer.NOT_WITHIN


def test_with_the_defender_to_move() -> None:
    with GomokuTactics(9) as solver:
        four = on_nine(x="c5 d5 e5 f5")
        assert solver.fours(four, 0, attacker_moves=False).plies == 2
        assert solver.fours(on_nine(x="d5 e5 f5"), 0, attacker_moves=False).answer is Answer.NONE
        double = on_nine(x="d5 e5 f5 f6 f7")
        assert solver.threes(double, 0, attacker_moves=False).plies == 4
        five_first = on_nine(x="c5 d5 e5 f5", o="a1 b1 c1 d1")
        assert solver.fours(five_first, 0, attacker_moves=False).answer is Answer.NONE


# ---- laws ---------------------------------------------------------------------------------------


@BOTH
def test_images_and_colours_have_the_same_answer(threes: bool) -> None:
    draw = random.Random(8)
    solver = GomokuTactics(9)
    for _ in range(25):
        position = close_game(draw, 9, draw.randint(6, 30))
        answers = set()
        for image in position.images():
            attack = ask(solver, image.cells, image.to_move, threes)
            swapped = ask(solver, -image.cells, 1 - image.to_move, threes)
            assert attack.is_known and swapped.is_known
            answers |= {attack.plies, swapped.plies}
        assert len(answers) == 1


@BOTH
def test_a_stone_more_never_hurts_its_owner(threes: bool) -> None:
    draw, solver = random.Random(13), GomokuTactics(9)
    compared = 0
    for _ in range(60):
        position = close_game(draw, 9, draw.randint(8, 30))
        cells, side = position.cells, position.to_move
        attack = ask(solver, cells, side, threes)
        for at in draw.sample(position.legal_moves(), 5):
            for owner in (0, 1):
                more = cells.copy()
                more[at] = 1 - 2 * owner
                if any_five(more, 9):
                    continue
                after = ask(solver, more, side, threes)
                ours, theirs = (attack, after) if owner == side else (after, attack)
                # the second has the stone that helps the attacker
                if ours.plies is not None:
                    assert theirs.plies is not None and theirs.plies <= ours.plies
                compared += 1
    assert compared > 400


@BOTH
def test_a_table_used_before_changes_no_answer(threes: bool) -> None:
    draw, used = random.Random(3), GomokuTactics(9)
    for _ in range(40):
        position = close_game(draw, 9, draw.randint(6, 36))
        for attacker in (0, 1):
            fresh = ask(GomokuTactics(9, 1), position.cells, attacker, threes)
            again = ask(used, position.cells, attacker, threes)
            assert fresh.is_known and again.is_known and fresh.plies == again.plies


@BOTH
def test_a_suspended_search_goes_on(threes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(4)
    positions = [close_game(draw, 9, draw.randint(6, 30)) for _ in range(12)]
    whole = [ask(GomokuTactics(9, 1), p.cells, p.to_move, threes) for p in positions]
    monkeypatch.setattr(tactics, "SLICE", 1)
    for position, expected in zip(positions, whole, strict=True):
        assert ask(GomokuTactics(9, 1), position.cells, position.to_move, threes) == expected


def test_a_limit_is_said_and_never_a_wrong_answer() -> None:
    draw, solver = random.Random(6), GomokuTactics(15)
    unknown = 0
    for _ in range(20):
        position = close_game(draw, 15, draw.randint(12, 40))
        full = solver.threes(position.cells, position.to_move)
        for nodes in (1, 5, 50, 500):
            with GomokuTactics(15, 1) as small:
                early = small.threes(position.cells, position.to_move, most_nodes=nodes)
            assert early.nodes <= nodes + 1
            unknown += not early.is_known
            assert not early.is_known or early.plies == full.plies
    assert unknown > 5


def test_more_plies_find_the_same_win_or_a_longer_one() -> None:
    draw, solver = random.Random(7), GomokuTactics(9)
    for _ in range(30):
        position = close_game(draw, 9, draw.randint(6, 24))
        answers = [
            solver.threes(position.cells, position.to_move, plies=plies) for plies in (3, 5, 7, 9)
        ]
        first = next((a.plies for a in answers if a.wins), None)
        for plies, answer in zip((3, 5, 7, 9), answers, strict=True):
            assert answer.plies == (first if first is not None and first <= plies else None)
        fours = solver.fours(position.cells, position.to_move)
        if fours.plies is not None and fours.plies <= 9:
            assert answers[-1].wins and first is not None and first <= fours.plies


# ---- bad use ------------------------------------------------------------------------------------


def test_a_board_with_five_is_over() -> None:
    won = GomokuPosition.parse("a1 a2 b1 b2 c1 c2 d1 d2 e1", 9)
    with GomokuTactics(9) as solver, pytest.raises(InputError, match="over"):
        solver.fours(won.cells, 1)


def test_full_and_empty_boards() -> None:
    rows = ["XXOOX", "OOXXO", "XXOOX", "OOXXO", "XXOO."]
    with GomokuTactics(5) as solver:
        for cells in (drawn(*rows), np.zeros(25, np.int8)):
            for attacker in (0, 1):
                assert solver.fours(cells, attacker).answer is Answer.NONE
                assert solver.threes(cells, attacker).answer is Answer.NONE
        full = drawn(*rows[:-1], "XXOOX")
        assert solver.fours(full, 0, attacker_moves=False).answer is Answer.NONE


def test_bad_use_is_named() -> None:
    cells = np.zeros(81, np.int8)
    for size in (4, 20):
        with pytest.raises(InputError, match="use 5 to 19"):
            GomokuTactics(size)
    with pytest.raises(InputError, match="megabytes"):
        GomokuTactics(9, 0)
    with GomokuTactics(9) as solver:
        with pytest.raises(InputError, match="attacker=2"):
            solver.fours(cells, 2)
        with pytest.raises(InputError, match="not 1, -1 and 0"):
            solver.fours(cells + np.int8(2), 0)
        with pytest.raises(InputError, match="100 cells"):
            solver.fours(np.zeros(100, np.int8), 0)
        with pytest.raises(ValueError, match="elements"):
            solver.fours(np.zeros(25, np.int8), 0)
        with pytest.raises(TypeError):
            solver.fours(np.zeros(81), 0)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="plies=0"):
            solver.threes(cells, 0, plies=0)
        with pytest.raises(InputError, match="most_nodes=0"):
            solver.threes(cells, 0, most_nodes=0)
    with pytest.raises(InputError, match="closed"):
        solver.fours(cells, 0)
