"""A class in place of its file: `OrderStore:12`, `OrderStore.open():12-18`."""

from __future__ import annotations

from typing import Literal

from remit.evidence.file_names import Exists
from remit.evidence.line_ranges import lines_after
from remit.evidence.written import WrittenReference
from remit.lazy import lazy_pattern
from remit.workspace.files import SourceFile, Workspace

#: A class in camel case with two humps, or a member of a class: `OrderStore`, `Store.open()`.
_CLASS = lazy_pattern(r"([A-Z][a-z0-9]++(?:[A-Z][A-Za-z0-9]*+)?+)(?:\.[A-Za-z_]\w{1,60}+(?:\(\))?)?")
#: Endings of files that have the name of the class in them.
_ENDINGS = (
    *(".py", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".rs", ".java", ".kt", ".cs", ".cpp", ".cc", ".c", ".hpp", ".h"),
    *(".m", ".mm", ".swift", ".php", ".rb", ".dart", ".vue", ".svelte", ".lua", ".scala", ".go", ".groovy", ".gd"),
)
#: A member is searched for in this many characters of a file: a text may name many.
_MAX_CLASS = 200_000


def class_reference(text: str, start: int, end: int, exists: Exists) -> WrittenReference | None:
    """Return the reference of a name that is a class, or a member of one, and has a line after it.

    `OrderStore:12`, `OrderStore.open:12`, `Store.open():12`; but not `Store:12`, `Note:12` or `config.timeout:30`.
    """
    if text[end : end + 1] != ":" or not text[end + 1 : end + 2].isdigit() or not text[start].isupper():
        return None
    name = _CLASS.fullmatch(text, start, end)
    if name is None or (name.end(1) == end and name[1][1:].islower()) or not exists(f"{name[1]}.*"):
        return None
    lines = lines_after(text, end)
    if lines is None or len(lines.ranges) > 1:
        return None
    words = text[start : lines.end]
    return WrittenReference(start, lines.end, words, name[1], *lines.ranges[0], name=text[start:end].rstrip("()"))


def place_of_class(one: WrittenReference) -> Literal["", "far", "loose"]:
    """Return how the line of a class is taken: if the file lacks it, it may be one of another file, or a number."""
    return "" if not one.name else "loose" if one.path[1:].islower() else "far"


def file_of_class(name: str, workspace: Workspace) -> str:
    """Return the only file of code that has the name of a class, `src/OrderStore.java`; empty if several have it."""
    found = [path for ending in _ENDINGS for path in workspace.index.ending_with(name + ending)]
    return found[0] if len(found) == 1 else ""


def has_member(one: WrittenReference, workspace: Workspace | None) -> bool:
    """Return whether the file of a class has the member that a reference names: `OrderStore.open:12`."""
    source = workspace.read(file_of_class(one.path, workspace)) if workspace is not None else None
    member = one.name.partition(".")[2]
    return isinstance(source, SourceFile) and (not member or member in source.text[:_MAX_CLASS])
