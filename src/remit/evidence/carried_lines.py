"""Lines that are cited without a file: `line 12`, `(lines 12-18)`, `L12`, `:12`, and a second number after a reference.

They belong to the last file that is named in the same sentence, list entry (or an entry above it), table row or heading
above. If the file is only named further above in the section, the line may belong to another file: such a reference is
*loose*, and a line that the file lacks is not reported. A line that its file lacks may belong to another file that is
named around it, so these files are collected, too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import attrgetter
from typing import Literal, NamedTuple

from remit.evidence.file_names import CJK, PORTS
from remit.evidence.grammar import WrittenReference
from remit.evidence.line_ranges import MAX_LINE
from remit.evidence.segments import Segment
from remit.lazy import lazy_pattern

#: The files that a segment names, with or without a line, in order.
NamedFiles = Callable[[Segment], list[WrittenReference]]

Place = Literal["near", "start", "bare", "far"]

_DASH = "[-–—‑]"
_NUMBER = rf"[~≈]?L?(?:\d{{1,6}})(?:\s?(?:{_DASH}|\bto\b|\bthrough\b)\s?L?\d{{1,6}})?"
_LIST = rf"{_NUMBER}(?:(?:,\s?(?:and\s|&\s)?|\s(?:and|&)\s|\s?/\s?){_NUMBER}){{0,19}}"
#: Nothing may follow that makes the number a part of something else.
_AFTER = r"(?![\w%]|[.:]\d|-[\w])"
#: With regard to case, which these scripts do not have: else each of their characters is folded, which takes long.
_CJK = rf"(?-i:[{CJK}])"
_OPENS = rf"(?-i:[`(（【「，、；：{CJK}])"
_HINT = lazy_pattern(rf"lines?\W{{0,4}}\d|\bL\d|(?:[,/\s]|{_OPENS}):\d|`\d|行", re.IGNORECASE)
#: Matches wherever `_HINT` does, and takes a tenth of the time to compile: most reports need only this one.
_MAYBE = lazy_pattern(r"lines?\W{0,4}\d|\bL\d|(?-i:[^!-'*+.0-9:-_a-~)\-]):\d|`\d|行", re.IGNORECASE)
_MENTION = lazy_pattern(
    rf"(?<![\w\-.])(?P<word>lines?|ln)[*_]{{0,2}}\.?\s?(?P<sign>[#:]?)[*_]{{0,2}}\s?[`*_]{{0,2}}(?P<listed>{_LIST}){_AFTER}"
    rf"|(?<![\w/.\-:#@])(?P<letter>(?:L\d{{2,6}}+(?:{_DASH}L?\d{{1,6}}+)?+|L\d{_DASH}L?\d{{1,6}}+)"
    rf"(?:\s?[/,、，]\s?L\d{{1,6}}+(?:{_DASH}L?\d{{1,6}}+)?+){{0,19}}+)(?![\w.\-/]\w|\w)"
    rf"|(?:(?<={_OPENS})|(?<=\bat\s)|(?<=[+&]\s)|(?<=[`\d](?:,|/)\s)|(?<={_CJK}\s)|(?P<loose>(?<=\w\s))):"
    rf"(?P<colon>\d{{1,6}}(?:{_DASH}\d{{1,6}})?(?:[/,]:?\d{{1,6}}(?:{_DASH}\d{{1,6}})?){{0,9}})(?![\w.:%]\w|\w)"
    rf"|第\s?(?P<row>\d{{1,6}}(?:\s?(?:{_DASH}|[~～〜至到])\s?第?\s?\d{{1,6}})?)\s?行"
    rf"|(?<!\d)(?P<rows>\d{{1,6}}(?:\s?(?:{_DASH}|[~～〜])\s?\d{{1,6}})?)\s?行目",
    re.IGNORECASE,
)
#: A second range without a colon: `a/b.py:29-32`, `12-27`.
_SECOND = lazy_pattern(rf"`?\s?(?:,|;|/|&|\band\b|\bor\b)\s?(?:and\s)?`(\d{{1,6}}{_DASH}\d{{1,6}})`", re.IGNORECASE)
_RANGE = lazy_pattern(rf"(\d{{1,6}})(?:\s?(?:{_DASH}|[~～〜至到]|to|through)\s?第?\s?L?(\d{{1,6}}))?", re.IGNORECASE)
#: Words that give a number another owner: `line 12 of the log`, `line 3 in this plan`.
_OTHER_OWNER = lazy_pattern(
    r"[)\]`*]{0,3}\s(?:(?:of|from)\s(?!(?:the|this|that|its|same|said)\s(?:same\s)?(?:file|module|source|script)\b|it\b)"
    r"|in\s(?:the\s|this\s|that\s|your\s|my\s)?(?:\w{1,20}\s)?"
    r"(?:output|log|logs|trace|traceback|document|doc|docs|spec|ticket|issue|plan|diff|report|transcript|response|table|prompt)\b)",
    re.IGNORECASE,
)
_OTHER_LINE = lazy_pattern(
    r"(?:command|tag|subject|status|product|bus|phone|punch|first|last|top|bottom|dead|base)[\s-]$", re.IGNORECASE
)
_PORT = lazy_pattern(
    r"\b(?:ports?|listen(?:s|ing)?(?:\son)?|localhost|bind(?:s|ing)?(?:\sto)?|tcp|udp)\W{0,4}$", re.IGNORECASE
)
#: The words between a line and a file that follows it: `line 12, in the loop of a/b.py`.
_JOINS = lazy_pattern(
    r"[)\]`*_,\s]{0,6}(?:\([^()]{0,40}\)\s?)?(?:in|of|from|at|within|inside)\s+"
    r"(?:[^.;:|]{0,50}\b(?:in|of|from|at|within|inside)\s+)?(?:the\s)?(?:file\s)?[`*_\"'(\[]{0,3}$",
    re.IGNORECASE,
)
#: A name in code marks directly before a line: `Store` lines 12-18.
_NAME_BEFORE = lazy_pattern(r"`([A-Za-z_]\w{2,80})(?:\(\))?`\s?[(,]?\s?(?:(?:at|around|on)\s)?$")
#: An ID in a table or heading: `L2-1`. A line has two digits or a second L.
_ID = lazy_pattern(r"L\d[-–]\d", re.IGNORECASE)
#: Words before a line of another text: `Plan reference: task 7, line 595`.
_OTHER_TEXT = lazy_pattern(
    r"\b(?:plan|spec|specification|rfc|ticket|story)s?\b[^.;|`]{0,40}[,:：]\W{0,4}$", re.IGNORECASE
)
#: What may come between a file and its line: `src/app.py` (line 12), `src/app.py` at line 12.
_NEXT_TO = lazy_pattern(r"[`*_)\]\s\"',:：–—-]*+(?:(?:at|on|@)\s)?[\s(（\[`*_]*+$")
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
#: A line of an entry that starts with a file that is to be written: the file may be missing.
_TO_WRITE = lazy_pattern(
    r"\b(?:new|create[sd]?|add(?:ed|s)?|will|planned|to be|todo)\b|新規|新建|创建|作成", re.IGNORECASE
)
_LOOK_BACK = 40
#: At most this many files around a line are tried.
_MAX_OTHERS = 8
_MAX_JOIN = 100
_MAX_LEAD = 400
#: At most this many cells of a row are searched for a file.
_MAX_CELLS = 40


class CarriedLine(NamedTuple):
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


class _Mention(NamedTuple):
    start: int
    end: int
    ranges: tuple[tuple[int, int | None], ...]
    #: Whether only a word precedes it: `the check :72`. It is a line only next to another line of the file.
    is_loose: bool = False
    #: Whether it is written as `:12`.
    is_colon: bool = False


class _Scope:
    """Segments that may name the file of a line below them. Each one is searched once, and only if a line needs it."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._searched = 0
        self._last: WrittenReference | None = None
        self._paths: dict[str, None] = {}

    def add(self, segment: Segment) -> None:
        self._segments.append(segment)

    def last_file(self, named_files: NamedFiles, current: Segment) -> WrittenReference | None:
        """Return the last file that is named before the current segment."""
        end = len(self._segments) - bool(self._segments and self._segments[-1] is current)
        for at in range(self._searched, end):
            if files := named_files(self._segments[at]):
                self._last = files[-1]
                for file in files[-_MAX_OTHERS:]:
                    self._paths.pop(file.path, None)
                    self._paths[file.path] = None
        self._searched = max(self._searched, end)
        return self._last

    def paths(self, named_files: NamedFiles, current: Segment) -> list[str]:
        """Return the last files that are named before the current segment, the nearest first."""
        self.last_file(named_files, current)
        return list(islice(reversed(self._paths), _MAX_OTHERS))


