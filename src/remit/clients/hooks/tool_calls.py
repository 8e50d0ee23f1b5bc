"""Decide on tool calls before they run, and record their effects afterwards."""

from __future__ import annotations

import marshal
import time

from remit.clients.hooks.payload import seconds, text
from remit.clients.hooks.responses import (
    add_context,
    ask,
    deny,
    describe_error,
    fault_answer,
    merge,
    message,
    updated_input,
)
from remit.gate.decide import EDITING, SHELLS, TASK_TOOLS, UNCOUNTED, decide, may_change_files
from remit.gate.model import Decision, ToolUse
from remit.gate.session import SessionState
from remit.gate.session_store import read_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.clients.hooks.project import ProjectContext
    from remit.clients.hooks.responses import Answer
    from remit.gate.session_entries import DecisionEntry

#: The client may deliver an event twice at once. After this time, an equal event is another call.
_SAME_EVENT_SECONDS = 60.0
#: The tools whose effects are recorded after the call.
GRANTED = ("Read", "NotebookRead", "Edit", "MultiEdit", "Write", "NotebookEdit", *SHELLS, "Grep", "Glob")


def before_tool_call(payload: object, context: ProjectContext) -> Answer | None:
    """PreToolUse: decide on a call. An event that is delivered twice counts once and gets the same answer."""
    call = ToolUse.from_payload(payload)
    decision: Decision | None = None
    note: Answer | None = None
    try:
        with context.session(call.session) as state:
            decision = _decide_once(call, state, context, text(payload, "sent_at"))
            note = merge(
                replaced_state(state, context, "PreToolUse"),
                compare_background(state, context, "PreToolUse", call.tool),
                _after_compaction(call, decision, state, context),
            )
            has_notice = not call.agent_id and any(entry.untold for entry in state.delegations.values())
        if has_notice:
            from remit.clients.hooks.teams import untold_notices

            notice = untold_notices(call.session, context)
            note = merge(note, add_context("PreToolUse", notice) if notice else None)
        if decision.decision != "deny" and may_change_files(call.tool):
            from remit.gate.call_record import record_before

            record_before(
                call, state, context.settings.mode, context.folder, context.project, unchanged=context.unchanged
            )
    except Exception as error:  # noqa: BLE001 - a lock or a disk failed: a call that would be denied still is
        decision, fault = _decide_unrecorded(call, decision, error, context)
        note = merge(note, fault)
    return merge(_response(decision), _launch_input(call, decision, context), note)


def _after_compaction(call: ToolUse, decision: Decision, state: SessionState, context: ProjectContext) -> Answer | None:
    """Give the state to a model whose conversation was compacted, if the client has no event for that.

    Copilot CLI, which has none, passes the context of a call only if the call is not denied.
    """
    if call.agent_id or not state.compacted or decision.decision == "deny":
        return None
    from remit.clients.hooks.notices import state_notice

    state.compacted = False
    return add_context("PreToolUse", state_notice(state, context))


def compare_background(
    state: SessionState, context: ProjectContext, event: str, tool: str = TASK_TOOLS[0]
) -> Answer | None:
    """Report what changed since the last event, if a process of an earlier call may have changed it.

    A background command without a known process is compared only by tools for such commands and at the end of a turn.
    """
    is_known = any(entry.processes for entry in state.background)
    if not state.background or not (is_known or tool in TASK_TOOLS):
        return None
    from remit.gate.settle import settle_between_calls

    decision = settle_between_calls(state, context.settings, context.project, context.folder)
    if decision.decision != "warn":
        return None
    reason = f"remit ({decision.rule}): {decision.reason}"
    return merge(add_context(event, reason) if event != "Stop" else None, message(reason))


def compare_unfinished(state: SessionState, context: ProjectContext) -> Answer | None:
    """Report, at the end of a turn, what calls changed whose end the client never reported."""
    from remit.gate.settle import settle_effects, unfinished_calls

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
    from remit.gate.settle import settle_replaced_state

    decision = settle_replaced_state(state, context.settings)
    reason = f"remit ({decision.rule}): {decision.reason}"
    return merge(add_context(event, reason), message(reason)) if decision.decision != "allow" else None


def _decide_once(call: ToolUse, state: SessionState, context: ProjectContext, sent_at: str) -> Decision:
    """Decide on a call, or return the decision on the same event; mark the new records of the call."""
    mark = _mark(call, sent_at)
    earlier = _earlier_decision(call, mark, state, context)
    if earlier is not None:
        return earlier
    decision = _decide_first(call, state, context)
    if call.tool_use_id in state.pending:
        state.pending[call.tool_use_id].mark = mark
    for entry in state.decisions[-1:]:
        if entry.id == call.tool_use_id:
            entry.mark = mark
    if call.tool_use_id in state.delegations:
        state.delegations[call.tool_use_id].mark = mark
    return decision


def _mark(call: ToolUse, sent_at: str) -> str:
    """Return a digest that distinguishes calls with the same id; "" if there is no id or the input is too deep.

    A client whose calls have no id of their own states when it sent the event.
    """
    try:
        from _blake2 import blake2b  # hashlib takes longer to load than the whole gate
    except ImportError:
        from hashlib import blake2b
    try:
        data = marshal.dumps([call.tool_use_id, call.tool, call.agent_id, call.cwd, call.input, sent_at], 2)
    except ValueError:  # nested too deeply
        return ""
    return blake2b(data, digest_size=12).hexdigest() if call.tool_use_id else ""


