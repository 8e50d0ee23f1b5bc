"""Start the server and stop it cleanly: streams are closed, and the database is released by the caller."""

from __future__ import annotations

import asyncio
import errno
import gc
import ipaddress
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple
from urllib.parse import urlsplit

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from remit.clients.hooks.session_import import watching_sessions
from remit.dispatch.worker_settings import Settings
from remit.errors import EnvironmentBroken, RemitError, UsageError
from remit.operations.review_items import checkout_of
from remit.store.access import add_token, drop_link
from remit.store.database import Database
from remit.store.events import ChangeFeed
from remit.store.review_queue import apply_dismissals
from remit.surfaces.server.app import build_app
from remit.surfaces.server.site import CONTENT_TYPE, Address, Site, problem_body
from remit.surfaces.server.streams import SESSIONS


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


log = logging.getLogger("remit.serve")
PORT = 8321
_LOOPBACK = "127.0.0.1"
#: Seconds that open requests get when the server stops.
_GRACE_SECONDS = 3
#: Connections above this number are refused, see also `ConnectionLimits` and the guard.
_MAX_CONNECTIONS = 1_000
#: Seconds after which a thread that computes lets another one run. The default of Python, 5 ms, would delay hooks while
#: another thread checks a report.
_SWITCH_SECONDS = 0.0005
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ServeOptions(NamedTuple):
    """Where to listen, and how the server is reached."""

    host: str = _LOOPBACK
    port: int = PORT
    #: The address that people use, if it is not that of the host and port.
    url: str | None = None
    certificate: Path | None = None
    key: Path | None = None
    is_behind_tls: bool = False


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_options(options: ServeOptions) -> None:
    """Raise UsageError for a server that others could reach without encryption or under an unknown name."""
    if (options.key is None) != (options.certificate is None):
        raise UsageError("pass both --certificate FILE and --key FILE")
    if options.is_behind_tls and options.certificate is not None:
        raise UsageError("pass either --behind-tls or --certificate, not both")
    if options.url is not None:
        parts = urlsplit(options.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise UsageError(f"--url {options.url!r}: use only scheme, host and port, such as https://remit.example")
    has_tls = options.is_behind_tls or options.certificate is not None
    if is_loopback(options.host) and not has_tls:
        if options.url is not None and not is_loopback(urlsplit(options.url).hostname or ""):
            raise UsageError("a server that others reach through a proxy needs --behind-tls")
        return
    if not has_tls:
        raise UsageError(
            f"--host {options.host} can be reached by other machines, so it needs TLS: pass --certificate and --key, "
            "or --behind-tls if a proxy does it"
        )
    if options.url is None and options.certificate is not None and is_loopback(options.host):
        return  # https://127.0.0.1:PORT, for a certificate of this machine
    if options.url is None or not options.url.startswith("https://"):
        raise UsageError("pass --url https://NAME, the address that people use; requests for other names are refused")


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises EnvironmentBroken if the port is in use."""
    try:
        addresses = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = addresses[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(256)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise EnvironmentBroken(
                f"port {port} of {host} is in use, perhaps by another `remit serve`; pass --port with another number, "
                "or --port 0 for any free port"
            ) from error
        raise EnvironmentBroken(f"cannot listen on {host} port {port}: {error.strerror or error}") from error
    return listener


def address_of(options: ServeOptions, port: int) -> Address:
    """Return the addresses of the server; `port` is the one that it listens on."""
    if options.url is not None:
        parts = urlsplit(options.url)
        name = parts.netloc.rpartition("@")[2].lower()
        return Address(options.host, port, f"{parts.scheme}://{name}", frozenset({name}))
    scheme = "https" if options.certificate is not None else "http"
    host = f"[{options.host}]" if ":" in options.host.strip("[]") and options.host[0] != "[" else options.host
    names = {host.lower(), _LOOPBACK, "localhost", "[::1]"}
    return Address(options.host, port, f"{scheme}://{host}:{port}", frozenset(f"{name}:{port}" for name in names))


class StoppableServer(uvicorn.Server):
    """A server that ends its streams before it waits for open requests."""

    def __init__(self, config: uvicorn.Config, feed: ChangeFeed) -> None:
        super().__init__(config)
        self._feed = feed

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal. The signal is not raised again: the caller still has to release the database."""
        if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
            yield
            return
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """End the streams and stop after the open requests; called again, stop at once."""
        self.force_exit = self.should_exit  # a second signal does not wait for open requests
        self.should_exit = True
        self._feed.close()


async def serve(
    database: Database,
    settings: Settings,
    options: ServeOptions,
    person: str,
    announce: Callable[[str, str], None],
    folder: Path | None = None,
) -> None:
    """Run the server until a signal stops it. `announce` gets its address and a link that signs `person` in, once.

    `folder` contains the sessions and checkouts that the server shows; default: the current folder.
    """
    check_options(options)
    listener = bind(options.host, options.port)
    interval = sys.getswitchinterval()
    try:
        address = address_of(options, listener.getsockname()[1])
        async with ChangeFeed(database) as feed:
            site = Site(database, settings, feed, address, folder or Path.cwd())
            await catch_up(site)
            link, secret = await add_token(database, person, "operator", is_link=True)
            try:
                gc.collect()
                gc.freeze()  # what is loaded now stays: later collections, which delay hooks, need not look at it
                sys.setswitchinterval(_SWITCH_SECONDS)
                announce(address.url, f"{address.url}/login?token={secret}")
                async with watching_sessions(database, str(site.folder), lambda: feed.notice(SESSIONS)):
                    await build_server(site, options).serve(sockets=[listener])
            finally:
                await drop_link(database, link.id)
    finally:
        sys.setswitchinterval(interval)
        listener.close()


async def catch_up(site: Site) -> None:
    """Write the dismissals of decisions that were interrupted."""
    try:
        await apply_dismissals(site.database, checkout_of)
    except RemitError as error:
        log.warning("%s", error)  # the server works without it


def build_server(site: Site, options: ServeOptions) -> StoppableServer:
    """Return the server of a site; it does not listen yet."""
    config = uvicorn.Config(
        build_app(site),
        http=connection_class(),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        limit_concurrency=_MAX_CONNECTIONS,
        ssl_certfile=options.certificate,
        ssl_keyfile=options.key,
    )
    return StoppableServer(config, site.feed)
