"""The headings of a document: which of them are above a line, and what they state about the files below them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property

from msgspec.structs import replace

from remit.contract.fences import read_fences
from remit.contract.parse import Document
from remit.evidence.document_kind import document_kind
from remit.evidence.planned import ListedFiles, is_label_of_new_files, listed_files, proposes_split
from remit.evidence.removals import (
    GONE_HEADING,
    is_in_lists,
    lists_below,
    lists_of_removed_files,
    may_list_removed_files,
)
from remit.lazy import lazy_pattern

HEADING = lazy_pattern(r"\s{0,3}(#{1,6})\s+(.*)$")
#: The lines of a text in which it may state what it is.
_MAX_HEAD = 25
_ENTRY = lazy_pattern(r"([ \t]*+)(?:[-*+]|\d{1,3}[.)])\s")
#: At most this many lines above an entry are searched for the line that introduces its list.
_MAX_PARTS = 30
#: A section with the status of a text is one of its first.
_MAX_FIRST = 4
#: Longer headings state nothing about files.
_MAX_HEADING = 300


class HeadingTree:
    """The headings of one document, each with an index, and the kind of the document."""

    def __init__(self, document: Document, path: str = "") -> None:
        """Read the headings of a document; `path` is its file, whose name may call it a plan."""
        self._document = document
        self._headings: list[tuple[int, int, str]] = []
        self._listed: dict[int, ListedFiles] = {}
        self._parts: dict[int, bool] = {}
        #: For each heading the index of the heading above it; -1 at the top.
        self._parents: list[int] = []
        stack = [(-1, 0)]
        for first, lines in document.line_runs:
            fences = read_fences(lines)
            starts = [fence.start for fence in fences]
            for at, line in enumerate(lines):
                if "#" not in line or not (found := HEADING.match(line)):
                    continue
                before = bisect_right(starts, at)
                if not before or at >= fences[before - 1].end:
                    number = first + at
                    while stack[-1][1] >= len(found[1]):
                        stack.pop()
                    self._parents.append(stack[-1][0])
                    stack.append((len(self._headings), len(found[1])))
                    self._headings.append((number, len(found[1]), found[2].rstrip("#").rstrip()))
        self._lines = [number for number, _, _ in self._headings]
        self._title = next((at for at, (_, level, _) in enumerate(self._headings) if level == 1), -1)
        first = next((number for number, level, _ in self._headings if level > 1), _MAX_HEAD)
        head = "\n".join(map(document.line_text, range(1, min(first, _MAX_HEAD))))
        head += "".join(f"\nStatus: {line}" for line in self._status())
        self.kind = document_kind(self.text(self._title), path, head, is_result=bool(document.result.agent))

    def _status(self) -> list[str]:
        """Return the first line of a section `Status` at the beginning of a text, as decision records have it."""
        for number, level, text in self._headings[:_MAX_FIRST]:
            if level > 1 and text.casefold() == "status":
                lines = map(self._document.line_text, (number + 1, number + 2))
                return list(filter(str.strip, lines))[:1]
        return []

    @cached_property
    def _removed(self) -> list[tuple[int, int]]:
        """The lists of files that the text calls removed: the first and the last line of each."""
        if not may_list_removed_files(self._document.folded_text):
            return []
        return [found for first, lines in self._document.line_runs for found in lists_of_removed_files(lines, first)]

    @cached_property
    def _new(self) -> list[tuple[int, int]]:
        """The lists of files that a plan calls new: the first and the last line of each."""
        runs = self._document.line_runs
        return [found for first, lines in runs for found in lists_below(lines, first, is_label_of_new_files)]

    def index_above(self, line: int) -> int:
        """Return the index of the last heading above a line, or -1."""
        return bisect_left(self._lines, line) - 1

    def text(self, at: int) -> str:
        """Return the text of a heading; nothing for -1."""
        return self._headings[at][2] if at >= 0 else ""

    def parent(self, at: int) -> int:
        """Return the index of the heading above another one, or -1."""
        return self._parents[at]

    def chain(self, at: int) -> Iterator[str]:
        """Yield a heading and those above it, except the title of the text."""
        while at >= 0 and at != self._title:
            yield self._headings[at][2]
            at = self._parents[at]

    def has_above(self, at: int, pattern: re.Pattern[str]) -> bool:
        """Return whether a pattern matches a heading or one that is above it."""
        while at >= 0:
            if pattern.match(self._headings[at][2]):
                return True
            at = self._parents[at]
        return False

    def section(self, at: int, limit: int) -> Iterator[str]:
        """Yield the lines between a heading and the next one, up to a limit."""
        first = self._lines[at] + 1
        last = self._lines[at + 1] if at < len(self._lines) - 1 else first + limit
        return map(self._document.line_text, range(first, min(last, first + limit)))

    def line_above_children(self, at: int) -> str:
        """Return the line above the first heading of the section that a heading is in, except that of the title."""
        parent = self._parents[at] if at >= 0 else -1
        if parent < 0 or parent == self._title:
            return ""
        number = self._lines[parent + 1]
        lines = (self._document.line_text(number - back) for back in (1, 2) if number - back > self._lines[parent])
        return next(filter(str.strip, lines), "")

    def _is_part(self, line: int) -> bool:
        """Return whether a list entry is below the line that introduces the parts of a file."""
        text = self._document.line_text(line)
        if not (entry := _ENTRY.match(text)):
            return False
        for number in range(line - 1, max(0, line - _MAX_PARTS), -1):
            text = self._document.line_text(number)
            if not text.strip():
                continue
            above = _ENTRY.match(text)
            if above is None or above.end(1) < entry.end(1):
                return proposes_split(text)
        return False

    def files_at(self, line: int) -> ListedFiles:
        """Return what the headings and labels above a line state about the files below them."""
        at = self.index_above(line)
        found = self._listed.get(at)
        if found is None:
            are_gone = self.has_above(at, GONE_HEADING)
            above = "\n".join(text[:_MAX_HEADING] for text in self.chain(at))
            found = self._listed[at] = listed_files(self.text(at), self.kind, are_gone=are_gone, above=above)
        if is_in_lists(self._removed, line):
            return replace(found, are_gone=True)
        if line not in self._parts:
            self._parts[line] = not self.kind.is_result and self._is_part(line)
        if self._parts[line]:
            return replace(found, are_parts=True)
        return replace(found, are_new=True) if self.kind.is_plan and is_in_lists(self._new, line) else found
