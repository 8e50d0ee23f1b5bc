"""Reasons why the author of a text is not to blame for a reference that does not hold.

Only the author of a result has to write paths in full. Another text may leave out folders, name what a build writes,
or a file in the home folder of its author.
"""

from __future__ import annotations

import re
from collections import Counter

from remit.evidence.file_names import has_known_ending
from remit.evidence.model import Location, Reference
from remit.evidence.other_code import DESCRIBED, NOT_HERE, OTHER_TYPE, is_other_language
from remit.evidence.path_resolution import is_in_package, is_there
from remit.evidence.planned import created_files
from remit.evidence.reference_lookup import LACKING, names_folder
from remit.globs import part_matches
from remit.lazy import lazy_pattern
from remit.workspace.files import Absent, SourceFile, Workspace
from remit.workspace.manifests import PLAIN_NAMES, plain_name, project_names
from remit.workspace.paths import is_absolute

#: A file in the home folder of the author that is not part of any checkout, and an installed package.
_HOME = lazy_pattern(
    r"~[\w.-]*/|/(?:Users|home)/[^/]+/\.[\w-]+/|[A-Za-z]:/Users/[^/]+/AppData/|.*/(?:site|dist)-packages/",
    re.IGNORECASE,
)
#: A file of a package: `@scope/name/lib/index.js`.
_PACKAGE = lazy_pattern(r"@[\w-]+/[\w.-]+/.")
#: A file of a package with its version, as in a cache of packages: `tray_manager-0.2.4/lib/tray.dart`.
_VERSIONED = lazy_pattern(r"([A-Za-z][\w.]*(?:-[A-Za-z]\w*)*)-v?(\d+\.\d+[\w.+-]*)/.")
#: The locks in which the version follows the name of a package.
_LOCKS = ("Cargo.lock", "poetry.lock", "uv.lock")
_NEXT_PACKAGE = lazy_pattern(r"\n {0,2}\S")
#: Two files at once: `src/view.h/.cpp`.
_PAIR = lazy_pattern(r"(.{1,400})(\.\w{1,5})/(\.\w{1,5})$")
#: What follows the number of a document in its name: `docs/14-login.md`.
_NUMBER_ENDS = "-_. "
#: Folders that only a build writes.
_BUILT = frozenset({"dist", ".next", ".nuxt", ".output", "coverage", "htmlcov", "__pycache__", ".turbo", ".cache"})
#: Folders that are not named like their project.
_PLAIN_FOLDERS = frozenset(("src", "lib", "app", "apps", "packages", "test", "tests", "docs", "web", "api", "core"))
#: The name that a source file has after it was compiled.
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
#: `File "/srv/app.py", line 12` shows the file at the time of the error.
_TRACEBACK = lazy_pattern(r"\w\", line \d")
#: The number of a finding that is like a range of lines: `L10-02`.
_FINDING = lazy_pattern(r"(?<![\w:-])(?<!lines )L\d{1,4}-0\d")
#: A dash between a line and what follows it: `line 905 — 38 times`.
_COUNTED = lazy_pattern(r"line \d+\s[–—]\s\d", re.IGNORECASE)
_ABOUT = lazy_pattern(r"(?<!\d)(?<!\d\s)[~≈]|\b(?:about|around|approx\w*|roughly|circa|ca\.)\s", re.IGNORECASE)
#: At most this many files with the same name are compared with a path.
_MAX_NAMESAKES = 200
_MAX_READ = 5
#: A name that this many files have, such as `index.ts`, does not show which of them is meant.
_MIN_COMMON = 3
_MAX_PACKAGES = 100
_MAX_PATTERNS = 2_000
#: And of those with other wildcards, or with several folders, this many.
_MAX_WILD = 200
#: The name of a revision: `main`, `origin/main`, `v1.2`.
_REF = lazy_pattern(r"(?:origin|upstream)/[\w./-]{1,60}|main|master|HEAD|v\d[\w.-]{0,20}|[0-9a-f]{7,40}")
_TITLE = lazy_pattern(r"(?m)^#[ \t]++(\S[^\n]{0,200})")
_WORD = lazy_pattern(r"[\w.-]{4,}")
_WILD = lazy_pattern(r"[*?\[\\]")
_SHORT = "the path leaves out folders of the file"
_SHORT_OF_SEVERAL = "the path leaves out folders; several files may be meant"
_OUTER = "the path has the folder of the checkout before"
_TWO_FILES = "the path has the name of a file before a slash; two files may be meant"
_BUILD = "a build writes it; it is not in the checkout"
_IGNORED = "the repository ignores it, so it is not in the checkout"
_SOURCE = "it is compiled from the file"
_INSTALLED = "it is in an installed package"
_AT_HOME = "it is in the home folder of the author, or an installed package"
_PAIR_OF = "the path names two files at once"
_MEANS = "the path may be short for"
_EARLIER = "a traceback shows the file as it was"
_ANNOUNCED = "the text creates this file; the line may be one of another file"
_NUMBER = "it may be the number of a finding"
_COUNT = "the number after the dash may not be a line"
_ROUGH = "the text gives the lines as an estimate"


