"""Find names in files: occurrences as whole words, and definitions with their bodies.

Definitions come from tree-sitter grammars, which are loaded when the first definition is needed, else from patterns.
"""

from __future__ import annotations

import builtins
import os
import re
import stat
import sys
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Literal

from remit.evidence.code_tokens import has_in_code
from remit.evidence.file_names import is_source
from remit.evidence.model import NameFacts
from remit.lazy import lazy_pattern
from remit.workspace.definitions import SEPARATOR, SourceDefinition, defined_name, find_definitions
from remit.workspace.file_index import ending_of
from remit.workspace.files import Absent, SourceFile, Workspace, WorkTree
from remit.workspace.manifests import plain_name

#: The maximum distance of a name or quote from the cited lines.
REACH = 5
#: The names of this many files are kept: each one counts as its characters and a fixed weight.
_MAX_KEPT, _WEIGHT = 64 * 1024 * 1024, 1024 * 1024
#: Characters that are parsed for all names of a run. Then patterns are used.
_MAX_PARSED = 64 * 1024 * 1024
#: Limits of the search in the whole checkout. What was read is kept for the next name.
_MAX_SEARCHED_FILES = 20_000
_MAX_SEARCHED_FILE = 1024 * 1024
_MAX_SEARCHED = 128 * 1024 * 1024
_PIECE = 4 * 1024 * 1024
#: After this many names that are nowhere, all words are collected once.
_MAX_SINGLE = 20
_MAX_WORDS = 3_000_000
#: Up to this many characters around a line are searched directly, and this many names of a file one by one.
_SMALL = 20_000
_FEW = 20
_MAX_MANIFEST = 1024 * 1024
_BINARY_PROBE = 8192

