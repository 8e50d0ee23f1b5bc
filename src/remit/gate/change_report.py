"""Report changes without permission: name the files, and keep a patch that reverts exactly this change."""

from __future__ import annotations

import os

from remit.gate import file_versions
from remit.gate.reverse_patch import FileVersion, keep_reverse_patch
from remit.gate.ruling import Ruling
from remit.gate.session_entries import ChangeEntry
from remit.gate.tool_use import MAX_NAME_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.call_record import CallEvent
    from remit.gate.file_versions import StatChange
    from remit.gate.reverse_patch import ReversePatch
    from remit.gate.session import SessionState
    from remit.gate.session_entries import Writer
    from remit.gate.work_tree import TreeRecord

#: How many files the record of a change names, and how many a message.
_MAX_KEPT = 1_000
_MAX_NAMED = 6
#: With more files than this, the patch has no new files: to make it would take longer than the client waits.
_MAX_PATCHED = 1_000


def mark_reverted(writer: Writer, state: SessionState) -> None:
    """Record that a patch of the gate was applied, so that the user has nothing left to decide."""
    for entry in state.changes:
        if writer.revert and entry.patch == writer.revert:
            entry.decided = "reverted"


def report_changes(event: CallEvent, changes: list[StatChange], before: TreeRecord) -> Ruling:
    """Record a change without permission, and return the ruling that names its files and how to revert it."""
    entry, paths = _record(event, changes, before), _names(changes)
    event.state.record_exception("unannounced-change", tuple(paths), event.state.updated)
    revert = "No patch can restore it: look at the file"
    if entry.command:
        what = "exactly this change" if len(changes) <= _MAX_PATCHED else "the files that were there before"
        revert = f"This reverts {what}: {entry.command}"
    reason = f"{named(paths)} changed without permission while this {event.call.tool} call ran. Tell the user. {revert}"
    event.state.warn(reason)
    return Ruling(1, "unannounced-change", reason, paths=tuple(paths))


def _names(changes: list[StatChange]) -> list[str]:
    return [change.path[:MAX_NAME_LENGTH] for change in changes]


def _record(event: CallEvent, changes: list[StatChange], before: TreeRecord) -> ChangeEntry:
    """Record a change, with a patch that reverts it if the earlier content is known."""
    entry = ChangeEntry(
        id=event.call.tool_use_id,
        at=event.state.updated,
        paths=_names(changes[:_MAX_KEPT]),
        seen=[f"{change.after[0]}" for change in changes[:_MAX_KEPT]],
        more=len(changes) > _MAX_KEPT,
    )
    kept = _keep_patch(event, changes, before)
    if kept is not None:
        entry.patch, entry.digest, entry.command = kept.name, kept.digest, kept.command
    event.state.changes.append(entry)
    return entry


def _keep_patch(event: CallEvent, changes: list[StatChange], before: TreeRecord) -> ReversePatch | None:
    """Keep the patch that reverts these changes, or return None if the earlier content of one of them is lost."""
    versions = {}
    if len(changes) > _MAX_PATCHED:
        changes = [change for change in changes if not change.is_new][:_MAX_PATCHED]
    known = [change for change in changes if not change.is_new]
    contents = file_versions.contents_before(event.folder, event.project, before.copies, before.head, known)
    for change in changes:
        old, new = contents.get(change.path), None
        if not change.is_new and old is None:
            return None
        if not change.is_removed:
            path = os.path.join(event.project, change.path)
            new = file_versions.read_version(path, change.after[3], file_versions.MAX_COPY)
            if new is None:
                return None
        versions[change.path] = (FileVersion(old, change.before[3]), FileVersion(new, change.after[3]))
    if not versions:
        return None
    return keep_reverse_patch(event.folder, event.project, versions, event.call.tool_use_id)


def named(paths: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(paths) - _MAX_NAMED
    return ", ".join(paths[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
