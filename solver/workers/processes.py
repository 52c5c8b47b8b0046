"""Workers in processes of this machine. Those whose master dies end themselves."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing import connection
from typing import Any

from solver.errors import FadefourError
from solver.workers.pool import Died, Event, Seat, Up
from solver.workers.worker import Answer, Desk, Failed, MakeWorker, Message

# ---- in the worker's process ---------------------------------------------------------


def _read(pipe: Any, messages: queue.SimpleQueue[Message]) -> None:
    """Reads what the master sends, at once: it must not wait for a worker that is busy sending.
    The pipe closes when the master is gone, however it went."""
    try:
        with contextlib.suppress(EOFError, OSError):
            while True:
                messages.put(pipe.recv())
    finally:
        os._exit(1)


def _main(pipe: Any, make: MakeWorker) -> None:
    """Serves the master until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the master's to answer
    messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(pipe, messages), daemon=True).start()
    try:
        desk = Desk(make())
        while True:
            while desk.is_empty or not messages.empty():
                desk.take(messages.get())
            answer = desk.answer()
            if answer is not None:
                pipe.send(answer)
    except BrokenPipeError:
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


class ProcessSeat:
    """A worker process and the master's end of its pipe."""

    def __init__(self, make: MakeWorker) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_main, args=(theirs, make), daemon=True)
        with _without_interrupts():
            self.process.start()
        theirs.close()
        self.is_up = False

    def send(self, message: Message) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(message)

    def end(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join()


class Processes:
    """A ``Place`` for this many workers."""

    portions: int | None = None

    def __init__(self, make: MakeWorker, count: int) -> None:
        self._make, self._count = make, count

    def room(self) -> int:
        return self._count

    def seat(self) -> ProcessSeat:
        return ProcessSeat(self._make)

    def keeping(self, value: Any) -> Any:
        return value

    def wait(self, seats: Sequence[Seat], seconds: float) -> Iterator[tuple[Seat, Event]]:
        by_pipe = {seat.pipe: seat for seat in seats if isinstance(seat, ProcessSeat)}
        waking = [seat for seat in by_pipe.values() if not seat.is_up]
        for seat in waking:  # what is sent waits in the pipe until the process has started
            seat.is_up = True
            yield seat, Up()
        for ready in connection.wait(list(by_pipe), 0 if waking else seconds):
            seat = by_pipe[ready]  # type: ignore[index]
            try:
                event: Answer | Failed = seat.pipe.recv()
            except (EOFError, OSError):
                seat.process.join(timeout=5)
                yield seat, Died(f"exit code {seat.process.exitcode}")
                continue
            yield seat, event
