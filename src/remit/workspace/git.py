"""Ask git about a checkout: its commit, its changes, its remote address."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from remit.errors import EnvironmentBroken, UsageError
from remit.lazy import lazy_pattern
from remit.regular_files import read_regular
from remit.workspace.safe_git import (
    SECONDS,
    GitLimitReached,
    decode_output,
    found_by_git,
    root_above,
    run_git,
    start_git,
    within_limit,
    without_filters,
)

_MAX_ADDRESS = 2_048
_MAX_POINTER = 4_096

#: At most this many paths are asked for.
_MAX_IGNORED = 5_000
#: What reads the files that a diff reads, and takes milliseconds: it fails soon if one of them is a pipe.
_PROBES = (
    ("rev-parse", "--verify", "--quiet", "HEAD^{commit}"),
    ("check-ignore", "--quiet", "x"),
    ("check-attr", "diff", "--", "x"),
)


def _diff(root: str | os.PathLike[str], *arguments: str, settings: Mapping[str, str] | None = None) -> bytes | None:
    """Return a diff of the files below a root, without running a program that the repository configures."""
    settings = without_filters(root) if settings is None else settings
    for probe in _PROBES:
        run_git(root, *probe, settings=settings)
    _refuse_pipes(root)
    options = ("--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--relative")
    return run_git(root, "diff", *options, *arguments, settings=settings)


def _refuse_pipes(root: str | os.PathLike[str]) -> None:
    """Raise `GitLimitReached` if the attributes of a folder with tracked files are a pipe: a diff would wait for it."""
    names = (run_git(root, "ls-files", "-z") or b"").split(b"\0")
    folders = {name.rpartition(b"/")[0] for name in names}
    folders |= {os.fsencode(parent) for folder in folders for parent in PurePosixPath(os.fsdecode(folder)).parents}
    for folder in sorted(folders):
        path = os.path.join(os.fsencode(root), folder, b".gitattributes")
        with suppress(OSError):
            if stat.S_ISFIFO(os.stat(path).st_mode):
                name = decode_output(os.path.join(folder, b".gitattributes"))
                raise GitLimitReached(f"{name} is a pipe, which would block git: remove it")


def _untracked(root: str | os.PathLike[str], settings: Mapping[str, str] | None = None) -> bytes | None:
    settings = without_filters(root) if settings is None else settings
    return run_git(root, "ls-files", "-z", "--others", "--exclude-standard", settings=settings)


class FileChangeStat(NamedTuple):
    """How many lines of a file differ from a commit; None for a binary file."""

    added: int | None
    removed: int | None
    created: bool = False


def changes(root: str | os.PathLike[str], base: str = "HEAD") -> dict[str, FileChangeStat] | None:
    """Return the files below the root that differ from a commit, including untracked ones; None without git."""
    if found_by_git(root) is None:
        return None
    settings = without_filters(root)
    listed = _diff(root, "--raw", "--numstat", "-z", base, settings=settings)
    untracked = _untracked(root, settings) if listed is not None else None
    if listed is None or untracked is None:
        return None
    counts = _counted(decode_output(listed).split("\0"))
    for path in filter(None, decode_output(untracked).split("\0")):
        counts[path] = FileChangeStat(None, 0, created=True)
    return counts


_HUNK = lazy_pattern(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_NEW_NAME = lazy_pattern(r'^\+\+\+ "?b/(.*?)"?\t?$')


def changed_lines(root: Path, rev: str, *, with_renames: bool = False) -> dict[str, list[tuple[int, int]]]:
    """Return, for each file below the root, the line ranges that are new or changed since a commit.

    All lines of a renamed file are new, unless it is compared with its old path, `with_renames`.
    """
    flags = ("--unified=0", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", *(["--find-renames"] * with_renames))
    settings = without_filters(root)
    diff = _diff(root, *flags, "--end-of-options", rev, settings=settings)
    untracked = _untracked(root, settings)
    if diff is None or untracked is None:
        if has_commit(root, rev):
            raise EnvironmentBroken(f"git cannot compare the files with {rev}; run `git fsck` to find the cause")
        raise UsageError(f"{root} has no commit {rev!r}; use a revision that `git rev-parse` accepts there")
    spans_by_file: dict[str, list[tuple[int, int]]] = {
        name: [(1, 1 << 40)] for name in decode_output(untracked).split("\0") if name
    }
    spans: list[tuple[int, int]] = []
    for line in decode_output(diff).split("\n"):
        if name := _NEW_NAME.match(line):
            spans = spans_by_file.setdefault(name[1], [])
        elif hunk := _HUNK.match(line):
            start, count = int(hunk[1]), int(hunk[2] or 1)
            if count:
                spans.append((start, start + count - 1))
    return spans_by_file


def has_commit(root: Path, rev: str) -> bool:
    """Return whether a revision names a commit that the repository has."""
    return bool(run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}"))


def has_tracked_changes(root: Path, rev: str) -> bool:
    """Return whether a tracked file below the root differs from a commit."""
    return bool(_diff(root, "--name-only", "--end-of-options", rev))


def is_shallow(root: Path) -> bool:
    """Return whether the history of a clone is cut."""
    return (run_git(root, "rev-parse", "--is-shallow-repository") or b"").strip() == b"true"


def untracked_files(root: str | os.PathLike[str]) -> list[str]:
    """Return the files below the root that git neither tracks nor ignores."""
    return [name for name in decode_output(_untracked(root) or b"").split("\0") if name]


def renamed_files(root: str | os.PathLike[str], rev: str) -> dict[str, str]:
    """Return the old path of each file below the root that was renamed since a commit."""
    listed = _diff(root, "--find-renames", "--name-status", "--diff-filter=R", "-z", "--end-of-options", rev)
    words = decode_output(listed or b"").removesuffix("\0").split("\0")
    return dict(zip(words[2::3], words[1::3], strict=False))


def merge_base(root: Path, rev: str) -> str | None:
    """Return the commit at which the checked-out one left another; None without one."""
    if not has_commit(root, rev):
        return None
    commit = run_git(root, "merge-base", "--end-of-options", rev, "HEAD")
    return decode_output(commit).strip() or None if commit else None


def ignored_paths(root: str | os.PathLike[str], paths: Iterable[str]) -> frozenset[str]:
    """Return which paths the checkout ignores, whether or not they exist. Raises `GitLimitReached` if git hangs."""
    listed = [path for path in dict.fromkeys(paths) if path and "\0" not in path and not path.startswith(("/", "../"))]
    listed = listed[:_MAX_IGNORED]
    if not listed or found_by_git(root) is None:
        return frozenset()
    try:
        process = start_git(root, "check-ignore", "--no-index", "-z", "--stdin", has_input=True)
    except OSError:
        return frozenset()
    with within_limit(process, SECONDS, "check-ignore"), process:
        # A pattern such as `dist/` matches a folder, and a path that does not exist is one if it ends with a slash.
        asked = [form for path in listed for form in (path, f"{path.rstrip('/')}/")]
        printed, _ = process.communicate("\0".join(asked).encode("utf-8", "surrogateescape"))
    names = {decode_output(path) for path in printed.split(b"\0") if path}
    return frozenset(path for path in listed if path in names or f"{path.rstrip('/')}/" in names)


def main_branch(root: Path) -> str | None:
    """Return the branch that others start from: the default of the remote, else `main` or `master`."""
    for name in ("origin/HEAD", "origin/main", "origin/master", "main", "master"):
        if run_git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"):
            return name
    return None


def head(root: str | os.PathLike[str]) -> str | None:
    """Return the id of the checked-out commit, or None."""
    known = _head_of_own_files(root)
    if known is not None:
        return known
    commit = run_git(root, "rev-parse", "--verify", "--quiet", "HEAD")
    return decode_output(commit).strip() if commit else None


_COMMIT = lazy_pattern(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\n")
_BRANCH = lazy_pattern(r"ref: (refs/heads/[A-Za-z0-9_][A-Za-z0-9_./-]*)\n")


def _head_of_own_files(root: str | os.PathLike[str]) -> str | None:
    """Return the commit that git's own files name, in the form that nearly all checkouts have; else None.

    Starting git takes longer than the check of a report. Git refuses a repository of another user, and so does this.
    """
    checkout = found_by_git(root)
    if checkout is None:
        return None
    folder = f"{checkout}/.git"
    try:
        about = os.lstat(folder)
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
            return None
        written = _small_file(f"{folder}/HEAD")
        branch = _BRANCH.fullmatch(written)
        if branch is not None and ".." not in branch[1]:
            written = _small_file(f"{folder}/{branch[1]}")
        return written.strip() if _COMMIT.fullmatch(written) and os.path.isdir(f"{folder}/objects") else None
    except (OSError, ValueError, AttributeError):  # the last one: a system without users
        return None


def _small_file(path: str) -> str:
    """Return the start of a file; it is not a link, and a pipe does not block."""
    return (read_regular(path, _MAX_POINTER) or b"").decode("utf-8", "replace")


def user_name(root: Path) -> str | None:
    """Return the name of git's user in a checkout, or None."""
    name = run_git(root, "config", "--get", "user.name")
    return decode_output(name).strip() or None if name else None


