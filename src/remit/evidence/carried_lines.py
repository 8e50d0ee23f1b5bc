"""Lines that are cited without a file: `line 12`, `(lines 12-18)`, `L12`, `:12`, and a second number after a reference.

They belong to the last file that is named before them in the same sentence, list entry (or an entry above it), table
row or heading above, or to the file of the sentence that introduces their list or table. A label such as
`**File:** a.py` names the file of the lines below it, up to the next label or heading; such a reference is *loose*: a
line that the file lacks is not reported. A file in another paragraph or entry, or after the line, is not its file.

A line that its file lacks may belong to another file that is named around it, so these files are collected, too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from operator import attrgetter
from typing import Literal

import msgspec
from msgspec.structs import replace

from remit.evidence.file_names import PORTS
from remit.evidence.file_scopes import (
    MAX_OTHERS,
    EntryScope,
    HeadingScope,
    Labels,
    NamedFiles,
    Scope,
    is_key_line,
    masked,
    may_be_label,
)
from remit.evidence.grammar import WrittenReference
from remit.evidence.line_mentions import Mention, has_hint, mentions_in, ranges_in
from remit.evidence.line_ranges import DASH
from remit.evidence.segments import Segment
from remit.lazy import lazy_pattern

Place = Literal["near", "start", "bare", "far"]

#: The words between a line and a file that follows it: `line 12, in the loop of a/b.py`.
_JOINS = lazy_pattern(
    r"[)\]`*_,\s]{0,6}(?:\([^()]{0,40}\)\s?)?(?:in|of|from|at|within|inside)\s+"
    r"(?:[^.;:|]{0,50}\b(?:in|of|from|at|within|inside)\s+)?(?:the\s)?(?:file\s)?[`*_\"'(\[]{0,3}$",
    re.IGNORECASE,
)
#: A second range without a colon: `a/b.py:29-32`, `12-27`.
_SECOND = lazy_pattern(rf"`?\s?(?:,|;|/|&|\band\b|\bor\b)\s?(?:and\s)?`(\d{{1,6}}{DASH}\d{{1,6}})`", re.IGNORECASE)
#: A name in code marks directly before a line: `Store` lines 12-18.
_NAME_BEFORE = lazy_pattern(r"`([A-Za-z_]\w{2,80})(?:\(\))?`\s?[(,]?\s?(?:(?:at|around|on)\s)?`?$")
#: Words before a line of another text: `Plan reference: task 7, line 595`.
_OTHER_TEXT = lazy_pattern(
    r"\b(?:plan|spec|specification|rfc|ticket|story)s?\b[^.;|`]{0,40}[,:：]\W{0,4}$", re.IGNORECASE
)
_SECTION = lazy_pattern(r"\b(?:section|§)\s?[\d.]{1,8},\s(?:at\s)?$", re.IGNORECASE)
#: What may come between a file and its line: `src/app.py` (line 12), `src/app.py` at line 12.
_NEXT_TO = lazy_pattern(r"[`*_)\]\s\"',:：–—-]*+(?:(?:at|on|@)\s)?[\s(（\[`*_]*+$")
#: The end of a sentence, and words for another text that has lines: "fails when the input has an error on line 3".
_ENDS = lazy_pattern(
    r"[.!?]\s|[。！？]|\b(?:files?|inputs?|outputs?|logs?|tracebacks?|documents?|texts?|changelog|readme)\b",
    re.IGNORECASE,
)
_ITEM_START = lazy_pattern(
    r"\s*+(?:[-+*]\s++|\d{1,9}[.)]\s++)?+[`*_\[\s]*+(?:in\s[`*_\[]*+|files?[*_]{0,2}[:：][\s`*_]*+)?+$", re.IGNORECASE
)
_DATA = (
    ".yaml",
    ".yml",
    ".json",
    ".txt",
    ".md",
    ".csv",
    ".tsv",
    ".log",
    ".lock",
    ".toml",
    ".ini",
    ".cfg",
    ".env",
    ".xml",
)
#: Endings that only files have: `Alpine.js` is a product.
SOURCES = (
    *(".py", ".ts", ".tsx", ".jsx", ".rs", ".java", ".kt", ".cs", ".cpp", ".hpp", ".swift", ".php", ".rb", ".dart"),
    *(".vue", ".svelte", ".lua", ".scala"),
)
#: A line of an entry that starts with a file that is to be written: the file may be missing.
_TO_WRITE = lazy_pattern(
    r"\b(?:new|create[sd]?|add(?:ed|s)?|will|planned|to be|todo)\b|新規|新建|创建|作成", re.IGNORECASE
)
#: A name in camel case, which may be that of a file.
_HUMPS = lazy_pattern(r"\b[A-Za-z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b(?!\.\w)")
_LOOK_BACK = 40
_TAG_GAP = 3
_MAX_JOIN = 100
_MAX_LEAD = 400
#: At most this many cells of a row are searched for a file.
_MAX_CELLS = 40


class CarriedLine(msgspec.Struct, frozen=True):
    """A reference whose file is named elsewhere."""

    written: WrittenReference
    #: Where the file is named: next to the line, at the start of its entry, without a line, or far above.
    place: Place
    #: The other files that are named around it, and in the entries or paragraphs above it.
    others: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    #: Whether the file is only mentioned: `checks that data.md exists (line 12)`.
    is_doubtful: bool = False
    #: The name that the line is about.
    name: str = ""
    #: The files that a text above lists together with its file: it may be a line of each of them.
    listed: tuple[str, ...] = ()
    #: The names before it that may be those of other files without their ending: `ReadingList calls it (line 304)`.
    words: tuple[str, ...] = ()


class LineCarrier:
    """Finds the file of each line that is cited without one. Segments are added in the order of the text."""

    def __init__(self, named_files: NamedFiles) -> None:
        self._named_files = named_files
        self._group = 0
        self._paragraph = Scope()
        #: The paragraph directly above a list or table.
        self._lead = Scope()
        #: The list directly above a paragraph.
        self._step = Scope()
        #: The whole list or paragraph.
        self._siblings = Scope()
        self._entries: list[EntryScope] = []
        self._headings = [HeadingScope(0, Scope(), Scope(), Labels())]
        self._last_line = 0
        #: The lines that the section is about, and whether code is shown below them: `**Location:** lines 52-148`.
        self._located: tuple[int, int] | None = None
        self._is_below_code = False
        #: Whether the text numbers things with `L12`: `- L12 [lessons.ts:3308](...)`.
        self._has_tags = False
        #: The files of the lines that the same paragraph or entry of a list cites with their file.
        self._cited: dict[tuple[int, int | None], set[str]] = {}

    def add(self, segment: Segment) -> None:
        """Take the next segment into account. Call it before `carried` for the same segment."""
        if segment.group != self._group:
            is_apart = segment.group != self._group + 1
            self._lead = Scope() if is_apart else self._paragraph
            self._step = Scope() if is_apart else self._siblings
            self._paragraph, self._entries, self._group = Scope(), [], segment.group
            self._siblings, self._cited = Scope(), {}
            self._is_below_code |= self._located is not None and is_apart
        if segment.kind == "item" and segment.starts_item and not segment.depth:
            self._cited = {}
        if segment.kind == "heading":
            while self._headings[-1].level >= segment.depth > 0:
                self._headings.pop()
            self._headings.append(HeadingScope(segment.depth, Scope(), Scope(), Labels()))
            self._headings[-1].heading.add(segment)
            self._located, self._is_below_code = None, False
        elif segment.kind == "item":
            self._add_item(segment)
        elif segment.kind == "text":
            if may_be_label(segment.text, is_alone=not self._paragraph):
                self._headings[-1].labels.add(segment)
            self._paragraph.add(segment)
            self._headings[-1].texts.add(segment)
        self._last_line = segment.line

    def _add_item(self, segment: Segment) -> None:
        # A line below a blank line belongs to the entry that it is indented for.
        closes = segment.starts_item or segment.line > self._last_line + 1
        least = 0 if segment.starts_item else 1
        while closes and len(self._entries) > least and self._entries[-1].depth >= segment.depth:
            self._entries.pop()
        if segment.starts_item and is_key_line(segment.text):
            (self._entries[-1] if self._entries else self._headings[-1]).labels.add(segment)
        if segment.starts_item or not self._entries:
            self._entries.append(EntryScope(segment.depth, Scope(), Labels()))
        self._entries[-1].lines.add(segment)
        self._siblings.add(segment)

    def carried(self, segment: Segment, own: list[WrittenReference], row: Iterable[Segment]) -> Iterator[CarriedLine]:
        """Yield the references of a segment whose file is named elsewhere; `own` are its other references."""
        for one in own:
            if one.line is not None:
                self._cited.setdefault((one.line, one.end_line), set()).add(one.path)
        if segment.states_lines or not has_hint(segment.text):
            return
        yield from _second_ranges(segment.text, own)
        found = list(mentions_in(masked(segment.text, own), has_ids=segment.kind in ("cell", "heading")))
        if not found:
            return
        named = self._named_files(segment)
        elsewhere: tuple[WrittenReference | None, bool] | None = None
        others: tuple[list[str], list[str]] | None = None
        for mention in found:
            file, is_far = _in_segment(mention, segment.text, named), False
            is_cited = file is not None and (file.line is not None or segment.text.startswith("::", file.end))
            if mention.is_loose and (not is_cited or mention.ranges[0][0] in PORTS):
                continue
            if _SECTION.search(segment.text, max(0, mention.start - _LOOK_BACK), mention.start):
                continue  # of a text with numbered sections
            self._has_tags |= mention.is_letter and _is_tag(mention, own)
            if mention.is_letter and file is None and (self._has_tags or self._is_id(mention, segment, row)):
                continue
            is_here = file is not None
            if file is None and not _is_of_other_text(segment.text, mention):
                elsewhere = elsewhere or self._file_elsewhere(segment, row)
                file, is_far = elsewhere
                file = self._settled(segment, mention, file, is_far=is_far) if file is not None else None
            if file is not None:
                others = self._others(segment, row, named) if others is None else others
                place, is_doubtful = _place(mention, segment, file, named if is_here else [])
                around, further = (tuple(path for path in paths if path != file.path) for paths in others)
                name = _NAME_BEFORE.search(segment.text, max(0, mention.start - _MAX_JOIN), mention.start)
                text = segment.text[mention.start : mention.end]
                words = tuple(_HUMPS.findall(segment.text[max(0, mention.start - _MAX_LEAD) : mention.start]))[
                    -MAX_OTHERS:
                ]
                for line, last in mention.ranges:
                    written = WrittenReference(mention.start, mention.end, text, file.path, line, last)
                    is_loose = is_far or mention.is_loose
                    where: Place = "far" if is_loose else place
                    listed = () if is_here else file.listed_with
                    called = name[1] if name else ""
                    yield CarriedLine(written, where, around, further, is_doubtful, called, listed, words)

    def _settled(
        self, segment: Segment, mention: Mention, file: WrittenReference, *, is_far: bool
    ) -> WrittenReference | None:
        """Return the file that a line belongs to if the text names `file` elsewhere; None if it has no file."""
        if is_far and self._is_of_snippet(segment, mention):
            return None
        return self._cited_before(mention, file) if mention.is_colon else file

    def _is_of_snippet(self, segment: Segment, mention: Mention) -> bool:
        """Return whether a line counts from the code above: it is not one of those that the section is about."""
        first, last = mention.ranges[0]
        if is_key_line(segment.text):
            self._located = (first, last) if last is not None else None
            return False
        if self._located is None or not self._is_below_code:
            return False
        return not self._located[0] <= first <= self._located[1]

    def _cited_before(self, mention: Mention, file: WrittenReference) -> WrittenReference:
        """Return the only file whose same line is cited nearby: `:12` after `a.py:12` is about a.py again."""
        cited = self._cited.get(mention.ranges[0], set()) if len(mention.ranges) == 1 else set()
        if len(cited) != 1 or file.path in cited:
            return file
        return replace(file, path=next(iter(cited)), line=mention.ranges[0][0])

    def _others(
        self, segment: Segment, row: Iterable[Segment], named: list[WrittenReference]
    ) -> tuple[list[str], list[str]]:
        """Return the files that are named around a segment, the nearest first, and those in the entries above it."""
        paths = [one.path for one in named[-MAX_OTHERS:]]
        if segment.kind == "cell":
            paths += [one.path for one in self._column_files(segment)]
            paths += [one.path for cell in islice(row, _MAX_CELLS) for one in self._named_files(cell)[-MAX_OTHERS:]]
        scopes = [entry.lines for entry in self._entries[: -MAX_OTHERS - 1 : -1]]
        scopes += [self._paragraph, self._lead]
        scopes += [above.heading for above in self._headings[: -MAX_OTHERS - 1 : -1]]
        paths += [path for scope in scopes for path in scope.paths(self._named_files, segment)]
        near = list(islice(dict.fromkeys(paths), MAX_OTHERS))
        above = (self._siblings, self._headings[-1].texts)
        further = [path for scope in above for path in scope.paths(self._named_files, segment)]
        return near, further

    def _file_elsewhere(self, segment: Segment, row: Iterable[Segment]) -> tuple[WrittenReference | None, bool]:
        """Return the file of the lines in a segment that names none before them, and whether only a label names it."""
        if segment.kind == "cell":
            near = self._row_file(segment, row)
        elif segment.kind == "item":
            for entry in reversed(self._entries):
                if (near := entry.lines.last_file(self._named_files, segment)) is not None:
                    return near, False
                if (near := entry.labels.file(self._named_files, segment)) is not None:
                    return near, True
            near = None
        else:
            near = self._paragraph.last_file(self._named_files, segment)
        if near is None and segment.kind != "text":
            near = self._lead.introduced(self._named_files)
        if near is not None:
            return near, False
        file, is_far = self._from_headings(segment)
        if file is not None and is_far and segment.kind == "text" and len(self._step) == 1:
            # `- [ ] Step 4: change b.py`, and a paragraph below it: not the file of a label further above.
            step = self._step.last_file(self._named_files, segment)
            file = file if step is None or step.path == file.path else None
        return file, is_far

    def _is_id(self, mention: Mention, segment: Segment, row: Iterable[Segment]) -> bool:
        """Return whether a mention is all that a cell has, and no cell before it names a file: the ID of its row."""
        if segment.kind != "cell" or segment.text.strip("`* ") != segment.text[mention.start : mention.end]:
            return False
        before = takewhile(lambda cell: cell is not segment, islice(row, _MAX_CELLS))
        return not any(self._named_files(cell) for cell in before)

    def _column_files(self, segment: Segment) -> list[WrittenReference]:
        """Return the files that the head of a cell's column names."""
        return self._named_files(replace(segment, text=segment.column)) if segment.column else []

    def _row_file(self, segment: Segment, row: Iterable[Segment]) -> WrittenReference | None:
        """Return the file of a cell: that of its column, of a location, of the first cell, else the only one before."""
        if len(heads := self._column_files(segment)) == 1:
            return heads[0]
        cells = list(islice(row, _MAX_CELLS))
        for cell in cells:
            if cell.is_location and cell is not segment and (files := self._named_files(cell)):
                return files[-1]
        before = list(takewhile(lambda cell: cell is not segment, cells))
        for searched in (before[:1], before):
            named = {one.path: one for cell in searched for one in self._named_files(cell)}
            if len(named) == 1:
                return next(iter(named.values()))
        return None

    def _from_headings(self, segment: Segment) -> tuple[WrittenReference | None, bool]:
        """Return the file of a label below a heading above, else the one that the heading names.

        The labels below the title of the document are too far from the lines below its other headings.
        """
        is_nearest, between = True, set[str]()
        for above in reversed(self._headings):
            in_heading = above.heading.last_file(self._named_files, segment)
            label = above.labels.file(self._named_files, segment) if is_nearest or above.level > 1 else None
            if label is not None and (in_heading is None or label.path != in_heading.path):
                return label, True
            if (texts := above.texts.last_file(self._named_files, segment)) is not None:
                between.add(texts.path)
            if in_heading is not None:
                is_about = is_nearest or (segment.kind == "heading" and above.heading.is_about_file(self._named_files))
                return in_heading, not is_about or bool(between - {in_heading.path})
            is_nearest = False
        return None, True


