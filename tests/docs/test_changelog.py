"""Changes wait in files of known categories, and a release collects them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pages import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import changes

CHANGELOG = "# Changelog\n\n## Unreleased\n\n- An old way.\n\n## 0.1.0\n\n- The first.\n"


def folder_with(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name.replace('__', '.')}.md").write_text(text, encoding="utf-8")
    return folder


def test_every_change_of_this_project_has_a_known_category() -> None:
    changes.lines_of(changes.fragments(ROOT / "changes"))


@pytest.mark.parametrize("name", ["a__new", "a", "a__b__fixed"])
def test_a_file_of_another_form_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"NAME\.CATEGORY\.md"):
        changes.fragments(folder_with(tmp_path, **{name: "Text."}))


def test_a_release_has_its_changes_in_the_order_of_their_categories(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, b__fixed="A crash\nis gone.", a__fixed="One.", c__breaking="`--old` is gone.")
    lines = changes.lines_of(changes.fragments(folder))
    assert lines == "- **Breaking**: `--old` is gone.\n- One.\n- A crash is gone.\n"
    assert changes.released(CHANGELOG, lines, "0.2.0 (2026-01-02)") == (
        "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-01-02)\n\n- An old way.\n"
        + lines
        + "\n## 0.1.0\n\n- The first.\n"
    )
    empty = CHANGELOG.replace("- An old way.\n\n", "")
    assert changes.released(empty, "", "0.2.0").count("## ") == 3
