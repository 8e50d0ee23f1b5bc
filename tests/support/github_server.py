"""The part of GitHub's API that publishing uses, on loopback: reviews, threads, their resolution, and failures.

It keeps one pull request. `fail` schedules answers to later requests: (method, part of the path, status, headers), or
"after" instead of a status: the request takes effect and the connection breaks.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

TOKENS = {"token-of-the-bot": "remit-bot", "token-of-a-person": "person"}


@dataclass
class Thread:
    """A review thread with its first comment."""

    number: int
    author: str
    path: str
    body: str
    line: int | None = None
    start_line: int | None = None
    is_file: bool = False
    is_resolved: bool = False


@dataclass
class Failure:
    """A scheduled answer to one request."""

    method: str
    part: str
    status: int | str
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "a scripted failure"


class GitHubServer:
    """A pull request with files, each with its patch."""

    def __init__(self, files: dict[str, str], *, head: str = "f" * 40, page: int = 100, prefix: str = "") -> None:
        self.files = files
        self.head = head
        self.page = page
        self.prefix = prefix
        self.threads: list[Thread] = []
        self.reviews: list[tuple[str, str]] = []
        self.calls: list[tuple[str, str, Any]] = []
        self.failures: list[Failure] = []
        self.may_resolve = True
        self.limited_queries = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.prefix}"

    @property
    def changes(self) -> list[tuple[str, str, Any]]:
        """The requests that changed something, in order."""
        return [
            call
            for call in self.calls
            if call[0] == "POST" and not (call[1].endswith("/graphql") and "mutation" not in call[2]["query"])
        ]

    def fail(self, method: str, part: str, status: int | str, **headers: str) -> None:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.failures.append(Failure(method, part, status, names))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 (the name in the base class)
                """Print nothing."""

            def do_GET(self) -> None:
                self._answer("GET")

            def do_POST(self) -> None:
                self._answer("POST")

            def _answer(self, method: str) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                author = TOKENS.get((self.headers.get("Authorization") or "").removeprefix("Bearer "))
                with server._lock:
                    server.calls.append((method, self.path, body))
                    status, headers, content = server._respond(method, self.path, body, author)
                if status == "after":
                    self.close_connection = True
                    return
                data = json.dumps(content).encode()
                self.send_response(int(status))
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

        return Handler

    def _respond(
        self, method: str, target: str, body: Any, author: str | None
    ) -> tuple[int | str, dict[str, str], Any]:
        if author is None:
            return 401, {}, {"message": "Bad credentials"}
        failure = next((one for one in self.failures if one.method == method and one.part in target), None)
        if failure is not None:
            self.failures.remove(failure)
            if failure.status != "after":
                return failure.status, failure.headers, {"message": failure.message}
        parts = urlsplit(target)
        path = parts.path.removeprefix(self.prefix).removeprefix("/repos/team/shop")
        if parts.path.endswith("/graphql"):
            answer = self._graphql(body["query"], body["variables"], author)
        elif method == "GET" and path == "/pulls/7":
            answer = 200, {}, {"head": {"sha": self.head}}
        elif method == "GET" and path == "/pulls/7/files":
            answer = self._files(parts.path, parse_qs(parts.query))
        elif method == "POST" and path == "/pulls/7/reviews":
            answer = self._review(body, author)
        elif method == "POST" and path == "/pulls/7/comments":
            answer = self._comment(body, author)
        else:
            answer = 404, {}, {"message": "Not Found"}
        return ("after", {}, None) if failure is not None else answer

    def _files(self, path: str, query: dict[str, list[str]]) -> tuple[int, dict[str, str], Any]:
        size = min(self.page, int(query["per_page"][0]))
        page = int(query.get("page", ["1"])[0])
        entries = [{"filename": name, **({"patch": patch} if patch else {})} for name, patch in self.files.items()]
        headers = {}
        if len(entries) > page * size:
            address = self.url.removesuffix(self.prefix) + path
            headers["Link"] = f'<{address}?per_page={size}&page={page + 1}>; rel="next", <{address}>; rel="last"'
        return 200, headers, entries[(page - 1) * size : page * size]

    def _review(self, body: Any, author: str) -> tuple[int, dict[str, str], Any]:
        comments = body.get("comments", [])
        if any(not self._fits(comment) for comment in comments):
            return 422, {}, {"message": "Unprocessable Entity", "errors": ["Line could not be resolved"]}
        self.reviews.append((author, body["body"]))
        for comment in comments:
            self._add(comment, author)
        return 200, {}, {"id": len(self.reviews)}

    def _comment(self, body: Any, author: str) -> tuple[int, dict[str, str], Any]:
        is_file = body.get("subject_type") == "file"
        if body["commit_id"] != self.head or not (body["path"] in self.files if is_file else self._fits(body)):
            return 422, {}, {"message": "Validation Failed", "errors": [{"message": "line must be part of the diff"}]}
        self._add(body, author, is_file=is_file)
        return 201, {}, {"id": len(self.threads)}

    def _add(self, comment: Any, author: str, *, is_file: bool = False) -> None:
        lines = (comment.get("line"), comment.get("start_line"))
        self.threads.append(Thread(len(self.threads) + 1, author, comment["path"], comment["body"], *lines, is_file))

    def _edit(self, name: str, body: str) -> tuple[int, dict[str, str], Any]:
        thread = next((one for one in self.threads if f"C{one.number}" == name), None)
        if thread is None:
            error = {"type": "NOT_FOUND", "message": f"Could not resolve to a node with the global id of '{name}'"}
            return 200, {}, {"data": {"updatePullRequestReviewComment": None}, "errors": [error]}
        thread.body = body
        return 200, {}, {"data": {"updatePullRequestReviewComment": {"pullRequestReviewComment": {"id": name}}}}

    def _fits(self, comment: Any) -> bool:
        """Return whether the lines of a comment are in the diff: an own reading of the patch, hunk by hunk."""
        shown: set[int] = set()
        at = 0
        for line in self.files.get(comment["path"], "").splitlines():
            if line.startswith("@@"):
                at = int(line.split("+", 1)[1].split(" ")[0].split(",")[0])
            elif not line.startswith(("-", "\\")):
                shown.add(at)
                at += 1
        return set(range(comment.get("start_line") or comment["line"], comment["line"] + 1)) <= shown

    def _graphql(self, query: str, variables: Any, author: str) -> tuple[int, dict[str, str], Any]:
        if self.limited_queries:
            self.limited_queries -= 1
            error = {"type": "RATE_LIMITED", "message": "API rate limit exceeded"}
            return 200, {"X-RateLimit-Remaining": "0", "Retry-After": "7"}, {"errors": [error]}
        if "updatePullRequestReviewComment" in query:
            return self._edit(variables["id"], variables["body"])
        if "mutation" in query:
            thread = next((one for one in self.threads if f"T{one.number}" == variables["id"]), None)
            if thread is None or not self.may_resolve:
                error = {"type": "FORBIDDEN", "message": "Resource not accessible by integration"}
                return 200, {}, {"data": {"resolveReviewThread": None}, "errors": [error]}
            thread.is_resolved = "unresolve" not in query
            return 200, {}, {"data": {"thread": {"id": variables["id"]}}}
        if (variables["owner"], variables["name"], variables["number"]) != ("team", "shop", 7):
            return 200, {}, {"data": None, "errors": [{"message": "Could not resolve to a PullRequest"}]}
        if "reviewThreads" in query:
            field_name, nodes = "reviewThreads", [self._thread_node(one, author) for one in self.threads]
        else:
            field_name = "reviews"
            nodes = [{"body": body, "viewerDidAuthor": who == author} for who, body in self.reviews]
        start = int(variables["after"] or 0)
        end = start + self.page
        info = {"hasNextPage": len(nodes) > end, "endCursor": str(end)}
        found = {field_name: {"pageInfo": info, "nodes": nodes[start:end]}}
        return 200, {}, {"data": {"repository": {"pullRequest": found}}}

    def _thread_node(self, thread: Thread, author: str) -> dict[str, Any]:
        comment = {"id": f"C{thread.number}", "body": thread.body, "viewerDidAuthor": thread.author == author}
        return {"id": f"T{thread.number}", "isResolved": thread.is_resolved, "comments": {"nodes": [comment]}}
