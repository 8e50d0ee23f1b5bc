"""Before a tool call: may it be made, and with what input?"""

from __future__ import annotations

import time

from remit.clients.claude_code.payload import seconds, text
from remit.clients.claude_code.responses import add_context, ask, deny, merge, message, updated_input
from remit.gate.decide import EDITING, SHELLS, decide
from remit.gate.model import ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.clients.claude_code.project import ProjectContext
    from remit.clients.claude_code.responses import Answer
    from remit.gate.model import Decision
    from remit.gate.session import SessionState

#: An event that comes twice comes twice at once; a decision kept for longer is of another call.
_SAME_EVENT_SECONDS = 60.0
#: The tools whose calls are granted something that can be settled.
GRANTED = ("Read", "NotebookRead", "Edit", "MultiEdit", "Write", "NotebookEdit", *SHELLS, "Grep", "Glob")


def before_tool_call(payload: object, desk: ProjectContext) -> Answer | None:
    """PreToolUse. The same event delivered twice is counted once, and answered alike."""
    call = ToolUse.from_payload(payload)
    decision: Decision | None = None
    note: Answer | None = None
    try:
        with desk.session(call.session) as state:
            decision = _judged(call, state, desk)
    except Exception as error:  # noqa: BLE001 - a lock, a disk: what is refused anyway is refused still
        decision, note = _unrecorded(call, decision, error, desk)
    return merge(_told(decision), _launched(call, decision, desk), note)


def _judged(call: ToolUse, state: SessionState, desk: ProjectContext) -> Decision:
    """The decision on a call; what is remembered of it bears its mark."""
    mark = _mark(call)
    again = _again(call, mark, state, desk)
    if again is not None:
        return again
    decision = _first(call, state, desk)
    for entry in (state.pending.get(call.tool_use_id), *state.decisions[-1:]):
        if entry is not None and entry.get("id", call.tool_use_id) == call.tool_use_id:
            entry["mark"] = mark
    if call.tool_use_id in state.delegations:
        state.delegations[call.tool_use_id].mark = mark
    return decision


def _mark(call: ToolUse) -> str:
    """Tells a call from another that bears the same id; nothing can be read out of it. Empty: it cannot be told."""
    import marshal

    try:
        from _blake2 import blake2b  # hashlib takes longer to load than all of the gate
    except ImportError:
        from hashlib import blake2b
    try:
        whole = marshal.dumps([call.tool_use_id, call.tool, call.agent_id, call.cwd, call.input], 2)
    except ValueError:  # nested too deeply
        return ""
    return blake2b(whole, digest_size=12).hexdigest() if call.tool_use_id else ""


def _first(call: ToolUse, state: SessionState, desk: ProjectContext) -> Decision:
    decision = decide(call, state, desk.settings, desk.project)
    entry = state.delegations.get(call.tool_use_id) if call.tool == "Agent" and not call.agent_id else None
    if entry is not None and decision.decision != "deny":
        if not desk.under_contract(entry.agent):
            entry.state = "observed"  # nobody judges its report, so nobody waits for it
        elif not desk.observing:
            entry.contract_sent = True
    if (
        call.agent_id
        and call.tool in EDITING
        and decision.decision != "deny"
        and not desk.under_contract(call.agent_type)
    ):
        state.warn(f"Agent {call.agent_type[:80]} is not under contract and edits files: nobody checks what it reports")
    return decision


def _again(call: ToolUse, mark: str, state: SessionState, desk: ProjectContext) -> Decision | None:
    """The decision on this very call, if it was made a moment ago. The id alone does not make it the same."""
    if not mark:
        return None
    recent = time.time() - _SAME_EVENT_SECONDS
    for entry in reversed(state.decisions):
        if entry.get("mark") == mark and _number(entry.get("at")) >= recent:
            return _restored(entry, call, desk)
    launched = state.delegations.get(call.tool_use_id)
    if state.pending.get(call.tool_use_id, {}).get("mark") == mark or (launched is not None and launched.mark == mark):
        from remit.gate.model import Decision as Made

        return Made("allow", desk.settings.mode)
    return None


