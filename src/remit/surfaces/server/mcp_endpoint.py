"""`/mcp`: the MCP server over HTTP, for callers with a token, within their role.

No session is kept, so the role is that of the token that the request carries. Answers are
JSON, not streams: they do not keep the server from stopping.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from remit.errors import EnvironmentBroken
from remit.surfaces.server.operations import caller_of
from remit.surfaces.server.site import person_of

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


#: Bytes of one message, as over standard input.
_MAX_MESSAGE = 16 * 1024 * 1024


class McpEndpoint:
    """Answers requests to `/mcp`. The library of the protocol is loaded for the first one: it takes over a second."""

    def __init__(self) -> None:
        self._starting = asyncio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; the guard has checked who sends it."""
        if find_spec("mcp") is None:
            raise EnvironmentBroken("MCP over HTTP needs the extra remit[mcp]: pip install 'remit[mcp]'")
        person_of(Request(scope))
        async with self._starting:
            if self._manager is None:
                await self._start()
        assert self._manager is not None  # noqa: S101 (it has just been set)
        await self._manager.handle_request(scope, receive, send)

    async def _start(self) -> None:
        manager = await asyncio.to_thread(self._build)
        started = asyncio.Event()

        async def run() -> None:
            async with manager.run():  # one task opens and closes it
                started.set()
                await asyncio.Event().wait()

        self._running = asyncio.create_task(run())
        await started.wait()
        self._manager = manager

    def _build(self) -> StreamableHTTPSessionManager:
        from mcp.server.transport_security import TransportSecuritySettings

        from remit.surfaces.mcp.mcp_server import ContractServer

        server = ContractServer(lambda request, _: caller_of(request), is_read_only=False, asks_for_roots=False)
        server.streamable_http_app(
            json_response=True,
            stateless_http=True,
            max_request_body_size=_MAX_MESSAGE,
            # The guard compares host and origin with the addresses of this server.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        return server.session_manager
