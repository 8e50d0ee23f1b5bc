"""MCP servers as toolsets: their tools are named `mcp__server__tool`, and are allowed and recorded like any tool.

The configuration defines the servers; a definition names the ones it uses. Their answers are untrusted text.
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

from remit.dispatch.runners import resolve_program
from remit.dispatch.tools.tool_types import ToolOutput, ToolSpec, cap_text
from remit.dispatch.tools.toolbox import recorded_arguments
from remit.dispatch.toolset import Calls
from remit.errors import UsageError
from remit.evidence.receipts import Receipt
from remit.registry.definition import Brief
from remit.registry.tools import AllowList, KnownTool, server_of
from remit.secrets.scan import redact
from remit.store.storable import to_storable

log = logging.getLogger("remit.worker")
# The library prints what a server sends to the terminal.
logging.getLogger("fastmcp").handlers = [logging.NullHandler()]
#: Characters of an answer that are sent to the model.
MAX_OUTPUT = 30_000
_TIMEOUT_SECONDS = 120.0
#: The variables of the environment that a server's process gets.
_PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TERM")
#: The tool names that all providers accept.
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
#: Characters of the definitions of a server's tools, which are sent to the model in each turn.
_MAX_DEFINITIONS = 100_000
#: Lines of a server's standard error that are logged, and characters of each.
MAX_LINES = 20
MAX_LINE = 300
#: How long to wait for the end of a server's standard error; a descendant may keep it open for ever.
_STDERR_END_SECONDS = 1.0


class LongOutputs(NamedTuple):
    """Where long answers are stored as a whole, and whether secrets are removed from them first."""

    spill: Path | None = None
    is_redacting: bool = True


def mcp_toolsets(
    brief: Brief,
    servers: Mapping[str, str],
    calls: Calls,
    root: Path,
    long_outputs: LongOutputs = LongOutputs(),  # noqa: B008 (it never changes)
) -> list[AbstractToolset[None]]:
    """Return the toolsets of the servers that a brief names and its tools allow."""
    allowed = AllowList(brief.tools)
    granted = {server_of(name) for name in brief.tools}
    wanted = [name for name in brief.mcp_servers if name in granted]
    return [ServerTools(name, _client(name, servers, root), allowed, calls, long_outputs) for name in wanted]


def _client(name: str, servers: Mapping[str, str], root: Path) -> Client[Any]:
    address = servers.get(name)
    if address is None:
        raise UsageError(f"this worker has no MCP server {name!r} under `mcp_servers` in its configuration")
    if address.startswith(("http://", "https://")):
        return Client(StreamableHttpTransport(address), timeout=_TIMEOUT_SECONDS, log_handler=_ignore)
    environment = {variable: os.environ[variable] for variable in _PASSED_VARIABLES if variable in os.environ}
    program, arguments = _program(name, address, environment)
    transport = StdioTransport(program, arguments, env=environment, cwd=str(root), keep_alive=False)
    return Client(transport, timeout=_TIMEOUT_SECONDS, log_handler=_ignore)


async def _ignore(message: object) -> None:
    """Ignore a message that a server sends to be logged: there may be any number, with terminal escapes."""


def _program(name: str, line: str, environment: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the program of a server and its arguments. It runs in the checkout but must not be a file of it."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"the command line of the MCP server {name!r} cannot be parsed: {error}") from error
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
        long_outputs: LongOutputs = LongOutputs(),  # noqa: B008 (it never changes)
    ) -> None:
        self._server = server
        self._transport = client.transport
        self._wrapped: MCPToolset[None] = MCPToolset(client, id=server, tool_error_behavior="error")
        self._allowed = allowed
        self._calls = calls
        self._long_outputs = long_outputs
        self._skipped: set[str] = set()
        self._open = AsyncExitStack()

    @property
    def id(self) -> str:
        """Return the name that messages use."""
        return f"mcp-{self._server}"

    async def __aenter__(self) -> ServerTools:
        async with AsyncExitStack() as opening:
            if isinstance(self._transport, StdioTransport):
                self._transport.log_file = (await opening.enter_async_context(StderrLogger(self._server))).file
            try:
                await opening.enter_async_context(self._wrapped)
            except Exception as error:  # any failure of a server ends the job with a message
                raise self._unusable(error) from error
            self._open = opening.pop_all()
        return self

    async def __aexit__(self, *args: Any) -> bool | None:
        return await self._open.__aexit__(*args)

    def _unusable(self, error: Exception) -> UsageError:
        error_text = sanitize_line(" ".join(str(error)[:2_000].split()))[:300] or type(error).__name__
        return UsageError(f"the MCP server {self._server!r} cannot be used: {error_text}")

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        """Return the server's tools that the brief grants, under their long names, if providers accept these names."""
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                listed = await self._wrapped.get_tools(ctx)
        except TimeoutError as error:
            timeout = TimeoutError(f"it did not list its tools in {_TIMEOUT_SECONDS:g} seconds")
            raise self._unusable(timeout) from error
        except Exception as error:
            raise self._unusable(error) from error
        tools: dict[str, ToolsetTool[None]] = {}
        size = 0
        for name, tool in listed.items():
            long_name = f"mcp__{self._server}__{name}"
            if not _TOOL_NAME.fullmatch(long_name):
                why = "with the server's name, a tool name can have at most 64 letters, digits, _ and -"
                self._warn_skipped(name, why)
            elif self._allowed.granted(KnownTool(long_name)):
                definition = replace(tool.tool_def, name=long_name, sequential=True)
                own = len(definition.description or "") + len(to_json(definition.parameters_json_schema))
                if size + own > _MAX_DEFINITIONS:
                    why = f"the definitions of a server's tools can have at most {_MAX_DEFINITIONS:,} characters"
                    self._warn_skipped(name, why)
                    continue
                size += own
                tools[long_name] = replace(tool, toolset=self, tool_def=definition)
        return tools

    def _warn_skipped(self, name: str, why: str) -> None:
        """Log once that a tool is skipped; for a server with many such tools, name the first ones only."""
        if name not in self._skipped and len(self._skipped) < MAX_LINES:
            self._skipped.add(name)
            shown = sanitize_line(repr(name[:100]))
            log.warning("the tool %s of the MCP server %s is skipped: %s", shown, self._server, why)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> str:
        """Answer a call. It is not repeated after a crash, because its effects are unknown."""
        short_name = name.removeprefix(f"mcp__{self._server}__")
        spec = ToolSpec(name=name, description="", schema={}, is_read_only=False, is_repeatable=False)

        async def run(arguments: dict[str, Any], key: str) -> ToolOutput:
            failed = True
            try:
                answer = await self._wrapped.direct_call_tool(short_name, arguments)
                text = answer if isinstance(answer, str) else to_json(answer, fallback=str).decode()
                failed = False
            except (exceptions.ModelRetry, exceptions.ToolFailed) as error:
                text = str(error)
            except Exception as error:  # noqa: BLE001 (the model gets the error, and the job continues)
                text = f"{type(error).__name__}: {error}"
            text = await asyncio.to_thread(self._capped, text, key)
            return ToolOutput(text, Receipt(tool=name, arguments=recorded_arguments(arguments), failed=failed), failed)

        return await self._calls.answer(ctx.tool_call_id or name, spec, tool_args, run)

    def _capped(self, text: str, key: str) -> str:
        """Return the part of an answer that is sent to the model. The whole answer is stored in a file it can read."""
        if len(text) <= MAX_OUTPUT:
            return text
        text = to_storable(text)
        if self._long_outputs.is_redacting:  # before it is cut: the whole text goes to a file
            text = redact(text)
        if self._long_outputs.spill is None:
            return f"{text[:MAX_OUTPUT]}\n[{max(len(text) - MAX_OUTPUT, 0):,} more characters were left out]"
        return cap_text(text, MAX_OUTPUT, self._long_outputs.spill, key).text


