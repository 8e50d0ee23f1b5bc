"""Look up commands and tests: what the files of the tools declare, and what test files define.

The answer is None where a checkout cannot show it: a target whose name is computed.
"""

from __future__ import annotations

import itertools
import posixpath
import sys
from collections.abc import Iterable
from functools import cached_property

import msgspec

from remit.errors import most_similar
from remit.evidence.model import Claim
from remit.evidence.read_commands import command_of
from remit.lazy import lazy_pattern
from remit.workspace.command_files import TOOLS, Declared, ToolFile, file_text
from remit.workspace.command_lines import ToolCommand
from remit.workspace.files import Workspace
from remit.workspace.manifests import plain_name, project_names

#: At most this many files of one tool, test files and names are read, and this many suggestions are made.
_MAX_FILES = 500
_MAX_TEST_FILES = 2_000
_MAX_NAMES = 5_000
_MAX_SUGGESTIONS = 50
#: How many characters before and after a command may name the folder that it runs in.
_AROUND = 200
#: The words of at most this many test files are kept.
_MAX_KEPT = 50
#: Folders whose files belong to an example or a test, not to the project.
_ASIDE = frozenset({"example", "examples", "fixtures", "spec", "template", "templates", "test", "testdata", "tests"})
#: Files from which cmake, autotools or meson make the files of make.
_GENERATORS = ("CMakeLists.txt", "configure", "configure.ac", "Makefile.am", "Makefile.in", "meson.build")


class CommandFacts(msgspec.Struct, frozen=True, gc=False):
    """What the checkout shows about a command or a test."""

    #: Whether it exists; None: the checkout cannot show it.
    is_known: bool | None = None
    #: The file that declares it, or that should.
    where: str = ""
    #: The most similar name there, if it does not exist.
    suggestion: str = ""
    #: Whether it is a program or a module of a dependency or of the system: the text states nothing about this project.
    is_foreign: bool = False


_UNKNOWN = CommandFacts()
_FOREIGN = CommandFacts(is_foreign=True)
#: Files of a tool with the names that they declare.
_Files = list[tuple[str, Declared]]


class _Search(msgspec.Struct, frozen=True):
    """A command, the folder that its line states, the folder of the document, and the text around the command."""

    command: ToolCommand
    stated: str
    document_folder: str
    around: str


