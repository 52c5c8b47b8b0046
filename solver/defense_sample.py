"""Which positions ``verify-defense`` plays out: at least half of them threatened.

A value is used here as one number, its worth to the side to move (``solver.values.worth_of``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver import playout, values
from solver.index import look_up_positions, node_count, slice_bases, symmetry_of
from solver.playout import Positions
from solver.probing import Table
from solver.rules import Rules

Worth = NDArray[np.int16]
Rows = NDArray[np.int64]

OPENING_PIECES = 3  # positions with at most this many are all checked: few, the most symmetric
POOL = 32  # candidates for each sampled position: enough that threatened ones are among them
SMALLEST_POOL = 1 << 15  # more than 3x3 has nodes
SUSPECTS = 64  # candidates that are played out because their value looks wrong already

WINS_AT_ONCE = values.DECIDED - 1
ILLEGAL = -32768

# ---- what the table says ------------------------------------------------------------------------


def worth_of(table: Table, positions: Positions) -> Worth:
    """What positions are worth to the side to move, int16 [N]."""
    return values.worth_of(*table.probe_many(*positions.arrays))


def move_worth(table: Table, positions: Positions) -> Worth:
    """What each move is worth to the player making it, int16 [N, n*n]; ILLEGAL where it is none.

    The best move is the first maximum, as ``table.best_moves(position)[0]`` has it.
    """
    after = playout.successors(positions)
    to_opponent = worth_of(table, after.positions)
    worth = np.full((len(positions), positions.rules.cells), ILLEGAL, np.int16)
    worth[after.parent, after.cell] = np.sign(to_opponent) - to_opponent  # one ply further
    return worth


def is_suspect(positions: Positions, worth: Worth, moves: Worth) -> NDArray[np.bool_]:
    """Whether the worth [N] is not that of the best move, or the moves [N, n*n] called a win in 1
    are not those that win by the rules: bool [N]."""
    wins = playout.cells_of(playout.winning_cells(positions), positions.rules)
    misjudged = ((moves == WINS_AT_ONCE) != wins).any(axis=1)
    return np.asarray(misjudged | (moves.max(axis=1) != worth))


# ---- sampling -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidates:
    """Open positions, and what is known about each.

    ``threat`` bool [N]: the opponent would win if it were to move now, by the rules;
    ``some_lose`` bool [N]: a move of the mover's loses, ``worth`` int16 [N]: the value, both by
    the table; ``suspect`` bool [N]: its moves say otherwise; ``best`` int64 [N]: the table's move.
    """

    positions: Positions
    threat: NDArray[np.bool_]
    some_lose: NDArray[np.bool_]
    worth: Worth
    suspect: NDArray[np.bool_]
    best: Rows

    @property
    def threatened(self) -> NDArray[np.bool_]:
        return np.asarray(self.threat | self.some_lose)


def look_at(table: Table, positions: Positions) -> Candidates:
    threat = playout.winning_cells(positions, opponent=True) != 0
    parts = []
    for rows in chunks(len(positions), 1 << 16):
        part = positions.take(rows)
        moves = move_worth(table, part)
        some_lose = ((moves < 0) & (moves != ILLEGAL)).any(axis=1)
        worth = worth_of(table, part)
        parts.append((some_lose, worth, is_suspect(part, worth, moves), moves.argmax(axis=1)))
    return Candidates(positions, threat, *map(np.concatenate, zip(*parts, strict=True)))


def chunks(count: int, size: int) -> Iterator[Rows]:
    for first in range(0, count, size):
        yield np.arange(first, min(first + size, count))


def _pool(rules: Rules, count: int, rng: np.random.Generator) -> Positions:
    """Open positions, half from random play, half uniform over the nodes, in any symmetry.

    Where the game has no more nodes than that, every one of them.
    """
    half, nodes = count // 2, np.arange(min(node_count(rules), count // 2), dtype=np.uint64)
    parts = [playout.random_play(rules, count - half, rng)]
    if node_count(rules) > half:
        nodes = rng.integers(0, node_count(rules), half, np.uint64)
    uniform = in_any_view(Positions.from_arrays(rules, *look_up_positions(nodes, rules)), rng)
    parts.append(uniform.take(playout.is_open(uniform)))
    return playout.join(parts)


def in_any_view(positions: Positions, rng: np.random.Generator) -> Positions:
    """Canonical positions turned and reflected at random, half of the full ones for Y to move."""
    rules, count = positions.rules, len(positions)
    image = np.full((8, rules.cells + 1), -1, np.int8)  # the last column is for "no piece"
    image[:, :-1] = symmetry_of(rules).image
    queues = image[rng.integers(0, 8, count)[:, None, None], positions.queues]
    full = (queues >= 0).all(axis=(1, 2))
    swap = full & (rng.random(count) < 0.5)
    queues[swap] = queues[swap][:, ::-1]
    return Positions(rules, queues, np.where(swap, 1 - positions.to_move, positions.to_move))


def _draw(pool: Candidates, count: int, rng: np.random.Generator) -> Rows:
    """``count`` rows of the pool, at least half of them threatened if it has any.

    A quarter are threatened with a win on the next move, a quarter have other moves that lose,
    and both can be defended by what the table says; an eighth are lost, an eighth are won; the
    rest are any. With replacement only where there are too few.
    """
    defensible = (pool.worth >= 0) & (pool.worth < WINS_AT_ONCE)
    half, quarter = -(-count // 2), -(-count // 4)
    chosen: list[Rows] = []
    for number, wanted in (
        (quarter, pool.threat & defensible),
        (half - quarter, pool.some_lose & ~pool.threat & defensible),
        ((count - half) // 4, pool.worth < 0),
        ((count - half) // 4, pool.worth > 0),
    ):
        groups = (np.flatnonzero(group) for group in (wanted, pool.threatened))
        rows = next((group for group in groups if len(group)), np.arange(len(pool.worth)))
        chosen.append(rng.choice(rows, number, replace=len(rows) < number))
    chosen.append(rng.integers(0, len(pool.worth), count - sum(map(len, chosen))))
    return np.asarray(rng.permutation(np.concatenate(chosen)))


def openings(rules: Rules) -> Positions:
    """Every open position of at most three pieces, one of each symmetry class."""
    nodes = np.arange(slice_bases(rules)[OPENING_PIECES + 1], dtype=np.uint64)
    positions = Positions.from_arrays(rules, *look_up_positions(nodes, rules))
    return positions.take(playout.is_open(positions))


@dataclass(frozen=True)
class Sample:
    """What will be played out: positions asked for, all openings, and those that look wrong.

    ``candidates`` positions were looked at; the value of ``suspicious`` of them is not what their
    successors imply, and some of those are the ``suspects``.
    """

    drawn: Positions
    openings: Positions
    suspects: Positions
    candidates: int
    suspicious: int


def sample_positions(table: Table, count: int, seed: int) -> Sample:
    """``count`` open positions for either side, at least half threatened if the game has any."""
    rng = np.random.default_rng([seed, 0])
    pool = look_at(table, _pool(table.rules, max(SMALLEST_POOL, POOL * count), rng))
    drawn = pool.positions.take(_draw(pool, count, rng))
    suspect = np.flatnonzero(pool.suspect)
    suspects = pool.positions.take(suspect[:SUSPECTS])
    return Sample(drawn, openings(table.rules), suspects, len(pool.worth), len(suspect))
