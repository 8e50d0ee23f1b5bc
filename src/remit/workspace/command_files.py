"""The names that the files of tools declare: scripts of package.json, targets of a Makefile, environments of tox.

No file is run. A name that a file computes cannot be read; then the file is not complete.
"""

from __future__ import annotations

import fnmatch
import itertools
import posixpath
import re
from collections.abc import Callable, Iterator
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
    #: Returns None for a file that does not configure the tool.
    read: Callable[[Workspace, str], Declared | None]
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


# make and just: files that include others


def _read_with_includes(
    workspace: Workspace, path: str, read: Callable[[str, _Collected], list[tuple[str, bool]]]
) -> Declared:
    """Read a file and all that it includes. `read` returns the included files, and whether each may be missing."""
    collected = _Collected()
    todo, done = [path], set[str]()
    while todo and len(done) < _MAX_INCLUDES:
        file = todo.pop()
        text = file_text(workspace, file) if file not in done else None
        if text is None:
            continue
        done.add(file)
        for written, is_optional in read(text, collected):
            folders = (posixpath.dirname(path), posixpath.dirname(file))
            candidates = [workspace.normal(posixpath.join(folder, written)) for folder in folders]
            included = next((candidate for candidate in candidates if candidate and workspace.exists(candidate)), None)
            todo += [included] if included else []
            collected.is_complete &= is_optional or included is not None
    collected.is_complete &= not todo
    return collected.declared()


_INCLUDE = lazy_pattern(r" *+(-?|s)include[ \t]++([^#\n]{1,2000})")
_VARIABLE = lazy_pattern(r"\$(?:\([^)]{0,80}\)|\{[^}]{0,80}\}|.)|%")


def _read_makefile(workspace: Workspace, path: str) -> Declared:
    return _read_with_includes(workspace, path, _make_rules)


def _make_rules(text: str, collected: _Collected) -> list[tuple[str, bool]]:
    """Collect the targets of a makefile. One with `eval` or `.DEFAULT` may have any target."""
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


_RECIPE = lazy_pattern(r"(@|alias[ \t]++)?([A-Za-z_][\w\-]{0,99})")
_IMPORT = lazy_pattern(r"(import|mod)\??[ \t]++(?:'([^'\n]{1,300})'|\"([^\"\n]{1,300})\"|([\w\-]{1,99}))")


def _read_justfile(workspace: Workspace, path: str) -> Declared:
    return _read_with_includes(workspace, path, _just_recipes)


def _just_recipes(text: str, collected: _Collected) -> list[tuple[str, bool]]:
    """Collect the recipes and aliases of a justfile. The recipes of a module have its name before them."""
    imported: list[tuple[str, bool]] = []
    for line in text.split("\n"):
        if match := _IMPORT.match(line):
            if match[1] == "mod":
                collected.patterns += [match[4] or "*", f"{match[4]}::*"]
            else:
                imported.append((match[2] or match[3] or match[4], False))
        elif match := _RECIPE.match(line):
            colon = line.find(":")
            is_assignment = line[colon : colon + 2] == ":="
            if colon > 0 and (not is_assignment or (match[1] or "").startswith("alias")):
                collected.names.add(match[2])
    return imported


# task

_KEY = lazy_pattern(r"([\"']?)([\w.*:/\-]{1,99}?)\1:(?=\s|$)")


def _read_taskfile(workspace: Workspace, path: str) -> Declared:
    """Read the tasks of a Taskfile by their indentation. Tasks of an included file have its name before them."""
    collected = _Collected()
    section, depth, has_aliases = "", 0, False
    for line in (file_text(workspace, path) or "").split("\n"):
        bare = line.lstrip(" ")
        key = _KEY.match(bare)
        indent = len(line) - len(bare)
        if has_aliases and bare.startswith("- "):
            collected.names.add(bare[2:].strip(" \"'"))
        if key is None or bare.startswith("#"):
            continue
        name, rest = key[2], bare[key.end() :].partition("#")[0].strip()
        has_aliases = section == "tasks" and name == "aliases" and indent > depth
        if not indent:
            section, depth = name, 0
            collected.is_complete &= section not in ("tasks", "includes") or not rest
            continue
        depth = depth or indent
        if section == "includes":
            collected.patterns += [name, f"{name}:*"] if indent == depth else []
            collected.is_complete &= name not in ("flatten", "aliases")
        elif section == "tasks" and indent == depth:
            collected.names.add(name)
            collected.patterns += [name] if "*" in name else []
        elif has_aliases:
            collected.names.update(alias.strip(" \"'") for alias in rest.strip("[]").split(","))
    return collected.declared()


# tox and nox

_FACTORS = lazy_pattern(r"(?m)^[ \t]*+([\w.!,\-]{1,200}):[ \t]")
_GENERATIVE = lazy_pattern(r"(?>(?:\{[^{}]*+\}|[^\s,{}])+)")
_PYTHON_FACTOR = lazy_pattern(r"py|(?:py|pypy|cpython|jython)\d(?:\.?\d{1,2})?t?|\d\.\d{1,2}t?|ALL|\.pkg\w*")
#: A longer name is not expanded, and one name stands for at most this many.
_MAX_GENERATIVE = 400
_MAX_COMBINED = 500


