"""Commands in a process of their own that may take little more memory and little time."""

from __future__ import annotations

import ctypes
import os
import resource
from multiprocessing.connection import Connection
from pathlib import Path

from conftest import Outcome, run_cli
from torch_forks import FORKS, ROOT, fork_with_torch

from azfit import main

SECONDS = 60


def limit_memory(more_bytes: int) -> None:
    """From now on this process may take so much memory more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def drop_privileges() -> None:
    """From now on this process has the rights of a plain user, even if root started it."""
    version, pid, nothing = 0x20080522, 0, (ctypes.c_uint32 * 6)()
    ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(version, pid), nothing)


def _run(send: Connection, more_bytes: int, folder: Path, arguments: tuple[str, ...]) -> None:
    assert Path(str(main.__file__)).parents[1] == ROOT
    os.chdir(folder)
    drop_privileges()
    limit_memory(more_bytes)
    send.send(run_cli(*arguments))


def run_with_memory(more_bytes: int, *arguments: str | Path) -> Outcome:
    """How the command ends, as a plain user's, that may take so much memory and no more."""
    receive, send = FORKS.Pipe(duplex=False)
    words = tuple(map(str, arguments))
    child = fork_with_torch(_run, send, more_bytes, Path.cwd(), words)
    send.close()
    try:
        is_done = receive.poll(SECONDS)
        outcome: Outcome = receive.recv() if is_done else Outcome(-1, "", "it hangs")
    except EOFError:
        outcome = Outcome(-1, "", "the process died")
    child.kill()
    child.join()
    return outcome
