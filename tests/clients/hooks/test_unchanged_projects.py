"""The record of the project before a call: that of an unchanged project is used again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hooking import Hooks

from remit.gate import call_record, work_tree


def test_a_record_of_an_unchanged_project_is_used_again(tmp_path: Path) -> None:
    project = tmp_path / "one"
    (project / ".git").mkdir(parents=True)
    (project / "a.py").write_text("a = 1\n")
    hooks = Hooks(project, {"mode": "standard"})
    gate = str(hooks.folder)
    assert call_record.unchanged_tree(gate, str(project)) is None, "nothing is recorded yet"
    about = {"tool_name": "Bash", "tool_use_id": "call-1", "tool_input": {"command": "git status"}}
    hooks.ask("PreToolUse", **about)
    unchanged = call_record.unchanged_tree(gate, str(project))
    assert unchanged is not None
    assert unchanged.entry("a.py") is not None
    (project / "a.py").write_text("a = 2\n")
    assert call_record.unchanged_tree(gate, str(project)) is None, "a file has changed"


def test_a_project_with_many_files_is_not_recorded_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = work_tree.TreeRecord()
    tree.save(str(tmp_path))
    monkeypatch.setattr(call_record, "_MAX_SMALL", 5)
    assert call_record.unchanged_tree(str(tmp_path), str(tmp_path)) is None
