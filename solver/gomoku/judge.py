"""What is right in a Gomoku position in which something is forced.

    with GomokuJudge(15) as judge:
        stake = judge.stake(cells, side)        # a win to take, a threat to stop, or nothing
        judge.is_right(cells, side, stake, move)

Exact as far as it goes: a win is by fours, or by fours and threes within the bound, a threat is by
fours. Where neither is at stake, or the limit of nodes was reached, it has nothing to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from solver.gomoku.forced import ForcedPlay, with_stone
from solver.gomoku.position import has_five
from solver.gomoku.tactics import NODES, PLIES, Cells, GomokuTactics


class Task(StrEnum):
    """What a side to move has to do."""

    FOURS = "win by fours"
    THREES = "win by fours and threes"
    STOP = "stop a win by fours"


@dataclass(frozen=True)
class Stake:
    """What is at stake for the side to move."""

    task: Task | None
    """None: nothing is forced, or no move stops it."""
    plies: int | None = None
    """Of the win that is to be taken or stopped."""
    keeps_anyway: bool = False
    """Every move keeps the win: there is no question."""
    is_lost: bool = False
    """No move stops the opponent's win by fours."""
    is_decided: bool = True
    """False: the limit of nodes was reached."""

    @property
    def is_question(self) -> bool:
        """Is there a right move and a wrong one?"""
        return self.task is not None and not self.keeps_anyway


UNDECIDED = Stake(None, is_decided=False)


class GomokuJudge:
    """For boards of one size. Use as a context manager, or call ``close``."""

    def __init__(self, size: int = 15, *, plies: int = PLIES, most_nodes: int = NODES) -> None:
        """plies: the bound of wins by fours and threes; most_nodes: the limit of each search."""
        self.size, self.plies = size, plies
        self._tactics = GomokuTactics(size)
        self._fours = ForcedPlay(self._tactics, most_nodes=most_nodes)
        self._threes = ForcedPlay(self._tactics, threes=True, plies=plies, most_nodes=most_nodes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._tactics.close()

    @property
    def nodes(self) -> int:
        """Moves tried by all searches so far."""
        return self._tactics.nodes

    def stake(self, cells: Cells, side: int) -> Stake:
        """What the side to move has to do."""
        for task, play in ((Task.FOURS, self._fours), (Task.THREES, self._threes)):
            attack = play.attack(cells, side)
            if attack.wins:
                passing = self._holds(cells, side)  # a stone more does not hurt
                if passing is None:
                    return UNDECIDED
                return Stake(task, attack.plies, keeps_anyway=passing)
            if not attack.is_known:
                return UNDECIDED
        threat = self._fours.attack(cells, 1 - side)
        if not threat.wins:
            return Stake(None) if threat.is_known else UNDECIDED
        lost = self._fours.is_lost(cells, side)
        if lost is None:
            return UNDECIDED
        return Stake(None if lost else Task.STOP, threat.plies, is_lost=lost)

    def is_right(self, cells: Cells, side: int, stake: Stake, move: int) -> bool | None:
        """Does this move keep the win, or stop the threat? None: the limit was reached."""
        if stake.task is Task.STOP:
            refuted = self._fours.is_refuted(cells, side, move)
            return None if refuted is None else not refuted
        after = with_stone(cells, side, move)
        # with five at hand, a move elsewhere may still leave a win
        if stake.plies == 1 and has_five(after, self.size, move):
            return True
        return self._holds(after, side)

    def _holds(self, cells: Cells, attacker: int) -> bool | None:
        """Does the attacker win whatever the other side, to move, does?"""
        known = True
        for play in (self._fours, self._threes):
            attack = play.attack(cells, attacker, attacker_moves=False)
            if attack.wins:
                return True
            known &= attack.is_known
        return False if known else None

    def value(self, cells: Cells, side: int) -> int | None:
        """+1 if the side to move wins by force, -1 if it loses, 0 if neither is proved; None if the
        limit was reached."""
        stake = self.stake(cells, side)
        if not stake.is_decided:
            return None
        if stake.task in (Task.FOURS, Task.THREES):
            return 1
        if stake.is_lost:
            return -1
        held = self._holds(cells, 1 - side)
        if held is None or held:
            return None if held is None else -1
        forced = self._tactics.completing_cell(cells, 1 - side)
        if forced is None:
            return 0
        lost = self._fours.is_lost(with_stone(cells, side, forced), 1 - side)
        return None if lost is None else int(lost)
