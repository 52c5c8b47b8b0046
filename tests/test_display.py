"""How a run shows its progress: a bar on a terminal, elsewhere a line every ten seconds."""

from __future__ import annotations

import io

import pytest

from azfit.oracle import display
from azfit.oracle.display import NoDisplay, StatusBar, StatusLines, display_on


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    return now


def test_the_stream_decides() -> None:
    assert isinstance(display_on(None), NoDisplay)
    assert isinstance(display_on(io.StringIO()), StatusLines)
    assert isinstance(display_on(Terminal()), StatusBar)


def test_off_a_terminal_there_is_a_line_every_ten_seconds(clock: list[float]) -> None:
    out = io.StringIO()
    lines = display_on(out)
    for second in range(31):
        clock[0] = 100.0 + second
        lines.status(lambda: f"{clock[0] - 100:.0f} s", second / 60)
    lines.line("a line that stays")
    assert out.getvalue().split("\n") == ["10 s", "20 s", "30 s", "a line that stays", ""]


def test_a_bar_shows_the_status_beside_it_and_is_not_drawn_every_step(clock: list[float]) -> None:
    out = Terminal()
    bar = display_on(out)
    asked = []

    def text() -> str:
        asked.append(clock[0])
        return "9.8 s of 60 s"

    for step in range(100):
        clock[0] = 200.0 + step / 100
        bar.status(text, 0.163)
    bar.line("a line that stays")
    bar.close()
    assert 5 <= len(asked) <= 11
    assert " 16%|" in out.getvalue() and "| 9.8 s of 60 s" in out.getvalue()
    assert "a line that stays\n" in out.getvalue()
