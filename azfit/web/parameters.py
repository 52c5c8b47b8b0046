"""What a request says: query parameters and JSON bodies, within limits."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from azfit.web.errors import ApiError
from solver.wording import quoted

LONGEST_TEXT = 2_000
"""Characters of a query parameter: a full Gomoku board takes about 1,400."""

MOST_BODY_BYTES = 1 << 20
"""10,000 positions take less than half of it."""


def text(request: Request, name: str, default: str | None = None) -> str:
    """A query parameter, which must be given once if it has no default."""
    values = [value for key, value in _query(request) if key == name]
    if len(values) > 1:
        raise ApiError(400, f"'{name}' is given {len(values)} times", "give it once")
    value = values[0] if values else default
    if value is None:
        raise ApiError(400, f"'{name}' is missing", f"add '?{name}=...' to the address")
    if len(value) > LONGEST_TEXT:
        what = f"'{name}' has {len(value):,} characters"
        raise ApiError(413, what, f"use at most {LONGEST_TEXT:,}")
    return value


def _query(request: Request) -> list[tuple[str, str]]:
    """Names and values behind the question mark."""
    query: bytes = request.scope["query_string"]
    try:
        return parse_qsl(query.decode("latin1"), keep_blank_values=True, max_num_fields=100)
    except ValueError:
        raise ApiError(413, "more than 100 parameters", "leave out what is not known") from None


def whole_number(request: Request, name: str, default: int, least: int, most: int) -> int:
    given = text(request, name, str(default))
    if re.fullmatch(r"-?[0-9]{1,19}", given) and least <= int(given) <= most:
        return int(given)
    what = f"{name}={quoted(given)} is out of range"
    raise ApiError(400, what, f"use a whole number from {least:,} to {most:,}")


def share(request: Request, name: str, default: str = "0") -> float:
    """A number from 0 to 1."""
    given = text(request, name, default)
    if re.fullmatch(r"[0-9]{0,3}\.?[0-9]{1,12}", given) and 0 <= float(given) <= 1:
        return float(given)
    raise ApiError(400, f"{name}={quoted(given)} is not a share", "use a number from 0 to 1")


def wants_events(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


async def json_body(request: Request) -> dict[str, Any]:
    """The JSON object of a body of type application/json."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        what = f"the body is of type {quoted(kind)}"
        raise ApiError(415, what, "send JSON, with 'Content-Type: application/json'")
    data = bytearray()
    try:
        async for part in request.stream():
            data += part
            if len(data) > MOST_BODY_BYTES:
                what = f"the body has more than {MOST_BODY_BYTES:,} bytes"
                raise ApiError(413, what, "send less at a time")
    except ClientDisconnect:
        raise ApiError(400, "the body ended early", "send it whole") from None
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        what = f"the body is not JSON ({reason[:200]})"
        raise ApiError(400, what, "send a JSON object") from None
    if not isinstance(body, dict):
        raise ApiError(400, "the body is not a JSON object", "send an object, as in {...}")
    return body


def texts(body: dict[str, Any], name: str, most: int, longest: int = LONGEST_TEXT) -> list[str]:
    """An entry of a body that is a list of texts."""
    entries = body.get(name)
    if not isinstance(entries, list):
        raise ApiError(400, f"'{name}' is not a list", f'send {{"{name}": [...]}}')
    if len(entries) > most:
        raise ApiError(413, f"'{name}' has {len(entries):,} entries", f"send at most {most:,}")
    for place, entry in enumerate(entries):
        if not isinstance(entry, str) or len(entry) > longest:
            raise ApiError(400, f"{name}[{place}] is not a short text", "send texts only")
    return entries
