"""Find the file of the checkout that a written path means.

The steps, in order: the path from the root of the checkout; from the document's own folder; without a root of another
machine; the only file whose path ends with it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

import msgspec

from remit.evidence.file_names import has_known_ending
from remit.evidence.model import Reference
from remit.evidence.symbols import occurs_near
from remit.lazy import lazy_pattern
from remit.workspace.files import Absent, SourceFile, Workspace
from remit.workspace.paths import is_absolute, normalize_path

#: At most this many candidates of an ambiguous path are shown.
MAX_SHOWN = 5
_MAX_DEPTH = 30
#: How many folders of other machines are tried for each path.
_MAX_ROOTS = 20
_MAX_HEADING = 500
#: The references that must name a folder that does not exist.
MIN_ROOTED = 3
#: At most this many candidates of one path, and of all paths of a document, are read to see if a line is in range.
MAX_READ = 20
MAX_READ_IN_ALL = 2_000
#: Where machines keep packages.
_PACKAGE_FOLDER = lazy_pattern(
    r"/(?:\.cargo/registry|\.rustup|go/pkg/mod|node_modules|(?:site|dist)-packages|\.m2/repository|\.gradle/caches|"
    r"\.pub-cache|\.nuget/packages)/"
)
#: Folders of a machine that absolute paths start with, and that a checkout may have, too.
_SYSTEM_FOLDERS = frozenset(
    {"etc", "usr", "var", "proc", "sys", "dev", "root", "home", "Users", "boot", "run", "tmp", "mnt"}
)
#: Names that build tools or the text give to a folder: `@/app/page.ts`, `$lib/button.ts`, `ORIG/Button.java`.
_ALIAS = lazy_pattern(r"(?:\$[A-Za-z_]{1,40}|[@~#])/(?=[^/]+/)|([A-Z]{2,12})/(?=[^/])")
#: A sign that some editors write before an absolute path: `@/home/me/app/src/page.ts`.
_MENTION = lazy_pattern(r"@(/(Users|home)/[^/]+/[^/]+/.+)")
#: Where a text states what such a name means: `ORIG = the old module`.
_ALIAS_MEANING = lazy_pattern(r"\b([A-Z]{2,12})\b[`*]{0,3}\s?(?:[=:：→–—]|->|is\b|means\b|stands\b)")
#: A folder in a heading: `## docs/api/`, `### 3.1 docs/api/ — README.md`.
_FOLDER = lazy_pattern(r"(?<![\w./-])((?:[\w.@-]{1,60}/){1,20})(?![\w.*])")
#: A folder whose name is shortened: `framework-.../src/app.py`.
_SHORT_ROOT = lazy_pattern(r"([\w.-]*?[\w-])\.{3}[\w-]*/")
_UPWARDS = lazy_pattern(r"(?:^|/)\.{2,}/")
_ELLIPSIS = lazy_pattern(r"(?:\.{3,}|…)/+(?=.)")
#: The end of a folder's name has at least this many characters.
_MIN_END = 3
_path = attrgetter("path")
#: Folders that are left out in the middle, or the start of a folder's name: `src/.../app.ts`, `src/...Data/store.cs`.
_OMITTED = lazy_pattern(r"(.+)/\.{3}([^/]*)/(.+)")
_PATH = lazy_pattern(r"[\w.@+\-$~()\[\]]++(?:/[\w.@+\-$~()\[\]]++)++")


class Resolved(msgspec.Struct, frozen=True):
    """The path to show, the file that it abbreviates, and the files that it may abbreviate if there are several."""

    path: str
    target: str = ""
    candidates: tuple[str, ...] = ()


class PathResolver:
    """Resolves the paths of one document. Each path is resolved once."""

    def __init__(
        self, workspace: Workspace, *, folder: str = "", roots: Sequence[str] = (), opened: Collection[str] = ()
    ) -> None:
        self._workspace = workspace
        #: The document's own folder in the checkout; empty if it is the root or unknown.
        self._folder = folder
        #: Folders of other machines that stand for the root of the checkout.
        self._roots = tuple(roots)
        #: The files that the agent opened.
        self._opened = opened
        self._resolved: dict[str, Resolved] = {}
        #: The document, and the names in capitals whose meaning it states; None before the first path with such a name.
        self._text = ""
        self._aliases: set[str] | None = None
        #: The names of all paths of the document; empty when the index knows them.
        self._names: set[str] = set()
        self._reads_left = MAX_READ_IN_ALL

    def resolve_all(self, references: Iterable[Reference], text: str, *, is_result: bool = False) -> None:
        """Set the path, target and candidates of each reference; `text` is the whole document.

        The author of a result has to write paths from the root.
        """
        references = list(references)
        for one in references:
            if (marked := _MENTION.match(one.path)) and marked[2] not in self._workspace.index.folder_names:
                one.path = marked[1]
        self._text, self._aliases = text, None
        self._names = {one.path.rpartition("/")[2] for one in references}
        alone = {one.path for one in references if "/" not in one.path}
        absolute = (one.path for one in references if is_absolute(one.path))
        self._roots += _shared_roots(absolute, self._workspace, alone)
        folders = [] if is_result else _folders_of_headings(text)
        for one in references:
            found = self._resolve_once(one.path)
            one.path, one.target, one.candidates = found.path, found.target, found.candidates
            if "/" not in one.path and one.line is not None:
                self._prefer_line(one)
                self._add_namesake(one, folders)
        self._take_named_outside(references)
        several = [one for one in references if one.candidates]
        if several:
            named = {path.removeprefix("./").rstrip(".") for path in _PATH.findall(text)}
            for _, group in groupby(sorted(several, key=_path), key=_path):
                same = list(group)
                known = _only_known(same[0].candidates, (named, self._opened))
                for one in same:
                    self._choose(one, known)

    def _take_named_outside(self, references: list[Reference]) -> None:
        """Take the file outside that the document names in full for a name that abbreviates another file."""
        outside = {one.path.rpartition("/")[2]: one.path for one in references if one.path.startswith("../")}
        targets = {one.path for one in references if not one.target} if outside else set[str]()
        for one in references:
            if one.target and one.target not in targets and one.path in outside:
                one.path, one.target = outside[one.path], ""

    def _prefer_line(self, one: Reference) -> None:
        """Of a name that a file in the root and others have, take those that have the line if that file does not."""
        if one.target or one.candidates or not self._exists(one.path) or self._has_line(one.path, one):
            return
        others = [path for path in self._ending_with(one.path)[: MAX_READ + 1] if path != one.path]
        having = [path for path in others if self._has_line(path, one)]
        if len(having) == 1:
            one.target = having[0]
        one.candidates = tuple(having) if len(having) > 1 else ()

    def _add_namesake(self, one: Reference, folders: list[tuple[int, str]]) -> None:
        """Add the file of the same name in the folder that the heading is about: either of both may be meant."""
        at = bisect_right(folders, (one.at, "")) - 1
        if at < 0 or not folders[at][1] or one.target or one.candidates or not self._exists(one.path):
            return
        other = folders[at][1] + one.path
        if self._exists(other) and self._has_line(other, one):
            one.candidates = (one.path, other)

    def _is_alias(self, name: str) -> bool:
        """Return whether the document states what a name in capitals means: `SRC = packages/app/src`."""
        if self._aliases is None:
            self._aliases = set(_ALIAS_MEANING.findall(self._text))
        return name in self._aliases

    def resolve(self, path: str) -> Resolved:
        """Return what a path means, without regard to the rest of the document."""
        return self._resolve_once(path)

    def _resolve_once(self, path: str) -> Resolved:
        found = self._resolved.get(path)
        if found is None:
            found = self._resolved[path] = self._resolve(path)
        return found

    def _resolve(self, path: str) -> Resolved:
        if self._is_there(path):
            return Resolved(path)
        if path.startswith("@") and self._exists(path[1:]):  # a file that a prompt mentions: `@src/app.py`
            return Resolved(path[1:])
        if self._folder and not is_absolute(path):
            below = self._workspace.normal(f"{self._folder}/{path}")
            if below and (self._exists(below) or path.startswith("../")):
                return Resolved(below)
        alias = _ALIAS.match(path)
        if alias is not None and alias[1] is not None and not self._is_alias(alias[1]):
            alias = None
        if alias and (matches := self._ending_with(path[alias.end() :], alias[0].lower())):
            return Resolved(path, target=matches[0]) if len(matches) == 1 else Resolved(path, candidates=tuple(matches))
        rest = self._without_root(path)
        if rest is None:
            return Resolved(path)
        if rest != path and self._is_there(rest):
            return Resolved(rest)
        matches = self._ending_with(rest.strip("/"))
        if len(matches) == 1 and self._exists(matches[0]):
            return Resolved(rest, target=matches[0])
        target = "" if matches else self._by_name(rest)
        return Resolved(rest, target, tuple(matches) if len(matches) > 1 else ())

    def _by_name(self, name: str) -> str:
        """Return the file of a path that is written like a module: `core.store.py` is `core/store.py`."""
        stem, _, ending = name.rpartition(".")
        path = f"{stem.replace('.', '/')}.{ending}"
        return path if "." in stem and "/" not in stem and self._exists(path) else ""

    def _ending_with(self, end: str, other: str = "") -> list[str]:
        """Return the files whose path ends with another one; `src/.../app.ts` omits folders in the middle.

        Files in the folder `other` are left out: `SRC/app.py` is in another case, not short for something else.
        """
        index = self._workspace.index
        if self._names:
            index.prepare(self._names)
            self._names = set()
        if omitted := _OMITTED.fullmatch(end):
            start, name, tail = omitted.groups()
            return [path for path in index.ending_with(tail) if _omits(path.removesuffix(tail), start, name)]
        root = _SHORT_ROOT.match(end)
        if root is not None and "/" in (tail := end[root.end() :]):
            found = index.ending_with(tail)
            return [path for path in found if f"/{root[1]}" in f"/{path.removesuffix(tail)}"] or found
        found = index.ending_with(end)
        return [path for path in found if f"/{other}" not in f"/{path}"] if other else found

    def _exists(self, path: str) -> bool:
        return self._workspace.exists(path)

    def _is_there(self, path: str) -> bool:
        return is_there(path, self._workspace)

    def _without_root(self, path: str) -> str | None:
        """Return a path without the root of another machine; None if it leads outside."""
        if _ELLIPSIS.match(path):
            path = _ELLIPSIS.sub("", path, count=1)
        if not is_absolute(path):
            return self._workspace.normal(path)
        for root in self._roots:
            is_home = path.startswith("~") and path.startswith(f"{root}/")
            rest = self._workspace.normal(path[len(root) + 1 :]) if is_home else normalize_path(path, root)
            if rest:
                return rest
        rest = path.lstrip("/")
        is_own = path.startswith("/") and bool(rest) and self._starts_in_checkout(rest)
        return self._workspace.normal(rest) if is_own else None

    def _starts_in_checkout(self, rest: str) -> bool:
        """Return whether the first part of a path is a folder of the checkout, or the only part is one of its files.

        A path like `/etc/passwd` is one of the machine unless the checkout has exactly this file. Another path may also
        be the end of a file's path.
        """
        first, slash, _ = rest.partition("/")
        if first in _SYSTEM_FOLDERS:
            return self._exists(rest)
        if (slash or has_known_ending(rest)) and self._ending_with(rest):
            return True
        found = self._workspace.read(first)
        return isinstance(found, Absent) and found.why == "folder" if slash else self._exists(first)

    def _choose(self, reference: Reference, chosen: str | None) -> None:
        """Set the chosen candidate as target if it has the line, else keep all candidates."""
        candidates = reference.candidates
        if reference.symbol and (named := self._with_symbol(reference)) is not None:
            chosen = named
        if chosen is not None and self._has_line(chosen, reference):
            reference.target, reference.candidates = chosen, ()
            return
        having = [path for path in candidates[:MAX_READ] if self._has_line(path, reference)]
        if chosen is not None and not having:
            reference.target, reference.candidates = chosen, ()
            return
        reference.candidates = tuple(dict.fromkeys((*having, *candidates)))[:MAX_SHOWN]
        if not having and len(candidates) <= MAX_READ:
            reference.target = candidates[0]
            reference.why = f"none of the {len(candidates)} files that end with this path has this line"

    def _with_symbol(self, reference: Reference) -> str | None:
        """Return the only candidate that has the symbol of a reference near its line, if there is one."""
        files = [(path, self._workspace.read(path)) for path in reference.candidates[:MAX_READ]]
        named = [
            path
            for path, file in files
            if isinstance(file, SourceFile) and occurs_near(file, reference.symbol, reference.line, reference.end_line)
        ]
        return named[0] if len(named) == 1 and len(reference.candidates) <= MAX_READ else None

    def _has_line(self, path: str, reference: Reference) -> bool:
        if reference.line is None:
            return True
        self._reads_left -= 1
        if self._reads_left < 0:
            return True
        file = self._workspace.read(path)
        if isinstance(file, Absent):
            return file.why not in ("missing", "folder", "outside")
        return 1 <= reference.line <= (reference.end_line or reference.line) <= file.line_count


def _omits(folders: str, start: str, name: str) -> bool:
    """Return whether folders begin with some after which others are left out; the last one ends with a name."""
    above, _, last = folders.rstrip("/").rpartition("/")
    if not name:
        return f"/{start}/" in f"/{folders}"
    return len(name) >= _MIN_END and last.endswith(name) and f"/{start}/" in f"/{above}/"


def is_in_package(path: str) -> bool:
    """Return whether a path is in a folder in which machines keep packages."""
    return _PACKAGE_FOLDER.search(path) is not None and not _UPWARDS.search(path)


def is_system_path(path: str) -> bool:
    """Return whether an absolute path starts with a folder that machines have: `/etc/passwd`."""
    return path.split("/")[1:2] != [] and path.split("/")[1] in _SYSTEM_FOLDERS


def _only_known(candidates: tuple[str, ...], named: Iterable[Collection[str]]) -> str | None:
    """Return the only candidate in the first collection that has one of them; None if there is no such candidate."""
    for names in named:
        known = [path for path in candidates if path in names]
        if known:
            return known[0] if len(known) == 1 else None
    return None


def _shared_roots(paths: Iterable[str], workspace: Workspace, alone: Collection[str]) -> tuple[str, ...]:
    """Return the folders of other machines under which the rest of a path exists, the most frequent first.

    `alone` are the names that the document cites without a folder: such a file of the root makes its folder a root.
    """
    votes: Counter[str] = Counter()
    # Two files of the root of the checkout that have the same folder make that folder a root.
    tops: Counter[str] = Counter()
    # The checkout may have another layout: then the rest of several paths is the end of one file's path.
    ends: Counter[str] = Counter()
    for path in dict.fromkeys(paths):
        if workspace.normal(path) is None:
            votes.update(_root_of(path, workspace))
            ends.update(_root_by_end(path, workspace))
            folder, _, name = path.rpartition("/")
            tops[folder] += (1 + (name in alone)) * (bool(folder) and workspace.exists(name))
    votes.update({folder: 1 for folder, count in tops.items() if count > 1})
    votes, ends = (_outside_packages(roots) for roots in (votes, ends))
    if not votes:
        votes.update({folder: count for folder, count in ends.items() if count >= MIN_ROOTED})
    return tuple(sorted(votes, key=lambda root: -votes[root])[:_MAX_ROOTS])  # most_common(n) loads a module


def _outside_packages(roots: Counter[str]) -> Counter[str]:
    """Return the folders that are not in a package, if there are any: the checkout may be one that is installed."""
    return Counter({root: count for root, count in roots.items() if not is_in_package(f"{root}/")}) or roots


def _root_of(path: str, workspace: Workspace) -> Iterator[str]:
    """Yield the shortest folder under which the rest of a path is a file of the checkout and not in its root."""
    parts = path.split("/")
    # A file in the root of another machine's checkout has the checkout's name before it.
    is_named = len(parts) > 2 and parts[-2] == workspace.folder.replace("\\", "/").rpartition("/")[2]
    for cut in range(1, len(parts) - (not is_named)):
        rest = "/".join(parts[cut:])
        if rest and parts[cut] and workspace.exists(rest):
            if root := "/".join(parts[:cut]):  # a leading slash alone is not the root of another machine's checkout
                yield root
            return


def _root_by_end(path: str, workspace: Workspace) -> Iterator[str]:
    """Yield the shortest folder under which the rest of a path, a folder and a name, is the end of one file's."""
    parts = path.split("/")[: _MAX_DEPTH + 1]
    if any(workspace.exists("/".join(parts[cut:])) for cut in range(1, len(parts) - 1)):
        return
    for cut in range(2, len(parts) - 1):
        if parts[cut] and len(workspace.index.ending_with("/".join(parts[cut:]))) == 1:
            yield "/".join(parts[:cut])
            return


def _folders_of_headings(text: str) -> list[tuple[int, str]]:
    """Return the line of each heading, and the folder that it names with a slash at the end; "" for none."""
    headings = []
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        is_code ^= line.startswith(("```", "~~~"))
        if line.startswith("#") and not is_code:
            headings.append((number, line))
    found = ((number, _FOLDER.search(line[:_MAX_HEADING])) for number, line in headings)
    return [(number, folder[1].removeprefix("./") if folder else "") for number, folder in found]


def is_there(path: str, workspace: Workspace) -> bool:
    """Return whether a path leads to something in the checkout: a file, or a folder."""
    found = workspace.read(path)
    return isinstance(found, SourceFile) or found.why not in ("missing", "outside")
