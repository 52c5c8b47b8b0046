"""The server process: its socket, its signals, its end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import socket
import threading
import webbrowser
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from azfit.web.app import Options, Service, application
from azfit.web.guard import is_loopback
from azfit.web.protocol import LimitedProtocol
from solver.command_options import on_stderr
from solver.errors import InputError

SECONDS_TO_END = 3
"""For answers under way, once the server has begun to stop."""


def bound_socket(host: str, port: int) -> socket.socket:
    """A listening socket; one line if the port or the address cannot be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"port {port} of {host} is in use: stop what uses it, or give another --port"
            ) from None
        reason = error.strerror or error
        raise InputError(
            f"cannot serve at '{host}', port {port} ({reason}): give another --host or --port"
        ) from None


def address_of(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"


GARBAGE = 20_000
"""Objects made before some are searched for garbage: a few hundred requests' worth."""


class _Server(uvicorn.Server):
    """Ends streams and searches when a signal arrives, so that nothing keeps the server waiting."""

    def __init__(self, config: uvicorn.Config, service: Service, opened: str | None) -> None:
        super().__init__(config)
        self._service, self._opened = service, opened
        self._loop: asyncio.AbstractEventLoop | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._loop is not None:  # not here: a signal may come while a lock is held
            self._loop.call_soon_threadsafe(self._service.stop)
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self._opened is not None:  # a browser may take its time
            threading.Thread(target=webbrowser.open, args=(self._opened,), daemon=True).start()


def configured(app: ASGIApp) -> uvicorn.Config:
    """How the application is served."""
    return uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        log_level=logging.ERROR,  # what clients do wrong is theirs to read
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=SECONDS_TO_END,
    )


def serve(options: Options, port: int, open_browser: bool) -> None:
    """Serves until a signal arrives."""
    listening = bound_socket(options.host, port)
    address = address_of(options.host, listening.getsockname()[1])
    service = Service(options)
    config = configured(application(service))
    gc.collect()
    gc.freeze()  # else requests wait while modules are searched for garbage
    gc.set_threshold(GARBAGE)
    on_stderr(f"fadefour is at {address} (Ctrl-C stops it)")
    if not service.tables.variants():
        on_stderr(
            f"nothing is solved in '{options.data}' yet: 'fadefour solve --data {options.data}' "
            "does that, also while this runs"
        )
    if not is_loopback(options.host):
        on_stderr("anyone who can reach this machine can use it: there is no password")
    with contextlib.suppress(KeyboardInterrupt):  # the usual end; uvicorn raises it again
        _Server(config, service, address if open_browser else None).run(sockets=[listening])
    on_stderr("stopped")
