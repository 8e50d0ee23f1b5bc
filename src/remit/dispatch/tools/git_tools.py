"""The tools GitLog, GitDiff, GitShow and GitBlame: read the history of the workspace's files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from remit.dispatch.tools.confined import ToolCall
from remit.dispatch.tools.file_tools import lines_of
from remit.dispatch.tools.processes import ProcessResult, run_process
from remit.dispatch.tools.tool_types import FolderArgument, PathArgument, ToolAnswer, ToolArguments, ToolRefused
from remit.workspace.git_folder import external_reference, linked_home
from remit.workspace.safe_git import (
    SWITCHABLE,
    GitLimitReached,
    command,
    disabled_filters,
    environment,
    found_by_git,
    root_above,
)

_DIFF = (
    *("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--ignore-submodules=dirty"),
    *("--relative", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3"),
)
_LOG = "%h %ad %an%n    %s"
_COMMIT = "commit %H%nAuthor: %an <%ae>%nDate:   %ad%n%n%B"
_RANGE = re.compile(r"(.*?)(\.\.\.?)(.*)")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
Mark = tuple[str, int] | None
_SETTINGS = {
    "core.alternateRefsCommand": "",
    "diff.orderFile": "/dev/null",
    "gpg.program": "false",
    "log.showSignature": "false",
    "submodule.recurse": "false",
}
#: How long git may take to list the repository's configuration.
_LISTING_SECONDS = 10.0
#: Patterns of git's errors, and the messages for the model. Of git's text, only numbers are used.
_ERRORS = (
    (r"has only (\d+) lines?", "the file has only {} lines"),
    (r"(?i)(needed a single|unknown|bad) revision|ambiguous argument|unknown commit", "there is no such commit"),
    (r"does not exist in|exists on disk, but not in|no such path", "there is no such file in that commit"),
    (r"bad file|not a valid object name|could not get object info", "there is no such file in that commit"),
    (r"not a git repository", "the workspace's .git is not a repository"),
    (r"dubious ownership", "the checkout belongs to another user, so git does not trust it"),
    (r"bad config|bad numeric config|unable to parse|unable to access", "the repository's configuration is damaged"),
    (r"could not open object name list|invalid object name", "the repository's blame.ignoreRevsFile cannot be used"),
)

_Rev = Annotated[str, Meta(description="A commit, branch, tag or range such as main..HEAD.", max_length=400)]


class GitLog(ToolArguments, frozen=True):
    """Arguments of GitLog."""

    path: FolderArgument | None = None
    limit: Annotated[int, Meta(ge=1, le=500, description="The maximum number of commits.")] = 20
    rev: _Rev | None = None


class GitDiff(ToolArguments, frozen=True):
    """Arguments of GitDiff."""

    rev: _Rev | None = None
    path: FolderArgument | None = None


class GitShow(ToolArguments, frozen=True):
    """Arguments of GitShow."""

    rev: _Rev
    path: Annotated[str, Meta(description="Show this file in that commit, instead of the commit.")] | None = None


class GitBlame(ToolArguments, frozen=True):
    """Arguments of GitBlame."""

    path: PathArgument
    start: Annotated[int, Meta(ge=1, le=1_000_000_000, description="The first line.")] | None = None
    end: Annotated[int, Meta(ge=1, le=1_000_000_000, description="The last line.")] | None = None


async def git_log(call: ToolCall, args: GitLog) -> ToolAnswer:
    """Return commits, newest first."""
    path = call.confined.relative(args.path or ".")
    revs = await _resolve(call, args.rev or "HEAD")
    options = ("--no-color", "--date=short", f"--format={_LOG}", f"--max-count={args.limit}", "--no-show-signature")
    out = await run_git(call, "log", *options, revs, "--", path or ".")
    return ToolAnswer(_text(out) or "No commits. Use another path or rev.", path=path or None)


async def git_diff(call: ToolCall, args: GitDiff) -> ToolAnswer:
    """Return the differences between a commit and the work tree, or between two commits."""
    path = call.confined.relative(args.path or ".")
    revs = await _resolve(call, args.rev or "HEAD")
    text = _text(await run_git(call, "diff", *_DIFF, revs, "--", path or "."))
    if not text:
        return ToolAnswer("No differences. (Untracked files are not compared.)", path=path or None)
    return ToolAnswer(text, path=path or None, marks=marks_of(text.split("\n"), numbered=".." not in revs))


async def git_show(call: ToolCall, args: GitShow) -> ToolAnswer:
    """Return a commit with its changes, or a file in that commit."""
    commit = await _commit(call, args.rev)
    if args.path is None:
        options = (f"--format={_COMMIT}", "--date=iso", "--no-show-signature", "--diff-merges=first-parent")
        text = _text(await run_git(call, "show", *options, *_DIFF, commit, "--", "."))
        body = text.split("\n")
        start = next((number for number, line in enumerate(body) if line.startswith("diff --git ")), len(body))
        return ToolAnswer(text, marks=(None,) * start + marks_of(body[start:], numbered=False))
    path = call.confined.relative(args.path)
    if not path:
        raise ToolRefused("path is the workspace itself. Name a file in it, or leave path out to see the commit.")
    data = await run_git(call, "cat-file", "blob", f"{commit}:./{path}")
    if b"\0" in data[:8_192]:
        raise ToolRefused(f"{path!r} is a binary file in that commit and is not shown. Name a text file.")
    return ToolAnswer(_text(data) or f"[{path} was empty.]", path=path)


async def git_blame(call: ToolCall, args: GitBlame) -> ToolAnswer:
    """Return the last change of each line of a file."""
    path, is_folder = await call.in_thread(lambda: call.confined.kind(args.path))
    if is_folder:
        raise ToolRefused(f"{(path or '.')!r} is a folder. Name a file in it.")
    first = args.start or 1
    if args.end is not None and args.end < first:
        raise ToolRefused(f"end={args.end} is before start={first}. Swap them.")
    lines = f"{first},{args.end or ''}".rstrip(",") + ("" if args.end else ",")
    out = await run_git(call, "blame", "--no-textconv", "--date=short", "--abbrev=8", "-L", lines, "--", path)
    shown = lines_of(_text(out))
    marks = tuple((path, first + number) for number in range(len(shown)))
    return ToolAnswer("\n".join(shown), path=path, marks=marks)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").rstrip("\n")


async def _resolve(call: ToolCall, written: str) -> str:
    """Return a rev or a range as commit ids, so that no text of a model reaches git as an option."""
    ends = _RANGE.fullmatch(written.strip())
    if ends is None:
        return await _commit(call, written)
    return f"{await _commit(call, ends[1] or 'HEAD')}{ends[2]}{await _commit(call, ends[3] or 'HEAD')}"


async def _commit(call: ToolCall, written: str) -> str:
    rev = written.strip()
    if not rev or rev.startswith("-") or ":" in rev or not rev.isprintable() or " " in rev:
        raise ToolRefused(
            f"{written[:100]!r} is not a commit. Write a branch, a tag, HEAD~1 or an id that GitLog shows."
        )
    return _text(await run_git(call, "rev-parse", "--verify", "--end-of-options", f"{rev}^{{commit}}"))


def marks_of(lines: list[str], *, numbered: bool) -> tuple[Mark, ...]:
    """Return for each line of a diff the file and line of the new side that it shows, or None.

    A hunk's header contains the number of its lines, so a line of a file cannot be taken for a header.
    Unless `numbered`, only the files are marked, with line 0, because the new side is not the file on disk.
    """
    marks: list[Mark] = []
    path: str | None = None
    old = new = number = 0
    for line in lines:
        if old > 0 or new > 0:
            sign = line[:1]
            is_new_side = sign in ("+", " ", "")
            marks.append((path, number if numbered else 0) if is_new_side and path else None)
            old -= sign not in ("+", "\\")
            new -= is_new_side
            number += is_new_side
        elif hunk := _HUNK.match(line):
            old, number, new = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
            marks.append(None)
        else:
            if line.startswith("diff --git "):
                path = None
            elif line.startswith("+++ b/"):
                path = line[6:].rstrip("\t")
            marks.append((path, 0) if path and line.startswith("+++ b/") else None)
    return tuple(marks)


async def run_git(call: ToolCall, *arguments: str) -> bytes:
    """Return the output of a git command in the workspace. Raises ToolRefused with the reason if it fails."""
    result = await git_result(call, *arguments)
    if result.status is None:
        raise call.too_long()
    if result.status:
        raise ToolRefused(f"git: {_error_text(result)}. Check the rev and the path with GitLog and Glob.")
    return result.output


def _error_text(result: ProcessResult) -> str:
    first = next((line for line in result.errors.splitlines() if line.startswith(("fatal:", "error:"))), "")[:1_000]
    for pattern, message in _ERRORS:
        if match := re.search(pattern, first):
            return message.format(*match.groups())
    return f"it failed with exit code {result.status}"


async def git_result(call: ToolCall, *arguments: str, share: float = 1.0) -> ProcessResult:
    """Run a git command in the workspace within a share of the call's remaining time."""
    root = call.confined.root
    await call.in_thread(lambda: check_own_repository(root, call))
    listed = await _run(call, SWITCHABLE, {}, min(_LISTING_SECONDS, call.seconds_left / 2))
    if listed.status is None:
        raise ToolRefused("git took too long to read the repository's configuration. Continue without git.")
    if listed.dropped:
        raise ToolRefused("The repository's configuration is too large to run git safely. Continue without git.")
    try:
        settings = _SETTINGS | disabled_filters(listed.output)
    except GitLimitReached as error:
        raise ToolRefused(f"git was not run: {error}. Continue without git.") from error
    return await _run(call, arguments, settings, call.seconds_left * share)