def sanitize_line(text: str) -> str:
    """Return one line of untrusted text without secrets and control characters."""
    return "".join(character if character.isprintable() else "\ufffd" for character in redact(text))


class StderrLogger:
    """Forwards the standard error of one server to the log. `file` is the end of the pipe for the server's process."""

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
            await asyncio.wait([self._lines.ended], timeout=_STDERR_END_SECONDS)
            self._transport.close()
            self._lines.ended.cancel()


class _Lines(asyncio.Protocol):
    """Logs the first lines. The rest is read and dropped, so that the server does not block."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._line = bytearray()
        self._logged = 0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        """Log the complete lines, and keep the rest."""
        *complete, rest = data.split(b"\n") if self._logged <= MAX_LINES else [b""]
        for part in complete:
            self._add(part)
            self._log()
        self._add(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        """Log the last line."""
        self._log()
        if not self.ended.done():
            self.ended.set_result(None)

    def _add(self, part: bytes) -> None:
        self._line += part[: MAX_LINE * 4 - len(self._line)]  # a character has up to four bytes

    def _log(self) -> None:
        text = sanitize_line(self._line.decode("utf-8", "replace").strip())[:MAX_LINE]
        self._line.clear()
        if not text or self._logged > MAX_LINES:
            return
        self._logged += 1
        if self._logged > MAX_LINES:
            log.warning("the MCP server %s printed more, which is not logged", self._server)
        else:
            log.warning("the MCP server %s printed: %s", self._server, text)
