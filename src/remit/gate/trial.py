"""A call judged on trial: the same decision as before a real call, and nothing of it is kept."""

from __future__ import annotations

import json

from remit.errors import UsageError
from remit.gate.memory import State
from remit.gate.model import Call, Decision
from remit.gate.policy import decide, finish

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.settings import GateSettings


def read_payload(data: bytes) -> dict[str, Any]:
    """A payload that can be judged: of a tool call, or of the end of a turn."""
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"standard input is no JSON: {error}; a hook's payload is expected there") from error
    if not isinstance(payload, dict):
        raise UsageError(f"a payload is a JSON object, not {type(payload).__name__}")
    if not isinstance(payload.get("tool_name"), str) and payload.get("hook_event_name") != "Stop":
        raise UsageError("the payload holds no tool call: tool_name is missing, or is no text")
    return payload


def tried(payload: dict[str, Any], state: State | None, settings: GateSettings, project: str) -> Decision:
    """What would be decided now, in a session with this state; without one, in a fresh session."""
    state = state or State()
    if "tool_name" not in payload:
        return finish(state, settings)
    return decide(Call.from_payload(payload), state, settings, project)
