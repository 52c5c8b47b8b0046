"""Probes per second through ``fadefour serve``, compared with a bare endpoint of the same stack.

``python bench/http_speed.py [--data DIR] [--clients 50] [--seconds 0.5] [--rounds 20]``.

Two servers on loopback, the product's and one that answers {"ok": true}, take turns under the same
load: clients that send the next request when the last one is answered. The bare rate is what the
stack allows. On a machine that does other work both rates vary; the median of the ratios of
neighbouring rounds, and the processor time of a request, vary less. First of all, how long the
product takes from its start to its first answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from urllib.parse import quote

import numpy as np
import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from solver import Rules
from solver.playout import random_play

ROOT = Path(__file__).resolve().parent.parent

HOST = "127.0.0.1"


def serve_bare() -> None:
    """A server with one route, configured as the product's."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    from azfit.web.server import bound_socket, configured

    async def bare(request: Request) -> JSONResponse:
        return JSONResponse({"ok": True})

    listening = bound_socket(HOST, 0)
    print(f"at http://{HOST}:{listening.getsockname()[1]}/", file=sys.stderr, flush=True)
    app = Starlette(routes=[Route("/bare", bare)])
    uvicorn.Server(configured(app)).run(sockets=[listening])


class ServerProcess:
    """A server in a process of its own, on a free port."""

    def __init__(self, *command: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *command], stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        self.port = int(line.rpartition(f"{HOST}:")[2].partition("/")[0])

    @property
    def cpu_seconds(self) -> float:
        """Processor time so far; 0 where the system does not say."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return 0.0
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


@dataclass
class Load:
    """What clients measured."""

    rates: list[float] = field(default_factory=list)
    """Requests per second, by round."""
    seconds: list[float] = field(default_factory=list)
    """Of every request."""
    cpu_seconds: float = 0.0
    """Of the server, in all rounds."""

    @property
    def cpu_of_one(self) -> float:
        return self.cpu_seconds / len(self.seconds)

    def __str__(self) -> str:
        p50, p99 = (1000 * np.quantile(self.seconds, share) for share in (0.5, 0.99))
        return (
            f"{np.median(self.rates):8,.0f} /s (best {max(self.rates):8,.0f})   "
            f"p50 {p50:7.2f} ms   p99 {p99:7.2f} ms   {1e6 * self.cpu_of_one:9,.0f} µs of CPU"
        )


class Client(asyncio.Protocol):
    """Asks one request after another on one connection. It must not be what is measured, so it
    looks at no more of an answer than its status and length."""

    def __init__(self, requests: list[bytes], ends: float, load: Load) -> None:
        self._requests, self._ends, self._load = requests, ends, load
        self.done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._answered, self._missing, self._began = 0, 0, 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed the connection"))

    def _ask(self) -> None:
        self._began = time.perf_counter()
        if self._began >= self._ends:
            self._transport.close()
            self.done.set_result(self._answered)
            return
        self._transport.write(self._requests[self._answered % len(self._requests)])

    def data_received(self, data: bytes) -> None:
        if not self._missing:
            assert data.startswith(b"HTTP/1.1 200"), data
            length = data.index(b"content-length: ") + len(b"content-length: ")
            body = data.index(b"\r\n\r\n") + 4
            self._missing = int(data[length : data.index(b"\r\n", length)]) + body
        self._missing -= len(data)
        if not self._missing:
            self._load.seconds.append(time.perf_counter() - self._began)
            self._answered += 1
            self._ask()


def start_seconds(data: str) -> tuple[float, float]:
    """From the command to the first answer: by the clock, and of processor time."""
    began = time.perf_counter()
    server = ServerProcess("cli.py", "serve", "--port", "0", "--data", data)
    try:
        with socket.create_connection((HOST, server.port)) as client:
            client.sendall(get("/api/variants"))
            assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")
        return time.perf_counter() - began, server.cpu_seconds
    finally:
        server.stop()


async def put_load(
    server: ServerProcess, requests: list[bytes], clients: int, seconds: float, load: Load
) -> None:
    loop, began, cpu = asyncio.get_running_loop(), time.perf_counter(), server.cpu_seconds
    shares = [requests[i::clients] for i in range(clients)]
    made = [Client(share, began + seconds, load) for share in shares]
    for each in made:
        await loop.create_connection(lambda each=each: each, HOST, server.port)  # type: ignore[misc]
    answered = await asyncio.gather(*(each.done for each in made))
    load.rates.append(sum(answered) / (time.perf_counter() - began))
    load.cpu_seconds += server.cpu_seconds - cpu


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()


def post(path: str, body: object) -> bytes:
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="data")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        serve_bare()
        return
    starts = [start_seconds(options.data) for _ in range(options.starts)]
    if starts:
        clock, cpu = np.median(starts, axis=0)
        print(f"first answer {clock:.2f} s after the start ({cpu:.2f} s of CPU)", end=", ")
        print(f"median of {len(starts)}")
    rules = Rules()
    sample = random_play(rules, 10_000, np.random.default_rng(1))
    texts = [str(sample.at(row)) for row in range(len(sample))]
    address = f"/api/drop/{rules.n}/{rules.m}/{rules.k}"
    product = ServerProcess("cli.py", "serve", "--port", "0", "--data", options.data)
    bare = ServerProcess(__file__, "--bare")
    kinds = {
        "bare endpoint": (bare, [get("/bare")] * options.clients),
        "a position": (
            product,
            [get(f"{address}?position={quote(text, safe='/')}") for text in texts],
        ),
        "10,000 positions": (product, [post(f"{address}/probe", {"positions": texts})]),
    }
    loads = {name: Load() for name in kinds}
    try:
        uvloop.run(put_load(*kinds["a position"], 1, 1.0, Load()))  # opens and reads the table
        for _ in range(options.rounds):
            for name, (server, requests) in kinds.items():
                clients = min(options.clients, len(requests))
                uvloop.run(put_load(server, requests, clients, options.seconds, loads[name]))
    finally:
        product.stop()
        bare.stop()
    print(f"{options.clients} clients (10,000 positions: 1), median of {options.rounds} rounds")
    for name, load in loads.items():
        print(f"{name:<17} {load}")
    bare_load, load, batches = loads.values()
    pairs = zip(load.rates, bare_load.rates, strict=True)
    share = float(np.median([rate / bare_rate for rate, bare_rate in pairs]))
    print(f"a position: {share:.2f} of the bare rate", end="")
    if load.cpu_seconds:
        print(f", {load.cpu_of_one / bare_load.cpu_of_one:.2f} times its CPU", end="")
    print(f"; in batches {10_000 * np.median(batches.rates):,.0f} positions/s")


if __name__ == "__main__":
    main()
