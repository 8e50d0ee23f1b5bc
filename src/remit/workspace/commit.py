"""The files of a commit, read through git."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice

from remit.errors import EnvironmentBroken, UsageError
from remit.workspace.files import MAX_LISTED, Absent, SourceFile
from remit.workspace.past_files import HistoryUnreadable, Objects, PastFiles, Repository
from remit.workspace.safe_git import GitLimitReached, decode_output, found_by_git, run_git

#: At most this many commits are looked up for the documents of one run.
MAX_COMMITS = 50
_VERIFY = ("rev-parse", "--verify", "--quiet")


class Commit(PastFiles):
    """The files of a commit that a person names. What cannot be read is an error."""

    def __init__(self, root: str | os.PathLike[str], rev: str) -> None:
        folder = os.path.realpath(root)
        commit = run_git(folder, *_VERIFY, "--end-of-options", f"{rev}^{{commit}}")
        if commit is None:
            if run_git(folder, "version") is None:
                raise EnvironmentBroken("git cannot be started, and Remit needs it to read a commit")
            if run_git(folder, "rev-parse", "--git-dir") is None:
                raise UsageError(f"{folder!r} is not in a git repository, which a revision needs; leave out --rev")
            raise UsageError(f"{folder!r} has no commit {rev!r}; use a revision that `git rev-parse` accepts there")
        name = decode_output(commit).strip()
        top = found_by_git(folder) or folder
        below = os.path.relpath(folder, top).replace(os.sep, "/")
        prefix = "" if below == "." else f"{below}/"
        super().__init__(root, prefix, name, Objects(Repository(top, prefix, name)))

    @contextmanager
    def _reporting(self, what: str) -> Iterator[None]:
        """Raise an error that states what git could not read."""
        try:
            yield
        except HistoryUnreadable as error:
            is_partial = run_git(self.folder, "config", "--get-regexp", r"^remote\..*\.promisor$")
            advice = "the clone is partial; run `git fetch --refetch --no-filter`" if is_partial else ""
            text = f"git cannot read {what} of {self.id}; {advice or 'run `git fsck` to find the cause'}"
            raise EnvironmentBroken(text) from error

    def _load(self, path: str) -> SourceFile | Absent:
        with self._reporting(repr(path)):
            return self._load_file(path)

    def _list(self) -> list[str]:
        with self._reporting("the list of files"):
            return [*islice(self._every_file(), MAX_LISTED)]

    def close(self) -> None:
        """End the git process."""
        self._objects.close()


class Commits:
    """The commits that documents name, each opened once. `get` only accepts ids."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.path.realpath(root)
        self._opened: dict[str, Commit | None] = {}
        self._in_history: dict[str, bool] = {}

    @cached_property
    def _top(self) -> str | None:
        return found_by_git(self._root)

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
        commit = self._opened[name]
        if commit is None or is_from_top or self._top == self._root:
            return commit
        inner = f"{commit.id}:"
        if inner not in self._opened:
            self._opened[inner] = Commit(self._root, commit.id)
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
        commit = Commit(top, name)
    except UsageError:
        return None
    return commit if commit.id.startswith(name.lower()) else None
