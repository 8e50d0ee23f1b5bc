"""Report changes without permission: name the files, and keep a patch that reverts exactly this change."""

from __future__ import annotations

import os

from remit.gate import file_versions
from remit.gate.model import MAX_NAME_LENGTH
from remit.gate.reverse_patch import FileVersion, keep_reverse_patch
from remit.gate.ruling import Ruling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.file_versions import StatChange
    from remit.gate.model import ToolUse
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.work_tree import TreeRecord

#: How many files the record of a change names, and how many a message.
_MAX_KEPT = 200
_MAX_NAMED = 6
#: With more files than this, the patch has no new files: to make it would take longer than the client waits.
_MAX_PATCHED = 1_000


def mark_reverted(own: dict[str, Any], state: SessionState) -> None:
    """Record that a patch of the gate was applied, so that the user has nothing left to decide."""
    for entry in state.changes:
        if own.get("revert") and entry.get("patch") == own["revert"]:
            entry["decided"] = "reverted"


def report_changes(
    call: ToolUse,
    changes: list[StatChange],
    outside: list[str],
    before: TreeRecord,
    state: SessionState,
    settings: GateSettings,
    project: str,
    folder: str,
) -> Ruling:
    """Record a change without permission, and return the ruling that names its files and how to revert it."""
    paths = [change.path[:MAX_NAME_LENGTH] for change in changes]
    entry = _change_entry(call, changes, paths, state)
    kept = _keep_patch(call, changes, before, project, folder)
    if kept is not None:
        entry |= {"patch": kept.name, "digest": kept.digest, "command": kept.command}
    state.changes.append(entry)
    state.record_exception("unannounced-change", tuple(paths or outside), state.updated)
    who = f"subagent {call.agent_type[:80]}" if call.agent_id else "orchestrator"
    revert = "No patch can restore it: look at the file"
    if kept is not None:
        what = "exactly this change" if len(changes) <= _MAX_PATCHED else "the files that were there before"
        revert = f"This reverts {what}: {kept.command}"
    reason = (
        f"{named([*paths, *outside])} changed without permission while this {call.tool} call of the {who} ran. "
        f"Tell the user. {revert}. To keep it, the user runs: remit gate trust"
    )
    if settings.mode == "strict":
        reason += ". Until then, no further write is allowed in this session"
    state.warn(reason)
    return Ruling(1, "unannounced-change", reason, paths=tuple(paths[:8] or outside[:8]))


def report_between(
    call: ToolUse,
    changes: list[StatChange],
    before: TreeRecord | None,
    when: str,
    state: SessionState,
    project: str,
    folder: str,
) -> Ruling:
    """Return the ruling about changes without an accusation. `when` states when they were made, and by what.

    Without a record of before, the changes are not reverted: the earlier content is not known.
    """
    paths = [change.path[:MAX_NAME_LENGTH] for change in changes]
    entry = _change_entry(call, changes, paths, state) | {"decided": "offered"}
    kept = _keep_patch(call, changes, before, project, folder) if before is not None else None
    if kept is not None:
        entry |= {"patch": kept.name, "digest": kept.digest, "command": kept.command}
    state.changes.append(entry)
    revert = f". This reverts exactly this change: {kept.command}" if kept else ""
    reason = f"{named(paths)} changed {when}. Tell the user{revert}"
    return Ruling(2, "unannounced-change", reason, paths=tuple(paths[:8]))


def _change_entry(call: ToolUse, changes: list[StatChange], paths: list[str], state: SessionState) -> dict[str, Any]:
    return {
        "id": call.tool_use_id,
        "at": state.updated,
        "paths": paths[:_MAX_KEPT],
        "seen": [f"{change.after[0]}" for change in changes[:_MAX_KEPT]],
        "decided": "",
        **({"more": True} if len(paths) > _MAX_KEPT else {}),
    }


def _keep_patch(call: ToolUse, changes: list[StatChange], before: TreeRecord, project: str, folder: str) -> Any:
    """Keep the patch that reverts these changes, or return None if the earlier content of one of them is lost."""
    versions = {}
    if len(changes) > _MAX_PATCHED:
        changes = [change for change in changes if not change.is_new][:_MAX_PATCHED]
    known = [change for change in changes if not change.is_new]
    contents = file_versions.contents_before(folder, project, before.copies, before.head, known)
    for change in changes:
        old, new = contents.get(change.path), None
        if not change.is_new and old is None:
            return None
        if not change.is_removed:
            path = os.path.join(project, change.path)
            new = file_versions.read_version(path, change.after[3], file_versions.MAX_COPY)
            if new is None:
                return None
        versions[change.path] = (FileVersion(old, change.before[3]), FileVersion(new, change.after[3]))
    return keep_reverse_patch(folder, project, versions, call.tool_use_id) if versions else None


def named(paths: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(paths) - _MAX_NAMED
    return ", ".join(paths[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def undecided(state: SessionState) -> dict[str, Any] | None:
    """Return a change without permission and no person has decided on yet."""
    return next((entry for entry in state.changes if not entry.get("decided")), None)


def judge_while_undecided(state: SessionState, settings: GateSettings) -> Ruling | None:
    """In strict, deny a write while a change without permission waits for a person's decision."""
    entry = undecided(state) if settings.mode == "strict" else None
    if entry is None:
        return None
    paths = [str(path) for path in entry.get("paths", ())]
    revert = f"revert it with `{entry['command']}`, or " if entry.get("command") else ""
    reason = (
        f"{named(paths) or 'a guarded file'} changed without permission, and the user has not decided on it yet. "
        f"Ask the user: {revert}keep it with `remit gate trust`"
    )
    return Ruling(1, "unannounced-change", reason, paths=tuple(paths[:8]))
