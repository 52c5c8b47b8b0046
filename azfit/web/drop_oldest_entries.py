"""Drop-oldest in JSON: what is said of a position, a move, a game; and its schemas."""

from __future__ import annotations

from typing import Any

from azfit.web.endpoints import (
    COUNT,
    FLAG,
    RESULT,
    RESULT_OR_OVER,
    TEXT,
    listed,
    one_of,
    optional,
    shape,
)
from azfit.web.reviews import PLIES, VALUE, accuracy_entry
from solver.drawing import ProbeReport
from solver.index import symmetry_of
from solver.review import Review
from solver.rules import Position, Rules
from solver.values import MoveValue, Value


def pieces(position: Position) -> list[dict[str, Any]]:
    """Every piece with its age, 1 for the oldest; ``leaves``: it goes with its owner's next
    move."""
    names, m = position.rules.cell_names, position.rules.m
    return [
        {"cell": names[cell], "side": side, "age": age, "leaves": age == 1 and len(queue) == m}
        for side, queue in (("x", position.x), ("y", position.y))
        for age, cell in enumerate(queue, 1)
    ]


def winner(position: Position, value: Value) -> str | None:
    """Who has won; None while the game goes on."""
    if value.plies != 0:
        return None
    return "y" if position.to_move == "x" else "x"


def result_of(value: Value) -> str:
    return "over" if value.plies == 0 else value.result


def move_entry(rules: Rules, move: MoveValue, after: str) -> dict[str, Any]:
    return {
        "cell": rules.cell_names[move.cell],
        "position": after,
        "result": move.result,
        "plies": move.plies,
        "traps": {"losing": move.traps, "replies": move.replies},
    }


def position_entry(report: ProbeReport) -> dict[str, Any]:
    position, value, rules = report.position, report.value, report.position.rules
    names, after = rules.cell_names, position.written_after()
    return {
        "position": str(position),
        "canonical": symmetry_of(rules).written(report.transform, position),
        "transform": report.transform,
        "to_move": position.to_move,
        "result": result_of(value),
        "plies": value.plies,
        "winner": winner(position, value),
        "pieces": pieces(position),
        "moves": [move_entry(rules, move, after[move.cell]) for move in report.moves],
        "line": [names[cell] for cell in report.line],
    }


def review_entry(start: Position, cells: list[int], review: Review) -> dict[str, Any]:
    name, position = start.rules.cell_name, start
    points, moves = [_point(start, review.values[0])], []
    for ply, (cell, move) in enumerate(zip(cells, review.moves, strict=True)):
        moves.append(
            {
                "ply": ply + 1,
                "side": position.to_move,
                "cell": name(cell),
                "before": move.before._asdict(),
                "after": move.after._asdict(),
                "mistake": move.is_mistake,
                "right": [name(right) for right in move.right],
            }
        )
        position = position.play(cell)
        points.append(_point(position, review.values[ply + 1]))
    return {
        "positions": points,
        "moves": moves,
        "accuracy": {side: accuracy_entry(review, number) for number, side in enumerate("xy")},
        "winner": winner(position, review.values[-1]),
    }


def _point(position: Position, value: Value) -> dict[str, Any]:
    return {
        "position": str(position),
        "to_move": position.to_move,
        "result": result_of(value),
        "plies": value.plies,
    }


# ---- schemas ------------------------------------------------------------------------------------

SIDE = one_of("x", "y")

MOVE = shape(
    cell=TEXT,
    position=TEXT,
    result=RESULT,
    plies=PLIES,
    traps=shape(losing=COUNT, replies=COUNT),
)

POSITION = shape(
    position=TEXT,
    canonical=TEXT,
    transform=COUNT,
    to_move=SIDE,
    result=RESULT_OR_OVER,
    plies=PLIES,
    winner=optional(SIDE),
    pieces=listed(shape(cell=TEXT, side=SIDE, age=COUNT, leaves=FLAG)),
    moves=listed(MOVE),
    line=listed(TEXT),
)

VARIANT_ENTRY = shape(
    n=COUNT,
    m=COUNT,
    k=COUNT,
    name=TEXT,
    game=TEXT,
    file=TEXT,
    start=VALUE,
    plies=FLAG,
    stats=FLAG,
)

COUNTS = {"finished": COUNT, "win": COUNT, "loss": COUNT, "draw": COUNT, "impossible": COUNT}

STATISTICS = shape(
    rules=shape(n=COUNT, m=COUNT, k=COUNT),
    start=VALUE,
    nodes=COUNT,
    results=shape(**COUNTS),
    deepest=COUNT,
    slices=listed(shape(pieces=COUNT, nodes=COUNT, **COUNTS)),
    depths=listed(shape(plies=COUNT, result=RESULT, nodes=COUNT)),
)
