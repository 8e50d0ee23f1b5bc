"""Compare what a call did with what it was allowed to do."""

from __future__ import annotations

import os
import time

from remit.gate import effects, file_versions, work_tree
from remit.gate.call_record import CallEvent, forget_call, load_record
from remit.gate.change_report import report_between
from remit.gate.decide import EDITING, SHELLS, UNCOUNTED, with_fault_policy
from remit.gate.delegations import may_write
from remit.gate.effects import judge_effects
from remit.gate.leftover_processes import is_running
from remit.gate.project_paths import locate, read_text
from remit.gate.reverse_patch import FileVersion, keep_reverse_patch
from remit.gate.ruling import Ruling
from remit.gate.session_entries import ChangeEntry
from remit.gate.shared_mappings import mapped_files
from remit.gate.shown_content import LINE_WIDTH, count_output, text_of
from remit.gate.tool_use import Decision, ToolUse
from remit.gate.writes import MAX_EDIT_SIZE, judge_edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.file_versions import StatChange
    from remit.gate.session import SessionState
    from remit.gate.session_entries import BackgroundCall, Grant, Process
    from remit.gate.settings import GateSettings
    from remit.gate.work_tree import TreeRecord

#: Files that are not reported again for the same processes.
_MAX_REPORTED = 200


def settle(
    call: ToolUse,
    response: object,
    duration: float | None,
    state: SessionState,
    settings: GateSettings,
    project: str,
    *,
    failed: bool = False,
    folder: str = "",
) -> Decision:
    """Compare a finished call (`duration` in seconds) with its grant, and warn if it did more.

    A read that took too long closes the window. A failed call is not counted. `folder` is the gate's folder, in which
    the patch that reverts an edit is kept.
    """

    def judge() -> Ruling:
        return _settle(call, response, duration, state, settings, project, failed=failed, folder=folder)

    return with_fault_policy(judge, call, state, settings, after=True)


def settle_effects(
    call: ToolUse,
    state: SessionState,
    settings: GateSettings,
    project: str,
    folder: str,
    *,
    has_run: bool = True,
    is_reset: bool = False,
) -> Decision:
    """Compare the project with the record made before a call, and report changes without permission.

    With `is_reset`, the gate's folder had to be made again for this event.
    """
    record = load_record(call, folder)
    forget_call(call, folder)
    last_event, writer = state.updated, state.writer_of(call)
    if record is not None and not (writer is not None and writer.remit):
        settings = settings.with_mode(record.mode)  # the call cannot choose how it is judged
    event = CallEvent(call, state, settings, project, folder)

    def judge() -> Ruling:
        if not has_run:
            state.forget_writer(call)
            return Ruling()
        if record is None and not is_reset and writer is None:
            ruling = _judge_unrecorded_call(event, last_event)
        else:
            ruling = judge_effects(event, record, is_reset=is_reset)
        ruling.tells_person = True
        return ruling

    return with_fault_policy(judge, call, state, settings, after=True)


