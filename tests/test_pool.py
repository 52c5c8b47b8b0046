"""The pool by itself, with workers that a script moves: every item is answered exactly once."""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from solver.errors import FadefourError
from solver.workers.pool import Died, Event, Pool, Seat, Up
from solver.workers.worker import Answer, Cancel, Deal, Desk, Failed, Item, Keep, Message


class Squares:
    """A worker: the square of an item's number plus what it keeps."""

    def __init__(self) -> None:
        self.kept: dict[str, int] = {}

    def keep(self, name: str, value: int) -> None:
        self.kept[name] = value

    def drop(self, name: str) -> None:
        self.kept.pop(name, None)

    def work(self, task: str, items: deque[Item]) -> Iterator[tuple[int, int]]:
        while items:
            number, more = items.popleft()
            yield number, number**2 + self.kept[task] + (more or 0)


class ScriptedSeat:
    def __init__(self) -> None:
        self.desk, self.is_up, self.is_ended = Desk(Squares()), False, False
        self.has_answered = False
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        self.messages.append(message)
        self.desk.take(message)

    def end(self) -> None:
        self.is_ended = True


class Scripted:
    """A place whose workers die, fail, join and leave as a random script says."""

    def __init__(
        self, count: int, seed: int = 0, deaths: float = 0.0, portions: int | None = 2
    ) -> None:
        self.count, self.deaths, self.random = count, deaths, random.Random(seed)
        self.portions = portions
        self.opened: list[ScriptedSeat] = []

    def room(self) -> int:
        return self.count

    def seat(self) -> ScriptedSeat:
        self.opened.append(ScriptedSeat())
        return self.opened[-1]

    def keeping(self, value: Any) -> Any:
        return value

    def wait(self, seats: Sequence[Seat], seconds: float) -> Iterable[tuple[Seat, Event]]:
        events: list[tuple[Seat, Event]] = []
        for seat in seats:
            assert isinstance(seat, ScriptedSeat) and not seat.is_ended
            if not seat.is_up:
                seat.is_up = True
                events.append((seat, Up()))
            elif self.random.random() < self.deaths and (seat.has_answered or self.deaths == 1):
                events.append((seat, Died("by the script")))
            elif (answer := seat.desk.answer()) is not None:
                seat.has_answered = True
                events.append((seat, answer))
        return events


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("at_once", [1, 7])
@pytest.mark.parametrize("portions", [2, None])
def test_each_item_is_answered_once_whoever_dies_joins_or_leaves(
    seed: int, at_once: int, portions: int | None
) -> None:
    place = Scripted(3, seed, deaths=0.1, portions=portions)
    with Pool(place) as pool:
        pool.keep("a", 5)
        numbers = []
        for number, value in pool.begin("a", [(i, None) for i in range(60)], at_once):
            assert value == number**2 + 5
            numbers.append(number)
            place.count = place.random.randint(1, 5)
            pool._recount()
        assert sorted(numbers) == list(range(60))
        assert pool.replaced == sum(seat.is_ended for seat in place.opened)
    assert all(seat.is_ended for seat in place.opened)


def test_items_that_are_no_sequence_are_taken_as_workers_become_free() -> None:
    taken = []

    def items() -> Iterator[Item]:
        for number in range(100):
            taken.append(number)
            yield number, 1000

    with Pool(Scripted(2)) as pool:
        pool.keep("a", 0)
        answers = []
        for answer in pool.begin("a", items()):
            answers.append(answer)
            assert len(taken) <= len(answers) + 4 + 2  # two with each worker, two just answered
    assert sorted(answers) == [(n, n**2 + 1000) for n in range(100)]


@pytest.mark.parametrize("seed", range(5))
def test_who_needs_answers_in_order_does_not_keep_more_than_it_asked_for(seed: int) -> None:
    """One worker is slow, and one dies now and then: the others wait for its item."""
    taken: list[int] = []

    class OneIsSlow(Scripted):
        waits = 0

        def wait(self, seats: Sequence[Seat], seconds: float) -> Iterable[tuple[Seat, Event]]:
            self.waits += 1
            slow = self.opened[0]
            if slow.is_up and self.waits < 200:
                assert len(taken) <= 3 * 3
                seats = [seat for seat in seats if seat is not slow]
            return super().wait(seats, seconds)

    def items() -> Iterator[Item]:
        for number in range(100):
            taken.append(number)
            yield number, 0

    place = OneIsSlow(3, seed, deaths=0.05)
    with Pool(place) as pool:
        pool.keep("a", 0)
        early, following = set(), 0
        for number, _ in pool.begin("a", items(), ahead=3):
            early.add(number)
            while following in early:
                early.remove(following)
                following += 1
            assert len(early) < 9
    assert following == 100 and place.waits >= 200


