"""Decide on the orchestrator's tool calls before they run, and give launches their instructions."""

from __future__ import annotations

from remit.clients.hooks.responses import (
    Answer,
    add_context,
    ask,
    deny,
    describe_error,
    fault_answer,
    merge,
    message,
    updated_input,
)
from remit.gate.decide import decide, may_change_files
from remit.gate.session import SessionState
from remit.gate.session_store import read_session
from remit.gate.tool_use import Decision, ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.clients.hooks.project import ProjectContext


def before_tool_call(payload: object, context: ProjectContext) -> Answer | None:
    """PreToolUse: decide on a call. A subagent's call is not judged, but its launches get their instructions."""
    call = ToolUse.from_payload(payload)
    if call.agent_id:
        return _launch_input(call, context)
    decision: Decision | None = None
    note: Answer | None = None
    try:
        with context.session(call.session) as state:
            decision = _decide(call, state, context)
            has_notice = any(entry.untold for entry in state.delegations.values())
        if has_notice:
            from remit.clients.hooks.teams import untold_notices  # late: few calls come after a report

            notice = untold_notices(call.session, context)
            note = add_context("PreToolUse", notice) if notice else None
        if context.settings.denies and decision.decision != "deny" and may_change_files(call.tool):
            from remit.gate.call_record import record_before

            record_before(call, context.folder, context.project)
    except Exception as error:  # noqa: BLE001 - a lock or a disk failed: a call that would be denied still is
        if decision is None:
            state = read_session(context.folder, call.session) or SessionState()
            decision = decide(call, state, context.settings, context.project)
        if decision.decision != "deny":
            note = merge(note, fault_answer("PreToolUse", describe_error(error)))
    launch = _launch_input(call, context) if decision.decision != "deny" else None
    return merge(_response(decision), launch, note)


def _decide(call: ToolUse, state: SessionState, context: ProjectContext) -> Decision:
    decision = decide(call, state, context.settings, context.project)
    launched = state.delegations.get(call.tool_use_id) if call.tool == "Agent" else None
    if launched is not None:
        if not context.is_checked(launched.agent):
            launched.state = "observed"  # its report is not sent back, so no final answer waits for it
        elif context.changes_input and context.is_under_contract(launched.agent):
            launched.contract_sent = True
    if decision.exception == "fallback" and decision.decision == "allow":
        from remit.clients.hooks.session_progress import record_fallback  # late: it is rare

        record_fallback(context, state)
    return decision


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


def _launch_input(call: ToolUse, context: ProjectContext) -> Answer | None:
    """Change the launch of a subagent under contract: add its instructions once.

    Where calls are denied it also runs in the foreground, so that a report that fails never arrives.
    """
    if call.tool != "Agent" or not context.changes_input:
        return None
    agent = call.text("subagent_type") or "general-purpose"
    if not context.is_under_contract(agent):
        return None
    changed: dict[str, Any] = {}
    if context.settings.denies and call.input.get("run_in_background") is not False:
        changed["run_in_background"] = False
    prompt, contract = call.input.get("prompt"), context.prompt_for(agent)
    if isinstance(prompt, str) and contract and contract not in prompt:
        changed["prompt"] = f"{prompt}\n\n{contract}"
    return updated_input({**call.input, **changed}) if changed else None
