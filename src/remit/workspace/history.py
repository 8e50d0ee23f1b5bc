"""The history of claims that do not hold: when a line of a document was written, what held then, and where it is today.

Questions are asked for all claims together, so a document of any length costs a few git processes. What cannot be known
is left out, and `History.problem` states why. Only counts bound the search: the same checkout gives the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property

import msgspec

from remit.secrets.scan import redact
from remit.workspace.alignment import align_lines
from remit.workspace.commit import Commit
from remit.workspace.file_index import FileIndex
from remit.workspace.files import SourceFile, Workspace
from remit.workspace.history_git import (
    MAX_COMMITS,
    Gone,
    Log,
    blame,
    new_folder,
    open_repository,
    read_log,
)
from remit.workspace.past_files import (
    HistoryUnreadable,
    Objects,
    PastFiles,
    Problem,
    Repository,
    disk_renames,
)
from remit.workspace.paths import normalize_path
from remit.workspace.safe_git import found_by_git

PROBLEMS: dict[Problem, str] = {
    "": "",
    "no-git": "the history is missing: this is not a git repository, or git is not installed",
    "no-commit": "the history is missing: the repository has no commit",
    "shallow": "the history is missing: the clone is shallow; run `git fetch --unshallow`",
    "partial": "a part of the history is missing: the clone is partial and lacks some files",
    "revision": "with --rev, the history does not show when a line was written",
    "limit": f"only the newest commits of the history were read, at most {MAX_COMMITS:,}",
    "failed": "git cannot read the history; run `git fsck` to find the cause",
}
#: At most this many commits are kept, because each may have a list of its files.
_MAX_COMMITS = 32
#: A file is followed through at most this many renames, and compared in at most this many versions.
_MAX_RENAMES, _MAX_VERSIONS = 8, 200
_SHORT_ID = 7


class FileLine(msgspec.Struct, frozen=True):
    """A line of a file."""

    path: str
    line: int


class Held(msgspec.Struct, frozen=True):
    """A claim that held at a commit: lines of a file, or a name in it. Without both, the path exists."""

    commit: str
    path: str
    line: int | None = None
    end_line: int | None = None
    #: The name that the file contains; then its lines do not count.
    name: str = ""


class Removal(msgspec.Struct, frozen=True):
    """How a path disappeared."""

    #: The whole path that it had.
    path: str
    #: The commit that removed or renamed it; empty: that happened in the work tree, without a commit.
    commit: str
    date: str
    #: The path that it has today, after all renames; None if it was not renamed or the new path is gone, too.
    renamed_to: str | None
    #: The newest commit that has it.
    last_commit: str


class History:
    """The history of a checkout, for any number of documents. Close it in the end."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._problem: Problem = ""
        self._commits: dict[str, PastFiles] = {}
        #: The answers by written path and folder of the document.
        self._removals: dict[tuple[str, str], Removal | None] = {}
        self._alignments: dict[tuple[str, str, str], dict[int, int]] = {}
        self._described: dict[str, tuple[str, str]] = {}

    @property
    def problem(self) -> Problem:
        """Why an answer may be missing: a key of `PROBLEMS`. Ask it last."""
        return self._problem or (self._objects.problem if "_objects" in self.__dict__ else "")

    def _note(self, problem: Problem) -> None:
        """Record why the history is not complete; the first reason stays."""
        self._problem = self._problem or problem

    @cached_property
    def _opened(self) -> Repository | None:
        top = found_by_git(self._workspace.folder)
        newest = self._workspace.id if isinstance(self._workspace, Commit) else "HEAD"
        try:
            if top is None:
                raise HistoryUnreadable("no-git")
            repository = open_repository(top, self._workspace.folder, newest)
        except HistoryUnreadable as error:
            self._note(error.problem)
            return None
        if repository.is_shallow:
            self._note("shallow")
        return repository

    @property
    def _repository(self) -> Repository:
        if self._opened is None:
            raise HistoryUnreadable(self._problem)
        return self._opened

    @cached_property
    def _objects(self) -> Objects:
        return Objects(self._repository)

    @cached_property
    def _log(self) -> Log:
        try:
            log = read_log(self._repository)
        except HistoryUnreadable as error:
            self._note(error.problem)
            return Log({}, {}, "")
        if log.oldest:
            self._note("limit")
        return log

    @property
    def _gone(self) -> dict[str, Gone]:
        return self._log.gone

    @cached_property
    def _gone_index(self) -> FileIndex:
        return FileIndex(list(self._gone))

    def dates(self, document: str | None, lines: Iterable[int]) -> dict[int, str | None]:
        """Return the commit that last changed each of some lines of a document; None: the line is not committed.

        The document is a path from the root, or None for a text that is not in the checkout. With `--rev`, the date of
        every line is that commit.
        """
        dates: dict[int, str | None] = dict.fromkeys(lines)
        if document is not None and dates:
            try:
                dates |= self._dates(document, list(dates))
            except HistoryUnreadable as error:
                self._note(error.problem)
        return dates

    def _dates(self, document: str, lines: list[int]) -> dict[int, str]:
        newest = self._files(self._repository.head)
        if isinstance(self._workspace, Commit):
            self._note("revision")
            return dict.fromkeys(lines, newest.id)
        path = newest.real_path(self._workspace.normal(document) or "")
        committed = newest.read(path) if path is not None else None
        written = self._workspace.read(document)
        if path is None or not isinstance(committed, SourceFile) or not isinstance(written, SourceFile):
            return {}
        numbers = align_lines(written.lines, committed.lines)
        known = {line: numbers[line - 1] + 1 for line in lines if line - 1 in numbers}
        blamed = blame(self._repository, path, sorted(set(known.values())), self._log) if known else {}
        return {line: blamed[number] for line, number in known.items() if number in blamed}

    def files_at(self, commit: str) -> Workspace | None:
        """Return the files of a commit, given by its id; None if the repository does not have it."""
        with suppress(HistoryUnreadable):
            return self._files(commit)
        return None

    def _files(self, commit: str) -> PastFiles:
        files = self._commits.pop(commit, None)
        if files is None:
            if (about := self._objects.commit(commit)) is None:
                raise HistoryUnreadable("")
            files = PastFiles(self._workspace.folder, self._repository.prefix, about.id, self._objects)
        self._commits[commit] = files  # the one that was used last is the last one
        while len(self._commits) > _MAX_COMMITS:
            del self._commits[next(iter(self._commits))]
        return files

    def parent(self, commit: str) -> str | None:
        """Return the first parent of a commit; None if it has none here."""
        with suppress(HistoryUnreadable):
            about = self._objects.commit(commit)
            before = self._objects.commit(about.parents[0]) if about is not None and about.parents else None
            return before.id if before is not None else None
        return None

    def describe(self, commit: str) -> tuple[str, str]:
        """Return the short id of a commit, which no other object has, and its day: `("6631078", "2024-02-08")`."""
        if commit not in self._described:
            self._described[commit] = self._describe(commit)
        return self._described[commit]

    def _describe(self, commit: str) -> tuple[str, str]:
        with suppress(HistoryUnreadable):
            about = self._objects.commit(commit)
            if about is not None:
                lengths = range(_SHORT_ID, len(about.id))
                unique = (length for length in lengths if self._objects.resolve([about.id[:length]]) == [about.id])
                return about.id[: next(unique, len(about.id))], about.date
        return commit[:_SHORT_ID], ""

    def subject(self, commit: str) -> str:
        """Return the first line of a commit's message; empty if it is not known."""
        with suppress(HistoryUnreadable):
            about = self._objects.commit(commit)
            return redact(about.subject) if about is not None else ""
        return ""

    def removed(self, paths: Iterable[str], document: str = "") -> dict[str, Removal]:
        """Return how paths that are not in the checkout disappeared; a path that the history never had is left out.

        It may be the end of a path, if only one path of the history ends with it. Paths may be relative to the folder
        of the document.
        """
        folder = document.rpartition("/")[0]
        asked = list(dict.fromkeys(paths))
        wanted = [path for path in asked if (path, folder) not in self._removals and not self._is_here(path)]
        if wanted:
            with suppress(HistoryUnreadable):
                self._removals |= dict.fromkeys((path, folder) for path in wanted)
                self._find_removals(wanted, folder)
        known = ((path, self._removals.get((path, folder))) for path in asked)
        return {path: removal for path, removal in known if removal is not None}

    def _find_removals(self, wanted: list[str], folder: str) -> None:
        newest = self._repository.head
        readings = [(written, path) for written in wanted for path in _readings(written, folder)]
        ids = self._objects.ids([(newest, self._from_top(path)) for _, path in readings])
        lost = {written: path for (written, path), name in zip(readings[::-1], ids[::-1], strict=True) if name}
        moved = disk_renames(self._files(newest), self._workspace, list(lost.values())) if lost else {}
        for written in wanted:
            if written in lost:
                path = lost[written]
                removal: Removal | None = Removal(path, "", "", moved.get(path), newest)
            else:
                removal = self._committed_removal(written, folder)
            self._removals[written, folder] = removal

    def _committed_removal(self, written: str, folder: str) -> Removal | None:
        path = self._gone_path(written, folder)
        if path is None:
            return None
        inside = [one for one in self._gone if one.startswith(f"{path}/")] if path not in self._gone else []
        commit = self._gone[inside[0] if inside else path].commit  # the newest removal comes first
        new = new_folder(self._gone, path, commit) if inside else self._gone[path].renamed_to
        about = self._objects.commit(commit)
        before = about.parents[0] if about is not None and about.parents else commit
        return Removal(path, commit, about.date if about is not None else "", self._today(new), before)

    def _gone_path(self, written: str, folder: str) -> str | None:
        """Return a path of the history: the path itself, the only one that ends with it, or a folder."""
        readings = _readings(written, folder)
        if exact := [path for path in readings if path in self._gone]:
            return exact[0]
        ends = [path for path in self._gone_index.ending_with(written) if not self._is_here(path)]
        near = [path for path in ends if folder and path.startswith(f"{folder}/")]
        if len(near) == 1 or len(ends) == 1:
            return (near if len(near) == 1 else ends)[0]
        return next((path for path in readings if self._gone_index.paths_from(f"{path}/", 1)), None)

    def _today(self, path: str | None) -> str | None:
        """Follow a path through renames to the one that it has today."""
        for _ in range(_MAX_RENAMES):
            if path is None or self._is_here(path):
                return path
            if self._objects.ids([(self._repository.head, self._from_top(path))]) != [None]:
                return disk_renames(self._files(self._repository.head), self._workspace, [path]).get(path)
            path = self._gone[path].renamed_to if path in self._gone else None
        return None

    def changed_in(self, claims: Iterable[Held]) -> dict[Held, str]:
        """Return the commit that made each claim false; empty: it is unknown, or the change is not committed.

        A claim holds while its lines have the same text, or its file has the name.
        """
        changed = dict.fromkeys(claims, "")
        if changed:
            try:
                changed |= self._changes(list(changed))
            except HistoryUnreadable as error:
                self._note(error.problem)
        return changed

    def _changes(self, claims: list[Held]) -> dict[Held, str]:
        names = dict(
            zip(claims, self._objects.ids([(one.commit, self._from_top(one.path)) for one in claims]), strict=True)
        )
        paths = dict.fromkeys(claim.path for claim, name in names.items() if name is not None)
        commits = {path: self._log.changes.get(path, []) for path in paths}
        versions = {
            path: self._objects.ids([(commit, self._from_top(path)) for commit in row[:_MAX_VERSIONS]])
            for path, row in commits.items()
        }
        changed: dict[Held, str] = {}
        for claim, name in names.items():
            if name is None:
                continue
            newer = ""
            for commit, version in zip(commits.get(claim.path, ()), versions.get(claim.path, ()), strict=False):
                if version is not None and self._holds(claim, name, version):
                    changed[claim] = newer
                    break
                newer = commit
        return changed

    def _holds(self, claim: Held, name: str, version: str) -> bool:
        """Return whether a claim that held in the version `name` of its file holds in another version."""
        if name == version or not (claim.line is not None or claim.name):
            return True
        new = self._objects.file(version, claim.path)
        if not isinstance(new, SourceFile):
            return False
        if claim.name:
            return has_word(new.text, claim.name)
        old = self._objects.file(name, claim.path)
        first = claim.line or 1
        cited = slice(first - 1, claim.end_line or first)
        return isinstance(old, SourceFile) and old.lines[cited] == new.lines[cited]

    def follow(self, path: str, line: int, commit: str) -> FileLine | None:
        """Return where a line of a file at a commit is today; None if the line was changed or removed."""
        with suppress(HistoryUnreadable):
            new_path = self.path_today(path)
            numbers = self._alignment(path, commit, new_path) if new_path is not None else {}
            if new_path is not None and line - 1 in numbers:
                return FileLine(new_path, numbers[line - 1] + 1)
        return None

    def path_today(self, path: str) -> str | None:
        """Return the path that a file of the history has today; None if it was removed."""
        if self._is_here(path):
            return path
        removal = self.removed([path]).get(path)
        return removal.renamed_to if removal is not None else None

    def _alignment(self, path: str, commit: str, new_path: str) -> dict[int, int]:
        key = (path, commit, new_path)
        if key not in self._alignments:
            old, new = self._files(commit).read(path), self._workspace.read(new_path)
            if isinstance(old, SourceFile) and isinstance(new, SourceFile):
                self._alignments[key] = align_lines(old.lines, new.lines)
        return self._alignments.get(key, {})

    def _is_here(self, path: str) -> bool:
        """Return whether the checkout has a file or folder at a path."""
        content = self._workspace.read(path)
        return isinstance(content, SourceFile) or content.why not in ("missing", "outside")

    def _from_top(self, path: str) -> str:
        return f"{self._repository.prefix}{path}"

    def close(self) -> None:
        """End the git processes; they are started again when needed."""
        if "_objects" in self.__dict__:
            self._objects.close()


def has_word(text: str, name: str) -> bool:
    """Return whether a text has a name as a whole word."""
    return name in text and re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text) is not None


def _readings(written: str, folder: str) -> Sequence[str]:
    """Return the paths that a written one may mean: from the root, and from the folder of the document."""
    plain = normalize_path(written, "/")
    near = normalize_path(f"{folder}/{written}", "/") if folder and plain != "" else None
    return [path for path in dict.fromkeys((plain, near)) if path]
