"""Suggest a path for one that does not exist: the same name in another folder, or a similar name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from remit.workspace.files import Workspace
from remit.workspace.paths import folded_name

#: Misspelt names are compared with all names of the tree, at most this often; then only equal names are suggested.
MAX_GUESSES = 50
#: Paths with the same name are compared at most this often; then the first one is suggested.
MAX_COMPARISONS = 1_000_000
_NEAR_NAME = 85
#: Up to this many names are compared in Python; loading the library takes longer than that.
_FEW_NAMES = 300
#: A shorter name is the end of too many others.
_MIN_END = 6
_FOLDER_FILES = ("__init__.py", "index.ts", "index.tsx", "index.js", "mod.rs", "main.py", "README.md")


class SuggestionFinder:
    """Suggests a path for one that does not exist. Each path is looked up once, within limits."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._suggestions: dict[str, str | None] = {}
        self._guesses_left = MAX_GUESSES
        self._comparisons_left = MAX_COMPARISONS

    def suggest(self, path: str) -> str | None:
        """Return the most likely path for one that does not exist, or None."""
        if path not in self._suggestions:
            self._suggestions[path] = self._find(path)
        return self._suggestions[path]

    def _find(self, path: str) -> str | None:
        names = self._workspace.index.by_folded_name
        same = names.get(folded_name(path))
        if same:
            return self._closest(same, path)
        return self._file_in_folder(path.rstrip("/") + "/") or self._similar(path, names)

    def _closest(self, paths: list[str], path: str) -> str:
        self._comparisons_left -= len(paths)
        if self._comparisons_left < 0:
            return paths[0]
        wanted = path.lower().split("/")
        return max(paths, key=lambda other: (_common_tail(other, path), _in_order(wanted, other), -len(other), other))

    def _file_in_folder(self, folder: str) -> str | None:
        """Return the main file of a folder, else its first file."""
        paths = self._workspace.index.paths
        main = next((folder + name for name in _FOLDER_FILES if _is_in(folder + name, paths)), None)
        first = bisect_left(paths, folder)
        return main or (paths[first] if first < len(paths) and paths[first].startswith(folder) else None)

    def _similar(self, path: str, names: dict[str, list[str]]) -> str | None:
        if self._guesses_left <= 0:
            return None
        self._guesses_left -= 1
        wanted = folded_name(path)
        if len(names) <= _FEW_NAMES:
            name = _nearest([name for name in names if _may_be_near(name, wanted)], wanted) or _ending(names, wanted)
            return self._closest(names[name], path) if name else None
        from rapidfuzz import fuzz, process  # late import: only needed for a missing file in a large tree

        near = process.extractOne(wanted, names.keys(), scorer=fuzz.ratio, score_cutoff=_NEAR_NAME)
        name = near[0] if near is not None else _ending(names, wanted)
        return self._closest(names[name], path) if name else None


def _nearest(names: list[str], wanted: str) -> str | None:
    """Return the name most similar to `wanted`, if it is similar enough."""
    from remit.evidence.similarity import similarity_to  # late: most files exist

    similarity = similarity_to(wanted, sum(map(len, names)))
    score, _, name = max(((similarity(name, 0.0), -at, name) for at, name in enumerate(names)), default=(0.0, 0, None))
    return name if score >= _NEAR_NAME / 100 else None


def _ending(names: Iterable[str], wanted: str) -> str | None:
    """Return the only name that ends with another one after a mark: `view.py` is the end of `login_view.py`."""
    ends = tuple(f"{mark}{wanted}" for mark in "_-+.")
    found = [name for name in names if name.endswith(ends)] if len(wanted) >= _MIN_END else []
    return found[0] if len(found) == 1 else None


def _may_be_near(name: str, wanted: str) -> bool:
    """Return whether two names share enough characters, in any order, to be similar."""
    shared = sum(min(name.count(character), wanted.count(character)) for character in set(wanted))
    return 200 * shared >= (_NEAR_NAME - 0.001) * (len(name) + len(wanted))


def _is_in(path: str, paths: list[str]) -> bool:
    at = bisect_left(paths, path)
    return at < len(paths) and paths[at] == path


def _common_tail(one: str, other: str) -> int:
    """Return the number of last parts that two paths share, ignoring case."""
    count = 0
    for a, b in zip(reversed(one.lower().split("/")), reversed(other.lower().split("/")), strict=False):
        if a != b:
            break
        count += 1
    return count


def _in_order(wanted: list[str], path: str) -> int:
    """Return how many parts of a path occur in another one, in their order, from the end."""
    count = 0
    for part in reversed(path.lower().split("/")):
        count += count < len(wanted) and part == wanted[-1 - count]
    return count
