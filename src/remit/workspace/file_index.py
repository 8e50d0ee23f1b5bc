"""An index of the file names of a checkout: built once, then each lookup costs the same however many files there are.

A path in a document is often only the end of a file's path. The index finds the files that end with it, by whole
components. Installed packages are left out unless the document names their folder.
"""

from __future__ import annotations

import os
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property

from remit.globs import SKIPPED_DIRECTORIES
from remit.workspace.paths import folded_name
from remit.workspace.safe_git import decode_output, found_by_git, run_git, without_filters

#: Folders of installed or copied packages. A short path does not mean a file in them.
DEPENDENCIES = SKIPPED_DIRECTORIES | {
    *("venv", "env", "site-packages", "dist-packages", "vendor", "third_party", "third-party", "bower_components"),
    *("jspm_packages", "Pods", "Carthage", "deps", "_deps", "vcpkg_installed", ".yarn", ".pnpm", "elm-stuff"),
}
#: A group of files with the same name that is larger than this is sorted before it is searched.
_FEW = 16
#: After this many passes over all files, all names are indexed.
_PASSES = 2


class FileIndex:
    """The files of a checkout by name and by the end of their paths."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths
        self._sorted_groups: dict[str, list[str]] = {}
        #: The paths of the names that `prepare` was called for, and how often it may still be called.
        self._prepared: dict[str, list[str]] = {}
        self._passes_left = _PASSES

    @cached_property
    def paths(self) -> list[str]:
        """All files, sorted by path."""
        return sorted(set(self._paths))

    @cached_property
    def _by_name(self) -> dict[str, str | list[str]]:
        """The paths by their last part: one path, or a list of several. Most names occur once, and lists are slow."""
        names: dict[str, str | list[str]] = {}
        for path in self._paths:
            name = path[path.rfind("/") + 1 :]
            if name not in names:
                names[name] = path
                continue
            group = names[name]
            if isinstance(group, list):
                group.append(path)
            else:
                names[name] = [group, path]
        return names

    def prepare(self, names: Iterable[str]) -> None:
        """Collect the paths of these names in one pass, which is faster than an index of all names."""
        wanted = {name for name in names if name not in self._prepared}
        if not wanted or "_by_name" in self.__dict__ or not self._passes_left:
            return
        self._passes_left -= 1
        self._prepared.update((name, []) for name in wanted)
        for path in [path for path in self._paths if path[path.rfind("/") + 1 :] in wanted]:
            self._prepared[path[path.rfind("/") + 1 :]].append(path)

    def _named(self, name: str) -> list[str]:
        """Return the paths with this last part."""
        paths = self._prepared.get(name)
        if paths is None:
            other = self._by_name.get(name, [])
            paths = other if isinstance(other, list) else [other]
        return paths

    @cached_property
    def by_folded_name(self) -> dict[str, list[str]]:
        """Paths by their file name in lower case, each group sorted."""
        names: dict[str, list[str]] = {}
        for path in self.paths:
            names.setdefault(folded_name(path), []).append(path)
        return names

    @cached_property
    def endings(self) -> frozenset[str]:
        """The endings of all files, in lower case and without the dot."""
        return frozenset(ending_of(path) for path in self._paths)

    @cached_property
    def folder_names(self) -> frozenset[str]:
        """The names of all folders."""
        folders = {path[: path.rfind("/") + 1] for path in self._paths}
        return frozenset(name for folder in folders for name in folder.split("/") if name)

    def paths_from(self, start: str, limit: int) -> list[str]:
        """Return at most `limit` files whose path begins with `start`, sorted."""
        first = bisect_left(self.paths, start)
        return [path for path in self.paths[first : first + limit] if path.startswith(start)]

    def ending_with(self, end: str) -> list[str]:
        """Return the files whose path is `end` or ends with it after a slash, sorted."""
        paths = self._ending_with(end)
        if not paths and not end.isascii():
            paths = self._ending_with(unicodedata.normalize("NFC", end))
        named = DEPENDENCIES.intersection(end.split("/"))
        return sorted({path for path in paths if named or DEPENDENCIES.isdisjoint(path.split("/")[:-1])})

    def _ending_with(self, end: str) -> list[str]:
        name = end[end.rfind("/") + 1 :]
        group = self._named(name)
        if len(end) == len(name):
            return group
        if len(group) <= _FEW:
            below = "/" + end
            return [path for path in group if path == end or path.endswith(below)]
        return list(self._in_large_group(name, end))

    def _in_large_group(self, name: str, end: str) -> Iterator[str]:
        """Yield the matches in a group, which is sorted by the reversed paths: those with the same end are adjacent."""
        group = self._sorted_groups.get(name)
        if group is None:
            group = self._sorted_groups[name] = sorted({path[::-1] for path in self._named(name)})
        wanted = end[::-1]
        for index in range(bisect_left(group, wanted), len(group)):
            if not group[index].startswith(wanted):
                return
            if group[index][len(wanted) : len(wanted) + 1] in ("", "/"):
                yield group[index][::-1]


def project_files(root: str | os.PathLike[str]) -> list[str]:
    """Return the files below the root that are tracked, or untracked and not ignored; empty without git."""
    if found_by_git(root) is None:
        return []
    settings = without_filters(root)  # the repository's list of ignored files may be a pipe
    listed = run_git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", settings=settings) or b""
    return decode_output(listed).removesuffix("\0").split("\0") if listed else []


def ending_of(path: str) -> str:
    """Return the ending of a file's name in lower case: `py`, or an empty string."""
    return path[path.rfind("/") + 1 :].rpartition(".")[2].lower() if "." in path else ""
