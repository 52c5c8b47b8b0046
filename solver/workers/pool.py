"""A pool of workers: it deals out the items of jobs and receives one answer for each.

A place says how much of a job a worker has at a time. Its whole share, on this machine: then who
does what does not depend on who is quicker. Two portions, the one that it works on and the next,
where workers come and go: what is not begun can go to others. A worker that dies is replaced, and
the items that it left are dealt again: an answer counts only while its item is with the worker
that gives it, so no item is lost and none is answered twice.

Jobs may be read by several threads at once. Nobody reads the workers' answers in the background:
whoever waits for one does it for all.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

from solver.errors import FadefourError
from solver.workers.worker import Answer, Cancel, Deal, Drop, Failed, Item, Keep, Message

DEATHS_IN_A_ROW = 3  # of one worker and those that replaced it, without an answer: no accident
EARLY_DEATHS = 15  # of workers that were never up, one after another, with pauses

WAIT_SECONDS = 0.1  # for an answer, while another thread may have something to send
RECOUNT_SECONDS = 2.0  # between two looks at how many workers there can be


# ---- where workers run ---------------------------------------------------------------


@dataclass(frozen=True)
class Up:
    """The worker can be given work."""


@dataclass(frozen=True)
class Died:
    reason: str
    was_up: bool = True
    """Otherwise it never began: where it was sent to, a machine may have just gone."""


Event: TypeAlias = Up | Answer | Failed | Died


class Seat(Protocol):
    """Where one worker works."""

    def send(self, message: Message) -> None:
        """To a worker that is dead: nothing happens, and ``Place.wait`` will say so."""

    def end(self) -> None:
        """Ends the worker, whatever it is doing."""


class Place(Protocol):
    """Where workers can be: this machine, or many."""

    portions: int | None
    """Of a job that a worker has at most; None: its whole share."""

    def room(self) -> int:
        """How many workers there should be now; this may change."""

    def seat(self) -> Seat:
        """Starts a worker. Its first event is ``Up``."""

    def wait(self, seats: Sequence[Seat], seconds: float) -> Iterable[tuple[Seat, Event]]:
        """What the workers say, as soon as one says something; nothing after ``seconds``. Nothing
        follows a worker's ``Died``."""

    def keeping(self, value: Any) -> Any:
        """What to send in a ``Keep`` for this value, which goes to every worker."""


# ---- the pool ------------------------------------------------------------------------


