"""The records of the gate: one SQLite file for each project, outside of it, in the user's folder for states.

A record has a kind, a name and bytes: the state of a session, the compiled settings, the files before a call. Contents
of files are kept by their digest. All changes of an event are one transaction, so a process that is killed leaves the
old records or the new ones.

A command of an agent runs as the same user and can write the file, so nothing here is a proof. But a change by anything
else is noticed: each record has the digest of its bytes, and the file `seal` in the gate's folder has the digest of all
of these digests, of now and of before. If they differ, no record is trusted any more.
"""

from __future__ import annotations

import _sqlite3 as sqlite3  # the module `sqlite3` adds conversions of dates, which take longer to load
import os
import stat
import time
from _thread import _local

from remit.errors import EnvironmentBroken
from remit.gate.earlier_state import has_earlier_state, read_earlier_state, remove_earlier_state
from remit.regular_files import read_regular
from remit.state_folder import state_folder
from remit.workspace.atomic_write import file_lock, replace_file

try:
    from _blake2 import blake2b  # hashlib takes longer to load than the whole gate
except ImportError:
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

#: How long a process waits for another one that changes the records.
WAIT_SECONDS = 5.0
_FOLDER = "remit/gate"
_FILE = "gate.sqlite"
#: In the gate's folder of the project.
SEAL = "seal"
_DIGEST_LENGTH = 32
#: The place of the store, the digest of now and that of before, one in each line.
_SEAL_LENGTH = 3 * (_DIGEST_LENGTH + 1)
#: Pages in the journal before it is copied. Every process reads the whole journal, so it is short.
_MAX_PAGES = 64
#: The same for a connection whose journal other threads copy.
_MAX_LEFT_PAGES = 1000
_MAX_CONNECTIONS = 50
_SCHEMA = """
CREATE TABLE record (
    kind TEXT NOT NULL, name TEXT NOT NULL, at REAL NOT NULL, digest TEXT NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (kind, name)
);
CREATE INDEX digests ON record (kind, name, digest);
CREATE TABLE content (digest TEXT PRIMARY KEY, at REAL NOT NULL, data BLOB NOT NULL);
"""
#: What a store contains: the statements above as SQLite keeps them. A trigger or a view could make the gate's own
#: statements do something else.
_STATEMENTS = sorted(statement.strip() for statement in _SCHEMA.split(";") if statement.strip())
_READ_SCHEMA = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
_DIGESTS = "SELECT kind || ' ' || name, kind || ' ' || name || ' ' || digest FROM record ORDER BY kind, name"
#: REPLACE would move the row, which changes more pages of the file.
_PUT = (
    "INSERT INTO record VALUES (?, ?, ?, ?, ?) ON CONFLICT (kind, name) "
    "DO UPDATE SET at = excluded.at, digest = excluded.digest, data = excluded.data"
)
_REMOVE_UNNAMED = (
    "DELETE FROM record WHERE kind = ? AND name NOT IN (SELECT CAST(data AS TEXT) FROM record WHERE kind = ?)"
)
#: The record that some records are gone.
_LOST = "lost"
_NOTE_LOSS = "REPLACE INTO record VALUES (?, '', 0, ?, x'')"


