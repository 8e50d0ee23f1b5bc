"""What git knows of a checkout: its commit, what has changed, where it comes from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from remit.errors import UsageError
from remit.lazy import lazy_pattern
from remit.workspace.safe_git import decode_output, found_by_git, root_above, run_git, without_filters

if TYPE_CHECKING:
    from pathlib import Path

_MAX_ADDRESS = 2_048


def _diff(root: str | os.PathLike[str], *arguments: str) -> bytes | None:
    """A diff of the files below a root in which nothing of the repository's own is run."""
    options = ("--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--relative")
    return run_git(root, "diff", *options, *arguments, settings=without_filters(root))


class FileChangeStat(NamedTuple):
    """How many lines of a file differ from a commit; None for a binary file."""

    added: int | None
    removed: int | None
    created: bool = False


def changes(root: str | os.PathLike[str], base: str = "HEAD") -> dict[str, FileChangeStat] | None:
    """Files below the root that differ from a commit, untracked ones included; None without git."""
    if found_by_git(root) is None:
        return None
    listed = _diff(root, "--raw", "--numstat", "-z", base)
    untracked = run_git(root, "ls-files", "-z", "--others", "--exclude-standard") if listed is not None else None
    if listed is None or untracked is None:
        return None
    found = _counted(decode_output(listed).split("\0"))
    for path in filter(None, decode_output(untracked).split("\0")):
        found[path] = FileChangeStat(None, 0, created=True)
    return found


_HUNK = lazy_pattern(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_NEW_NAME = lazy_pattern(r'^\+\+\+ "?b/(.*?)"?\t?$')


def changed_lines(root: Path, rev: str) -> dict[str, list[tuple[int, int]]]:
    """For each file below the root: the line ranges that are new or different since a commit."""
    flags = ("--unified=0", "--no-color", "--src-prefix=a/", "--dst-prefix=b/")
    diff = _diff(root, *flags, "--end-of-options", rev)
    untracked = run_git(root, "ls-files", "-z", "--others", "--exclude-standard")
    if diff is None or untracked is None:
        raise UsageError(f"{root} has no commit {rev!r}; `git rev-parse {rev}` must know it")
    found: dict[str, list[tuple[int, int]]] = {
        name: [(1, 1 << 40)] for name in decode_output(untracked).split("\0") if name
    }
    spans: list[tuple[int, int]] = []
    for line in decode_output(diff).split("\n"):
        if name := _NEW_NAME.match(line):
            spans = found.setdefault(name[1], [])
        elif hunk := _HUNK.match(line):
            start, count = int(hunk[1]), int(hunk[2] or 1)
            if count:
                spans.append((start, start + count - 1))
    return found


def head(root: Path) -> str | None:
    """The id of the commit that is checked out, or None."""
    found = run_git(root, "rev-parse", "--verify", "--quiet", "HEAD")
    return decode_output(found).strip() if found else None


def remote_address(root: Path) -> str | None:
    """Where the checkout at a root comes from, fit to be shown: the address of `origin`, else of the first remote.

    None if there is none, or the root is only a part of a checkout. The configuration is asked, not
    `git remote get-url`: that applies the person's `url.*.insteadOf`, which may hold a token.
    """
    if root_above(root) != root.resolve():
        return None
    listed = run_git(root, "config", "-z", "--get-regexp", r"^remote\..*\.url$") or b""
    pairs = (entry.partition("\n") for entry in decode_output(listed).split("\0"))
    remotes = [(key, address) for key, _, address in pairs if address]
    found = next((address for key, address in remotes if key == "remote.origin.url"), None)
    return public_address(found or next((address for _, address in remotes), ""))


_COPY_STYLE = lazy_pattern(r"[\w.-]+@([\w.-]+):(?!//)(\S+)")


def public_address(address: str) -> str | None:
    """The address of a repository as a URI without user, password and query; None for a path or anything else."""
    from urllib.parse import quote, unquote, urlsplit  # late: it is slow to load, and a check needs no address

    if len(address) > _MAX_ADDRESS:
        return None
    copied = _COPY_STYLE.fullmatch(address)
    try:
        parts = urlsplit(f"ssh://{copied[1]}/{copied[2].lstrip('/')}" if copied else address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    # A password with a slash in it would leave its rest, and the @ behind it, in the path.
    if parts.scheme not in ("http", "https", "ssh", "git") or not parts.hostname or "@" in parts.path:
        return None
    host = quote(parts.hostname, safe=":", errors="replace")
    path = quote(unquote(parts.path), safe="/~", errors="replace")
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{path}"


def _counted(listed: list[str]) -> dict[str, FileChangeStat]:
    """Files and how many lines of each differ, from git's raw records (a path follows each) and its rows of numbers."""
    found: dict[str, FileChangeStat] = {}
    created: set[str] = set()
    rows = iter(listed)
    for row in rows:
        if row.startswith(":"):
            path = next(rows, "")
            if row.endswith(" A"):
                created.add(path)
        elif row.count("\t") >= 2:
            plus, minus, path = row.split("\t", 2)
            found[path] = FileChangeStat(_number(plus), _number(minus), path in created)
    return found


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
