"""What is true of a checkout: its files, code, definitions, commands, tests and commits. Nothing here imports Remit.

The generators of planted lies take true statements from these facts, and use them to prove that a lie is one: an
invented name occurs nowhere, a changed quote is not in the file.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

#: The file extension of a language and the mark that starts a comment.
COMMENT_MARKS = {
    **dict.fromkeys((".py", ".rb"), "#"),
    **dict.fromkeys((".ts", ".tsx", ".js", ".jsx", ".mjs", ".go", ".rs", ".java", ".kt", ".cs", ".swift"), "//"),
    **dict.fromkeys((".c", ".h", ".cpp", ".hpp", ".cc", ".m", ".mm"), "//"),
}
_MARKUP = frozenset({".tsx", ".jsx"})
_SNAKE_CASE = frozenset({".py", ".rb", ".rs", ".c", ".h"})
_MAX_BYTES = 400_000
_MAX_SOURCES = 500
_SKIPPED = re.compile(r"(?:^|/)(?:node_modules|vendor|third_party|dist|build|target|\.git)/|\.min\.|(?:^|/)\.")
_WORD = re.compile(r"[A-Za-z_]\w*")
_KEYWORDS = frozenset(
    _WORD.findall("if for while switch catch return else elif with match when function super sizeof typeof constructor")
)
_DEFINITIONS = {
    ".py": r"^\s*(?:async\s+)?(?:def|class)\s+(\w+)",
    ".rb": r"^\s*(?:def|class|module)\s+(?:self\.)?(\w+)",
    ".go": r"^(?:func\s+(?:\([^)]*\)\s*)?|type\s+)(\w+)",
    ".rs": r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|async\s+|unsafe\s+)*(?:fn|struct|enum|trait)\s+(\w+)",
    ".java": r"^\s*(?:(?:public|protected|private|static|final|abstract)\s+)+"
    r"(?:(?:class|interface|record|enum)\s+(\w+)|[\w<>\[\], ?]{1,80}\s(\w+)\s*\([^;]*\{\s*$)",
    ".c": r"^(?:static\s+|inline\s+)*\w[\w\s*]{1,60}\b(\w+)\([^;]*\)\s*\{?\s*$",
}
_SCRIPT = (
    r"^\s*(?:export\s+)?(?:default\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\*?|class|interface|enum)\s+(\w+)"
    r"|^\s*(?:export\s+)?const\s+(\w+)\s*=\s*(?:async\s*)?\([^;]*=>\s*\{\s*$"
    r"|^\s+(?:(?:public|private|protected|static|async)\s+)*(\w+)\((?!.*(?:\bfunction\b|=>))[^;]*\)[^;={]{0,60}\{\s*$"
)
_SAME = {".kt": ".java", ".cs": ".java", ".h": ".c", ".cpp": ".c", ".cc": ".c", ".hpp": ".c", ".mm": ".c", ".m": ".c"}
#: Names that are as well plain words of texts and languages.
_PLAIN_WORDS = frozenset(_WORD.findall("main test init type error name list item data value self this next open read"))
_VERBS = ("reconcile", "throttle", "rehydrate", "quarantine", "amortize", "debounce", "calibrate", "interleave")
_SUBJECTS = ("Shadow", "Quota", "Ledgerless", "Beacon", "Voucher", "Turnstile", "Meridian", "Harbor", "Pelican")
_THINGS = ("Window", "Budget", "Registry", "Envelope", "Cursor", "Snapshotter", "Throttle", "Watermark", "Digest")


class Definition(NamedTuple):
    """A function, class or method, the lines of its body, and the class that contains it."""

    path: str
    name: str
    first: int
    last: int
    owner: str = ""


class Excerpt(NamedTuple):
    """Consecutive lines of a file."""

    path: str
    first: int
    lines: tuple[str, ...]

    @property
    def last(self) -> int:
        """The number of the last line."""
        return self.first + len(self.lines) - 1


class Source:
    """A file of code. `code` has its lines with comments and strings blanked out, at the same columns."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.suffix = Path(path).suffix
        self.mark = COMMENT_MARKS[self.suffix]
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        #: Lines that begin and end in code, with all strings closed: a token of them can be changed safely.
        self.code, self.is_clear = _blank_out(self.lines, self.suffix)
        self.collapsed = collapse(text)
        self.collapsed_code = collapse("\n".join(self.without_comment(at) for at in range(len(self.lines))))

    @property
    def has_markup(self) -> bool:
        """Whether the language mixes code with markup, in which a comment looks different."""
        return self.suffix in _MARKUP

    def without_comment(self, at: int) -> str:
        """Return a line without the comment at its end."""
        line, code = self.lines[at], self.code[at]
        cut = next((p for p in range(len(line)) if line.startswith(self.mark, p) and not code[p:].strip()), None)
        is_comment = cut is not None and self.is_clear[at] and not _is_in_string(line, cut)
        return line[:cut].rstrip() if is_comment else line

    def has(self, code: str) -> bool:
        """Return whether the file contains this code, white space and comments aside."""
        wanted = collapse(code)
        return wanted in self.collapsed or wanted in self.collapsed_code

    @cached_property
    def definitions(self) -> list[Definition]:
        """The functions, classes and methods of the file."""
        pattern = re.compile(_DEFINITIONS.get(_SAME.get(self.suffix, self.suffix), _SCRIPT))
        entries: list[Definition] = []
        for at, line in enumerate(self.code):
            match = pattern.match(line)
            name = next((group for group in match.groups() if group), "") if match else ""
            if len(name) < 4 or name in _KEYWORDS or name in _PLAIN_WORDS or name.startswith("__"):
                continue
            last = self._end_of_body(at)
            owners = [entry for entry in entries if entry.first < at + 1 <= entry.last and entry.name[0].isupper()]
            entries.append(Definition(self.path, name, at + 1, last, owners[-1].name if owners else ""))
        return entries

    def _end_of_body(self, at: int) -> int:
        if self.suffix in (".py", ".rb"):
            indent = len(self.lines[at]) - len(self.lines[at].lstrip())
            last = at
            for number in range(at + 1, len(self.lines)):
                line = self.lines[number]
                if line.strip():
                    if len(line) - len(line.lstrip()) <= indent and not line.lstrip().startswith((")", "end")):
                        break
                    last = number
            return last + 1
        depth, is_open = 0, False
        for number in range(at, min(len(self.lines), at + 2000)):
            depth += self.code[number].count("{") - self.code[number].count("}")
            is_open = is_open or "{" in self.code[number]
            if is_open and depth <= 0:
                return number + 1
            if not is_open and number > at + 3:
                break  # a declaration without a body
        return at + 1