_WORD = lazy_pattern(r"[\w$]+")
#: In these languages, `$` is a mark before a name: `$total` is declared and `$this->total` is used.
_BARE_WORD = lazy_pattern(r"\w+")
_SIGILS = frozenset(("php", "phtml", "sh", "bash", "zsh", "ksh", "pl", "pm", "ps1", "psm1", "scss", "less", "sass"))
#: Texts do not prove that a name of code exists, nor do data and files that tools write.
_NOT_SEARCHED = frozenset(
    """
    md mdx markdown rst txt adoc org tex log lock svg csv tsv jsonl ndjson map snap po diff patch sum
    png jpg jpeg gif webp ico bmp pdf zip gz tgz bz2 xz zst 7z rar tar jar war class so dll dylib exe o a lib bin wasm
    woff woff2 ttf otf eot mp3 mp4 mov avi wav ogg webm db sqlite sqlite3 pyc pkl npy npz parquet onnx pt docx xlsx
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
#: Larger files of these kinds are data, not settings.
_DATA, _MAX_SETTINGS = frozenset(("json", "plist")), 64 * 1024
_PLAIN_WORD = re.compile(rb"\w+")
#: What comes before a name of something: `cart.`, `Cart::`, `this->`, `items[0].`, `get()?.`.
_RECEIVER = lazy_pattern(r"([\w$]*)(?:\([^()]{0,80}\)|\[[^\[\]]{0,80}\]|[?!])*(?:\.|::|->|#)$")
_SELF = frozenset(("self", "this", "cls", "super", "static", "parent", "base"))
#: A line that is only a comment.
_COMMENT = lazy_pattern(r"\s*(?://|#(?![a-z\[])|\*(?:\*?/|\s|$)|/\*|--\s|<!--)")
#: A chain of calls is followed over this many lines.
_CHAIN = 3
_MAX_NEAR, _MAX_LINE, _MAX_RECEIVER = 200, 2_000, 120
#: Occurrences of a name that are compared with comments.
_MAX_USES = 1_000

#: How dependencies are written, by the name of the file.
_NPM = lazy_pattern(r'"((?:@[\w.-]{1,100}/)?[\w.-]{1,100})"\s*+:\s*+"(?:[\^~<>=*\d]|workspace:|file:|npm:|git|latest)')
_LOCKED = lazy_pattern(r'(?m)^name = "([\w.-]{1,100})"')
_REQUIRED = lazy_pattern(r"[\"']([A-Za-z][\w.-]{0,100})\s?(?:\[[\w,\s-]{0,100}\]\s?)?(?:[<>=~!;@]|[\"'])")
_MANIFESTS = {
    **dict.fromkeys(("package.json", "composer.json"), _NPM),
    "package-lock.json": lazy_pattern(r'"node_modules/((?:@[\w.-]{1,100}/)?[\w.-]{1,100})"'),
    **dict.fromkeys(("pyproject.toml", "setup.py"), _REQUIRED),
    "requirements.txt": lazy_pattern(r"(?m)^([A-Za-z][\w.-]{0,100})"),
    "Cargo.toml": lazy_pattern(r'(?m)^"?([\w.-]{1,100})"?\s?=\s?(?:["\'][\^~<>=*\d]|\{)'),
    **dict.fromkeys(("poetry.lock", "uv.lock", "Cargo.lock"), _LOCKED),
    "go.mod": lazy_pattern(r"(?m)^\s*+(?:require\s)?(?:[\w.~-]{1,100}/){1,8}?([\w.-]{1,100})(?:/v\d+)?\sv\d"),
    "Gemfile.lock": lazy_pattern(r"(?m)^ {4}([\w.-]{1,100}) \("),
    "pom.xml": lazy_pattern(r"<artifactId>([\w.-]{1,100})<"),
}
_MAX_MANIFESTS = 60
#: `import numpy as np`, `const fs = require("fs")`, `use serde::Serialize;`
_IMPORT = lazy_pattern(
    r"(?m)^\s{0,20}(?:(?:import|from|use|using|include|require\w{0,10}|#\s?include)\b([^\n]{1,300})|"
    r"(?:const|let|var)\s([^\n=]{1,200})=\s?(?:require|import)\b)"
)


class NameFinder:
    """Finds names in one tree of files. A file is parsed once, and the tree is read once for all names of a run.

    `excluding` are paths that do not show that a name exists: the documents that are checked.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        searches_all: bool = True,
        excluding: Collection[str] = (),
    ) -> None:
        self._workspace = workspace
        self._searches_all = searches_all
        self._files: OrderedDict[tuple[str, int], _FileNames] = OrderedDict()
        self._kept = 0
        self._asked: set[str] = set()
        #: The names and owners that definitions are searched for.
        self._words: set[str] = set()
        self._search = _Search(workspace, excluding)
        self._parsed = 0

    def prepare(self, names: Iterable[str]) -> None:
        """Note the names that will be asked for: where there are many, one pass answers for all of them."""
        for name in names:
            self._asked.add(last_part(name))
            self._words |= _defining_words(name)

    def facts(
        self, file: SourceFile, name: str, line: int | None, end_line: int | None, *, with_definitions: bool = True
    ) -> NameFacts:
        """Return where a name is: near the cited lines, elsewhere in the file, or anywhere in the checkout.

        Without `with_definitions`, a name that occurs near the lines is not looked up in the definitions of the file.
        """
        names = self._names(file)
        short, owner = last_part(name), _owner(name)
        low, high = (line - REACH, (end_line or line) + REACH) if line is not None else (1, len(file.lines))
        near = [number for number in names.near(short, low, high) if has_in_code(file, number, _bare(short, file))]
        uses = {number: _use(file, short, owner, number) for number in near[:_MAX_NEAR]} if line is not None else {}
        shown = [number for number, use in uses.items() if use == "named"] if uses else near
        cited = [number for number in shown if line is None or _is_cited(file, number, line, end_line or line)]
        if cited and not with_definitions:
            return NameFacts(is_near=True, line=_nearest(cited, line or 1))
        # A line that reads like the definition needs no parser.
        plain = [number for number in shown if not owner and defined_name(file.lines[number - 1]) == _bare(short, file)]
        if line is not None and plain:
            nearest = _nearest(plain, line)
            return NameFacts(is_near=True, line=nearest, is_definition=True, definitions=tuple(plain))
        every = near or [one for one in names.uses(short)[:_MAX_USES] if has_in_code(file, one, _bare(short, file))]
        if not every:
            return NameFacts(
                is_near=False, is_anywhere=self.is_anywhere(name), is_imported=self.is_imported(file, name)
            )
        meant, bodies = self._meant(file, name)
        if not shown:
            scopes = bodies or meant
            alone = [number for number, use in uses.items() if use == "alone"]
            is_module = not bodies and _folded(owner) in map(_folded, _WORD.findall(file.path))
            shown = [
                number
                for number in alone
                if is_module or any(_covers(definition, number, number) for definition in scopes)
            ]
        lines = tuple(sorted({definition.line for definition in meant if not definition.is_extension}))
        inside = line is not None and any(_covers(definition, line, end_line or line) for definition in meant)
        is_defined = any(low <= number <= high for number in lines)
        if not shown and not inside and not is_defined and near and not lines and not owner:
            shown = near  # nothing else of this name is in the file
        # A use next to the cited lines, or a comment in them, is a coincidence if the file defines the name elsewhere.
        is_use_nearby = bool(shown) and not cited and bool(lines)
        if inside or is_defined or (shown and not is_use_nearby):
            nearest = _nearest([number for number in lines if low <= number <= high] or shown or lines, line or 1)
            return NameFacts(is_near=True, line=nearest, is_definition=is_defined, definitions=lines)
        is_other = is_use_nearby or (bool(near) and not (lines and bodies))
        if owner and not lines and not is_other:
            # Nothing of this name is defined here: `shop.open` is not what `door.open` uses.
            every = [number for number in every[:_MAX_NEAR] if _may_be_of(file, short, owner, number)]
        nearest = _nearest(lines, line or 1) or _nearest(every, line or 1)
        if nearest is None:
            return NameFacts(is_near=False, is_anywhere=True, is_imported=self.is_imported(file, name))
        return NameFacts(is_near=False, line=nearest, is_definition=bool(lines), definitions=lines, is_other=is_other)

    def definition_lines(self, file: SourceFile, name: str) -> list[int]:
        """Return the lines that define a name."""
        meant, _ = self._meant(file, name)
        return sorted({definition.line for definition in meant if not definition.is_extension})

    def _definitions(self, file: SourceFile, name: str) -> dict[str, list[SourceDefinition]]:
        """Return where a file defines a name and its owner. The file is parsed once for all names of the document."""
        names = self._names(file)
        wanted = _defining_words(name)
        if not wanted <= names.searched:
            names.searched |= wanted | self._words
            self._parsed += len(file.text)
            names.definitions = find_definitions(file, names.searched, can_parse=self._parsed <= _MAX_PARSED)
        return names.definitions

    def is_anywhere(self, name: str) -> bool | None:
        """Return whether a name occurs in the checkout, besides texts; None if not all of it could be searched."""
        return self._search.has(last_part(name)) if self._searches_all else None

    def is_imported(self, file: SourceFile, name: str) -> bool:
        """Return whether a name is one of a dependency, of a module that the file imports, or of Python."""
        first = SEPARATOR.split(name)[0]
        if plain_name(first) in self._dependencies:
            return True
        is_python = ending_of(file.path) in ("py", "pyi", "ipynb")
        if is_python and (hasattr(builtins, first) or first in sys.stdlib_module_names):
            return True
        imports = (
            "".join(part or "" for part in statement.groups()) for statement in _IMPORT.finditer(file.text[:_SMALL])
        )
        return any(first in _WORD.findall(text) for text in imports)

    @cached_property
    def _dependencies(self) -> frozenset[str]:
        """The names of the dependencies, as the manifests of the project state them."""
        paths = [path for path in self._workspace.index.paths if path.count("/") < 2 and _manifest(path) in _MANIFESTS]
        names: set[str] = set()
        for path in paths[:_MAX_MANIFESTS]:
            file = self._workspace.read(path)
            if isinstance(file, SourceFile):
                names.update(_MANIFESTS[_manifest(path)].findall(file.text[:_MAX_MANIFEST]))
        return frozenset(plain_name(part) for name in names for part in (name, name.rpartition("/")[2]))

    def _names(self, file: SourceFile) -> _FileNames:
        key = file.path, hash(file.text)  # two commits have different files with the same path
        names = self._files.get(key)
        if names is None:
            names = self._files[key] = _FileNames(file, self._asked)
            self._kept += names.weight
            while len(self._files) > 1 and self._kept > _MAX_KEPT:
                self._kept -= self._files.popitem(last=False)[1].weight
        return names

    def _meant(self, file: SourceFile, name: str) -> tuple[list[SourceDefinition], list[SourceDefinition]]:
        """Return the definitions of a name, and those of its owner: the ones of a qualified name belong to it.

        Without an owner in the file, every definition of the last part may be meant.
        """
        definitions = self._definitions(file, name)
        named, owner = definitions.get(_bare(last_part(name), file), []), _owner(name)
        named = [
            definition
            for definition in named
            if not owner or not definition.owner or owner in _WORD.findall(definition.owner)
        ]
        bodies = definitions.get(owner, []) if owner else []
        owned = [
            definition
            for definition in named
            if owner in _WORD.findall(definition.owner)
            or any(_covers(body, definition.first_line, definition.last_line) and body != definition for body in bodies)
        ]
        return (owned if owned or bodies else named), [*bodies, *owned]


