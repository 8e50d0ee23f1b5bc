"""`remit mcp`: the server over standard input and output.

The library of the protocol takes over a second to load, and some clients do not wait that long. Its answers to the
first requests are known before: `early_answers.json` has them. They are sent at once, while the library loads in the
background. Then the library gets the handshake again, so that it knows the client, and its answer to it is dropped.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import asyncio

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

    from remit.surfaces.mcp.tool_table import Store

#: Bytes of one message.
MAX_MESSAGE = 16 * 1024 * 1024
EARLY_ANSWERS = "early_answers.json"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
_CHUNK = 65_536
_NOT_JSON = {"code": -32700, "message": "this line is not a JSON-RPC message"}
_TOO_LONG = {"code": -32600, "message": f"a message can have at most {MAX_MESSAGE} bytes"}


def read_lines(descriptor: int) -> Iterator[bytes | None]:
    """Yield the lines of an input; None for one that is too long."""
    kept, is_skipped = bytearray(), False
    while chunk := os.read(descriptor, _CHUNK):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            kept += part
            yield None if is_skipped or len(kept) > MAX_MESSAGE else bytes(kept)
            kept, is_skipped = bytearray(), False
        kept += rest
        if len(kept) > MAX_MESSAGE:
            kept, is_skipped = bytearray(), True
    if is_skipped or kept:
        yield None if is_skipped else bytes(kept)


class EarlyAnswers:
    """Answers the first requests of a client like the library would. What it does not know is left to the library."""

    def __init__(self, table: dict[str, Any], *, is_read_only: bool) -> None:
        tools = [tool for tool in table["tools"] if tool["annotations"]["readOnlyHint"] or not is_read_only]
        self._versions: dict[str, dict[str, Any]] = {
            version: {method: _with_tools(answer, tools) for method, answer in answers.items()}
            for version, answers in table["versions"].items()
        }
        self._answers: dict[str, Any] = {}
        #: The messages of the handshake, which the library has to get too.
        self.handshake: list[bytes] = []
        #: The id of the request whose answer was sent for the library.
        self.answered: int | str | None = None

    def answer(self, line: bytes) -> bytes | None:
        """Return the answer to a message, an empty one for a notification, or None if the library must answer."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return None
        method, number, params = message.get("method"), message.get("id"), message.get("params")
        if method == "notifications/initialized" and self.handshake and number is None:
            self.handshake.append(line)
            return b""
        if isinstance(number, bool) or not isinstance(number, int | str):
            return None
        found = self._find(method, params)
        if found is None:
            return None
        if method == "initialize":
            self.handshake, self.answered = [line], number
        return encode({"jsonrpc": "2.0", "id": number, "result": found})

    def _find(self, method: Any, params: Any) -> Any:
        if method == "initialize":
            is_first = not self.handshake and isinstance(params, dict) and _is_handshake(params)
            self._answers = self._versions.get(params["protocolVersion"], {}) if is_first else {}
            return self._answers.get(method)
        meta = params.get("_meta") if isinstance(params, dict) else None
        if isinstance(meta, dict) and VERSION_KEY in meta:  # a protocol without handshake
            if self.handshake or set(params) != {"_meta"} or not _is_envelope(meta):
                return None
            return self._versions.get(meta[VERSION_KEY], {}).get(method)
        is_plain = params is None or (isinstance(params, dict) and not set(params) - {"_meta"})
        return self._answers.get(method) if is_plain and isinstance(method, str) else None


def _with_tools(answer: dict[str, Any], tools: list[Any]) -> dict[str, Any]:
    return {**answer, "tools": tools} if "tools" in answer else answer


def _is_handshake(params: dict[str, Any]) -> bool:
    client = params.get("clientInfo")
    return (
        isinstance(params.get("protocolVersion"), str)
        and isinstance(params.get("capabilities"), dict)
        and isinstance(client, dict)
        and isinstance(client.get("name"), str)
        and isinstance(client.get("version"), str)
    )


def _is_envelope(meta: dict[str, Any]) -> bool:
    client = meta.get(CLIENT_KEY, {"name": "", "version": ""})
    return (
        isinstance(meta[VERSION_KEY], str)
        and isinstance(meta.get(CAPABILITIES_KEY), dict)
        and isinstance(client, dict)
        and isinstance(client.get("name"), str)
        and isinstance(client.get("version"), str)
    )


def _error(error: dict[str, Any]) -> bytes:
    return encode({"jsonrpc": "2.0", "id": None, "error": error})


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as a line."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


class Wire(NamedTuple):
    """The client's end of standard input and output."""

    input: int
    output: int

    def send(self, line: bytes) -> None:
        """Send a line. A client that is gone ends the server by closing its input."""
        try:
            while line:
                line = line[os.write(self.output, line) :]
        except BrokenPipeError:
            pass


