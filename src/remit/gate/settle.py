"""Compare what a call did with what it was allowed to do."""

from __future__ import annotations

import os
import time

from remit.gate import effects, file_versions, work_tree
from remit.gate.call_record import forget_call, load_record
from remit.gate.change_report import report_between
from remit.gate.decide import EDITING, SHELLS, UNCOUNTED, with_fault_policy
from remit.gate.delegations import may_write
from remit.gate.effects import judge_effects
from remit.gate.leftover_processes import is_running
from remit.gate.model import Decision, ToolUse
from remit.gate.paths import locate, read_text
from remit.gate.reverse_patch import FileVersion, keep_reverse_patch
from remit.gate.ruling import Ruling
from remit.gate.shown_content import LINE_WIDTH, count_output, text_of
from remit.gate.writes import MAX_EDIT_SIZE, judge_edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.file_versions import StatChange
    from remit.gate.session import SessionState
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
    last_event = state.updated
    if record is not None and not _is_of_remit(call, state):
        settings = settings.with_mode(record.mode)  # the call cannot choose how it is judged

    def judge() -> Ruling:
        if not has_run:
            state.writers = [entry for entry in state.writers if entry.get("id") != call.tool_use_id]
            return Ruling()
        if record is None and not is_reset and not any(one.get("id") == call.tool_use_id for one in state.writers):
            ruling = judge_unrecorded_call(call, last_event, state, settings, project, folder)
        else:
            ruling = judge_effects(call, record, state, settings, project, folder, is_reset=is_reset)
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
        ToolUse(str(entry["tool"]), tool_use_id=str(entry.get("id")), session=state.session)
        for entry in state.writers
        if not entry.get("end") and not entry.get("subagent") and entry.get("tool") not in (None, *EDITING)
    ]


def _is_of_remit(call: ToolUse, state: SessionState) -> bool:
    """Return whether a person allowed this call to change the gate."""
    return any(entry.get("remit") for entry in state.writers if entry.get("id") == call.tool_use_id)


def settle_replaced_state(state: SessionState, settings: GateSettings) -> Decision:
    """Report, once, that something else than the gate has changed or removed the record of the session."""

    def judge() -> Ruling:
        entries = [entry for entry in state.changes if entry.pop("untold", False)]
        if not entries:
            return Ruling()
        name = entries[-1]["paths"][0]
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

    def judge() -> Ruling:
        ruling = judge_between_calls(state, settings, project, folder)
        ruling.tells_person = True
        return ruling

    return with_fault_policy(judge, ToolUse("background"), state, settings, after=True)


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
    paths: dict[str, int] = grant["paths"] if isinstance(grant.get("paths"), dict) else {}
    if grant.get("kind") == "edit":
        return Ruling() if failed else _settle_edit(call, paths, grant, response, state, settings, project, folder)
    if failed:
        for name, lines in paths.items():
            state.window.subtract(name, lines, whole=True)
        return Ruling()
    return _settle_time(paths, duration, state, settings) or _settle_read(call, paths, response, state, settings)


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
    paths: dict[str, int],
    grant: dict[str, Any],
    response: object,
    state: SessionState,
    settings: GateSettings,
    project: str,
    folder: str,
) -> Ruling:

    from remit.gate.trivial_edit import changed_lines, digest  # late: edits of specifications are rare

    name = next(iter(paths), "")
    real = locate(name, project, project).real
    text = read_text(real, MAX_EDIT_SIZE)
    if text is not None and digest(text) == grant.get("after"):
        return Ruling()
    original = response.get("originalFile") if isinstance(response, dict) else None
    changed, revert = "something else", ""
    if isinstance(original, str) and text is not None and len(original) <= MAX_EDIT_SIZE:
        count = changed_lines(original, text)
        changed = f"{count} lines" if count is not None else f"more than {settings.limits['edit_lines']} lines"
        revert = _keep_revert(call, name, real, original, state, project, folder)
    offer = f"offer to revert exactly this edit: {revert}" if revert else "show the difference: git diff"
    reason = (
        f"{name}: {paths.get(name)} changed lines were announced, but {changed} changed. Inform the user and {offer}"
    )
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
    entry = {"id": call.tool_use_id, "at": state.updated, "paths": [name], "decided": "offered"}
    state.changes.append({**entry, "patch": kept.name, "digest": kept.digest, "command": kept.command})
    return kept.command


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
