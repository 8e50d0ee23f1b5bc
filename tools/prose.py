"""Check the project's texts for words and phrases that its style avoids; the list is in `prose_words.toml`.

`python tools/prose.py [PATH...]` checks files and folders, by default everything: Markdown pages, comments,
docstrings, the messages in the code, the names of tests. It prints `file:line: message` for each problem and exits
with 1 if there is one. Code blocks, `code`, "quoted text" and examples of bad input are not checked. A file without
problems is not read again until it, this program or its list changes.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
WORDS = Path(__file__).with_name("prose_words.toml")
#: The digests of files without problems.
CACHE = ROOT / ".cache/prose.json"

PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "RELEASING.md")
FOLDERS = ("changes", "docs", "examples", "src", "tests", "tools", "bench", "dev.py")
#: Data, documents that are input, and text that must not change.
EXCLUDED = (
    "bench/accuracy/corpus",
    "examples/results",
    "examples/reviews/inputs",
    "examples/shop/shop",
    "examples/shop/tests",
    "src/remit/gate/words",
    "src/remit/rules/samples",
    "src/remit/store/schema.sql",
    "tests/fixtures",
    "tools/prose_words.toml",
)
SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_QUOTED = re.compile(r'"[^"\n]{1,120}"|“[^”]{1,200}”')
_LINK_TARGET = re.compile(r"(?<=\])\([^()\s]*\)")
_HTML = re.compile(r"<!--.*?-->|\{[{%#].*?[}%#]\}|<(script|style)\b.*?</\1>|<[^<>]{1,300}>", re.DOTALL)
_PROSE = re.compile(r"[A-Za-z]{2,}[,.:;]? [A-Za-z]")
#: Nodes without a text below them, half of all.
_LEAVES = (ast.Name, ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)


class Phrase(NamedTuple):
    """A phrase to avoid, and what to write instead."""

    find: re.Pattern[str]
    use: str
    bad: tuple[str, ...]
    good: tuple[str, ...]


class Style(NamedTuple):
    """The deny list."""

    phrases: tuple[Phrase, ...]
    names: frozenset[str]
    names_use: str


class Text(NamedTuple):
    """A piece of prose. Its line breaks are those of the file, which it starts in at `line` and leaves at `end`."""

    line: int
    text: str
    end: int | None = None


class Problem(NamedTuple):
    """A phrase to avoid, found in a file."""

    line: int
    message: str


def load_style(path: Path = WORDS) -> Style:
    """Read the deny list."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    phrases = (
        Phrase(
            re.compile(rf"(?<![\w-]){entry['find']}(?![\w-])", 0 if entry.get("case") else re.IGNORECASE),
            entry["use"],
            tuple(entry["bad"]),
            tuple(entry["good"]),
        )
        for entry in data["phrase"]
    )
    return Style(tuple(phrases), frozenset(data["names"]["avoid"]), data["names"]["use"])


def check_text(text: Text, style: Style) -> Iterator[Problem]:
    """Yield the problems of one text."""
    for words, lines in _paragraphs(text):
        for phrase in style.phrases:
            for match in phrase.find.finditer(words):
                yield Problem(lines[match.start()], f"{match[0]!r}: write {phrase.use}")


def _paragraphs(text: Text) -> Iterator[tuple[str, list[int]]]:
    """Yield each paragraph with single spaces between its words, and the line of each of its characters."""
    words: list[str] = []
    lines: list[int] = []
    for number, row in enumerate([*_without_quotes(text.text).split("\n"), ""], text.line):
        if not row.strip():
            if words:
                yield " ".join(words), lines
            words, lines = [], []
        for word in row.split():
            lines += [number] * (len(word) + bool(words))
            words.append(word)


def _without_quotes(text: str) -> str:
    return _QUOTED.sub(_blank, _CODE.sub(_blank, text))


def _blank(match: re.Match[str]) -> str:
    """Replace a match by a word that no pattern finds, keeping its line breaks."""
    return "\N{PILCROW SIGN}" + "\n" * match[0].count("\n")


