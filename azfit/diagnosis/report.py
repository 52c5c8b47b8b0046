"""A diagnosis for people: tables with a column for each side, then plain sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from azfit.columns import aligned
from azfit.diagnosis.diagnose import Diagnosis
from azfit.diagnosis.figures import Figures
from azfit.diagnosis.layout import (
    evenly,
    in_sentences,
    judge_line,
    number,
    row_by_side,
    share,
    signed,
)
from azfit.diagnosis.oscillation import LeadingMove
from azfit.diagnosis.run_history import SideCourse
from azfit.diagnosis.search_check import SearchDifference
from azfit.diagnosis.truth import PositionTruth
from azfit.diagnosis.truth_rules import kept_how
from azfit.self_play.iteration import CLASSES, SIDES

Rows = list[list[str]]


def text(diagnosis: Diagnosis) -> str:
    """The whole diagnosis."""
    figures = diagnosis.figures
    parts = [
        f"{diagnosis.kind} {diagnosis.subject}: {diagnosis.game}, "
        f"{diagnosis.iterations} iterations",
        *diagnosis.cut,
        *_watched(figures),
        *_course(diagnosis),
        _sides(figures),
        *_searches(figures),
        _rest(figures),
        in_sentences(diagnosis.findings),
    ]
    return "\n\n".join(part for part in parts if part)


# ---- the watched positions -----------------------------------------------------------


def _watched(figures: Figures) -> list[str]:
    parts = []
    held = None if figures.buffer is None else figures.buffer.iterations_held
    for name, history in figures.watch.items():
        title = f"{name} ({history.side} player), network entropy {history.entropy:.2f}"
        truth = figures.truth.positions.get(name)
        if truth is not None:
            title += f"; exact: {truth.result}, {_kept(truth)}"
        rows = [["move", "now", "lately", "swing", "period", "in periods held", "over time"]]
        rows += [_watched_row(move, held) for move in history.leading]
        parts.append(f"{title}\n{aligned(rows)}")
    return parts


def _watched_row(move: LeadingMove, held: float | None) -> list[str]:
    period = move.period
    return [
        move.label,
        share(move.now),
        share(move.late_mean),
        "too few iterations" if move.amplitude is None else f"±{move.amplitude:.1%}",
        "-" if period is None else f"{period:.0f}",
        "-" if period is None or held is None else f"{held / period:.1f}",
        _over_time(move.series),
    ]


def _kept(truth: PositionTruth) -> str:
    if truth.all_alike:
        return "whatever is played"
    likely = "" if truth.probability is None else f" (network {truth.probability:.0%})"
    return f"{kept_how(truth)} by {' '.join(truth.right)}{likely}"


def _over_time(series: Sequence[float]) -> str:
    return " ".join(f"{100 * series[i]:.0f}" for i in evenly(len(series)))


# ---- by side -------------------------------------------------------------------------


def _course(diagnosis: Diagnosis) -> list[str]:
    course = diagnosis.course
    if len(course) < 2:
        return []
    rows = [["iteration", *(f"{side} {what}" for side in SIDES for what in COURSE)]]
    for i in evenly(len(course)):
        sides = course[i].sides
        cells = [
            number(get(sides[side]) if side in sides else None)
            for side in SIDES
            for get in COURSE.values()
        ]
        rows.append([str(course[i].iteration), *cells])
    return ["entropy of network and targets, KL, over time\n" + aligned(rows)]


COURSE: dict[str, Callable[[SideCourse], float]] = {
    "net": lambda side: side.network_entropy,
    "targets": lambda side: side.target_entropy,
    "KL": lambda side: side.kl,
}


def _sides(figures: Figures) -> str:
    """Everything that is one figure a side."""
    sides, jensen = figures.sides, figures.jensen or {}
    rows: Rows = [
        ["now, by side", *SIDES],
        row_by_side("entropy of the network", sides, lambda side: number(side.network_entropy)),
        row_by_side("entropy of the targets", sides, lambda side: number(side.target_entropy)),
        row_by_side("KL", sides, lambda side: number(side.kl)),
        row_by_side("Jensen gap of the targets", jensen, lambda side: number(side.gap)),
        row_by_side("  over positions met again", jensen, lambda side: share(side.repeated_share)),
        row_by_side("win/draw/loss loss, fresh games", sides, lambda side: number(side.wdl_loss)),
        row_by_side("value", sides, lambda side: signed(side.value)),
        row_by_side("outcome", sides, lambda side: signed(side.outcome)),
    ]
    for name in CLASSES:
        shares = {side: of_side.classes[name] for side, of_side in sides.items()}
        rows.append(row_by_side(f"share of {name}", shares, share))
    for name in CLASSES:
        scores = {side: of_side.f1[name] for side, of_side in sides.items()}
        rows.append(row_by_side(f"F1 of {name}", scores, number))
    rows.append(row_by_side("F1, mean", sides, lambda side: number(side.macro_f1)))
    rows.append(
        row_by_side("open nodes with FPU < -1", figures.starved, lambda side: share(side.share))
    )
    return aligned(rows + _truth_rows(figures))


def _truth_rows(figures: Figures) -> Rows:
    judged = figures.sample_truth
    if judged is None or not judged.blunders:
        return []
    rows: Rows = []
    for player, rates in judged.blunders.items():
        name = "network alone" if player == "network" else f"search, {player}"
        rows.append(
            row_by_side(f"blunders (exact), {name}", rates, lambda side: share(side.blunders))
        )
    return [
        *rows,
        row_by_side("value against the truth, bias", judged.value, lambda off: signed(off.bias)),
        row_by_side("value against the truth, error", judged.value, lambda off: signed(off.error)),
    ]


# ---- searches, games, gate -----------------------------------------------------------


def _searches(figures: Figures) -> list[str]:
    rows: Rows = [["searched anew", *SIDES]]
    rows += _difference_rows("clamp on/off", figures.clamp)
    rows += _difference_rows("lambda as it is/0", figures.steps_head)
    parts = [aligned(rows)] if len(rows) > 1 else []
    if figures.repeats:
        parts.append(
            "\n".join(
                f"{searches.repeats} searches of the {name} with noise: entropy "
                f"{searches.entropy:.2f}, Jensen gap {searches.gap:.3f}"
                for name, searches in figures.repeats.items()
            )
        )
    return parts


def _difference_rows(title: str, differences: dict[str, SearchDifference] | None) -> Rows:
    if differences is None:
        return []
    cells: dict[str, Callable[[SearchDifference], str]] = {
        "another move chosen": lambda side: share(side.other_move),
        "distance of visits": lambda side: number(side.distance, 3),
        "visits of the second move": lambda side: _pair(side.second_visits),
        "moves not tried": lambda side: _pair(side.untried_moves),
    }
    return [row_by_side(f"{title}: {what}", differences, cell) for what, cell in cells.items()]


def _pair(values: Sequence[float]) -> str:
    return "/".join(number(value, 1) for value in values)


def _rest(figures: Figures) -> str:
    lines = []
    if (outcomes := figures.outcomes) is not None:
        lines.append(
            f"outcomes of {outcomes.games} games: first {outcomes.first_wins:.0%}, second "
            f"{outcomes.second_wins:.0%}, draws {outcomes.draws:.0%}"
        )
    if (gate := figures.acceptance) is not None:
        halves = ""
        if gate.early is not None:
            halves = (
                f"; first half {gate.early:.0%} (50-70 % is usual), second half "
                f"{gate.late:.0%} (20-40 %)"
            )
        lines.append(f"accepted {gate.rate:.0%} of {gate.decisions} candidates{halves}")
    if (buffer := figures.buffer) is not None and buffer.iterations_held is not None:
        lines.append(
            f"buffer of {buffer.capacity:,} positions: {buffer.iterations_held:.0f} iterations of "
            f"{buffer.positions_per_iteration:.0f}"
        )
    lines.append(judge_line(figures.truth.available, figures.truth.judge))
    return "\n".join(lines)
