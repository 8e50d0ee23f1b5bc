"""Ask git about the history of a checkout: its first-parent line, the dates of lines, removed and renamed paths.

Only commands that ignore hooks, filters and the user's display settings are used. Each of them reads the history once,
for all questions together.
"""

from __future__ import annotations

import difflib
import os
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import IO, NamedTuple

from remit.lazy import lazy_pattern
from remit.workspace.past_files import Repository, TimeLimit
from remit.workspace.safe_git import (
    SWITCHABLE,
    GitLimitReached,
    decode_output,
    disabled_filters,
    kill,
    start_git,
    within_limit,
)

#: At most this many commits are listed.
MAX_COMMITS = 250_000
#: A first-parent line of up to this many commits is compared commit by commit. In a longer one, the newest commits are,
#: and the others in windows: a file that was added and removed within one window is not noticed.
EXACT_COMMITS = 6_000
NEWEST_COMMITS = 1_000
WINDOWS = 200
#: Renames with changed content are found if a commit has at most this many new and removed files.
_RENAME_LIMIT = "-l400"
_MAX_OUTPUT = 128 * 1024 * 1024
#: More ranges than this are not passed to `git blame`: all lines are.
_MAX_RANGES = 300
_PIECE = 64 * 1024
_BLOCK = 25
_BLAMED = lazy_pattern(r"^([0-9a-f]{40,64}) \d++ (\d++) (\d++)$")
#: Larger differences are not aligned, and lines without an anchor only in small gaps.
_MAX_ALIGNED = 100_000
_SMALL_GAP = 4_096
_MAX_DEPTH = 24


def open_repository(top: str, folder: str, commit: str, limit: TimeLimit) -> Repository | None:
    """Return what git reports about a checkout, or None without git or without a commit, which is noted."""
    arguments = ("rev-parse", "--is-shallow-repository", "--git-common-dir", f"{commit}^{{commit}}")
    printed, is_complete = _collect(top, limit, *arguments)
    rows = decode_output(printed).split("\n")
    if not is_complete or len(rows) < 3:
        limit.note("no-commit" if len(rows) >= 3 else "failed")
        return None
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
    )


def _collect(
    top: str, limit: TimeLimit, *arguments: str, lines: Iterable[str] = (), settings: Mapping[str, str] | None = None
) -> tuple[bytes, bool]:
    """Return the output of a git command, and whether it is complete. A limit cuts it and is noted."""
    data = "".join(f"{line}\n" for line in lines).encode()
    if not limit.left:
        limit.note("limit")
        return b"", False
    try:
        process = start_git(top, *arguments, settings=settings, has_input=bool(data))
    except (OSError, ValueError):  # git is not installed, or an argument has a NUL
        limit.note("no-git")
        return b"", False
    output = bytearray()
    writer = threading.Thread(target=_feed, args=(process.stdin, data), daemon=True)
    try:
        with within_limit(process, limit.left, arguments[0]), process:
            limit.processes.add(process)
            writer.start()
            while process.stdout is not None and (piece := process.stdout.read(_PIECE)):
                output += piece
                if len(output) > _MAX_OUTPUT:
                    limit.note("limit")
                    kill(process)
                    break
            writer.join()
            status = process.wait()
    except GitLimitReached:
        limit.note("limit")
        return bytes(output), False
    finally:
        limit.processes.discard(process)
    return bytes(output), status == 0


def _feed(pipe: IO[bytes] | None, data: bytes) -> None:
    if pipe is not None:
        with suppress(OSError, ValueError), pipe:  # git ended early
            pipe.write(data)


class Mainline:
    """The first-parent line of a commit, newest first, and where each other commit was merged into it."""

    def __init__(self, head: str, parents: dict[str, str]) -> None:
        #: The ids of the parents of each commit, with spaces between them: splitting all of them would take longer.
        self._parents = parents
        self.commits: list[str] = []
        commit = head
        while commit in parents:
            self.commits.append(commit)
            commit = parents[commit][: len(head)]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {commit: position for position, commit in enumerate(self.commits)}

    @cached_property
    def _merged(self) -> dict[str, int]:
        """The commits that are not on the line, each with the position of the merge that brought it there."""
        merged: dict[str, int] = {}
        for position in range(len(self.commits) - 1, -1, -1):
            waiting = self._parents[self.commits[position]].split()[1:]
            while waiting:
                commit = waiting.pop()
                if commit not in merged and commit not in self._positions:
                    merged[commit] = position
                    waiting.extend(self._parents.get(commit, "").split())
        return merged

    def position(self, commit: str) -> int | None:
        """Return the index of the oldest commit of the line that contains a commit; None: it is on another branch."""
        position = self._positions.get(commit)
        return self._merged.get(commit) if position is None else position


