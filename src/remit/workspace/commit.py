"""The files of a commit, read through git."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from contextlib import suppress
from functools import cached_property
from typing import IO

import msgspec

from remit.errors import EnvironmentBroken, UsageError
from remit.workspace.files import MAX_FILE, MAX_LISTED, Absent, SourceFile, Workspace, from_bytes
from remit.workspace.git import remote_addresses
from remit.workspace.paths import is_absolute, normalize_path
from remit.workspace.safe_git import (
    SECONDS,
    GitLimitReached,
    decode_output,
    found_by_git,
    run_git,
    start_git,
    within_limit,
)

#: At most this many commits are looked up for the documents of one run.
MAX_COMMITS = 50
_MAX_LINKS = 40
_CLOSING_SECONDS = 5.0


class _Entry(msgspec.Struct, frozen=True):
    """An entry of a git tree."""

    mode: str
    id: str


class Commit(Workspace):
    """The files of a commit, read through one long-lived `git cat-file --batch`."""

    def __init__(self, root: str | os.PathLike[str], rev: str) -> None:
        super().__init__(root)
        found = run_git(self.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
        if found is None:
            if run_git(self.root, "version") is None:
                raise EnvironmentBroken("git cannot be started, and Remit needs it to read a commit")
            if run_git(self.root, "rev-parse", "--git-dir") is None:
                raise UsageError(f"{str(root)!r} is not in a git repository, which a revision needs; leave out --rev")
            raise UsageError(f"{str(root)!r} has no commit {rev!r}; use a revision that `git rev-parse` accepts there")
        self.id = decode_output(found).strip()
        self._process: subprocess.Popen[bytes] | None = None

    @cached_property
    def _tree(self) -> dict[str, _Entry]:
        """Every entry below the root, by path."""
        listed = run_git(self.root, "ls-tree", "-r", "-z", self.id)
        if listed is None:
            raise EnvironmentBroken(f"git cannot list the files of {self.id}; run `git fsck` to find the cause")
        tree: dict[str, _Entry] = {}
        for row in decode_output(listed).split("\0"):
            about, tab, path = row.partition("\t")
            if tab:
                mode, _, name = about.split(" ", 2)
                tree[path] = _Entry(mode, name)
        return tree

    @cached_property
    def _composed(self) -> dict[str, str]:
        """Paths that are not ASCII, by their composed form (NFC)."""
        return {unicodedata.normalize("NFC", path): path for path in self._tree if not path.isascii()}

    def _list(self) -> list[str]:
        return [path for path, entry in self._tree.items() if entry.mode.startswith("100")][:MAX_LISTED]

    def _load(self, path: str) -> SourceFile | Absent:
        target: str | None = path
        if path not in self._tree and not path.isascii():
            target = self._composed.get(unicodedata.normalize("NFC", path), path)
        for _ in range(_MAX_LINKS):
            if target is None:
                return Absent(path, "outside")
            link = self._first_link(target)
            if link is None:
                return self._read_entry(path, target)
            target = self._follow(target, link)
        return Absent(path, "missing")

    def _first_link(self, target: str) -> str | None:
        """Return the first link in a path, which may be its last part."""
        entry = self._tree.get(target)
        if entry is not None:
            return target if entry.mode == "120000" else None
        links = (above for above in _parents(target) if above in self._tree)
        return next((above for above in links if self._tree[above].mode == "120000"), None)

    def _follow(self, target: str, link: str) -> str | None:
        """Return a path with one of its links followed; None if it leads outside."""
        content = self._blob(link, self._tree[link].id)
        if not isinstance(content, SourceFile):
            return None
        folder = "" if is_absolute(content.text) else os.path.dirname(link) + "/"
        return normalize_path(f"{folder.lstrip('/')}{content.text}{target[len(link) :]}", str(self.root))

    def _read_entry(self, path: str, target: str) -> SourceFile | Absent:
        entry = self._tree.get(target)
        if entry is None:
            submodule = any(above in self._tree and self._tree[above].mode == "160000" for above in _parents(target))
            return Absent(path, "submodule" if submodule else "folder" if target in self._folders else "missing")
        if entry.mode == "160000":
            return Absent(path, "submodule")
        return self._blob(path, entry.id)

    @cached_property
    def _folders(self) -> frozenset[str]:
        return frozenset(parent for path in self._tree for parent in ("", *_parents(path)))

    def _blob(self, path: str, name: str) -> SourceFile | Absent:
        """Read an object by its id, as the file at a path."""
        process = self._git()
        try:
            with within_limit(process, SECONDS, "cat-file"):
                return self._read_object(process, path, name)
        except GitLimitReached:
            self.close()
            raise

    def _read_object(self, process: subprocess.Popen[bytes], path: str, name: str) -> SourceFile | Absent:
        pipe_in, pipe_out = process.stdin, process.stdout
        if pipe_in is None or pipe_out is None:
            raise EnvironmentBroken("git cat-file has no pipes")
        try:
            pipe_in.write(f"{name}\n".encode())
            pipe_in.flush()
            header = pipe_out.readline().split()
        except OSError:
            header = []
        if not header:
            raise EnvironmentBroken(
                f"git stopped while reading {path!r} of {self.id}; run `git fsck` to find the cause"
            )
        if len(header) != 3:
            return Absent(path, "forbidden")  # a partial clone lacks some objects
        size = int(header[2])
        if size > MAX_FILE:
            _discard(pipe_out, size + 1)
            return Absent(path, "large")
        data = pipe_out.read(size)
        pipe_out.read(1)
        return from_bytes(path, data)

    def _git(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            try:
                self._process = start_git(self.root, "cat-file", "--batch", has_input=True)
            except OSError as error:
                raise EnvironmentBroken(f"git cannot be started: {error.strerror}") from error
        return self._process

    def close(self) -> None:
        """End the git process."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(GitLimitReached), within_limit(process, _CLOSING_SECONDS, "cat-file"):
                process.communicate()


