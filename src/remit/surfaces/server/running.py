"""Start the server and stop it cleanly: streams are closed, and the database is released by the caller."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import uvicorn

from remit.aio import cancel_and_wait
from remit.dispatch.worker_settings import Settings
from remit.errors import EnvironmentBroken, UsageError
from remit.store.database import Database
from remit.store.events import ChangeFeed
from remit.surfaces.server.app import build_app
from remit.surfaces.server.sign_in import TOKEN_VARIABLE, SignIns
from remit.surfaces.server.site import Address, Site
from remit.surfaces.server.streams import watch_sessions

PORT = 8321
_LOOPBACK = "127.0.0.1"
#: Seconds that open requests get when the server stops.
_GRACE_SECONDS = 3
#: Connections above this number are refused.
_MAX_CONNECTIONS = 1_000
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
    announce: Callable[[str, str], None],
    folder: Path | None = None,
) -> None:
    """Run the server until a signal stops it. `announce` gets its address and a link that signs in, once.

    `folder` contains the sessions and checkouts that the server shows; default: the current folder.
    """
    check_options(options)
    listener = bind(options.host, options.port)
    try:
        address = address_of(options, listener.getsockname()[1])
        async with ChangeFeed(database) as feed:
            sign_ins = SignIns(os.environ.get(TOKEN_VARIABLE, ""))
            site = Site(database, settings, feed, address, sign_ins, folder or Path.cwd())
            watching = asyncio.create_task(watch_sessions(site.folder, feed))
            try:
                announce(address.url, f"{address.url}/login?token={sign_ins.add_link()}")
                await build_server(site, options).serve(sockets=[listener])
            finally:
                await cancel_and_wait(watching)
    finally:
        listener.close()


def build_server(site: Site, options: ServeOptions) -> StoppableServer:
    """Return the server of a site; it does not listen yet."""
    config = uvicorn.Config(
        build_app(site),
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
