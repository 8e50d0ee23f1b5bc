"""The record of the project that is made before a call, and the calls that ran at the same time."""

from __future__ import annotations

import time

from remit.gate import work_tree
from remit.gate.record_store import find_store, open_store
from remit.gate.session_entries import Writer
from remit.gate.session_store import list_sessions, read_session, safe_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.tool_use import ToolUse
    from remit.gate.work_tree import TreeRecord

_KIND = "call"
#: A call without an end is over after this time: the client was stopped, or the call was interrupted.
_LONGEST_CALL = 660.0


class CallRecord:
    """What was true before a call: the work tree and the time."""

    def __init__(self, at: float, tree: TreeRecord) -> None:
        self.at = at
        self.tree = tree


class CallEvent:
    """A call whose effects are judged: its own entry, and the time since when other calls may have made a change."""

    def __init__(self, call: ToolUse, state: SessionState, settings: GateSettings, project: str, folder: str) -> None:
        self.call = call
        self.state = state
        self.settings = settings
        self.project = project
        self.folder = folder
        self.own = Writer()
        self.since = 0.0

    def states(self) -> list[SessionState]:
        """Return this session and the others of the project that were active since."""
        names = [
            name
            for name in list_sessions(self.folder, self.since - _LONGEST_CALL)
            if name != safe_name(self.state.session)
        ]
        return [self.state, *filter(None, (read_session(self.folder, name) for name in names))]

    def writers(self) -> list[Writer]:
        """Return the entries of all calls that may have made the change."""
        others = [entry for state in self.states() for entry in state.writers if entry.id != self.call.tool_use_id]
        return [self.own, *(entry for entry in others if (entry.end or entry.at + _LONGEST_CALL) >= self.since)]


def record_before(call: ToolUse, folder: str, project: str) -> None:
    """Record the project before a call. Raises EnvironmentBroken if that is not possible."""
    known = work_tree.load_tree(folder)
    if known is None:
        tree = work_tree.first_record(folder, project)
        tree.save(folder)
    else:
        tree, changes = work_tree.scan(project, known)
        if tree.dependencies:  # made between two calls
            tree.leave_out(tree.dependencies)
            tree.save(folder)
        work_tree.record_again(folder, project, tree, changes)
    tree.wait_for_the_clock()
    store, name = open_store(folder), safe_name(call.tool_use_id)
    with store.changing():
        store.put(_KIND, name, repr(time.time()).encode())
        store.put(work_tree.NAMED, name, store.get(work_tree.NAMED) or b"")


def load_record(call: ToolUse, folder: str) -> CallRecord | None:
    """Return the record made before a call; None if it is missing."""
    store, name = find_store(folder), safe_name(call.tool_use_id)
    data = store.get(_KIND, name) if store is not None else None
    tree = work_tree.load_tree(folder, name)
    return CallRecord(float(data), tree) if data is not None and tree is not None else None


def forget_call(call: ToolUse, folder: str) -> None:
    """Remove the record of a call that has ended or did not run."""
    store, name = open_store(folder), safe_name(call.tool_use_id)
    with store.changing():
        store.remove(_KIND, name)
        store.remove(work_tree.NAMED, name)
        store.remove_unnamed(work_tree.KIND, work_tree.NAMED)
