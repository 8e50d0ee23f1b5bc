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


#: The tokens of each turn are more than the estimate of its texts, which have the names of folders.
CONVERSATION: list[dict[str, Any]] = [
    {"text": "I begin.", "tools": [_bash("one")], "usage": {"input": 1000, "output": 210}},
    {
        "tools": [{"name": "Write", "input": {"file_path": "a.txt", "content": "alpha\n"}}, _bash("two")],
        "usage": {"input": 2000, "output": 220},
    },
    {
        "text": "Now the change.",
        "tools": [
            {"name": "Edit", "input": {"file_path": "a.txt", "old_string": "alpha", "new_string": "beta"}},
            _read("first.txt"),
            _read("second.txt"),
        ],
        "usage": {"input": 3000, "output": 230},
    },
    {"text": testing.result("generic"), "usage": {"input": 4000, "output": 2000}},
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
