"""Record the files of a project by their stat data, and find those that changed between two records.

A record is linear in the number of files and opens none of them. A folder whose change time is the recorded one has the
recorded names, so only its files are looked at; a file is unchanged if its change time is, which no program can set.
What git ignores is left out, and so are folders of dependencies.
"""

from __future__ import annotations

import marshal
import os
import stat
import time

from remit.gate import file_versions
from remit.gate.file_versions import StatChange
from remit.gate.record_store import digest_of, find_store, open_store
from remit.globs import SKIPPED_WITH_VENV

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit.gate.file_versions import Entry

    #: The change time of the folder; the names of its files; their change times; the rest of their stat data.
    Folder = tuple[int, list[bytes], list[int], bytes]

#: The kinds of records in the store: a record by its digest, and the digest of the last one or of that before a call.
KIND, NAMED = "tree", "tree-of"
_VERSION = 4
#: More files are not compared; the user reads that.
MAX_FILES = 250_000
#: Files of a new folder of dependencies that are named.
_MAX_NEW = 500
#: A record with more folders to list than this is saved, although no file has changed.
_MANY_FOLDERS = 8
#: Folders of dependencies, and of other systems of version control: left out if git ignores them, if they were there
#: from the start or if a package manager made them.
_DEPENDENCIES = frozenset({b"node_modules", b".venv", b"venv", b".tox", b".hg", b".svn"})
#: Folders of caches: of a new one, only code is recorded.
_CACHES = frozenset({b"__pycache__", b".mypy_cache", b".pytest_cache", b".ruff_cache", b".hypothesis"})
_CODE_TEXT = "py pyi pth pyx js mjs cjs jsx ts mts tsx sh bash rb pl php go rs java kt c h cc cpp cs lua so"
_CODE = tuple(os.fsencode(f".{ending}") for ending in _CODE_TEXT.split())
_SKIPPED = frozenset(os.fsencode(name) for name in SKIPPED_WITH_VENV) - _DEPENDENCIES - _CACHES
_GONE: Entry = (0, 0, -1, 0, 0)
#: Clocks of file systems advance in steps of at most this time.
_CLOCK_STEP = 0.02
_OPEN_FOLDER = (
    getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC if os.name == "posix" else 0
)


class TreeRecord:
    """A record: folder -> stat data of its files; the copies that were made; the commit of all files without a copy."""

    def __init__(self) -> None:
        self.folders: dict[bytes, Folder] = {}
        #: Path -> [change time of the file when it was copied, digest of the copy].
        self.copies: dict[str, tuple[int, str]] = {}
        self.head = ""
        #: Files and folders that git ignores; a folder ends with a slash.
        self.ignored: frozenset[bytes] = frozenset()
        #: Folders of dependencies -> whether they are left out.
        self.left_out: dict[bytes, bool] = {}
        self.is_complete = True
        #: Of the scan that made the record: new folders of dependencies, the number of folders that were listed, and
        #: the newest change time in them.
        self.dependencies: list[bytes] = []
        self.listed = 0
        self.newest = 0

    def dumps(self) -> bytes:
        """Return the record as bytes."""
        values = (
            *(_VERSION, self.folders, self.copies, self.head),
            *(sorted(self.ignored), self.left_out, self.is_complete),
        )
        return marshal.dumps(values, 2)

    @classmethod
    def loads(cls, data: bytes) -> TreeRecord | None:
        """Return a record from its bytes, or None if they are not one."""
        try:
            version, folders, copies, head, ignored, left_out, is_complete = marshal.loads(data)  # noqa: S302
        except (ValueError, EOFError, TypeError):
            return None
        if version != _VERSION or not isinstance(folders, dict) or not isinstance(copies, dict):
            return None
        tree = cls()
        tree.folders, tree.copies, tree.head = folders, copies, head
        tree.ignored, tree.left_out, tree.is_complete = frozenset(ignored), left_out, is_complete
        return tree

    def successor(self) -> TreeRecord:
        """Return an empty record with the same copies and the same files left out."""
        tree = TreeRecord()
        tree.copies, tree.head, tree.ignored, tree.left_out = self.copies, self.head, self.ignored, self.left_out
        return tree

    @property
    def is_given_up(self) -> bool:
        """Whether the project had too many files when it was recorded for the first time."""
        return not self.is_complete and not self.folders

    def save(self, folder: str) -> None:
        """Save the record in the gate's store, as the last one."""
        store, data = open_store(folder), self.dumps()
        digest = digest_of(data)
        with store.changing():
            store.put(KIND, digest, data)
            store.put(NAMED, "", digest.encode())
            store.remove_unnamed(KIND, NAMED)

    def wait_for_the_clock(self) -> None:
        """Wait until a later change of a file that has just changed gets another time than the recorded one."""
        left = self.newest / 1e9 + _CLOCK_STEP - time.time()
        if 0 < left <= _CLOCK_STEP:
            time.sleep(left)

    def leave_out(self, paths: Iterable[bytes], *, is_left_out: bool = True) -> None:
        """Leave folders of dependencies out from now on, or record their files from now on."""
        self.left_out = {**self.left_out, **dict.fromkeys(paths, is_left_out)}


