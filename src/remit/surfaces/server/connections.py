"""Connections of the server: those that wait for the rest of a request are limited in time and in number.

A client that opens connections and sends half a request must not keep others from being served. A head must arrive
within seconds; a body may take as long as its bytes keep coming. If too many connections wait, the one that has waited
longest is closed. A connection whose request is complete is never closed for this reason.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from remit.surfaces.server.problems import CONTENT_TYPE, problem_body


class ConnectionLimits(NamedTuple):
    """How long and how many connections may wait."""

    #: Seconds for the head of a request, and between two parts of a body.
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    #: Connections that wait for a request or for the rest of one.
    waiting: int = 250


class BoundedConnection(H11Protocol):
    """A connection that may only wait for a limited time; `connection_class` makes the class of a server."""

    limits: ClassVar[ConnectionLimits] = ConnectionLimits()
    #: The connections of the server that wait, the one that has waited longest first.
    waiting: ClassVar[dict[BoundedConnection, None]]
    _timer: asyncio.TimerHandle | None = None
    _phase = ""

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
        if self._phase == "idle":
            self._wait("head", self.limits.head_seconds)
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request; the server closes the connection if none comes."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._look()

    def _look(self) -> None:
        """Wait, or stop waiting, as the state of the request needs it."""
        state = self.conn.their_state
        if state is h11.SEND_BODY:
            self._wait("body", self.limits.body_seconds)
        elif state is not h11.IDLE:
            self._stop_waiting()
        elif self._phase != "head":
            has_part = bool(self.conn.trailing_data[0])
            self._wait("head" if has_part else "idle", self.limits.head_seconds if has_part else None)

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
        has_part = self._phase == "head" and bool(self.conn.trailing_data[0])
        self._stop_waiting()
        if has_part and not self.transport.is_closing():
            self._send_problem(408, b"Request Timeout", "the rest of the request did not come in time")
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP."""
        self._send_problem(400, b"Bad Request", msg)
        self.transport.close()

    def _send_problem(self, status: int, reason: bytes, details: str) -> None:
        body = problem_body(status, reason.decode(), details)
        head = f"content-type: {CONTENT_TYPE}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(b"HTTP/1.1 %d %s\r\n%s%s" % (status, reason, head.encode(), body))


def connection_class(limits: ConnectionLimits | None = None) -> type[BoundedConnection]:
    """Return the class for the connections of one server."""

    class Connection(BoundedConnection):
        waiting: ClassVar[dict[BoundedConnection, None]] = {}

    Connection.limits = limits or ConnectionLimits()
    return Connection
