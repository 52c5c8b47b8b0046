"""What the games that can be played and judged exactly have in common in JSON."""

from __future__ import annotations

from typing import Any

from azfit.web.endpoints import (
    COUNT,
    FLAG,
    RESULT,
    RESULT_OR_OVER,
    SHARE,
    TEXT,
    WHOLE,
    Parameter,
    Schema,
    listed,
    one_of,
    optional,
    shape,
)
from solver.review import Review

PLIES = optional(COUNT)
VALUE = shape(result=RESULT, plies=PLIES)

MISTAKES = Parameter("mistakes", "share of moves that give the result away", 0.1, SHARE)
SEED = Parameter("seed", "seed of the draws; the same seed gives the same reply", 1, COUNT)


def accuracy_entry(review: Review, side: int) -> dict[str, Any]:
    accuracy = review.accuracy(side)
    return {
        "moves": accuracy.moves,
        "mistakes": accuracy.mistakes,
        "accuracy": accuracy.share,
    }


def review_schema(move: str, first: str, second: str) -> Schema:
    """move: what a move is called; first, second: the sides."""
    side, name = one_of(first, second), TEXT if move == "cell" else WHOLE
    accuracy = shape(moves=COUNT, mistakes=COUNT, accuracy=optional(SHARE))
    point = shape(position=TEXT, to_move=side, result=RESULT_OR_OVER, plies=PLIES)
    judged = {"ply": COUNT, "side": side, move: name, "before": VALUE, "after": VALUE}
    return shape(
        positions=listed(point),
        moves=listed(shape(**judged, mistake=FLAG, right=listed(name))),
        accuracy=shape(**{first: accuracy, second: accuracy}),
        winner=optional(side),
    )