async def _run(
    call: ToolCall, arguments: tuple[str, ...], settings: Mapping[str, str], seconds: float
) -> ProcessResult:
    """Run git on the event loop, so that a repository that blocks git does not occupy a thread."""
    root = call.confined.root
    try:
        return await run_process(
            command(root, *arguments),
            environment=environment(root, settings) | {"GIT_LITERAL_PATHSPECS": "1"},
            folder=root,
            seconds=seconds,
            limit=call.limits.kept_bytes,
        )
    except FileNotFoundError as error:
        raise ToolRefused("git is not installed on this host. Continue without the history.") from error


def check_own_repository(root: Path, call: ToolCall) -> None:
    """Raise ToolRefused if the workspace is not in a checkout, or if the checkout's repository leads elsewhere."""
    checkout = root_above(root)
    if checkout is None:
        raise ToolRefused("The workspace is not a git checkout: there is no history. Continue without it.")
    entry = checkout / ".git"
    home = (
        None
        if entry.is_symlink() or (entry / "commondir").exists()
        else entry
        if entry.is_dir()
        else linked_home(checkout)
    )
    if home is None or found_by_git(root) != str(checkout):
        raise ToolRefused("The workspace's .git leads to another repository. Continue without the history.")
    if reason := external_reference(home, call.check):
        raise ToolRefused(f"The repository's git folder {reason}, so it is not used. Continue without the history.")
