"""The history of failing claims: when a line of a document was written, what held then, and where it is today.

Questions are asked for all claims together, so a document of any length costs a few git processes. Nothing here
raises: what cannot be known is left out, and `History.problem` states why.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cached_property
from typing import Generic, TypeVar

import msgspec

from remit.workspace.commit import Commit
from remit.workspace.file_index import FileIndex
from remit.workspace.files import SourceFile, Workspace
from remit.workspace.history_git import (
    CommitWindow,
    Mainline,
    align_lines,
    blame,
    commits_of,
    new_path,
    open_repository,
    read_mainline,
    removed_paths,
    renames,
    written_files,
)
from remit.workspace.past_files import (
    HistoryUnreadable,
    Objects,
    PastFiles,
    Problem,
    Repository,
    TimeLimit,
    disk_renames,
)
from remit.workspace.paths import normalize_path
from remit.workspace.safe_git import found_by_git

T = TypeVar("T")
#: The history of one document takes at most this many seconds.
SECONDS = 10.0
#: A document was written once if its lines are of a few commits and days, and other commits followed.
_WRITING_COMMITS, _WRITING_DAYS, _LATER_COMMITS = 3, 7, 5
PROBLEMS: dict[Problem, str] = {
    "": "",
    "no-git": "the history is missing: this is not a git repository, or git is not installed",
    "no-commit": "the history is missing: the repository has no commit",
    "shallow": "the history is missing: the clone is shallow; run `git fetch --unshallow`",
    "partial": "a part of the history is missing: the clone is partial and lacks some files",
    "revision": "with --rev, the history does not show when a line was written",
    "limit": "the history is too long to read all of it in time",
    "failed": "git cannot read the history; run `git fsck` to find the cause",
}
#: At most this many commits are kept, because each may have a list of its files.
_MAX_COMMITS = 32
#: A file is followed through at most this many renames.
_MAX_RENAMES = 8
_MAX_IN_FOLDER = 1_000
#: For fewer documents, each is asked for alone. Git's command line has room for this many.
_FEW_DOCUMENTS, _MAX_DOCUMENTS = 4, 5_000
_SHORT_ID = 7
_MAX_KEPT_LINES = 1_000_000


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

    def __init__(self, workspace: Workspace, *, seconds: float = SECONDS) -> None:
        self._workspace = workspace
        self._limit = TimeLimit(seconds)
        self._commits: dict[str, PastFiles] = {}
        #: The answers by written path and folder of the document, and those that exist by the whole path.
        self._removals: dict[tuple[str, str], Removal | None] = {}
        self._removed_files: dict[str, Removal] = {}
        self._alignments: dict[tuple[str, str, str], dict[int, int]] = {}
        #: The paths of the documents whose lines may be asked for, if they are known in advance.
        self.documents: Sequence[str] = ()

    @property
    def problem(self) -> Problem:
        """Why an answer may be missing: a key of `PROBLEMS`. Ask it last."""
        return self._limit.problem

    @cached_property
    def _opened(self) -> Repository | None:
        top = found_by_git(self._workspace.folder)
        if top is None:
            self._limit.note("no-git")
            return None
        newest = self._workspace.id if isinstance(self._workspace, Commit) else "HEAD"
        repository = open_repository(top, self._workspace.folder, newest, self._limit)
        if repository is not None and repository.is_shallow:
            self._limit.note("shallow")
        return repository

    @property
    def _repository(self) -> Repository:
        if self._opened is None:
            raise HistoryUnreadable(self.problem)
        return self._opened

    @cached_property
    def _objects(self) -> Objects:
        return Objects(self._repository, self._limit)

    @cached_property
    def _mainline_job(self) -> _Job[Mainline]:
        return _Job(lambda: read_mainline(self._repository, self._limit))

    @property
    def _mainline(self) -> Mainline:
        return self._mainline_job.result()

    @cached_property
    def _removed_job(self) -> _Job[dict[str, CommitWindow]]:
        mainline = self._mainline_job
        return _Job(lambda: removed_paths(self._repository, mainline.result(), self._limit))

    @property
    def _removed_paths(self) -> dict[str, CommitWindow]:
        return self._removed_job.result()

    @cached_property
    def _removed_index(self) -> FileIndex:
        return FileIndex(list(self._removed_paths))

    def prepare(self, *, has_missing_paths: bool) -> None:
        """Start to read the history in the background, if claims fail. `removed` needs more of it than the others."""
        if self._opened is not None:
            _ = self._removed_job if has_missing_paths else self._mainline_job

    def dates(self, document: str | None, lines: Iterable[int]) -> dict[int, str | None]:
        """Return the commit that last changed each of some lines of a document; None: the line is not committed.

        The document is a path from the root, or None for a text that is not in the checkout. With `--rev`, the date of
        every line is that commit.
        """
        dates: dict[int, str | None] = dict.fromkeys(lines)
        if document is not None and dates:
            with suppress(HistoryUnreadable), self._limit:
                dates |= self._dates(document, list(dates))
        return dates

    def _dates(self, document: str, lines: list[int]) -> dict[int, str]:
        newest = self._files(self._repository.head)
        if isinstance(self._workspace, Commit):
            self._limit.note("revision")
            return dict.fromkeys(lines, newest.id)
        path = newest.real_path(self._workspace.normal(document) or "")
        committed = newest.read(path) if path is not None else None
        written = self._workspace.read(document)
        if path is None or not isinstance(committed, SourceFile) or not isinstance(written, SourceFile):
            return {}
        self.prepare(has_missing_paths=False)
        numbers = align_lines(written.lines, committed.lines)
        known = {line: numbers[line - 1] + 1 for line in lines if line - 1 in numbers}
        blamed = self._blamed(path, sorted(set(known.values()))) if known else {}
        return {line: blamed[number] for line, number in known.items() if number in blamed}

    def _blamed(self, path: str, lines: list[int]) -> dict[int, str]:
        """Return the commit that last changed each line of a file of the newest commit."""
        commits = self._written.get(path, [])
        head = self._repository.head
        newest = ""
        if commits:
            last, now = self._objects.ids([(commits[0], self._from_top(path)), (head, self._from_top(path))])
            newest = commits[0] if last is not None and last == now else ""
        if newest and len(commits) == 1:
            return dict.fromkeys(lines, newest)
        return blame(self._repository, path, lines, self._limit, newest)

    def is_written_once(self, document: str) -> bool:
        """Return whether a document was written in a few commits of one week, and the repository went on without it.

        No one edits such a document: it is a record of its day, such as a finished plan.
        """
        with suppress(HistoryUnreadable), self._limit:
            return self._is_written_once(document)
        return False

    def _is_written_once(self, document: str) -> bool:
        newest = self._files(self._repository.head)
        path = newest.real_path(self._workspace.normal(document) or "")
        committed = newest.read(path) if path is not None else None
        if path is None or not isinstance(committed, SourceFile):
            return False
        blamed = self._blamed(path, list(range(1, len(committed.lines) + 1)))
        commits = set(blamed.values())
        authored = [about.date for about in map(self._objects.commit, commits) if about is not None and about.date]
        if len(blamed) < len(committed.lines) or not commits or len(authored) < len(commits):
            return False
        days = date.fromisoformat(max(authored)) - date.fromisoformat(min(authored))
        later = min(self._mainline.position(commit) or 0 for commit in commits)
        return len(commits) <= _WRITING_COMMITS and days.days <= _WRITING_DAYS and later >= _LATER_COMMITS

    @cached_property
    def _written(self) -> dict[str, list[str]]:
        """The commits that changed each document; for fewer than four, one pass for all is not cheaper."""
        if not _FEW_DOCUMENTS <= len(self.documents) <= _MAX_DOCUMENTS:
            return {}
        return commits_of(self._repository, self.documents, self._limit)

    @property
    def newest(self) -> str:
        """The id of the commit that the history ends with; empty without one."""
        return self._opened.head if self._opened is not None else ""

    def files_at(self, commit: str) -> Workspace | None:
        """Return the files of a commit, given by its id; None if the repository does not have it."""
        with suppress(HistoryUnreadable), self._limit:
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
        with suppress(HistoryUnreadable), self._limit:
            about = self._objects.commit(commit)
            before = self._objects.commit(about.parents[0]) if about is not None and about.parents else None
            return before.id if before is not None else None
        return None

    def describe(self, commit: str) -> tuple[str, str]:
        """Return the short id of a commit, which no other object has, and its day: `("6631078", "2024-02-08")`."""
        with suppress(HistoryUnreadable), self._limit:
            about = self._objects.commit(commit)
            if about is not None:
                lengths = range(_SHORT_ID, len(about.id))
                unique = (length for length in lengths if self._objects.resolve([about.id[:length]]) == [about.id])
                return about.id[: next(unique, len(about.id))], about.date
        return commit[:_SHORT_ID], ""

    def subject(self, commit: str) -> str:
        """Return the first line of a commit's message; empty if it is not known."""
        with suppress(HistoryUnreadable), self._limit:
            about = self._objects.commit(commit)
            return about.subject if about is not None else ""
        return ""

    def removed(
        self, paths: Mapping[str, str | None], document: str = "", *, as_written: bool = False
    ) -> dict[str, Removal]:
        """Return how paths that are not in the checkout disappeared; a path that the history never had is left out.

        Each path has the commit at which a text claims that it exists, if that is known. It may be the end of a path,
        if only one path of the history ends with it. Paths may be relative to the folder of the document. With
        `as_written`, only the paths that their commits have are looked for, which is fast.
        """
        folder = document.rpartition("/")[0]
        wanted = {path: commit for path, commit in paths.items() if not self.has_answer(path, document)}
        if wanted:
            with suppress(HistoryUnreadable), self._limit:
                self._find_removals(wanted, folder, as_written=as_written)
        known = ((path, self._removed_files.get(path) or self._removals.get((path, folder))) for path in paths)
        return {path: removal for path, removal in known if removal is not None}

    def has_answer(self, path: str, document: str) -> bool:
        """Return whether it is known how a path disappeared, or whether it did."""
        folder = document.rpartition("/")[0]
        return path in self._removed_files or (path, folder) in self._removals or self._is_here(path)

    def _find_removals(self, wanted: dict[str, str | None], folder: str, *, as_written: bool) -> None:
        places = self._dated_places(wanted, folder)
        for path in wanted:
            if not as_written and path not in places and (place := self._listed_place(path, folder)) is not None:
                places[path] = place
        positions = self._removal_positions(places)
        today = self._new_paths(positions)
        if not as_written:
            self._removals |= dict.fromkeys((path, folder) for path in wanted)
        for path, (whole, position) in positions.items():
            removal = self._removal(whole, position, today.get(path))
            self._removals[path, folder] = self._removed_files[whole] = removal

    def _removal(self, path: str, position: int, renamed_to: str | None) -> Removal:
        commits = self._mainline.commits
        if position < 0:
            return Removal(path, "", "", renamed_to, commits[0])
        about = self._objects.commit(commits[position])
        date = about.date if about is not None else ""
        return Removal(path, commits[position], date, renamed_to, commits[position + 1])

    def _dated_places(self, wanted: dict[str, str | None], folder: str) -> dict[str, tuple[str, CommitWindow]]:
        """Return the paths that the newest commit, the commit of their text or the one before it has."""
        commits = self._mainline.commits
        questions = [
            (written, path, older)
            for written, commit in wanted.items()
            for path in _readings(written, folder)
            for older in self._positions(commit)
        ]
        ids = self._objects.ids([(commits[older], self._from_top(path)) for _, path, older in questions])
        places: dict[str, tuple[str, CommitWindow]] = {}
        for (written, path, older), name in zip(questions, ids, strict=True):
            if name is not None:
                places.setdefault(written, (path, CommitWindow(0, older)))
        return places

    def _positions(self, commit: str | None) -> list[int]:
        """Return the positions of the newest commit, of a commit and of the one before it."""
        position = (self._mainline.position(commit) if commit is not None else None) or 0
        return [older for older in dict.fromkeys((0, position, position + 1)) if older < len(self._mainline.commits)]

    def _listed_place(self, written: str, folder: str) -> tuple[str, CommitWindow] | None:
        """Return a path of the history: the path itself, the only one that ends with it, or a folder."""
        removed = self._removed_paths
        for path in _readings(written, folder):
            if path in removed:
                return path, removed[path]
        ends = [path for path in self._removed_index.ending_with(written) if not self._is_here(path)]
        near = [path for path in ends if folder and path.startswith(f"{folder}/")]
        if len(near) == 1 or len(ends) == 1:
            path = (near if len(near) == 1 else ends)[0]
            return path, removed[path]
        for path in _readings(written, folder):
            inside = self._removed_index.paths_from(f"{path}/", _MAX_IN_FOLDER)
            if inside:
                return path, CommitWindow(0, min(removed[file] for file in inside).older)
        return None

    def _removal_positions(self, places: Mapping[str, tuple[str, CommitWindow]]) -> dict[str, tuple[str, int]]:
        """Return each path with the position of the commit that removed it; -1 if the newest commit has it."""
        searches = {key: _Search(self._from_top(path), window) for key, (path, window) in places.items()}
        self._narrow(list(searches.values()))
        return {key: (path, searches[key].newer if searches[key].older else -1) for key, (path, _) in places.items()}

    def _new_paths(self, positions: Mapping[str, tuple[str, int]]) -> dict[str, str]:
        """Follow removed paths through renames to the paths that they have today."""
        new_paths: dict[str, str] = {}
        for _ in range(_MAX_RENAMES):
            if not positions:
                break
            renamed = renames(self._repository, self._mainline, {place[1] for place in positions.values()}, self._limit)
            if lost := [path for path, position in positions.values() if position < 0]:
                newest = self._files(self._repository.head)
                renamed[-1] = disk_renames(newest, self._workspace, lost, self._limit)
            gone: dict[str, tuple[str, int]] = {}
            for key, (path, position) in positions.items():
                new = new_path(renamed.get(position, {}), path)
                if new is not None and self._is_here(new):
                    new_paths[key] = new
                elif new is not None and position >= 0:
                    gone[key] = (new, position)
            ids = self._objects.ids([(self._mainline.commits[0], self._from_top(path)) for path, _ in gone.values()])
            here = {key: (path, -1) for (key, (path, _)), name in zip(gone.items(), ids, strict=True) if name}
            older = {key: (path, CommitWindow(0, older)) for key, (path, older) in gone.items() if key not in here}
            positions = self._removal_positions(older) | here
        return new_paths

    def changed_in(self, claims: Iterable[Held]) -> dict[Held, str]:
        """Return the commit that made each claim false; empty: it is unknown, or the change is not committed.

        A claim holds while its lines have the same text, or its file has the name.
        """
        changed = dict.fromkeys(claims, "")
        if changed:
            with suppress(HistoryUnreadable), self._limit:
                changed |= self._changes(list(changed))
            # `follow` needs the answers for one path after another, and asking for all at once is faster.
            self.removed({claim.path: claim.commit for claim in changed if claim.path})
        return changed

    def _changes(self, claims: list[Held]) -> dict[Held, str]:
        commits = self._mainline.commits
        names = self._objects.ids([(claim.commit, self._from_top(claim.path)) for claim in claims])
        searches: dict[Held, _Search] = {}
        for claim, name in zip(claims, names, strict=True):
            position = self._mainline.position(claim.commit)
            if name is not None and position is not None:
                # The commit at the older end is not looked at again, unless it is the merge of the claim's commit.
                # The newest commit is: if the claim holds there, the change is not committed.
                window = CommitWindow(-1, position + (commits[position] != claim.commit))
                searches[claim] = _Search(self._from_top(claim.path), window, _Check(claim, name, self._objects))
        self._narrow(list(searches.values()))
        return {claim: commits[search.newer] for claim, search in searches.items() if search.newer >= 0}

    def _narrow(self, searches: list[_Search]) -> None:
        """Halve the windows until each has two neighbouring commits, all of them in the same exchanges with git."""
        while waiting := [search for search in searches if search.older - search.newer > 1]:
            ids = self._objects.ids([(self._mainline.commits[search.middle], search.path) for search in waiting])
            versions = list(zip(waiting, ids, strict=True))
            self._objects.load_files(
                (name, search.path) for search, name in versions if name is not None and search.needs_content(name)
            )
            for search, name in versions:
                search.halve(name)

    def follow(self, path: str, line: int, commit: str) -> FileLine | None:
        """Return where a line of a file at a commit is today; None if the line was changed or removed."""
        with suppress(HistoryUnreadable), self._limit:
            new_path = self.path_today(path, commit)
            numbers = self._alignment(path, commit, new_path) if new_path is not None else {}
            if new_path is not None and line - 1 in numbers:
                return FileLine(new_path, numbers[line - 1] + 1)
        return None

    def path_today(self, path: str, commit: str) -> str | None:
        """Return the path that a file of a commit has today; None if it was removed."""
        if self._is_here(path):
            return path
        removal = self.removed({path: commit}).get(path)
        return removal.renamed_to if removal is not None else None

    def written_files(self, commit: str) -> dict[str, str]:
        """Return the files that a commit wrote, compared with its first parent: the path before it by the new path.

        A new file has an empty path before.
        """
        with suppress(HistoryUnreadable), self._limit:
            about = self._objects.commit(commit)
            if about is not None and about.parents:
                return written_files(self._repository, about.id, about.parents[0], self._limit)
        return {}

    def _alignment(self, path: str, commit: str, new_path: str) -> dict[int, int]:
        key = (path, commit, new_path)
        if key not in self._alignments and self._limit.left:
            old, new = self._files(commit).read(path), self._workspace.read(new_path)
            if sum(map(len, self._alignments.values())) > _MAX_KEPT_LINES:
                self._alignments.clear()
            if isinstance(old, SourceFile) and isinstance(new, SourceFile):
                self._alignments[key] = align_lines(old.lines, new.lines)
        return self._alignments.get(key, {})

    def _is_here(self, path: str) -> bool:
        """Return whether the checkout has a file or folder at a path."""
        content = self._workspace.read(path)
        return isinstance(content, SourceFile) or content.why not in ("missing", "outside")

    def _from_top(self, path: str) -> str:
        return f"{self._repository.prefix}{path}"

    def restart(self, seconds: float | None = None) -> None:
        """Allow the whole time limit again, or some seconds."""
        self._limit.restart(seconds)

    def close(self) -> None:
        """End the git processes."""
        self._limit.stop()
        for job in (self.__dict__.get("_mainline_job"), self.__dict__.get("_removed_job")):
            if job is not None:
                job.wait()
        if "_objects" in self.__dict__:
            self._objects.close()


