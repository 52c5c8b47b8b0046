"""What follows from forced wins: the line, what the opponent threatens, and which moves stop it.

    play = ForcedPlay(tactics)                  # by fours; or with threes=True
    play.attack(cells, side)                    # does the side to move win?
    play.line(cells, side)                      # how, against the longest defence
    play.attack(cells, 1 - side)                # what the opponent threatens
    play.stops(cells, side)                     # and what stops it

A stone more never hurts its owner, so a side that is not threatened has nothing to stop.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

from solver.errors import FadefourError, InputError
from solver.gomoku.tactics import MOST_NODES, NODES, PLIES, Answer, Attack, Cells, GomokuTactics


@dataclass(frozen=True)
class Stops:
    """The moves of a side that is threatened."""

    moves: list[int] = field(default_factory=list)
    """Those after which the opponent has no such win."""
    unknown: list[int] = field(default_factory=list)
    """Those that were not decided within the limit of nodes."""


class ForcedPlay:
    """Forced wins of one kind: by fours, or by fours and threes within a number of plies."""

    def __init__(
        self,
        tactics: GomokuTactics,
        *,
        threes: bool = False,
        plies: int = PLIES,
        most_nodes: int = NODES,
    ) -> None:
        """most_nodes: the limit of each question."""
        self._tactics, self.threes, self.plies = tactics, threes, plies
        self.most_nodes = most_nodes

    def attack(
        self,
        cells: Cells,
        attacker: int,
        *,
        attacker_moves: bool = True,
        most_nodes: int | None = None,
    ) -> Attack:
        """Does the attacker win?"""
        nodes = self.most_nodes if most_nodes is None else most_nodes
        if not self.threes:
            return self._tactics.fours(
                cells, attacker, attacker_moves=attacker_moves, most_nodes=nodes
            )
        return self._tactics.threes(
            cells, attacker, attacker_moves=attacker_moves, plies=self.plies, most_nodes=nodes
        )

    def line(self, cells: Cells, attacker: int, budget: Budget | None = None) -> list[int]:
        """The win of the attacker, who is to move, against the longest defence.

        Every legal reply of the line is tried: one that does not lose as soon as promised would
        be a defect of the solver, and is raised as such. Where a budget ends, the line does.
        """
        budget = Budget(MOST_NODES) if budget is None else budget
        attack = self._asked(cells, attacker, budget)
        if not attack.is_known:
            return []
        if attack.move is None or attack.plies is None:
            raise InputError("the attacker has no such win: there is no line to show")
        moves = [attack.move]
        board = with_stone(cells, attacker, attack.move)
        while attack.plies > 1:
            answers = {
                reply: self._asked(with_stone(board, 1 - attacker, reply), attacker, budget)
                for reply in empty_cells(board)
            }
            if not all(answer.is_known for answer in answers.values()):
                break
            # of equal replies the one that is in the attacker's way
            wanted = self._asked(board, attacker, budget).move
            reply = max(answers, key=lambda cell: (_plies(answers[cell]), cell == wanted))
            longest = answers[reply]
            if _plies(longest) != attack.plies - 2 or longest.move is None:
                raise FadefourError(
                    f"the reply to cell {reply} takes {longest.plies} plies, not "
                    f"{attack.plies - 2}: a defect of the solver, please report it"
                )
            moves += [reply, longest.move]
            board = with_stone(board, 1 - attacker, reply)
            board = with_stone(board, attacker, longest.move)
            attack = longest
            assert attack.plies is not None
        return moves

    def stops(self, cells: Cells, side: int, budget: Budget | None = None) -> Stops:
        """The moves of the side to move after which the opponent has no such win.

        For a side that has no such win itself. A four only stops a threat if it is still stopped,
        or can be, after the opponent's answer to the four.
        """
        stops, budget = Stops(), Budget(self.most_nodes) if budget is None else budget
        for move in empty_cells(cells):
            refuted = self._is_refuted(cells, side, move, budget)
            if refuted is None:
                stops.unknown.append(move)
            elif not refuted:
                stops.moves.append(move)
        return stops

    def is_refuted(self, cells: Cells, side: int, move: int) -> bool | None:
        """Does the opponent have such a win after this move? None: the limit was reached."""
        return self._is_refuted(cells, side, move, Budget(self.most_nodes))

    def is_lost(self, cells: Cells, side: int) -> bool | None:
        """Does the opponent win whatever the side to move does? None: the limit was reached."""
        return self._is_lost(cells, side, Budget(self.most_nodes))

    def _is_refuted(self, cells: Cells, side: int, move: int, budget: Budget) -> bool | None:
        after = with_stone(cells, side, move)
        answer = self._asked(after, 1 - side, budget)
        if answer.wins or not answer.is_known:
            return True if answer.wins else None
        forced = self._tactics.completing_cell(after, side)
        if forced is None:
            return False
        return self._is_lost(with_stone(after, 1 - side, forced), side, budget)

    def _is_lost(self, cells: Cells, side: int, budget: Budget) -> bool | None:
        own, threat = self._asked(cells, side, budget), self._asked(cells, 1 - side, budget)
        if own.wins or (threat.is_known and not threat.wins):
            return False
        if not own.is_known or threat.move is None:
            return None
        unknown = False
        for move in nearest(self._tactics.size, cells, threat.move):
            refuted = self._is_refuted(cells, side, move, budget)
            if refuted is False:
                return False
            unknown |= refuted is None
        return None if unknown else True

    def _asked(self, cells: Cells, attacker: int, budget: Budget) -> Attack:
        """Does the attacker, to move, win? Of what is left of the budget."""
        left = budget.left
        if left <= 0:
            return Attack(Answer.UNKNOWN, 0)
        attack = self.attack(cells, attacker, most_nodes=left)
        budget.nodes -= attack.nodes
        return attack


@dataclass
class Budget:
    """Nodes, and time if it is limited, that are left for all questions of one answer."""

    nodes: int
    ends: float = math.inf
    """By ``time.monotonic``."""

    @property
    def left(self) -> int:
        """Nodes that the next question may take."""
        return 0 if time.monotonic() > self.ends else self.nodes


def with_stone(cells: Cells, side: int, cell: int) -> Cells:
    """A copy with one more stone."""
    after = cells.copy()
    after[cell] = 1 - 2 * side
    return after


def empty_cells(cells: Cells) -> list[int]:
    return [int(cell) for cell in np.flatnonzero(cells == 0)]


def nearest(size: int, cells: Cells, cell: int | None) -> list[int]:
    """The empty cells, those next to this one first: what stops a threat is seldom far."""
    if cell is None:
        return empty_cells(cells)
    row, column = divmod(cell, size)

    def distance(other: int) -> int:
        return max(abs(other // size - row), abs(other % size - column))

    return sorted(empty_cells(cells), key=distance)


def _plies(attack: Attack) -> float:
    """Of a win; a reply that does not lose lasts longest."""
    return float("inf") if attack.plies is None else attack.plies
