"""What every request of the server shares: the store, the settings, the addresses, responses and errors."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from remit.dispatch.worker_settings import Settings
from remit.errors import EnvironmentBroken, RemitError, UsageError
from remit.operations.documents import Folders
from remit.operations.jobs import whole_number
from remit.operations.served import Caller, Store
from remit.reports.layout import escape_control
from remit.store.database import CONNECTION_ERRORS, Database, DatabaseUnavailable
from remit.store.events import ChangeFeed
from remit.surfaces.server import page_formats
from remit.surfaces.server.sign_in import SignIns

_PACKAGE = "remit.surfaces.server"
#: The pages of the navigation: address and title. A page that a part of the address names is the current one.
NAVIGATION = (
    ("/", "Overview"),
    ("/jobs", "Jobs"),
    ("/plans", "Plans"),
    ("/sessions", "Sessions"),
)
#: Seconds after which a program may ask again while the database is unavailable.
_RETRY_AFTER = 5
_MAX_FIELDS = 50
_MAX_WORDS = 100
_MAX_NUMBER = 2**63 - 1
_MAX_DIGITS = len(str(_MAX_NUMBER))


class NumberConvertor(Convertor[int]):
    """`{name:number}` in a route. Starlette's `int` fails for thousands of digits, which Python does not convert."""

    regex = "[0-9]+"

    def convert(self, value: str) -> int:
        """Return the number of a text; one that no row can have if it is too long."""
        return int(value) if len(value) <= _MAX_DIGITS else _MAX_NUMBER + 1

    def to_string(self, value: int) -> str:
        """Return the text of a number."""
        return str(value)


register_url_convertor("number", NumberConvertor())


class Address(NamedTuple):
    """Where the server listens, and the address that people use."""

    host: str
    port: int
    #: The address in links: scheme, host and port.
    url: str
    #: Values of the header `Host` that are accepted.
    hosts: frozenset[str]

    @property
    def is_secure(self) -> bool:
        """Whether people use HTTPS, with a certificate here or in a proxy."""
        return self.url.startswith("https:")

    @property
    def cookie(self) -> str:
        """The name of the session cookie. Browsers send cookies to all ports of a host, so it has the port."""
        return f"remit_session_{urlsplit(self.url).port or (443 if self.is_secure else 80)}"


class Site(NamedTuple):
    """The parts that requests use."""

    database: Database
    settings: Settings
    feed: ChangeFeed
    address: Address
    sign_ins: SignIns
    #: The folder that the server was started in.
    folder: Path


def site_of(request: Request) -> Site:
    """Return the site of a request."""
    site: Site = request.app.state.site
    return site


def caller_of(request: Request) -> Caller:
    """Return who calls an operation. Roots and files of another machine mean nothing here."""
    site = site_of(request)

    async def store() -> Store:
        return Store(site.database, site.settings)

    return Caller(Folders([site.folder], may_read=False), store, checks=request.app.state.checks)


def number_of(request: Request, name: str = "number") -> int:
    """Return a number of the path."""
    number = int(request.path_params[name])
    if not 0 < number <= _MAX_NUMBER:
        raise UsageError(f"there is no {name} {number}")
    return number


def before_of(request: Request) -> int | None:
    """Return the number that a page of a list continues before, if there is one."""
    return whole_number(request.query_params.get("before", ""))


def choice_of(request: Request, name: str, choices: Collection[str]) -> str | None:
    """Return a parameter of the address if it is one of the choices."""
    value = request.query_params.get(name)
    return value if value in choices else None