def claim_streams() -> Wire:
    """Take standard input and output away from everything else: what is printed by accident goes to the log."""
    wire = Wire(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire


def run_stdio(find_user: Callable[[], str], *, is_read_only: bool) -> None:
    """Serve the client that started this process, until it closes the input."""
    wire = claim_streams()
    lines = read_lines(wire.input)
    early = EarlyAnswers(_read_table(), is_read_only=is_read_only)
    loading: threading.Thread | None = None
    for line in lines:
        answer = _error(_TOO_LONG) if line is None else early.answer(line)
        if answer is None:
            break
        wire.send(answer)
        if loading is None:
            loading = threading.Thread(target=_load, daemon=True)
            loading.start()
    else:
        return
    if loading is not None:
        loading.join()  # two threads must not import parts of the same library at the same time
    import asyncio

    connection = _Connection(wire, lines, early)
    asyncio.run(connection.serve(line or b"", find_user(), is_read_only=is_read_only))


def _read_table() -> dict[str, Any]:
    path = os.path.join(os.path.dirname(__file__), EARLY_ANSWERS)  # noqa: PTH118, PTH120 (pathlib is slow to import)
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        table: dict[str, Any] = json.load(file)
    return table


def _load() -> None:
    import remit.surfaces.mcp.mcp_server  # noqa: F401 (so that it is loaded when it is needed)


class _Connection:
    """One client: a thread reads its messages, the library answers them."""

    def __init__(self, wire: Wire, lines: Iterator[bytes | None], early: EarlyAnswers) -> None:
        self._wire = wire
        self._lines = lines
        self._early = early

    async def serve(self, line: bytes, user: str, *, is_read_only: bool) -> None:
        """Serve until the input ends or a signal stops the process."""
        import asyncio
        import signal
        from pathlib import Path

        import anyio
        from mcp.shared.message import SessionMessage as Message

        from remit.store.access import Person
        from remit.surfaces.mcp.mcp_server import ContractServer
        from remit.surfaces.mcp.tool_table import Caller
        from remit.surfaces.requests.folders import Folders

        keeper, here = StoreKeeper(), Path.cwd()
        person = Person(0, user, "operator")

        def find_caller(_: Any, roots: list[Path] | None) -> Caller:
            return Caller(person, "mcp", Folders(roots or [here], here), keeper.open)

        server = ContractServer(find_caller, is_read_only=is_read_only, asks_for_roots=True)
        to_server, incoming = anyio.create_memory_object_stream[Message | Exception](16)
        outgoing, from_server = anyio.create_memory_object_stream[Message](16)
        loop = asyncio.get_running_loop()
        serving = asyncio.create_task(server.serve(incoming, outgoing))
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, serving.cancel)
        first = [*self._early.handshake, line]
        threading.Thread(target=self._read, args=(first, to_server, loop), daemon=True).start()
        writing = asyncio.create_task(self._write(from_server))
        try:
            await serving
        except asyncio.CancelledError:
            pass  # a signal
        finally:
            await outgoing.aclose()
            await writing
            await keeper.close()

    def _read(
        self,
        first: Sequence[bytes],
        server: MemoryObjectSendStream[SessionMessage | Exception],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Pass the messages of the client to the library, in a thread: a read cannot be cancelled."""
        import asyncio

        def wait_for(work: Any) -> None:
            asyncio.run_coroutine_threadsafe(work, loop).result()

        try:
            for line in chain(first, self._lines):
                message = _message(line) if line is not None else None
                if message is not None:
                    wait_for(server.send(message))
                elif line is None or line.strip():
                    self._wire.send(_error(_TOO_LONG if line is None else _NOT_JSON))
            wait_for(server.aclose())
        except Exception:  # noqa: BLE001 (the loop has ended, and the process with it)
            return

    async def _write(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Send what the library answers; its answer to the handshake was sent before."""
        import asyncio

        dropped = self._early.answered
        async for one in messages:
            if dropped is not None and getattr(one.message, "id", None) == dropped:
                dropped = None
                continue
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            await asyncio.to_thread(self._wire.send, text.encode("utf-8", "replace") + b"\n")


def _message(line: bytes) -> SessionMessage | None:
    """Return a message, or None if it is not one."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


class StoreKeeper:
    """Opens the database when a tool first needs it. One task opens and closes it, as its pool requires."""

    def __init__(self) -> None:
        self._opened: asyncio.Future[Store] | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> Store:
        """Return the open database. After a failure, the next call tries again."""
        import asyncio

        if self._opened is None or (self._opened.done() and self._opened.exception() is not None):
            self._opened = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._keep(self._opened))
        return await asyncio.shield(self._opened)

    async def close(self) -> None:
        """Close the database, if it is open."""
        from remit.aio import cancel_and_wait

        if self._task is not None:
            await cancel_and_wait(self._task)

    @staticmethod
    async def _keep(opened: asyncio.Future[Store]) -> None:
        import asyncio

        from remit.dispatch.settings import load_settings
        from remit.store.database import open_database
        from remit.surfaces.mcp.tool_table import Store

        try:
            settings = load_settings()
            async with open_database(settings.database, settings.data) as database:
                opened.set_result(Store(database, settings))
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001 (the call that needs the database reports it)
            if not opened.done():
                opened.set_exception(error)