def read_mainline(repository: Repository, limit: TimeLimit) -> Mainline:
    """List the commits before the newest one. Only the newest of them are listed if the time is over."""
    count = f"--max-count={MAX_COMMITS}"
    printed, is_complete = _collect(repository.top, limit, "rev-list", "--parents", count, repository.head)
    rows = printed.decode("ascii", "replace").split("\n")[:-1]  # what follows the last line end is empty or was cut
    if not is_complete:
        limit.note("failed")
    if len(rows) == MAX_COMMITS:
        limit.note("limit")
    size = len(repository.head)
    return Mainline(repository.head, {row[:size]: row[size + 1 :] for row in rows})


def commits_of(repository: Repository, paths: Sequence[str], limit: TimeLimit) -> dict[str, list[str]]:
    """Return the commits that changed each path, the newest first, in one pass over the history.

    Empty if it takes too long, or the history is too large.
    """
    wanted = [f"{repository.prefix}{path}" for path in paths]
    options = ("-z", "--format=%H", "--name-only", "--no-renames", repository.head, "--", *wanted)
    printed, is_complete = _collect(repository.top, limit, "--literal-pathspecs", "log", *options)
    commits: dict[str, list[str]] = {}
    if not is_complete:
        return commits
    words = decode_output(printed).split("\0")
    commit = ""
    for word, after in pairwise(words):
        if after.startswith("\n"):
            commit = word
        else:
            commits.setdefault(word.removeprefix("\n").removeprefix(repository.prefix), []).append(commit)
    return commits


def blame(
    repository: Repository, path: str, lines: Sequence[int], limit: TimeLimit, newest: str = ""
) -> dict[int, str]:
    """Return the commit that last changed each line of a file of the newest commit. The lines must exist.

    `newest` is a commit that has the same file, from which the history is read.
    """
    ranges = list(_ranges(sorted(lines)))
    limits = [f"-L{first},{last}" for first, last in ranges] if len(ranges) <= _MAX_RANGES else []
    listed, _ = _collect(repository.top, limit, *SWITCHABLE)  # it fails if nothing is listed
    try:
        settings = disabled_filters(listed)
    except GitLimitReached:
        limit.note("failed")
        return {}
    options = ("--incremental", "--no-textconv", *limits, newest or repository.head, "--", f"{repository.prefix}{path}")
    printed, is_complete = _collect(repository.top, limit, "blame", *options, settings=settings)
    if not is_complete:
        limit.note("partial" if repository.is_partial else "failed")
    dates: dict[int, str] = {}
    for row in decode_output(printed).split("\n")[:-1]:
        if blamed := _BLAMED.match(row):
            first = int(blamed[2])
            dates.update(dict.fromkeys(range(first, first + int(blamed[3])), blamed[1]))
    return dates


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


class CommitWindow(NamedTuple):
    """Two positions of the mainline. A path is there at the older one and not at the newer one."""

    newer: int
    older: int


def removed_paths(repository: Repository, mainline: Mainline, limit: TimeLimit) -> dict[str, CommitWindow]:
    """Return the paths that were removed or renamed, each with the newest window in which that happened."""
    windows = {
        mainline.commits[newer]: CommitWindow(newer, older) for newer, older in pairwise(_edges(len(mainline.commits)))
    }
    lines = [f"{commit} {mainline.commits[window.older]}" for commit, window in windows.items()]
    blocks = [lines[start : start + _BLOCK] for start in range(0, len(lines), _BLOCK)]
    outputs: list[list[str]] = []

    def compare(part: list[str]) -> None:
        outputs.append(_diff_trees(repository, limit, part, "--no-renames", "--diff-filter=D"))

    # Two processes share the work. Neighbouring commits have most of their trees in common, so blocks stay together.
    parts = [[line for block in blocks[half::2] for line in block] for half in (0, 1)]
    threads = [threading.Thread(target=compare, args=(part,), daemon=True) for part in parts if part]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    removed: dict[str, CommitWindow] = {}
    for output in outputs:
        window = CommitWindow(0, 0)
        words = iter(output)
        for word in words:
            if word != "D":
                window = windows.get(word, window)
            elif (path := next(words, "").removeprefix(repository.prefix)) and window <= removed.get(path, window):
                removed[path] = window
    return removed


