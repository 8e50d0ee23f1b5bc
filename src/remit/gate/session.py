"""The state that the gate keeps of a session. Names and numbers only: no content of a call is stored."""

from __future__ import annotations

import time

from remit.gate.delegation import Delegation
from remit.gate.model import COSTS, MAX_NAME_LENGTH
from remit.gate.redaction import redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from remit.gate.model import ToolUse
    from remit.gate.settings import GateSettings

SCHEMA = "remit.gate/1"
#: How many entries of each list or table are kept. The oldest are dropped first.
MAX_ENTRIES: dict[str, int] = {
    "analysed": 2000,
    "background": 20,
    "changes": 20,
    "cited": 2000,
    "conflicts": 50,
    "declarations": 50,
    "decisions": 100,
    "delegations": 100,
    "exceptions": 50,
    "locks": 500,
    "pending": 64,
    "warnings": 50,
    "writers": 64,
}
#: Cited lines of one file.
_MAX_CITED = 200
#: Written only if they have entries: earlier versions do not know them.
_OPTIONAL = ("background", "changes", "compacted", "writers")
_ENTRY_TYPES: dict[str, type] = {
    "analysed": str,
    "background": dict,
    "changes": dict,
    "cited": list,
    "conflicts": str,
    "declarations": dict,
    "decisions": dict,
    "delegations": dict,
    "exceptions": dict,
    "locks": str,
    "pending": dict,
    "used": int,
    "warnings": str,
    "writers": dict,
}