def words_of(request: Request) -> str | None:
    """Return the words that a list is searched for."""
    words = request.query_params.get("q", "").strip()[:_MAX_WORDS]
    return words if words and words.isprintable() else None


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a posted form. Raises UsageError if it has too many."""
    text = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS))
    except ValueError as error:
        raise UsageError(f"the form has more than {_MAX_FIELDS} fields") from error


def local_path(text: str) -> str:
    """Return a path of this server from a parameter; the start page if it could lead elsewhere."""
    is_local = text.startswith("/") and not text.startswith("//") and text.isprintable() and "\\" not in text
    return text if is_local else "/"


def see_other(path: str) -> Response:
    """Return a redirect after a write."""
    return RedirectResponse(local_path(path), status_code=303)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_PACKAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(page_formats.FILTERS)
    environment.globals.update(asset=asset, navigation=NAVIGATION)
    return environment


@cache
def _asset_digests() -> dict[str, str]:
    return {file.name: sha256(file.read_bytes()).hexdigest()[:12] for file in (files(_PACKAGE) / "static").iterdir()}


def asset(name: str) -> str:
    """Return the address of a static file; it changes with the content, so that browsers may keep the file."""
    return f"/static/{name}?v={_asset_digests()[name]}"


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page."""
    page = _environment().get_template(template)
    text = page.render(
        is_signed_in=getattr(request.state, "is_signed_in", False),
        path=request.url.path,
        now=datetime.now().astimezone(),
        request_url=_own_address(request),
        **values,
    )
    return HTMLResponse(text, status_code=status)


def _own_address(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path


log = logging.getLogger("remit.serve")
CONTENT_TYPE = "application/problem+json"


class Problem(msgspec.Struct, kw_only=True):
    """What went wrong, in the form of RFC 9457."""

    status: int
    title: str
    detail: str
    type: str = "about:blank"


class NotFound(UsageError):
    """There is nothing at this address."""


def problem_body(status: int, title: str, details: str) -> bytes:
    """Return a problem as JSON."""
    return msgspec.json.encode(Problem(status=status, title=title, detail=escape_control(details)))


def problem_response(status: int, title: str, details: str) -> Response:
    """Return a problem."""
    return Response(problem_body(status, title, details), status_code=status, media_type=CONTENT_TYPE)


def _error_response(request: Request, status: int, title: str, details: str) -> Response:
    if request.url.path.startswith(("/api/", "/mcp")):
        return problem_response(status, title, details)
    return render(request, "error.html", status=status, title=title, details=details)


async def on_remit_error(request: Request, error: Exception) -> Response:
    """Answer an error that Remit raised on purpose."""
    status = 500
    title = "The request failed"
    if isinstance(error, DatabaseUnavailable):
        return unavailable_response(request, error)
    # The modules below raise UsageError for a number that does not exist, with a message that starts so.
    if isinstance(error, NotFound) or (isinstance(error, UsageError) and str(error).startswith("there is no ")):
        status, title = 404, "Not found"
    elif isinstance(error, UsageError):
        status, title = 422, "The request cannot be processed"
    elif isinstance(error, EnvironmentBroken):
        status, title = 503, "A part that this needs does not work"
    return _error_response(request, status, title, str(error))


def unavailable_response(request: Request, error: Exception) -> Response:
    """Answer that the database is unavailable, for now."""
    details = " ".join(str(error).split())
    response = _error_response(request, 503, "The database is unavailable", f"{details}; try again later")
    response.headers["retry-after"] = str(_RETRY_AFTER)
    return response


async def on_connection_error(request: Request, error: Exception) -> Response:
    """Answer a request whose connection to the database was lost."""
    return unavailable_response(request, error)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Answer an address or a method that does not exist."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    titles = {404: "Not found", 405: "Method not allowed", 413: "The request is too large"}
    title = titles.get(status, "The request failed")
    return _error_response(request, status, title, f"{request.method} {request.url.path}")


async def on_bug(request: Request, error: Exception) -> Response:
    """Answer an unexpected error. The log has the details, the answer none."""
    log.error("%s %s failed", request.method, escape_control(request.url.path), exc_info=error)
    return _error_response(request, 500, "This is a bug in remit", "the log of the server has the details")


HANDLERS: dict[Any, Any] = {
    RemitError: on_remit_error,
    HTTPException: on_http_error,
    Exception: on_bug,
    **dict.fromkeys(CONNECTION_ERRORS, on_connection_error),
}
