"""What is wrong by the exact judge: right moves that the network overlooks, blunders of the search.

Each threshold stands here with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from azfit.diagnosis.figures import Figures
from azfit.diagnosis.finding import SETTLED, Finding, Rule, rule
from azfit.diagnosis.truth import PositionTruth

# Share of a side's moves that give a result away.
BLUNDERS = 0.05

# What the users of the reference runs aimed at for the second player's right reply.
RIGHT_MOVE = 0.6


def merit(truth: PositionTruth) -> str:
    """What the right moves of a position do, as in "keep the win"."""
    verb, rest = "keep", f"the {truth.result}"
    if truth.keeps_anyway:
        verb, rest = ("lose", "latest") if truth.result == "loss" else ("win", "soonest")
    return f"{verb}{'s' if len(truth.right) == 1 else ''} {rest}"


@rule("the right moves", iterations=SETTLED)
def right_move(figures: Figures) -> Iterator[Finding]:
    for name, truth in figures.truth.positions.items():
        probability = truth.probability
        if truth.all_alike or probability is None or probability >= RIGHT_MOVE:
            continue
        moves = f"right move{'s' if len(truth.right) > 1 else ''} {' '.join(truth.right)}"
        sentence = (
            f"at the {name} the network gives only {probability:.0%} to the {moves}, which "
            f"{merit(truth)} (aim for {RIGHT_MOVE:.0%} or more): train longer, or use more --sims"
        )
        yield Finding("wrong", "truth", truth.side, probability, sentence, ("--sims",))


@rule("blunders", iterations=SETTLED)
def blunders(figures: Figures) -> Iterator[Finding]:
    if figures.search is None or figures.sample_truth is None:
        return
    player = "clamp on" if figures.search.fpu_clamp else "clamp off"
    for side, rate in figures.sample_truth.blunders.get(player, {}).items():
        if rate.blunders > BLUNDERS:
            sentence = (
                f"the search gives the result away in {rate.blunders:.1%} of the {side} player's "
                "positions: train longer, or use more --sims"
            )
            yield Finding("wrong", "blunders", side, rate.blunders, sentence, ("--sims",))


RULES: tuple[Rule, ...] = (right_move, blunders)
