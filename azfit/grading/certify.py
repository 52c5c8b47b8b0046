"""The exact best response: can this player be beaten by anybody?

The player's move is fixed, so a game against it is a walk of the opponent alone. Every reply is
tried from the start, breadth first, each position once: a reply that completes a line is a
shortest way to beat the player; if no reply ever does, the positions met are a proof, which
``azfit.grading.certificate`` writes and checks again from the rules alone.

For a canonical player symmetric positions are one; for any other, every board is visited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from azfit.drop_oldest_players import drop_oldest_of, states_of
from azfit.grading.certificate import REFUTED, UNBEATEN, Certificate
from azfit.players import Choices, Player
from solver.errors import FadefourError, InputError
from solver.index import find_nodes, node_count
from solver.playout import Positions, cells_of, is_won, join, play, successors, winning_cells
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
class _Reached:
    """New positions of the next layer, reached from rows of this one."""

    boards: Positions
    parent: Rows
    reply: Cells


class _Walk:
    """One walk through everything an opponent can do, for one colour after the other."""

    def __init__(self, player: Player, progress: Progress) -> None:
        self._player, self._progress = player, progress
        self._game = drop_oldest_of(player)
        self._rules = self._game.rules
        images = 1 if player.canonical else 8
        self._images = images
        self._seen = np.zeros(node_count(self._rules) * images, np.bool_)
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
            reached = []
            for rows, choices in self._choices(layer):
                after = self._player_moves(layer, rows, choices)
                wins = winning_cells(after.boards)
                lost = np.flatnonzero(wins)
                if len(lost):
                    self._progress.end("refuted")
                    last = int(cells_of(wins[lost[:1]], self._rules).argmax())
                    return self._line_to(int(after.parent[lost[0]]), last)
                replies = successors(after.boards)
                reached.append(
                    self._new(replies.positions, after.parent[replies.parent], replies.cell)
                )
            self._progress.reach(self.visited)
            layer = _joined(reached)
        self._progress.end(f"{self.visited:>14,} positions, unbeaten")
        return None

    def _start(self, side: str) -> _Layer:
        empty = Positions.of([self._rules.start()], self._rules)
        if side == "x":
            reached = self._new(empty, np.zeros(1, np.int64), np.full(1, -1, np.int8))
        else:
            first = successors(empty)
            reached = self._new(first.positions, first.parent, first.cell)
        return _joined([reached])

    def _choices(self, layer: _Layer) -> Iterator[tuple[Rows, Choices]]:
        """What the player does in all rows, some of them at a time."""
        chunks = list(_chunks(len(layer.boards)))
        states = (states_of(self._game, layer.boards.take(rows)) for rows in chunks)
        return zip(chunks, self._player.choose_many(states), strict=True)

    def _player_moves(self, layer: _Layer, rows: Rows, choices: Choices) -> _Reached:
        """The positions after the player's moves in these rows, where the game goes on."""
        boards = layer.boards.take(rows)
        if choices.chances is not None:
            raise InputError(f"{self._player.name} draws its moves: only fixed moves are certified")
        if choices.margin is not None:
            self.margin = min(self.margin, float(choices.margin.min()))
        cells = choices.actions.astype(np.int8)
        layer.moves[rows] = cells
        after = play(boards, cells)
        going_on = ~is_won(after)
        return _Reached(after.take(going_on), rows[going_on], cells[going_on])

    def _new(self, boards: Positions, parent: Rows, reply: Cells) -> _Reached:
        """Those not met before, each once."""
        nodes, transforms = find_nodes(*boards.arrays, self._rules)
        keys = nodes.astype(np.int64)
        if self._images > 1:  # node and transform together say which board it is
            keys = keys * self._images + transforms
        fresh = np.flatnonzero(~self._seen[keys])
        _, first = np.unique(keys[fresh], return_index=True)
        rows = np.sort(fresh[first])
        self._seen[keys[rows]] = True
        return _Reached(boards.take(rows), parent[rows], reply[rows])

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


def _joined(parts: list[_Reached]) -> _Layer:
    boards = join([part.boards for part in parts])
    return _Layer(
        boards,
        np.concatenate([part.parent for part in parts]),
        np.concatenate([part.reply for part in parts]),
        np.full(len(boards), -1, np.int8),
    )


def _confirm(player: Player, side: str, line: tuple[int, ...]) -> None:
    """Plays the line by the rules, asking the player again, one position at a time."""
    position: Position = drop_oldest_of(player).rules.start()
    for cell in line:
        if position.to_move == side and player.move(position) != cell:
            raise FadefourError(
                f"{player.name} moves differently when it is asked about '{position}' alone: its "
                "choice depends on rounding"
            )
        position = position.play(cell)
    if not position.is_over or position.to_move != side:
        raise FadefourError(f"the walk ended in '{position}', which is not lost: please report it")


def _certificate(
    player: Player, walk: _Walk, side: str, line: tuple[int, ...] | None
) -> Certificate:
    rules = drop_oldest_of(player).rules
    listed = [] if line is not None else walk.layers
    queues = [np.concatenate([la.boards.mover, la.boards.opponent], axis=1) for la in listed]
    return Certificate(
        UNBEATEN if line is None else REFUTED,
        rules,
        side,
        player.info,
        player.canonical,
        np.concatenate([np.empty((0, 2 * rules.m), np.int8), *queues]),
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
    certificates: list[Certificate] = []
    for colour in "xy" if side == "both" else side:
        line = walk.run(colour)
        certificates.append(_certificate(player, walk, colour, line))
        if line is not None:
            _confirm(player, colour, line)
            walk = _Walk(player, progress or Silent())  # what was met is not known to be safe
    if len(certificates) == 2 and all(each.kind == UNBEATEN for each in certificates):
        return [_joint(*certificates)]
    return certificates


def _joint(x: Certificate, y: Certificate) -> Certificate:
    """What holds for both colours; Y's list leaves out what X's has."""
    margins = [each.smallest_margin for each in (x, y) if each.smallest_margin is not None]
    return replace(
        x,
        sides="xy",
        queues=np.concatenate([x.queues, y.queues]),
        moves=np.concatenate([x.moves, y.moves]),
        smallest_margin=min(margins, default=None),
        visited=x.visited + y.visited,
    )
