"""What can be wrong with how the targets are learned: too little, or by overfitting.

Each threshold stands here with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from azfit.diagnosis.figures import Figures
from azfit.diagnosis.finding import SETTLED, Finding, Rule, rule
from azfit.self_play.iteration import SIDES

# Nats by which a network's entropy exceeds its targets'. A network that has learned its targets
# and averages contradicting ones shows the Jensen gap here; 0.18 in the reference run.
ENTROPY_ABOVE = 0.1

# Win/draw/loss loss on fresh games above that on the games learned from, in nats. A Connect Four
# run that drew every position 11 times had 0.23, and its loss on fresh games had stood still since
# it drew them twice; one that drew them 3 times, and kept learning, had 0.08.
OVERFITTING = 0.1


@rule("the policy loss")
def loss_floor(figures: Figures) -> Iterator[Finding]:
    parts = figures.policy_loss
    if parts is None:
        return
    share = parts.target_entropy / max(1e-9, parts.loss)
    sentence = (
        f"of the policy loss of {parts.loss:.2f}, {parts.target_entropy:.2f} is the entropy of "
        f"the targets, which training cannot reduce, and {parts.kl:.2f} is KL"
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
        words = f"in the {side} player's positions the network's entropy is {network:.2f}"
        if above < -ENTROPY_ABOVE:
            sentence = (
                f"{words}, below the {targets:.2f} of the targets: the network averages their "
                "noise away"
            )
            yield Finding("note", "entropy", side, above, sentence)
        elif above > ENTROPY_ABOVE:
            words += f", above the {targets:.2f} of the targets"
            yield _entropy_above(figures, side, above, words)


def _entropy_above(figures: Figures, side: str, above: float, words: str) -> Finding:
    """Either the targets contradict each other or they are not learned yet: the gap decides."""
    gap = None
    if figures.jensen is not None and side in figures.jensen:
        gap = figures.jensen[side].gap
    if gap is not None and gap < above / 2:
        remedy, options = more_learning(figures)
        sentence = (
            f"{words}; contradicting targets explain only {gap:.2f} of that, so the targets are "
            f"not learned yet: {remedy}, or raise --policy-lr-scale"
        )
        options += ("--policy-lr-scale",)
        return Finding("note", "unlearned", side, above, sentence, options)
    measured = "" if gap is None else f" (Jensen gap {gap:.2f})"
    sentence = (
        f"{words}: the targets contradict each other{measured}; use more --sims, less noise "
        "(--noise-steps) or a larger --buffer"
    )
    options = ("--sims", "--noise-steps", "--buffer")
    return Finding("wrong", "entropy", side, above, sentence, options)


# ---- overfitting -------------------------------------------------------------------------


def overfitting_gap(figures: Figures) -> float:
    """Win/draw/loss loss on fresh games above that on the games learned from; 0 if not known."""
    loss = figures.value_loss
    return 0.0 if loss is None else loss.fresh - loss.learned


@rule("overfitting", iterations=SETTLED)
def overfitting(figures: Figures) -> Iterator[Finding]:
    gap, loss = overfitting_gap(figures), figures.value_loss
    if loss is not None and gap > OVERFITTING:
        sentence = (
            f"the win/draw/loss loss is {loss.learned:.2f} on the games it was trained on and "
            f"{loss.fresh:.2f} on fresh games, and each position is drawn {loss.times_drawn:.1f} "
            "times: the network is overfitting to its games; lower --replay-ratio or --epochs, or "
            "play more --games-per-iteration"
        )
        options = ("--replay-ratio", "--epochs", "--games-per-iteration")
        yield Finding("wrong", "overfitting", None, gap, sentence, options)


def more_learning(figures: Figures) -> tuple[str, tuple[str, ...]]:
    """What to do where too little is learned, and by which options: a network that is overfitting
    needs more games, not more training."""
    if overfitting_gap(figures) > OVERFITTING:
        return "play more games (--games-per-iteration)", ("--games-per-iteration",)
    return "train more (--replay-ratio, --epochs)", ("--replay-ratio", "--epochs")


RULES: tuple[Rule, ...] = (entropy, overfitting, loss_floor)
