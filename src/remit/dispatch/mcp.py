"""MCP servers as toolsets: named `mcp__server__tool`, allowed like any tool, each call written down like any call.

Servers are the configuration's: a definition names them. What they answer is text from outside, like a file.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastmcp.client import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai import RunContext, exceptions
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import to_json

from remit.dispatch.tools.model import ToolOutput, ToolSpec
from remit.dispatch.toolset import Calls
from remit.errors import UsageError
from remit.evidence.receipts import Receipt
from remit.registry.model import Brief
from remit.registry.tools import AllowList, Tool, server_of

MAX_OUTPUT = 30_000
_SECONDS = 120.0
#: What a server's process may know of our environment.
_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TERM")


def mcp_toolsets(brief: Brief, servers: Mapping[str, str], calls: Calls, root: Path) -> list[AbstractToolset[None]]:
    """The servers that a brief names, as far as its tools allow."""
    allowed = AllowList(brief.tools)
    granted = {server_of(name) for name in brief.tools}
    wanted = [name for name in brief.mcp_servers if name in granted]
    return [ServerTools(name, _client(name, servers, root), allowed, calls) for name in wanted]


def _client(name: str, servers: Mapping[str, str], root: Path) -> Client[Any]:
    where = servers.get(name)
    if where is None:
        raise UsageError(f"this worker has no MCP server {name!r} under `mcp_servers` in its configuration")
    if where.startswith(("http://", "https://")):
        return Client(StreamableHttpTransport(where), timeout=_SECONDS)
    program, *arguments = shlex.split(where)
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    return Client(StdioTransport(program, arguments, env=passed, cwd=str(root), keep_alive=False), timeout=_SECONDS)


class ServerTools(AbstractToolset[None]):
    """The tools of one server."""

    def __init__(self, server: str, client: Client[Any], allowed: AllowList, calls: Calls) -> None:
        self._server = server
        self._wrapped: MCPToolset[None] = MCPToolset(client, id=server, tool_error_behavior="error")
        self._allowed = allowed
        self._calls = calls

    @property
    def id(self) -> str:
        """Its name, for messages."""
        return f"mcp-{self._server}"

    async def __aenter__(self) -> ServerTools:
        try:
            await self._wrapped.__aenter__()
        except Exception as error:  # whatever a server does, the job ends with it in words
            said = " ".join(str(error).split())[:300] or type(error).__name__
            raise UsageError(f"the MCP server {self._server!r} cannot be used: {said}") from error
        return self

    async def __aexit__(self, *args: Any) -> bool | None:
        return await self._wrapped.__aexit__(*args)

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        """The server's tools that the brief grants, under their long names."""
        found: dict[str, ToolsetTool[None]] = {}
        for name, tool in (await self._wrapped.get_tools(ctx)).items():
            long_name = f"mcp__{self._server}__{name}"
            if self._allowed.granted(Tool(long_name)):
                definition = replace(tool.tool_def, name=long_name, sequential=True)
                found[long_name] = replace(tool, toolset=self, tool_def=definition)
        return found

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> str:
        """Answer a call. It is not run again after a crash: nobody knows what it does."""
        own = name.removeprefix(f"mcp__{self._server}__")
        spec = ToolSpec(name=name, description="", schema={}, is_read_only=False, is_repeatable=False)

        async def run(arguments: dict[str, Any], _: str) -> ToolOutput:
            try:
                answer = await self._wrapped.direct_call_tool(own, arguments)
            except (exceptions.ModelRetry, exceptions.ToolFailed) as error:
                return self._output(name, arguments, str(error), failed=True)
            except Exception as error:  # noqa: BLE001 (whatever a server does, the model is told and the job goes on)
                return self._output(name, arguments, f"{type(error).__name__}: {error}", failed=True)
            text = answer if isinstance(answer, str) else to_json(answer, fallback=str).decode()
            return self._output(name, arguments, text)

        return await self._calls.answer(ctx.tool_call_id or name, spec, tool_args, run)

    def _output(self, name: str, arguments: dict[str, Any], text: str, *, failed: bool = False) -> ToolOutput:
        if len(text) > MAX_OUTPUT:
            text = f"{text[:MAX_OUTPUT]}\n[{len(text) - MAX_OUTPUT} more characters were left out]"
        return ToolOutput(text=text, receipt=Receipt(tool=name, arguments=arguments, failed=failed), failed=failed)
