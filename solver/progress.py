"""How long work shows that it is getting on: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol, Self, TextIO

from tqdm import tqdm

from solver.wording import counted, duration, size


class Progress(Protocol):
    """What long work reports to. One phase at a time."""

    def begin(self, label: str, total: int, unit: str) -> None:
        """unit: one of what is counted, as "position"; "B" for bytes."""

    def reach(self, done: int) -> None: ...

    def end(self, note: str = "") -> None: ...


class Silent:
    """Reports nothing."""

    def begin(self, label: str, total: int, unit: str) -> None: ...

    def reach(self, done: int) -> None: ...

    def end(self, note: str = "") -> None: ...


class Bar(tqdm):  # type: ignore[misc] # tqdm has no types
    """A bar that ends in our own words."""

    @classmethod
    def on(cls, stream: TextIO, label: str, total: int, unit: str, done: int = 0) -> Self:
        return cls(
            total=total,
            initial=done,
            desc=label,
            unit=unit,
            leave=False,
            file=stream,
            dynamic_ncols=True,
            bar_format="{desc} |{bar}| {status}",
        )

    @property
    def format_dict(self) -> dict[str, Any]:
        figures: dict[str, Any] = super().format_dict
        done, total, unit = figures["n"], figures["total"], figures["unit"]
        before, seconds = figures["initial"], figures["elapsed"]
        return {**figures, "status": status(done, total, unit, seconds, before)}


class Bars:
    """A bar with rate and time left for each phase, replaced by one line when it ends."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: Bar | None = None
        self._label, self._began = "", 0.0

    def begin(self, label: str, total: int, unit: str) -> None:
        self._label, self._began = label, time.monotonic()
        self._bar = Bar.on(self._stream, label, total, unit)

    def reach(self, done: int) -> None:
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def end(self, note: str = "") -> None:
        if self._bar is not None:
            self._bar.close()
        _line(self._stream, self._label, note, time.monotonic() - self._began)


class Lines:
    """One line for each phase when it ends; every ten seconds a line for one that takes long."""

    EVERY_SECONDS = 10.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._label, self._total, self._unit = "", 0, ""
        self._began = self._printed = 0.0

    def begin(self, label: str, total: int, unit: str) -> None:
        self._label, self._total, self._unit = label, total, unit
        self._began = self._printed = time.monotonic()

    def reach(self, done: int) -> None:
        now = time.monotonic()
        if now - self._printed >= self.EVERY_SECONDS:
            self._printed = now
            figures = status(done, self._total, self._unit, now - self._began)
            print(f"{self._label}: {figures}", file=self._stream, flush=True)

    def end(self, note: str = "") -> None:
        _line(self._stream, self._label, note, time.monotonic() - self._began)


def status(done: int, total: int, unit: str, seconds: float, before: int = 0) -> str:
    """``45 %, 45,000 of 100,000 positions, 5,000/s, 11 s left``; before: what was done before
    these seconds."""
    is_known = 0 < done <= total
    if unit == "B":
        amount = f"{size(done)} of {size(total)}" if done <= total else size(done)
    else:
        amount = f"{done:,} of {counted(total, unit)}" if done <= total else counted(done, unit)
    parts = [f"{100 * done // total} %"] if is_known else []
    parts.append(amount)
    if done > before and seconds > 0:
        rate = (done - before) / seconds
        parts.append(_pace(rate, unit))
        if is_known:
            parts.append(f"{duration((total - done) / rate)} left")
    return ", ".join(parts)


def _pace(rate: float, unit: str) -> str:
    """``5,000/s``, ``1.5/s``, ``20 s each``."""
    if unit == "B":
        return f"{size(round(rate))}/s"
    if rate < 1:
        return f"{duration(1 / rate)} each"
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def _line(stream: TextIO, label: str, note: str, seconds: float) -> None:
    print(f"{label:<24} {note:<44} {seconds:8.2f} s", file=stream, flush=True)


def for_terminal(stream: TextIO | None = None) -> Progress:
    """Bars if the stream (standard error by default) is a terminal, else lines."""
    out = sys.stderr if stream is None else stream
    return Bars(out) if out.isatty() else Lines(out)
