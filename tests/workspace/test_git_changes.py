"""The changes since a commit that git reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checkouts import Repository

from remit.workspace import git, safe_git
from remit.workspace.git import FileChangeStat, changes, head
from remit.workspace.safe_git import root_above, run_git


def test_nothing_has_changed_after_a_commit(repository: Repository) -> None:
    repository.commit(**{"a.py": "one\n"})
    assert changes(repository.root) == {}


def test_lines_are_counted_for_every_kind_of_change(repository: Repository) -> None:
    repository.commit(**{"changed.py": "one\ntwo\nthree\n", "deleted.py": "one\ntwo\n", "staged.py": "one\n"})
    repository.write("changed.py", "one\n2\nthree\nfour\n")
    (repository.root / "deleted.py").unlink()
    repository.write("staged.py", "one\ntwo\n")
    repository.write("added.py", "one\ntwo\nthree\n")
    repository.git("add", "staged.py", "added.py")
    repository.write("new.py", "one\n")
    assert changes(repository.root) == {
        "changed.py": FileChangeStat(2, 1),
        "deleted.py": FileChangeStat(0, 2),
        "staged.py": FileChangeStat(1, 0),
        "added.py": FileChangeStat(3, 0, created=True),
        "new.py": FileChangeStat(None, 0, created=True),
    }


def test_a_renamed_file_counts_as_deleted_and_created(repository: Repository) -> None:
    repository.commit(**{"old.py": "one\ntwo\n"})
    repository.git("config", "diff.renames", "copies")
    repository.git("mv", "old.py", "new.py")
    assert changes(repository.root) == {"old.py": FileChangeStat(0, 2), "new.py": FileChangeStat(2, 0, created=True)}


def test_a_binary_file_has_no_count(repository: Repository) -> None:
    repository.write("image.png", b"\0one")
    repository.commit()
    repository.write("image.png", b"\0two")
    assert changes(repository.root) == {"image.png": FileChangeStat(None, None)}


def test_ignored_files_are_not_among_the_untracked(repository: Repository) -> None:
    repository.commit(**{".gitignore": "build/\n"})
    repository.write("build/a.o", "x")
    repository.write("a.py", "x")
    assert changes(repository.root) == {"a.py": FileChangeStat(None, 0, created=True)}


@pytest.mark.parametrize("name", ["two words.py", "tab\t.py", "line\nbreak.py", "日本.py", 'quote".py', "-x.py"])
def test_unusual_names_are_returned_unchanged(repository: Repository, name: str) -> None:
    repository.write(name, "one\n")
    repository.commit()
    repository.write(name, "two\n")
    repository.write(f"new/{name}", "one\n")
    assert changes(repository.root) == {
        name: FileChangeStat(1, 1),
        f"new/{name}": FileChangeStat(None, 0, created=True),
    }


def test_below_a_part_of_the_checkout_paths_are_relative_to_it(repository: Repository) -> None:
    repository.write("shop/a.py", "one\n")
    repository.commit(**{"top.py": "one\n"})
    repository.write("shop/a.py", "two\n")
    repository.write("shop/new.py", "new\n")
    repository.write("top.py", "two\n")
    repository.write("other.py", "new\n")
    assert changes(repository.root / "shop") == {
        "a.py": FileChangeStat(1, 1),
        "new.py": FileChangeStat(None, 0, created=True),
    }


def test_another_commit_may_be_the_base(repository: Repository) -> None:
    first = repository.commit(**{"a.py": "one\n"})
    repository.commit(**{"a.py": "one\ntwo\n"})
    assert changes(repository.root, first) == {"a.py": FileChangeStat(1, 0)}
    assert changes(repository.root, "no-such") is None


def test_a_file_that_was_only_touched_has_not_changed(repository: Repository) -> None:
    path = repository.write("a.py", "one\n")
    repository.commit()
    path.write_text("one\n")
    assert changes(repository.root) == {}


def test_changes_need_a_commit_and_a_repository(repository: Repository, tmp_path: Path) -> None:
    repository.write("a.py", "one\n")
    assert changes(repository.root) is None
    assert head(repository.root) is None
    (tmp_path / "plain").mkdir()
    assert changes(tmp_path / "plain") is None


def test_changes_need_git_on_the_path(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit(**{"a.py": "one\n"})
    monkeypatch.setenv("PATH", "/nowhere")
    assert changes(repository.root) is None


def test_the_root_is_the_nearest_parent_with_a_repository(repository: Repository, tmp_path: Path) -> None:
    inside = repository.write("app/deep/a.py", "")
    assert root_above(inside) == repository.root
    assert root_above(inside.parent) == repository.root
    assert root_above(repository.root) == repository.root
    repository.write("app/.git", "gitdir: elsewhere\n")
    assert root_above(inside) == repository.root / "app"
    assert root_above(tmp_path) is None


def test_the_head_is_the_commit_that_is_checked_out(repository: Repository) -> None:
    first = repository.commit(**{"a.py": ""})
    assert head(repository.root) == first
    second = repository.commit(**{"b.py": ""})
    assert head(repository.root) == second != first


def test_the_head_is_what_git_names_in_every_form_of_a_repository(repository: Repository, tmp_path: Path) -> None:
    first = repository.commit(**{"a.py": ""})
    assert head(repository.root / "not there") == first
    repository.git("pack-refs", "--all")
    assert head(repository.root) == first
    repository.git("checkout", "-q", "--detach")
    assert head(repository.root) == first
    repository.git("worktree", "add", "-q", str(tmp_path / "other"))
    assert head(tmp_path / "other") == first


@pytest.mark.parametrize(
    "written", ["", "ref: refs/heads/../../../secret\n", "ref: refs/heads/none\n", "0" * 40, "x" * 9_000]
)
def test_there_is_no_head_without_a_commit(written: str, repository: Repository) -> None:
    repository.commit(**{"a.py": ""})
    repository.write("secret", "1" * 40 + "\n")
    (repository.root / ".git/HEAD").write_text(written)
    assert head(repository.root) in (None, "0" * 40)


def test_the_head_needs_no_program(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    first = repository.commit(**{"a.py": ""})
    monkeypatch.setenv("PATH", "/nowhere")
    assert head(repository.root) == first
    monkeypatch.setattr("os.geteuid", lambda: -1)  # another user's repository: git decides, and there is no git
    assert head(repository.root) is None
    monkeypatch.delattr("os.geteuid")
    assert head(repository.root) is None


def test_the_filters_of_a_repository_are_read_once_for_its_changes(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit(**{"a.py": "one\n"})
    repository.write("new.py", "one\n")
    asked: list[str] = []

    def run(root: str, *arguments: str, **options: Any) -> bytes | None:
        asked.append(arguments[0])
        return run_git(root, *arguments, **options)

    monkeypatch.setattr(safe_git, "run_git", run)
    monkeypatch.setattr(git, "run_git", run)
    assert changes(repository.root) == {"new.py": FileChangeStat(None, 0, created=True)}
    assert asked.count("config") == 1
