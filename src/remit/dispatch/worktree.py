"""Give a job that writes its own git worktree: created when the job starts, read when it ends.

An agent writes the worktree's content: it must not make git run a program, and no change in it may be lost.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from remit.errors import EnvironmentBroken
from remit.secrets.scan import redact
from remit.workspace.git_folder import linked_home
from remit.workspace.safe_git import SECONDS, root_above, run_git, start_git, within_limit, without_filters

WORKTREE = "worktree"
MAX_DIFF = 4 * 1024 * 1024
_CUT = "\n[the diff is too long: the rest was left out]\n"
_REDACTED = "\n[possible secrets were removed from this diff: it cannot be applied]\n"
#: Independent of the configuration, the diff can be applied by `git apply`, and git does not read nested repositories.
_DIFF_OPTIONS = (
    *("--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--unified=3", "-O/dev/null"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=dirty"),
)
_APPLY_OPTIONS = ("--whitespace=nowarn", "--no-ignore-whitespace")
_REMOVED = ".gone"
#: Bytes of a list of files that are read. There is no diff of a worktree with more files.
_MAX_LIST = 16 * 1024 * 1024


class WorktreeChanges(NamedTuple):
    """The changes of a job in its worktree."""

    #: None if the diff cannot be read.
    diff: str | None
    #: Why the worktree must be kept: something in it is not in the diff. None if it can be removed.
    kept: str | None


def is_usable(folder: Path) -> bool:
    """Return whether a worktree still exists. Raises EnvironmentBroken if only a part of it does."""
    if (folder / ".git").exists():
        return True
    if folder.exists():
        raise EnvironmentBroken(f"the worktree in {folder} no longer has a .git")
    return False


def make_worktree(project: Path, folder: Path, *, is_made: bool = False, diff: str | None = None) -> Path:
    """Create a worktree of the project's current commit and apply an earlier diff, unless a usable one exists."""
    root = root_above(project)
    if root is None:
        raise EnvironmentBroken(f"{project} is not a git checkout, which isolation by worktree needs")
    if not is_made or not is_usable(folder):
        _create(root, folder)
        if diff:
            _apply(folder, diff)
    below = project.resolve().relative_to(root.resolve())
    return folder / below


