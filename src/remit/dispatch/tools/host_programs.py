"""Which parts of the host a command in the sandbox sees: what programs are run from, and little else.

The system's folders, of `/etc` what programs need and everybody may read, and the folders that the worker's `PATH`
and its Python lead to. A toolchain elsewhere is shown by having its `bin` on the worker's `PATH`.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

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


def shown(*, network: bool) -> list[str]:
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
