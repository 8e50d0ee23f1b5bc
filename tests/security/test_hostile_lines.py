"""Hostile command lines really run in a scratch project: no protected file changes without a report."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import use_as_home
from scratch_project import ScratchProject, corpus, told_person

from remit.gate.settings import GateSettings

pytestmark = [pytest.mark.process, pytest.mark.slow]

LINES = corpus("hostile")
#: Folders of dependencies, which git does not ignore here but every project does.
_DEPENDENCIES = "src/venv/"


def test_there_are_many_techniques() -> None:
    assert len(LINES) >= 10
    assert sum(map(len, LINES.values())) >= 300


@pytest.mark.parametrize("technique", LINES)
def test_no_effect_on_a_protected_file_is_unreported(
    technique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_as_home(tmp_path, monkeypatch)
    shop = ScratchProject(tmp_path)
    template = tmp_path / "template"
    shutil.copytree(shop.path, template, symlinks=True)
    shutil.copytree(shop.home, tmp_path / "template-home", symlinks=True)
    unreported = {}
    for line in LINES[technique]:
        before = shop.snapshot()
        first, after = shop.run(line)
        changed = [name for name in _changes(before, shop.snapshot()) if _is_protected(name)]
        if changed and not told_person(after) and not told_person(first):
            unreported[line] = changed[:3]
        for folder, copy in ((shop.path, template), (shop.home, tmp_path / "template-home")):
            shop.path.mkdir(exist_ok=True)
            shop.shell(f"chmod -R u+rwx {folder}")
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(copy, folder, symlinks=True)
    assert unreported == {}


def _changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _is_protected(name: str) -> bool:
    """Return whether a file is protected, by the documented classes and the project's .gitignore."""
    if name.startswith("~"):
        return True
    is_prose = name.endswith(".md") and not name.startswith((".claude/", "docs/specs/"))
    is_ignored = name.endswith(".pyc") or "__pycache__" in name or name.startswith(("build/", _DEPENDENCIES))
    is_state = name.startswith(GateSettings().paths["state"][0].removesuffix("**"))
    return not (is_prose or is_ignored or is_state) and not name.endswith("nohup.out")
