"""Errors of the API as problem details (RFC 9457), and errors of pages as pages."""

from __future__ import annotations

import logging

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from remit.errors import EnvironmentBroken, RemitError, UsageError
from remit.reports.layout import escape_control
from remit.store.review_queue import AlreadyDecided, ItemTaken
from remit.surfaces.server.site import Forbidden, render

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


def _answer(request: Request, status: int, title: str, details: str) -> Response:
    if request.url.path.startswith(("/api/", "/hooks/", "/mcp")):
        return problem_response(status, title, details)
    return render(request, "error.html", status=status, title=title, details=details)


async def on_remit_error(request: Request, error: Exception) -> Response:
    """Answer an error that Remit raised on purpose."""
    status = 500
    title = "The request failed"
    if isinstance(error, Forbidden):
        status, title = 403, "Not permitted"
    # The modules below raise UsageError for a number that does not exist, with a message that starts so.
    elif isinstance(error, NotFound) or (isinstance(error, UsageError) and str(error).startswith("there is no ")):
        status, title = 404, "Not found"
    elif isinstance(error, ItemTaken | AlreadyDecided):
        status, title = 409, "Another reviewer was faster"
    elif isinstance(error, UsageError):
        status, title = 422, "The request cannot be processed"
    elif isinstance(error, EnvironmentBroken):
        status, title = 503, "A part that this needs does not work"
    return _answer(request, status, title, str(error))


async def on_http_error(request: Request, error: Exception) -> Response:
    """Answer an address or a method that does not exist."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    titles = {404: "Not found", 405: "Method not allowed", 413: "The request is too large"}
    title = titles.get(status, "The request failed")
    return _answer(request, status, title, f"{request.method} {request.url.path}")


async def on_bug(request: Request, error: Exception) -> Response:
    """Answer an unexpected error. The log has the details, the answer none."""
    log.error("%s %s failed", request.method, escape_control(request.url.path), exc_info=error)
    return _answer(request, 500, "This is a bug in remit", "the log of the server has the details")


HANDLERS = {RemitError: on_remit_error, HTTPException: on_http_error, Exception: on_bug}
