"""Trials, how they end, and their sum: what every campaign is made of."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")

FIGURES = ("trials", "planned", "failed")


@dataclass(frozen=True)
class Verdict:
    """How a trial ended, in a word that is counted, and what was not as it must be."""

    ending: str
    problems: tuple[str, ...] = ()
    trials: int = 1
    others: Mapping[str, int] = field(default_factory=dict)
    """Of several trials, those that ended in other ways."""


@dataclass(frozen=True)
class Trial:
    """Something done to fadefour in a new folder."""

    part: str
    """The line of the table that it belongs to."""
    label: str
    """What is done, so that it can be repeated by hand."""
    run: Callable[[Path], Verdict]
    count: int = 1
    """How many trials of the table it is: a file of many bits, a batch of strings."""


@dataclass(frozen=True)
class Setting:
    """How much is tried: everything at scale 1, a share below it."""

    scale: float = 1.0
    seed: int = 0

    def random(self, *names: object) -> random.Random:
        """Random numbers of this campaign's own, the same for the same seed."""
        return random.Random(repr((self.seed, *names)))

    def count(self, whole: int) -> int:
        """A number of trials, at least one."""
        return max(1, round(whole * self.scale))

    def share_of(self, items: Iterable[Item], *names: object, times: int = 1) -> list[Item]:
        """A share of these, at least one, in their order; ``times`` as many as the scale says."""
        listed = list(items)
        share = min(len(listed), max(1, round(len(listed) * self.scale * times)))
        places = sorted(self.random(*names).sample(range(len(listed)), share))
        return [listed[place] for place in places]


@dataclass
class Line:
    """A line of the table: the trials of one part."""

    part: str
    planned: int = 0
    trials: int = 0
    failed: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def add(self, label: str, verdict: Verdict) -> None:
        self.trials += verdict.trials
        self.failed += min(verdict.trials, len(verdict.problems))
        self.endings.update(verdict.others)
        self.endings[verdict.ending] += verdict.trials - sum(verdict.others.values())
        self.findings += [f"{self.part}: {label}: {problem}" for problem in verdict.problems]


def table(lines: Sequence[Line]) -> str:
    """In Markdown: how many trials were run, of how many, and how they ended."""
    rows = [("trials", "run", "of", "findings", "how they ended")]
    for line in lines:
        endings = ", ".join(f"{ending} {count:,}" for ending, count in line.endings.most_common())
        figures = (getattr(line, name) for name in FIGURES)
        rows.append((line.part, *(f"{figure:,}" for figure in figures), endings))
    totals = [
        sum(getattr(line, name) for line in lines) for name in ("trials", "planned", "failed")
    ]
    rows.append(("all", *(f"{total:,}" for total in totals), ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    cells = [
        [text.rjust(width) if 0 < i < 4 else text.ljust(width) for i, (text, width) in
         enumerate(zip(row, widths, strict=True))]
        for row in rows
    ]  # fmt: skip
    cells.insert(
        1, ["-" * (width - 1) + (":" if 0 < i < 4 else "-") for i, width in enumerate(widths)]
    )
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
