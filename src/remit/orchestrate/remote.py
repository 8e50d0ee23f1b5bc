"""Use a `remit serve` of another host from Python: its API over HTTP."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from remit.errors import EnvironmentBroken, RemitError, UsageError

#: The variable with the token, if none is passed.
TOKEN_VARIABLE = "REMIT_SERVER_TOKEN"  # noqa: S105 (a name, not a token)
_PREFIX = "/api/v1"
_TIMEOUT_SECONDS = 60.0
_MAX_ANSWER = 64 * 1024 * 1024
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_REFUSED = (400, 404, 409, 413, 422)


class RemoteServer:
    """A `remit serve`, used with a token of `remit tokens add`.

    Answers are the JSON shapes of the commands, as dictionaries. Raises UsageError if the server refuses a request and
    EnvironmentBroken if it cannot be reached or does not accept the token.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise UsageError(f"{url!r} is not the address of a server; write https://remit.example")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise UsageError(f"{url!r} would send the token without encryption; use https")
        self._url = f"{parts.scheme}://{parts.netloc}"
        self._token = token or os.environ.get(TOKEN_VARIABLE, "")
        if not self._token:
            raise UsageError(f"a server needs a token: set {TOKEN_VARIABLE} to one of `remit tokens add`")
        # No redirects: the token must not be sent elsewhere.
        self._opener = urllib.request.build_opener(_NoRedirect())

    def submit(self, agent: str | None, task: str, **fields: Any) -> dict[str, Any]:
        """Put a job into the queue and return it. `fields` are those of the operation, such as `key` and `limits`."""
        return self._call("POST", "/jobs", {"agent": agent, "task": task, **fields})

    def jobs(self, **filters: Any) -> dict[str, Any]:
        """Return jobs; the filters are `state`, `agent`, `verdict`, `before` and `limit`."""
        query = urlencode({name: value for name, value in filters.items() if value is not None})
        return self._call("GET", f"/jobs?{query}" if query else "/jobs")

    def job(self, number: int) -> dict[str, Any]:
        """Return a job with its result."""
        return self._call("GET", f"/jobs/{int(number)}")

    def cancel(self, number: int) -> dict[str, Any]:
        """Cancel a job and return it."""
        return self._call("POST", f"/jobs/{int(number)}/cancel")

    def retry(self, number: int) -> dict[str, Any]:
        """Continue or correct a job and return it."""
        return self._call("POST", f"/jobs/{int(number)}/retry")

    def events(self, number: int, after: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the events of a job, stored and new, until the job ends."""
        with self._open("GET", f"/jobs/{int(number)}/events?after={int(after)}") as answer:
            kind = ""
            for line in answer:
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                if text.startswith("event: "):
                    kind = text.removeprefix("event: ")
                elif text.startswith("data: ") and kind != "end":
                    yield json.loads(text.removeprefix("data: "))

    def check(self, text: str, **options: Any) -> dict[str, Any]:
        """Check the results in a text against the checkout of the server."""
        return self._call("POST", "/check", {"text": text, **options})

    def verify(self, text: str, **options: Any) -> dict[str, Any]:
        """Check the claims of a text against the checkout of the server."""
        return self._call("POST", "/verify", {"text": text, **options})

    def merge(self, documents: Mapping[str, str], **options: Any) -> dict[str, Any]:
        """Merge documents, given by their names, into one report."""
        posted = [{"path": path, "text": text} for path, text in documents.items()]
        return self._call("POST", "/merge", {"documents": posted, **options})

    def questions(self) -> dict[str, Any]:
        """Return the open questions."""
        return self._call("GET", "/questions")

    def answer(self, question: int, answer: str, why: str = "") -> dict[str, Any]:
        """Answer a question."""
        return self._call("POST", f"/questions/{int(question)}/answer", {"answer": answer, "why": why})

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        with self._open(method, path, body) as answer:
            data = answer.read(_MAX_ANSWER + 1)
        if len(data) > _MAX_ANSWER:
            raise EnvironmentBroken(f"the answer of {self._url} is larger than {_MAX_ANSWER >> 20} MB")
        try:
            answered: dict[str, Any] = json.loads(data)
        except ValueError as error:
            raise EnvironmentBroken(f"the answer of {self._url} is not JSON: is it a `remit serve`?") from error
        return answered

    def _open(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = json.dumps(body).encode() if body is not None else b"" if method == "POST" else None
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/json"}
        request = urllib.request.Request(self._url + _PREFIX + path, data=data, headers=headers, method=method)  # noqa: S310 (checked above)
        try:
            return self._opener.open(request, timeout=_TIMEOUT_SECONDS)
        except urllib.error.HTTPError as error:
            with error:
                raise _problem(self._url, error) from None
        except (urllib.error.URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise EnvironmentBroken(f"{self._url} does not answer ({reason}); is `remit serve` running?") from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow no redirect."""


def _problem(url: str, error: urllib.error.HTTPError) -> RemitError:
    """Return the exception for a problem that the server reports."""
    try:
        details = str(json.loads(error.read(65_536))["detail"])
    except (ValueError, KeyError, TypeError, OSError):
        details = str(error.reason)
    if error.code in _REFUSED:
        return UsageError(details)
    if error.code == 401:
        return EnvironmentBroken(f"{url} does not accept the token: {details}")
    return EnvironmentBroken(f"{url}: {details} (status {error.code})")
