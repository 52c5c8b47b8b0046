"""What is known exactly during a game, in words: by the table or by the Connect Four solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from azfit.games import Connect4, DropOldest, State
from solver import drawing
from solver.connect4 import Connect4Solver
from solver.connect4 import text as connect4_text
from solver.probing import Table
from solver.values import best_first


@dataclass(frozen=True)
class Advice:
    """What a move is worth to the player who makes it."""

    action: int
    worth: str
    """``win in 5 plies``, ``draw (endless)``."""
    is_best: bool
    traps: int = 0
    """How many of the replies are mistakes, where that is known."""
    mistakes: str = ""
    """The same in words: ``3 of 9 replies are mistakes``."""


class Adviser(Protocol):
    """Knows every move of every position of one game."""

    def moves(self, state: State) -> list[Advice]:
        """The legal moves, best first, of equal ones those with most traps first."""

    def worth(self, state: State) -> str:
        """What the position is worth to the side to move."""


class TableAdviser:
    """Drop-oldest, by its table."""

    def __init__(self, game: DropOldest, table: Table) -> None:
        self._game, self._table = game, table

    def moves(self, state: State) -> list[Advice]:
        moves = self._table.moves(self._game.position(state))
        best = best_first(moves[0])
        return [
            Advice(
                move.cell,
                drawing.outcome(move),
                best_first(move) == best,
                move.traps,
                drawing.mistakes(move),
            )
            for move in moves
        ]

    def worth(self, state: State) -> str:
        return drawing.outcome(self._table.probe(self._game.position(state)))


class SolverAdviser:
    """Connect Four, by its solver."""

    def __init__(self, game: Connect4, solver: Connect4Solver) -> None:
        self._game, self._solver = game, solver

    def moves(self, state: State) -> list[Advice]:
        moves = self._solver.moves(self._game.stones(state))
        best = moves[0].score
        return [Advice(m.column - 1, connect4_text.outcome(m), m.score == best) for m in moves]

    def worth(self, state: State) -> str:
        return connect4_text.outcome(self._solver.value(self._game.stones(state)))
