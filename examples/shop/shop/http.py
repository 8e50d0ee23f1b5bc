"""Requests, responses and routes: the little of HTTP that the shop needs."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl

LONGEST_BODY = 64 * 1024
COOKIE = "session"


class HttpError(Exception):
    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, str]
    body: bytes
    signature: str = ""
    token: str = ""

    @classmethod
    def from_wsgi(cls, environ: dict) -> "Request":
        length = whole_number(environ.get("CONTENT_LENGTH", ""), otherwise=0)
        if length > LONGEST_BODY:
            raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "That is too much.")
        return cls(
            method=environ["REQUEST_METHOD"],
            path=environ.get("PATH_INFO") or "/",
            query=dict(parse_qsl(environ.get("QUERY_STRING", ""))),
            body=environ["wsgi.input"].read(length) if length else b"",
            signature=environ.get("HTTP_X_SIGNATURE", ""),
            token=_session_cookie(environ.get("HTTP_COOKIE", "")),
        )

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True))


def _session_cookie(header: str) -> str:
    try:
        cookies = SimpleCookie(header)
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""


def whole_number(text: str, otherwise: int) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else otherwise


@dataclass
class Response:
    body: str = ""
    status: HTTPStatus = HTTPStatus.OK
    headers: dict[str, str] = field(default_factory=dict)

    def remember(self, token: str) -> "Response":
        """Set the session cookie; SameSite keeps other sites from posting forms with it."""
        self.headers["Set-Cookie"] = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax"
        return self


def redirect(place: str) -> Response:
    return Response("", HTTPStatus.SEE_OTHER, {"Location": place})


class Router:
    def __init__(self) -> None:
        self._routes: list[tuple[str, re.Pattern[str], Callable[..., Response]]] = []

    def add(self, method: str, pattern: str, handler: Callable[..., Response]) -> None:
        """Add a route; `<name>` in the pattern is a whole number handed to the handler."""
        expression = re.sub(r"<(\w+)>", r"(?P<\1>[0-9]{1,9})", pattern)
        self._routes.append((method, re.compile(expression), handler))

    def match(self, request: Request) -> tuple[Callable[..., Response], dict[str, int]]:
        allowed = False
        for method, expression, handler in self._routes:
            found = expression.fullmatch(request.path)
            if found and method == request.method:
                return handler, {name: int(value) for name, value in found.groupdict().items()}
            allowed = allowed or bool(found)
        if allowed:
            raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, "That does not work this way.")
        raise HttpError(HTTPStatus.NOT_FOUND, "There is no such page.")
