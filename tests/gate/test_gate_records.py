"""The records of the gate: guarded files outside the project, damaged records, kept copies and reverse patches."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from remit.gate import file_versions, work_tree
from remit.gate.call_record import load_record, record_before
from remit.gate.file_versions import StatChange, contents_before, read_version, without_rewritten
from remit.gate.record_store import digest_of
from remit.gate.reverse_patch import FileVersion, keep_reverse_patch
from remit.gate.tool_use import ToolUse
from remit.gate.work_tree import (
    TreeRecord,
    add_folder,
    first_record,
    keep_copies,
    load_tree,
    record_again,
    refresh_ignored,
    scan,
)
from remit.globs import find_matches


@pytest.mark.parametrize("data", [b"", b"nonsense", work_tree.marshal.dumps((0, 1, 2, 3, 4, 5, 6), 2)])
def test_a_damaged_record_is_ignored(data: bytes) -> None:
    assert TreeRecord.loads(data) is None


def test_a_record_is_read_back() -> None:
    record = TreeRecord()
    record.folders = {b"": (9, [b"a.py"], [1], work_tree.marshal.dumps([(2, 3, 4, 5)], 2))}
    record.leave_out([b"venv"])
    again = TreeRecord.loads(record.dumps())
    assert again is not None
    assert again.folders == record.folders
    assert again.left_out == {b"venv": True}


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


def test_a_project_that_has_too_many_files_from_the_start_is_walked_through_once(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    listed: list[bytes] = []
    list_folder = work_tree._list_folder

    def list_and_count(root: bytes, folder: bytes, *others: Any) -> Any:
        listed.append(folder)
        return list_folder(root, folder, *others)

    monkeypatch.setattr(work_tree, "_list_folder", list_and_count)
    monkeypatch.setattr(work_tree, "MAX_FILES", 1)
    gate = str(tmp_path / "gate")
    call = ToolUse("Bash", {"command": "make"}, cwd=str(project), session="s", tool_use_id="toolu_1")
    record_before(call, gate, str(project))
    walked = len(listed)
    record_before(call, gate, str(project))
    assert len(listed) == walked > 0
    record = load_record(call, gate)
    assert record is not None
    tree, changes = scan(str(project), record.tree)
    assert (tree.is_complete, changes, len(listed)) == (False, [], walked)


def test_a_folder_that_cannot_be_read_to_its_end_is_passed_over(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreadable:
        def __iter__(self) -> Any:
            raise PermissionError

    def listed(path: str) -> Any:
        return contextlib.nullcontext(Unreadable()) if path.endswith("src") else scandir(path)

    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", listed)
    assert find_matches(str(project), "**/app.py", 4) == []


def test_new_output_is_dropped_from_the_record(project: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.mkdir()
    refresh_ignored(str(gate), file_versions.ignored_paths(str(project)))
    assert load_tree(str(gate)) is None
    (project / "out").mkdir()
    (project / "out" / "a.o").write_text("", encoding="utf-8")
    record, _ = scan(str(project), TreeRecord())
    assert b"out" in record.folders
    record.save(str(gate))
    refresh_ignored(str(gate), file_versions.ignored_paths(str(project)))
    after = load_tree(str(gate))
    assert after is not None
    assert b"out" not in after.folders
    assert b"src" in after.folders


def change_of(record: TreeRecord, path: str, size: int | None = None) -> StatChange:
    folder, _, name = path.rpartition("/")
    entry = work_tree._entries(record.folders[folder.encode()])[name.encode()]
    before = entry if size is None else (*entry[:2], size, *entry[3:])
    return StatChange(path, before, entry)


def test_content_that_was_not_kept_is_lost(project: Path, tmp_path: Path) -> None:
    def before(change: StatChange) -> bytes | None:
        return contents_before(str(tmp_path), str(project), record.copies, record.head, [change])["src/app.py"]

    def is_rewritten(change: StatChange) -> bool:
        return without_rewritten(str(tmp_path), str(project), record.copies, record.head, [change]) == []

    record, _ = scan(str(project), TreeRecord())
    change, longer = change_of(record, "src/app.py"), change_of(record, "src/app.py", 11)
    assert before(change) is None, "there is no commit"
    record.head = "HEAD"
    assert before(change) == b"x = 1\n"
    assert is_rewritten(change)
    assert before(longer) is None
    assert not is_rewritten(longer)
    assert before(change_of(record, "src/app.py", 7)) == b"x = 1\r\n", "as git may check it out"
    record.copies = {"src/app.py": (change.before[0] + 1, "a copy of another version")}
    assert before(change) is None
    assert not is_rewritten(change)


def test_the_content_of_many_files_is_asked_for_at_once(project: Path, tmp_path: Path) -> None:
    (project / "src/two words.py").write_text("y = 2\n", encoding="utf-8")
    (project / "src/new.py").write_text("z\n", encoding="utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "add", "src/two words.py"], cwd=project, check=True)
    subprocess.run([*git, "commit", "-qm", "two"], cwd=project, check=True)
    record, _ = scan(str(project), TreeRecord())
    record.head = "HEAD"
    entry = change_of(record, "src/app.py").before
    odd = [StatChange(path, entry, entry) for path in ("src", "src/line\nbreak")]
    changes = [change_of(record, f"src/{name}.py") for name in ("two words", "new", "app")]
    assert contents_before(str(tmp_path), str(project), record.copies, record.head, [*odd, *changes]) == {
        "src": None,
        "src/line\nbreak": None,
        "src/two words.py": b"y = 2\n",
        "src/new.py": None,
        "src/app.py": b"x = 1\n",
    }


def test_without_git_nothing_is_ignored_or_committed(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert file_versions.ignored_among(str(project), ["out/a"]) == set()
    assert file_versions.ignored_paths(str(project)) == frozenset()
    assert file_versions.uncommitted(str(project)) is None


def test_copies_are_kept_once_and_up_to_a_size(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, _ = scan(str(project), TreeRecord())
    gate = str(tmp_path / "gate")
    change = change_of(record, "src/app.py")
    others = [StatChange(path, change.before, change.after) for path in ("src/missing.py",)]
    keep_copies(gate, str(project), record, [change, *others])
    assert list(record.copies) == ["src/app.py"]
    kept = dict(record.copies)
    keep_copies(gate, str(project), record, [change])
    assert record.copies == kept
    other, _ = scan(str(project), TreeRecord())
    monkeypatch.setattr(file_versions, "MAX_COPY", 2)
    keep_copies(gate, str(project), other, [change])
    assert other.copies == {}


def test_of_many_files_only_those_are_copied_that_differ_from_the_commit(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_versions, "_MANY", 1)
    (project / "src/new.py").write_text("", encoding="utf-8")
    record = first_record(str(tmp_path / "gate"), str(project))
    assert list(record.copies) == ["src/new.py"]
    keep_copies(str(tmp_path / "gate"), str(project), record, [change_of(record, "src/new.py")])
    record.copies = {}
    keep_copies(str(tmp_path / "gate"), str(project), record, [change_of(record, "src/new.py")])
    assert list(record.copies) == ["src/new.py"], "the copy is there already, and is used again"


def test_a_change_with_the_same_size_and_modification_time_is_seen(project: Path) -> None:
    record, _ = scan(str(project), TreeRecord())
    record.wait_for_the_clock()
    file = project / "src/app.py"
    about = file.stat()
    file.write_text("x = 2\n", encoding="utf-8")
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    after, changes = scan(str(project), record)
    assert [change.path for change in changes] == ["src/app.py"]
    assert changes[0].before[1:3] == changes[0].after[1:3]
    assert without_rewritten("", str(project), record.copies, record.head, changes) == changes
    assert scan(str(project), after)[1] == []


def test_a_file_that_another_one_replaces_is_seen_even_if_all_times_are_equal(project: Path) -> None:
    record, _ = scan(str(project), TreeRecord())
    changed_at, names, times, _ = record.folders[b"src"]
    rest = [(*change_of(record, "src/app.py").before[1:4], 1)]
    record.folders[b"src"] = (changed_at - 1, names, times, work_tree.marshal.dumps(rest, 2))
    assert [change.path for change in scan(str(project), record)[1]] == ["src/app.py"]


def test_a_folder_that_is_replaced_by_a_link_takes_all_folders_below_it_along(project: Path) -> None:
    (project / "src/deep").mkdir()
    (project / "src/deep/b.py").write_text("", encoding="utf-8")
    record, _ = scan(str(project), TreeRecord())
    record.wait_for_the_clock()
    (project / "src").rename(project / "moved")
    (project / "src").symlink_to("moved")
    after, changes = scan(str(project), record)
    assert sorted(change.path for change in changes if change.is_removed) == ["src/app.py", "src/deep/b.py"]
    assert sorted(change.path for change in changes if change.is_new) == ["moved/app.py", "moved/deep/b.py", "src"]
    assert not {b"src", b"src/deep"} & after.folders.keys()


def test_a_record_is_only_saved_after_a_change(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = str(tmp_path)
    record, _ = scan(str(project), TreeRecord())
    again, _ = scan(str(project), record)
    record_again(gate, str(project), again, [])
    assert load_tree(gate) is None
    monkeypatch.setattr(work_tree, "_MANY_FOLDERS", 0)
    record_again(gate, str(project), record, [])
    assert load_tree(gate) is not None, "the next scan lists fewer folders"


def test_the_clock_is_not_waited_for_after_an_old_change(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(work_tree.time, "sleep", waited.append)
    record = TreeRecord()
    record.wait_for_the_clock()
    record.newest = time.time_ns() + 10**12  # another clock
    record.wait_for_the_clock()
    assert waited == []
    record.newest = time.time_ns()
    record.wait_for_the_clock()
    assert 0 < waited[0] <= 0.02


def test_folders_of_dependencies_are_left_out_if_they_were_there_and_are_not_committed(
    project: Path, tmp_path: Path
) -> None:
    for name in ("node_modules", "lib/node_modules", "venv"):
        (project / name).mkdir(parents=True)
        (project / name / "a.js").write_text("", encoding="utf-8")
    subprocess.run(["git", "add", "-f", "lib"], cwd=project, check=True)
    record = first_record(str(tmp_path), str(project))
    assert record.left_out == {b"node_modules": True, b"venv": True, b"lib/node_modules": False}
    assert b"lib/node_modules" in record.folders
    assert not {b"node_modules", b"venv"} & record.folders.keys()
    (project / "src/venv/lib/node_modules").mkdir(parents=True)
    for name in ("src/venv/x.py", "src/venv/lib/node_modules/y.py"):
        (project / name).write_text("", encoding="utf-8")
    after, changes = scan(str(project), record)
    assert (after.dependencies, changes) == ([b"src/venv"], [])
    found = add_folder(str(project), after, "src/venv")
    assert sorted(change.path for change in found) == ["src/venv/lib/node_modules/y.py", "src/venv/x.py"]
    assert all(change.is_new for change in found)
    (project / "src/venv/x.py").write_text("changed", encoding="utf-8")
    assert [change.path for change in scan(str(project), after)[1]] == ["src/venv/x.py"]
    assert add_folder(str(project), after, "src/missing") == []