class Excuses:
    """Sets references of one document to unchecked for which their author cannot be blamed."""

    def __init__(self, workspace: Workspace, references: list[Reference], text: str) -> None:
        """Excuse the references of a text, which were looked up."""
        self._workspace = workspace
        #: Whether most of them have a file in the checkout.
        self._is_here = 2 * sum(one.outcome not in NOT_HERE for one in references) > len(references)
        #: For each table that describes files (0: for the rest of the text), how many are here, and how many are not.
        self._tables = Counter((one.table, one.outcome not in NOT_HERE) for one in references)
        title = _TITLE.search(text.partition("```")[0])  # in a fence, `#` starts a comment
        words = frozenset(map(plain_name, _WORD.findall(title[1]) if title else ())) - PLAIN_NAMES
        firsts = {plain_name(one.path.partition("/")[0]) for one in references if one.outcome == "missing-file"} & words
        self._cited = frozenset(one.path for one in references if one.outcome not in NOT_HERE)
        #: The word of the title with which paths begin, if there is only one.
        self._title_word = next(iter(firsts)) if len(firsts) == 1 else ""
        self._ignored: dict[str, _Patterns] = {}
        self._packages: dict[tuple[str, str], bool] = {}
        self._documents: dict[str, list[str]] = {}
        self._text = text
        #: The files that the text announces as new; None before the first line that may be one of another file.
        self._new: frozenset[str] | None = None
        #: The files by the ends of their names after a dot; None before the first name that may be such an end.
        self._ends: dict[str, list[str]] | None = None
        #: The names of the project; None before the first path that may begin with one.
        self._project: frozenset[str] | None = None

    def apply(self, reference: Reference) -> None:
        """Set the reason if a missing file or line is excused by what the checkout has."""
        if names_folder(reference):
            reference.outcome, reference.found = "unchecked", None
        elif reference.outcome == "missing-file":
            self._excuse_missing(reference)
        elif reference.outcome == "out-of-range" and reference.carried and self._is_announced(reference.file):
            _excuse(reference, _ANNOUNCED)
        elif reference.outcome == "out-of-range":
            _excuse_range(reference)
        elif reference.outcome == "outside":
            is_home = reference.line is None and _HOME.match(reference.path)
            if is_home or (is_absolute(reference.path) and is_in_package(reference.path)):
                _excuse(reference, _AT_HOME)

    def _is_announced(self, file: str) -> bool:
        """Return whether the text creates a file, so that the lines are those of another one: `Create: src/app.py`."""
        if self._new is None:
            self._new = created_files(self._text)
        parts = file.split("/")
        return any("/".join(parts[at:]) in self._new for at in range(len(parts)))

    def _excuse_missing(self, reference: Reference) -> None:
        path = reference.path
        if found := self._longer(reference):
            _excuse(reference, f"{_SHORT} {found[0]}" if len(found) == 1 else _SHORT_OF_SEVERAL)
            reference.found = Location(found[0], reference.line) if len(found) == 1 else None
        elif inner := self._below_project(reference):
            reference.outcome, reference.why = "abbreviated", f"{_OUTER} {inner}"
            reference.target, reference.found = inner, Location(inner, reference.line)
        elif inner := self._doubled(reference) or self._below_title(reference):
            _excuse(reference, f"{_OUTER} {inner}")
            reference.found = Location(inner, reference.line)
        elif reference.line is None and (pair := self._pair(path)):
            reference.outcome, reference.why = "abbreviated", _PAIR_OF
            reference.found = Location(pair, reference.line)
        elif source := self._source(reference):
            _excuse(reference, f"{_SOURCE} {source}")
            reference.found = Location(source)
        elif meant := self._numbered(reference) or self._ending(reference):
            _excuse(reference, f"{_MEANS} {meant}")
            reference.found = Location(meant, reference.line)
        elif self._is_here and self._is_other_type(path):
            _excuse(reference, OTHER_TYPE)
        elif why := self._why_not_expected(path):
            _excuse(reference, why)
        elif _TRACEBACK.search(reference.text):
            _excuse(reference, _EARLIER)
        elif reference.may_be_planned and self._is_new_name(reference):
            reference.outcome, reference.found, reference.why = "planned", None, DESCRIBED

    def _why_not_expected(self, path: str) -> str:
        """Return why a file is not expected in a checkout; empty if it is."""
        file, _, ref = path.partition("@")
        if _REF.fullmatch(ref) and self._workspace.index.ending_with(file):
            return f"the text cites another revision of {file}"
        if self._names_two_files(path):
            return _TWO_FILES
        if _PACKAGE.match(path) or self._is_locked_package(path) or self._is_dart_package(path):
            return _INSTALLED
        if self._is_built(path):
            return _BUILD
        return _IGNORED if self._is_ignored(path) else ""

    def _names_two_files(self, path: str) -> bool:
        """Return whether a path has the names of two files here with a slash between them: `app.py/cli.py`."""
        first, slash, second = path.rpartition("/")
        if not slash or not has_known_ending(first.rpartition("/")[2]) or second.startswith("."):
            return False
        index = self._workspace.index
        return bool(index.ending_with(first)) and bool(index.ending_with(second))

    def _is_new_name(self, reference: Reference) -> bool:
        """Return whether a file is not here under another path either, and most files of its table are not here."""
        here, missing = self._tables[reference.table, True], self._tables[reference.table, False]
        namesakes = len(self._workspace.index.ending_with(reference.path.rpartition("/")[2]))
        stem = reference.path.rpartition(".")[0]
        is_similar = reference.found is not None or bool(stem and self._workspace.index.paths_from(f"{stem}.", 1))
        return here < missing and (namesakes >= _MIN_COMMON or (namesakes == 0 and not is_similar))

    def _longer(self, reference: Reference) -> list[str]:
        """Return the files with the same name that have all folders of a path in their order, and the line."""
        *folders, name = reference.path.split("/")
        if not folders or folders[0] in ("", "~", ".."):
            return []
        named = self._workspace.index.ending_with(name)[:_MAX_NAMESAKES]
        found = [path for path in named if _has_in_order(path.split("/")[:-1], folders)]
        return [path for path in found[:_MAX_READ] if self._has_line(path, reference)]

    def _doubled(self, reference: Reference) -> str:
        """Return the file of a path that has its first folder twice, as in a checkout with the name of its package."""
        first, _, inner = reference.path.partition("/")
        is_package = inner.startswith(f"{first}/") and first not in _PLAIN_FOLDERS
        return inner if is_package and self._has_line(inner, reference) else ""

    def _below_project(self, reference: Reference) -> str:
        """Return the file of a path that begins with the name of the project, as seen from the folder above it."""
        first, _, inner = reference.path.partition("/")
        is_folder = first in self._workspace.index.folder_names
        if is_folder or reference.symbol or not self._has_line(inner, reference):
            return ""  # a symbol was not looked up there
        if self._project is None:
            self._project = project_names(self._workspace)
        return inner if plain_name(first) in self._project else ""

    def _below_title(self, reference: Reference) -> str:
        """Return the file of a path that begins with a word of the title, which may be the name of the checkout."""
        first, _, inner = reference.path.partition("/")
        if plain_name(first) != self._title_word or first in self._workspace.index.folder_names:
            return ""
        return inner if "/" in inner and inner not in self._cited and self._has_line(inner, reference) else ""

    def _pair(self, path: str) -> str:
        """Return the first of two files that a path names at once, if both are there: `src/shop.h/.cpp`."""
        pair = _PAIR.match(path)
        if pair is None:
            return ""
        others = set(self._workspace.index.ending_with(pair[1] + pair[3]))
        found = self._workspace.index.ending_with(pair[1] + pair[2])
        return next((one for one in found if one.rpartition(".")[0] + pair[3] in others), "")

    def _numbered(self, reference: Reference) -> str:
        """Return the only file of a folder whose name begins with the number that a path ends with: `docs/14`."""
        folder, slash, number = reference.path.rpartition("/")
        if not slash or not number.isdecimal():
            return ""
        start = f"{folder}/{number}"
        if start not in self._documents:
            named = [
                path for sign in _NUMBER_ENDS for path in self._workspace.index.paths_from(start + sign, _MAX_READ)
            ]
            self._documents[start] = [path for path in named if "/" not in path[len(start) :]]
        found = self._documents[start]
        return found[0] if len(found) == 1 and self._has_line(found[0], reference) else ""

    def _ending(self, reference: Reference) -> str:
        """Return the only file with the line whose name ends with another one: `Store.cs` for `Shop.Store.cs`."""
        if "/" in reference.path or reference.line is None or not reference.path[:1].isupper():
            return ""
        if self._ends is None:
            self._ends = {}
            for path in self._workspace.index.paths:
                name = path.rpartition("/")[2]
                while (name := name.partition(".")[2]) and "." in name:
                    self._ends.setdefault(name, []).append(path)
        found = self._ends.get(reference.path, [])
        return found[0] if len(found) == 1 and self._has_line(found[0], reference) else ""

    def _is_other_type(self, path: str) -> bool:
        """Return whether a path is that of code, and the checkout has none in this language, nor in a related one.

        A file in a folder that is here, or with the name of one that is here, is missing.
        """
        folder, _, name = path.rpartition("/")
        stem, _, ending = name.rpartition(".")
        if not is_other_language(ending, self._workspace):
            return False
        return stem not in self._workspace.index.stems and not (folder and is_there(folder, self._workspace))

    def _source(self, reference: Reference) -> str:
        """Return the only source file that is compiled to the file of a reference."""
        stem, dot, ending = reference.path.rpartition(".")
        if not dot:
            return ""
        ends = [stem.removeprefix("./") + other for other in _COMPILED.get(f".{ending}", ())]
        found = [path for end in ends for path in self._workspace.index.ending_with(end)]
        return found[0] if len(found) == 1 else ""

    def _has_line(self, path: str, reference: Reference) -> bool:
        if reference.line is None:
            return self._workspace.exists(path)
        file = self._workspace.read(path)
        last = reference.end_line or reference.line
        return isinstance(file, SourceFile) and 1 <= reference.line <= last <= file.line_count

    def _is_locked_package(self, path: str) -> bool:
        """Return whether a path has a folder with the name and version of a package in a lock of the project."""
        package = _VERSIONED.match(path)
        if package is None:
            return False
        own = name, version = package[1], package[2]
        if own not in self._packages and len(self._packages) < _MAX_PACKAGES:
            entry = f'\nname = "{name}"\nversion = "{version}"\n'
            is_locked = any(entry in self._lock(lock) for lock in _LOCKS)
            self._packages[own] = is_locked or f'version: "{version}"' in self._dart_package(name)
        return self._packages.get(own, False)

    def _lock(self, lock: str) -> str:
        file = self._workspace.read(lock)
        return file.text if isinstance(file, SourceFile) else ""

    def _dart_package(self, name: str) -> str:
        """Return the entry of a package in the lock of a Dart project, or nothing."""
        text, start = self._lock("pubspec.lock"), f"\n  {name}:\n"
        at = text.find(start) + len(start) - 1
        end = _NEXT_PACKAGE.search(text, at) if at >= len(start) - 1 else None
        return text[at : end.start() if end else None] if start in text else ""

    def _is_dart_package(self, path: str) -> bool:
        """Return whether a path is the main file of a package in the lock of the project: `just_audio.dart`."""
        name = path.removesuffix(".dart")
        return name != path and "/" not in name and bool(self._dart_package(name))

    def _is_built(self, path: str) -> bool:
        """Return whether a path is below a folder that a build writes and that the checkout does not have."""
        parts = path.split("/")[:-1]
        at = next((at for at, part in enumerate(parts) if part in _BUILT), None)
        return at is not None and not is_there("/".join(parts[: at + 1]), self._workspace)

    def _is_ignored(self, path: str) -> bool:
        """Return whether a pattern of `.gitignore` matches a path or a folder above it."""
        parts = path.split("/")
        return any(self._patterns("/".join(parts[:depth])).match(parts[depth:]) for depth in range(len(parts)))

    def _patterns(self, folder: str) -> _Patterns:
        """Return the patterns of the `.gitignore` of a folder."""
        if folder not in self._ignored:
            file = self._workspace.read(f"{folder}/.gitignore".lstrip("/"))
            self._ignored[folder] = _Patterns("" if isinstance(file, Absent) else file.text)
        return self._ignored[folder]


