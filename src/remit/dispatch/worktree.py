"""A job that writes may get a checkout of its own: a git worktree, made when it begins, read when it ends."""

from __future__ import annotations

import shutil
from pathlib import Path

from remit.errors import EnvironmentBroken
from remit.workspace.safe_git import root_above, run, without_filters

WORKTREE = "worktree"
MAX_DIFF = 4 * 1024 * 1024


def make_worktree(project: Path, folder: Path, *, is_made: bool = False) -> Path:
    """A worktree of the project's current commit; the one that is there, if an earlier attempt made all of it."""
    root = root_above(project)
    if root is None:
        raise EnvironmentBroken(f"{project} is no git checkout: isolation by worktree needs one")
    if not is_made or not (folder / ".git").exists():
        shutil.rmtree(folder, ignore_errors=True)  # an interrupted checkout lacks files, and would pass for a change
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        run(root, "worktree", "prune")
        settings = without_filters(root, also_trusted=True)  # no program runs for a checkout that nobody watches
        made = run(root, "worktree", "add", "--detach", "--force", str(folder), "HEAD", settings=settings)
        if made is None:
            raise EnvironmentBroken(f"git cannot make a worktree of {root} in {folder}; has it a first commit?")
    below = project.resolve().relative_to(root.resolve())
    return folder / below


def read_diff(folder: Path) -> str:
    """What changed in a worktree, new files included."""
    settings = without_filters(folder, also_trusted=True)
    run(folder, "add", "--all", "--intent-to-add", settings=settings)
    flags = ("--no-ext-diff", "--no-textconv", "--no-color", "--binary", "HEAD")
    found = run(folder, "diff", *flags, settings=settings) or b""
    text = found[:MAX_DIFF].decode("utf-8", "replace")
    return text if len(found) <= MAX_DIFF else f"{text}\n[{len(found) - MAX_DIFF} more bytes were left out]\n"


def remove_worktree(project: Path, folder: Path) -> None:
    """Take the worktree away; its diff is with the job."""
    run(project, "worktree", "remove", "--force", str(folder))