class Checkout:
    """A tree of files, read once. The seed decides which of many files are used."""

    def __init__(self, root: Path, seed: int = 1) -> None:
        self.root = root
        self.paths = _list_files(root)
        self.folders = {path[:at] for path in self.paths for at in range(len(path)) if path[at] == "/"}
        self._endings = {path[at:] for path in self.paths for at in _component_starts(path)}
        self._folded = {ending.lower() for ending in self._endings}
        self._words: set[str] = set()
        texts: dict[str, str] = {}
        for path in self.paths:
            text = _read(root / path)
            if text is None:
                continue
            self._words.update(_WORD.findall(text))
            if Path(path).suffix in COMMENT_MARKS and len(text) > 200 and not _SKIPPED.search(path):
                texts[path] = text
        chosen = list(texts)
        random.Random(seed).shuffle(chosen)
        self.sources = {path: Source(path, texts[path]) for path in sorted(chosen[:_MAX_SOURCES])}
        self.long_paths = [path for path, source in self.sources.items() if len(source.lines) >= 12]

    def has_path(self, path: str) -> bool:
        """Return whether a file or folder of the checkout ends with this path, in any case."""
        wanted = path.lower().rstrip("/")
        return wanted in self._folded or any(folder.lower().endswith(wanted) for folder in self.folders)

    def has_word(self, name: str) -> bool:
        """Return whether a name occurs anywhere in the checkout."""
        return name in self._words

    def is_only(self, ending: str) -> bool:
        """Return whether exactly one file ends with these components."""
        return sum(path == ending or path.endswith("/" + ending) for path in self.paths) == 1

    @cached_property
    def definitions(self) -> list[Definition]:
        """All definitions of the sources that are used."""
        return [definition for source in self.sources.values() for definition in source.definitions]

    def source(self, chance: random.Random, minimum: int = 12) -> Source:
        """Return a file of code with a minimum number of lines, or one of the longest files."""
        fitting = [path for path in self.long_paths if len(self.sources[path].lines) >= minimum]
        longest = sorted(self.long_paths, key=lambda path: -len(self.sources[path].lines))[:3]
        return self.sources[chance.choice(fitting or longest)]

    def invented_word(self, chance: random.Random, suffix: str = ".py") -> str:
        """Return a name in the style of a language that occurs nowhere in the checkout."""
        while True:
            parts = [chance.choice(_VERBS), chance.choice(_SUBJECTS), chance.choice(_THINGS)]
            snake = "_".join(part.lower() for part in parts)
            name = snake if suffix in _SNAKE_CASE else "".join(parts)
            if not self.has_word(name) and not self.has_path(name) and not self.has_path(snake):
                return name

    def invented_file(self, chance: random.Random, folder: str, suffix: str) -> str:
        """Return a path in a folder that no file of the checkout has or ends with."""
        while True:
            name = f"{chance.choice(_SUBJECTS)}_{chance.choice(_THINGS)}".lower() + suffix
            name = name if suffix in _SNAKE_CASE else name.replace("_", chance.choice(("-", "_")))
            if not self.has_path(name) and not self.has_word(Path(name).stem):
                return f"{folder}/{name}" if folder else name

    def excerpt(self, chance: random.Random, length: int) -> Excerpt:
        """Return lines that begin and end with code, with at least 15 characters that are not white space."""
        while True:
            source = self.source(chance)
            first = chance.randrange(len(source.lines))
            lines = source.lines[first : first + length]
            ends = (first, first + len(lines) - 1)
            is_code = all(source.is_clear[at] and source.code[at].strip() for at in ends)
            if is_code and len("".join("".join(lines).split())) >= 15 and not any("```" in line for line in lines):
                return Excerpt(source.path, first + 1, tuple(lines))

    @cached_property
    def commands(self) -> list[tuple[str, str]]:
        """Commands that exist: the words before the name, and the name."""
        entries: list[tuple[str, str]] = []
        manifest = _read(self.root / "package.json")
        scripts = json.loads(manifest).get("scripts", {}) if manifest else {}
        entries += [(runner, name) for name in scripts for runner in ("npm run", "pnpm run", "yarn")]
        targets = re.findall(r"^([a-z][\w-]*):(?!=)", _read(self.root / "Makefile") or "", re.M)
        entries += [("make", name) for name in targets]
        mains = [path for path in self.paths if re.fullmatch(r"(?:src/)?\w+/__main__\.py", path)]
        return entries + [("python -m", path.split("/")[-2]) for path in mains]

    @cached_property
    def pytest_tests(self) -> list[tuple[str, str]]:
        """Test functions of pytest: the path and the name."""
        return [
            (definition.path, definition.name)
            for definition in self.definitions
            if Path(definition.path).name.startswith("test_")
            and definition.path.endswith(".py")
            and definition.name.startswith("test_")
            and not definition.owner
        ]

    @cached_property
    def class_tests(self) -> list[tuple[str, str]]:
        """Test methods of Java classes: the class and the method."""
        return [
            (definition.owner, definition.name)
            for definition in self.definitions
            if definition.path.endswith("Tests.java") and definition.owner.endswith("Tests")
        ]

    @cached_property
    def commits(self) -> list[str]:
        """Full hashes of commits."""
        return git(self.root, "log", "-n", "400", "--format=%H").split() if (self.root / ".git").exists() else []

    def has_object(self, prefix: str) -> bool:
        """Return whether an object of the repository starts with these digits."""
        return bool(git(self.root, "rev-parse", f"--disambiguate={prefix}").strip())


