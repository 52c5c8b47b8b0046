"""What is done in the process of a trial so that a command takes less of its time.

Nothing that writes or reads a file is left out: self-play and labelling do the work of their
workers themselves, positions to label are late ones, a run that has ended draws no picture, and a
server asks itself one question and stops.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Self

from workers_here import WorkersHere

import azfit.curves
import azfit.oracle.connect4.dataset
import azfit.oracle.connect4.labelling
import azfit.oracle.log
import azfit.self_play.loop
import azfit.web.server
import solver.connect4.answers
from solver.connect4 import Connect4Position

QUESTION = "12345671234567121212"  # to a server; answered in no time
ITEMS_PER_FILE = 3
EARLIEST_PLY = 24  # of positions that are labelled


def quickly() -> None:
    """For every command."""
    azfit.self_play.loop.Workers = WorkersHere  # type: ignore[misc,assignment]
    azfit.curves.draw_finished_run = lambda *_: None
    azfit.oracle.log.draw_finished_run = lambda *_: None
    _label_soon()
    _serve_once()


# ---- labelling ----------------------------------------------------------------------------------


class _LabelsHere:
    """The pool and the processes of labelling: an item is labelled here when it is asked for."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def begin(self, task: None, items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        for number, given in items:
            yield number, self._worker.rows_of(number, given)


def _label_soon() -> None:
    dataset, labelling = azfit.oracle.connect4.dataset, azfit.oracle.connect4.labelling
    dataset.Processes = lambda make, workers: make()  # type: ignore[misc,assignment]
    dataset.Pool = _LabelsHere  # type: ignore[misc,assignment]
    dataset.Dataset.__init__.__defaults__ = (ITEMS_PER_FILE,)  # type: ignore[misc]
    labelling.LATEST_OPENING = EARLIEST_PLY + 4
    labelling.shares_by_ply = cache(
        lambda _: [float(ply >= EARLIEST_PLY) for ply in range(labelling.LAST_PLY + 1)]
    )


# ---- serving ------------------------------------------------------------------------------------


def _serve_once() -> None:
    """The server's answer to one question is what the command prints; every score is kept."""
    solver.connect4.answers.FEWEST_NODES = 0
    startup = azfit.web.server._Server.startup

    async def start_and_ask(
        server: azfit.web.server._Server, sockets: list[socket.socket] | None = None
    ) -> None:
        await startup(server, sockets)
        assert sockets is not None
        port = sockets[0].getsockname()[1]
        threading.Thread(target=_ask, args=(port,), daemon=True).start()

    azfit.web.server._Server.startup = start_and_ask  # type: ignore[method-assign]


def _ask(port: int) -> None:
    position = urllib.parse.quote(str(Connect4Position.parse(QUESTION)))
    address = f"http://127.0.0.1:{port}/api/connect4?position={position}"
    try:
        with urllib.request.urlopen(address, timeout=300) as answer:
            sys.stdout.write(answer.read().decode())
            sys.stdout.flush()
    finally:
        os.kill(os.getpid(), signal.SIGINT)
