"""What can be wrong with the outcomes of the games and with the value head.

Each threshold stands here with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from azfit.diagnosis.figures import Figures
from azfit.diagnosis.finding import SETTLED, Finding, Rule, rule
from azfit.diagnosis.learning_rules import more_learning
from azfit.self_play.iteration import SIDES

# One side above 70 % of the games can mean a bug, or a game that is won from the start.
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

PLURALS = {"win": "wins", "draw": "draws", "loss": "losses"}


# ---- outcomes ----------------------------------------------------------------------------


@rule("the balance of outcomes", iterations=SETTLED, games=FEWEST_GAMES)
def balance(figures: Figures) -> Iterator[Finding]:
    outcomes = figures.outcomes
    if outcomes is None:
        return
    for side, wins in zip(SIDES, (outcomes.first_wins, outcomes.second_wins), strict=True):
        if wins <= ONE_SIDED:
            continue
        words = f"the {side} player wins {wins:.0%} of the games"
        if proven_result(figures, side) == "win":
            sentence = f"{words}, as it should: the start is a proven win for that side"
            yield Finding("note", "balance", side, wins, sentence)
        else:
            sentence = (
                f"{words}: unless that side wins the game in theory, more than 70% suggests a bug, "
                "or a search that fails the other side; compare the sides in the table, and see "
                "--balance-sampling, --fpu-clamp and --temp-moves"
            )
            options = ("--balance-sampling", "--fpu-clamp", "--temp-moves")
            yield Finding("wrong", "balance", side, wins, sentence, options)


@rule("positions of one outcome", iterations=SETTLED)
def one_outcome(figures: Figures) -> Iterator[Finding]:
    if figures.options.balance_sampling:
        return
    for side, of_side in figures.sides.items():
        if of_side.positions < FEWEST_POSITIONS:
            continue
        name, share = max(of_side.classes.items(), key=lambda item: item[1])
        if share <= ONE_SIDED:
            continue
        words = f"{share:.0%} of the {side} player's positions are {PLURALS[name]}"
        if name != "loss" and name == proven_result(figures, side):
            sentence = f"{words}, as they should be: the start is a proven {name} for that side"
            yield Finding("note", "classes", side, share, sentence)
            continue
        sentence = (
            f"{words}, so the outcomes say little about which of its moves are good: try "
            "--balance-sampling"
        )
        yield Finding("wrong", "classes", side, share, sentence, ("--balance-sampling",))


def proven_result(figures: Figures, side: str) -> str | None:
    """What the start is worth to this side, if an exact judge knows and the games begin there."""
    result = figures.start_result
    if figures.options.random_plies or result is None:
        return None
    if side == "first" or result == "draw":
        return result
    return "loss" if result == "win" else "win"


# ---- value -------------------------------------------------------------------------------


@rule("value and F1", iterations=SETTLED)
def value(figures: Figures) -> Iterator[Finding]:
    for side, of_side in figures.sides.items():
        if of_side.positions < FEWEST_POSITIONS:
            continue
        options: tuple[str, ...]
        predicted, outcome = of_side.value or 0.0, of_side.outcome or 0.0
        if abs(predicted - outcome) > VALUE_OFF:
            remedy, options = more_learning(figures)
            sentence = (
                f"the network values the {side} player's positions at {predicted:+.2f} on average, "
                f"and their games ended at {outcome:+.2f}: {remedy}, or try --balance-sampling"
            )
            options += ("--balance-sampling",)
            yield Finding("wrong", "value", side, predicted - outcome, sentence, options)
        for name, score in of_side.f1.items():
            if of_side.classes[name] >= CLASS_PRESENT and (score or 0.0) < F1_LOW:
                sentence = (
                    f"{of_side.classes[name]:.0%} of the {side} player's positions are "
                    f"{PLURALS[name]}, but the network predicts them with an F1 of only "
                    f"{score or 0.0:.2f}: try --balance-sampling"
                )
                options = ("--balance-sampling",)
                yield Finding("wrong", "F1", side, score or 0.0, sentence, options)


RULES: tuple[Rule, ...] = (balance, one_outcome, value)
