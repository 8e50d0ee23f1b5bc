"""Store session states: one small private file each, locked while in use and replaced atomically."""

from __future__ import annotations

import os
import stat
import time
from _thread import _local

from remit.errors import RemitError, UsageError
from remit.gate import witness
from remit.gate.session import SCHEMA, SessionState
from remit.gate.state_file import (
    SPARE,
    EncodedEntries,
    append_state,
    mark_of,
    move,
    read_state_file,
    replace_state,
)
from remit.lean_json import dumps
from remit.workspace.atomic_write import file_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from remit.errors import EnvironmentBroken
    from remit.gate.state_file import Mark

#: How long a process waits for another one that has locked the state.
WAIT_SECONDS = 5.0
KEPT_DAYS = 14
#: Other files in the folder, which are not removed with old states.
RESERVED = frozenset({"compiled.json", "compiled.json.lock", "installed.json", "trusted.json", "tree"})
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
LAST = "last"
#: The record of an installation.
INSTALLED = "installed.json"
#: How many sessions a message names.
_MAX_NAMED = 5


#: Path -> the mark of the file that this process has saved last, the state in it, and the decisions that were encoded:
#: what has not changed since need not be read, compared and encoded again. Only threads that answer many events keep
#: them.
_saved: dict[str, tuple[Mark, SessionState, EncodedEntries]] = {}
_MAX_SAVED, _MAX_SAVED_SIZE = 200, 256_000


class _Keeping(_local):
    is_on = False


_keeping = _Keeping()


def keep_saved_states() -> None:
    """Keep the states that this thread saves."""
    _keeping.is_on = True


class open_session:  # noqa: N801 - used as a function: `with open_session(folder, session) as state`
    """Open the state of a session for reading and writing. It is saved when the block ends without an error.

    With `is_urgent`, a client waits for the save, and the file may become longer than others.
    """

    def __init__(
        self, folder: str, session: str, *, wait: float = WAIT_SECONDS, lock: int = -1, is_urgent: bool = False
    ) -> None:
        self.folder = folder
        self.session = session
        self.wait = wait
        self.state = SessionState(session)
        #: A descriptor of `try_lock`; default: the lock is taken when the block begins.
        self._lock = lock
        self._path = _path(folder, session, ".json")
        #: The mark of the file that was loaded, see `append_state`.
        self._mark: Mark | None = None
        self._encoded = EncodedEntries()
        self._is_urgent = is_urgent

    def __enter__(self) -> SessionState:
        if self._lock < 0:
            make_private(self.folder)
            self._lock = file_lock(_path(self.folder, self.session, ".lock"), self.wait)
        try:
            known = _saved.pop(self._path, None)
            if known is not None and known[0] == mark_of(self._path):
                self._mark, self.state, self._encoded = known
            else:
                self.state, self._mark = _load(self._path, self.session)
        except BaseException:
            os.close(self._lock)
            raise
        return self.state

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._save(self._path)
        finally:
            os.close(self._lock)  # which also releases the lock

    def _save(self, path: str) -> None:
        """Append the state to its file, or else replace the file."""
        state = self.state
        state.trim()
        values = state.as_dict()
        if _keeping.is_on:
            decisions = self._encoded.encode(values.pop("decisions"))
            data = b'%s,"decisions":%s}' % (dumps(values, allow_nan=True)[:-1], decisions)
        else:
            data = dumps(values, allow_nan=True)
        try:
            witness.note_content(os.path.dirname(path), os.path.basename(path), data, is_locked=True)
            saved = append_state(path, data, self._mark, may_grow=self._is_urgent) or replace_state(path, data)
        except OSError as error:
            raise _broken(f"cannot write the gate's state {path}: {error.strerror}") from error
        if _keeping.is_on and len(data) <= _MAX_SAVED_SIZE and saved is not None:
            while len(_saved) >= _MAX_SAVED:
                _saved.pop(next(iter(_saved)), None)
            _saved[path] = (saved, state, self._encoded)


def try_lock(folder: str, session: str) -> int | None:
    """Lock the state of a session for `open_session`; return None if another process or thread has locked it."""
    try:
        make_private(folder)
        return file_lock(_path(folder, session, ".lock"), 0)
    except (RemitError, OSError):
        return None


def read_session(folder: str, session: str) -> SessionState | None:
    """Return the last saved state of a session, without a lock, or None if it is missing or corrupt."""
    path = _path(folder, session, ".json")
    for name in (path, path + SPARE, path):  # while it is replaced, the file is missing for a moment
        values = read_state_file(name, _is_state).values
        if values is not None:
            return SessionState.from_dict(values)
    return None


def list_sessions(folder: str) -> list[str]:
    """Return the sessions with a state, the latest first."""
    try:
        with os.scandir(folder) as entries:
            found = [
                (entry.stat().st_mtime, entry.name)
                for entry in entries
                if entry.name.endswith(".json") and entry.name not in RESERVED
            ]
    except OSError:
        return []
    return [name.removesuffix(".json") for _, name in sorted(found, reverse=True)]


def recent_sessions(folder: str, since: float) -> list[str]:
    """Return the sessions whose state was saved after a time."""
    try:
        with os.scandir(folder) as entries:
            return [
                entry.name.removesuffix(".json")
                for entry in entries
                if entry.name.endswith(".json") and entry.name not in RESERVED and entry.stat().st_mtime >= since
            ]
    except OSError:
        return []


