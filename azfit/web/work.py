"""Work that takes time: a bounded number of threads, a bounded queue, and an end for everything.

A job is a function of a ``Stop``, which it asks now and then; a client that goes away, or a job
that takes too long, sets it. Threads are daemons: the server can end while one is at work.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import queue
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any, Generic, TypeVar

from starlette.requests import Request

from azfit.web.errors import ApiError, stopping, too_busy

T = TypeVar("T")


class Stopped(Exception):  # noqa: N818 - an ending, no error
    """The job was to end."""


class Stop:
    """Whether a job is to end: because nobody waits for it, or because its time is over."""

    def __init__(self, seconds: float = math.inf) -> None:
        """seconds: that the job may take, once it has begun."""
        self._set, self.seconds = threading.Event(), seconds
        self._ends = math.inf

    def begin(self) -> None:
        """The job's time begins."""
        self._ends = time.monotonic() + self.seconds

    def set(self) -> None:
        self._set.set()

    @property
    def is_over(self) -> bool:
        """Is its time over?"""
        return time.monotonic() > self._ends

    def check(self, *_: object) -> None:
        """Raises Stopped if the job is to end."""
        if self._set.is_set() or self.is_over:
            raise Stopped


class _Job(Generic[T]):
    def __init__(self, work: Callable[[Stop], T], stop: Stop) -> None:
        self._work, self._stop = work, stop
        self.future: Future[T] = Future()
        self._beginning = threading.Lock()

    def run(self) -> None:
        with self._beginning:
            # One that runs cannot be cancelled: it counts as busy until it has ended.
            if self.future.done() or not self.future.set_running_or_notify_cancel():
                return
        try:
            self._stop.begin()
            self._stop.check()
            self._settle(self.future.set_result, self._work(self._stop))
        except BaseException as error:
            self._settle(self.future.set_exception, error)

    def end(self) -> None:
        """Whoever waits for it learns at once that it ends, even if it does not ask for long."""
        self._stop.set()
        with self._beginning:
            self._settle(self.future.set_exception, Stopped())

    def _settle(self, settle: Callable[[Any], None], outcome: object) -> None:
        with contextlib.suppress(InvalidStateError):  # it has been ended, or was cancelled
            settle(outcome)


class Workers:
    """Threads that take jobs from a queue of limited length."""

    def __init__(self, what: str, threads: int, waiting: int) -> None:
        """what: what is busy, in the message to a client that finds the queue full."""
        self._what = what
        self._jobs: queue.Queue[_Job[Any]] = queue.Queue()
        self._threads, self._room = threads, threads + waiting
        self._lock = threading.Lock()
        self._under_way: dict[Stop, _Job[Any]] = {}
        self._begun = False

    @property
    def busy(self) -> int:
        """Jobs that wait or run."""
        return len(self._under_way)

    def _begin(self) -> None:
        for number in range(self._threads):
            name = f"{self._what} {number}"
            threading.Thread(target=self._keep_working, name=name, daemon=True).start()
        self._begun = True

    def _keep_working(self) -> None:
        while True:
            self._jobs.get().run()

    def submit(self, work: Callable[[Stop], T], stop: Stop) -> Future[T]:
        """Raises ApiError 429 if the queue is full."""
        with self._lock:
            if self.busy >= self._room:
                raise too_busy(self._what)
            job = self._under_way[stop] = _Job(work, stop)
            if not self._begun:
                self._begin()
        job.future.add_done_callback(lambda _: self._done(stop))  # the job would be a cycle
        self._jobs.put(job)
        return job.future

    def _done(self, stop: Stop) -> None:
        with self._lock:
            del self._under_way[stop]

    def stop(self) -> None:
        """Ends all jobs."""
        with self._lock:
            jobs = list(self._under_way.values())
        for job in jobs:
            job.end()

    async def run(self, work: Callable[[Stop], T], seconds: float = math.inf) -> T:
        """The result of the job, which may take so many seconds; a caller that is cancelled stops
        it."""
        stop = Stop(seconds)
        future = self.submit(work, stop)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            stop.set()
            raise
        except Stopped:
            if stop.is_over:
                what = f"this takes longer than {seconds:g} s"
                raise ApiError(422, what, "ask for less, or for a later position") from None
            raise stopping() from None


async def while_connected(request: Request, answer: Awaitable[T]) -> T:
    """The answer; it is cancelled when the client goes away."""
    working = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ApiError(400, "the client has gone", "ask again")  # nobody reads it
        return working.result()
    finally:
        for task in (working, gone):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gone


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
