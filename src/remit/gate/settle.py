"""Compare what a call did with what it was allowed to do."""

from __future__ import annotations

import os

from remit.gate.call_record import CallEvent, forget_call, load_record
from remit.gate.decide import SHELLS, with_fault_policy
from remit.gate.effects import judge_effects
from remit.gate.project_paths import locate, read_text
from remit.gate.reverse_patch import FileVersion, keep_reverse_patch
from remit.gate.ruling import Ruling
from remit.gate.session_entries import ChangeEntry
from remit.gate.tool_use import Decision, ToolUse
from remit.gate.writes import MAX_EDIT_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.session import SessionState
    from remit.gate.session_entries import Grant
    from remit.gate.settings import GateSettings

#: Characters of an output that count as one line of ordinary width.
_LINE_WIDTH = 80


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


def settle_effects(call: ToolUse, state: SessionState, settings: GateSettings, project: str, folder: str) -> Decision:
    """Compare the project with the record made before a call, and report changes without permission."""

    def judge() -> Ruling:
        record = load_record(call, folder)
        forget_call(call, folder)
        if record is None:  # the event was delivered twice, or the call was never announced
            state.close_writer(call)
            return Ruling()
        ruling = judge_effects(CallEvent(call, state, settings, project, folder), record)
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
        return Ruling()
    if grant.kind == "edit":
        return Ruling() if failed else _settle_edit(call, grant, response, state, settings, project, folder)
    if failed:
        for name, lines in grant.paths.items():
            state.window.subtract(name, lines, whole=True)
        return Ruling()
    is_slow = _settle_time(grant.paths, duration, state, settings)
    return is_slow or _settle_read(call, grant.paths, response, state, settings)


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
    return -(-len(text) // _LINE_WIDTH) if isinstance(text, str) else 0


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
