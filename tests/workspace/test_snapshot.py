"""Snapshots of a tree, and the changes since."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from remit.workspace.files import WorkTree
from remit.workspace.snapshot import Snapshot, difference, take_snapshot


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree with one file for each kind of change."""
    for name in ("kept.py", "changed.py", "deleted.py"):
        (tmp_path / name).write_text("one\n")
    (tmp_path / "image.png").write_bytes(b"\0")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("[core]\n")
    return tmp_path


def test_a_snapshot_shows_what_happened_to_each_file(root: Path) -> None:
    before = take_snapshot(root)
    (root / "changed.py").write_text("two\n")
    (root / "deleted.py").unlink()
    (root / "created.py").write_text("new\n")
    now = WorkTree(root)
    fates = {name: difference(before, now, f"{name}.py") for name in ("kept", "changed", "deleted", "created", "none")}
    assert fates == {
        "kept": "unchanged",
        "changed": "modified",
        "deleted": "deleted",
        "created": "created",
        "none": "absent",
    }


def test_binary_files_and_files_of_git_are_left_out(root: Path) -> None:
    assert sorted(take_snapshot(root).files) == ["changed.py", "deleted.py", "kept.py"]


def test_a_file_written_again_as_it_was_is_unchanged(root: Path) -> None:
    before = take_snapshot(root)
    (root / "kept.py").unlink()
    (root / "kept.py").write_text("one\n")
    assert difference(before, WorkTree(root), "kept.py") == "unchanged"


def test_the_same_tree_gives_the_same_snapshot_and_it_survives_json(root: Path) -> None:
    before = take_snapshot(root)
    assert take_snapshot(root) == before
    assert msgspec.json.decode(msgspec.json.encode(before), type=Snapshot) == before
    assert msgspec.to_builtins(before)["schema"] == "remit.snapshot/1"


def test_an_empty_file_is_a_file(root: Path) -> None:
    before = take_snapshot(root)
    (root / "empty.py").write_text("")
    assert difference(before, WorkTree(root), "empty.py") == "created"
