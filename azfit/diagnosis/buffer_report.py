"""What the replay buffer of a run holds, for people: tables, then plain sentences."""

from __future__ import annotations

from azfit.columns import aligned
from azfit.diagnosis.buffer_figures import BufferReport, FrequentPosition
from azfit.diagnosis.layout import (
    evenly,
    in_sentences,
    judge_line,
    number,
    row_by_side,
    share,
    signed,
)
from azfit.self_play.iteration import CLASSES, SIDES


def text(report: BufferReport) -> str:
    parts = [_head(report), *report.cut, _by_side(report), _plies(report), _frequent(report)]
    parts.append(judge_line(report.start_result is not None, report.judge))
    parts.append(in_sentences(report.findings))
    return "\n\n".join(part for part in parts if part)


def _head(report: BufferReport) -> str:
    held, ended, spread = report.by_iteration, report.outcomes, report.lengths
    total = ended.first_wins + ended.second_wins + ended.draws
    quantiles = " ".join(f"{plies:.0f}" for plies in spread.percentiles.values())
    full = "full" if report.positions >= report.capacity else "not full yet"
    counts = " ".join(f"{held[i].iteration}:{held[i].positions}" for i in evenly(len(held)))
    newest = "" if report.compared == report.positions else f", of the newest {report.compared:,}"
    return "\n".join(
        [
            f"{report.run}: {report.game}, {report.games:,} games with {report.positions:,} "
            f"positions in a buffer of {report.capacity:,} ({full})",
            f"it holds {len(held)} iterations, {held[0].iteration} to {held[-1].iteration}; "
            f"positions by iteration {counts}",
            f"outcomes: first {ended.first_wins / total:.1%}, second "
            f"{ended.second_wins / total:.1%}, draws {ended.draws / total:.1%}",
            f"plies of a game: mean {spread.mean:.1f}; percentiles "
            f"{' '.join(spread.percentiles)}: {quantiles}",
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
        rows.append(row_by_side(f"games ended in {name}", shares, share))
    rows += [
        row_by_side("entropy of the targets", sides, lambda side: number(side.target_entropy)),
        row_by_side("Jensen gap", jensen, lambda side: number(side.gap, 3)),
        row_by_side("  over positions met again", jensen, lambda side: share(side.repeated_share)),
        row_by_side("value of the searches", sides, lambda side: signed(side.search_value)),
        row_by_side("outcome", sides, lambda side: signed(side.outcome)),
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
    rows = [["most frequent", "times", "gap", "outcome", "exact", "mean target"]]
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
    return f"{move} {100 * position.target[move]:.0f} %{mark}"