class LineCarrier:
    """Finds the file of each line that is cited without one. Segments are added in the order of the text."""

    def __init__(self, named_files: NamedFiles) -> None:
        self._named_files = named_files
        self._group = 0
        self._paragraph = _Scope()
        #: The paragraph directly above a list or table.
        self._lead = _Scope()
        #: The whole list or paragraph.
        self._siblings = _Scope()
        #: The entries of a list that contain the current line: how far each is indented, and its lines.
        self._entries: list[tuple[int, _Scope]] = []
        #: The headings above: the level, the heading, and the paragraphs below it.
        self._headings: list[tuple[int, _Scope, _Scope]] = [(0, _Scope(), _Scope())]
        #: The files of the lines that the same paragraph or entry of a list cites with their file.
        self._cited: dict[tuple[int, int | None], set[str]] = {}

    def add(self, segment: Segment) -> None:
        """Take the next segment into account. Call it before `carried` for the same segment."""
        if segment.group != self._group:
            self._lead = self._paragraph if segment.group == self._group + 1 else _Scope()
            self._paragraph, self._entries, self._group = _Scope(), [], segment.group
            self._siblings, self._cited = _Scope(), {}
        if segment.kind == "item" and segment.starts_item and not segment.depth:
            self._cited = {}
        if segment.kind == "heading":
            while self._headings[-1][0] >= segment.depth > 0:
                self._headings.pop()
            self._headings.append((segment.depth, _Scope(), _Scope()))
            self._headings[-1][1].add(segment)
        elif segment.kind == "item":
            while segment.starts_item and self._entries and self._entries[-1][0] >= segment.depth:
                self._entries.pop()
            if segment.starts_item or not self._entries:
                self._entries.append((segment.depth, _Scope()))
            self._entries[-1][1].add(segment)
            self._siblings.add(segment)
        elif segment.kind == "text":
            self._paragraph.add(segment)
            self._headings[-1][2].add(segment)

    def carried(self, segment: Segment, own: list[WrittenReference], row: Iterable[Segment]) -> Iterator[CarriedLine]:
        """Yield the references of a segment whose file is named elsewhere; `own` are its other references."""
        for one in own:
            if one.line is not None:
                self._cited.setdefault((one.line, one.end_line), set()).add(one.path)
        if segment.states_lines or not _has_hint(segment.text):
            return
        yield from _second_ranges(segment.text, own)
        mentions = list(_mentions(_masked(segment.text, own), has_ids=segment.kind in ("cell", "heading")))
        if not mentions:
            return
        named = self._named_files(segment)
        elsewhere: tuple[WrittenReference | None, bool] | None = None
        others: tuple[list[str], list[str]] | None = None
        for mention in mentions:
            file, is_far = _in_segment(mention, segment.text, named), False
            if mention.is_loose and (file is None or file.line is None or mention.ranges[0][0] in PORTS):
                continue
            is_here = file is not None
            if file is None:
                if _OTHER_TEXT.search(segment.text, max(0, mention.start - 2 * _LOOK_BACK), mention.start):
                    continue
                elsewhere = elsewhere or self._file_elsewhere(segment, row)
                file, is_far = elsewhere
            if not is_here and mention.is_colon and file is not None:
                file = self._cited_before(mention, file)
            if file is not None:
                others = self._others(segment, row, named) if others is None else others
                place, is_doubtful = _place(mention, segment, file, is_here=is_here)
                around, further = (tuple(path for path in paths if path != file.path) for paths in others)
                name = _NAME_BEFORE.search(segment.text, max(0, mention.start - _MAX_JOIN), mention.start)
                text = segment.text[mention.start : mention.end]
                for line, last in mention.ranges:
                    written = WrittenReference(mention.start, mention.end, text, file.path, line, last)
                    is_loose = is_far or mention.is_loose
                    where: Place = "far" if is_loose else place
                    yield CarriedLine(written, where, around, further, is_doubtful, name[1] if name else "")

    def _cited_before(self, mention: _Mention, file: WrittenReference) -> WrittenReference:
        """Return the only file whose same line is cited nearby: `:12` after `a.py:12` is about a.py again."""
        cited = self._cited.get(mention.ranges[0], set()) if len(mention.ranges) == 1 else set()
        if len(cited) != 1 or file.path in cited:
            return file
        return file._replace(path=next(iter(cited)), line=mention.ranges[0][0])

    def _others(
        self, segment: Segment, row: Iterable[Segment], named: list[WrittenReference]
    ) -> tuple[list[str], list[str]]:
        """Return the files that are named around a segment, the nearest first, and those in the entries above it."""
        paths = [one.path for one in named[-_MAX_OTHERS:]]
        if segment.kind == "cell":
            paths += [one.path for cell in islice(row, _MAX_CELLS) for one in self._named_files(cell)[-_MAX_OTHERS:]]
        scopes = [scope for _, scope in self._entries[: -_MAX_OTHERS - 1 : -1]]
        scopes += [self._paragraph, self._lead]
        scopes += [heading for _, heading, _ in self._headings[: -_MAX_OTHERS - 1 : -1]]
        paths += [path for scope in scopes for path in scope.paths(self._named_files, segment)]
        near = list(islice(dict.fromkeys(paths), _MAX_OTHERS))
        above = (self._siblings, self._headings[-1][2])
        further = [path for scope in above for path in scope.paths(self._named_files, segment)]
        return near, further

    def _file_elsewhere(self, segment: Segment, row: Iterable[Segment]) -> tuple[WrittenReference | None, bool]:
        """Return the file of the lines in a segment that names none before them, and whether it is named far above."""
        if segment.kind == "cell":
            near = self._row_file(segment, row)
        else:
            scopes = [scope for _, scope in reversed(self._entries)] if segment.kind == "item" else [self._paragraph]
            near = next(filter(None, (scope.last_file(self._named_files, segment) for scope in scopes)), None)
        if near is None and segment.kind != "text":
            near = self._lead.last_file(self._named_files, segment)
        return (near, False) if near is not None else self._from_headings(segment)

    def _row_file(self, segment: Segment, row: Iterable[Segment]) -> WrittenReference | None:
        """Return the file of a row: the one in its location column, else the only one."""
        others = [cell for cell in islice(row, _MAX_CELLS) if cell is not segment]
        located = next((files for cell in others if cell.is_location and (files := self._named_files(cell))), None)
        if located is not None:
            return located[-1]
        named = {one.path: one for cell in others for one in self._named_files(cell)}
        return next(iter(named.values())) if len(named) == 1 else None

    def _from_headings(self, segment: Segment) -> tuple[WrittenReference | None, bool]:
        """Return the file that a heading above names, else the last one that a line below a heading names.

        The lines below the title of the document are too far from those below its other headings.
        """
        is_nearest = True
        for level, heading, texts in reversed(self._headings):
            in_heading = heading.last_file(self._named_files, segment)
            above = texts.last_file(self._named_files, segment) if is_nearest or level > 1 else None
            if in_heading is not None:
                return in_heading, (above is not None and above.path != in_heading.path) or not is_nearest
            if above is not None:
                return above, True
            is_nearest = False
        return None, True


