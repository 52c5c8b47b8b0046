"""The exact best response: can this player be beaten by anybody?

The player's move is fixed, so a game against it is a walk of the opponent alone. Every reply is
tried from the start, breadth first, each position once: a reply that completes a line is a
shortest way to beat the player; if no reply ever does, the positions met are a proof, which
``azfit.grading.certificate`` writes and checks again from the rules alone.

Of a canonical player symmetric positions are met once; of any other each board on its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from azfit.grading.certificate import REFUTED, UNBEATEN, Certificate
from azfit.players import Player, lowest_cells
from solver.errors import FadefourError, InputError
from solver.index import find_nodes, node_count
from solver.playout import Positions, is_won, join, play, successors, winning_cells
from solver.progress import Progress, Silent
from solver.rules import Position

Rows = NDArray[np.int64]
Cells = NDArray[np.int8]

AT_A_TIME = 1 << 15


@dataclass
class _Layer:
    """Positions with the player to move, all at the same number of plies."""

    boards: Positions
    parent: Rows
    """The row of the layer before from which each was reached."""
    reply: Cells
    """The opponent's move that led here; -1 for the start."""
    moves: Cells
    """The player's moves, filled in as they are asked for."""


@dataclass
class _Found:
    """New positions of the next layer, from some rows of this one."""

    boards: Positions
    parent: Rows
    reply: Cells


class _Walk:
    """One walk through everything an opponent can do, for one colour after the other."""

    def __init__(self, player: Player, progress: Progress) -> None:
        self._player, self._progress = player, progress
        self._rules = player.rules
        images = 1 if player.canonical else 8
        self._images = images
        self._seen = np.zeros(node_count(player.rules) * images, np.bool_)
        self.layers: list[_Layer] = []
        self.visited = 0
        self.margin = np.inf

    def run(self, side: str) -> tuple[int, ...] | None:
        """A shortest line that beats the player, or None; ``layers`` are this colour's."""
        self.layers, self.visited, self.margin = [], 0, np.inf
        self._progress.begin(f"as {side.upper()}", len(self._seen), "position")
        layer = self._start(side)
        while len(layer.boards):
            self.layers.append(layer)
            self.visited += len(layer.boards)
            found = []
            for rows in _chunks(len(layer.boards)):
                after = self._player_moves(layer, rows)
                wins = winning_cells(after.boards)
                lost = np.flatnonzero(wins)
                if len(lost):
                    self._progress.end("refuted")
                    last = int(lowest_cells(wins[lost[:1]])[0])
                    return self._line_to(int(after.parent[lost[0]]), last)
                replies = successors(after.boards)
                found.append(
                    self._new(replies.positions, after.parent[replies.parent], replies.cell)
                )
            self._progress.reach(self.visited)
            layer = _joined(found)
        self._progress.end(f"{self.visited:>14,} positions, unbeaten")
        return None

    def _start(self, side: str) -> _Layer:
        empty = Positions.of([self._rules.start()], self._rules)
        if side == "x":
            found = self._new(empty, np.zeros(1, np.int64), np.full(1, -1, np.int8))
        else:
            first = successors(empty)
            found = self._new(first.positions, first.parent, first.cell)
        return _joined([found])

    def _player_moves(self, layer: _Layer, rows: Rows) -> _Found:
        """The positions after the player's moves in these rows, where the game goes on."""
        answers = self._player.answer(layer.boards.take(rows))
        if answers.spread is not None:
            raise InputError(f"{self._player.name} draws its moves: only fixed moves are certified")
        if answers.margin is not None:
            self.margin = min(self.margin, float(answers.margin.min()))
        layer.moves[rows] = answers.cells
        after = play(layer.boards.take(rows), answers.cells)
        going_on = ~is_won(after)
        return _Found(after.take(going_on), rows[going_on], answers.cells[going_on])

    def _new(self, boards: Positions, parent: Rows, reply: Cells) -> _Found:
        """Those not met before, each once."""
        nodes, transforms = find_nodes(*boards.arrays, self._rules)
        keys = nodes.astype(np.int64)
        if self._images > 1:  # node and transform together say which board it is
            keys = keys * self._images + transforms
        fresh = np.flatnonzero(~self._seen[keys])
        _, first = np.unique(keys[fresh], return_index=True)
        rows = np.sort(fresh[first])
        self._seen[keys[rows]] = True
        return _Found(boards.take(rows), parent[rows], reply[rows])

    def _line_to(self, row: int, last: int) -> tuple[int, ...]:
        """The moves from the empty board to this row's player's move and the reply to it."""
        cells = [last]
        for layer in reversed(self.layers):
            cells += [int(layer.moves[row]), int(layer.reply[row])]
            row = int(layer.parent[row])
        return tuple(cell for cell in reversed(cells) if cell >= 0)


