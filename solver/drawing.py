"""Positions, moves and lines as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from solver.probing import Table
from solver.rules import Position, Rules
from solver.values import MoveValue, Value
from solver.wording import counted_plies

LONGEST_LINE = 256  # longer than any forced win that a byte can hold
DRAWN_LINE = 8  # plies that are shown of a line that never ends


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
    """``win in 5 plies``, ``draw (endless)``, ``lost: the game is over``."""
    if value.plies is None:
        return "draw (endless)"
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
    value: Value
    moves: list[MoveValue]
    line: list[int]

    @classmethod
    def of(cls, table: Table, position: Position) -> ProbeReport:
        value, moves = table.probe(position), table.moves(position)
        longest = DRAWN_LINE if value.plies is None else LONGEST_LINE
        return cls(position, value, moves, table.line(position, longest))

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

    def __str__(self) -> str:
        side = self.position.to_move.upper()
        head = f"{self.position}: {side} to move, {outcome(self.value)}\n\n{board(self.position)}"
        if not self.moves:
            return head
        endless = "  …" if self.value.plies is None else ""
        return (
            f"{head}\n\nMoves of {side}, best first:\n"
            f"{move_table(self.position.rules, self.moves)}\n\n"
            f"Best line: {line_of(self.position, self.line)}{endless}"
        )


def move_table(rules: Rules, moves: Sequence[MoveValue]) -> str:
    return "\n".join(f"  {rules.cell_name(move.cell)}   {outcome(move)}" for move in moves)
