"""The application: all addresses of the server, behind the guard."""

from __future__ import annotations

import asyncio
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from remit import __version__
from remit.errors import EnvironmentBroken
from remit.extras import need_of
from remit.store.database import Patience
from remit.surfaces.server import job_pages, overview, plan_pages, session_pages, streams
from remit.surfaces.server.api_routes import OPERATIONS, PREFIX, openapi_document, route_of
from remit.surfaces.server.guard import Guard, cookie_of
from remit.surfaces.server.site import (
    HANDLERS,
    NotFound,
    Site,
    asset,
    caller_of,
    form_of,
    local_path,
    render,
    see_other,
    site_of,
)

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
            raise EnvironmentBroken(f"MCP over HTTP needs {need_of('mcp')}")
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


#: How long a request waits for the database.
_PATIENCE = Patience(retry_seconds=4.0, wait_seconds=2.0)
#: Requests whose documents are checked at the same time; the others wait.
_CHECKS = 2
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


async def login(request: Request) -> Response:
    """Exchange the link, or the token, for a session; without one, ask for it."""
    site = site_of(request)
    form = await form_of(request) if request.method == "POST" else {}
    secret = form.get("token", "") or request.query_params.get("token", "")
    target = local_path(form.get("next", "") or request.query_params.get("next", "/"))
    is_in_address = not form.get("token")
    cookie = site.sign_ins.begin(secret.strip(), is_in_address=is_in_address) if secret else None
    if cookie is None:
        problem = "This link was already used, is too old, or is not that of this server." if secret else ""
        return render(request, "login.html", status=403 if secret else 200, problem=problem, target=target)
    # Not a redirect: after a link on another site, the browser would not send the new cookie along.
    response = render(request, "continue.html", target=target)
    response.set_cookie(
        site.address.cookie, cookie, httponly=True, samesite="strict", secure=site.address.is_secure, path="/"
    )
    return response


async def logout(request: Request) -> Response:
    """End the session."""
    site = site_of(request)
    site.sign_ins.end(cookie_of(request.headers, site.address.cookie))
    response = see_other("/login")
    response.delete_cookie(site.address.cookie, httponly=True, samesite="strict", path="/")
    return response


async def static(request: Request) -> Response:
    """Return a style, a script or an image of this package."""
    name = request.path_params["name"]
    kind = next((kind for ending, kind in _TYPES.items() if name.endswith(ending)), None)
    file = files("remit.surfaces.server") / "static" / name
    if kind is None or "/" in name or not file.is_file():
        raise NotFound(f"there is no file {name}")
    is_current = request.url.query == asset(name).partition("?")[2]
    age = "public, max-age=31536000, immutable" if is_current else "no-cache"
    return Response(file.read_bytes(), media_type=kind, headers={"cache-control": age})


async def health(_: Request) -> Response:
    """Answer that the server runs, also while its database is unavailable."""
    return Response("ok\n", media_type="text/plain")


async def ready(request: Request) -> Response:
    """Answer whether the server can answer requests: its database is available."""
    await site_of(request).database.rows("workers.clock")
    return Response("ok\n", media_type="text/plain")


async def openapi(_: Request) -> Response:
    """Describe the API for programs."""
    document = msgspec.json.encode(openapi_document(OPERATIONS, __version__))
    return Response(document, media_type="application/json")


def build_app(site: Site) -> ASGIApp:
    """Return the application."""
    site = site._replace(database=site.database.within(_PATIENCE))
    routes = [
        Route("/login", login, methods=["GET", "POST"]),
        Route("/logout", logout, methods=["POST"]),
        Route("/health", health),
        Route("/ready", ready),
        Route("/static/{name}", static),
        Route("/live", streams.live),
        *overview.ROUTES,
        *job_pages.ROUTES,
        *plan_pages.ROUTES,
        *session_pages.ROUTES,
        Route(f"{PREFIX}/openapi.json", openapi),
        *map(route_of, OPERATIONS),
    ]
    checks = asyncio.Semaphore(_CHECKS)
    routes.append(Route("/mcp", McpEndpoint(), methods=["POST"]))
    app = Starlette(routes=routes, exception_handlers=HANDLERS)
    app.state.site = site
    app.state.streams = streams.StreamCount()
    app.state.checks = checks
    return Guard(app, site)