def _chunks(count: int) -> Iterator[Rows]:
    for first in range(0, count, AT_A_TIME):
        yield np.arange(first, min(first + AT_A_TIME, count))


def _joined(found: list[_Found]) -> _Layer:
    boards = join([part.boards for part in found])
    return _Layer(
        boards,
        np.concatenate([part.parent for part in found]),
        np.concatenate([part.reply for part in found]),
        np.full(len(boards), -1, np.int8),
    )


def _confirm(player: Player, side: str, line: tuple[int, ...]) -> None:
    """Plays the line by the rules, asking the player again, one position at a time."""
    position: Position = player.rules.start()
    for cell in line:
        if position.to_move == side and player.move(position) != cell:
            raise FadefourError(
                f"{player.name} moves differently when '{position}' is asked alone: its choice "
                "there hangs on the rounding of its arithmetic"
            )
        position = position.play(cell)
    if not position.is_over or position.to_move != side:
        raise FadefourError(f"the walk ended in '{position}', which is not lost: please report it")


def _certificate(
    player: Player, walk: _Walk, side: str, line: tuple[int, ...] | None
) -> Certificate:
    width = 2 * player.rules.m
    listed = [] if line is not None else walk.layers
    queues = [np.concatenate([la.boards.mover, la.boards.opponent], axis=1) for la in listed]
    return Certificate(
        UNBEATEN if line is None else REFUTED,
        player.rules,
        side,
        player.to_dict(),
        player.canonical,
        np.concatenate([np.empty((0, width), np.int8), *queues]),
        np.concatenate([np.empty(0, np.int8), *(layer.moves for layer in listed)]),
        line or (),
        float(walk.margin) if np.isfinite(walk.margin) else None,
        walk.visited,
    )


def certify(
    player: Player, side: str = "both", *, progress: Progress | None = None
) -> list[Certificate]:
    """Tries every reply against the player as ``x``, as ``y``, or as ``both``.

    Returns one certificate for each colour; if the player is unbeaten as both, one for the two:
    what is proven safe for X need not be walked again for Y.
    """
    if side not in ("x", "y", "both"):
        raise InputError(f"side {side!r}: use x, y or both")
    walk = _Walk(player, progress or Silent())
    told: list[Certificate] = []
    for colour in "xy" if side == "both" else side:
        line = walk.run(colour)
        told.append(_certificate(player, walk, colour, line))
        if line is not None:
            _confirm(player, colour, line)
            walk = _Walk(player, progress or Silent())  # what was met is not known to be safe
    if len(told) == 2 and all(found.kind == UNBEATEN for found in told):
        return [_joint(*told)]
    return told


def _joint(x: Certificate, y: Certificate) -> Certificate:
    """What holds for both colours; Y's list leaves out what X's has."""
    margins = [found.smallest_margin for found in (x, y) if found.smallest_margin is not None]
    return replace(
        x,
        sides="xy",
        queues=np.concatenate([x.queues, y.queues]),
        moves=np.concatenate([x.moves, y.moves]),
        smallest_margin=min(margins, default=None),
        visited=x.visited + y.visited,
    )
