"""The test session of `remit doctor` leaves nothing in the project."""

from __future__ import annotations

from pathlib import Path

from remit.clients.setup.own_install import ProbeCall, scripted_model
from remit.gate.session_entries import DecisionEntry
from remit.gate.session_store import list_sessions, open_session


def test_the_state_of_the_test_session_is_removed(tmp_path: Path) -> None:
    folder = str(tmp_path / ".remit/gate")
    with open_session(folder, "mine") as state:
        state.decisions.append(DecisionEntry(paths=["src/app.py"]))
    with scripted_model(tmp_path, ProbeCall("edit", "path", {})) as model:
        with open_session(folder, "test") as state:
            state.decisions.append(DecisionEntry(paths=[str(model.call["input"]["path"])]))
        assert sorted(list_sessions(folder)) == ["mine", "test"]
    assert list_sessions(folder) == ["mine"]
