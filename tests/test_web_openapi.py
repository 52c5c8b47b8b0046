"""The OpenAPI document is valid, lists every route, and its schemas are those of the answers."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from starlette.routing import Route
from web_server import InProcess, target

SAMPLES = {
    "network": ["shipped", "small:best", "four:best"],
    "run": ["small", "learned"],
    "size": ["9"],
}


@pytest.fixture(scope="module")
def document(web: InProcess) -> dict[str, Any]:
    return dict(web.get("/api/openapi.json").json)


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    validate(document)  # type: ignore[arg-type]
    assert document["openapi"] == "3.1.0" and document["info"]["version"]


def test_it_lists_every_route_of_the_api_and_no_other(
    web: InProcess, document: dict[str, Any]
) -> None:
    routes = {
        (route.path, method)
        for route in web.service.routes
        if isinstance(route, Route) and route.path.startswith("/api")
        for method in route.methods or ()
        if method != "HEAD"
    }
    listed = {
        (path, method.upper()) for path, entry in document["paths"].items() for method in entry
    }
    assert listed == routes and len(routes) > 20


def test_every_part_of_an_address_is_a_parameter(document: dict[str, Any]) -> None:
    for path, entry in document["paths"].items():
        parts = {part[1:-1] for part in path.split("/") if part.startswith("{")}
        for operation in entry.values():
            given = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
            assert given == parts, path
    names = [op["operationId"] for entry in document["paths"].values() for op in entry.values()]
    assert len(set(names)) == len(names)


def examples(path: str, operation: dict[str, Any]) -> list[str]:
    """Addresses made of the document's own examples, with some other networks and runs."""
    filled = [path]
    query = {}
    for parameter in operation["parameters"]:
        name, example = parameter["name"], parameter["example"]
        if parameter["in"] == "path":
            values = SAMPLES.get(name, [example])
            filled = [address.replace(f"{{{name}}}", str(v)) for address in filled for v in values]
        elif path.startswith("/api/connect4"):
            query["position"] = "444432311165"  # which is solved at once
        else:
            query[name] = example
    return [target(address, **query) for address in filled]


def test_answers_to_its_examples_fit_its_schemas(web: InProcess, document: dict[str, Any]) -> None:
    """Every address with its example; what is refused fits the schema of errors. The review of a
    Connect Four game begins at the empty board, which takes a minute: here of a game of one ply,
    whose values are known."""
    error = Draft202012Validator(document["components"]["schemas"]["Error"])
    answered = set()
    for path, entry in document["paths"].items():
        for method, operation in entry.items():
            content = operation["responses"]["200"]["content"]
            if "application/json" not in content or path == "/api/runs/{run}/diagnosis":
                continue
            validator = Draft202012Validator(content["application/json"]["schema"])
            for address in examples(path, operation):
                if method == "post":
                    body = operation["requestBody"]["content"]["application/json"]
                    Draft202012Validator(body["schema"]).validate(body["example"])
                    answer = web.post(address, body["example"])
                else:
                    answer = web.run(web.ask("GET", address))
                if answer.status == 200:
                    validator.validate(answer.json)
                    answered.add((path, method))
                else:
                    error.validate(answer.json)
                    assert str(answer.status) in operation["responses"], (address, answer)
    unanswered = {
        (path, method)
        for path, entry in document["paths"].items()
        for method in entry
        if (path, method) not in answered
    }
    assert unanswered == {
        ("/api/runs/{run}/events", "get"),
        ("/api/runs/{run}/diagnosis", "get"),
        ("/api/runs/{run}/games", "get"),
    }


def test_every_address_lists_the_errors_that_it_may_give(document: dict[str, Any]) -> None:
    for path, entry in document["paths"].items():
        for operation in entry.values():
            places = {parameter["in"] for parameter in operation["parameters"]}
            errors = set(operation["responses"])
            assert {"403", "405", "503"} <= errors, path
            if "query" in places:
                assert {"400", "413"} <= errors, "a text may be wrong or too long"
            if "path" in places and not path.endswith("/images") and "gomoku" not in path:
                assert "404" in errors, path
            if "requestBody" in operation:
                assert {"400", "413", "415"} <= errors, path
