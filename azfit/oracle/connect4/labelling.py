"""Exact labels of Connect Four positions, made in worker processes.

Positions come in items. Item i of a seed is always the same: random positions, or a game played
well but for some mistakes, every position of it; or it is a list of positions from elsewhere, such
as a game of a self-play run. ``azfit.oracle.connect4.positions`` says how often each ply is drawn.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.oracle.connect4.positions import (
    FIRST_PLY,
    careful_position,
    drawn_ply,
    random_position,
)
from solver.connect4 import Connect4Solver, Connect4Stones
from solver.connect4.book import Book, positions_of
from solver.connect4.keys import key_of
from solver.connect4.labels import Label, label
from solver.workers.worker import Item

RANDOM_POSITIONS = 16  # in an item
LATEST_OPENING = 14  # random plies before a game that is played well
MISTAKES = 0.05, 0.35  # shares of random moves in such a game


class Source(IntEnum):
    """Where a position comes from."""

    RANDOM = 0
    MISTAKES = 1
    RUN = 2
    CAREFUL = 3
    """Random, but for wins and losses that are one move away."""
    BOOK = 4


@dataclass(frozen=True)
class Rows:
    """Labelled positions; all arrays have one entry for each."""

    movers: NDArray[np.uint64]
    stones: NDArray[np.uint64]
    scores: NDArray[np.int8]
    keeping: NDArray[np.uint8]
    """Sets of columns, bit column - 1."""
    optimal: NDArray[np.uint8]
    sources: NDArray[np.uint8]
    seconds: NDArray[np.float32]
    """That labelling took."""
    groups: NDArray[np.uint32]
    """Positions of one game have the same number: they are held out together, or not at all."""

    def __len__(self) -> int:
        return len(self.movers)

    @classmethod
    def of(cls, listed: list[tuple[int, int, int, int, int, int, float, int]]) -> Rows:
        columns = list(zip(*listed, strict=True)) or [()] * len(DTYPES)
        return cls(*(np.array(c, d) for c, d in zip(columns, DTYPES.values(), strict=True)))

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        parts = [cls.of([]), *parts]
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in DTYPES))

    def chosen(self, rows: NDArray[Any]) -> Rows:
        return Rows(*(getattr(self, entry.name)[rows] for entry in fields(self)))


DTYPES: dict[str, Any] = {
    "movers": np.uint64,
    "stones": np.uint64,
    "scores": np.int8,
    "keeping": np.uint8,
    "optimal": np.uint8,
    "sources": np.uint8,
    "seconds": np.float32,
    "groups": np.uint32,
}


# ---- workers ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelTask:
    """What the items of a dataset are; sent to the workers."""

    seed: int
    book: Path
    excluded: frozenset[int]
    """Keys of positions that are never labelled: those of sets that judge networks."""
    first_ply: int = FIRST_PLY
    """The earliest to be searched."""


class LabelWorker:
    """Makes and labels the positions of items, with a solver of its own."""

    def __init__(self, task: LabelTask) -> None:
        self._task, self._book = task, Book(task.book)
        self._solver = Connect4Solver(book=self._book)

    def keep(self, name: str, value: Any) -> None: ...

    def drop(self, name: str) -> None: ...

    def work(self, task: None, items: deque[Item]) -> Iterator[tuple[int, Rows]]:
        while items:
            number, given = items.popleft()
            yield number, self.rows_of(number, given)

    def rows_of(self, number: int, given: NDArray[np.uint64] | None) -> Rows:
        """given: uint64 [N, 2], movers and stones of one game; None: positions of its own."""
        draw, group = random.Random(f"{self._task.seed} {number}"), number * RANDOM_POSITIONS
        if given is not None:
            chosen = [Connect4Stones(*pair) for pair in given.tolist()]
            return Rows.of([*self._labelled(chosen, Source.RUN, group)])
        first_ply = max(self._task.first_ply, self._book.contents.complete_plies)
        if number % 2:
            return Rows.of(self._game_with_mistakes(draw, first_ply, group))
        rows = []
        for member in range(RANDOM_POSITIONS):
            source = draw.choice((Source.RANDOM, Source.CAREFUL))
            made = _opening(draw, source, drawn_ply(draw, first_ply))
            rows += [*self._labelled([made], source, group + member)]
        return Rows.of(rows)

    def rows_of_book(self, ply: int) -> Rows:
        """Every position of a ply all of whose moves the book knows, mirror images once."""
        positions = positions_of(ply)
        pairs = zip(positions.movers.tolist(), positions.stones.tolist(), strict=True)
        return Rows.of([*self._labelled([Connect4Stones(*pair) for pair in pairs], Source.BOOK, 0)])

    def _labelled(
        self, positions: list[Connect4Stones], source: Source, group: int
    ) -> Iterator[Any]:
        for position in positions:
            if not self._is_excluded(position) and not position.is_over:
                yield self._row(position, source, group)[0]

    def _is_excluded(self, position: Connect4Stones) -> bool:
        return key_of(position.mover, position.stones) in self._task.excluded

    def _row(self, position: Connect4Stones, source: Source, group: int) -> tuple[Any, Label]:
        began = time.perf_counter()
        known = label(position, self._solver)
        seconds = time.perf_counter() - began
        return (position.mover, position.stones, *known, int(source), seconds, group), known

    def _game_with_mistakes(self, draw: random.Random, first_ply: int, group: int) -> list[Any]:
        """Random up to a ply, from then on an optimal move each time, or at times a random one."""
        opening = drawn_ply(draw, first_ply, LATEST_OPENING)
        position = _opening(draw, draw.choice((Source.RANDOM, Source.CAREFUL)), opening)
        rows, mistakes = [], draw.uniform(*MISTAKES)
        while not position.is_over:
            moves = position.legal_moves()
            if not self._is_excluded(position):
                row, known = self._row(position, Source.MISTAKES, group)
                rows.append(row)
                if draw.random() >= mistakes:
                    moves = [column for column in moves if known.optimal >> (column - 1) & 1]
            position = position.play(draw.choice(moves))
        return rows


def _opening(draw: random.Random, source: Source, ply: int) -> Connect4Stones:
    make = careful_position if source == Source.CAREFUL else random_position
    return make(draw, ply)
