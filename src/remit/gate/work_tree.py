"""Record the files of a project by their stat data, and find those that changed between two records.

A record is linear in the number of files and opens none of them. What git ignores is left out. Files that differ from
the last commit are copied, so that a change of them can be reverted.
"""

from __future__ import annotations

import marshal
import os
import stat

from remit.globs import SKIPPED_WITH_VENV
from remit.workspace.atomic_write import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    #: Change time, modification time (both in nanoseconds), size, mode.
    Entry = tuple[int, int, int, int]
    Folders = dict[str, dict[str, Entry]]

#: Relative to the gate's folder.
FILE = "tree"
COPIES = "before"
_VERSION = 1
#: More files are not compared; the user reads that.
MAX_FILES = 100_000
#: Limits of what is copied: bytes of a file, and of all files of one record.
MAX_COPY = 1_000_000
_MAX_COPIES = 32_000_000
_MAX_COPIED_FILES = 2_000
#: With more changed files than this, git is asked which of them are committed.
_MANY = 20
_GIT_SECONDS = 5.0
#: The parts of `.git` that decide what git runs and ignores.
_GIT_PARTS = {".git": ("config", "hooks", "info"), ".git/info": ("exclude", "attributes"), ".git/hooks": ()}
_SKIPPED = SKIPPED_WITH_VENV - {".git"}
_GONE: Entry = (0, 0, -1, 0)


class TreeRecord:
    """A record: folder -> name -> stat data; the copies that were made; and the commit of all files without a copy."""

    __slots__ = ("copies", "folders", "head", "ignored", "is_complete")

    def __init__(self) -> None:
        self.folders: Folders = {}
        #: Path -> [change time of the file when it was copied, digest of the copy].
        self.copies: dict[str, tuple[int, str]] = {}
        self.head = ""
        #: Files and folders that git ignores; a folder ends with a slash.
        self.ignored: frozenset[str] = frozenset()
        self.is_complete = True

    def dumps(self) -> bytes:
        """Return the record as bytes."""
        values = (_VERSION, self.folders, self.copies, self.head, sorted(self.ignored), self.is_complete)
        return marshal.dumps(values, 2)

    @classmethod
    def loads(cls, data: bytes) -> TreeRecord | None:
        """Return a record from its bytes, or None if they are not one."""
        try:
            version, folders, copies, head, ignored, is_complete = marshal.loads(data)  # noqa: S302 - plain data
        except (ValueError, EOFError, TypeError):
            return None
        if version != _VERSION or not isinstance(folders, dict) or not isinstance(copies, dict):
            return None
        tree = cls()
        tree.folders, tree.copies, tree.head = folders, copies, head
        tree.ignored, tree.is_complete = frozenset(ignored), is_complete
        return tree


class StatChange:
    """A file that differs between two records; an entry of size -1 means that it does not exist."""

    __slots__ = ("after", "before", "path")

    def __init__(self, path: str, before: Entry, after: Entry) -> None:
        self.path = path
        self.before = before
        self.after = after

    @property
    def is_new(self) -> bool:
        """Whether the file did not exist before."""
        return self.before[2] < 0

    @property
    def is_removed(self) -> bool:
        """Whether the file does not exist any more."""
        return self.after[2] < 0

    @property
    def is_same_content(self) -> bool:
        """Whether only the number of links or the owner changed, as far as stat data can tell."""
        return self.before[1:] == self.after[1:]


def scan(project: str, earlier: TreeRecord) -> tuple[TreeRecord, list[StatChange]]:
    """Return a new record of the project, and the files that differ from an earlier one."""
    tree = TreeRecord()
    tree.copies, tree.head, tree.ignored = earlier.copies, earlier.head, earlier.ignored
    changes: list[StatChange] = []
    waiting = [""]
    count = 0
    while waiting:
        folder = waiting.pop()
        before = earlier.folders.get(folder) or {}
        names = _scan_folder(project, folder, before, tree.ignored, waiting)
        tree.folders[folder] = names
        if names is not before:
            changes += _compare(folder, before, names)
        count += len(names)
        if count > MAX_FILES:
            tree.is_complete = False
            return tree, []
    if len(tree.folders) < len(earlier.folders) or not tree.folders.keys() >= earlier.folders.keys():
        for folder in earlier.folders.keys() - tree.folders.keys():
            changes += _compare(folder, earlier.folders[folder], {})
    return tree, changes


