"""The rules on arrays say what solver.rules.Position says, move by move, on random play."""

import numpy as np
import pytest

from solver.errors import InputError
from solver.playout import (
    Positions,
    cells_of,
    is_open,
    is_won,
    join,
    legal_moves,
    play,
    random_play,
    successors,
    threats_made,
    winning_cells,
)
from solver.rules import Position, Rules

VARIANTS = [Rules(3, 3, 3), Rules(3, 2, 2), Rules(4, 4, 4), Rules(4, 5, 3), Rules(5, 4, 3)]


def random_games(rules: Rules, games: int, plies: int = 24) -> list[Position]:
    """All positions of random games, finished ones included, and full ones with sides swapped."""
    rng = np.random.default_rng(7)
    seen = []
    for _ in range(games):
        position = rules.start()
        for _ in range(plies):
            seen.append(position)
            if len(position.x) == len(position.y) == rules.m:
                other = "y" if position.to_move == "x" else "x"
                seen.append(Position(position.x, position.y, other, rules))
            if not position.legal_moves():
                break
            position = position.play(int(rng.choice(position.legal_moves())))
    return seen


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
def test_arrays_agree_with_single_positions(rules: Rules) -> None:
    positions = random_games(rules, 20)
    arrays = Positions.of(positions, rules)
    assert [arrays.at(row) for row in range(len(arrays))] == positions
    legal = [np.flatnonzero(row).tolist() for row in legal_moves(arrays)]
    assert legal == [position.legal_moves() for position in positions]
    assert is_open(arrays).tolist() == [bool(p.legal_moves()) for p in positions]
    assert is_won(arrays).tolist() == [rules.has_line(p.opponent) for p in positions]
    assert any(p.is_over for p in positions) and any(p.is_impossible for p in positions)


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
def test_successors_are_all_moves_in_order(rules: Rules) -> None:
    positions = random_games(rules, 20)
    arrays = Positions.of(positions, rules)
    after = successors(arrays)
    expected = [(row, c) for row, p in enumerate(positions) for c in p.legal_moves()]
    assert list(zip(after.parent.tolist(), after.cell.tolist(), strict=True)) == expected
    played = [positions[row].play(cell) for row, cell in expected]
    assert [after.positions.at(i) for i in range(len(played))] == played
    again = play(arrays.take(after.parent), after.cell)
    assert (again.queues == after.positions.queues).all()
    assert (again.to_move == after.positions.to_move).all()


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
def test_winning_cells_are_the_moves_that_end_the_game(rules: Rules) -> None:
    positions = [p for p in random_games(rules, 20) if p.legal_moves()]
    arrays = Positions.of(positions, rules)
    wins = [[c for c in p.legal_moves() if p.play(c).is_over] for p in positions]
    winning = cells_of(winning_cells(arrays), rules)
    assert [np.flatnonzero(row).tolist() for row in winning] == wins
    assert any(wins)


def test_a_threat_is_what_wins_after_a_pass() -> None:
    rules = Rules(3, 3, 3)
    positions = [
        Position.parse("a1b1/a2 y", rules),  # X threatens c1
        Position.parse("c3a1b1/a2b3c2 y", rules),  # X's oldest, c3, leaves: c1 still wins
        Position.parse("a1b1c3/a2b3c2 y", rules),  # a1 would leave: no threat
        Position.parse("a1b1/c1 y", rules),  # the cell is taken
    ]
    threats = winning_cells(Positions.of(positions, rules), opponent=True)
    assert threats.tolist() == [1 << rules.cell("c1"), 1 << rules.cell("c1"), 0, 0]


def test_an_illegal_move_is_refused_with_the_position() -> None:
    rules = Rules(3, 3, 3)
    arrays = Positions.of([rules.start(), Position.parse("a1/b2 x", rules)], rules)
    for cells in ([0, 0], [0, 4], [0, 9], [0, -1]):
        with pytest.raises(InputError, match="'a1/b2 x'"):
            play(arrays, np.array(cells))
    over = Positions.of([Position.parse("a1b1c1/a2b2 y", rules)], rules)
    with pytest.raises(InputError, match="not a legal move"):
        play(over, np.array([8]))


def test_arrays_travel_to_probe_many_form_and_back() -> None:
    rules = Rules(3, 3, 3)
    arrays = Positions.of(random_games(rules, 5), rules)
    x, y, to_move = arrays.arrays
    assert x.flags.c_contiguous and y.flags.c_contiguous
    back = Positions.from_arrays(rules, x, y, to_move)
    assert (back.queues == arrays.queues).all() and (back.to_move == arrays.to_move).all()
    both = join([arrays, back])
    assert len(both) == 2 * len(arrays) and both.at(len(arrays)) == arrays.at(0)


def test_random_play_gives_open_positions_of_all_sizes_for_both_sides() -> None:
    rules = Rules(3, 3, 3)
    arrays = random_play(rules, 500, np.random.default_rng(3))
    assert is_open(arrays).all()
    seen = {(len(p.x), len(p.y), p.to_move) for p in map(arrays.at, range(len(arrays)))}
    placing = {(i + side, i, "xy"[side]) for i in range(3) for side in (0, 1)}
    assert seen == placing | {(3, 3, "x"), (3, 3, "y")}


def test_threats_made_count_the_wins_that_follow_a_pass() -> None:
    rules = Rules(4, 4, 3)
    positions = [p for p in random_games(rules, 12) if p.legal_moves()]
    scores = threats_made(Positions.of(positions, rules))
    for row, position in enumerate(positions):
        for cell in position.legal_moves():
            after = position.play(cell)
            if after.is_over:
                continue  # a win is no threat: the adversary has taken it before
            own, empty = after.opponent, after.legal_moves()
            threats = sum(rules.has_line((*own, c)[-rules.m :]) for c in empty)
            exposed = any(after.play(c).is_over for c in empty)
            assert scores[row, cell] == threats - 100 * exposed, (str(position), cell)
