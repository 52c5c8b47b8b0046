"""Conversion of won positions, compared with fixpoints in plain Python."""

from __future__ import annotations

import brute_force
import numpy as np
import pytest
from fixed_players import (
    Chosen,
    Fixed,
    Key,
    Spoiled,
    cells_chosen,
    class_of,
    dawdler,
    perfect,
)

from azfit.drop_oldest_players import CanonicalPlayer, TablePlayer, drop_oldest_of
from azfit.grading.conversion import Conversion, conversion
from azfit.players import Player
from solver import (
    InputError,
    Position,
    Rules,
)
from solver.index import position_of
from solver.playout import Positions
from solver.table import DenseTable

Truth = dict[brute_force.Position, brute_force.Value]


@pytest.fixture(scope="module")
def won33(truth33: Truth, rules33: Rules) -> dict[Key, Position]:
    """A won position of every class, X to move in full ones."""
    positions: dict[Key, Position] = {}
    for (x, y, to_move), (result, _) in truth33.items():
        if result == 1 and (to_move == 0 or len(y) < 3):
            key = class_of(*((x, y) if to_move == 0 else (y, x)), 3)
            positions[key] = Position(x, y, "y" if to_move else "x", rules33)
    return positions


def plain_conversion(
    player: Player, won: dict[Key, Position], truth: Truth
) -> tuple[dict[str, int], dict[Key, int]]:
    """The counts of a Conversion, and the plies of what converts, by plain Python on classes."""
    nexts: dict[Key, set[Key]] = {}
    leaves: set[Key] = set()
    plies: dict[Key, int] = {}
    cells = cells_chosen(player, Positions.of(list(won.values()), drop_oldest_of(player).rules))
    for (key, position), cell in zip(won.items(), cells.tolist(), strict=True):
        after = position.play(cell)
        reached = (after.x, after.y, "xy".index(after.to_move))
        nexts[key] = set()
        if after.is_over:
            plies[key] = 1
        elif truth[reached][0] != -1:
            leaves.add(key)
        else:
            for x, y, side in brute_force.successors(reached, 3, 3, 3):
                nexts[key].add(class_of(*((x, y) if side == 0 else (y, x)), 3))
    waiting = set(nexts) - set(plies) - leaves
    while more := [key for key in waiting if all(after in plies for after in nexts[key])]:
        plies |= {key: 2 + max(plies[after] for after in nexts[key]) for key in more}
        waiting -= set(more)
    ends = set(plies) | leaves
    while more := [k for k in nexts if k not in ends and nexts[k] <= ends]:
        ends.update(more)
    out = set(leaves)
    while more := [k for k in nexts if k not in out and nexts[k] & out]:
        out.update(more)
    counts = {
        "won": len(nexts),
        "converts": len(plies),
        "leaves_at_once": len(leaves),
        "can_be_led_out": len(out - leaves),
        "can_cycle": len(set(nexts) - ends),
        "only_cycle": len(set(nexts) - ends - out),
    }
    return counts, plies


def converting_plies(result: Conversion) -> dict[Key, int]:
    plies = {}
    for node in np.flatnonzero(result.plies):
        position = position_of(int(node), result.rules)
        plies[class_of(position.mover, position.opponent, result.rules.n)] = int(result.plies[node])
    return plies


def test_the_table_converts_every_win_in_the_plies_promised(
    table33: DenseTable, table44: DenseTable
) -> None:
    result = conversion(perfect(table33), table33)
    assert result.converts == result.won and result.longest == 17 and result.can_cycle == 0
    won = (table33.bytes % 2 == 0) & (table33.bytes > 0)
    assert (result.plies[won] == table33.bytes[won] - 1).all() and result.won == won.sum()
    assert not result.plies[~won].any()
    assert result.longest_position is not None
    assert table33.probe(result.longest_position) == ("win", 17)
    assert result.start_plies == 13 and "won from the start" in str(result)
    assert "in at most 13 plies" in str(result)


def players(table: DenseTable) -> list[Player]:
    """One that dawdles, ones that blunder, ones that do a little of both."""
    lazy = dawdler(table)
    starts = table.best_moves(table.rules.start())
    spoiled_classes = {class_of((), (), 3), *(class_of((c,), (), 3) for c in starts)}
    mixed = Chosen(
        table.rules, lambda p: lazy.cell_for(p) if sum(p.mover) % 3 else table.moves(p)[0].cell
    )
    weak = Chosen(
        table.rules, lambda p: lazy.cell_for(p) if sum(p.mover) % 5 else table.moves(p)[-1].cell
    )
    chosen = [lazy, mixed, weak, Fixed(table.rules, 2), Spoiled(table, spoiled_classes)]
    return [CanonicalPlayer(player) for player in chosen]


@pytest.mark.parametrize("number", range(5), ids=["lazy", "mixed", "weak", "random", "spoiled"])
def test_conversion_equals_plain_fixpoints(
    table33: DenseTable, truth33: Truth, won33: dict[Key, Position], number: int
) -> None:
    player = players(table33)[number]
    result = conversion(player, table33)
    counts, plies = plain_conversion(player, won33, truth33)
    assert {name: getattr(result, name) for name in counts} == counts
    assert converting_plies(result) == plies
    assert result.longest == max(plies.values())
    assert result.converts + result.leaves_at_once <= result.won == 5719
    assert result.start_plies == plies.get(class_of((), (), 3), 0)
    assert ("won from the start" in str(result)) == bool(result.start_plies)


def test_a_player_that_dawdles_is_seen_to_run_in_circles(table33: DenseTable) -> None:
    result = conversion(CanonicalPlayer(dawdler(table33)), table33)
    assert result.leaves_at_once == result.can_be_led_out == 0
    assert result.can_cycle == result.only_cycle == result.won - result.converts > 0
    assert result.cycling_position is not None
    assert table33.probe(result.cycling_position).result == "win"
    assert result.to_dict()["can_cycle"] == result.can_cycle


def test_conversion_needs_a_canonical_player(table33: DenseTable, table44: DenseTable) -> None:
    with pytest.raises(InputError, match="canonical"):
        conversion(TablePlayer(table33), table33)
    with pytest.raises(InputError, match="the table is for"):
        conversion(perfect(table33), table44)
