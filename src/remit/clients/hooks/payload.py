"""Read a hook's payload within limits, and access its fields without trusting their types."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: A larger payload is refused.
MAX_BYTES = 64 * 1024 * 1024
_BLOCK = 1 << 20

_CALL: dict[str, type] = {"tool_name": str, "tool_input": dict, "tool_use_id": str}
_ALL: dict[str, type] = {"session_id": str, "cwd": str}
_SUBAGENT: dict[str, type] = {"agent_id": str, "agent_type": str}
#: Event -> the fields that its answer uses, with their types.
RELIED_ON: dict[str, dict[str, type]] = {
    "PreToolUse": _ALL | _CALL,
    "PostToolUse": _ALL | _CALL | {"tool_response": object, "duration_ms": object},
    "PostToolUseFailure": _ALL | _CALL | {"duration_ms": object},
    "UserPromptSubmit": _ALL | {"prompt": str},
    "SubagentStart": _ALL | _SUBAGENT,
    # The client leaves out an empty last message.
    "SubagentStop": _ALL | _SUBAGENT | {"stop_hook_active": bool, "agent_transcript_path": str},
    "Stop": _ALL | {"stop_hook_active": bool, "background_tasks": list},
    "StopFailure": _ALL,
    "SessionStart": _ALL | {"source": str},
    "SessionEnd": _ALL,
}
#: An event without these fields cannot be answered.
NEEDED: dict[str, tuple[str, ...]] = {
    "PreToolUse": ("tool_name", "tool_input"),
    "PostToolUse": ("tool_name",),
    "PostToolUseFailure": ("tool_name",),
    "UserPromptSubmit": ("prompt",),
    "SubagentStart": ("agent_id", "agent_type"),
    "SubagentStop": ("agent_id", "agent_type"),
}


class Unreadable(Exception):
    """The input is not a payload. The message has the reason and quotes nothing of the content."""


def read(descriptor: int, limit: int = MAX_BYTES) -> bytes:
    """Read the whole input. Raises Unreadable beyond the limit."""
    blocks: list[bytes] = []
    size = 0
    while block := os.read(descriptor, _BLOCK):
        size += len(block)
        if size > limit:
            raise Unreadable(f"it has more than {limit} bytes")
        blocks.append(block)
    return b"".join(blocks)


def parse(data: bytes) -> dict[str, Any]:
    """Parse a payload. Raises Unreadable if it is not a JSON object."""
    if not data.strip():
        raise Unreadable("it is empty")
    try:
        payload = json.loads(data, parse_constant=_drop_constant)
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except ValueError:  # its message may quote the input
        raise Unreadable("it is not JSON") from None
    if not isinstance(payload, dict):
        raise Unreadable("it is not a JSON object")
    return payload


def _drop_constant(_: str) -> None:
    """Read NaN and infinities, which are not JSON, as null."""


def missing(event: str, payload: object) -> list[str]:
    """Return the names of fields that are missing from the payload or have another type."""
    fields = payload if isinstance(payload, dict) else {}
    wanted = RELIED_ON.get(event, {})
    return [name for name, kind in wanted.items() if name not in fields or not isinstance(fields[name], kind)]


def text(payload: object, key: str) -> str:
    """Return a field if it is a string, else ""."""
    value = payload.get(key) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else ""


def table(payload: object, key: str) -> dict[str, Any]:
    """Return a field if it is an object, else an empty one."""
    value = payload.get(key) if isinstance(payload, dict) else None
    return value if isinstance(value, dict) else {}


def flag(payload: object, key: str) -> bool:
    """Whether a field is exactly `true`."""
    return isinstance(payload, dict) and payload.get(key) is True


def seconds(payload: object, key: str = "duration_ms") -> float | None:
    """Return a field of milliseconds in seconds; None if it is not a valid number."""
    value = payload.get(key) if isinstance(payload, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return None
    return value / 1000
