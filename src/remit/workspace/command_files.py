"""The names that the files of tools declare: scripts of package.json, targets of a Makefile, programs of Cargo.

No file is run. A name that a file computes cannot be read; then the file is not complete.
"""

from __future__ import annotations

import fnmatch
import itertools
import posixpath
import re
from collections.abc import Callable
from typing import Any

import msgspec

from remit.lazy import lazy_pattern
from remit.workspace.files import SourceFile, Workspace

#: Larger files are not read.
_MAX_FILE = 1_000_000
#: At most this many included files, names and patterns are read.
_MAX_INCLUDES = 50
_MAX_NAMES = 5_000
_MAX_PATTERNS = 200


class Declared(msgspec.Struct, frozen=True):
    """The names that a file declares."""

    names: frozenset[str] = frozenset()
    #: Names with `*` for any text.
    patterns: tuple[str, ...] = ()
    #: Whether it declares no other names: it includes no file that cannot be read and computes none.
    is_complete: bool = True
    #: Programs that the file uses or that its dependencies may install.
    programs: frozenset[str] = frozenset()

    def may_have(self, name: str) -> bool:
        """Return whether a name may be declared in a way that cannot be read."""
        return not self.is_complete or any(fnmatch.fnmatchcase(name, pattern) for pattern in self.patterns)


class ToolFile(msgspec.Struct, frozen=True):
    """The files in which a tool looks for names, and how they are read."""

    files: tuple[str, ...]
    read: Callable[[Workspace, str], Declared]
    #: Whether it uses a file of a folder above.
    searches_upward: bool = True
    #: Whether all files of the project count, wherever the command runs.
    is_shared: bool = False


class _Collected(msgspec.Struct):
    """Names that are being collected."""

    names: set[str] = msgspec.field(default_factory=set)
    patterns: list[str] = []
    is_complete: bool = True

    def declared(self) -> Declared:
        """Return what was collected."""
        names = frozenset(itertools.islice(self.names, _MAX_NAMES))
        is_complete = self.is_complete and len(self.names) <= _MAX_NAMES and len(self.patterns) <= _MAX_PATTERNS
        return Declared(names, tuple(self.patterns[:_MAX_PATTERNS]), is_complete)


_UNREADABLE = Declared(is_complete=False)


def file_text(workspace: Workspace, path: str) -> str | None:
    """Return the text of a file; None if it is missing, too large or not text."""
    file = workspace.read(path)
    return file.text.removeprefix("\ufeff") if isinstance(file, SourceFile) and len(file.text) <= _MAX_FILE else None


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# package.json

_DEPENDENCIES = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
#: The programs of a script: `cross-env CI=1 vitest run && tsc` has `vitest` and `tsc`.
_SCRIPT_PROGRAM = lazy_pattern(r"(?:^|[&|;]) *+(?>(?:(?:npx|cross-env|dotenv|--|\w++=\S*+) ++)*)([\w@./\-]{2,60})")


def _read_package(workspace: Workspace, path: str) -> Declared:
    """Read package.json: scripts, and the programs that it and its dependencies may install."""
    try:
        package = msgspec.json.decode(file_text(workspace, path) or "")
    except (ValueError, RecursionError):
        return _UNREADABLE
    if not isinstance(package, dict):
        return _UNREADABLE
    scripts, bins = _mapping(package.get("scripts")), package.get("bin")
    programs: set[str] = {str(package.get("name")).rpartition("/")[2]} if isinstance(bins, str) else set(_mapping(bins))
    for key in _DEPENDENCIES:
        for name in _mapping(package.get(key)):
            parts = re.split(r"[@/\-]", name)
            # `@changesets/cli` installs `changeset`, and `@nestjs/cli` installs `nest`.
            programs.update((name, *parts, *(part.removesuffix("js").removesuffix("s") for part in parts)))
    for line in itertools.islice(scripts.values(), _MAX_NAMES):
        programs.update(_SCRIPT_PROGRAM.findall(line) if isinstance(line, str) else ())
    return Declared(frozenset(scripts), programs=frozenset(programs) - {""})


