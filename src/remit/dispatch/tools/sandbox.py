"""The confinement of commands: bubblewrap, where the host has it and it works.

In it a command sees, read-only, the system's programs and the folders that `PATH` leads to (`host_programs`), and of
the rest of the host nothing but the workspace: no home, no other project, no socket of a service. It can write to the
workspace and to a temporary folder of its own, not to the repository's git folder (a hook planted there would run
outside); it has its own processes and, unless allowed, no network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from remit.dispatch.tools.confine import is_within
from remit.dispatch.tools.host_programs import shown
from remit.workspace.git_folder import git_folders, linked_home
from remit.workspace.safe_git import root_above

_NAMESPACES = ("--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
_ALONE = ("--cap-drop", "ALL", "--die-with-parent", "--new-session")
#: What a command sees as its temporary folder.
INSIDE = "/tmp"  # noqa: S108 (a private folder is mounted there)
_ALSO_TEMPORARY = "/var/tmp"  # noqa: S108 (an empty one is mounted there)
_PROBE_SECONDS = 20


@lru_cache(maxsize=1)
def obstacle() -> str:
    """Why commands cannot be put into a sandbox here; empty if they can. Tried once in a process."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap (bwrap) is not installed"
    with tempfile.TemporaryDirectory(prefix="remit-probe-") as folder:
        place = Path(folder)
        (place / "work").mkdir()
        (place / "scratch").mkdir()
        words = [*enclosed(place / "work", place / "scratch", network=False, hidden=()), "/bin/sh", "-c", ": > tried"]
        try:
            done = subprocess.run(words, capture_output=True, check=False, timeout=_PROBE_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bubblewrap does not work here ({type(error).__name__})"
        if done.returncode or not (place / "work" / "tried").exists():
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            return f"bubblewrap does not work here ({said[0][:200] if said else 'no reason given'})"
    return ""


def described(*, network: bool) -> str:
    """One line on the confinement that commands get on this host."""
    if why := obstacle():
        return (
            f"none: {why}; commands run with this user's rights and can read and write outside the workspace, "
            "see other processes and use the network"
        )
    net = "network allowed" if network else "no network"
    held = f"sees only system programs, the folders of PATH and the workspace, writes only there, own processes, {net}"
    open_still = "memory is limited for each process, not for all together; sockets in the workspace can be reached"
    as_root = "; as root the number of processes is not limited" if os.geteuid() == 0 else ""
    return f"bubblewrap ({held}). Not held off: {open_still}{as_root}"


def enclosed(root: Path, scratch: Path, *, network: bool, hidden: tuple[str, ...]) -> list[str]:
    """The beginning of a command line that runs the rest of it in the sandbox. It looks at the disk."""
    words = ["bwrap", *_NAMESPACES, *_ALONE, *(() if network else ("--unshare-net",))]
    words += ["--dev", "/dev", "--proc", "/proc", "--dir", "/run", "--tmpfs", _ALSO_TEMPORARY]
    words += ["--bind", str(scratch), INSIDE, *shown(network=network)]
    around = [name for name in hidden if is_within(str(root), os.path.realpath(name))]
    for name in around:
        words += _covered(name)
    words += _git_around(root)
    words += ["--bind", str(root), str(root)]
    words += _git_inside(root)
    for name in hidden:
        words += [] if name in around else _covered(name)
    return [*words, "--remount-ro", "/", "--chdir", str(root), "--"]


def _git_around(root: Path) -> list[str]:
    """The repository of a checkout that lies outside of the workspace, where it is its own."""
    checkout = root_above(root)
    if checkout is None:
        return []
    own, home = checkout / ".git", linked_home(checkout)
    words = ["--ro-bind", str(home), str(home)] if home else []
    if checkout != root and not own.is_symlink() and (own.is_dir() or home):
        words += ["--ro-bind", str(own), str(own)]
    return words


def _git_inside(root: Path) -> list[str]:
    """The git folder in the workspace, wherever `.git` leads, cannot be written."""
    own = root / ".git"
    words = [] if own.is_symlink() else ["--ro-bind-try", str(own), str(own)]
    checkout = root_above(root)
    for folder in map(str, git_folders(checkout) if checkout else ()):
        if folder not in (str(root), str(own)) and is_within(folder, str(root)):
            words += ["--ro-bind-try", folder, folder]
    return words


def _covered(name: str) -> list[str]:
    """What hides a folder or file; a file only where it can be seen at all."""
    place = Path(os.path.realpath(name))
    if place.is_dir():
        return ["--tmpfs", str(place)]
    return ["--ro-bind", "/dev/null", str(place)] if place.exists() else []