def _place(mention: _Mention, segment: Segment, file: WrittenReference, *, is_here: bool) -> tuple[Place, bool]:
    """Return how the file of a line is named, and whether it is only mentioned."""
    if file.line is not None:
        return "near", False
    if not is_here:
        return "bare", segment.kind == "cell" and file.path.lower().endswith(_DATA)
    is_start = bool(_ITEM_START.match(segment.text[: file.start][:_MAX_JOIN]))
    if segment.kind == "item" and is_start and "/" in file.path and not _TO_WRITE.search(segment.text[:_MAX_LEAD]):
        return "start", False
    between = segment.text[file.end : mention.start]
    is_next = len(between) <= _MAX_JOIN and bool(_NEXT_TO.match(between))
    return "bare", not (is_start or is_next)


def _in_segment(mention: _Mention, text: str, named: list[WrittenReference]) -> WrittenReference | None:
    """Return the last file before a line or the first one after it: `line 12, in a loop of a.py`."""
    at = bisect_right(named, mention.start, key=attrgetter("end"))
    if at:
        return named[at - 1]
    is_joined = bool(named) and not mention.is_colon and _JOINS.match(text[mention.end : named[0].start][:_MAX_JOIN])
    return named[0] if is_joined else None


def _masked(text: str, own: list[WrittenReference]) -> str:
    """Return a text in which references are blank."""
    pieces: list[str] = []
    done = 0
    for written in own:
        start = max(done, written.start)
        if written.end > start:
            pieces += (text[done:start], " " * (written.end - start))
            done = written.end
    return "".join([*pieces, text[done:]])