class SessionState:
    """A session: its window, and what was declared, delegated, excepted and decided."""

    __slots__ = (
        "analysed",
        "background",
        "changes",
        "cited",
        "compacted",
        "conflicts",
        "decisions",
        "declarations",
        "delegations",
        "exceptions",
        "final_returned",
        "locks",
        "pending",
        "prompts",
        "saved",
        "session",
        "started",
        "updated",
        "used",
        "warnings",
        "window",
        "writers",
    )

    def __init__(self, session: str = "", now: float | None = None) -> None:
        self.session = session[:MAX_NAME_LENGTH]
        self.started = time.time() if now is None else now
        self.updated = self.started
        self.window = Window("session", self.started)
        #: Path -> the agent whose accepted result covers it.
        self.analysed: dict[str, str] = {}
        #: Path -> the lines of it that accepted results cite.
        self.cited: dict[str, list[int]] = {}
        #: Conflicts between accepted results that were reported.
        self.conflicts: list[str] = []
        #: Each {kind, paths, why, at}.
        self.declarations: list[dict[str, Any]] = []
        #: Each {at, tool, decision, would, rule, reason, paths, lines, exception, id}.
        self.decisions: list[dict[str, Any]] = []
        #: By the id of the call that launched it.
        self.delegations: dict[str, Delegation] = {}
        #: Each {kind, paths, cost, instead, at}. The totals are in `used` and `saved`.
        self.exceptions: list[dict[str, Any]] = []
        self.used: dict[str, int] = {}
        self.saved = 0
        #: Path -> the id of the subagent that may write it, or of the call that launched that subagent.
        self.locks: dict[str, str] = {}
        #: Id of a call that was allowed -> what it was granted, until the call is settled.
        self.pending: dict[str, dict[str, Any]] = {}
        self.warnings: list[str] = []
        #: The number of prompts of the user so far, and whether the answer to the last one was sent back.
        self.prompts = 0
        self.final_returned = False
        #: Whether the conversation was compacted, and the model has not received the state since.
        self.compacted = False
        #: Changes without permission, each {id, at, paths, patch, digest, command, decided}. `patch` names the patch
        #: that reverts exactly this change, and `decided` is "" until a person has accepted or reverted it.
        self.changes: list[dict[str, Any]] = []
        #: Calls that may write, each {id, at, end, agent, paths}; `paths` is None if any file may be written, and
        #: `end` is 0 while the call runs.
        self.writers: list[dict[str, Any]] = []
        #: Calls that left processes running: their entry in `writers`, and {since, processes, reported}.
        self.background: list[dict[str, Any]] = []

    def trim(self) -> None:
        """Drop the oldest entries above the limits of `MAX_ENTRIES`."""
        for name, limit in MAX_ENTRIES.items():
            value = getattr(self, name)
            if len(value) <= limit:
                continue
            if name == "delegations":
                self.delegations = _newest(value, limit)
            else:
                setattr(self, name, dict(list(value.items())[-limit:]) if isinstance(value, dict) else value[-limit:])

    def as_dict(self) -> dict[str, Any]:
        """Return the content of the state file."""
        values: dict[str, Any] = {"schema": SCHEMA}
        for name in self.__slots__:
            value = getattr(self, name)
            if name in _OPTIONAL and not value:
                continue
            if name == "delegations":
                value = {key: entry.as_dict() for key, entry in value.items()}
            values[name] = value.as_dict() if name == "window" else value
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SessionState:
        """Build a state from the content of its file. A value of another type is replaced by the default."""
        state = cls()
        for name in cls.__slots__:
            value = values.get(name)
            if name == "window":
                state.window = Window.from_dict(value)
            elif name in ("started", "updated") and isinstance(value, int | float):
                setattr(state, name, float(value))
            elif type(value) is type(getattr(state, name)):
                setattr(state, name, _entries(name, value))
        return state

    def open_window(self, why: str, now: float | None = None) -> None:
        """Open a new window with a full budget: for a phase, a prompt or an accepted delegation."""
        self.window = Window(why[:MAX_NAME_LENGTH], time.time() if now is None else now)

    def is_declared(self, kind: str, path: str) -> bool:
        """Return whether such a declaration covers this path or a folder above it."""
        for entry in self.declarations:
            if entry.get("kind") == kind:
                for named in entry.get("paths", ()):
                    if named in (path, ".") or path.startswith(str(named).rstrip("/") + "/"):
                        return True
        return False

    def open_writer(self, call: ToolUse, paths: list[str] | None, **flags: object) -> None:
        """Record that a call may write these files (None: any), until `close_writer`; empty flags are left out."""
        entry = {"id": call.tool_use_id, "at": time.time(), "end": 0.0, "agent": call.agent_type[:80], "paths": paths}
        entry |= {"tool": call.tool[:80], **({"subagent": True} if call.agent_id else {})}
        self.writers = [one for one in self.writers if one.get("id") != call.tool_use_id]
        self.writers.append({**entry, **{name: value for name, value in flags.items() if value}})

    def close_writer(self, call: ToolUse) -> None:
        """Record that a call has ended."""
        for entry in self.writers:
            if entry.get("id") == call.tool_use_id:
                entry["end"] = time.time()

    def cite(self, locations: Iterable[tuple[str, int]]) -> None:
        """Record locations that an accepted result cites."""
        for path, line in locations:
            lines = self.cited.setdefault(path[:MAX_NAME_LENGTH], [])
            if line not in lines and len(lines) < _MAX_CITED:
                lines.append(line)

    def is_cited(self, path: str, first: int, last: int) -> bool:
        """Return whether an accepted result cites a line of this range."""
        return any(first <= line <= last for line in self.cited.get(path, ()))

    def record_exception(self, kind: str, paths: tuple[str, ...], now: float) -> None:
        """Record the use of an exception and the tokens that it saved."""
        cost, instead = COSTS.get(kind, (0, 0))
        entry = {
            "kind": kind,
            "paths": [redacted(path) for path in paths[:8]],
            "cost": cost,
            "instead": instead,
            "at": now,
        }
        self.exceptions = [*self.exceptions[1 - MAX_ENTRIES["exceptions"] :], entry]
        self.used[kind] = self.used.get(kind, 0) + 1
        self.saved += 0 if instead is None else instead - cost

    def warn(self, text: str) -> None:
        """Add a warning for the user, once."""
        text = redacted(text[: 2 * MAX_NAME_LENGTH])
        if text not in self.warnings:
            self.warnings.append(text)


