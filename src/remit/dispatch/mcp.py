"""MCP servers as toolsets: named `mcp__server__tool`, allowed like any tool, each call written down like any call.

Servers are the configuration's: a definition names them. What they answer is text from outside, like a file.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shlex
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TextIO

from fastmcp.client import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai import RunContext, exceptions
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import to_json

from remit.dispatch.redact import redact
from remit.dispatch.runners import resolve_program
from remit.dispatch.tools.model import ToolOutput, ToolSpec
from remit.dispatch.tools.output import cap_text
from remit.dispatch.tools.toolbox import recorded_arguments
from remit.dispatch.toolset import Calls
from remit.errors import UsageError
from remit.evidence.receipts import Receipt
from remit.registry.model import Brief
from remit.registry.tools import AllowList, KnownTool, server_of
from remit.store.storable import to_storable

log = logging.getLogger("remit.worker")
MAX_OUTPUT = 30_000
_SECONDS = 120.0
#: What a server's process may know of our environment.
_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TERM")
#: What providers take as the name of a tool.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_complaints_log = logging.getLogger("remit.worker")
MAX_LINES = 20
MAX_LINE = 300
#: How long a server's last words may take; whatever it started may hold its standard error open for ever.
_LAST_SECONDS = 1.0


class ServerPool(NamedTuple):
    """How long answers are kept: where the whole of one goes, and whether it is looked through before."""

    spill: Path | None = None
    is_redacting: bool = True


def mcp_toolsets(
    brief: Brief,
    servers: Mapping[str, str],
    calls: Calls,
    root: Path,
    keeping: ServerPool = ServerPool(),  # noqa: B008 (it never changes)
) -> list[AbstractToolset[None]]:
    """The servers that a brief names, as far as its tools allow."""
    allowed = AllowList(brief.tools)
    granted = {server_of(name) for name in brief.tools}
    wanted = [name for name in brief.mcp_servers if name in granted]
    return [ServerTools(name, _client(name, servers, root), allowed, calls, keeping) for name in wanted]


def _client(name: str, servers: Mapping[str, str], root: Path) -> Client[Any]:
    where = servers.get(name)
    if where is None:
        raise UsageError(f"this worker has no MCP server {name!r} under `mcp_servers` in its configuration")
    if where.startswith(("http://", "https://")):
        return Client(StreamableHttpTransport(where), timeout=_SECONDS)
    passed = {variable: os.environ[variable] for variable in _PASSED if variable in os.environ}
    program, arguments = _program(name, where, passed)
    return Client(StdioTransport(program, arguments, env=passed, cwd=str(root), keep_alive=False), timeout=_SECONDS)


def _program(name: str, line: str, environment: Mapping[str, str]) -> tuple[str, list[str]]:
    """The program of a server and its arguments; never one of the checkout's own, in which it runs."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"the command line of the MCP server {name!r} cannot be read: {error}") from error
    if not words or ("/" in words[0] and not words[0].startswith("/")):
        raise UsageError(f"the MCP server {name!r} must name a program on the PATH or an absolute path")
    try:
        return resolve_program(words, environment), words[1:]
    except OSError as error:
        raise UsageError(f"the MCP server {name!r} cannot be started: {words[0]}: {error.strerror}") from error


