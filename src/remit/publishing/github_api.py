"""A client of GitHub's API: retries, rate limits and pages. The token is sent to one host and is never printed."""

from __future__ import annotations

import http.client
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from email.message import Message
from typing import IO, Any
from urllib.parse import urlsplit

from remit.errors import EnvironmentBroken, UsageError

DEFAULT_URL = "https://api.github.com"
PAGE_SIZE = 100
#: Pauses in seconds between two tries of a request that may be repeated.
PAUSES = (1.0, 2.0, 4.0)
#: The longest wait in seconds for a rate limit, over all requests.
MAX_WAIT = 600.0
_TIMEOUT = 30.0
_MAX_BODY = 32_000_000
_MAX_PAGES = 200
_MAX_MESSAGE = 300
#: The type of a query's error.
_RATE_LIMITED = "RATE_LIMITED"
#: Another page of a list, in the header `Link`.
_NEXT = re.compile(r'<([^<>]*)>\s*;[^,]*\brel="?next"?')


class GitHubError(EnvironmentBroken):
    """GitHub refused a request, or could not be reached."""

    def __init__(self, message: str, status: int = 0, kinds: frozenset[str] = frozenset()) -> None:
        super().__init__(message)
        self.status = status
        #: The types of the errors of a query, such as FORBIDDEN.
        self.kinds = kinds


class RequestRejected(GitHubError):
    """GitHub rejected the content of a request (422), for example a line outside the diff."""