def _entries(name: str, value: Any) -> Any:
    """Return a list or table without the entries of a wrong type."""
    wanted = _ENTRY_TYPES.get(name)
    if wanted is None:
        return value
    if isinstance(value, dict):
        if name == "delegations":
            return {key: Delegation.from_dict(entry) for key, entry in value.items() if isinstance(entry, dict)}
        if name == "cited":
            return {
                key: [line for line in lines if isinstance(line, int)]
                for key, lines in value.items()
                if type(lines) is list
            }
        return {key: entry for key, entry in value.items() if isinstance(entry, wanted)}
    return [entry for entry in value if isinstance(entry, wanted)]


def _newest(delegations: dict[str, Delegation], limit: int) -> dict[str, Delegation]:
    """Return all open delegations and the newest closed ones, at most `limit` unless more are open."""
    surplus = len(delegations) - limit
    dropped = set([key for key, entry in delegations.items() if not entry.is_open][:surplus])
    return {key: entry for key, entry in delegations.items() if key not in dropped}


class Window:
    """What was read directly since the window opened: files, each with its lines."""

    __slots__ = ("closed", "files", "opened", "presented", "verified", "why")

    def __init__(self, why: str = "session", opened: float = 0.0) -> None:
        self.why = why
        self.opened = opened
        #: Why no more may be read; empty while the window is open.
        self.closed = ""
        self.files: dict[str, int] = {}
        self.verified: list[str] = []
        self.presented = 0

    @property
    def lines(self) -> int:
        """The number of lines read in this window."""
        return sum(self.files.values())

    def copy(self) -> Window:
        """Return a copy, on which a call can be tried."""
        other = Window(self.why, self.opened)
        other.closed = self.closed
        other.files = dict(self.files)
        other.verified = list(self.verified)
        other.presented = self.presented
        return other

    def add(self, path: str, lines: int) -> None:
        """Count a read."""
        self.files[path] = self.files.get(path, 0) + lines

    def subtract(self, path: str, lines: int, *, whole: bool) -> None:
        """Subtract lines from a counted read. With `whole`, forget a file of which no line is left."""
        if path in self.files:
            self.files[path] = max(0, self.files[path] - lines)
            if whole and not self.files[path]:
                del self.files[path]

    def exceeded_limit(self, path: str, lines: int, settings: GateSettings) -> tuple[str, str] | None:
        """Return the rule that this read would break and the reason, or None."""
        limits = settings.limits
        if self.closed:
            return "lookup-time", f"{self.closed}; no direct reads until the next prompt, phase or accepted delegation"
        if path not in self.files and len(self.files) >= limits["files"]:
            return "lookup-files", f"{len(self.files)} files were already read directly (limit: {limits['files']})"
        of_file = self.files.get(path, 0) + lines
        if of_file > limits["lines"]:
            again = ", repeated reads included" if path in self.files else ""
            return "lookup-lines", f"{of_file} lines of one file{again} (limit: {limits['lines']})"
        if self.lines + lines > limits["total"]:
            return "lookup-total", f"{self.lines + lines} lines in total (limit: {limits['total']})"
        return None

    def as_dict(self) -> dict[str, Any]:
        """Return its entry in the state file."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, value: object) -> Window:
        """Build a window from its entry in the state file. A value of another type is replaced by the default."""
        values = value if isinstance(value, dict) else {}
        window = cls()
        for name in cls.__slots__:
            entry = values.get(name)
            if type(entry) is type(getattr(window, name)):
                setattr(window, name, entry)
        files: dict[str, Any] = dict(window.files)
        window.files = {path: lines for path, lines in files.items() if isinstance(lines, int)}
        window.verified = [str(path) for path in window.verified]
        return window
