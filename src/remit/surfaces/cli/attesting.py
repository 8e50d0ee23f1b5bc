"""`--attest`: write an in-toto statement about the outcome of a command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

import remit as package
from remit.checking import Options, Verdict
from remit.contract.parse import MAX_BYTES
from remit.errors import EnvironmentBroken, UsageError
from remit.reports.attestation import (
    check_policy,
    check_properties,
    commit_subject,
    document_subject,
    statement,
)
from remit.reports.formats import format_json
from remit.reports.layout import escape_control
from remit.workspace import git
from remit.workspace.atomic_write import replace_file
from remit.workspace.safe_git import decode_output, run_git


class Documents:
    """The documents of a command, as they were read."""

    def __init__(self, *, is_limited: bool = True) -> None:
        self._is_limited = is_limited
        self.contents: dict[str, bytes] = {}
        self.files: set[Path] = set()

    def add(self, name: str, file: Path | None, data: bytes) -> None:
        """Note a document. Raises UsageError for one that was not read as a whole."""
        if self._is_limited and len(data) > MAX_BYTES:
            raise UsageError(
                f"{name}: --attest cannot name this document, because it has more than {MAX_BYTES:,} bytes"
            )
        self.contents[name] = data
        if file is not None:
            self.files.add(file.resolve())


def write_statement(
    path: Path,
    documents: Documents,
    *,
    root: Path,
    commits: Iterable[str | None],
    properties: Iterable[str],
    policy: Mapping[str, Any],
) -> None:
    """Write the statement. `commits` are those that claims were checked against; None: the files on disk."""
    subjects = [document_subject(name, data) for name, data in documents.contents.items()]
    for commit in dict.fromkeys(commits):
        commit_id = (
            commit_of(root, commit) if commit is not None else _clean_head(root, {*documents.files, path.resolve()})
        )
        subjects += [commit_subject(commit_id)] if commit_id is not None else []
    if not subjects:
        raise UsageError("--attest needs a document or a commit that the statement can name")
    data = format_json(statement(subjects, properties, policy, package.__version__, _now())) + "\n"
    try:
        replace_file(path, data.encode())
    except OSError as error:
        raise EnvironmentBroken(f"{path} cannot be written: {error.strerror or error}") from error


def attest_verdicts(
    path: Path, documents: Documents, verdicts: Sequence[Verdict], options: Options, root: Path
) -> None:
    """Write the statement about the verdicts of `remit check` or `remit verify`."""
    write_statement(
        path,
        documents,
        root=root,
        commits=[verdict.revision for verdict in verdicts],
        properties=check_properties(verdicts, options),
        policy=check_policy(options),
    )


def commit_of(root: Path, revision: str) -> str | None:
    """Return the id of a commit."""
    output = run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    words = decode_output(output or b"").split()  # older versions of git repeat the option
    return words[-1] if words else None


def _clean_head(root: Path, excluded: set[Path]) -> str | None:
    """Return the checked-out commit if the files on disk, except `excluded`, are its files. Else state why not."""
    head = git.head(root)
    changed = git.changes(root) if head is not None else None
    if changed is None:
        return None
    others = [name for name in changed if (root / name).resolve() not in excluded]
    if others:
        differ = f" and {len(others) - 1} more differ" if len(others) > 1 else " differs"
        click.echo(f"remit: the statement names no commit: {escape_control(others[0])}{differ} from it", err=True)
        return None
    return head


def _now() -> datetime:
    """Return the time of the statement: SOURCE_DATE_EPOCH, so that a build can be repeated, or now."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not epoch:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"SOURCE_DATE_EPOCH must be a number of seconds, not {epoch[:40]!r}") from error
