"""HTTP as it comes in: uvicorn's parser, with bounds that it does not have of its own."""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST = 64_000  # bytes of a request before its body
SECONDS = 20.0  # for a request to come as far as its body, from the connection or its first byte on


class BoundedProtocol(HttpToolsProtocol):
    """Ends a connection whose headers have no end, or come by drops."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._heading, self._seen = True, 0
        self._late: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._end_wait()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless too much has come before the body."""
        super().data_received(data)
        self._count(len(data) if self._heading else 0)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._heading, self._seen = True, 0
        if self._late is None:
            self._wait()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; or a trailer, of which there may be as much."""
        super().on_header(name, value)
        if not self._heading:
            self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        """The body begins."""
        self._heading, self._seen = False, 0
        self._end_wait()
        super().on_headers_complete()

    def _count(self, length: int) -> None:
        self._seen += length
        if self._seen > MOST and not self.transport.is_closing():
            self.send_400_response("The headers are too large.")

    def _wait(self) -> None:
        self._late = self.loop.call_later(SECONDS, self._give_up)

    def _end_wait(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        self.transport.close()
