"""Commands in a process of their own that may take little more memory than it has, and little time.

The processes are forks of one that has imported torch and computed nothing: OpenMP's threads do not
survive a fork, and a fork of the tests' own process could wait for them for ever.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path

from conftest import Outcome, run_cli

import cli

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("limited_memory", "azfit.self_play.loop", "azfit.playing.match", "azfit.playing.play"),
        *("azfit.oracle.training", "azfit.grading.certify", "azfit.grading.certificate_check"),
        *("azfit.diagnosis.diagnose", "azfit.diagnosis.buffer_report", "solver.verify"),
        *("torch.utils.tensorboard", "matplotlib.pyplot"),
    ]
)
ROOT = Path(__file__).resolve().parent.parent
SECONDS = 60


def _start_server() -> None:
    """Starts the process that is forked, with the modules that these tests see."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


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
    assert Path(str(cli.__file__)).parent == ROOT
    os.chdir(folder)
    drop_privileges()
    limit_memory(more_bytes)
    send.send(run_cli(*arguments))


def run_with_memory(more_bytes: int, *arguments: str | Path) -> Outcome:
    """How the command ends, as a plain user's, that may take so much memory and no more."""
    _start_server()
    receive, send = FORKS.Pipe(duplex=False)
    words = tuple(map(str, arguments))
    child = FORKS.Process(target=_run, args=(send, more_bytes, Path.cwd(), words))
    child.start()
    send.close()
    try:
        is_done = receive.poll(SECONDS)
        outcome: Outcome = receive.recv() if is_done else Outcome(-1, "", "it hangs")
    except EOFError:
        outcome = Outcome(-1, "", "the process died")
    child.kill()
    child.join()
    return outcome