def _is_of_other_text(text: str, mention: Mention) -> bool:
    """Return whether the words before a line name another text: `Plan reference: task 7, line 595`."""
    return _OTHER_TEXT.search(text, max(0, mention.start - 2 * _LOOK_BACK), mention.start) is not None


def _place(
    mention: Mention, segment: Segment, file: WrittenReference, named: list[WrittenReference]
) -> tuple[Place, bool]:
    """Return how the file of a line is named, and whether it is only mentioned; `named` are the files next to it."""
    if file.line is not None:
        return "near", False
    if not named:
        return "bare", file.path.lower().endswith(_DATA) or file.path.rpartition("/")[2].startswith(".")
    is_start = bool(_ITEM_START.match(segment.text[: file.start][:_MAX_JOIN]))
    if segment.kind == "item" and is_start and "/" in file.path and not _TO_WRITE.search(segment.text[:_MAX_LEAD]):
        return "start", False
    is_sole = {one.path for one in named} == {file.path} and file.path.lower().endswith(SOURCES)
    is_sole = is_sole and not _ENDS.search(segment.text, file.end, max(file.end, mention.start))
    if is_sole and file.end <= mention.start and not _TO_WRITE.search(segment.text[:_MAX_LEAD]):
        return "start", False
    between = segment.text[file.end : mention.start]
    is_next = len(between) <= _MAX_JOIN and bool(_NEXT_TO.match(between))
    return "bare", not (is_start or is_next)