class Commits:
    """The commits that documents name, each opened once. `get` only accepts ids, never names of branches or tags."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.path.realpath(root)
        self._opened: dict[str, Commit | None] = {}
        self._in_history: dict[str, bool] = {}

    @cached_property
    def _top(self) -> str | None:
        return found_by_git(self._root)

    @property
    def has_git(self) -> bool:
        """Whether the checkout belongs to a git repository."""
        return self._top is not None

    @cached_property
    def repositories(self) -> frozenset[str]:
        """The names of the repository on its servers, `owner/name` in lower case; empty if it has no remote."""
        if self._top is None:
            return frozenset()
        paths = (address.split("://", 1)[1].partition("/")[2] for address in remote_addresses(self._top))
        return frozenset(path.strip("/").lower().removesuffix(".git") for path in paths)

    def get(self, name: str, *, is_from_top: bool = False) -> Commit | None:
        """Return the commit with this id or prefix of an id, or None if the repository does not have it.

        With `is_from_top`, paths are relative to the root of the repository, even if the checkout is a part of it.
        """
        if self._top is None:
            return None
        if name not in self._opened:
            if len(self._opened) >= MAX_COMMITS:
                return None
            self._opened[name] = _open(self._top, name)
        found = self._opened[name]
        if found is None or is_from_top or self._top == self._root:
            return found
        inner = f"{found.id}:"
        if inner not in self._opened:
            self._opened[inner] = Commit(self._root, found.id)
        return self._opened[inner]

    def is_in_history(self, commit: str) -> bool:
        """Return whether a commit is the one that is checked out, or one of those before it."""
        if commit not in self._in_history:
            asked = self._top is not None and len(self._in_history) < MAX_COMMITS
            arguments = ("merge-base", "--is-ancestor", "--end-of-options", commit, "HEAD")
            try:
                self._in_history[commit] = asked and run_git(self._top or "", *arguments) is not None
            except GitLimitReached:
                self._in_history[commit] = False
        return self._in_history[commit]

    def close(self) -> None:
        """End the git processes."""
        for commit in self._opened.values():
            if commit is not None:
                commit.close()


def _open(top: str, name: str) -> Commit | None:
    try:
        found = Commit(top, name)
    except UsageError:
        return None
    return found if found.id.startswith(name.lower()) else None


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _discard(pipe: IO[bytes], size: int) -> None:
    while size > 0 and (chunk := pipe.read(min(size, 1 << 16))):
        size -= len(chunk)