class CommandFinder:
    """Looks up commands and tests in one checkout. Each file is read once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._tests = _TestFinder(workspace)
        self._declared: dict[tuple[str, str], Declared | None] = {}
        self._files: dict[str, _Files] = {}
        self._answers: dict[tuple[str, ...], CommandFacts] = {}
        self._suggestions_left = _MAX_SUGGESTIONS

    def find(self, claim: Claim, document_folder: str = "") -> CommandFacts:
        """Return the facts about a claim of a document in this folder, relative to the root of the checkout."""
        around = ""
        if claim.kind == "command":
            around = claim.segment.text[max(0, claim.start - _AROUND) : claim.end + _AROUND]
        key = (claim.kind, claim.name, claim.path, claim.code, document_folder, around)
        if key not in self._answers:
            self._answers[key] = self._find(claim, document_folder, around)
        return self._answers[key]

    def _find(self, claim: Claim, document_folder: str, around: str) -> CommandFacts:
        if claim.kind == "test":
            return self._with_suggestion(*self._tests.find(claim, document_folder))
        command = command_of(claim) if claim.kind == "command" else None
        if command is None:
            return _UNKNOWN
        search = _Search(command, claim.path, document_folder, around)
        if command.runner == "python":
            return self._module(search)
        return self._name(search)

    def _with_suggestion(self, facts: CommandFacts, name: str, names: Iterable[str]) -> CommandFacts:
        """Add the most similar name to the facts about one that does not exist."""
        if facts.is_known is not False or self._suggestions_left <= 0:
            return facts
        self._suggestions_left -= 1
        near = most_similar(name, sorted(set(itertools.islice(names, _MAX_NAMES))))
        return msgspec.structs.replace(facts, suggestion=near) if near else facts

    # Names that a file of the tool declares

    def _name(self, search: _Search) -> CommandFacts:
        """Look a name up in the files of its tool: those that decide, and all others if no folder is stated."""
        command, tool = search.command, TOOLS[search.command.runner]
        folder = self._folder(search) if search.stated else search.document_folder
        deciding = self._deciding(search, tool, folder) if folder is not None else []
        is_open = folder is None or not search.stated or command.in_packages or tool.is_shared
        others = self._everywhere(tool) if is_open else []
        for path, declared in (*deciding, *others):
            if command.name in declared.names:
                return CommandFacts(is_known=True, where=path)
        if search.stated and folder and not command.folder and self._is_declared_above(search, tool, folder):
            return _UNKNOWN  # a block that changes the folder once may mean the folder above later
        # A project that keeps its tool in one folder; a file further down is that of a sample or of another project.
        deciding = deciding or [pair for pair in others if pair[0].count("/") <= 1 and not _is_aside(pair[0])]
        if not deciding or folder is None or (search.stated and posixpath.dirname(deciding[0][0]) != folder):
            return _UNKNOWN
        where = deciding[0][0]
        # A folder that the text names next to the command may be the one that it runs in.
        named = [(path, declared) for path, declared in others if _names_folder(search.around, path)]
        asked = (*deciding, *(others if tool.is_shared else named))
        if any(declared.may_have(command.name) for _, declared in asked):
            return CommandFacts(where=where)
        every = (*deciding, *others)
        if not command.is_script and any(command.name in declared.programs for _, declared in every):
            return _FOREIGN
        if self._may_be_undeclared(command, posixpath.dirname(where)):
            return CommandFacts(where=where)
        names = itertools.chain.from_iterable(declared.names for _, declared in every)
        return self._with_suggestion(CommandFacts(is_known=False, where=where), command.name, names)

    def _deciding(self, search: _Search, tool: ToolFile, folder: str) -> _Files:
        """Return the files that the tool reads in a folder; if none is stated, also those above it."""
        if search.command.file:
            paths = [self._workspace.normal(posixpath.join(folder, search.command.file)) or ""]
        else:
            folders = _upward(folder) if tool.searches_upward or not search.stated else [folder]
            paths = [posixpath.join(place, name) for place in folders for name in tool.files]
        files = [(path, declared) for path in paths if (declared := self._read(tool, path))]
        is_nearest = [posixpath.dirname(path) == posixpath.dirname(files[0][0]) for path, _ in files]
        return list(itertools.compress(files, is_nearest)) if search.stated else files

    def _is_declared_above(self, search: _Search, tool: ToolFile, folder: str) -> bool:
        above = self._deciding(msgspec.structs.replace(search, stated=""), tool, folder)
        return any(search.command.name in declared.names for _, declared in above)

    def _everywhere(self, tool: ToolFile) -> _Files:
        """Return all files of a tool in the project."""
        if tool.files[0] not in self._files:
            paths = itertools.chain.from_iterable(map(self._workspace.index.ending_with, tool.files))
            few = itertools.islice(paths, _MAX_FILES)
            self._files[tool.files[0]] = [(path, declared) for path in few if (declared := self._read(tool, path))]
        return self._files[tool.files[0]]

    def _read(self, tool: ToolFile, path: str) -> Declared | None:
        key = (tool.files[0], path)
        if key not in self._declared:
            has_text = bool(path) and file_text(self._workspace, path) is not None
            self._declared[key] = tool.read(self._workspace, path) if has_text else None
        return self._declared[key]

    def _folder(self, search: _Search) -> str | None:
        """Return the folder of the checkout in which a command runs; None if there is no such folder.

        The first part may be the checkout itself: `git clone … && cd NAME`.
        """
        first, _, rest = search.stated.partition("/")
        candidates = [posixpath.join(search.document_folder, search.stated), search.stated]
        if plain_name(first) in self._own_names:
            candidates.append(rest)
        for candidate in candidates:
            folder = self._workspace.normal(candidate) if candidate else ""
            if folder == "" or (folder and self._workspace.index.paths_from(f"{folder}/", 1)):
                return folder
        return None

    @cached_property
    def _own_names(self) -> frozenset[str]:
        return project_names(self._workspace) | {plain_name(posixpath.basename(self._workspace.folder))}

    def _may_be_undeclared(self, command: ToolCommand, folder: str) -> bool:
        """Return whether a name may work without being declared.

        npm starts server.js. make builds files, and may run in a folder that cmake made.
        """
        if command.runner == "npm" and command.name == "start":
            return self._workspace.exists(posixpath.join(folder, "server.js"))
        if command.runner in ("npm", "pnpm", "yarn"):
            return "/" in command.name or command.name == "env"
        if command.runner != "make":
            return False
        target = posixpath.join(folder, command.name)
        return (
            any(self._workspace.exists(posixpath.join(folder, name)) for name in _GENERATORS)
            or self._workspace.exists(target)
            or bool(self._workspace.index.paths_from(f"{target}/", 1))
            or bool(self._workspace.index.paths_from(f"{target}.", 1))
        )

    def _module(self, search: _Search) -> CommandFacts:
        """Look up `python -m X`: in the folders from which the project's modules are imported."""
        index = self._workspace.index
        parts = search.command.name.split(".")
        folder = self._folder(search) if search.stated else search.document_folder
        for root in dict.fromkeys([*self._import_roots, *_upward(folder or "")]):
            start = posixpath.join(root, *parts)
            # A module may be compiled: any ending counts.
            if paths := index.paths_from(f"{start}.", 1) or index.paths_from(f"{start}/", 1):
                return CommandFacts(is_known=True, where=paths[0])
        if parts[0] in sys.stdlib_module_names or folder is None or len(parts) == 1:
            return _FOREIGN
        for root in dict.fromkeys([folder, *self._import_roots]):
            package = posixpath.join(root, parts[0])
            modules = [path for path in index.paths_from(f"{package}/", _MAX_NAMES) if path.endswith(".py")]
            # A folder without __init__.py is a package too, but one far below may be anything.
            if modules and (not root or f"{package}/__init__.py" in modules):
                above = len(package) - len(parts[0])
                names = (path[above:-3].removesuffix("/__init__").replace("/", ".") for path in modules)
                missing = CommandFacts(is_known=False, where=modules[0])
                return self._with_suggestion(missing, search.command.name, names)
        return _FOREIGN

    @cached_property
    def _import_roots(self) -> tuple[str, ...]:
        """The folders that may be on the path of Python: the root and those with a manifest."""
        manifests = itertools.chain.from_iterable(
            map(self._workspace.index.ending_with, ("pyproject.toml", "setup.py"))
        )
        places = ("", *map(posixpath.dirname, itertools.islice(manifests, _MAX_FILES)))
        return tuple(dict.fromkeys(root for place in places for root in (place, posixpath.join(place, "src"))))


