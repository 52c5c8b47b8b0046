"""The forward audit: it accepts right tables and finds every kind of wrong entry."""

import numpy as np
import pytest
from brute_force import all_positions
from brute_force import solve as brute_force_solve
from test_rules import as_position

from solver import Rules, audit_table, solve
from solver.index import find_node, node_count, position_of
from solver.kernels import Crew
from solver.values import IMPOSSIBLE

VARIANTS = [
    (3, 2, 2), (3, 3, 3), (3, 4, 3), (4, 2, 2), (4, 3, 3), (4, 3, 4), (5, 2, 2), (4, 4, 4),
]  # fmt: skip


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_solved_table_passes_with_every_node_checked(variant):
    rules = Rules(*variant)
    with Crew(2) as crew:
        audit = audit_table(rules, solve(rules).table, crew)
    assert audit.ok, audit.problems
    assert audit.checked == node_count(rules)
    assert audit.wrong == 0


def test_a_table_made_by_brute_force_passes():
    """The audit does not depend on the solver: it accepts the plain brute force's results."""
    rules = Rules(3, 3, 3)
    table = np.full(node_count(rules), IMPOSSIBLE, np.uint8)
    for plain, (result, plies) in brute_force_solve(all_positions(3, 3, 3), 3, 3, 3).items():
        table[find_node(as_position(plain, rules))[0]] = 0 if result == 0 else plies + 1
    with Crew(1) as crew:
        assert audit_table(rules, table, crew).ok


@pytest.mark.parametrize("wrong", ["flipped", "deeper", "forgotten", "invented", "impossible"])
def test_each_kind_of_wrong_entry_is_found_and_named(wrong):
    rules = Rules(3, 3, 3)
    table = np.array(solve(rules).table)
    draws = np.flatnonzero(table == 0)
    wins = np.flatnonzero((table > 3) & (table % 2 == 0))
    losses = np.flatnonzero((table > 3) & (table % 2 == 1) & (table < IMPOSSIBLE))
    random = np.random.default_rng(7)
    nodes, change = {
        "flipped": (losses, lambda byte: byte - 1),
        "deeper": (wins, lambda byte: byte + 2),
        "forgotten": (losses, lambda byte: 0),
        "invented": (draws, lambda byte: 9),
        "impossible": (draws, lambda byte: IMPOSSIBLE),
    }[wrong]
    for node in random.choice(nodes, 40, replace=False):
        broken = table.copy()
        broken[node] = change(int(table[node]))
        with Crew(1) as crew:
            audit = audit_table(rules, broken, crew)
        assert not audit.ok
        assert any(str(position_of(int(node), rules)) in line for line in audit.problems)


def test_self_consistent_circles_of_draws_called_wins_are_found():
    """Depths rule out circular reasoning: calling every draw a win fails somewhere."""
    rules = Rules(3, 3, 3)
    table = np.array(solve(rules).table)
    table[table == 0] = 100
    with Crew(1) as crew:
        assert not audit_table(rules, table, crew).ok
