"""Connect Four, 7 columns of 6, solved exactly, one position at a time.

A score speaks for the side to move: 0 is a draw; positive, the mover wins, and it is 22 minus the
stones the winner will have played when the game ends; negative, the same for a loss.
``csrc/connect4_solver.h`` has the method and why it is right.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Self

from solver.checks import integer
from solver.connect4.answers import AnswerFile
from solver.connect4.book import SHIPPED, Book
from solver.connect4.position import CELLS, COLUMNS, Stones
from solver.connect4.search import SLICE, BoundsTable, Search
from solver.errors import FadefourError, InputError

HIGHEST = 22
"""No score reaches it: a win takes four stones, so 18 is the highest."""

MEGABYTES = 64
"""Default size of the table. More helps little, see bench/log.md."""


class Connect4Value(NamedTuple):
    """What a position is worth to the side to move."""

    result: str  # "win", "draw" or "loss"
    plies: int  # to the end under best play; for a draw, to the full board
    score: int


class Connect4Move(NamedTuple):
    """A legal column and its worth; plies count from the position, the move included."""

    column: int
    result: str
    plies: int
    score: int


def plies_to_end(score: int, plies: int) -> int:
    """Moves from a position with ``plies`` stones to the end that its score promises."""
    if score == 0:
        return CELLS - plies
    winners = plies // 2 if score > 0 else (plies + 1) // 2  # stones that the winner has
    to_play = HIGHEST - abs(score) - winners
    return 2 * to_play - 1 if score > 0 else 2 * to_play


def value_of_score(score: int, plies: int) -> Connect4Value:
    """The score of a position with ``plies`` stones, in words and plies."""
    result = "win" if score > 0 else "loss" if score < 0 else "draw"
    return Connect4Value(result, plies_to_end(score, plies), score)


class Connect4Solver:
    """Exact scores, with a table of bounds that all questions to this solver share.

    Use as a context manager, or call ``close``; the table goes with it. Threads may share a solver,
    and then wait for each other; give each its own to search at once, on one ``table``. Ctrl-C
    stops a search within a fraction of a second, and the solver stays usable.
    """

    def __init__(
        self,
        megabytes: int = MEGABYTES,
        *,
        threads: int = 1,
        table: BoundsTable | None = None,
        slice_nodes: int = SLICE,
        book: Book | None = SHIPPED,
        answers: AnswerFile | None = None,
    ) -> None:
        """megabytes: the size of the table, rounded down to a power of two; table: one that other
        solvers use as well. threads: that search one position together; the scores do not depend
        on them. book, answers: asked in this order before a search; the answers keep what took
        long to find."""
        self._table: BoundsTable | None = table or BoundsTable(megabytes)
        self._search: Search | None = Search(self._table, threads, slice_nodes)
        self._lock = threading.Lock()
        self._stopped = False
        self._watcher: Callable[[], object] | None = None
        self._book, self._answers = book, answers
        self.nodes = 0
        """Positions opened by all searches so far."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the table's memory back, unless another solver uses it."""
        with self._lock:
            if self._search is not None:
                self._search.close()
            self._search = self._table = None

    def stop(self) -> None:
        """Ends a search of another thread within a fraction of a second: it raises FadefourError.
        Later searches do not begin."""
        self._stopped = True

    @contextlib.contextmanager
    def watched_by(self, watcher: Callable[[], object]) -> Iterator[None]:
        """Within it, searches call ``watcher`` several times a second, with ``nodes`` up to date.
        What it raises ends the search; the solver stays usable. For one thread at a time."""
        self._watcher = watcher
        try:
            yield
        finally:
            self._watcher = None

    def forget(self) -> None:
        """Empties the table: the next search is a cold one."""
        with self._lock:
            if self._table is not None:
                self._table.forget()

    def search(self, mover: int, stones: int, low: int = -HIGHEST, high: int = HIGHEST) -> int:
        """The score of a position given as bitboards (bit = (column - 1) * 7 + row).

        Searched between ``low`` and ``high`` only, which is faster: for a score outside them the
        nearer of the two is returned. ``low=-1, high=1`` asks for win, draw or loss.
        """
        low, high = integer("low", low), integer("high", high)
        if max(abs(low), abs(high)) > HIGHEST:
            raise InputError(f"between {low} and {high}: bounds are -{HIGHEST} to {HIGHEST}")
        with self._lock:
            if self._stopped:
                raise FadefourError("the search was stopped")
            if self._search is None:
                raise InputError("this Connect4Solver is closed: make another one")
            self._search.begin(mover, stones, low, high)
            known = self._known(mover, stones)
            if known is not None:
                return min(max(known, low), high)
            score = self._searched(self._search)
            if self._answers is not None and low < score < high:  # else it may be beyond
                self._answers.put(mover, stones, score, self._search.nodes)
            return score

    def _known(self, mover: int, stones: int) -> int | None:
        score = None if self._book is None else self._book.get(mover, stones)
        if score is None and self._answers is not None:
            score = self._answers.get(mover, stones)
        return score

    def _searched(self, search: Search) -> int:
        before = self.nodes
        try:
            while not search.advance():
                if self._stopped:  # signals are heard here, by the main thread
                    raise FadefourError("the search was stopped")
                if self._watcher is not None:
                    self.nodes = before + search.nodes
                    self._watcher()
        finally:
            search.end()
            self.nodes = before + search.nodes
        return search.score

    def score(self, position: Stones) -> int:
        """The exact score for the side to move."""
        return self.search(position.mover, position.stones)

    def value(self, position: Stones) -> Connect4Value:
        """Result, plies to the end and score for the side to move."""
        return value_of_score(self.score(position), position.plies)

    def plies(self, position: Stones) -> int:
        """Plies to the end under best play; for a draw, the cells left."""
        return self.value(position).plies

    def each_move(self, position: Stones) -> Iterator[Connect4Move]:
        """Every legal column with its worth as soon as it is known, the most central first; none
        once the game is over."""
        for column in sorted(position.legal_moves(), key=central_first):
            score = -self.score(position.play(column))
            yield Connect4Move(column, *value_of_score(score, position.plies))

    def move_scores(self, position: Stones) -> dict[int, int]:
        """The exact score of every legal column, for the side to move; none once it is over."""
        return {move.column: move.score for move in sorted(self.each_move(position))}

    def moves(self, position: Stones) -> list[Connect4Move]:
        """Every legal column with its worth, best first, central columns first among equals."""
        return best_moves_first(self.each_move(position))

    def best_move(self, position: Stones) -> Connect4Move:
        """The most central of the best columns, with its worth; sooner found than all ``moves``."""
        if position.is_over:
            raise InputError("the game is over: there is no move to choose")
        value = self.value(position)
        return Connect4Move(self._move_reaching(position, value.score), *value)

    def best_line(self, position: Stones) -> list[int]:
        """Best play of both sides to the end, the most central of the best columns each time."""
        columns: list[int] = []
        score = self.score(position)
        while not position.is_over:
            column = self._move_reaching(position, score)
            columns.append(column)
            position, score = position.play(column), -score
        return columns

    def _move_reaching(self, position: Stones, score: int) -> int:
        """The most central column that keeps this score, which is the position's."""
        legal = sorted(position.legal_moves(), key=central_first)
        for column in legal[:-1]:
            after = position.play(column)
            if -self.search(after.mover, after.stones, -score, 1 - score) == score:
                return column
        return legal[-1]


def best_moves_first(moves: Iterable[Connect4Move]) -> list[Connect4Move]:
    """In the order of ``Connect4Solver.moves``."""
    return sorted(moves, key=lambda move: (-move.score, central_first(move.column)))


def central_first(column: int) -> tuple[int, int]:
    """To sort columns by."""
    return abs(column - (COLUMNS + 1) // 2), column