class _Patterns:
    """The patterns of one `.gitignore`, without those that match every file. Most are a name or an ending."""

    def __init__(self, text: str) -> None:
        lines = [line.strip() for line in text.split("\n")[:_MAX_PATTERNS]]
        patterns = [line.removeprefix("**/") for line in lines if line.strip("*/") and line[0] not in "#!"]
        names = {pattern.rstrip("/") for pattern in patterns if "/" not in pattern.rstrip("/")}
        plain = {name for name in names if not _WILD.search(name)}
        endings = {name for name in names - plain if name.startswith("*") and not _WILD.search(name, 1)}
        self._names = frozenset(plain)
        self._endings = tuple(name[1:] for name in endings)
        self._wild = sorted(names - plain - endings)[:_MAX_WILD]
        anchored = [pattern.strip("/").split("/") for pattern in patterns if "/" in pattern.rstrip("/")]
        self._anchored = anchored[:_MAX_WILD]

    def match(self, parts: list[str]) -> bool:
        """Return whether a pattern matches a path below the folder of the file, or a folder of it."""
        return (
            not self._names.isdisjoint(parts)
            or any(part.endswith(self._endings) for part in parts)
            or any(part_matches(part, piece) for piece in self._wild for part in parts)
            or any(len(pieces) <= len(parts) and all(map(part_matches, parts, pieces)) for pieces in self._anchored)
        )