class Job:
    """The answers to the items of a task, as they come, to be read once. What is left when it is
    stopped, or its iterator closed, stays undone."""

    def __init__(
        self,
        pool: Pool,
        number: int,
        task: Any,
        items: Iterable[Item],
        at_once: int,
        ahead: int | None,
    ) -> None:
        self._pool, self.number, self.task, self.at_once = pool, number, task, at_once
        self._ahead, self._dealt = ahead, 0
        self._open: dict[int, int] = {}
        """Items that are dealt and not answered, and how many were dealt before each."""
        self.length = len(items) if isinstance(items, Sequence) else None
        self._items, self._returned = iter(items), deque[Item]()
        self.all_dealt = self._is_stopped = False
        self.under_way = 0
        """Items that workers have."""
        self.answers: queue.SimpleQueue[Answer | FadefourError | RuntimeError] = queue.SimpleQueue()

    def take(self, count: int, workers: int) -> list[Item]:
        """The next items to deal, fewer if no more are left, or may be dealt yet."""
        taken = [self._returned.popleft() for _ in range(min(count, len(self._returned)))]
        if self._ahead is not None:
            begun = self._dealt - next(iter(self._open.values()), self._dealt)
            count = max(len(taken), min(count, len(taken) + self._ahead * workers - begun))
        if not self.all_dealt and len(taken) < count:
            new = list(itertools.islice(self._items, count - len(taken)))
            self.all_dealt = len(new) < count - len(taken)
            if self.length is not None:
                self.length -= len(new)
            for number, _ in new:
                self._open[number] = self._dealt
                self._dealt += 1
            taken += new
        self.under_way += len(taken)
        return taken

    def give_back(self, items: Iterable[Item]) -> None:
        """What a worker left undone."""
        returned = list(items)
        self._returned.extend(returned)
        self.under_way -= len(returned)

    def answered(self, answer: Answer) -> None:
        self.answers.put(answer)
        self.under_way -= 1
        self._open.pop(answer.item)

    def share(self, workers: int) -> int:
        """A fair share of what is left to deal; if that is unknown, two portions."""
        if self.length is None:
            return 2 * self.at_once
        return -(-(self.length + len(self._returned)) // max(1, workers))

    @property
    def is_done(self) -> bool:
        if self._is_stopped:
            return True
        left = bool(self._returned) or not (self.all_dealt or self.length == 0)
        return not left and not self.under_way and self.answers.empty()

    def stop(self) -> None:
        """Whoever reads it, on any thread, is at its end."""
        self._is_stopped = True

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        try:
            while not self.is_done:
                answer = self._pool.next_of(self)
                if answer is not None:
                    yield answer.item, answer.value
        finally:
            self._pool.close_job(self)


class _Member:
    """A worker: where it is, and the items it has not answered."""

    def __init__(self, seat: Seat, deaths: int = 0) -> None:
        self.seat, self.deaths, self.is_up = seat, deaths, False
        self.open: dict[int, dict[int, Item]] = {}
        """By job and number."""


class Pool:
    """Workers, wherever they are; they live as long as the ``with`` block."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._members: list[_Member] = []
        self._jobs: dict[int, Job] = {}
        self._numbers = itertools.count()
        self._kept: dict[str, Keep] = {}
        self._lock = threading.RLock()
        self._counted, self._early_deaths = -RECOUNT_SECONDS, 0
        self.replaced = 0
        """Workers that died and were replaced."""

    def __enter__(self) -> Self:
        try:
            self._recount()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            member.seat.end()

    @property
    def seats(self) -> list[Seat]:
        return [member.seat for member in self._members]

    def keep(self, name: str, value: Any) -> None:
        """Every worker keeps this under this name, those that join later too."""
        with self._lock:
            message = self._kept[name] = Keep(name, self._place.keeping(value))
            self._tell_all(message)

    def drop(self, name: str) -> None:
        """Every worker forgets what it keeps under this name, if anything."""
        with self._lock:
            if self._kept.pop(name, None) is not None:
                self._tell_all(Drop(name))

    def _tell_all(self, message: Message) -> None:
        for member in self._members:
            member.seat.send(message)

    # ---- jobs ---------------------------------------------------------------------

    def begin(
        self,
        task: Any,
        items: Iterable[Item],
        at_once: int = 1,
        ahead: int | None = None,
    ) -> Job:
        """Deals out the items of this task; at_once: items that a worker does side by side. If they
        are no sequence, they are taken as workers become free. ahead: how many for each worker are
        dealt at most, counted from the first that is not answered: for who needs the answers in
        order, and keeps what comes early."""
        with self._lock:
            job = Job(self, next(self._numbers), task, items, at_once, ahead)
            self._jobs[job.number] = job
            self._deal()
            return job

    def next_of(self, job: Job) -> Answer | None:
        """The next answer of this job; None if there may not be one any more."""
        if job.answers.empty() and self._lock.acquire(timeout=WAIT_SECONDS):
            try:
                if job.answers.empty() and not job.is_done:
                    self._receive()
            except FadefourError as error:
                self._fail(error)
            finally:
                self._lock.release()
        try:
            answer = job.answers.get_nowait()
        except queue.Empty:
            return None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close_job(self, job: Job) -> None:
        with self._lock:
            self._jobs.pop(job.number, None)
            for member in self._members:
                if member.open.pop(job.number, None):
                    member.seat.send(Cancel(job.number))

    # ---- dealing ------------------------------------------------------------------

    def _deal(self) -> None:
        """Tops up every worker that has room for more of a job."""
        for job in self._jobs.values():
            share = most = job.share(len(self._members))
            if self._place.portions is not None:
                most = self._place.portions * job.at_once
            for member in self._members:
                has = len(member.open.get(job.number, ()))
                can_take = min(most - has, share) if member.is_up and has < most else 0
                items = job.take(can_take, len(self._members))
                if items:
                    member.open.setdefault(job.number, {}).update({item[0]: item for item in items})
                    member.seat.send(Deal(job.number, job.task, tuple(items)))

    def _receive(self) -> None:
        """Waits for what the workers say, and gives it to the jobs."""
        if time.monotonic() - self._counted > RECOUNT_SECONDS:
            self._recount()
        by_seat = {id(member.seat): member for member in self._members}
        for seat, event in self._place.wait(self.seats, WAIT_SECONDS):
            member = by_seat[id(seat)]
            if isinstance(event, Answer):
                self._answered(member, event)
            elif isinstance(event, Up):
                member.is_up, self._early_deaths = True, 0
            elif isinstance(event, Died):
                self._replace(member, event)
            elif event.expected:
                self._fail(FadefourError(event.message))
            else:
                self._fail(RuntimeError(f"in a worker:\n{event.message}"))
        self._deal()

    def _answered(self, member: _Member, answer: Answer) -> None:
        member.deaths = 0
        job = self._jobs.get(answer.job)
        if member.open.get(answer.job, {}).pop(answer.item, None) is not None and job is not None:
            job.answered(answer)

    def _fail(self, error: FadefourError | RuntimeError) -> None:
        """Whoever waits for an answer gets this error."""
        for job in self._jobs.values():
            job.answers.put(error)

    # ---- joining and leaving ------------------------------------------------------

    def _recount(self) -> None:
        """As many workers as there is room for; one that is no longer needed ends when it dies."""
        self._counted = time.monotonic()
        while len(self._members) < self._place.room():
            self._join()

    def _join(self, deaths: int = 0) -> None:
        member = _Member(self._place.seat(), deaths)
        self._members.append(member)
        for message in self._kept.values():
            member.seat.send(message)

    def _replace(self, dead: _Member, how: Died) -> None:
        dead.seat.end()
        self._members.remove(dead)
        for number, items in dead.open.items():
            if number in self._jobs:
                self._jobs[number].give_back(items.values())
        self.replaced += 1
        if not how.was_up:  # another one joins at the next look at the place
            self._early_deaths += 1
            deaths, most = self._early_deaths, EARLY_DEATHS
        else:
            deaths, most = dead.deaths + 1, DEATHS_IN_A_ROW
        if deaths >= most:
            self._fail(
                FadefourError(
                    f"a worker died {deaths} times in a row ({how.reason}): "
                    "is there enough memory? use fewer --workers or --parallel-games"
                )
            )
        elif how.was_up and len(self._members) < self._place.room():
            self._join(deaths)
