"""Resolve a path and find its class. Links and `..` are followed before paths are compared."""

from __future__ import annotations

import os
import stat

from remit.gate.settings import GUARDED
from remit.globs import MAX_PATH_LENGTH, matches_glob
from remit.regular_files import read_regular
from remit.state_folder import state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.settings import GateSettings

#: Devices, which no rule protects.
_DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/fd")
#: Where the client creates other checkouts of the project. Their files have the same classes.
_WORKTREES = ".claude/worktrees/"
_BLOCK = 1 << 18
_MAX_BLOCKS = 256


class ProjectPath:
    """A file by its real name: relative to the project if it is inside, else absolute."""

    def __init__(self, real: str, name: str, *, inside: bool) -> None:
        self.real = real
        self.name = name
        self.inside = inside


def locate(path: str, cwd: str, project: str) -> ProjectPath:
    """Resolve a path. A path that no file can have counts as a missing file of the project."""
    try:
        if len(path) > MAX_PATH_LENGTH or "\0" in path:
            return ProjectPath("", path[:200].replace("\0", "?"), inside=True)
        whole = os.path.join(cwd or project, os.path.expanduser(_without_process_folder(path, cwd or project)))
        # A stream of the command is not that of this process.
        root = _resolve(project, "", "/")
        real = whole if whole in _DEVICES else _usual_name(_resolve(whole, project, root), root)
    except (ValueError, OSError):  # characters that no file name can have
        return ProjectPath("", ascii(path[:200]), inside=True)
    if real == root:
        return ProjectPath(real, ".", inside=True)
    if real.startswith(root.rstrip("/") + "/"):
        return ProjectPath(real, real[len(root.rstrip("/")) + 1 :], inside=True)
    return ProjectPath(real, real, inside=False)


def _usual_name(real: str, root: str) -> str:
    """Return a path below the project or the home folder by their usual names.

    A mount, or a file system that ignores case, gives a folder further names: `/System/Volumes/Data/Users/ann/shop`.
    """
    if real == root or real.startswith(root.rstrip("/") + "/"):
        return real
    usual = {_identity(path): path for path in (os.path.realpath(os.path.expanduser("~")), root)}
    above, rest = real, ""
    while above.rpartition("/")[0]:
        identity = _identity(above)
        if identity is not None and identity in usual:
            return usual[identity] + rest
        above, _, last = above.rpartition("/")
        rest = f"/{last}{rest}"
    return real


def _identity(path: str) -> tuple[int, int] | None:
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _resolve(whole: str, project: str, root: str) -> str:
    """Return the real path of a file. Of a path below the project, whose real path is `root`, only the rest is new."""
    parts = whole[len(project) + 1 :].split("/") if whole.startswith(project + "/") else [""]
    if not {"", ".", ".."}.isdisjoint(parts):
        return os.path.realpath(whole)
    path = root
    for number, part in enumerate(parts):
        path = f"{path}/{part}" if path != "/" else f"/{part}"
        try:
            is_link = stat.S_ISLNK(os.lstat(path).st_mode)
        except OSError:  # nothing below exists either, or can be looked at
            return "/".join([path, *parts[number + 1 :]])
        if is_link:
            return os.path.realpath(whole)
    return path


def _without_process_folder(path: str, cwd: str) -> str:
    """Replace the working directory of the process that opens the path, which is not this process."""
    for link in ("/proc/self/cwd", "/proc/thread-self/cwd"):
        if path == link or path.startswith(link + "/"):
            return cwd + path[len(link) :]
    return path


def classify(target: ProjectPath, settings: GateSettings) -> str:
    """Return state, spec, tests, prose or code; scratch for temporary files and devices outside the project."""
    if not target.inside and _is_scratch(target.real):
        return "scratch"
    if not target.real:  # a name that no file can have
        return "code"
    name = target.name if target.inside else target.name.lstrip("/")
    if name.startswith(_WORKTREES):
        name = name.removeprefix(_WORKTREES).partition("/")[2] or name
    for kind, globs in settings.paths.items():
        for glob in globs:
            # A glob for a folder of the project does not apply outside.
            if (target.inside or glob.startswith("**/")) and matches_glob(name, glob):
                return kind
    return "code"


def is_guarded(target: ProjectPath) -> bool:
    """Return whether only a person changes a file, or a folder of such files."""
    name, home = target.name, os.path.realpath(os.path.expanduser("~"))
    if not target.inside:
        if is_within(target.real, os.path.realpath(state_folder())):
            return True
        name = target.real.removeprefix(home + "/")
    return any(matches_glob(named, glob) for named in (name, f"{name}/_") for glob in GUARDED)


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_scratch(real: str) -> bool:
    if any(real == device or real.startswith(device + "/") for device in _DEVICES) or real.startswith("/proc/"):
        return True
    folders = {os.path.realpath(folder) for folder in ("/tmp", "/var/tmp", os.environ.get("TMPDIR") or "/tmp")}  # noqa: S108 - only compared with
    return any(folder != "/" and real.startswith(folder + "/") for folder in folders)


def count_lines(real: str, limit: int) -> int:
    """Return the number of lines of a file, at most `limit`; 0 for a file that is not readable text."""
    try:
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return 0
    lines, last = 0, b""
    try:
        for number in range(_MAX_BLOCKS):
            block = os.read(descriptor, _BLOCK)
            if not block or (number == 0 and b"\0" in block[:8192]):
                break
            lines, last = lines + block.count(b"\n"), block[-1:]
            if lines >= limit:
                break
    except OSError:  # a folder or an empty pipe
        return 0
    finally:
        os.close(descriptor)
    return min(limit, lines + (last not in (b"", b"\n")))


def read_text(real: str, max_bytes: int) -> str | None:
    """Return the text of a file, or None if it cannot be read or is larger than that."""
    data = read_regular(real, max_bytes + 1, follows_links=True)
    try:
        return data.decode("utf-8") if data is not None and len(data) <= max_bytes else None
    except UnicodeDecodeError:
        return None
