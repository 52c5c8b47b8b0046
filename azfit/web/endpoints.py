"""An address of the API: its handler, and what the OpenAPI document says of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

Handler = Callable[[Request], Awaitable[Response]]
Schema = dict[str, Any]


# ---- schemas ------------------------------------------------------------------------------------


def shape(**fields: Schema) -> Schema:
    """An object that has exactly these fields."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def listed(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def optional(schema: Schema) -> Schema:
    """The schema, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
FLAG: Schema = {"type": "boolean"}
ANYTHING: Schema = {"type": "object"}

RESULT = one_of("win", "draw", "loss")
RESULT_OR_OVER = one_of("win", "draw", "loss", "over")


# ---- addresses ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A part of the address, or a parameter behind the question mark."""

    name: str
    words: str
    example: str | int | float
    schema: Schema
    place: str = "query"
    required: bool = False

    def to_dict(self) -> Schema:
        return {
            "name": self.name,
            "in": self.place,
            "required": self.required or self.place == "path",
            "description": self.words,
            "schema": self.schema,
            "example": self.example,
        }


@dataclass(frozen=True)
class Endpoint:
    """An address and a method."""

    method: str
    path: str
    handler: Handler | ASGIApp
    summary: str
    answer: Schema
    parameters: tuple[Parameter, ...] = ()
    body: Schema | None = None
    body_example: Schema | None = None
    events: str = ""
    """What a stream of events has, for an address that can give one."""
    only_events: bool = False
    errors: tuple[int, ...] = ()

    @property
    def route(self) -> Route:
        return Route(self.path, self.handler, methods=[self.method])
