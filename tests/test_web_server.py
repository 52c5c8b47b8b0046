"""``fadefour serve`` as a process: how it starts and stops, and what docs/http.md shows."""

from __future__ import annotations

import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import SCRIPT, Fadefour, run_script
from web_server import ServerProcess

ROOT = Path(__file__).resolve().parent.parent


# ---- starting and stopping ----------------------------------------------------------------------


def test_it_says_where_it_is_and_stops_cleanly(solved33: Path) -> None:
    for stop in (signal.SIGINT, signal.SIGTERM):
        with ServerProcess(solved33) as server:
            assert server.first_line == f"fadefour is at {server.url}/ (Ctrl-C stops it)\n"
            answer = server.curl(f"{server.url}/api/drop/3/3/3?position=-/-%20x")
            assert '"plies":13' in answer.stdout
            code, printed = server.interrupt(stop)
            assert "Traceback" not in printed
            assert (code, printed) == ((0, "stopped\n") if stop == signal.SIGINT else (-15, ""))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port))


def test_it_stops_while_a_search_and_a_stream_are_under_way(solved33: Path, web_runs: Path) -> None:
    with ServerProcess(solved33, web_runs) as server:
        addresses = ["/api/connect4?position=4", "/api/runs/small/events"]
        clients = [
            subprocess.Popen(
                ["curl", "-sN", "-H", "Accept: text/event-stream", server.url + address],
                stdout=subprocess.PIPE,
                text=True,
            )
            for address in addresses
        ]
        for client in clients:
            assert client.stdout is not None
            assert client.stdout.readline().startswith("event: ")
        began = time.monotonic()
        code, printed = server.interrupt()
        assert (code, printed) == (0, "stopped\n")
        assert time.monotonic() - began < 20
        for client in clients:
            client.communicate(timeout=10)


def test_it_stops_while_a_network_is_being_loaded(solved33: Path, web_runs: Path) -> None:
    """Importing torch takes seconds and cannot be interrupted: nobody waits for it."""
    with (
        ServerProcess(solved33, web_runs) as server,
        socket.create_connection(("127.0.0.1", server.port)) as client,
    ):
        address = "/api/networks/shipped/evaluate?position=-/-%20x"
        client.sendall(f"GET {address} HTTP/1.1\r\nHost: {server.address}\r\n\r\n".encode())
        maps = Path(f"/proc/{server.process.pid}/maps")
        while "libtorch" not in maps.read_text():
            time.sleep(0.01)
        assert server.interrupt() == (0, "stopped\n")
        assert client.recv(12) in (b"HTTP/1.1 503", b"HTTP/1.1 200")  # 200 if it was quick


def test_it_stops_while_a_diagnosis_is_under_way(solved33: Path, web_runs: Path) -> None:
    with ServerProcess(solved33, web_runs) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            request = f"GET /api/runs/small/diagnosis HTTP/1.1\r\nHost: {server.address}\r\n\r\n"
            client.sendall(request.encode())
            children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
            while not (found := children.read_text().split()):
                time.sleep(0.01)
            assert server.interrupt() == (0, "stopped\n")
            assert client.recv(12) == b"HTTP/1.1 503"
        for child in found:
            assert not Path(f"/proc/{child}").exists()


def test_a_port_in_use_is_one_line(solved33: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run_script("serve", "--port", str(port), "--data", solved33)
    assert ended.returncode == 2
    assert ended.stderr == (
        f"fadefour: port {port} of 127.0.0.1 is in use: stop what uses it, or give another --port\n"
    )


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--port", "70000"], "--port 70000"),
        (["--port", "x"], "--port x"),
        (["--host", "no.such.name.invalid"], "cannot serve at 'no.such.name.invalid'"),
        (["--host", "203.0.113.1"], "cannot serve at '203.0.113.1'"),
        (["--host", ""], "cannot serve at ''"),
        (["--data", ""], "--data ''"),
    ],
)
def test_bad_options_are_one_line(fadefour: Fadefour, options: list[str], word: str) -> None:
    ended = fadefour("serve", *options)
    assert ended.code == 2 and word in ended.err and ended.err.count("\n") == 1, ended.err


