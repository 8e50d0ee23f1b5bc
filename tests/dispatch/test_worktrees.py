"""Jobs in a worktree: the checkout is unchanged, and the diff is stored with the job."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.running import Play, tools

from remit.dispatch import worktree
from remit.dispatch.submit import correct
from remit.dispatch.worktree import make_worktree, read_changes, read_diff, remove_worktree
from remit.errors import EnvironmentBroken, UsageError
from remit.store import jobs
from remit.workspace.safe_git import run_git

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
        assert not (fleet.settings.work / "worktrees" / f"job-{done.id}").exists()
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


async def test_a_subfolder_maps_to_the_same_folder_of_the_worktree(play: Play) -> None:
    async with play(tools(("Write", {"file_path": "x.txt", "content": "x\n"})), {"text": "done"}) as fleet:
        below = fleet.project / "deep" / "down"
        below.mkdir(parents=True)
        (below / "kept").touch()
        commit(fleet.project)
        fleet.project = below
        done = await fleet.run(isolation="worktree", allowed_tools=["Write"])
        assert "+++ b/deep/down/x.txt" in str(done.diff)


async def test_a_job_that_did_not_complete_has_its_diff(play: Play) -> None:
    async with play(CHANGES, {"fail": {"status": 400}}) as fleet:
        commit(fleet.project)
        done = await fleet.run(isolation="worktree", allowed_tools=["Write", "Edit", "Bash"])
        assert done.outcome == "error"
        assert "+fresh = 1" in str(done.diff)
        assert not (fleet.settings.work / "worktrees" / f"job-{done.id}").exists()


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
        assert not (fleet.settings.work / "worktrees" / f"job-{number}").exists()


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


async def test_the_hostile_repository_would_run_programs_without_protection(project: Path, tmp_path: Path) -> None:
    commit(project)
    hook = project / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'pwned'}\n", encoding="utf-8")
    hook.chmod(0o755)
    git(project, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "HEAD")
    assert (tmp_path / "pwned").exists()


async def test_a_folder_that_is_not_a_git_checkout_is_refused(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        with pytest.raises(UsageError, match="is not a git checkout, which isolation by worktree needs"):
            await fleet.submit(isolation="worktree")
        git(fleet.project, "init", "-q")
        with pytest.raises(UsageError, match="has no commit, which"):
            await fleet.submit(isolation="worktree")


def nested(folder: Path, *, program: Path | None = None) -> Path:
    """Create a nested repository with a commit and a change; its filter runs a program."""
    inner = folder / "inner"
    inner.mkdir(parents=True, exist_ok=True)
    (inner / "notes.txt").write_text("an hour's work\n", encoding="utf-8")
    commit(inner)
    if program is not None:
        git(inner, "config", "filter.x.clean", f"env > {program}; cat")
        (inner / ".gitattributes").write_text("* filter=x\n", encoding="utf-8")
    (inner / "notes.txt").write_text("an hour's walk\n", encoding="utf-8")
    os.utime(inner / "notes.txt", (1, 1))  # the same length, so that git must read the file
    return inner


async def test_a_nested_repository_of_an_agent_runs_no_program(project: Path, tmp_path: Path) -> None:
    commit(project)
    pwned = tmp_path / "pwned"
    root = make_worktree(project, tmp_path / "tree")
    inner = nested(root, program=pwned)
    (root / "new.py").write_text("fresh = 1\n", encoding="utf-8")
    for _ in range(2):  # the second time they are in the index
        assert "+fresh = 1" in str(read_changes(project, root).diff)
        assert not pwned.exists()
    git(inner, "status")
    assert pwned.exists(), "without protection the program would run"


async def test_a_submodule_filled_by_an_agent_runs_no_program_and_is_kept(project: Path, tmp_path: Path) -> None:
    commit(project)
    head = git(project, "rev-parse", "HEAD").strip()
    git(project, "update-index", "--add", "--cacheinfo", f"160000,{head},inner")
    git(project, "commit", "-q", "-m", "a submodule")
    git(project, "config", "diff.submodule", "diff")
    git(project, "config", "submodule.inner.ignore", "none")
    pwned = tmp_path / "pwned"
    root = make_worktree(project, tmp_path / "tree")
    assert read_changes(project, root) == ("", None), "an unchanged submodule is not a change"
    inner = nested(root, program=pwned)
    found = read_changes(project, root)
    assert "inner" in str(found.kept)
    assert not pwned.exists()
    git(inner, "status")
    assert pwned.exists()


async def test_git_gets_no_key_of_the_worker(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(project)
    root = make_worktree(project, tmp_path / "tree")
    seen = tmp_path / "seen"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nenv >> {seen}\nexec {shutil.which("git")} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "ant-key-of-this-test")
    assert read_changes(project, root) == ("", None)
    remove_worktree(project, root)
    make_worktree(project, root, diff=NEW_FILE)
    assert "GIT_WORK_TREE=" in seen.read_text(encoding="utf-8")
    assert "ant-key-of-this-test" not in seen.read_text(encoding="utf-8")


NEW_FILE = """diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+fresh = 1
"""


@pytest.mark.parametrize("command", ["git init -q inner", "git init -q inner && cp -r inner other"])
async def test_an_empty_nested_repository_does_not_affect_the_diff_and_is_kept(play: Play, command: str) -> None:
    async with play(CHANGES, tools(("Bash", {"command": command})), {"text": "done"}) as fleet:
        commit(fleet.project)
        done = await fleet.run(isolation="worktree", allowed_tools=["Write", "Edit", "Bash"])
        folder = fleet.settings.work / "worktrees" / f"job-{done.id}"
        assert done.outcome == "completed"
        assert "+fresh = 1" in str(done.diff)
        assert f"the worktree stays in {folder}" in str(done.error)
        assert "inner" in str(done.error)
        assert (folder / "new.py").exists()


async def test_the_content_of_a_nested_repository_is_kept_and_named(project: Path, tmp_path: Path) -> None:
    commit(project)
    root = make_worktree(project, tmp_path / "tree")
    nested(root / "deep" / "down")
    found = read_changes(project, root)
    assert found.diff == ""
    assert "deep/down/inner" in str(found.kept)


@pytest.mark.parametrize("broken", ["replaced", "index", "project"])
async def test_unreadable_changes_are_kept_and_reported(play: Play, broken: str) -> None:
    async with play(CHANGES, {"text": "done", "gate": "g"}) as fleet:
        commit(fleet.project)
        number = await fleet.submit(isolation="worktree", allowed_tools=["Write", "Edit"])
        folder = fleet.settings.work / "worktrees" / f"job-{number}"
        async with fleet.working():
            await fleet.server.wait("g")
            if broken == "replaced":
                (folder / ".git").unlink()
                commit(folder)
            elif broken == "index":
                (fleet.project / ".git" / "worktrees" / folder.name / "index").write_bytes(b"no index")
            else:
                shutil.rmtree(fleet.project / ".git")
            fleet.server.open("g")
            done = await fleet.reached(number, "finished")
        assert done.outcome == "completed"
        assert f"the worktree stays in {folder}: its changes cannot be read" in str(done.error)
        assert (folder / "new.py").read_text(encoding="utf-8") == "fresh = 1\n"


async def test_a_corrected_job_continues_with_its_files(play: Play) -> None:
    more = tools(("Read", {"file_path": "new.py"}), ("Write", {"file_path": "more.py", "content": "more = 1\n"}))
    async with play(CHANGES, {"text": "done"}, more, {"text": "done again"}) as fleet:
        commit(fleet.project)
        number = await fleet.submit(isolation="worktree", allowed_tools=["Read", "Write", "Edit"])
        await fleet.work()
        first = await fleet.job(number)
        await correct(fleet.database, number)
        await fleet.work()
        done = await fleet.job(number)
        assert (done.outcome, done.error) == ("completed", None)
        assert "fresh = 1" in (await fleet.outputs(number))[-2]
        for line in ("+fresh = 1", "+    return 2", "+more = 1"):
            assert line in str(done.diff)
        assert "+more = 1" not in str(first.diff)
        assert not (fleet.settings.work / "worktrees" / f"job-{number}").exists()


async def test_a_retried_job_continues_with_its_files(play: Play) -> None:
    async with play(CHANGES, {"fail": {"status": 400, "message": "no", "times": 1}, "text": "done"}) as fleet:
        commit(fleet.project)
        number = await fleet.submit(isolation="worktree", allowed_tools=["Write", "Edit"])
        await fleet.work()
        assert (await fleet.job(number)).outcome == "error"
        await jobs.retry(fleet.database, number)
        await fleet.work()
        done = await fleet.job(number)
        assert done.outcome == "completed"
        assert "+fresh = 1" in str(done.diff)


async def test_a_diff_that_is_too_long_is_not_lost(play: Play) -> None:
    async with play(CHANGES, {"fail": {"status": 400, "message": "no", "times": 1}, "text": "done"}) as fleet:
        commit(fleet.project)
        number = await fleet.submit(isolation="worktree", allowed_tools=["Write", "Edit"])
        await fleet.work()
        before = (await fleet.job(number)).diff
        (fleet.project / "a.py").write_text("quite = 'different'\n", encoding="utf-8")
        git(fleet.project, "commit", "-q", "-a", "-m", "second")
        await jobs.retry(fleet.database, number)
        await fleet.work()
        done = await fleet.job(number)
        assert done.outcome == "error"
        assert "do not apply to the current commit" in str(done.error)
        assert done.diff == before


async def test_applying_a_diff_restores_every_byte(project: Path, tmp_path: Path) -> None:
    (project / "ends.txt").write_bytes(b"one \r\ntwo\t\nthree")
    commit(project)
    git(project, "config", "apply.whitespace", "fix")
    git(project, "config", "apply.ignoreWhitespace", "change")
    root = make_worktree(project, tmp_path / "tree")
    (root / "ends.txt").write_bytes(b"one \r\ntwo  \t \nthree\n\n\n")
    (root / "data.bin").write_bytes(bytes(range(256)) * 9)
    (root / "run.sh").write_bytes(b"#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "empty").touch()
    (root / 'odd "name"\t\u00fc').write_bytes(b"odd\n")
    (root / "link").symlink_to("a.py")
    (root / "b.py").unlink()
    written, diff = state(root), read_diff(root)
    remove_worktree(project, root)
    assert make_worktree(project, root, is_made=True, diff=diff) == root
    assert state(root) == written
    assert os.access(root / "run.sh", os.X_OK)
    assert (root / "link").is_symlink()
    assert read_diff(root) == diff


@pytest.mark.parametrize("content", [b"x = 1\n" * 1000, "caf\u00e9\n".encode("latin-1"), b"x" * 9000 + b"\0\n"])
async def test_a_worktree_is_kept_if_the_diff_is_incomplete(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    commit(project)
    monkeypatch.setattr(worktree, "MAX_DIFF", 5000 if content[:1] == b"x" and b"\0" not in content else 50_000)
    root = make_worktree(project, tmp_path / "tree")
    (root / "new.py").write_bytes(content)
    found = read_changes(project, root)
    assert "diff --git a/new.py" in str(found.diff)
    assert "the diff is too long to be stored, or contains more than text" in str(found.kept)
    remove_worktree(project, root)
    with pytest.raises(EnvironmentBroken, match="its diff is incomplete"):
        make_worktree(project, root, diff=found.diff)


async def test_a_long_diff_is_not_read_to_its_end(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(project)
    monkeypatch.setattr(worktree, "MAX_DIFF", 100_000)
    root = make_worktree(project, tmp_path / "tree")
    with (root / "big.txt").open("wb") as file:
        for _ in range(40):
            file.write(b"some text\n" * 100_000)
    lengths: list[int] = []

    def measured(*words: Any, **options: Any) -> bytes | None:
        printed = run_git(*words, **options)
        lengths.append(len(printed or b""))
        return printed

    monkeypatch.setattr(worktree, "run_git", measured)
    assert read_diff(root).endswith("the rest was left out]\n")
    assert max(lengths) == 100_001


SETTINGS = {"diff.noprefix": "true", "diff.mnemonicPrefix": "true", "diff.context": "0", "color.ui": "always"}


@pytest.mark.parametrize("setting", SETTINGS)
async def test_a_diff_can_be_applied_with_any_git_setting(project: Path, tmp_path: Path, setting: str) -> None:
    (project / "a.py").write_text("".join(f"line = {number}\n" for number in range(9)), encoding="utf-8")
    commit(project)
    git(project, "config", setting, SETTINGS[setting])
    root = make_worktree(project, tmp_path / "tree")
    (root / "a.py").write_text("".join(f"line = {number + (number == 5)}\n" for number in range(9)), encoding="utf-8")
    (tmp_path / "x.diff").write_text(read_diff(root), encoding="utf-8")
    git(project, "apply", str(tmp_path / "x.diff"))
    assert (project / "a.py").read_bytes() == (root / "a.py").read_bytes()


async def test_a_missing_checkout_ends_the_job_with_the_reason(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        commit(fleet.project)
        number = await fleet.submit(isolation="worktree")
        shutil.rmtree(fleet.project / ".git")
        await fleet.work()
        done = await fleet.job(number)
        assert (done.outcome, done.attempt, fleet.requests) == ("error", 1, [])
        assert "is not a git checkout" in str(done.error)


async def test_a_worktree_without_its_git_folder_is_not_recreated_over_its_files(play: Play) -> None:
    async with play(CHANGES, {"text": "x", "gate": "g"}, shutdown_seconds=0.0) as fleet:
        commit(fleet.project)
        number = await fleet.submit(isolation="worktree", allowed_tools=["Write", "Edit"])
        async with fleet.working():
            await fleet.server.wait("g")
        folder = fleet.settings.work / "worktrees" / f"job-{number}"
        assert (await fleet.job(number)).state == "queued", "it returns to the queue"
        (folder / ".git").unlink()
        await fleet.work()
        done = await fleet.job(number)
        assert done.outcome == "error"
        assert "no longer has a .git" in str(done.error)
        assert (folder / "new.py").exists()
