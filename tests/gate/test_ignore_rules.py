"""Rules for ignored files count as they were when a session began."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from remit.gate.ignore_rules import are_ignored, forget_rules, ignored_paths, is_rule_file, load_rules, record_rules
from remit.gate.work_tree import TreeRecord, first_record


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    root = tmp_path / "checkout"
    (root / "part/src").mkdir(parents=True)
    (tmp_path / "gate").mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".gitignore").write_text("# rules\nout/\n", encoding="utf-8")
    (root / "part/src/.gitignore").write_text("*.o\n!keep.o\n", encoding="utf-8")
    return root / "part"


def record(project: Path, gate: str, changed: tuple[str, ...] = ()) -> None:
    record_rules(gate, "s1", str(project), first_record(gate, str(project)), changed)


def test_rules_of_all_places_count_if_they_were_there_before(project: Path, tmp_path: Path) -> None:
    gate, paths = str(tmp_path / "gate"), ["out/a", "src/a.o", "src/keep.o", "a.x", "a.y", "a.py"]
    home = tmp_path / "home/.config/git"
    home.mkdir(parents=True)
    (home / "ignore").write_text("*.x\n", encoding="utf-8")
    (tmp_path / "mine").write_text("*.y\n", encoding="utf-8")
    assert are_ignored(str(project), paths, None) == {"out/a", "src/a.o", "a.x"}
    subprocess.run(["git", "config", "core.excludesFile", str(tmp_path / "mine")], cwd=project, check=True)
    record(project, gate)
    known = load_rules(gate, "s1")
    assert are_ignored(str(project), paths, known) == {"out/a", "src/a.o", "a.y"}
    (project.parent / ".git/info/exclude").write_text("*.py\n", encoding="utf-8")
    assert are_ignored(str(project), paths, known) == {"out/a", "src/a.o", "a.y"}
    assert are_ignored(str(project), ["a"], known) == set()


def test_a_rule_that_was_added_hides_no_folder_from_the_record(project: Path, tmp_path: Path) -> None:
    gate = str(tmp_path / "gate")
    for name in ("out", "new"):
        (project / name).mkdir()
        (project / name / "a.py").write_text("", encoding="utf-8")
    assert ignored_paths(str(project), None) == {b"out/"}
    record(project, gate)
    known = load_rules(gate, "s1")
    assert ignored_paths(str(project), known) == {b"out/"}
    (project / ".gitignore").write_text("new/\n", encoding="utf-8")
    (project.parent / ".gitignore").write_text("out/\nother/\n", encoding="utf-8")
    assert ignored_paths(str(project), known) == {b"out/"}


def test_rules_are_recorded_once_unless_a_person_changes_them(project: Path, tmp_path: Path) -> None:
    gate, rule = str(tmp_path / "gate"), project / ".gitignore"
    record(project, gate)
    rule.write_text("*.py\n", encoding="utf-8")
    record(project, gate)
    assert are_ignored(str(project), ["a.py"], load_rules(gate, "s1")) == set()
    record(project, gate, (".gitignore",))
    assert are_ignored(str(project), ["a.py"], load_rules(gate, "s1")) == {"a.py"}
    (project.parent / ".git/info/exclude").write_text("*.z\n", encoding="utf-8")
    record(project, gate, ("../.git/config",))
    assert are_ignored(str(project), ["a.z"], load_rules(gate, "s1")) == {"a.z"}
    forget_rules(gate)
    assert load_rules(gate, "s1") is None
    forget_rules(str(tmp_path / "none"))


def test_a_linked_worktree_has_the_rules_of_its_repository(project: Path, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(project.parent)]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "tree")], check=True)
    (project.parent / ".git/info/exclude").write_text("*.z\n", encoding="utf-8")
    record(tmp_path / "tree", str(tmp_path / "gate"))
    assert are_ignored(str(tmp_path / "tree"), ["a.z"], load_rules(str(tmp_path / "gate"), "s1")) == {"a.z"}


def test_a_folder_without_git_has_no_rules(tmp_path: Path) -> None:
    record_rules(str(tmp_path), "s1", str(tmp_path), TreeRecord(), ())
    assert are_ignored(str(tmp_path), ["a"], load_rules(str(tmp_path), "s1")) == set()


def test_a_damaged_record_is_not_used(tmp_path: Path) -> None:
    assert load_rules(str(tmp_path), "s1") is None
    for data in (b"", b"x", b"[\x00\x00\x00\x00"):
        (tmp_path / "s1.rules").write_bytes(data)
        assert load_rules(str(tmp_path), "s1") is None


def test_files_with_rules_are_known_by_name() -> None:
    named = ("a/.gitignore", ".git/info/exclude", "lib/.git/config", "config", "a.py")
    assert [is_rule_file(name) for name in named] == [True, True, True, False, False]