def _second_ranges(text: str, own: list[WrittenReference]) -> Iterator[CarriedLine]:
    """Yield the further ranges after a reference."""
    for written in own:
        if written.line is None:
            continue
        end = written.end
        while second := _SECOND.match(text, end):
            end = second.end()
            for line, last in _ranges(second[1]):
                start = second.start(1)
                yield CarriedLine(WrittenReference(start, end, second[1], written.path, line, last), "near")


def _mentions(text: str, *, has_ids: bool) -> Iterator[_Mention]:
    """Yield the lines in a text. In a cell or heading, which may have IDs, `L2-1` is not a line."""
    for found in _MENTION.finditer(text):
        start, end = found.span()
        listed = next(filter(None, found.group("listed", "letter", "colon", "row", "rows")))
        if found["word"]:
            is_count = found["word"].lower() == "lines" and found["sign"] == ":" and listed.isdigit()
            if is_count or _OTHER_LINE.search(text, max(0, start - _LOOK_BACK), start):
                continue
        if found["colon"] and _PORT.search(text, max(0, start - _LOOK_BACK), start):
            continue
        if found["letter"] and has_ids and _ID.match(listed):
            continue
        if not _OTHER_OWNER.match(text, end):
            yield _Mention(start, end, _ranges(listed), found["loose"] is not None, found["colon"] is not None)


