"""Positions, moves and lines as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from solver.exploring import LONGEST_LINE, Limits
from solver.probing import Table
from solver.rules import Position, Rules
from solver.values import MoveValue, Value
from solver.wording import counted, counted_plies

NO_LINE = "These are results without plies: there is no best line."

PROBE_LIMITS = Limits(decided=LONGEST_LINE, drawn=8)
"""Plies that are shown of a best line; that of a draw never ends."""


def board(position: Position) -> str:
    """The board with the age of each piece: X1 is X's oldest, the next one to leave."""
    rules = position.rules
    full = {"x": len(position.x) == rules.m, "y": len(position.y) == rules.m}
    shown = {cell: f"X{age}" for age, cell in enumerate(position.x, 1)}
    shown |= {cell: f"Y{age}" for age, cell in enumerate(position.y, 1)}
    rows = []
    for row in reversed(range(rules.n)):
        cells = [shown.get(row * rules.n + column, "·") for column in range(rules.n)]
        rows.append(f"  {row + 1} | " + " ".join(cell.ljust(2) for cell in cells).rstrip())
    rows.append("    +" + "---" * rules.n)
    letters = " ".join(chr(ord("a") + column).ljust(2) for column in range(rules.n))
    rows.append(f"      {letters}".rstrip())
    leaving = [side.upper() + "1" for side in "xy" if full[side]]
    note = "1 is the oldest piece"
    if leaving:
        leave = "leaves" if len(leaving) == 1 else "leave"
        note += f"; {' and '.join(leaving)} {leave} with the owner's next move"
    return "\n".join(rows) + f"\n  ({note})"


def outcome(value: Value | MoveValue) -> str:
    """``win in 5 plies``, ``draw (endless)``, ``lost: the game is over``; ``win`` where plies are
    not known."""
    if value.result == "draw":
        return "draw (endless)"
    if value.plies is None:
        return value.result
    if value.plies == 0:
        return "lost: the game is over"
    return f"{value.result} in {counted_plies(value.plies)}"


def line_of(position: Position, cells: Sequence[int]) -> str:
    """Moves in notation with the side that makes them: ``X a1  Y b2``."""
    sides = [position.to_move, "y" if position.to_move == "x" else "x"]
    names = [
        f"{sides[i % 2].upper()} {position.rules.cell_name(cell)}" for i, cell in enumerate(cells)
    ]
    return "  ".join(names)


@dataclass(frozen=True)
class ProbeReport:
    """Everything ``probe`` says about a position."""

    position: Position
    transform: int
    value: Value
    moves: list[MoveValue]
    line: list[int]

    @classmethod
    def of(cls, table: Table, position: Position) -> ProbeReport:
        return cls(position, *table.explore(position, PROBE_LIMITS))

    def to_dict(self) -> dict[str, Any]:
        name = self.position.rules.cell_name
        moves = [
            {"cell": name(move.cell), "result": move.result, "plies": move.plies}
            for move in self.moves
        ]
        line = [name(cell) for cell in self.line]
        return {
            "position": str(self.position),
            **self.value._asdict(),
            "moves": moves,
            "line": line,
        }

    @property
    def headline(self) -> str:
        return f"{self.position}: {self.position.to_move.upper()} to move, {outcome(self.value)}"

    def __str__(self) -> str:
        side = self.position.to_move.upper()
        head = f"{self.headline}\n\n{board(self.position)}"
        if not self.moves:
            return head
        moves = f"Moves of {side}, best first:\n{move_table(self.position.rules, self.moves)}"
        if not self.line:
            return f"{head}\n\n{moves}\n\n{NO_LINE}"
        endless = "  …" if self.value.result == "draw" else ""
        line = f"Best line: {line_of(self.position, self.line)}{endless}"
        return f"{head}\n\n{moves}\n\n{line}"


def move_table(rules: Rules, moves: Sequence[MoveValue]) -> str:
    """A line for each move: cell, outcome, and how many of the replies to it are mistakes."""
    width = max((len(outcome(move)) for move in moves), default=0)
    lines = []
    for move in moves:
        line = f"  {rules.cell_name(move.cell)}   {outcome(move):<{width}}"
        lines.append(f"{line}   {mistakes(move)}".rstrip())
    return "\n".join(lines)


def mistakes(move: MoveValue) -> str:
    """``3 of 9 replies are mistakes``; nothing if none is."""
    if not move.traps:
        return ""
    return f"{move.traps} of {counted(move.replies, 'reply', 'replies')} are mistakes"
