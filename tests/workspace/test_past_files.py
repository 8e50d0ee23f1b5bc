"""The files of past commits are the same as those of `Commit`, and a hostile tree cannot make them endless."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from checkouts import Make, Repository

from remit.workspace import past_files
from remit.workspace.commit import Commit
from remit.workspace.files import MAX_FILE, SourceFile, Workspace
from remit.workspace.history_git import open_repository
from remit.workspace.past_files import Objects, PastFiles


def _past(root: Path, top: Path) -> tuple[PastFiles, Objects]:
    opened = open_repository(str(top), str(root), "HEAD")
    assert opened is not None
    objects = Objects(opened)
    commit = objects.commit(opened.head)
    assert commit is not None
    return PastFiles(str(root), opened.prefix, commit.id, objects), objects


def _content(workspace: Workspace, path: str) -> str:
    content = workspace.read(path)
    return content.text if isinstance(content, SourceFile) else f"absent: {content.why}"


@pytest.mark.parametrize("part", ["", "src"])
def test_past_files_are_the_same_as_those_of_a_commit(repository: Repository, make: Make, part: str) -> None:
    inner = make("inner")
    inner.commit(**{"x.py": "x\n"})
    repository.write("src/app.py", "app\n")
    repository.write("src/deep/er/file.py", "file\n")
    repository.write("src/crlf.py", b"a\r\nb\r\n")
    repository.write("src/binary.bin", b"\0\1")
    repository.write("src/empty.py", "")
    repository.write("src/gr\u00fc\u00dfe.md", "composed\n")
    repository.write("src/u\u0308ber.md", "decomposed\n")
    repository.write("src/large.txt", b"x" * (MAX_FILE + 1))
    repository.write("top.py", "top\n")
    for name, target in {
        "link.py": "app.py",
        "folder": "deep",
        "outside": "../../secret",
        "up": "../top.py",
        "absolute": "/etc/passwd",
        "inside": str(repository.root / "src/app.py"),
        "cycle": "cycle",
        "dangling": "nothing",
        "built": "folder/er/nothing",
    }.items():
        (repository.root / "src" / name).symlink_to(target)
    repository.git("submodule", "--quiet", "add", str(inner.root), "src/module")
    repository.commit()
    root = repository.root / part
    commit = Commit(root, "HEAD")
    past, objects = _past(root, repository.root)
    assert past.paths == commit.paths
    asked = [
        *commit.paths,
        "src/link.py",
        "src/folder/er/file.py",
        "src/folder",
        "src/outside",
        "src/up",
        "src/absolute",
        "src/inside",
    ]
    asked += [
        "src/cycle",
        "src/cycle/x",
        "src/dangling",
        "src/dangling/x.py",
        "src/built",
        "src/folder/nothing",
        "src/module",
        "src/module/x.py",
        "src/app.py/x",
        "missing",
        "..",
    ]
    asked += ["src/\u00fcber.md", "src/gru\u0308\u00dfe.md", "src", "", "src/deep/er"]
    asked += [path.removeprefix("src/") for path in asked]
    assert {path: _content(past, path) for path in asked} == {path: _content(commit, path) for path in asked}
    commit.close()
    objects.close()


def test_a_tree_that_contains_itself_many_times_is_not_listed_completely(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, in_time: None
) -> None:
    monkeypatch.setattr(past_files, "MAX_LISTED", 5_000)
    name = repository.git("hash-object", "-w", "--stdin").strip()
    kind, mode = "blob", "100644"
    for _ in range(12):
        rows = "".join(f"{mode} {kind} {name}\td{n}\n" for n in range(10))
        made = subprocess.run(
            ["git", "mktree"], cwd=repository.root, input=rows, capture_output=True, text=True, check=True
        )
        name = made.stdout.strip()
        kind, mode = "tree", "040000"
    commit = repository.git("commit-tree", "-m", "bomb", name).strip()
    repository.git("update-ref", "HEAD", commit)
    past, objects = _past(repository.root, repository.root)
    assert len(past.paths) <= 5_000
    assert _content(past, "/".join(["d1"] * 12)) == ""
    objects.close()


def test_a_folder_with_too_many_files_is_not_listed_completely(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_files, "MAX_LISTED", 3)
    repository.commit(**{f"{n}.py": "x" for n in range(10)})
    past, objects = _past(repository.root, repository.root)
    assert len(past.paths) == 3
    objects.close()
