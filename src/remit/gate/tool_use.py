"""A tool call, and the decision about it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


#: Longer names are cut before they are stored or shown.
MAX_NAME_LENGTH = 512

#: Exception -> its cost in tokens, and that of the delegation instead; None if the user would be blocked.
COSTS: dict[str, tuple[int, int | None]] = {
    "lookup": (100, 700),
    "verify": (100, 700),
    "fallback": (200, None),
    "trivial-edit": (50, 1000),
    "state": (30, 500),
}


class ToolUse:
    """A tool call. A value that a payload lacks, or has with another type, is empty here."""

    def __init__(
        self,
        tool: str,
        tool_input: Mapping[str, Any] | None = None,
        *,
        cwd: str = "",
        session: str = "",
        agent_id: str = "",
        agent_type: str = "",
        tool_use_id: str = "",
    ) -> None:
        # The client's tool is `Agent`; models also use the old name `Task`.
        self.tool = "Agent" if tool == "Task" else tool
        self.input: Mapping[str, Any] = tool_input if tool_input is not None else {}
        self.cwd = cwd
        self.session = session
        self.agent_id = agent_id
        self.agent_type = agent_type
        self.tool_use_id = tool_use_id

    @classmethod
    def from_payload(cls, payload: object) -> ToolUse:
        """Return the call of a hook's payload, which may be any value."""
        values = payload if isinstance(payload, dict) else {}
        tool_input = values.get("tool_input")
        return cls(
            _text(values.get("tool_name")),
            tool_input if isinstance(tool_input, dict) else {},
            cwd=_text(values.get("cwd")),
            session=_text(values.get("session_id")),
            agent_id=_text(values.get("agent_id")),
            agent_type=_text(values.get("agent_type")),
            tool_use_id=_text(values.get("tool_use_id"))[:MAX_NAME_LENGTH],
        )

    def text(self, key: str) -> str:
        """Return a field of the input if it is text, else an empty text."""
        return _text(self.input.get(key))

    def number(self, key: str) -> int | None:
        """Return a field of the input if it is a whole number, also one written as text."""
        value = self.input.get(key)
        if isinstance(value, str) and len(value) < 12 and value.strip().isdecimal():
            return int(value)
        if isinstance(value, float) and abs(value) < 1e12:
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class Decision:
    """The answer to a call. With a `fault`, an error in the gate prevented a judgement."""

    def __init__(
        self,
        decision: str,
        mode: str,
        *,
        rule: str | None = None,
        reason: str = "",
        delegate_to: str | None = None,
        exception: str | None = None,
        fault: str | None = None,
    ) -> None:
        self.decision = decision
        self.mode = mode
        self.rule = rule
        self.reason = reason
        self.delegate_to = delegate_to
        self.exception = exception
        self.fault = fault
        #: Whether the person reads the reason, too, although the call is allowed.
        self.tells_person = False
