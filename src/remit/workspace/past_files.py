"""The files of past commits, read through one `git cat-file` for all commits.

Trees and files that several commits share are read once, so hundreds of commits cost two processes. No filter runs, and
no missing object is fetched.
"""

from __future__ import annotations

import os
import subprocess
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import IO, Literal, NamedTuple

from remit.errors import EnvironmentBroken
from remit.lazy import lazy_pattern
from remit.workspace.files import (
    MAX_CACHE,
    MAX_FILE,
    MAX_LISTED,
    Absent,
    SourceFile,
    Why,
    Workspace,
    WorkTree,
    from_bytes,
)
from remit.workspace.git import renamed_files, untracked_files
from remit.workspace.paths import is_absolute, normalize_path
from remit.workspace.safe_git import GitLimitReached, decode_output, start_git, within_limit

#: Why the history is not completely known; empty: it is.
Problem = Literal["", "no-git", "no-commit", "shallow", "partial", "revision", "limit", "failed"]
#: Questions are sent in portions that fit into the buffer of a pipe, so that neither side waits for the other.
_PORTION = 8_192
_MAX_TREE_ENTRIES = 500_000
#: A subject is cut after this many bytes.
_MAX_SUBJECT = 200
_MAX_FOLDERS = 20_000
#: At most this many files that are gone are compared with this many that git does not know.
_MAX_LOST, _MAX_UNTRACKED = 20, 500
_MAX_LINKS = 40
_PIECE = 64 * 1024
_CLOSING_SECONDS = 5.0
#: A git that takes longer for one question hangs, for example at a pipe among the objects: that is an error.
HANGS_AFTER = 600.0
_FOLDER = "40000"
_HEX = lazy_pattern(r"[0-9a-f]{4,64}")


