"""Events of a run, read back by TensorBoard itself; and a disk that is full."""

from __future__ import annotations

import contextlib
import errno
import io
import resource
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from torch_forks import FORKS, fork_with_torch

from azfit.metrics import tensorboard

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def scalars(folder: Path, name: str) -> list[tuple[int, float]]:
    events = accumulator.EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def add(folder: Path, steps: range, hide_from: int | None = None) -> None:
    board = tensorboard(folder, hide_from)
    assert board is not None
    for step in steps:
        board.add_scalar("loss", step / 4, step)
    board.close()


def test_tensorboard_reads_what_was_added(tmp_path: Path) -> None:
    add(tmp_path, range(1, 4))
    assert scalars(tmp_path, "loss") == [(1, 0.25), (2, 0.5), (3, 0.75)]


def test_a_run_that_continues_hides_what_came_after_its_state(tmp_path: Path) -> None:
    add(tmp_path, range(1, 6))
    add(tmp_path, range(3, 5), hide_from=3)
    assert [step for step, _ in scalars(tmp_path, "loss")] == [1, 2, 3, 4]


def _add_until_full(send: Connection, folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    printed, number = io.StringIO(), None
    with contextlib.redirect_stderr(printed):
        try:
            add(folder, range(10_000))
        except OSError as error:
            number = error.errno
    send.send((number, printed.getvalue()))


def test_a_full_disk_is_an_error_where_an_event_is_added_and_nowhere_else(tmp_path: Path) -> None:
    """A thread that writes would print a traceback instead."""
    receive, send = FORKS.Pipe(duplex=False)
    child = fork_with_torch(_add_until_full, send, tmp_path)
    assert receive.recv() == (errno.EFBIG, "")
    child.join()
    assert len(list((tmp_path / "tensorboard").iterdir())) == 1