def markdown_texts(source: str) -> Iterator[Text]:
    """Yield a page without its code blocks, comments and link targets."""
    rows: list[str] = []
    fence = ""
    for row in source.split("\n"):
        mark = _FENCE.match(row)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif not fence:
            rows.append(row)
            continue
        rows.append("")
    yield Text(1, _LINK_TARGET.sub(_blank, _HTML.sub(_blank, "\n".join(rows))))


def changelog_texts(source: str) -> Iterator[Text]:
    """Yield the part of a changelog that is not released yet."""
    rows = source.split("\n")
    heads = [number for number, row in enumerate(rows) if row.startswith("## ")]
    start = next((number for number in heads if "unreleased" in rows[number].lower()), None)
    if start is None:
        return
    end = next((number for number in heads if number > start), len(rows))
    yield from markdown_texts("\n".join([""] * start + rows[start:end]))


def template_texts(source: str) -> Iterator[Text]:
    """Yield the text of an HTML page without its tags and scripts."""
    yield Text(1, _HTML.sub(_blank, source))


def sql_texts(source: str) -> Iterator[Text]:
    """Yield the comments of an SQL file, joined where they follow each other."""
    rows = (row.strip() for row in source.split("\n"))
    yield Text(1, "\n".join(row[2:] if row.startswith("--") and not row.startswith("-- name:") else "" for row in rows))


