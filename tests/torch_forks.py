"""Processes that need not import torch: forks of one that has imported it and computed nothing.

OpenMP's threads do not survive a fork, and a fork of the tests' own process could wait for them for
ever; a new interpreter takes seconds to get as far.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("limited_memory", "azfit.self_play.loop", "azfit.playing.match", "azfit.playing.play"),
        *("azfit.oracle.training", "azfit.grading.certify", "azfit.grading.certificate_check"),
        *("azfit.diagnosis.diagnose", "azfit.diagnosis.buffer_report", "solver.verify"),
        *("azfit.self_play.commands", "azfit.playing.commands", "azfit.oracle.commands"),
        *("azfit.grading.commands", "azfit.diagnosis.commands", "solver.commands"),
        *("torch.utils.tensorboard", "matplotlib.pyplot"),
        "torch._dynamo",  # what every optimiser imports, a second's work
    ]
)


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


def fork_with_torch(work: Callable[..., object], *arguments: Any) -> ForkServerProcess:
    """A process that has begun this work, which must be picklable."""
    _start_server()
    child = FORKS.Process(target=work, args=arguments)
    child.start()
    return child
