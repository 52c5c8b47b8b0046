"""What can be wrong over the course of a run: a policy that swings or stands still, the gate.

Each threshold stands here with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from azfit.diagnosis.figures import Figures
from azfit.diagnosis.finding import Finding, Rule, rule
from azfit.diagnosis.learning_rules import more_learning
from azfit.diagnosis.oscillation import FEWEST_ITERATIONS, LeadingMove
from azfit.diagnosis.run_history import FEWEST_DECISIONS, Acceptance
from azfit.self_play.iteration import SIDES

# Probability points. Below 5 a swing changes no game that can be noticed.
AMPLITUDE = 0.05

# Periods that the buffer should hold: over less than two the targets follow the swing instead of
# averaging it.
PERIODS = 2.0
BUFFER_MARGIN = 1.25

# A leading move that is neither chosen nor given up, and does not move over the last third of the
# run (20 iterations at least), is stuck.
STUCK_BETWEEN = (0.2, 0.8)
STUCK_RANGE = 0.03
STUCK_ITERATIONS = 60

# Acceptance: 50-70 % is usual early, 20-40 % late. Only what is far outside is called wrong, as
# with some 20 decisions a rate is known to 10 points.
EARLY_LOW, LATE_LOW, LATE_HIGH = 0.25, 0.05, 0.85
FEWEST_REJECTED = 10

# Where the colour or the opening decides nearly every game of a match, or most are drawn, both
# networks get the same from each opening, which is played from both sides. The score stays near one
# half, and a gate above one half rejects nearly every candidate, whatever it has learned. Five
# matches of games that networks decide have a spread below 0.1 with a chance of 1 % (chi square, 5
# degrees of freedom).
DRAWN_MATCHES = 0.7
SAME_COLOUR = 0.9
SAME_OPENING = 0.1
NEAR_HALF = 0.05
FEWEST_ALIKE = 5


# ---- the watched positions ---------------------------------------------------------------


@rule("oscillation", iterations=FEWEST_ITERATIONS)
def oscillation(figures: Figures) -> Iterator[Finding]:
    for name, history in figures.watch.items():
        swinging = [
            (move.amplitude, move.period, move)
            for move in history.leading
            if move.period is not None and move.amplitude is not None
        ]
        if not swinging:
            continue
        amplitude, period, move = max(swinging, key=lambda swing: swing[0])
        if amplitude >= AMPLITUDE:
            yield _swing(figures, name, history.side, move, amplitude, period)


def _swing(
    figures: Figures, name: str, side: str, move: LeadingMove, amplitude: float, period: float
) -> Finding:
    sentence = (
        f"the probability of the {side} player's move {move.move} ({name}) swings by "
        f"±{amplitude:.0%} about {move.late_mean:.0%} with a period of {period:.0f} iterations"
    )
    held = None if figures.buffer is None else figures.buffer.iterations_held
    rate = None if figures.buffer is None else figures.buffer.positions_per_iteration
    if held is None or rate is None or held >= PERIODS * period:
        known = "" if held is None else "the buffer holds at least two periods, so "
        sentence += f"; {known}lower --policy-lr-scale or --lr"
        options: tuple[str, ...] = ("--policy-lr-scale", "--lr")
        return Finding("wrong", "oscillation", side, amplitude, sentence, options)
    wanted = math.ceil(PERIODS * period * rate * BUFFER_MARGIN / 10_000) * 10_000
    sentence += (
        f"; the buffer holds {held:.0f} iterations, {held / period:.1f} periods, and should hold "
        f"two: use --buffer {wanted}"
    )
    return Finding("wrong", "oscillation", side, amplitude, sentence, ("--buffer",))


@rule("a standstill", iterations=STUCK_ITERATIONS)
def standstill(figures: Figures) -> Iterator[Finding]:
    low, high = STUCK_BETWEEN
    for name, history in figures.watch.items():
        if not history.leading or history.iterations < STUCK_ITERATIONS:  # older lines lack it
            continue
        move = history.leading[0]
        moved = move.late_range
        if not low <= move.late_mean <= high or moved is None or moved >= STUCK_RANGE:
            continue
        clamped = figures.search is None or figures.search.fpu_clamp
        options: tuple[str, ...] = () if clamped else ("--fpu-clamp",)
        options += ("--sims", "--policy-lr-scale")
        sentence = (
            f"the {history.side} player's leading move {move.move} ({name}) has stayed at "
            f"{move.late_mean:.0%} for the last third of the run, neither chosen nor given up: try "
            f"{', '.join(options)}"
        )
        yield Finding("wrong", "standstill", history.side, move.late_mean, sentence, options)


# ---- the gate ----------------------------------------------------------------------------


@rule("the gate", candidates=FEWEST_DECISIONS)
def acceptance(figures: Figures) -> Iterator[Finding]:
    gate = figures.acceptance
    if gate is None or gate.early is None or gate.late is None:
        return
    options: tuple[str, ...]
    early, late, row = gate.early, gate.late, gate.rejected_in_a_row
    if (reason := even_matches(gate)) is not None:
        sentence = (
            f"{reason}, so the score stays near 50% whatever the candidate has learned, and the "
            f"gate rejects what scores below {gate.threshold:.0%}: use --accept 0.5 or --no-gate"
        )
        yield Finding("wrong", "acceptance", None, late, sentence, ("--accept", "--no-gate"))
    elif row >= FEWEST_REJECTED and late <= LATE_LOW:
        remedy, options = more_learning(figures)
        sentence = (
            f"no candidate was accepted in the last {row} iterations: lower --lr, or {remedy}, or "
            "use more --eval-games"
        )
        options = ("--lr", *options, "--eval-games")
        yield Finding("wrong", "acceptance", None, late, sentence, options)
    elif early < EARLY_LOW:
        remedy, options = more_learning(figures)
        sentence = (
            f"only {early:.0%} of the candidates in the first half of the run were accepted "
            f"(50-70% is usual): {remedy}, or lower --lr"
        )
        options += ("--lr",)
        yield Finding("wrong", "acceptance", None, early, sentence, options)
    elif late > LATE_HIGH:
        sentence = (
            f"{late:.0%} of the candidates in the second half of the run were accepted (20-40% is "
            "usual): it is still improving fast, or candidates pass the gate by luck "
            "(--eval-games, --accept)"
        )
        options = ("--eval-games", "--accept")
        yield Finding("note", "acceptance", None, late, sentence, options)


def even_matches(gate: Acceptance) -> str | None:
    """Why the matches say nothing of the candidates, in words; None if they do."""
    rejected, row = gate.rejected, gate.rejected_in_a_row
    if gate.late is not None and gate.late < EARLY_LOW and gate.drawn > DRAWN_MATCHES:
        return f"{gate.drawn:.0%} of the match games are drawn"
    if rejected is None or row < FEWEST_ALIKE or abs(rejected.score - 0.5) > NEAR_HALF:
        return None
    of_the_last = f"of the last {row} candidates"
    for side, wins in zip(SIDES, (rejected.first_wins, rejected.second_wins), strict=True):
        if wins >= SAME_COLOUR:
            return f"the {side} player won {wins:.0%} of the match games {of_the_last}"
    even = rejected.spread <= SAME_OPENING
    if rejected.by_colour is not None:
        even = rejected.by_colour + rejected.draws >= SAME_COLOUR
    return f"the opening, not the network, decided the match games {of_the_last}" if even else None


RULES: tuple[Rule, ...] = (oscillation, standstill, acceptance)
