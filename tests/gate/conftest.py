"""A small project, and calls upon it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from remit.gate.decide import decide
from remit.gate.session import SessionState
from remit.gate.settings import GateSettings
from remit.gate.settle import settle
from remit.gate.tool_use import Decision, ToolUse

SPEC = "# Orders\n\nVersion: 1.0.0\n\nThe service should recieve orders within 30 seconds.\n- one\n- two\n"


class Session:
    """A session in a project: what its orchestrator asks, and what the gate remembers."""

    def __init__(self, project: Path, settings: Mapping[str, Any] | None = None) -> None:
        self.project = project
        self.state = SessionState("test")
        self.settings = GateSettings.from_mapping(settings)
        assert self.settings.problems == []
        self.calls = 0

    def call(self, tool: str, tool_input: dict[str, Any] | None = None, **fields: str) -> ToolUse:
        self.calls += 1
        fields.setdefault("tool_use_id", f"toolu_{self.calls}")
        return ToolUse(tool, tool_input, cwd=fields.pop("cwd", str(self.project)), **fields)

    def ask(self, tool: str, tool_input: dict[str, Any] | None = None, **fields: str) -> Decision:
        decision = decide(self.call(tool, tool_input, **fields), self.state, self.settings, str(self.project))
        assert decision.fault is None, decision.fault
        decision.files, decision.lines = len(self.state.window.files), self.state.window.lines
        return decision

    def read(self, path: str, **more: Any) -> Decision:
        return self.ask("Read", {"file_path": str(self.project / path), **more})

    def run(self, command: str, **fields: str) -> Decision:
        return self.ask("Bash", {"command": command}, **fields)

    def edit(self, path: str, old: str, new: str, **fields: str) -> Decision:
        return self.ask("Edit", {"file_path": path, "old_string": old, "new_string": new}, **fields)

    def settle(
        self, tool: str, response: Any = None, duration: float | None = 0.1, *, failed: bool = False
    ) -> Decision:
        """Settle the call made last."""
        call = ToolUse(tool, {}, cwd=str(self.project), tool_use_id=f"toolu_{self.calls}")
        found = settle(call, response, duration, self.state, self.settings, str(self.project), failed=failed)
        assert found.fault is None, found.fault
        return found

    def file(self, path: str, lines: int = 10) -> str:
        whole = self.project / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_text("".join(f"line {number}\n" for number in range(1, lines + 1)))
        return path


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    # pytest's folders are temporary ones, where the gate lets everybody write.
    monkeypatch.setattr("remit.gate.project_paths._is_scratch", lambda real: real.startswith(("/dev/", "/scratch/")))
    root = tmp_path_factory.mktemp("project")
    for folder in ("src", "tests", "docs/specs", ".remit"):
        (root / folder).mkdir(parents=True)
    (root / "docs/specs/orders.md").write_text(SPEC)
    for number in range(5):
        (root / f"src/f{number}.py").write_text("x = 1\n" * 10)
    return root


@pytest.fixture
def session(project: Path) -> Session:
    return Session(project)


@pytest.fixture
def start(project: Path) -> Callable[..., Session]:
    def make(**settings: Any) -> Session:
        return Session(project, settings)

    return make
