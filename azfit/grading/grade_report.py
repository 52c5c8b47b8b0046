"""A grade for people: text, a table of several side by side, and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from azfit.columns import aligned
from azfit.grading.grade import Blunder, Grade
from azfit.grading.in_play import InPlay
from azfit.grading.tally import RESULTS, Group, wilson
from solver.drawing import line_of, outcome
from solver.plotting import pyplot, save_png

HEAD = ("positions", "blunders", "keeps result", "optimal", "W/D/L right", "calib. err", "ply err")


def percent(share: float | None) -> str:
    """A share with as many digits as it takes to tell it from 100 %."""
    if share is None:
        return "-"
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    missing = 1 - share
    digits = max(2, min(8, -int(np.floor(np.log10(missing))) - 1))  # two that are not 9
    return f"{100 * share:.{digits}f} %"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _cells(group: Group) -> list[str]:
    exact = float(group.errors).is_integer()
    return [
        f"{group.positions:,}",
        f"{group.errors:,.0f}" if exact else f"{group.errors:,.1f}",
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
    rows += [(f"{pieces} pieces", group) for pieces, group in grade.by_pieces().items()]
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
    return (
        f"  '{position}'  {name(blunder.move)}: {outcome(blunder.before)} becomes "
        f"{outcome(blunder.after)}{sure}; {reply}"
    )


def _interval(grade: Grade) -> list[str]:
    whole = grade.overall
    if grade.sample is None or whole.keeping is None:
        return []
    low, high = wilson(whole.keeping, whole.positions)
    return [
        f"95 % interval of the blunder rate over all positions: {1 - high:.3e} to {1 - low:.3e}",
    ]


def text(grade: Grade, blunders: int = 10) -> str:
    """Everything a grade has to say, as text."""
    rows = [("", *HEAD), *((label, *_cells(group)) for label, group in _groups(grade))]
    parts = [
        f"{grade.name} on {grade.population} of {grade.rules.name}, each counted once\n",
        aligned(rows),
        *_interval(grade),
        "",
    ]
    if grade.tally.confusion.any():
        parts += [
            _matrix("What positions are / what they are taken for", "as", grade.tally.confusion)
        ]
        parts += [""]
    if grade.tally.after.any():
        parts += [
            _matrix("What positions are / what the moves make of them", "to", grade.tally.after)
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


def compare(grades: Sequence[Grade]) -> str:
    """Several grades side by side: one line each, and the blunders by result."""
    rows: list[Sequence[str]] = [("", *HEAD, *(f"in {name}s" for name in ("win", "draw")))]
    for grade in grades:
        results = grade.by_result()
        given_away = [f"{results[name].errors:,.0f}" for name in ("win", "draw")]
        rows.append([grade.name, *_cells(grade.overall), *given_away])
    return aligned(rows)


# ---- picture ------------------------------------------------------------------------------------


def _draw_bars(axes: Any, title: str, groups: dict[str, Group]) -> None:
    """Blunder rates on a logarithmic axis; a group without a blunder has no bar, and says so."""
    rates = [group.blunder_rate or 0.0 for group in groups.values()]
    places = np.arange(len(groups))
    axes.bar(places, rates, color="#b3402e")
    axes.set_xticks(places, list(groups), fontsize=8)
    axes.set_title(title, fontsize=10)
    if any(rates):
        axes.set_yscale("log")
        axes.set_ylim(min(rate for rate in rates if rate) / 3, 1)
    else:
        axes.set_ylim(0, 1)
    for place, rate in enumerate(rates):
        if not rate:
            axes.text(place, axes.get_ylim()[0], "0", ha="center", va="bottom", color="#2b7a4b")


def _draw_reliability(axes: Any, grade: Grade) -> None:
    bins = grade.tally.reliability()
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1)
    axes.plot(
        [row.confidence for row in bins],
        [row.right for row in bins],
        "o-",
        color="#2b5f8a",
        markersize=4,
    )
    axes.set_title("how sure it is / how often it is right", fontsize=10)
    if not bins:
        axes.text(0.5, 0.5, "no win/draw/loss given", ha="center")


def png(path: Path, grade: Grade) -> None:
    """Blunder rates by result and depth, by pieces, and how far judgements can be trusted."""
    figure, axes = pyplot().subplots(2, 2, figsize=(10, 7), dpi=120, layout="constrained")
    depths = {str(plies): group for plies, group in grade.by_depth().items()}
    pieces = {str(count): group for count, group in grade.by_pieces().items()}
    _draw_bars(axes[0, 0], "blunder rate by result", grade.by_result())
    _draw_bars(axes[0, 1], "by plies to the end (odd won, even lost)", depths)
    _draw_bars(axes[1, 0], "by pieces on the board", pieces)
    _draw_reliability(axes[1, 1], grade)
    whole = grade.overall
    figure.suptitle(f"{grade.name}: {percent(whole.keeping)} of {grade.population} kept")
    save_png(figure, path)
