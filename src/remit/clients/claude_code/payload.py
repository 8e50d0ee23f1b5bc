"""A hook's payload: read within bounds, looked into without trust."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: More than this is not read.
LARGEST = 64 * 1024 * 1024
_BLOCK = 1 << 20

_CALL: dict[str, type] = {"tool_name": str, "tool_input": dict, "tool_use_id": str}
_ALL: dict[str, type] = {"session_id": str, "cwd": str}
_SUBAGENT: dict[str, type] = {"agent_id": str, "agent_type": str}
#: Event -> the fields that its answer relies on, each with the type that it must have.
RELIED_ON: dict[str, dict[str, type]] = {
    "PreToolUse": _ALL | _CALL,
    "PostToolUse": _ALL | _CALL | {"tool_response": object, "duration_ms": object},
    "PostToolUseFailure": _ALL | _CALL | {"duration_ms": object},
    "PermissionDenied": _ALL | _CALL,
    "UserPromptSubmit": _ALL | {"prompt": str},
    "SubagentStart": _ALL | _SUBAGENT,
    # The last message is absent where it was empty: nobody may rely on it.
    "SubagentStop": _ALL | _SUBAGENT | {"stop_hook_active": bool, "agent_transcript_path": str},
    "Stop": _ALL | {"stop_hook_active": bool, "background_tasks": list},
    "StopFailure": _ALL,
    "SessionStart": _ALL | {"source": str},
    "SessionEnd": _ALL,
    "PreCompact": _ALL,
}
#: Without these there is nothing that could be answered.
NEEDED: dict[str, tuple[str, ...]] = {
    "PreToolUse": ("tool_name", "tool_input"),
    "PostToolUse": ("tool_name",),
    "PostToolUseFailure": ("tool_name",),
    "UserPromptSubmit": ("prompt",),
    "SubagentStart": ("agent_id", "agent_type"),
    "SubagentStop": ("agent_id", "agent_type"),
}


class Unreadable(Exception):
    """The input is no payload; the message says why, without anything of its content."""


def read(descriptor: int, most: int = LARGEST) -> bytes:
    """All of an input, at most so many bytes."""
    blocks: list[bytes] = []
    size = 0
    while block := os.read(descriptor, _BLOCK):
        size += len(block)
        if size > most:
            raise Unreadable(f"it has more than {most} bytes")
        blocks.append(block)
    return b"".join(blocks)


def parse(data: bytes) -> dict[str, Any]:
    """The payload that the bytes hold."""
    if not data.strip():
        raise Unreadable("it is empty")
    try:
        found = json.loads(data, parse_constant=_no_number)
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except ValueError:  # its text may quote the input
        raise Unreadable("it is no JSON") from None
    if not isinstance(found, dict):
        raise Unreadable("it is no table")
    return found


def _no_number(_: str) -> None:
    """NaN and the infinities are no JSON; a field that holds one holds nothing."""


def missing(event: str, payload: object) -> list[str]:
    """The fields we rely on that this payload lacks, or has with another type."""
    known = payload if isinstance(payload, dict) else {}
    wanted = RELIED_ON.get(event, {})
    return [name for name, kind in wanted.items() if name not in known or not isinstance(known[name], kind)]


def text(payload: object, key: str) -> str:
    """A field, if it is text; else nothing."""
    value = payload.get(key) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else ""


def table(payload: object, key: str) -> dict[str, Any]:
    """A field, if it is a table; else an empty one."""
    value = payload.get(key) if isinstance(payload, dict) else None
    return value if isinstance(value, dict) else {}


def flag(payload: object, key: str) -> bool:
    """Whether a field is true, and nothing that only looks like it."""
    return isinstance(payload, dict) and payload.get(key) is True


def seconds(payload: object, key: str = "duration_ms") -> float | None:
    """A field of milliseconds in seconds; None: there is no number."""
    value = payload.get(key) if isinstance(payload, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return None
    return value / 1000