def _scan_folder(
    project: str, folder: str, before: dict[str, Entry], ignored: frozenset[str], waiting: list[str]
) -> dict[str, Entry]:
    """Return the files of a folder: the earlier dict itself if nothing changed. Add its folders to `waiting`."""
    prefix = folder + "/" if folder else ""
    wanted = _GIT_PARTS.get(folder)
    found: dict[str, Entry] = {}
    known = before.get
    same = 0
    try:
        with os.scandir(project + "/" + folder) as entries:
            for entry in entries:
                name = entry.name
                if wanted and name not in wanted:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if name not in _SKIPPED and f"{prefix}{name}/" not in ignored:
                        waiting.append(prefix + name)
                    continue
                about = entry.stat(follow_symlinks=False)
                old = known(name, _GONE)
                if old[0] == about.st_ctime_ns:
                    same += 1
                elif prefix + name not in ignored:
                    found[name] = (about.st_ctime_ns, about.st_mtime_ns, about.st_size, about.st_mode)
    except OSError:  # it was removed, or it cannot be read
        return found
    if same == len(before) and not found:
        return before
    names = frozenset(os.listdir(project + "/" + folder))
    return {**{name: entry for name, entry in before.items() if name in names and name not in found}, **found}


def _compare(folder: str, before: dict[str, Entry], after: dict[str, Entry]) -> list[StatChange]:
    prefix = folder + "/" if folder else ""
    changed = [
        StatChange(prefix + name, before.get(name, _GONE), entry)
        for name, entry in after.items()
        if before.get(name) is not entry and before.get(name) != entry
    ]
    return changed + [StatChange(prefix + name, before[name], _GONE) for name in before if name not in after]


def load_tree(folder: str, name: str = FILE) -> TreeRecord | None:
    """Return the last record in the gate's folder, or None."""
    data = read_bytes(os.path.join(folder, name), 1 << 28)
    return TreeRecord.loads(data) if data is not None else None


def first_record(folder: str, project: str) -> TreeRecord:
    """Record a project for the first time, with copies of all files that are not committed."""
    tree = TreeRecord()
    tree.head, tree.ignored = _git_line(project, "rev-parse", "HEAD"), ignored_paths(project)
    tree, changes = scan(project, tree)
    keep_copies(folder, project, tree, [change.path for change in changes])
    return tree


def ignored_paths(project: str) -> frozenset[str]:
    """Return the files and folders that git ignores and that contain no committed file."""
    arguments = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return frozenset(_git_names(project, *arguments) or ())


def refresh_ignored(folder: str, project: str) -> None:
    """Look again which files are ignored, so that new folders of output are not recorded any more."""
    tree = load_tree(folder)
    if tree is not None:
        tree.ignored = ignored_paths(project)
        tree.folders = {name: files for name, files in tree.folders.items() if not _is_below(name + "/", tree.ignored)}
        replace_file(os.path.join(folder, FILE), tree.dumps(), mode=0o600, sync=False)


def _is_below(folder: str, ignored: frozenset[str]) -> bool:
    parts = folder.split("/")
    return any("/".join(parts[:count]) + "/" in ignored for count in range(1, len(parts)))


def keep_copies(folder: str, project: str, tree: TreeRecord, paths: Iterable[str]) -> None:
    """Copy these files into the gate's folder, except those that are as committed and those above a limit."""
    paths = [path for path in paths if not path.startswith(".git/")]
    if len(paths) > _MANY and tree.head:
        dirty = uncommitted(project, tree.head)
        paths = paths if dirty is None else sorted(dirty.intersection(paths))
    total = 0
    for path in paths[:_MAX_COPIED_FILES]:
        entry = tree.folders.get(os.path.dirname(path), {}).get(os.path.basename(path))
        if entry is None or entry[2] > MAX_COPY or total + entry[2] > _MAX_COPIES:
            continue
        if tree.copies.get(path, (0, ""))[0] == entry[0]:
            continue
        data = read_version(os.path.join(project, path), entry[3], MAX_COPY)
        if data is not None:
            total += len(data)
            tree.copies = {**tree.copies, path: (entry[0], _store(folder, data))}