class ServerTools(AbstractToolset[None]):
    """The tools of one server."""

    def __init__(
        self,
        server: str,
        client: Client[Any],
        allowed: AllowList,
        calls: Calls,
        keeping: ServerPool = ServerPool(),  # noqa: B008 (it never changes)
    ) -> None:
        self._server = server
        self._transport = client.transport
        self._wrapped: MCPToolset[None] = MCPToolset(client, id=server, tool_error_behavior="error")
        self._allowed = allowed
        self._calls = calls
        self._keeping = keeping
        self._left_out: set[str] = set()
        self._open = AsyncExitStack()

    @property
    def id(self) -> str:
        """Its name, for messages."""
        return f"mcp-{self._server}"

    async def __aenter__(self) -> ServerTools:
        async with AsyncExitStack() as opening:
            if isinstance(self._transport, StdioTransport):
                self._transport.log_file = (await opening.enter_async_context(StderrLogger(self._server))).file
            try:
                await opening.enter_async_context(self._wrapped)
            except Exception as error:  # whatever a server does, the job ends with it in words
                raise self._unusable(error) from error
            self._open = opening.pop_all()
        return self

    async def __aexit__(self, *args: Any) -> bool | None:
        return await self._open.__aexit__(*args)

    def _unusable(self, error: Exception) -> UsageError:
        said = sanitize_line(" ".join(str(error)[:2_000].split()))[:300] or type(error).__name__
        return UsageError(f"the MCP server {self._server!r} cannot be used: {said}")

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        """The server's tools that the brief grants, under their long names; without those that no provider takes."""
        try:
            async with asyncio.timeout(_SECONDS):
                listed = await self._wrapped.get_tools(ctx)
        except TimeoutError as error:
            raise self._unusable(TimeoutError(f"it did not list its tools in {_SECONDS:g} seconds")) from error
        except Exception as error:
            raise self._unusable(error) from error
        found: dict[str, ToolsetTool[None]] = {}
        for name, tool in listed.items():
            long_name = f"mcp__{self._server}__{name}"
            if not _NAME.fullmatch(long_name):
                self._warn(name)
            elif self._allowed.granted(KnownTool(long_name)):
                definition = replace(tool.tool_def, name=long_name, sequential=True)
                found[long_name] = replace(tool, toolset=self, tool_def=definition)
        return found

    def _warn(self, name: str) -> None:
        """Say once that a tool is left out."""
        if name not in self._left_out:
            self._left_out.add(name)
            log.warning(
                "a tool of the MCP server %s is left out, for no provider takes its name %s: with the server's it may "
                "have 64 letters, digits, _ and -",
                self._server,
                sanitize_line(repr(name[:100])),
            )

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> str:
        """Answer a call. It is not run again after a crash: nobody knows what it does."""
        own = name.removeprefix(f"mcp__{self._server}__")
        spec = ToolSpec(name=name, description="", schema={}, is_read_only=False, is_repeatable=False)

        async def run(arguments: dict[str, Any], key: str) -> ToolOutput:
            failed = True
            try:
                answer = await self._wrapped.direct_call_tool(own, arguments)
                text = answer if isinstance(answer, str) else to_json(answer, fallback=str).decode()
                failed = False
            except (exceptions.ModelRetry, exceptions.ToolFailed) as error:
                text = str(error)
            except Exception as error:  # noqa: BLE001 (whatever a server does, the model is told and the job goes on)
                text = f"{type(error).__name__}: {error}"
            text = await asyncio.to_thread(self._shown, text, key)
            return ToolOutput(text, Receipt(tool=name, arguments=recorded_arguments(arguments), failed=failed), failed)

        return await self._calls.answer(ctx.tool_call_id or name, spec, tool_args, run)

    def _shown(self, text: str, key: str) -> str:
        """As much of an answer as the model is told; all of it is in a file that it can read, like any tool's."""
        if len(text) <= MAX_OUTPUT:
            return text
        text = to_storable(text)
        if self._keeping.is_redacting:  # before it is cut: the rest goes to a file
            text = redact(text)
        if self._keeping.spill is None:
            return f"{text[:MAX_OUTPUT]}\n[{max(len(text) - MAX_OUTPUT, 0):,} more characters were left out]"
        return cap_text(text, MAX_OUTPUT, self._keeping.spill, key).text


def sanitize_line(text: str) -> str:
    """One line of text from outside, without secrets and without what a terminal would obey."""
    return "".join(one if one.isprintable() else "\ufffd" for one in redact(text))


class StderrLogger:
    """A pipe for the standard error of one server; `file` is the end for its process."""

    def __init__(self, server: str) -> None:
        self._server = server
        self.file: TextIO | None = None
        self._lines: _Lines | None = None
        self._transport: asyncio.ReadTransport | None = None

    async def __aenter__(self) -> StderrLogger:
        reading, writing = os.pipe()
        lines = self._lines = _Lines(self._server)
        pipe = os.fdopen(reading, "rb", buffering=0)
        self.file = os.fdopen(writing, "w", encoding="utf-8")
        self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: lines, pipe)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.file is not None:
            self.file.close()
        if self._lines is not None and self._transport is not None:
            await asyncio.wait([self._lines.ended], timeout=_LAST_SECONDS)
            self._transport.close()
            self._lines.ended.cancel()


class _Lines(asyncio.Protocol):
    """Tells the first lines that come; the rest is read and dropped, so that the server does not wait."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._line = bytearray()
        self._told = 0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        """Some more of it."""
        *whole, rest = data.split(b"\n") if self._told <= MAX_LINES else [b""]
        for part in whole:
            self._add(part)
            self._tell()
        self._add(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of it."""
        self._tell()
        if not self.ended.done():
            self.ended.set_result(None)

    def _add(self, part: bytes) -> None:
        self._line += part[: MAX_LINE * 4 - len(self._line)]  # a character has up to four bytes

    def _tell(self) -> None:
        text = sanitize_line(self._line.decode("utf-8", "replace").strip())[:MAX_LINE]
        self._line.clear()
        if not text or self._told > MAX_LINES:
            return
        self._told += 1
        if self._told > MAX_LINES:
            _complaints_log.warning("the MCP server %s says more, which is left out", self._server)
        else:
            _complaints_log.warning("the MCP server %s says: %s", self._server, text)
