"""What an install or its removal would do to files, before it is done."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import NamedTuple

import msgspec

from remit.clients.claude_code.setup.target import InstallTarget
from remit.errors import EnvironmentBroken, UsageError
from remit.registry.model import digest_of
from remit.workspace.atomic_write import permissions, replace_file

#: Lines of a difference that are shown to a person.
_MOST_LINES = 200
#: More than any file that is changed here.
MOST_BYTES = 8 * 1024 * 1024
_MAX_BYTES = 1024 * 1024
SCHEMA = "remit.installed/1"


class FileChange(NamedTuple):
    """A file before and after; None: it is not there."""

    path: Path
    before: bytes | None
    after: bytes | None
    #: Whether it is a person's file of which only a part is ours, so that the difference is shown.
    is_shared: bool = False

    @property
    def mark(self) -> str:
        """`+` a new file, `-` one that goes, `~` one that changes."""
        return "+" if self.before is None else "-" if self.after is None else "~"

    def difference(self) -> list[str]:
        """The lines that change, as a unified difference."""
        old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (self.before, self.after))
        lines = [*difflib.unified_diff(old, new, lineterm="", n=2)][2:]
        more = len(lines) - _MOST_LINES
        return [*lines[:_MOST_LINES], f"({more} more lines)"] if more > 0 else lines

    def apply(self) -> None:
        """Do it, unless the file is no longer as it was looked at."""
        if read_bytes(self.path, MOST_BYTES) != self.before:
            raise UsageError(f"{self.path} was changed by somebody else meanwhile; start again")
        if self.after is not None:
            write_bytes(self.path, self.after)
            return
        try:
            self.path.unlink()
        except OSError as error:
            raise EnvironmentBroken(f"{self.path} cannot be removed: {error.strerror}; start again") from error


class InstallPlan(NamedTuple):
    """Everything that would be done, in this order."""

    place: InstallTarget
    changes: list[FileChange]
    #: What stays although one might expect otherwise, and why.
    kept: list[str]
    #: What a person should know.
    notes: list[str]
    record: InstallRecord
    #: What the hooks call once it is done; empty: there are none.
    calls: str = ""


class AddedHooks(msgspec.Struct, frozen=True):
    """Text that was put at the end of a configuration file."""

    path: str
    text: str
    #: Whether the file was not there before.
    is_new: bool = False


class InstallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An install. Files inside the place are named from there, so that a project may be moved."""

    schema: str = SCHEMA
    version: str = ""
    #: File -> digest of what we wrote into it.
    files: dict[str, str] = {}
    #: Folders that were not there before, the outer ones first.
    folders: list[str] = []
    settings: str = ""
    #: Containers of the settings that were not there before; they go when they are empty.
    made: list[str] = []
    made_settings: bool = False
    configuration: AddedHooks | None = None
    http: str | None = None

    def is_own(self, shown: str, data: bytes) -> bool:
        """Whether a file is as we wrote it."""
        return self.files.get(shown) == digest_of(data)


def record_file(place: InstallTarget) -> Path:
    """Where the record of an install is."""
    return place.gate / "installed.json"


def read_record(place: InstallTarget) -> InstallRecord | None:
    """The record of an install; None: there is none."""
    path = record_file(place)
    data = read_bytes(path, _MAX_BYTES)
    if data is None:
        return None
    try:
        record = msgspec.json.decode(data, type=InstallRecord)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"{path} is not a record of an install ({error}); remove it to go on without") from error
    if record.schema != SCHEMA:
        raise UsageError(f"{path} was written by another version ({record.schema[:40]!r}); remove it to go on without")
    _check_places(place, record)
    return record


def _check_places(place: InstallTarget, record: InstallRecord) -> None:
    """A record is a file like any other, and may come with a clone: it names nothing that is not an install's."""
    foreign = [name for name in (*record.files, *record.folders) if not place.holds(place.path(name))]
    if record.configuration is not None and record.configuration.path not in ("remit.toml", "pyproject.toml"):
        foreign.append(record.configuration.path)
    if record.settings not in ("", place.shown(place.settings)):
        foreign.append(record.settings)
    if foreign:
        raise UsageError(f"{record_file(place)} names {foreign[0][:200]!r}, which is no part of this install")


def write_record(place: InstallTarget, record: InstallRecord) -> None:
    """Keep the record, for its owner alone."""
    data = msgspec.json.format(msgspec.json.encode(record), indent=1)
    write_bytes(record_file(place), data + b"\n", mode=0o600)


def write_bytes(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file and keep its permissions; a new file gets those of `mode`. Create its folder if needed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        current = permissions(path)
        replace_file(path, data, mode=mode if current is None else current)
    except OSError as error:
        raise EnvironmentBroken(f"{path} cannot be written: {error.strerror}") from error


def read_bytes(path: Path, limit: int) -> bytes | None:
    """Return a file's bytes, at most one more than the limit; None if the file does not exist."""
    try:
        with path.open("rb") as file:
            return file.read(limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise EnvironmentBroken(f"{path} cannot be read: {error.strerror}") from error
