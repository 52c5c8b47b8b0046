"""Trials side by side: each lane is a fork of the runner that takes every n-th trial.

A lane has one thread and has computed nothing, so that what it forks is as clean as the runner.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import shutil
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import connection
from multiprocessing.connection import Connection
from pathlib import Path

from torture.campaign import Trial, Verdict
from torture.processes import adopt_orphans


def verdict_on(trial: Trial, folder: Path) -> Verdict:
    """Runs a trial in a new folder, which is removed afterwards."""
    here = Path(tempfile.mkdtemp(dir=folder))
    try:
        return trial.run(here)
    except Exception:  # a finding, whatever it is: it is listed with its traceback
        return Verdict("the trial failed", (traceback.format_exc(),))
    finally:
        shutil.rmtree(here, ignore_errors=True)


def verdicts(
    trials: Mapping[int, Trial], folder: Path, lanes: int, until: float = math.inf
) -> Iterator[tuple[int, Verdict]]:
    """Runs all trials; yields the number of each and how it ended, as they end. None is begun when
    the monotonic clock has passed ``until``."""
    running: dict[Connection, int] = {}
    for lane in range(lanes):
        receive, pid = _started(trials, folder, list(trials)[lane::lanes], until)
        running[receive] = pid
    while running:
        for receive in connection.wait(list(running)):
            assert isinstance(receive, Connection)
            try:
                number, verdict = receive.recv()
            except EOFError:
                code = os.waitstatus_to_exitcode(os.waitpid(running.pop(receive), 0)[1])
                if code:
                    raise RuntimeError(f"a lane ended with {code}") from None
            else:
                yield number, verdict


def _started(
    trials: Mapping[int, Trial], folder: Path, numbers: Sequence[int], until: float
) -> tuple[Connection, int]:
    """A lane for these trials: the pipe through which it answers, and its number."""
    receive, send = multiprocessing.Pipe(duplex=False)
    pid = os.fork()
    if pid:
        send.close()
        return receive, pid
    code = 1
    try:
        receive.close()
        adopt_orphans()
        for number in numbers:
            if time.monotonic() > until:
                break
            send.send((number, verdict_on(trials[number], folder)))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
