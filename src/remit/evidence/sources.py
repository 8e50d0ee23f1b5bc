"""The sources that claims are checked against: a checkout, receipts, a snapshot and a repeated command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self

import msgspec

from remit.errors import UsageError
from remit.evidence.find_commands import CommandFinder
from remit.evidence.find_names import NameFinder
from remit.evidence.receipts import Receipt, ReceiptIndex, Transcript, read_receipts
from remit.evidence.token_match import TokenStore
from remit.workspace.commit import Commit, Commits
from remit.workspace.files import Workspace, WorkTree
from remit.workspace.history import History
from remit.workspace.paths import is_absolute, normalize_path
from remit.workspace.safe_git import root_above
from remit.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

_MAX_RECEIPTS = 64 * 1024 * 1024


class Sources(msgspec.Struct, frozen=True, dict=True):
    """The available sources. Claims that need a missing source are reported as unchecked."""

    workspace: Workspace | None = None
    receipts: ReceiptIndex | None = None
    snapshot: Snapshot | None = None
    #: Why the given receipts cannot be used; empty: they can, or none were given.
    receipts_problem: str = ""
    #: Whether the caller chose the commit that the workspace shows.
    has_rev: bool = False
    #: The files before the change that is asked about: what was one of them is a path, however it is written.
    before: Workspace | None = None

    @cached_property
    def commits(self) -> Commits | None:
        """The commits of the repository that the workspace belongs to."""
        return Commits(self.workspace.folder) if self.workspace is not None else None

    def at(self, commit: str | None) -> Workspace | None:
        """Return the files of a commit that a document was checked against; None: the workspace itself."""
        if commit is None or self.has_rev or self.commits is None:
            return self.workspace
        return self.commits.get(commit)

    @cached_property
    def history(self) -> History:
        """The history of the checkout; all documents of a run share it."""
        if self.workspace is None:
            raise UsageError("the history needs a checkout")
        return History(self.workspace)

    def had_folder(self, name: str) -> bool:
        """Return whether the history of the checkout has a folder that is not in it any more."""
        if self.workspace is None or self.has_rev:
            return False
        return bool(self.history.removed([name]))

    @cached_property
    def tokens(self) -> TokenStore:
        """The tokens of files; all documents of a run share them."""
        return TokenStore()

    def name_finder(self, workspace: Workspace) -> NameFinder:
        """Return what finds names in a tree of files; all documents of a run share it."""
        if workspace is not self.workspace:
            return NameFinder(workspace, searches_all=False)  # the files of a commit are read one by one
        finder: NameFinder | None = self.__dict__.get("names")
        if finder is None:
            finder = self.__dict__["names"] = NameFinder(workspace)
        return finder

    def command_finder(self, workspace: Workspace) -> CommandFinder:
        """Return what finds commands, tests and commits in a tree of files; all documents of a run share it."""
        if workspace is not self.workspace:
            return CommandFinder(workspace)
        finder: CommandFinder | None = self.__dict__.get("commands")
        if finder is None:
            finder = self.__dict__["commands"] = CommandFinder(workspace)
        return finder

    def close_commits(self) -> None:
        """End the processes that read the commits which a document names: one for each commit."""
        if self.commits is not None:
            self.commits.close()

    def end_processes(self) -> None:
        """End the processes that read commits; they are started again when needed."""
        for name in ("commits", "history"):
            opened = self.__dict__.get(name)
            if opened is not None:
                opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release open files and processes. A check with the history leaves its processes to the next one."""
        if self.workspace is not None:
            self.workspace.close()
        self.end_processes()


def open_sources(
    repo: str | os.PathLike[str] | None,
    *,
    rev: str | None = None,
    transcripts: Iterable[Transcript] = (),
    receipts: Sequence[Path] = (),
    records: Iterable[Receipt] | None = None,
) -> Sources:
    """Open all given sources; raise UsageError for one that does not exist.

    `transcripts` may read the files while it is iterated over. The checkout is opened first, so its errors come first.
    """
    workspace = open_workspace(repo, rev) if repo is not None else None
    root = workspace.folder if workspace is not None else "/"
    calls: list[Receipt] = list(records or ())
    other_roots: list[str] = []
    snapshot: Snapshot | None = None
    has_calls, problem = bool(receipts) or records is not None, ""
    for transcript in transcripts:
        has_calls = True
        calls.extend(transcript.receipts)
        other_roots.extend(transcript.roots[:1])
        if not transcript.is_known:
            problem = f"{transcript.name}: unknown transcript format"
    for path in receipts:
        file = read_receipts(_bytes(path), str(path))
        calls.extend(msgspec.structs.replace(receipt, cwd=receipt.cwd or file.root) for receipt in file.receipts)
        snapshot = file.snapshot or snapshot
        other_roots.extend([file.root] if file.root and is_absolute(file.root) else [])
    # A part of the calls proves nothing about the others, so one unknown transcript makes all receipts useless.
    index: ReceiptIndex | None = None
    if has_calls and not problem:
        index = ReceiptIndex(calls, root, other_roots=_aliases(other_roots, workspace))
    return Sources(
        workspace=workspace,
        receipts=index,
        snapshot=snapshot,
        receipts_problem=problem,
        has_rev=rev is not None,
    )


def open_workspace(repo: str | os.PathLike[str], rev: str | None) -> Workspace:
    """Open the checkout, or one of its commits."""
    if not os.path.isdir(repo):  # noqa: PTH112 - pathlib is slow to load
        raise UsageError(f"{repo}: not a folder; --repo takes the root of a checkout")
    if rev is None:
        return WorkTree(repo)
    return Commit(repo, rev)


def _aliases(roots: Iterable[str], workspace: Workspace | None) -> list[str]:
    """Return the other directories that stand for the workspace: the agent's own checkouts of the repository.

    If the workspace is a subdirectory of its repository, the same subdirectory of each checkout comes first. An agent
    that worked in the workspace itself, above or below its root, needs no alias: its paths are unambiguous.
    """
    if workspace is None:
        return []
    folder, prefix = workspace.folder, ""
    other = list(dict.fromkeys(root.replace("\\", "/").rstrip("/") for root in roots))
    other = [
        root for root in other if normalize_path(root, folder) is None and normalize_path(folder, root or "/") is None
    ]
    if other and (top := root_above(workspace.root)) is not None:
        prefix = workspace.root.relative_to(top).as_posix()
    inner = [f"{root}/{prefix}" for root in other] if prefix not in ("", ".") else []
    return [*inner, *other]


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_RECEIPTS + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    if len(data) > _MAX_RECEIPTS:
        raise UsageError(f"{path}: the receipts file is larger than {_MAX_RECEIPTS >> 20} MB")
    return data
