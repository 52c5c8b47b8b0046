"""A Gomoku grade as text, and a table of several side by side."""

from __future__ import annotations

from collections.abc import Sequence

from azfit.columns import aligned
from azfit.grading.gomoku.grade import BY_PLIES, Count, GomokuGrade, SampleGrade
from azfit.self_play.iteration import SIDES
from solver.gomoku.judge import Task
from solver.wording import counted

HEAD = ("positions", "right", "share", "95 % interval")

QUESTIONS = {
    Task.FOURS: "takes a win by fours",
    Task.THREES: "takes a win by fours and threes",
    Task.STOP: "stops a win by fours",
}


def _cells(count: Count) -> list[str]:
    if count.share is None or count.interval is None:
        return ["0", "0", "-", "-"]
    low, high = count.interval
    return [
        f"{count.positions:,}",
        f"{count.right:,}",
        f"{100 * count.share:.1f} %",
        f"{100 * low:.1f} to {100 * high:.1f} %",
    ]


def _rows(part: SampleGrade, details: bool) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for task, question in QUESTIONS.items():
        rows.append((question, *_cells(part.count(task))))
        if not details:
            continue
        for side, name in enumerate(SIDES):
            rows.append((f"  {name} player", *_cells(part.count(task, side=side))))
        for name, plies in BY_PLIES.items():
            unit = "ply" if name == "1" else "plies"
            rows.append((f"  in {name} {unit}", *_cells(part.count(task, plies=plies))))
    return rows


def text(grade: GomokuGrade) -> str:
    """A grade as text: every sample, then all together by side and by plies."""
    rows: list[Sequence[str]] = [("", *HEAD)]
    for part in grade.samples:
        rows.append((part.name, "", "", "", ""))
        rows += [(f"  {row[0]}", *row[1:]) for row in _rows(part, details=False)]
    whole = grade.together
    rows.append(("all together", "", "", "", ""))
    rows += [(f"  {row[0]}", *row[1:]) for row in _rows(whole, details=True)]
    size = grade.player.game.partition("-")[2]
    lines = [f"{grade.name} on Gomoku, {size} lines", "", aligned(rows), ""]
    lines.append(
        f"In {len(whole.judged):,} of {counted(whole.positions, 'position')} something is forced. "
        f"Wins with threes are looked for up to {grade.bound} plies."
    )
    if whole.undecided:
        lines.append(f"{whole.undecided:,} not decided within the limit of nodes are left out.")
    return "\n".join(lines)


def compare(grades: Sequence[GomokuGrade]) -> str:
    """Several grades side by side: the share of right moves by question."""
    rows: list[Sequence[str]] = [("right moves", *QUESTIONS.values())]
    for grade in grades:
        shares = [grade.together.count(task).share for task in QUESTIONS]
        shown = ["-" if share is None else f"{100 * share:.1f} %" for share in shares]
        rows.append((grade.name, *shown))
    return aligned(rows)
