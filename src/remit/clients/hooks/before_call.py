"""Decide on tool calls before they run."""

from __future__ import annotations

import marshal
import time

from remit.clients.hooks.payload import text
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
from remit.gate.decide import EDITING, decide, may_change_files
from remit.gate.record_store import digest_of
from remit.gate.session import SessionState
from remit.gate.session_store import read_session
from remit.gate.tool_use import Decision, ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.clients.hooks.project import ProjectContext
    from remit.clients.hooks.responses import Answer
    from remit.gate.session_entries import DecisionEntry

#: The client may deliver an event twice at once. After this time, an equal event is another call.
_SAME_EVENT_SECONDS = 60.0


def before_tool_call(payload: object, context: ProjectContext) -> Answer | None:
    """PreToolUse: decide on a call. An event that is delivered twice counts once and gets the same answer."""
    call = ToolUse.from_payload(payload)
    decision: Decision | None = None
    note: Answer | None = None
    try:
        with context.session(call.session) as state:
            decision = _decide_once(call, state, context, text(payload, "sent_at"))
            note = merge(_earlier_changes(call, state, context), _after_compaction(call, decision, state, context))
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


def _earlier_changes(call: ToolUse, state: SessionState, context: ProjectContext) -> Answer | None:
    """Report what changed since the last event: the record of the session, or files by a process of an earlier call."""
    if not state.background and not any(entry.untold for entry in state.changes):
        return None
    from remit.clients.hooks.after_call import compare_background, replaced_state  # late: few calls come after a change

    return merge(
        replaced_state(state, context, "PreToolUse"), compare_background(state, context, "PreToolUse", call.tool)
    )


def _after_compaction(call: ToolUse, decision: Decision, state: SessionState, context: ProjectContext) -> Answer | None:
    """Give the state to a model whose conversation was compacted, if the client has no event for that.

    Copilot CLI, which has none, passes the context of a call only if the call is not denied.
    """
    if call.agent_id or not state.compacted or decision.decision == "deny":
        return None
    from remit.clients.hooks.notices import state_notice

    state.compacted = False
    return add_context("PreToolUse", state_notice(state, context))


def _decide_once(call: ToolUse, state: SessionState, context: ProjectContext, sent_at: str) -> Decision:
    """Decide on a call, or return the decision on the same event; mark the new records of the call."""
    mark = _mark(call, sent_at)
    earlier = _earlier_decision(call, mark, state, context)
    if earlier is not None:
        return earlier
    state.withdraw_refused(call)
    decision = _decide_first(call, state, context)
    if decision.exception == "fallback" and decision.decision == "allow":
        from remit.clients.hooks.session_progress import record_fallback  # late: it is rare

        record_fallback(context, state)
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
        data = marshal.dumps([call.tool_use_id, call.tool, call.agent_id, call.cwd, call.input, sent_at], 2)
    except ValueError:  # nested too deeply
        return ""
    return digest_of(data) if call.tool_use_id else ""


def _decide_first(call: ToolUse, state: SessionState, context: ProjectContext) -> Decision:
    for entry in state.delegations.values() if call.agent_id else ():
        if entry.teammate and entry.agent_id == call.agent_id:
            call.agent_type = entry.agent  # its events name the teammate
    decision = decide(call, state, context.settings, context.project)
    launched = state.delegations.get(call.tool_use_id) if call.tool == "Agent" and not call.agent_id else None
    if launched is not None and decision.decision != "deny":
        if not context.is_awaited(launched.agent):
            launched.state = "observed"  # its report is not sent back, so no final answer waits for it
        elif context.changes_input and context.is_under_contract(launched.agent):
            launched.contract_sent = True
    if (
        call.agent_id
        and call.tool in EDITING
        and decision.decision != "deny"
        and not context.is_checked(call.agent_type)
    ):
        state.warn(f"Agent {call.agent_type[:80]} edits files, and its reports are not checked")
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
    if context.settings.on_fault == "closed" and context.is_denying:
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
    if call.tool != "Agent" or decision.decision == "deny" or not context.changes_input:
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