class _FileNames:
    """The lines on which names occur in one file, and its definitions once they were asked for."""

    def __init__(self, file: SourceFile, names: set[str]) -> None:
        self._file = file
        self._names = names
        self._uses: dict[str, list[int]] = {}
        self.weight = len(file.text) + _WEIGHT
        #: The definitions of the names that were searched for.
        self.definitions: dict[str, list[SourceDefinition]] = {}
        self.searched: set[str] = set()

    def near(self, name: str, low: int, high: int) -> list[int]:
        """Return the lines from `low` to `high` on which a name occurs; they are searched alone if they are short."""
        low = max(1, low)
        around = self._file.lines[low - 1 : max(0, high)]
        if len(around) > _SMALL or sum(map(len, around)) > _SMALL:
            uses = self.uses(name)
            return uses[bisect_left(uses, low) : bisect_right(uses, high)]
        short, word = _bare(name, self._file), _word_of(self._file)
        return [number for number, text in enumerate(around, low) if short in text and short in word.findall(text)]

    def uses(self, name: str) -> list[int]:
        """Return the lines on which a name occurs. After a few names, one pass finds all names of the document."""
        if name not in self._uses:
            if len(self._uses) >= _FEW and name in self._names:
                self._uses |= self._all_uses()
            else:
                self._uses[name] = occurrences(self._file, name)
        return self._uses[name]

    def _all_uses(self) -> dict[str, list[int]]:
        written = {name: _bare(name, self._file) for name in self._names}
        lines: dict[str, list[int]] = {short: [] for short in written.values()}
        word, wanted = _word_of(self._file), lines.keys()
        for number, text in enumerate(self._file.lines, 1):
            for short in wanted & set(word.findall(text)):
                lines[short].append(number)
        return {name: lines[short] for name, short in written.items()}


