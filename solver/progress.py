"""How long work tells that it is getting on: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Protocol, TextIO

from tqdm import tqdm


class Progress(Protocol):
    """What long work reports to. One phase at a time."""

    def begin(self, label: str, total: int, unit: str) -> None: ...

    def reach(self, done: int) -> None: ...

    def end(self, note: str = "") -> None: ...


class Silent:
    """Reports nothing."""

    def begin(self, label: str, total: int, unit: str) -> None: ...

    def reach(self, done: int) -> None: ...

    def end(self, note: str = "") -> None: ...


class Bars:
    """A bar with rate and time left for each phase, replaced by one line when it ends."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: tqdm[None] | None = None
        self._label, self._began = "", 0.0

    def begin(self, label: str, total: int, unit: str) -> None:
        self._label, self._began = label, time.monotonic()
        self._bar = tqdm(
            total=total, desc=label, unit=unit, unit_scale=True, leave=False, file=self._stream
        )

    def reach(self, done: int) -> None:
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def end(self, note: str = "") -> None:
        if self._bar is not None:
            self._bar.close()
        _line(self._stream, self._label, note, time.monotonic() - self._began)


class Lines:
    """One line for each phase when it ends; every half minute a line for one that takes long."""

    EVERY_SECONDS = 30.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._label, self._total, self._began, self._told = "", 0, 0.0, 0.0

    def begin(self, label: str, total: int, unit: str) -> None:
        self._label, self._total = label, total
        self._began = self._told = time.monotonic()

    def reach(self, done: int) -> None:
        now = time.monotonic()
        if now - self._told >= self.EVERY_SECONDS:
            self._told = now
            percent = 100 * done / max(1, self._total)
            print(f"{self._label}: {percent:.0f} %", file=self._stream, flush=True)

    def end(self, note: str = "") -> None:
        _line(self._stream, self._label, note, time.monotonic() - self._began)


def _line(stream: TextIO, label: str, note: str, seconds: float) -> None:
    print(f"{label:<24} {note:<44} {seconds:8.2f} s", file=stream, flush=True)


def for_terminal(stream: TextIO | None = None) -> Progress:
    """Bars if the stream (standard error by default) is a terminal, else lines."""
    out = sys.stderr if stream is None else stream
    return Bars(out) if out.isatty() else Lines(out)
