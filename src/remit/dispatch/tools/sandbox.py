"""The confinement of commands: bubblewrap, where the host has it and it works.

In it a command sees the host's files read-only, without home folders, runtime sockets and others' temporary
files; it can write to the workspace and to a temporary folder of its own, not to the workspace's `.git` (a hook
planted there would run outside); it has its own processes and, unless allowed, no network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from remit.dispatch.tools.repository import linked_home

_NAMESPACES = ("--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
_ALONE = ("--cap-drop", "ALL", "--die-with-parent", "--new-session")
#: Held by all, but not for a command: sockets of services, others' temporary files, homes.
_PRIVATE = ("/run", "/var/tmp", "/home", "/root")  # noqa: S108 (hidden, not used)
#: Programs that people install in their home folder; without these `python` or `node` may be missing.
_TOOLCHAINS = (
    *(".pyenv", ".nvm", ".nodenv", ".rbenv", ".volta", ".asdf", ".rustup", ".cargo/bin", ".bun/bin", ".deno/bin"),
    *(".local/bin", ".local/lib", ".local/share/uv", ".local/share/pipx", ".local/share/mise", ".sdkman/candidates"),
)
_NAMES = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager")
#: What a command sees as its temporary folder.
INSIDE = "/tmp"  # noqa: S108 (a private folder is mounted there)
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
    return f"bubblewrap (host read-only without home folders, workspace writable, own processes, {net})"


def enclosed(root: Path, scratch: Path, *, network: bool, hidden: tuple[str, ...]) -> list[str]:
    """The beginning of a command line that runs the rest of it in the sandbox."""
    words = ["bwrap", *_NAMESPACES, *_ALONE, *(() if network else ("--unshare-net",))]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for place in _hidden_places():
        words += ["--tmpfs", place]
    words += ["--bind", str(scratch), INSIDE]
    for place in _shown_again(network=network):
        words += ["--ro-bind-try", place, place]
    home = linked_home(root)
    words += ["--ro-bind", str(home), str(home)] if home else []
    words += ["--bind", str(root), str(root)]
    if not (root / ".git").is_symlink():
        words += ["--ro-bind-try", f"{root}/.git", f"{root}/.git"]
    for name in hidden:
        words += _covered(name)
    return [*words, "--chdir", str(root), "--"]


def _covered(name: str) -> list[str]:
    place = Path(name)
    if place.is_dir():
        return ["--tmpfs", str(place)]
    return ["--ro-bind", "/dev/null", str(place)] if place.exists() else []


def _home() -> Path:
    return Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 (Path.home() raises where there is none)


def _hidden_places() -> Iterator[str]:
    home = str(_home())
    for place in sorted({*_PRIVATE, home}):
        if place not in ("/", INSIDE) and os.path.isdir(place) and not os.path.islink(place):  # noqa: PTH112, PTH114 (plain names)
            yield place


def _shown_again(*, network: bool) -> Iterator[str]:
    """Programs in hidden places that the PATH leads to, and what name resolution needs."""
    home = _home()
    listed = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry.startswith("/")]
    for place in (*listed, *(home / name for name in _TOOLCHAINS)):
        if home in place.parents and place.is_dir():
            yield str(place)
    if network:
        yield from _NAMES
