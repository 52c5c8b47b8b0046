"""Answers in JSON, and streams of events."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from solver.errors import CorruptTableError

_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False
).encode


def json_text(body: Any) -> str:
    """Numbers that are not finite, which a run that diverged may have written, are null."""
    try:
        text = _encode(body)
    except ValueError:
        text = _encode(_finite(body))
    except RecursionError:
        raise CorruptTableError("the answer would be nested too deeply: look at the file") from None
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _finite(body: Any) -> Any:
    if isinstance(body, float) and not math.isfinite(body):
        return None
    if isinstance(body, dict):
        return {name: _finite(value) for name, value in body.items()}
    if isinstance(body, list | tuple):
        return [_finite(value) for value in body]
    return body


def json_headers(body: bytes) -> list[tuple[bytes, bytes]]:
    """JSON is never kept by a browser: a table may be solved, a run may go on."""
    return [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]


class JsonResponse(Response):
    def __init__(
        self, body: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        self.body, self.status_code, self.background = json_text(body).encode(), status, None
        self.raw_headers = json_headers(self.body)
        for name, value in (headers or {}).items():
            self.raw_headers.append((name.lower().encode("latin1"), value.encode("latin1")))


class EventResponse(StreamingResponse):
    """Server-sent events, until there are no more or the client goes away."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[str], ended: Callable[[], object]) -> None:
        """ended: called in any case, even if the client goes away before the first event."""
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()


def event(name: str, body: Any) -> str:
    """One event, as ``EventSource`` reads it."""
    return f"event: {name}\ndata: {json_text(body)}\n\n"


HEARTBEAT = ": still here\n\n"
"""A comment, which clients ignore: a write that fails is how a closed connection is noticed."""