class _Search:
    """The search in all files of a tree. They are read once, as far as the names need it."""

    def __init__(self, workspace: Workspace, excluding: Collection[str]) -> None:
        self._workspace = workspace
        self._excluding = excluding
        self._pieces: list[bytes] = []
        self._unread: Iterator[bytes] | None = None
        self._is_complete = True
        self._known: dict[str, bool | None] = {}
        self._missing = 0

    def has(self, name: str) -> bool | None:
        """Return whether a name occurs; None if it does not and there is more than what may be read."""
        if name not in self._known:
            occurs = self._find(name.strip("$?!").encode())
            self._missing += occurs is False
            self._known[name] = occurs
        occurs = self._known[name]
        return occurs if occurs or self._is_complete else None

    def _find(self, name: bytes) -> bool | None:
        if not name:
            return False
        # A few names are searched for one by one, which reads only as far as the first of each.
        if self._missing >= _MAX_SINGLE and _PLAIN_WORD.fullmatch(name):
            return name in self._words if self._words is not None else None
        if self._missing >= 2 * _MAX_SINGLE:
            return None
        return any(_occurs(name, piece) for piece in self._all())

    @cached_property
    def _words(self) -> frozenset[bytes] | None:
        """All words of all files; None if there are too many."""
        words: set[bytes] = set()
        for piece in self._all():
            words.update(_PLAIN_WORD.findall(piece))
            if len(words) > _MAX_WORDS:
                return None
        return frozenset(words)

    def _all(self) -> Iterator[bytes]:
        """Yield the pieces that were read, then read on."""
        yield from self._pieces
        if self._unread is None:
            self._unread = self._read()
        for piece in self._unread:
            self._pieces.append(piece)
            yield piece

    def _read(self) -> Iterator[bytes]:
        """Yield the text of many files at a time; one search in it is much faster than one in each file."""
        files: list[bytes] = []
        size = total = 0
        paths = [path for path in self._workspace.index.paths if self._is_searched(path)]
        self._is_complete = len(paths) <= _MAX_SEARCHED_FILES
        reader = _plain_reader(self._workspace)
        for path in paths[:_MAX_SEARCHED_FILES]:
            data = reader(path)
            if data is None:
                # A name may be in code that is too large to be searched.
                self._is_complete = self._is_complete and not is_source(path)
                continue
            if len(data) > _MAX_SETTINGS and ending_of(path) in _DATA:
                continue
            files.append(data)
            size += len(data)
            if size >= _PIECE:
                yield b"\n".join(files)
                files, total, size = [], total + size, 0
            if total + size > _MAX_SEARCHED:
                self._is_complete = False
                break
        yield b"\n".join(files)

    def _is_searched(self, path: str) -> bool:
        return ending_of(path) not in _NOT_SEARCHED and path not in self._excluding


