"""The only tools of an orchestrator that is a model: its five responsibilities, and nothing else.

Orchestrate (Delegate), synthesize (Results), communicate (Ask, Tell), track (Progress), verify minimally (Lookup,
EditTrivially). Every touch of the project goes through the gate, which decides as it does everywhere else.
"""

from __future__ import annotations

from typing import Any

from remit.dispatch.tools.model import ToolSpec

_TEXT = {"type": "string"}


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_DELEGATION = _object(
    {
        "agent": {**_TEXT, "description": "the name of a definition"},
        "task": {**_TEXT, "description": "what it shall do, complete in itself"},
        "critical": {"type": "boolean", "description": "whether the work cannot go on without it"},
        "loads_context": {"type": "boolean", "description": "whether it only loads context"},
        "scope": {"type": "array", "items": _TEXT, "description": "files and folders it is about"},
        "writes": {"type": "array", "items": _TEXT, "description": "files it may change"},
    },
    "agent",
    "task",
)
#: Name -> what it is for, its arguments, and whether it may be done again after a crash.
TOOLS: dict[str, ToolSpec] = {
    spec.name: spec
    for spec in (
        ToolSpec(
            name="Delegate",
            description="Have one or several subagents work side by side, and wait for their merged results. "
            "Independent work belongs into one call. `phase` names this step of the work.",
            schema=_object(
                {"phase": _TEXT, "delegations": {"type": "array", "items": _DELEGATION, "minItems": 1, "maxItems": 20}},
                "phase",
                "delegations",
            ),
            is_read_only=False,
            is_repeatable=True,
        ),
        ToolSpec(
            name="Results",
            description="Read the merged results of an earlier phase again, or one agent's result.",
            schema=_object({"phase": _TEXT, "agent": _TEXT}, "phase"),
            is_read_only=True,
            is_repeatable=True,
        ),
        ToolSpec(
            name="Ask",
            description="Ask the user something only they can decide. Your turn ends; the answer comes as a message.",
            schema=_object({"question": _TEXT}, "question"),
            is_read_only=False,
            is_repeatable=True,
        ),
        ToolSpec(
            name="Tell",
            description="Show the user results or progress before you go on.",
            schema=_object({"text": _TEXT}, "text"),
            is_read_only=False,
            is_repeatable=True,
        ),
        ToolSpec(
            name="Progress",
            description="Write down where the work stands and what comes next.",
            schema=_object({"position": _TEXT, "next_action": _TEXT, "decision": _TEXT}, "position", "next_action"),
            is_read_only=False,
            is_repeatable=True,
        ),
        ToolSpec(
            name="Lookup",
            description="Look one value or section up: at most 3 files, 200 lines of each, 300 in all. State the "
            "question. Not for understanding code: that is code-explorer's work.",
            schema=_object(
                {
                    "question": _TEXT,
                    "file_path": _TEXT,
                    "offset": {"type": "integer"},
                    "limit": {"type": "integer"},
                },
                "question",
                "file_path",
            ),
            is_read_only=True,
            is_repeatable=True,
        ),
        ToolSpec(
            name="EditTrivially",
            description="Mend white space or Markdown marks in a specification file. Anything else is delegated.",
            schema=_object(
                {"file_path": _TEXT, "old_string": _TEXT, "new_string": _TEXT}, "file_path", "old_string", "new_string"
            ),
            is_read_only=False,
            is_repeatable=False,
        ),
    )
}
