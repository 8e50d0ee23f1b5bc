"""A project whose settings are compiled, and the events of a session in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import remit
from remit.clients.hooks.compiled import COMPILER, SCHEMA, environment, read_compiled, stamp, write_compiled
from remit.clients.hooks.hook_events import handle_event
from remit.gate.record_store import open_store
from remit.gate.session import SessionState
from remit.gate.session_store import open_session, read_session

PAYLOADS = Path(__file__).parents[2] / "fixtures/claude_code/payloads"
ENTRY = Path(remit.__file__).parent / "surfaces/hooks/entry.py"
SESSION = "9f3279c5-453e-45ba-9d76-6896353ab6a1"
PART = "How to answer: as an exploration, with evidence."


class Hooks:
    """Send the events of a client in a project, and return the answers."""

    def __init__(self, project: Path, gate: dict[str, Any]) -> None:
        self.project = project
        self.folder = project / ".remit/gate"
        self.calls = 0
        self.mode = gate.pop("mode", "orchestrator")
        self.compile(gate)

    def compile(self, gate: dict[str, Any], /, **more: Any) -> None:
        values = {
            "schema": SCHEMA,
            "gate": gate,
            "contract": {"code-explorer": "exploration", "qa-engineer": "test"},
            "always": [],
            "prompts": {"exploration": PART, "test": "How to answer: as a test report."},
            "profile": "v2",
            "environment": environment(),
            "stamps": [],
            **more,
        }
        if isinstance(values["stamps"], list):  # compiled here, not planted
            values["stamps"] = [stamp(COMPILER), *values["stamps"]]
        write_compiled(str(self.project), values)

    @property
    def compiled(self) -> dict[str, Any]:
        """The stored settings."""
        values = read_compiled(str(self.project))
        assert values is not None
        return values

    def forget_compiled(self) -> None:
        open_store(str(self.folder)).remove("settings", "")

    def payload(self, event: str, **fields: Any) -> dict[str, Any]:
        common = {"session_id": SESSION, "cwd": str(self.project), "hook_event_name": event}
        return {**common, **fields}

    def ask(self, event: str, **fields: Any) -> dict[str, Any] | None:
        return self.say(self.payload(event, **fields))

    def say(self, payload: object, event: str = "") -> dict[str, Any] | None:
        return handle_event(payload, event=event, project=str(self.project), mode=self.mode)

    def call(self, tool: str, tool_input: dict[str, Any], **fields: Any) -> dict[str, Any] | None:
        self.calls += 1
        fields.setdefault("tool_use_id", f"toolu_{self.calls}")
        return self.ask("PreToolUse", tool_name=tool, tool_input=tool_input, **fields)

    def launch(self, agent: str = "code-explorer", **fields: Any) -> dict[str, Any] | None:
        tool_input = {"description": "d", "prompt": "Look at it", "subagent_type": agent}
        return self.call("Agent", tool_input, **fields)

    def read(self, path: str, **fields: Any) -> dict[str, Any] | None:
        return self.call("Read", {"file_path": str(self.project / path)}, **fields)

    @property
    def state(self) -> SessionState:
        found = read_session(str(self.folder), SESSION)
        assert found is not None
        return found

    def opened(self) -> open_session:
        return open_session(str(self.folder), SESSION)

    def captured(self, name: str) -> dict[str, Any]:
        text = (PAYLOADS / name).read_text().replace("/home/dev/shop", str(self.project))
        payload: dict[str, Any] = json.loads(text)
        return payload

    def command(self, event: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(ENTRY), event, "--mode", self.mode]

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("REMIT_")}
        return {**kept, "CLAUDE_PROJECT_DIR": str(self.project)}

    def process(self, data: bytes, event: str = "PreToolUse") -> dict[str, Any] | None:
        """Return the answer of a real process, which must exit with 0 and print nothing else."""
        done = subprocess.run(
            self.command(event), input=data, capture_output=True, env=self.environment(), timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        reply: dict[str, Any] | None = json.loads(done.stdout) if done.stdout else None
        return reply


def decision_of(reply: dict[str, Any] | None) -> str | None:
    found = (reply or {}).get("hookSpecificOutput", {}).get("permissionDecision")
    return found if isinstance(found, str) else None


def kind_of(reply: dict[str, Any] | None) -> str:
    """Return the kind of an answer."""
    if reply is None:
        return "nothing"
    fields = reply.get("hookSpecificOutput", {})
    for name in ("permissionDecision", "updatedInput", "updatedToolOutput", "additionalContext"):
        if name in fields:
            return str(fields[name]) if name == "permissionDecision" else name
    return "block" if reply.get("decision") == "block" else "message"
