"""Record the effects of the orchestrator's tool calls after they ran."""

from __future__ import annotations

from typing import Any

from remit.clients.hooks.payload import seconds, text
from remit.clients.hooks.project import ProjectContext
from remit.clients.hooks.responses import Answer, add_context, merge, message
from remit.gate.decide import EDITING, READING, SHELLS, may_change_files
from remit.gate.settle import settle, settle_effects
from remit.gate.tool_use import Decision, ToolUse

#: The tools whose reads and edits are compared with what was granted.
GRANTED = (*READING, *EDITING, *SHELLS, "Grep", "Glob")


def after_tool_call(payload: object, context: ProjectContext) -> Answer | None:
    """PostToolUse of every tool except a delegation: settle it, and add the notice about a report that came."""
    answer = _settle(payload, context)
    from remit.clients.hooks.teams import untold_notices

    notice = untold_notices(text(payload, "session_id"), context)
    return merge(answer, add_context("PostToolUse", notice) if notice else None)


def tool_call_failed(payload: object, context: ProjectContext) -> Answer | None:
    """PostToolUseFailure of every tool except a delegation."""
    # The model sees the output of a command even if the command fails.
    return _settle(payload, context, failed=text(payload, "tool_name") not in SHELLS)


def _settle(payload: object, context: ProjectContext, *, failed: bool = False) -> Answer | None:
    call = ToolUse.from_payload(payload)
    changes_files = may_change_files(call.tool)
    if not context.settings.denies or not (changes_files or call.tool in GRANTED):
        return None
    event, answer = text(payload, "hook_event_name"), None
    settings, project, folder = context.settings, context.project, context.folder
    with context.session(call.session) as state:
        if changes_files:
            answer = _response(settle_effects(call, state, settings, project, folder), event)
        else:
            state.close_writer(call)
        if call.tool in GRANTED:
            shown, duration = _shown_output(call, payload), seconds(payload)
            settled = settle(call, shown, duration, state, settings, project, failed=failed, folder=folder)
            answer = merge(answer, _response(settled, event))
    return answer


def _shown_output(call: ToolUse, payload: object) -> object:
    """Return what the model saw. A command that failed has its output in the error."""
    values: dict[str, Any] = payload if isinstance(payload, dict) else {}
    response = values.get("tool_response")
    return {"stdout": values.get("error")} if response is None and call.tool in SHELLS else response


def _response(decision: Decision, event: str) -> Answer | None:
    """Return the answer after a call. A call that has run cannot be denied any more."""
    if decision.fault:
        return message(decision.reason)
    if decision.decision == "allow" and decision.tells_person and decision.reason:
        return message(f"remit: {decision.reason}")
    if decision.decision not in ("warn", "deny"):
        return None
    reason = f"remit ({decision.rule}): {decision.reason}"
    return merge(add_context(event, reason), message(reason) if decision.tells_person else None)