def is_passing(text: str, one: WrittenReference, named: list[WrittenReference]) -> bool:
    """Return whether a text mentions a data file before a line of code: `app.py:3` embeds `key.txt` (line 11)."""
    is_apart = one.line is not None and "(" in one.text and one.path.lower().endswith(_DATA)
    return is_apart and named[0].start < one.start and not named[0].path.lower().endswith(_DATA)


def without_line_mentions(text: str) -> str:
    """Return a text whose line numbers belong to no file that is named elsewhere: `line 12` becomes `line no. 12`."""
    return _MENTION.sub(_separated, text) if _has_hint(text) else text


def _separated(found: re.Match[str]) -> str:
    whole = found[0]
    if found["row"] or found["rows"]:
        return whole.replace("行", "・行", 1)
    first = next(at for at, character in enumerate(whole) if character.isdigit())
    return f"{whole[:first].rstrip()} no. {whole[first:]}"


def _ranges(listed: str) -> tuple[tuple[int, int | None], ...]:
    pairs = (one.groups() for one in _RANGE.finditer(listed))
    return tuple((min(int(first), MAX_LINE), int(last) if last else None) for first, last in pairs)


def _has_hint(text: str) -> bool:
    """Return whether a text may state a line without its file."""
    return _MAYBE.search(text) is not None and _HINT.search(text) is not None
