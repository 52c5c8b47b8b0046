"""Connect Four: positions solved on the spot, reviews, replies."""

from __future__ import annotations

import random
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from azfit.playing.fallible import fallible_choice
from azfit.web import parameters
from azfit.web.answers import JsonResponse
from azfit.web.endpoints import (
    COUNT,
    FLAG,
    RESULT,
    RESULT_OR_OVER,
    TEXT,
    WHOLE,
    Endpoint,
    Parameter,
    listed,
    one_of,
    optional,
    shape,
)
from azfit.web.errors import explained
from azfit.web.reviews import MISTAKES, SEED, accuracy_entry, review_schema
from azfit.web.solving import Question, Solving, Tell
from azfit.web.work import while_connected
from solver.checks import MOST_SEED
from solver.connect4 import Connect4Move, Connect4Position, Connect4Solver, Connect4Value
from solver.connect4.text import STONES, Connect4Report
from solver.errors import InputError
from solver.review import Review, review_connect4
from solver.values import Value

NOTATION = "write the columns played, 1 to 7, or - for the empty board: 44433"

SIDES = STONES.lower()

STONES_FOR_TRAPS = 14
"""From here on the replies to all moves take no longer than the moves: hundredths of a second."""


def parsed(text: str) -> Connect4Position:
    """400 names what is wrong with a position, and where."""
    try:
        return Connect4Position.parse(text)
    except InputError as error:
        raise explained(error, NOTATION) from None


def winner(position: Connect4Position) -> str | None:
    return SIDES[1 - position.to_move] if position.is_won else None


def cell_name(column: int, row: int) -> str:
    """Both from 1: ``d1`` is the lowest cell of the fourth column."""
    return f"{chr(ord('a') + column - 1)}{row}"


def board_entry(position: Connect4Position) -> dict[str, Any]:
    """What is the same for every answer: the position and its pieces."""
    canonical = min(position, position.mirrored, key=lambda image: image.columns)
    return {
        "position": str(position),
        "canonical": str(canonical),
        "transform": int(canonical != position),
        "to_move": SIDES[position.to_move],
        "winner": winner(position),
        "pieces": [
            {"cell": cell_name(column, row), "side": SIDES[side]}
            for column, row, side in position.pieces()
        ],
    }


def value_entry(position: Connect4Position, value: Connect4Value | Value) -> dict[str, Any]:
    return {**value._asdict(), "result": "over" if position.is_over else value.result}


def traps_entry(
    solver: Connect4Solver, position: Connect4Position, move: Connect4Move
) -> dict[str, int] | None:
    """As in drop-oldest: of the replies to this move, how many lose the opponent's result. Each
    takes a search; None where those may take long."""
    if position.plies < STONES_FOR_TRAPS:
        return None
    after = position.play(move.column)
    replies = [] if after.is_over else [after.play(column) for column in after.legal_moves()]
    kept = _sign(-move.score)  # to the opponent
    results = [-solver.search(reply.mover, reply.stones, -1, 1) for reply in replies]
    return {"losing": sum(result < kept for result in results), "replies": len(replies)}


def _sign(score: int) -> int:
    return (score > 0) - (score < 0)


def move_entry(
    solver: Connect4Solver, position: Connect4Position, move: Connect4Move
) -> dict[str, Any]:
    return {
        **column_entry(position, move.column),
        "result": move.result,
        "plies": move.plies,
        "traps": traps_entry(solver, position, move),
        "score": move.score,
    }


def column_entry(position: Connect4Position, column: int) -> dict[str, Any]:
    """A column that can be played, and the cell that the stone falls on."""
    row = position.columns.count(column) + 1
    return {
        "cell": cell_name(column, row),
        "column": column,
        "position": str(position.play(column)),
    }


def legal_moves(position: Connect4Position) -> list[dict[str, Any]]:
    """The columns that can be played, before anything is known of them."""
    columns = [] if position.is_over else position.legal_moves()
    return [column_entry(position, column) for column in columns]


def question_of(position: Connect4Position) -> Question[dict[str, Any]]:
    def ask(solver: Connect4Solver, tell: Tell) -> dict[str, Any]:
        entries: dict[int, dict[str, Any]] = {}

        def found(move: Connect4Move) -> None:
            entries[move.column] = move_entry(solver, position, move)
            tell("move", entries[move.column])

        tell("position", {**board_entry(position), "moves": legal_moves(position)})
        report = Connect4Report.of(solver, position, found)
        return {
            **board_entry(position),
            **value_entry(position, report.value),
            "moves": [entries[move.column] for move in report.moves],
            "line": report.line,
        }

    return ask


