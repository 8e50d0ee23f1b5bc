"""Git reads a repository's own configuration, which must not make it run anything.

Each trap is first tried with plain git: a trap that does not work there would prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from checkouts import Make, Repository

from remit.workspace import snapshot
from remit.workspace.commit import Commit
from remit.workspace.files import SourceFile, WorkTree
from remit.workspace.git import changed_lines, changes, head
from remit.workspace.safe_git import root_above


class Trap(NamedTuple):
    """A checkout that makes git run a script, and the marker file which that script writes."""

    repository: Repository
    script: Path
    marker: Path

    @property
    def has_caught(self) -> bool:
        return self.marker.exists()

    def reset(self) -> None:
        self.marker.unlink(missing_ok=True)


@pytest.fixture
def trap(repository: Repository, tmp_path: Path) -> Trap:
    """A repository with two commits, a change of equal size, and a script that leaves a marker."""
    repository.commit(**{"a.txt": "one\n", "b.txt": "same\n"})
    repository.commit(**{"a.txt": "two\n"})
    marker, script = tmp_path / "MARKER", tmp_path / "script.sh"
    script.write_text(f"#!/bin/sh\necho ran >> '{marker}'\ncat 2>/dev/null </dev/null\nexit 0\n")
    script.chmod(0o755)
    repository.write("a.txt", "six\n")
    return Trap(repository, script, marker)


def do_everything(root: Path) -> None:
    """Call every function of the workspace that runs git."""
    assert root_above(root) == root
    assert head(root)
    found = changes(root)
    assert found is not None
    assert found["a.txt"][:2] == (1, 1)
    assert changed_lines(root, "HEAD")["a.txt"] == [(1, 1)]
    commit = Commit(root, "HEAD~1")
    assert "a.txt" in commit.paths
    read = commit.read("a.txt")
    assert isinstance(read, SourceFile)
    assert read.text == "one\n"
    commit.close()
    assert "a.txt" in snapshot.take_snapshot(root).files
    assert isinstance(WorkTree(root).read("a.txt"), SourceFile)


def _fsmonitor(trap: Trap) -> None:
    trap.repository.git("config", "core.fsmonitor", str(trap.script))


def _external_diff(trap: Trap) -> None:
    trap.repository.git("config", "diff.external", str(trap.script))


def _diff_driver(trap: Trap) -> None:
    trap.repository.write(".git/info/attributes", "*.txt diff=mine\n")
    trap.repository.git("config", "diff.mine.command", str(trap.script))


def _textconv(trap: Trap) -> None:
    trap.repository.write(".git/info/attributes", "*.txt diff=mine\n")
    trap.repository.git("config", "diff.mine.textconv", str(trap.script))


def _clean_filter(trap: Trap) -> None:
    trap.repository.write(".git/info/attributes", "*.txt filter=mine\n")
    trap.repository.git("config", "filter.mine.clean", f"{trap.script}; cat")
    trap.repository.git("config", "filter.mine.required", "true")


def _odd_clean_filter(trap: Trap) -> None:
    trap.repository.write(".git/info/attributes", "*.txt filter=a=b\n")
    trap.repository.git("config", "filter.a=b.clean", f"{trap.script}; cat")


def _included_filter(trap: Trap) -> None:
    trap.repository.write(".git/info/attributes", "*.txt filter=mine\n")
    trap.repository.write(".git/more", f'[filter "mine"]\n\tclean = "{trap.script}; cat"\n')
    trap.repository.git("config", "include.path", "more")


def _worktree_filter(trap: Trap) -> None:
    trap.repository.write(".git/info/attributes", "*.txt filter=mine\n")
    trap.repository.git("config", "extensions.worktreeConfig", "true")
    trap.repository.git("config", "--worktree", "filter.mine.clean", f"{trap.script}; cat")


def _process_filter(trap: Trap) -> None:
    trap.repository.write(".git/info/attributes", "*.txt filter=mine\n")
    trap.repository.git("config", "filter.mine.process", str(trap.script))


def _hook(trap: Trap) -> None:
    trap.repository.write(".git/hooks/post-index-change", trap.script.read_text()).chmod(0o755)
    trap.repository.write("b.txt", "same\n")  # unchanged, but for its time: the index is worth writing again


def _hooks_path(trap: Trap) -> None:
    hooks = trap.script.parent / "hooks"
    hooks.mkdir()
    (hooks / "post-index-change").symlink_to(trap.script)
    trap.repository.git("config", "core.hooksPath", str(hooks))
    trap.repository.write("b.txt", "same\n")


TRAPS: dict[str, tuple[Callable[[Trap], None], tuple[str, ...]]] = {
    "core.fsmonitor": (_fsmonitor, ("status",)),
    "diff.external": (_external_diff, ("diff", "HEAD")),
    "diff.<driver>.command": (_diff_driver, ("diff", "HEAD")),
    "textconv": (_textconv, ("diff", "HEAD")),
    "filter.<name>.clean": (_clean_filter, ("diff", "HEAD")),
    "filter with an equals sign": (_odd_clean_filter, ("diff", "HEAD")),
    "filter in an included file": (_included_filter, ("diff", "HEAD")),
    "filter of a work tree": (_worktree_filter, ("diff", "HEAD")),
    "filter.<name>.process": (_process_filter, ("diff", "HEAD")),
    "a hook": (_hook, ("status",)),
    "core.hooksPath": (_hooks_path, ("status",)),
}


@pytest.mark.parametrize("name", TRAPS)
def test_configuration_that_traps_plain_git_has_no_effect(trap: Trap, name: str) -> None:
    lay, command = TRAPS[name]
    lay(trap)
    do_everything(trap.repository.root)
    assert not trap.has_caught, "the script was run"
    lay_again = trap.repository.git(*command, ok=False)
    assert trap.has_caught, f"git itself did not run the script: {lay_again}"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.pager", "{script}"),
        ("pager.diff", "{script}"),
        ("core.editor", "{script}"),
        ("core.sshCommand", "{script}"),
        ("core.askPass", "{script}"),
        ("credential.helper", "!{script}"),
        ("alias.diff", "!{script}"),
        ("alias.rev-parse", "!{script}"),
        ("alias.cat-file", "!{script}"),
        ("alias.ls-files", "!{script}"),
        ("gpg.program", "{script}"),
        ("interactive.diffFilter", "{script}"),
    ],
)
def test_other_programs_that_a_configuration_names_are_not_run(trap: Trap, key: str, value: str) -> None:
    trap.repository.git("config", key, value.format(script=trap.script))
    do_everything(trap.repository.root)
    assert not trap.has_caught


def test_the_configuration_of_a_submodule_runs_nothing(trap: Trap, make: Make) -> None:
    library = make("library")
    library.commit(**{"c.txt": "one\n"})
    trap.repository.git("submodule", "--quiet", "add", str(library.root), "library")
    trap.repository.git("commit", "--quiet", "--message", "a submodule", "library", ".gitmodules")
    trap.repository.commit(**{"a.txt": "one\n"})
    trap.repository.commit(**{"a.txt": "two\n"})
    trap.repository.write("a.txt", "six\n")
    inner = Repository(trap.repository.root / "library")
    attributes = inner.root / inner.git("rev-parse", "--git-path", "info/attributes").strip()
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("* filter=mine\n")
    inner.git("config", "filter.mine.clean", f"{trap.script}; cat")
    inner.git("config", "core.fsmonitor", str(trap.script))
    trap.reset()
    inner.write("c.txt", "six\n")
    do_everything(trap.repository.root)
    assert not trap.has_caught
    trap.repository.git("diff", "HEAD")
    assert trap.has_caught


def test_a_missing_object_is_not_fetched_by_a_program_that_the_repository_names(trap: Trap) -> None:
    repository = trap.repository
    name = repository.git("rev-parse", "HEAD:b.txt").strip()
    (repository.root / ".git" / "objects" / name[:2] / name[2:]).unlink()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{trap.script}",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
    }.items():
        repository.git("config", key, value)
    commit = Commit(repository.root, "HEAD")
    assert not isinstance(commit.read("b.txt"), SourceFile)
    commit.close()
    assert not trap.has_caught
    repository.git("cat-file", "-p", name, ok=False)
    assert trap.has_caught


def test_variables_of_git_in_the_environment_are_ignored(
    trap: Trap, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make("other")
    other.commit(**{"other.txt": "other\n"})
    for name, value in {
        "GIT_DIR": str(other.root / ".git"),
        "GIT_WORK_TREE": str(other.root),
        "GIT_INDEX_FILE": str(other.root / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(other.root / ".git" / "objects"),
        "GIT_EXTERNAL_DIFF": str(trap.script),
        "GIT_PAGER": str(trap.script),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(trap.script),
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={trap.script}'",
        "GIT_NAMESPACE": "other",
        "GIT_PREFIX": "other/",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_TRACE": str(trap.marker),
    }.items():
        monkeypatch.setenv(name, value)
    do_everything(trap.repository.root)
    assert not trap.has_caught


def test_the_settings_of_the_user_stay_effective(trap: Trap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A filter such as that of Git LFS belongs to the user: without it, every such file would look changed."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text('[filter "upper"]\n\tclean = tr a-z A-Z\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    trap.repository.write(".gitattributes", "b.txt filter=upper\n")
    trap.repository.write("b.txt", "SAME\n")
    trap.repository.commit(**{"a.txt": "two\n"})
    trap.repository.write("b.txt", "same\n")
    assert changes(trap.repository.root) == {}


@pytest.mark.parametrize("below", ["", "inner"])
def test_a_repository_cannot_name_another_work_tree(trap: Trap, below: str, tmp_path: Path) -> None:
    """Otherwise the reported changes would reveal files of any folder of the host."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.txt").write_text("private\n")
    trap.repository.git("config", "core.worktree", str(outside))
    root = trap.repository.root / below
    root.mkdir(exist_ok=True)
    assert "private.txt" in trap.repository.git("-C", str(outside), f"--git-dir={trap.repository.root}/.git", "status")

    assert set(changes(root) or {}) == (set() if below else {"a.txt"})
    assert set(changed_lines(root, "HEAD")) == (set() if below else {"a.txt"})


def test_reading_changes_nothing_in_the_repository(trap: Trap) -> None:
    def state() -> dict[str, bytes]:
        inside = (path for path in (trap.repository.root / ".git").rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in inside}

    before = state()
    do_everything(trap.repository.root)
    assert state() == before