def _create(root: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # an interrupted checkout lacks files, which would look like a change
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for removed in folder.parent.glob(f"*{_REMOVED}"):
        shutil.rmtree(removed, ignore_errors=True)
    run_git(root, "worktree", "prune")
    output = run_git(
        root, "worktree", "add", "--detach", "--force", str(folder), "HEAD", settings=_without_programs(root)
    )
    if output is None:
        raise EnvironmentBroken(f"git cannot create a worktree of {root} in {folder}; does it have a commit?")


def _apply(folder: Path, diff: str) -> None:
    """Apply the earlier changes of the job to a new worktree."""
    if not is_complete(diff):
        raise EnvironmentBroken("the worktree of the job is missing, and its diff is incomplete")
    try:
        _feed(folder, "apply", *_APPLY_OPTIONS, "-", settings=_without_programs(folder), stdin=diff.encode())
    except EnvironmentBroken as error:
        raise EnvironmentBroken(
            f"the earlier changes of the job do not apply to the current commit: {error}"
        ) from error


def _without_programs(root: Path) -> dict[str, str]:
    """Return git settings that prevent a checkout from running programs."""
    return without_filters(root, also_trusted=True) | {"submodule.recurse": "false"}


def read_changes(project: Path, folder: Path) -> WorktreeChanges:
    """Return the diff of a worktree, and whether something is missing in it."""
    try:
        _check_repository(project, folder)
        nested = nested_repositories(folder)
        diff = read_diff(folder)
    except (EnvironmentBroken, OSError) as error:
        return WorktreeChanges(None, f"its changes cannot be read: {error}")
    if nested:
        names = ", ".join(name.decode("utf-8", "replace")[:100] for name in nested[:3])
        more = f" and {len(nested) - 3} more" if len(nested) > 3 else ""
        return WorktreeChanges(diff, f"the diff does not include the git repositories inside it: {names}{more}")
    return WorktreeChanges(
        diff, None if is_complete(diff) else "the diff is too long to be stored, or contains more than text"
    )


def without_secrets(changes: WorktreeChanges) -> WorktreeChanges:
    """Return changes whose diff can be stored: without secrets. A worktree with a possible secret must be kept."""
    redacted = redact(changes.diff) if changes.diff is not None else None
    if redacted == changes.diff:
        return changes
    why = "; ".join(filter(None, (changes.kept, "its diff contains a possible secret, which is not stored")))
    return WorktreeChanges(f"{redacted}{_REDACTED}", why)


def _check_repository(project: Path, folder: Path) -> None:
    """Raise EnvironmentBroken if a worktree no longer belongs to the project: an agent can replace its `.git`."""
    shared = run_git(project, "rev-parse", "--path-format=absolute", "--git-common-dir")
    if shared is None:
        raise EnvironmentBroken(f"{project} is no longer a git checkout")
    if linked_home(folder) != Path(os.fsdecode(shared.rstrip(b"\n"))).resolve():
        raise EnvironmentBroken("its .git was replaced")


def read_diff(folder: Path) -> str:
    """Return the diff of a worktree, including new files. Raises EnvironmentBroken."""
    settings = _without_programs(folder)
    # Nested repositories cannot be added, and one without a commit would make git refuse the rest.
    paths = [b".", *(b":(exclude,literal)" + name for name in nested_repositories(folder))]
    listed = ("--pathspec-from-file=-", "--pathspec-file-nul")
    _feed(folder, "add", "--all", "--intent-to-add", *listed, settings=settings, stdin=b"\0".join(paths))
    output = _output(folder, "diff", *_DIFF_OPTIONS, "HEAD", settings=settings, limit=MAX_DIFF)
    text = output[:MAX_DIFF].decode("utf-8", "replace")
    return text if len(output) <= MAX_DIFF else text + _CUT


def is_complete(diff: str) -> bool:
    """Return whether a diff contains all changes exactly."""
    return not diff.endswith((_CUT, _REDACTED)) and "\ufffd" not in diff and "\0" not in diff


def nested_repositories(folder: Path) -> list[bytes]:
    """Return the repositories inside a worktree, whose content a diff does not include."""
    settings = _without_programs(folder)
    others = _listed(folder, "--others", "--exclude-standard", settings=settings)
    untracked = [name[:-1] for name in others if name.endswith(b"/")]
    staged = _listed(folder, "--stage", settings=settings)
    links = (line.split(b"\t", 1)[1] for line in staged if line.startswith(b"160000 "))
    return untracked + [name for name in links if _has_files(folder / os.fsdecode(name))]


def _listed(folder: Path, *arguments: str, settings: Mapping[str, str]) -> Iterable[bytes]:
    output = _output(folder, "ls-files", "-z", *arguments, settings=settings, limit=_MAX_LIST)
    if len(output) > _MAX_LIST:
        raise EnvironmentBroken("the worktree has too many files")
    return output.split(b"\0")


def _output(folder: Path, *arguments: str, settings: Mapping[str, str], limit: int) -> bytes:
    """Return the output of a git command, cut after `limit` bytes and one more."""
    output = run_git(folder, *arguments, settings=settings, max_bytes=limit)
    if output is None:
        raise EnvironmentBroken(f"git {arguments[0]} failed")
    return output


def _feed(folder: Path, *arguments: str, settings: Mapping[str, str], stdin: bytes) -> None:
    """Run a git command with an input."""
    process = start_git(folder, *arguments, settings=settings, has_input=True)
    with within_limit(process, SECONDS, arguments[0]), process:
        process.communicate(stdin)
    if process.returncode:
        raise EnvironmentBroken(f"git {arguments[0]} failed")


def _has_files(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(True for _ in entries)
    except OSError:
        return False


def remove_worktree(project: Path, folder: Path) -> None:
    """Remove a worktree. It is renamed first, so that at any moment it is complete or missing."""
    removed = folder.with_name(folder.name + _REMOVED)
    shutil.rmtree(removed, ignore_errors=True)
    folder.rename(removed)
    run_git(project, "worktree", "remove", "--force", str(folder))
    shutil.rmtree(removed, ignore_errors=True)
