"""What an install has written, so that it can be taken back: files with their digests, folders, added settings."""

from __future__ import annotations

from pathlib import Path

import msgspec

from remit.clients.claude_code.setup.place import Place
from remit.clients.claude_code.setup.writing import read_bytes, replace_file
from remit.errors import UsageError
from remit.registry.model import digest_of

_MAX_BYTES = 1024 * 1024
SCHEMA = "remit.installed/1"


class Added(msgspec.Struct, frozen=True):
    """Text that was put at the end of a configuration file."""

    path: str
    text: str
    #: Whether the file was not there before.
    is_new: bool = False


class Record(msgspec.Struct, frozen=True, kw_only=True):
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
    configuration: Added | None = None
    http: str | None = None

    def is_own(self, shown: str, data: bytes) -> bool:
        """Whether a file is as we wrote it."""
        return self.files.get(shown) == digest_of(data)


def record_file(place: Place) -> Path:
    """Where the record of an install is."""
    return place.gate / "installed.json"


def read_record(place: Place) -> Record | None:
    """The record of an install; None: there is none."""
    path = record_file(place)
    data = read_bytes(path, _MAX_BYTES)
    if data is None:
        return None
    try:
        record = msgspec.json.decode(data, type=Record)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"{path} is not a record of an install ({error}); remove it to go on without") from error
    if record.schema != SCHEMA:
        raise UsageError(f"{path} was written by another version ({record.schema[:40]!r}); remove it to go on without")
    _check_places(place, record)
    return record


def _check_places(place: Place, record: Record) -> None:
    """A record is a file like any other, and may come with a clone: it names nothing that is not an install's."""
    foreign = [name for name in (*record.files, *record.folders) if not place.holds(place.path(name))]
    if record.configuration is not None and record.configuration.path not in ("remit.toml", "pyproject.toml"):
        foreign.append(record.configuration.path)
    if record.settings not in ("", place.shown(place.settings)):
        foreign.append(record.settings)
    if foreign:
        raise UsageError(f"{record_file(place)} names {foreign[0][:200]!r}, which is no part of this install")


def write_record(place: Place, record: Record) -> None:
    """Keep the record, for its owner alone."""
    data = msgspec.json.format(msgspec.json.encode(record), indent=1)
    replace_file(record_file(place), data + b"\n", mode=0o600)
