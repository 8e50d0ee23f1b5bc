"""The shapes in which the client takes an answer. None of them can say that a call is approved.

An answer is a table, or None: nothing is said, and the client goes on as if nobody had been asked.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for true; `typing` itself is slow to load
if TYPE_CHECKING:
    from typing import Any

    Answer = dict[str, Any]

#: Longer texts are cut: the client shows them to a model or a person.
LONGEST_TEXT = 20_000


def deny(reason: str) -> Answer:
    """PreToolUse: the call is refused, and the caller is told why."""
    return _decided("deny", reason)


def ask(reason: str) -> Answer:
    """PreToolUse: a person is asked, and told why."""
    return _decided("ask", reason)


def _decided(decision: str, reason: str) -> Answer:
    return _specific("PreToolUse", {"permissionDecision": decision, "permissionDecisionReason": cut(reason)})


def context(event: str, text: str) -> Answer:
    """Any event that knows additionalContext: the model reads this text."""
    return _specific(event, {"additionalContext": cut(text)})


def updated_input(tool_input: dict[str, Any]) -> Answer:
    """PreToolUse: the call is made with this input; whether it may be made is still the client's to say."""
    return _specific("PreToolUse", {"updatedInput": tool_input})


def updated_output(output: object) -> Answer:
    """PostToolUse: the model sees this in place of what the tool gave, if it has the tool's own shape."""
    return _specific("PostToolUse", {"updatedToolOutput": output})


def block(reason: str) -> Answer:
    """Stop, SubagentStop: the agent goes on, with the reason as what it is told."""
    return {"decision": "block", "reason": cut(reason)}


def message(text: str) -> Answer:
    """Any event: the person in front of the client sees this text. Nothing else changes."""
    return {"systemMessage": cut(text)}


def merged(*answers: Answer | None) -> Answer | None:
    """Several answers to one event as one; texts of the same field follow each other."""
    whole: Answer = {}
    for answer in answers:
        for key, value in (answer or {}).items():
            if key == "hookSpecificOutput" and key in whole:
                whole[key] = {**whole[key], **_joined(whole[key], value)}
            elif key in whole:
                whole.update(_joined(whole, {key: value}))
            else:
                whole[key] = value
    return whole or None


def _joined(known: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    texts = ("additionalContext", "permissionDecisionReason", "reason", "systemMessage")
    return {key: f"{known[key]}\n{value}" if key in texts and key in known else value for key, value in more.items()}


def _specific(event: str, fields: dict[str, Any]) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """A text within bounds; one that was cut says so."""
    return text if len(text) <= most else f"{text[:most]} ... ({len(text) - most} more characters)"


def encode(answer: Answer | None) -> bytes:
    """What a hook prints: one line of JSON, or nothing. What the client could not read as JSON is refused."""
    if answer is None:
        return b""
    import json

    return json.dumps(answer, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
