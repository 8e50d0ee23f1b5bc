"""The states of sessions in the gate's store."""

from __future__ import annotations

import os
import time
from _thread import _local

from remit.errors import UsageError
from remit.gate.record_store import WAIT_SECONDS, digest_of, find_store, open_store, store_path
from remit.gate.session import SCHEMA, SessionState
from remit.gate.session_entries import ChangeEntry
from remit.lean_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from remit.gate.record_store import Record, RecordStore

KEPT_DAYS = 14
#: The kind of these records, and of those that are removed with them.
KIND = "session"
_OLD_KINDS = (KIND, "rules", "call", "tree-of")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
LAST = "last"
#: The record of an installation.
INSTALLED = "installed.json"
#: How many sessions a message names.
_MAX_NAMED = 5
#: States that `KeptStates` keeps, and the bytes of the longest one.
_MAX_KEPT, _MAX_KEPT_BYTES = 200, 200_000


class KeptStates:
    """The states that the events of a server have saved, so that the next event of the session need not parse it.

    One is used only if the stored bytes are the saved ones, and by one event at a time: an event takes it out, and puts
    the one that it has saved in its place when it is answered.
    """

    def __init__(self, encode: Callable[[SessionState], bytes]) -> None:
        #: Writes a state as JSON; a server has loaded a library that takes less time than `dumps`.
        self.encode = encode
        self._kept: dict[tuple[str, str], tuple[Record, SessionState]] = {}

    def __enter__(self) -> None:
        """Begin an event in this thread."""
        _event.kept, _event.saved = self, {}

    def __exit__(self, *_: object) -> None:
        """End the event."""
        saved, _event.kept, _event.saved = _event.saved, None, {}
        for key, (record, state) in saved.items():
            if len(record.data) <= _MAX_KEPT_BYTES:
                self._kept[key] = record, state
        if len(self._kept) > _MAX_KEPT:
            for key in list(self._kept)[:-_MAX_KEPT]:  # a list is made at once: other threads change the table
                self._kept.pop(key, None)

    def take(self, key: tuple[str, str], record: Record | None) -> SessionState | None:
        """Take out the state in a stored record; None if it is not here."""
        _event.saved.pop(key, None)
        known = self._kept.pop(key, None)
        return known[1] if known is not None and record is not None and record.is_same(known[0]) else None


class _Event(_local):
    """The event that a thread answers: where states are kept, and those that it has saved."""

    def __init__(self) -> None:
        self.kept: KeptStates | None = None
        self.saved: dict[tuple[str, str], tuple[Record, SessionState]] = {}


_event = _Event()


class open_session:  # noqa: N801 - used as a function: `with open_session(folder, session) as state`
    """Open the state of a session for reading and writing, in one transaction of the store.

    It is saved when the block ends without an error. `begin` and `load` may be called before the block.
    """

    def __init__(self, folder: str, session: str, *, wait: float = WAIT_SECONDS) -> None:
        self._folder = folder
        self._session = session
        self._wait = wait
        self._state: SessionState | None = None
        self._store: RecordStore | None = None

    def begin(self, store: RecordStore | None = None) -> RecordStore:
        """Begin the transaction. Raises EnvironmentBroken if another process does not end its own in time."""
        store = store or open_store(self._folder)
        store.begin(self._wait)
        self._store = store
        return store

    def roll_back(self) -> None:
        """End the transaction, if it has begun, without saving the state."""
        if self._store is not None:
            self._store.roll_back()
            self._store, self._state = None, None

    def load(self) -> SessionState:
        """Return the state, in the transaction."""
        if self._state is None:
            self._state = _load(self._store or self.begin(), self._session)
        return self._state

    def __enter__(self) -> SessionState:
        try:
            return self.load()
        except BaseException:
            self.roll_back()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        store, self._store = self._store, None
        state, self._state = self._state, None
        if store is None or state is None:
            return
        if kind is not None:
            store.roll_back()
            return
        try:
            state.trim()
            name, kept = safe_name(self._session), _event.kept
            record = store.put(KIND, name, dumps(state, vars) if kept is None else kept.encode(state))
        except BaseException:
            store.roll_back()
            raise
        store.commit()
        if kept is not None:
            _event.saved[store.path, name] = record, state


