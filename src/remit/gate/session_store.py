"""The states of sessions in the gate's store."""

from __future__ import annotations

import json
import os

from remit.errors import UsageError
from remit.gate.record_store import WAIT_SECONDS, digest_of, find_store, open_store, store_path
from remit.gate.session import SCHEMA, SessionState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

KEPT_DAYS = 14
#: The kind of these records, and of those that are removed with them.
KIND = "session"
_OLD_KINDS = (KIND, "call", "tree-of")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
LAST = "last"
#: The record of an installation.
INSTALLED = "installed.json"
#: How many sessions a message names.
_MAX_NAMED = 5


class open_session:  # noqa: N801 - used as a function: `with open_session(folder, session) as state`
    """Open the state of a session for reading and writing, in one transaction of the store.

    It is saved when the block ends without an error. `about` are fields that the session has from now on.
    """

    def __init__(self, folder: str, session: str, **about: str) -> None:
        self._folder = folder
        self._session = session
        self._about = about

    def __enter__(self) -> SessionState:
        self._store = open_store(self._folder)
        self._store.begin(WAIT_SECONDS)
        try:
            self._state = _parse(self._store.get(KIND, safe_name(self._session))) or SessionState(self._session)
        except BaseException:
            self._store.roll_back()
            raise
        vars(self._state).update(self._about)
        return self._state

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._store.roll_back()
            return
        try:
            self._state.trim()
            data = json.dumps(self._state, default=vars, separators=(",", ":")).encode("ascii")
            self._store.put(KIND, safe_name(self._session), data)
            self._store.commit()
        except BaseException:
            self._store.roll_back()
            raise


def read_session(folder: str, session: str) -> SessionState | None:
    """Return the last saved state of a session, or None if it is missing."""
    store = find_store(folder)
    return None if store is None else _parse(store.get(KIND, safe_name(session)))


def list_sessions(folder: str, since: float = 0.0) -> list[str]:
    """Return the sessions whose state was saved after a time, the latest first."""
    store = find_store(folder)
    return [] if store is None else store.names(KIND, since)


def remove_old_sessions(folder: str, days: float = KEPT_DAYS) -> int:
    """Remove what was not written for this number of days. Return the number of records."""
    store = find_store(folder)
    return 0 if store is None else store.remove_old(_OLD_KINDS, days)


def safe_name(text: str) -> str:
    """Return a text as a file name: unchanged if it is plain, else its digest."""
    if 0 < len(text) <= 80 and _PLAIN.issuperset(text):
        return text
    return "x" + digest_of(text.encode("utf-8", "surrogatepass"))


def _parse(data: bytes | None) -> SessionState | None:
    try:
        values = json.loads(data) if data is not None else None
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
