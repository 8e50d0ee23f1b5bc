"""A state is saved without being lost, whenever the process ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.errors import EnvironmentBroken
from remit.gate import state_file
from remit.gate.session_store import list_sessions, open_session, read_session


def save(folder: Path, warning: str) -> None:
    with open_session(str(folder), "s") as state:
        state.warn(warning)


def test_a_process_that_ends_while_it_saves_leaves_the_old_state(tmp_path: Path) -> None:
    save(tmp_path, "first")
    (tmp_path / "s.json").rename(tmp_path / "s.json.old")  # it ended after the first of two renames
    found = read_session(str(tmp_path), "s")
    assert found is not None
    assert found.warnings == ["first"]
    save(tmp_path, "second")
    found = read_session(str(tmp_path), "s")
    assert found is not None
    assert found.warnings == ["first", "second"]
    assert not (tmp_path / "s.json.old").exists()
    assert list_sessions(str(tmp_path)) == ["s"]


def test_a_state_that_cannot_be_written_keeps_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, "first")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(state_file, "replace_file", fail)
    monkeypatch.setattr(state_file, "_write", lambda *_: False)
    with pytest.raises(EnvironmentBroken, match="No space left"):
        save(tmp_path, "second")
    monkeypatch.undo()
    found = read_session(str(tmp_path), "s")
    assert found is not None
    assert found.warnings == ["first"]


def test_a_session_without_a_state_reads_as_nothing(tmp_path: Path) -> None:
    assert read_session(str(tmp_path), "nothing") is None
