"""Lines that are cited without a file: `line 12`, `(lines 12-18)`, `L12`, `:12`, and a second range after a reference.

Such a line belongs to the last file that is named in the same sentence, list entry (or an entry above it), table row
or heading above. Other files around it are kept as candidates. Nothing is decided here: a line without any file is not
a claim, and a line whose file is named elsewhere is a weak one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

import msgspec

from remit.evidence.document import Segment, is_label
from remit.evidence.file_names import CJK, PORTS
from remit.evidence.grammar import WrittenReference
from remit.evidence.line_ranges import DASH, MAX_LINE, Range, is_count_next, measures
from remit.lazy import lazy_pattern

#: The files that a segment names, with or without a line, in order.
NamedFiles = Callable[[Segment], list[WrittenReference]]
_NUMBER = rf"[~≈]?L?(?!0\d)\d{{1,6}}(?:\s?(?:{DASH}|[~～〜]|\bto\b|\bthrough\b)\s?L?\d{{1,6}})?"
_LIST = rf"{_NUMBER}(?:(?:,\s?(?:and\s|&\s)?|\s(?:and|&|und|et)\s|\s?/\s?){_NUMBER}){{0,19}}"
#: Nothing may follow that makes the number a part of something else.
_AFTER = r"(?!(?!(?-i:[をのはがにでと付]))[\w%]|[.:]\d|\.x(?!\w)|-[\w])"
#: With regard to case, which these scripts do not have: else each of their characters is folded, which takes long.
_OPENS = rf"(?-i:[`(（【「，、；：{CJK}])"
_ROW = rf"\d{{1,6}}(?:\s?(?:{DASH}|[~～〜至到])\s?第?\s?\d{{1,6}})?"
#: What each of them has: any sign that is not ASCII stands for those in `_OPENS`, whose ranges take long to compile.
_HINT = lazy_pattern(r"(?:lines?|\bl\.)\W{0,4}\d|\bL\d|[,/\s`(]:\d|[^\x00-\x7f]:\d|`\d|行", re.IGNORECASE)
_MENTION = lazy_pattern(
    rf"(?<![\w\-.])(?P<word>(?:lines?|ln)(?!\d)|l(?=\.\s?\d))[*_]{{0,2}}\.?\s?(?P<sign>[#:]?)[*_]{{0,2}}\s?[`*_]{{0,2}}(?P<listed>{_LIST}){_AFTER}"
    rf"|(?<![\w/.\-:#@])(?P<letter>(?:L(?!0)\d{{2,6}}+|(?<=[(（])L[1-9](?=[)）-]))(?>(?:{DASH}L?\d{{1,6}}+)?)(?>(?:(?:\s?[/,、，]\s?L|/)\d{{1,6}}+(?>(?:{DASH}L?\d{{1,6}}+)?)){{0,19}}))(?![\w.\-/]\w|\w)"
    rf"|(?:(?<={_OPENS})|(?<=\bat\s)|(?<=[+&]\s)|(?<=[`\d](?:,|/)\s)):"
    rf"(?P<colon>\d{{1,6}}(?:{DASH}\d{{1,6}})?(?:[/,]:?\d{{1,6}}(?:{DASH}\d{{1,6}})?){{0,9}})(?![\w.:%]\w|\w)"
    rf"|(?<!\w)行(?:号|番号)?\s?[:：]?\s?(?P<labelled>{_ROW}(?:\s?[,，、和]\s?{_ROW}(?!\s?[个個件处処])){{0,19}})(?![\w%.])"
    rf"|第\s?(?P<row>{_ROW}(?:\s?[,，、和]\s?第?\s?{_ROW}){{0,19}})\s?行"
    rf"|(?<=[(（])(?P<span>\d{{1,6}}\s?{DASH}\s?\d{{1,6}})\s?行(?=[)）])"
    rf"|(?<!\d)(?P<rows>\d{{1,6}}(?:\s?(?:{DASH}|[~～〜])\s?\d{{1,6}})?)\s?行目",
    re.IGNORECASE,
)
_GROUPS = ("listed", "letter", "colon", "labelled", "row", "span", "rows")
_RANGE = lazy_pattern(rf"(\d{{1,6}})(?:\s?(?:{DASH}|[~～〜至到]|to|through)\s?第?\s?L?(\d{{1,6}}))?", re.IGNORECASE)
#: Words that give a number another owner: `line 12 of the log`, `command line 3`.
_OTHER_OWNER = lazy_pattern(
    r"[)\]`*]{0,3}\s(?:(?:of|from)\s(?!(?:the|this|that|its|same)\s(?:same\s)?(?:file|module|source|script)\b|it\b)"
    r"|in\s(?:the\s|this\s|that\s)?(?:output|logs?|trace(?:back)?|document|docs?|spec|plan|diff|report|table|prompt)\b)",
    re.IGNORECASE,
)
_OTHER_LINE = lazy_pattern(
    r"(?:command|workflow|plan|spec|log|subject|status|base|first|last|top|bottom|dead|total)[\s-]$", re.IGNORECASE
)
#: A format, not a line: `{:02}`.
_FORMAT = lazy_pattern(r"\W*0\d")
_PORT = lazy_pattern(r"\b(?:ports?|listen(?:s|ing)?(?:\son)?|localhost|bind(?:s|ing)?(?:\sto)?)\W{0,4}$", re.IGNORECASE)
#: `L12` at the start of a heading or a cell is the number of a finding.
_LETTER_LABEL = lazy_pattern(r"[\s*_`\[(#>+-]*+$")
#: The words between a line and a file that follows it: `line 12, in the loop of a/b.py`.
_JOINS = lazy_pattern(
    r"[)\]`*_,\s]{0,6}(?:in|of|from|at|within|inside)\s+(?:[^.;:|]{0,50}\b(?:in|of|from|at)\s+)?"
    r"(?:the\s)?(?:file\s)?[`*_\"'(\[]{0,3}$",
    re.IGNORECASE,
)
#: A second range without a colon: `a/b.py:29-32`, `12-27`.
_SECOND = lazy_pattern(rf"`?\s?(?:,|;|/|&|\band\b|\bor\b)\s?(?:and\s)?`(\d{{1,6}}{DASH}\d{{1,6}})`", re.IGNORECASE)
_SENTENCE_ENDS = lazy_pattern(r"[.!?][)*_`]{0,3}\s+(?=\S)|[。！？]")
_MAX_JOIN = 100
_LOOK_BACK = 40
#: At most this many cells of a row are searched for a file, and this many other files are kept.
_MAX_CELLS = 40
MAX_OTHERS = 8


class CarriedLine(msgspec.Struct, frozen=True):
    """A reference whose file is named elsewhere: with the other files around it, the nearest first."""

    written: WrittenReference
    #: Whether the file is not named in the same sentence or row.
    is_far: bool = False
    others: tuple[str, ...] = ()


class _Mention(msgspec.Struct, frozen=True):
    start: int
    end: int
    ranges: tuple[Range, ...]
    is_colon: bool


class _Entry(msgspec.Struct, frozen=True):
    """A list entry that contains the current line: how far it is indented, and its lines."""

    depth: int
    segments: list[Segment]


_START = Segment("heading", "", 0, None, None, 0)


class LineReader:
    """Finds the file of each line that is cited without one. Segments are added in the order of the text."""

    def __init__(self, named_files: NamedFiles) -> None:
        self._search = named_files
        self._known: dict[int, list[WrittenReference]] = {}
        self._group = self._last_line = 0
        self._paragraph: list[Segment] = []
        #: The paragraph directly above a list or table.
        self._lead: list[Segment] = []
        self._entries: list[_Entry] = []
        #: The headings above, each with the labels below it; the first one stands for the start of the text.
        self._headings: list[tuple[Segment, list[Segment]]] = [(_START, [])]

    def add(self, segment: Segment) -> None:
        """Take the next segment into account. Call it before `read` for the same segment."""
        if segment.group != self._group:
            self._lead = self._paragraph if segment.group == self._group + 1 else []
            self._paragraph, self._entries, self._group = [], [], segment.group
        if segment.kind == "heading":
            while self._headings and self._headings[-1][0].depth >= segment.depth > 0:
                self._headings.pop()
            self._headings.append((segment, []))
        elif segment.kind in ("text", "item") and not segment.depth and is_label(segment.text):
            self._headings[-1][1].append(segment)
        if segment.kind == "text":
            self._paragraph.append(segment)
        elif segment.kind == "item":
            self._add_item(segment)
        self._last_line = segment.line

    def _add_item(self, segment: Segment) -> None:
        # A line below a blank line belongs to the entry that it is indented for.
        closes = segment.starts_item or segment.line > self._last_line + 1
        least = 0 if segment.starts_item else 1
        while closes and len(self._entries) > least and self._entries[-1].depth >= segment.depth:
            first = self._entries.pop().segments[0]
            if self._entries and is_label(first.text):
                self._entries[-1].segments.append(first)  # the label is one of all entries next to it
        if segment.starts_item or not self._entries:
            self._entries.append(_Entry(segment.depth, []))
        self._entries[-1].segments.append(segment)

    def read(
        self, segment: Segment, references: list[WrittenReference], row: Iterable[Segment]
    ) -> Iterator[CarriedLine]:
        """Yield the references of a segment that `may_cite`, and names their file elsewhere.

        `references` are its others.
        """
        if segment.states_lines or _HINT.search(segment.text) is None:
            return
        yield from _second_ranges(segment.text, references)
        for mention in _mentions(_masked(segment.text, references), segment):
            named = self._files(segment)
            file, is_far = _file_in(mention, segment.text, named), False
            if file is None:
                file, is_far = self._file_elsewhere(segment, row)
            may_be_port = mention.is_colon and mention.ranges[0][0] in PORTS and (file is None or file.line is None)
            if file is None or may_be_port:
                continue
            others = tuple(path for path in self._others(segment, row) if path != file.path)
            words = segment.text[mention.start : mention.end]
            for first, last in mention.ranges:
                written = WrittenReference(mention.start, mention.end, words, file.path, first, last)
                yield CarriedLine(written, is_far, others)

    def file_above(self, fence: Segment) -> str:
        """Return the file that the sentence, the entry or the heading above a fence names; empty for none."""
        is_next = fence.group <= self._group + 1
        kind = "item" if self._entries else "text"
        segment = msgspec.structs.replace(fence, kind=kind, text="")
        file, _ = self._file_elsewhere(segment, ()) if is_next else self._from_headings()
        return file.path if file is not None else ""

    def _files(self, segment: Segment) -> list[WrittenReference]:
        files = self._known.get(id(segment))
        if files is None:
            files = self._known[id(segment)] = self._search(segment)
        return files

    def _file_elsewhere(self, segment: Segment, row: Iterable[Segment]) -> tuple[WrittenReference | None, bool]:
        """Return the file of the lines in a segment that names none, and whether it is in another sentence or row."""
        if segment.kind == "cell":
            if (file := self._row_file(segment, row)) is not None:
                return file, False
        elif segment.kind == "item":
            for entry in reversed(self._entries):
                if (file := self._last_file(entry.segments, segment)) is not None:
                    return file, entry is not self._entries[-1]
        elif (file := self._last_file(self._paragraph, segment)) is not None:
            return file, bool(_SENTENCE_ENDS.search(self._paragraph[-1].text))
        if segment.kind in ("cell", "item") and self._lead and _introduces(self._lead[-1].text):
            files = self._files(self._lead[-1])
            if len({file.path for file in files}) == 1:
                return files[-1], True
        return self._from_headings()

    def _from_headings(self) -> tuple[WrittenReference | None, bool]:
        """Return the file of the last label below the nearest heading with one, else the file of the heading."""
        for heading, labels in reversed(self._headings):
            for source in (*reversed(labels), heading):
                files = self._files(source)
                if len({file.path for file in files}) == 1:
                    return files[-1], True
                if files:
                    return None, True
        return None, True

    def _last_file(self, segments: list[Segment], current: Segment) -> WrittenReference | None:
        for segment in islice(reversed(segments), _MAX_CELLS):
            if segment is not current and (files := self._files(segment)):
                return files[-1]
        return None

    def _row_file(self, segment: Segment, row: Iterable[Segment]) -> WrittenReference | None:
        """Return the file of a cell: that of its column, of a location, else the only one of the row."""
        heads = self._search(msgspec.structs.replace(segment, text=segment.column)) if "." in segment.column else []
        if len(heads) == 1:
            return heads[0]
        cells = [cell for cell in islice(row, _MAX_CELLS) if cell is not segment]
        for searched in ([cell for cell in cells if cell.is_location], cells[:1], cells):
            named = {file.path: file for cell in searched for file in self._files(cell)}
            if len(named) == 1:
                return next(iter(named.values()))
        return None

    def _others(self, segment: Segment, row: Iterable[Segment]) -> list[str]:
        """Return the files that are named around a segment, the nearest first."""
        around = chain(
            (segment,),
            (cell for cell in islice(row, _MAX_CELLS) if segment.kind == "cell"),
            (line for entry in reversed(self._entries) for line in reversed(entry.segments)),
            reversed(self._paragraph),
            reversed(self._lead if segment.kind != "text" else []),
            (heading for heading, _ in reversed(self._headings)),
        )
        paths = (file.path for other in islice(around, _MAX_CELLS) for file in reversed(self._files(other)))
        return list(islice(dict.fromkeys(paths), MAX_OTHERS))


def _introduces(text: str) -> bool:
    """Return whether a line introduces what follows: it ends with a colon, or is a label."""
    return text.rstrip("*_` ").endswith((":", "：")) or is_label(text)


def _mentions(text: str, segment: Segment) -> Iterator[_Mention]:
    """Yield the lines in a text that names no file for them."""
    for match in _MENTION.finditer(text):
        start, end = match.span()
        listed = next(filter(None, match.group(*_GROUPS)))
        before = text[max(0, start - _LOOK_BACK) : start]
        if match["word"]:
            is_count = match["word"].lower() == "lines" and match["sign"] == ":" and listed.isdigit()
            if is_count or measures(text, end) or _OTHER_LINE.search(before):
                continue
        if match["colon"] and (_FORMAT.match(listed) or _PORT.search(before)):
            continue
        if (
            match["letter"]
            and segment.kind in ("heading", "cell")
            and _LETTER_LABEL.fullmatch(text[:start][:_LOOK_BACK])
        ):
            continue
        if _OTHER_OWNER.match(text, end):
            continue
        ranges = _ranges(listed)
        if match["word"] and len(ranges) > 1 and is_count_next(text, end):
            ranges = ranges[:-1]
        yield _Mention(start, end, ranges, match["colon"] is not None)


def _ranges(listed: str) -> tuple[Range, ...]:
    """Return the lines and ranges of a list: `12, 15-18`."""
    ranges: list[Range] = []
    for first, last in (match.groups() for match in _RANGE.finditer(listed)):
        start = min(int(first), MAX_LINE)
        # A number inside the range before it is not a line: `lines 1-342, 4 channels`.
        if not ranges or not ranges[-1][0] <= start <= (ranges[-1][1] or 0):
            ranges.append((start, int(last) if last else None))
    return tuple(ranges)


def _file_in(mention: _Mention, text: str, named: list[WrittenReference]) -> WrittenReference | None:
    """Return the last file before a line, or the first one after it: `line 12, in a loop of a.py`."""
    before = [file for file in named if file.end <= mention.start]
    if before:
        return before[-1]
    if not named or mention.is_colon:
        return None
    return named[0] if _JOINS.match(text[mention.end : named[0].start][:_MAX_JOIN]) else None


def _second_ranges(text: str, references: list[WrittenReference]) -> Iterator[CarriedLine]:
    """Yield the further ranges after a reference."""
    for written in references:
        end = written.end
        while written.line is not None and (second := _SECOND.match(text, end)):
            end = second.end()
            for line, last in _ranges(second[1]):
                yield CarriedLine(WrittenReference(second.start(1), end, second[1], written.path, line, last))


def _masked(text: str, references: list[WrittenReference]) -> str:
    """Return a text in which references are blank."""
    pieces: list[str] = []
    done = 0
    for written in references:
        start = max(done, written.start)
        if written.end > start:
            pieces += (text[done:start], " " * (written.end - start))
            done = written.end
    return "".join([*pieces, text[done:]])
