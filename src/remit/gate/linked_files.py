"""Files outside the project to which links in the project lead: they belong to its code, but git does not know them.

They are recorded before a call by their change times, under the names that they have in the project.
"""

from __future__ import annotations

import os
import stat

from remit.gate.work_tree import PASSED_OVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.work_tree import TreeRecord

    #: Name in the project -> change time.
    LinkedFiles = dict[str, int]

#: How many links are followed, and how many files are recorded.
_MAX_LINKS = 500
_MAX_FILES = 2_000
#: What changes there is not a change of code.
_OF_THE_SYSTEM = (b"/proc/", b"/sys/", b"/dev/", b"/run/")


def linked_files(project: str, tree: TreeRecord) -> LinkedFiles:
    """Return the files that the links of a record lead to, apart from those that the record has itself."""
    if not tree.links:
        return {}
    files: LinkedFiles = {}
    root = os.path.realpath(os.fsencode(project)) + b"/"
    links = [folder + b"/" + name if folder else name for folder, names in tree.links.items() for name in names]
    for link in sorted(links)[:_MAX_LINKS]:
        real = os.path.realpath(root + link)
        if os.path.basename(link) in PASSED_OVER or real.startswith(_OF_THE_SYSTEM) or _is_known(real, root, tree):
            continue
        _add_files(link, real, files)
    return files


def changed_linked(project: str, tree: TreeRecord, before: LinkedFiles, changed: set[str]) -> list[str]:
    """Return the files of `before` that changed, and new ones next to them. `changed` are links that changed."""
    after = linked_files(project, tree)
    names = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    if len(before) >= _MAX_FILES or len(after) >= _MAX_FILES:  # another part may be recorded
        names = [name for name in names if name in before and name in after]
    return sorted(name for name in names if changed.isdisjoint(_with_folders(name)))


def _with_folders(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _is_known(real: bytes, root: bytes, tree: TreeRecord) -> bool:
    """Return whether a target is recorded itself, is the project, contains it, or is in the folder of git."""
    if not real.startswith(root):
        return root.startswith(real.rstrip(b"/") + b"/")
    name = real[len(root) :]
    folder, _, base = name.rpartition(b"/")
    recorded = tree.folders.get(folder)
    is_file = recorded is not None and base in recorded[1]
    return is_file or name in tree.folders or not PASSED_OVER.isdisjoint(name.split(b"/"))


def _add_files(link: bytes, real: bytes, files: LinkedFiles) -> None:
    """Add a file, or the files of a folder, without following the links in it."""
    try:
        about = os.lstat(real)
    except OSError:
        return
    if not stat.S_ISDIR(about.st_mode):
        files[os.fsdecode(link)] = about.st_ctime_ns
        return
    waiting = [(link, real)]
    while waiting and len(files) < _MAX_FILES:
        name, folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in sorted(entries, key=lambda item: item.name):
                    path = name + b"/" + entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in PASSED_OVER:
                            waiting.append((path, entry.path))
                    elif len(files) < _MAX_FILES:
                        files[os.fsdecode(path)] = entry.stat(follow_symlinks=False).st_ctime_ns
        except OSError:
            continue
