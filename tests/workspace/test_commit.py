"""The files of a commit, independent of the work tree."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from checkouts import Make, Repository

from remit.errors import EnvironmentBroken, UsageError
from remit.workspace import files
from remit.workspace.commit import Commit
from remit.workspace.files import MAX_FILE, Absent, SourceFile, Workspace


@contextmanager
def opened(root: Path, rev: str = "HEAD") -> Iterator[Commit]:
    commit = Commit(root, rev)
    try:
        yield commit
    finally:
        commit.close()


def content_of(workspace: Workspace, written: str) -> str:
    """Return the text of a file, or the reason why it cannot be read."""
    found = workspace.read(written)
    return found.why if isinstance(found, Absent) else found.text


def test_a_commit_is_read_while_the_work_tree_differs(repository: Repository) -> None:
    first = repository.commit(**{"a.py": "old\n", "gone.py": "gone\n"})
    repository.write("a.py", "new\n")
    (repository.root / "gone.py").unlink()
    repository.write("untracked.py", "x\n")
    with opened(repository.root) as commit:
        assert commit.id == first
        assert content_of(commit, "a.py") == "old\n"
        assert content_of(commit, "gone.py") == "gone\n"
        assert content_of(commit, "untracked.py") == "missing"
        assert commit.paths == ["a.py", "gone.py"]


@pytest.mark.parametrize("rev", ["HEAD~1", "v1", "main~1", "{first}", "{short}", "HEAD^", "HEAD^{{/the first}}"])
def test_a_commit_is_found_by_every_name_that_git_accepts(repository: Repository, rev: str) -> None:
    repository.write("a.py", "first\n")
    repository.git("add", ".")
    repository.git("commit", "--quiet", "--message", "the first")
    first = repository.git("rev-parse", "HEAD").strip()
    repository.git("tag", "--annotate", "--message", "a tag", "v1")
    repository.commit(**{"a.py": "second\n"})
    with opened(repository.root, rev.format(first=first, short=first[:9])) as commit:
        assert content_of(commit, "a.py") == "first\n"


@pytest.mark.parametrize(
    "rev", ["no-such", "", "-h", "--help", "--all", "-", "HEAD:a.py", "HEAD^{tree}", "a\nb", "a\0b", "HEAD..HEAD", "é"]
)
def test_an_unknown_revision_is_reported_in_one_line(repository: Repository, rev: str) -> None:
    repository.commit(**{"a.py": ""})
    with pytest.raises(UsageError) as raised:
        Commit(repository.root, rev)
    assert "\n" not in str(raised.value)
    assert f"has no commit {rev!r}" in str(raised.value)


def test_a_branch_that_begins_with_a_dash_is_not_an_option(repository: Repository) -> None:
    repository.commit(**{"a.py": "first\n"})
    repository.git("update-ref", "refs/heads/-x", "HEAD")
    repository.commit(**{"a.py": "second\n"})
    with opened(repository.root, "-x") as commit:
        assert content_of(commit, "a.py") == "first\n"


def test_a_folder_without_git_is_named_as_the_cause(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not in a git repository"):
        Commit(tmp_path, "HEAD")


def test_without_git_on_the_path_the_environment_is_broken(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit(**{"a.py": ""})
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentBroken, match="git cannot be started"):
        Commit(repository.root, "HEAD")


def test_a_part_of_the_checkout_can_be_the_root(repository: Repository) -> None:
    repository.write("shop/app/a.py", "inside\n")
    repository.write("top.py", "above\n")
    repository.commit()
    (repository.root / "shop" / "up.py").symlink_to("../top.py")
    repository.commit()
    with opened(repository.root / "shop") as commit:
        assert commit.paths == ["app/a.py"]
        assert content_of(commit, "app/a.py") == "inside\n"
        assert content_of(commit, f"{repository.root}/shop/app/a.py") == "inside\n"
        assert content_of(commit, "app") == "folder"
        assert content_of(commit, "top.py") == "missing"
        assert content_of(commit, "../top.py") == "outside"
        assert content_of(commit, "up.py") == "outside"


def test_a_part_that_the_commit_does_not_have_is_empty(repository: Repository) -> None:
    first = repository.commit(**{"a.py": ""})
    repository.write("shop/b.py", "")
    repository.commit()
    with opened(repository.root / "shop", first) as commit:
        assert commit.paths == []
        assert content_of(commit, "b.py") == "missing"


def test_links_in_the_tree_are_followed_inside_and_not_out(repository: Repository) -> None:
    repository.write("app/a.py", "here\n")
    for name, target in {
        "link.py": "app/a.py",
        "chain.py": "link.py",
        "app/up.py": "../link.py",
        "folder": "app",
        "here": ".",
        "absolute.py": f"{repository.root}/app/a.py",
        "out.py": "../../etc/passwd",
        "out-absolute": "/etc/passwd",
        "config": ".git/config",
        "nowhere": "no/such",
        "loop": "loop",
        "..dots": "app/a.py",
        "to-dots": "..dots",
    }.items():
        (repository.root / name).symlink_to(target)
    repository.commit()
    with opened(repository.root) as commit:
        for name in ("link.py", "chain.py", "app/up.py", "folder/a.py", "here/folder/a.py", "absolute.py", "to-dots"):
            assert content_of(commit, name) == "here\n", name
        for name in ("out.py", "out-absolute", "config"):
            assert content_of(commit, name) == "outside", name
        for name in ("folder", "here"):
            assert content_of(commit, name) == "folder", name
        for name in ("loop", "loop/a.py", "folder/none.py"):
            assert content_of(commit, name) == "missing", name
        assert content_of(commit, "nowhere") == "dangling"
        assert commit.paths == ["app/a.py"]
        found = commit.read("chain.py")
        assert isinstance(found, SourceFile)
        assert found.path == "chain.py"


def test_a_submodule_is_reported_as_such(repository: Repository, make: Make) -> None:
    library = make("library")
    library.commit(**{"b.py": "library\n"})
    repository.commit(**{"a.py": ""})
    repository.git("submodule", "--quiet", "add", str(library.root), "vendor/library")
    repository.commit()
    with opened(repository.root) as commit:
        assert content_of(commit, "vendor/library") == "submodule"
        assert content_of(commit, "vendor/library/b.py") == "submodule"
        assert content_of(commit, "vendor/library/none/c.py") == "submodule"
        assert content_of(commit, "vendor") == "folder"
        assert commit.paths == [".gitmodules", "a.py"]
    tree = files.WorkTree(repository.root)
    assert content_of(tree, "vendor/library/b.py") == "library\n"
    assert content_of(tree, "vendor/library/.git") == "outside"
    assert tree.paths == [".gitmodules", "a.py", "vendor/library/b.py"]


@pytest.mark.parametrize(
    "name", ["two words.py", "line\nbreak.py", "tab\t.py", 'quote".py', "日本/ファイル.py", "-x.py", "a:b.py"]
)
def test_every_valid_file_name_is_read(repository: Repository, name: str) -> None:
    repository.write(name, "here\n")
    repository.commit()
    with opened(repository.root) as commit:
        assert commit.paths == [name]
        assert content_of(commit, name) == "here\n"


def test_a_name_that_is_not_utf_8_is_read(repository: Repository) -> None:
    try:
        Path(os.fsdecode(os.fsencode(repository.root) + b"/caf\xe9.py")).write_text("here\n")
    except OSError as error:
        pytest.skip(f"this disk takes no such name: {error}")
    repository.commit()
    with opened(repository.root) as commit:
        assert content_of(commit, commit.paths[0]) == "here\n"


@pytest.mark.parametrize("in_tree", ["NFC", "NFD"])
@pytest.mark.parametrize("written", ["NFC", "NFD"])
def test_composed_and_decomposed_letters_are_the_same_name(repository: Repository, in_tree: str, written: str) -> None:
    repository.write(unicodedata.normalize(in_tree, "Zoë/café.py"), "here\n")
    repository.commit()
    with opened(repository.root) as commit:
        assert content_of(commit, unicodedata.normalize(written, "Zoë/café.py")) == "here\n"
        assert content_of(commit, "Zoë/none.py") == "missing"


def test_the_case_of_a_name_counts(repository: Repository) -> None:
    repository.commit(**{"Cart.py": ""})
    with opened(repository.root) as commit:
        assert content_of(commit, "cart.py") == "missing"


def test_a_file_after_a_large_one_is_read_correctly(repository: Repository) -> None:
    repository.write("large.txt", b"a\n" * (MAX_FILE // 2 + 1))
    repository.write("most.txt", b"b" * MAX_FILE)
    repository.write("empty.txt", "")
    repository.write("small.txt", "small\n")
    repository.commit()
    with opened(repository.root) as commit:
        for _ in range(2):
            assert content_of(commit, "large.txt") == "large"
            commit._cache.clear()
            assert content_of(commit, "small.txt") == "small\n"
            assert content_of(commit, "empty.txt") == ""
            assert len(content_of(commit, "most.txt")) == MAX_FILE
        assert commit.exists("large.txt")


def test_a_binary_file_is_not_read_as_text(repository: Repository) -> None:
    repository.write("image.png", b"\x89PNG\0")
    repository.commit()
    with opened(repository.root) as commit:
        assert content_of(commit, "image.png") == "binary"


def git_of(commit: Commit) -> subprocess.Popen[bytes]:
    """Return the process that reads the objects."""
    (process,) = commit._objects._processes.values()
    return process


class Spy:
    """Counts the programs that are started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.commands: list[list[str]] = []
        spy = self

        class Popen(subprocess.Popen):  # type: ignore[type-arg]
            def __init__(self, command: list[str], *rest: object, **options: object) -> None:
                spy.commands.append(command)
                super().__init__(command, *rest, **options)

        monkeypatch.setattr(subprocess, "Popen", Popen)

    def count(self, word: str) -> int:
        return sum(word in command for command in self.commands)


