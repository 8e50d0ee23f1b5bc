"""Decide on the orchestrator's tool calls before they run, give launches their instructions, and record effects."""

from __future__ import annotations

from remit.clients.hooks.payload import seconds, text
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
from remit.gate.decide import EDITING, READING, SHELLS, decide, may_change_files
from remit.gate.session import SessionState
from remit.gate.session_store import read_session
from remit.gate.settle import settle, settle_effects
from remit.gate.tool_use import Decision, ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.clients.hooks.project import ProjectContext

#: The tools whose reads and edits are compared with what was granted.
GRANTED = (*READING, *EDITING, *SHELLS, "Grep", "Glob")


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
            answer = _response_after(settle_effects(call, state, settings, project, folder), event)
        else:
            state.close_writer(call)
        if call.tool in GRANTED:
            shown, duration = _shown_output(call, payload), seconds(payload)
            settled = settle(call, shown, duration, state, settings, project, failed=failed, folder=folder)
            answer = merge(answer, _response_after(settled, event))
    return answer


def _shown_output(call: ToolUse, payload: object) -> object:
    """Return what the model saw. A command that failed has its output in the error."""
    values: dict[str, Any] = payload if isinstance(payload, dict) else {}
    response = values.get("tool_response")
    return {"stdout": values.get("error")} if response is None and call.tool in SHELLS else response


def _response_after(decision: Decision, event: str) -> Answer | None:
    """Return the answer after a call. A call that has run cannot be denied any more."""
    if decision.fault:
        return message(decision.reason)
    if decision.decision == "allow" and decision.tells_person and decision.reason:
        return message(f"remit: {decision.reason}")
    if decision.decision not in ("warn", "deny"):
        return None
    reason = f"remit ({decision.rule}): {decision.reason}"
    return merge(add_context(event, reason), message(reason) if decision.tells_person else None)
