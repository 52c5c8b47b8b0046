"""What is proved about a position and each of its moves, at a bounded cost.

    with GomokuTactics(15) as tactics:
        verdict = Verdict.of(tactics, position)
        verdict.result, verdict.plies           # 'win', 5; or 'loss'; or None: nothing is proved
        verdict.moves                           # every legal move, best first

A win is by fours, of any length, or by fours and threes within ``PLIES`` (after a move, within
``PLIES_OF_MOVES``); of both the shorter one. A move loses if the opponent has such a win after it,
also after fours that only delay it; a position is lost if every move loses. Where the budget ends,
nothing is said.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from solver.gomoku.forced import Budget, ForcedPlay, empty_cells, nearest, with_stone
from solver.gomoku.position import GomokuPosition, has_five
from solver.gomoku.tactics import PLIES, Answer, Attack, Cells, GomokuTactics

PLIES_OF_MOVES = 7
"""The bound of wins by fours and threes after each move: there are hundreds of moves."""

NODES = 200_000
"""Of a whole verdict without its line: less than a tenth of a second."""

NODES_OF_A_LINE = 100_000

NODES_OF_A_QUESTION = 50_000
"""So that one hard question leaves something for the others."""

SECONDS = 2.0

UNKNOWN, NO_WIN = Attack(Answer.UNKNOWN, 0), Attack(Answer.NONE, 0)


@dataclass(frozen=True)
class MoveVerdict:
    """A legal move: what it is worth to the player who makes it."""

    cell: int
    result: str | None = None
    """win or loss; None: nothing is proved."""
    plies: int | None = None
    """To the five, this move included."""

    @property
    def order(self) -> tuple[int, int]:
        """Best first: quick wins, what is not known, slow losses."""
        plies = self.plies or 0
        return {"win": (0, plies), None: (1, 0), "loss": (2, -plies)}[self.result]


@dataclass(frozen=True)
class Threat:
    """The win by fours that the opponent would have if it were to move."""

    move: int
    plies: int


@dataclass(frozen=True)
class Verdict:
    """A position, as far as it is proved."""

    result: str | None
    """Of the side to move: win, loss, or over; None: nothing is proved."""
    plies: int | None = None
    line: list[int] = field(default_factory=list)
    """Of a win or a loss, the moves of both sides; shorter than ``plies`` if the budget ended."""
    threat: Threat | None = None
    stops: list[int] = field(default_factory=list)
    """The moves after which the threat is gone, for a side that has no win itself."""
    moves: list[MoveVerdict] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        tactics: GomokuTactics,
        position: GomokuPosition,
        *,
        most_nodes: int = NODES,
        seconds: float = SECONDS,
    ) -> Verdict:
        if position.is_over:
            return cls("over", 0)
        return _Search(tactics, most_nodes, seconds).verdict(position.cells, position.to_move)


class _Search:
    """The questions of one verdict."""

    def __init__(self, tactics: GomokuTactics, most_nodes: int, seconds: float) -> None:
        self._tactics, self._ends = tactics, time.monotonic() + seconds
        self._budget = Budget(most_nodes, self._ends)

    def verdict(self, cells: Cells, side: int) -> Verdict:
        own = self._shortest(cells, side, PLIES)
        threat = self._shortest(cells, 1 - side, PLIES)
        by_fours = self._asked(cells, 1 - side)
        result, plies, line, stops = None, None, list[int](), list[int]()
        threatened, budget = None, Budget(NODES_OF_A_LINE, self._ends)
        if own.wins:
            result, plies = "win", own.plies
            line = self._winning_line(cells, side, own, budget)
        near = threat.move if own.move is None else own.move
        moves = [
            self._move(cells, side, move, own, threat)
            for move in nearest(self._tactics.size, cells, near)
        ]
        moves.sort(key=lambda move: move.order)  # equal ones: the one in the opponent's way first
        if not own.wins and threat.wins and all(move.result == "loss" for move in moves):
            result, plies = "loss", moves[0].plies
            line = self._losing_line(cells, side, moves[0].cell, budget)
        if by_fours.move is not None and by_fours.plies is not None:
            threatened = Threat(by_fours.move, by_fours.plies)
            if not own.wins:
                stops = ForcedPlay(self._tactics).stops(cells, side, self._budget).moves
        moves.sort(key=lambda move: (*move.order, move.cell))
        return Verdict(result, plies, line, threatened, stops, moves)

    def _move(self, cells: Cells, side: int, move: int, own: Attack, threat: Attack) -> MoveVerdict:
        """own, threat: the shortest wins of both sides, each as if it were to move. A stone more
        never hurts its owner: without a threat no move loses, without a win none wins."""
        if move == own.move:
            return MoveVerdict(move, "win", own.plies)
        if own.wins:
            after = with_stone(cells, side, move)
            if has_five(after, self._tactics.size, move):
                return MoveVerdict(move, "win", 1)
            kept = self._shortest(after, side, attacker_moves=False)
            if kept.plies is not None:
                return MoveVerdict(move, "win", kept.plies + 1)
        if threat.wins:
            refuted = self._refutation(cells, side, move)
            if refuted.plies is not None:
                return MoveVerdict(move, "loss", refuted.plies + 1)
        return MoveVerdict(move)

    # ---- questions ------------------------------------------------------------------------------

    def _asked(
        self,
        cells: Cells,
        attacker: int,
        *,
        attacker_moves: bool = True,
        threes_within: int | None = None,
    ) -> Attack:
        """By fours alone, or by fours and threes within a number of plies."""
        nodes = min(self._budget.left, NODES_OF_A_QUESTION)
        if nodes <= 0:
            return UNKNOWN
        if threes_within is None:
            attack = self._tactics.fours(
                cells, attacker, attacker_moves=attacker_moves, most_nodes=nodes
            )
        else:
            attack = self._tactics.threes(
                cells,
                attacker,
                attacker_moves=attacker_moves,
                plies=threes_within,
                most_nodes=nodes,
            )
        self._budget.nodes -= attack.nodes
        return attack

    def _shortest(
        self,
        cells: Cells,
        attacker: int,
        bound: int = PLIES_OF_MOVES,
        *,
        attacker_moves: bool = True,
    ) -> Attack:
        """The shorter of a win by fours and one by fours and threes within the bound."""
        fours = self._asked(cells, attacker, attacker_moves=attacker_moves)
        if fours.plies is not None:
            bound = min(bound, fours.plies - 2)
            if bound <= 2:  # before a double four there is only a five
                return fours
        threes = self._asked(cells, attacker, attacker_moves=attacker_moves, threes_within=bound)
        if threes.wins or not fours.wins:
            return threes if threes.wins or fours.is_known else UNKNOWN
        return fours

    def _refutation(self, cells: Cells, side: int, move: int) -> Attack:
        """The opponent's win after a move, the opponent to move. A four forces its next stone, so
        it only helps if the side is not lost after that stone."""
        after = with_stone(cells, side, move)
        if has_five(after, self._tactics.size, move) or not (after == 0).any():
            return NO_WIN
        attack = self._shortest(after, 1 - side)
        if attack.wins or not attack.is_known:
            return attack
        forced = self._tactics.completing_cell(after, side)
        if forced is None:
            return NO_WIN
        lost = self._lost(with_stone(after, 1 - side, forced), side)
        return lost if lost.plies is None else Attack(Answer.WIN, 0, lost.plies + 1, forced)

    def _lost(self, cells: Cells, side: int) -> Attack:
        """The opponent's win whatever the side to move does."""
        threat = self._shortest(cells, 1 - side)
        if not threat.wins:
            return NO_WIN if threat.is_known else UNKNOWN
        if self._asked(cells, side).wins:
            return NO_WIN
        longest, known = 0, True
        for move in nearest(self._tactics.size, cells, threat.move):
            refuted = self._refutation(cells, side, move)
            if refuted.is_known and refuted.plies is None:
                return NO_WIN
            known &= refuted.is_known
            longest = max(longest, refuted.plies or 0)
        return Attack(Answer.WIN, 0, longest + 1) if known else UNKNOWN

    # ---- lines ----------------------------------------------------------------------------------

    def _winning_line(self, cells: Cells, attacker: int, win: Attack, budget: Budget) -> list[int]:
        """By fours if they win as soon, else by fours and threes."""
        assert win.plies is not None
        fours = ForcedPlay(self._tactics)
        if self._asked(cells, attacker).plies == win.plies:
            return fours.line(cells, attacker, budget)
        threes = ForcedPlay(self._tactics, threes=True, plies=win.plies)
        return threes.line(cells, attacker, budget)

    def _losing_line(self, cells: Cells, side: int, move: int, budget: Budget) -> list[int]:
        """The move, which loses, and how it does."""
        after = with_stone(cells, side, move)
        attack = self._shortest(after, 1 - side)
        if attack.wins:
            return [move, *self._winning_line(after, 1 - side, attack, budget)]
        forced = self._tactics.completing_cell(after, side)
        if forced is None or not attack.is_known:  # the budget has ended
            return [move]
        board = with_stone(after, 1 - side, forced)
        replies = {reply: self._refutation(board, side, reply) for reply in empty_cells(board)}
        if any(refuted.plies is None for refuted in replies.values()):
            return [move, forced]
        longest = max(replies, key=lambda reply: replies[reply].plies or 0)
        return [move, forced, *self._losing_line(board, side, longest, budget)]
