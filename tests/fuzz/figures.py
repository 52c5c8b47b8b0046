"""How far every target has got: counts that add up over interrupted runs, and their table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzz.targets import Target


@dataclass(frozen=True)
class Round:
    """What one process did for its target."""

    runs: int
    accepted: int
    seconds: float
    inputs: int
    """Files of inputs afterwards."""
    first_coverage: int
    """Of the inputs that it began with."""
    coverage: int
    failed: bool


@dataclass
class Tally:
    """All rounds of a target."""

    runs: int = 0
    accepted: int = 0
    seconds: float = 0.0
    rounds: int = 0
    inputs: int = 0
    first_coverage: int = 0
    coverage: int = 0

    def add(self, done: Round) -> None:
        if not self.rounds:
            self.first_coverage = done.first_coverage
        self.runs += done.runs
        self.accepted += done.accepted
        self.seconds += done.seconds
        self.rounds += 1
        self.inputs = done.inputs
        self.coverage = max(self.coverage, done.coverage)


class Figures:
    """The tallies by target; in a file, if there is one, from which another process goes on."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._tallies: dict[str, Tally] = {}
        if path is not None and path.exists():
            stored = json.loads(path.read_text())
            self._tallies = {name: Tally(**entries) for name, entries in stored.items()}

    def of(self, target: Target) -> Tally:
        return self._tallies.setdefault(target.name, Tally())

    def save(self) -> None:
        """The old file or the new one, whenever this is interrupted."""
        if self._path is not None:
            new = self._path.with_name(f"{self._path.name}.new")
            stored = {name: vars(tally) for name, tally in self._tallies.items()}
            new.write_text(json.dumps(stored, indent=1) + "\n")
            new.replace(self._path)


HEADINGS = ("target", "reads", "runs", "accepted", "s", "runs/s", "inputs", "cov.", "new", "found")


def table(figures: Figures, findings: Mapping[Target, Sequence[Path]]) -> str:
    """In Markdown, as docs/reliability.md has it. findings: of each target that is shown."""
    rows: list[tuple[object, ...]] = [HEADINGS]
    tallies = {target: figures.of(target) for target in findings}
    for target, tally in tallies.items():
        share = f"{tally.accepted / max(1, tally.runs):.0%}"
        rate = f"{tally.runs / max(0.001, tally.seconds):,.0f}"
        new = f"+{max(0, tally.coverage - tally.first_coverage)}"
        numbers = (f"{tally.runs:,}", share, f"{tally.seconds:,.0f}", rate, tally.inputs)
        found = len(findings[target])
        rows.append((target.name, target.reads, *numbers, tally.coverage, new, found))
    runs, seconds, inputs = (
        sum(getattr(tally, name) for tally in tallies.values())
        for name in ("runs", "seconds", "inputs")
    )
    found = sum(map(len, findings.values()))
    rows.append(("all", "", f"{runs:,}", "", f"{seconds:,.0f}", "", inputs, "", "", found))
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(HEADINGS))]
    lines = [
        [
            str(cell).ljust(width) if i < 2 else str(cell).rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in rows
    ]
    rules = ["-" * width if i < 2 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    lines.insert(1, rules)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
