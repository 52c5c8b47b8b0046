"""Worker processes: who does which item, and what happens when one of them dies.

The master hands out the items of a task (numbers of games, pairs of a match) and receives one
answer per item. A worker that dies is replaced, and the new one gets the items that its predecessor
left; workers whose master dies end themselves.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing import connection
from typing import Any, Protocol, Self, cast

from azfit.network import Network
from azfit.playing.arena import Score
from azfit.playing.openings import Opening
from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.worker import (
    Answer,
    Failed,
    Forget,
    Message,
    PlayGames,
    PlayPairs,
    SetNetwork,
    Task,
    Worker,
)
from solver.errors import FadefourError

DEATHS_IN_A_ROW = 3  # of one worker and those that replaced it, without an answer: no accident


class WorkerPool(Protocol):
    """What the phases of self-play ask for, wherever the workers run."""

    @property
    def replaced(self) -> int:
        """Workers that died and were replaced."""

    def set_network(self, name: str, network: Network) -> None:
        """Gives every worker this network under this name."""

    def forget(self, name: str) -> None:
        """Every worker drops the network of this name, if there is one."""

    def play_games(
        self, numbers: Sequence[int], iteration: int, network: str
    ) -> Iterator[tuple[int, bytes]]:
        """(number, game as a frame of bytes) as the games end, each exactly once."""

    def play_pairs(
        self, openings: Sequence[Opening], player: str, opponent: str
    ) -> Iterator[tuple[int, Score]]:
        """(place of the opening, the player's score in its two games), each exactly once."""


# ---- in the worker's process ---------------------------------------------------------


def _end_with_the_master() -> None:
    """Waits in a thread until the master is gone, however it went."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def _main(pipe: Any, config: SelfPlayConfig) -> None:
    """Serves the master until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the master's to answer
    threading.Thread(target=_end_with_the_master, daemon=True).start()
    try:
        worker = Worker(config)
        while True:
            for answer in worker.handle(pipe.recv()):
                pipe.send(answer)
    except (EOFError, BrokenPipeError):
        return
    except FadefourError as error:
        pipe.send(Failed(str(error), expected=True))
    except Exception:  # whatever it is, the master raises it again, with this traceback
        pipe.send(Failed(traceback.format_exc(), expected=False))


# ---- in the master -------------------------------------------------------------------


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C waits. A process that is started meanwhile inherits that, and so cannot be hit
    before it has said (in ``_main``) that it ignores Ctrl-C."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Seat:
    """A worker process, its end of the pipe, and the items it has not answered yet."""

    def __init__(self, config: SelfPlayConfig) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_main, args=(theirs, config), daemon=True)
        with _without_interrupts():
            self.process.start()
        theirs.close()
        self.open_items: list[int] = []
        self.deaths = 0
        """Deaths of the workers in this seat since the last answer."""

    def send(self, message: Message) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(message)  # to a dead one: ``Workers._share`` will notice

    def hand_out(self, task: Task) -> None:
        """The part of the task that is this seat's."""
        if self.open_items:
            self.send(replace(task, items=tuple(self.open_items)))

    def end(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join()


class Workers:
    """A ``WorkerPool`` of processes on this machine; they live as long as the ``with`` block."""

    def __init__(self, config: SelfPlayConfig) -> None:
        self._config = config
        self._networks: dict[str, SetNetwork] = {}
        self._seats: list[_Seat] = []
        self.replaced = 0

    def __enter__(self) -> Self:
        try:
            for _ in range(self._config.workers):
                self._seats.append(_Seat(self._config))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for seat in self._seats:
            seat.end()

    def set_network(self, name: str, network: Network) -> None:
        self._networks[name] = SetNetwork.of(name, network)
        for seat in self._seats:
            seat.send(self._networks[name])

    def forget(self, name: str) -> None:
        if self._networks.pop(name, None) is not None:
            for seat in self._seats:
                seat.send(Forget(name))

    def play_games(
        self, numbers: Sequence[int], iteration: int, network: str
    ) -> Iterator[tuple[int, bytes]]:
        for answer in self._share(PlayGames(tuple(numbers), iteration, network)):
            yield answer.item, cast(bytes, answer.value)

    def play_pairs(
        self, openings: Sequence[Opening], player: str, opponent: str
    ) -> Iterator[tuple[int, Score]]:
        items = tuple(range(len(openings)))
        for answer in self._share(PlayPairs(items, tuple(openings), player, opponent)):
            yield answer.item, cast(Score, answer.value)

    def _share(self, task: Task) -> Iterator[Answer]:
        """Deals the items out; yields the answers as they come, one per item."""
        for i, seat in enumerate(self._seats):
            seat.open_items = list(task.items[i :: len(self._seats)])
            seat.hand_out(task)
        while any(seat.open_items for seat in self._seats):
            by_pipe = {seat.pipe: seat for seat in self._seats if seat.open_items}
            for ready in connection.wait(list(by_pipe)):
                seat = by_pipe[ready]  # type: ignore[index]
                try:
                    answer: Answer | Failed = seat.pipe.recv()
                except (EOFError, ConnectionResetError, OSError):
                    self._replace(seat, task)
                    continue
                if isinstance(answer, Failed):
                    if answer.expected:
                        raise FadefourError(answer.message)
                    raise RuntimeError(f"in a worker:\n{answer.message}")
                seat.deaths = 0
                seat.open_items.remove(answer.item)
                yield answer

    def _replace(self, dead: _Seat, task: Task) -> None:
        dead.process.join(timeout=5)
        code, deaths = dead.process.exitcode, dead.deaths + 1
        if deaths >= DEATHS_IN_A_ROW:
            raise FadefourError(
                f"a worker died {deaths} times in a row (exit code {code}): "
                "is there enough memory? use fewer --workers or --parallel-games"
            )
        dead.end()
        self.replaced += 1
        seat = _Seat(self._config)
        seat.open_items, seat.deaths = dead.open_items, deaths
        self._seats[self._seats.index(dead)] = seat
        for network in self._networks.values():
            seat.send(network)
        seat.hand_out(task)
