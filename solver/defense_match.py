"""Playing sampled positions out: the table's moves against every reply and three adversaries.

See ``solver.defense`` for what is promised and what counts as a failure.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from solver import playout
from solver.defense_sample import (
    ILLEGAL,
    Rows,
    Worth,
    is_suspect,
    move_worth,
    worth_of,
)
from solver.playout import Positions
from solver.probing import Table
from solver.rules import Position
from solver.values import DECIDED, Value, in_words
from solver.wording import counted_plies

TABLE, THREATS, RANDOM = range(3)  # the adversaries

# Kinds of failure. The first three are facts on the board.
LOST: Final = "lost"  # lost by the defender although called a draw or a win
LOST_EARLY: Final = "lost early"  # lost by the defender sooner than called
LATE_WIN: Final = "late win"  # not won by the defender in the plies promised
EARLY_WIN: Final = "early win"  # won sooner than called, against the table's longest defence
NO_LOSS: Final = "no loss"  # called lost, but the table's best attack does not win in time
INCONSISTENT: Final = "inconsistent"  # the value is not what the successors' values imply
KINDS = (LOST, LOST_EARLY, LATE_WIN, EARLY_WIN, NO_LOSS, INCONSISTENT)

LINES_PLAYED_ON = 64  # of each position after every reply was tried: all of them in full 4x4
NEVER = 32767  # a ply that no line reaches
SHOWN = 10  # failures of each kind that a report spells out

# ---- failures ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failure:
    """A promise that was broken: from ``position`` on, ``line`` was played (cells).

    The defender is the side to move in ``position``. ``explanation`` is a sentence about it.
    """

    position: Position
    kind: str
    line: tuple[int, ...]
    explanation: str

    def __str__(self) -> str:
        moves = " ".join(map(self.position.rules.cell_name, self.line))
        played = f"; played: {moves}" if moves else ""
        return f"{self.kind}: '{self.position}' {self.explanation}{played}"

    def to_dict(self) -> dict[str, Any]:
        names = [self.position.rules.cell_name(cell) for cell in self.line]
        return {
            "position": str(self.position),
            "kind": self.kind,
            "line": names,
            "explanation": self.explanation,
        }


# ---- playing out --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lines:
    """Lines in play, one in each row, all equally long. Plies count from the sampled position.

    ``cells`` int8 [N, plies] are the moves so far; ``root`` int64 [N] the sampled position;
    ``worth`` int16 [N] the value of the position reached, to its side to move. What the table
    has promised so far, int16 [N]: the defender has won by ply ``wins_by``; it has not lost before
    ply ``lasts``; and, against the table adversary, what the line was ``called`` when that took
    over comes true at ply ``ends``.
    """

    positions: Positions
    cells: NDArray[np.int8]
    root: Rows
    worth: Worth
    wins_by: Worth
    lasts: Worth
    called: Worth
    ends: Worth
    adversary: NDArray[np.int8]

    @property
    def ply(self) -> int:
        return int(self.cells.shape[1])

    def __len__(self) -> int:
        return len(self.root)

    def take(self, rows: NDArray[Any]) -> _Lines:
        columns = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "positions"}
        taken = {name: column[rows] for name, column in columns.items()}
        return _Lines(self.positions.take(rows), **taken)

    def after(self, cells: NDArray[Any], worth_to_mover: Worth) -> _Lines:
        """Each line one move longer; its worth given to the player who moved."""
        column = cells.astype(np.int8)[:, None]
        return replace(
            self,
            positions=playout.play(self.positions, cells),
            cells=np.concatenate([self.cells, column], axis=1),
            worth=-worth_to_mover - np.sign(worth_to_mover),
        )

    def faced_by(self, adversary: NDArray[np.int8]) -> _Lines:
        """The same lines, continued against these adversaries; the defender is to move."""
        ends = np.where(self.worth == 0, NEVER, self.ply + DECIDED - np.abs(self.worth))
        ends = np.where(adversary == TABLE, ends, NEVER).astype(np.int16)
        return replace(self, called=self.worth, ends=ends, adversary=adversary)

    def promised(self) -> _Lines:
        """With the promise of the positions reached, where it is better; the defender moves."""
        ends = (self.ply + DECIDED - np.abs(self.worth)).astype(np.int16)
        wins_by = np.minimum(self.wins_by, np.where(self.worth > 0, ends, NEVER))
        lasts = np.maximum(self.lasts, np.where(self.worth < 0, ends, NEVER))
        return replace(self, wins_by=wins_by.astype(np.int16), lasts=lasts.astype(np.int16))


class Match:
    """Plays sampled positions ("roots") out, and collects the failures."""

    def __init__(self, table: Table, roots: Positions, rng: np.random.Generator) -> None:
        self._table, self._roots, self._rng = table, roots, rng
        self.worth = worth_of(table, roots)
        self.failures: list[Failure] = []
        self.failed: dict[str, set[int]] = {kind: set() for kind in KINDS}
        self.lines = self.plies = self.checked_values = 0

    def play(self, reply_plies: int, longest: int) -> None:
        start = self._start()
        lines = start
        while lines.ply < reply_plies and len(lines):
            lines = self._defender_moves(lines)
            if lines.ply < reply_plies and len(lines):
                lines = self._every_reply(lines)
        if lines.ply % 2:  # an odd number of plies ends with the defender's move
            lines = self._opponent_moves(lines)
        lines = self._some_of_each_root(lines)
        adversaries = self._rng.integers(0, 3, len(lines)).astype(np.int8)
        self._play_on(lines.faced_by(adversaries), longest)
        each = start.take(np.tile(np.arange(len(start)), 3))
        adversaries = np.repeat(np.arange(3), len(start)).astype(np.int8)
        self._play_on(each.faced_by(adversaries), longest)

    def _start(self) -> _Lines:
        count = len(self._roots)
        never, nothing = np.full(count, NEVER, np.int16), np.zeros(count, np.int16)
        return _Lines(
            self._roots,
            np.empty((count, 0), np.int8),
            np.arange(count),
            self.worth,
            *(never, nothing, nothing, never),
            np.full(count, RANDOM, np.int8),
        )

    def _some_of_each_root(self, lines: _Lines) -> _Lines:
        """At most LINES_PLAYED_ON lines of each root, picked at random."""
        shuffled = self._rng.permutation(len(lines))
        by_root = shuffled[np.argsort(lines.root[shuffled], kind="stable")]
        root = lines.root[by_root]
        place = np.arange(len(root)) - np.searchsorted(root, root)
        dropped = by_root[place >= LINES_PLAYED_ON]
        self._end(lines.take(dropped))
        return lines.take(np.sort(by_root[place < LINES_PLAYED_ON]))

    def _play_on(self, lines: _Lines, longest: int) -> None:
        """To the end, or to ``longest`` plies where no end is promised."""
        while len(lines):
            lines = self._defender_moves(lines)
            lines = self._opponent_moves(lines)
            endless = (lines.wins_by == NEVER) & (lines.ends == NEVER)
            lines = self._drop(lines, endless & (lines.ply >= longest))

    # Each step looks at every move first, plays, and lets the rules judge what happened.

    def _defender_moves(self, lines: _Lines) -> _Lines:
        lines = lines.promised()
        moves = self._look_ahead(lines)
        best = moves.argmax(axis=1)
        lines = lines.after(best, moves.max(axis=1))
        won = playout.is_won(lines.positions)
        self._judge_wins(lines.take(won))
        lines = self._drop(lines, won)
        late = lines.ply >= lines.wins_by
        self._note(LATE_WIN, lines, late)
        return self._judge_defence(self._drop(lines, late))

    def _judge_wins(self, lines: _Lines) -> None:
        due = lines.ends != NEVER
        self._note(EARLY_WIN, lines, due & (lines.called > 0) & (lines.ply < lines.ends))
        self._note(NO_LOSS, lines, due & (lines.called < 0))

    def _judge_defence(self, lines: _Lines) -> _Lines:
        """The defender has moved: if the opponent can win now, was that to be expected?"""
        wins = playout.winning_cells(lines.positions)
        undefended = (wins != 0) & (lines.ply + 1 < lines.lasts)
        reply = playout.cells_of(wins, self._table.rules).argmax(axis=1)
        for kind, rows in (
            (LOST, undefended & (lines.lasts == NEVER)),
            (LOST_EARLY, undefended & (lines.lasts != NEVER)),
        ):
            lost = lines.take(rows)
            self._note(kind, lost.after(reply[rows], lost.worth), np.ones(len(lost), np.bool_))
        return self._drop(lines, undefended)

    def _opponent_moves(self, lines: _Lines) -> _Lines:
        moves = self._look_ahead(lines)
        chosen = self._replies(lines, moves)
        return self._judge_reply(lines.after(chosen, moves[np.arange(len(lines)), chosen]))

    def _every_reply(self, lines: _Lines) -> _Lines:
        moves = self._look_ahead(lines)
        rows, cells = np.nonzero(moves != ILLEGAL)
        return self._judge_reply(lines.take(rows).after(cells, moves[rows, cells]))

    def _judge_reply(self, lines: _Lines) -> _Lines:
        """A loss at this point is as promised, or ``_judge_defence`` had ended the line."""
        lost = playout.is_won(lines.positions)
        stands = ~lost & (lines.called < 0) & (lines.ply >= lines.ends)
        self._note(NO_LOSS, lines, stands)
        return self._drop(lines, lost | stands)

    def _replies(self, lines: _Lines, moves: Worth) -> Rows:
        """The cells that the adversaries choose, int64 [N]; ties are broken at random."""
        score = np.where(lines.adversary == RANDOM, 0, 1)[:, None] * moves.astype(np.float64)
        rows = np.flatnonzero(lines.adversary == THREATS)
        score[rows] = playout.threats_made(lines.positions.take(rows))
        wins = playout.cells_of(playout.winning_cells(lines.positions), self._table.rules)
        score[wins & (lines.adversary != RANDOM)[:, None]] = 2 * DECIDED
        score[moves == ILLEGAL] = ILLEGAL
        return np.asarray(np.argmax(score + 0.5 * self._rng.random(score.shape), axis=1))

    def _look_ahead(self, lines: _Lines) -> Worth:
        """The worth of every move, and whether together they agree with the position's own."""
        moves = move_worth(self._table, lines.positions)
        self.checked_values += len(lines)
        self._note(INCONSISTENT, lines, is_suspect(lines.positions, lines.worth, moves))
        return moves

    def _drop(self, lines: _Lines, ended: NDArray[np.bool_]) -> _Lines:
        if not ended.any():
            return lines
        self._end(lines.take(ended))
        return lines.take(~ended)

    def _end(self, lines: _Lines) -> None:
        self.lines += len(lines)
        self.plies += len(lines) * lines.ply

    def _note(self, kind: str, lines: _Lines, failed: NDArray[np.bool_]) -> None:
        """Notes the lines that failed, and explains the first of them."""
        rows = np.flatnonzero(failed)
        if len(self.failed[kind]) < SHOWN:
            for row in rows[:SHOWN]:
                root = self._roots.at(int(lines.root[row]))
                line = tuple(int(cell) for cell in lines.cells[row])
                self.failures.append(_explain(self._table, kind, root, line))
        self.failed[kind].update(lines.root[rows].tolist())


