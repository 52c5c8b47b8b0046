"""A grade as text, as a table of several side by side, and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from azfit.columns import aligned
from azfit.grading.grade import Blunder, Grade
from azfit.grading.in_play import InPlay
from azfit.grading.tally import Group, wilson
from solver.drawing import line_of, outcome
from solver.plotting import pyplot, save_png
from solver.values import RESULTS
from solver.wording import counted, duration

HEAD = ("positions", "blunders", "keeps result", "optimal", "W/D/L right", "calib. err", "ply err")


def percent(share: float | None) -> str:
    """A share with enough digits to distinguish it from 100 %."""
    if share is None:
        return "-"
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    missing = 1 - share
    digits = max(2, min(8, -int(np.floor(np.log10(missing))) - 1))  # two that are not 9
    return f"{100 * share:.{digits}f} %"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def blunder_count(group: Group) -> str:
    """How many there are; for a player that draws its moves, how many are expected."""
    exact = float(group.errors).is_integer()
    return f"{group.errors:,.0f}" if exact else f"{group.errors:,.1f}"


def _cells(group: Group) -> list[str]:
    return [
        f"{group.positions:,}",
        blunder_count(group),
        percent(group.keeping),
        percent(group.optimal),
        percent(group.wdl_accuracy),
        _number(group.calibration_error, 5),
        _number(group.steps_error, 3),
    ]


def _groups(grade: Grade) -> list[tuple[str, Group]]:
    rows = [("all", grade.overall)]
    rows += [(name, group) for name, group in grade.by_result().items() if group.positions]
    for plies, group in grade.by_depth().items():
        rows.append((f"{'win' if plies % 2 else 'loss'} in {plies}", group))
    for pieces, group in grade.by_pieces().items():
        rows.append((counted(pieces, "piece"), group))
    rows += [(f"{side.upper()} to move", group) for side, group in grade.by_side().items()]
    return rows


def _matrix(title: str, columns: str, matrix: Any) -> str:
    rows = [["", *(f"{columns} {name}" for name in RESULTS)]]
    rows += [[name, *(f"{n:,}" for n in matrix[i])] for i, name in enumerate(RESULTS)]
    return f"{title}\n{aligned(rows)}"


def _blunder(blunder: Blunder) -> str:
    position, name = blunder.position, blunder.position.rules.cell_name
    after = position.play(blunder.move)
    sure = "" if blunder.confidence is None else f", {100 * blunder.confidence:.1f} % sure"
    reply = line_of(after, blunder.refutation) or "the game is over"
    right = " ".join(map(name, blunder.right))
    return (
        f"  '{position}'  {name(blunder.move)}: {outcome(blunder.before)} becomes "
        f"{outcome(blunder.after)}{sure}; {reply}; right: {right}"
    )


def _interval(grade: Grade) -> list[str]:
    whole = grade.overall
    if grade.sample is None or whole.keeping is None:
        return []
    low, high = wilson(whole.keeping, whole.positions)
    return [
        "blunder rate over all positions, with 95 % confidence: "
        f"{100 * (1 - high):.2g} % to {100 * (1 - low):.2g} %",
    ]


def _both_sides(grade: Grade) -> list[str]:
    """Why the positions of X and Y to move add up to more than all."""
    pieces = 2 * grade.rules.m
    if pieces not in grade.by_pieces():
        return []
    return [
        f"(A position with all {pieces} pieces on the board counts both for X to move and for Y "
        "to move.)"
    ]


def text(grade: Grade, blunders: int = 10) -> str:
    """Everything a grade has to say, as text."""
    rows = [("", *HEAD), *((label, *_cells(group)) for label, group in _groups(grade))]
    parts = [
        f"{grade.name} on {grade.population} of {grade.rules.name}, each counted once\n",
        aligned(rows),
        *_both_sides(grade),
        *_interval(grade),
        "",
    ]
    if grade.tally.confusion.any():
        parts += [
            _matrix("True result (rows) and judged result (columns)", "as", grade.tally.confusion)
        ]
        parts += [""]
    if grade.tally.after.any():
        parts += [
            _matrix("Result before the move (rows) and after it (columns)", "to", grade.tally.after)
        ]
    if grade.worst and blunders:
        parts += ["", "The worst blunders:", *map(_blunder, grade.worst[:blunders])]
    return "\n".join(parts).rstrip()


def in_play_text(matches: Sequence[InPlay]) -> str:
    """Games and grades against each opponent."""
    head = ("against", "won", "drawn", "lost", "moves", "positions", "blunders", "keeps result")
    rows: list[Sequence[str]] = [head]
    for match in matches:
        whole = _cells(match.grade.overall)
        score = [f"{n:,}" for n in (match.wins, match.draws, match.losses, match.moves)]
        rows.append([match.opponent, *score, *whole[:3]])
    return aligned(rows)


def cost_of_all(positions: int, seconds: float) -> str:
    """What a grade of every position would take, after a grade of a sample."""
    return (
        f"This was a sample. To grade all {positions:,} positions, use --all; it will take about "
        f"{duration(max(seconds, 1))} on this machine."
    )


def compare(grades: Sequence[Grade]) -> str:
    """Several grades side by side: one line each, and the blunders by result."""
    rows: list[Sequence[str]] = [("", *HEAD, *(f"in {name}s" for name in ("win", "draw")))]
    for grade in grades:
        results = grade.by_result()
        given_away = [f"{results[name].errors:,.0f}" for name in ("win", "draw")]
        rows.append([grade.name, *_cells(grade.overall), *given_away])
    return aligned(rows)


# ---- picture ------------------------------------------------------------------------------------


WRONG, RIGHT, OPINION = "#b3402e", "#2b7a4b", "#2b5f8a"

# Rates that differ by more than this are drawn on a logarithmic axis.
WIDE_RANGE = 20


def _draw_bars(axes: Any, title: str, groups: dict[str, Group]) -> None:
    """Blunder rates as bars; a group without a blunder has a dot and a 0 instead."""
    rates = [100 * (group.blunder_rate or 0.0) for group in groups.values()]
    places, positive = np.arange(len(groups)), [rate for rate in rates if rate]
    axes.bar(places, rates, color=WRONG)
    axes.set_xticks(places, list(groups), fontsize=8)
    axes.set_title(title, fontsize=10)
    axes.set_ylabel("% of positions", fontsize=8)
    bottom, top = 0.0, 1.15 * max(rates, default=0.0)
    if positive and max(positive) > WIDE_RANGE * min(positive):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        bottom, top = min(positive) / 3, 100.0
    axes.set_ylim(bottom, top or 1.0)
    zeros = [place for place, rate in zip(places, rates, strict=True) if not rate]
    axes.plot(zeros, [bottom] * len(zeros), "o", color=RIGHT, markersize=5, clip_on=False)
    for place in zeros:
        axes.annotate(
            "0", (place, bottom), (0, 5), textcoords="offset points", ha="center", color=RIGHT
        )
    if not positive:
        count = sum(group.positions for group in groups.values())
        words = f"no blunder in any of {count:,} positions"
        axes.text(0.5, 0.5, words, ha="center", color=RIGHT, transform=axes.transAxes)


def _draw_reliability(axes: Any, grade: Grade) -> None:
    bins = grade.tally.reliability()
    axes.set_title("confidence and how often it is right", fontsize=10)
    if not bins:
        axes.set_axis_off()
        words = "it gives no win, draw or loss"
        axes.text(0.5, 0.5, words, ha="center", transform=axes.transAxes)
        return
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1)
    confidence, right = [row.confidence for row in bins], [row.right for row in bins]
    axes.plot(confidence, right, "o-", color=OPINION, markersize=4)
    axes.set_xlabel("confidence", fontsize=8)
    axes.set_ylabel("share judged right", fontsize=8)


def draw_grade(path: Path, grade: Grade) -> None:
    """Blunder rates by result, depth and pieces, and how far judgements can be trusted."""
    figure, axes = pyplot().subplots(2, 2, figsize=(10, 7), dpi=120, layout="constrained")
    depths = {str(plies): group for plies, group in grade.by_depth().items()}
    pieces = {str(count): group for count, group in grade.by_pieces().items()}
    by_result = {name: group for name, group in grade.by_result().items() if group.positions}
    _draw_bars(axes[0, 0], "blunders by result", by_result)
    _draw_bars(axes[0, 1], "blunders by plies to the end (odd: won, even: lost)", depths)
    _draw_bars(axes[1, 0], "blunders by pieces on the board", pieces)
    _draw_reliability(axes[1, 1], grade)
    kept = percent(grade.overall.keeping)
    figure.suptitle(f"{grade.name}: {kept} of the moves keep the result ({grade.population})")
    save_png(figure, path)
