"""What a worker is, what it can be sent, and the order in which it does its jobs.

A worker knows nothing about where it runs or who asks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Item: TypeAlias = tuple[int, Any]
"""Its number, by which its answer is known, and whatever else the worker needs for it."""


class Worker(Protocol):
    """Does the items of tasks, each of which has one answer."""

    def keep(self, name: str, value: Any) -> None:
        """Keeps this under this name, in place of what had the name."""

    def drop(self, name: str) -> None:
        """Forgets what has this name, if anything does."""

    def work(self, task: Any, items: deque[Item]) -> Iterator[tuple[int, Any]]:
        """Takes items from the left, one or several at a time, and yields (number, answer) as they
        are done; ends when none is left. More may be added at the right meanwhile."""


MakeWorker: TypeAlias = Callable[[], Worker]
"""Sent to where the worker will run, so it can be pickled."""


# ---- messages to a worker ------------------------------------------------------------


@dataclass(frozen=True)
class Keep:
    name: str
    value: Any


@dataclass(frozen=True)
class Drop:
    name: str


@dataclass(frozen=True)
class Deal:
    """Items of a job; ``task`` says what is to be done with them."""

    job: int
    task: Any
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Cancel:
    """Nobody waits for the answers of this job any more."""

    job: int


Message: TypeAlias = Keep | Drop | Deal | Cancel


# ---- messages from a worker ----------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    job: int
    item: int
    value: Any


@dataclass(frozen=True)
class Failed:
    """The worker gave up."""

    message: str
    expected: bool
    """A FadefourError, one line for the user; otherwise the message is a traceback."""


# ---- its jobs ------------------------------------------------------------------------


@dataclass
class _Job:
    task: Any
    items: deque[Item]
    answers: Iterator[tuple[int, Any]] | None = None


class Desk:
    """The jobs that a worker has begun. The latest goes first: a match that is asked for while
    games are being played need not wait until they end."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._jobs: dict[int, _Job] = {}

    @property
    def is_empty(self) -> bool:
        return not self._jobs

    def take(self, message: Message) -> None:
        if isinstance(message, Keep):
            self._worker.keep(message.name, message.value)
        elif isinstance(message, Drop):
            self._worker.drop(message.name)
        elif isinstance(message, Cancel):
            self._jobs.pop(message.job, None)
        else:
            job = self._jobs.setdefault(message.job, _Job(message.task, deque()))
            job.items.extend(message.items)

    def answer(self) -> Answer | None:
        """The next answer; None if every item is answered."""
        while self._jobs:
            number, job = next(reversed(self._jobs.items()))
            if job.answers is None:
                job.answers = self._worker.work(job.task, job.items)
            for item, value in job.answers:
                return Answer(number, item, value)
            job.answers = None
            if not job.items:
                del self._jobs[number]
        return None
