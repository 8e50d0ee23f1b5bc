"""The records of the gate: one SQLite file for each project, outside of it, in the user's folder for states.

A record has a kind, a name and bytes: the state of a session, the compiled settings, the files before a call. Contents
of files are kept by their digest. All changes of an event are one transaction, so a process that is killed leaves the
old records or the new ones.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from contextlib import suppress
from hashlib import blake2b
from threading import get_ident

from remit.errors import EnvironmentBroken
from remit.state_folder import state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

#: How long a process waits for another one that changes the records.
WAIT_SECONDS = 5.0
_FILE = "gate.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS record (
    kind TEXT NOT NULL, name TEXT NOT NULL, at REAL NOT NULL, data BLOB NOT NULL, PRIMARY KEY (kind, name)
);
CREATE TABLE IF NOT EXISTS content (digest TEXT PRIMARY KEY, at REAL NOT NULL, data BLOB NOT NULL);
"""
_PUT = (
    "INSERT INTO record VALUES (?, ?, ?, ?) ON CONFLICT (kind, name) "
    "DO UPDATE SET at = excluded.at, data = excluded.data"
)
_REMOVE_UNNAMED = (
    "DELETE FROM record WHERE kind = ? AND name NOT IN (SELECT CAST(data AS TEXT) FROM record WHERE kind = ?)"
)


def digest_of(data: bytes) -> str:
    """Return a digest by which changed content is recognised."""
    return blake2b(data, digest_size=16).hexdigest()


def store_path(folder: str) -> str:
    """Return the path of the store for a gate's folder."""
    above, parent = os.path.split(os.path.dirname(folder))
    # Only the folder of the project is resolved: a link in its place must not lead to another store.
    real = os.path.join(os.path.realpath(above), parent, os.path.basename(folder))
    return os.path.join(state_folder(), "gate", digest_of(os.fsencode(real)), _FILE)


class RecordStore:
    """The records for one gate's folder."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._connection = self._opened()

    def _opened(self) -> sqlite3.Connection:
        """Open the file; one that is no database is renamed, and a new one is made."""
        try:
            return self._connected()
        except sqlite3.OperationalError as error:
            raise EnvironmentBroken(f"cannot use the gate's state {self.path}: {error}") from error
        except sqlite3.DatabaseError:
            aside = f"{self.path}.broken-{time.time_ns()}"
            try:
                os.rename(self.path, aside)
                for ending in ("-wal", "-shm"):
                    with suppress(FileNotFoundError):
                        os.unlink(self.path + ending)
                return self._connected()
            except (OSError, sqlite3.Error) as error:
                raise EnvironmentBroken(f"the gate's state {self.path} is corrupt: {error}") from error

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def get(self, kind: str, name: str = "") -> bytes | None:
        """Return the bytes of a record; None if it is missing."""
        row = self._execute("SELECT data FROM record WHERE kind = ? AND name = ?", kind, name).fetchone()
        return row[0] if row is not None else None

    def names(self, kind: str, since: float = 0.0) -> list[str]:
        """Return the names of the records that were written after a time, the latest first."""
        rows = self._execute("SELECT name FROM record WHERE kind = ? AND at >= ? ORDER BY at DESC", kind, since)
        return [name for (name,) in rows.fetchall()]

    def put(self, kind: str, name: str, data: bytes) -> None:
        """Write a record."""
        self._execute(_PUT, kind, name, time.time(), data)

    def remove(self, kind: str, name: str) -> None:
        """Remove a record."""
        self._execute("DELETE FROM record WHERE kind = ? AND name = ?", kind, name)

    def content(self, digest: str) -> bytes | None:
        """Return a content that was kept."""
        row = self._execute("SELECT data FROM content WHERE digest = ?", digest).fetchone()
        return row[0] if row is not None else None

    def keep_content(self, data: bytes) -> str:
        """Keep a content, and return its digest."""
        digest = digest_of(data)
        self._execute("REPLACE INTO content VALUES (?, ?, ?)", digest, time.time(), data)
        return digest

    def remove_unnamed(self, kind: str, by: str) -> None:
        """Remove the records of a kind whose names no record of the kind `by` contains."""
        self._execute(_REMOVE_UNNAMED, kind, by)

    def remove_old(self, kinds: tuple[str, ...], days: float) -> int:
        """Remove the records of some kinds and the contents that were not written for a number of days."""
        oldest, removed = time.time() - days * 86_400, 0
        with self.changing():
            for kind in kinds:
                removed += self._execute("DELETE FROM record WHERE kind = ? AND at < ?", kind, oldest).rowcount
            self._execute("DELETE FROM content WHERE at < ?", oldest)
        return removed

    def changing(self, wait: float = WAIT_SECONDS) -> Transaction:
        """Return a block whose changes are one transaction; in such a block, it is a part of that."""
        return Transaction(self, wait)

    @property
    def is_changing(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.in_transaction

    def begin(self, wait: float = WAIT_SECONDS) -> None:
        """Begin a transaction. Raises EnvironmentBroken if another process does not end its own in time."""
        self._execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
        self._execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """End a transaction: all of its changes are stored, or none."""
        self._execute("COMMIT")

    def roll_back(self) -> None:
        """End a transaction without its changes."""
        if self.is_changing:
            self._connection.rollback()

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise EnvironmentBroken(f"cannot use the gate's state {self.path}: {error}") from error


class Transaction:
    """A transaction, or a part of the one that is open."""

    def __init__(self, store: RecordStore, wait: float) -> None:
        self._store = store
        self._wait = wait
        self._is_outer = not store.is_changing

    def __enter__(self) -> None:
        if self._is_outer:
            self._store.begin(self._wait)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_outer:
            if kind is None:
                self._store.commit()
            else:
                self._store.roll_back()


#: The stores that a process has opened: process, thread and path -> the file that it is, and the store.
_open: dict[tuple[int, int, str], tuple[tuple[int, int], RecordStore]] = {}
_MAX_OPEN = 50


def find_store(folder: str) -> RecordStore | None:
    """Return the store for a gate's folder; None if nothing was stored yet."""
    return _connected(store_path(folder)) if _file_of(store_path(folder)) is not None else None


