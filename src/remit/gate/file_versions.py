"""Earlier versions of files: copies of those that are not committed, and the content of commits.

A change without permission is reverted to such a version. Git is asked through `safe_git`: nothing of the repository
runs.
"""

from __future__ import annotations

import os
import stat

from remit.errors import EnvironmentBroken
from remit.gate.record_store import open_store
from remit.regular_files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    #: Change time, modification time (both in nanoseconds), size, mode, number of the file on its disk.
    Entry = tuple[int, int, int, int, int]

#: Limits of what is copied: bytes of a file, and of all files of one record.
MAX_COPY = 1_000_000
_MAX_COPIES = 32_000_000
_MAX_COPIED_FILES = 2_000
#: With more changed files than this, git is asked which of them are committed.
_MANY = 20
_GIT_SECONDS = 5.0


class StatChange:
    """A file that differs between two records; an entry of size -1 means that it does not exist."""

    def __init__(self, path: str, before: Entry, after: Entry) -> None:
        self.path = path
        self.before = before
        self.after = after

    @property
    def is_new(self) -> bool:
        """Whether the file did not exist before."""
        return self.before[2] < 0

    @property
    def is_removed(self) -> bool:
        """Whether the file does not exist any more."""
        return self.after[2] < 0


def keep_copies(
    folder: str, project: str, entries: dict[str, Entry], copies: dict[str, tuple[int, str]], head: str
) -> dict[str, tuple[int, str]]:
    """Copy files into the gate's store, except those that are as committed and those above a limit."""
    paths, store = list(entries), open_store(folder)
    if len(paths) > _MANY and head:
        dirty = uncommitted(project, head)
        paths = paths if dirty is None else sorted(dirty.intersection(paths))
    total = 0
    kept = {}
    with store.changing():
        for path in paths[:_MAX_COPIED_FILES]:
            changed_at, _, size, mode, _ = entries[path]
            if size > MAX_COPY or total + size > _MAX_COPIES or copies.get(path, (0, ""))[0] == changed_at:
                continue
            data = read_version(os.path.join(project, path), mode, MAX_COPY)
            if data is not None:
                total += len(data)
                kept[path] = (changed_at, store.keep_content(data))
    return kept


def contents_before(
    folder: str, project: str, copies: dict[str, tuple[int, str]], head: str, changes: Iterable[StatChange]
) -> dict[str, bytes | None]:
    """Return the content of files at the time of a record: their copy, or what was committed; None if it is lost."""
    contents: dict[str, bytes | None] = {}
    committed: dict[str, int] = {}
    for change in changes:
        changed_at, name = copies.get(change.path, (0, ""))
        if name and changed_at == change.before[0]:
            contents[change.path] = open_store(folder).content(name)
        elif name or not head:
            contents[change.path] = None
        else:
            committed[change.path] = change.before[2]
    if committed:
        blobs = _committed(project, head, list(committed))
        contents |= {path: _as_checked_out(blobs.get(path), size) for path, size in committed.items()}
    return contents


def _as_checked_out(data: bytes | None, size: int) -> bytes | None:
    if data is not None and len(data) != size:
        data = data.replace(b"\n", b"\r\n")  # as git may have checked it out
    return data if data is not None and len(data) == size else None


def _committed(project: str, head: str, paths: list[str]) -> dict[str, bytes]:
    """Return the content of files in a commit, as far as it can be read: one process for all of them."""
    prefix = git_line(project, "rev-parse", "--show-prefix")
    asked = [path for path in paths if "\n" not in path]
    output = ask_git(project, [f"{head}:{prefix}{path}" for path in asked], "\n", "cat-file", "--batch") or b""
    contents, position = {}, 0
    for path in asked:
        line, _, _ = output[position : position + 4_000].partition(b"\n")
        position += len(line) + 1
        words = line.split(b" ")
        if len(words) == 3 and words[2].isdigit():
            size = int(words[2])
            if words[1] == b"blob":
                contents[path] = output[position : position + size]
            position += size + 1
    return contents


def without_rewritten(
    folder: str, project: str, copies: dict[str, tuple[int, str]], head: str, changes: list[StatChange]
) -> list[StatChange]:
    """Leave out files that were written again, or whose owner or links changed, with the same content and mode."""
    same = [
        change
        for change in changes
        if not (change.is_new or change.is_removed) and change.before[2:4] == change.after[2:4]
    ]
    if not same:
        return changes
    before = contents_before(folder, project, copies, head, same)
    rewritten = {
        change.path
        for change in same
        if before[change.path] is not None
        and before[change.path] == read_version(os.path.join(project, change.path), change.after[3], MAX_COPY)
    }
    return [change for change in changes if change.path not in rewritten]


