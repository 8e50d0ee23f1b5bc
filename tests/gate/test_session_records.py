"""What the gate records of a session: calls, patches, and the entries of its state."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from remit.gate.call_record import forget_call, load_record, record_before
from remit.gate.reverse_patch import FileVersion, allowed_revert, keep_reverse_patch
from remit.gate.session import MAX_ENTRIES, SessionState
from remit.gate.session_entries import ChangeEntry, Declaration, Window
from remit.gate.tool_use import ToolUse


def test_a_record_is_forgotten_with_its_call(tmp_path: Path) -> None:
    project, gate = tmp_path / "project", tmp_path / "gate"
    project.mkdir()
    gate.mkdir()
    call = ToolUse("Bash", {"command": "true"}, tool_use_id="t1", session="s1")
    assert load_record(call, str(gate)) is None
    record_before(call, str(gate), str(project))
    found = load_record(call, str(gate))
    assert found is not None
    forget_call(call, str(gate))
    assert load_record(call, str(gate)) is None


def test_a_patch_that_cannot_be_kept_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same = FileVersion(b"one\n")
    gate, project = str(tmp_path / "gate"), str(tmp_path)
    assert keep_reverse_patch(gate, project, {"a.py": (same, same)}, "t1") is None, "there is no difference"
    twice = {"a.py": (same, FileVersion(b"two\n")), "a.py/b": (same, FileVersion(b"two\n"))}
    assert keep_reverse_patch(gate, project, twice, "t1") is None, "a file cannot be a folder"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert keep_reverse_patch(gate, project, {"a.py": (same, FileVersion(b"two\n"))}, "t1") is None, "without git"
    assert os.listdir(tmp_path / "gate/reverts") == []  # noqa: PTH208 - only names


def test_only_a_patch_of_this_session_is_a_revert(tmp_path: Path) -> None:
    gate, project, state = str(tmp_path / "gate"), str(tmp_path), SessionState("s1")
    changed = {
        "a.sh": (FileVersion(b"one\n", 0o100755), FileVersion(None)),
        "l": (FileVersion(b"a", 0o120777), FileVersion(None)),
    }
    kept = keep_reverse_patch(gate, project, changed, "t1")
    assert kept is not None

    def revert(command: str) -> tuple[str, list[str]] | None:
        return allowed_revert(ToolUse("Bash", {"command": command}, cwd=project), state, gate, project)

    assert revert(kept.command) is None, "the session has no such change"
    state.changes.append(ChangeEntry(patch=kept.name, digest=kept.digest, paths=["a.sh", "l"]))
    assert revert(kept.command) == ("t1", ["a.sh", "l"])
    state.changes[-1].more = True
    assert revert(kept.command) == ("t1", ["."])
    for command in (
        "git status",
        "git apply gate/reverts/none.patch",
        "git apply gate/reverts/t1.txt",
        "git apply t1.patch",
    ):
        assert revert(command) is None, command


def test_entries_of_a_wrong_type_are_dropped_from_a_state() -> None:
    values = {
        "session": 3,
        "started": "x",
        "updated": 2,
        "window": {"files": {"a": 1, "b": "x"}, "verified": [1], "why": 5},
        "cited": {"a": [1, "x"], "b": "x"},
        "delegations": {"t1": "x"},
        "warnings": ["one", 2],
    }
    state = SessionState.from_dict(values)
    assert (state.session, state.updated, state.cited) == ("", 2.0, {"a": [1]})
    assert (state.window.files, state.window.verified, state.warnings) == ({"a": 1}, [], ["one"])
    assert (state.delegations, Window.from_dict("x").files) == ({}, {})


def test_a_state_keeps_its_newest_entries_and_open_delegations() -> None:
    from remit.gate.delegations import close_delegation, open_delegation

    state = SessionState("s1")
    for number in range(MAX_ENTRIES["delegations"] + 2):
        open_delegation(state, f"t{number}", "code-explorer")
    close_delegation(state, "t1", "accepted")
    state.conflicts = [str(number) for number in range(MAX_ENTRIES["conflicts"] + 1)]
    state.trim()
    assert "t1" not in state.delegations
    assert "t0" in state.delegations
    assert state.conflicts[0] == "1"


def test_a_window_counts_and_forgets_reads() -> None:
    window = Window()
    window.add("a", 5)
    window.subtract("b", 1, whole=True)
    window.subtract("a", 2, whole=True)
    other = window.copy()
    other.subtract("a", 9, whole=True)
    assert (window.files, other.files) == ({"a": 3}, {})


def test_citations_and_declarations_cover_what_they_name() -> None:
    state = SessionState("s1")
    state.cite([("a.py", 3), ("a.py", 3), *(("b.py", line) for line in range(300))])
    assert state.is_cited("a.py", 1, 4)
    assert not state.is_cited("a.py", 4, 9)
    assert not state.is_cited("c.py", 1, 9)
    assert len(state.cited["b.py"]) == 200
    state.declarations = [Declaration(kind="verify"), Declaration(kind="edit", paths=["src", "x.py"])]
    assert [state.is_declared("edit", path) for path in ("src/a.py", "x.py", "srcs")] == [True, True, False]
    call = ToolUse("Bash", tool_use_id="t1")
    state.open_writer(call, [])
    state.close_writer(ToolUse("Bash", tool_use_id="t2"))
    assert state.writers[-1].end == 0
    state.close_writer(call)
    assert state.writers[-1].end > 0