def _edges(count: int) -> list[int]:
    """Return the positions that are compared, each with the next one."""
    if count <= EXACT_COMMITS:
        return list(range(count))
    step = -(-(count - NEWEST_COMMITS) // WINDOWS)
    return [*range(NEWEST_COMMITS), *range(NEWEST_COMMITS, count - 1, step), count - 1]


def renames(
    repository: Repository, mainline: Mainline, positions: Iterable[int], limit: TimeLimit
) -> dict[int, dict[str, str]]:
    """Return which files the commits at positions of the mainline renamed: the new path by the old one."""
    newer = {mainline.commits[one]: one for one in positions if 0 <= one < len(mainline.commits) - 1}
    lines = [f"{commit} {mainline.commits[position + 1]}" for commit, position in newer.items()]
    renamed: dict[int, dict[str, str]] = {position: {} for position in newer.values()}
    words = iter(_diff_trees(repository, limit, lines, *_detection(repository), "--diff-filter=R") if lines else ())
    position = -1
    for word in words:
        if word in newer:
            position = newer[word]
        elif word.startswith("R") and (old := next(words, "")) and (new := next(words, "")):
            renamed[position][old.removeprefix(repository.prefix)] = new.removeprefix(repository.prefix)
    return renamed


def new_path(renamed: Mapping[str, str], path: str) -> str | None:
    """Return the new path of a file, or of a folder if most of its files moved to one other folder."""
    if path in renamed:
        return renamed[path]
    below = f"{path}/"
    moved = [(old[len(path) :], new) for old, new in renamed.items() if old.startswith(below)]
    folders = Counter(new.removesuffix(rest) for rest, new in moved if new.endswith(rest))
    folder, count = folders.most_common(1)[0] if folders else ("", 0)
    return folder if 2 * count > len(moved) else None


def written_files(repository: Repository, commit: str, parent: str, limit: TimeLimit) -> dict[str, str]:
    """Return the files that a commit added, changed or renamed: the path before it by the new path, empty if none."""
    written: dict[str, str] = {}
    words = iter(_diff_trees(repository, limit, [f"{commit} {parent}"], *_detection(repository), "--diff-filter=AMR"))
    for word in words:
        if word != commit:
            path = next(words, "").removeprefix(repository.prefix)
            new = next(words, "").removeprefix(repository.prefix) if word.startswith("R") else path
            written[new] = "" if word == "A" else path
    return written


def _detection(repository: Repository) -> tuple[str, ...]:
    """Return how renames are found. A partial clone may lack the files: only those with the same content are."""
    return ("-M100%",) if repository.is_partial else ("-M", _RENAME_LIMIT)


def _diff_trees(repository: Repository, limit: TimeLimit, lines: list[str], *options: str) -> list[str]:
    """Compare pairs of commits. Return the newer commit of each pair, followed by its changes: words and paths."""
    inside = ("--", repository.prefix) if repository.prefix else ()
    arguments = ("--literal-pathspecs", "diff-tree", "--stdin", "-r", "-z", "--name-status", *options, *inside)
    printed, is_complete = _collect(repository.top, limit, *arguments, lines=lines)
    if not is_complete:
        limit.note("partial" if repository.is_partial else "failed")
    return decode_output(printed).split("\0")[:-1]  # what follows the last NUL is empty or was cut


def align_lines(old: list[str], new: list[str]) -> dict[int, int]:
    """Return which lines of a text are unchanged in another one: index in the new text by index in the old one.

    Lines that occur once in both are anchors; between them the search is repeated. The cost is linear in the length.
    """
    same: dict[int, int] = {}
    waiting = [(0, len(old), 0, len(new), 0)]
    while waiting:
        first, last, new_first, new_last, depth = waiting.pop()
        while first < last and new_first < new_last and old[first] == new[new_first]:
            same[first] = new_first
            first, new_first = first + 1, new_first + 1
        while first < last and new_first < new_last and old[last - 1] == new[new_last - 1]:
            last, new_last = last - 1, new_last - 1
            same[last] = new_last
        size, new_size = last - first, new_last - new_first
        if not size or not new_size or max(size, new_size) > _MAX_ALIGNED or depth > _MAX_DEPTH:
            continue
        anchors = _anchors(old, range(first, last), new, range(new_first, new_last))
        if not anchors:
            if size * new_size <= _SMALL_GAP:
                matcher = difflib.SequenceMatcher(None, old[first:last], new[new_first:new_last], autojunk=False)
                for start, new_start, length in matcher.get_matching_blocks():
                    same.update((first + start + n, new_first + new_start + n) for n in range(length))
            continue
        edges = [*anchors, (last, new_last)]
        for anchor, new_anchor in edges:
            waiting.append((first, anchor, new_first, new_anchor, depth + 1))
            first, new_first = anchor, new_anchor
    return same


def _anchors(old: list[str], lines: range, new: list[str], new_lines: range) -> list[tuple[int, int]]:
    """Return the longest increasing row of lines that occur once in both parts."""
    counts, new_counts = Counter(old[n] for n in lines), Counter(new[n] for n in new_lines)
    where = {new[n]: n for n in new_lines if new_counts[new[n]] == 1}
    pairs = [(n, where[old[n]]) for n in lines if counts[old[n]] == 1 and old[n] in where]
    ends: list[int] = []  # the new line that ends the best row of each length
    owners: list[int] = []
    before: list[int] = []
    for index, (_, new_line) in enumerate(pairs):
        length = bisect_left(ends, new_line)
        before.append(owners[length - 1] if length else -1)
        ends[length : length + 1] = [new_line]
        owners[length : length + 1] = [index]
    row: list[tuple[int, int]] = []
    index = owners[-1] if owners else -1
    while index >= 0:
        row.append(pairs[index])
        index = before[index]
    return row[::-1]