def read_session(folder: str, session: str) -> SessionState | None:
    """Return the last saved state of a session, or None if it is missing."""
    store = find_store(folder)
    return None if store is None else _parse(store.get(KIND, safe_name(session)))


def list_sessions(folder: str, since: float = 0.0) -> list[str]:
    """Return the sessions whose state was saved after a time, the latest first."""
    store = find_store(folder)
    return [] if store is None else store.names(KIND, since)


def remove_session(folder: str, session: str) -> None:
    """Remove the state of a session."""
    open_store(folder).remove(KIND, safe_name(session))


def remove_old_sessions(folder: str, days: float = KEPT_DAYS) -> int:
    """Remove what was not written for this number of days. Return the number of records."""
    store = find_store(folder)
    return 0 if store is None else store.remove_old(_OLD_KINDS, days)


def safe_name(text: str) -> str:
    """Return a text as a file name: unchanged if it is plain, else its digest."""
    if 0 < len(text) <= 80 and _PLAIN.issuperset(text):
        return text
    return "x" + digest_of(text.encode("utf-8", "surrogatepass"))


def _load(store: RecordStore, session: str) -> SessionState:
    """Load a state. If something else than the gate has changed or removed it, its permissions are not used."""
    name = safe_name(session)
    record = store.get(KIND, name)
    kept = _event.kept.take((store.path, name), record) if _event.kept is not None else None
    state = kept or _parse(record) or SessionState(session)
    is_lost = store.is_lost
    if is_lost:
        store.forget_loss()
    if is_lost or (record is not None and not record.is_trusted):
        state.writers, state.pending, state.declarations = [], {}, []
        state.changes.append(ChangeEntry(at=time.time(), paths=[store.path], untold=True))
    return state


def _parse(record: Record | None) -> SessionState | None:
    try:
        values = loads(record.data) if record is not None else None
    except (ValueError, RecursionError):
        return None
    return SessionState.from_dict(values) if isinstance(values, dict) and values.get("schema") == SCHEMA else None


class RecordedSession:
    """A stored session: its folder, its name there, and its last saved state."""

    def __init__(self, folder: str, name: str, state: SessionState) -> None:
        self.folder = folder
        self.name = name
        self.state = state


def recorded_sessions(folders: Iterable[str]) -> list[RecordedSession]:
    """Return all sessions of some folders, the latest first. Other files are ignored."""
    states = [(folder, name, read_session(folder, name)) for folder in folders for name in list_sessions(folder)]
    recorded = [RecordedSession(folder, name, state) for folder, name, state in states if state is not None]
    return sorted(recorded, key=lambda session: session.state.updated, reverse=True)


def find_session(folders: Iterable[str], wanted: str = LAST) -> RecordedSession:
    """Return a session by its id or a prefix of it. Raises UsageError if no session or more than one matches."""
    folders = list(folders)
    sessions = recorded_sessions(folders)
    if not sessions:
        raise UsageError(f"no session is recorded in {store_path(folders[0])}; {_how_to_record(folders[0])}")
    if wanted in ("", LAST):
        return sessions[0]
    exact = [session for session in sessions if wanted in (session.name, session.state.session)]
    matching = exact or [
        session for session in sessions if session.name.startswith(wanted) or session.state.session.startswith(wanted)
    ]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UsageError(
            f"{wanted!r} is ambiguous ({len(matching)} sessions match: {_names(matching)}); use a longer prefix"
        )
    raise UsageError(f"there is no session {wanted!r}; the latest are {_names(sessions)}")


def _how_to_record(folder: str) -> str:
    if os.path.lexists(os.path.join(folder, INSTALLED)):
        return "the hooks are installed, start a new session of Claude Code"
    return "sessions are recorded by `remit run orchestrator` and, after `remit install claude-code`, by Claude Code"


def _names(sessions: list[RecordedSession]) -> str:
    names = [session.state.session or session.name for session in sessions[:_MAX_NAMED]]
    return ", ".join(names) + (" ..." if len(sessions) > _MAX_NAMED else "")