def remote_address(root: Path) -> str | None:
    """Return the public address of a checkout's `origin`, or else of its first remote.

    None without a remote, or if the root is only a part of a checkout. This reads the configuration because
    `git remote get-url` applies the user's `url.*.insteadOf`, which may contain a token.
    """
    if root_above(root) != root.resolve():
        return None
    listed = run_git(root, "config", "-z", "--get-regexp", r"^remote\..*\.url$") or b""
    pairs = (entry.partition("\n") for entry in decode_output(listed).split("\0"))
    remotes = [(key, address) for key, _, address in pairs if address]
    origin = next((address for key, address in remotes if key == "remote.origin.url"), None)
    return public_address(origin or next((address for _, address in remotes), ""))


_COPY_STYLE = lazy_pattern(r"[\w.-]+@([\w.-]+):(?!//)(\S+)")


def public_address(address: str) -> str | None:
    """Return a repository's address as a URI without user, password and query; None for a path or anything else."""
    if len(address) > _MAX_ADDRESS:
        return None
    copied = _COPY_STYLE.fullmatch(address)
    try:
        parts = urlsplit(f"ssh://{copied[1]}/{copied[2].lstrip('/')}" if copied else address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    # If a password contains a slash, its second half and the @ after it are in the path.
    if parts.scheme not in ("http", "https", "ssh", "git") or not parts.hostname or "@" in parts.path:
        return None
    host = quote(parts.hostname, safe=":", errors="replace")
    path = quote(unquote(parts.path), safe="/~", errors="replace")
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{path}"


def _counted(listed: list[str]) -> dict[str, FileChangeStat]:
    """Parse the output of `git diff --raw --numstat -z`: files, each with the number of its changed lines."""
    counts: dict[str, FileChangeStat] = {}
    created: set[str] = set()
    rows = iter(listed)
    for row in rows:
        if row.startswith(":"):
            path = next(rows, "")
            if row.endswith(" A"):
                created.add(path)
        elif row.count("\t") >= 2:
            plus, minus, path = row.split("\t", 2)
            counts[path] = FileChangeStat(_number(plus), _number(minus), path in created)
    return counts


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
