"""What can be wrong with the outcomes of the games and with the value head.

Each threshold stands here with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from azfit.diagnosis.figures import Figures
from azfit.diagnosis.finding import SETTLED, Finding, Rule, rule
from azfit.diagnosis.learning_rules import more_learning
from azfit.self_play.iteration import SIDES

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
            sentence = f"{words}; the start is a proven win for it, so that is as it should be"
            yield Finding("note", "balance", side, wins, sentence)
        else:
            sentence = (
                f"{words}: above 70 % smells of a bug or of a search that fails one side; compare "
                "the sides above, and see --balance-sampling, --fpu-clamp, --temp-moves"
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
        ends = {"win": "wins", "draw": "draws", "loss": "losses"}[name]
        words = f"{share:.0%} of the {side} player's positions are {ends}"
        if name != "loss" and name == proven_result(figures, side):
            sentence = f"{words}; the start is a proven {name} for it, so that is as it should be"
            yield Finding("note", "classes", side, share, sentence)
            continue
        sentence = (
            f"{words}, whatever it plays: the outcome alone can hardly tell its moves apart; "
            "try --balance-sampling"
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
                f"the {side} player's value is {predicted:+.2f} where its games ended "
                f"{outcome:+.2f}: {remedy} or see --balance-sampling"
            )
            options += ("--balance-sampling",)
            yield Finding("wrong", "value", side, predicted - outcome, sentence, options)
        for name, score in of_side.f1.items():
            if of_side.classes[name] >= CLASS_PRESENT and (score or 0.0) < F1_LOW:
                sentence = (
                    f"the {side} player's {name} class has F1 {score or 0.0:.2f} though "
                    f"{of_side.classes[name]:.0%} of its positions are of it: try "
                    "--balance-sampling"
                )
                options = ("--balance-sampling",)
                yield Finding("wrong", "F1", side, score or 0.0, sentence, options)


RULES: tuple[Rule, ...] = (balance, one_outcome, value)
