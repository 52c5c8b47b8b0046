"""A diagnosis as text: tables with a column for each side, then plain sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from azfit.columns import aligned
from azfit.diagnosis.diagnose import Diagnosis
from azfit.diagnosis.figures import Figures
from azfit.diagnosis.layout import (
    ENDED,
    evenly,
    in_sentences,
    judge_line,
    number,
    row_by_side,
    share,
    signed,
)
from azfit.diagnosis.oscillation import LeadingMove
from azfit.diagnosis.run_history import LATELY, SideCourse
from azfit.diagnosis.search_check import SearchDifference
from azfit.diagnosis.truth import PositionTruth
from azfit.diagnosis.truth_rules import merit
from azfit.self_play.iteration import CLASSES, SIDES
from solver.wording import counted

Rows = list[list[str]]

PLAYERS = {
    "network": "network alone",
    "clamp on": "search with the clamp",
    "clamp off": "search without it",
    "lambda 0": "search with lambda 0",
}


def text(diagnosis: Diagnosis) -> str:
    """The whole diagnosis."""
    figures = diagnosis.figures
    parts = [
        _head(diagnosis),
        *diagnosis.cut,
        *_watched(figures),
        *_course(diagnosis),
        _sides(diagnosis),
        *_searches(figures),
        _rest(figures),
        in_sentences(diagnosis.findings),
    ]
    return "\n\n".join(part for part in parts if part)


def _head(diagnosis: Diagnosis) -> str:
    if diagnosis.kind == "checkpoint":
        outcomes = diagnosis.figures.outcomes
        games = counted(0 if outcomes is None else outcomes.games, "game")
        return f"checkpoint {diagnosis.subject}: {diagnosis.game}, in {games} against itself"
    return (
        f"run {diagnosis.subject}: {diagnosis.game}, {counted(diagnosis.iterations, 'iteration')}"
    )


# ---- the watched positions -----------------------------------------------------------


def _watched(figures: Figures) -> list[str]:
    parts = []
    held = None if figures.buffer is None else figures.buffer.iterations_held
    for name, history in figures.watch.items():
        title = f"{name} ({history.side} player to move): network entropy {history.entropy:.2f}"
        truth = figures.truth.positions.get(name)
        if truth is not None:
            title += f"; exact result: {truth.result}, {_right(truth)}"
        if history.iterations == 1:
            rows = [["move", "network"], *([m.label, share(m.now)] for m in history.leading)]
        else:
            rows = [["move", "now", "recent", "swing", "period", "buffer/period", "% over time"]]
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


def _right(truth: PositionTruth) -> str:
    if truth.all_alike:
        return "whatever the move"
    likely = "" if truth.probability is None else f" (network: {truth.probability:.0%})"
    return f"{' '.join(truth.right)} {merit(truth)}{likely}"


def _over_time(series: Sequence[float]) -> str:
    return " ".join(f"{100 * series[i]:.0f}" for i in evenly(len(series)))


# ---- by side -------------------------------------------------------------------------


def _course(diagnosis: Diagnosis) -> list[str]:
    course = diagnosis.course
    if len(course) < 2:
        return []
    rows = [["iteration", *(f"{side}: {what}" for side in SIDES for what in COURSE)]]
    for i in evenly(len(course)):
        sides = course[i].sides
        cells = [
            number(get(sides[side]) if side in sides else None)
            for side in SIDES
            for get in COURSE.values()
        ]
        rows.append([str(course[i].iteration), *cells])
    return ["entropy of the network and of the targets, and KL, by iteration\n" + aligned(rows)]


COURSE: dict[str, Callable[[SideCourse], float]] = {
    "network": lambda side: side.network_entropy,
    "targets": lambda side: side.target_entropy,
    "KL": lambda side: side.kl,
}


def _sides(diagnosis: Diagnosis) -> str:
    """Everything that is one figure per side."""
    figures = diagnosis.figures
    sides, jensen = figures.sides, figures.jensen or {}
    recent = min(diagnosis.iterations, LATELY)
    title = "by side" if recent == 0 else f"by side, last {counted(recent, 'iteration')}"
    rows: Rows = [
        [title, *SIDES],
        row_by_side("entropy of the network", sides, lambda side: number(side.network_entropy)),
        row_by_side("entropy of the targets", sides, lambda side: number(side.target_entropy)),
        row_by_side("KL", sides, lambda side: number(side.kl)),
        row_by_side("Jensen gap of the targets", jensen, lambda side: number(side.gap)),
        row_by_side(
            "  share of positions that repeat", jensen, lambda side: share(side.repeated_share)
        ),
        row_by_side("win/draw/loss loss on fresh games", sides, lambda side: number(side.wdl_loss)),
        row_by_side("mean value", sides, lambda side: signed(side.value)),
        row_by_side("mean outcome", sides, lambda side: signed(side.outcome)),
    ]
    for name in CLASSES:
        shares = {side: of_side.classes[name] for side, of_side in sides.items()}
        rows.append(row_by_side(f"positions of {ENDED[name]} games", shares, share))
    for name in CLASSES:
        scores = {side: of_side.f1[name] for side, of_side in sides.items()}
        rows.append(row_by_side(f"F1, {name}", scores, number))
    rows.append(row_by_side("F1, mean", sides, lambda side: number(side.macro_f1)))
    rows.append(
        row_by_side("starved nodes (FPU < -1)", figures.starved, lambda side: share(side.share))
    )
    return aligned(rows + _truth_rows(figures))


def _truth_rows(figures: Figures) -> Rows:
    judged = figures.sample_truth
    if judged is None or not judged.blunders:
        return []
    rows: Rows = []
    for player, rates in judged.blunders.items():
        title = f"blunders, {PLAYERS[player]}"
        rows.append(row_by_side(title, rates, lambda side: share(side.blunders)))
    return [
        *rows,
        row_by_side("value - truth, mean", judged.value, lambda off: signed(off.bias)),
        row_by_side("|value - truth|, mean", judged.value, lambda off: number(off.error)),
    ]


# ---- searches, games, gate -----------------------------------------------------------


def _searches(figures: Figures) -> list[str]:
    weight = "" if figures.search is None else f"{figures.search.lambda_steps:g}"
    rows: Rows = [["searched again, without noise", *SIDES]]
    rows += _difference_rows("clamp on/off", figures.clamp)
    rows += _difference_rows(f"lambda {weight}/0", figures.steps_head)
    parts = [aligned(rows)] if len(rows) > 1 else []
    if figures.repeats:
        parts.append(
            "\n".join(
                f"{searches.repeats} searches of the {name} with noise: mean entropy "
                f"{searches.entropy:.2f}, Jensen gap {searches.gap:.3f}"
                for name, searches in figures.repeats.items()
            )
        )
    return parts


def _difference_rows(title: str, differences: dict[str, SearchDifference] | None) -> Rows:
    if differences is None:
        return []
    cells: dict[str, Callable[[SearchDifference], str]] = {
        "different move": lambda side: share(side.other_move),
        "distance of the visits": lambda side: number(side.distance, 3),
        "visits of the second-best move": lambda side: _pair(side.second_visits),
        "untried moves": lambda side: _pair(side.untried_moves),
    }
    return [row_by_side(f"{title}: {what}", differences, cell) for what, cell in cells.items()]


def _pair(values: Sequence[float]) -> str:
    return "/".join(number(value, 1) for value in values)


def _rest(figures: Figures) -> str:
    lines = []
    if (outcomes := figures.outcomes) is not None:
        lines.append(
            f"{counted(outcomes.games, 'game')}: the first player won {outcomes.first_wins:.0%}, "
            f"the second {outcomes.second_wins:.0%}; {outcomes.draws:.0%} were drawn"
        )
    if (gate := figures.acceptance) is not None:
        halves = ""
        if gate.early is not None:
            halves = (
                f": {gate.early:.0%} in the first half (50-70% is usual), {gate.late:.0%} in the "
                "second (20-40%)"
            )
        candidates = counted(gate.decisions, "candidate")
        lines.append(f"the gate accepted {gate.rate:.0%} of {candidates}{halves}")
    if (buffer := figures.buffer) is not None and buffer.iterations_held is not None:
        lines.append(
            f"the buffer of {buffer.capacity:,} positions has room for "
            f"{buffer.iterations_held:,.0f} iterations of "
            f"{buffer.positions_per_iteration:,.0f} positions each"
        )
    lines.append(judge_line(figures.truth.available, figures.truth.judge))
    return "\n".join(lines)