def scan(project: str, earlier: TreeRecord) -> tuple[TreeRecord, list[StatChange]]:
    """Return a new record of the project, and the files that differ from an earlier one."""
    tree, root = earlier.successor(), os.fsencode(project) + b"/"
    if earlier.is_given_up:
        tree.is_complete = False
        return tree, []
    waiting = [] if earlier.folders else [b""]
    count = 0
    for folder, files in earlier.folders.items():
        if _is_unchanged(root + folder, files):
            tree.folders[folder] = files
            count += len(files[1])
        else:
            waiting.append(folder)
    changes: list[StatChange] = []
    gone: list[bytes] = []
    while waiting and count <= MAX_FILES:
        folder = waiting.pop()
        before = earlier.folders.get(folder)
        listed = _list_folder(root, folder, tree, before, earlier, waiting)
        if listed is None:
            gone.append(folder)
            continue
        tree.folders[folder] = listed
        changes += _compare(folder, _entries(before), _entries(listed))
        count += len(listed[1])
    tree.is_complete = count <= MAX_FILES
    for folder in _all_below(gone, tree):
        changes += _compare(folder, _entries(earlier.folders.get(folder)), {})
        tree.folders.pop(folder, None)
    return tree, changes if tree.is_complete else []


def _is_unchanged(path: bytes, earlier: Folder) -> bool:
    changed_at, names, times, _ = earlier
    lstat = os.lstat
    try:
        folder = os.open(path, _OPEN_FOLDER)
    except OSError:
        return False
    try:
        return os.fstat(folder).st_ctime_ns == changed_at and times == [
            lstat(name, dir_fd=folder).st_ctime_ns for name in names
        ]
    except OSError:
        return False
    finally:
        os.close(folder)


def _list_folder(
    root: bytes, folder: bytes, tree: TreeRecord, before: Folder | None, earlier: TreeRecord, waiting: list[bytes]
) -> Folder | None:
    """Return the files of a folder, or None if it does not exist. Add its new folders to `waiting`."""
    prefix = folder + b"/" if folder else b""
    endings = _wanted_endings(folder, tree)
    names: dict[bytes, Entry] = {}
    names_before = set(before[1]) if before else ()
    try:
        about = os.lstat(root + folder)
        if not stat.S_ISDIR(about.st_mode):
            return None
        changed_at = about.st_ctime_ns
        with os.scandir(root + folder) as entries:
            for entry in entries:
                name, path = entry.name, prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if path not in earlier.folders and _is_recorded(name, path, tree):
                        waiting.append(path)
                elif name.endswith(endings) and (name in names_before or path not in tree.ignored):
                    about = entry.stat(follow_symlinks=False)
                    times = (about.st_ctime_ns, about.st_mtime_ns)
                    names[name] = (*times, about.st_size, about.st_mode, about.st_ino)
    except OSError:  # it was removed, or it cannot be read
        return None
    times_of_files = [entry[0] for entry in names.values()]
    tree.listed += 1
    tree.newest = max(tree.newest, changed_at, *times_of_files, 0)
    return changed_at, list(names), times_of_files, marshal.dumps([entry[1:] for entry in names.values()], 2)


def _wanted_endings(folder: bytes, tree: TreeRecord) -> tuple[bytes, ...]:
    """Return how the names end that are recorded in a folder: in one of caches, unless it is committed, only code."""
    is_cache = not _CACHES.isdisjoint(folder.split(b"/")) and tree.left_out.get(folder) is not False
    return _CODE if is_cache else (b"",)


def _is_recorded(name: bytes, path: bytes, tree: TreeRecord) -> bool:
    """Return whether the files of a new folder are recorded, and note a new folder of dependencies."""
    if name in _SKIPPED:
        return tree.left_out.get(path) is False
    if path + b"/" in tree.ignored:
        return False
    if name not in _DEPENDENCIES:
        return True
    if path not in tree.left_out:
        tree.dependencies.append(path)
    return not tree.left_out.get(path, True)


