"""Does the table defend? Its moves are played out on the board and judged by the rules.

The defender is the side to move in a sampled position and always plays the table's best move. The
value that the table gives is a promise: a draw is never lost, a win in d plies arrives within d
against every reply and in exactly d against the longest defence, a loss in d takes at least d
plies against every attack and exactly d against the best one. Every position on the way repeats
the promise for the rest of the line, or improves on it after a weak reply.

Each position is played out in two ways: against every reply of the opponent for a few plies; and
from there, as well as from the position itself, against one of these adversaries:

=======  =======================================================================================
table    wins at once if it can, else plays the table's best reply, ties at random
threats  wins at once if it can, else parries, then makes as many threats as it can; knows only the
         rules
random   any legal reply
=======  =======================================================================================

Whether somebody has won is decided by ``solver.playout``, never by the table. In addition, the
value of every position visited must be what the values of its successors imply, and the moves
that end the game must be marked as such: this finds wrong values that do no harm in play.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from solver import playout
from solver.checks import MOST_SEED, integer_in
from solver.defense_match import KINDS, SHOWN, Failure, Match
from solver.defense_sample import Candidates, Rows, chunks, look_at, sample_positions
from solver.kernels import Crew
from solver.probing import Table
from solver.progress import Progress, Silent
from solver.wording import counted, counted_plies

MOST_POSITIONS = 1_000_000  # takes gigabytes, and hours
ROOTS_AT_A_TIME = 256  # a batch: arrays long enough for numpy, short enough for memory


@dataclass(frozen=True)
class DefenseReport:
    """What was checked. Every sampled position counts once:
    ``positions = won + held + lost_as_promised + failed``, and of those that were threatened with
    a win on the next move ``threatened_now = blocked + won_at_once + unstoppable + undefended``.
    """

    positions: int = 0  # sampled
    threatened: int = 0  # the opponent would win next move, or the mover has moves that lose
    threatened_now: int = 0  # the opponent would win next move
    blocked: int = 0  # ... and after the table's move it cannot
    won_at_once: int = 0  # ... but the table's move wins
    unstoppable: int = 0  # ... and every move loses to it
    undefended: int = 0  # ... and the table let it happen: a failure
    held: int = 0  # called a draw, and never lost
    won: int = 0  # called a win, and won in the plies promised
    lost_as_promised: int = 0  # called a loss, and lost no sooner and no later
    failed: int = 0  # sampled positions with a failure
    openings: int = 0  # positions with few pieces: all are checked, in addition to the sample
    suspects: int = 0  # candidates whose value is not what their successors imply: failures
    failed_besides: int = 0  # openings and suspects with a failure
    lines: int = 0  # played out
    plies: int = 0  # in all lines
    checked_values: int = 0  # positions compared with their successors
    failures_by_kind: dict[str, int] = field(default_factory=dict)  # positions, not lines
    failures: list[Failure] = field(default_factory=list)  # a few of each kind

    @property
    def ok(self) -> bool:
        return not self.failures

    def to_dict(self) -> dict[str, Any]:
        body = asdict(replace(self, failures=[]))
        body["failures"] = [failure.to_dict() for failure in self.failures]
        return {"ok": self.ok, **body}

    def __str__(self) -> str:
        kept = self.won + self.held + self.lost_as_promised
        lines = [
            f"{counted(self.positions, 'position')}: {self.won:,} won as promised, "
            f"{counted(self.held, 'draw')} held, {self.lost_as_promised:,} lost no sooner than "
            f"promised, {self.positions - kept:,} failed",
            f"{self.threatened:,} threatened; in {self.threatened_now:,} of them the opponent "
            f"would win on the next move: {self.blocked:,} blocked, {self.won_at_once:,} won at "
            f"once instead, {self.unstoppable:,} already lost, {self.undefended:,} not defended",
            f"{counted(self.openings, 'opening')} checked as well; {counted(self.lines, 'line')}, "
            f"{counted_plies(self.plies)}, {self.checked_values:,} values checked against their "
            "successors",
        ]
        lines += [f"FAILED: {failure}" for failure in self.failures]
        lines.append("the table defends" if self.ok else "the table does NOT defend")
        return "\n".join(lines)


def check_defense(
    table: Table,
    positions: int,
    seed: int,
    *,
    progress: Progress | None = None,
    threads: int | None = None,
    reply_plies: int = 4,
    longest: int = 40,
) -> DefenseReport:
    """Plays out ``positions`` sampled positions, and all openings, with the table's moves.

    Every reply is tried for ``reply_plies`` plies, the defender's moves included; then adversaries
    play on, up to ``longest`` plies in all or to a promised end. The report depends only on the
    table and the arguments, not on ``threads``.
    """
    for name, value, least, most in (
        ("positions", positions, 1, MOST_POSITIONS),
        ("seed", seed, 0, MOST_SEED),
        ("reply_plies", reply_plies, 0, 8),
        ("longest", longest, 1, 1000),
    ):
        integer_in(name, value, least, most)
    progress = progress or Silent()
    sample = sample_positions(table, positions, seed)
    roots = playout.join([sample.drawn, sample.openings, sample.suspects])

    def play(batch: tuple[int, Rows]) -> Match:
        number, rows = batch
        match = Match(table, roots.take(rows), np.random.default_rng([seed, 1, number]))
        match.play(reply_plies, longest)
        return match

    matches = []
    progress.begin("defence", len(roots), "position")
    with Crew(threads) as crew:
        for match in crew.map(play, enumerate(chunks(len(roots), ROOTS_AT_A_TIME))):
            matches.append(match)
            progress.reach(min(len(roots), len(matches) * ROOTS_AT_A_TIME))
    report = replace(
        _outcomes(positions, matches),
        **_threats(look_at(table, sample.drawn)),
        openings=len(sample.openings),
        suspects=sample.suspicious,
        checked_values=sample.candidates + sum(match.checked_values for match in matches),
    )
    progress.end(f"{counted(report.lines, 'line', width=14)} played out")
    return report


def _outcomes(sampled: int, matches: list[Match]) -> DefenseReport:
    """How the sampled positions ended; they are the first of all that were played out."""
    worth = np.concatenate([match.worth for match in matches])
    failed = np.zeros(len(worth), np.bool_)
    by_kind = dict.fromkeys(KINDS, 0)
    for number, match in enumerate(matches):
        for kind, roots in match.failed.items():
            by_kind[kind] += len(roots)
            failed[[number * ROOTS_AT_A_TIME + root for root in roots]] = True
    passed = ~failed[:sampled]
    return DefenseReport(
        positions=sampled,
        held=int((passed & (worth[:sampled] == 0)).sum()),
        won=int((passed & (worth[:sampled] > 0)).sum()),
        lost_as_promised=int((passed & (worth[:sampled] < 0)).sum()),
        failed=int(failed[:sampled].sum()),
        failed_besides=int(failed[sampled:].sum()),
        lines=sum(match.lines for match in matches),
        plies=sum(match.plies for match in matches),
        failures_by_kind={kind: count for kind, count in by_kind.items() if count},
        failures=_shown([failure for match in matches for failure in match.failures]),
    )


def _threats(sampled: Candidates) -> dict[str, Any]:
    """How the table's first move meets the threats, by the rules."""
    after = playout.play(sampled.positions, sampled.best)
    won = playout.is_won(after)
    stands = (playout.winning_cells(after) != 0) & ~won
    counted = {
        "threatened": sampled.threatened,
        "threatened_now": sampled.threat,
        "blocked": sampled.threat & ~won & ~stands,
        "won_at_once": sampled.threat & won,
        "unstoppable": sampled.threat & stands & (sampled.worth < 0),
        "undefended": sampled.threat & stands & (sampled.worth >= 0),
    }
    return {name: int(rows.sum()) for name, rows in counted.items()}


def _shown(failures: list[Failure]) -> list[Failure]:
    """A few distinct failures of each kind, those with the shortest lines."""
    shown: list[Failure] = []
    for kind in KINDS:
        distinct = dict.fromkeys(failure for failure in failures if failure.kind == kind)
        shown += sorted(distinct, key=lambda failure: len(failure.line))[:SHOWN]
    return shown
