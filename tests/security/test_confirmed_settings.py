"""Hooks obey only the settings that a person has confirmed, and state in every answer that others are not obeyed."""

from __future__ import annotations

from pathlib import Path

import pytest
from scratch_project import ScratchProject, decision_of, told_person

from remit.clients.hooks.compiled import read_compiled
from remit.clients.hooks.compiling import compile_project
from remit.gate.record_store import open_store

OBSERVE = '[gate]\nmode = "observe"\n'
EDIT = "echo x > src/app.py"


@pytest.fixture
def shop(shop: ScratchProject) -> ScratchProject:
    open_store(str(shop.folder)).remove("settings")
    compile_project(shop.path, confirm=True)
    return shop


def test_a_changed_file_is_not_obeyed_and_every_hook_reports_it(shop: ScratchProject) -> None:
    (shop.path / "remit.toml").write_text(OBSERVE)
    for _ in range(2):
        answer = shop.before(EDIT)[1]
        assert decision_of(answer) == "deny"
        assert "remit.toml changed since you confirmed the settings" in told_person(answer)
    assert "remit gate trust" in told_person(shop.hook("SessionStart", "", {}, "", source="startup"))
    assert "remit gate trust" in told_person(shop.before("ls")[1])


def test_a_confirmed_file_is_obeyed(shop: ScratchProject) -> None:
    (shop.path / "remit.toml").write_text(OBSERVE)
    compile_project(shop.path, confirm=True)
    assert shop.before(EDIT)[1] == {}


def test_a_restored_file_ends_the_notice(shop: ScratchProject) -> None:
    before = (shop.path / "remit.toml").read_text()
    (shop.path / "remit.toml").write_text(OBSERVE)
    assert told_person(shop.before("ls")[1])
    (shop.path / "remit.toml").write_text(before)
    assert shop.before("ls")[1] == {}


def test_a_removed_or_new_file_is_not_obeyed_either(shop: ScratchProject) -> None:
    (shop.path / "remit.toml").unlink()
    assert "remit.toml" in told_person(shop.before("ls")[1])
    (shop.path / "pyproject.toml").write_text('[tool.remit.gate]\nmode = "observe"\n')
    assert decision_of(shop.before(EDIT)[1]) == "deny"


@pytest.mark.parametrize("removed", ["trusted.json", "settings"])
def test_a_missing_record_obeys_nothing_new(shop: ScratchProject, removed: str) -> None:
    (shop.path / "remit.toml").write_text(OBSERVE)
    (shop.folder / removed).unlink(missing_ok=True)
    open_store(str(shop.folder)).remove(removed)
    answer = shop.before(EDIT)[1]
    assert decision_of(answer) == "deny"
    assert "remit gate trust" in told_person(answer)


def test_the_first_compilation_confirms_the_settings(tmp_path: Path) -> None:
    (tmp_path / "remit.toml").write_text(OBSERVE)
    compile_project(tmp_path)
    compiled = read_compiled(str(tmp_path))
    assert compiled is not None
    assert compiled["gate"]["mode"] == "observe"