def _entries(folder: Folder | None) -> dict[bytes, Entry]:
    if folder is None:
        return {}
    _, names, times, rest = folder
    return {name: (time, *more) for name, time, more in zip(names, times, marshal.loads(rest), strict=True)}  # noqa: S302


def _compare(folder: bytes, before: dict[bytes, Entry], after: dict[bytes, Entry]) -> list[StatChange]:
    prefix = os.fsdecode(folder) + "/" if folder else ""
    changed = [(name, before.get(name, _GONE), entry) for name, entry in after.items() if before.get(name) != entry]
    changed += [(name, entry, _GONE) for name, entry in before.items() if name not in after]
    return [StatChange(prefix + os.fsdecode(name), old, new) for name, old, new in changed]


def _all_below(gone: list[bytes], tree: TreeRecord) -> list[bytes]:
    """Return removed folders with all recorded folders below them, which a link may still lead to."""
    if not gone:
        return []
    starts = tuple(folder + b"/" for folder in gone)
    return [*gone, *(folder for folder in tree.folders if folder.startswith(starts))]


def load_tree(folder: str, call: str = "") -> TreeRecord | None:
    """Return the last record, or the one before a call; None if it is missing."""
    store = find_store(folder)
    digest = (store.get(NAMED, call) or b"").decode("ascii") if store is not None else ""
    data = store.get(KIND, digest) if store is not None and digest else None
    return TreeRecord.loads(data) if data is not None else None


def first_record(folder: str, project: str) -> TreeRecord:
    """Record a project for the first time, with copies of all files that are not committed."""
    tree = TreeRecord()
    tree.head, tree.ignored = file_versions.head_of(project), file_versions.ignored_paths(project)
    scanned, _ = scan(project, tree)
    if not scanned.is_complete:
        tree.is_complete = False
        return tree
    paths = [os.fsdecode(path) for path in scanned.dependencies]
    committed = file_versions.committed_folders(project, paths) if paths else set()
    below = file_versions.committed_below(project, _SKIPPED | _CACHES)
    tree.leave_out(map(os.fsencode, below), is_left_out=False)
    tree.leave_out(os.fsencode(path) for path in paths if path not in committed)
    tree.leave_out(map(os.fsencode, sorted(committed)), is_left_out=False)
    tree, changes = scan(project, tree)
    keep_copies(folder, project, tree, changes)
    return tree


def record_again(folder: str, project: str, tree: TreeRecord, changes: list[StatChange]) -> None:
    """Save the record after a scan, with copies of the changed files. Without a change, the earlier one is as good."""
    if changes or tree.listed > _MANY_FOLDERS:
        keep_copies(folder, project, tree, changes)
        tree.save(folder)


def keep_copies(folder: str, project: str, tree: TreeRecord, changes: list[StatChange]) -> None:
    """Copy the changed files into the gate's store, so that their next change can be reverted."""
    paths = {change.path: change.after for change in changes if not change.is_removed}
    tree.copies = {**tree.copies, **file_versions.keep_copies(folder, project, paths, tree.copies, tree.head)}


def refresh_ignored(folder: str, ignored: frozenset[bytes]) -> None:
    """Use a new list of ignored files, so that new folders of output are not recorded any more."""
    tree = load_tree(folder)
    if tree is not None:
        tree.ignored = ignored
        tree.folders = {name: files for name, files in tree.folders.items() if not _is_below(name, tree.ignored)}
        tree.save(folder)


def _is_below(folder: bytes, ignored: frozenset[bytes]) -> bool:
    parts = folder.split(b"/")
    return any(b"/".join(parts[: count + 1]) + b"/" in ignored for count in range(len(parts)))


def add_folder(project: str, tree: TreeRecord, folder: str) -> list[StatChange]:
    """Record the files of a new folder, at most a few hundred, and return them as changes."""
    changes: list[StatChange] = []
    waiting = [os.fsencode(folder)]
    while waiting and len(changes) < _MAX_NEW:
        name, below = waiting.pop(), TreeRecord()
        files = _list_folder(os.fsencode(project) + b"/", name, below, None, below, waiting)
        waiting += below.dependencies
        if files is not None:
            tree.folders[name] = files
            changes += _compare(name, {}, _entries(files))
    return changes
