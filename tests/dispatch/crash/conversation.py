"""The conversation of the crash tests: four turns and six calls with effects on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from remit import testing

BUILDER = """---
name: builder
tools: Read, Write, Edit, Bash
---
You build what is asked for.
"""
#: The commands append lines here, so a repeated command is visible.
EFFECTS = "effects.log"
TURNS = 4
CALLS = 6


def _bash(word: str) -> dict[str, Any]:
    return {"name": "Bash", "input": {"command": f"echo {word} >> {EFFECTS}"}}


def _read(path: str) -> dict[str, Any]:
    return {"name": "Read", "input": {"file_path": path}}


CONVERSATION: list[dict[str, Any]] = [
    {"text": "I begin.", "tools": [_bash("one")]},
    {"tools": [{"name": "Write", "input": {"file_path": "a.txt", "content": "alpha\n"}}, _bash("two")]},
    {
        "text": "Now the change.",
        "tools": [
            {"name": "Edit", "input": {"file_path": "a.txt", "old_string": "alpha", "new_string": "beta"}},
            _read("first.txt"),
            _read("second.txt"),
        ],
    },
    {"text": testing.result("generic")},
]
SCRIPT = {"conversations": {"": CONVERSATION}}


def workspace(folder: Path) -> Path:
    """Create a project for one job."""
    folder.mkdir(parents=True)
    (folder / "first.txt").write_text("first\n", encoding="utf-8")
    (folder / "second.txt").write_text("second\n", encoding="utf-8")
    return folder


def effects(folder: Path) -> list[str]:
    """Return the effects of the commands of a job."""
    path = folder / EFFECTS
    return path.read_text(encoding="utf-8").split() if path.exists() else []
