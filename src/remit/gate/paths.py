"""Where a path really leads, and of which class it is. Links and `..` are followed before anything is compared."""

from __future__ import annotations

import os
import stat

from remit.globs import MAX_PATH_LENGTH, expand_braces, is_glob, matches_glob, part_matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.settings import GateSettings

#: Written by no rule's measure: not files of anybody.
_DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/fd")
#: Where the client puts other checkouts of the project: their files are of the classes of the project's own.
_WORKTREES = ".claude/worktrees/"
_BLOCK = 1 << 18
_MOST_BLOCKS = 256


class ProjectPath:
    """A file by its real name: relative to the project if it is inside, else absolute."""

    __slots__ = ("inside", "name", "real")

    def __init__(self, real: str, name: str, *, inside: bool) -> None:
        self.real = real
        self.name = name
        self.inside = inside


def locate(path: str, cwd: str, project: str) -> ProjectPath:
    """Where a path leads; one that no file can have is inside the project and does not exist."""
    try:
        if len(path) > MAX_PATH_LENGTH or "\0" in path:
            return ProjectPath("", path[:200].replace("\0", "?"), inside=True)
        whole = os.path.join(cwd or project, os.path.expanduser(_of_the_command(path, cwd or project)))
        # A stream of the command's own is not the one of this process.
        real = whole if whole in _DEVICES else os.path.realpath(whole)
        root = os.path.realpath(project)
    except (ValueError, OSError):  # letters that no name on disk can have
        return ProjectPath("", ascii(path[:200]), inside=True)
    if real == root:
        return ProjectPath(real, ".", inside=True)
    if real.startswith(root.rstrip("/") + "/"):
        return ProjectPath(real, real[len(root.rstrip("/")) + 1 :], inside=True)
    return ProjectPath(real, real, inside=False)


def _of_the_command(path: str, cwd: str) -> str:
    """A name that leads through the folder of the process which opens it: that is not this one."""
    for own in ("/proc/self/cwd", "/proc/thread-self/cwd"):
        if path == own or path.startswith(own + "/"):
            return cwd + path[len(own) :]
    return path


def classify(place: ProjectPath, settings: GateSettings) -> str:
    """state, spec, tests, prose or code; outside the project also scratch: temporary files and devices."""
    if not place.inside and _is_scratch(place.real):
        return "scratch"
    name = place.name if place.inside else place.name.lstrip("/")
    if name.startswith(_WORKTREES):
        name = name.removeprefix(_WORKTREES).partition("/")[2] or name
    for kind, globs in settings.paths.items():
        for glob in globs:
            # Outside, a pattern of a folder of the project says nothing.
            if (place.inside or glob.startswith("**/")) and matches_glob(name, glob):
                return kind
    return "code"


def is_guarded(place: ProjectPath, settings: GateSettings, project: str) -> bool:
    """Whether a write here can reach into a folder that only remit writes, also by wildcards, links or from above."""
    for folder in settings.guarded:
        if folder.startswith("/"):
            # Its own name and what it leads to: a link may stand above it.
            names, folders = [place.real], [folder, os.path.realpath(folder)]
        elif place.inside:
            names, folders = expand_braces(place.name), [folder]
        else:
            continue
        if any(_reaches(name, one) for name in names for one in folders):
            return True
    return _is_transcript(place) or _is_second_name(place, settings, project)


def _is_transcript(place: ProjectPath) -> bool:
    """Whether the client keeps there what a subagent did, or who launched it: reports are held against that."""
    if place.inside or not place.real.endswith((".jsonl", ".meta.json")):
        return False
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    return place.real.startswith(os.path.join(os.path.realpath(home), "projects", ""))


def _reaches(name: str, folder: str) -> bool:
    """Names of other letter case lead to the same file on some disks."""
    parts, wanted = name.lower().split("/"), folder.lower().rstrip("/").split("/")
    for part, own in zip(parts, wanted, strict=False):
        if part == "**":
            return True
        if part != own and not (is_glob(part) and part_matches(own, part)):
            return False
    return True


def _is_second_name(place: ProjectPath, settings: GateSettings, project: str) -> bool:
    """Whether it is a hard link to a file of such a folder; hardly any file has a second name."""
    try:
        found = os.lstat(place.real or ".")
        if found.st_nlink < 2 or not stat.S_ISREG(found.st_mode):
            return False
    except (OSError, ValueError):
        return False
    return any(found.st_ino in _inodes(os.path.join(project, folder)) for folder in settings.guarded)


def _inodes(folder: str) -> set[int]:
    try:
        with os.scandir(folder) as entries:
            return {entry.inode() for entry in entries}
    except OSError:
        return set()


def _is_scratch(real: str) -> bool:
    if any(real == device or real.startswith(device + "/") for device in _DEVICES) or real.startswith("/proc/"):
        return True
    folders = {os.path.realpath(folder) for folder in ("/tmp", "/var/tmp", os.environ.get("TMPDIR") or "/tmp")}  # noqa: S108 - only compared with
    return any(folder != "/" and real.startswith(folder + "/") for folder in folders)


def count_lines(real: str, most: int) -> int:
    """The lines of a file, at most so many; of what is no readable text none."""
    try:
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return 0
    lines, last = 0, b""
    try:
        for number in range(_MOST_BLOCKS):
            block = os.read(descriptor, _BLOCK)
            if not block or (number == 0 and b"\0" in block[:8192]):
                break
            lines, last = lines + block.count(b"\n"), block[-1:]
            if lines >= most:
                break
    except OSError:  # a folder, or a pipe with nothing in it
        return 0
    finally:
        os.close(descriptor)
    return min(most, lines + (last not in (b"", b"\n")))


def read_text(real: str, most: int) -> str | None:
    """A file's text; None if it cannot be read or has more bytes than that."""
    try:
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    try:
        blocks, size = [], 0
        while block := os.read(descriptor, _BLOCK):
            blocks.append(block)
            size += len(block)
            if size > most:
                return None
        return b"".join(blocks).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    finally:
        os.close(descriptor)
