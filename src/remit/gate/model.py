"""What the gate is asked, what its rules say, and what it answers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


SCHEMA = "remit.decision/1"
#: Longer names are cut before they are kept or shown.
LONGEST_NAME = 512

#: Exception -> what it costs in tokens, and what the delegation would have cost; None: a blocked user.
COSTS: dict[str, tuple[int, int | None]] = {
    "lookup": (100, 700),
    "verify": (100, 700),
    "fallback": (200, None),
    "trivial-edit": (50, 1000),
    "state": (30, 500),
}


class ToolUse:
    """A tool call. What is missing or of another type in a payload is empty here."""

    __slots__ = ("agent_id", "agent_type", "cwd", "input", "session", "tool", "tool_use_id")

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
        # The client's own name of the tool is Agent, whatever its model said.
        self.tool = "Agent" if tool == "Task" else tool
        self.input: Mapping[str, Any] = tool_input if tool_input is not None else {}
        self.cwd = cwd
        self.session = session
        self.agent_id = agent_id
        self.agent_type = agent_type
        self.tool_use_id = tool_use_id

    @classmethod
    def from_payload(cls, payload: object) -> ToolUse:
        """The call of a hook's payload, whatever that is."""
        known = payload if isinstance(payload, dict) else {}
        given = known.get("tool_input")
        return cls(
            _text(known.get("tool_name")),
            given if isinstance(given, dict) else {},
            cwd=_text(known.get("cwd")),
            session=_text(known.get("session_id")),
            agent_id=_text(known.get("agent_id")),
            agent_type=_text(known.get("agent_type")),
            tool_use_id=_text(known.get("tool_use_id"))[:LONGEST_NAME],
        )

    def text(self, key: str) -> str:
        """A field of the input, if it is text."""
        return _text(self.input.get(key))

    def number(self, key: str) -> int | None:
        """A field of the input, if it is a whole number, also one written as text."""
        value = self.input.get(key)
        if isinstance(value, str) and len(value) < 12 and value.strip().isdecimal():
            return int(value)
        if isinstance(value, float) and abs(value) < 1e12:
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class Decision:
    """The answer to a call. A `fault` is an error of the gate itself: the call was not judged."""

    __slots__ = (
        "decision",
        "delegate_to",
        "exception",
        "fault",
        "files",
        "lines",
        "mode",
        "reason",
        "rule",
        "would",
    )

    def __init__(  # noqa: PLR0913 - the fields of the answer, all by name
        self,
        decision: str,
        mode: str,
        *,
        would: str | None = None,
        rule: str | None = None,
        reason: str = "",
        delegate_to: str | None = None,
        exception: str | None = None,
        window: tuple[int, int] = (0, 0),
        fault: str | None = None,
    ) -> None:
        self.decision = decision
        self.mode = mode
        self.would = would
        self.rule = rule
        self.reason = reason
        self.delegate_to = delegate_to
        self.exception = exception
        self.files, self.lines = window
        self.fault = fault

    def as_dict(self) -> dict[str, Any]:
        """The fixed shape `remit.decision/1`."""
        return {
            "schema": SCHEMA,
            "decision": self.decision,
            "mode": self.mode,
            "would": self.would,
            "rule": self.rule,
            "reason": self.reason,
            "delegate_to": self.delegate_to,
            "exception": self.exception,
            "window": {"files": self.files, "lines": self.lines},
        }
