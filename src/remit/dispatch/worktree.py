"""A job that writes may get a checkout of its own: a git worktree, made when it begins, read when it ends.

An agent wrote what is in it: nothing there makes git run a program, and nothing there is thrown away unseen.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from remit.errors import EnvironmentBroken
from remit.workspace.git_folder import linked_home
from remit.workspace.safe_git import SECONDS, root_above, run_git, start_git, within_limit, without_filters

WORKTREE = "worktree"
MAX_DIFF = 4 * 1024 * 1024
_CUT = "\n[the diff is too long: the rest was left out]\n"
#: Whatever the configuration says, the diff is one that `git apply` takes, and git looks into no nested repository.
_AS_A_PATCH = (
    *("--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--unified=3", "-O/dev/null"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=dirty"),
)
_EXACTLY = ("--whitespace=nowarn", "--no-ignore-whitespace")
_GONE = ".gone"
#: So much is read of a list of files; who makes more of them than that gets no diff.
_MAX_LIST = 16 * 1024 * 1024


class WorktreeChanges(NamedTuple):
    """What a job did in its worktree."""

    #: None: it cannot be read.
    diff: str | None
    #: Why the worktree has to stay: something in it is not in the diff.
    kept: str | None


def is_usable(folder: Path) -> bool:
    """Whether a worktree that was made is still there. Raises EnvironmentBroken if there is only a part of it."""
    if (folder / ".git").exists():
        return True
    if folder.exists():
        raise EnvironmentBroken(f"the worktree in {folder} has no .git any more")
    return False


def make_worktree(project: Path, folder: Path, *, is_made: bool = False, diff: str | None = None) -> Path:
    """A worktree of the project's current commit, with an earlier diff in it; the one that is there, if it is whole."""
    root = root_above(project)
    if root is None:
        raise EnvironmentBroken(f"{project} is no git checkout: isolation by worktree needs one")
    if not is_made or not is_usable(folder):
        _make(root, folder)
        if diff:
            _bring_back(folder, diff)
    below = project.resolve().relative_to(root.resolve())
    return folder / below