def read_version(path: str, mode: int, limit: int) -> bytes | None:
    """Return the content of a file, or the target of a link."""
    if stat.S_ISLNK(mode):
        try:
            return os.fsencode(os.readlink(path))
        except OSError:
            return None
    return read_bytes(path, limit) if stat.S_ISREG(mode) else None


def read_bytes(path: str, limit: int) -> bytes | None:
    """Return the content of a regular file of at most `limit` bytes, else None."""
    data = read_regular(path, limit + 1)
    return data if data is not None and len(data) <= limit else None


def head_of(project: str) -> str:
    """Return the commit that is checked out, or an empty text."""
    return git_line(project, "rev-parse", "HEAD")


def ignored_paths(project: str) -> frozenset[bytes]:
    """Return the files and folders that git ignores and that contain no committed file."""
    arguments = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return frozenset((_git(project, *arguments) or b"").split(b"\0")) - {b""}


def ignored_among(project: str, paths: list[str]) -> set[str]:
    """Return those of some paths that git ignores."""
    output = ask_git(project, paths, "\0", "check-ignore", "-z", "--stdin") or b""
    return {os.fsdecode(path) for path in output.split(b"\0") if path}


def count_words(project: str, *words: str) -> list[int]:
    """Return how often each word stands in the text files of the project, in any case."""
    options = ("-I", "-h", "-o", "-i", "-w", "-F", *(part for word in words for part in ("-e", word)))
    output = _git(project, "grep", "--untracked", *options)
    if output is None:  # git found none, or there is no checkout
        output = _git(project, "grep", "--no-index", "--exclude-standard", *options) or b""
    found = os.fsdecode(output).lower().split()
    return [found.count(word.lower()) for word in words]


def committed_folders(project: str, folders: list[str]) -> set[str]:
    """Return the folders in which a file is committed."""
    names = _git_names(project, "ls-files", "-z", "--", *folders) or []
    return {folder for folder in folders if any(name.startswith(f"{folder}/") for name in names)}


def has_committed(project: str, path: str) -> bool:
    """Return whether a path, or a file that a pattern or a folder stands for, is committed; also if git fails."""
    patterns = (f":(literal){path}", f":(glob){path}", f":(glob){path}/**")
    names = _git_names(project, "ls-files", "-z", "--", *patterns)
    return names is None or bool(names)


def committed_below(project: str, names: Iterable[bytes]) -> list[str]:
    """Return the folders with one of these names in which a file is committed, and the folders below them."""
    wanted = sorted(os.fsdecode(name) for name in names)
    patterns = [f":(glob){start}{name}/**" for name in wanted for start in ("", "**/")]
    folders = {
        "/".join(parts[:count])
        for parts in (path.split("/") for path in _git_names(project, "ls-files", "-z", "--", *patterns) or ())
        for count in range(1, len(parts))
        if parts[count - 1] in wanted
    }
    return sorted(folders)


def uncommitted(project: str, commit: str = "HEAD") -> set[str] | None:
    """Return the files that differ from a commit, and those that were never committed; None without git."""
    changed = _git_names(project, "diff-index", "-z", "--name-only", "--relative", commit)
    others = _git_names(project, "ls-files", "-z", "--others", "--exclude-standard")
    return None if changed is None or others is None else {*changed, *others}


def ask_git(project: str, texts: list[str], end: str, *arguments: str) -> bytes | None:
    """Return the output of a command that reads its questions from standard input, with any exit code."""
    return _git(project, *arguments, questions=b"".join(os.fsencode(text + end) for text in texts))


def _git(project: str, *arguments: str, questions: bytes | None = None) -> bytes | None:
    from remit.workspace.safe_git import answer_of_git, run_git  # late: most calls need no process

    if questions is not None:
        return answer_of_git(project, questions, *arguments, seconds=_GIT_SECONDS)
    try:
        return run_git(project, *arguments, seconds=_GIT_SECONDS)
    except EnvironmentBroken:
        return None


def git_line(project: str, *arguments: str) -> str:
    """Return the output of a command of one line; empty if it fails."""
    return os.fsdecode(_git(project, *arguments) or b"").strip()


def _git_names(project: str, *arguments: str) -> list[str] | None:
    data = _git(project, *arguments)
    return None if data is None else [os.fsdecode(name) for name in data.split(b"\0") if name]
