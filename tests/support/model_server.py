"""A scripted model on loopback with the real protocols of Anthropic and OpenAI; `script` defines its answers.

It runs in the process of a test, or in a separate one that survives killed clients (`support.model_process`):

    async with ModelServer({"conversations": {"": [{"text": "hello"}]}}) as server: ... server.url
    python tests/support/model_server.py SCRIPT.json [--host H] [--port N]     the port is the first line printed

    GET  /_health            {"ok": true}
    GET  /_requests          the requests, in order of arrival
    GET  /_wait/NAME         answers when a request waits at this gate (?waiting=N at once, ?arrived=N since the start)
    POST /_open/NAME         opens the gate permanently; /_release opens the gate of stalled answers
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http
import json
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

# Also for `fork_server`, which imports this module from its own folder.
if __name__ in {"__main__", "model_server"}:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the folder of the package `support`

from support.script import RELEASE, Failure, Script, Turn, Unscripted
from support.wire import Fault, Json, Wire, frame
from support.wire_anthropic import Messages
from support.wire_openai import Chat, Responses

_WIRES: dict[str, Wire] = {
    "/v1/messages": Messages(),
    "/v1/responses": Responses(),
    "/v1/chat/completions": Chat(),
}
#: Longest wait for a gate in seconds; the benchmarks bring five hundred requests to one gate.
_LONGEST_SECONDS = 300.0
_SECRET_HEADERS = {"x-api-key", "authorization", "api-key"}
_HTML = b"<html><head><title>502</title></head><body><h1>Sign in to the network</h1></body></html>"


class Gone(Exception):
    """The client closed the connection."""


@dataclass(slots=True)
class Request:
    """A request to a model; `marker` and `turn` are the place in the script that it was matched with."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    marker: str | None = None
    turn: int | None = None


@dataclass(slots=True)
class Gate:
    """A point where answers wait."""

    opened: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    waiting: int = 0
    arrived: int = 0

    @contextlib.asynccontextmanager
    async def standing(self) -> AsyncIterator[None]:
        """Count a waiting answer."""
        self.waiting += 1
        self.arrived += 1
        try:
            async with self.changed:
                self.changed.notify_all()
            yield
        finally:
            self.waiting -= 1

    async def reached(self, waiting: int, arrived: int) -> None:
        """Return when `waiting` answers wait here and `arrived` have come since the start."""
        async with self.changed:
            await self.changed.wait_for(lambda: self.waiting >= waiting and self.arrived >= arrived)


