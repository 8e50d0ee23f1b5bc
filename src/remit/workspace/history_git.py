"""Ask git about the history of a checkout: what is gone, what changed files, and who wrote lines.

Each question reads the history once, for all claims together, and at most a number of commits. No clock ends a
question: the limit of time only ends a git that hangs, and is an error.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from remit.lazy import lazy_pattern
from remit.workspace.past_files import HANGS_AFTER, HistoryUnreadable, Repository
from remit.workspace.safe_git import decode_output, kill, start_git, within_limit, without_filters

#: The history is read up to this commit of the first-parent line, counted from the newest one.
MAX_COMMITS = 100_000
#: At most this many files are asked for in one question.
_MAX_PATHS = 5_000
_FEW_PATHS = 20
_MAX_OUTPUT = 128 * 1024 * 1024
#: More ranges than this are not passed to `git blame`: all lines are.
_MAX_RANGES = 300
_PIECE = 64 * 1024
#: Renames with changed content are found if a commit has at most this many new and removed files.
_RENAME_LIMIT = "-l400"
_ID = lazy_pattern(r"[0-9a-f]{40,64}")
_BLAMED = lazy_pattern(r"^([0-9a-f]{40,64}) \d++ (\d++) (\d++)$")


class Gone(NamedTuple):
    """How a path disappeared: the commit that removed or renamed it, and the new path of a renamed one."""

    commit: str
    renamed_to: str | None


def open_repository(top: str, folder: str, commit: str) -> Repository:
    """Return what git reports about a checkout. Raises `HistoryUnreadable` without git or without a commit."""
    arguments = ("rev-parse", "--is-shallow-repository", "--git-common-dir", f"{commit}^{{commit}}")
    rows = decode_output(_output(top, *arguments, may_fail=True)).split("\n")
    if len(rows) < 3 or not _ID.fullmatch(rows[2]):
        raise HistoryUnreadable("no-commit" if len(rows) >= 3 else "failed")
    below = os.path.relpath(folder, top).replace(os.sep, "/")
    try:
        packs = os.listdir(os.path.join(top, rows[1], "objects", "pack"))
    except OSError:
        packs = []
    return Repository(
        top,
        "" if below == "." else f"{below}/",
        rows[2],
        rows[0] == "true",
        any(name.endswith(".promisor") for name in packs),
        without_filters(top),
    )


def oldest_read(repository: Repository) -> str:
    """Return the commit at which reading ends, because the history before it is too long; empty if there is none."""
    arguments = ("rev-list", "--first-parent", f"--skip={MAX_COMMITS}", "--max-count=1", repository.head)
    return decode_output(_output(repository.top, *arguments)).strip()


def gone_paths(repository: Repository, oldest: str) -> dict[str, Gone]:
    """Return the paths that commits of the first-parent line removed or renamed, the newest removal of each first."""
    detection = ("-M100%",) if repository.is_partial else ("-M", _RENAME_LIMIT)
    gone: dict[str, Gone] = {}
    words = iter(_log(repository, oldest, "-m", *detection, "--diff-filter=DR", "--name-status"))
    commit = ""
    for word in words:
        status = word.removeprefix("\n")
        if status == "D":
            gone.setdefault(_below(repository, next(words, "")), Gone(commit, None))
        elif status.startswith("R"):
            old, new = _below(repository, next(words, "")), _below(repository, next(words, ""))
            gone.setdefault(old, Gone(commit, new))
        else:
            commit = word
    return gone


def changes_of(repository: Repository, paths: Iterable[str], oldest: str) -> dict[str, list[str]]:
    """Return the commits of the first-parent line that changed each path, the newest first."""
    wanted = [f"{repository.prefix}{path}" for path in paths if path and "\0" not in path][:_MAX_PATHS]
    if not wanted:
        return {}
    commits: dict[str, list[str]] = {}
    commit = ""
    # Git compares each changed path with each wanted one, so for many of them all changes are listed.
    asked = wanted if len(wanted) <= _FEW_PATHS else ()
    words = _log(repository, oldest, "-m", "--no-renames", "--name-only", paths=asked)
    known = frozenset(wanted)
    for word, after in pairwise([*words, ""]):
        if after.startswith("\n"):  # a line end precedes the first path of a commit
            commit = word
        elif (path := word.removeprefix("\n")) in known:
            commits.setdefault(_below(repository, path), []).append(commit)
    return commits


def _below(repository: Repository, path: str) -> str:
    return path.removeprefix(repository.prefix)


def _log(repository: Repository, oldest: str, *options: str, paths: Sequence[str] = ()) -> list[str]:
    """Return the words of a log of the first-parent line: the id of each commit, followed by its changes."""
    inside = paths or ([repository.prefix] if repository.prefix else [])
    revisions = [repository.head, *([f"^{oldest}"] if oldest else [])]
    form = ("--first-parent", "--no-show-signature", "-z", "--format=%H")
    arguments = ("--literal-pathspecs", "log", *form, *options, *revisions, "--", *inside)
    return decode_output(_output(repository.top, *arguments, repository=repository)).split("\0")[:-1]


def blame(repository: Repository, path: str, lines: Sequence[int], oldest: str) -> dict[int, str]:
    """Return the commit that last changed each line of a file of the newest commit. The lines must exist.

    Lines that are older than the oldest commit that is read have no commit.
    """
    ranges = list(_ranges(sorted(lines)))
    limits = [f"-L{first},{last}" for first, last in ranges] if len(ranges) <= _MAX_RANGES else []
    revisions = [repository.head, *([f"^{oldest}"] if oldest else [])]
    options = ("--incremental", "--no-textconv", *limits, *revisions, "--", f"{repository.prefix}{path}")
    printed = _output(repository.top, "blame", *options, repository=repository)
    dates: dict[int, str] = {}
    for row in decode_output(printed).split("\n")[:-1]:
        if blamed := _BLAMED.match(row):
            first = int(blamed[2])
            dates.update(dict.fromkeys(range(first, first + int(blamed[3])), blamed[1]))
    return {line: commit for line, commit in dates.items() if commit != oldest}


def _ranges(lines: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Join sorted numbers to ranges."""
    first = last = None
    for line in lines:
        if first is not None and last is not None and line > last + 1:
            yield first, last
            first = None
        first = line if first is None else first
        last = line
    if first is not None and last is not None:
        yield first, last


