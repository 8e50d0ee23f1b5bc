"""Compare the project with its last record if no record was made directly before the change.

Processes of earlier calls change files between two calls, and a client may report a call only after it has run. A
person may have made the same change, so a report makes no accusation and stops nothing.
"""

from __future__ import annotations

import time

from remit.gate import effects, file_versions, work_tree
from remit.gate.change_report import report_between
from remit.gate.delegations import may_write
from remit.gate.leftover_processes import is_running
from remit.gate.model import ToolUse
from remit.gate.ruling import Ruling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.file_versions import StatChange
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.work_tree import TreeRecord

#: Files that are not reported again for the same processes.
_MAX_REPORTED = 200


def judge_between_calls(state: SessionState, settings: GateSettings, project: str, folder: str) -> Ruling:
    """Judge what changed since the last record, while processes of earlier calls ran."""
    entries = state.background
    last = work_tree.load_tree(folder)
    since = min((entry["since"] for entry in entries if isinstance(entry.get("since"), float)), default=0.0)
    # A process of a background command may be hidden: the command stays until the session ends.
    running = [entry for entry in entries if entry.get("task") or _still_running(entry)]
    state.background = [{**entry, "since": time.time(), "processes": _still_running(entry)} for entry in running]
    if last is None or not last.is_complete:
        return Ruling()
    reported = {path for entry in entries for path in entry.get("reported", ())}
    left = [one for one in _changes_since(last, state, settings, project, folder) if one.path not in reported]
    call = ToolUse("background", tool_use_id=f"background-{time.time_ns()}", session=state.session)
    if left:
        own = {**entries[-1], "id": ""}
        left, _ = effects.unexplained(left, call, own, since, state, settings, project, folder)
    if not left:
        return Ruling()
    for entry in state.background:
        entry["reported"] = [*entry.get("reported", ()), *(change.path for change in left)][-_MAX_REPORTED:]
    processes = [one for entry in entries for one in entry.get("processes", ()) if len(one) == 3]
    named = ", ".join(f"{number} ({name})" for number, _, name in processes)
    who = f"processes of an earlier call were running: {named}" if named else "a background command may run"
    when = f"between two calls, while {who}. It changed the file, or a person did"
    return report_between(call, left, last, when, state, project, folder)


def _still_running(entry: dict[str, Any]) -> list[Any]:
    return [one for one in entry.get("processes", ()) if is_running(one)]


def judge_unrecorded_call(
    call: ToolUse, last_event: float, state: SessionState, settings: GateSettings, project: str, folder: str
) -> Ruling:
    """Judge a call that the client reported only after it had run: what has changed since the session's last event."""
    if may_write(call, settings):
        return Ruling()
    last = work_tree.load_tree(folder)
    if last is None:
        now = work_tree.first_record(folder, project)
        now.save(folder)
        changes = [one for one in work_tree.all_files(now) if one.after[0] / 1e9 > last_event]
        left = effects.protected_changes(changes, state, settings)
    elif last.is_complete:
        found = _changes_since(last, state, settings, project, folder)
        left = [one for one in found if one.is_removed or one.after[0] / 1e9 > last_event]
    else:
        left = []
    if left:
        left, _ = effects.unexplained(left, call, {}, last_event, state, settings, project, folder)
    if not left:
        return Ruling()
    when = f"since the last event of this session. This {call.tool} call, which was not announced, or a person did it"
    return report_between(call, left, last, when, state, project, folder)


def _changes_since(
    last: TreeRecord, state: SessionState, settings: GateSettings, project: str, folder: str
) -> list[StatChange]:
    """Return the protected files that differ from the last record, which is then that of now."""
    tree, changes = work_tree.scan(project, last)
    work_tree.record_again(folder, project, tree, changes)
    left = effects.protected_changes(changes, state, settings)
    return file_versions.without_rewritten(folder, project, last.copies, last.head, left)