def last_part(name: str) -> str:
    """Return the last part of a qualified name: `total` of `Cart.total`."""
    return SEPARATOR.split(name)[-1] or name


def _defining_words(name: str) -> set[str]:
    """Return the words that a definition of a name, or of its owner, may have as its name."""
    short = last_part(name)
    return {short.strip("$?!"), short.rstrip("?!"), _owner(name)} - {""}


def _owner(name: str) -> str:
    """Return the part of a qualified name before its last one; empty for `self.total`."""
    parts = SEPARATOR.split(name.strip("?!"))
    owner = parts[-2].strip("$~") if len(parts) > 1 else ""
    return "" if owner.lower() in _SELF else owner


def _use(file: SourceFile, short: str, owner: str, number: int) -> Literal["named", "alone", "other"]:
    """Return how a line uses a name: as the name that is meant, without a receiver, or of another receiver.

    `Cart.total` is meant by `Cart::total` and `cart.total`, and `total` by `self.total` or `total` alone.
    """
    text, bare, wanted = file.lines[number - 1], _bare(short, file), _folded(owner)
    how: Literal["named", "alone", "other"] = "other"
    for word in _word_of(file).finditer(text[:_MAX_LINE]):
        if word[0] != bare:
            continue
        before = _RECEIVER.search(text, max(0, word.start() - _MAX_RECEIVER), word.start())
        receiver = _folded(before[1] or "") if before else ""
        if before is None or receiver in _SELF:
            how = "alone"
        elif wanted and receiver.endswith(wanted):
            return "named"
    return "named" if how == "alone" and not owner else how


