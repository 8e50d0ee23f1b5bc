"""What the gate remembers of a session. Names and numbers only: no content of any call is ever kept."""

from __future__ import annotations

import time

from remit.gate.model import COSTS, LONGEST_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.settings import GateSettings

SCHEMA = "remit.gate/1"
#: How many of each are kept; the oldest go first.
KEPT: dict[str, int] = {
    "analysed": 2000,
    "declarations": 50,
    "decisions": 100,
    "delegations": 100,
    "exceptions": 50,
    "locks": 500,
    "pending": 64,
    "reverts": 20,
    "warnings": 50,
}
_ENTRIES: dict[str, type] = {
    "analysed": str,
    "declarations": dict,
    "decisions": dict,
    "delegations": dict,
    "exceptions": dict,
    "locks": str,
    "pending": dict,
    "reverts": str,
    "used": int,
    "warnings": str,
}


class SessionState:
    """A session: its window, what was declared, delegated, excepted and decided."""

    __slots__ = (
        "analysed",
        "decisions",
        "declarations",
        "delegations",
        "exceptions",
        "locks",
        "pending",
        "reverts",
        "saved",
        "session",
        "started",
        "updated",
        "used",
        "warnings",
        "window",
    )

    def __init__(self, session: str = "", now: float | None = None) -> None:
        self.session = session[:LONGEST_NAME]
        self.started = time.time() if now is None else now
        self.updated = self.started
        self.window = Window("session", self.started)
        #: Path -> the agent whose accepted result covers it.
        self.analysed: dict[str, str] = {}
        #: Each {kind, paths, why, at}.
        self.declarations: list[dict[str, Any]] = []
        #: Each {at, tool, decision, would, rule, reason, paths, lines, exception, id}.
        self.decisions: list[dict[str, Any]] = []
        #: Id of the launching call -> {agent, agent_id, state, retry_of, retried, fallback, at}.
        self.delegations: dict[str, dict[str, Any]] = {}
        #: Each {kind, paths, cost, instead, at}; totals stand in `used` and `saved`.
        self.exceptions: list[dict[str, Any]] = []
        self.used: dict[str, int] = {}
        self.saved = 0
        #: Path -> who may write it: the id of a subagent or of the call that launched it.
        self.locks: dict[str, str] = {}
        #: Id of a call that was let through -> what it was granted, until it is settled.
        self.pending: dict[str, dict[str, Any]] = {}
        #: Files that an edit changed more than announced: they may be restored.
        self.reverts: list[str] = []
        self.warnings: list[str] = []

    def as_dict(self) -> dict[str, Any]:
        """For the state's file, within its bounds."""
        values: dict[str, Any] = {"schema": SCHEMA}
        for name in self.__slots__:
            value = getattr(self, name)
            if name == "delegations":
                value = _without_old(value, KEPT[name])
            elif name in KEPT and len(value) > KEPT[name]:
                value = dict(list(value.items())[-KEPT[name] :]) if isinstance(value, dict) else value[-KEPT[name] :]
            values[name] = value.as_dict() if isinstance(value, Window) else value
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SessionState:
        """A state from its file; what is of another type is as at the beginning."""
        state = cls()
        for name in cls.__slots__:
            found = values.get(name)
            if name == "window":
                state.window = Window.from_dict(found)
            elif name in ("started", "updated") and isinstance(found, int | float):
                setattr(state, name, float(found))
            elif type(found) is type(getattr(state, name)):
                setattr(state, name, _entries(name, found))
        return state

    def open_window(self, why: str, now: float | None = None) -> None:
        """A fresh budget: a phase, a prompt, an accepted delegation."""
        self.window = Window(why[:LONGEST_NAME], time.time() if now is None else now)

    def declared(self, kind: str, path: str) -> bool:
        """Whether that was declared of this path or of a folder above it."""
        for entry in self.declarations:
            if entry.get("kind") == kind:
                for named in entry.get("paths", ()):
                    if named in (path, ".") or path.startswith(str(named).rstrip("/") + "/"):
                        return True
        return False

    def record_exception(self, kind: str, paths: tuple[str, ...], now: float) -> None:
        """The use of an exception, with what it saved."""
        cost, instead = COSTS.get(kind, (0, 0))
        entry = {"kind": kind, "paths": list(paths[:8]), "cost": cost, "instead": instead, "at": now}
        self.exceptions = [*self.exceptions[1 - KEPT["exceptions"] :], entry]
        self.used[kind] = self.used.get(kind, 0) + 1
        self.saved += 0 if instead is None else instead - cost

    def warn(self, text: str) -> None:
        """A warning that people see later."""
        if text not in self.warnings:
            self.warnings.append(text[: 2 * LONGEST_NAME])


