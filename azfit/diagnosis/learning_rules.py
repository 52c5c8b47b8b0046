"""What can be wrong with how the targets are learned: too little, or by heart.

Each threshold stands here with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from azfit.diagnosis.figures import Figures
from azfit.diagnosis.finding import SETTLED, Finding, Rule, rule
from azfit.self_play.iteration import SIDES

# Nats by which a network's entropy exceeds its targets'. A network that has learned its targets
# and averages contradicting ones shows the Jensen gap here; 0.18 in the historical failure.
ENTROPY_ABOVE = 0.1

# Win/draw/loss loss on fresh games above that on the games learned from, in nats. A Connect Four
# run that drew every position 11 times had 0.23, and its loss on fresh games had stood still since
# it drew them twice; one that drew them 3 times, and went on learning, had 0.08.
BY_HEART = 0.1


@rule("the policy loss")
def loss_floor(figures: Figures) -> Iterator[Finding]:
    parts = figures.policy_loss
    if parts is None:
        return
    share = parts.target_entropy / max(1e-9, parts.loss)
    sentence = (
        f"the policy loss {parts.loss:.2f} is {parts.target_entropy:.2f} entropy of the "
        f"targets, which no training removes, and {parts.kl:.2f} KL above it"
    )
    yield Finding("note", "policy loss", None, share, sentence)


@rule("entropy", iterations=SETTLED)
def entropy(figures: Figures) -> Iterator[Finding]:
    for side in SIDES:
        of_side = figures.sides.get(side)
        if of_side is None or of_side.network_entropy is None or of_side.target_entropy is None:
            continue
        network, targets = of_side.network_entropy, of_side.target_entropy
        above = network - targets
        words = f"the {side} player's network entropy {network:.2f}"
        if above < -ENTROPY_ABOVE:
            sentence = f"{words} is below its targets' {targets:.2f}: it averages their noise away"
            yield Finding("note", "entropy", side, above, sentence)
        elif above > ENTROPY_ABOVE:
            words += f" is above its targets' {targets:.2f}"
            yield _entropy_above(figures, side, above, words)


def _entropy_above(figures: Figures, side: str, above: float, words: str) -> Finding:
    """Either the targets contradict each other or they are not learned yet: the gap tells."""
    gap = None
    if figures.jensen is not None and side in figures.jensen:
        gap = figures.jensen[side].gap
    if gap is not None and gap < above / 2:
        remedy, options = more_learning(figures)
        sentence = (
            f"{words}, and contradiction explains {gap:.2f} of it: the targets are not learned "
            f"yet; {remedy}, or raise --policy-lr-scale"
        )
        options += ("--policy-lr-scale",)
        return Finding("note", "unlearned", side, above, sentence, options)
    measured = "" if gap is None else f" (Jensen gap {gap:.2f})"
    sentence = (
        f"{words}: the targets contradict each other{measured}; "
        "steadier ones come from --sims, --noise-steps and --buffer"
    )
    options = ("--sims", "--noise-steps", "--buffer")
    return Finding("wrong", "entropy", side, above, sentence, options)


# ---- by heart ----------------------------------------------------------------------------


def by_heart_gap(figures: Figures) -> float:
    """Win/draw/loss loss on fresh games above that on the games learned from; 0 if not known."""
    loss = figures.value_loss
    return 0.0 if loss is None else loss.fresh - loss.learned


@rule("overfitting", iterations=SETTLED)
def by_heart(figures: Figures) -> Iterator[Finding]:
    gap, loss = by_heart_gap(figures), figures.value_loss
    if loss is not None and gap > BY_HEART:
        sentence = (
            f"win/draw/loss costs {loss.learned:.2f} on the games it learns from and "
            f"{loss.fresh:.2f} on fresh ones, each position being drawn {loss.times_drawn:.1f} "
            "times: it learns games by heart; lower --replay-ratio or --epochs, or play more "
            "--games-per-iteration"
        )
        options = ("--replay-ratio", "--epochs", "--games-per-iteration")
        yield Finding("wrong", "by heart", None, gap, sentence, options)


def more_learning(figures: Figures) -> tuple[str, tuple[str, ...]]:
    """What to do where too little is learned, and by which options: training helps only as long
    as it is not by heart."""
    if by_heart_gap(figures) > BY_HEART:
        return "play more games (--games-per-iteration)", ("--games-per-iteration",)
    return "train more (--replay-ratio, --epochs)", ("--replay-ratio", "--epochs")


RULES: tuple[Rule, ...] = (entropy, by_heart, loss_floor)