def _is_aside(path: str) -> bool:
    """Return whether a file belongs to an example or a test, or is in a hidden folder."""
    return any(part in _ASIDE or part.startswith(".") for part in path.split("/")[:-1])


def _names_folder(text: str, path: str) -> bool:
    """Return whether a text names the folder of a file."""
    folder = posixpath.dirname(path)
    return bool(folder) and folder in text


def _upward(folder: str) -> list[str]:
    """Return a folder and all above it, the root of the checkout last."""
    folders = [folder] if folder else []
    while folder := posixpath.dirname(folder):
        folders.append(folder)
    return [*folders, ""]


# Tests

_CLASS_ENDINGS = (".java", ".kt", ".groovy", ".scala", ".cs", ".php", ".swift", ".ts", ".js", ".rb")
_HUMP = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CLASS = lazy_pattern(r"\bclass[ \t]+(\w{1,120})")
_WORD = lazy_pattern(r"\w+")
_DEFINITION = lazy_pattern(r"(?m)^[ \t]*+(?:(?:async[ \t]+)?def|class)[ \t]+(\w{1,120})")
#: A class with a base class that may define tests.
_DERIVED = lazy_pattern(
    r"\bclass[ \t]+(\w{1,120})(?:<[^>\n]{0,80}>)?(?:"
    r"[ \t]*\((?![ \t]*(?:object|(?:unittest\.)?(?:IsolatedAsyncio)?TestCase)?[ \t]*\))"
    r"|[ \t]+extends\b|[ \t]*[:<][ \t]*\w)"
)


class _TestWords(msgspec.Struct, frozen=True):
    """The words of a test file, the names that it defines, and its classes with a base class."""

    words: frozenset[str]
    definitions: frozenset[str]
    derived: frozenset[str]
    #: Whether it may have tests that are not written in it.
    is_open: bool


#: The facts about a test, its name, and the names that are near.
_TestAnswer = tuple[CommandFacts, str, Iterable[str]]