class OutcomeUnknown(GitHubError):
    """The connection broke while something was created; it may exist."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follow no redirect: the token would be sent to the new address."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


class GitHub:
    """Requests to one GitHub server with one token."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        wait: Callable[[float], None] = time.sleep,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._url = checked_url(url)
        self._token = token
        self._wait = wait
        self._report = report
        self._waited = 0.0
        self._opener = urllib.request.build_opener(_NoRedirect)

    def get(self, path: str) -> Any:
        """Return one answer."""
        return self._send("GET", self._url + path, None, is_repeatable=True)[0]

    def pages(self, path: str) -> Iterator[Any]:
        """Yield the entries of a list, page by page."""
        separator = "&" if "?" in path else "?"
        address = f"{self._url}{path}{separator}per_page={PAGE_SIZE}"
        for _ in range(_MAX_PAGES):
            entries, headers = self._send("GET", address, None, is_repeatable=True)
            yield from entries if isinstance(entries, list) else []
            following = _NEXT.search(headers.get("Link", ""))
            if following is None:
                return
            address = following[1]
            if urlsplit(address)[:2] != urlsplit(self._url)[:2]:
                raise GitHubError("GitHub's next page is on another host; the list is not complete")
        raise GitHubError(f"GitHub's list has more than {_MAX_PAGES} pages: {path}")

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Create something. A broken connection raises OutcomeUnknown: the caller checks before it tries again."""
        return self._send("POST", self._url + path, body, is_repeatable=False)[0]

    def query(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Run a GraphQL query and return its data."""
        return self._graphql(query, variables)

    def mutate(self, mutation: str, variables: Mapping[str, Any]) -> None:
        """Run a GraphQL mutation that may be repeated."""
        self._graphql(mutation, variables)

    def _graphql(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        body = {"query": query, "variables": variables}
        while True:
            answer, headers = self._send("POST", graphql_url(self._url), body, is_repeatable=True)
            content = answer if isinstance(answer, dict) else {}
            kinds = _error_types(content)
            # A limit of queries has the status 200.
            if _RATE_LIMITED in kinds and self._waits_for_limit(429, headers, content):
                continue
            data = content.get("data")
            if content.get("errors") or not isinstance(data, dict):
                raise GitHubError(f"GitHub refused a query: {_message(answer)}", kinds=kinds)
            return data

    def _send(
        self, method: str, address: str, body: Mapping[str, Any] | None, *, is_repeatable: bool
    ) -> tuple[Any, Message]:
        tries = 0
        while True:
            request = urllib.request.Request(  # noqa: S310 (the scheme is checked)
                address,
                method=method,
                data=None if body is None else json.dumps(body).encode(),
                headers={
                    "Accept": "application/vnd.github+json",
                    "Authorization": f"Bearer {self._token}",
                    "Content-Type": "application/json",
                    "User-Agent": "remit",
                    "X-GitHub-Api-Version": "2022-11-28",
                },
            )
            try:
                with self._opener.open(request, timeout=_TIMEOUT) as answer:
                    return _decode(answer.read(_MAX_BODY + 1)), answer.headers
            except urllib.error.HTTPError as error:
                with error:
                    content = _decode(error.read(_MAX_BODY + 1), lenient=True)
                if self._waits_for_limit(error.code, error.headers, content):
                    continue
                failure = _failure(method, error.code, content)
                is_temporary = error.code >= 500
            except (OSError, http.client.HTTPException) as error:
                failure = GitHubError(f"GitHub cannot be reached: {_reason(error)}")
                is_temporary = True
            if is_temporary and not is_repeatable:
                raise OutcomeUnknown(str(failure), failure.status)
            if not is_temporary or tries >= len(PAUSES):
                raise failure
            self._wait(PAUSES[tries])
            tries += 1

    def _waits_for_limit(self, status: int, headers: Message, content: Any) -> bool:
        """Wait for the end of a rate limit; return False if the answer has another reason."""
        seconds = _limit_seconds(status, headers, content)
        if seconds is None:
            return False
        self._waited += seconds
        if self._waited > MAX_WAIT:
            raise GitHubError(
                f"GitHub's rate limit ends in {seconds:.0f} s, and {MAX_WAIT:.0f} s is the longest wait; "
                "run the command again later: nothing is posted twice",
                status,
            )
        self._report(f"GitHub's rate limit: waiting {seconds:.0f} s")
        self._wait(seconds)
        return True


class DryRun(GitHub):
    """Reads from GitHub, and reports each change instead of making it."""

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Report the request."""
        self._report_request("POST", path, body)

    def mutate(self, mutation: str, variables: Mapping[str, Any]) -> None:
        """Report the mutation."""
        self._report_request("POST", "/graphql", {"query": mutation, "variables": variables})

    def _report_request(self, method: str, path: str, body: Mapping[str, Any]) -> None:
        self._report(f"{method} {path}\n{json.dumps(body, indent=2)}")


def checked_url(url: str) -> str:
    """Return the address of an API server without a slash at its end; plain HTTP only to this machine."""
    parts = urlsplit(url)
    is_local = parts.hostname in ("127.0.0.1", "localhost", "::1")
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username or parts.query:
        raise UsageError(f"GITHUB_API_URL is not the address of an API server: {url!r}")
    if parts.scheme == "http" and not is_local:
        raise UsageError(f"GITHUB_API_URL must use https, or the token is sent in plain text: {url!r}")
    return url.rstrip("/")


def graphql_url(url: str) -> str:
    """Return the address for GraphQL: GitHub Enterprise Server has it next to `/api/v3`."""
    return f"{url.removesuffix('/v3')}/graphql" if url.endswith("/api/v3") else f"{url}/graphql"


def find_token(*, is_needed: bool = True) -> str:
    """Return the token of the environment; empty without one, unless it is needed."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        token = os.environ.get(name, "").strip()
        if token:
            if not token.isascii() or not token.isprintable():
                raise UsageError(f"{name} contains characters that a token cannot have")
            return token
    if not is_needed:
        return ""
    raise UsageError("set GITHUB_TOKEN to a token that may write to pull requests")


def _limit_seconds(status: int, headers: Message, content: Any) -> float | None:
    if status not in (403, 429):
        return None
    after = headers.get("Retry-After", "")
    if after.isdecimal():
        return float(after[:6])
    reset = headers.get("X-RateLimit-Reset", "")
    if headers.get("X-RateLimit-Remaining") == "0" and reset.isdecimal():
        return max(1.0, int(reset[:12]) - time.time() + 1)
    is_secondary = "secondary rate limit" in _message(content).lower()
    return 60.0 if status == 429 or is_secondary else None


def _failure(method: str, status: int, content: Any) -> GitHubError:
    message = _message(content)
    if status == 422:
        return RequestRejected(f"GitHub rejected the request: {message}", status)
    hint = {
        401: "; GITHUB_TOKEN is not valid",
        403: "; the token needs write access to pull requests",
        404: "; check the repository, the number of the pull request and the token's access",
    }.get(status, "")
    if status in range(300, 400):
        hint = "; the repository has moved: use its new name"
    return GitHubError(f"GitHub answered {status} to {method}: {message}{hint}", status)


def _error_types(content: Mapping[str, Any]) -> frozenset[str]:
    errors = content.get("errors")
    types = (error.get("type") for error in errors if isinstance(error, dict)) if isinstance(errors, list) else ()
    return frozenset(str(kind) for kind in types if kind)


def _message(content: Any) -> str:
    if not isinstance(content, dict):
        return "no message"
    errors = content.get("errors")
    parts = [content, *(errors if isinstance(errors, list) else [])]
    messages = (
        str(part.get("message") or part.get("code") or "") if isinstance(part, dict) else str(part) for part in parts
    )
    text = "; ".join(filter(None, messages)) or "no message"
    return "".join(character if character.isprintable() else " " for character in text)[:_MAX_MESSAGE]


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    return f"{type(error).__name__}: {reason}"[:_MAX_MESSAGE]


def _decode(data: bytes, *, lenient: bool = False) -> Any:
    if len(data) <= _MAX_BODY:
        try:
            return json.loads(data) if data else None
        except ValueError:
            pass
    if lenient:
        return None
    raise GitHubError("GitHub's answer is not JSON, or it is too large")
