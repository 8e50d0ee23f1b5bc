"""Check every request before anything else sees it: host, origin, size and who sends it; add the security headers.

A page of another site can send requests to this server from a person's browser, by a link, a form or a name that
resolves to this machine. The header `Host` must name this server, a write must come from a page of this server or
carry the token, and cookies are not sent along with requests of other sites (SameSite=Strict).
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remit.surfaces.server.site import Site, problem_response, render, see_other

MAX_BODY = 1024 * 1024
#: Documents may be larger.
MAX_DOCUMENT = 64 * 1024 * 1024
_LARGE = ("/api/v1/check", "/api/v1/verify", "/api/v1/merge", "/mcp")
_MAX_HEADERS = 100
#: Requests that are answered at the same time, streams included.
MAX_REQUESTS = 500
_MAX_HEAD = 32 * 1024
_SAFE = ("GET", "HEAD")
#: Addresses that need no session: the login page and what it consists of.
_OPEN = ("/login", "/static/", "/health", "/ready")
_API = ("/api/", "/mcp")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # Not `no-referrer`: browsers would send `Origin: null` with the forms of our own pages.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-frame-options": "DENY",
}


class _Refusal(NamedTuple):
    """Why a request is refused."""

    status: int
    title: str
    details: str


class Guard:
    """The outermost part of the application."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site
        self._origins = {f"{scheme}://{host}" for host in site.address.hosts for scheme in _schemes(site)}
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            return
        if self._open >= MAX_REQUESTS:
            busy = problem_response(503, "Too many requests at a time", f"the limit is {MAX_REQUESTS}; try again later")
            await busy(scope, receive, send)
            return
        self._open += 1
        try:
            await self._answer(scope, receive, send)
        finally:
            self._open -= 1

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        scope.setdefault("state", {})["is_signed_in"] = is_signed_in = self._is_signed_in(headers)
        sender = _HeaderSender(send, is_secure=self._site.address.is_secure, path=scope["path"])
        refusal = self._refusal(scope, headers)
        response: Response | None = None
        if refusal is not None:
            response = _refused(scope, refusal)
        elif not is_signed_in and not scope["path"].startswith(_OPEN):
            response = _sign_in(scope, headers)
        if response is not None:
            await response(scope, receive, sender)
            return
        body = _BoundedBody(receive, MAX_DOCUMENT if scope["path"].startswith(_LARGE) else MAX_BODY)
        await self._app(scope, body, sender)

    def _refusal(self, scope: Scope, headers: Headers) -> _Refusal | None:
        size = sum(len(name) + len(value) for name, value in scope["headers"]) + len(scope["query_string"])
        if len(scope["headers"]) > _MAX_HEADERS or size > _MAX_HEAD:
            return _Refusal(
                431, "The headers are too large", f"the limit is {_MAX_HEADERS} headers and {_MAX_HEAD} bytes"
            )
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._site.address.hosts:
            return _Refusal(
                421, "Unknown host", f"this server is {self._site.address.url}; `remit serve --url` sets another name"
            )
        length = headers.get("content-length", "0")
        limit = MAX_DOCUMENT if scope["path"].startswith(_LARGE) else MAX_BODY
        if not length.isdecimal() or int(length[:20]) > limit:
            return _Refusal(413, "The request is too large", f"the limit is {limit >> 20} MB")
        origins = headers.getlist("origin")
        has_token = "authorization" in headers
        other = next((origin for origin in origins if origin.lower() not in self._origins), None)
        if other is not None:
            return _Refusal(403, "A request of another site", f"the origin {other[:200]!r} is not this server")
        if scope["method"] not in _SAFE and not origins and not has_token:
            return _Refusal(403, "The origin is missing", "send the header Origin, or a token in Authorization")
        return None

    def _is_signed_in(self, headers: Headers) -> bool:
        """Return whether a request has the token, or else the cookie of a session."""
        authorization = headers.get("authorization")
        if authorization is not None:
            scheme, _, secret = authorization.partition(" ")
            return scheme.lower() == "bearer" and self._site.sign_ins.is_token(secret)
        return self._site.sign_ins.is_session(cookie_of(headers, self._site.address.cookie))


def cookie_of(headers: Headers, name: str) -> str:
    """Return a cookie of a request, or an empty text."""
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""


def _schemes(site: Site) -> tuple[str, ...]:
    return ("https",) if site.address.is_secure else ("http",)


def _refused(scope: Scope, refusal: _Refusal) -> Response:
    if scope["path"].startswith(_API):
        return problem_response(refusal.status, refusal.title, refusal.details)
    return render(Request(scope), "error.html", status=refusal.status, title=refusal.title, details=refusal.details)


def _sign_in(scope: Scope, headers: Headers) -> Response:
    """Return the answer to a request without a valid session or token."""
    if scope["path"].startswith(_API) or "authorization" in headers:
        response = problem_response(
            401, "Not signed in", "send the token of the server's REMIT_SERVER_TOKEN: Authorization: Bearer TOKEN"
        )
        response.headers["www-authenticate"] = "Bearer"
        return response
    if scope["path"] == "/live":
        return problem_response(401, "Not signed in", "the session has ended; load the page again")
    if headers.get("sec-fetch-site") == "cross-site" and scope["method"] in _SAFE:
        # The link is on a page of another site, so the browser did not send the cookie. From a page of this server it
        # does.
        return render(Request(scope), "continue.html", target=_address(scope))
    return see_other(f"/login?next={quote(_address(scope), safe='')}" if scope["method"] in _SAFE else "/login")


def _address(scope: Scope) -> str:
    query = scope["query_string"].decode("latin-1")
    return f"{quote(scope['path'])}?{query}" if query else quote(scope["path"])


class _BoundedBody:
    """Receives the body of a request, up to a limit."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._received = 0
        self._limit = limit

    async def __call__(self) -> Message:
        message = await self._receive()
        self._received += len(message.get("body", b""))
        if self._received > self._limit:
            raise HTTPException(413)
        return message


class _HeaderSender:
    """Sends a response with the security headers."""

    def __init__(self, send: Send, *, is_secure: bool, path: str) -> None:
        self._send = send
        self._is_secure = is_secure
        self._is_static = path.startswith("/static/")

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            if not self._is_static:
                headers["cache-control"] = "no-store"
            if self._is_secure:
                headers["strict-transport-security"] = "max-age=31536000"
        await self._send(message)