def _in_segment(mention: Mention, text: str, named: list[WrittenReference]) -> WrittenReference | None:
    """Return the last file before a line or the first one after it: `line 12, in a loop of a.py`."""
    at = bisect_right(named, mention.start, key=attrgetter("end"))
    if at:
        return named[at - 1]
    is_joined = bool(named) and not mention.is_colon and _JOINS.match(text[mention.end : named[0].start][:_MAX_JOIN])
    return named[0] if is_joined else None


def _is_tag(mention: Mention, own: list[WrittenReference]) -> bool:
    """Return whether a mention names the reference directly after it, which has its own line: `L12 src/app.py:30`."""
    return any(one.line is not None and 0 < one.start - mention.end <= _TAG_GAP for one in own)


def _second_ranges(text: str, own: list[WrittenReference]) -> Iterator[CarriedLine]:
    """Yield the further ranges after a reference."""
    for written in own:
        if written.line is None:
            continue
        end = written.end
        while second := _SECOND.match(text, end):
            end = second.end()
            for line, last in ranges_in(second[1]):
                start = second.start(1)
                yield CarriedLine(WrittenReference(start, end, second[1], written.path, line, last), "near")


def is_passing(text: str, one: WrittenReference, named: list[WrittenReference]) -> bool:
    """Return whether a text mentions a data file before a line of code: `app.py:3` embeds `key.txt` (line 11)."""
    is_apart = one.line is not None and "(" in one.text and one.path.lower().endswith(_DATA)
    return is_apart and named[0].start < one.start and not named[0].path.lower().endswith(_DATA)
