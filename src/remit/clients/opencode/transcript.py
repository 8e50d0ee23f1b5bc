"""Read the calls in the messages of a session of opencode: `{"info": …, "parts": […]}`, one part for each call."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.clients.transcripts.calls import (
    MAX_OUTPUT,
    AgentCalls,
    TranscriptLine,
    kept_lines,
    table_of,
    text_of,
    what_it_showed,
)
from remit.evidence.receipts import Receipt

_TOOLS = {
    "bash": "Bash",
    "read": "Read",
    "edit": "Edit",
    "write": "Write",
    "multiedit": "MultiEdit",
    "grep": "Grep",
    "glob": "Glob",
    "task": "Agent",
}


class OpencodeCalls(AgentCalls):
    """The calls in the messages of a session of opencode."""

    def add(self, line: TranscriptLine) -> bool:
        """Add a message; False if it is not one of this client."""
        info, parts = line.info, line.parts
        if not isinstance(info, dict) or not isinstance(parts, list) or info.get("role") not in ("user", "assistant"):
            return False
        self.is_known = True
        cwd = text_of(table_of(info.get("path")).get("cwd"))
        self._add_root(cwd)
        self._append(_part(part, cwd) for part in parts if isinstance(part, dict) and part.get("type") == "tool")
        return True


def _part(part: dict[str, Any], cwd: str) -> Receipt:
    state = table_of(part.get("state"))
    arguments, details = table_of(state.get("input")), table_of(state.get("metadata"))
    tool = _TOOLS.get(text_of(part.get("tool")), text_of(part.get("tool")))
    output = text_of(state.get("output"))[:MAX_OUTPUT]
    failed, status = state.get("status") != "completed", details.get("exit")
    receipt = Receipt(
        tool,
        {"subagent_type": text_of(arguments.get("subagent_type"))} if tool == "Agent" else arguments,
        path=text_of(arguments.get("filePath")) or None,
        exit=status if tool == "Bash" and isinstance(status, int) else None,
        failed=failed,
        cwd=cwd or None,
    )
    receipt = msgspec.structs.replace(receipt, output=kept_lines(receipt, output))
    if failed:
        return receipt
    shown = what_it_showed(receipt, output)
    display = table_of(details.get("display"))
    first, last = display.get("lineStart"), display.get("lineEnd")
    if tool == "Read" and isinstance(first, int) and isinstance(last, int):
        shown["ranges"] = ((first, last),)
    elif tool == "Grep":
        shown["hits"] = _hits(output)
    elif tool == "Glob":
        shown["hits"] = {path: () for path in shown["hits"] if path.startswith("/")}
    return msgspec.structs.replace(receipt, **shown)


def _hits(output: str) -> dict[str, tuple[int, ...]]:
    """Return the hits of a search: the path of a file and a colon, then lines of the form `  Line 3: text`.

    An empty line follows each hit. The first line has the number of hits; without a hit it is `No files found`.
    """
    hits: dict[str, list[int]] = {}
    current = ""
    for line in output.split("\n"):
        number = line.strip().removeprefix("Line ").partition(":")[0]
        if line.startswith("/") and line.endswith(":"):
            current = line[:-1]
            hits.setdefault(current, [])
        elif current and line.strip().startswith("Line ") and number.isdecimal() and len(number) < 9:
            hits[current].append(int(number))
    return {path: tuple(lines) for path, lines in hits.items()}


CALLS = OpencodeCalls
