"""The record of the project that is made before a call, and the calls that ran at the same time.

A record that is missing or that something else has changed is not used: what the call changed is then not known, and
the person reads that.
"""

from __future__ import annotations

import marshal
import os
import time

from remit.gate import ignore_rules, work_tree
from remit.gate.git_settings import settings_digest
from remit.gate.guarded import remit_table_digest
from remit.gate.guarded_outside import outside_files
from remit.gate.leftover_processes import process_time
from remit.gate.linked_files import linked_files
from remit.gate.record_store import find_store, open_store
from remit.gate.session_entries import Writer
from remit.gate.session_store import list_sessions, read_session, safe_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.file_versions import StatChange
    from remit.gate.guarded_outside import OutsideFiles
    from remit.gate.linked_files import LinkedFiles
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.tool_use import ToolUse
    from remit.gate.work_tree import TreeRecord

_KIND = "call"
#: A call without an end is over after this time: the client was stopped, or the call was interrupted.
_LONGEST_CALL = 660.0
#: Clocks of file systems are behind by at most this time.
_CLOCK_STEP = 0.02
#: Bytes of the record of a small project, of about a thousand files.
_MAX_SMALL = 100_000


class CallRecord:
    """What was true before a call: the work tree, guarded files outside it, the time and the mode."""

    def __init__(
        self,
        outside: OutsideFiles,
        linked: LinkedFiles,
        table: str,
        git: str,
        time: float,
        process: int,
        mode: str,
        tree: TreeRecord,
    ) -> None:
        self.outside = outside
        #: The files outside the work tree that its links lead to.
        self.linked = linked
        self.table = table
        #: The digest of git's settings that may run programs.
        self.git = git
        self.at = time
        #: When it was made, as start times of processes are stated.
        self.process = process
        self.mode = mode
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

    def writers(self) -> list[Writer]:
        """Return the entries of all calls that may have made the change."""
        return [self.own, *other_calls(self.call, self.since, self.state, self.folder)]


def unchanged_tree(folder: str, project: str) -> TreeRecord | None:
    """Return a new record of a small project in which no file has changed since the last one, else None.

    Neither git nor a copy of a file is needed then, so that `record_before` takes less than a millisecond.
    """
    known = work_tree.load_tree(folder, limit=_MAX_SMALL)
    if known is None:
        return None
    tree, changes = work_tree.scan(project, known)
    return None if changes or tree.listed or tree.dependencies else tree


def record_before(
    call: ToolUse, state: SessionState, mode: str, folder: str, project: str, unchanged: TreeRecord | None = None
) -> None:
    """Record the project before a call. Raises EnvironmentBroken if that is not possible.

    `unchanged` is what `unchanged_tree` has just returned.
    """
    known = work_tree.load_tree(folder) if unchanged is None else None
    by_person: list[str] = []
    if unchanged is not None:
        tree = unchanged
    elif known is None or (known.is_given_up and ignore_rules.load_rules(folder, call.session) is None):
        tree = work_tree.first_record(folder, project)
        tree.save(folder)
    else:
        tree, changes = work_tree.scan(project, known)
        if tree.dependencies:  # made between two calls
            tree.leave_out([os.fsdecode(path) for path in tree.dependencies])
            tree.save(folder)
        work_tree.record_again(folder, project, tree, changes)
        rules = [change for change in changes if ignore_rules.is_rule_file(change.path)]
        by_person = [change.path for change in rules if not _may_be_of_call(change, call, state, folder)]
    ignore_rules.record_rules(folder, call.session, project, tree, by_person)
    tree.wait_for_the_clock()
    parts = (
        *(outside_files(folder, project), linked_files(project, tree)),
        *(remit_table_digest(project), settings_digest(project)),
    )
    store, name = open_store(folder), safe_name(call.tool_use_id)
    with store.changing():
        store.put(_KIND, name, marshal.dumps((*parts, time.time(), process_time(), mode), 2))
        store.put(work_tree.NAMED, name, store.trusted(work_tree.NAMED) or b"")


def load_record(call: ToolUse, folder: str) -> CallRecord | None:
    """Return the record made before a call; None if it is missing or if something else has changed it."""
    store, name = find_store(folder), safe_name(call.tool_use_id)
    data = store.trusted(_KIND, name) if store is not None else None
    tree = work_tree.load_tree(folder, name)
    if data is None or tree is None:
        return None
    try:
        outside, linked, table, git, time, process, mode = marshal.loads(data)  # noqa: S302
    except (ValueError, EOFError, TypeError):
        return None
    return CallRecord(outside, linked, table, git, time, process, mode, tree)


def forget_call(call: ToolUse, folder: str) -> None:
    """Remove the record of a call that has ended or did not run."""
    store, name = open_store(folder), safe_name(call.tool_use_id)
    with store.changing():
        store.remove(_KIND, name)
        store.remove(work_tree.NAMED, name)
        store.remove_unnamed(work_tree.KIND, work_tree.NAMED)


def _may_be_of_call(change: StatChange, call: ToolUse, state: SessionState, folder: str) -> bool:
    """Return whether a call, or a process that one left running, may have made a change between two records."""
    time = change.after[0] / 1e9
    if state.background or change.is_removed:
        return True
    return any(entry.at <= time + _CLOCK_STEP for entry in other_calls(call, time, state, folder))


def other_calls(call: ToolUse, time: float, state: SessionState, folder: str) -> list[Writer]:
    """Return the other calls of all sessions of the project that may have written since a time."""
    names = [name for name in list_sessions(folder, time - _LONGEST_CALL) if name != safe_name(state.session)]
    states = [state, *filter(None, (read_session(folder, name) for name in names))]
    writers = [entry for session in states for entry in session.writers if entry.id != call.tool_use_id]
    return [entry for entry in writers if (entry.end or entry.at + _LONGEST_CALL) >= time]
