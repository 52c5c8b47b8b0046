"""Grading a player against the exact table, position by position, over all of them or a sample.

What is graded are the canonical positions in play (not finished, able to occur), each once. For a
canonical player that covers every position there is; a full position stands for X to move and,
with the colours swapped, for Y to move. The move is judged by what the table says the position is
worth afterwards, never by what the player thinks of it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.drop_oldest_players import (
    by_cell_shown,
    by_node,
    check_same_rules,
    game_of,
    nodes_of_states,
    on_canonical_boards,
)
from azfit.games import States
from azfit.grading.tally import DRAWS, LOSSES, VALUES, WINS, Group, Tally
from azfit.players import Choices, Player, PlayerInfo
from solver.checked_files import NodeTable
from solver.errors import InputError
from solver.in_play import count_in_play, drawn_in_play, nodes_in_play
from solver.index import node_count, slice_bases, symmetry_of
from solver.kernels import Crew
from solver.labels import Labels, labelled
from solver.playout import cells_of
from solver.probing import Table
from solver.progress import Progress, Silent
from solver.rules import Position, Rules
from solver.values import (
    FOR_THE_OPPONENT,
    RESULT_OF_BYTE,
    RESULTS,
    Value,
    result_of_byte,
    value_of_byte,
)

Nodes = NDArray[np.uint64]

AT_A_TIME = 1 << 16
SHOWN = 20  # of the worst blunders
KEPT = 5_000_000  # nodes in error that a grade lists; a bad player may err everywhere
LONGEST_REFUTATION = 12  # plies shown; wins on 4x4 take 9 at most


@dataclass(frozen=True)
class Blunder:
    """A move that gives a result away, in a position that ``probe`` can be asked about."""

    position: Position
    move: int
    before: Value
    after: Value
    """What the position is worth to the same player after the move, plies from there."""
    confidence: float | None
    """How sure the player was of its judgement of the position."""
    right: tuple[int, ...]
    """The best moves of the position."""
    refutation: tuple[int, ...] = ()
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
            "right": [name(cell) for cell in self.right],
            "refutation": [name(cell) for cell in self.refutation],
        }


@dataclass
class Grade:
    """How a player did. ``sample`` None: on all positions, so the shares are exact."""

    player: PlayerInfo
    rules: Rules
    population: str
    """What the positions are, in words."""
    sample: int | None
    seed: int | None
    tally: Tally
    total: int = 0
    """All positions in play; a sample is drawn from these."""
    worst: list[Blunder] = field(default_factory=list)
    nodes_in_error: Nodes = field(default_factory=lambda: np.empty(0, np.uint64))
    """Where the move gives the result away, rising; the first ``KEPT`` of them."""
    nodes_misjudged: Nodes = field(default_factory=lambda: np.empty(0, np.uint64))
    """Where win, draw or loss is judged wrongly, the same."""
    seconds: float = 0.0
    has_plies: bool = True
    """Whether the table knows more than who wins."""

    @property
    def name(self) -> str:
        return self.player.name

    @property
    def overall(self) -> Group:
        return self.tally.group()

    def by_result(self) -> dict[str, Group]:
        bytes_of = {"win": WINS, "draw": DRAWS, "loss": LOSSES}
        return {name: self.tally.group(values=values) for name, values in bytes_of.items()}

    def by_depth(self) -> dict[int, Group]:
        """By plies to the end: odd is won, even is lost; nothing where the table has no plies."""
        if not self.has_plies:
            return {}
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

        def shares(groups: dict[Any, Group]) -> dict[str, Any]:
            return {str(key): group.to_dict(sampled) for key, group in groups.items()}

        return {
            **self.player.to_dict(),
            "rules": self.rules.tag,
            "population": self.population,
            "weighting": "each canonical position once, not by orbit",
            "sample": self.sample,
            "seed": self.seed,
            "overall": self.overall.to_dict(sampled),
            "by_result": shares(self.by_result()),
            "by_depth": shares(self.by_depth()),
            "by_pieces": shares(self.by_pieces()),
            "by_side": shares(self.by_side()),
            "confusion": {"order": RESULTS, "true_by_judged": self.tally.confusion.tolist()},
            "moves": {"order": RESULTS, "before_by_after": self.tally.after.tolist()},
            "reliability": [asdict(row) for row in self.tally.reliability()],
            "worst_blunders": [blunder.to_dict() for blunder in self.worst],
            "seconds": round(self.seconds, 3),
        }


# ---- which positions ----------------------------------------------------------------------------


def _batch_from(table: NodeTable, first: int) -> Nodes:
    """The nodes in play among the ``AT_A_TIME`` from this one on."""
    return nodes_in_play(table, first, min(first + AT_A_TIME, node_count(table.rules)))


def all_nodes(table: NodeTable) -> Iterator[Nodes]:
    """Every node in play, in rising order, in batches."""
    for first in range(0, node_count(table.rules), AT_A_TIME):
        nodes = _batch_from(table, first)
        if len(nodes):
            yield nodes


# ---- judging ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """Positions with their labels, on the boards that the player sees."""

    nodes: Nodes
    labels: Labels
    states: States
    transforms: NDArray[np.uint8] | None = None
    """What makes the boards canonical; None if they are."""


class _Judge:
    """Adds choices to a grade."""

    def __init__(self, table: NodeTable, grade: Grade) -> None:
        self._table, self._grade, self._game = table, grade, game_of(table.rules)
        self._bases = np.array(slice_bases(table.rules)[1:], np.uint64)
        self._errors: list[Nodes] = []
        self._misjudged: list[Nodes] = []
        self._worst: list[Blunder] = []

    def add(self, batch: Batch, choices: Choices) -> None:
        tally, nodes, labels = self._grade.tally, batch.nodes, batch.labels
        values = self._table.values_of(nodes).astype(np.int64)
        key = np.searchsorted(self._bases, nodes, side="right") * VALUES + values
        kept, optimal = (
            self._share_of(batch, choices, good) for good in (labels.keeping, labels.optimal)
        )
        tally.add_moves(key, kept, optimal)
        result = 1 - labels.result.astype(np.int64)
        if choices.wdl is not None:
            tally.add_wdl(key, result, choices.wdl)
            self._note(self._misjudged, nodes[choices.wdl.argmax(axis=1) != result])
        if choices.steps is not None and self._table.has_plies:
            tally.add_steps(key, labels.plies, choices.steps)
        if choices.chances is None:
            self._add_errors(batch, choices, result, np.flatnonzero(kept == 0))

    def _share_of(
        self, batch: Batch, choices: Choices, good: NDArray[np.uint32]
    ) -> NDArray[np.float64]:
        """The chance that the move is one of ``good``, masks of canonical boards; float64 [N]."""
        rules, transforms = self._table.rules, batch.transforms
        if choices.chances is not None:
            among = by_cell_shown(cells_of(good, rules), transforms, rules)
            return np.asarray((choices.chances * among).sum(axis=1))
        cells = choices.actions.astype(np.uint32)
        if transforms is not None:
            cells = symmetry_of(rules).image[transforms, cells].astype(np.uint32)
        return ((good >> cells) & np.uint32(1)).astype(np.float64)

    def _add_errors(
        self, batch: Batch, choices: Choices, result: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> None:
        self._note(self._errors, batch.nodes[rows])
        after_byte = self._bytes_after(batch.states[rows], choices.actions[rows])
        after = result.copy()
        after[rows] = 1 + RESULT_OF_BYTE[after_byte]  # the byte speaks for the opponent
        self._grade.tally.add_after(result, after)
        if len(rows):
            self._note_worst(batch, choices, rows, result[rows], after[rows], after_byte)

    def _bytes_after(self, states: States, actions: NDArray[np.int32]) -> NDArray[np.int64]:
        after, _ = self._game.play_many(states, actions)
        nodes, _ = nodes_of_states(self._game, after)
        return self._table.values_of(nodes).astype(np.int64)

    def _note_worst(
        self,
        batch: Batch,
        choices: Choices,
        rows: NDArray[np.int64],
        before: NDArray[np.int64],
        after: NDArray[np.int64],
        after_byte: NDArray[np.int64],
    ) -> None:
        """Keeps the worst few; ``Blunder.severity`` in array form narrows them down first."""
        plies = batch.labels.plies[rows].astype(np.int64)
        if self._table.has_plies:
            plies = np.where(plies >= 0, plies, after_byte - 1)
        sure = np.zeros(len(rows)) if choices.wdl is None else choices.wdl[rows].max(axis=1)
        for at in np.lexsort((-sure, plies, before - after))[:SHOWN]:
            row, byte = int(rows[at]), int(after_byte[at])
            opponents = self._value(byte)
            self._worst.append(
                Blunder(
                    self._game.position(batch.states[row]),
                    int(choices.actions[row]),
                    self._value(int(self._table.values_of(batch.nodes[row : row + 1])[0])),
                    Value(FOR_THE_OPPONENT[opponents.result], opponents.plies),
                    None if choices.wdl is None else float(sure[at]),
                    self._right(batch, row),
                )
            )
        self._worst = sorted(self._worst, key=lambda blunder: blunder.severity)[:SHOWN]

    def _value(self, byte: int) -> Value:
        return value_of_byte(byte) if self._table.has_plies else result_of_byte(byte)

    def _right(self, batch: Batch, row: int) -> tuple[int, ...]:
        """The best moves on the board that the player sees."""
        rules, rows = self._table.rules, slice(row, row + 1)
        transforms = None if batch.transforms is None else batch.transforms[rows]
        best = by_cell_shown(cells_of(batch.labels.optimal[rows], rules), transforms, rules)[0]
        return tuple(int(cell) for cell in np.flatnonzero(best))

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
        return replace(blunder, refutation=line)


def _canonical(table: NodeTable, nodes: Nodes) -> Batch:
    return Batch(nodes, labelled(table, nodes), game_of(table.rules).states_of_nodes(nodes))


def grade_batches(
    player: Player, table: NodeTable, grade: Grade, batches: Iterable[Batch], progress: Progress
) -> Grade:
    """Asks the player about these positions and adds its choices to the grade."""
    began, judge, done = time.monotonic(), _Judge(table, grade), 0
    asked: deque[Batch] = deque()

    def states() -> Iterator[States]:
        for batch in batches:
            asked.append(batch)
            yield batch.states

    for choices in player.choose_many(states()):
        batch = asked.popleft()
        judge.add(batch, choices)
        done += len(batch.nodes)
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
    exact, report = by_node(table), progress or Silent()
    check_same_rules(player, table)
    if sample is not None and sample < 1:
        raise InputError(f"sample={sample}: use at least 1 position")
    total = count_in_play(exact.count_bytes(threads))
    if sample is not None and sample >= total:
        sample = None
    if sample is None:
        nodes, asked = all_nodes(exact), total
        population = f"all {total:,} canonical positions in play"
    else:
        drawn, asked = drawn_in_play(exact, sample, seed), sample
        nodes = (drawn[i : i + AT_A_TIME] for i in range(0, len(drawn), AT_A_TIME))
        population = f"{sample:,} drawn from {total:,} canonical positions in play"
    blank = Grade(
        player.info,
        table.rules,
        population,
        sample,
        None if sample is None else seed,
        Tally(table.rules),
        total,
        has_plies=table.has_plies,
    )
    report.begin(player.name, asked, "position")
    with Crew(threads) as crew:
        batches = crew.map(lambda batch: _canonical(exact, batch), nodes)
        graded = grade_batches(on_canonical_boards(player), exact, blank, batches, report)
    report.end(f"{asked:>14,} positions")
    return graded


def seconds_for_all(player: Player, table: Table, graded: Grade) -> float:
    """About how long a grade of every position takes, from that of a sample.

    Without a search, consecutive positions are quicker than scattered ones, because a network may
    share its work between them, so a batch of them is timed.
    """
    count, seconds = graded.overall.positions, graded.seconds
    if not player.sims:
        exact = by_node(table)
        nodes = _batch_from(exact, node_count(table.rules) // 2)
        began, asked = time.monotonic(), on_canonical_boards(player)
        blank = replace(graded, tally=Tally(table.rules))
        grade_batches(asked, exact, blank, [_canonical(exact, nodes)], Silent())
        count, seconds = len(nodes), time.monotonic() - began
    return seconds * graded.total / max(1, count)