def _store(folder: str, data: bytes) -> str:
    from remit.gate.reverse_patch import digest_of
    from remit.gate.session_store import make_private

    name = digest_of(data)
    path = os.path.join(folder, COPIES, name)
    if not os.path.lexists(path):
        make_private(os.path.dirname(path))
        replace_file(path, data, mode=0o600, sync=False)
    else:
        os.utime(path)  # it is in use
    return name


def content_before(folder: str, project: str, tree: TreeRecord, change: StatChange) -> bytes | None:
    """Return the content of a file at the time of a record: its copy, or what was committed; None if it is lost."""
    changed_at, name = tree.copies.get(change.path, (0, ""))
    if name and changed_at == change.before[0]:
        return read_bytes(os.path.join(folder, COPIES, name), MAX_COPY)
    if name or not tree.head:
        return None
    prefix = _git_line(project, "rev-parse", "--show-prefix")
    data = _git(project, "cat-file", "blob", f"{tree.head}:{prefix}{change.path}")
    if data is not None and len(data) != change.before[2]:
        data = data.replace(b"\n", b"\r\n")  # as git may have checked it out
    return data if data is not None and len(data) == change.before[2] else None


def is_rewritten(folder: str, project: str, tree: TreeRecord, change: StatChange) -> bool:
    """Return whether a file was written again with the same content and mode."""
    if change.is_new or change.is_removed or change.before[2:] != change.after[2:]:
        return False
    old = content_before(folder, project, tree, change)
    return old is not None and old == read_version(os.path.join(project, change.path), change.after[3], MAX_COPY)


def read_version(path: str, mode: int, limit: int) -> bytes | None:
    """Return the content of a file, or the target of a link."""
    if stat.S_ISLNK(mode):
        try:
            return os.fsencode(os.readlink(path))
        except OSError:
            return None
    return read_bytes(path, limit) if stat.S_ISREG(mode) else None


def read_bytes(path: str, limit: int) -> bytes | None:
    """Return the content of a regular file of at most `limit` bytes, else None."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = file.read(limit + 1)
    return data if len(data) <= limit else None


def are_ignored(project: str, paths: list[str]) -> set[str]:
    """Return the paths that git ignores."""
    import subprocess

    from remit.workspace.safe_git import command, environment

    try:
        found = subprocess.run(
            command(project, "check-ignore", "-z", "--stdin"),
            input=b"\0".join(os.fsencode(path) for path in paths),
            env=environment(project),
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return set()
    return {os.fsdecode(name) for name in found.stdout.split(b"\0") if name}


def uncommitted(project: str, commit: str = "HEAD") -> set[str] | None:
    """Return the files that differ from a commit, and those that were never committed; None without git."""
    changed = _git_names(project, "diff-index", "-z", "--name-only", "--relative", commit)
    others = _git_names(project, "ls-files", "-z", "--others", "--exclude-standard")
    return None if changed is None or others is None else {*changed, *others}


def _git(project: str, *arguments: str) -> bytes | None:
    from remit.errors import EnvironmentBroken
    from remit.workspace.safe_git import run_git  # late: most calls change nothing

    try:
        return run_git(project, *arguments, seconds=_GIT_SECONDS)
    except EnvironmentBroken:
        return None


def _git_line(project: str, *arguments: str) -> str:
    return os.fsdecode(_git(project, *arguments) or b"").strip()


def _git_names(project: str, *arguments: str) -> list[str] | None:
    data = _git(project, *arguments)
    return None if data is None else [os.fsdecode(name) for name in data.split(b"\0") if name]