def remove_old_sessions(folder: str, days: float = KEPT_DAYS) -> int:
    """Remove the files that did not change for this number of days. Return how many."""
    oldest = time.time() - days * 86_400
    removed = 0
    witness.forget_old(folder, days)
    try:
        with os.scandir(folder) as entries:
            old = [
                entry.path
                for entry in entries
                if entry.name not in RESERVED and entry.stat(follow_symlinks=False).st_mtime < oldest
            ]
    except OSError:
        return 0
    # A process that waits for a removed lock file opens the new one.
    for path in old:
        try:
            os.unlink(path)
            removed += 1
        except OSError:
            continue
    return removed


def make_private(folder: str) -> None:
    """Create a folder that only its owner can use. Raise EnvironmentBroken if it is a link or another user's."""
    try:
        try:
            found = os.lstat(folder)
        except FileNotFoundError:
            # The folder above must not be writable for others either, with any mask for new files.
            os.makedirs(os.path.dirname(folder), mode=0o755, exist_ok=True)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise _broken(f"{folder} is a link or belongs to another user; it must be a folder that you own")
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.chmod(folder, 0o700)
    except OSError as error:
        raise _broken(f"cannot store the gate's state in {folder}: {error.strerror}") from error


def _broken(text: str) -> EnvironmentBroken:
    from remit.errors import EnvironmentBroken  # late: hardly any call needs it

    return EnvironmentBroken(text)


def safe_name(text: str) -> str:
    """Return a text as a file name: unchanged if it is plain and not reserved, else its digest."""
    if 0 < len(text) <= 80 and _PLAIN.issuperset(text) and f"{text}.json" not in RESERVED:
        return text
    import hashlib  # late: the session ids of clients are plain

    return "x" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _path(folder: str, session: str, ending: str) -> str:
    return os.path.join(folder, safe_name(session) + ending)


def _load(path: str, session: str) -> tuple[SessionState, Mark | None]:
    """Load a state, with the mark of its file. A corrupt file is renamed, and the new state has a warning.

    A file that something else than this module has changed or removed is noted as a change without permission.
    """
    is_missing = not os.path.lexists(path) and not move(path + SPARE, path)
    stored = read_state_file(path, _is_state)
    if stored.values is not None:
        state = SessionState.from_dict(stored.values)
    else:
        state = SessionState(session)
        if not is_missing:
            aside = f"{path}.broken-{time.time_ns()}"
            os.replace(path, aside)
            state.warn(f"the state file of this session was corrupt; it was renamed to {aside}")
    if witness.has_other_content(os.path.dirname(path), os.path.basename(path), stored.data):
        _distrust(state, path)
        return state, None
    return state, stored.mark


def _distrust(state: SessionState, path: str) -> None:
    """Remove the permissions that something else may have written into a state, and note that a person must know."""
    state.writers, state.pending, state.declarations = [], {}, []
    name = f".remit/gate/{os.path.basename(path)}"
    state.changes.append({"id": "", "at": time.time(), "paths": [name], "decided": "", "untold": True})


def _is_state(value: object) -> bool:
    return isinstance(value, dict) and value.get("schema") == SCHEMA


class RecordedSession:
    """A stored session: its folder, its name there, and its last saved state."""

    __slots__ = ("folder", "name", "state")

    def __init__(self, folder: str, name: str, state: SessionState) -> None:
        self.folder = folder
        self.name = name
        self.state = state


def recorded_sessions(folders: Iterable[str]) -> list[RecordedSession]:
    """Return all sessions of some folders, the latest first. Other files are ignored."""
    states = [(folder, name, read_session(folder, name)) for folder in folders for name in list_sessions(folder)]
    found = [RecordedSession(folder, name, state) for folder, name, state in states if state is not None]
    return sorted(found, key=lambda one: one.state.updated, reverse=True)


def find_session(folders: Iterable[str], wanted: str = LAST) -> RecordedSession:
    """Return a session by its id or a prefix of it. Raises UsageError if no session or more than one matches."""
    folders = list(folders)
    sessions = recorded_sessions(folders)
    if corrupt := _corrupt_file(folders, wanted, sessions):
        raise UsageError(f"the session file {corrupt} is corrupt; delete it or repair it by hand")
    if not sessions:
        raise UsageError(f"no session is recorded in {folders[0]}; {_how_to_record(folders[0])}")
    if wanted in ("", LAST):
        return sessions[0]
    exact = [one for one in sessions if wanted in (one.name, one.state.session)]
    matching = exact or [one for one in sessions if one.name.startswith(wanted) or one.state.session.startswith(wanted)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UsageError(
            f"{wanted!r} is ambiguous ({len(matching)} sessions match: {_names(matching)}); use a longer prefix"
        )
    raise UsageError(f"there is no session {wanted!r}; the latest are {_names(sessions)}")


def _corrupt_file(folders: list[str], wanted: str, sessions: list[RecordedSession]) -> str:
    """Return the file of the wanted session if it exists and is corrupt, else an empty text."""
    readable = {(one.folder, one.name) for one in sessions}
    for folder in folders:
        for name in list_sessions(folder):
            is_wanted = not sessions if wanted in ("", LAST) else name == wanted
            if is_wanted and (folder, name) not in readable:
                return os.path.join(folder, f"{name}.json")
    return ""


def _how_to_record(folder: str) -> str:
    if os.path.lexists(os.path.join(folder, INSTALLED)):
        return "the hooks are installed, start a new session of Claude Code"
    return "sessions are recorded by `remit orchestrate` and, after `remit install claude-code`, by Claude Code"


def _names(sessions: list[RecordedSession]) -> str:
    names = [one.state.session or one.name for one in sessions[:_MAX_NAMED]]
    return ", ".join(names) + (" ..." if len(sessions) > _MAX_NAMED else "")
