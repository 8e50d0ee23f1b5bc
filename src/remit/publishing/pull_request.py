"""Bring the comments of a pull request up to date with a report.

    read      the head commit, its diff, and the comments of earlier runs
    plan      which comments are new, changed, fixed or found again
    apply     one review with the new comments, then the rest; the next run continues one that stopped in the middle

A comment is recognised by its mark, and only if it was written with the same account. A thread that a person resolved
is a dismissal and stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from remit.publishing.comments import Comment, Mark, Publication, fixed_body, marks_in
from remit.publishing.github_api import GitHub, GitHubError, OutcomeUnknown, RequestRejected
from remit.reports.layout import format_count
from remit.workspace import git

#: The most open threads and the most findings in the text of reviews; the others wait until some of these are fixed.
MAX_THREADS = 50
MAX_LISTED = 50
_MAX_PAGES = 100
_FORBIDDEN = "FORBIDDEN"
#: GitHub's rule for the tokens of workflows and apps.
_MAY_RESOLVE = "to resolve threads, a token needs write access to contents as well as to pull requests"
_HUNK = re.compile(r"@@ -\d{1,9}(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")
_QUERY = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { %s } }
}
"""
_PAGE = "pageInfo { hasNextPage endCursor }"
_THREADS = _QUERY % (
    f"reviewThreads(first: 100, after: $after) {{ {_PAGE} "
    "nodes { id isResolved comments(first: 1) { nodes { id body viewerDidAuthor } } } }"
)
_REVIEWS = _QUERY % f"reviews(first: 100, after: $after) {{ {_PAGE} nodes {{ body viewerDidAuthor }} }}"
#: A comment is edited by its node id: newer numbers of comments do not fit into the field `databaseId`.
_EDIT = (
    "mutation($id: ID!, $body: String!) { updatePullRequestReviewComment(input: "
    "{pullRequestReviewCommentId: $id, body: $body}) { pullRequestReviewComment { id } } }"
)
_RESOLVE = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id } } }"
_UNRESOLVE = "mutation($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { id } } }"


class Thread(NamedTuple):
    """A thread that an earlier run started."""

    id: str
    comment: str
    body: str
    mark: Mark
    is_resolved: bool


class PullRequestState(NamedTuple):
    """What is on GitHub."""

    head: str
    #: Changed files, each with the lines that can have a comment.
    diff: Mapping[str, frozenset[int]]
    threads: Mapping[str, Thread]
    #: The fingerprints in the texts of reviews.
    listed: frozenset[str]


class Changes(NamedTuple):
    """What a run changes, and what it leaves as it is."""

    on_lines: tuple[Comment, ...] = ()
    on_files: tuple[Comment, ...] = ()
    listed: tuple[Comment, ...] = ()
    updated: tuple[tuple[Thread, Comment], ...] = ()
    reopened: tuple[tuple[Thread, Comment], ...] = ()
    fixed: tuple[Thread, ...] = ()
    unchanged: int = 0
    dismissed: int = 0
    #: Findings that wait because there are too many comments.
    waiting: int = 0


def plan_changes(publication: Publication, state: PullRequestState) -> Changes:
    """Compare what is to be published with the comments on GitHub."""
    new, updated, reopened = [], [], []
    unchanged = dismissed = 0
    for comment in publication.comments:
        thread = state.threads.get(comment.fingerprint)
        if thread is None and comment.fingerprint not in state.listed:
            new.append(comment)
        elif thread is not None and thread.mark.state == "fixed":
            reopened.append((thread, comment))
        elif thread is not None and thread.is_resolved:
            dismissed += 1
        elif thread is not None and thread.mark.digest != comment.mark.digest:
            updated.append((thread, comment))
        else:
            unchanged += 1
    fixed = tuple(_fixed(publication, state))
    is_open = sum(not thread.is_resolved for thread in state.threads.values())
    room = max(0, MAX_THREADS - is_open + len(fixed) - len(reopened))
    placed = [comment for comment in new if _is_placed(comment, publication, state)]
    elsewhere = [comment for comment in new if not _is_placed(comment, publication, state)]
    listed = elsewhere[: max(0, MAX_LISTED - len(state.listed))]
    lines = [(comment, _on_line(comment, state.diff[comment.path or ""])) for comment in placed[:room]]
    return Changes(
        on_lines=tuple(on_line for _, on_line in lines if on_line is not None),
        on_files=tuple(comment for comment, on_line in lines if on_line is None),
        listed=tuple(listed),
        updated=tuple(updated),
        reopened=tuple(reopened),
        fixed=fixed,
        unchanged=unchanged,
        dismissed=dismissed,
        waiting=len(new) - len(lines) - len(listed),
    )


