"""The state that the gate keeps of a session.

It has names and numbers, the first line of the first prompt, and untrue statements, both without secrets. No content
of a call is stored.
"""

from __future__ import annotations

import time

from remit.gate.delegation import Delegation
from remit.gate.redaction import redacted
from remit.gate.session_entries import (
    ChangeEntry,
    DecisionEntry,
    Declaration,
    ExceptionUse,
    Grant,
    StateEntry,
    UntrueCount,
    Window,
    Writer,
)
from remit.gate.tool_use import COSTS, MAX_NAME_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from remit.gate.tool_use import ToolUse

SCHEMA = "remit.gate/1"
#: How many entries of each list or table are kept. The oldest are dropped first.
MAX_ENTRIES: dict[str, int] = {
    "analysed": 2000,
    "changes": 20,
    "cited": 2000,
    "conflicts": 50,
    "declarations": 50,
    "decisions": 100,
    "delegations": 100,
    "exceptions": 50,
    "pending": 64,
    "untrue": 200,
    "warnings": 50,
    "writers": 64,
}
#: Cited lines of one file.
_MAX_CITED = 200
#: Characters of a statement, and of the title of a session.
_MAX_EXAMPLE = 240
_MAX_TITLE = 120


class SessionState(StateEntry):
    """A session: its window, and what was declared, delegated, excepted and decided."""

    schema: str
    session: str
    #: The client, and its mode; a session of Remit's own orchestrator has no client.
    client: str = ""
    mode: str = "orchestrator"
    #: The first line of the first prompt, and the branch on which it was sent.
    title: str = ""
    branch: str = ""
    started: float
    updated: float
    window: Window
    #: Path -> the agent whose accepted result covers it.
    analysed: dict[str, str]
    #: Path -> the lines of it that accepted results cite.
    cited: dict[str, list[int]]
    #: Conflicts between accepted results that were reported.
    conflicts: list[str]
    declarations: list[Declaration]
    decisions: list[DecisionEntry]
    #: By the id of the call that launched it.
    delegations: dict[str, Delegation]
    #: The latest uses. The totals are in `used` and `saved`.
    exceptions: list[ExceptionUse]
    used: dict[str, int]
    saved: int = 0
    #: By the id of a call that was allowed, until the call is settled.
    pending: dict[str, Grant]
    warnings: list[str]
    #: The number of prompts of the user so far, and whether the answer to the last one was sent back.
    prompts: int = 0
    final_returned: bool = False
    #: Whether the person got a message about what the next answer repeated.
    final_told: bool = False
    #: The untrue statements of final answers, by the number of the prompt, and of reports, by the subagent.
    untrue: dict[str, UntrueCount]
    changes: list[ChangeEntry]
    writers: list[Writer]

    def __init__(self, session: str = "", now: float | None = None) -> None:
        started = time.time() if now is None else now
        name = session[:MAX_NAME_LENGTH]
        super().__init__(schema=SCHEMA, session=name, started=started, updated=started, window=Window(opened=started))

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

    def open_window(self, why: str, now: float | None = None) -> None:
        """Open a new window with a full budget: for a phase, a prompt or an accepted delegation."""
        self.window = Window(why=why[:MAX_NAME_LENGTH], opened=time.time() if now is None else now)

    def is_declared(self, kind: str, path: str) -> bool:
        """Return whether such a declaration covers this path or a folder above it."""
        return any(
            named in (path, ".") or path.startswith(named.rstrip("/") + "/")
            for entry in self.declarations
            if entry.kind == kind
            for named in entry.paths
        )

    def writer_of(self, call: ToolUse) -> Writer | None:
        """Return the entry of a call that may write."""
        return next((entry for entry in self.writers if entry.id == call.tool_use_id), None)

    def open_writer(self, call: ToolUse, paths: list[str], **flags: object) -> None:
        """Record that a call may write these files, until `close_writer`."""
        self.writers = [entry for entry in self.writers if entry.id != call.tool_use_id]
        self.writers.append(Writer(id=call.tool_use_id, at=time.time(), paths=paths, **flags))

    def close_writer(self, call: ToolUse) -> None:
        """Record that a call has ended."""
        writer = self.writer_of(call)
        if writer is not None:
            writer.end = time.time()

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
        names = [redacted(path) for path in paths[:8]]
        entry = ExceptionUse(kind=kind, paths=names, cost=cost, instead=instead, at=now)
        self.exceptions = [*self.exceptions[1 - MAX_ENTRIES["exceptions"] :], entry]
        self.used[kind] = self.used.get(kind, 0) + 1
        self.saved += 0 if instead is None else instead - cost

    def count_untrue(self, of: str, sentences: Sequence[str], *, has_passed: bool = False) -> None:
        """Count the untrue statements of an answer or a report. The same one may be counted again."""
        count = len(sentences)
        if not count and of not in self.untrue:
            return
        entry = self.untrue.setdefault(of[:MAX_NAME_LENGTH], UntrueCount(at=time.time()))
        if sentences and not entry.example:
            entry.example = redacted(sentences[0][: 4 * MAX_NAME_LENGTH])[:_MAX_EXAMPLE]
        if has_passed:
            entry.passed = count
        else:
            entry.sent_back = max(entry.sent_back, count)

    def open_with(self, prompt: str, branch: str) -> None:
        """Name the session after the first line of its first prompt."""
        if not self.title:
            self.title = redacted(prompt.strip().partition("\n")[0][: 4 * _MAX_TITLE])[:_MAX_TITLE]
            self.branch = branch[:MAX_NAME_LENGTH]

    def untrue_since(self, since: float = 0.0) -> tuple[int, int]:
        """Return how many untrue statements were stopped, and how many got through."""
        entries = [entry for entry in self.untrue.values() if entry.at >= since]
        return sum(entry.stopped for entry in entries), sum(entry.passed for entry in entries)

    def warn(self, text: str) -> None:
        """Add a warning for the user, once."""
        text = redacted(text[: 2 * MAX_NAME_LENGTH])
        if text not in self.warnings:
            self.warnings.append(text)


def _newest(delegations: dict[str, Delegation], limit: int) -> dict[str, Delegation]:
    """Return all open delegations and the newest closed ones, at most `limit` unless more are open."""
    surplus = len(delegations) - limit
    dropped = set([key for key, entry in delegations.items() if not entry.is_open][:surplus])
    return {key: entry for key, entry in delegations.items() if key not in dropped}
