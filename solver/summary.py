"""The answer to "who wins?", with the deepest win played out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from solver.checked_files import NodeTable
from solver.drawing import board, line_of, outcome
from solver.index import position_of
from solver.rules import Position, Rules
from solver.statistics import Statistics
from solver.table import BYTES_AT_A_TIME, DenseTable
from solver.values import ResultCounts, Value
from solver.wording import counted_plies


@dataclass(frozen=True)
class DeepestWin:
    """A position with the longest forced win, and its best line."""

    position: Position
    value: Value
    line: list[int]

    def to_dict(self) -> dict[str, Any]:
        return {
            "position": str(self.position),
            "plies": self.value.plies,
            "line": [self.position.rules.cell_name(cell) for cell in self.line],
        }

    def __str__(self) -> str:
        position = self.position
        for cell in self.line:
            position = position.play(cell)
        winner = "Y" if position.to_move == "x" else "X"
        return "\n".join(
            [
                f"The deepest win takes {self.value.plies} plies, for example from "
                f"'{self.position}' ({self.position.to_move.upper()} to move, "
                f"{outcome(self.value)}):",
                "",
                board(self.position),
                "",
                line_of(self.position, self.line),
                "",
                f"{winner} has the line:",
                "",
                board(position),
            ]
        )


@dataclass(frozen=True)
class Summary:
    """Who wins from the start, how many positions have which result, the deepest win."""

    rules: Rules
    start: Value
    nodes: int
    results: ResultCounts
    deepest_plies: int
    deepest_win: DeepestWin | None
    """None if nobody can win, or if the table has no plies."""

    @property
    def winner(self) -> str | None:
        return {"win": "X", "loss": "Y", "draw": None}[self.start.result]

    def to_dict(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "rules": self.rules.tag,
            "start": {**self.start._asdict(), "winner": self.winner},
            "nodes": self.nodes,
            "results": asdict(self.results),
            "deepest_plies": self.deepest_plies,
        }
        if self.deepest_win is not None:
            body["deepest_win"] = self.deepest_win.to_dict()
        return body

    def __str__(self) -> str:
        rules, results = self.rules, self.results
        verdict = (
            "the game is a draw: neither side can force a line, and best play never ends"
            if self.winner is None
            else f"{self.winner} wins in {self.start.plies} plies"
        )
        answer = (
            f"drop-oldest {rules.n}×{rules.n}, {rules.m} pieces each, {rules.k} in a row. "
            f"From the empty board {verdict}.\n\n"
            f"{self.nodes:,} canonical positions; for the side to move: {results.win:,} won, "
            f"{results.lost:,} lost ({results.finished:,} of them over), "
            f"{results.draw:,} drawn, {results.impossible:,} cannot occur."
        )
        if self.deepest_win is not None:
            return f"{answer}\n\n{self.deepest_win}"
        if not self.deepest_plies:
            return answer
        deepest = counted_plies(self.deepest_plies)
        return (
            f"{answer}\n\nThe longest forced win or loss takes {deepest}; these are results "
            "without plies, so it cannot be played out."
        )


def summarise(table: NodeTable, threads: int | None = None) -> Summary:
    """Counts the whole table, which is checked first, and plays the deepest win out."""
    statistics = Statistics.of_table(table, threads)
    return Summary(
        table.rules,
        statistics.start,
        statistics.nodes,
        statistics.results,
        statistics.deepest,
        _deepest_win(table, statistics.deepest) if isinstance(table, DenseTable) else None,
    )


def _deepest_win(table: DenseTable, deepest: int) -> DeepestWin | None:
    """The first position with the longest forced win for the side to move."""
    plies = deepest if deepest % 2 else deepest - 1
    if plies < 1:
        return None
    for first in range(0, len(table.bytes), BYTES_AT_A_TIME):
        places = np.flatnonzero(table.bytes[first : first + BYTES_AT_A_TIME] == plies + 1)
        if len(places):
            position = position_of(first + int(places[0]), table.rules)
            return DeepestWin(position, table.probe(position), table.line(position))
    return None
