"""The answer to "who wins?", with the deepest win played out."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.drawing import board, line_of, outcome
from solver.index import position_of
from solver.kernels import Crew
from solver.retrograde import count_values, deepest_of
from solver.rules import Position
from solver.statistics import by_result
from solver.table import DenseTable


def deepest_win(table: DenseTable, deepest: int) -> Position | None:
    """The first position with the longest forced win for the side to move."""
    plies = deepest if deepest % 2 else deepest - 1
    if plies < 1:
        return None
    found = np.flatnonzero(table.bytes == plies + 1)
    return position_of(int(found[0]), table.rules)


def summarise(table: DenseTable, threads: int | None = None) -> dict[str, Any]:
    """Who wins from the start, how many positions have which result, the deepest win."""
    table.check_all()
    with Crew(threads) as crew:
        counts = count_values(table.rules, table.bytes, crew)
    deepest = deepest_of(counts)
    start = table.rules.start()
    value = table.probe(start)
    winner = {"win": "X", "loss": "Y", "draw": None}[value.result]
    told: dict[str, Any] = {
        "rules": table.rules.tag,
        "start": {"result": value.result, "plies": value.plies, "winner": winner},
        "nodes": int(counts.sum()),
        "results": by_result(counts.sum(axis=0)),
        "deepest_plies": deepest,
    }
    position = deepest_win(table, deepest)
    if position is not None:
        line = table.line(position)
        told["deepest_win"] = {
            "position": str(position),
            "plies": table.probe(position).plies,
            "line": [table.rules.cell_name(cell) for cell in line],
        }
    return told


def in_words(table: DenseTable, told: dict[str, Any]) -> str:
    rules, start = table.rules, told["start"]
    verdict = (
        "a draw: neither side can force a line, best play never ends"
        if start["winner"] is None
        else f"{start['winner']} wins in {start['plies']} plies"
    )
    results = told["results"]
    lines = [
        f"drop-oldest {rules.n}×{rules.n}, {rules.m} pieces each, {rules.k} in a row, "
        f"from the empty board: {verdict}.",
        "",
        f"{told['nodes']:,} canonical positions; for the side to move: {results['win']:,} won, "
        f"{results['loss'] + results['finished']:,} lost ({results['finished']:,} of them over), "
        f"{results['draw']:,} drawn, {results['impossible']:,} cannot occur.",
    ]
    if "deepest_win" in told:
        position = Position.parse(told["deepest_win"]["position"], rules)
        cells = [rules.cell(name) for name in told["deepest_win"]["line"]]
        value = table.probe(position)
        lines += [
            "",
            f"The deepest win takes {value.plies} plies, for example from '{position}' "
            f"({position.to_move.upper()} to move, {outcome(value)}):",
            "",
            board(position),
            "",
            line_of(position, cells),
        ]
        for cell in cells:
            position = position.play(cell)
        winner = "Y" if position.to_move == "x" else "X"
        lines += ["", f"{winner} has the line:", "", board(position)]
    return "\n".join(lines)
