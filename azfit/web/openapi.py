"""The OpenAPI document, made from the same list as the routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from azfit.web.endpoints import TEXT, Endpoint, Schema, shape

ERROR_WORDS = {
    400: "A value that cannot be used; the error names it and its place",
    403: "A foreign Host or Origin",
    404: "Not here; the remedy names the command that makes it",
    405: "Another method",
    409: "A file on the server is damaged, or cannot be used; the error names it and the remedy",
    413: "Too much at a time",
    415: "Another type than JSON",
    422: "Takes too long",
    429: "A queue is full; try again later",
    503: "The server is stopping, or has no room",
}


def document(endpoints: Sequence[Endpoint], version: str) -> Schema:
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "fadefour",
            "version": version,
            "description": "Exact values of drop-oldest tic-tac-toe and Connect Four positions, "
            "networks and runs. docs/http.md explains it with examples.",
        },
        "paths": paths,
        "components": {"schemas": {"Error": shape(error=TEXT, remedy=TEXT)}},
    }


def _operation(endpoint: Endpoint) -> Schema:
    content: dict[str, Any] = {}
    if not endpoint.only_events:
        content["application/json"] = {"schema": endpoint.answer}
    if endpoint.events:
        content["text/event-stream"] = {
            "schema": {"type": "string", "description": endpoint.events}
        }
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": _name(endpoint),
        "parameters": [parameter.to_dict() for parameter in endpoint.parameters],
        "responses": {
            "200": {"description": "The answer", "content": content},
            **{str(status): _error(status) for status in (*endpoint.errors, 403, 405, 503)},
        },
    }
    if endpoint.body is not None:
        body = {"schema": endpoint.body, "example": endpoint.body_example}
        operation["requestBody"] = {"required": True, "content": {"application/json": body}}
    return operation


def _name(endpoint: Endpoint) -> str:
    words = [part.strip("{}") for part in endpoint.path.split("/") if part]
    return "_".join([endpoint.method.lower(), *words]).replace(".", "_")


def _error(status: int) -> Schema:
    schema = {"$ref": "#/components/schemas/Error"}
    return {
        "description": ERROR_WORDS[status],
        "content": {"application/json": {"schema": schema}},
    }
