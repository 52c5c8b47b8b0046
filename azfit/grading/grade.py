"""Grading a player against the exact table, position by position, over all of them or a sample.

What is graded are the canonical positions in play (not finished, able to occur), each once. Of a
player with ``canonical=True`` that covers every position there is; a full position stands for X
to move and, with the colours swapped, for Y to move. The move is judged by what the table says
the position is worth afterwards, never by what the player meant.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.grading.tally import DRAWS, LOSSES, RESULTS, VALUES, WINS, Group, Tally
from azfit.players import Answers, Player, dense
from solver.errors import InputError
from solver.index import find_nodes, node_count, slice_bases, symmetry_of
from solver.kernels import Crew
from solver.labels import Labels, labelled
from solver.playout import BIT, Positions, play
from solver.progress import Progress, Silent
from solver.rules import Position, Rules
from solver.table import DenseTable, Table
from solver.values import FINISHED, IMPOSSIBLE, Value, value_of_byte

Nodes = NDArray[np.uint64]

AT_A_TIME = 1 << 16
SHOWN = 20  # of the worst blunders
KEPT = 5_000_000  # nodes in error that a grade lists; of a bad player there may be all
LONGEST_REFUTATION = 12  # plies shown; wins on 4x4 take 9 at most

_BITS_SET = np.array([bin(number).count("1") for number in range(1 << 16)], np.uint8)


@dataclass(frozen=True)
class Blunder:
    """A move that gives a result away, in a position that ``probe`` can be asked about."""

    position: Position
    move: int
    before: Value
    after: Value
    """What the position is worth to the same player after the move, plies from there."""
    confidence: float | None
    """Of the player in its judgement of the position."""
    refutation: tuple[int, ...]
    """Best play from the position after the move."""

    @property
    def severity(self) -> tuple[float, ...]:
        """Win to loss first, then what is soonest over, then what was played with most belief."""
        drop = RESULTS.index(self.after.result) - RESULTS.index(self.before.result)
        plies = self.before.plies if self.before.plies is not None else self.after.plies
        return -drop, plies or 0, -(self.confidence or 0.0)

    def to_dict(self) -> dict[str, Any]:
        name = self.position.rules.cell_name
        return {
            "position": str(self.position),
            "move": name(self.move),
            "before": self.before._asdict(),
            "after": self.after._asdict(),
            "confidence": self.confidence,
            "refutation": [name(cell) for cell in self.refutation],
        }


@dataclass
class Grade:
    """How a player did. ``sample`` None: on all positions, so the shares are exact."""

    player: dict[str, Any]
    rules: Rules
    population: str
    """What the positions are, in words."""
    sample: int | None
    seed: int | None
    tally: Tally
    worst: list[Blunder] = field(default_factory=list)
    nodes_in_error: Nodes = field(default_factory=lambda: np.empty(0, np.uint64))
    """Where the move gives the result away, rising; the first ``KEPT`` of them."""
    nodes_misjudged: Nodes = field(default_factory=lambda: np.empty(0, np.uint64))
    """Where win, draw or loss is judged wrongly, the same."""
    seconds: float = 0.0

    @property
    def name(self) -> str:
        return str(self.player["player"])

    @property
    def overall(self) -> Group:
        return self.tally.group()

    def by_result(self) -> dict[str, Group]:
        bytes_of = {"win": WINS, "draw": DRAWS, "loss": LOSSES}
        return {name: self.tally.group(values=values) for name, values in bytes_of.items()}

    def by_depth(self) -> dict[int, Group]:
        """By plies to the end: odd is won, even is lost."""
        met = np.flatnonzero(self.tally.count.sum(axis=0))
        return {int(b) - 1: self.tally.group(values=[int(b)]) for b in met if b}

    def by_pieces(self) -> dict[int, Group]:
        met = np.flatnonzero(self.tally.count.sum(axis=1))
        return {int(pieces): self.tally.group(pieces=[int(pieces)]) for pieces in met}

    def by_side(self) -> dict[str, Group]:
        """X to move with an even number of pieces, Y with an odd one, both when all are placed."""
        full = 2 * self.rules.m
        x, y = [*range(0, full, 2), full], [*range(1, full, 2), full]
        return {"x": self.tally.group(pieces=x), "y": self.tally.group(pieces=y)}

    def to_dict(self) -> dict[str, Any]:
        sampled = self.sample is not None

        def told(groups: dict[Any, Group]) -> dict[str, Any]:
            return {str(key): group.to_dict(sampled) for key, group in groups.items()}

        return {
            **self.player,
            "rules": self.rules.tag,
            "population": self.population,
            "weighting": "each canonical position once, not by orbit",
            "sample": self.sample,
            "seed": self.seed,
            "overall": self.overall.to_dict(sampled),
            "by_result": told(self.by_result()),
            "by_depth": told(self.by_depth()),
            "by_pieces": told(self.by_pieces()),
            "by_side": told(self.by_side()),
            "confusion": {"order": RESULTS, "true_by_judged": self.tally.confusion.tolist()},
            "moves": {"order": RESULTS, "before_by_after": self.tally.after.tolist()},
            "reliability": self.tally.reliability(),
            "worst_blunders": [blunder.to_dict() for blunder in self.worst],
            "seconds": round(self.seconds, 3),
        }


# ---- which positions ----------------------------------------------------------------------------


def _in_play(values: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.asarray((values != FINISHED) & (values != IMPOSSIBLE))


def all_nodes(table: DenseTable, at_a_time: int = AT_A_TIME) -> Iterator[Nodes]:
    """Every node in play, in rising order, some at a time."""
    for first in range(0, node_count(table.rules), at_a_time):
        found = np.flatnonzero(_in_play(table.bytes[first : first + at_a_time]))
        if len(found):
            yield (found + first).astype(np.uint64)


def sample_nodes(table: DenseTable, count: int, seed: int) -> Nodes:
    """``count`` different nodes in play, uniformly drawn, in rising order; all if there are fewer.

    Nodes are drawn until enough of them are new and in play; the order of drawing decides which
    are taken, so that the sample is uniform.
    """
    total = node_count(table.rules)
    if 2 * count >= total:
        nodes = np.concatenate(list(all_nodes(table)))
        if count >= len(nodes):
            return nodes
        return np.sort(np.random.default_rng(seed).choice(nodes, count, replace=False))
    random = np.random.default_rng(seed)
    drawn = np.empty(0, np.int64)
    while len(drawn) < count:
        more = random.integers(total, size=count - len(drawn) + 1000)
        drawn = np.concatenate([drawn, more[_in_play(table.bytes[more])]])
        _, first = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(first)]
    return np.sort(drawn[:count]).astype(np.uint64)


# ---- judging ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """Positions with their labels, on the boards that the player is shown."""

    nodes: Nodes
    labels: Labels
    boards: Positions
    transforms: NDArray[np.uint8] | None = None
    """What makes the boards canonical; None if they are."""


class _Judge:
    """Adds answers to a grade."""

    def __init__(self, table: DenseTable, grade: Grade) -> None:
        self._table, self._grade = table, grade
        self._bases = np.array(slice_bases(table.rules)[1:], np.uint64)
        self._errors: list[Nodes] = []
        self._misjudged: list[Nodes] = []
        self._worst: list[Blunder] = []

    def add(self, shown: Shown, answers: Answers) -> None:
        tally, nodes, labels = self._grade.tally, shown.nodes, shown.labels
        values = self._table.bytes[nodes].astype(np.int64)
        key = np.searchsorted(self._bases, nodes, side="right") * VALUES + values
        kept, optimal = _chances(shown, answers, self._table.rules)
        tally.add_moves(key, kept, optimal)
        result = 1 - labels.result.astype(np.int64)
        if answers.wdl is not None:
            tally.add_wdl(key, result, answers.wdl)
            self._note(self._misjudged, nodes[answers.wdl.argmax(axis=1) != result])
        if answers.steps is not None:
            tally.add_steps(key, labels.plies, answers.steps)
        if answers.spread is None:
            self._add_errors(shown, answers, result, np.flatnonzero(kept == 0))

    def _add_errors(
        self, shown: Shown, answers: Answers, result: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> None:
        self._note(self._errors, shown.nodes[rows])
        after_byte = self._bytes_after(shown.boards.take(rows), answers.cells[rows])
        after = result.copy()
        # The byte speaks for the opponent, who is to move: odd, the opponent is lost.
        after[rows] = np.where(after_byte == 0, 1, np.where(after_byte % 2 == 1, 0, 2))
        self._grade.tally.add_after(result, after)
        if len(rows):
            self._note_worst(shown, answers, rows, result[rows], after[rows], after_byte)

    def _bytes_after(self, boards: Positions, cells: NDArray[np.int8]) -> NDArray[np.int64]:
        after = play(boards, cells)
        nodes, _ = find_nodes(*after.arrays, self._table.rules)
        return self._table.bytes[nodes].astype(np.int64)

    def _note_worst(
        self,
        shown: Shown,
        answers: Answers,
        rows: NDArray[np.int64],
        before: NDArray[np.int64],
        after: NDArray[np.int64],
        after_byte: NDArray[np.int64],
    ) -> None:
        """Keeps the worst few; ``Blunder.severity`` in array form narrows them down first."""
        plies = shown.labels.plies[rows].astype(np.int64)
        plies = np.where(plies >= 0, plies, after_byte - 1)
        sure = np.zeros(len(rows)) if answers.wdl is None else answers.wdl[rows].max(axis=1)
        for at in np.lexsort((-sure, plies, before - after))[:SHOWN]:
            row, byte = int(rows[at]), int(after_byte[at])
            position, opponents = shown.boards.at(row), value_of_byte(byte)
            swapped = {"win": "loss", "loss": "win", "draw": "draw"}[opponents.result]
            self._worst.append(
                Blunder(
                    position,
                    int(answers.cells[row]),
                    value_of_byte(int(self._table.bytes[shown.nodes[row]])),
                    Value(swapped, opponents.plies),
                    None if answers.wdl is None else float(sure[at]),
                    (),
                )
            )
        self._worst = sorted(self._worst, key=lambda blunder: blunder.severity)[:SHOWN]

    def _note(self, noted: list[Nodes], nodes: Nodes) -> None:
        if sum(map(len, noted)) < KEPT:
            noted.append(nodes)

    def finish(self) -> None:
        empty = [np.empty(0, np.uint64)]
        self._grade.nodes_in_error = np.concatenate(empty + self._errors)[:KEPT]
        self._grade.nodes_misjudged = np.concatenate(empty + self._misjudged)[:KEPT]
        self._grade.worst = [self._refuted(blunder) for blunder in self._worst]

    def _refuted(self, blunder: Blunder) -> Blunder:
        after = blunder.position.play(blunder.move)
        line = tuple(self._table.line(after, LONGEST_REFUTATION if blunder.after.plies else 1))
        return Blunder(
            blunder.position, blunder.move, blunder.before, blunder.after, blunder.confidence, line
        )


def _chances(
    shown: Shown, answers: Answers, rules: Rules
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The chance that the move keeps the result, and that it is optimal, float64 [N] each."""
    if answers.spread is not None:
        if shown.transforms is not None:
            raise InputError("a policy with chances is graded on canonical positions only")
        moves = answers.spread
    else:
        cells = answers.cells
        if shown.transforms is not None:
            cells = symmetry_of(rules).image[shown.transforms, cells].astype(np.int8)
        if len(cells) and int(cells.min()) < 0:
            raise InputError("the player gave no move in a position that has moves")
        moves = BIT[cells]
    among = _count(moves).astype(np.float64)
    keeping, optimal = shown.labels.keeping, shown.labels.optimal
    return _count(moves & keeping) / among, _count(moves & optimal) / among


