"""Git gets no secrets, has a time limit and reads no files elsewhere, for any repository."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from checkouts import Repository

from remit.affected import change_since
from remit.workspace import past_files
from remit.workspace.commit import Commit
from remit.workspace.git import changed_lines, changes
from remit.workspace.git_folder import external_reference, git_folders, keep_out_of_git, linked_home
from remit.workspace.safe_git import (
    _QUICK,
    GitLimitReached,
    disabled_filters,
    environment,
    run_git,
    without_filters,
)


def _processes_in(folder: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in line and b"git" in line:
            found.append(line.decode())
    return found


def test_a_pipe_in_the_configuration_does_not_block_git(repository: Repository) -> None:
    repository.commit(**{"a.txt": "a\n"})
    os.mkfifo(repository.root / "pipe")
    (repository.root / ".git" / "config").write_text(f"[include]\n\tpath = {repository.root}/pipe\n")
    with pytest.raises(GitLimitReached, match=r"git log took longer than 0\.3 seconds and was stopped"):
        run_git(repository.root, "log", seconds=0.3)
    assert _processes_in(repository.root) == []
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


def test_a_pipe_among_the_objects_does_not_block_a_commit(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit(**{"a.txt": "a\n"})
    name = repository.git("rev-parse", "HEAD:a.txt").strip()
    place = repository.root / ".git" / "objects" / name[:2] / name[2:]
    place.unlink()
    os.mkfifo(place)
    monkeypatch.setattr(past_files, "HANGS_AFTER", 0.3)
    commit = Commit(repository.root, "HEAD")
    with pytest.raises(GitLimitReached, match="cat-file took longer"):
        commit.read("a.txt")
    commit.close()
    assert _processes_in(repository.root) == []


def test_max_bytes_limits_what_is_read(repository: Repository) -> None:
    repository.commit(**{"a.txt": "x" * 3_000_000})
    assert run_git(repository.root, "cat-file", "blob", "HEAD:a.txt", max_bytes=1_000) == b"x" * 1_001
    assert run_git(repository.root, "cat-file", "blob", "HEAD:a.txt", max_bytes=3_000_000) == b"x" * 3_000_000
    assert run_git(repository.root, "cat-file", "blob", "HEAD:none", max_bytes=10) is None


def test_endless_output_is_stopped(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit(**{"a.txt": "x" * 3_000_000})
    monkeypatch.setattr("remit.workspace.safe_git.MAX_OUTPUT", 1024**2)
    with pytest.raises(GitLimitReached, match="printed more than 1 MB"):
        run_git(repository.root, "cat-file", "blob", "HEAD:a.txt")


def test_git_gets_no_secret_of_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = {
        "ANTHROPIC_API_KEY": "sk-x",
        "aws_secret_access": "x",
        "PGPASSWORD": "x",
        "GH_TOKEN": "x",
        "REMIT_DATABASE_URL": "x",
        "REMIT_ANYTHING": "x",
        "HTTPS_PROXY": "http://me:hunter2@proxy:1",
    }
    for name, value in {**hidden, "ORDINARY": "kept", "HTTP_PROXY": "http://proxy:1"}.items():
        monkeypatch.setenv(name, value)
    known = environment(tmp_path)
    assert not hidden.keys() & known.keys()
    assert (known["ORDINARY"], known["HTTP_PROXY"], known["PATH"]) == ("kept", "http://proxy:1", os.environ["PATH"])


@pytest.mark.parametrize("key", ["mailmap.file", "core.attributesFile", "core.excludesFile", "diff.orderFile"])
def test_files_that_a_repository_makes_git_read_are_switched_off(
    repository: Repository, tmp_path: Path, key: str
) -> None:
    os.mkfifo(tmp_path / "outside")  # git would wait for ever
    repository.commit(**{"a.txt": "a\n"})
    repository.git("config", key, str(tmp_path / "outside"))
    settings = without_filters(repository.root)
    assert changed_lines(repository.root, "HEAD") == {}
    assert changes(repository.root) == {}
    assert settings == {key.lower(): os.devnull if key[:4] in ("core", "diff") else ""}
    assert run_git(repository.root, "blame", "a.txt", settings=settings) is not None
    assert run_git(repository.root, "ls-files", "--others", "--exclude-standard", settings=settings) is not None
    assert run_git(repository.root, "diff", "HEAD", settings=settings) is not None


@pytest.mark.parametrize(
    "file",
    [
        *(".git/HEAD", ".git/config", ".git/index", ".git/objects/info/alternates"),
        *(".git/info/attributes", ".git/info/exclude", ".gitattributes", ".gitignore"),
    ],
)
def test_a_pipe_that_git_reads_is_given_up_soon(
    repository: Repository, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit(**{"a.txt": "1\n"})
    (repository.root / file).unlink(missing_ok=True)
    os.mkfifo(repository.root / file)
    monkeypatch.setattr("remit.workspace.safe_git._QUICK", dict.fromkeys(_QUICK, 0.5))
    for call in (lambda: change_since(repository.root, "HEAD"), lambda: changed_lines(repository.root, "HEAD")):
        with pytest.raises(GitLimitReached, match=r"took longer than 0\.5 seconds"):
            call()


@pytest.mark.parametrize("how", ["grafts", "a replaced commit"])
def test_a_history_that_a_repository_makes_a_circle_has_an_end(repository: Repository, how: str) -> None:
    first, last = repository.commit(**{"a.txt": "1\n"}), repository.commit(**{"a.txt": "2\n"})
    if how == "grafts":
        repository.write(".git/info/grafts", f"{first} {last}\n")
    else:
        other = repository.git("commit-tree", "-p", last, "-m", "x", f"{first}^{{tree}}").strip()
        repository.git("update-ref", f"refs/replace/{first}", other)
    assert run_git(repository.root, "rev-list", "--count", "HEAD", seconds=20) == b"2\n"


def test_too_many_filters_are_reported() -> None:
    names = b"".join(b"local\0filter.%s%d.clean\0" % (b"k" * 3_000, number) for number in range(1_500))
    with pytest.raises(GitLimitReached, match="more filters than can be switched off"):
        disabled_filters(names)
    assert len(disabled_filters(names[: names.index(b"\0", 3_020) + 1])) == 1


def _nothing() -> None:
    pass


def test_a_normal_repository_has_no_external_reference(repository: Repository) -> None:
    repository.commit(**{"a.txt": "a\n"})
    own = repository.root / ".git"
    (own / "hooks").rename(own / "old-hooks")
    (own / "hooks").symlink_to(repository.root)  # not read: nothing is run
    (own / "refs" / "heads" / "same").symlink_to("main")
    (own / "objects" / "info" / "alternates").write_text(f"# none\n\n{own}/objects\n")
    assert external_reference(own, _nothing) == ""


@pytest.mark.parametrize("place", ["objects", "refs", "refs/heads/x", "objects/ab", "HEAD", "packed-refs", "config"])
def test_a_link_out_of_the_repository_is_detected(repository: Repository, tmp_path: Path, place: str) -> None:
    repository.commit(**{"a.txt": "a\n"})
    (tmp_path / "outside").mkdir()
    linked = repository.root / ".git" / place
    if linked.exists():
        linked.rename(tmp_path / "moved")
    linked.symlink_to(tmp_path / "outside")
    assert external_reference(repository.root / ".git", _nothing) == "contains a link that leads out of it"


@pytest.mark.parametrize("listed", ["{outside}\n", "../../../outside/objects", '"/quoted"\n', "{link}\n"])
def test_alternates_elsewhere_are_detected(repository: Repository, tmp_path: Path, listed: str) -> None:
    repository.commit(**{"a.txt": "a\n"})
    (tmp_path / "outside" / "objects").mkdir(parents=True)
    (repository.root / "link").symlink_to(tmp_path / "outside")
    text = listed.format(outside=tmp_path / "outside", link=repository.root / "link")
    (repository.root / ".git" / "objects" / "info" / "alternates").write_text(text)
    assert "alternates" in external_reference(repository.root / ".git", _nothing)


def test_a_pipe_in_a_git_folder_is_detected(repository: Repository) -> None:
    os.mkfifo(repository.root / ".git" / "index")
    assert external_reference(repository.root / ".git", _nothing) == "contains a pipe or device"


def test_pointers_that_are_pipes_or_cycles_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    os.mkfifo(tmp_path / "x" / "gitdir")
    os.mkfifo(tmp_path / "x" / "commondir")
    (tmp_path / ".git").write_text("gitdir: x\n")
    assert linked_home(tmp_path) is None
    assert git_folders(tmp_path) == [tmp_path / "x"]
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / ".git").write_text("gitdir: circle\n")
    assert linked_home(tmp_path) is None
    (tmp_path / ".git").unlink()
    os.mkfifo(tmp_path / ".git")
    assert (linked_home(tmp_path), git_folders(tmp_path)) == (None, [])


def test_gitignore_is_not_written_through_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / ".gitignore").symlink_to(tmp_path / "elsewhere")
    keep_out_of_git(folder)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("folder", ["src", "src/deep"])
def test_a_pipe_as_the_attributes_of_a_folder_is_named_and_not_waited_for(repository: Repository, folder: str) -> None:
    repository.commit(**{"src/deep/a.txt": "1\n"})
    repository.write("src/deep/a.txt", "2\n")
    os.mkfifo(repository.root / folder / ".gitattributes")
    for call in (lambda: changes(repository.root), lambda: changed_lines(repository.root, "HEAD")):
        with pytest.raises(GitLimitReached, match=rf"^{folder}/\.gitattributes is a pipe, which would block git"):
            call()