def _fixed(publication: Publication, state: PullRequestState) -> Iterator[Thread]:
    """Yield the threads whose finding is gone or dismissed, if an agent that reported it has looked again."""
    for thread in state.threads.values():
        is_gone = thread.mark.fingerprint not in publication.present and not thread.is_resolved
        if is_gone and publication.answered.intersection(thread.mark.agents):
            yield thread


def _is_placed(comment: Comment, publication: Publication, state: PullRequestState) -> bool:
    """Return whether a comment is at its line or on its file; if not, it is in the text of the review."""
    if comment.path is None or comment.path not in state.diff:
        return False
    return not publication.is_line_needed or comment.first in state.diff[comment.path]


def _on_line(comment: Comment, lines: frozenset[int]) -> Comment | None:
    """Return the comment with lines that are in the diff; None if it can only be on the file."""
    if comment.first is None or comment.last is None or comment.first not in lines:
        return None
    is_inside = comment.last - comment.first < len(lines) and lines.issuperset(range(comment.first, comment.last + 1))
    return comment if is_inside else comment._replace(last=comment.first)


class PullRequest:
    """One pull request on GitHub."""

    def __init__(self, github: GitHub, repository: str, number: int, warn: Callable[[str], None]) -> None:
        self._github = github
        self._owner, _, self._name = repository.partition("/")
        self._number = number
        self._path = f"/repos/{repository}/pulls/{number}"
        self._warn = warn
        #: Threads that could not be resolved or reopened, and why.
        self._kept = 0
        self._refusal: GitHubError | None = None

    def read(self) -> PullRequestState:
        """Read the head commit, the diff and the comments of earlier runs."""
        head = str(self._github.get(self._path)["head"]["sha"])
        files = self._github.pages(f"{self._path}/files")
        diff = {str(file["filename"]): commentable_lines(str(file.get("patch") or "")) for file in files}
        threads: dict[str, Thread] = {}
        for node in self._nodes(_THREADS, "reviewThreads"):
            first = next(iter(node["comments"]["nodes"]), None)
            if first is None or not first.get("viewerDidAuthor"):
                continue
            body = str(first.get("body") or "")
            for mark in marks_in(body):
                thread = Thread(str(node["id"]), str(first["id"]), body, mark, bool(node["isResolved"]))
                threads.setdefault(mark.fingerprint, thread)
        reviews = (node for node in self._nodes(_REVIEWS, "reviews") if node.get("viewerDidAuthor"))
        listed = {mark.fingerprint for node in reviews for mark in marks_in(str(node.get("body") or ""))}
        return PullRequestState(head, diff, threads, frozenset(listed))

    def apply(self, changes: Changes, state: PullRequestState, publication: Publication) -> None:
        """Make the changes. Each step leaves a state that the next run continues from."""
        if changes.on_lines or changes.on_files or changes.listed:
            self._publish(changes, state.head, publication)
        for thread, comment in changes.updated:
            self._edit(thread, comment.body)
        for thread in changes.fixed:
            if thread.mark.state != "fixed":
                self._edit(thread, fixed_body(thread.body, thread.mark, state.head))
            self._mutate(_RESOLVE, thread)
        for thread, comment in changes.reopened:
            self._edit(thread, comment.body)
            if thread.is_resolved:
                self._mutate(_UNRESOLVE, thread)
        if self._refusal is not None:
            hint = f"; {_MAY_RESOLVE}" if _FORBIDDEN in self._refusal.kinds else ""
            threads = format_count(self._kept, "thread")
            self._warn(f"{threads} could not be resolved or reopened: {self._refusal}{hint}")

    def _publish(self, changes: Changes, head: str, publication: Publication) -> None:
        """Post one review; comments that GitHub rejects are posted one by one, on their file if need be."""
        total = len(changes.on_lines) + len(changes.on_files) + len(changes.listed)
        body = publication.review_body(total, changes.listed, changes.waiting)
        entries = [{"path": comment.path, "body": comment.body, **_lines(comment)} for comment in changes.on_lines]
        on_files, separate = list(changes.on_files), False
        review = {"commit_id": head, "event": "COMMENT", "body": body}
        try:
            self._post_once(f"{self._path}/reviews", {**review, "comments": entries}, changes.on_lines)
        except RequestRejected:
            if not entries:
                raise
            self._post_once(f"{self._path}/reviews", review, changes.listed)
            separate = True
        rejected = []
        for comment in changes.on_lines if separate else ():
            fields = {"commit_id": head, "path": comment.path, "body": comment.body, **_lines(comment)}
            try:
                self._post_once(f"{self._path}/comments", fields, (comment,))
            except RequestRejected:
                on_files.append(comment)
        for comment in on_files:
            fields = {"commit_id": head, "path": comment.path, "body": comment.body, "subject_type": "file"}
            try:
                self._post_once(f"{self._path}/comments", fields, (comment,))
            except RequestRejected:
                rejected.append(comment)
        if rejected:
            text = publication.review_body(len(rejected), rejected, 0)
            self._post_once(f"{self._path}/reviews", {**review, "body": text}, rejected)

    def _post_once(self, path: str, fields: Mapping[str, Any], comments: Sequence[Comment]) -> None:
        """Create something once: if the connection broke, look for it before it is created again."""
        try:
            self._github.post(path, fields)
        except OutcomeUnknown:
            state = self.read()
            if comments and all(comment.fingerprint in (state.threads.keys() | state.listed) for comment in comments):
                return
            self._github.post(path, fields)

    def _edit(self, thread: Thread, body: str) -> None:
        try:
            self._github.mutate(_EDIT, {"id": thread.comment, "body": body})
        except GitHubError as error:
            if "NOT_FOUND" not in error.kinds:  # a person deleted the comment
                raise

    def _mutate(self, mutation: str, thread: Thread) -> None:
        """Resolve or reopen a thread. If the token lacks that right, the comment has the state."""
        if self._refusal is not None and _FORBIDDEN in self._refusal.kinds:
            self._kept += 1
            return
        try:
            self._github.mutate(mutation, {"id": thread.id})
        except GitHubError as error:
            self._kept += 1
            self._refusal = self._refusal or error

    def _nodes(self, query: str, field: str) -> Iterator[dict[str, Any]]:
        variables: dict[str, Any] = {"owner": self._owner, "name": self._name, "number": self._number, "after": None}
        for _ in range(_MAX_PAGES):
            page = self._github.query(query, variables)["repository"]["pullRequest"][field]
            yield from (node for node in page["nodes"] if node)
            if not page["pageInfo"]["hasNextPage"]:
                return
            variables["after"] = page["pageInfo"]["endCursor"]
        raise GitHubError(f"the pull request has more than {_MAX_PAGES * 100} {field}")


def local_state(root: Path, base: str) -> PullRequestState | None:
    """Return a pull request of the checked-out commit without earlier comments; None if there is no such base."""
    head = git.head(root)
    patches = git.patches_since(root, base) if head else None
    if head is None or patches is None:
        return None
    diff = {path: commentable_lines(patch) for path, patch in patches.items()}
    return PullRequestState(head, diff, {}, frozenset())


def commentable_lines(patch: str) -> frozenset[int]:
    """Return the lines of the new file that a diff shows: only these can have a comment."""
    lines: set[int] = set()
    number = 0
    for line in patch.split("\n"):
        if hunk := _HUNK.match(line):
            number = int(hunk[1])
        elif number and line[:1] in ("+", " "):
            lines.add(number)
            number += 1
    return frozenset(lines)


def _lines(comment: Comment) -> dict[str, Any]:
    if comment.last == comment.first:
        return {"line": comment.first, "side": "RIGHT"}
    return {"start_line": comment.first, "start_side": "RIGHT", "line": comment.last, "side": "RIGHT"}