def _excuse_range(reference: Reference) -> None:
    if reference.carried and not reference.is_next and reference.is_shared:
        _excuse(reference, LACKING)
    elif _TRACEBACK.search(reference.text):
        _excuse(reference, _EARLIER)
    elif (reference.end_line or 0) < (reference.line or 0) and _FINDING.search(reference.text):
        _excuse(reference, _NUMBER)
    elif _may_be_count(reference):
        _excuse(reference, _COUNT)
    elif reference.found_end is not None and _ABOUT.search(reference.text):
        _excuse(reference, _ROUGH)


def _may_be_count(reference: Reference) -> bool:
    """Return whether the number after a dash may count something: `line 905 — 38 times`; line 905 must be there."""
    if reference.line is None or reference.found is None or reference.found.line != reference.line:
        return False
    is_reversed = (reference.end_line or reference.line) < reference.line
    return is_reversed and _COUNTED.match(reference.text) is not None


def _excuse(reference: Reference, why: str) -> None:
    reference.outcome, reference.found, reference.found_end, reference.why = "unchecked", None, None, why


def _has_in_order(parts: list[str], folders: list[str]) -> bool:
    """Return whether a path has all folders in their order; `worker` may stand for `shop-worker`."""
    at = 0
    for part in parts:
        if at < len(folders) and _may_be_folder(part, folders[at]):
            at += 1
    return at == len(folders)


def _may_be_folder(part: str, name: str) -> bool:
    """Return whether a written folder is one of a path, or the end of its name; after a dot only in capitals."""
    if part == name or part.endswith((f"-{name}", f"_{name}")):
        return True
    return name[:1].isupper() and part[1:].endswith(f".{name}")
