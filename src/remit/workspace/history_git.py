"""Ask git about the history of a checkout: what is gone, what changed files, and who wrote lines.

One log of the newest commits answers for all claims together. No clock ends a
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
MAX_COMMITS = 50_000
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


class Log(NamedTuple):
    """What the commits of the first-parent line changed."""

    #: How paths disappeared: the newest removal of each.
    gone: dict[str, Gone]
    #: The commits that changed each path, the newest first.
    changes: dict[str, list[str]]
    #: The commit at which reading ended; empty if all of the history was read.
    oldest: str


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


def read_log(repository: Repository) -> Log:
    """Return what the commits of the first-parent line changed, read in one pass."""
    arguments = ("rev-list", "--first-parent", f"--skip={MAX_COMMITS}", "--max-count=1", repository.head)
    oldest = decode_output(_output(repository.top, *arguments)).strip()
    detection = ("-M100%",) if repository.is_partial else ("-M", _RENAME_LIMIT)
    listed, oldest = _listed(repository, oldest, *detection)
    log = Log({}, {}, oldest)
    commit = ""
    words = iter(listed)
    for word in words:
        status = word.removeprefix("\n")
        if _ID.fullmatch(status):
            commit = status
            continue
        path = _below(repository, next(words, ""))
        log.changes.setdefault(path, []).append(commit)
        if status == "D":
            log.gone.setdefault(path, Gone(commit, None))
        elif status.startswith("R"):
            new = _below(repository, next(words, ""))
            log.changes.setdefault(new, []).append(commit)
            log.gone.setdefault(path, Gone(commit, new))
    return log


def _below(repository: Repository, path: str) -> str:
    return path.removeprefix(repository.prefix)


def _listed(repository: Repository, oldest: str, *options: str) -> tuple[list[str], str]:
    """Return the words of the log, the id of each commit followed by its changes, and where reading ended."""
    inside = [repository.prefix] if repository.prefix else []
    revisions = [repository.head, *([f"^{oldest}"] if oldest else [])]
    form = ("--first-parent", "-m", "--no-show-signature", "-z", "--format=%H", "--name-status")
    arguments = ("--literal-pathspecs", "log", *form, *options, *revisions, "--", *inside)
    printed = _output(repository.top, *arguments, repository=repository, may_be_cut=True)
    words = decode_output(printed).split("\0")[:-1]
    if len(printed) <= _MAX_OUTPUT:
        return words, oldest
    # The last commit is not complete. Only after its id, a word starts with a line end.
    last = max((number for number, (_, after) in enumerate(pairwise(words)) if after.startswith("\n")), default=0)
    return words[:last], words[last]


def blame(repository: Repository, path: str, lines: Sequence[int], log: Log) -> dict[int, str]:
    """Return the commit that last changed each line of a file of the newest commit. The lines must exist.

    Lines that are older than the oldest commit that is read have no commit.
    """
    if path not in log.changes:
        return {}
    newest, oldest = log.changes[path][0], log.oldest  # later commits did not change the file
    ranges = list(_ranges(sorted(lines)))
    limits = [f"-L{first},{last}" for first, last in ranges] if len(ranges) <= _MAX_RANGES else []
    revisions = [newest, *([f"^{oldest}"] if oldest else [])]
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


def _output(
    top: str,
    *arguments: str,
    repository: Repository | None = None,
    may_fail: bool = False,
    may_be_cut: bool = False,
) -> bytes:
    """Return the output of a git command. Raises `HistoryUnreadable` if it fails or prints too much.

    With `may_be_cut`, more than `_MAX_OUTPUT` bytes are returned if there are more.
    """
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
                if may_be_cut:
                    return bytes(output[: _MAX_OUTPUT + 1])
                raise HistoryUnreadable("limit")
        status = process.wait()
    if status and not may_fail:
        raise HistoryUnreadable("partial" if repository is not None and repository.is_partial else "failed")
    return bytes(output)
