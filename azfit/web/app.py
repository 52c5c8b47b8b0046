"""The application: all routes behind the guard, and what they share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

import solver
from azfit.web.answers import JsonResponse
from azfit.web.at_once import AtOnce
from azfit.web.catalogue import Catalogue
from azfit.web.connect4 import Connect4Routes
from azfit.web.diagnoses import Diagnoses
from azfit.web.drop_oldest import DropOldestRoutes
from azfit.web.endpoints import ANYTHING, Endpoint
from azfit.web.errors import HANDLERS
from azfit.web.gomoku import GomokuRoutes
from azfit.web.guard import Guard
from azfit.web.networks import NetworkRoutes, Networks
from azfit.web.openapi import document
from azfit.web.pages import Pages
from azfit.web.runs import RunRoutes
from azfit.web.solving import Solving
from azfit.web.tables import Tables
from azfit.web.work import Workers

# Threads that read tables and files, and how many requests may wait for one.
READERS, WAITING_READERS = 4, 1_000


@dataclass(frozen=True)
class Options:
    """The options of the command."""

    data: Path = Path("data")
    runs: Path = Path("runs")
    host: str = "127.0.0.1"


class Service:
    """Everything that is open while the server runs."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.tables = Tables(options.data)
        self.readers = Workers("reading", READERS, WAITING_READERS)
        self._pages = Pages()
        self._drop_oldest = DropOldestRoutes(self.tables, self.readers)
        self.solving, self.stopping = Solving(options.data), asyncio.Event()
        catalogue = Catalogue(options.runs)
        self.networks = Networks()
        self.network_routes = NetworkRoutes(self.networks, catalogue, self.tables, self.readers)
        self._diagnoses = Diagnoses(options.data)
        self._gomoku = GomokuRoutes(self.readers)
        runs = RunRoutes(catalogue, options.data, self._diagnoses, self.readers, self.stopping)
        self.endpoints = [
            *self._drop_oldest.endpoints,
            *Connect4Routes(self.solving).endpoints,
            *self._gomoku.endpoints,
            *self.network_routes.endpoints,
            *runs.endpoints,
        ]
        about = Endpoint("GET", "/api/openapi.json", self._openapi, "This document", ANYTHING)
        self.endpoints.append(about)
        self._document = document(self.endpoints, solver.__version__)

    async def _openapi(self, request: Request) -> Response:
        return JsonResponse(self._document)

    @property
    def routes(self) -> list[Route]:
        return [*(endpoint.route for endpoint in self.endpoints), *self._pages.routes]

    @property
    def workers(self) -> list[Workers]:
        """Everything that works for a client."""
        return [
            self.readers,
            self.solving.workers,
            self._gomoku.workers,
            self.network_routes.workers,
            self.network_routes.graders,
            self._drop_oldest.counters,
        ]

    def stop(self) -> None:
        """Ends what is under way, so that the server can end: streams and long work."""
        self.stopping.set()
        for workers in self.workers:
            workers.stop()
        self._diagnoses.stop()

    def close(self) -> None:
        self.stop()
        self.solving.close()
        self.tables.close()


def application(service: Service) -> ASGIApp:
    """What asks is looked at first; then the few questions that are answered at once are, and all
    others find their way by their address."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    by_address = Starlette(routes=service.routes, exception_handlers=HANDLERS, lifespan=lifespan)
    return Guard(AtOnce(by_address, service.tables), service.options.host)