def _may_be_of(file: SourceFile, short: str, owner: str, number: int) -> bool:
    """Return whether a line may use a name of an owner: `shop.at(1).open()` and a chain of calls below `shop` may."""
    if _use(file, short, owner, number) != "other":
        return True
    return any(owner in _WORD.findall(line[:_MAX_LINE]) for line in file.lines[max(0, number - _CHAIN) : number])


def _is_cited(file: SourceFile, number: int, first: int, last: int) -> bool:
    """Return whether a line is one of the cited ones and more than a comment."""
    return first <= number <= last and not _COMMENT.match(file.lines[number - 1])


def _folded(name: str) -> str:
    return name.replace("_", "").strip("$").lower()


def _covers(definition: SourceDefinition, first: int, last: int) -> bool:
    """Return whether the body of a definition has some of the lines."""
    return definition.first_line <= last and first <= definition.last_line


def occurrences(file: SourceFile, name: str) -> list[int]:
    """Return the lines on which a name occurs as a whole word, in order."""
    text, short, word = file.text, _bare(name, file), _word_of(file)
    lines: list[int] = []
    number, counted = 1, 0
    position = text.find(short) if short else -1
    while position >= 0:
        match = word.match(text, position)
        end = match.end() if match else position + 1
        if end == position + len(short) and not (position and word.match(text[position - 1])):
            number += text.count("\n", counted, position)
            counted = position
            if not lines or lines[-1] != number:
                lines.append(number)
        position = text.find(short, end)
    return lines


def _bare(name: str, file: SourceFile) -> str:
    """Return a name as it occurs in the words of a file."""
    return name.strip("$?!") if ending_of(file.path) in _SIGILS else name.rstrip("?!")


def _word_of(file: SourceFile) -> re.Pattern[str]:
    return _BARE_WORD if ending_of(file.path) in _SIGILS else _WORD


def _nearest(numbers: Sequence[int], line: int) -> int | None:
    """Return the number nearest to a line, the smaller of two; `numbers` ascend."""
    index = bisect_left(numbers, line)
    return min(numbers[max(0, index - 1) : index + 1], key=lambda number: (abs(number - line), number), default=None)


def _manifest(path: str) -> str:
    name = path[path.rfind("/") + 1 :]
    return "requirements.txt" if name.startswith("requirements") and name.endswith(".txt") else name


def _occurs(name: bytes, data: bytes) -> bool:
    """Return whether a name occurs as a whole word. Letters beyond ASCII around it are words of a comment."""
    position = data.find(name)
    while position >= 0:
        end = position + len(name)
        around = data[max(0, position - 1) : position] + data[end : end + 1]
        if not any(byte < 128 and (chr(byte).isalnum() or byte == ord("_")) for byte in around):
            return True
        position = data.find(name, end)
    return False


def _plain_reader(workspace: Workspace) -> Callable[[str], bytes | None]:
    """Return what reads a file without a place in the memory of the workspace; None if it is too large."""
    if not isinstance(workspace, WorkTree):
        return lambda path: _text_bytes(workspace.read(path))
    root = workspace.folder
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)

    @cache
    def is_inside(folder: str) -> bool:
        return os.path.realpath(f"{root}/{folder}") == os.path.normpath(f"{root}/{folder}")

    def read(path: str) -> bytes | None:
        if not is_inside(path.rpartition("/")[0]):
            return b""  # a link leads elsewhere
        try:
            opened = os.open(f"{root}/{path}", flags)
        except OSError:
            return b""
        try:
            about = os.fstat(opened)
            if not stat.S_ISREG(about.st_mode):
                return b""
            data = os.read(opened, about.st_size) if about.st_size <= _MAX_SEARCHED_FILE else None
        except OSError:
            return b""
        finally:
            os.close(opened)
        return b"" if data and b"\0" in data[:_BINARY_PROBE] else data

    return read


def _text_bytes(file: SourceFile | Absent) -> bytes | None:
    if isinstance(file, Absent):
        return b""
    if len(file.text) > _MAX_SEARCHED_FILE:
        return None
    return file.text.encode("utf-8", "replace")
