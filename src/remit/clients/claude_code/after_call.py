"""After a tool call: what it really did, against what it was granted. Delegations are not settled here."""

from __future__ import annotations

from remit.clients.claude_code.answers import context, message
from remit.clients.claude_code.payload import seconds, text
from remit.gate.model import Call
from remit.gate.policy import SHELLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.clients.claude_code.answers import Answer
    from remit.clients.claude_code.desk import Desk
    from remit.gate.model import Decision

#: The tools whose calls are granted something that can be settled.
GRANTED = ("Read", "NotebookRead", "Edit", "MultiEdit", "Write", "NotebookEdit", *SHELLS, "Grep", "Glob")


def after_call(payload: object, desk: Desk) -> Answer | None:
    """PostToolUse of everything but a delegation."""
    return _settled(payload, desk)


def call_failed(payload: object, desk: Desk) -> Answer | None:
    """PostToolUseFailure or PermissionDenied of everything but a delegation."""
    # A command line that ends with an error has shown its output all the same.
    ran = text(payload, "tool_name") in SHELLS and text(payload, "hook_event_name") != "PermissionDenied"
    return _settled(payload, desk, failed=not ran)


def _settled(payload: object, desk: Desk, *, failed: bool = False) -> Answer | None:
    call = Call.from_payload(payload)
    if call.agent_id or call.tool not in GRANTED:
        return None
    from remit.gate.settling import settle

    response = payload.get("tool_response") if isinstance(payload, dict) else None
    with desk.session(call.session) as state:
        decision = settle(call, response, seconds(payload), state, desk.settings, desk.project, failed=failed)
    return _told(decision, text(payload, "hook_event_name"))


def _told(decision: Decision, event: str) -> Answer | None:
    if decision.fault:
        return message(decision.reason)
    # A call that was made cannot be refused any more.
    if decision.decision in ("warn", "deny") and event in ("PostToolUse", "PostToolUseFailure"):
        return context(event, f"remit ({decision.rule}): {decision.reason}")
    return None
