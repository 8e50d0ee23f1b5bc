"""Digests of the gate's files are removed with the gate."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.gate.witness import forget_folder, is_noted, note_content


@pytest.mark.parametrize("is_named", [True, False])
def test_all_digests_of_a_folder_are_forgotten_and_no_empty_folder_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_named: bool
) -> None:
    gate, home = tmp_path / "gate", tmp_path / "home"
    for folder in (gate, home / ".local/state"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    if is_named:
        monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local/state"))
    else:
        monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    note_content(str(gate), "one.json", b"1")
    assert is_noted(str(gate), "one.json")
    forget_folder(str(gate))
    assert not is_noted(str(gate), "one.json")
    assert list(home.rglob("*")) == ([home / ".local", home / ".local/state"] if is_named else [])
    forget_folder(str(gate))  # nothing is left


def test_digests_of_other_projects_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("gate", "other"):
        (tmp_path / name).mkdir()
        note_content(str(tmp_path / name), "one.json", b"1")
    forget_folder(str(tmp_path / "gate"))
    assert is_noted(str(tmp_path / "other"), "one.json")
