"""Commands in a process of their own that may take little more memory than it has."""

from __future__ import annotations

import multiprocessing
import os
import resource
from pathlib import Path

from conftest import Outcome, run_cli

CHILD = multiprocessing.get_context("fork")


def limit_memory(more_bytes: int) -> None:
    """From now on this process may take so much memory more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def run_with_memory(more_bytes: int, *arguments: str | Path) -> Outcome:
    """The command in a process that may take so much memory and no more."""
    receive, send = CHILD.Pipe(duplex=False)

    def run() -> None:
        limit_memory(more_bytes)
        send.send(run_cli(*arguments))

    child = CHILD.Process(target=run)
    child.start()
    send.close()
    try:
        is_done = receive.poll(5)
        outcome: Outcome = receive.recv() if is_done else Outcome(-1, "", "it hangs")
    except EOFError:
        outcome = Outcome(-1, "", "the process died")
    child.kill()
    child.join()
    return outcome