def test_one_git_process_serves_many_files(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit(**{f"{number}.py": f"{number}\n" for number in range(200)})
    spy = Spy(monkeypatch)
    with opened(repository.root) as commit:
        assert [content_of(commit, f"{number}.py") for number in range(200)] == [f"{number}\n" for number in range(200)]
        assert all(content_of(commit, f"{number}.none") == "missing" for number in range(50))
        assert len(commit.paths) == 200
    assert spy.count("cat-file") == 1
    assert len(spy.commands) <= 4


def test_opening_a_commit_reads_nothing_yet(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit(**{"a.py": ""})
    spy = Spy(monkeypatch)
    Commit(repository.root, "HEAD").close()
    assert spy.count("cat-file") == 0


def test_closing_ends_the_process_and_may_be_done_twice(repository: Repository) -> None:
    repository.commit(**{"a.py": "a\n", "b.py": "b\n"})
    commit = Commit(repository.root, "HEAD")
    assert content_of(commit, "a.py") == "a\n"
    process = git_of(commit)
    assert process.poll() is None
    commit.close()
    assert process.returncode == 0
    commit.close()
    assert content_of(commit, "b.py") == "b\n"  # opened again where it is needed
    commit.close()


def test_a_git_that_dies_is_a_broken_environment_and_not_a_missing_file(repository: Repository) -> None:
    repository.commit(**{"a.py": "a\n", "b.py": "b\n"})
    with opened(repository.root) as commit:
        assert content_of(commit, "a.py") == "a\n"
        git_of(commit).kill()
        git_of(commit).wait()
        with pytest.raises(EnvironmentBroken, match=r"git cannot read 'b\.py'"):
            commit.read("b.py")


def test_an_object_that_the_clone_lacks_is_not_a_missing_file(repository: Repository) -> None:
    repository.commit(**{"a.py": "a\n", "b.py": "b\n"})
    name = repository.git("rev-parse", "HEAD:a.py").strip()
    (repository.root / ".git" / "objects" / name[:2] / name[2:]).unlink()
    with opened(repository.root) as commit:
        assert content_of(commit, "a.py") == "forbidden"
        assert content_of(commit, "b.py") == "b\n"
        assert commit.exists("a.py")


def test_a_tree_that_cannot_be_listed_is_a_broken_environment(repository: Repository) -> None:
    repository.commit(**{"a.py": "a\n"})
    name = repository.git("rev-parse", "HEAD^{tree}").strip()
    (repository.root / ".git" / "objects" / name[:2] / name[2:]).unlink()
    with opened(repository.root) as commit, pytest.raises(EnvironmentBroken, match="cannot read"):
        commit.read("a.py")


def test_a_tree_larger_than_the_list_is_still_read_whole(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit(**{f"{number}.py": "here\n" for number in range(9)})
    monkeypatch.setattr("remit.workspace.commit.MAX_LISTED", 3)
    with opened(repository.root) as commit:
        assert len(commit.paths) == 3
        assert content_of(commit, "8.py") == "here\n"


def test_a_bare_repository_has_commits_too(repository: Repository, tmp_path: Path) -> None:
    repository.commit(**{"a.py": "here\n"})
    for place in (tmp_path / "bare", repository.root / "mirror"):
        repository.git("clone", "--quiet", "--bare", str(repository.root), str(place))
        with opened(place) as commit:
            assert content_of(commit, "a.py") == "here\n"
