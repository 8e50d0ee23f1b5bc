"""The confinement of commands: bubblewrap, where the host has it and it works.

In it a command sees, read-only, the system's programs and the folders that `PATH` leads to (`host_programs`), and of
the rest of the host nothing but the workspace: no home, no other project, no socket of a service. It can write to the
workspace and to a temporary folder of its own, not to the repository's git folder (a hook planted there would run
outside); it has its own processes and, unless allowed, no network.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from remit.dispatch.tools.confined import is_within
from remit.workspace.git_folder import git_folders, linked_home
from remit.workspace.safe_git import root_above

_NAMESPACES = ("--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
_ALONE = ("--cap-drop", "ALL", "--die-with-parent", "--new-session")
#: What a command sees as its temporary folder.
INSIDE = "/tmp"  # noqa: S108 (a private folder is mounted there)
_ALSO_TEMPORARY = "/var/tmp"  # noqa: S108 (an empty one is mounted there)
_PROBE_SECONDS = 20
#: Shown whole. Each may be a link into `/usr`, and is one in the sandbox then.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
#: Of `/etc`; what others may not read is left out.
_ETC = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload"),
    *("passwd", "group", "nsswitch.conf", "login.defs", "shells"),
    *("hosts", "host.conf", "hostname", "resolv.conf", "gai.conf", "services", "protocols", "networks"),
    *("localtime", "timezone", "locale.conf", "locale.alias", "locale.gen", "os-release", "debian_version"),
    *("ssl/certs", "ssl/openssl.cnf", "ssl/cert.pem", "ca-certificates", "crypto-policies"),
    *("pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust", "pki/java"),
    *("mime.types", "magic", "inputrc", "bash.bashrc", "profile", "gitconfig", "fonts", "xdg", "terminfo"),
    *("java*", "maven", "gradle", "perl", "python*", "ruby*", "php*", "R", "ImageMagick*", "lsb-release"),
)
#: Programs that people install in their home folder: parts of it that hold nothing else.
_TOOLCHAINS = (
    *(".pyenv", ".nvm", ".nodenv", ".rbenv", ".volta", ".asdf", ".rustup", ".cargo/bin", ".bun/bin", ".deno/bin"),
    *(".local/bin", ".local/lib", ".local/share/uv", ".local/share/pipx", ".local/share/mise", ".sdkman/candidates"),
)
#: What name resolution needs, with a network.
_NAMES = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager")
#: How many processors there are.
_PROCESSORS = "/sys/devices/system/cpu"
_PROGRAMS = frozenset({"bin", "sbin", "shims", "condabin", "Scripts"})
_INSTALLED = ("lib", "lib64", "libexec")
#: Folders that hold far more than programs: never shown whole.
_WIDE = frozenset({"/", "/home", "/opt", "/srv", "/var", "/mnt", "/media", "/run", "/etc", "/tmp", "/dev", "/proc"})  # noqa: S108 (not used)


@lru_cache(maxsize=1)
def sandbox_problem() -> str:
    """Why commands cannot be put into a sandbox here; empty if they can. Tried once in a process."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap (bwrap) is not installed"
    with tempfile.TemporaryDirectory(prefix="remit-probe-") as folder:
        place = Path(folder)
        (place / "work").mkdir()
        (place / "scratch").mkdir()
        words = [
            *sandbox_command(place / "work", place / "scratch", network=False, hidden=()),
            "/bin/sh",
            "-c",
            ": > tried",
        ]
        try:
            done = subprocess.run(words, capture_output=True, check=False, timeout=_PROBE_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bubblewrap does not work here ({type(error).__name__})"
        if done.returncode or not (place / "work" / "tried").exists():
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            return f"bubblewrap does not work here ({said[0][:200] if said else 'no reason given'})"
    return ""


def describe_sandbox(*, network: bool) -> str:
    """One line on the confinement that commands get on this host."""
    if why := sandbox_problem():
        return (
            f"none: {why}; commands run with this user's rights and can read and write outside the workspace, "
            "see other processes and use the network"
        )
    net = "network allowed" if network else "no network"
    held = f"sees only system programs, the folders of PATH and the workspace, writes only there, own processes, {net}"
    open_still = "memory is limited for each process, not for all together; sockets in the workspace can be reached"
    as_root = "; as root the number of processes is not limited" if os.geteuid() == 0 else ""
    return f"bubblewrap ({held}). Not held off: {open_still}{as_root}"


def sandbox_command(root: Path, scratch: Path, *, network: bool, hidden: tuple[str, ...]) -> list[str]:
    """The beginning of a command line that runs the rest of it in the sandbox. It looks at the disk."""
    words = ["bwrap", *_NAMESPACES, *_ALONE, *(() if network else ("--unshare-net",))]
    words += ["--dev", "/dev", "--proc", "/proc", "--dir", "/run", "--tmpfs", _ALSO_TEMPORARY]
    words += ["--bind", str(scratch), INSIDE, *visible_mounts(network=network)]
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


def visible_mounts(*, network: bool) -> list[str]:
    """The words for bubblewrap that show these parts, all of them read-only."""
    words: list[str] = []
    for place in _SYSTEM:
        if os.path.islink(place):  # noqa: PTH114 (plain names)
            words += ["--symlink", os.readlink(place), place]  # noqa: PTH115 (plain names)
        else:
            words += ["--ro-bind-try", place, place]
    for place in (*_of_etc(), _PROCESSORS, *(_NAMES if network else ())):
        words += ["--ro-bind-try", place, place]
    for place in _toolchains(os.environ.get("PATH", ""), str(_home())):
        words += ["--ro-bind-try", place, place]
    return words


def _of_etc() -> Iterator[str]:
    for pattern in _ETC:
        for place in sorted(Path("/etc").glob(pattern)):
            try:
                mode = place.stat().st_mode
            except OSError:
                continue
            if mode & stat.S_IROTH:
                yield str(place)


def _home() -> Path:
    return Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 (Path.home() raises where there is none)


@lru_cache(maxsize=4)
def _toolchains(path: str, home: str) -> tuple[str, ...]:
    """The folders outside the system's own that programs are run from; each outer one before those in it."""
    found = {f"{home}/{name}" for name in _TOOLCHAINS} | {sys.prefix, sys.base_prefix}
    for entry in path.split(os.pathsep):
        if entry.startswith("/"):
            found |= _installed(entry, home)
            found |= {place for target in _linked_from(entry) for place in _installed(target, home)}
    return tuple(sorted(place for place in found if _is_shown_apart(place, home)))


def _installed(folder: str, home: str) -> set[str]:
    """A folder of programs, and what was installed with it where that is clearly one thing."""
    found = {os.path.normpath(folder), os.path.realpath(folder)}
    for place in tuple(found):
        above, name = os.path.split(place)
        holds_more = any(os.path.exists(f"{above}/{mark}") for mark in (".git", ".remit"))  # noqa: PTH110 (plain names)
        installed = any(os.path.isdir(f"{above}/{part}") for part in _INSTALLED)  # noqa: PTH112 (plain names)
        if name in _PROGRAMS and installed and not holds_more and _is_shown_apart(above, home):
            found.add(above)
    return found


def _linked_from(folder: str) -> set[str]:
    """The folders outside the system's own that links in a folder of programs lead to."""
    try:
        with os.scandir(folder) as entries:
            links = [entry.path for entry in entries if entry.is_symlink()]
    except OSError:
        return set()
    targets = {os.path.dirname(os.path.realpath(link)) for link in links}  # noqa: PTH120 (plain names)
    return {target for target in targets if os.path.basename(target) in _PROGRAMS and not _is_system(target)}  # noqa: PTH119 (as above)


def _is_system(place: str) -> bool:
    return any(place == one or place.startswith(f"{one}/") for one in _SYSTEM)


def _is_shown_apart(place: str, home: str) -> bool:
    wide = place in _WIDE or place == home or home.startswith(f"{place}/")
    return not wide and not _is_system(place) and os.path.isdir(place)  # noqa: PTH112 (plain names)
