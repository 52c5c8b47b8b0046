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

# The second player's right reply was aimed at above 60 %.
RIGHT_MOVE = 0.6


def kept_how(truth: PositionTruth) -> str:
    """What the right moves of a position do to its result."""
    if not truth.keeps_anyway:
        return "kept"
    return "put off longest" if truth.result == "loss" else "reached soonest"


@rule("the right moves", iterations=SETTLED)
def right_move(figures: Figures) -> Iterator[Finding]:
    for name, truth in figures.truth.positions.items():
        probability = truth.probability
        if truth.all_alike or probability is None or probability >= RIGHT_MOVE:
            continue
        sentence = (
            f"the network gives {probability:.0%} to the right moves of the {name} "
            f"({' '.join(truth.right)}: the {truth.result} is {kept_how(truth)} by them); "
            f"aim above {RIGHT_MOVE:.0%}"
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
                f"the search gives a result away in {rate.blunders:.1%} of the {side} player's "
                "positions: train longer, or use more --sims"
            )
            yield Finding("wrong", "blunders", side, rate.blunders, sentence, ("--sims",))


RULES: tuple[Rule, ...] = (right_move, blunders)