def test_a_worker_has_two_portions_at_most() -> None:
    place = Scripted(2)
    with Pool(place) as pool:
        pool.keep("a", 0)
        job = pool.begin("a", [(i, None) for i in range(100)], at_once=4)
        for _ in job:
            assert all(
                len(open_items) <= 8 for m in pool._members for open_items in m.open.values()
            )


@pytest.mark.parametrize(("at_once", "portions"), [(100, 2), (1, None)])
def test_no_worker_is_dealt_another_ones_share(at_once: int, portions: int | None) -> None:
    place = Scripted(3, portions=portions)
    with Pool(place) as pool:
        pool.keep("a", 0)
        list(pool.begin("a", [(i, None) for i in range(9)], at_once))
    dealt = [[m for m in seat.messages if not isinstance(m, Keep)] for seat in place.opened]
    assert [len(deals[0].items) for deals in dealt] == [3, 3, 3]  # type: ignore[union-attr]


def test_a_worker_that_joins_late_is_given_what_the_others_keep() -> None:
    place = Scripted(1)
    with Pool(place) as pool:
        pool.keep("a", 5)
        pool.keep("b", 6)
        pool.drop("b")
        place.count = 2
        pool._recount()
        assert place.opened[1].messages == [Keep("a", 5)]


def test_two_threads_read_two_jobs_of_one_pool() -> None:
    answers: dict[str, list[Any]] = {"a": [], "b": []}

    def read(name: str) -> None:
        answers[name] = list(pool.begin(name, [(i, None) for i in range(300)], 3))

    with Pool(Scripted(2, deaths=0.02)) as pool:
        pool.keep("a", 1)
        pool.keep("b", 2)
        readers = [threading.Thread(target=read, args=(name,)) for name in answers]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    for name, more in (("a", 1), ("b", 2)):
        assert sorted(answers[name]) == [(i, i**2 + more) for i in range(300)]


def test_a_job_that_is_closed_leaves_the_workers_free_for_the_next() -> None:
    place = Scripted(2)
    with Pool(place) as pool:
        pool.keep("a", 0)
        answers = iter(pool.begin("a", [(i, None) for i in range(50)], at_once=10))
        next(answers)
        answers.close()  # type: ignore[attr-defined]
        assert all(seat.desk.is_empty for seat in place.opened)
        assert len(list(pool.begin("a", [(7, None)]))) == 1


def test_the_latest_job_goes_first() -> None:
    worker = Squares()
    worker.keep("a", 0)
    desk = Desk(worker)
    desk.take(Deal(1, "a", ((1, None), (2, None))))
    assert desk.answer() == Answer(1, 1, 1)
    desk.take(Deal(2, "a", ((3, None),)))
    assert [desk.answer(), desk.answer(), desk.answer()] == [Answer(2, 3, 9), Answer(1, 2, 4), None]
    desk.take(Deal(3, "a", ((4, None),)))
    desk.take(Cancel(3))
    assert desk.is_empty


def test_deaths_in_a_row_and_failures_end_every_job(monkeypatch: pytest.MonkeyPatch) -> None:
    with Pool(Scripted(1, deaths=1.0)) as pool:
        pool.keep("a", 0)
        with pytest.raises(FadefourError, match=r"died 3 times in a row \(by the script\)"):
            list(pool.begin("a", [(1, None)]))

    class Unreachable(Scripted):
        def wait(self, seats: Sequence[Seat], seconds: float) -> Iterable[tuple[Seat, Event]]:
            return [(seat, Died("no machine", was_up=False)) for seat in seats]

    monkeypatch.setattr("solver.workers.pool.RECOUNT_SECONDS", 0.0)
    with Pool(Unreachable(1)) as pool:
        with pytest.raises(FadefourError, match=r"died 15 times in a row \(no machine\)"):
            list(pool.begin("a", [(1, None)]))
        assert pool.replaced == 15

    class Failing(Scripted):
        def wait(self, seats: Sequence[Seat], seconds: float) -> Iterable[tuple[Seat, Event]]:
            return [(seats[0], Failed("one line", expected=True))]

    with Pool(Failing(1)) as pool:
        jobs = [pool.begin("a", [(1, None)]) for _ in range(2)]
        for job in jobs:
            with pytest.raises(FadefourError, match=r"^one line$"):
                list(job)