def digest_of(data: bytes) -> str:
    """Return a digest by which changed content is recognised."""
    return blake2b(data, digest_size=_DIGEST_LENGTH // 2).hexdigest()


def store_path(folder: str) -> str:
    """Return the path of the store for a gate's folder."""
    above, parent = os.path.split(os.path.dirname(folder))
    # Only the folder of the project is resolved: a link in its place must not lead to another store.
    real = os.path.join(os.path.realpath(above), parent, os.path.basename(folder))
    return os.path.join(state_folder(), "gate", digest_of(os.fsencode(real)), _FILE)


class Record:
    """The bytes of a record and their digest; it is not sealed if the digest of all records has another one of it."""

    def __init__(self, data: bytes, digest: str, *, is_sealed: bool = True) -> None:
        self.data = data
        self.digest = digest
        self._is_sealed = is_sealed

    @property
    def is_trusted(self) -> bool:
        """Whether the gate wrote the record."""
        return self._is_sealed and digest_of(self.data) == self.digest

    def is_same(self, trusted: Record) -> bool:
        """Return whether this is the same as a trusted record. To compare the bytes takes less time than a digest."""
        return self._is_sealed and self.data == trusted.data and self.digest == trusted.digest


class RecordStore:
    """The records for one gate's folder, as one thread sees them."""

    def __init__(self, folder: str, path: str) -> None:
        self.folder = folder
        self.path = path
        self._wait = WAIT_SECONDS
        #: Of the beginning of the transaction: the digest of all records, and how many rows were changed before.
        self._digest, self._changes = "", 0
        #: Kind and name of each record -> the same with its digest; None if they must be read. They are those of a
        #: version of the file, which SQLite counts up when another connection changes it.
        self._digests: dict[str, str] | None = None
        #: The digest of all of them; "" if one was changed since.
        self._digest_now = ""
        self._version = -1
        #: Those of this connection, until the caller sets it to 0.
        self.transactions = 0
        self._leaves_checkpoints = self._is_closed = False
        self._connection = sqlite3.connect(path, timeout=self._wait, isolation_level=None)
        self._execute(f"PRAGMA wal_autocheckpoint = {_MAX_PAGES}")
        self._execute("PRAGMA synchronous = NORMAL")
        self._check_schema()

    def leave_checkpoints(self) -> None:
        """Leave it to other threads to copy the journal, unless it has become long: that waits for the disk."""
        if not self._leaves_checkpoints:
            self._execute(f"PRAGMA wal_autocheckpoint = {_MAX_LEFT_PAGES}")
            self._leaves_checkpoints = True

    def checkpoint(self) -> None:
        """Copy the journal. Others may change the records at the same time."""
        self._execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Close the connection."""
        self._is_closed = True
        self._connection.close()

    def get(self, kind: str, name: str = "", earlier: Record | None = None) -> Record | None:
        """Return a record; None if it is missing.

        `earlier` is the trusted record of an earlier transaction: it is returned if the stored one has the same digest.
        """
        # In a transaction, the digests are those that were compared with the seal.
        digests = self._digests if self.is_changing else None
        if digests is not None and f"{kind} {name}" not in digests:
            return None
        if (
            digests is not None
            and earlier is not None
            and digests[f"{kind} {name}"] == f"{kind} {name} {earlier.digest}"
        ):
            return earlier
        row = self._execute("SELECT digest, data FROM record WHERE kind = ? AND name = ?", kind, name).fetchone()
        if row is None:
            return None
        is_sealed = digests is None or digests[f"{kind} {name}"] == f"{kind} {name} {row[0]}"
        return Record(row[1], row[0], is_sealed=is_sealed)

    def trusted(self, kind: str, name: str = "") -> bytes | None:
        """Return the bytes of a record; None if it is missing, or if something else has changed it."""
        record = self.get(kind, name)
        return record.data if record is not None and record.is_trusted else None

    def names(self, kind: str, since: float = 0.0) -> list[str]:
        """Return the names of the records that were written after a time, the latest first."""
        rows = self._execute("SELECT name FROM record WHERE kind = ? AND at >= ? ORDER BY at DESC", kind, since)
        return [name for (name,) in rows.fetchall()]

    def put(self, kind: str, name: str, data: bytes) -> Record:
        """Write a record, and return it."""
        digest = digest_of(data)
        with self.changing():
            self._execute(_PUT, kind, name, time.time(), digest, data)
            if self._digests is not None:
                self._digests[f"{kind} {name}"], self._digest_now = f"{kind} {name} {digest}", ""
        return Record(data, digest)

    def remove(self, kind: str, name: str | None = None) -> None:
        """Remove a record, or all of a kind."""
        with self.changing():
            if name is None:
                self._execute("DELETE FROM record WHERE kind = ?", kind)
                self._digests = None
                return
            self._execute("DELETE FROM record WHERE kind = ? AND name = ?", kind, name)
            if self._digests is not None and self._digests.pop(f"{kind} {name}", None) is not None:
                self._digest_now = ""

    def content(self, digest: str) -> bytes | None:
        """Return a content that was kept."""
        row = self._execute("SELECT data FROM content WHERE digest = ?", digest).fetchone()
        return row[0] if row is not None and digest_of(row[0]) == digest else None

    def keep_content(self, data: bytes) -> str:
        """Keep a content, and return its digest."""
        digest = digest_of(data)
        with self.changing():
            self._execute("REPLACE INTO content VALUES (?, ?, ?)", digest, time.time(), data)
        return digest

    def size(self, kind: str, name: str = "") -> int:
        """Return the number of bytes of a record; 0 if it is missing."""
        row = self._execute("SELECT length(data) FROM record WHERE kind = ? AND name = ?", kind, name).fetchone()
        return int(row[0]) if row is not None else 0

    def remove_unnamed(self, kind: str, by: str) -> None:
        """Remove the records of a kind whose names no record of the kind `by` contains."""
        with self.changing():
            if self._execute(_REMOVE_UNNAMED, kind, by).rowcount:
                self._digests = None

    def remove_old(self, kinds: tuple[str, ...], days: float) -> int:
        """Remove the records of some kinds and the contents that were not written for a number of days."""
        oldest, removed = time.time() - days * 86_400, 0
        with self.changing():
            for kind in kinds:
                removed += self._execute("DELETE FROM record WHERE kind = ? AND at < ?", kind, oldest).rowcount
            self._digests = None
            self._execute("DELETE FROM content WHERE at < ?", oldest)
        return removed

    @property
    def is_lost(self) -> bool:
        """Whether something else has removed records."""
        return self.get(_LOST) is not None

    def forget_loss(self) -> None:
        """Note that the loss was reported."""
        self.remove(_LOST)

    def changing(self, wait: float = WAIT_SECONDS) -> _Changing:
        """Return a block whose changes are one transaction; in such a block, it is a part of that."""
        return _Changing(self, wait)

    @property
    def is_changing(self) -> bool:
        """Whether a transaction is open."""
        return not self._is_closed and self._connection.in_transaction

    def begin(self, wait: float = WAIT_SECONDS) -> None:
        """Begin a transaction. Raises EnvironmentBroken if another process does not end its own in time."""
        if wait != self._wait:
            self._execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
            self._wait = wait
        make_private(self.folder)
        self._execute("BEGIN IMMEDIATE")
        self._changes = self._connection.total_changes
        try:
            self._notice_changes()
            self._digest = self.digest_of_all()
            if not self._is_sealed(self._digest):
                self._distrust()
                self._digest = ""  # the seal must not state it as that of before: the same change would be trusted
        except BaseException:
            self.roll_back()
            raise

    def commit(self) -> None:
        """End a transaction: all of its changes are stored, or none."""
        try:
            # A process that ends before the commit leaves the earlier records, which the seal states, too.
            now = self.digest_of_all()
            if now != self._digest or not self._is_sealed(now):
                _write_seal(self.folder, self.path, now, self._digest)
            self._execute("COMMIT")
            self.transactions += 1
        except OSError as error:
            self.roll_back()
            raise EnvironmentBroken(f"cannot store the gate's state in {self.folder}: {error.strerror}") from error
        except BaseException:
            self.roll_back()
            raise

    def roll_back(self) -> None:
        """End a transaction without its changes."""
        if self._is_closed:  # the file was put aside
            return
        if self._connection.total_changes != self._changes:
            self._digests = None
        if self.is_changing:
            self._connection.rollback()

    def verify(self) -> None:
        """Compare the records with the seal. If something else has changed them, none is trusted any more."""
        if not self.is_changing and not self._is_sealed(self.digest_of_all()):
            with self.changing():
                pass  # another process may have ended its transaction in the meantime: `begin` compares again

    def _distrust(self) -> None:
        """Trust no record any more. With a seal, a session without a record may have had one, too."""
        self._execute("UPDATE record SET digest = ''")
        self._digests = None
        if _read_seal(self.folder)[0] == _place(self.path):
            self._execute(_NOTE_LOSS, _LOST, digest_of(b""))

    def digest_of_all(self) -> str:
        """Return the digest of the digests of all records."""
        if not self.is_changing:
            self._notice_changes()
        if self._digests is None:
            self._digests, self._digest_now = dict(self._execute(_DIGESTS).fetchall()), ""
        if not self._digest_now:
            self._digest_now = digest_of("\n".join(sorted(self._digests.values())).encode())
        return self._digest_now

    def _notice_changes(self) -> None:
        """Forget what was read if another connection has changed the file since: another process or thread."""
        version = self._execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._version, self._digests = version, None
            self._check_schema()

    def _is_sealed(self, digest: str) -> bool:
        place, *digests = _read_seal(self.folder)
        return place == _place(self.path) and digest in digests

    def _check_schema(self) -> None:
        """Raise EnvironmentBroken, and put the store aside, if it has other tables, or triggers and views."""
        if sorted(sql for (sql,) in self._execute(_READ_SCHEMA).fetchall()) != _STATEMENTS:
            self.roll_back()
            raise self._put_aside("it does not have the tables of the gate only")

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values)
        except sqlite3.ProgrammingError as error:
            if not self._is_closed:
                raise
            raise EnvironmentBroken(f"the gate's state {self.path} was closed after an error") from error
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                text = f"another process has held the gate's state {self.path} for {self._wait:g} s"
                raise EnvironmentBroken(text) from error
            raise EnvironmentBroken(f"cannot use the gate's state {self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise self._put_aside(error) from error

    def _put_aside(self, error: sqlite3.DatabaseError | str) -> EnvironmentBroken:
        """Rename a file that is not a database of the gate. The next event starts with a new one."""
        self.close()
        aside = f"{self.path}.broken-{time.time_ns()}"
        try:
            os.rename(self.path, aside)
            _remove_files(self.path)
        except OSError as problem:
            return EnvironmentBroken(f"the gate's state {self.path} is corrupt ({error}): {problem.strerror}")
        return EnvironmentBroken(f"the gate's state was corrupt ({error}); it was renamed to {aside}")


class _Changing:
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


class _Connections(_local):
    """The stores that a thread has opened, by their paths, each with the file that it is."""

    def __init__(self) -> None:
        self.process = 0
        self.stores: dict[str, tuple[tuple[int, int], RecordStore]] = {}


_connections = _Connections()


def find_store(folder: str) -> RecordStore | None:
    """Return the store for a gate's folder; None if nothing was stored yet."""
    path = store_path(folder)
    file = _file_of(path)
    if file is None:
        return open_store(folder) if has_earlier_state(folder) else None
    return _connected(folder, path, file)


def _connected(folder: str, path: str, file: tuple[int, int]) -> RecordStore:
    if _connections.process != os.getpid():  # a connection must not be used in another process
        _connections.process, _connections.stores = os.getpid(), {}
    known = _connections.stores.get(path)
    if known is not None and known[0] == file:
        return known[1]
    if len(_connections.stores) >= _MAX_CONNECTIONS:
        _connections.stores.pop(next(iter(_connections.stores)))
    store = RecordStore(folder, path)
    _connections.stores[path] = (file, store)
    return store


def open_store(folder: str) -> RecordStore:
    """Return the store for a gate's folder. A new one gets the state of an earlier version."""
    path = store_path(folder)
    file = _file_of(path)
    if file is None:
        _make(folder, path)
        file = _file_of(path)
    if file is None:
        raise EnvironmentBroken(f"the gate's state {path} was removed while it was used")
    return _connected(folder, path, file)


def _make(folder: str, path: str) -> None:
    make_private(folder)
    try:
        make_private(os.path.dirname(path))
        lock = file_lock(f"{path}.lock", WAIT_SECONDS)
        try:
            if _file_of(path) is None:
                _create(folder, path)
        finally:
            os.close(lock)
    except OSError as error:
        raise EnvironmentBroken(f"cannot store the gate's state in {path}: {error.strerror}") from error


def _create(folder: str, path: str) -> None:
    """Create a store under another name first, so that no process sees a part of it."""
    new = f"{path}.new"
    _remove_files(new)
    os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600))
    connection = sqlite3.connect(new)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(_SCHEMA)
        if _read_seal(folder)[0] == _place(path):
            connection.execute(_NOTE_LOSS, (_LOST, digest_of(b"")))
            connection.commit()
    except sqlite3.Error as error:
        raise EnvironmentBroken(f"cannot store the gate's state in {path}: {error}") from error
    finally:
        connection.close()
    store = RecordStore(folder, new)
    try:
        _write_seal(folder, path, store.digest_of_all(), "")
        store.path = path
        earlier = read_earlier_state(folder)
        with store.changing():
            for kind, name, data in earlier:
                store.put(kind, name, data)
    finally:
        store.close()
    os.rename(new, path)
    if earlier:
        remove_earlier_state(folder)