def _decide_first(call: ToolUse, state: SessionState, context: ProjectContext) -> Decision:
    for entry in state.delegations.values() if call.agent_id else ():
        if entry.teammate and entry.agent_id == call.agent_id:
            call.agent_type = entry.agent  # its events name the teammate
    decision = decide(call, state, context.settings, context.project)
    launched = state.delegations.get(call.tool_use_id) if call.tool == "Agent" and not call.agent_id else None
    if launched is not None and decision.decision != "deny":
        if not context.is_awaited(launched.agent):
            launched.state = "observed"  # its report is not sent back, so no final answer waits for it
        elif context.changes_input and not context.is_observing and context.is_under_contract(launched.agent):
            launched.contract_sent = True
    if (
        call.agent_id
        and call.tool in EDITING
        and decision.decision != "deny"
        and not context.is_checked(call.agent_type)
    ):
        state.warn(f"Agent {call.agent_type[:80]} is not under contract and edits files; its reports are not checked")
    return decision


def _earlier_decision(call: ToolUse, mark: str, state: SessionState, context: ProjectContext) -> Decision | None:
    """Return the recent decision on the same event. An equal id alone does not make it the same."""
    if not mark:
        return None
    recent = time.time() - _SAME_EVENT_SECONDS
    for entry in reversed(state.decisions):
        if entry.mark == mark:
            if entry.at >= recent:
                return _restore(entry, call, context)
            break
    granted = (state.delegations.get(call.tool_use_id), state.pending.get(call.tool_use_id))
    if any(entry is not None and entry.mark == mark for entry in granted):
        return Decision("allow", context.settings.mode)
    return None


def _restore(entry: DecisionEntry, call: ToolUse, context: ProjectContext) -> Decision:
    """Restore a decision from its record. The record contains no content of the call, so its reason may be computed
    again."""
    reason = entry.reason
    if entry.rule == "edit-code" and not entry.paths:
        full = decide(call, SessionState(), context.settings, context.project)
        reason = full.reason if full.reason.startswith(reason) else reason
    restored = Decision(
        entry.decision,
        context.settings.mode,
        would=entry.would,
        rule=entry.rule,
        reason=reason,
        delegate_to=entry.delegate_to,
        exception=entry.exception,
        fault="recorded" if entry.rule == "fault" else None,
    )
    restored.tells_person = entry.told
    return restored


def _decide_unrecorded(
    call: ToolUse, decision: Decision | None, error: Exception, context: ProjectContext
) -> tuple[Decision, Answer | None]:
    """Decide without recording, because the state cannot be used, and show the error to the user."""
    if decision is None:
        state = read_session(context.folder, call.session) or SessionState()
        decision = decide(call, state, context.settings, context.project)
    if decision.decision == "deny":
        return decision, None
    if context.settings.on_fault == "closed" and not context.is_observing:
        raise error
    return decision, fault_answer("PreToolUse", describe_error(error), is_closed=False)


def _response(decision: Decision) -> Answer | None:
    """Return the client's answer for a decision; None for an allowed call."""
    reason = f"remit ({decision.rule}): {decision.reason}"
    if decision.decision == "deny":
        return deny(reason)
    if decision.decision == "ask":
        return ask(reason)
    if decision.fault:
        return message(decision.reason)
    if decision.decision == "allow" and decision.tells_person:
        return message(f"remit: {decision.reason}")
    if decision.decision != "warn":
        return None
    return merge(add_context("PreToolUse", reason), message(reason) if decision.tells_person else None)


def _launch_input(call: ToolUse, decision: Decision, context: ProjectContext) -> Answer | None:
    """Change the launch of a subagent under contract: run it in the foreground and add its instructions once."""
    if call.tool != "Agent" or decision.decision == "deny" or context.is_observing or not context.changes_input:
        return None
    agent = call.text("subagent_type") or "general-purpose"
    if not context.is_under_contract(agent):
        return None
    changed: dict[str, Any] = {}
    if call.input.get("run_in_background") is not False:
        changed["run_in_background"] = False
    prompt, contract = call.input.get("prompt"), context.prompt_for(agent)
    if isinstance(prompt, str) and contract and contract not in prompt:
        changed["prompt"] = f"{prompt}\n\n{contract}"
    return updated_input({**call.input, **changed}) if changed else None


def after_tool_call(payload: object, context: ProjectContext) -> Answer | None:
    """PostToolUse of every tool except a delegation."""
    return _settle(payload, context)


def tool_call_failed(payload: object, context: ProjectContext) -> Answer | None:
    """PostToolUseFailure or PermissionDenied of every tool except a delegation."""
    # The model sees the output of a command even if the command fails.
    has_run = text(payload, "tool_name") in SHELLS and text(payload, "hook_event_name") != "PermissionDenied"
    return _settle(payload, context, failed=not has_run)


def _settle(payload: object, context: ProjectContext, *, failed: bool = False) -> Answer | None:
    call = ToolUse.from_payload(payload)
    changes_files = may_change_files(call.tool)
    is_shown = not call.agent_id and call.tool not in UNCOUNTED
    is_granted = not call.agent_id and call.tool in GRANTED
    if not (changes_files or is_shown or is_granted or call.tool in (*EDITING, *TASK_TOOLS)):
        return None
    from remit.gate.settle import settle, settle_edited, settle_effects

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
            return compared
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
    return merge(compared, _settle_response(decision, event))


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