def new_folder(gone: Mapping[str, Gone], folder: str, commit: str) -> str | None:
    """Return the folder to which a commit moved most of the files of a folder; None if there is not one."""
    below = f"{folder}/"
    left = ((path, one) for path, one in gone.items() if path.startswith(below) and one.commit == commit)
    moved = [(path[len(folder) :], one.renamed_to) for path, one in left]
    targets = Counter(new.removesuffix(rest) for rest, new in moved if new is not None and new.endswith(rest))
    target, count = targets.most_common(1)[0] if targets else ("", 0)
    return target if 2 * count > len(moved) else None


def _output(top: str, *arguments: str, repository: Repository | None = None, may_fail: bool = False) -> bytes:
    """Return the output of a git command. Raises `HistoryUnreadable` if it fails or prints too much."""
    try:
        process = start_git(top, *arguments, settings=repository.settings if repository is not None else None)
    except (OSError, ValueError):  # git is not installed, or an argument has a NUL
        raise HistoryUnreadable("no-git") from None
    output = bytearray()
    with within_limit(process, HANGS_AFTER, arguments[0]), process:
        while process.stdout is not None and (piece := process.stdout.read(_PIECE)):
            output += piece
            if len(output) > _MAX_OUTPUT:
                kill(process)
                raise HistoryUnreadable("limit")
        status = process.wait()
    if status and not may_fail:
        raise HistoryUnreadable("partial" if repository is not None and repository.is_partial else "failed")
    return bytes(output)
