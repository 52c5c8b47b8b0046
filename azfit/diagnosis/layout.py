"""How the reports write figures, rows of tables and findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from azfit.diagnosis.finding import Finding
from azfit.self_play.iteration import SIDES

T = TypeVar("T")

SHOWN = 8  # entries of a long series

ENDED = {"win": "won", "draw": "drawn", "loss": "lost"}
"""What a game is that ended so."""


def number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def signed(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 2) + 0.0:+.2f}"  # never -0.00


def share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def evenly(length: int, wanted: int = SHOWN) -> list[int]:
    """Places of up to ``wanted`` entries of a list, the first and the last among them."""
    if length <= wanted:
        return list(range(length))
    return [round(i * (length - 1) / (wanted - 1)) for i in range(wanted)]


def row_by_side(title: str, by_side: Mapping[str, T], cell: Callable[[T], str]) -> list[str]:
    """A row with a cell for each side."""
    return [title, *(cell(by_side[side]) if side in by_side else "-" for side in SIDES)]


def judge_line(available: bool, name: str) -> str:
    """name: the judge's, or what it would take to have one."""
    return ("exact judge: " if available else "no exact judge: ") + name


def in_sentences(findings: Sequence[Finding]) -> str:
    """What looks wrong, what is worth knowing, and whether it is too early to tell."""
    wrong = [finding.sentence for finding in findings if finding.level == "wrong"]
    notes = [finding.sentence for finding in findings if finding.level == "note"]
    early = [finding.sentence for finding in findings if finding.level == "early"]
    lines = ["looks wrong:", *(f"- {s}" for s in wrong)] if wrong else []
    lines += early
    lines = lines or ["nothing looks wrong"]
    if notes:
        lines += ["worth knowing:", *(f"- {s}" for s in notes)]
    return "\n".join(lines)
