"""A worker dies while it creates the worktree of a job."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conversation import SCRIPT
from support.fixtures import MakeFleet
from support.model_process import RemoteServer

from remit.dispatch.worktree import make_worktree, read_diff

Model = Callable[[dict[str, Any]], RemoteServer]


def checkout(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(20):
        (folder / f"file-{number}.txt").write_text("text\n", encoding="utf-8")
    for name in ("first.txt", "second.txt"):
        (folder / name).write_text(f"{name}\n", encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "first")
    return folder


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def test_a_partial_worktree_of_a_dead_worker_is_replaced(fleet: MakeFleet, model: Model) -> None:
    team = fleet(model(SCRIPT))
    checkout(team.project)
    team.define("builder", "You build.", tools="Read, Write, Edit, Bash")
    job = team.submit("go", "--isolation", "worktree")
    assert team.start("worker", REMIT_STOP_AT="worktree-made:1").wait() == -9
    # Like an interrupted git: some files are missing.
    [worktree] = (team.folder / "data" / "work").glob(f"*/worktrees/job-{job}")
    (worktree / "file-3.txt").unlink()
    team.worker()
    team.until(lambda: team.store.is_finished(job))

    end = team.store.job(job)
    assert (end["outcome"], end["attempt"]) == ("completed", 2)
    changed = [line.split(" b/")[1] for line in end["diff"].splitlines() if line.startswith("diff --git")]
    assert sorted(changed) == ["a.txt", "effects.log"]
    assert not (team.project / "a.txt").exists()


def test_a_complete_worktree_is_reused(tmp_path: Path) -> None:
    project, folder = checkout(tmp_path / "project"), tmp_path / "tree"
    make_worktree(project, folder)
    (folder / "new.txt").write_text("kept\n", encoding="utf-8")

    assert make_worktree(project, folder, is_made=True) == folder
    assert "kept" in read_diff(folder)
    assert make_worktree(project, folder) == folder
    assert read_diff(folder) == "", "an incomplete one is created again"
