"""One client of `remit mcp`: the library of the protocol between its input and output."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from remit.aio import cancel_and_wait
from remit.dispatch.settings import load_settings
from remit.operations.folders import Folders
from remit.operations.served import Caller, Store
from remit.store.access import Person
from remit.store.database import open_database
from remit.surfaces.mcp.mcp_server import ContractServer
from remit.surfaces.mcp.wire import NOT_JSON, TOO_LONG, Wire, error_line


def serve_client(
    wire: Wire, lines: Iterable[bytes | None], answered: int | str | None, user: str, *, is_read_only: bool
) -> None:
    """Serve until the input ends or a signal stops the process. The answer to the request `answered` was sent."""
    asyncio.run(_Connection(wire, lines, answered).serve(user, is_read_only=is_read_only))


class _Connection:
    """One client: a thread reads its messages, the library answers them."""

    def __init__(self, wire: Wire, lines: Iterable[bytes | None], answered: int | str | None) -> None:
        self._wire = wire
        self._lines = lines
        self._answered = answered

    async def serve(self, user: str, *, is_read_only: bool) -> None:
        """Serve until the input ends or a signal stops the process."""
        keeper, here = StoreKeeper(), Path.cwd()
        person = Person(0, user, "operator")

        def find_caller(_: Any, roots: list[Path] | None) -> Caller:
            return Caller(person, "mcp", Folders(roots or [here], here), keeper.open)

        server = ContractServer(find_caller, is_read_only=is_read_only, asks_for_roots=True)
        to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](16)
        loop = asyncio.get_running_loop()
        serving = asyncio.create_task(server.serve(incoming, outgoing))
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, serving.cancel)
        threading.Thread(target=self._read, args=(to_server, loop), daemon=True).start()
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
        server: MemoryObjectSendStream[SessionMessage | Exception],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Pass the messages of the client to the library, in a thread: a read cannot be cancelled."""

        def wait_for(work: Any) -> None:
            asyncio.run_coroutine_threadsafe(work, loop).result()

        try:
            for line in self._lines:
                message = _message(line) if line is not None else None
                if message is not None:
                    wait_for(server.send(message))
                elif line is None or line.strip():
                    self._wire.send(error_line(TOO_LONG if line is None else NOT_JSON))
            wait_for(server.aclose())
        except Exception:  # noqa: BLE001 (the loop has ended, and the process with it)
            return

    async def _write(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Send what the library answers; its answer to the handshake was sent before."""
        dropped = self._answered
        async for one in messages:
            if dropped is not None and getattr(one.message, "id", None) == dropped:
                dropped = None
                continue
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            await asyncio.to_thread(self._wire.send, text.encode("utf-8", "replace") + b"\n")


def _message(line: bytes) -> SessionMessage | None:
    """Return a message, or None if it is not one."""
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
        if self._opened is None or (self._opened.done() and self._opened.exception() is not None):
            self._opened = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._keep(self._opened))
        return await asyncio.shield(self._opened)

    async def close(self) -> None:
        """Close the database, if it is open."""
        if self._task is not None:
            await cancel_and_wait(self._task)

    @staticmethod
    async def _keep(opened: asyncio.Future[Store]) -> None:
        try:
            settings = load_settings()
            async with open_database(settings.database, settings.data) as database:
                opened.set_result(Store(database, settings))
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001 (the call that needs the database reports it)
            if not opened.done():
                opened.set_exception(error)
