"""Events for TensorBoard, each written when it is added.

TensorBoard's own writer leaves that to a thread, in which a full disk is a traceback.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

FILE_VERSION = "brain.Event:2"


class EventFile:
    """A new file of events in a folder; raises OSError if it cannot be written."""

    def __init__(self, folder: Path, hide_from: int | None = None) -> None:
        """hide_from: events of this step and later ones, in files written before, are hidden."""
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
        # Unbuffered: what could not be written must not be tried again by close().
        self._file = open(folder / name, "xb", buffering=0)  # noqa: SIM115 - closed by close()
        self._records = RecordWriter(self)
        self._add(file_version=FILE_VERSION)
        if hide_from is not None:
            self._add(step=hide_from, session_log=SessionLog(status=SessionLog.START))

    def write(self, data: bytes) -> None:
        """All bytes of a record."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]

    def _add(self, **entries: Any) -> None:
        self._records.write(Event(wall_time=time.time(), **entries).SerializeToString())

    def add_scalar(self, name: str, value: float, step: int) -> None:
        figure = Summary.Value(tag=name, simple_value=value)
        self._add(step=step, summary=Summary(value=[figure]))

    def close(self) -> None:
        self._file.close()
