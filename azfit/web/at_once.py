"""The address that is asked most, answered before anything is routed.

A position of drop-oldest in plain spelling, of a table that is at hand, takes no longer than
finding out where its address leads. Everything else goes on to the application, which gives the
same answer to such a position.
"""

from __future__ import annotations

import re
import time

from starlette.types import ASGIApp, Receive, Scope, Send

from azfit.web.answers import json_headers
from azfit.web.errors import ApiError
from azfit.web.position_text import PositionWriter
from azfit.web.tables import Tables
from solver.errors import InputError
from solver.table import DenseTable

LOOK_SECONDS = 1.0
"""Between two looks whether the tables that answer at once were solved again."""

_VARIANT = re.compile(r"/api/drop/([0-9])/([0-9])/([0-9])")


class AtOnce:
    """In front of an application: answers what it can at once."""

    def __init__(self, app: ASGIApp, tables: Tables) -> None:
        self._app, self._tables = app, tables
        self._writers: dict[str, PositionWriter] = {}
        self._looks_again = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET":
            answer = self._answer(scope["path"], scope["query_string"])
            if answer is not None:
                head = {"type": "http.response.start", "status": 200}
                await send({**head, "headers": json_headers(answer)})
                await send({"type": "http.response.body", "body": answer})
                return
        await self._app(scope, receive, send)

    def _answer(self, path: str, query: bytes) -> bytes | None:
        if time.monotonic() >= self._looks_again:
            self._look()
        writer = self._writers.get(path)
        if writer is None:
            variant = _VARIANT.fullmatch(path)
            table = None if variant is None else self._table(*variant.groups())
            if not isinstance(table, DenseTable):
                return None
            writer = self._writers[path] = PositionWriter(table)
        return writer.write(query)

    def _table(self, n: str, m: str, k: str) -> object:
        try:
            return self._tables.at_hand(self._tables.rules(n, m, k))
        except (ApiError, InputError):
            return None

    def _look(self) -> None:
        """Keeps the writers of tables that are still what is on disk."""
        self._looks_again = time.monotonic() + LOOK_SECONDS
        self._writers = {
            path: writer
            for path, writer in self._writers.items()
            if self._tables.at_hand(writer.table.rules) is writer.table
        }