def collapse(text: str) -> str:
    """Return a text with each run of white space replaced by one space."""
    return " ".join(text.split())


def git(root: Path, *arguments: str) -> str:
    """Return the output of a git command that only reads."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _list_files(root: Path) -> list[str]:
    if (root / ".git").exists():
        listed = git(root, "ls-files", "-z").split("\0")
        return sorted(path for path in listed if path and (root / path).is_file() and not (root / path).is_symlink())
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def _component_starts(path: str) -> list[int]:
    return [0, *(at + 1 for at, character in enumerate(path) if character == "/")]


def _read(path: Path) -> str | None:
    if not path.is_file() or path.stat().st_size > _MAX_BYTES:
        return None
    data = path.read_bytes()
    if b"\0" in data or b"\r" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _is_in_string(line: str, at: int) -> bool:
    return line.count('"', 0, at) % 2 == 1 or line.count("'", 0, at) % 2 == 1 or line.count("`", 0, at) % 2 == 1


def _blank_out(lines: list[str], suffix: str) -> tuple[list[str], list[bool]]:
    """Blank out comments and strings; a line in or next to a string of several lines is not clear."""
    long_marks = ('"""', "'''") if suffix == ".py" else ("`",) if COMMENT_MARKS[suffix] == "//" else ()
    code: list[str] = []
    clear: list[bool] = []
    inside = ""
    for line in lines:
        masked, before, is_whole = list(line), inside, True
        at = 0
        while at < len(line):
            end, inside, is_closed = _skip(line, at, inside, suffix, long_marks)
            is_whole = is_whole and is_closed
            if end > at:
                masked[at:end] = " " * (end - at)
            at = max(end, at + 1)
        code.append("".join(masked))
        clear.append(is_whole and not before and not inside)
    return code, clear


def _skip(line: str, at: int, inside: str, suffix: str, long_marks: tuple[str, ...]) -> tuple[int, str, bool]:
    """Return where a string or comment that starts or continues here ends, what stays open, and if it is closed."""
    if inside:
        end = line.find(inside, at)
        return (len(line), inside, True) if end < 0 else (end + len(inside), "", True)
    rest = line[at:]
    mark = COMMENT_MARKS[suffix]
    if rest.startswith(mark):
        return len(line), "", True
    if mark == "//" and rest.startswith("/*"):
        end = line.find("*/", at + 2)
        return (len(line), "*/", True) if end < 0 else (end + 2, "", True)
    for long_mark in long_marks:
        if rest.startswith(long_mark):
            end = line.find(long_mark, at + len(long_mark))
            return (len(line), long_mark, True) if end < 0 else (end + len(long_mark), "", True)
    if line[at] in "\"'":
        string = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'").match(line, at)
        if string is None:
            return at + 1, "", False  # an apostrophe in markup, a lifetime, or a string of another form
        return string.end(), "", True
    return at, "", True
