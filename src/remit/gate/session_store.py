"""A session's state on disk: one small private file, locked while it is used, replaced as a whole."""

from __future__ import annotations

import json
import os
import stat
import time

from remit.errors import UsageError
from remit.gate.session import SCHEMA, SessionState
from remit.workspace.atomic_write import file_lock, replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from remit.errors import EnvironmentBroken
    from remit.gate.session import SessionState

#: A process waits so long for another that holds the state.
WAIT_SECONDS = 5.0
#: A larger file is not ours.
LARGEST_FILE = 4_000_000
KEPT_DAYS = 14
#: Files beside the states that are no session's; they stay when old states go.
RESERVED = frozenset({"compiled.json", "compiled.json.lock", "installed.json"})
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
LAST = "last"
#: What an installation writes down beside the sessions.
INSTALLED = "installed.json"
#: How many are named in a message.
_NAMED = 5


class open_session:  # noqa: N801 - used as a function: `with open_state(folder, session) as state`
    """The state of a session, for reading and changing; written back when the block ends without an error."""

    def __init__(self, folder: str, session: str, *, wait: float = WAIT_SECONDS) -> None:
        self.folder = folder
        self.session = session
        self.wait = wait
        self.state = SessionState(session)
        self._lock = -1

    def __enter__(self) -> SessionState:
        make_private(self.folder)
        self._lock = file_lock(_path(self.folder, self.session, ".lock"), self.wait)
        try:
            self.state = _load(_path(self.folder, self.session, ".json"), self.session)
        except BaseException:
            os.close(self._lock)
            raise
        return self.state

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                _save(_path(self.folder, self.session, ".json"), self.state)
        finally:
            os.close(self._lock)  # which also gives up the lock


def read_session(folder: str, session: str) -> SessionState | None:
    """A session's state as it was last written, without a lock: for people who look. None: there is none."""
    path = _path(folder, session, ".json")
    return _parse(_bytes(path)) if os.path.lexists(path) else None


def list_sessions(folder: str) -> list[str]:
    """The sessions with a state, the latest first."""
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


def remove_old_sessions(folder: str, days: float = KEPT_DAYS) -> int:
    """Remove what was not touched for so many days; how many files that were."""
    oldest = time.time() - days * 86_400
    removed = 0
    try:
        with os.scandir(folder) as entries:
            old = [
                entry.path
                for entry in entries
                if entry.name not in RESERVED and entry.stat(follow_symlinks=False).st_mtime < oldest
            ]
    except OSError:
        return 0
    # Whoever waits for a removed lock finds another file in its place, and takes that.
    for path in old:
        try:
            os.unlink(path)
            removed += 1
        except OSError:
            continue
    return removed


def make_private(folder: str) -> None:
    """Make the folder, for its owner alone; one that is somebody else's or a link is refused."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise _broken(f"{folder} must be a folder of your own, and is a link or somebody else's")
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.chmod(folder, 0o700)
    except OSError as error:
        raise _broken(f"the gate's state cannot be kept in {folder}: {error.strerror}") from error


def _broken(text: str) -> EnvironmentBroken:
    from remit.errors import EnvironmentBroken  # late: hardly any call needs it

    return EnvironmentBroken(text)


def safe_name(text: str) -> str:
    """A text as the name of a file: itself if it is plain and not reserved, else its digest."""
    if 0 < len(text) <= 80 and _PLAIN.issuperset(text) and f"{text}.json" not in RESERVED:
        return text
    import hashlib  # late: a client's own session ids are plain

    return "x" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _path(folder: str, session: str, ending: str) -> str:
    return os.path.join(folder, safe_name(session) + ending)


def _load(path: str, session: str) -> SessionState:
    """The state; one that is torn or not ours is set aside, and a fresh one says so."""
    if not os.path.lexists(path):
        return SessionState(session)
    state = _parse(_bytes(path))
    if state is None:
        aside = f"{path}.broken-{time.time_ns()}"
        os.replace(path, aside)
        state = SessionState(session)
        state.warn(f"the gate's state of this session could not be read; it was set aside as {aside}")
    return state


def _bytes(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return b""
    with open(descriptor, "rb") as file:
        return file.read(LARGEST_FILE + 1)


def _parse(data: bytes) -> SessionState | None:
    if len(data) > LARGEST_FILE:
        return None
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        return None
    return SessionState.from_dict(values)


def _save(path: str, state: SessionState) -> None:
    data = json.dumps(state.as_dict(), separators=(",", ":")).encode("ascii")
    try:
        replace_file(path, data, mode=0o600, sync=False)
    except OSError as error:
        raise _broken(f"the gate's state {path} cannot be written: {error.strerror}") from error


class RecordedSession:
    """A session on disk: the folder, its name there, and its state as it was last written."""

    __slots__ = ("folder", "name", "state")

    def __init__(self, folder: str, name: str, state: SessionState) -> None:
        self.folder = folder
        self.name = name
        self.state = state


def recorded_sessions(folders: Iterable[str]) -> list[RecordedSession]:
    """All sessions of some folders, the latest first. Other files of a folder are none."""
    read = [(folder, name, read_session(folder, name)) for folder in folders for name in list_sessions(folder)]
    found = [RecordedSession(folder, name, state) for folder, name, state in read if state is not None]
    return sorted(found, key=lambda one: one.state.updated, reverse=True)


def find_session(folders: Iterable[str], wanted: str = LAST) -> RecordedSession:
    """One session; an error that says what to do if there is none, or more than one."""
    folders = list(folders)
    known = recorded_sessions(folders)
    if damaged := _damaged(folders, wanted, known):
        raise UsageError(f"the record of this session is damaged: {damaged} is to be deleted, or mended by hand")
    if not known:
        raise UsageError(f"no session has been recorded in {folders[0]} yet; {_how_to(folders[0])}")
    if wanted in ("", LAST):
        return known[0]
    exact = [one for one in known if wanted in (one.name, one.state.session)]
    fitting = exact or [one for one in known if one.name.startswith(wanted) or one.state.session.startswith(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UsageError(f"{wanted!r} begins the ids of {len(fitting)} sessions: {_named(fitting)}; name more of it")
    raise UsageError(f"there is no session {wanted!r}; the latest are {_named(known)}")


def _damaged(folders: list[str], wanted: str, known: list[RecordedSession]) -> str:
    """The file of the session that is asked for, if it is there and cannot be read."""
    readable = {(one.folder, one.name) for one in known}
    for folder in folders:
        for name in list_sessions(folder):
            is_meant = not known if wanted in ("", LAST) else name == wanted
            if is_meant and (folder, name) not in readable:
                return os.path.join(folder, f"{name}.json")
    return ""


def _how_to(folder: str) -> str:
    if os.path.lexists(os.path.join(folder, INSTALLED)):
        return "the hooks are installed: start a new session of Claude Code"
    return (
        "`remit install claude-code` puts the hooks into Claude Code that record one, and `remit orchestrate` records "
        "its own"
    )


def _named(found: list[RecordedSession]) -> str:
    names = [one.state.session or one.name for one in found[:_NAMED]]
    return ", ".join(names) + (" ..." if len(found) > _NAMED else "")
