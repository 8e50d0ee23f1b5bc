"""A session's state on disk: one small private file, locked while it is used, replaced as a whole."""

# ruff: noqa: PTH101, PTH103, PTH105, PTH108, PTH118, PTH123
# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import json
import os
import stat
import time

from remit.gate.memory import SCHEMA, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from remit.errors import EnvironmentBroken

#: A process waits so long for another that holds the state.
WAIT_SECONDS = 5.0
#: A larger file is not ours.
LARGEST_FILE = 4_000_000
KEPT_DAYS = 14
#: Files beside the states that are no session's; they stay when old states go.
RESERVED = frozenset({"compiled.json", "compiled.json.lock", "installed.json"})
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class open_state:  # noqa: N801 - used as a function: `with open_state(folder, session) as state`
    """The state of a session, for reading and changing; written back when the block ends without an error."""

    def __init__(self, folder: str, session: str, *, wait: float = WAIT_SECONDS) -> None:
        self.folder = folder
        self.session = session
        self.wait = wait
        self.state = State(session)
        self._lock = -1

    def __enter__(self) -> State:
        make_private(self.folder)
        self._lock = locked(_path(self.folder, self.session, ".lock"), self.wait)
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


def peek(folder: str, session: str) -> State | None:
    """A session's state as it was last written, without a lock: for people who look. None: there is none."""
    path = _path(folder, session, ".json")
    return _parse(_bytes(path)) if os.path.lexists(path) else None


def sessions(folder: str) -> list[str]:
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


def clean(folder: str, days: float = KEPT_DAYS) -> int:
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


def plain_name(text: str) -> str:
    """A text as the name of a file: itself if it is plain and not reserved, else its digest."""
    if 0 < len(text) <= 80 and _PLAIN.issuperset(text) and f"{text}.json" not in RESERVED:
        return text
    import hashlib  # late: a client's own session ids are plain

    return "x" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _path(folder: str, session: str, ending: str) -> str:
    return os.path.join(folder, plain_name(session) + ending)


def locked(path: str, wait: float) -> int:
    """A descriptor that holds the lock of that file, waited for within bounds; closing it gives the lock up."""
    import fcntl

    until = time.monotonic() + wait
    pause = 0.0005
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise _broken(f"another process has held the gate's state {path} for {wait:g} s") from None
                    time.sleep(pause)
                    pause = min(pause * 1.5, 0.01)
            if _same_file(descriptor, path):
                os.utime(descriptor)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # it was cleaned away meanwhile


def _same_file(descriptor: int, path: str) -> bool:
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    here = os.fstat(descriptor)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _load(path: str, session: str) -> State:
    """The state; one that is torn or not ours is set aside, and a fresh one says so."""
    if not os.path.lexists(path):
        return State(session)
    state = _parse(_bytes(path))
    if state is None:
        aside = f"{path}.broken-{time.time_ns()}"
        os.replace(path, aside)
        state = State(session)
        state.warn(f"the gate's state of this session could not be read; it was set aside as {aside}")
    return state


def _bytes(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return b""
    with open(descriptor, "rb") as file:
        return file.read(LARGEST_FILE + 1)


def _parse(data: bytes) -> State | None:
    if len(data) > LARGEST_FILE:
        return None
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        return None
    return State.from_dict(values)


def _save(path: str, state: State) -> None:
    data = json.dumps(state.as_dict(), separators=(",", ":")).encode("ascii")
    # One name for all: whoever holds the lock is alone, and takes over what a killed process left.
    fresh = path + ".new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(fresh, flags, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(fresh, path)
    except OSError as error:
        raise _broken(f"the gate's state {path} cannot be written: {error.strerror}") from error
