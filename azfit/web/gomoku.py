"""Gomoku: where a game stands, and what is proved of it: forced wins, threats, what stops them."""

from __future__ import annotations

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from azfit.games import GOMOKU_SIZES
from azfit.web import parameters
from azfit.web.answers import JsonResponse
from azfit.web.endpoints import (
    COUNT,
    TEXT,
    WHOLE,
    Endpoint,
    Parameter,
    listed,
    one_of,
    optional,
    shape,
)
from azfit.web.errors import ApiError, explained
from azfit.web.work import Workers, while_connected
from solver.errors import InputError
from solver.gomoku import GomokuPosition, GomokuTactics, Verdict

MEGABYTES = 4
"""Of the solver's table, for each size of board that is asked for."""

SECONDS = 2.0
"""For one position; nodes end it sooner on most machines."""

WAITING = 256
"""Questions that may wait for the solver; each takes a fraction of a second."""

NOTATION = "write the moves from the empty board, or - for none: h8 g7 h9"


def parsed(text: str, size: int) -> GomokuPosition:
    """400 names what is wrong with a position, and where."""
    try:
        return GomokuPosition.parse(text, size)
    except InputError as error:
        raise explained(error, NOTATION) from None


def position_entry(position: GomokuPosition, verdict: Verdict) -> dict[str, Any]:
    name, before = position.name_of, str(position)
    prefix, threat = "" if before == "-" else before + " ", verdict.threat
    return {
        "position": before,
        "to_move": "xo"[position.to_move],
        "result": verdict.result,
        "plies": verdict.plies,
        "winner": "xo"[1 - position.to_move] if position.is_won else None,
        "pieces": [
            {"cell": name(cell), "side": "xo"[ply % 2]} for ply, cell in enumerate(position.moves)
        ],
        "moves": [
            {
                "cell": name(move.cell),
                "position": prefix + name(move.cell),
                "result": move.result,
                "plies": move.plies,
            }
            for move in verdict.moves
        ],
        "line": [name(cell) for cell in verdict.line],
        "threat": None if threat is None else {"move": name(threat.move), "plies": threat.plies},
        "stops": [name(cell) for cell in verdict.stops],
    }


class GomokuRoutes:
    def __init__(self, readers: Workers) -> None:
        self._readers, self.workers = readers, Workers("the Gomoku solver", 1, WAITING)
        self._tactics: dict[int, GomokuTactics] = {}

    def _answer(self, text: str, size: int) -> JsonResponse:
        """Only for the solver's own thread, which makes a table at the first question. It is
        written there: as text, the moves take a tenth of the memory while they wait."""
        position = parsed(text, size)
        if size not in self._tactics:
            self._tactics[size] = GomokuTactics(size, MEGABYTES)
        verdict = Verdict.of(self._tactics[size], position, seconds=SECONDS)
        return JsonResponse(position_entry(position, verdict))

    def _size(self, request: Request) -> int:
        given = request.path_params["size"]
        if re.fullmatch("[0-9]{1,2}", given) and int(given) in GOMOKU_SIZES:
            return int(given)
        what = f"Gomoku has no board of '{given[:10]}' lines"
        raise ApiError(400, what, f"use one of {', '.join(map(str, GOMOKU_SIZES))}")

    async def position(self, request: Request) -> Response:
        size, text = self._size(request), parameters.text(request, "position")
        answer = self.workers.run(lambda stop: self._answer(text, size))
        return await while_connected(request, answer)

    async def images(self, request: Request) -> Response:
        size, text = self._size(request), parameters.text(request, "position")
        images = await self._readers.run(lambda stop: parsed(text, size).images())
        names = [str(image) for image in images]
        return JsonResponse({"position": names[0], "images": names, "swapped": None})

    @property
    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/api/gomoku/{size}",
                self.position,
                "A position: what is proved of it and of each move, and what is threatened",
                POSITION,
                (SIZE, POSITION_PARAMETER),
                errors=(400, 413, 429),
            ),
            Endpoint(
                "GET",
                "/api/gomoku/{size}/images",
                self.images,
                "The eight images of a position",
                shape(position=TEXT, images=listed(TEXT), swapped=optional(TEXT)),
                (SIZE, POSITION_PARAMETER),
                errors=(400, 413),
            ),
        ]


# ---- schemas ------------------------------------------------------------------------------------

SIDE = one_of("x", "o")
SIZE = Parameter("size", "lines of the board", 15, WHOLE, "path")
POSITION_PARAMETER = Parameter("position", NOTATION, "h8 g7", TEXT, required=True)

PLIES = optional(COUNT)

POSITION = shape(
    position=TEXT,
    to_move=SIDE,
    result=optional(one_of("win", "loss", "over")),
    plies=PLIES,
    winner=optional(SIDE),
    pieces=listed(shape(cell=TEXT, side=SIDE)),
    moves=listed(
        shape(cell=TEXT, position=TEXT, result=optional(one_of("win", "loss")), plies=PLIES)
    ),
    line=listed(TEXT),
    threat=optional(shape(move=TEXT, plies=COUNT)),
    stops=listed(TEXT),
)
