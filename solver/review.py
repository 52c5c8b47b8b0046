"""A game judged move by move: which moves gave a result away, and how well each side played.

review = review_game(table, rules.start(), cells)
review.mistakes             # the moves after which the mover's result is worse than before
review.accuracy(0).share    # of the first player's moves, those that kept the result
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from solver.connect4.position import Connect4Position
from solver.connect4.solver import Connect4Solver
from solver.playout import Positions
from solver.probing import Table
from solver.rules import Position
from solver.values import FOR_THE_OPPONENT, RESULTS, Value


@dataclass(frozen=True)
class ReviewedMove:
    """A move and what it did to the mover's result."""

    side: int
    """0 for the first player, 1 for the second."""
    before: Value
    """What the position was worth to the mover."""
    after: Value
    """What the move left of it, to the same player; plies count from before the move."""
    right: tuple[int, ...] = ()
    """For a mistake: the moves that would have kept the result."""

    @property
    def is_mistake(self) -> bool:
        return RESULTS.index(self.after.result) > RESULTS.index(self.before.result)


@dataclass(frozen=True)
class Accuracy:
    """How many of one side's moves kept the result."""

    moves: int
    mistakes: int

    @property
    def share(self) -> float | None:
        """None without a move."""
        return 1 - self.mistakes / self.moves if self.moves else None


@dataclass(frozen=True)
class Review:
    """A game from a position on: its moves, and the value of every position for its side to move,
    one more than moves."""

    moves: tuple[ReviewedMove, ...]
    values: tuple[Value, ...]

    @property
    def mistakes(self) -> list[ReviewedMove]:
        return [move for move in self.moves if move.is_mistake]

    def accuracy(self, side: int) -> Accuracy:
        judged = [move.is_mistake for move in self.moves if move.side == side]
        return Accuracy(len(judged), sum(judged))


def review_game(table: Table, start: Position, cells: Sequence[int]) -> Review:
    """Judges the moves of a drop-oldest game, played from ``start``."""
    positions = [start]
    for cell in cells:
        positions.append(positions[-1].play(cell))
    results, plies = table.probe_many(*Positions.of(positions, start.rules).arrays)
    values = [
        Value(RESULTS[1 - int(result)], None if left < 0 else int(left))
        for result, left in zip(results, plies, strict=True)
    ]

    def right(ply: int) -> list[int]:
        moves = table.moves(positions[ply])
        return sorted(move.cell for move in moves if move.result == values[ply].result)

    return judged("xy".index(start.to_move), values, right)


def review_connect4(
    solver: Connect4Solver, position: Connect4Position, known: Callable[[int, Value], None]
) -> Review:
    """Judges the moves that led to this position, from the empty board.

    known: called with each ply and the value of its position, the last one first, as soon as it is
    known: late positions are solved in no time, and what they leave in the solver's table helps
    with the earlier ones.
    """
    positions = [Connect4Position(position.columns[:ply]) for ply in range(position.plies + 1)]
    values: list[Value] = []
    for ply in reversed(range(len(positions))):
        result, plies, _ = solver.value(positions[ply])
        values.insert(0, Value(result, plies))
        known(ply, values[0])

    def right(ply: int) -> list[int]:
        before, aim = positions[ply], RESULTS.index(values[ply].result)
        after = {column: before.play(column) for column in before.legal_moves()}
        return [
            column
            for column, board in after.items()
            if 1 + solver.search(board.mover, board.stones, -1, 1) == aim
        ]

    return judged(0, values, right)


def judged(
    first_side: int, values: Sequence[Value], right: Callable[[int], Sequence[int]]
) -> Review:
    """The review of a game whose positions have these values.

    right: the moves that keep the result of a ply's position; asked for mistakes only.
    """
    moves = []
    for ply, (before, left) in enumerate(pairwise(values)):
        plies = None if left.plies is None else left.plies + 1
        move = ReviewedMove(
            (first_side + ply) % 2, before, Value(FOR_THE_OPPONENT[left.result], plies)
        )
        moves.append(replace(move, right=tuple(right(ply))) if move.is_mistake else move)
    return Review(tuple(moves), tuple(values))
