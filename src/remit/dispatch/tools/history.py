"""GitLog, GitDiff, GitShow, GitBlame: history, read-only, and only of what lies in the workspace."""

from __future__ import annotations

import re

from remit.dispatch.tools import arguments
from remit.dispatch.tools.calling import Call
from remit.dispatch.tools.diffs import marks_of
from remit.dispatch.tools.model import Answer, Refused
from remit.dispatch.tools.reading import lines_of
from remit.dispatch.tools.repository import git

_DIFF = (
    *("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--ignore-submodules=dirty"),
    *("--relative", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3"),
)
_LOG = "%h %ad %an%n    %s"
_COMMIT = "commit %H%nAuthor: %an <%ae>%nDate:   %ad%n%n%B"
_RANGE = re.compile(r"(.*?)(\.\.\.?)(.*)")


async def log(call: Call, given: arguments.GitLog) -> Answer:
    """Commits, newest first."""
    path = call.ground.relative(given.path or ".")
    revs = await _resolved(call, given.rev or "HEAD")
    options = ("--no-color", "--date=short", f"--format={_LOG}", f"--max-count={given.limit}", "--no-show-signature")
    out = await git(call, "log", *options, revs, "--", path or ".")
    return Answer(_text(out) or "No commits. Look at another path or rev.", path=path or None)


async def diff(call: Call, given: arguments.GitDiff) -> Answer:
    """What differs: the work tree from a commit, or one commit from another."""
    path = call.ground.relative(given.path or ".")
    revs = await _resolved(call, given.rev or "HEAD")
    text = _text(await git(call, "diff", *_DIFF, revs, "--", path or "."))
    if not text:
        return Answer("No differences. (Files that git does not know yet are not compared.)", path=path or None)
    return Answer(text, path=path or None, marks=marks_of(text.split("\n"), numbered=".." not in revs))


async def show(call: Call, given: arguments.GitShow) -> Answer:
    """A commit with its changes, or a file as it was in it."""
    commit = await _commit(call, given.rev)
    if given.path is None:
        options = (f"--format={_COMMIT}", "--date=iso", "--no-show-signature", "--diff-merges=first-parent")
        text = _text(await git(call, "show", *options, *_DIFF, commit, "--", "."))
        body = text.split("\n")
        start = next((place for place, line in enumerate(body) if line.startswith("diff --git ")), len(body))
        return Answer(text, marks=(None,) * start + marks_of(body[start:], numbered=False))
    path = call.ground.relative(given.path)
    if not path:
        raise Refused("path is the workspace itself. Name a file in it, or leave path out to see the commit.")
    data = await git(call, "cat-file", "blob", f"{commit}:./{path}")
    if b"\0" in data[:8_192]:
        raise Refused(f"{path!r} is a binary file in that commit and is not shown. Name a text file.")
    return Answer(_text(data) or f"[{path} was empty.]", path=path)


async def blame(call: Call, given: arguments.GitBlame) -> Answer:
    """Who last changed each line of a file."""
    path, is_folder = await call.in_thread(lambda: call.ground.kind(given.path))
    if is_folder:
        raise Refused(f"{(path or '.')!r} is a folder. Name a file in it.")
    first = given.start or 1
    if given.end is not None and given.end < first:
        raise Refused(f"end={given.end} lies before start={first}. Give the first line, then the last.")
    lines = f"{first},{given.end or ''}".rstrip(",") + ("" if given.end else ",")
    out = await git(call, "blame", "--no-textconv", "--date=short", "--abbrev=8", "-L", lines, "--", path)
    shown = lines_of(_text(out))
    return Answer("\n".join(shown), path=path, marks=tuple((path, first + place) for place in range(len(shown))))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").rstrip("\n")


async def _resolved(call: Call, written: str) -> str:
    """A rev or a range as the ids of its commits: nothing a model writes reaches git as an option."""
    ends = _RANGE.fullmatch(written.strip())
    if ends is None:
        return await _commit(call, written)
    return f"{await _commit(call, ends[1] or 'HEAD')}{ends[2]}{await _commit(call, ends[3] or 'HEAD')}"


async def _commit(call: Call, written: str) -> str:
    rev = written.strip()
    if not rev or rev.startswith("-") or ":" in rev or not rev.isprintable() or " " in rev:
        raise Refused(f"{written[:100]!r} is no commit. Write a branch, a tag, HEAD~1 or an id that GitLog shows.")
    found = await git(call, "rev-parse", "--verify", "--end-of-options", f"{rev}^{{commit}}")
    return _text(found)
