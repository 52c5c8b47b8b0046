"""Several Connect Four solvers that search different positions at once, one for each thread.

They share a table of bounds. For one position on several threads, see ``Connect4Solver``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Self, TypeVar

from solver.connect4.book import SHIPPED, Book
from solver.connect4.search import BoundsTable
from solver.connect4.solver import MEGABYTES, Connect4Solver
from solver.kernels import check_threads

Result = TypeVar("Result")


class SolverPool:
    """Use as a context manager: leaving it ends all searches, the waiting ones unbegun."""

    def __init__(
        self, threads: int | None = None, megabytes: int = MEGABYTES, book: Book | None = SHIPPED
    ) -> None:
        """megabytes: of the table, for each thread; book: asked before a search."""
        count = check_threads(threads)
        table = BoundsTable(count * megabytes)
        self._solvers = [Connect4Solver(table=table, book=book) for _ in range(count)]
        self._free: SimpleQueue[Connect4Solver] = SimpleQueue()
        for solver in self._solvers:
            self._free.put(solver)
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for solver in self._solvers:
            solver.stop()  # after an interruption, threads may still be searching
        self._threads.shutdown(cancel_futures=True)
        for solver in self._solvers:
            solver.close()

    @property
    def nodes(self) -> int:
        """Positions opened by all searches so far."""
        return sum(solver.nodes for solver in self._solvers)

    def submit(self, question: Callable[[Connect4Solver], Result]) -> Future[Result]:
        """Asks one of the solvers, as soon as one is free."""
        return self._threads.submit(self._ask, question)

    def _ask(self, question: Callable[[Connect4Solver], Result]) -> Result:
        solver = self._free.get()
        try:
            return question(solver)
        finally:
            self._free.put(solver)