def _restored(entry: dict[str, Any], call: ToolUse, desk: ProjectContext) -> Decision:
    """A decision from its record, which lacks what may be content of the call: that is judged once more."""
    from remit.gate.model import Decision as Made
    from remit.gate.session import SessionState as Fresh

    rule, reason = entry.get("rule"), str(entry.get("reason", ""))
    if rule == "edit-code" and not entry.get("paths"):
        whole = decide(call, Fresh(), desk.settings, desk.project)
        reason = whole.reason if whole.reason.startswith(reason) else reason
    return Made(
        str(entry.get("decision")),
        desk.settings.mode,
        would=entry.get("would"),
        rule=rule,
        reason=reason,
        delegate_to=entry.get("delegate_to"),
        exception=entry.get("exception"),
        fault="recorded" if rule == "fault" else None,
    )


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0.0


def _unrecorded(
    call: ToolUse, decision: Decision | None, error: Exception, desk: ProjectContext
) -> tuple[Decision, Answer | None]:
    """The state cannot be used: what can be judged without it is answered all the same, and the person is told."""
    from remit.clients.claude_code.responses import describe_error, fault_answer

    if decision is None:
        from remit.gate.session import SessionState as Fresh
        from remit.gate.session_store import read_session

        decision = decide(call, read_session(desk.folder, call.session) or Fresh(), desk.settings, desk.project)
    if decision.decision == "deny":
        return decision, None
    if desk.settings.on_fault == "closed" and not desk.observing:
        raise error
    return decision, fault_answer("PreToolUse", describe_error(error), closed=False)


def _told(decision: Decision) -> Answer | None:
    """A decision in the client's words; an allowed call is nothing to speak of."""
    reason = f"remit ({decision.rule}): {decision.reason}"
    if decision.decision == "deny":
        return deny(reason)
    if decision.fault:
        return message(decision.reason)
    if decision.decision == "ask":
        return ask(reason)
    return add_context("PreToolUse", reason) if decision.decision == "warn" else None


def _launched(call: ToolUse, decision: Decision, desk: ProjectContext) -> Answer | None:
    """A subagent under contract runs in the foreground, and is told the contract once."""
    if call.tool != "Agent" or decision.decision == "deny" or desk.observing:
        return None
    agent = call.text("subagent_type") or "general-purpose"
    if not desk.under_contract(agent):
        return None
    changed: dict[str, Any] = {}
    if call.input.get("run_in_background") is not False:
        changed["run_in_background"] = False
    prompt, part = call.input.get("prompt"), desk.prompt_for(agent)
    if isinstance(prompt, str) and part and part not in prompt:
        changed["prompt"] = f"{prompt}\n\n{part}"
    return updated_input({**call.input, **changed}) if changed else None


def after_tool_call(payload: object, desk: ProjectContext) -> Answer | None:
    """PostToolUse of everything but a delegation."""
    return _settled(payload, desk)


def tool_call_failed(payload: object, desk: ProjectContext) -> Answer | None:
    """PostToolUseFailure or PermissionDenied of everything but a delegation."""
    # A command line that ends with an error has shown its output all the same.
    ran = text(payload, "tool_name") in SHELLS and text(payload, "hook_event_name") != "PermissionDenied"
    return _settled(payload, desk, failed=not ran)


def _settled(payload: object, desk: ProjectContext, *, failed: bool = False) -> Answer | None:
    call = ToolUse.from_payload(payload)
    if call.agent_id or call.tool not in GRANTED:
        return None
    from remit.gate.settle import settle

    response = payload.get("tool_response") if isinstance(payload, dict) else None
    with desk.session(call.session) as state:
        decision = settle(call, response, seconds(payload), state, desk.settings, desk.project, failed=failed)
    return _settle_response(decision, text(payload, "hook_event_name"))


def _settle_response(decision: Decision, event: str) -> Answer | None:
    if decision.fault:
        return message(decision.reason)
    # A call that was made cannot be refused any more.
    if decision.decision in ("warn", "deny") and event in ("PostToolUse", "PostToolUseFailure"):
        return add_context(event, f"remit ({decision.rule}): {decision.reason}")
    return None