def test_it_answers_before_torch_is_loaded(web_data: Path, web_runs: Path) -> None:
    """Neither starting nor answering imports torch; only a network that is asked does."""
    program = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[1:3]\n"
        "from web_server import InProcess\n"
        "import azfit.web.server\n"
        "with InProcess(Path(sys.argv[3]), Path(sys.argv[4])) as web:\n"
        "    for path in ('/', '/api/variants', '/api/networks', '/api/runs',\n"
        "                 '/api/openapi.json', '/api/runs/small/games',\n"
        "                 '/api/runs/small/metrics',\n"
        "                 '/api/gomoku/9?position=-', '/api/drop/4/4/4?position=-/-%20x',\n"
        "                 '/api/connect4?position=444432311165'):\n"
        "        assert web.run(web.ask('GET', path)).status == 200, path\n"
        "    assert 'torch' not in sys.modules\n"
        "    web.get('/api/networks/shipped/evaluate', position='-/- x')\n"
        "    assert 'torch' in sys.modules\n"
    )
    tests = Path(__file__).parent
    command = [sys.executable, "-c", program, *map(str, (ROOT, tests, web_data, web_runs))]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_it_is_soon_ready(solved33: Path) -> None:
    """Without a figure that would depend on the machine: as soon as the command itself is."""
    with ServerProcess(solved33):
        pass
    command = [sys.executable, "-X", "importtime", SCRIPT, "serve", "--host", "203.0.113.1"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    modules = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert "uvicorn" in modules and "starlette.applications" in modules
    assert not {"torch", "matplotlib", "pyarrow", "onnxruntime"} & modules


def test_a_server_with_nothing_solved_says_how_to_change_that(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        assert server.process.stderr is not None
        said = server.process.stderr.readline()
        assert f"nothing is solved in '{tmp_path}' yet: 'fadefour solve --data {tmp_path}'" in said


def test_a_server_that_others_can_reach_says_so(solved33: Path) -> None:
    with ServerProcess(solved33, Path("nowhere"), "--host", "0.0.0.0") as server:
        assert server.process.stderr is not None
        assert "no password" in server.process.stderr.readline()
        answer = server.curl(f"http://127.0.0.1:{server.port}/api/variants")
        assert "3x3_m3" in answer.stdout


def test_open_opens_a_browser_at_the_address(solved33: Path, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BROWSER", str(browser))
        with ServerProcess(solved33, Path("nowhere"), "--open") as server:
            for _ in range(200):
                if opened.exists() and opened.read_text():
                    break
                time.sleep(0.05)
            assert opened.read_text() == f"{server.url}/\n"
            assert server.interrupt() == (0, "stopped\n")


# ---- docs/http.md -------------------------------------------------------------------------------


def documented() -> list[tuple[str, str]]:
    """The commands of the page that are shown with what they print."""
    page = (ROOT / "docs" / "http.md").read_text()
    blocks = re.findall(r"^    \$ (curl .*)\n((?:    .*\n)+)", page, flags=re.MULTILINE)
    return [(command, shown) for command, shown in blocks]


def fits(shown: str, printed: str) -> bool:
    """Whether what is shown is what was printed; an ellipsis stands for anything, spaces for
    nothing."""
    parts = [re.escape(re.sub(r"\s", "", part)) for part in shown.split("…")]
    return re.fullmatch(".*".join(parts) + ".*", re.sub(r"\s", "", printed)) is not None


def test_an_ellipsis_fits_anything_and_nothing_else_does() -> None:
    assert fits('{"a": 1, … "c": 3}', '{"a":1,"b":2,"c":3}')
    assert not fits('{"a": 1, … "c": 4}', '{"a":1,"b":2,"c":3}')
    assert not fits('{"a": 2', '{"a":1}')


@pytest.mark.parametrize(("command", "shown"), documented(), ids=lambda text: text[:90])
def test_the_examples_of_the_page(web_server: ServerProcess, command: str, shown: str) -> None:
    _, *arguments = shlex.split(command.replace("http://127.0.0.1:8044", web_server.url))
    ended = web_server.curl(*arguments)
    assert fits(shown, ended.stdout), f"{command}\nprints\n{ended.stdout}"


def test_the_page_shows_every_address(web_server: ServerProcess) -> None:
    page = (ROOT / "docs" / "http.md").read_text()
    document = web_server.curl(f"{web_server.url}/api/openapi.json").stdout
    for path in set(re.findall(r'"(/api/[^"]*)":\{"(?:get|post)"', document)):
        pattern = re.sub(r"\\{\w+\\}", r"[^/?\\s\"`]+", re.escape(path))
        assert re.search(pattern + r'["?`\s]', page), path
    assert len(documented()) > 20
