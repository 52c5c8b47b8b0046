"""Connect Four as text and JSON: the board, a probed position, a verified set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from solver.connect4.position import COLUMN_BITS, COLUMNS, ROWS, Connect4Position, Stones
from solver.connect4.sets import SetCheck
from solver.connect4.solver import (
    Connect4Move,
    Connect4Solver,
    Connect4Value,
    best_moves_first,
)
from solver.wording import counted_plies

STONES = "XO"
"""The first player's and the second player's."""


def board(position: Stones) -> str:
    """The board as it stands; X is the first player, O the second."""
    mover, other = position.mover, position.stones ^ position.mover
    movers, others = STONES[position.to_move], STONES[1 - position.to_move]
    rows = []
    for row in reversed(range(ROWS)):
        bits = [1 << (column * COLUMN_BITS + row) for column in range(COLUMNS)]
        cells = [movers if mover & bit else others if other & bit else "·" for bit in bits]
        rows.append("  | " + " ".join(cells))
    rows.append("  +" + "--" * COLUMNS)
    rows.append("    " + " ".join(map(str, range(1, COLUMNS + 1))))
    return "\n".join(rows)


def outcome(value: Connect4Value | Connect4Move) -> str:
    """``win in 5 plies (score +18)``, ``draw: the board is full``, ``lost: the game is over``."""
    if value.plies == 0:
        return "draw: the board is full" if value.result == "draw" else "lost: the game is over"
    plies = f"in {counted_plies(value.plies)}"
    if value.result == "draw":
        return f"draw, with the board full {plies}"
    return f"{value.result} {plies} (score {value.score:+d})"


@dataclass(frozen=True)
class Connect4Report:
    """Everything ``probe`` says about a position."""

    position: Connect4Position
    value: Connect4Value
    moves: list[Connect4Move]
    line: list[int]

    @classmethod
    def of(
        cls,
        solver: Connect4Solver,
        position: Connect4Position,
        found: Callable[[Connect4Move], object] = lambda move: None,
    ) -> Connect4Report:
        """found: called with each move as soon as its value is known."""
        worth = []
        for move in solver.each_move(position):
            worth.append(move)
            found(move)
        moves = best_moves_first(worth)
        value = Connect4Value(*moves[0][1:]) if moves else solver.value(position)
        return cls(position, value, moves, solver.best_line(position))

    def to_dict(self) -> dict[str, Any]:
        return {
            "position": str(self.position),
            **self.value._asdict(),
            "moves": [move._asdict() for move in self.moves],
            "line": self.line,
        }

    @property
    def headline(self) -> str:
        return f"{self.position}: {STONES[self.position.to_move]} to move, {outcome(self.value)}"

    def __str__(self) -> str:
        side = STONES[self.position.to_move]
        lines = [self.headline, "", board(self.position)]
        if self.moves:
            lines += ["", f"Columns for {side}, best first:"]
            lines += [f"  {move.column}   {outcome(move)}" for move in self.moves]
            lines += ["", f"Best line: {_line(self.position, self.line)}"]
        return "\n".join(lines)


def _line(position: Connect4Position, columns: Sequence[int]) -> str:
    first = position.to_move
    return "  ".join(f"{STONES[(first + i) % 2]} {column}" for i, column in enumerate(columns))


def verified(checks: Sequence[SetCheck]) -> str:
    """One line for each set, then what was wrong."""
    width = max(len(check.name) for check in checks)
    lines = [
        f"{check.name:<{width}}  {check.correct:,} of {check.total:,} correct, "
        f"{check.mean_nodes:,.1f} nodes and {check.mean_ms:,.3f} ms per position, "
        f"{check.seconds:,.1f} s in all"
        for check in checks
    ]
    correct, total = sum(c.correct for c in checks), sum(c.total for c in checks)
    lines += [f"WRONG: {check.name}: {wrong}" for check in checks for wrong in check.wrong]
    lines.append(
        f"{correct:,} of {total:,} positions correct: "
        + ("verified" if correct == total else "verification FAILED")
    )
    return "\n".join(lines)