def _read_tox(workspace: Workspace, path: str) -> Declared | None:
    """Read the environments of tox from any of its files; None if a file has none."""
    text = file_text(workspace, path) or ""
    if not path.endswith(".toml"):
        return _tox_sections(text, "tox" if path.endswith("tox.ini") else "tox:tox")
    document = _toml(text)
    is_own = path.endswith("tox.toml")
    if document is None:
        return _UNREADABLE if is_own else None
    table = document if is_own else _mapping(_mapping(document.get("tool")).get("tox"))
    if isinstance(legacy := table.get("legacy_tox_ini"), str):
        return _tox_sections(legacy, "tox")
    listed = table.get("env_list") if isinstance(table.get("env_list"), list) else []
    names = [name for name in listed or () if isinstance(name, str)]
    is_complete = len(names) == len(listed or ())
    return Declared(frozenset([*names, *_mapping(table.get("env"))]), is_complete=is_complete) if table else None


def _tox_sections(text: str, main: str) -> Declared | None:
    """Read the environments of a file with sections: those of `envlist`, and one for each section."""
    section, is_listed = "", False
    written: list[str] = []
    has_main = False
    for line in text.split("\n"):
        if line.startswith("["):
            section, is_listed = line[1:].partition("]")[0], False
            has_main |= section == main
            written += [section.removeprefix("testenv:")] if section.startswith("testenv:") else []
        elif section == main and line.strip():
            key, sign, value = line.partition("=")
            is_key = bool(sign) and not line[0].isspace()
            is_listed = key.strip() in ("envlist", "env_list") if is_key else is_listed
            written += [(value if is_key else line).partition("#")[0]] if is_listed else []
    if not has_main and not written:
        return None
    names = list(itertools.islice((name for line in written for name in _generated(line)), _MAX_NAMES))
    factors = {factor for name in names for factor in name.split("-")}
    factors.update(factor for line in _FACTORS.findall(text) for factor in re.split(r"[!,\-]", line))
    is_complete = not any("{[" in line or "{env:" in line for line in written)
    return Declared(frozenset(names) | frozenset(factors), is_complete=is_complete)


def _generated(written: str) -> Iterator[str]:
    """Yield the names that `py{311,312}-{unit,e2e}` stands for."""
    for name in _GENERATIVE.findall(written):
        if len(name) > _MAX_GENERATIVE:
            continue
        choices = [part.split(",") for part in re.split(r"[{}]", name)]
        for pieces in itertools.islice(itertools.product(*choices), _MAX_COMBINED):
            yield "".join(piece.strip() for piece in pieces)


def has_environment(declared: Declared, name: str) -> bool:
    """Return whether tox knows all factors of a name; those of Python it knows without a file."""
    return all(factor in declared.names or _PYTHON_FACTOR.fullmatch(factor) for factor in name.split("-"))


_FUNCTION = lazy_pattern(r"(?:async )?def (\w{1,99})")
_SESSION_NAME = lazy_pattern(r"\bname\s{0,4}=\s{0,4}[\"']([^\"'\n]{1,99})[\"']")
_COMPUTES_SESSIONS = lazy_pattern(r"(?m)^(?:[ \t]++@[\w.]*session\b|from .* import \*|[^@\n]*\bnox\.session\()")


def _read_noxfile(workspace: Workspace, path: str) -> Declared:
    """Read the sessions of a noxfile: the functions after a decorator `session`, and the names that it gives."""
    text = file_text(workspace, path) or ""
    collected = _Collected(is_complete=_COMPUTES_SESSIONS.search(text) is None)
    is_session = False
    for line in text.split("\n"):
        if line.startswith("@"):
            is_session |= "session" in line
        elif function := _FUNCTION.match(line):
            collected.names.update([function[1]] if is_session else ())
            is_session = False
    collected.names.update(_SESSION_NAME.findall(text))
    # `tests-3.12` and `tests(django='5')` are runs of the session `tests`.
    collected.patterns = [f"{name}[-(]*" for name in sorted(collected.names)]
    return collected.declared()


# Cargo.toml and pyproject.toml


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


def _read_pyproject(workspace: Workspace, path: str) -> Declared:
    """Read the scripts of a Python project."""
    document = _toml(file_text(workspace, path) or "")
    if document is None:
        return _UNREADABLE
    project, poetry = _mapping(document.get("project")), _mapping(_mapping(document.get("tool")).get("poetry"))
    tables = (project.get("scripts"), project.get("gui-scripts"), poetry.get("scripts"))
    return Declared(frozenset(name for table in tables for name in _mapping(table)))


def _toml(text: str) -> dict[str, Any] | None:
    try:
        return _mapping(msgspec.toml.decode(text))
    except (ValueError, RecursionError):
        return None


_PACKAGE = ToolFile(("package.json",), _read_package)
_TASKFILES = (
    f"{name}{end}" for end in (".yml", ".yaml", ".dist.yml", ".dist.yaml") for name in ("Taskfile", "taskfile")
)
#: What each tool reads, by the name of the tool.
TOOLS: dict[str, ToolFile] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _PACKAGE),
    "make": ToolFile(("GNUmakefile", "makefile", "Makefile"), _read_makefile, searches_upward=False),
    "just": ToolFile(("justfile", ".justfile", "Justfile", ".Justfile"), _read_justfile),
    "task": ToolFile(tuple(_TASKFILES), _read_taskfile),
    "tox": ToolFile(("tox.ini", "tox.toml", "setup.cfg", "pyproject.toml"), _read_tox),
    "nox": ToolFile(("noxfile.py",), _read_noxfile, searches_upward=False),
    "cargo": ToolFile(("Cargo.toml",), _read_cargo, is_shared=True),
    **dict.fromkeys(("uv", "poetry"), ToolFile(("pyproject.toml",), _read_pyproject)),
}
