"""What the gate remembers of a session. Names and numbers only: no content of any call is ever kept."""

from __future__ import annotations

import time

from remit.gate.model import COSTS, LONGEST_NAME
from remit.gate.windows import Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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


class State:
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
    def from_dict(cls, values: dict[str, Any]) -> State:
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


def _without_old(delegations: dict[str, dict[str, Any]], most: int) -> dict[str, dict[str, Any]]:
    """Open delegations stay; of the closed ones the newest."""
    surplus = len(delegations) - most
    if surplus <= 0:
        return delegations
    closed = [key for key, entry in delegations.items() if entry.get("state") != "open"][:surplus]
    return {key: entry for key, entry in delegations.items() if key not in set(closed)}
