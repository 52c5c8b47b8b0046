"""Who may ask, and what a browser may do with the answer.

A page of another site must not reach this server through the browser of its user. Its address is
therefore checked against DNS rebinding (a foreign name that resolves to this machine), and the
page that asks against its origin. What is refused is answered before anything else is looked at.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from functools import lru_cache

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from azfit.web.errors import ApiError

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

PAGE_HEADERS = [
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]

# An answer of the API is no page: nothing in it may run, load or be framed.
API_HEADERS = [
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


def allowed_hosts(host: str) -> frozenset[str]:
    """The names by which a server bound to ``host`` may be called.

    Bound to loopback: loopback's names. Otherwise also the address it is bound to and the name of
    this machine. ``is_allowed`` adds addresses in figures: rebinding needs a name.
    """
    if is_loopback(host):
        return LOOPBACK | {host.lower()}
    return LOOPBACK | ({host.lower(), socket.gethostname().lower()} - {"", "0.0.0.0", "::"})


def is_loopback(host: str) -> bool:
    if host.lower() in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def name_of(authority: str) -> str:
    """``localhost:8044`` -> ``localhost``; ``[::1]:8044`` -> ``::1``; "" for anything else."""
    if authority.startswith("["):
        name, bracket, port = authority[1:].partition("]")
        port = port[1:] if port.startswith(":") else port or "0"
        return name.lower() if bracket and port.isascii() and port.isdigit() else ""
    name, colon, port = authority.partition(":")
    return name.lower() if not colon or (port.isascii() and port.isdigit()) else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """Refuses foreign hosts and origins; adds the headers that tell a browser its limits."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app, self._hosts, self._local = app, allowed_hosts(host), is_loopback(host)
        self._is_allowed = lru_cache(256)(self._check_authority)

    def _check_authority(self, authority: bytes) -> bool:
        name = name_of(authority.decode("latin1"))
        return name in self._hosts or (not self._local and _is_address(name))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        is_api = scope["path"].startswith("/api")
        added = API_HEADERS if is_api else PAGE_HEADERS

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *added]
            await send(message)

        refusal = self._refusal(scope["headers"], is_api)
        if refusal is None:
            await self._app(scope, receive, send_guarded)
        else:
            await refusal.response(scope, receive, send_guarded)

    def _refusal(self, headers: Iterable[tuple[bytes, bytes]], is_api: bool) -> ApiError | None:
        hosts, origins, site = [], [], b""
        for name, value in headers:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                origins.append(value)
            elif name == b"sec-fetch-site":
                site = value
        if len(hosts) != 1:
            return ApiError(400, f"{len(hosts)} Host headers", "send exactly one")
        if not self._is_allowed(hosts[0]):
            return ApiError(
                403,
                f"this server is not called '{hosts[0][:100].decode('latin1')}'",
                "use the address that 'fadefour serve' printed",
            )
        if any(origin != b"http://" + hosts[0] for origin in origins):
            return ApiError(403, "the page that asks is of another origin", "use this server's own")
        # <img> and <script> of another page send no Origin, but browsers say where they are.
        if site in (b"cross-site", b"same-site") and is_api:
            return ApiError(403, "the page that asks is of another site", "use this server's own")
        return None
