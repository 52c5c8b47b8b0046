"""What brute force says of the nodes of 3 x 3 and of the moves there."""

from __future__ import annotations

from collections.abc import Iterator

import brute_force
from mismatched_counting import canonical

Truth = dict[brute_force.Position, brute_force.Value]


def in_play(truth: Truth) -> Iterator[tuple[brute_force.Position, brute_force.Value]]:
    """One position for every node: up to symmetry, a full one with X to move, no finished one."""
    for position, value in truth.items():
        _, y, side = position
        if value[1] != 0 and not (side == 1 and len(y) == 3) and canonical(position, 3) == position:
            yield position, value


def moves_of(position: brute_force.Position, truth: Truth) -> dict[int, tuple[int, int | None]]:
    """Each legal move's result for its maker, and plies from the position."""
    x, y, _ = position
    after = brute_force.successors(position, 3, 3, 3)
    empty = [cell for cell in range(9) if cell not in x and cell not in y] if after else []
    values = [truth[successor] for successor in after]
    return {
        cell: (-result, None if plies is None else plies + 1)
        for cell, (result, plies) in zip(empty, values, strict=True)
    }


def traps_of(position: brute_force.Position, truth: Truth) -> dict[int, tuple[int, int]]:
    """For each legal move: how many replies make the opponent's result worse, and of how many."""
    after = brute_force.successors(position, 3, 3, 3)
    traps = {}
    for cell, successor in zip(moves_of(position, truth), after, strict=True):
        best = truth[successor][0]
        replies = [result for result, _ in moves_of(successor, truth).values()]
        traps[cell] = sum(result < best for result in replies), len(replies)
    return traps


def goodness(move: tuple[int, int | None]) -> tuple[int, int]:
    """Larger is better: soonest win, draw, latest loss."""
    result, plies = move
    return result, -result * (plies or 0)