def _count(masks: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Cells in each set."""
    low, high = masks & np.uint32(0xFFFF), masks >> np.uint32(16)
    return np.asarray(_BITS_SET[low] + _BITS_SET[high])


def _canonical(table: DenseTable, nodes: Nodes) -> Shown:
    labels = labelled(table, nodes)
    boards = Positions.from_arrays(table.rules, labels.x, labels.y, labels.to_move)
    return Shown(nodes, labels, boards)


def grade_shown(
    player: Player, table: DenseTable, grade: Grade, batches: Iterable[Shown], progress: Progress
) -> Grade:
    """Asks the player about these positions and adds what it says to the grade."""
    began, judge, done = time.monotonic(), _Judge(table, grade), 0
    for shown in batches:
        judge.add(shown, player.answer(shown.boards))
        done += len(shown.nodes)
        progress.reach(done)
    judge.finish()
    grade.seconds = time.monotonic() - began
    return grade


def grade(
    player: Player,
    table: Table,
    *,
    sample: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Grade:
    """Grades the player on all canonical positions in play, or on a uniform sample of them.

    Labels are made on other threads while the player thinks.
    """
    exact, report = dense(table), progress or Silent()
    if player.rules != table.rules:
        raise InputError(f"{player.name} plays {player.rules}, the table is for {table.rules}")
    if sample is not None and sample < 1:
        raise InputError(f"sample={sample}: use at least 1 position")
    exact.check_all()
    total = int(_in_play(exact.bytes).sum())
    if sample is not None and sample >= total:
        sample = None
    if sample is None:
        nodes, asked = all_nodes(exact), total
        population = f"all {total:,} canonical positions in play"
    else:
        drawn, asked = sample_nodes(exact, sample, seed), sample
        nodes = (drawn[i : i + AT_A_TIME] for i in range(0, len(drawn), AT_A_TIME))
        population = f"{sample:,} drawn from {total:,} canonical positions in play"
    blank = Grade(
        player.to_dict(),
        table.rules,
        population,
        sample,
        None if sample is None else seed,
        Tally(table.rules),
    )
    report.begin(player.name, asked, "position")
    with Crew(threads) as crew:
        batches = crew.map(lambda some: _canonical(exact, some), nodes)
        graded = grade_shown(player, exact, blank, batches, report)
    report.end(f"{asked:>14,} positions")
    return graded
