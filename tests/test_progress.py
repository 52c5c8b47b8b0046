"""What long work shows: figures that people read, bars on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import time

import pytest

from solver.progress import Bars, Lines, Progress, for_terminal, status
from solver.wording import counted, duration, size


@pytest.mark.parametrize(
    ("done", "total", "unit", "seconds", "words"),
    [
        (45_000, 100_000, "position", 9.0, "45 %, 45,000 of 100,000 positions, 5,000/s, 11 s left"),
        (1, 1, "position", 0.5, "100 %, 1 of 1 position, 2.0/s, 0.0 s left"),
        (0, 100, "game", 3.0, "0 of 100 games"),
        (0, 0, "game", 0.0, "0 of 0 games"),
        (120, 100, "position", 10.0, "120 positions, 12/s"),
        (999, 1000, "node", 0.0, "99 %, 999 of 1,000 nodes"),
        (2**30, 2**32, "B", 1.0, "25 %, 1.1 GB of 4.3 GB, 1.1 GB/s, 3.0 s left"),
        (3, 10, "set", 3600.0, "30 %, 3 of 10 sets, 20 min 0 s each, 2 h 20 min left"),
    ],
)
def test_a_status_is_read_aloud(
    done: int, total: int, unit: str, seconds: float, words: str
) -> None:
    assert status(done, total, unit, seconds) == words


def test_durations_sizes_and_counts() -> None:
    said = [duration(s) for s in (0, 9.84, 9.99, 10, 59.4, 59.6, 200, 3599.6, 7500)]
    assert said == [
        *("0.0 s", "9.8 s", "10.0 s", "10 s", "59 s", "1 min 0 s", "3 min 20 s"),
        *("1 h 0 min", "2 h 5 min"),
    ]
    said = [size(count) for count in (0, 999, 1000, 1_500_000, 4_293_000_000, 10**13)]
    assert said == ["0 B", "999 B", "1.0 kB", "1.5 MB", "4.3 GB", "10000.0 GB"]
    assert [counted(n, "shard") for n in (0, 1, 2000)] == ["0 shards", "1 shard", "2,000 shards"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def test_off_a_terminal_there_is_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, out = Clock(monkeypatch), io.StringIO()
    lines = for_terminal(out)
    assert isinstance(lines, Lines)
    lines.begin("4 pieces", 1000, "tile")
    for second in range(35):
        clock.now = 100.0 + second
        lines.reach(10 * second)
    lines.end("1,000 nodes")
    said = out.getvalue().splitlines()
    assert said[:3] == [
        "4 pieces: 10 %, 100 of 1,000 tiles, 10/s, 1 min 30 s left",
        "4 pieces: 20 %, 200 of 1,000 tiles, 10/s, 1 min 20 s left",
        "4 pieces: 30 %, 300 of 1,000 tiles, 10/s, 1 min 10 s left",
    ]
    assert said[3].split() == ["4", "pieces", "1,000", "nodes", "34.00", "s"]
    assert len(said) == 4


def test_on_a_terminal_there_is_a_bar_and_then_a_line() -> None:
    out = Terminal()
    bars: Progress = for_terminal(out)
    assert isinstance(bars, Bars)
    bars.begin("4 pieces", 1000, "tile")
    bars.reach(0)
    bars.reach(1000)
    bars.end("1,000 nodes")
    assert "4 pieces |" in out.getvalue()
    assert "| 0 of 1,000 tiles" in out.getvalue()
    last = out.getvalue().replace("\r", "\n").splitlines()[-1]
    assert last.split()[:4] == ["4", "pieces", "1,000", "nodes"]
