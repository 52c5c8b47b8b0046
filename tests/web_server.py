"""``fadefour serve`` for tests: in this process without a network, or in one of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, unquote

from command_line import SCRIPT

from azfit.web.app import Options, Service, application

HOST = "127.0.0.1:8044"

Headers = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json", self
        return json.loads(self.body)

    @property
    def events(self) -> list[tuple[str, Any]]:
        """Names and data of server-sent events; comments are left out."""
        assert self.headers["content-type"].startswith("text/event-stream"), self
        found = []
        for block in self.body.decode().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":")
            if lines:
                found.append((lines["event"], json.loads(lines["data"])))
        return found


def target(path: str, **parameters: object) -> str:
    """An address with parameters behind it."""
    pairs = [f"{name}={quote(str(value), safe='/')}" for name, value in parameters.items()]
    return path + ("?" + "&".join(pairs) if pairs else "")


class InProcess:
    """The application, asked directly. Use as a context manager."""

    def __init__(self, data: Path, runs: Path = Path("nowhere"), host: str = "127.0.0.1") -> None:
        self.service = Service(Options(data=data, runs=runs, host=host))
        self.app = application(self.service)
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.service.close()
        self._runner.close()

    def run(self, work: Any) -> Any:
        """Runs a coroutine in the loop of this application."""
        return self._runner.run(work)

    def get(self, path: str, headers: Headers = (), **parameters: object) -> Answer:
        asked = self.ask("GET", target(path, **parameters), headers)
        answer: Answer = self.run(asked)
        return answer

    def post(self, path: str, body: object) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = [("content-type", "application/json")]
        answer: Answer = self.run(self.ask("POST", path, headers, data))
        return answer

    async def ask(
        self,
        method: str,
        address: str,
        headers: Headers = (),
        body: bytes = b"",
        stays: float | None = None,
    ) -> Answer:
        """stays: seconds until the client goes away; None: it does not."""
        path, _, query = address.partition("?")
        given = [(name.lower().encode("latin1"), value.encode("latin1")) for name, value in headers]
        if not any(name == b"host" for name, _ in given):
            given.append((b"host", HOST.encode()))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("latin1", "replace"),
            "query_string": query.encode("latin1", "replace"),
            "root_path": "",
            "headers": given,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8044),
        }
        return await self._call(scope, body, stays)

    async def _call(self, scope: dict[str, Any], body: bytes, stays: float | None = None) -> Answer:
        parts: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[Any] = []

        async def receive() -> Any:
            if not parts:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.Event().wait(), stays)
                return {"type": "http.disconnect"}
            return parts.pop()

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *rest = sent
        headers = {name.decode(): value.decode("latin1") for name, value in start["headers"]}
        return Answer(start["status"], headers, b"".join(part["body"] for part in rest))


class ServerProcess:
    """``fadefour serve`` on a free port. Use as a context manager."""

    def __init__(self, data: Path, runs: Path = Path("nowhere"), *options: str) -> None:
        command = [sys.executable, SCRIPT, "serve", "--port", "0", "--data", str(data)]
        command += ["--runs", str(runs), *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.first_line = self.process.stderr.readline()
        assert "http://" in self.first_line, self.first_line + self.process.stderr.read()
        self.address = self.first_line.partition("http://")[2].partition("/")[0]
        self.port = int(self.address.rpartition(":")[2])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def curl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        curl = shutil.which("curl")
        assert curl is not None
        command = [curl, "--silent", "--show-error", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    def interrupt(self, with_signal: int = signal.SIGINT) -> tuple[int, str]:
        """Ends the server as Ctrl-C does; its exit code and what else it printed."""
        self.process.send_signal(with_signal)
        _, printed = self.process.communicate(timeout=30)
        return self.process.returncode, printed

    @property
    def resident_bytes(self) -> int:
        """Memory of its own: a table that it reads is the file's."""
        resident, shared = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1:3]
        return (int(resident) - int(shared)) * 4096

    @property
    def cpu_seconds(self) -> float:
        """Processor time so far; only on Linux."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100
