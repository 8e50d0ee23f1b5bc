"""A process that answers many events keeps states in memory: what it keeps is what it saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from hooking import PAYLOADS, Hooks

from remit.gate import call_record, session_store, work_tree
from remit.gate.session_store import read_session


@pytest.mark.parametrize("mode", ["standard", "observe"])
def test_after_every_recorded_payload_the_kept_state_is_the_saved_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(session_store._keeping, "is_on", True)
    project = tmp_path / "one"
    (project / ".git").mkdir(parents=True)
    hooks = Hooks(project, {"mode": mode})
    compared = 0
    for file in sorted(PAYLOADS.iterdir()):
        hooks.say(hooks.captured(file.name))
        for path, (_, state, _) in session_store._saved.items():
            if path.startswith(str(hooks.folder)):
                found = read_session(str(hooks.folder), Path(path).stem)
                assert found is not None
                # The text also differs between a list and a tuple, and between 1 and 1.0.
                assert repr(state.as_dict()) == repr(found.as_dict()), file.name
                compared += 1
    assert compared > 20


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
    assert unchanged.copy().folders == unchanged.folders
    (project / "a.py").write_text("a = 2\n")
    assert call_record.unchanged_tree(gate, str(project)) is None, "a file has changed"


def test_a_project_with_many_files_is_not_recorded_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = work_tree.TreeRecord()
    tree.save(str(tmp_path))
    monkeypatch.setattr(call_record, "_MAX_SMALL", 5)
    assert call_record.unchanged_tree(str(tmp_path), str(tmp_path)) is None
    monkeypatch.undo()
    (tmp_path / work_tree.FILE).write_bytes(b"not a record")
    assert call_record.unchanged_tree(str(tmp_path), str(tmp_path)) is None


def test_the_digest_of_a_record_is_that_of_its_file(tmp_path: Path) -> None:
    work_tree.TreeRecord().save(str(tmp_path))
    path = tmp_path / work_tree.FILE
    expected = work_tree.digest_of(path.read_bytes())
    assert work_tree.load_tree(str(tmp_path)) is not None
    (tmp_path / "link").hardlink_to(path)
    assert work_tree.saved_digest(str(tmp_path), str(tmp_path / "link")) == expected
    (tmp_path / "other").write_bytes(b"other")
    assert work_tree.saved_digest(str(tmp_path), str(tmp_path / "other")) == work_tree.digest_of(b"other")
    assert work_tree.load_tree(str(tmp_path / "missing")) is None


def test_few_records_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_tree, "_MAX_KEPT", 1)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        work_tree.TreeRecord().save(str(tmp_path / name))
        assert work_tree.load_tree(str(tmp_path / name)) is not None
    assert len(work_tree._kept) == 1