# ---- explaining ---------------------------------------------------------------------------------


def _explain(table: Table, kind: str, root: Position, line: tuple[int, ...]) -> Failure:
    """The failure, as seen from the last position on the line whose promise it breaks."""
    positions = [root]
    for cell in line:
        positions.append(positions[-1].play(cell))
    if kind == INCONSISTENT:
        return explain_value(table, positions[-1])
    ended, defender_won = positions[-1].is_over, positions[-1].is_over and len(line) % 2 == 1
    for ply in range((len(line) - 1) // 2 * 2, -1, -2):
        promise = table.probe(positions[ply])
        left = len(line) - ply
        due = promise.plies if promise.plies is not None else NEVER
        broken = {
            LOST: promise.result != "loss",
            LOST_EARLY: promise.result == "loss" and left < due,
            LATE_WIN: promise.result == "win" and left >= due,
            EARLY_WIN: promise.result == "win" and left < due,
            NO_LOSS: promise.result == "loss" and (defender_won or left >= due),
        }[kind]
        if broken:
            break
    defender = positions[ply].to_move.upper()
    happened = f"{defender} {'won' if defender_won else 'lost'}" if ended else "the game went on"
    against = " against the table's best replies" if kind in (EARLY_WIN, NO_LOSS) else ""
    explanation = (
        f"is called {in_words(promise)} for {defender}, "
        f"yet after {counted_plies(left)}{against} {happened}"
    )
    return Failure(positions[ply], kind, line[ply:], explanation)


def explain_value(table: Table, position: Position) -> Failure:
    stored = f"is called {in_words(table.probe(position))} for {position.to_move.upper()}"
    moves = table.moves(position)
    for cell, result, plies, *_ in moves:
        ends, claim = position.play(cell).is_over, f"called {in_words(Value(result, plies))}"
        if ends != (result == "win" and plies == 1):
            effect = "ends the game" if ends else "does not end the game"
            explanation = (
                f"{stored}, but its move {position.rules.cell_name(cell)}, {claim}, {effect}"
            )
            return Failure(position, INCONSISTENT, (cell,), explanation)
    best = Value(moves[0].result, moves[0].plies)
    explanation = f"{stored}, but by the values of its successors its best is {in_words(best)}"
    return Failure(position, INCONSISTENT, (moves[0].cell,), explanation)
