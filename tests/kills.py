"""Work that dies by SIGKILL at a chosen line, each time in a fork of one small process.

The tests' own process has loaded torch and holds tables; a fork of it takes ten times as long.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import FrameType, ModuleType
from typing import Any, Self


def kill_at_line(number: int, source: str) -> None:
    """From now on, this process dies by SIGKILL before the ``number``-th line run in a file."""
    left = number

    def each_line(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != source:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return each_line

    sys.settrace(each_line)


def _doomed(number: int, source: str, work: Callable[[], object]) -> None:
    kill_at_line(number, source)
    work()


def _fork_for_each(requests: Connection) -> None:
    """Runs what it is sent in a fork, and answers with the exit code; ends with its parent."""
    # What a killed process has handed to the system is not lost, so nothing waits for the disk.
    os.fsync = lambda handle: None
    fork = multiprocessing.get_context("fork")
    while True:
        try:
            request = requests.recv()
        except EOFError:
            return
        child = fork.Process(target=_doomed, args=request)
        child.start()
        child.join()
        requests.send(child.exitcode)


class Killer:
    """The small process."""

    def __enter__(self) -> Self:
        spawn = multiprocessing.get_context("spawn")
        self._requests, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_fork_for_each, args=(theirs,))
        self._process.start()
        theirs.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._requests.close()
        self._process.join()

    def killed_at_line(self, number: int, module: ModuleType, work: Callable[[], object]) -> bool:
        """Runs ``work``, which must be picklable, up to that line of the module; False once it
        ends before."""
        self._requests.send((number, str(module.__file__), work))
        exit_code = self._requests.recv()
        assert exit_code in (0, -signal.SIGKILL)
        return bool(exit_code)
