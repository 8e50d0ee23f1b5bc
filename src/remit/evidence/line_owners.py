"""The file of a line inside one segment: what the words between a file and a line tell about it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Literal

import msgspec

from remit.evidence.file_names import TEXTS
from remit.evidence.file_scopes import SENTENCE_ENDS
from remit.evidence.line_mentions import Mention, ranges_in
from remit.evidence.line_numbers import DASH
from remit.evidence.segments import Segment
from remit.evidence.written import WrittenReference
from remit.lazy import lazy_pattern

#: Where the file of a line is named: next to it, at the start of its entry, without a line, far above, or so that the
#: line may be another number.
Place = Literal["near", "start", "bare", "far", "loose"]
#: The words between a line and a file that follows it: `line 12, in the loop of a/b.py`.
_JOINS = lazy_pattern(
    r"[)\]`*_,\s]{0,6}(?:\([^()]{0,80}\)\s?)?(?:in|of|from|at|within|inside)\s+"
    r"(?:[^.;:|]{0,50}\b(?:in|of|from|at|within|inside)\s+)?(?:the\s)?(?:file\s)?[`*_\"'(\[]{0,3}$",
    re.IGNORECASE,
)
#: A second range without a colon: `a/b.py:29-32`, `12-27`.
_SECOND = lazy_pattern(rf"`?\s?(?:,|;|/|&|\band\b|\bor\b)\s?(?:and\s)?`(\d{{1,6}}{DASH}\d{{1,6}})`", re.IGNORECASE)
#: A name in code marks directly before a line: `Store` lines 12-18.
NAME_BEFORE = lazy_pattern(r"`([A-Za-z_]\w{2,80})(?:\(\))?`\s?[(,]?\s?(?:(?:at|around|on)\s)?`?$")
#: A name in code marks: `Store`, `Store.open()`, `open_store`. Of several parts the last one is taken.
_NAME_IN_CODE = lazy_pattern(r"`(?:\w{1,80}(?:\.|::)){0,3}([A-Za-z_]\w{2,80})(\([^()`\n]{0,80}\))?`")
_HUMP = lazy_pattern(r"[a-z][A-Z]")
_MAX_NAMES = 8
#: Words before a line of another text: `Plan reference: task 7, line 595`.
_OTHER_TEXT = lazy_pattern(
    r"\b(?:plan|spec|specification|rfc|ticket|story)s?\b[^.;|`]{0,40}[,:：]\W{0,4}$", re.IGNORECASE
)
#: Words before a line that no file of the checkout has: `The RFC states on line 900`.
_OTHER_SOURCE = lazy_pattern(
    r"\b(?:rfc|spec|specification|standard|ticket|plan|roadmap|log|output|traceback|changelog|manual)s?\b[^.;|]{0,40}$",
    re.IGNORECASE,
)
SECTION = lazy_pattern(r"\b(?:section|§)\s?[\d.]{1,8},\s(?:at\s)?$", re.IGNORECASE)
#: What may come between a file and its line: `src/app.py` (line 12), `src/app.py` at line 12.
_NEXT_TO = lazy_pattern(r"[`*_)\]\s\"',:：–—-]*+(?:(?:at|on|@)\s)?[\s(（\[`*_]*+$")
_AFTER_CODE = lazy_pattern(r"`[*_]{0,2}\s?[(（,:]?\s?$")
_LINES_ONLY = lazy_pattern(r"(?:[\W\d_]|L(?=\d)|\b(?:and|or|at|on|to|also|through|lines?|y|e|und|et|и)\b|[行第和と])*+")
#: A numbered part of a text before a bracket: `Part B (L1-L10)`.
_PART = lazy_pattern(r"\b[A-Z][a-z]{2,15}\s(?:[A-Z]|\d{1,2}|[IVX]{2,4})[*_]{0,2}:?\s?[(（\[]\s?$")
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
#: A name in camel case directly before a line, which may be that of a file: `StoreKit.open` (`:12`).
CALLED = lazy_pattern(
    r"\b([A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+)(?:\.\w{1,60}(?:\(\))?)?[`*_]{0,3}\s?[(（,:]?\s?[`*_]{0,3}$"
)
#: A name in camel case, which may be that of a file.
HUMPS = lazy_pattern(r"\b[A-Za-z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b(?!\.[a-z]{1,5}\b(?!\())")
LOOK_BACK = 40
#: A smaller number after `L` may be a label.
MIN_LETTER = 100
_TAG_GAP = 3
MAX_JOIN = 100
MAX_LEAD = 400


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
    #: The names in the sentences between its file and the line.
    about: tuple[str, ...] = ()
    #: The names before it that may be those of other files without their ending: `ReadingList calls it (line 304)`.
    words: tuple[str, ...] = ()
    #: The one that is directly before it.
    called: str = ""
    #: Whether there are only other lines between its file and the line.
    is_next: bool = False
    #: Whether the same text or row names several files, or code marks end directly before the line.
    is_shared: bool = False
    #: Whether a heading or a label such as `**File:**` names it.
    is_titled: bool = False


def is_of_other_text(text: str, mention: Mention) -> bool:
    """Return whether the words before a line name another text: `Plan reference: task 7, line 595`."""
    return _OTHER_TEXT.search(text, max(0, mention.start - 2 * LOOK_BACK), mention.start) is not None


def is_of_other_source(text: str, mention: Mention) -> bool:
    """Return whether the sentence of a line names something else that has lines: `The RFC states on line 900`.

    `L23` may be a label.
    """
    is_label = mention.is_letter and all(last is None and first < MIN_LETTER for first, last in mention.ranges)
    return is_label or _OTHER_SOURCE.search(text, max(0, mention.start - 2 * LOOK_BACK), mention.start) is not None


def place_of(
    mention: Mention, segment: Segment, file: WrittenReference, named: list[WrittenReference]
) -> tuple[Place, bool]:
    """Return how the file of a line is named, and whether it is only mentioned; `named` are the files next to it."""
    if file.line is not None:
        return "near", False
    if not named:
        return "bare", file.path.lower().endswith(_DATA) or file.path.rpartition("/")[2].startswith(".")
    is_start = bool(_ITEM_START.match(segment.text[: file.start][:MAX_JOIN]))
    if segment.kind == "item" and is_start and "/" in file.path and not _TO_WRITE.search(segment.text[:MAX_LEAD]):
        return "start", False
    is_sole = {one.path for one in named} == {file.path} and file.path.lower().endswith(SOURCES)
    is_sole = is_sole and mention.start - file.end <= MAX_LEAD
    is_sole = is_sole and not _ENDS.search(segment.text, file.end, max(file.end, mention.start))
    if is_sole and file.end <= mention.start and not _TO_WRITE.search(segment.text[:MAX_LEAD]):
        return "start", False
    between = segment.text[file.end : mention.start]
    is_next = len(between) <= MAX_JOIN and bool(_NEXT_TO.match(between))
    return "bare", not (is_start or is_next)


def file_in_segment(mention: Mention, text: str, named: list[WrittenReference]) -> WrittenReference | None:
    """Return the last file before a line or the first one after it: `line 12, in a loop of a.py`."""
    at = bisect_right(named, mention.start, key=attrgetter("end"))
    if at:
        return named[at - 1]
    is_joined = bool(named) and not mention.is_colon and _JOINS.match(text[mention.end : named[0].start][:MAX_JOIN])
    return named[0] if is_joined else None


def is_label(text: str, mention: Mention, file: WrittenReference | None) -> bool:
    """Return whether `L1-L10` is a range of labels: those of a numbered part, or of a text that is not next to it.

    `file` is the file that the same segment names before it: `[the plan](plan.md), Part B (L1-L10)`.
    """
    if mention.ranges[0][0] == 1 and _PART.search(text, max(0, mention.start - LOOK_BACK), mention.start):
        return True
    if file is None or file.line is not None or not file.path.lower().endswith(TEXTS) or file.end > mention.start:
        return False
    is_next = _NEXT_TO.match(text[file.end : mention.start][:MAX_JOIN])
    is_link = text.startswith("[", file.start)
    return not is_next or (is_link and text[mention.start - 1 : mention.start] in ("(", "（", "["))


def names_about(text: str, mention: Mention, file: WrittenReference | None) -> tuple[str, ...]:
    """Return the names in code marks in the sentences between the file and a line: `RecordStore` opens it in line 40.

    `file` is the file that the same segment names before the line, if it does; its own sentence is not one of them.
    """
    start = max(0, mention.start - MAX_LEAD)
    if file is not None:
        ends = SENTENCE_ENDS.search(text, max(start, file.end), mention.start)
        if ends is None:
            return ()
        start = ends.end()
    found = _NAME_IN_CODE.finditer(text, start, mention.start)
    return tuple(one[1] for one in found if one[2] or "_" in one[1].strip("_") or _HUMP.search(one[1]))[-_MAX_NAMES:]


def is_next_to(text: str, mention: Mention, file: WrittenReference) -> bool:
    """Return whether there are only other lines between a file and a line: `a.py` (lines 12-18 and 30), `:40`."""
    is_near = 0 <= mention.start - file.end <= MAX_LEAD
    return is_near and _LINES_ONLY.fullmatch(text, file.end, mention.start) is not None


def is_code(path: str) -> bool:
    """Return whether a file has code, and not data or text."""
    return not path.lower().endswith((*_DATA, *TEXTS))


def is_after_code(text: str, mention: Mention) -> bool:
    """Return whether code marks end directly before a line: migration `0019` L12."""
    has_marks = text[mention.start - 1 : mention.start] == "`" == text[mention.end : mention.end + 1]
    start = mention.start - has_marks  # without the marks of the line itself
    return _AFTER_CODE.search(text, max(0, start - 6), start) is not None


def is_tag(mention: Mention, own: list[WrittenReference]) -> bool:
    """Return whether a mention names the reference directly after it, which has its own line: `L12 src/app.py:30`."""
    return any(one.line is not None and 0 < one.start - mention.end <= _TAG_GAP for one in own)


def second_ranges(text: str, own: list[WrittenReference]) -> Iterator[CarriedLine]:
    """Yield the further ranges after a reference."""
    for written in own:
        if written.line is None:
            continue
        end = written.end
        while second := _SECOND.match(text, end):
            end = second.end()
            for line, last in ranges_in(second[1]):
                start = second.start(1)
                one = WrittenReference(start, end, second[1], written.path, line, last)
                yield CarriedLine(one, "near", is_next=True)


def is_passing(text: str, one: WrittenReference, named: list[WrittenReference]) -> bool:
    """Return whether a text mentions a data file before a line of code: `app.py:3` embeds `key.txt` (line 11)."""
    is_apart = one.line is not None and "(" in one.text and one.path.lower().endswith(_DATA)
    return is_apart and named[0].start < one.start and not named[0].path.lower().endswith(_DATA)
