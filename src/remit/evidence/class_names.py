"""A class in place of its file: `OrderStore:12`, `OrderStore.open():12-18`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Literal

from remit.evidence.file_scopes import masked
from remit.evidence.line_numbers import DASH
from remit.evidence.written import WrittenReference, may_cite
from remit.lazy import lazy_pattern
from remit.workspace.files import SourceFile, Workspace

#: The text of code marks, or of brackets that do not belong to a call or a link.
_SPAN = lazy_pattern(r"`([^`\n]*+)`|(?<![\w\]])[(（]([^()（）`\n]*+)[)）]")
#: A class in camel case, a member of it, and its lines: `OrderStore:12`, `Store.open():12-18`.
_CLASS = lazy_pattern(
    rf"([A-Z][a-z0-9]++(?:[A-Z][A-Za-z0-9]*+)?+)(?:\.([A-Za-z_]\w{{1,60}}+)(?:\(\))?)?:(\d{{1,6}})(?:{DASH}(\d{{1,6}}))?"
)
#: Two humps of letters: `OrderStore`, but not `Store` or `S3`.
_TWO_HUMPS = lazy_pattern(r"[A-Z][a-z0-9]*?[a-z][a-z0-9]*+[A-Z]")
#: Endings of files that have the name of the class in them.
_ENDINGS = (
    *(".py", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".rs", ".java", ".kt", ".cs", ".cpp", ".cc", ".c", ".hpp", ".h"),
    *(".m", ".mm", ".swift", ".php", ".rb", ".dart", ".vue", ".svelte", ".lua", ".scala", ".go", ".groovy", ".gd"),
)
#: A member is searched for in this many characters of a file, and in this many longer words: a text may name many.
_MAX_CLASS = 200_000
_MAX_PARTS = 100


def with_classes(
    text: str, written: list[WrittenReference], workspace: Workspace | None, *, is_cell: bool
) -> list[WrittenReference]:
    """Return the references of a text, in order, with those that name a class in place of the file."""
    if workspace is None or ":" not in text or not may_cite(text) or "``" in text:
        return written
    classes = list(_classes(masked(text, written), workspace, is_cell=is_cell))
    return sorted([*written, *classes], key=attrgetter("start")) if classes else written


def place_of_class(one: WrittenReference) -> Literal["", "far"]:
    """Return how the line of a class is taken: as one that may be a line of another file, so it is never accused."""
    return "far" if one.is_class else ""


def _classes(text: str, workspace: Workspace, *, is_cell: bool) -> Iterator[WrittenReference]:
    """Yield the classes with a line that are alone in code marks, in brackets or in a cell, if their file has the line.

    `OrderStore:12` and `Store.open():12` are; `Store:12`, `run OrderStore:12` and `OrderStore:8080/api` are not.
    """
    if is_cell and (own := _CLASS.fullmatch(text.strip())) is not None:
        yield from _in_file(own, len(text) - len(text.lstrip()), workspace)
        return
    for span in _SPAN.finditer(text):
        group = span.lastindex or 1
        if (own := _CLASS.fullmatch(span[group])) is not None:
            yield from _in_file(own, span.start(group), workspace)


def _in_file(own: re.Match[str], start: int, workspace: Workspace) -> Iterator[WrittenReference]:
    """Yield the reference of a class if its file has the member, or else its name has two humps, and the lines."""
    name, member, line, last = own[1], own[2], int(own[3]), int(own[4]) if own[4] else None
    if not member and not _TWO_HUMPS.match(name):
        return
    path = file_of_class(name, workspace)
    source = workspace.read(path) if path else None
    if not isinstance(source, SourceFile) or not 1 <= line <= (last or line) <= source.line_count:
        return
    if not member or _has_word(source.text, member):
        yield WrittenReference(start, start + own.end(), own[0], name, line, last, is_class=True)


def _has_word(text: str, word: str) -> bool:
    """Return whether a text has a word that is not part of a longer one; a pattern would search it more slowly."""
    at = -len(word)
    for _ in range(_MAX_PARTS):
        at = text.find(word, at + len(word), _MAX_CLASS)
        if at < 0:
            return False
        around = text[at - 1 : at] + text[at + len(word) : at + len(word) + 1]
        if not any(sign.isalnum() or sign == "_" for sign in around):
            return True
    return False


def file_of_class(name: str, workspace: Workspace) -> str:
    """Return the only file of code that has the name of a class, `src/OrderStore.java`; empty if several have it."""
    found = [path for ending in _ENDINGS for path in workspace.index.ending_with(name + ending)]
    return found[0] if len(found) == 1 else ""
