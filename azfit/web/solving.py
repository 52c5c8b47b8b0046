"""The exact Connect Four solver behind the server: a few threads, a short queue, a limit in time.

The threads search different positions and share a table of bounds. A client that goes away ends its
search. What took long is kept on disk and not searched again (``solver.connect4.answers``).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from azfit.web.answers import HEARTBEAT, EventResponse, event
from azfit.web.errors import ApiError
from azfit.web.work import Stop, Workers
from solver.command_options import on_stderr
from solver.connect4 import MEGABYTES, Connect4Solver
from solver.connect4.answers import ANSWERS, AnswerFile
from solver.connect4.book import book_in
from solver.connect4.search import BoundsTable
from solver.errors import FadefourError
from solver.machine import available_cores

T = TypeVar("T")

WAITING = 8
"""Questions that may wait for a solver."""

MOST_SECONDS = 300.0
"""For one question; where the opening book ends, one takes up to a minute."""

PROGRESS_SECONDS, HEARTBEAT_SECONDS = 0.5, 10.0

Tell = Callable[[str, dict[str, Any]], None]
"""Tells a client something before the answer is known: the name of an event, and its data."""

Question = Callable[[Connect4Solver, Tell], T]


class Solving:
    """Answers questions to a Connect Four solver."""

    def __init__(
        self,
        data: Path,
        threads: int | None = None,
        waiting: int = WAITING,
        seconds: float = MOST_SECONDS,
    ) -> None:
        """threads: as many solvers; by default one core is left for everything else."""
        self._count = threads or max(1, available_cores() - 1)
        self.workers = Workers("the Connect Four solver", self._count, waiting)
        self._seconds, self._data = seconds, data
        self._free: SimpleQueue[Connect4Solver] = SimpleQueue()
        self._answers: AnswerFile | None = None
        self._opening, self._opened = threading.Lock(), False

    def _free_solver(self) -> Connect4Solver:
        """There is always one for a thread; they are made at the first question, as their tables
        take memory."""
        with self._opening:
            if not self._opened:
                self._open()
                self._opened = True
        return self._free.get()

    def _open(self) -> None:
        try:
            self._answers = AnswerFile(self._data / ANSWERS)
        except FadefourError as error:
            on_stderr(f"fadefour: {error}; Connect Four answers are not kept")
        table, book = BoundsTable(self._count * MEGABYTES), book_in(self._data)
        for _ in range(self._count):
            self._free.put(Connect4Solver(table=table, book=book, answers=self._answers))

    def close(self) -> None:
        self.workers.stop()
        if self._answers is not None:
            self._answers.close()

    def _ask(self, question: Question[T], tell: Tell, stop: Stop) -> T:
        solver = self._free_solver()
        before, reported = solver.nodes, time.monotonic()

        def watch() -> None:
            nonlocal reported
            stop.check()
            if time.monotonic() - reported > PROGRESS_SECONDS:
                reported = time.monotonic()
                tell("progress", {"nodes": solver.nodes - before})

        def with_nodes(name: str, body: dict[str, Any]) -> None:
            stop.check()
            tell(name, {**body, "nodes": solver.nodes - before})

        try:
            with solver.watched_by(watch):
                return question(solver, with_nodes)
        finally:
            self._free.put(solver)

    async def answer(self, question: Question[T], tell: Tell = lambda name, body: None) -> T:
        """The answer; a caller that is cancelled ends the search."""
        return await self.workers.run(lambda stop: self._ask(question, tell, stop), self._seconds)

    async def events(self, question: Question[dict[str, Any]]) -> EventResponse:
        """What the question tells, then the answer or an error; 429 before the first of them."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[str]()

        def tell(name: str, body: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, event(name, body))

        searching = asyncio.ensure_future(self.answer(question, tell))
        searching.add_done_callback(lambda _: queue.put_nowait(""))  # wakes the reader
        await asyncio.sleep(0)  # a full queue is noticed here
        if searching.done():
            searching.result()
        return EventResponse(_events(searching, queue), searching.cancel)


async def _events(
    searching: asyncio.Future[dict[str, Any]], queue: asyncio.Queue[str]
) -> AsyncIterator[str]:
    while not (searching.done() and queue.empty()):
        try:
            yield await asyncio.wait_for(queue.get(), HEARTBEAT_SECONDS)
        except TimeoutError:
            yield HEARTBEAT
    try:
        yield event("answer", searching.result())
    except ApiError as error:
        yield event("error", error.to_dict())
