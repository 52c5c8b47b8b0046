"""Errors as a client sees them: a status and JSON, ``{"error": ..., "remedy": ...}``."""

from __future__ import annotations

import http
import logging

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from azfit.web.answers import JsonResponse
from solver.errors import FadefourError, InputError, MissingTableError, NoRoomError

log = logging.getLogger("fadefour.serve")


class ApiError(Exception):
    """What a client did wrong, or why there is no answer."""

    def __init__(
        self, status: int, error: str, remedy: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(error)
        self.status, self.error, self.remedy, self.headers = status, error, remedy, headers

    def to_dict(self) -> dict[str, str]:
        return {"error": self.error, "remedy": self.remedy}

    @property
    def response(self) -> Response:
        return JsonResponse(self.to_dict(), self.status, self.headers)


def too_busy(what: str) -> ApiError:
    """429: a bounded queue is full."""
    return ApiError(429, f"{what} is busy", "try again in a few seconds", {"Retry-After": "5"})


def stopping() -> ApiError:
    """503: the server ends before the answer is known."""
    return ApiError(503, "the server is stopping", "ask it later")


def explained(error: FadefourError, remedy: str = "see docs/http.md") -> ApiError:
    """An error of the product: its message names what was wrong and, after a colon, the remedy."""
    if isinstance(error, MissingTableError):
        status = 404
    elif isinstance(error, InputError):
        status = 400
    else:
        status = 503 if isinstance(error, NoRoomError) else 409
    what, colon, advice = " ".join(str(error).split()).rpartition(": ")
    return ApiError(status, what, advice) if colon else ApiError(status, advice, remedy)


# ---- handlers -----------------------------------------------------------------------------------


async def on_api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error.response


async def on_fadefour_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, FadefourError)
    return explained(error).response


async def on_http_error(request: Request, error: Exception) -> Response:
    """What the router refuses: no such address, or another method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "GET")
        what = f"{request.method[:20]} is not a method of this address"
        return ApiError(405, what, f"use {allowed}", dict(error.headers or {})).response
    if error.status_code == 404:
        return ApiError(404, "there is nothing at this address", "see /api/openapi.json").response
    what = http.HTTPStatus(error.status_code).phrase
    return ApiError(error.status_code, what, "see /api/openapi.json").response


async def on_failure(request: Request, error: Exception) -> Response:
    """A bug of our own: the traceback goes to the log, the client learns that it was not to
    blame."""
    log.error("failed to answer %s %s", request.method, request.url.path, exc_info=error)
    remedy = "please report it, with what the server printed"
    return ApiError(500, "the server failed to answer this request", remedy).response


HANDLERS = {
    ApiError: on_api_error,
    FadefourError: on_fadefour_error,
    HTTPException: on_http_error,
    Exception: on_failure,
}
