"""Workers as Ray actors, each with a processor of its own, on any machine of the cluster."""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import ray

from solver.cluster.connection import Cluster, Versions
from solver.errors import FadefourError, NoRoomError
from solver.wording import counted
from solver.workers.pool import Died, Event, Seat, Up
from solver.workers.worker import Answer, Desk, Drop, Failed, Keep, MakeWorker, Message

CALLS = 2  # to an actor at a time: while answers travel, it works on the next

# In which an actor collects answers before it returns them: a call costs some milliseconds of
# processor time, as much as a short game.
COLLECT_SECONDS = 0.1

START_SECONDS = 10.0  # after which it is worth a line that no worker has started

Step = tuple[list[Answer | Failed], bool, str]

# ---- on the worker's machine ---------------------------------------------------------


@dataclass(frozen=True)
class _Refused:
    """This machine runs something else; nothing of it is used."""

    difference: str


class _Actor:
    """A worker and its jobs."""

    def __init__(self, make: bytes, versions: Versions) -> None:
        """make: a ``MakeWorker``, pickled, for nothing of it may be known here if versions
        differ."""
        self._make = make
        self._desk: Desk | None = None
        self._difference = versions.difference(Versions.here(), ray.util.get_node_ip_address())

    def step(self, messages: list[Message]) -> Step | _Refused:
        """Takes the messages, and works for a while, until there is an answer at least: the
        answers, none if nothing was left to do; whether nothing is left now; and the machine."""
        if self._difference is not None:
            return _Refused(self._difference)
        answers: list[Answer | Failed] = []
        try:
            if self._desk is None:
                self._desk = Desk(ray.cloudpickle.loads(self._make)())
            for message in messages:
                self._desk.take(_fetched(message))
            until = time.monotonic() + COLLECT_SECONDS
            while (answer := self._desk.answer()) is not None:
                answers.append(answer)
                if time.monotonic() >= until:
                    break
            return answers, self._desk.is_empty, ray.util.get_node_ip_address()
        except FadefourError as error:
            return [*answers, Failed(str(error), expected=True)], True, ""
        except Exception:  # whatever it is, the master raises it again, with this traceback
            return [*answers, Failed(traceback.format_exc(), expected=False)], True, ""

    def park(self) -> NoReturn:
        """Holds its processor, which no other worker is to be given, until it is ended."""
        while True:
            time.sleep(60)


def _fetched(message: Message) -> Message:
    """What every worker keeps is fetched once for all workers of a machine."""
    if isinstance(message, Keep) and isinstance(message.value, ray.ObjectRef):
        return Keep(message.name, ray.get(message.value))
    return message


# ---- in the master -------------------------------------------------------------------


class ActorSeat:
    """An actor, the calls it has not answered, and the messages for the next call."""

    def __init__(self, make: MakeWorker, cluster: Cluster) -> None:
        self._cluster = cluster
        # Who dies is replaced by the pool, which knows what is to be done again.
        remote = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Actor)
        self._actor: Any = remote.remote(ray.cloudpickle.dumps(make), Versions.here())
        self.calls: deque[Any] = deque()
        self._messages: list[Message] = []
        self.is_up = self.is_dead = self.is_refused = False
        self.machine = ""
        self.call()

    def send(self, message: Message) -> None:
        if self.is_refused:
            return
        if not self.is_up and isinstance(message, Keep | Drop):  # the latest of a name counts
            self._messages = [
                m
                for m in self._messages
                if not (isinstance(m, Keep | Drop) and m.name == message.name)
            ]
        self._messages.append(message)
        if len(self.calls) < CALLS and self.is_up:
            self.call()

    def call(self) -> None:
        messages, self._messages = self._messages, []
        self.calls.append(self._actor.step.remote(messages))

    def received(self, is_empty: bool) -> None:
        """The oldest call is answered: keep the actor busy."""
        self.calls.popleft()
        while len(self.calls) < CALLS and (self._messages or not is_empty):
            self.call()
            if is_empty:
                break

    def refuse(self) -> None:
        """It stays where it is, so that Ray puts the next one elsewhere; what is left to be heard
        of it is its end."""
        self.is_refused, self._messages = True, []
        self.calls.clear()
        self.calls.append(self._actor.park.remote())

    def end(self) -> None:
        self.calls.clear()
        if not self.is_dead and not self._cluster.is_lost:
            ray.kill(self._actor)


class Actors:
    """A ``Place`` for workers on all machines of a cluster."""

    portions: int | None = 2

    def __init__(
        self,
        make: MakeWorker,
        cluster: Cluster,
        count: int | None,
        report: Callable[[str], None],
    ) -> None:
        """count: workers; None: one for each processor of the cluster, as they come and go."""
        self._make, self._cluster, self._count = make, cluster, count
        self._report, self._reported = report, ""
        self._refused: set[ActorSeat] = set()
        self._differences: set[str] = set()
        self._began, self._is_waiting_said = time.monotonic(), False

    def room(self) -> int:
        """Those that are refused have a processor, but do not count among the workers asked for."""
        self._cluster.check_there()  # Ray does not say so
        if self._count is None:
            return max(1, self._cluster.cpus())
        return self._count + len(self._refused)

    def seat(self) -> ActorSeat:
        return ActorSeat(self._make, self._cluster)

    def keeping(self, value: Any) -> Any:
        try:
            return ray.put(value)
        except (ray.exceptions.ObjectStoreFullError, ray.exceptions.OutOfDiskError) as error:
            raise NoRoomError(
                f"Ray's object store on this machine is full ({str(error).splitlines()[0]}): start "
                "Ray with a larger --object-store-memory"
            ) from None

    def wait(self, seats: Sequence[Seat], seconds: float) -> Iterator[tuple[Seat, Event]]:
        actors = [seat for seat in seats if isinstance(seat, ActorSeat)]
        by_call = {seat.calls[0]: seat for seat in actors if seat.calls}
        if not by_call:
            time.sleep(seconds)
            return
        ready, _ = ray.wait(list(by_call), num_returns=1, timeout=seconds)
        for call in ready:
            yield from self._events(by_call[call], call)
        self._report_changes(actors)

    def _events(self, seat: ActorSeat, call: Any) -> Iterator[tuple[Seat, Event]]:
        try:
            answer = ray.get(call)
        except ray.exceptions.RayError as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            died = Died(reason.rstrip("."), seat.is_up)
            seat.is_dead, seat.is_up = True, False
            self._refused.discard(seat)
            yield seat, died
            return
        if isinstance(answer, _Refused):
            seat.refuse()
            self._refused.add(seat)
            if answer.difference not in self._differences:
                self._differences.add(answer.difference)
                self._report(f"cluster: a machine is not used: {answer.difference}")
            return
        answers, is_empty, machine = answer
        if not seat.is_up:
            seat.is_up, seat.machine = True, machine
            yield seat, Up()
        seat.received(is_empty)
        for answer in answers:
            yield seat, answer

    def _report_changes(self, seats: Sequence[ActorSeat]) -> None:
        """Says how many workers there are, whenever that has changed."""
        up = [seat for seat in seats if seat.is_up]
        machines = len({seat.machine for seat in up})
        text = f"cluster: {counted(len(up), 'worker')} on {counted(machines, 'machine')}"
        if up and text != self._reported:
            self._reported = text
            self._report(text)
        is_late = not up and time.monotonic() - self._began >= START_SECONDS
        if is_late and not (self._is_waiting_said or self._reported):
            self._is_waiting_said = True
            self._report(
                "cluster: waiting for a worker to start: does other work hold the processors?"
            )
