"""Requests that no friendly client sends, made at random, and some that one does."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from urllib.parse import quote

METHODS = ["GET"] * 12 + ["POST"] * 5 + ["HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "x" * 50]

HOSTS = ["127.0.0.1:8044"] * 30 + ["localhost", "[::1]", "evil.example", "", "\xff", "a" * 5_000]

NUMBERS = ["0", "1", "3", "4", "9", "-1", "1e9", "", "nan", "٣", "0x10", "9" * 400, "4.5", "null"]

TEXTS = [
    *("", "-", "-/- x", "-/- y", "a1b2/c3 y", "a1b2c3d1/a2a3b4 y", "44433", "h8 g7", "x", "/"),
    *("a1a1/- x", "a1/b2 x\x00", "\x00", "'; DROP TABLE answers; --", "../../etc/passwd", "%00"),
    *("a1" * 1_500, "4" * 3_000, "é", "𝕏", "\u202e", "{}", "[]", "null", "NaN", "a9/b2 x", "%"),
    *("<script>alert(1)</script>", "\r\nSet-Cookie: a=b", "${jndi:ldap://x}", "\ufeff-/- x"),
    *("1" * 42, "{{7*7}}", "//"),
]

PATHS = [
    *("/", "/api/variants", "/api/networks", "/api/runs", "/api/openapi.json", "/api", "/static/x"),
    *("/api/drop/{n}/{n}/{n}", "/api/drop/3/3/3", "/api/drop/4/4/4", "/api/drop/{n}/{n}/{n}/stats"),
    *("/api/drop/3/3/3/probe", "/api/drop/3/3/3/review", "/api/drop/3/3/3/images"),
    *("/api/drop/3/3/3/reply", "/api/drop/{n}/4/4/probe", "/api/drop/4/4/4/{n}"),
    *("/api/connect4", "/api/connect4/images", "/api/connect4/reply", "/api/connect4/review"),
    *("/api/gomoku/9", "/api/gomoku/{n}", "/api/gomoku/9/images"),
    *("/api/networks/{text}/evaluate", "/api/networks/small:best/evaluate"),
    *("/api/networks/four:best/evaluate", "/api/networks/five:best/evaluate"),
    *("/api/networks/{text}/blunders", "/api/runs/{text}/metrics", "/api/runs/small/metrics"),
    *("/api/runs/small/games", "/api/runs/{text}/games", "/api/runs/{text}/diagnosis", "/{text}"),
    *("/api/networks/small:best/blunders", "/api/networks/four:best/blunders"),
    *("/api/runs/small/curves", "/api/runs/learned/curves", "/api/runs/{text}/curves"),
    *("/api/runs/small/diagnosis", "/api/runs/learned/metrics", "/api/drop/3/3/3/stats"),
    *("/api/gomoku/15", "/api/gomoku/9"),
    *("/api/runs/small/events", "/api/runs/{text}/events"),
    *("/static/{text}", "/api/{text}", "/api/drop/{text}/{text}/{text}"),
]

PARAMETERS = ["position", "sims", "game", "since", "iteration", "mistakes", "seed", "x", ""]

KINDS = ["application/json"] * 6 + ["application/json; charset=utf-8", "text/plain", "", "\xff"]

BODIES: list[object] = [
    *({}, [], None, 5, "text", {"positions": []}, {"positions": ["-/- x"] * 50}, {"moves": ["a1"]}),
    *({"positions": {"a": 1}}, {"positions": [None]}, {"moves": ["a1", "b2", "a1"]}, {"moves": 1}),
    *({"start": [], "moves": []}, {"start": "a1/b2 x", "moves": ["c3"]}, {"positions": ["\ud800"]}),
    *({"positions": ["a" * 100]}, {"moves": ["a1"] * 3_000}, {"a": {"b": {"c": [1, 2, 3]}}}),
]


@dataclass(frozen=True)
class Request:
    method: str
    address: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def is_stream(self) -> bool:
        """Of events that do not end by themselves."""
        return "/events" in self.address

    @property
    def written(self) -> bytes:
        """As it goes over a connection."""
        headers = self.headers
        if self.body and not any(name == "content-length" for name, _ in headers):
            headers = [*headers, ("content-length", str(len(self.body)))]
        lines = [f"{self.method} {self.address} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers]
        return "\r\n".join([*lines, "", ""]).encode("latin1", "replace") + self.body


def random_text(draw: random.Random) -> str:
    kind = draw.random()
    if kind < 0.5:
        return draw.choice(TEXTS)
    if kind < 0.7:  # a position of one of the games, or nearly
        cells = [draw.choice("abcde") + draw.choice("123450") for _ in range(draw.randrange(10))]
        cut = draw.randrange(len(cells) + 1)
        queues = "".join(cells[:cut]) or "-", "".join(cells[cut:]) or "-"
        return f"{queues[0]}/{queues[1]} {draw.choice('xyz')}"
    if kind < 0.8:
        return "".join(draw.choice("1234567") for _ in range(draw.randrange(45)))
    if kind < 0.9:
        return " ".join(draw.choice("abcdefghij") + str(draw.randrange(12)) for _ in range(9))
    return "".join(chr(draw.randrange(1, 0x500)) for _ in range(draw.randrange(30)))


def random_address(draw: random.Random) -> str:
    path = draw.choice(PATHS)
    while "{" in path:
        place = "{n}" if "{n}" in path else "{text}"
        value = draw.choice(NUMBERS) if place == "{n}" else random_text(draw)
        safe = "/" if draw.random() < 0.2 else ""
        path = path.replace(place, quote(value, safe=safe), 1)
    pairs = []
    if draw.random() < 0.8:
        pairs.append(("position", random_text(draw)))
    for _ in range(draw.choice([0, 0, 1, 1, 2, 5])):
        value = draw.choice([draw.choice(NUMBERS), random_text(draw)])
        pairs.append((draw.choice(PARAMETERS), value))
    if "evaluate" in path:  # a search of 10,000 simulations is allowed, but not a thousand times
        pairs = [(name, value[:2] if name == "sims" else value) for name, value in pairs]
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs)
    if draw.random() < 0.05:
        query += draw.choice(["&", "%", "&&&=", "&a", "&" + "b=1&" * 200, "=%ff%fe", ";x=1"])
    return path + ("?" + query if query else "")


def random_body(draw: random.Random) -> bytes:
    kind = draw.random()
    if kind < 0.6:
        return json.dumps(draw.choice(BODIES)).encode()
    if kind < 0.7:
        positions = [random_text(draw) for _ in range(draw.randrange(40))]
        return json.dumps({"positions": positions, "moves": positions}).encode()
    if kind < 0.8:
        return bytes(draw.randrange(256) for _ in range(draw.randrange(200)))
    return draw.choice([b"", b"{", b"[" * 5_000, b'{"positions":' * 900, b'{"a":1e999}', b"\x00"])


def random_request(draw: random.Random) -> Request:
    headers = [("host", draw.choice(HOSTS))]
    if draw.random() < 0.1:
        origins = ["null", "http://evil.example", "http://127.0.0.1:8044", "", "x" * 1_000]
        headers.append(("origin", draw.choice(origins)))
    if draw.random() < 0.2:
        accepts = ["text/event-stream", "*/*", "application/json", "\xfe"]
        headers.append(("accept", draw.choice(accepts)))
    if draw.random() < 0.05:
        headers.append((draw.choice(["host", "content-length", "cookie", "range"]), "1"))
    method = draw.choice(METHODS)
    body = random_body(draw) if method not in ("GET", "HEAD") else b""
    if body:
        headers.append(("content-type", draw.choice(KINDS)))
    return Request(method, random_address(draw), headers, body)