def _make(root: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # an interrupted checkout lacks files, and would pass for a change
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for gone in folder.parent.glob(f"*{_GONE}"):
        shutil.rmtree(gone, ignore_errors=True)
    run_git(root, "worktree", "prune")
    made = run_git(
        root, "worktree", "add", "--detach", "--force", str(folder), "HEAD", settings=_without_programs(root)
    )
    if made is None:
        raise EnvironmentBroken(f"git cannot make a worktree of {root} in {folder}; has it a first commit?")


def _bring_back(folder: Path, diff: str) -> None:
    """What the job had changed before, in a worktree that is new."""
    if not is_complete(diff):
        raise EnvironmentBroken("the worktree of the job is gone, and its diff is not whole")
    try:
        _feed(folder, "apply", *_EXACTLY, "-", settings=_without_programs(folder), given=diff.encode())
    except EnvironmentBroken as error:
        raise EnvironmentBroken(
            f"what the job had changed does not fit the commit that is checked out: {error}"
        ) from error


def _without_programs(root: Path) -> dict[str, str]:
    """Settings with which no program runs for a checkout that nobody watches."""
    return without_filters(root, also_trusted=True) | {"submodule.recurse": "false"}


def read_changes(project: Path, folder: Path) -> WorktreeChanges:
    """What changed in a worktree, and whether there is something that the diff does not show."""
    try:
        _check_own(project, folder)
        nested = nested_repositories(folder)
        diff = read_diff(folder)
    except (EnvironmentBroken, OSError) as error:
        return WorktreeChanges(None, f"what changed in it cannot be read: {error}")
    if nested:
        names = ", ".join(name.decode("utf-8", "replace")[:100] for name in nested[:3])
        more = f" and {len(nested) - 3} more" if len(nested) > 3 else ""
        return WorktreeChanges(diff, f"the diff does not show what is in the git repositories inside it: {names}{more}")
    return WorktreeChanges(
        diff, None if is_complete(diff) else "the diff is longer than what is stored, or not all of it is text"
    )


def _check_own(project: Path, folder: Path) -> None:
    """Raises EnvironmentBroken if a worktree is not the project's any more: an agent can write a `.git` of its own."""
    shared = run_git(project, "rev-parse", "--path-format=absolute", "--git-common-dir")
    if shared is None:
        raise EnvironmentBroken(f"{project} is no git checkout any more")
    if linked_home(folder) != Path(os.fsdecode(shared.rstrip(b"\n"))).resolve():
        raise EnvironmentBroken("its .git was replaced")


def read_diff(folder: Path) -> str:
    """What changed in a worktree, new files included. Raises EnvironmentBroken with git's words."""
    settings = _without_programs(folder)
    # What is in nested repositories cannot be added, and one without a commit would make git refuse the rest.
    places = [b".", *(b":(exclude,literal)" + name for name in nested_repositories(folder))]
    listed = ("--pathspec-from-file=-", "--pathspec-file-nul")
    _feed(folder, "add", "--all", "--intent-to-add", *listed, settings=settings, given=b"\0".join(places))
    found = _printed(folder, "diff", *_AS_A_PATCH, "HEAD", settings=settings, most=MAX_DIFF)
    text = found[:MAX_DIFF].decode("utf-8", "replace")
    return text if len(found) <= MAX_DIFF else text + _CUT


def is_complete(diff: str) -> bool:
    """Whether a diff is all of what changed, byte for byte."""
    return not diff.endswith(_CUT) and "\ufffd" not in diff and "\0" not in diff


def nested_repositories(folder: Path) -> list[bytes]:
    """Repositories of their own inside of a worktree: no diff shows what is in them."""
    settings = _without_programs(folder)
    others = _listed(folder, "--others", "--exclude-standard", settings=settings)
    found = [name[:-1] for name in others if name.endswith(b"/")]
    staged = _listed(folder, "--stage", settings=settings)
    links = (line.split(b"\t", 1)[1] for line in staged if line.startswith(b"160000 "))
    return found + [name for name in links if _has_files(folder / os.fsdecode(name))]


def _listed(folder: Path, *arguments: str, settings: Mapping[str, str]) -> Iterable[bytes]:
    found = _printed(folder, "ls-files", "-z", *arguments, settings=settings, most=_MAX_LIST)
    if len(found) > _MAX_LIST:
        raise EnvironmentBroken("there are more files than git can list here")
    return found.split(b"\0")


def _printed(folder: Path, *arguments: str, settings: Mapping[str, str], most: int) -> bytes:
    """The first bytes that a git command prints."""
    found = run_git(folder, *arguments, settings=settings, max_bytes=most)
    if found is None:
        raise EnvironmentBroken(f"git {arguments[0]} failed")
    return found


def _feed(folder: Path, *arguments: str, settings: Mapping[str, str], given: bytes) -> None:
    """Run a git command that reads what it is given."""
    process = start_git(folder, *arguments, settings=settings, has_input=True)
    with within_limit(process, SECONDS, arguments[0]), process:
        process.communicate(given)
    if process.returncode:
        raise EnvironmentBroken(f"git {arguments[0]} failed")


def _has_files(place: Path) -> bool:
    try:
        with os.scandir(place) as inside:
            return any(True for _ in inside)
    except OSError:
        return False


def remove_worktree(project: Path, folder: Path) -> None:
    """Take the worktree away, whole at any moment or not there: its diff is with the job."""
    gone = folder.with_name(folder.name + _GONE)
    shutil.rmtree(gone, ignore_errors=True)
    folder.rename(gone)
    run_git(project, "worktree", "remove", "--force", str(folder))
    shutil.rmtree(gone, ignore_errors=True)
