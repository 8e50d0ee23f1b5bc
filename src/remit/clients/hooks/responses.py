"""Build answers in the shapes that the client accepts. No shape can approve a call.

An answer is a dict, or None: then the client continues as if there were no hook.
"""

from __future__ import annotations

import json
import os

from remit.errors import RemitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Answer = dict[str, "Any"]

#: Longer texts are truncated: the client shows them to a model or a person.
MAX_TEXT = 20_000
#: Characters of a folder's path in a message.
_MAX_PATH = 300


def deny(reason: str) -> Answer:
    """PreToolUse: deny the call and give the agent the reason."""
    return _permission("deny", reason)


def ask(reason: str) -> Answer:
    """PreToolUse: ask the user for permission and show the reason."""
    return _permission("ask", reason)


def _permission(decision: str, reason: str) -> Answer:
    return _specific("PreToolUse", {"permissionDecision": decision, "permissionDecisionReason": truncate(reason)})


def add_context(event: str, text: str) -> Answer:
    """Add a text that the model reads, for every event that supports `additionalContext`."""
    return _specific(event, {"additionalContext": truncate(text)})


def updated_input(tool_input: dict[str, Any]) -> Answer:
    """PreToolUse: change the input of the call. The client still decides whether to permit it."""
    return _specific("PreToolUse", {"updatedInput": tool_input})


def updated_output(output: object) -> Answer:
    """PostToolUse: replace the tool's output for the model. The new output must have the tool's shape."""
    return _specific("PostToolUse", {"updatedToolOutput": output})


def block(reason: str) -> Answer:
    """Stop, SubagentStop: let the agent continue, with the reason as its next message."""
    return {"decision": "block", "reason": truncate(reason)}


def message(text: str) -> Answer:
    """Show a text to the user, for any event."""
    return {"systemMessage": truncate(text)}


def merge(*answers: Answer | None) -> Answer | None:
    """Merge several answers to one event; texts of the same field are joined by a line break."""
    merged: Answer = {}
    for answer in answers:
        for key, value in (answer or {}).items():
            if key == "hookSpecificOutput" and key in merged:
                merged[key] = {**merged[key], **_join_texts(merged[key], value)}
            elif key in merged:
                merged.update(_join_texts(merged, {key: value}))
            else:
                merged[key] = value
    return merged or None


def _join_texts(first: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    texts = ("additionalContext", "permissionDecisionReason", "reason", "systemMessage")
    return {key: f"{first[key]}\n{value}" if key in texts and key in first else value for key, value in more.items()}


def _specific(event: str, fields: dict[str, Any]) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def truncate(text: str, limit: int = MAX_TEXT) -> str:
    """Return a text with at most `limit` characters, followed by the number of those left out."""
    return text if len(text) <= limit else f"{text[:limit]} ... ({len(text) - limit} more characters)"


def encode(answer: Answer | None) -> bytes:
    """Encode an answer as one line of JSON, or as nothing. Raises ValueError for values that JSON lacks."""
    if answer is None:
        return b""
    return json.dumps(answer, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def fault_answer(event: str, problem: str) -> Answer:
    """Show an internal error to the user. The call passes."""
    start = f"remit could not answer {event[:40] or 'a hook'}: {problem}"
    if event != "PreToolUse":
        return message(f"{start}. Nothing was checked. Run `remit doctor` for details.")
    return message(f"{start}. The call was allowed without a check. Run `remit doctor` for details.")


def describe_error(error: BaseException) -> str:
    """Describe an error by its type and position.

    The text is included only if it is Remit's or the system's: others may quote the payload.
    """
    if isinstance(error, RemitError):
        return str(error)
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
        # The user can fix the folder. A file name may come from a payload, so only printable characters are shown.
        folder = os.path.dirname(error.filename)[:_MAX_PATH]
        return f"{error.strerror} in {''.join(sign if sign.isprintable() else '?' for sign in folder) or '.'}"
    position = ""
    trace = error.__traceback__
    while trace is not None:
        position = f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} in {position}"
