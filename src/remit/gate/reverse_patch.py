"""Keep a patch that reverts exactly one change of some files, and recognise the command that applies it.

The patch is at `.remit/gate/reverts/KEY.patch`; `git apply` applies it, in a checkout or elsewhere. It fails without
any effect if the changed lines were changed again, and never touches other uncommitted work.
"""

from __future__ import annotations

import os
import stat
import time

from remit.gate.project_paths import locate
from remit.gate.record_store import digest_of, make_private
from remit.gate.session_store import KEPT_DAYS, safe_name
from remit.regular_files import read_regular
from remit.workspace.atomic_write import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.session import SessionState
    from remit.gate.tool_use import ToolUse

#: Relative to the gate's folder.
FOLDER = "reverts"
_COMMAND = "git apply "
_SECONDS = 10.0
_MAX_PATCH = 32_000_000
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class FileVersion:
    """The content and mode of a file; for a link, its target. `data` is None if there was no file."""

    def __init__(self, data: bytes | None, mode: int = stat.S_IFREG | 0o644) -> None:
        self.data = data
        self.mode = mode

    def write(self, path: str) -> None:
        """Write the version to a path that does not exist."""
        if self.data is None:
            return
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if stat.S_ISLNK(self.mode):
            os.symlink(os.fsdecode(self.data), path)
            return
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700 if self.mode & 0o100 else 0o600)
        with open(descriptor, "wb") as file:
            file.write(self.data)


class ReversePatch:
    """A patch that was kept: its name, the digest of its content, and the command that applies it."""

    def __init__(self, name: str, digest: str, command: str) -> None:
        self.name = name
        self.digest = digest
        self.command = command


def keep_reverse_patch(
    folder: str, project: str, changes: dict[str, tuple[FileVersion, FileVersion]], key: str
) -> ReversePatch | None:
    """Keep a patch that turns the second version of each file into the first, or return None if that is impossible.

    `folder` is the gate's folder, and the names are relative to the project.
    """
    from remit.workspace.safe_git import found_by_git  # late: only after a change without permission

    reverts = os.path.join(folder, FOLDER)
    make_private(reverts)
    top = found_by_git(project)
    # A patch of git names files relative to the root of the checkout.
    prefix = os.path.relpath(os.path.realpath(project), top) if top is not None else "."
    work = os.path.join(reverts, f".{os.urandom(8).hex()}")
    try:
        for file, (before, after) in changes.items():
            after.write(os.path.join(work, "a", prefix, file))
            before.write(os.path.join(work, "b", prefix, file))
        for side in ("a", "b"):
            os.makedirs(os.path.join(work, side), exist_ok=True)
        data = _difference(work)
        if not data:
            return None
        name = safe_name(key)
        path = os.path.join(reverts, f"{name}.patch")
        replace_file(path, data, mode=0o600, sync=False)
    except OSError:
        return None
    finally:
        _remove_folder(work)
    return ReversePatch(name, digest_of(data), _COMMAND + os.path.relpath(path, project))


def allowed_revert(call: ToolUse, state: SessionState, folder: str, project: str) -> tuple[str, list[str]] | None:
    """Return the patch that a command line applies and its files, if it is an unchanged one of this session."""
    text = call.text("command").strip()
    if not text.startswith(_COMMAND):
        return None
    target = locate(text.removeprefix(_COMMAND).strip(), call.cwd, project)
    name, ending = os.path.splitext(os.path.basename(target.real))
    expected = os.path.join(os.path.realpath(folder), FOLDER, name + ending)
    if ending != ".patch" or not _PLAIN.issuperset(name) or target.real != expected:
        return None
    for entry in state.changes:
        if entry.patch == name and entry.digest == digest_of(read_regular(target.real, _MAX_PATCH + 1) or b""):
            # The digest of the patch is known, so a patch of more files than are named here changes nothing else.
            return name, ["."] if entry.more else list(entry.paths)
    return None


def remove_old_patches(folder: str, days: float = KEPT_DAYS) -> None:
    """Remove the patches that were written more than a number of days ago."""
    oldest = time.time() - days * 86_400
    try:
        with os.scandir(os.path.join(folder, FOLDER)) as entries:
            for entry in [file for file in entries if file.stat(follow_symlinks=False).st_mtime < oldest]:
                os.unlink(entry.path)
    except OSError:
        return


def _difference(work: str) -> bytes:
    """Return the patch from `a` to `b`. No repository is used, so no configuration of one can run a program."""
    import subprocess  # late: only after a change without permission

    command = ["git", "--no-pager", "diff", "--no-index", "--no-prefix", "--binary", "--no-renames", "--no-color"]
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.realpath(work)),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LC_ALL": "C",
    }
    try:
        process = subprocess.run(
            [*command, "--no-ext-diff", "--no-textconv", "a", "b"],
            cwd=work,
            env=environment,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return b""
    return process.stdout if process.returncode == 1 and len(process.stdout) <= _MAX_PATCH else b""


def _remove_folder(folder: str) -> None:
    import shutil  # late: only after a change without permission

    shutil.rmtree(folder, ignore_errors=True)
