"""What looks wrong in the course of a run, in its outcomes, and before an exact judge.

Each threshold stands here with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from azfit.diagnosis.finding import Finding, Rule, Told
from azfit.diagnosis.learning_findings import more_learning
from azfit.self_play.assessment import SIDES

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

# One side above 70 % of the games smells of a bug, or of a game that is won from the start.
ONE_SIDED = 0.7

# Fewer games or positions than this are not judged.
FEWEST_GAMES = 30
FEWEST_POSITIONS = 200

# Mean value less mean outcome of a side: beyond 0.2 (ten points of win rate) the head is wrong on
# average, not only unsure.
VALUE_OFF = 0.2

# F1 of a class that makes up a tenth of a side's positions at least; 0.3 is what guessing by
# frequency reaches for a class of that order.
F1_LOW = 0.3
CLASS_PRESENT = 0.1

# Acceptance: 50-70 % is usual early, 20-40 % late. Only what is far outside is called wrong, as
# with some 20 decisions a rate is known to 10 points.
EARLY_LOW, LATE_LOW, LATE_HIGH = 0.25, 0.05, 0.85
FEWEST_REJECTED = 10

# Where most games of a match are drawn its score stays near one half, and a gate above one half
# rejects whatever the candidate has learned.
DRAWN_MATCHES = 0.7

# Mover's moves that give a result away, by the exact judge.
BLUNDERS = 0.05

# The second player's right reply was aimed at above 60 %.
RIGHT_MOVE = 0.6


# ---- course ------------------------------------------------------------------------------


def oscillation(told: Told) -> Iterator[Finding]:
    for name, watched in told["watch"].items():
        swinging = [
            one
            for one in watched["leading"]
            if one["period"] is not None and one["amplitude"] >= AMPLITUDE
        ]
        if swinging:
            yield _swings(told, name, watched["side"], max(swinging, key=lambda o: o["amplitude"]))


def _swings(told: Told, name: str, side: str, move: Told) -> Finding:
    period, amplitude, buffer = move["period"], move["amplitude"], told["buffer"] or {}
    sentence = (
        f"the {side} player's move {move['move']} ({name}) swings by {amplitude:.0%} "
        f"about {move['late_mean']:.0%} with a period of {period:.0f} iterations"
    )
    held, rate = buffer.get("iterations_held"), buffer.get("positions_per_iteration")
    if held is None or rate is None or held >= PERIODS * period:
        sentence += "; the buffer holds two periods and more, so lower --policy-lr-scale or --lr"
        options: tuple[str, ...] = ("--policy-lr-scale", "--lr")
        return Finding("wrong", "oscillation", side, amplitude, sentence, options)
    wanted = math.ceil(PERIODS * period * rate * BUFFER_MARGIN / 10_000) * 10_000
    sentence += (
        f"; the buffer holds {held:.0f} iterations, {held / period:.1f} periods: aim at two, "
        f"--buffer {wanted}"
    )
    return Finding("wrong", "oscillation", side, amplitude, sentence, ("--buffer",))


def standstill(told: Told) -> Iterator[Finding]:
    for name, watched in told["watch"].items():
        move = watched["leading"][0] if watched["leading"] else None
        if move is None or watched["iterations"] < STUCK_ITERATIONS:
            continue
        low, high = STUCK_BETWEEN
        if not low <= move["late_mean"] <= high or move["late_range"] >= STUCK_RANGE:
            continue
        options: tuple[str, ...] = () if told["search"]["fpu_clamp"] else ("--fpu-clamp",)
        options += ("--sims", "--policy-lr-scale")
        sentence = (
            f"the {watched['side']} player's leading move {move['move']} ({name}) has stood at "
            f"{move['late_mean']:.0%} for the last third of the run: undecided and stuck; look "
            f"at {', '.join(options)}"
        )
        figure = move["late_mean"]
        yield Finding("wrong", "standstill", watched["side"], figure, sentence, options)


def acceptance(told: Told) -> Iterator[Finding]:
    one = told["acceptance"]
    if one is None or one["early"] is None:
        return
    options: tuple[str, ...]
    early, late, row = one["early"], one["late"], one["rejected_in_a_row"]
    if late < EARLY_LOW and one["drawn"] > DRAWN_MATCHES:
        sentence = (
            f"{one['drawn']:.0%} of the match games are drawn, so the score stays near one half; "
            f"{1 - late:.0%} of the late candidates were rejected: use --accept 0.5 or --no-gate"
        )
        options = ("--accept", "--no-gate")
        yield Finding("wrong", "acceptance", None, late, sentence, options)
    elif row >= FEWEST_REJECTED and late <= LATE_LOW:
        cure, options = more_learning(told)
        sentence = (
            f"no candidate was accepted in the last {row} iterations: lower --lr, or {cure}, or "
            "judge by more --eval-games"
        )
        options = ("--lr", *options, "--eval-games")
        yield Finding("wrong", "acceptance", None, late, sentence, options)
    elif early < EARLY_LOW:
        cure, options = more_learning(told)
        sentence = (
            f"only {early:.0%} of the candidates of the first half were accepted (50-70 % is "
            f"usual): {cure}, or lower --lr"
        )
        options += ("--lr",)
        yield Finding("wrong", "acceptance", None, early, sentence, options)
    elif late > LATE_HIGH:
        sentence = (
            f"{late:.0%} of the candidates of the second half were accepted (20-40 % is usual): "
            "still improving fast, or the gate lets chance through (--eval-games, --accept)"
        )
        options = ("--eval-games", "--accept")
        yield Finding("note", "acceptance", None, late, sentence, options)


# ---- outcomes and value ------------------------------------------------------------------


def balance(told: Told) -> Iterator[Finding]:
    one = told["outcomes"]
    if one is None or one["games"] < FEWEST_GAMES:
        return
    for side, name in zip(SIDES, ("first_wins", "second_wins"), strict=True):
        if one[name] <= ONE_SIDED:
            continue
        words = f"the {side} player wins {one[name]:.0%} of the games"
        if proven_result(told, side) == "win":
            sentence = f"{words}; the start is a proven win for it, so that is as it should be"
            yield Finding("note", "balance", side, one[name], sentence)
        else:
            sentence = (
                f"{words}: above 70 % smells of a bug or of a search that fails one side; compare "
                "the sides above, and see --balance-sampling, --fpu-clamp, --temp-moves"
            )
            options = ("--balance-sampling", "--fpu-clamp", "--temp-moves")
            yield Finding("wrong", "balance", side, one[name], sentence, options)


def one_outcome(told: Told) -> Iterator[Finding]:
    for side, one in told["sides"].items():
        if one["positions"] < FEWEST_POSITIONS or told["options"]["balance_sampling"]:
            continue
        name, share = max(one["classes"].items(), key=lambda item: item[1])
        if share <= ONE_SIDED:
            continue
        ends = {"win": "wins", "draw": "draws", "loss": "losses"}[name]
        words = f"{share:.0%} of the {side} player's positions are {ends}"
        if name != "loss" and name == proven_result(told, side):
            sentence = f"{words}; the start is a proven {name} for it, so that is as it should be"
            yield Finding("note", "classes", side, share, sentence)
            continue
        sentence = (
            f"{words}, whatever it plays: the outcome alone can hardly tell its moves apart; "
            "try --balance-sampling"
        )
        yield Finding("wrong", "classes", side, share, sentence, ("--balance-sampling",))


def proven_result(told: Told, side: str) -> str | None:
    """What the start is worth to this side, if an exact judge knows and the games begin there."""
    result = told["truth"].get("start", {}).get("result")
    if told["options"]["random_plies"]:
        return None
    if side == "first" or result in (None, "draw"):
        return None if result is None else str(result)
    return "loss" if result == "win" else "win"


def value(told: Told) -> Iterator[Finding]:
    for side, one in told["sides"].items():
        if one["positions"] < FEWEST_POSITIONS:
            continue
        options: tuple[str, ...]
        off = (one["value"] or 0.0) - (one["outcome"] or 0.0)
        if abs(off) > VALUE_OFF:
            cure, options = more_learning(told)
            sentence = (
                f"the {side} player's value is {one['value']:+.2f} where its games ended "
                f"{one['outcome']:+.2f}: {cure} or see --balance-sampling"
            )
            options += ("--balance-sampling",)
            yield Finding("wrong", "value", side, off, sentence, options)
        for name, score in one["f1"].items():
            if one["classes"][name] >= CLASS_PRESENT and (score or 0.0) < F1_LOW:
                sentence = (
                    f"the {side} player's {name} class has F1 {score or 0.0:.2f} though "
                    f"{one['classes'][name]:.0%} of its positions are of it: try --balance-sampling"
                )
                options = ("--balance-sampling",)
                yield Finding("wrong", "F1", side, score or 0.0, sentence, options)


# ---- with an exact judge -----------------------------------------------------------------


def kept_how(truth: Told) -> str:
    """What the right moves of a position do to its result."""
    if not truth["keeps_anyway"]:
        return "kept"
    return "put off longest" if truth["result"] == "loss" else "reached soonest"


def truth(told: Told) -> Iterator[Finding]:
    for name in ("start", "reply"):
        one = told["truth"].get(name)
        if one is None or one["all_alike"] or "probability" not in one:
            continue
        if one["probability"] < RIGHT_MOVE:
            sentence = (
                f"the network gives {one['probability']:.0%} to the right moves of the {name} "
                f"({' '.join(one['right'])}: the {one['result']} is {kept_how(one)} by them); "
                f"aim above {RIGHT_MOVE:.0%}"
            )
            figure = one["probability"]
            yield Finding("wrong", "truth", one["side"], figure, sentence, ("--sims",))
    mover = "clamp on" if told["search"]["fpu_clamp"] else "clamp off"
    for side, one in told.get("blunders", {}).get(mover, {}).items():
        if one["blunders"] > BLUNDERS:
            sentence = (
                f"the search gives a result away in {one['blunders']:.1%} of the {side} player's "
                "positions: train longer, or use more --sims"
            )
            yield Finding("wrong", "blunders", side, one["blunders"], sentence, ("--sims",))


RULES: tuple[Rule, ...] = (
    *(oscillation, standstill, acceptance),
    *(balance, one_outcome, value, truth),
)
