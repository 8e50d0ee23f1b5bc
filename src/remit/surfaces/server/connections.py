"""Connections of the server: those that wait for the rest of a request are limited in time, in size and in number.

A client that opens connections and sends half a request must not keep others from being served. A head must arrive
within seconds; a body may take as long as its bytes keep coming. If too many connections wait, the one that has waited
longest is closed. A connection whose request is complete is never closed for this reason.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, NamedTuple

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from remit.surfaces.server.problems import CONTENT_TYPE, problem_body


class ConnectionLimits(NamedTuple):
    """How long and how many connections may wait, and how much they may send."""

    #: Seconds for the head of a request, and between two parts of a body.
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    #: Connections that wait for a request or for the rest of one.
    waiting: int = 250
    #: Bytes of an incomplete head, and of what is between two parts of a body. The guard limits complete heads.
    head_bytes: int = 32 * 1024
    #: Complete requests of one connection that wait for the answer to an earlier one.
    pipelined: int = 100


class BoundedConnection(HttpToolsProtocol):
    """A connection that may only wait for a limited time; `connection_class` makes the class of a server."""

    limits: ClassVar[ConnectionLimits] = ConnectionLimits()
    #: The connections of the server that wait, the one that has waited longest first.
    waiting: ClassVar[dict[BoundedConnection, None]]
    _timer: asyncio.TimerHandle | None = None
    #: What it waits for: "head", "body", "idle" for the next request, or "" if it does not wait.
    _phase = ""
    #: How much of the last request has come: "", "head" for a part of the head, or "body".
    _part = ""
    #: Bytes since a head or a part of a body was complete.
    _unread = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._wait("head", self.limits.head_seconds)
        if len(self.waiting) > self.limits.waiting:
            next(iter(self.waiting)).end_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        if self.transport.is_closing():
            return
        self._unread += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            self._stop_waiting()
        elif self._unread > self.limits.head_bytes:
            self._refuse(431, b"Request Header Fields Too Large", f"the limit is {self.limits.head_bytes} bytes")
        elif len(self.pipeline) > self.limits.pipelined:
            self._refuse(400, b"Bad Request", f"more than {self.limits.pipelined} requests wait for an answer")
        else:
            self._look()

    def on_message_begin(self) -> None:
        """Note that a head has begun."""
        self._part = "head"
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. What follows a body in chunks is not a header of the request."""
        if self._part == "head":
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Note that the head is complete, and start to answer."""
        self._part, self._unread = "body", 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the request is complete."""
        self._part, self._unread = "", 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request; the server closes the connection if none comes."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._look()

    def _unsupported_upgrade_warning(self) -> None:
        """End the connection after a request for another protocol: what follows the request is not HTTP."""
        self.shutdown()

    @property
    def _is_answering(self) -> bool:
        return not getattr(self.cycle, "response_complete", True)  # there is no cycle before the first request

    def _look(self) -> None:
        """Wait, or stop waiting, as the state of the request needs it."""
        if self.pipeline or (self._is_answering and self._part != "body"):  # a complete request is being answered
            self._stop_waiting()
        elif self._part == "body":
            self._wait("body", self.limits.body_seconds)
        elif self._part != "head":
            self._wait("idle", None)
        elif self._phase != "head":
            self._wait("head", self.limits.head_seconds)

    def _wait(self, phase: str, seconds: float | None) -> None:
        self._stop_waiting()
        self._phase = phase
        self.waiting[self] = None
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self.end_waiting)

    def _stop_waiting(self) -> None:
        self._phase = ""
        self.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end_waiting(self) -> None:
        """Close the connection. A client that has sent a part of a head gets the reason."""
        if self._phase == "head" and self._part == "head" and not self.transport.is_closing():
            self._refuse(408, b"Request Timeout", "the rest of the request did not come in time")
        self._stop_waiting()
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP."""
        self._refuse(400, b"Bad Request", msg)

    def _refuse(self, status: int, reason: bytes, details: str) -> None:
        """Close the connection, with the reason unless an answer has begun."""
        self._stop_waiting()
        if not self._is_answering:
            body = problem_body(status, reason.decode(), details)
            head = f"content-type: {CONTENT_TYPE}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
            self.transport.write(b"HTTP/1.1 %d %s\r\n%s%s" % (status, reason, head.encode(), body))
        self.transport.close()


def connection_class(limits: ConnectionLimits | None = None) -> type[BoundedConnection]:
    """Return the class for the connections of one server."""

    class Connection(BoundedConnection):
        waiting: ClassVar[dict[BoundedConnection, None]] = {}

    Connection.limits = limits or ConnectionLimits()
    return Connection