class _TestFinder:
    """Looks up tests in the files of a checkout."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._kept: dict[str, _TestWords | None] = {}

    def find(self, claim: Claim, document_folder: str) -> _TestAnswer:
        """Return whether a test file defines a test."""
        if not claim.path:
            qualified, _, method = claim.name.rpartition("#")
            return self._method(qualified.rpartition(".")[2].partition("$")[0], method)
        if self._workspace.normal(claim.path) is None:
            return _UNKNOWN, "", ()
        paths = self._paths(claim.path, document_folder)
        answers = [self._in_file(path, claim.name.split("::")) for path in paths]
        # The best answer of several files: it is there, it cannot be known, it is not there.
        answers.sort(key=lambda answer: (True, None, False).index(answer[0].is_known))
        return answers[0] if answers else (self._moved(claim), "", ())

    def _moved(self, claim: Claim) -> CommandFacts:
        """Return the facts about a test whose file does not exist, with a file of the same name that has the test."""
        paths = self._workspace.index.ending_with(posixpath.basename(claim.path))[:10]
        having = (path for path in paths if self._in_file(path, claim.name.split("::"))[0].is_known)
        path = next(having, None)
        return CommandFacts(is_known=False, suggestion=f"{path}::{claim.name}" if path else "")

    def _paths(self, written: str, document_folder: str) -> list[str]:
        for path in (written, posixpath.join(document_folder, written)):
            inside = self._workspace.normal(path)
            if inside and self._workspace.exists(inside):
                return [inside]
        return self._workspace.index.ending_with(posixpath.normpath(written))[:10]

    def _in_file(self, path: str, parts: list[str]) -> _TestAnswer:
        """Look for each part of the name of a test in a file."""
        file = self._words(path)
        if file is None:
            return CommandFacts(where=path), "", ()
        for part, above in zip(parts, ["", *parts], strict=False):
            if part not in file.words:
                is_known = None if file.is_open or above in file.derived else False
                return CommandFacts(is_known, path), part, file.definitions
        # A test that is only imported or named may come from another file.
        is_defined = not path.endswith(".py") or file.definitions.issuperset(parts)
        return CommandFacts(True if is_defined else None, path), "", ()

    def _method(self, name: str, method: str) -> _TestAnswer:
        """Look up `TestClass#method`: in the file of that name, else in the test files that define the class."""
        names = [*(f"{name}{ending}" for ending in _CLASS_ENDINGS), f"{_HUMP.sub('_', name).lower()}.rb"]
        paths = [path for file in names for path in self._workspace.index.ending_with(file)][:10]
        if not paths and self._classes is None:
            return _UNKNOWN, "", ()
        paths = paths or (self._classes or {}).get(name, [])
        answer: _TestAnswer = (CommandFacts(is_known=False), "", ())
        for path in paths:
            file = self._words(path)
            if file is None or method in file.words:
                return CommandFacts(None if file is None else True, path), "", ()
            # Minitest makes methods of sentences: `test "expired session"`.
            is_known = None if name in file.derived or path.endswith(".rb") else False
            answer = CommandFacts(is_known, path), method, file.words
        return answer

    @cached_property
    def _classes(self) -> dict[str, list[str]] | None:
        """The test files that define each class; None if no file is in such a language, or too many are."""
        paths = self._workspace.index.paths
        files = [path for path in paths if path.endswith(_CLASS_ENDINGS) and "test" in path.lower()]
        if not files or len(files) > _MAX_TEST_FILES:
            return None
        classes: dict[str, list[str]] = {}
        for path in files:
            for name in set(_CLASS.findall(file_text(self._workspace, path) or "")):
                classes.setdefault(name, []).append(path)
        return classes

    def _words(self, path: str) -> _TestWords | None:
        """Return the words of a test file; None if it cannot be read."""
        if path not in self._kept:
            while len(self._kept) >= _MAX_KEPT:
                self._kept.pop(next(iter(self._kept)))
            text = file_text(self._workspace, path)
            self._kept[path] = None if text is None else _test_words(text)
        return self._kept[path]


def _test_words(text: str) -> _TestWords:
    return _TestWords(
        frozenset(_WORD.findall(text)),
        frozenset(_DEFINITION.findall(text)),
        frozenset(_DERIVED.findall(text)),
        is_open="import *" in text or "globals()" in text,
    )
