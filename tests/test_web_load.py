"""The server under load and attack: no 5xx, no growth of memory, no search that stays."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import json
import random
import socket
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from hostile_requests import Request, random_request
from slow import ASKED_FOR, more
from web_server import InProcess, ServerProcess

from azfit.web import protocol
from azfit.web.answers import JsonResponse
from azfit.web.server import bound_socket, configured
from azfit.web.solving import Solving

REQUESTS = 100_000 if ASKED_FOR else 1_600

# A leak grows in every round. What grows once does not count (a cache; the arena of malloc of each
# of five threads, at its own time): the lower quartile of the rounds is what is judged.
ROUNDS = 9
MOST_BYTES_PER_REQUEST = 100

POSITION = "/api/drop/4/4/4?position=a1b2c3d1/a2a3b4%20y"


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def growth(one_round: Callable[[], None], resident: Callable[[], int]) -> float:
    """Bytes that a round of requests leaves behind, the lower quartile of several rounds."""
    sizes = [resident()]
    for _ in range(ROUNDS):
        one_round()
        sizes.append(resident())
    grown = [after - before for before, after in itertools.pairwise(sizes)]
    return statistics.quantiles(grown, n=4)[0]


def with_a_quick_solver(data: Path, runs: Path) -> InProcess:
    """Hostile clients like the empty board: here it is given up after a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("azfit.web.app.Solving", lambda folder: Solving(folder, 1, 4, seconds=0.02))
        return InProcess(data, runs)


# ---- random and hostile requests ----------------------------------------------------------------


def check_answer(request: Request, answer: Any) -> None:
    assert answer.status < 500, (request, answer)
    assert answer.headers["x-content-type-options"] == "nosniff"
    if answer.status >= 400:
        assert set(answer.json) == {"error", "remedy"}, (request, answer)
    elif answer.headers.get("content-type") == "application/json":
        json.loads(answer.body)


