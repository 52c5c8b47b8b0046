"""Runs: their metrics, live as they grow, their diagnosis, their games."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from azfit.curves import curves_of_run
from azfit.games import game_by_name
from azfit.metrics import read_metrics
from azfit.run_listing import SELF_PLAY, RunFolder
from azfit.self_play.episode import DRAWN, Episode, read_episodes
from azfit.web import parameters
from azfit.web.answers import HEARTBEAT, EventResponse, JsonResponse, event
from azfit.web.catalogue import Catalogue
from azfit.web.diagnoses import Diagnoses, last_written
from azfit.web.endpoints import (
    ANYTHING,
    COUNT,
    FLAG,
    NUMBER,
    TEXT,
    Endpoint,
    Parameter,
    listed,
    one_of,
    optional,
    shape,
)
from azfit.web.errors import ApiError, explained, too_busy
from azfit.web.work import Workers, while_connected
from solver.errors import FadefourError

POLL_SECONDS, HEARTBEAT_SECONDS = 1.0, 15.0
MOST_STREAMS = 64

MOST_GAMES = 200
"""Of an iteration, in one answer."""

MOST_LINES = 1 << 31

SIDES = ("first", "second")


# ---- what is said of a run ----------------------------------------------------------------------


def run_entry(name: str, run: RunFolder) -> dict[str, Any]:
    iterations = sorted(run.games())
    return {
        "id": name,
        "kind": run.kind,
        "game": run.game,
        "updated": last_written(run.metrics),
        "iterations_with_games": iterations,
    }


def metrics_entry(name: str, run: RunFolder, since: int) -> dict[str, Any]:
    """The lines after the first ``since``; all if there are fewer, as after a resume."""
    lines = read_metrics(run.metrics)
    first = since if since <= len(lines) else 0
    return {
        "run": name,
        "kind": run.kind,
        "game": run.game,
        "since": first,
        "next": len(lines),
        "lines": lines[first:],
    }


def games_entry(name: str, run: RunFolder, iteration: int | None) -> dict[str, Any]:
    files = run.games()
    if not files:
        remedy = "only runs of self-play keep games, and only those in their buffer"
        raise ApiError(404, f"run '{name}' has no games", remedy)
    chosen = max(files) if iteration is None else iteration
    if chosen not in files:
        remedy = f"use {min(files)} to {max(files)}"
        raise ApiError(404, f"run '{name}' has no games of iteration {chosen}", remedy)
    game = game_by_name(run.game)
    episodes = read_episodes(files[chosen], game)
    names = [game.action_name(action) for action in range(game.actions)]
    return {
        "run": name,
        "game": run.game,
        "iteration": chosen,
        "iterations": sorted(files),
        "count": len(episodes),
        "games": [game_entry(episode, names) for episode in episodes[:MOST_GAMES]],
    }


def game_entry(episode: Episode, names: list[str]) -> dict[str, Any]:
    moves = [*episode.opening.tolist(), *episode.actions.tolist()]
    return {
        "number": episode.number,
        "opening": len(episode.opening),
        "moves": [names[action] for action in moves],
        "values": [round(value, 5) for value in episode.values.tolist()],
        "winner": None if episode.winner == DRAWN else SIDES[episode.winner],
    }


# ---- addresses ----------------------------------------------------------------------------------


class RunRoutes:
    def __init__(
        self,
        catalogue: Catalogue,
        data: Path,
        diagnoses: Diagnoses,
        readers: Workers,
        stopping: asyncio.Event,
    ) -> None:
        """data: the folder of solved tables; stopping: set when the streams are to end."""
        self._catalogue, self._readers, self._stopping = catalogue, readers, stopping
        self._data, self._diagnoses, self._streams = data, diagnoses, 0

    async def _run(self, request: Request) -> tuple[str, RunFolder]:
        name = request.path_params["run"]
        return name, await self._readers.run(lambda stop: self._catalogue.run(name))

    async def runs(self, request: Request) -> Response:
        def ask(stop: object) -> list[dict[str, Any]]:
            return [run_entry(name, run) for name, run in self._catalogue.runs().items()]

        return JsonResponse({"runs": await self._readers.run(ask)})

    async def metrics(self, request: Request) -> Response:
        name, run = await self._run(request)
        since = parameters.whole_number(request, "since", 0, 0, MOST_LINES)
        return JsonResponse(await self._lines(name, run, since))

    async def _lines(self, name: str, run: RunFolder, since: int) -> dict[str, Any]:
        return await self._readers.run(lambda stop: metrics_entry(name, run, since))

    async def curves(self, request: Request) -> Response:
        name, run = await self._run(request)
        drawn = await self._readers.run(lambda stop: curves_of_run(run.path, self._data))
        return JsonResponse({"run": name, **asdict(drawn)})

    async def games(self, request: Request) -> Response:
        name, run = await self._run(request)
        given = parameters.whole_number(request, "iteration", -1, -1, 10**9)
        iteration = None if given < 0 else given
        answer = await self._readers.run(lambda stop: games_entry(name, run, iteration))
        return JsonResponse(answer)

    async def diagnosis(self, request: Request) -> Response:
        name, run = await self._run(request)
        return JsonResponse(await while_connected(request, self._diagnoses.of(name, run)))

    async def events(self, request: Request) -> Response:
        name, run = await self._run(request)
        since = parameters.whole_number(request, "since", 0, 0, MOST_LINES)
        if self._streams >= MOST_STREAMS:
            raise too_busy("the stream of events")
        self._streams += 1
        return EventResponse(self._follow(name, run, since), self._end_stream)

    def _end_stream(self) -> None:
        self._streams -= 1

    async def _follow(self, name: str, run: RunFolder, since: int) -> AsyncIterator[str]:
        """Changes of the run, until the server stops; an error ends it."""
        try:
            async for change in self._changes(name, run, since):
                yield change
        except ApiError as error:
            yield event("error", error.to_dict())
        except FadefourError as error:
            yield event("error", explained(error).to_dict())

    async def _changes(self, name: str, run: RunFolder, since: int) -> AsyncIterator[str]:
        """New lines of metrics as they are written, new files of games as they appear."""
        seen: tuple[float | None, list[int]] | None = None
        quiet, following = 0.0, since
        while not self._stopping.is_set():
            now = await self._readers.run(lambda stop: (last_written(run.metrics), _games(run)))
            if seen is None or now[0] != seen[0]:
                entry = await self._lines(name, run, following)
                if entry["lines"] or seen is None:
                    yield event("metrics", entry)
                following, quiet = entry["next"], 0.0
            if seen is None or now[1] != seen[1]:
                yield event("games", {"iterations": now[1]})
                quiet = 0.0
            seen = now
            if quiet >= HEARTBEAT_SECONDS:
                yield HEARTBEAT
                quiet = 0.0
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), POLL_SECONDS)
            quiet += POLL_SECONDS

    @property
    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET", "/api/runs", self.runs, "The runs of the folder", shape(runs=listed(RUN))
            ),
            Endpoint(
                "GET",
                "/api/runs/{run}/metrics",
                self.metrics,
                "The lines of a run's metrics.jsonl",
                METRICS,
                (ID, SINCE),
                errors=(400, 404, 409, 413),
            ),
            Endpoint(
                "GET",
                "/api/runs/{run}/curves",
                self.curves,
                "The curves of 'fadefour plot', as figures",
                shape(run=TEXT, title=TEXT, panels=listed(PANEL)),
                (ID,),
                errors=(404, 409),
            ),
            Endpoint(
                "GET",
                "/api/runs/{run}/events",
                self.events,
                "The same as they are written",
                METRICS,
                (ID, SINCE),
                events="'metrics' with new lines, as /metrics has them; 'games' with the "
                "iterations that have games; 'error', and the end, if the run is damaged",
                only_events=True,
                errors=(400, 404, 413, 429),
            ),
            Endpoint(
                "GET",
                "/api/runs/{run}/diagnosis",
                self.diagnosis,
                "What looks wrong with a run, as 'fadefour diagnose --json' says it",
                ANYTHING,
                (ID,),
                errors=(404, 409, 422, 429),
            ),
            Endpoint(
                "GET",
                "/api/runs/{run}/games",
                self.games,
                "The games of an iteration of self-play",
                GAMES,
                (ID, ITERATION),
                errors=(400, 404, 409, 413),
            ),
        ]


def _games(run: RunFolder) -> list[int]:
    return sorted(run.games())


# ---- schemas ------------------------------------------------------------------------------------

ID = Parameter("run", "the id of a run, from /api/runs", "four", TEXT, "path")
SINCE = Parameter("since", "how many lines are known already", 0, COUNT)
ITERATION = Parameter("iteration", "which iteration; the latest if left out", 3, COUNT)

RUN = shape(
    id=TEXT,
    kind=one_of(SELF_PLAY, "oracle"),
    game=TEXT,
    updated=optional(NUMBER),
    iterations_with_games=listed(COUNT),
)

METRICS = shape(run=TEXT, kind=TEXT, game=TEXT, since=COUNT, next=COUNT, lines=listed(ANYTHING))

FIGURES = listed(optional(NUMBER))

PANEL = shape(
    title=TEXT,
    x_label=TEXT,
    curves=listed(
        shape(
            label=TEXT,
            x=FIGURES,
            y=FIGURES,
            side=optional(one_of(*SIDES)),
            style=one_of("line", "dashed", "dotted", "up", "cross"),
        )
    ),
    low=optional(NUMBER),
    high=optional(NUMBER),
    least_high=NUMBER,
    share=FLAG,
    logarithmic=FLAG,
)

GAMES = shape(
    run=TEXT,
    game=TEXT,
    iteration=COUNT,
    iterations=listed(COUNT),
    count=COUNT,
    games=listed(
        shape(
            number=COUNT,
            opening=COUNT,
            moves=listed(TEXT),
            values=listed(NUMBER),
            winner=optional(one_of(*SIDES)),
        )
    ),
)
