"""A checkout of the job's own: the project stays as it is, and what changed is with the job."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.running import Play, tools

from remit.dispatch.worktree import make_worktree, read_diff, remove_worktree
from remit.errors import UsageError

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
CHANGES = tools(
    ("Write", {"file_path": "new.py", "content": "fresh = 1\n"}),
    ("Edit", {"file_path": "a.py", "old_string": "return 1", "new_string": "return 2"}),
)


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def commit(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", "first")


def state(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


async def test_the_checkout_is_untouched_and_the_diff_is_in_the_job(play: Play) -> None:
    async with play(CHANGES, {"text": "done"}) as fleet:
        commit(fleet.project)
        before = state(fleet.project)
        done = await fleet.run(isolation="worktree", allowed_tools=["Read", "Write", "Edit", "Bash"])
        assert done.outcome == "completed"
        assert state(fleet.project) == before
        assert git(fleet.project, "status", "--porcelain") == ""
        diff = str(done.diff)
        assert "+++ b/new.py" in diff
        assert "+fresh = 1" in diff
        assert "-    return 1\n+    return 2" in diff
        assert not (fleet.settings.data / "worktrees" / f"job-{done.id}").exists()
        assert len(git(fleet.project, "worktree", "list").splitlines()) == 1


async def test_commands_work_in_a_worktree(play: Play) -> None:
    async with play(tools(("Bash", {"command": "echo x > made"})), {"text": "done"}) as fleet:
        commit(fleet.project)
        done = await fleet.run(isolation="worktree", allowed_tools=["Bash"])
        assert "+++ b/made" in str(done.diff)


async def test_the_diff_has_new_changed_deleted_and_binary_files_and_can_be_applied(
    project: Path, tmp_path: Path
) -> None:
    commit(project)
    root = make_worktree(project, tmp_path / "tree")
    (root / "new.py").write_text("fresh = 1\n", encoding="utf-8")
    (root / "a.py").write_text("def leak():\n    return 2\n", encoding="utf-8")
    (root / "b.py").unlink()
    (root / "data.bin").write_bytes(b"\0\1\2bin")
    diff = read_diff(root)
    remove_worktree(project, tmp_path / "tree")
    assert "deleted file mode" in diff
    assert "GIT binary patch" in diff
    (tmp_path / "x.diff").write_text(diff, encoding="utf-8")
    git(project, "apply", str(tmp_path / "x.diff"))
    found = state(project)
    assert found == {
        "a.py": b"def leak():\n    return 2\n",
        "data.bin": b"\0\1\2bin",
        "new.py": b"fresh = 1\n",
    }
    assert not (tmp_path / "tree").exists()


async def test_a_folder_below_the_root_is_the_same_folder_of_the_worktree(play: Play) -> None:
    async with play(tools(("Write", {"file_path": "x.txt", "content": "x\n"})), {"text": "done"}) as fleet:
        below = fleet.project / "deep" / "down"
        below.mkdir(parents=True)
        (below / "kept").touch()
        commit(fleet.project)
        fleet.project = below
        done = await fleet.run(isolation="worktree", allowed_tools=["Write"])
        assert "+++ b/deep/down/x.txt" in str(done.diff)


async def test_a_job_that_did_not_complete_has_its_diff_too(play: Play) -> None:
    async with play(CHANGES, {"fail": {"status": 400}}) as fleet:
        commit(fleet.project)
        done = await fleet.run(isolation="worktree", allowed_tools=["Write", "Edit", "Bash"])
        assert done.outcome == "error"
        assert "+fresh = 1" in str(done.diff)
        assert not (fleet.settings.data / "worktrees" / f"job-{done.id}").exists()


async def test_a_cancelled_job_has_its_diff_and_no_worktree_left(play: Play) -> None:
    async with play(CHANGES, {"text": "x", "stall": True}) as fleet:
        commit(fleet.project)
        number = await fleet.submit(isolation="worktree", allowed_tools=["Write", "Edit", "Bash"])
        async with fleet.working():
            await fleet.server.wait("release")
            await fleet.cancel(number)
            done = await fleet.reached(number, "finished")
        assert done.outcome == "cancelled"
        assert "+fresh = 1" in str(done.diff)
        assert not (fleet.settings.data / "worktrees" / f"job-{number}").exists()


async def test_hooks_and_filters_of_a_hostile_repository_do_not_run(play: Play, tmp_path: Path) -> None:
    async with play(CHANGES, {"text": "done"}) as fleet:
        project, pwned = fleet.project, tmp_path / "pwned"
        evil = project / ".git" / "evil.sh"
        commit(project)
        evil.write_text(f"#!/bin/sh\ntouch {pwned}\ncat\n", encoding="utf-8")
        evil.chmod(0o755)
        (project / ".gitattributes").write_text("*.py filter=evil diff=evil\n", encoding="utf-8")
        git(project, "add", ".gitattributes")
        git(project, "commit", "-q", "-m", "attributes")
        for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
            (project / ".git" / "hooks" / hook).write_bytes(evil.read_bytes())
            (project / ".git" / "hooks" / hook).chmod(0o755)
        for key in ("filter.evil.smudge", "filter.evil.clean", "diff.evil.command", "diff.evil.textconv"):
            git(project, "config", key, str(evil))
        git(project, "config", "core.fsmonitor", str(evil))
        git(project, "config", "diff.external", str(evil))
        pwned.unlink(missing_ok=True)
        done = await fleet.run(isolation="worktree", allowed_tools=["Write", "Edit", "Bash"])
        assert done.outcome == "completed"
        assert "+fresh = 1" in str(done.diff)
        assert not pwned.exists()


async def test_the_repository_can_run_programs_which_is_why_the_test_above_means_something(
    project: Path, tmp_path: Path
) -> None:
    commit(project)
    hook = project / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'pwned'}\n", encoding="utf-8")
    hook.chmod(0o755)
    git(project, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "HEAD")
    assert (tmp_path / "pwned").exists()


async def test_what_is_no_git_checkout_is_refused_at_once(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        with pytest.raises(UsageError, match="is no git checkout: isolation by worktree needs one"):
            await fleet.submit(isolation="worktree")
        git(fleet.project, "init", "-q")
        with pytest.raises(UsageError, match="has no commit yet"):
            await fleet.submit(isolation="worktree")
