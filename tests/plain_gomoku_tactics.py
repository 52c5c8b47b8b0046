"""Forced wins in Gomoku in plain Python, from the definitions alone: every move of the attacker is
looked at, and every legal reply is tried. For small boards with few empty cells.

Stones are two sets of bits, the attacker's and the defender's; nothing is shared with the kernel.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from gomoku_positions import Cells, has_five
from plain_games import windows


class PlainTactics:
    """Boards of one size; with threes or with fours alone."""

    def __init__(self, size: int, threes: bool) -> None:
        self.size, self.threes = size, threes
        self._windows = [
            sum(1 << cell for cell in cells) for cells in windows(size, size, length=5)
        ]
        self._known: dict[tuple[int, int, int, bool], bool] = {}

    def least_moves(
        self, cells: tuple[int, ...], attacker: int, attacker_moves: bool, most: int
    ) -> int | None:
        """The fewest attacking moves that win, or None if more than ``most`` are needed."""
        own = 1 if attacker == 0 else -1
        attack = sum(1 << cell for cell, stone in enumerate(cells) if stone == own)
        defence = sum(1 << cell for cell, stone in enumerate(cells) if stone == -own)
        for moves in range(1, most + 1):
            wins = self.wins if attacker_moves else self.loses
            if wins(attack, defence, moves):
                return moves
        return None

    def wins(self, attack: int, defence: int, moves: int) -> bool:
        """The attacker to move, with this many moves left."""
        return self._remembered(attack, defence, moves, True)

    def loses(self, attack: int, defence: int, moves: int) -> bool:
        """The defender to move: does every reply lose, and is it an attack at all?"""
        return self._remembered(attack, defence, moves, False)

    def _remembered(self, attack: int, defence: int, moves: int, attacker_moves: bool) -> bool:
        key = (attack, defence, moves, attacker_moves)
        if key not in self._known:
            ask = self._wins if attacker_moves else self._loses
            self._known[key] = ask(attack, defence, moves)
        return self._known[key]

    def _wins(self, attack: int, defence: int, moves: int) -> bool:
        if moves == 0:
            return False
        empty = self._empty(attack, defence)
        if any(self.has_five(attack | cell) for cell in empty):
            return True
        return any(
            self.loses(attack | cell, defence, moves - 1)
            for cell in empty
            if self._is_attack(attack | cell, defence)
        )

    def _loses(self, attack: int, defence: int, moves: int) -> bool:
        return self._is_attack(attack, defence) and all(
            self.wins(attack, defence | reply, moves) for reply in self._empty(attack, defence)
        )

    def _is_attack(self, attack: int, defence: int) -> bool:
        """Are these the stones after an attacking move?"""
        if self._completing(defence, attack):
            return False
        if self._completing(attack, defence):
            return True
        return self.threes and any(
            self._completing(attack | cell, defence) >= 2 for cell in self._empty(attack, defence)
        )

    def _completing(self, own: int, other: int) -> int:
        """How many empty cells complete five."""
        cells = {window & ~own for window in self._windows}
        return sum(cell.bit_count() == 1 and not cell & other for cell in cells)

    def has_five(self, stones: int) -> bool:
        return any(stones & window == window for window in self._windows)

    def _empty(self, attack: int, defence: int) -> list[int]:
        return _bits(self.size**2, attack | defence)


@cache
def _bits(cells: int, taken: int) -> list[int]:
    return [1 << cell for cell in range(cells) if not taken >> cell & 1]


class PlainStops:
    """By brute force: does the opponent win by fours, whatever the side to move does?"""

    def __init__(self, size: int) -> None:
        self.size, self._plain = size, PlainTactics(size, threes=False)

    def wins(self, cells: Cells, side: int) -> bool:
        moves = (int((cells == 0).sum()) + 1) // 2
        return self._plain.least_moves(tuple(cells.tolist()), side, True, moves) is not None

    def loses(self, cells: Cells, side: int, move: int) -> bool:
        """Is this move answered by a win? A four is answered by the stone that it forces, and then
        the side moves again."""
        after = cells.copy()
        after[move] = own = 1 - 2 * side
        if has_five(after, self.size, move):
            return False
        if self.wins(after, 1 - side):
            return True
        forced = self._completing(after, own)
        if len(forced) != 1:
            return False
        after[forced[0]] = -own
        empty = np.flatnonzero(after == 0).tolist()
        return bool(empty) and all(self.loses(after, side, other) for other in empty)

    def _completing(self, cells: Cells, own: int) -> list[int]:
        completing = []
        for at in np.flatnonzero(cells == 0).tolist():
            more = cells.copy()
            more[at] = own
            if has_five(more, self.size, at):
                completing.append(at)
        return completing
