"""Players of drop-oldest: a position in, a move out, many positions at once.

A player sees the board from the side to move; it is never told the colours, so one answer serves
X and Y. Its move is a fixed function of the position: the same board gives the same move in a
grade, in a proof and in a game.

``canonical=True``, the default, turns every board into its canonical image first and the move
back. A network is not symmetric by construction, so without this it has up to eight behaviours
for what is one position to the table, and a grade over canonical positions would speak of one of
them only. With it, what is graded is what is played, and "all canonical positions" means every
position that can ever occur. It costs one look-up per position, about a tenth of a microsecond.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.games import DropOldest
from azfit.search import Evaluator, Search
from azfit.search_config import SearchConfig
from solver.errors import FadefourError, InputError
from solver.hashing import mix
from solver.index import find_nodes, symmetry_of
from solver.labels import labelled
from solver.playout import BIT, Positions, legal_moves, piece_masks
from solver.rules import Position, Rules
from solver.table import DenseTable, Table

Cells = NDArray[np.int8]
Floats = NDArray[np.float32]
Masks = NDArray[np.uint32]

# Rows given to a network at once: large enough for its matrix products, and for boards that
# share the network's work (see azfit.inference) to come together.
BATCH = 1 << 15


@dataclass(frozen=True)
class Answers:
    """What a player says of N positions."""

    cells: Cells
    """int8 [N]: the move."""
    wdl: Floats | None = None
    """float32 [N, 3]: probabilities of win, draw, loss for the side to move."""
    steps: Floats | None = None
    """float32 [N]: expected plies to the end; says nothing where the position is a draw."""
    margin: Floats | None = None
    """float32 [N]: how far the move is ahead of the next best one, in logits or visits. Sums in
    another order (another batch size, another machine) may swap moves that are nearly equal."""
    spread: Masks | None = None
    """uint32 [N]: the move is any of these cells with equal chance; ``cells`` is the lowest."""


class Player(ABC):
    """Answers for positions in play, that is with no line on the board."""

    rules: Rules
    name: str
    canonical: bool = True
    sims: int = 0
    """Simulations of the search behind each move; 0 without a search."""
    sha256: str | None = None
    """Of the checkpoint, where there is one."""

    @abstractmethod
    def _answer(self, positions: Positions) -> Answers:
        """Full positions come with X to move; canonical ones if ``canonical``."""

    def answer(self, positions: Positions) -> Answers:
        """Moves and judgements for these positions, each on its own board."""
        if positions.rules != self.rules:
            raise InputError(f"{self.name} plays {self.rules}, not {positions.rules}")
        if not len(positions):
            return Answers(np.empty(0, np.int8))
        seen = from_the_mover(positions)
        if not self.canonical:
            return self._answer(seen)
        _, transforms, image = canonical_images(seen)
        return _carry_back(self._answer(image), transforms, self.rules)

    def move(self, position: Position) -> int:
        """The move in one position."""
        return int(self.answer(Positions.of([position], position.rules)).cells[0])

    def to_dict(self) -> dict[str, Any]:
        return {
            "player": self.name,
            "sims": self.sims,
            "canonical": self.canonical,
            "checkpoint_sha256": self.sha256,
        }


# ---- boards and symmetry ------------------------------------------------------------------------


def from_the_mover(positions: Positions) -> Positions:
    """The same positions, a full one with X to move: its colours swapped if Y was."""
    full = (positions.queues[:, :, -1] >= 0).all(axis=1)
    swap = full & (positions.to_move == 1)
    if not swap.any():
        return positions
    queues = np.where(swap[:, None, None], positions.queues[:, ::-1], positions.queues)
    return Positions(positions.rules, queues, np.where(swap, 0, positions.to_move).astype(np.int8))


@cache
def cell_images(rules: Rules) -> Cells:
    """int8 [8, cells + 1]: where each transform carries a cell; -1, "no piece", stays -1."""
    image = symmetry_of(rules).image.astype(np.int8)
    return np.concatenate([image, np.full((8, 1), -1, np.int8)], axis=1)


def canonical_images(
    positions: Positions,
) -> tuple[NDArray[np.uint64], NDArray[np.uint8], Positions]:
    """Nodes uint64 [N], the transforms used uint8 [N], and the canonical boards."""
    rules = positions.rules
    nodes, transforms = find_nodes(*positions.arrays, rules)
    if not transforms.any():
        return nodes, transforms, positions
    queues = cell_images(rules)[transforms[:, None, None], positions.queues]
    return nodes, transforms, Positions(rules, queues, positions.to_move)


def _carry_back(answers: Answers, transforms: NDArray[np.uint8], rules: Rules) -> Answers:
    """Answers for canonical boards as answers for the boards they were made from."""
    if not transforms.any():
        return answers
    back = symmetry_of(rules).inverse[transforms]
    spread = answers.spread
    if spread is not None:
        spread = carry_masks(spread, transforms, rules)
    return replace(answers, cells=cell_images(rules)[back, answers.cells], spread=spread)


def carry_masks(canonical: Masks, transforms: NDArray[np.uint8], rules: Rules) -> Masks:
    """Sets of cells of canonical boards, as sets of cells of the boards they were made from."""
    image = symmetry_of(rules).image[transforms]
    inside = (canonical[:, None] >> image.astype(np.uint32)) & np.uint32(1)
    return np.asarray((inside * BIT[: rules.cells]).sum(axis=1, dtype=np.uint32))


def lowest_cells(masks: Masks) -> Cells:
    """The lowest cell of each set, int8 [N]; of an empty set -1."""
    lowest = masks & (~masks + np.uint32(1))
    return (np.frexp(lowest.astype(np.float64))[1] - 1).astype(np.int8)


def legal_masks(positions: Positions) -> Masks:
    """The empty cells as masks uint32 [N], of positions in play."""
    occupied = np.bitwise_or.reduce(piece_masks(positions.queues), axis=1)
    return np.asarray(~occupied & np.uint32((1 << positions.rules.cells) - 1))


def dense(table: Table) -> DenseTable:
    """The table, if it is the dense one that labels need."""
    if not isinstance(table, DenseTable):
        raise InputError(
            f"{table.name} lists records: use the dense table, solved_{table.rules.name}.table"
        )
    return table


# ---- players without a network ------------------------------------------------------------------


class TablePlayer(Player):
    """Perfect play: the lowest of the best moves (soonest win, draw, latest loss)."""

    def __init__(self, table: Table, *, canonical: bool = True) -> None:
        self._table = dense(table)
        self._table.check_all()
        self.rules, self.canonical, self.name = table.rules, canonical, "table"

    def _answer(self, positions: Positions) -> Answers:
        nodes, transforms, _ = canonical_images(positions)
        labels = labelled(self._table, nodes)
        cells = lowest_cells(carry_masks(labels.optimal, transforms, self.rules))
        wdl = np.zeros((len(nodes), 3), np.float32)
        wdl[np.arange(len(nodes)), 1 - labels.result] = 1
        return Answers(cells, wdl, np.maximum(labels.plies, 0).astype(np.float32))


class RandomPlayer(Player):
    """One random choice for every position, made once and for all by the seed."""

    def __init__(self, rules: Rules, seed: int = 0, *, canonical: bool = True) -> None:
        self.rules, self.canonical = rules, canonical
        self.seed, self.name = seed, f"random (seed {seed})"

    def _answer(self, positions: Positions) -> Answers:
        packed = np.full(len(positions), self.seed % 2**64, np.uint64)
        for queue in (positions.mover, positions.opponent):
            for cell in queue.T:
                packed = mix(packed ^ (cell + 1).astype(np.uint64))
        legal = legal_moves(positions)
        wanted = (packed % legal.sum(axis=1).astype(np.uint64)).astype(np.int64) + 1
        return Answers((legal.cumsum(axis=1) >= wanted[:, None]).argmax(axis=1).astype(np.int8))


class UniformPolicy(Player):
    """Every legal move with equal chance: a grade of it is an expectation, exact."""

    def __init__(self, rules: Rules) -> None:
        self.rules, self.name = rules, "uniform"

    def _answer(self, positions: Positions) -> Answers:
        legal = legal_masks(positions)
        return Answers(lowest_cells(legal), spread=legal)


# ---- networks -----------------------------------------------------------------------------------


def game_of(rules: Rules) -> DropOldest:
    return DropOldest(rules.n, rules.m, rules.k)


def states_of(game: DropOldest, positions: Positions) -> NDArray[np.uint8]:
    """The states of positions, uint8 [N, state_bytes]."""
    codes = np.concatenate(
        [positions.queues.reshape(len(positions), -1), positions.to_move[:, None]], axis=1
    )
    return game.decode(codes)


def _batches(positions: Positions, size: int) -> Iterator[Positions]:
    for first in range(0, len(positions), size):
        yield positions.take(np.arange(first, min(first + size, len(positions))))


def _join(parts: list[Answers]) -> Answers:
    """One array of answers after another, all with the same things answered."""
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {}
    for field in ("cells", "wdl", "steps", "margin"):
        arrays = [getattr(part, field) for part in parts]
        joined[field] = None if arrays[0] is None else np.concatenate(arrays)
    return Answers(**joined)


class NetworkPlayer(Player):
    """The network alone: the legal move with the highest logit, the lowest cell among equals."""

    def __init__(
        self,
        evaluator: Evaluator,
        rules: Rules,
        *,
        canonical: bool = True,
        name: str = "network",
        sha256: str | None = None,
        batch: int = BATCH,
    ) -> None:
        self.rules, self.canonical, self.name, self.sha256 = rules, canonical, name, sha256
        self._evaluator, self._game, self._batch = evaluator, game_of(rules), batch

    def _answer(self, positions: Positions) -> Answers:
        return _join([self._judge(batch) for batch in _batches(positions, self._batch)])

    def _judge(self, positions: Positions) -> Answers:
        planes = self._game.planes(states_of(self._game, positions))
        logits, wdl, steps = self._evaluator(planes)
        empty = (legal_masks(positions)[:, None] & BIT[: self.rules.cells]) != 0
        masked = np.where(empty, logits, -np.inf)
        cells = masked.argmax(axis=1)
        rows = np.arange(len(cells))
        best = masked[rows, cells]
        if not np.isfinite(best).all() or not np.isfinite(wdl).all():
            raise FadefourError(f"{self.name} gives numbers that are not finite: retrain it")
        masked[rows, cells] = -np.inf
        margin = (best - masked.max(axis=1)).astype(np.float32)
        return Answers(cells.astype(np.int8), wdl, steps, margin)


class SearchPlayer(Player):
    """The network with search: the most visited move, no noise, the lowest cell among equals.

    Every position is searched from scratch, so that its move depends on nothing else. The search
    judges moves; what the network says of the position itself is the NetworkPlayer's to tell.
    """

    TREES = 1 << 10

    def __init__(
        self,
        evaluator: Evaluator,
        rules: Rules,
        sims: int,
        *,
        max_steps: float | None = None,
        canonical: bool = True,
        name: str = "network",
        sha256: str | None = None,
    ) -> None:
        """max_steps: the largest answer of the network's steps head."""
        self.rules, self.canonical, self.sims, self.sha256 = rules, canonical, sims, sha256
        self.name = f"{name} + {sims} sims"
        self._config = SearchConfig().for_matches(sims, max_steps)
        self._evaluator, self._game = evaluator, game_of(rules)
        self._search = Search(self._game, 1, self._config)

    def _answer(self, positions: Positions) -> Answers:
        return _join([self._look_ahead(batch) for batch in _batches(positions, self.TREES)])

    def _look_ahead(self, positions: Positions) -> Answers:
        if self._search.trees != len(positions):
            self._search = Search(self._game, len(positions), self._config)
        search = self._search
        search.reset(states_of(self._game, positions), seeds=0)
        search.run(self._evaluator)
        visits = np.sort(search.visits(), axis=1).astype(np.float32)
        cells = search.choose(temperature=0.0).astype(np.int8)
        return Answers(cells, margin=visits[:, -1] - visits[:, -2])
