"""A Connect Four grade as text, and a table of several side by side."""

from __future__ import annotations

from collections.abc import Sequence

from azfit.columns import aligned
from azfit.grading.connect4.grade import Connect4Grade
from azfit.grading.grade_report import blunder_count, percent
from azfit.grading.tally import Group, wilson

HEAD = ("positions", "blunders", "blunder rate", "95 % interval", "optimal", "W/D/L right")


def _cells(group: Group) -> list[str]:
    if group.blunder_rate is None:
        return ["0", "0", "-", "-", "-", "-"]
    low, high = wilson(group.blunder_rate, group.positions)
    return [
        f"{group.positions:,}",
        blunder_count(group),
        f"{100 * group.blunder_rate:.2f} %",
        f"{100 * low:.2f} to {100 * high:.2f} %",
        percent(group.optimal),
        percent(group.wdl_accuracy),
    ]


def text(grade: Connect4Grade) -> str:
    """A grade as text: every set, then all together by side and result."""
    rows: list[Sequence[str]] = [("", *HEAD)]
    rows += [(part.name, *_cells(part.group())) for part in grade.sets]
    for name, group in grade.together.groups().items():
        label = name + (" to move" if "player" in name else "")
        rows.append((label, *_cells(group)))
    return f"{grade.name} on Connect Four\n\n{aligned(rows)}"


def compare(grades: Sequence[Connect4Grade]) -> str:
    """Several grades side by side: blunder rates by set."""
    names = [part.name for part in grades[0].sets]
    rows: list[Sequence[str]] = [("blunder rate", *names, "all")]
    for grade in grades:
        parts = [*grade.sets, grade.together]
        rates = [f"{100 * (part.group().blunder_rate or 0):.2f} %" for part in parts]
        rows.append((grade.name, *rates))
    return aligned(rows)
