"""A real tree: about sixty files of the standard library of the running interpreter, a few with unusual names.

Its properties are computed here with plain string methods, without the code under test.
"""

from __future__ import annotations

import ast
import random
import re
import sysconfig
from functools import cached_property
from pathlib import Path

#: Unusual names from real projects, used for the first files of the copy.
ODD_NAMES = (
    "app/[slug]/page.py",
    "app/(shop)/cart/[id]/page.py",
    "src/routes/+page.server.py",
    "packages/@acme/ui/src/button.test.py",
    "docs/設計/概要.py",
    ".github/workflows/ci.yml",
    "Makefile",
    "bin/deploy",
    "vendor/jquery-3.6.0.min.js",
    "docs/Release Notes.py",
)
_COUNT = 60
_SMALLEST, _LARGEST = 3_000, 45_000


class Source:
    """A file of the tree and its properties."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()

    @cached_property
    def collapsed(self) -> str:
        """The text with collapsed white space."""
        return " ".join(" ".join(self.lines).split())

    @cached_property
    def definitions(self) -> dict[str, int]:
        """The line of each function and class that is defined exactly once, by name."""
        found: dict[str, list[int]] = {}
        self.ends: dict[str, int] = {}
        try:
            tree = ast.parse("\n".join(self.lines))
        except (SyntaxError, ValueError):
            return {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.setdefault(node.name, []).append(node.lineno)
                self.ends[node.name] = node.end_lineno or node.lineno
        whole = "\n".join(self.lines)
        once = {name: lines[0] for name, lines in found.items() if len(lines) == 1}
        return {
            name: line
            for name, line in once.items()
            if len(re.findall(rf"\b(?:(?:def|class|type|module|package|object|sub)\s+{name}|{name}\s*=)", whole)) == 1
            and name in self.lines[line - 1]
        }

    def lines_with(self, name: str) -> list[int]:
        """Return the lines that contain a name as a whole word."""
        return [number for number, line in enumerate(self.lines, 1) if re.search(rf"(?<![\w$]){name}(?![\w$])", line)]


class Tree:
    """The copied files, by path."""

    def __init__(self, files: list[Source]) -> None:
        self.files = files
        self.by_path = {file.path: file for file in files}
        self.folders = sorted({file.path.rsplit("/", 1)[0] for file in files if "/" in file.path})

    def holders(self, text: str) -> list[Source]:
        """Return the files that contain a text, with collapsed white space."""
        needle = " ".join(text.split())
        return [file for file in self.files if needle in file.collapsed]

    def has_once(self, text: str) -> bool:
        """Return whether a text occurs exactly once in the tree."""
        needle = " ".join(text.split())
        return sum(file.collapsed.count(needle) for file in self.files) == 1


def copy_tree(root: Path, seed: int = 5) -> Tree:
    """Copy files of the standard library to a folder."""
    library = Path(sysconfig.get_path("stdlib"))
    random_ = random.Random(seed)
    candidates = [
        path
        for path in sorted(library.rglob("*.py"))
        if not {"site-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__", "config"} & set(path.parts)
        and _SMALLEST <= path.stat().st_size <= _LARGEST
        and path.name != "__init__.py"
    ]
    chosen = random_.sample(candidates, _COUNT)
    files = []
    for path, odd in zip(chosen, [*ODD_NAMES, *[None] * _COUNT], strict=False):
        with path.open(encoding="utf-8", newline="") as opened:
            try:
                text = opened.read().replace("\r\n", "\n")
            except UnicodeDecodeError:
                continue
        name = odd or "lib/" + path.relative_to(library).as_posix()
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8", newline="\n")
        files.append(Source(name, text))
    return Tree(files)
