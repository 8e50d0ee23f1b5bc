"""Backslash escapes that keep text from being read as structure, and their removal.

Each direction adds or removes exactly one backslash, so every text survives a round trip: an existing backslash
gets one more, like dot-stuffing in SMTP.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from remit.contract.result_data import Code, Content, Heading, Item, Items, Row, Table, Text
from remit.lazy import lazy_pattern

_RISKY = r"(?:[^\w\s\\]|_|\d{1,9}[.)])"
_RISKY_LINE = lazy_pattern(rf"^([ \t]*+)(?=\\*+{_RISKY})", re.MULTILINE)
_GUARDED_LINE = lazy_pattern(rf"^([ \t]*+)\\(?=\\*+{_RISKY})", re.MULTILINE)
_COLON = lazy_pattern(r"(?<!\\)(\\*+)([:：])(?=\s|$)")
_GUARDED_COLON = lazy_pattern(r"(?<!\\)\\(\\*+)([:：])(?=\s|$)")
_UNGUARDED_COLON = lazy_pattern(r"(?<!\\)[:：](?=\s|$)")
_PIPE = lazy_pattern(r"[|｜]")
_GUARDED_PIPE = lazy_pattern(r"\\([|｜])")
#: A pipe that is a separator, in a line such as `words | Severity: minor`.
UNGUARDED_PIPE = lazy_pattern(r"(?<!\\)[|｜]")


def guard_lines(text: str) -> str:
    """Escape every line that could start a list, heading, table, fence or label."""
    return _RISKY_LINE.sub(r"\1\\", text)


def unguard_lines(text: str) -> str:
    """Undo `guard_lines`."""
    return _GUARDED_LINE.sub(r"\1", text) if "\\" in text else text


def guard_heading(text: str, *, taken: bool) -> str:
    """Escape a heading whose name is `taken` by the contract, and a final `#`."""
    text = "\\" + text if taken or text.startswith("\\") else text
    return text[:-1] + "\\#" if text.endswith("#") else text


def unguard_heading(text: str) -> str:
    """Undo `guard_heading`."""
    text = text[:-2] + "#" if text.endswith("\\#") else text
    return text[1:] if text.startswith("\\") and text[1:2].strip() else text


def guard_colons(text: str) -> str:
    """Escape colons that would be read as the end of a name."""
    return _COLON.sub(r"\\\1\2", text)


def unguard_colons(text: str) -> str:
    """Undo `guard_colons`."""
    return _GUARDED_COLON.sub(r"\1\2", text) if "\\" in text else text


def guard_cell(text: str) -> str:
    """Escape pipes inside a table cell."""
    return text.replace("|", "\\|")


def unguard_cell(text: str) -> str:
    """Undo `guard_cell`."""
    return text.replace("\\|", "|")


def guard_pipes(text: str) -> str:
    """Escape pipes, including full-width ones, inside a `|`-separated line."""
    return _PIPE.sub(r"\\\g<0>", text)


def unguard_pipes(text: str) -> str:
    """Undo `guard_pipes`."""
    return _GUARDED_PIPE.sub(r"\1", text) if "\\" in text else text


def join_colon(name: str, words: str) -> str:
    """Return `name: words` in a form that `split_colon` splits into the same two parts."""
    name = guard_colons(name)
    if not words:
        return name
    return f"{name} : {words}" if name.endswith("\\") else f"{name}: {words}"


def split_colon(text: str) -> tuple[str, str]:
    """Split at the first colon that ends a name; without such a colon the whole text is the name."""
    match = _UNGUARDED_COLON.search(text)
    if not match:
        return unguard_colons(text), ""
    return unguard_colons(text[: match.start()].rstrip()), text[match.end() :].strip()


def clean(content: Iterable[Content]) -> tuple[Content, ...]:
    """Return content without its escapes."""
    return tuple(_clean(part) for part in content)


def _clean(part: Content) -> Content:
    if isinstance(part, Code):
        return part
    if isinstance(part, Text):
        return Text(text=unguard_lines(part.text), line=part.line)
    if isinstance(part, Heading):
        return Heading(text=unguard_heading(part.text), line=part.line)
    if isinstance(part, Items):
        items = tuple(Item(text=unguard_lines(item.text), line=item.line) for item in part.items)
        return Items(items=items, ordered=part.ordered, line=part.line)
    rows = tuple(Row(cells=tuple(map(unguard_cell, row.cells)), line=row.line) for row in part.rows)
    return Table(columns=tuple(map(unguard_cell, part.columns)), rows=rows, line=part.line)
