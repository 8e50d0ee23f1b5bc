"""The shapes in which the client takes an answer. None of them can say that a call is approved.

An answer is a table, or None: nothing is said, and the client goes on as if nobody had been asked.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Answer = dict[str, Any]

#: Longer texts are cut: the client shows them to a model or a person.
LONGEST_TEXT = 20_000
#: A folder's name is cut here.
_LONGEST_NAME = 300


def deny(reason: str) -> Answer:
    """PreToolUse: the call is refused, and the caller is told why."""
    return _decided("deny", reason)


def ask(reason: str) -> Answer:
    """PreToolUse: a person is asked, and told why."""
    return _decided("ask", reason)


def _decided(decision: str, reason: str) -> Answer:
    return _specific("PreToolUse", {"permissionDecision": decision, "permissionDecisionReason": truncate(reason)})


def add_context(event: str, text: str) -> Answer:
    """Any event that knows additionalContext: the model reads this text."""
    return _specific(event, {"additionalContext": truncate(text)})


def updated_input(tool_input: dict[str, Any]) -> Answer:
    """PreToolUse: the call is made with this input; whether it may be made is still the client's to say."""
    return _specific("PreToolUse", {"updatedInput": tool_input})


def updated_output(output: object) -> Answer:
    """PostToolUse: the model sees this in place of what the tool gave, if it has the tool's own shape."""
    return _specific("PostToolUse", {"updatedToolOutput": output})


def block(reason: str) -> Answer:
    """Stop, SubagentStop: the agent goes on, with the reason as what it is told."""
    return {"decision": "block", "reason": truncate(reason)}


def message(text: str) -> Answer:
    """Any event: the person in front of the client sees this text. Nothing else changes."""
    return {"systemMessage": truncate(text)}


def merge(*answers: Answer | None) -> Answer | None:
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


def truncate(text: str, most: int = LONGEST_TEXT) -> str:
    """A text within bounds; one that was cut says so."""
    return text if len(text) <= most else f"{text[:most]} ... ({len(text) - most} more characters)"


def encode(answer: Answer | None) -> bytes:
    """What a hook prints: one line of JSON, or nothing. What the client could not read as JSON is refused."""
    if answer is None:
        return b""
    import json

    return json.dumps(answer, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def fault_answer(event: str, what: str, *, closed: bool) -> Answer:
    """Told to the person, and no reason to stop their work unless they asked for that (`closed`)."""
    start = f"remit could not answer {event[:40] or 'a hook'}: {what}"
    if event != "PreToolUse":
        return message(f"{start}. Nothing was checked or changed; `remit doctor` tells more.")
    if closed:
        return deny(f"{start}. The call is denied, as gate.on_fault asks; `remit doctor` tells more.")
    return message(f"{start}. The call was let through unchecked; `remit doctor` tells more.")


def describe_error(error: BaseException) -> str:
    """An error by its type and place; its text only if that is ours or the system's, others may quote the payload."""
    from remit.errors import RemitError

    if isinstance(error, RemitError):
        return str(error)
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
        # The folder is what a person can mend; a name may come from a payload, so it is no more than text.
        folder = os.path.dirname(error.filename)[:_LONGEST_NAME]
        return f"{error.strerror} in {''.join(sign if sign.isprintable() else '?' for sign in folder) or '.'}"
    place = ""
    trace = error.__traceback__
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} in {place}"
