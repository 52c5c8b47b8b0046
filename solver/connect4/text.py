"""Connect Four for people and scripts: the board, a probed position, a verified set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from solver.connect4.position import COLUMN_BITS, COLUMNS, ROWS, Connect4Position
from solver.connect4.sets import SetCheck
from solver.connect4.solver import Connect4Move, Connect4Solver, Connect4Value

STONES = "XO"
"""The first player's and the second player's."""


def board(position: Connect4Position) -> str:
    """The board as it stands; X is the first player, O the second."""
    mover, other = position.mover, position.stones ^ position.mover
    mine, theirs = STONES[position.to_move], STONES[1 - position.to_move]
    rows = []
    for row in reversed(range(ROWS)):
        bits = [1 << (column * COLUMN_BITS + row) for column in range(COLUMNS)]
        cells = [mine if mover & bit else theirs if other & bit else "·" for bit in bits]
        rows.append("  | " + " ".join(cells))
    rows.append("  +" + "--" * COLUMNS)
    rows.append("    " + " ".join(map(str, range(1, COLUMNS + 1))))
    return "\n".join(rows)


def outcome(value: Connect4Value | Connect4Move) -> str:
    """``win in 5 plies (score 18)``, ``draw on the full board``, ``lost: the game is over``."""
    if value.plies == 0:
        return "draw: the board is full" if value.result == "draw" else "lost: the game is over"
    plies = f"in {value.plies} {'ply' if value.plies == 1 else 'plies'}"
    if value.result == "draw":
        return f"draw, the board full {plies}"
    return f"{value.result} {plies} (score {value.score:+d})"


def probed(solver: Connect4Solver, position: Connect4Position) -> tuple[dict[str, Any], str]:
    """Everything ``probe`` tells of a position: for a script, and in words."""
    moves = solver.moves(position)
    value = Connect4Value(*moves[0][1:]) if moves else solver.value(position)
    line = solver.best_line(position)
    told = {
        "position": str(position),
        **value._asdict(),
        "moves": [move._asdict() for move in moves],
        "line": line,
    }
    side = STONES[position.to_move]
    words = [f"{position}: {side} to move, {outcome(value)}", "", board(position)]
    if moves:
        words += ["", f"Columns for {side}, best first:"]
        words += [f"  {move.column}   {outcome(move)}" for move in moves]
        words += ["", f"Best line: {_line(position, line)}"]
    return told, "\n".join(words)


def _line(position: Connect4Position, columns: Sequence[int]) -> str:
    first = position.to_move
    return "  ".join(f"{STONES[(first + i) % 2]} {column}" for i, column in enumerate(columns))


def verified(checks: Sequence[SetCheck]) -> str:
    """One line for each set, then what was wrong."""
    width = max(len(check.name) for check in checks)
    lines = [
        f"{check.name:<{width}}  {check.correct:,} of {check.total:,} correct, "
        f"{check.nodes / check.total:,.1f} nodes and {1000 * check.seconds / check.total:,.3f} ms "
        f"a position, {check.seconds:,.1f} s in all"
        for check in checks
    ]
    correct, total = sum(c.correct for c in checks), sum(c.total for c in checks)
    lines += [f"WRONG: {check.name}: {wrong}" for check in checks for wrong in check.wrong]
    lines.append(
        f"{correct:,} of {total:,} positions correct: "
        + ("verified" if correct == total else "verification FAILED")
    )
    return "\n".join(lines)
