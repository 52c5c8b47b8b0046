"""The rules on arrays: many positions at once, in plain numpy; and play that knows only them.

The array form of ``solver.rules.Position``, written from the rules and independent of the C
kernels: what judges a table should share nothing with what made it. Sets of cells are bit masks
(bit c for cell c, uint32), boards have 25 cells at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.rules import Position, Rules

Int8Array = NDArray[np.int8]
Masks = NDArray[np.uint32]

# By cell; the last entry is for -1, "no piece".
BIT = np.array([*(1 << cell for cell in range(25)), 0], np.uint32)


@dataclass(frozen=True)
class Positions:
    """Many positions of one variant.

    ``queues`` int8 [N, 2, m]: X's queue, then Y's, oldest first, -1 for no piece;
    ``to_move`` int8 [N]: 0 for X, 1 for Y.
    """

    rules: Rules
    queues: Int8Array
    to_move: Int8Array

    @classmethod
    def of(cls, positions: Sequence[Position], rules: Rules) -> Positions:
        queues = np.full((len(positions), 2, rules.m), -1, np.int8)
        for row, position in enumerate(positions):
            for side, queue in enumerate((position.x, position.y)):
                queues[row, side, : len(queue)] = queue
        to_move = np.array([position.to_move == "y" for position in positions], np.int8)
        return cls(rules, queues, to_move)

    @classmethod
    def from_arrays(cls, rules: Rules, x: Int8Array, y: Int8Array, to_move: Int8Array) -> Positions:
        """From x, y int8 [N, m] and to_move int8 [N], as ``Table.probe_many`` takes them."""
        return cls(rules, np.stack([x, y], axis=1), to_move)

    def __len__(self) -> int:
        return len(self.to_move)

    @property
    def arrays(self) -> tuple[Int8Array, Int8Array, Int8Array]:
        """x, y int8 [N, m] and to_move int8 [N], contiguous, as ``Table.probe_many`` takes them."""
        x, y = (np.ascontiguousarray(self.queues[:, side]) for side in (0, 1))
        return x, y, np.ascontiguousarray(self.to_move)

    @property
    def mover(self) -> Int8Array:
        """The queues of the sides to move, int8 [N, m]."""
        return self.queues[np.arange(len(self)), self.to_move]

    @property
    def opponent(self) -> Int8Array:
        """The queues of the other sides, int8 [N, m]."""
        return self.queues[np.arange(len(self)), 1 - self.to_move]

    def take(self, rows: NDArray[Any]) -> Positions:
        """The positions of these rows: numbers, or a bool [N]."""
        return Positions(self.rules, self.queues[rows], self.to_move[rows])

    def at(self, row: int) -> Position:
        x, y = (tuple(int(c) for c in queue if c >= 0) for queue in self.queues[row])
        return Position(x, y, "y" if self.to_move[row] else "x", self.rules)


@dataclass(frozen=True)
class Successors:
    """All positions after one move: ``parent`` int64 [M] and ``cell`` int8 [M], rising."""

    positions: Positions
    parent: NDArray[np.int64]
    cell: Int8Array


def join(parts: Sequence[Positions]) -> Positions:
    """One array of positions after another; at least one."""
    return Positions(
        parts[0].rules,
        np.concatenate([part.queues for part in parts]),
        np.concatenate([part.to_move for part in parts]),
    )


@cache
def _line_masks(rules: Rules) -> Masks:
    return np.array([sum(1 << cell for cell in line) for line in rules.lines], np.uint32)


def piece_masks(queues: Int8Array) -> Masks:
    """The cells of queues int8 [..., m] as masks uint32 [...]."""
    masks = BIT[queues[..., 0]]
    for place in range(1, queues.shape[-1]):
        masks |= BIT[queues[..., place]]
    return masks


def cells_of(masks: Masks, rules: Rules) -> NDArray[np.bool_]:
    """Masks uint32 [N] spelled out: bool [N, n*n]."""
    return np.asarray((masks[:, None] & BIT[: rules.cells]) != 0)


def has_line(pieces: Masks, rules: Rules) -> NDArray[np.bool_]:
    """Whether pieces, masks uint32 [N], contain k in a row: bool [N]."""
    lined = np.zeros(pieces.shape, np.bool_)
    for line in _line_masks(rules):
        lined |= (pieces & line) == line
    return lined


def is_open(positions: Positions) -> NDArray[np.bool_]:
    """Whether play goes on: neither side has a line. bool [N]."""
    rules = positions.rules
    lines = has_line(piece_masks(positions.queues), rules)
    return np.asarray(~lines.any(axis=1))


def is_won(positions: Positions) -> NDArray[np.bool_]:
    """Whether the previous mover has a line: bool [N]."""
    return has_line(piece_masks(positions.opponent), positions.rules)


def legal_moves(positions: Positions) -> NDArray[np.bool_]:
    """The empty cells, bool [N, n*n]; none where a side has a line."""
    occupied = np.bitwise_or.reduce(piece_masks(positions.queues), axis=1)
    empty = ~cells_of(occupied, positions.rules)
    empty[~is_open(positions)] = False
    return empty


def winning_cells(positions: Positions, *, opponent: bool = False) -> Masks:
    """The empty cells on which the side to move wins at once, masks uint32 [N].

    With ``opponent``: on which the other side would win at once if it were to move now, the
    side to move having passed. The piece that the move would remove does not count.
    """
    queue = positions.opponent if opponent else positions.mover
    stays = queue.copy()
    stays[queue[:, -1] >= 0, 0] = -1  # a full queue loses its oldest piece
    kept = piece_masks(stays)
    completing = np.zeros(len(positions), np.uint32)
    for line in _line_masks(positions.rules):
        missing = line & ~kept
        completing |= np.where((missing & (missing - np.uint32(1))) == 0, missing, np.uint32(0))
    return np.asarray(completing & ~np.bitwise_or.reduce(piece_masks(positions.queues), axis=1))


def play(positions: Positions, cells: NDArray[Any]) -> Positions:
    """The positions after the sides to move place pieces on ``cells``, integers [N].

    Raises InputError if one of the moves is not legal.
    """
    rows = np.arange(len(positions))
    off_board = (cells < 0) | (cells >= positions.rules.cells)
    legal = legal_moves(positions)[rows, np.where(off_board, 0, cells)] & ~off_board
    if not legal.all():
        row = int(np.flatnonzero(~legal)[0])
        raise InputError(f"cell {cells[row]} is not a legal move in '{positions.at(row)}'")
    return _place(positions, rows, cells)


def successors(positions: Positions) -> Successors:
    """Every legal move of every position, by rising row and cell."""
    parent, cell = np.nonzero(legal_moves(positions))
    return Successors(_place(positions, parent, cell), parent, cell.astype(np.int8))


def _place(positions: Positions, parent: NDArray[np.int64], cells: NDArray[Any]) -> Positions:
    """Position ``parent[i]`` after a legal move on ``cells[i]``, for every i."""
    mover = positions.mover
    pieces = (mover >= 0).sum(axis=1)
    full = pieces == positions.rules.m
    mover[full, :-1] = mover[full, 1:]  # ``mover`` is a copy: the oldest piece leaves
    place = np.minimum(pieces, positions.rules.m - 1)
    side = positions.to_move[parent]
    queues = positions.queues[parent]
    after = mover[parent]
    rows = np.arange(len(parent))
    after[rows, place[parent]] = cells
    queues[rows, side] = after
    return Positions(positions.rules, queues, np.asarray(1 - side, np.int8))


# ---- play that knows only the rules -------------------------------------------------------------


def random_moves(positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
    """A legal move of each open position, int64 [N]."""
    legal = legal_moves(positions)
    return np.asarray(np.argmax((1 + rng.random(legal.shape)) * legal, axis=1))


def random_play(rules: Rules, games: int, rng: np.random.Generator) -> Positions:
    """A position of each of ``games`` random games: after a random ply, or before the game ends.

    Up to 6m plies, so that about half of the positions are full.
    """
    positions = join([Positions.of([rules.start()], rules)] * games)
    stop = rng.integers(0, 6 * rules.m + 1, games)
    for ply in range(6 * rules.m):
        rows = np.flatnonzero(stop > ply)
        going_on = positions.take(rows)
        after = play(going_on, random_moves(going_on, rng))
        won = is_won(after)
        stop[rows[won]] = 0
        positions.queues[rows[~won]] = after.queues[~won]
        positions.to_move[rows[~won]] = after.to_move[~won]
    return positions


def threats_made(positions: Positions) -> NDArray[np.float64]:
    """On how many cells each move would win next, less 100 if it lets the other side win first.

    float64 [N, n*n]; 0 for a move that is not legal.
    """
    after = successors(positions)
    threats = cells_of(winning_cells(after.positions, opponent=True), positions.rules).sum(axis=1)
    exposed = winning_cells(after.positions) != 0
    made = np.zeros((len(positions), positions.rules.cells))
    made[after.parent, after.cell] = threats - 100.0 * exposed
    return made