class HistoryUnreadable(EnvironmentBroken):
    """A part of the history cannot be read, or was not looked at."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"the history cannot be read: {problem}")
        self.problem: Problem = problem


class Repository(NamedTuple):
    """What git reports about a checkout."""

    top: str
    #: The path of the workspace below the top, with a slash at its end; empty for the top.
    prefix: str
    #: The commit that the history ends with.
    head: str
    is_shallow: bool = False
    #: Whether objects may be missing.
    is_partial: bool = False
    #: What switches off the filters of the repository.
    settings: Mapping[str, str] = {}


class TreeEntry(NamedTuple):
    """An entry of a git tree."""

    mode: str
    id: str


class CommitData(NamedTuple):
    """The parts of a commit object that are needed here."""

    id: str
    tree: str
    parents: tuple[str, ...]
    #: The author's day, as `git show` prints it: `2024-02-08`; empty if it is not a date.
    date: str
    #: The first line of the message.
    subject: str = ""


class _Object(NamedTuple):
    id: str
    kind: str
    #: None: it is too large.
    data: bytes | None


class Objects:
    """Reads commits, trees and files by their ids. Trees and files that several commits share are read once."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        #: Why an object cannot be read; empty: none was missing.
        self.problem: Problem = ""
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._commits: dict[str, CommitData | None] = {}
        self._trees: dict[str, dict[str, TreeEntry]] = {}
        self._tree_entries = 0
        #: The ids of the trees of folders, by commit and path.
        self._folders: dict[tuple[str, str], str] = {}
        self._files: OrderedDict[tuple[str, str], SourceFile | Absent] = OrderedDict()
        self._file_size = 0

    def commit(self, name: str) -> CommitData | None:
        """Return a commit by its id or the start of its id; None if the repository does not have it."""
        if name not in self._commits:
            content = self._object(f"{name}^{{commit}}") if _HEX.fullmatch(name) else None
            # A branch may have a name that looks like the start of an id.
            is_meant = content is not None and content.id.startswith(name)
            self._commits[name] = _parse_commit(content) if content is not None and is_meant else None
        return self._commits[name]

    def tree(self, name: str) -> dict[str, TreeEntry]:
        """Return the entries of a tree. Raises `HistoryUnreadable` if it is missing."""
        if name not in self._trees:
            self.load_trees([name])
        return self._trees[name]

    def folder(self, commit: str, path: str) -> dict[str, TreeEntry] | None:
        """Return the entries of a folder of a commit by its path from the top; None if it is not known there."""
        known = self._trees.get(self._folders.get((commit, path), ""))
        if known is not None:
            return known
        content = self._object(f"{commit}:{path}") if path.isprintable() else None
        if content is None or content.kind != "tree" or content.data is None:
            return None
        if len(self._folders) > _MAX_FOLDERS:
            self._folders.clear()
        self._folders[commit, path] = content.id
        return self._trees.get(content.id) or self._add_tree(content.id, content.data)

    def load_trees(self, names: Iterable[str]) -> None:
        """Read several trees in few exchanges. Raises `HistoryUnreadable` if one is missing."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._trees]
        is_missing = False
        for name, content in zip(wanted, self._read(wanted), strict=True):
            if content is not None and content.kind == "tree" and content.data is not None:
                self._add_tree(name, content.data)
            else:
                is_missing = True
        if is_missing:
            raise self._unreadable()

    def _unreadable(self) -> HistoryUnreadable:
        """Note that an object cannot be read, and return the error that states it."""
        self.problem = "partial" if self._repository.is_partial else "failed"
        return HistoryUnreadable(self.problem)

    def _add_tree(self, name: str, data: bytes) -> dict[str, TreeEntry]:
        if self._tree_entries > _MAX_TREE_ENTRIES:
            self._trees.clear()
            self._tree_entries = 0
        entries = self._trees[name] = _parse_tree(data, len(self._repository.head) // 2)
        self._tree_entries += len(entries) + 1
        return entries

    def load_files(self, places: Iterable[tuple[str, str]]) -> None:
        """Read several files, each given by id and path, in few exchanges; the cache may not keep all of them."""
        wanted = [place for place in dict.fromkeys(places) if place not in self._files]
        for place, content in zip(wanted, self._read([name for name, _ in wanted]), strict=True):
            self._keep(place, _file_of(content, place[1]))

    def file(self, name: str, path: str) -> SourceFile | Absent:
        """Return a file by the id of its content."""
        self.load_files([(name, path)])
        self._files.move_to_end((name, path))
        return self._files[name, path]

    def _keep(self, place: tuple[str, str], content: SourceFile | Absent) -> None:
        self._files[place] = content
        self._file_size += _size(content)
        while self._file_size > MAX_CACHE and len(self._files) > 1:
            self._file_size -= _size(self._files.popitem(last=False)[1])

    def ids(self, places: Sequence[tuple[str, str]]) -> list[str | None]:
        """Return what commits have at paths from the top: the id of a file or folder, or None. Links are not followed.

        Raises `HistoryUnreadable` if that cannot be known.
        """
        # `cat-file` reports "missing" for a path that is not there and for an object that was not fetched.
        # It reads `./` and `../` as relative to the current folder.
        is_partial = self._repository.is_partial
        simple = [not is_partial and path.isprintable() and not path.startswith(("./", "../")) for _, path in places]
        asked = [f"{commit}:{path}" for (commit, path), is_simple in zip(places, simple, strict=True) if is_simple]
        answers = iter(self.resolve(asked))
        return [
            next(answers) if is_simple else self._walk(*place) for place, is_simple in zip(places, simple, strict=True)
        ]

    def resolve(self, names: Sequence[str]) -> list[str | None]:
        """Return the full ids of what git calls by these names, or None. A name has no line break."""
        answers: list[str | None] = []
        for portion in _portions(names):
            with self._asked("--batch-check", portion) as pipe:
                for _ in portion:
                    words = _line(pipe).split()
                    is_id = len(words) == 3 and len(words[0]) == len(self._repository.head) and words[2].isdigit()
                    answers.append(words[0].decode() if is_id else None)
        return answers

    def _walk(self, commit: str, path: str) -> str | None:
        """Return what a commit has at a path, read tree by tree."""
        about = self.commit(commit)
        entry = TreeEntry(_FOLDER, about.tree) if about is not None else None
        for part in path.split("/"):
            entry = self.tree(entry.id).get(part) if entry is not None and entry.mode == _FOLDER else None
        return entry.id if entry is not None else None

    def _object(self, name: str) -> _Object | None:
        (content,) = self._read([name])
        return content

    def _read(self, names: Sequence[str]) -> Iterator[_Object | None]:
        """Yield objects by their names, one by one: together they may not fit into memory."""
        for portion in _portions(names):
            with self._asked("--batch", portion) as pipe:
                for _ in portion:
                    yield _read_object(pipe)

    @contextmanager
    def _asked(self, mode: str, names: list[str]) -> Iterator[IO[bytes]]:
        """Send one portion of names to `git cat-file` and return the pipe with its answers, which must all be read."""
        is_answered = False
        try:
            if mode not in self._processes:
                self._processes[mode] = start_git(self._repository.top, "cat-file", mode, has_input=True)
            process = self._processes[mode]
            if process.stdin is None or process.stdout is None:
                raise OSError("git cat-file has no pipes")
            with within_limit(process, HANGS_AFTER, "cat-file"):
                process.stdin.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
                process.stdin.flush()
                yield process.stdout
            is_answered = True
        except (OSError, ValueError):
            # Git also stops because it must not fetch an object that a partial clone lacks.
            raise self._unreadable() from None
        finally:
            if not is_answered:  # the next question would get the rest of these answers
                self.close()

    def close(self) -> None:
        """End the git processes; they are started again when needed."""
        processes, self._processes = self._processes, {}
        for process in processes.values():
            with process, suppress(GitLimitReached), within_limit(process, _CLOSING_SECONDS, "cat-file"):
                process.communicate()


def _portions(names: Sequence[str]) -> Iterator[list[str]]:
    """Split names into lists that fit into the buffer of a pipe."""
    portion: list[str] = []
    size = 0
    for name in names:
        length = len(name) * (1 if name.isascii() else 4) + 1
        if portion and size + length > _PORTION:
            yield portion
            portion, size = [], 0
        portion.append(name)
        size += length
    if portion:
        yield portion


def _line(pipe: IO[bytes]) -> bytes:
    line = pipe.readline()
    if not line:
        raise OSError("git cat-file stopped")
    return line


def _read_object(pipe: IO[bytes]) -> _Object | None:
    header = _line(pipe).split()
    if len(header) != 3 or not header[2].isdigit():
        return None  # missing
    size = int(header[2])
    if size <= MAX_FILE:
        data: bytes | None = pipe.read(size + 1)[:size]
    else:
        data = None
        left = size + 1
        while left and (piece := pipe.read(min(left, _PIECE))):
            left -= len(piece)
    return _Object(header[0].decode(), header[1].decode(), data)


def _parse_commit(content: _Object) -> CommitData:
    fields: dict[bytes, list[bytes]] = {}
    head, _, message = (content.data or b"").partition(b"\n\n")
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key, []).append(value)
    parents = tuple(parent.decode("ascii", "replace") for parent in fields.get(b"parent", ()))
    tree = fields.get(b"tree", [b""])[0].decode("ascii", "replace")
    subject = message[:_MAX_SUBJECT].lstrip().partition(b"\n")[0].decode("utf-8", "replace").strip()
    return CommitData(content.id, tree, parents, _day(fields.get(b"author", [b""])[0]), subject)


def _day(author: bytes) -> str:
    """Return the day of `Name <mail> 1707400000 +0100`, in the time zone of the author."""
    try:
        _, seconds, zone = author.rsplit(b" ", 2)
        minutes = int(zone[-4:-2]) * 60 + int(zone[-2:])
        moment = time.gmtime(int(seconds) + (-60 if zone.startswith(b"-") else 60) * minutes)
        return time.strftime("%Y-%m-%d", moment) if 1900 < moment.tm_year < 10_000 else ""
    except (ValueError, OverflowError, OSError):
        return ""


def _parse_tree(data: bytes, id_size: int) -> dict[str, TreeEntry]:
    entries: dict[str, TreeEntry] = {}
    start = 0
    while (end := data.find(b"\0", start)) >= 0:
        mode, _, name = data[start:end].partition(b" ")
        start = end + 1 + id_size
        entries[decode_output(name)] = TreeEntry(mode.decode("ascii", "replace"), data[end + 1 : start].hex())
    return entries


def _file_of(content: _Object | None, path: str) -> SourceFile | Absent:
    if content is None or content.kind != "blob":
        return Absent(path, "forbidden")  # a partial clone lacks some objects
    return Absent(path, "large") if content.data is None else from_bytes(path, content.data)


def _size(content: SourceFile | Absent) -> int:
    return len(content.text) + 200 if isinstance(content, SourceFile) else 200


class PastFiles(Workspace):
    """The files of a commit of the past. All commits of a repository share one `Objects`."""

    def __init__(self, folder: str | os.PathLike[str], prefix: str, commit: str, objects: Objects) -> None:
        super().__init__(folder)
        self.id = commit
        self._prefix = prefix
        self._objects = objects

    @cached_property
    def _root(self) -> dict[str, TreeEntry]:
        """The entries of the root of the workspace; empty if the commit does not have it."""
        about = self._objects.commit(self.id)
        tree = self._objects.tree(about.tree if about is not None else "")
        for part in self._prefix.split("/")[:-1]:
            entry = tree.get(part)
            tree = self._objects.tree(entry.id) if entry is not None and entry.mode == _FOLDER else {}
        return tree

    def real_path(self, path: str) -> str | None:
        """Return the path of a file with links followed; None if it is not a file of this commit."""
        try:
            target = self._find(path)
        except HistoryUnreadable:
            return None
        return None if isinstance(target, str) else target[0]

    def _load(self, path: str) -> SourceFile | Absent:
        try:
            return self._load_file(path)
        except HistoryUnreadable:
            return Absent(path, "forbidden")

    def _load_file(self, path: str) -> SourceFile | Absent:
        target = self._find(path)
        return Absent(path, target) if isinstance(target, str) else self._objects.file(target[1].id, path)

    def _keep(self, path: str, file: SourceFile | Absent) -> None:
        """Keep nothing here: the files are in the cache that all commits share."""

    def _find(self, path: str) -> tuple[str, TreeEntry] | Why:
        """Return the path of a file without links and its entry, or why it cannot be read."""
        target: str | None = path
        folder, _, name = path.rpartition("/")
        tree = self._objects.folder(self.id, f"{self._prefix}{folder}".removesuffix("/"))
        if tree is not None and name in tree and tree[name].mode.startswith("100"):
            return path, tree[name]  # nearly always, and one question instead of one for each folder
        is_link = False
        for _ in range(_MAX_LINKS):
            if target is None:
                return "outside"
            step = self._step(target)
            if not isinstance(step, _Link):
                return "dangling" if is_link and step == "missing" else step
            is_link |= not step.rest
            target = self._follow(step)
        return "missing"

    def _step(self, path: str) -> tuple[str, TreeEntry] | Why | _Link:
        """Walk down a path to a file, or to the first link."""
        tree = self._root
        parts = path.split("/") if path else []
        for depth, part in enumerate(parts):
            name = part if part in tree else _composed(tree, part)
            entry = tree.get(name)
            parts[depth] = name
            if entry is None:
                return "missing"
            if entry.mode == "120000":
                return _Link("/".join(parts[:depth]), entry.id, "/".join(parts[depth + 1 :]))
            if entry.mode == "160000":
                return "submodule"
            if entry.mode != _FOLDER:
                return ("/".join(parts), entry) if depth + 1 == len(parts) else "missing"
            tree = self._objects.tree(entry.id)
        return "folder"

    def _follow(self, link: _Link) -> str | None:
        """Return the path that a link leads to; None if it leads outside."""
        content = self._objects.file(link.id, link.folder)
        if not isinstance(content, SourceFile):
            return None
        folder = f"{link.folder}/" if link.folder and not is_absolute(content.text) else ""
        return normalize_path(f"{folder}{content.text}/{link.rest}", self.folder)

    def _list(self) -> list[str]:
        files: list[str] = []
        with suppress(HistoryUnreadable):
            files.extend(self._every_file())
        return files[:MAX_LISTED]

    def _every_file(self) -> Iterator[str]:
        """Yield the files, level by level, until there are too many. Raises `HistoryUnreadable`."""
        folders = [("", self._root)]
        seen = 0
        while folders and seen < MAX_LISTED:
            below: list[tuple[str, str]] = []
            for folder, tree in folders:
                seen += len(tree) + 1
                yield from (f"{folder}{name}" for name, entry in tree.items() if entry.mode.startswith("100"))
                below.extend((f"{folder}{name}/", entry.id) for name, entry in tree.items() if entry.mode == _FOLDER)
            self._objects.load_trees(name for _, name in below[:MAX_LISTED])
            folders = [(folder, self._objects.tree(name)) for folder, name in below[:MAX_LISTED]]


class _Link(NamedTuple):
    folder: str
    id: str
    #: What follows the link in the path.
    rest: str


def _composed(tree: dict[str, TreeEntry], part: str) -> str:
    """Return the name of an entry that is the same in composed form (NFC), else the name itself."""
    if part.isascii():
        return part
    wanted = unicodedata.normalize("NFC", part)
    return next((name for name in tree if not name.isascii() and unicodedata.normalize("NFC", name) == wanted), part)


def disk_renames(newest: PastFiles, workspace: Workspace, gone: Sequence[str]) -> dict[str, str]:
    """Return the new path of files of the newest commit that were renamed since, in the index or only on disk.

    A file that git does not know is a renamed one if it alone has the content of the file that is gone.
    """
    if not isinstance(workspace, WorkTree):
        return {}
    renamed = {old: new for new, old in renamed_files(workspace.folder, newest.id).items()}
    lost = [path for path in gone if path not in renamed][:_MAX_LOST]
    untracked = untracked_files(workspace.folder) if lost else []
    contents: dict[str, list[str]] = {}
    for name in untracked[:_MAX_UNTRACKED]:
        file = workspace.read(name)
        if isinstance(file, SourceFile) and file.text.strip():
            contents.setdefault(file.text, []).append(name)
    for path in lost:
        old = newest.read(path)
        same = contents.get(old.text, []) if isinstance(old, SourceFile) else []
        renamed |= {path: same[0]} if len(same) == 1 else {}
    return renamed