def open_store(folder: str) -> RecordStore:
    """Return the store for a gate's folder."""
    make_private(folder)
    path = store_path(folder)
    make_private(os.path.dirname(path))
    if _file_of(path) is None:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
        except OSError as error:
            raise EnvironmentBroken(f"cannot store the gate's state in {path}: {error.strerror}") from error
    return _connected(path)


def _connected(path: str) -> RecordStore:
    # A connection must not be used in another thread or process.
    key, file = (os.getpid(), get_ident(), path), _file_of(path)
    known = _open.get(key)
    if known is not None and known[0] == file:
        return known[1]
    if len(_open) >= _MAX_OPEN:
        _open.pop(next(iter(_open)))
    store = RecordStore(path)
    _open[key] = (_file_of(path) or (0, 0), store)
    return store


def remove_store(folder: str) -> None:
    """Remove the store for a gate's folder, and the folders above it that are empty then."""
    path = store_path(folder)
    for key in [key for key in _open if key[2] == path]:
        with suppress(sqlite3.Error):
            _open.pop(key)[1].close()
    place = os.path.dirname(path)
    shutil.rmtree(place, ignore_errors=True)
    above = os.path.dirname(state_folder())
    folders = [os.path.dirname(place), state_folder()]
    for emptied in (*folders, *([] if os.environ.get("XDG_STATE_HOME") else [above, os.path.dirname(above)])):
        try:
            os.rmdir(emptied)
        except OSError:
            return  # it contains other files


def make_private(folder: str) -> None:
    """Create a folder that only its owner can use. Raise EnvironmentBroken if it is a link or another user's."""
    try:
        try:
            about = os.lstat(folder)
        except FileNotFoundError:
            # The folder above must not be writable for others either, with any mask for new files.
            os.makedirs(os.path.dirname(folder), mode=0o755, exist_ok=True)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            about = os.lstat(folder)
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
            raise EnvironmentBroken(f"{folder} is a link or belongs to another user; it must be a folder that you own")
        if stat.S_IMODE(about.st_mode) & 0o077:
            os.chmod(folder, 0o700)
    except OSError as error:
        raise EnvironmentBroken(f"cannot store the gate's state in {folder}: {error.strerror}") from error


def _file_of(path: str) -> tuple[int, int] | None:
    """Return which file is at a path; None without one. Raises EnvironmentBroken if it is not a file of this user."""
    try:
        about = os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EnvironmentBroken(f"cannot use the gate's state {path}: {error.strerror}") from error
    if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid():
        raise EnvironmentBroken(f"{path} is a link or belongs to another user; it must be a file that you own")
    return about.st_dev, about.st_ino