def _entries(name: str, found: Any) -> Any:
    """A list or table without entries of another type than its kind has."""
    wanted = _ENTRIES.get(name)
    if wanted is None:
        return found
    if isinstance(found, dict):
        return {key: value for key, value in found.items() if isinstance(value, wanted)}
    return [value for value in found if isinstance(value, wanted)]


def _without_old(delegations: dict[str, dict[str, Any]], most: int) -> dict[str, dict[str, Any]]:
    """Open delegations stay; of the closed ones the newest."""
    surplus = len(delegations) - most
    if surplus <= 0:
        return delegations
    closed = [key for key, entry in delegations.items() if entry.get("state") != "open"][:surplus]
    return {key: entry for key, entry in delegations.items() if key not in set(closed)}


class Window:
    """What was read directly since it opened: distinct files, each with its lines."""

    __slots__ = ("closed", "files", "opened", "presented", "verified", "why")

    def __init__(self, why: str = "session", opened: float = 0.0) -> None:
        self.why = why
        self.opened = opened
        #: Why no more is read in it; empty while it is open.
        self.closed = ""
        self.files: dict[str, int] = {}
        self.verified: list[str] = []
        self.presented = 0

    @property
    def lines(self) -> int:
        """All lines read in it."""
        return sum(self.files.values())

    def copy(self) -> Window:
        """One to try a call on."""
        other = Window(self.why, self.opened)
        other.closed = self.closed
        other.files = dict(self.files)
        other.verified = list(self.verified)
        other.presented = self.presented
        return other

    def add(self, path: str, lines: int) -> None:
        """Count a read."""
        self.files[path] = self.files.get(path, 0) + lines

    def take_back(self, path: str, lines: int, *, whole: bool) -> None:
        """Count less of a read; `whole`: it did not happen at all."""
        if path in self.files:
            self.files[path] = max(0, self.files[path] - lines)
            if whole and not self.files[path]:
                del self.files[path]

    def exceeded(self, path: str, lines: int, settings: GateSettings) -> tuple[str, str] | None:
        """The rule that this read would break, and by how much."""
        limits = settings.limits
        if self.closed:
            return "lookup-time", f"{self.closed}; direct reads are over until the next phase or accepted delegation"
        if path not in self.files and len(self.files) >= limits["files"]:
            return "lookup-files", f"{len(self.files)} files were read directly, and {limits['files']} is the most"
        of_file = self.files.get(path, 0) + lines
        if of_file > limits["lines"]:
            again = " (each time it is read counts)" if path in self.files else ""
            return "lookup-lines", f"{of_file} lines of one file{again}, and {limits['lines']} is the most"
        if self.lines + lines > limits["total"]:
            return "lookup-total", f"{self.lines + lines} lines in all, and {limits['total']} is the most"
        return None

    def as_dict(self) -> dict[str, Any]:
        """For the state's file."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, value: object) -> Window:
        """A window from the state's file; what is of another type is left out."""
        known = value if isinstance(value, dict) else {}
        window = cls()
        for name in cls.__slots__:
            found = known.get(name)
            if type(found) is type(getattr(window, name)):
                setattr(window, name, found)
        files: dict[str, Any] = dict(window.files)
        window.files = {path: lines for path, lines in files.items() if isinstance(lines, int)}
        window.verified = [str(path) for path in window.verified]
        return window
