"""What claims are held against: a checkout, what the agent did, and a command to run again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from remit.errors import UsageError
from remit.evidence.receipts import RERUN, Receipt, ReceiptIndex, read_receipts
from remit.workspace.files import Workspace, WorkTree
from remit.workspace.paths import is_absolute, normalize_path
from remit.workspace.safe_git import root_above
from remit.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

#: A command that is run again is stopped after this many seconds.
RERUN_SECONDS = 600
_MAX_RECEIPTS = 64 * 1024 * 1024


class Sources(msgspec.Struct, frozen=True):
    """Where to look. What is None is not known, and what depends on it is said to be unchecked."""

    workspace: Workspace | None = None
    ledger: ReceiptIndex | None = None
    snapshot: Snapshot | None = None
    rerun: Receipt | None = None


def open_sources(
    repo: str | os.PathLike[str] | None,
    *,
    rev: str | None = None,
    transcripts: Sequence[str | os.PathLike[str]] = (),
    receipts: Sequence[Path] = (),
    records: Iterable[Receipt] | None = None,
    rerun: str | None = None,
) -> Sources:
    """Open everything that was named; a UsageError for what is not there."""
    workspace = open_workspace(repo, rev) if repo is not None else None
    root = workspace.folder if workspace is not None else "/"
    found: list[Receipt] = list(records or ())
    others: list[str] = []
    snapshot: Snapshot | None = None
    for name in transcripts:
        from remit.evidence.transcripts import read_transcript  # late: not every check has one

        transcript = read_transcript(name)
        found.extend(transcript.receipts)
        others.extend(transcript.roots[:1])
    for path in receipts:
        file = read_receipts(_bytes(path), str(path))
        found.extend(msgspec.structs.replace(receipt, cwd=receipt.cwd or file.root) for receipt in file.receipts)
        snapshot = file.snapshot or snapshot
        others.extend([file.root] if file.root and is_absolute(file.root) else [])
    known = bool(transcripts or receipts) or records is not None
    return Sources(
        workspace=workspace,
        ledger=ReceiptIndex(found, root, other_roots=_stand_ins(others, workspace)) if known else None,
        snapshot=snapshot,
        rerun=rerun_command(rerun, workspace.root) if rerun and workspace is not None else None,
    )


def open_workspace(repo: str | os.PathLike[str], rev: str | None) -> Workspace:
    """The checkout, or one of its commits."""
    if not os.path.isdir(repo):  # noqa: PTH112 - pathlib is slow to load
        raise UsageError(f"{repo}: not a folder; --repo takes the root of a checkout")
    if rev is None:
        return WorkTree(repo)
    from remit.workspace.commit import Commit  # late: most checks are of the files as they lie there

    return Commit(repo, rev)


def _stand_ins(roots: Iterable[str], workspace: Workspace | None) -> list[str]:
    """Folders that stand for the repository: where the agent worked elsewhere, and the same part of it.

    An agent that worked in the repository itself, above or below its root, needs none: its paths say where they lead.
    """
    if workspace is None:
        return []
    own, prefix = workspace.folder, ""
    other = list(dict.fromkeys(root.replace("\\", "/").rstrip("/") for root in roots))
    other = [root for root in other if normalize_path(root, own) is None and normalize_path(own, root or "/") is None]
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
        raise UsageError(f"{path}: receipts of more than {_MAX_RECEIPTS >> 20} MB are not read")
    return data


def rerun_command(command: str, root: Path) -> Receipt:
    """Run a command of the caller's in the checkout and keep a receipt. Never done unless asked for."""
    import signal  # late, both: hardly anybody asks for it
    import subprocess

    process = subprocess.Popen(  # noqa: S602 (the command line is the caller's own, given for this)
        command,
        shell=True,
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        status = process.wait(RERUN_SECONDS)
    except BaseException as stopped:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not isinstance(stopped, subprocess.TimeoutExpired):
            raise
        status = -signal.SIGKILL
    return Receipt(tool=RERUN, arguments={"command": command}, exit=status, failed=status != 0)
