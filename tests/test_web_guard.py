"""Who may ask, and what a browser may do with the answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from web_server import InProcess

from azfit.web.guard import name_of

OWN = ["127.0.0.1:8044", "localhost:8044", "LOCALHOST", "[::1]:8044", "[::1]", "localhost:9999"]
FOREIGN = [
    *("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:8044"),
    *(
        "",
        "localhost:80x",
        "localhost:",
        "local host",
        "[::1",
        "[::1]x",
        "[evil]:8044",
        "user@localhost",
    ),
    *(
        "0.0.0.0",
        "192.168.1.5:8044",
        "2130706433",
        "0x7f.1",
        "localhost.",
        "127.1",
        "[::ffff:7f00:1]",
    ),
]
PATHS = ["/", "/api/variants", "/api/drop/4/4/4?position=-/-%20x", "/nothing"]


@pytest.mark.parametrize("host", OWN)
def test_its_own_names_are_answered(web: InProcess, host: str) -> None:
    answer = web.run(web.ask("GET", "/api/variants", [("host", host)]))
    assert answer.status == 200
    origin = [("host", host), ("origin", f"http://{host}")]
    assert web.run(web.ask("GET", "/api/variants", origin)).status == 200


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("path", PATHS)
def test_a_foreign_host_is_refused_everywhere(web: InProcess, host: str, path: str) -> None:
    """As DNS rebinding would send it: a name of the attacker that leads to this machine."""
    answer = web.run(web.ask("GET", path, [("host", host)]))
    assert answer.status == 403 and "is not called" in answer.json["error"]


def test_on_loopback_this_machine_has_no_other_name(
    web_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name in a network may be given to another machine, or led here by somebody else."""
    monkeypatch.setattr("socket.gethostname", lambda: "desk.example")
    for host, status in (("127.0.0.1", 403), ("0.0.0.0", 200)):
        with InProcess(web_data, host=host) as web:
            answer = web.run(web.ask("GET", "/api/variants", [("host", "desk.example:8044")]))
            assert answer.status == status


def test_no_host_or_two_are_refused(web: InProcess) -> None:
    two = [("host", "localhost"), ("host", "localhost")]
    assert web.run(web.ask("GET", "/", two)).status == 400

    async def without() -> int:
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
        answer = await web._call(scope, b"")
        return answer.status

    assert web.run(without()) == 400


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.example", "https://127.0.0.1:8044", "http://127.0.0.1:3000", "null", ""),
        *("http://localhost:8044", "file://", "http://127.0.0.1:8044.evil.example"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_of_another_origin_is_refused(web: InProcess, origin: str, method: str) -> None:
    headers = [("origin", origin), ("content-type", "application/json")]
    path = "/api/drop/4/4/4/probe" if method == "POST" else "/api/variants"
    answer = web.run(web.ask(method, path, headers, b'{"positions": []}'))
    assert answer.status == 403 and "another origin" in answer.json["error"]
    assert "access-control-allow-origin" not in answer.headers


def test_an_image_or_script_of_another_site_is_refused(web: InProcess) -> None:
    """It sends no Origin; browsers say where it is."""
    for site, status in (
        ("cross-site", 403),
        ("same-site", 403),
        ("same-origin", 200),
        ("none", 200),
    ):
        headers = [("sec-fetch-site", site)]
        assert web.run(web.ask("GET", "/api/variants", headers)).status == status
        assert web.run(web.ask("GET", "/", headers)).status == 200, "a link to the page is fine"


def test_every_answer_tells_a_browser_its_limits(web: InProcess) -> None:
    for path in PATHS:
        answer = web.run(web.ask("GET", path))
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "*" not in policy and "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert not any(name.startswith("access-control") for name in answer.headers)
    page = web.run(web.ask("GET", "/"))
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "no-referrer"


def test_the_page_keeps_to_its_policy(web: InProcess) -> None:
    """No inline script or style, nothing from elsewhere."""
    page = web.run(web.ask("GET", "/"))
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    text = page.body.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)", text) and "<style" not in text
    assert not re.search(r"\son\w+\s*=|\sstyle\s*=|javascript:", text)
    for source in re.findall(r"""(?:src|href)=["']([^"']+)""", text):
        assert source[0] in "/#", source
        if source.startswith("/static/"):
            assert web.run(web.ask("GET", source)).status == 200, source


def test_assets_are_checked_again_cheaply(web: InProcess) -> None:
    page = web.run(web.ask("GET", "/"))
    again = web.run(web.ask("GET", "/", [("if-none-match", page.headers["etag"])]))
    assert (again.status, again.body) == (304, b"")
    assert web.run(web.ask("GET", "/", [("if-none-match", '"other"')])).status == 200


# ---- told to listen elsewhere -------------------------------------------------------------------


def test_bound_to_all_addresses_it_answers_to_addresses_but_to_no_foreign_name(
    web_data: Path,
) -> None:
    import socket

    with InProcess(web_data, host="0.0.0.0") as web:
        own = ["192.168.1.5:8044", "[fe80::1]:8044", "127.0.0.1", "localhost", socket.gethostname()]
        for host in own:
            assert web.run(web.ask("GET", "/api/variants", [("host", host)])).status == 200, host
        for host in ("evil.example", "", "192.168.1.5.evil.example", "1.2.3.4.5"):
            assert web.run(web.ask("GET", "/api/variants", [("host", host)])).status == 403, host


def test_bound_to_a_name_it_answers_to_that_name(web_data: Path) -> None:
    with InProcess(web_data, host="Box.lan") as web:
        assert web.run(web.ask("GET", "/api/variants", [("host", "box.lan:80")])).status == 200
        assert web.run(web.ask("GET", "/api/variants", [("host", "evil.lan")])).status == 403


@pytest.mark.parametrize(
    ("authority", "name"),
    [
        ("localhost:8044", "localhost"),
        ("LocalHost", "localhost"),
        ("[::1]:80", "::1"),
        ("[::1]", "::1"),
        ("[::1]:", ""),
        ("localhost:", ""),
        ("localhost:x", ""),
        ("localhost:٣", ""),
        ("a:1:2", ""),
    ],
)
def test_the_name_in_an_authority(authority: str, name: str) -> None:
    assert name_of(authority) == name