class PythonTexts:
    """The prose of a Python file: comments, docstrings, messages, names of functions, parameters and tests."""

    def __init__(self, source: str, *, is_test: bool) -> None:
        self._source = source
        self._rows = source.split("\n")
        self._is_test = is_test
        self._texts: list[Text] = []
        self._literals: list[ast.expr] = []
        self.names: list[tuple[int, str]] = []

    def read(self) -> list[Text]:
        """Return every text of the file."""
        self._visit(ast.parse(self._source))
        return [Text(1, self._comments()), *self._texts]

    def _comments(self) -> str:
        """Return the comments, each on its line: what follows a `#` outside all literals."""
        rows = [row.encode() if "#" in row else b"" for row in self._rows]
        for node in self._literals:
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                start = node.col_offset if number == node.lineno - 1 else 0
                end = (node.end_col_offset or 0) if number + 1 == node.end_lineno else len(rows[number])
                rows[number] = rows[number][:start] + b" " * len(rows[number][start:end]) + rows[number][end:]
        return "\n".join(row.partition(b"#")[2].decode().lstrip("#:! ") for row in rows)

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            self._visit_definition(node)
        elif isinstance(node, ast.Constant):
            self._add_literal(node, node.value)
        elif isinstance(node, ast.JoinedStr):
            self._visit_f_string(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and _is_example(node):
            self._literals += (one for one in ast.walk(node) if isinstance(one, ast.Constant | ast.JoinedStr))
        else:
            self._visit_children(node)

    def _visit_children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, _LEAVES):
                self._visit(child)

    def _visit_definition(self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.names.append((node.lineno, node.name))
            if node.name.startswith("test_"):
                self._texts.append(Text(node.lineno, node.name.replace("_", " "), node.lineno))
            self._add_parameters(node.args)
        docstring = node.body[0].value if node.body and isinstance(node.body[0], ast.Expr) else None
        if isinstance(docstring, ast.Constant) and isinstance(docstring.value, str):
            self._texts.append(Text(docstring.lineno, docstring.value, docstring.end_lineno))
            self._literals.append(docstring)
        for child in ast.iter_child_nodes(node):
            if not (isinstance(child, ast.Expr) and child.value is docstring):
                self._visit(child)

    def _add_parameters(self, args: ast.arguments) -> None:
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        self.names += [(arg.lineno, arg.arg) for arg in every if arg is not None]

    def _visit_f_string(self, node: ast.JoinedStr) -> None:
        parts = []
        for value in node.values:
            if isinstance(value, ast.Constant):
                parts.append(str(value.value))
            else:
                parts.append("\N{PILCROW SIGN}")
                self._visit_children(value)
        self._add_literal(node, "".join(parts))

    def _add_literal(self, node: ast.Constant | ast.JoinedStr, text: object) -> None:
        self._literals.append(node)
        if self._is_test or not isinstance(text, str) or not _PROSE.search(text):
            return
        is_pattern = re.match(r"[fF]?[rR]", self._rows[node.lineno - 1][_column(self._rows, node) :]) is not None
        if not is_pattern:
            self._texts.append(Text(node.lineno, text, node.end_lineno))

    def place(self, text: Text, problem: Problem) -> Problem:
        """Correct a problem's line: a message's line breaks are not those of the file."""
        if text.end is None:
            return problem
        line = min(problem.line, text.end)
        first_word = problem.message.split("'")[1].split()[0]
        rows = range(text.line, text.end + 1)
        if first_word not in self._rows[line - 1]:
            line = next((row for row in rows if re.search(rf"\b{re.escape(first_word)}\b", self._rows[row - 1])), line)
        return problem._replace(line=line)


def _column(rows: list[str], node: ast.expr) -> int:
    """Return the column of a node in characters; the tree counts bytes."""
    return len(rows[node.lineno - 1].encode()[: node.col_offset].decode())


def _is_example(node: ast.Assign | ast.AnnAssign) -> bool:
    """Return whether an assignment holds examples of input, as the rules have them."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id in ("good", "bad", "examples") for target in targets)


def check_file(path: Path, style: Style) -> list[Problem]:
    """Return the problems of a file, by line."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return sorted(set(_check_python(source, style, is_test="tests" in path.parts)))
    texts = {".html": template_texts, ".jinja": template_texts, ".sql": sql_texts}.get(path.suffix, markdown_texts)
    if path.name == "CHANGELOG.md":
        texts = changelog_texts
    return sorted({problem for text in texts(source) for problem in check_text(text, style)})


def _check_python(source: str, style: Style, *, is_test: bool) -> Iterator[Problem]:
    python = PythonTexts(source, is_test=is_test)
    for text in python.read():
        yield from (python.place(text, problem) for problem in check_text(text, style))
    for line, name in python.names:
        if not is_test and name.strip("_") in style.names:
            yield Problem(line, f"the name {name!r}: {style.names_use}")


def files_in(paths: list[Path]) -> Iterator[Path]:
    """Yield the files with prose in files and folders."""
    excluded = [ROOT / name for name in EXCLUDED]
    for path in paths:
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in found:
            known = file.suffix in (".md", ".py", ".html", ".jinja", ".sql") and file.is_file()
            if (
                known
                and not SKIPPED_FOLDERS & set(file.parts)
                and not any(file.is_relative_to(one) for one in excluded)
            ):
                yield file


def default_paths() -> list[Path]:
    """Return what is checked without arguments."""
    return [path for name in (*PAGES, *FOLDERS) if (path := ROOT / name).exists()]


def digest_of(path: Path) -> str:
    """Return a digest of a file, of this program and of the list."""
    parts = (file.read_bytes() for file in (path, WORDS, Path(__file__)))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def read_cache() -> set[str]:
    """Return the digests of files without problems."""
    try:
        return set(json.loads(CACHE.read_bytes()))
    except (OSError, ValueError):
        return set()


def main(arguments: list[str]) -> int:
    """Print the problems; the exit code is 1 if there is one and 2 if a path does not exist."""
    parser = argparse.ArgumentParser(prog="prose.py", description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files and folders; default: everything")
    paths = parser.parse_args(arguments).paths or default_paths()
    for path in paths:
        if not path.exists():
            print(f"prose.py: {path} does not exist", file=sys.stderr)
            return 2
    style, count, files = load_style(), 0, 0
    known, checked = read_cache(), set[str]()
    for file in files_in([path.resolve() for path in paths]):
        files += 1
        digest = digest_of(file)
        if digest in known:
            checked.add(digest)
            continue
        shown = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
        problems = check_file(file, style)
        count += len(problems)
        for problem in problems:
            print(f"{shown}:{problem.line}: {problem.message}")
        if not problems:
            checked.add(digest)
    if checked - known:
        CACHE.parent.mkdir(exist_ok=True)
        CACHE.write_text(json.dumps(sorted(checked)), encoding="utf-8")
    print(f"{count} problems in {files} files", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