def review_entry(position: Connect4Position, review: Review) -> dict[str, Any]:
    points = []
    for ply, value in enumerate(review.values):
        reached = Connect4Position(position.columns[:ply])
        points.append(_point(reached, value))
    moves = [
        {
            "ply": ply,
            "side": SIDES[move.side],
            "column": column,
            "before": move.before._asdict(),
            "after": move.after._asdict(),
            "mistake": move.is_mistake,
            "right": list(move.right),
        }
        for ply, (column, move) in enumerate(zip(position.columns, review.moves, strict=True), 1)
    ]
    return {
        "positions": points,
        "moves": moves,
        "accuracy": {side: accuracy_entry(review, number) for number, side in enumerate(SIDES)},
        "winner": winner(position),
    }


def _point(position: Connect4Position, value: Value) -> dict[str, Any]:
    return {
        "position": str(position),
        "to_move": SIDES[position.to_move],
        **value_entry(position, value),
    }


class Connect4Routes:
    def __init__(self, solving: Solving) -> None:
        self._solving = solving

    async def _respond(self, request: Request, question: Question[dict[str, Any]]) -> Response:
        if parameters.wants_events(request):
            return await self._solving.events(question)
        return JsonResponse(await while_connected(request, self._solving.answer(question)))

    async def position(self, request: Request) -> Response:
        position = parsed(parameters.text(request, "position"))
        return await self._respond(request, question_of(position))

    async def images(self, request: Request) -> Response:
        position = parsed(parameters.text(request, "position"))
        images = [str(position), str(position.mirrored)]
        return JsonResponse({"position": str(position), "images": images, "swapped": None})

    async def reply(self, request: Request) -> Response:
        position = parsed(parameters.text(request, "position"))
        mistakes = parameters.share(request, "mistakes")
        seed = parameters.whole_number(request, "seed", 0, 0, MOST_SEED)
        if position.is_over:
            raise explained(InputError("the game is over: there is no move to choose"))

        def ask(solver: Connect4Solver, tell: Tell) -> dict[str, Any]:
            moves = solver.moves(position)
            move = fallible_choice(moves, mistakes, random.Random(f"{seed} {position}"))
            return {**move_entry(solver, position, move), "mistake": move.result != moves[0].result}

        return JsonResponse(await while_connected(request, self._solving.answer(ask)))

    async def review(self, request: Request) -> Response:
        position = parsed(parameters.text(request, "position"))

        def ask(solver: Connect4Solver, tell: Tell) -> dict[str, Any]:
            def known(ply: int, value: Value) -> None:
                reached = Connect4Position(position.columns[:ply])
                tell("value", {"ply": ply, **_point(reached, value)})

            return review_entry(position, review_connect4(solver, position, known))

        return await self._respond(request, ask)

    @property
    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/api/connect4",
                self.position,
                "A position: its exact value, its columns best first, a best line",
                POSITION,
                (POSITION_PARAMETER,),
                events="'position' with the pieces and the columns that can be played at once, "
                "'move' for each column as soon as its value is known, 'progress' with the nodes "
                "searched, then 'answer' or 'error'",
                errors=(400, 413, 422, 429),
            ),
            Endpoint(
                "GET",
                "/api/connect4/images",
                self.images,
                "A position and its mirror image",
                shape(position=TEXT, images=listed(TEXT), swapped=optional(TEXT)),
                (POSITION_PARAMETER,),
                errors=(400, 413),
            ),
            Endpoint(
                "GET",
                "/api/connect4/reply",
                self.reply,
                "The solver's move, at perfect play or with a share of mistakes",
                shape(**MOVE, mistake=FLAG),
                (POSITION_PARAMETER, MISTAKES, SEED),
                errors=(400, 413, 422, 429),
            ),
            Endpoint(
                "GET",
                "/api/connect4/review",
                self.review,
                "The game that led to a position, judged move by move",
                review_schema("column", *SIDES),
                (POSITION_PARAMETER,),
                events="'value' for each position, the last one first, 'progress' with the nodes "
                "searched, then 'answer' or 'error'",
                errors=(400, 413, 422, 429),
            ),
        ]


# ---- schemas ------------------------------------------------------------------------------------

SIDE = one_of(*SIDES)
POSITION_PARAMETER = Parameter("position", NOTATION, "44433", TEXT, required=True)
MOVE = {
    "cell": TEXT,
    "column": WHOLE,
    "position": TEXT,
    "result": RESULT,
    "plies": COUNT,
    "traps": optional(shape(losing=COUNT, replies=COUNT)),
    "score": WHOLE,
}

POSITION = shape(
    position=TEXT,
    canonical=TEXT,
    transform=COUNT,
    to_move=SIDE,
    winner=optional(SIDE),
    pieces=listed(shape(cell=TEXT, side=SIDE)),
    result=RESULT_OR_OVER,
    plies=COUNT,
    score=WHOLE,
    moves=listed(shape(**MOVE)),
    line=listed(WHOLE),
)
