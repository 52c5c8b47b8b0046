"""Drop-oldest: a position and its moves, many positions, counts, reviews, replies."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from azfit.playing.fallible import fallible_choice
from azfit.web import parameters
from azfit.web.answers import JsonResponse
from azfit.web.drop_oldest_entries import (
    MOVE,
    POSITION,
    STATISTICS,
    VARIANT_ENTRY,
    move_entry,
    position_entry,
    review_entry,
)
from azfit.web.endpoints import (
    FLAG,
    RESULT_OR_OVER,
    TEXT,
    WHOLE,
    Endpoint,
    Parameter,
    listed,
    optional,
    shape,
)
from azfit.web.errors import ApiError, explained
from azfit.web.reviews import MISTAKES, PLIES, SEED, review_schema
from azfit.web.tables import Tables
from azfit.web.work import Workers, while_connected
from solver.checks import MOST_SEED
from solver.drawing import ProbeReport
from solver.errors import InputError
from solver.index import impossible_message, symmetry_of
from solver.playout import Positions
from solver.review import review_game
from solver.rules import Position, Rules
from solver.statistics import Statistics
from solver.values import RESULTS

MOST_POSITIONS = 10_000
LONGEST_POSITION = 64
"""Characters: ten pieces, a slash and the side take 23."""

MOST_PLIES = 2_000
"""Of a game that is reviewed; play need not end."""

COUNTING_SECONDS = 60.0
"""That a client waits for the counts of a variant; counting goes on, and is done once."""

MOST_COUNTS = 100
"""That wait: more than there are variants."""

NOTATION = "write X-queue/Y-queue side, oldest piece first, - for no pieces: a1b2/c3 y"


def parsed(text: str, rules: Rules) -> Position:
    """400 names what is wrong with a position, and where."""
    if len(text) > LONGEST_POSITION:
        what = f"the position has {len(text):,} characters"
        raise ApiError(413, what, f"use at most {LONGEST_POSITION}")
    try:
        position = Position.parse(text, rules)
        if position.is_impossible:
            raise InputError(impossible_message(position))
    except InputError as error:
        raise explained(error, NOTATION) from None
    return position


# ---- addresses ----------------------------------------------------------------------------------


class DropOldestRoutes:
    def __init__(self, tables: Tables, workers: Workers) -> None:
        self._tables, self._workers = tables, workers
        self.counters = Workers("the counting of positions", 1, MOST_COUNTS)
        self._counting: dict[Rules, asyncio.Task[Statistics]] = {}

    def _rules(self, request: Request) -> Rules:
        path = request.path_params
        return self._tables.rules(path["n"], path["m"], path["k"])

    async def variants(self, request: Request) -> Response:
        found = await self._workers.run(lambda stop: self._tables.variants())
        return JsonResponse({"variants": [variant.to_dict() for variant in found]})

    async def position(self, request: Request) -> Response:
        rules = self._rules(request)
        position = parsed(parameters.text(request, "position"), rules)

        def ask(stop: object) -> dict[str, Any]:
            return position_entry(ProbeReport.of(self._tables.table(rules), position))

        return JsonResponse(await self._workers.run(ask))

    async def stats(self, request: Request) -> Response:
        rules = self._rules(request)
        await self._workers.run(lambda stop: self._tables.countable(rules))
        counting = self._counting.get(rules)
        if counting is None:
            count = self.counters.run(lambda stop: self._tables.statistics(rules))
            counting = self._counting[rules] = asyncio.ensure_future(count)
            counting.add_done_callback(lambda task: self._counted(rules, task))
        waiting = asyncio.wait_for(asyncio.shield(counting), COUNTING_SECONDS)
        try:
            statistics = await while_connected(request, waiting)
        except TimeoutError:
            what = f"counting {rules.name} takes longer than {COUNTING_SECONDS:g} s"
            raise ApiError(422, what, "it goes on: ask again later") from None
        return JsonResponse(statistics.to_dict())

    def _counted(self, rules: Rules, task: asyncio.Task[Statistics]) -> None:
        del self._counting[rules]
        if not task.cancelled():
            task.exception()  # noted, even if nobody waits any longer

    async def probe(self, request: Request) -> Response:
        rules = self._rules(request)
        body = await parameters.json_body(request)
        given = parameters.texts(body, "positions", MOST_POSITIONS, LONGEST_POSITION)

        def ask(stop: object) -> list[dict[str, Any]]:
            positions = []
            for place, text in enumerate(given):
                try:
                    positions.append(parsed(text, rules))
                except ApiError as error:
                    what = f"positions[{place}]: {error.error}"
                    raise ApiError(error.status, what, error.remedy) from None
            arrays = Positions.of(positions, rules).arrays
            results, plies = self._tables.table(rules).probe_many(*arrays)
            return [
                {
                    "result": "over" if left == 0 else RESULTS[1 - result],
                    "plies": None if left < 0 else left,
                }
                for result, left in zip(results.tolist(), plies.tolist(), strict=True)
            ]

        return JsonResponse({"values": await self._workers.run(ask)})

    async def images(self, request: Request) -> Response:
        rules = self._rules(request)
        position = parsed(parameters.text(request, "position"), rules)
        images = [symmetry_of(rules).written(transform, position) for transform in range(8)]
        swapped = None if position.swapped is None else str(position.swapped)
        return JsonResponse({"position": str(position), "images": images, "swapped": swapped})

    async def reply(self, request: Request) -> Response:
        rules = self._rules(request)
        position = parsed(parameters.text(request, "position"), rules)
        mistakes = parameters.share(request, "mistakes")
        seed = parameters.whole_number(request, "seed", 0, 0, MOST_SEED)

        def ask(stop: object) -> dict[str, Any]:
            moves = self._tables.table(rules).moves(position)
            # The same seed serves a whole game: the position makes each draw another one.
            move = fallible_choice(moves, mistakes, random.Random(f"{seed} {position}"))
            return {
                **move_entry(rules, move, position.written_after()[move.cell]),
                "mistake": move.result != moves[0].result,
            }

        return JsonResponse(await self._workers.run(ask))

    async def review(self, request: Request) -> Response:
        rules = self._rules(request)
        body = await parameters.json_body(request)
        names = parameters.texts(body, "moves", MOST_PLIES, 8)
        start = body.get("start", "-/- x")
        if not isinstance(start, str):
            raise ApiError(400, "'start' is not a text", NOTATION)

        def ask(stop: object) -> dict[str, Any]:
            first = position = parsed(start, rules)
            cells = []
            for ply, name in enumerate(names, 1):
                try:
                    cells.append(rules.cell(name))
                    position = position.play(cells[-1])
                except InputError as error:
                    problem = explained(error, "play on an empty cell, while the game goes on")
                    raise ApiError(400, f"ply {ply}: {problem.error}", problem.remedy) from None
            return review_entry(first, cells, review_game(self._tables.table(rules), first, cells))

        return JsonResponse(await self._workers.run(ask))

    @property
    def endpoints(self) -> list[Endpoint]:
        variant = "/api/drop/{n}/{m}/{k}"
        return [
            Endpoint(
                "GET",
                variant,
                self.position,
                "A position: its exact value, its moves best first, a best line",
                POSITION,
                (*VARIANT, POSITION_PARAMETER),
                errors=(400, 404, 409, 413),
            ),
            Endpoint(
                "GET",
                "/api/variants",
                self.variants,
                "The variants that are solved here",
                shape(variants=listed(VARIANT_ENTRY)),
            ),
            Endpoint(
                "GET",
                variant + "/stats",
                self.stats,
                "How many positions have which result, by pieces and by plies",
                STATISTICS,
                VARIANT,
                errors=(400, 404, 409, 422),
            ),
            Endpoint(
                "POST",
                variant + "/probe",
                self.probe,
                "The exact values of up to 10,000 positions",
                shape(values=listed(shape(result=RESULT_OR_OVER, plies=PLIES))),
                VARIANT,
                body=shape(positions=listed(TEXT)),
                body_example={"positions": ["a1b2/c3 y", "-/- x"]},
                errors=(400, 404, 409, 413, 415),
            ),
            Endpoint(
                "GET",
                variant + "/images",
                self.images,
                "The eight images of a position, and the same position with the colours swapped",
                shape(position=TEXT, images=listed(TEXT), swapped=optional(TEXT)),
                (*VARIANT, POSITION_PARAMETER),
                errors=(400, 413),
            ),
            Endpoint(
                "GET",
                variant + "/reply",
                self.reply,
                "The table's move, at perfect play or with a share of mistakes",
                {
                    **MOVE,
                    "properties": {**MOVE["properties"], "mistake": FLAG},
                    "required": [*MOVE["required"], "mistake"],
                },
                (*VARIANT, POSITION_PARAMETER, MISTAKES, SEED),
                errors=(400, 404, 409, 413),
            ),
            Endpoint(
                "POST",
                variant + "/review",
                self.review,
                "A game judged move by move: values, mistakes, accuracy of both sides",
                review_schema("cell", "x", "y"),
                VARIANT,
                body={
                    **shape(moves=listed(TEXT)),
                    "properties": {"moves": listed(TEXT), "start": TEXT},
                },
                body_example={"start": "-/- x", "moves": ["a1", "b2", "a2"]},
                errors=(400, 404, 409, 413, 415),
            ),
        ]


# ---- parameters ---------------------------------------------------------------------------------

VARIANT = tuple(
    Parameter(name, words, example, WHOLE, "path")
    for name, words, example in (
        ("n", "board side, 3 to 5", 4),
        ("m", "pieces each player may have", 4),
        ("k", "pieces in a row that win", 4),
    )
)

POSITION_PARAMETER = Parameter("position", NOTATION, "a1b2/c3 y", TEXT, required=True)
