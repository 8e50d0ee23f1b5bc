"""The changes of an install or uninstall, the install record, and reading and writing of files."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import NamedTuple

import msgspec

from remit.clients.setup.settings_file import open_regular
from remit.clients.setup.target import InstallTarget
from remit.errors import EnvironmentBroken, UsageError
from remit.registry.definition import digest_of
from remit.workspace.atomic_write import permissions, replace_file

#: At most this many lines of a diff are shown.
_MAX_LINES = 200
#: No file that an install changes is larger.
MAX_BYTES = 8 * 1024 * 1024
_MAX_RECORD_BYTES = 1024 * 1024
SCHEMA = "remit.installed/1"
#: The permissions of a new file, and those that no file gets.
_NEW_FILE = 0o644
_OTHERS_WRITE = 0o002


class FileChange(NamedTuple):
    """The content of a file before and after; None if the file does not exist."""

    path: Path
    before: bytes | None
    after: bytes | None
    #: Whether only a part of the file is Remit's. Then the diff is shown.
    is_shared: bool = False

    @property
    def mark(self) -> str:
        """`+` for a new file, `-` for a removed one, `~` for a changed one."""
        return "+" if self.before is None else "-" if self.after is None else "~"

    def difference(self) -> list[str]:
        """Return the changed lines as a unified diff."""
        old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (self.before, self.after))
        lines = list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
        more = len(lines) - _MAX_LINES
        return [*lines[:_MAX_LINES], f"({more} more lines)"] if more > 0 else lines

    def apply(self) -> None:
        """Write or remove the file. Raises UsageError if it has changed since the plan was made."""
        if read_bytes(self.path, MAX_BYTES) != self.before:
            raise UsageError(f"{self.path} was changed in the meantime; try again")
        if self.after is not None:
            write_bytes(self.path, self.after)
            return
        try:
            self.path.unlink()
        except OSError as error:
            raise EnvironmentBroken(f"{self.path} cannot be removed: {error.strerror}; try again") from error


class InstallPlan(NamedTuple):
    """The changes of an install or uninstall, in the order in which they are applied."""

    target: InstallTarget
    changes: list[FileChange]
    #: Files that stay unchanged against expectation, with the reason.
    kept: list[str]
    #: Notes for the user.
    notes: list[str]
    record: InstallRecord
    #: The command that the hooks call; empty without hooks.
    calls: str = ""
    mode: str = ""


class InstallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of an install. Paths in the project are relative, so the project can be moved."""

    schema: str = SCHEMA
    version: str = ""
    #: File -> digest of the content that the install wrote.
    files: dict[str, str] = {}
    #: Folders that the install created, the outer ones first.
    folders: list[str] = []
    settings: str = ""
    #: Permission rules that the install added to the settings.
    rules: list[str] = []
    made_settings: bool = False

    def is_own(self, record_path: str, data: bytes) -> bool:
        """Whether a file still has the content that the install wrote."""
        return self.files.get(record_path) == digest_of(data)


def record_file(target: InstallTarget) -> Path:
    """Return the path of the install record."""
    return target.client.record_file(target)


def read_record(target: InstallTarget) -> InstallRecord | None:
    """Read the install record; None if it does not exist."""
    path = record_file(target)
    data = read_bytes(path, _MAX_RECORD_BYTES)
    if data is None:
        return None
    try:
        record = msgspec.json.decode(data, type=InstallRecord)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(
            f"{path} is not a valid install record ({error}); remove it to continue without a record"
        ) from error
    if record.schema != SCHEMA:
        raise UsageError(
            f"{path} was written by another version ({record.schema[:40]!r}); remove it to continue without a record"
        )
    _check_paths(target, record)
    return record


def _check_paths(target: InstallTarget, record: InstallRecord) -> None:
    """Refuse a record that names files outside an install: it may have come with a clone."""
    foreign = [name for name in (*record.files, *record.folders) if not target.holds(target.path(name))]
    if record.settings not in ("", target.record_path(target.settings)):
        foreign.append(record.settings)
    if foreign:
        raise UsageError(f"{record_file(target)} names {foreign[0][:200]!r}, which is not part of this install")


def write_record(path: Path, record: InstallRecord) -> None:
    """Write an install record, readable only for its owner."""
    data = msgspec.json.format(msgspec.json.encode(record), indent=1)
    write_bytes(path, data + b"\n", mode=0o600)


def write_bytes(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file and keep its permissions; a new file gets those of `mode`. Create its folder if needed."""
    try:
        # One by one: with `parents=True`, folders between would get the permissions that the umask allows.
        for folder in reversed([path.parent, *path.parent.parents]):
            if not folder.exists():
                folder.mkdir(mode=0o755, exist_ok=True)
        current = permissions(path)
        wanted = (_NEW_FILE if mode is None else mode) if current is None else current
        # A file that others can write would let them decide what the client runs.
        replace_file(path, data, mode=wanted & ~_OTHERS_WRITE)
    except OSError as error:
        raise EnvironmentBroken(f"{path} cannot be written: {error.strerror}") from error


def read_bytes(path: Path, limit: int) -> bytes | None:
    """Return a file's bytes, at most one more than the limit; None if the file does not exist."""
    try:
        with open_regular(path) as file:
            return file.read(limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise EnvironmentBroken(f"{path} cannot be read: {error.strerror}") from error
