"""What a decision of the hooks costs does not depend on how many calls the session has had."""

from __future__ import annotations

import builtins
import io
import os
from collections import Counter
from typing import Any

import pytest
from hooking import Hooks


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the files that are opened."""
    counted: Counter[str] = Counter()

    def counting(real: Any) -> Any:
        def count(path: Any, *given: Any, **named: Any) -> Any:
            if isinstance(path, str | os.PathLike):  # not a descriptor, which was opened before
                counted["files"] += 1
            return real(path, *given, **named)

        return count

    for module, name in ((builtins, "open"), (io, "open"), (os, "open")):
        monkeypatch.setattr(module, name, counting(getattr(module, name)))
    return counted


def session_bytes(hooks: Hooks) -> int:
    """Return the size of what is stored about sessions: of a state the last line, and nothing of the log."""
    files = [file for file in hooks.folder.rglob("*") if file.is_file() and "log" not in file.name]
    return sum(len(file.read_bytes().rstrip(b"\n").rpartition(b"\n")[2]) for file in files)


@pytest.mark.parametrize(
    ("tool", "given"), [("Read", {"file_path": "src/f0.py"}), ("Grep", {"pattern": "x"})], ids=["Read", "Grep"]
)
def test_ten_times_the_calls_open_no_more_files_for_a_decision(
    tool: str, given: dict[str, Any], hooks: Hooks, opened: Counter[str]
) -> None:
    agent = {"agent_id": "a1", "agent_type": "code-explorer"}
    costs, sizes = [], []
    for calls in (15, 150):
        while hooks.calls < calls:
            opened.clear()
            hooks.call(tool, given, **agent)
            before = opened["files"]
            said = {"tool_use_id": f"toolu_{hooks.calls}", "tool_response": {"stdout": "x"}, **agent}
            hooks.ask("PostToolUse", tool_name=tool, tool_input=given, **said)
        costs.append((before, opened["files"]))
        sizes.append(session_bytes(hooks))
    assert costs[0][0] > 0
    assert costs[1] <= costs[0]
    assert sizes[1] <= 1.5 * sizes[0], sizes
