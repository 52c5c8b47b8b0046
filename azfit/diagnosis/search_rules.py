"""What can be wrong with the search and with the targets that it makes.

Each threshold stands here with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from azfit.diagnosis.figures import Figures
from azfit.diagnosis.finding import SETTLED, Finding, Rule, rule
from azfit.self_play.iteration import SIDES

# Of the nodes with an untried move, the share with an FPU below -1. Healthy searches have some in
# lost positions near the end of a game; one in twenty means whole subtrees of a side.
STARVED = 0.05

# Searches of one position that differ in their most visited move, clamp on or off: one in twenty
# is what a tie here and there explains.
OTHER_MOVE = 0.05

# Total-variation distance of the visits with the steps head at its lambda and at 0. It is meant to
# choose among equals; when 15 visits of 100 go elsewhere, it has tipped the search from spread to
# winner-takes-all. (Not the chosen move: among equal visits the smallest change decides it.)
STEPS_DISTANCE = 0.15

# c at the end of a search over c at its beginning: below 5 % the "dynamic" part does nothing.
C_GROWTH = 0.05

# Nats of Jensen gap: 0.15 is about one position in five whose best move changes from search to
# search (0.2 ln 2 = 0.14).
GAP = 0.15


# ---- search ------------------------------------------------------------------------------


@rule("starved searches")
def starvation(figures: Figures) -> Iterator[Finding]:
    search = figures.search
    if search is None:
        return
    for side in SIDES:
        share = figures.starved[side].share
        if share is None or share <= STARVED:
            continue
        nodes = f"{share:.0%} of the {side} player's nodes with an untried move"
        if search.fpu_clamp:
            sentence = f"the clamp holds {nodes} at -1; without it they would be starved"
            yield Finding("note", "starvation", side, share, sentence)
            continue
        sentence = (
            f"{nodes} rate that move below a proven loss (V - {search.fpu_reduction:g} "
            "sqrt(tried priors) < -1), so that side's search is starved: use --fpu-clamp, or the "
            "gentler --fpu-dynamic"
        )
        options = ("--fpu-clamp", "--fpu-dynamic")
        yield Finding("wrong", "starvation", side, share, sentence, options)


@rule("the clamp")
def clamp_changes(figures: Figures) -> Iterator[Finding]:
    if figures.search is None or figures.search.fpu_clamp:
        return
    for side, difference in (figures.clamp or {}).items():
        if difference.other_move <= OTHER_MOVE:
            continue
        sentence = (
            f"with the clamp the search would choose a different move in "
            f"{difference.other_move:.0%} of the {side} player's positions: use --fpu-clamp"
        )
        yield Finding("wrong", "clamp", side, difference.other_move, sentence, ("--fpu-clamp",))


@rule("the steps head", iterations=SETTLED)
def steps_head(figures: Figures) -> Iterator[Finding]:
    if figures.search is None:
        return
    for side, difference in (figures.steps_head or {}).items():
        distance = difference.distance
        if distance <= STEPS_DISTANCE:
            continue
        sentence = (
            f"the steps head (lambda {figures.search.lambda_steps:g}) moves {distance:.0%} of the "
            f"{side} player's visits to other moves, more than a tie-break should: lower "
            "--lambda-steps"
        )
        yield Finding("wrong", "steps head", side, distance, sentence, ("--lambda-steps",))


@rule("c_puct")
def constant_exploration(figures: Figures) -> Iterator[Finding]:
    search = figures.search
    if search is None:
        return
    growth = (search.c_last - search.c_first) / max(1e-9, search.c_first)
    if growth >= C_GROWTH:
        return
    lively = search.c_init + math.log(2)
    sentence = (
        f"c_puct is practically constant: {search.c_first:.3f} at the first visit and "
        f"{search.c_last:.3f} after {search.sims} simulations, because c_base is "
        f"{search.c_base_factor:g} times their number; if c_puct should grow, --c-base-factor 1 "
        f"takes it to {lively:.2f}"
    )
    yield Finding("note", "exploration", None, growth, sentence, ("--c-base-factor",))


# ---- targets -----------------------------------------------------------------------------


@rule("contradicting targets", iterations=SETTLED)
def contradiction(figures: Figures) -> Iterator[Finding]:
    for side, jensen in (figures.jensen or {}).items():
        if jensen.gap is None or jensen.gap <= GAP:
            continue
        sentence = (
            f"the {side} player's targets contradict each other: Jensen gap {jensen.gap:.2f} nats "
            f"over the {jensen.repeated_share:.0%} of its positions that occur more than once; use "
            "more --sims, less noise (--noise-steps, --noise-eps) or fewer --temp-moves"
        )
        options: tuple[str, ...] = ("--sims", "--noise-steps", "--noise-eps", "--temp-moves")
        yield Finding("wrong", "contradiction", side, jensen.gap, sentence, options)


@rule("repeated searches", iterations=SETTLED)
def repeats(figures: Figures) -> Iterator[Finding]:
    for name, searches in (figures.repeats or {}).items():
        if searches.gap > GAP:
            sentence = (
                f"{searches.repeats} searches of the {name}, each with its own noise, disagree: "
                f"Jensen gap {searches.gap:.2f} nats; use more --sims or less noise (--noise-eps)"
            )
            options = ("--sims", "--noise-eps")
            yield Finding("wrong", "repeated searches", None, searches.gap, sentence, options)


RULES: tuple[Rule, ...] = (
    *(starvation, clamp_changes, steps_head),
    *(contradiction, repeats, constant_exploration),
)