class _Job(Generic[T]):
    """Something that is computed in the background."""

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._results: list[T] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(HistoryUnreadable):
            self._results.append(self._compute())

    def wait(self) -> None:
        """Wait until it is done."""
        self._thread.join()

    def result(self) -> T:
        """Return the result when it is done. Raises `HistoryUnreadable` without a result."""
        self.wait()
        if not self._results:
            raise HistoryUnreadable("failed")
        return self._results[0]


class _Check:
    """Compares versions of a file with the one in which a claim held. Each version is compared once."""

    def __init__(self, claim: Held, name: str, objects: Objects) -> None:
        self._claim = claim
        self._objects = objects
        #: Whether the claim holds, by the id of a version.
        self.known = {name: True}
        self._name = name

    @property
    def is_about_content(self) -> bool:
        """Whether the content counts, and not only that the file exists."""
        return self._claim.line is not None or bool(self._claim.name)

    def __call__(self, name: str, path: str) -> bool:
        """Return whether the claim holds in a version of the file."""
        if not self.is_about_content:
            return True
        if name not in self.known:
            self.known[name] = self._compare(name, path)
        return self.known[name]

    def _compare(self, name: str, path: str) -> bool:
        new = self._objects.file(name, path)
        if not isinstance(new, SourceFile):
            return False
        if self._claim.name:
            return has_word(new.text, self._claim.name)
        old = self._objects.file(self._name, path)
        first = self._claim.line or 1
        cited = slice(first - 1, self._claim.end_line or first)
        return isinstance(old, SourceFile) and old.lines[cited] == new.lines[cited]