# make

_INCLUDE = lazy_pattern(r" *+(-?|s)include[ \t]++([^#\n]{1,2000})")
_VARIABLE = lazy_pattern(r"\$(?:\([^)]{0,80}\)|\{[^}]{0,80}\}|.)|%")


def _read_makefile(workspace: Workspace, path: str) -> Declared:
    """Read a makefile and all that it includes."""
    collected = _Collected()
    todo, done = [path], set[str]()
    while todo and len(done) < _MAX_INCLUDES:
        file = todo.pop()
        text = file_text(workspace, file) if file not in done else None
        if text is None:
            continue
        done.add(file)
        for written, is_optional in _make_rules(text, collected):
            folders = (posixpath.dirname(path), posixpath.dirname(file))
            candidates = [workspace.normal(posixpath.join(folder, written)) for folder in folders]
            included = next((candidate for candidate in candidates if candidate and workspace.exists(candidate)), None)
            todo += [included] if included else []
            collected.is_complete &= is_optional or included is not None
    collected.is_complete &= not todo
    return collected.declared()


def _make_rules(text: str, collected: _Collected) -> list[tuple[str, bool]]:
    """Collect the targets of a makefile; return the files that it includes, and whether each may be missing.

    A makefile with `eval` or `.DEFAULT` may have any target.
    """
    included: list[tuple[str, bool]] = []
    collected.is_complete &= not any(word in text for word in ("$(eval", "${eval", ".DEFAULT:"))
    for line in text.replace("\\\n", " ").split("\n"):
        if match := _INCLUDE.match(line):
            included += [(word, bool(match[1])) for word in match[2].split()[:_MAX_INCLUDES]]
        elif line[:1] not in ("\t", "#"):
            _add_targets(line, collected)
    return included


def _add_targets(line: str, collected: _Collected) -> None:
    """Collect the targets of one line: `a b: c`, but not `a := b` or `$(info a: b)`."""
    head, colon, rest = line.partition(":")
    is_rule = colon and "=" not in head and "#" not in head and not rest.lstrip(":").startswith("=")
    if not is_rule or head.count("(") != head.count(")"):
        return
    targets = head.rstrip("& ").split()
    for target in rest.split() if targets == [".PHONY"] else targets:
        if "%" in target or "$" in target:
            collected.patterns.append(_VARIABLE.sub("*", target))
        else:
            collected.names.add(target)


# Cargo.toml


def _read_cargo(workspace: Workspace, path: str) -> Declared:
    """Read the programs of a Rust package: those that its manifest names, and the files of src/bin."""
    manifest = _toml(file_text(workspace, path) or "")
    if manifest is None:
        return _UNREADABLE
    bins = manifest.get("bin")
    entries = [*(bins if isinstance(bins, list) else ()), manifest.get("package")]
    names = {name for entry in entries if isinstance(name := _mapping(entry).get("name"), str)}
    folder = posixpath.join(posixpath.dirname(path), "src/bin/")
    files = workspace.index.paths_from(folder, _MAX_NAMES)
    return Declared(frozenset(names) | {file[len(folder) :].partition("/")[0].removesuffix(".rs") for file in files})


def _toml(text: str) -> dict[str, Any] | None:
    try:
        return _mapping(msgspec.toml.decode(text))
    except (ValueError, RecursionError):
        return None


_PACKAGE = ToolFile(("package.json",), _read_package)
#: What each tool reads, by the name of the tool.
TOOLS: dict[str, ToolFile] = {
    **dict.fromkeys(("npm", "pnpm", "yarn"), _PACKAGE),
    "make": ToolFile(("GNUmakefile", "makefile", "Makefile"), _read_makefile, searches_upward=False),
    "cargo": ToolFile(("Cargo.toml",), _read_cargo, is_shared=True),
}