@more
@pytest.mark.timeout(3_600)
def test_random_and_hostile_requests(web_data: Path, web_runs: Path) -> None:
    """1,600 in the ordinary suite, 100,000 with FADEFOUR_SLOW_TESTS=1."""
    draw, statuses = random.Random(1), Counter[int]()
    with with_a_quick_solver(web_data, web_runs) as web:

        async def ask(count: int) -> None:
            for _ in range(count // 20):
                requests = [random_request(draw) for _ in range(20)]
                asked = [
                    web.ask(r.method, r.address, r.headers, r.body, 0.05 if r.is_stream else None)
                    for r in requests
                ]
                for request, answer in zip(requests, await asyncio.gather(*asked), strict=True):
                    check_answer(request, answer)
                    statuses[answer.status] += 1

        def one_round() -> None:
            web.run(ask(REQUESTS // (ROUNDS + 1)))
            gc.collect()

        one_round()  # networks are loaded, caches filled
        grown = growth(one_round, resident_bytes)
        assert [workers.busy for workers in web.service.workers] == [0] * 6
        assert web.get("/api/connect4", position="1212121").status == 200, "it is free"
    assert sum(statuses.values()) == REQUESTS
    assert {200, 400, 403, 404, 405, 413, 415} <= set(statuses), statuses
    assert statuses[200] > REQUESTS / 20
    assert grown < MOST_BYTES_PER_REQUEST * REQUESTS / (ROUNDS + 1), f"{grown:,} bytes per round"


async def status_over(port: int, request: Request, waits: float = 3.0) -> int | None:
    """The status of a request over a connection of its own; None if it was closed without one, or
    took longer than this client waits."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(waits):
            writer.write(request.written)
            head = await reader.readuntil(b"\r\n\r\n")
            status = int(head.split()[1])
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            if request.method != "HEAD" and length:
                body = await reader.readexactly(int(length))
                assert status < 400 or b'"remedy"' in body or b"Invalid HTTP" in body, (head, body)
            return status
    except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
        return None
    finally:
        writer.close()


@more
@pytest.mark.timeout(3_600)
def test_random_and_hostile_requests_over_connections(web_data: Path, web_runs: Path) -> None:
    """A part of them, over real connections: clients that wait for a moment and then leave."""
    draw, statuses = random.Random(3), Counter[int | None]()
    with ServerProcess(web_data, web_runs) as server:

        async def ask(count: int) -> None:
            for _ in range(count // 50):
                requests = [random_request(draw) for _ in range(50)]
                asked = [status_over(server.port, request) for request in requests]
                for request, status in zip(requests, await asyncio.gather(*asked), strict=True):
                    assert status is None or status < 500, request
                    statuses[status] += 1

        asyncio.run(ask(REQUESTS // 10))
        assert is_idle(server, 60), "nothing is searched for clients that have gone"
        late = get("/api/connect4?position=444432311165")
        assert asyncio.run(ask_over(server.port, [late])) == Counter({200: 1})
        code, printed = server.interrupt()
        assert code == 0 and "Traceback" not in printed, printed
    assert {200, 400, 403, 404, 405} <= set(statuses), statuses


RAW = [
    b"",
    b"\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"GET \xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /%00%ff%c0%80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    b"POST /api/drop/4/4/4/probe HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999\r\n\r\n",
    b"POST /api/drop/4/4/4/probe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n",
    b"POST /api/drop/4/4/4/probe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 50\r\n\r\n{",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 5_000 + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40,  # one after another, unasked
    b"GET / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\r\n",
]


def answer_to(server: ServerProcess, data: bytes, wait: float = 2.0) -> bytes:
    """What the server says to these bytes, until it closes or says nothing for a moment."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as client:
        received = b""
        try:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            while chunk := client.recv(65536):
                received += chunk
        except (TimeoutError, ConnectionError):
            pass
        return received


def test_bytes_that_are_no_request(solved33: Path) -> None:
    """Over a real connection: answered with 4xx or closed, and the server goes on."""
    draw = random.Random(2)
    with ServerProcess(solved33) as server:
        valid = b"GET /api/variants HTTP/1.1\r\nHost: localhost\r\n\r\n"
        noise = [bytes(draw.randrange(256) for _ in range(draw.randrange(300))) for _ in range(100)]
        bent = []
        for _ in range(200):
            data = bytearray(valid)
            for _ in range(draw.randrange(1, 4)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            bent.append(bytes(data))
        for data in [*RAW, *noise, *bent]:
            received = answer_to(server, data, wait=0.5)
            assert b"HTTP/1.1 5" not in received, (data, received)
        assert asyncio.run(ask_over(server.port, [valid])) == Counter({200: 1})
        code, printed = server.interrupt()
        assert code == 0 and "Traceback" not in printed, printed


def test_a_flood_of_headers_is_cut_off(solved33: Path) -> None:
    """A request that never ends its headers is not kept in memory for ever."""
    with ServerProcess(solved33) as server:
        answer_to(server, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        before = server.resident_bytes
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
            sent = 0
            try:
                while sent < 64 << 20:
                    client.sendall(b"x-filler: " + b"y" * 65_000 + b"\r\n")
                    sent += 65_000
            except (ConnectionError, TimeoutError):
                pass
        assert sent < 8 << 20, "it is refused early"
        assert server.resident_bytes - before < 8 << 20


# ---- clients that take their time, and too many of them ------------------------------------------


@contextlib.contextmanager
def served_here(
    monkeypatch: pytest.MonkeyPatch, seconds: float = 20.0, connections: int = 512
) -> Iterator[int]:
    """A server in a thread of this process, with these limits; its port. It answers any request
    after it has read it, and a second later if it is for /slow."""
    monkeypatch.setattr(protocol, "REQUEST_SECONDS", seconds)
    monkeypatch.setattr(protocol, "MOST_CONNECTIONS", connections)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        while (message := await receive()).get("more_body"):
            pass
        if message["type"] != "http.disconnect":
            await asyncio.sleep(scope["path"] == "/slow")
            await JsonResponse({"ok": True})(scope, receive, send)

    listening = bound_socket("127.0.0.1", 0)
    server = uvicorn.Server(configured(app))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def status_and_rest(client: socket.socket) -> tuple[int | None, bytes]:
    """What comes until the server closes the connection."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while chunk := client.recv(65536):
            received += chunk
    return (int(received.split()[1]) if received else None), received


HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", 408),
        (b"\r\n", 408),
        (b"GET / HTTP/1.1\r\nHost: loc", 408),
        (HEAD + b"some", None),  # an answer may be under way, so there is none but the end
    ],
    ids=["nothing", "blank lines", "half a head", "half a body"],
)
def test_a_request_that_never_ends_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, sent: bytes, status: int | None
) -> None:
    """However slowly it goes on: the time runs from its beginning."""
    with (
        served_here(monkeypatch, seconds=0.5) as port,
        socket.create_connection(("127.0.0.1", port), timeout=30) as client,
    ):
        stopped = threading.Event()

        def trickle() -> None:
            with contextlib.suppress(OSError):
                client.sendall(sent)
                while sent and not stopped.wait(0.2):
                    client.sendall(b"\r\n" if sent == b"\r\n" else b"")

        thread = threading.Thread(target=trickle)
        thread.start()
        assert status_and_rest(client)[0] == status
        stopped.set()
        thread.join()


def test_what_takes_the_server_long_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a connection that is used again within the time that the server keeps it."""
    with (
        served_here(monkeypatch, seconds=0.5) as port,
        socket.create_connection(("127.0.0.1", port), timeout=30) as client,
    ):
        for _ in range(3):
            client.sendall(get("/slow"))
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
        client.sendall(HEAD)
        time.sleep(0.1)
        client.sendall(b"all of it")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")


def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with served_here(monkeypatch, connections=5) as port, contextlib.ExitStack() as stack:

        def connected() -> socket.socket:
            address = ("127.0.0.1", port)
            return stack.enter_context(socket.create_connection(address, timeout=30))

        clients = [connected() for _ in range(5)]
        for client in clients:
            client.sendall(get("/"))
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
        status, received = status_and_rest(connected())
        assert status == 429 and b"retry-after: 5" in received
        assert set(json.loads(received.partition(b"\r\n\r\n")[2])) == {"error", "remedy"}
        clients[0].sendall(get("/").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert status_and_rest(clients[0])[0] == 200
        another = connected()
        another.sendall(get("/"))
        assert another.recv(65536).startswith(b"HTTP/1.1 200"), "there is room again"


# ---- many at once -------------------------------------------------------------------------------


async def ask_over(port: int, requests: list[bytes]) -> Counter[int]:
    """The statuses of these requests, one after another on one connection."""
    statuses = Counter[int]()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in requests:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        statuses[int(head.split()[1])] += 1
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
    writer.close()
    return statuses


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


@more
def test_200_connections_at_once(web_server: ServerProcess) -> None:
    """With a request each in a round, 12 with FADEFOUR_SLOW_TESTS=1."""
    each = 12 if ASKED_FOR else 1
    paths = [POSITION, "/api/variants", "/", "/api/runs", "/api/gomoku/9?position=e5", "/nothing"]

    async def many() -> list[Counter[int]]:
        clients = []
        for number in range(200):
            mixed = [get(paths[(number + i) % len(paths)]) for i in range(each)]
            clients.append(ask_over(web_server.port, mixed))
        return await asyncio.gather(*clients)

    def one_round() -> None:
        missing = sum((number + i) % 6 == 5 for number in range(200) for i in range(each))
        found = 200 * each - missing
        assert sum(asyncio.run(many()), Counter()) == Counter({200: found, 404: missing})

    one_round()
    grown = growth(one_round, lambda: web_server.resident_bytes)
    assert grown < MOST_BYTES_PER_REQUEST * 200 * each, f"{grown:,} bytes per round"


def test_200_clients_of_the_solver_share_it_or_are_sent_away(solved33: Path) -> None:
    """The queue is short: the others get 429 at once, and those in it their answers."""
    with ServerProcess(solved33) as server:

        async def many() -> Counter[int]:
            asked = [get("/api/connect4?position=4444323111")] * 200
            answers = await asyncio.gather(*(ask_over(server.port, [one]) for one in asked))
            return sum(answers, Counter())

        statuses = asyncio.run(many())
        assert set(statuses) == {200, 429} and statuses[200] >= 2
        assert asyncio.run(ask_over(server.port, [get(POSITION.replace("4/4/4", "3/3/3"))]))


# ---- searches end -------------------------------------------------------------------------------


def is_idle(server: ServerProcess, seconds: float = 20) -> bool:
    """Whether the server comes to rest."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        used = server.cpu_seconds
        time.sleep(0.5)
        if server.cpu_seconds - used < 0.1:
            return True
    return False


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_client_that_goes_away_ends_its_search(solved33: Path, accept: str) -> None:
    with ServerProcess(solved33) as server:
        head = get("/api/connect4?position=71235").replace(b"\r\n\r\n", b"\r\nAccept: ")
        head += accept.encode() + b"\r\n\r\n"
        for _ in range(5):  # more than there are threads
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                before, ends = server.cpu_seconds, time.monotonic() + 60
                client.sendall(head)
                while server.cpu_seconds < before + 0.15:
                    assert time.monotonic() < ends, "it does not search"
                    time.sleep(0.02)
        assert is_idle(server)
        late = get("/api/connect4?position=444432311165")
        assert asyncio.run(ask_over(server.port, [late])) == Counter({200: 1})
        assert server.interrupt()[0] == 0


def test_a_client_that_goes_away_ends_a_networks_search(web_data: Path, web_runs: Path) -> None:
    with ServerProcess(web_data, web_runs) as server:
        where = "/api/networks/five:best/evaluate?position=-"
        assert asyncio.run(ask_over(server.port, [get(where)])) == Counter({200: 1})
        for _ in range(4):
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(get(where + "&sims=10000"))
                time.sleep(0.2)
        assert is_idle(server)
        assert asyncio.run(ask_over(server.port, [get(where)])) == Counter({200: 1})
