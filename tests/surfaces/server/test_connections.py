"""Clients that send half a request are closed, and others are still served: with real sockets."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
import uvicorn

from remit.surfaces.server.running import ConnectionLimits, connection_class

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the number of bytes of the body, and the number of headers when all of it has come."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    body = str(size).encode()
    headers = [(b"content-length", str(len(body)).encode()), (b"headers", str(len(scope["headers"])).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Served:
    def __init__(self, port: int, connections: type[Any]) -> None:
        self.port = port
        self.connections = connections

    def connect(self, sent: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), 10)
        with suppress(ConnectionError):  # the server may refuse the rest
            connection.sendall(sent)
        return connection

    def answer(self, sent: bytes = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n") -> bytes:
        with self.connect(sent) as connection:
            return everything(connection)


def everything(connection: socket.socket) -> bytes:
    found = b""
    try:
        while piece := connection.recv(65536):
            found += piece
    except ConnectionResetError:
        pass
    return found


@contextmanager
def serving(**limits: Any) -> Iterator[Served]:
    connections = connection_class(ConnectionLimits(**limits))
    config = uvicorn.Config(
        application, http=connections, ws="none", lifespan="off", log_config=None, timeout_keep_alive=30
    )
    server = uvicorn.Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(256)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()
        try:
            yield Served(listener.getsockname()[1], connections)
        finally:
            server.should_exit = True
            thread.join(30)


@pytest.fixture(scope="module")
def served_small() -> Iterator[Served]:
    with serving(head_bytes=1000, pipelined=50) as served:
        yield served


def test_other_clients_are_served_despite_six_hundred_half_requests() -> None:
    with serving(waiting=100) as served, ExitStack() as opened:
        for number in range(600):
            part = b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nx" if number % 2 else b"GET / HT"
            opened.enter_context(served.connect(part))
        assert served.answer().endswith(b"\r\n\r\n0")
        assert len(served.connections.waiting) <= 100
        assert (
            served.answer(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\nconnection: close\r\n\r\nabcde")[-1:]
            == b"5"
        )


@pytest.mark.parametrize(
    ("part", "answer"),
    [
        (b"", b""),
        (b"GET / HT", b"HTTP/1.1 408 "),
        (b"GET / HTTP/1.1\r\nhost: a\r\nx: y", b"HTTP/1.1 408 "),
        (b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nab", b""),
    ],
    ids=["nothing", "a part of a line", "a part of the headers", "a part of the body"],
)
def test_half_a_request_is_closed_after_its_time(part: bytes, answer: bytes) -> None:
    with serving(head_seconds=0.2, body_seconds=0.2) as served, served.connect(part) as connection:
        started = time.monotonic()
        found = everything(connection)
        assert time.monotonic() - started < 9, "less than the default of 10"
        assert found.startswith(answer)
        assert bool(found) == bool(answer)
        if answer:
            assert b"application/problem+json" in found
        assert not served.connections.waiting


def test_a_head_that_comes_byte_by_byte_has_no_more_time() -> None:
    with serving(head_seconds=0.3) as served, served.connect() as connection:
        connection.settimeout(0.02)
        found, sent = b"", 0
        started = time.monotonic()
        while not found and time.monotonic() - started < 10:
            try:
                connection.sendall(b"GET / HTTP/1.1\r\nx: "[sent : sent + 1] or b"y")
                sent += 1
                found = connection.recv(1000)
            except TimeoutError:
                continue
        assert found.startswith(b"HTTP/1.1 408 ")


def test_a_slow_body_that_keeps_coming_is_read() -> None:
    with serving(body_seconds=0.8) as served:
        head = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 6\r\nconnection: close\r\n\r\n"
        with served.connect(head) as connection:
            for _ in range(6):
                threading.Event().wait(0.15)
                connection.sendall(b"x")
            assert everything(connection).endswith(b"6")


def test_a_connection_is_used_for_many_requests() -> None:
    with serving(head_seconds=0.5) as served, served.connect() as connection:
        for number in range(2):
            threading.Event().wait(0.6 if number else 0)  # an idle connection waits longer than a head
            connection.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            found = b""
            while not found.endswith(b"\r\n\r\n0"):
                found += connection.recv(1000)
        connection.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nho")  # the next one has begun
        found = everything(connection)
        assert found.startswith(b"HTTP/1.1 200 ")
        assert b"HTTP/1.1 408 " in found


def test_what_is_not_http_is_answered_with_a_problem() -> None:
    with serving() as served:
        found = served.answer(b"\x16\x03\x01 not http\r\n\r\n")
        assert found.startswith(b"HTTP/1.1 400 ")
        assert b'"status":400' in found


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"GET /" + b"a" * 5000, b"HTTP/1.1 431 "),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 5000, b"HTTP/1.1 431 "),
        (b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1;" + b"x" * 600_000, b""),
        (b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx: " + b"y" * 600_000, b""),
        (b"GET / HTTP/1.1\r\nhost: a\r\n\r\n" * 90, b""),
        (b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0", b"HTTP/1.1 400 "),
        (b"GET / HTTP/1.1\r\nhost: a\r\nhost : b\r\n\r\n", b"HTTP/1.1 400 "),
    ],
    ids=[
        *("a long line", "a long header", "a long extension of a chunk", "a long trailer", "many requests at once"),
        *("two lengths", "a space in a name"),
    ],
)
def test_what_is_too_long_or_ambiguous_is_refused(served_small: Served, sent: bytes, answer: bytes) -> None:
    found = served_small.answer(sent)
    assert found.startswith(answer)
    assert bool(found) == bool(answer)
    assert not served_small.connections.waiting


def test_what_follows_the_body_is_not_a_header(served_small: Served) -> None:
    chunks = b"3\r\nabc\r\n0\r\nx-late: 1\r\n\r\n"
    head = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    found = served_small.answer(head + chunks)
    assert found.endswith(b"\r\n\r\n3")
    assert b"headers: 3\r\n" in found


def test_a_request_for_another_protocol_is_answered_once(served_small: Served) -> None:
    upgrade = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nGET / HTTP/1.1\r\n\r\n"
    found = served_small.answer(upgrade)
    assert found.count(b"HTTP/1.1 200 ") == 1
