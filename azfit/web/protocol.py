"""HTTP as uvicorn speaks it, with limits that it does not have: for the head of a request, that is
its address and headers, which are kept in memory until it is complete; for the time that a client
takes to send a request; and for the number of connections, before files run out."""

from __future__ import annotations

import asyncio
from asyncio import TimerHandle

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD_BYTES = 1 << 16

REQUEST_SECONDS = 20.0
"""For a whole request, once the connection is there or the request has begun."""

MOST_CONNECTIONS = 512
"""Half of the files that a process may have open, as most systems have it."""


def refusal(status: str, error: str, remedy: str, more: str = "") -> bytes:
    """An answer for a client that is not listened to."""
    body = f'{{"error":"{error}","remedy":"{remedy}"}}'
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}{more}connection: close\r\n\r\n{body}".encode()


TOO_MANY = refusal(
    "429 Too Many Requests",
    f"more than {MOST_CONNECTIONS} connections",
    "try again in a few seconds",
    "retry-after: 5\r\n",
)

TOO_SLOW = refusal(
    "408 Request Timeout",
    f"the request did not end within {REQUEST_SECONDS:g} s",
    "send it at once",
)


class LimitedProtocol(HttpToolsProtocol):
    """Refuses a head that has not ended after ``MOST_HEAD_BYTES``, a request that has not after
    ``REQUEST_SECONDS``, and a connection beyond ``MOST_CONNECTIONS``."""

    _complete, _begun_bytes, _reading_head, _begun = 0, 0, True, False
    _patience: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            self._refuse(TOO_MANY)
        else:
            self._be_patient()

    def connection_lost(self, exc: Exception | None) -> None:
        self._be_patient(False)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():  # refused: what it still sends is not read
            return
        complete = self._complete
        super().data_received(data)
        answering = self.cycle is not None and not self.cycle.response_complete
        self._be_patient(self._begun or not answering)
        if not self._reading_head or self._complete != complete:
            self._begun_bytes = 0
            return
        self._begun_bytes += len(data)
        if self._begun_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def on_message_begin(self) -> None:
        self._begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._reading_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._complete += 1
        self._reading_head, self._begun = True, False
        super().on_message_complete()

    def _be_patient(self, waiting: bool = True) -> None:
        """While it waits for a request, the time runs from the first call on."""
        if waiting and self._patience is None:
            self._patience = self.loop.call_later(REQUEST_SECONDS, self._refuse, TOO_SLOW)
        elif not waiting and self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _refuse(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(answer)
            self.transport.close()