class _Search:
    """A window of the mainline that is halved until it has only the commit that changed something.

    What is searched for holds at the older position and not at the newer one.
    """

    def __init__(self, path: str, window: CommitWindow, check: _Check | None = None) -> None:
        self.path = path
        self.newer, self.older = window
        self._check = check

    @property
    def middle(self) -> int:
        """The position in the middle of the window."""
        return (self.newer + self.older) // 2

    def needs_content(self, name: str) -> bool:
        """Whether the content of a version decides, and is not known yet."""
        return self._check is not None and self._check.is_about_content and name not in self._check.known

    def halve(self, name: str | None) -> None:
        """Keep the half that has the change; `name` is the version in the middle, or None without the file."""
        if name is not None and (self._check is None or self._check(name, self.path)):
            self.older = self.middle
        else:
            self.newer = self.middle


def has_word(text: str, name: str) -> bool:
    """Return whether a text has a name as a whole word."""
    return name in text and re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text) is not None


def _readings(written: str, folder: str) -> list[str]:
    """Return the paths that a written one may mean: from the root, and from the folder of the document."""
    plain = normalize_path(written, "/")
    near = normalize_path(f"{folder}/{written}", "/") if folder and plain != "" else None
    return [path for path in dict.fromkeys((plain, near)) if path]