@dataclass(slots=True)
class Connection:
    """One client's connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def receive(self) -> tuple[str, str, dict[str, str], bytes] | None:
        """Return the next request as method, target, headers and body, or None at the end."""
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.strip().split("\r\n")
            method, target, _ = first.split(" ", 2)
            headers = {name.strip().lower(): value.strip() for name, _, value in (at.partition(":") for at in lines)}
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        return method, target, headers, body

    async def send(self, data: bytes) -> None:
        """Send data and return when the system has accepted all of it."""
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int, headers: Mapping[str, object]) -> None:
        phrase = http.HTTPStatus(status).phrase if status in list(http.HTTPStatus) else "Overloaded"
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        await self.send(f"HTTP/1.1 {status} {phrase}\r\n{lines}\r\n".encode())

    async def answer(self, status: int, data: object, headers: Mapping[str, object] | None = None) -> None:
        """Send a complete answer: bytes as HTML, any other value as JSON."""
        html = isinstance(data, bytes)
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        kind = "text/html" if html else "application/json"
        await self.head(status, {"content-type": kind, "content-length": len(body), **(headers or {})})
        await self.send(body)

    async def event(self, data: bytes) -> None:
        """Send a chunk of a streamed answer; an empty chunk ends it."""
        await self.send(b"%x\r\n%b\r\n" % (len(data), data))

    async def stand(self, gate: Gate) -> None:
        """Wait at the gate; raise Gone if the client gives up first (it sends nothing while it waits)."""
        async with gate.standing():
            tasks = {asyncio.create_task(gate.opened.wait()), asyncio.create_task(self.reader.read(1))}
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            if not gate.opened.is_set():
                raise Gone


class ModelServer:
    """The server; `requests` holds the requests received so far."""

    def __init__(self, script: Mapping[str, Any], *, port: int = 0, host: str = "127.0.0.1") -> None:
        self.requests: list[Request] = []
        self._script = Script(script)
        self._gates: defaultdict[str, Gate] = defaultdict(Gate)
        self._host = host
        self._port = port
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._host, self._port, backlog=2048)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            for task in self._serving:
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)
            await self._server.wait_closed()

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        """The base URL for Anthropic's client; OpenAI's client uses `url + "/v1"`."""
        return f"http://{self._host}:{self._port}"

    def open(self, gate: str) -> None:
        """Open a gate permanently."""
        self._gates[gate].opened.set()

    def release(self) -> None:
        """Continue stalled answers, now and later."""
        self.open(RELEASE)

    async def wait(self, gate: str, *, waiting: int = 1, arrived: int = 1) -> None:
        """Return when `waiting` requests wait at a gate and `arrived` have reached it since the start.

        The wait has a limit, since the client may have failed.
        """
        async with asyncio.timeout(_LONGEST_SECONDS):
            await self._gates[gate].reached(waiting, arrived)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        writer.transport.set_write_buffer_limits(high=0)
        connection = Connection(reader, writer)
        try:
            while (received := await connection.receive()) is not None:
                await self._respond(connection, *received)
        except (Gone, ConnectionError, asyncio.CancelledError):
            pass  # only a closing server cancels it; asyncio's streams would report that as an error
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _respond(
        self, connection: Connection, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> None:
        path = urlsplit(target).path
        if path.startswith("/_"):
            await self._administer(connection, method, target)
        elif method == "POST" and path in _WIRES:
            shown = {name: "[redacted]" if name in _SECRET_HEADERS else value for name, value in headers.items()}
            request = Request(method, target, shown, json.loads(body))
            self.requests.append(request)
            await self._play(connection, _WIRES[path], request)
        else:
            await connection.answer(404, {"error": {"message": f"no {method} {path} here"}}, {"connection": "close"})
            raise Gone

    async def _administer(self, connection: Connection, method: str, target: str) -> None:
        parts = urlsplit(target)
        name, _, gate = unquote(parts.path).removeprefix("/_").partition("/")
        match method, name:
            case "GET", "health":
                await connection.answer(200, {"ok": True})
            case "GET", "requests":
                await connection.answer(200, [asdict(request) for request in self.requests])
            case "GET", "wait":
                numbers = {key: int(value[0]) for key, value in parse_qs(parts.query).items()}
                await self.wait(gate, **numbers)
                await connection.answer(200, {"gate": gate, "arrived": self._gates[gate].arrived})
            case "POST", "open" | "release":
                self.open(gate or RELEASE)
                await connection.answer(200, {"ok": True})
            case _:
                await connection.answer(404, {"error": {"message": f"no {method} {target} here"}})

    async def _play(self, connection: Connection, wire: Wire, request: Request) -> None:
        try:
            request.marker = self._script.marker(*wire.opening(request.body))
            request.turn = wire.turn(request.body)
            body = json.dumps(request.body)
            turn = self._script.turn(request.marker, request.turn, request.body.get("model", ""), body)
        except Unscripted as error:
            await connection.answer(400, wire.error(Fault(400, str(error))))
            return
        streamed = bool(request.body.get("stream"))
        await asyncio.sleep(turn.delay)
        if turn.gate is not None:
            await connection.stand(self._gates[turn.gate])
        if turn.failure is not None and (turn.failure.after is None or not streamed):
            await _fail(connection, wire, turn.failure)
        elif turn.malformed == "html":
            await connection.answer(200, _HTML)
        elif streamed:
            await self._stream(connection, _events(wire, turn), turn)
        else:
            await self._answer(connection, _body(wire, turn), turn)

    async def _answer(self, connection: Connection, body: bytes, turn: Turn) -> None:
        if turn.stall is not None:
            await connection.stand(self._gates[turn.stall])
        cut = turn.truncate is not None
        sent = body[: len(body) // 2] if cut else body
        length = len(sent) if turn.clean else len(body)
        await connection.head(200, {"content-type": "application/json", "content-length": length})
        await connection.send(sent)
        if cut:
            raise Gone

    async def _stream(self, connection: Connection, events: list[bytes], turn: Turn) -> None:
        """Send a streamed answer; one that stalls at its first event does not even send the head before."""
        ends = len(events) if turn.truncate is None else turn.truncate
        if turn.stall is not None and turn.stall_after == 0:
            await connection.stand(self._gates[turn.stall])
        await connection.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for number, event in enumerate(events[:ends], 1):
            await connection.event(event)
            if turn.stall is not None and turn.stall_after == number:
                await connection.stand(self._gates[turn.stall])
        if turn.truncate is not None and not turn.clean:
            raise Gone
        await connection.event(b"")


async def _fail(connection: Connection, wire: Wire, failure: Failure) -> None:
    """Send an error. Whole seconds go into Retry-After, shorter times into the header of each provider."""
    seconds = failure.retry_after
    headers: dict[str, object] = {}
    if seconds is not None:
        headers = {"retry-after": int(seconds)} if seconds == int(seconds) else {"retry-after-ms": seconds * 1000}
    await connection.answer(failure.fault.status, wire.error(failure.fault), headers)


def _events(wire: Wire, turn: Turn) -> list[bytes]:
    events = wire.events(turn.reply)
    if turn.failure is not None:
        return [*events[: turn.failure.after], wire.error_event(turn.failure.fault)]
    name = events[0].split(b"\n", 1)[0] + b"\n" if events[0].startswith(b"event:") else b""
    if turn.malformed == "json":
        return [events[0], name + b'data: {"type": "mess\n\n']
    if turn.malformed == "shape":
        return [name + frame({"unexpected": True})]
    return events


def _body(wire: Wire, turn: Turn) -> bytes:
    whole: Json = {"unexpected": True} if turn.malformed == "shape" else wire.answer(turn.reply)
    text = json.dumps(whole).encode()
    return text[: len(text) // 2] if turn.malformed == "json" else text


async def _serve_until_killed(script: Mapping[str, Any], host: str, port: int) -> None:
    async with ModelServer(script, host=host, port=port) as server:
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model server on loopback.")
    parser.add_argument("script", type=Path, metavar="SCRIPT.json")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        script = json.loads(options.script.read_text(encoding="utf-8"))
        asyncio.run(_serve_until_killed(script, options.host, options.port))


if __name__ == "__main__":
    main()
