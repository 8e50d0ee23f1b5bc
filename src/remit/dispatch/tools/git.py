"""GitLog, GitDiff, GitShow, GitBlame: history, read-only, and only of what lies in the workspace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from remit.dispatch.tools import arguments
from remit.dispatch.tools.call import ToolCall
from remit.dispatch.tools.files import lines_of
from remit.dispatch.tools.model import ToolAnswer, ToolRefused
from remit.dispatch.tools.processes import ProcessResult, run_process
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
#: How long git may take to list what the repository configures.
_LISTING_SECONDS = 10.0
#: What git complains of, and what is said of it. No part of git's words but a number is shown.
_COMPLAINTS = (
    (r"has only (\d+) lines?", "the file has only {} lines"),
    (r"(?i)(needed a single|unknown|bad) revision|ambiguous argument|unknown commit", "there is no such commit"),
    (r"does not exist in|exists on disk, but not in|no such path", "there is no such file in that commit"),
    (r"bad file|not a valid object name|could not get object info", "there is no such file in that commit"),
    (r"not a git repository", "the workspace's .git is no repository"),
    (r"dubious ownership", "the checkout belongs to another user, so git does not trust it"),
    (r"bad config|bad numeric config|unable to parse|unable to access", "the repository's configuration is damaged"),
    (r"could not open object name list|invalid object name", "the repository's blame.ignoreRevsFile cannot be used"),
)


async def git_log(call: ToolCall, given: arguments.GitLog) -> ToolAnswer:
    """Commits, newest first."""
    path = call.ground.relative(given.path or ".")
    revs = await _resolved(call, given.rev or "HEAD")
    options = ("--no-color", "--date=short", f"--format={_LOG}", f"--max-count={given.limit}", "--no-show-signature")
    out = await run_git(call, "log", *options, revs, "--", path or ".")
    return ToolAnswer(_text(out) or "No commits. Look at another path or rev.", path=path or None)


async def git_diff(call: ToolCall, given: arguments.GitDiff) -> ToolAnswer:
    """What differs: the work tree from a commit, or one commit from another."""
    path = call.ground.relative(given.path or ".")
    revs = await _resolved(call, given.rev or "HEAD")
    text = _text(await run_git(call, "diff", *_DIFF, revs, "--", path or "."))
    if not text:
        return ToolAnswer("No differences. (Files that git does not know yet are not compared.)", path=path or None)
    return ToolAnswer(text, path=path or None, marks=marks_of(text.split("\n"), numbered=".." not in revs))


async def git_show(call: ToolCall, given: arguments.GitShow) -> ToolAnswer:
    """A commit with its changes, or a file as it was in it."""
    commit = await _commit(call, given.rev)
    if given.path is None:
        options = (f"--format={_COMMIT}", "--date=iso", "--no-show-signature", "--diff-merges=first-parent")
        text = _text(await run_git(call, "show", *options, *_DIFF, commit, "--", "."))
        body = text.split("\n")
        start = next((place for place, line in enumerate(body) if line.startswith("diff --git ")), len(body))
        return ToolAnswer(text, marks=(None,) * start + marks_of(body[start:], numbered=False))
    path = call.ground.relative(given.path)
    if not path:
        raise ToolRefused("path is the workspace itself. Name a file in it, or leave path out to see the commit.")
    data = await run_git(call, "cat-file", "blob", f"{commit}:./{path}")
    if b"\0" in data[:8_192]:
        raise ToolRefused(f"{path!r} is a binary file in that commit and is not shown. Name a text file.")
    return ToolAnswer(_text(data) or f"[{path} was empty.]", path=path)


async def git_blame(call: ToolCall, given: arguments.GitBlame) -> ToolAnswer:
    """Who last changed each line of a file."""
    path, is_folder = await call.in_thread(lambda: call.ground.kind(given.path))
    if is_folder:
        raise ToolRefused(f"{(path or '.')!r} is a folder. Name a file in it.")
    first = given.start or 1
    if given.end is not None and given.end < first:
        raise ToolRefused(f"end={given.end} lies before start={first}. Give the first line, then the last.")
    lines = f"{first},{given.end or ''}".rstrip(",") + ("" if given.end else ",")
    out = await run_git(call, "blame", "--no-textconv", "--date=short", "--abbrev=8", "-L", lines, "--", path)
    shown = lines_of(_text(out))
    return ToolAnswer("\n".join(shown), path=path, marks=tuple((path, first + place) for place in range(len(shown))))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").rstrip("\n")


async def _resolved(call: ToolCall, written: str) -> str:
    """A rev or a range as the ids of its commits: nothing a model writes reaches git as an option."""
    ends = _RANGE.fullmatch(written.strip())
    if ends is None:
        return await _commit(call, written)
    return f"{await _commit(call, ends[1] or 'HEAD')}{ends[2]}{await _commit(call, ends[3] or 'HEAD')}"


async def _commit(call: ToolCall, written: str) -> str:
    rev = written.strip()
    if not rev or rev.startswith("-") or ":" in rev or not rev.isprintable() or " " in rev:
        raise ToolRefused(f"{written[:100]!r} is no commit. Write a branch, a tag, HEAD~1 or an id that GitLog shows.")
    found = await run_git(call, "rev-parse", "--verify", "--end-of-options", f"{rev}^{{commit}}")
    return _text(found)


def marks_of(lines: list[str], *, numbered: bool) -> tuple[Mark, ...]:
    """For each line of a diff the place in the new file that it shows, else None.

    The counts in a hunk's head say how many lines belong to it, so no line of a file can pass for a head.
    Not `numbered`: only the files are marked, with line 0 (the new side is not what lies on disk).
    """
    marks: list[Mark] = []
    path: str | None = None
    old = new = number = 0
    for line in lines:
        if old > 0 or new > 0:
            sign = line[:1]
            shown = sign in ("+", " ", "")
            marks.append((path, number if numbered else 0) if shown and path else None)
            old -= sign not in ("+", "\\")
            new -= shown
            number += shown
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
    """What a git command prints in the workspace; refused, with the reason, if it fails."""
    ran = await git_result(call, *arguments)
    if ran.status is None:
        raise call.too_long()
    if ran.status:
        raise ToolRefused(f"git: {_said(ran)}. Check the rev and the path (GitLog and Glob show what there is).")
    return ran.output


def _said(ran: ProcessResult) -> str:
    first = next((line for line in ran.complaint.splitlines() if line.startswith(("fatal:", "error:"))), "")[:1_000]
    for pattern, words in _COMPLAINTS:
        if found := re.search(pattern, first):
            return words.format(*found.groups())
    return f"it failed with exit code {ran.status}"


async def git_result(call: ToolCall, *arguments: str, share: float = 1.0) -> ProcessResult:
    """A git command in the workspace, with its outcome; it may take a share of the time that the call has left."""
    root = call.ground.root
    await call.in_thread(lambda: check_own_repository(root, call))
    listed = await _run(call, SWITCHABLE, {}, min(_LISTING_SECONDS, call.seconds_left / 2))
    if listed.status is None:
        raise ToolRefused("git took too long to read the repository's configuration and was stopped. Go on without it.")
    if listed.dropped:
        raise ToolRefused("The repository's configuration is too large for git to be run safely. Go on without it.")
    try:
        settings = _SETTINGS | disabled_filters(listed.output)
    except GitLimitReached as error:
        raise ToolRefused(f"git was not run: {error}. Go on without it.") from error
    return await _run(call, arguments, settings, call.seconds_left * share)


async def _run(
    call: ToolCall, arguments: tuple[str, ...], settings: Mapping[str, str], seconds: float
) -> ProcessResult:
    """Git on the event loop: a repository that makes it wait takes no thread."""
    root = call.ground.root
    try:
        return await run_process(
            command(root, *arguments),
            environment=environment(root, settings) | {"GIT_LITERAL_PATHSPECS": "1"},
            folder=root,
            seconds=seconds,
            most=call.limits.kept_bytes,
        )
    except FileNotFoundError as error:
        raise ToolRefused("git is not installed on this host. Go on without its history.") from error


def check_own_repository(root: Path, call: ToolCall) -> None:
    """Refuse a workspace that neither is nor lies in a checkout, or in one whose repository leads elsewhere."""
    place = root_above(root)
    if place is None:
        raise ToolRefused("The workspace is not a git checkout: there is no history. Go on without it.")
    own = place / ".git"
    home = None if own.is_symlink() or (own / "commondir").exists() else own if own.is_dir() else linked_home(place)
    if home is None or found_by_git(root) != str(place):
        raise ToolRefused(
            "The workspace's .git leads to a repository that does not know it. Go on without its history."
        )
    if why := external_reference(home, call.check):
        raise ToolRefused(f"The repository's git folder {why}, so it is not used. Go on without its history.")
