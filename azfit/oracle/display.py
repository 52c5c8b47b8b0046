"""How a run shows its progress: a bar on a terminal, elsewhere a line every ten seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TextIO

from tqdm import tqdm

from solver.progress import Lines


class Display(Protocol):
    """Where a run shows its status, which replaces the one before, and lines that stay."""

    def status(self, text: Callable[[], str], fraction: float) -> None:
        """fraction: the share of the work that is done. The text is asked for only if it is due."""

    def line(self, text: str) -> None: ...

    def close(self) -> None: ...


class NoDisplay:
    """Shows nothing."""

    def status(self, text: Callable[[], str], fraction: float) -> None: ...

    def line(self, text: str) -> None: ...

    def close(self) -> None: ...


class StatusBar:
    """The status next to a bar, at most ten times per second."""

    EVERY_SECONDS = 0.1

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._shown_at = stream, 0.0
        self._bar = tqdm(
            total=1.0,
            file=stream,
            leave=False,
            bar_format="{percentage:3.0f}%|{bar:20}| {desc}",
        )

    def status(self, text: Callable[[], str], fraction: float) -> None:
        now = time.monotonic()
        if now - self._shown_at < self.EVERY_SECONDS:
            return
        self._shown_at = now
        self._bar.n = min(1.0, fraction)
        self._bar.set_description_str(text())

    def line(self, text: str) -> None:
        self._bar.write(text, file=self._stream)

    def close(self) -> None:
        self._bar.close()


class StatusLines:
    """The status as a line of its own."""

    EVERY_SECONDS = Lines.EVERY_SECONDS

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._shown_at = stream, time.monotonic()

    def status(self, text: Callable[[], str], fraction: float) -> None:
        if time.monotonic() - self._shown_at >= self.EVERY_SECONDS:
            self._shown_at = time.monotonic()
            self.line(text())

    def line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def close(self) -> None: ...


def display_on(stream: TextIO | None) -> Display:
    """A bar if the stream is a terminal, lines if it is not, nothing without a stream."""
    if stream is None:
        return NoDisplay()
    return StatusBar(stream) if stream.isatty() else StatusLines(stream)