def settle_edited(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Decision:
    """Close an edit. Report it if its path has led to another file than the one that was judged."""

    def judge() -> Ruling:
        state.close_writer(call)
        return judge_edited(call, state, settings, project)

    return with_fault_policy(judge, call, state, settings, after=True)


def unfinished_calls(state: SessionState) -> list[ToolUse]:
    """Return the calls of the orchestrator, apart from edits, whose end was never reported."""
    return [
        ToolUse(entry.tool, tool_use_id=entry.id, session=state.session)
        for entry in state.writers
        if not entry.end and not entry.agent_id and entry.tool not in EDITING
    ]


def settle_replaced_state(state: SessionState, settings: GateSettings) -> Decision:
    """Report, once, that something else than the gate has changed or removed the record of the session."""

    def judge() -> Ruling:
        entries = [entry for entry in state.changes if entry.untold]
        if not entries:
            return Ruling()
        for entry in entries:
            entry.untold = False
        name = entries[-1].paths[0]
        reason = (
            f"{name}, the gate's record of this session, was changed or removed by something else than the gate. What "
            "was allowed in this session is not known any more, and reports of changes may be missing. "
            "Tell the user; `git status` shows what is not committed"
        )
        state.warn(reason)
        ruling = Ruling(1, "guarded-state", reason, paths=(name,))
        ruling.tells_person = True
        return ruling

    return with_fault_policy(judge, ToolUse("record"), state, settings, after=True)


def settle_between_calls(state: SessionState, settings: GateSettings, project: str, folder: str) -> Decision:
    """Compare the project with its last record, if earlier calls left processes or background commands running.

    Without such a process, a change between two calls is a person's: it is recorded and not reported. With one, the
    process or a person made the change, so the report accuses neither, and it stops nothing.
    """

    call = ToolUse("background", tool_use_id=f"background-{time.time_ns()}", session=state.session)
    event = CallEvent(call, state, settings, project, folder)

    def judge() -> Ruling:
        ruling = _judge_between_calls(event)
        ruling.tells_person = True
        return ruling

    return with_fault_policy(judge, call, state, settings, after=True)


def _settle(
    call: ToolUse,
    response: object,
    duration: float | None,
    state: SessionState,
    settings: GateSettings,
    project: str,
    *,
    failed: bool,
    folder: str,
) -> Ruling:
    grant = state.pending.pop(call.tool_use_id, None) if call.tool_use_id and not call.agent_id else None
    if grant is None:
        return _settle_output(call, response, state, settings, project)
    if grant.kind == "edit":
        return Ruling() if failed else _settle_edit(call, grant, response, state, settings, project, folder)
    if failed:
        for name, lines in grant.paths.items():
            state.window.subtract(name, lines, whole=True)
        return Ruling()
    is_slow = _settle_time(grant.paths, duration, state, settings)
    return is_slow or _settle_read(call, grant.paths, response, state, settings)


def _settle_output(
    call: ToolUse, response: object, state: SessionState, settings: GateSettings, project: str
) -> Ruling:
    """Count what a command line, or another tool that names no file to read, showed."""
    if call.agent_id or call.tool in UNCOUNTED or _is_of_agent(response):
        return Ruling()
    if call.tool in SHELLS and isinstance(response, dict):
        response = [response.get("stdout"), response.get("stderr")]
    shown = text_of(response)
    lines = _line_count(shown)
    return count_output(call, shown, lines, state, settings, project) if lines else Ruling()


def _is_of_agent(response: object) -> bool:
    """Return whether a response is the report of a subagent that ran in the background."""
    task = response.get("task") if isinstance(response, dict) else None
    return isinstance(task, dict) and "agent" in str(task.get("task_type", ""))


def _settle_time(
    paths: dict[str, int], duration: float | None, state: SessionState, settings: GateSettings
) -> Ruling | None:
    limit = settings.limits["seconds"]
    # Inverted, so that NaN is not slow.
    if not isinstance(duration, int | float) or not duration >= limit:
        return None
    state.window.closed = f"a direct read took {duration:.0f} s (it must take less than {limit} s)"
    reason = f"{state.window.closed}. No direct reads until the next prompt, phase or accepted delegation"
    return Ruling(2, "lookup-time", reason, paths=tuple(paths))


def _settle_read(
    call: ToolUse, paths: dict[str, int], response: object, state: SessionState, settings: GateSettings
) -> Ruling:
    granted = sum(paths.values())
    shown = _shown_lines(call, response)
    if shown is None or not paths:
        return Ruling()
    last = list(paths)[-1]
    if shown < granted and call.tool in SHELLS:
        shown = min(granted, max(shown, _wide_lines(response)))
    if shown < granted and len(paths) == 1:
        state.window.subtract(last, granted - shown, whole=False)
    if shown <= granted:
        return Ruling()
    state.window.add(last, shown - granted)
    limits = settings.limits
    if call.tool in SHELLS and state.window.files[last] <= limits["lines"] and state.window.lines <= limits["total"]:
        return Ruling()  # a program may print more lines than its file has
    reason = f"{shown} lines were read, but only {granted} were allowed. All of them are counted"
    return Ruling(2, "lookup-lines", reason, paths=tuple(paths), lines=shown)


def _shown_lines(call: ToolUse, response: object) -> int | None:
    """Return how many lines the orchestrator saw, if the response states it."""
    values: dict[str, Any] = response if isinstance(response, dict) else {}
    if call.tool in SHELLS:
        return _line_count(values.get("stdout"))
    file = values.get("file")
    if isinstance(file, dict):
        count = _line_count(file.get("content"))
        return count if count is not None else _whole_number(file.get("numLines"))
    return _whole_number(values.get("numLines"))


def _wide_lines(response: object) -> int:
    """Return how many lines of ordinary width the output of a command is: it may be one long line."""
    text = response.get("stdout") if isinstance(response, dict) else None
    return -(-len(text) // LINE_WIDTH) if isinstance(text, str) else 0


def _line_count(text: object) -> int | None:
    """Return the number of lines. The client counts one more if the text ends with a line break."""
    if not isinstance(text, str):
        return None
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _whole_number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _settle_edit(
    call: ToolUse,
    grant: Grant,
    response: object,
    state: SessionState,
    settings: GateSettings,
    project: str,
    folder: str,
) -> Ruling:
    from remit.gate.trivial_edit import changed_lines, digest  # late: edits of specifications are rare

    name = next(iter(grant.paths), "")
    real = locate(name, project, project).real
    text = read_text(real, MAX_EDIT_SIZE)
    if text is not None and digest(text) == grant.after:
        return Ruling()
    original = response.get("originalFile") if isinstance(response, dict) else None
    changed, revert = "something else", ""
    if isinstance(original, str) and text is not None and len(original) <= MAX_EDIT_SIZE:
        count = changed_lines(original, text)
        changed = f"{count} lines" if count is not None else f"more than {settings.limits['edit_lines']} lines"
        revert = _keep_revert(call, name, real, original, state, project, folder)
    offer = f"offer to revert exactly this edit: {revert}" if revert else "show the difference: git diff"
    announced = f"{name}: {grant.paths.get(name)} changed lines were announced"
    reason = f"{announced}, but {changed} changed. Inform the user and {offer}"
    state.warn(reason)
    return Ruling(2, "trivial-edit", reason, paths=(name,))


def _keep_revert(
    call: ToolUse, name: str, real: str, original: str, state: SessionState, project: str, folder: str
) -> str:
    """Keep the patch that reverts an edit, and return the command that applies it; "" if it cannot be kept."""
    try:
        mode = os.stat(real).st_mode
        with open(real, "rb") as file:
            now = file.read()
    except OSError:
        return ""
    if b"\r\n" in now and "\r\n" not in original:  # the client reports line ends as in Unix
        original = original.replace("\n", "\r\n")
    versions = {name: (FileVersion(original.encode("utf-8", "surrogateescape"), mode), FileVersion(now, mode))}
    folder = folder or os.path.join(project, ".remit/gate")
    kept = keep_reverse_patch(folder, project, versions, call.tool_use_id)
    if kept is None:
        return ""
    patch = {"patch": kept.name, "digest": kept.digest, "command": kept.command}
    state.changes.append(ChangeEntry(id=call.tool_use_id, at=state.updated, paths=[name], decided="offered", **patch))
    return kept.command


def _judge_between_calls(event: CallEvent) -> Ruling:
    """Judge what changed since the last record, while processes of earlier calls ran."""
    state = event.state
    entries = state.background
    last = work_tree.load_tree(event.folder)
    event.since = min((entry.since for entry in entries), default=0.0)
    known = {path: digest for entry in entries for path, digest in entry.mapped.items()}
    mapped = mapped_files(event.project, list(known))
    # A process of a background command may be hidden: the command stays until the session ends.
    state.background = [
        entry.copy(since=time.time(), processes=_still_running(entry), mapped=mapped)
        for entry in entries
        if entry.task or _still_running(entry)
    ]
    if last is None or not last.is_complete:
        return Ruling()
    reported = {path for entry in entries for path in entry.reported}
    left = _changes_since(last, event)
    seen = {change.path for change in left}
    written = [path for path, digest in known.items() if path not in seen and mapped[path] != digest]
    left += effects.protected_changes(_through_memory(written, last), state, event.settings)
    left = [change for change in left if change.path not in reported]
    if left:
        event.own = entries[-1].copy(id="")
        left, _ = effects.unexplained(left, event)
    if not left:
        return Ruling()
    for entry in state.background:
        entry.reported = [*entry.reported, *(change.path for change in left)][-_MAX_REPORTED:]
    names = ", ".join(f"{process.number} ({process.name})" for entry in entries for process in entry.processes)
    who = f"processes of an earlier call were running: {names}" if names else "a background command may run"
    when = f"between two calls, while {who}. It changed the file, or a person did"
    return report_between(event, effects.first_code(left, event.settings), last, when)


def _through_memory(paths: list[str], last: TreeRecord) -> list[StatChange]:
    """Return files whose content has changed, and their sizes and times have not, as changes."""
    entries = ((path, last.entry(path)) for path in paths)
    return [file_versions.StatChange(path, entry, entry) for path, entry in entries if entry is not None]


def _still_running(entry: BackgroundCall) -> list[Process]:
    return [process for process in entry.processes if is_running(process)]


def _judge_unrecorded_call(event: CallEvent, last_event: float) -> Ruling:
    """Judge a call that the client reported only after it had run: what has changed since the session's last event."""
    if may_write(event.call, event.settings):
        return Ruling()
    last = work_tree.load_tree(event.folder)
    left: list[StatChange] = []
    if last is None:
        now = work_tree.first_record(event.folder, event.project)
        now.save(event.folder)
        changes = [change for change in work_tree.all_files(now) if change.after[0] / 1e9 > last_event]
        left = effects.protected_changes(changes, event.state, event.settings)
    elif last.is_complete:
        changes = _changes_since(last, event)
        left = [change for change in changes if change.is_removed or change.after[0] / 1e9 > last_event]
    event.since = last_event
    left, _ = effects.unexplained(left, event)
    if not left:
        return Ruling()
    who = f"This {event.call.tool} call, which was not announced, or a person did it"
    when = f"since the last event of this session. {who}"
    return report_between(event, left, last, when)


def _changes_since(last: TreeRecord, event: CallEvent) -> list[StatChange]:
    """Return the protected files that differ from the last record, which is then that of now."""
    tree, changes = work_tree.scan(event.project, last)
    work_tree.record_again(event.folder, event.project, tree, changes)
    left = effects.protected_changes(changes, event.state, event.settings)
    return file_versions.without_rewritten(event.folder, event.project, last.copies, last.head, left)