def remove_store(folder: str) -> None:
    """Remove the store for a gate's folder, and the folders above it that are empty then."""
    path = store_path(folder)
    known = _connections.stores.pop(path, None)
    if known is not None and _connections.process == os.getpid():
        known[1].close()
    place = os.path.dirname(path)
    try:
        for name in os.listdir(place):
            os.unlink(os.path.join(place, name))
    except OSError:
        return
    above = os.path.dirname(state_folder())
    folders = [place, os.path.dirname(place), state_folder()]
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


def _remove_files(path: str) -> None:
    """Remove a database of SQLite with its journal."""
    for name in (path, f"{path}-wal", f"{path}-shm"):
        if os.path.lexists(name):
            os.unlink(name)


def _place(path: str) -> str:
    """Return what distinguishes stores: a project that was moved or copied has another one, and no seal of it."""
    return digest_of(os.fsencode(path))


def _read_seal(folder: str) -> list[str]:
    data = read_regular(os.path.join(folder, SEAL), _SEAL_LENGTH) or b""
    return data.decode("ascii", "replace").split() or [""]


def _write_seal(folder: str, path: str, now: str, before: str) -> None:
    """Write the seal, in place if it is there: to replace a file takes longer than the whole transaction."""
    data = f"{_place(path)}\n{now}\n{before or now}\n".encode("ascii")
    name = os.path.join(folder, SEAL)
    try:
        descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        replace_file(name, data, mode=0o600, sync=False)
        return
    try:
        about = os.fstat(descriptor)
        is_own = stat.S_ISREG(about.st_mode) and about.st_nlink == 1 and about.st_size == len(data)
        if is_own and os.write(descriptor, data) == len(data):
            return
    finally:
        os.close(descriptor)
    replace_file(name, data, mode=0o600, sync=False)
