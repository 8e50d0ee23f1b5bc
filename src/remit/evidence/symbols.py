"""Names that should stand at a reference: `a/b.py:12` (login), or `login()` in the same row."""

from __future__ import annotations

import re

from remit.workspace.files import SourceFile

#: How far from the cited lines a symbol or quote may stand.
REACH = 5

_AFTER = re.compile(r"[`*\"']{0,3}\s?\(\s?`?([A-Za-z_$][\w$.]{0,120})(?:\(\))?`?\s?\)")
_CALL = re.compile(r"`([A-Za-z_$][\w$.]{0,120})\(\)`")
#: Plain words that people put in brackets after a reference and that name nothing.
_REMARKS = frozenset(
    """
    above added also below changed client config created current default definition deleted deprecated draft error
    example existing external fixed here implementation import imports inline internal legacy main missing modified
    modify new note ok old only optional partial planned private public read removed renamed same see server similar
    test tests this todo unchanged unused updated usage used verified
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
_KEYWORDS = (
    r"(?:async\s+)?(?:def|class|function\*?|func|fn|interface|type|struct|enum|trait|impl|const|let|var|val|module|"
    r"namespace|package|object|record|sub|proc|macro_rules!|CREATE\s+(?:TABLE|FUNCTION|VIEW))"
)


def symbol_after(text: str, end: int) -> str:
    """The symbol in brackets directly after a reference that ends at `end`, or nothing."""
    found = _AFTER.match(text, end)
    if not found or found.group(1).lower() in _REMARKS:
        return ""
    return found.group(1)


def symbols_called(text: str) -> list[str]:
    """The `name()` in backticks of a cell."""
    return _CALL.findall(text) if "()" in text else []


def find_symbol(file: SourceFile, symbol: str, line: int | None, end_line: int | None) -> int | None:
    """The line on which a symbol stands: in reach of the cited lines, else its nearest definition, else use.

    None: nowhere in the file.
    """
    name = re.escape(symbol.rsplit(".", 1)[-1])
    word = re.compile(rf"(?<![\w$]){name}(?![\w$])")
    if line is None:
        return _nearest(file, word, 1)
    first, last = max(1, line - REACH), min(len(file.lines), (end_line or line) + REACH)
    near = [number for number in range(first, last + 1) if word.search(file.lines[number - 1])]
    if near:
        return min(near, key=lambda number: (abs(number - line), number))
    defined = re.compile(rf"\b{_KEYWORDS}\s+(?:\([^)\n]{{0,80}}\)\s*)?{name}(?![\w$])")
    return _nearest(file, defined, line) or _nearest(file, word, line)


def _nearest(file: SourceFile, pattern: re.Pattern[str], line: int) -> int | None:
    if not pattern.search(file.text):
        return None
    matching = (number for number, text in enumerate(file.lines, 1) if pattern.search(text))
    return min(matching, key=lambda number: (abs(number - line), number), default=None)
