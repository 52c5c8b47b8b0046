"""What the replay buffer of a run holds, as text: tables, then plain sentences."""

from __future__ import annotations

from azfit.columns import aligned
from azfit.diagnosis.buffer_figures import BufferReport, FrequentPosition
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
from azfit.self_play.iteration import CLASSES, SIDES
from solver.wording import counted


def text(report: BufferReport) -> str:
    parts = [_head(report), *report.cut, _by_side(report), _plies(report), _frequent(report)]
    parts.append(judge_line(report.start_result is not None, report.judge))
    parts.append(in_sentences(report.findings))
    return "\n\n".join(part for part in parts if part)


def _head(report: BufferReport) -> str:
    held, ended, spread = report.by_iteration, report.outcomes, report.lengths
    total = ended.first_wins + ended.second_wins + ended.draws
    percentiles = ", ".join(f"{plies:.0f} ({p}%)" for p, plies in spread.percentiles.items())
    full = "full" if report.positions >= report.capacity else "not full yet"
    counts = ", ".join(
        f"{held[i].positions:,} (iteration {held[i].iteration})" for i in evenly(len(held), 4)
    )
    newest = (
        "" if report.compared == report.positions else f", among the newest {report.compared:,}"
    )
    return "\n".join(
        [
            f"{report.run}: {report.game}, {counted(report.games, 'game')} with "
            f"{counted(report.positions, 'position')} in a buffer of {report.capacity:,} ({full})",
            f"games of {counted(len(held), 'iteration')}, {held[0].iteration} to "
            f"{held[-1].iteration}; positions: {counts}",
            f"outcomes: the first player won {ended.first_wins / total:.1%}, the second "
            f"{ended.second_wins / total:.1%}; {ended.draws / total:.1%} were drawn",
            f"plies per game: mean {spread.mean:.1f}; percentiles: {percentiles}",
            f"distinct positions: {report.distinct.as_played:.1%} as played, "
            f"{report.distinct.up_to_symmetry:.1%} up to symmetry{newest}",
        ]
    )


def _by_side(report: BufferReport) -> str:
    sides, jensen = report.sides, report.jensen
    rows = [
        ["by side to move", *SIDES],
        row_by_side("positions", sides, lambda side: f"{side.positions:,}"),
    ]
    for name in CLASSES:
        shares = {side: of_side.classes[name] for side, of_side in sides.items()}
        rows.append(row_by_side(f"positions of {ENDED[name]} games", shares, share))
    rows += [
        row_by_side("entropy of the targets", sides, lambda side: number(side.target_entropy)),
        row_by_side("Jensen gap of the targets", jensen, lambda side: number(side.gap, 3)),
        row_by_side(
            "  share of positions that repeat", jensen, lambda side: share(side.repeated_share)
        ),
        row_by_side("mean value of the searches", sides, lambda side: signed(side.search_value)),
        row_by_side("mean outcome", sides, lambda side: signed(side.outcome)),
    ]
    return aligned(rows)


def _plies(report: BufferReport) -> str:
    plies = report.entropy_by_ply
    shown = [plies[i] for i in evenly(len(plies), 12)]
    rows = [
        ["ply", *(str(entry.ply) for entry in shown)],
        ["positions", *(str(entry.positions) for entry in shown)],
        ["entropy of the targets", *(number(entry.entropy) for entry in shown)],
    ]
    return aligned(rows)


def _frequent(report: BufferReport) -> str:
    rows = [["most frequent positions", "times", "gap", "outcome", "exact", "mean target"]]
    for position in report.frequent:
        rows.append(
            [
                position.position,
                str(position.times),
                number(position.gap, 3),
                signed(position.outcome),
                position.exact or "-",
                "  ".join(_target(move, position) for move in position.target),
            ]
        )
    return aligned(rows)


def _target(move: str, position: FrequentPosition) -> str:
    mark = " (right)" if move in position.right else ""
    return f"{move} {position.target[move]:.0%}{mark}"
