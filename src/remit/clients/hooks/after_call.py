"""Record the effects of tool calls after they ran."""

from __future__ import annotations

from typing import Any

from remit.clients.hooks.payload import seconds, text
from remit.clients.hooks.project import ProjectContext
from remit.clients.hooks.responses import Answer, add_context, merge, message
from remit.gate.decide import EDITING, SHELLS, TASK_TOOLS, UNCOUNTED, may_change_files
from remit.gate.session import SessionState
from remit.gate.session_store import read_session
from remit.gate.settle import (
    settle,
    settle_between_calls,
    settle_edited,
    settle_effects,
    settle_replaced_state,
    unfinished_calls,
)
from remit.gate.tool_use import Decision, ToolUse

#: The tools whose effects are recorded after the call.
GRANTED = ("Read", "NotebookRead", "Edit", "MultiEdit", "Write", "NotebookEdit", *SHELLS, "Grep", "Glob")


def after_tool_call(payload: object, context: ProjectContext) -> Answer | None:
    """PostToolUse of every tool except a delegation: settle it, and add the notice about a report that came."""
    answer, state = _settle(payload, context)
    session = text(payload, "session_id")
    state = state or read_session(context.folder, session)
    if text(payload, "agent_id") or state is None or not any(entry.untold for entry in state.delegations.values()):
        return answer
    from remit.clients.hooks.teams import untold_notices  # late: few calls come after a report

    notice = untold_notices(session, context)
    return merge(answer, add_context("PostToolUse", notice) if notice else None)


def tool_call_failed(payload: object, context: ProjectContext) -> Answer | None:
    """PostToolUseFailure or PermissionDenied of every tool except a delegation."""
    # The model sees the output of a command even if the command fails.
    has_run = text(payload, "tool_name") in SHELLS and text(payload, "hook_event_name") != "PermissionDenied"
    return _settle(payload, context, failed=not has_run)[0]


def _settle(
    payload: object, context: ProjectContext, *, failed: bool = False
) -> tuple[Answer | None, SessionState | None]:
    """Settle a call; also return the state of the session, if it was needed."""
    call = ToolUse.from_payload(payload)
    changes_files = may_change_files(call.tool)
    is_shown = not call.agent_id and call.tool not in UNCOUNTED
    is_granted = not call.agent_id and call.tool in GRANTED
    if not (changes_files or is_shown or is_granted or call.tool in (*EDITING, *TASK_TOOLS)):
        return None, None
    event = text(payload, "hook_event_name")
    compared: Answer | None = None
    with context.session(call.session) as state:
        replaced = replaced_state(state, context, event)
        if call.tool in TASK_TOOLS:
            compared = merge(replaced, compare_background(state, context, "PostToolUse"))
        elif changes_files:
            decision = settle_effects(
                call,
                state,
                context.settings,
                context.project,
                context.folder,
                has_run=event != "PermissionDenied",
                is_reset=context.is_recompiled,
            )
            compared = merge(replaced, _settle_response(decision, event))
        elif call.tool in EDITING:
            decision = settle_edited(call, state, context.settings, context.project)
            compared = merge(replaced, _settle_response(decision, event))
        if not (is_shown or is_granted):
            return compared, state
        decision = settle(
            call,
            _shown_output(call, payload),
            seconds(payload),
            state,
            context.settings,
            context.project,
            failed=failed,
            folder=context.folder,
        )
    return merge(compared, _settle_response(decision, event)), state


def _shown_output(call: ToolUse, payload: object) -> object:
    """Return what the model saw. A command that failed has its output in the error."""
    values: dict[str, Any] = payload if isinstance(payload, dict) else {}
    response = values.get("tool_response")
    return {"stdout": values.get("error")} if response is None and call.tool in SHELLS else response


def _settle_response(decision: Decision, event: str) -> Answer | None:
    """Return the answer after a call. A call that has run cannot be denied any more."""
    if decision.fault:
        return message(decision.reason)
    if decision.decision == "allow" and decision.tells_person and decision.reason:
        return message(f"remit: {decision.reason}")
    if decision.decision not in ("warn", "deny") or event not in ("PostToolUse", "PostToolUseFailure"):
        return None
    reason = f"remit ({decision.rule}): {decision.reason}"
    return merge(add_context(event, reason), message(reason) if decision.tells_person else None)


def compare_background(
    state: SessionState, context: ProjectContext, event: str, tool: str = TASK_TOOLS[0]
) -> Answer | None:
    """Report what changed since the last event, if a process of an earlier call may have changed it.

    A background command without a known process is compared only by tools for such commands and at the end of a turn.
    """
    is_known = any(entry.processes for entry in state.background)
    if not state.background or not (is_known or tool in TASK_TOOLS):
        return None
    decision = settle_between_calls(state, context.settings, context.project, context.folder)
    if decision.decision != "warn":
        return None
    reason = f"remit ({decision.rule}): {decision.reason}"
    return merge(add_context(event, reason) if event != "Stop" else None, message(reason))


def compare_unfinished(state: SessionState, context: ProjectContext) -> Answer | None:
    """Report, at the end of a turn, what calls changed whose end the client never reported."""
    answer: Answer | None = None
    for call in unfinished_calls(state):
        decision = settle_effects(call, state, context.settings, context.project, context.folder)
        if decision.decision in ("warn", "deny"):
            answer = merge(answer, message(f"remit ({decision.rule}): {decision.reason}"))
    return answer


def replaced_state(state: SessionState, context: ProjectContext, event: str) -> Answer | None:
    """Report that something else than the gate has changed the record of the session."""
    if not any(entry.untold for entry in state.changes):
        return None
    decision = settle_replaced_state(state, context.settings)
    reason = f"remit ({decision.rule}): {decision.reason}"
    return merge(add_context(event, reason), message(reason)) if decision.decision != "allow" else None
