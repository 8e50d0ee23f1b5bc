"""The records of the gate: guarded files outside the project, damaged records, kept copies and reverse patches."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from remit.gate import guarded, work_tree
from remit.gate.guarded import changed_outside, is_guarded_outside, outside_files, remit_table_digest
from remit.gate.reverse_patch import FileVersion, digest_of, keep_reverse_patch
from remit.gate.work_tree import (
    StatChange,
    TreeRecord,
    content_before,
    is_rewritten,
    keep_copies,
    load_tree,
    read_version,
    refresh_ignored,
    scan,
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home" / ".claude"
    (folder / "agents" / "deep").mkdir(parents=True)
    (folder / "settings.json").write_text("{}", encoding="utf-8")
    (folder / "agents" / "deep" / "one.md").write_text("one", encoding="utf-8")
    monkeypatch.setattr(guarded, "user_folder", lambda: str(folder))
    return folder


def test_the_users_settings_and_agents_are_watched(home: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.mkdir()
    before = outside_files(str(gate))
    assert {str(home / "settings.json"), str(home / "agents/deep/one.md")} <= set(before)
    (home / "agents" / "two.md").write_text("two", encoding="utf-8")
    changed = changed_outside(str(gate), str(tmp_path / "project"), before, time.time() + 60)
    assert str(home / "agents/two.md") in changed


def test_a_new_file_in_the_package_is_a_change(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package"
    (package / "sub").mkdir(parents=True)
    (package / "__pycache__").mkdir()
    monkeypatch.setattr(guarded, "PACKAGE", str(package))
    start = time.time() - 5
    (package / "sub" / "evil.py").write_text("", encoding="utf-8")
    (package / "__pycache__" / "x.pyc").write_text("", encoding="utf-8")
    gate = str(tmp_path / "gate")
    assert changed_outside(gate, str(tmp_path / "project"), outside_files(gate), start) == [
        str(package / "sub/evil.py")
    ]
    assert is_guarded_outside(str(package / "sub"), str(tmp_path / "project"), whole=False)
    assert is_guarded_outside(str(tmp_path), str(tmp_path / "project"), whole=True)
    assert not is_guarded_outside(str(tmp_path / "other"), str(tmp_path / "project"), whole=True)
    assert is_guarded_outside(str(home / "settings.json"), str(tmp_path / "project"), whole=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("[tool.ruff]\nx = 1\n", ""),
        ("[tool.remit]\nprofile = 'v1'\n[tool.ruff]\nx = 1\n", "[tool.remit]\nprofile = 'v1'"),
        ("[tool]\nremit = {profile = 'v1'}\n", "remit = {profile = 'v1'}"),
    ],
)
def test_the_table_of_remit_is_read_without_a_parser(tmp_path: Path, text: str, expected: str) -> None:
    assert remit_table_digest(str(tmp_path)) == ""
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert remit_table_digest(str(tmp_path)) == expected


@pytest.mark.parametrize("data", [b"", b"nonsense", work_tree.marshal.dumps((0, 1, 2, 3, 4, 5), 2)])
def test_a_damaged_record_is_ignored(data: bytes) -> None:
    assert TreeRecord.loads(data) is None


def test_a_record_is_read_back() -> None:
    record = TreeRecord()
    record.folders = {"": {"a.py": (1, 2, 3, 4)}}
    again = TreeRecord.loads(record.dumps())
    assert again is not None
    assert again.folders == record.folders


def test_the_version_of_a_link_is_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("target")
    mode = os.lstat(link).st_mode
    assert read_version(str(link), mode, 100) == b"target"
    link.unlink()
    assert read_version(str(link), mode, 100) is None
    assert read_version(str(tmp_path), os.lstat(tmp_path).st_mode, 100) is None


def test_a_reverse_patch_restores_links_new_and_removed_files(tmp_path: Path) -> None:
    project, gate = tmp_path / "project", tmp_path / "project/.remit/gate"
    gate.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    link = 0o120777
    versions = {
        "link": (FileVersion(b"old", link), FileVersion(b"new", link)),
        "gone.py": (FileVersion(b"x = 1\n", 0o100644), FileVersion(None, 0)),
        "new.py": (FileVersion(None, 0), FileVersion(b"y = 2\n", 0o100755)),
    }
    (project / "link").symlink_to("new")
    (project / "new.py").write_bytes(b"y = 2\n")
    (project / "new.py").chmod(0o755)
    kept = keep_reverse_patch(str(gate), str(project), versions, "one")
    assert kept is not None
    subprocess.run(kept.command, shell=True, cwd=project, check=True)
    assert (project / "link").readlink() == Path("old")
    assert (project / "gone.py").read_text(encoding="utf-8") == "x = 1\n"
    assert not (project / "new.py").exists()


def test_nothing_to_revert_gives_no_patch(tmp_path: Path) -> None:
    same = FileVersion(b"x\n", 0o100644)
    assert keep_reverse_patch(str(tmp_path / "gate"), str(tmp_path), {"a.py": (same, same)}, "one") is None
    assert len(digest_of(b"x")) == 32


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with one commit that ignores `out`."""
    path = tmp_path / "project"
    (path / "src").mkdir(parents=True)
    (path / "src" / "app.py").write_text("x = 1\n", encoding="utf-8")
    (path / ".gitignore").write_text("out/\n", encoding="utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "start"]):
        subprocess.run([*git, *words], cwd=path, check=True)
    return path


def test_a_removed_folder_is_a_change_of_its_files(project: Path, tmp_path: Path) -> None:
    record, _ = scan(str(project), TreeRecord())
    (project / "src" / "app.py").unlink()
    (project / "src").rmdir()
    _, changes = scan(str(project), record)
    assert [(change.path, change.is_removed) for change in changes] == [("src/app.py", True)]


def test_a_project_with_too_many_files_has_an_incomplete_record(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_tree, "MAX_FILES", 1)
    record, changes = scan(str(project), TreeRecord())
    assert (record.is_complete, changes) == (False, [])


def test_new_output_is_dropped_from_the_record(project: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.mkdir()
    refresh_ignored(str(gate), str(project))
    assert load_tree(str(gate)) is None
    (project / "out").mkdir()
    (project / "out" / "a.o").write_text("", encoding="utf-8")
    record, _ = scan(str(project), TreeRecord())
    assert "out" in record.folders
    (gate / work_tree.FILE).write_bytes(record.dumps())
    refresh_ignored(str(gate), str(project))
    after = load_tree(str(gate))
    assert after is not None
    assert "out" not in after.folders
    assert "src" in after.folders


def test_content_that_was_not_kept_is_lost(project: Path, tmp_path: Path) -> None:
    record, _ = scan(str(project), TreeRecord())
    entry = record.folders["src"]["app.py"]
    change = StatChange("src/app.py", entry, entry)
    assert content_before(str(tmp_path), str(project), record, change) is None, "there is no commit"
    record.head = "HEAD"
    assert content_before(str(tmp_path), str(project), record, change) == b"x = 1\n"
    assert is_rewritten(str(tmp_path), str(project), record, change)
    longer = StatChange("src/app.py", (*entry[:2], entry[2] + 5, entry[3]), entry)
    assert content_before(str(tmp_path), str(project), record, longer) is None
    assert not is_rewritten(str(tmp_path), str(project), record, longer)
    record.copies = {"src/app.py": (entry[0] + 1, "a copy of another version")}
    assert content_before(str(tmp_path), str(project), record, change) is None


def test_copies_are_kept_once_and_up_to_a_size(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, _ = scan(str(project), TreeRecord())
    gate = str(tmp_path / "gate")
    keep_copies(gate, str(project), record, ["src/app.py", "src/missing.py", ".git/config"])
    assert list(record.copies) == ["src/app.py"]
    kept = dict(record.copies)
    keep_copies(gate, str(project), record, ["src/app.py"])
    assert record.copies == kept
    other, _ = scan(str(project), TreeRecord())
    monkeypatch.setattr(work_tree, "MAX_COPY", 2)
    keep_copies(gate, str(project), other, ["src/app.py"])
    assert other.copies == {}
