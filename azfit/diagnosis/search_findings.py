"""What looks wrong in the search, in the targets that it makes, and in how they are learned.

Each threshold stands here with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from azfit.diagnosis.finding import Finding, Rule, Told
from azfit.self_play.assessment import SIDES

# Of the nodes with an untried move, the share with an FPU below -1. Healthy searches have some in
# lost positions near the end of a game; one in twenty means whole subtrees of a side.
STARVED = 0.05

# Searches of one position that differ in their most visited move, clamp on or off: one in twenty
# is what a tie here and there explains.
OTHER_MOVE = 0.05

# Total-variation distance of the visits with the steps head at its lambda and at 0. It is meant to
# choose among equals; when 15 visits of 100 go elsewhere, it has tipped the search from spread to
# winner-takes-all. (Not the chosen move: among equal visits that changes by a hair.)
STEPS_DISTANCE = 0.15

# c at the end of a search over c at its beginning: below 5 % the "dynamic" part does nothing.
C_GROWTH = 0.05

# Nats by which a network's entropy exceeds its targets'. A network that has learned its targets
# and averages contradicting ones shows the Jensen gap here; 0.18 in the historical failure.
ENTROPY_ABOVE = 0.1

# Nats of Jensen gap: 0.15 is about one position in five whose best move changes from search to
# search (0.2 ln 2 = 0.14).
GAP = 0.15

# Win/draw/loss loss on fresh games above that on the games learned from, in nats. Fresh games come
# from a newer network, which alone costs a few hundredths; a run that drew every position 11 times
# had 0.21, and its loss on fresh games had not fallen since it drew them twice.
BY_HEART = 0.1


# ---- search ------------------------------------------------------------------------------


def starvation(told: Told) -> Iterator[Finding]:
    search = told["search"]
    clamp, reduction = search["fpu_clamp"], search["fpu_reduction"]
    for side in SIDES:
        share = told["starved"][side]["share"]
        if share is None or share <= STARVED:
            continue
        where = f"{share:.0%} of the {side} player's nodes with an untried move"
        if clamp:
            sentence = f"the clamp holds {where} at -1; without it they would be starved"
            yield Finding("note", "starvation", side, share, sentence)
            continue
        sentence = (
            f"{where} rate it below a proven loss (V - {reduction:g} sqrt(seen) < -1), so the "
            f"{side} player's search is starved: use --fpu-clamp, or the gentler --fpu-dynamic"
        )
        yield Finding(
            "wrong", "starvation", side, share, sentence, ("--fpu-clamp", "--fpu-dynamic")
        )


def clamp_changes(told: Told) -> Iterator[Finding]:
    for side, one in told.get("clamp", {}).items():
        if told["search"]["fpu_clamp"] or one["other_move"] <= OTHER_MOVE:
            continue
        sentence = (
            f"with the clamp the search would choose another move in {one['other_move']:.0%} of "
            f"the {side} player's positions: use --fpu-clamp"
        )
        yield Finding("wrong", "clamp", side, one["other_move"], sentence, ("--fpu-clamp",))


def steps_head(told: Told) -> Iterator[Finding]:
    share = told["search"]["lambda_steps"]
    for side, one in told.get("steps_head", {}).items():
        if one["distance"] <= STEPS_DISTANCE:
            continue
        sentence = (
            f"the steps head (lambda {share:g}) moves {one['distance']:.0%} of the {side} player's "
            "visits to other moves, more than a tie-break should: lower --lambda-steps"
        )
        yield Finding("wrong", "steps head", side, one["distance"], sentence, ("--lambda-steps",))


def constant_exploration(told: Told) -> Iterator[Finding]:
    search = told["search"]
    growth = (search["c_last"] - search["c_first"]) / max(1e-9, search["c_first"])
    if growth >= C_GROWTH:
        return
    lively = search["c_init"] + math.log(2)
    sentence = (
        f"c_puct is in effect constant: {search['c_first']:.3f} at the first visit and "
        f"{search['c_last']:.3f} after {search['sims']} simulations (c_base is "
        f"{search['c_base_factor']:g} times them); if it is meant to grow, --c-base-factor 1 "
        f"takes it to {lively:.2f}"
    )
    yield Finding("note", "exploration", None, growth, sentence, ("--c-base-factor",))


# ---- targets -----------------------------------------------------------------------------


def loss_floor(told: Told) -> Iterator[Finding]:
    parts = told["policy_loss"]
    if parts is None:
        return
    share = parts["target_entropy"] / max(1e-9, parts["loss"])
    sentence = (
        f"the policy loss {parts['loss']:.2f} is {parts['target_entropy']:.2f} entropy of the "
        f"targets, which no training removes, and {parts['kl']:.2f} KL above it"
    )
    yield Finding("note", "policy loss", None, share, sentence)


def entropy(told: Told) -> Iterator[Finding]:
    for side in SIDES:
        one = told["sides"].get(side)
        if one is None or one["network_entropy"] is None:
            continue
        network, targets = one["network_entropy"], one["target_entropy"]
        above = network - targets
        words = f"the {side} player's network entropy {network:.2f}"
        if above < -ENTROPY_ABOVE:
            sentence = f"{words} is below its targets' {targets:.2f}: it averages their noise away"
            yield Finding("note", "entropy", side, above, sentence)
        elif above > ENTROPY_ABOVE:
            yield _entropy_above(told, side, above, f"{words} is above its targets' {targets:.2f}")


def _entropy_above(told: Told, side: str, above: float, words: str) -> Finding:
    """Either the targets contradict each other or they are not learned yet: the gap tells."""
    gap = (told["jensen"] or {}).get(side, {}).get("gap")
    if gap is not None and gap < above / 2:
        options: tuple[str, ...] = ("--replay-ratio", "--epochs", "--policy-lr-scale")
        cure = f"train more ({', '.join(options)})"
        if by_heart_gap(told) > BY_HEART:
            options = ("--games-per-iteration", "--policy-lr-scale")
            cure = f"it needs more games, not more of the same ({', '.join(options)})"
        sentence = (
            f"{words}, and contradiction explains {gap:.2f} of it: the targets are not learned "
            f"yet; {cure}"
        )
        return Finding("note", "unlearned", side, above, sentence, options)
    measured = "" if gap is None else f" (Jensen gap {gap:.2f})"
    sentence = (
        f"{words}: the targets contradict each other{measured}; "
        "steadier ones come from --sims, --noise-steps and --buffer"
    )
    return Finding(
        "wrong", "entropy", side, above, sentence, ("--sims", "--noise-steps", "--buffer")
    )


def contradiction(told: Told) -> Iterator[Finding]:
    for side, one in (told["jensen"] or {}).items():
        if one["gap"] is None or one["gap"] <= GAP:
            continue
        sentence = (
            f"the {side} player's targets contradict each other: Jensen gap {one['gap']:.2f} nats "
            f"over the {one['repeated_share']:.0%} of its positions met more than once; steadier "
            "ones come from more --sims, less noise (--noise-steps, --noise-eps), shorter "
            "--temp-moves"
        )
        options: tuple[str, ...] = ("--sims", "--noise-steps", "--noise-eps", "--temp-moves")
        yield Finding("wrong", "contradiction", side, one["gap"], sentence, options)


def by_heart_gap(told: Told) -> float:
    """Win/draw/loss loss on fresh games above that on the games learned from; 0 if not known."""
    one = told["value_loss"]
    return 0.0 if one is None else float(one["fresh"] - one["learned"])


def by_heart(told: Told) -> Iterator[Finding]:
    gap, one = by_heart_gap(told), told["value_loss"]
    if gap > BY_HEART:
        sentence = (
            f"win/draw/loss costs {one['learned']:.2f} on the games it learns from and "
            f"{one['fresh']:.2f} on fresh ones, each position being drawn {one['times_drawn']:.1f} "
            "times: it learns games by heart; lower --replay-ratio or --epochs, or play more "
            "--games-per-iteration"
        )
        options = ("--replay-ratio", "--epochs", "--games-per-iteration")
        yield Finding("wrong", "by heart", None, gap, sentence, options)


def repeats(told: Told) -> Iterator[Finding]:
    for name, one in told.get("repeats", {}).items():
        if one["gap"] > GAP:
            sentence = (
                f"{one['repeats']} searches of the {name} with their noise disagree: Jensen gap "
                f"{one['gap']:.2f} nats; use more --sims or less noise (--noise-eps)"
            )
            options = ("--sims", "--noise-eps")
            yield Finding("wrong", "repeated searches", None, one["gap"], sentence, options)


RULES: tuple[Rule, ...] = (
    *(starvation, clamp_changes, steps_head),
    *(entropy, contradiction, by_heart, repeats),
    *(constant_exploration, loss_floor),
)
