"""Which fenced blocks and inline pieces are quotes, and of which place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from remit.contract.parse import Document
from remit.evidence.file_names import Exists, has_known_ending, looks_like_file
from remit.evidence.grammar import WrittenReference, cursor_place, references_in
from remit.evidence.model import Quote, Reference
from remit.evidence.quotes import quote_readings
from remit.evidence.references import display_path
from remit.evidence.segments import Segment
from remit.lazy import lazy_pattern
from remit.workspace.files import Workspace

_COMMENT = lazy_pattern(
    r"\s*+(?://+|#+(?!!)|--+|;+|%+|/\*+|\{/\*|\(\*|\{-|\{#|<%#|<!--|\"\"\"|'''|'|\"|REM\b)\s*+"
    r"(?:(?:file|from|in|at|source|path|location|excerpt from|code from)(?:\s?:\s*+|\s++))?(.*)$",
    re.IGNORECASE,
)
_COMMENT_END = lazy_pattern(r"\s*(?:\*/\}?|-->|\*\)|-\}|#\}|%>|\"\"\"|''')?\s*$")
#: What may follow a path without a line in a comment that names a place: the end, a remark after a dash or in brackets.
_REMARK = lazy_pattern(r"\s*(?:$|[-–—:(|,])")
_DIFF_HEAD = lazy_pattern(r"(?:---|\+\+\+) [ab]/")
_CODE_MATCH = lazy_pattern(r"code match\**\s*[:：]\**\s*(`{1,3})(?!`)", re.IGNORECASE)
_LINKED = lazy_pattern(r"`*\s*(?:[(（@]|at\s|in\s|from\s|[-–—→]+\s)\s*[`*\[]{0,3}$", re.IGNORECASE)
#: The label of code that is not there yet, or of what a program was given or said: `**Suggested fix** (...):`.
_LABEL_OF_OTHER = lazy_pattern(
    r"[\s*_>#\-+\d.)]*+(?:(?:suggested|recommended|proposed|possible|secure|safer?|correct(?:ed)?|better|improved|fixed|"
    r"new|expected)\s\w{1,20}(?:\s\w{1,20})?|fix(?:ed)?|solution|recommendation|remediation|mitigation|patch|"
    r"replacement|after|corrected|exploit|attack|payload|poc|proof of concept|request|response|output|suggested|"
    r"recommended|proposed|should be|instead|修正[案後]?|対策|推奨|改善案?|建议|修复|解决方案)"
    r"[\s*_]{0,4}(?:[(（].{0,120}?[)）][\s*_]{0,4})?(?:[:：]|$)",
    re.IGNORECASE,
)
#: Languages whose fences hold what a program printed, and the endings of files that are written in them.
_OUTPUT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("console", "output", "terminal", "shell-session"), ()),
    **dict.fromkeys(("bash", "sh", "shell", "zsh"), (".sh", ".bash", ".zsh", ".ksh", ".bats", ".env")),
    **dict.fromkeys(("text", "txt"), (".txt", ".md", ".rst", ".cfg", ".ini", ".conf", ".env", ".log", ".csv")),
    "log": (".log",),
}
_LANGUAGE = lazy_pattern(r"[\w+#.\-]+$")
#: A first line longer than this is no comment that names a place, and more blank lines than this are not skipped.
_MAX_COMMENT = 2_000
_MAX_BLANK = 20
#: Of more references than this in the line above, only the last may be a quote's place.
_MAX_PLACES = 8
_ATTRIBUTE = lazy_pattern(r"\b(?:title|file|filename|path|name|src|location|source)=", re.IGNORECASE)


class Fence:
    """A fenced block, and what stands around it in the document."""

    def __init__(self, segment: Segment, document: Document) -> None:
        self.segment = segment
        self._document = document
        self.line = segment.line
        opened = self._text(self.line).lstrip(" \t>").startswith(("```", "~~~")) or bool(segment.info)
        first = self.line + opened
        while segment.text.strip() and first - self.line < _MAX_BLANK and not self._text(first).strip(" \t>"):
            first += 1
        #: The line of the first line of code.
        self.first = first
        below_blank = not self._text(self.line - 1).strip(" \t>")
        #: The line directly above; one blank line between them does not count.
        self.above = self.line - 1 - below_blank
        self.touches = not below_blank

    @property
    def introduction(self) -> str:
        """The text of the line directly above."""
        return self._text(self.above)

    def _text(self, line: int) -> str:
        index = line - self._document.first_line
        return self._document.lines[index] if 0 <= index < len(self._document.lines) else ""


class LocatedQuote(NamedTuple):
    """A quote, the references that may be its place, and the one that is written inside its fence."""

    quote: Quote
    places: list[Reference]
    own: Reference | None = None


def quote_of_fence(
    fence: Fence, above: list[Reference], finding: Reference | None, workspace: Workspace | None
) -> LocatedQuote | None:
    """The quote that a fence holds, or None if it is no quote.

    `above` are the references of the line directly above, `finding` the row whose ID the details stand under.
    """
    exists: Exists = workspace.exists if workspace is not None else looks_like_file
    lines, at = fence.segment.text.split("\n"), fence.first
    place, place_at = _in_info(fence.segment.info, exists), fence.line
    if place is None and (place := _in_comment(lines[0], exists)) is not None:
        lines, at, place_at = lines[1:], at + 1, at
    text = "\n".join(lines)
    if not quote_readings(text):
        return None
    own = _reference(place, place_at, fence.segment, workspace) if place is not None else None
    if own is not None:
        # A path without a line says less than a reference to the same file directly above.
        lined = [one for one in (*above, finding) if one and one.path == own.path and one.line is not None]
        places = lined[:1] if own.line is None and lined else [own]
    elif above and _may_quote(fence, above[-1].path):
        places = above[-_MAX_PLACES:]
    elif finding is not None and _may_quote(fence, finding.path):
        places = [finding]
    else:
        return None
    last = places[-1]
    return LocatedQuote(Quote(path=last.path, line=last.line, end_line=last.end_line, at=at, text=text), places, own)


def _reference(place: WrittenReference, at: int, segment: Segment, workspace: Workspace | None) -> Reference:
    return Reference(
        text=place.text,
        path=display_path(place.path, workspace),
        line=place.line,
        end_line=place.end_line,
        at=at,
        section=segment.section,
        block=segment.block,
    )


def _may_quote(fence: Fence, path: str) -> bool:
    """Whether a fence without a place of its own may quote a file: not what was printed, nor what is proposed."""
    language = fence.segment.info.split(" ")[0].lower()
    if fence.segment.block == "test_results":
        return False
    if language in _OUTPUT and not path.lower().endswith(_OUTPUT[language]):
        return False
    return not _LABEL_OF_OTHER.match(fence.introduction)


def _in_info(info: str, exists: Exists) -> WrittenReference | None:
    """A place after the opening fence: `python a/b.py:12`, `12:18:a/b.py`, `ts title="a/b.ts"`, `py:a/b.py`."""
    first, _, rest = info.partition(" ")
    if _LANGUAGE.match(first) and not exists(first) and not ("/" in first and looks_like_file(first)):
        info = rest
    for word in info.split():
        if cursor := cursor_place(word):
            return cursor
    found = references_in(_ATTRIBUTE.sub(" ", info) if "=" in info else info, exists, bare=True)
    return found[0] if found else None


def _in_comment(line: str, exists: Exists) -> WrittenReference | None:
    """A place at the start of a comment; the words after it do not matter."""
    comment = _COMMENT.match(line)
    if comment is None:
        return None
    words = _COMMENT_END.sub("", comment.group(1)) if len(line) < _MAX_COMMENT else ""
    found = references_in(words, exists, bare=True)
    if not found or found[0].start > 1:
        return None
    first = found[0]
    if first.line is not None:
        return first
    is_name = has_known_ending(first.path) or exists(first.path)
    return first if is_name and _REMARK.match(words, first.end) and not _DIFF_HEAD.match(line) else None


def inline_quotes(segment: Segment, above: list[Reference], own: list[Reference]) -> list[LocatedQuote]:
    """`Code match: ...` quotes of a line, each with the nearest reference above it (or beside it on the line)."""
    found = []
    for start, end, text in _code_matches(segment.text):
        place = _beside(segment.text, start, end, own) or (above[-1] if above else None)
        if place is not None and quote_readings(text):
            quote = Quote(path=place.path, line=place.line, end_line=place.end_line, at=segment.line, text=text)
            found.append(LocatedQuote(quote, [place]))
    return found


def _code_matches(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each begins and ends, and what it quotes."""
    mark = _CODE_MATCH.search(text)
    while mark:
        closing = text.find(mark[1], mark.end())
        if closing < 0:
            return
        yield mark.start(), closing + len(mark[1]), text[mark.end() : closing].strip()
        mark = _CODE_MATCH.search(text, closing + len(mark[1]))


def _beside(text: str, start: int, end: int, own: list[Reference]) -> Reference | None:
    """The last reference before the quote on its line, or one that is tied to it: `... (a/b.py:12)`."""
    where = [(text.find(reference.text), reference) for reference in own]
    before = [reference for at, reference in where if at < start]
    after = [reference for at, reference in where if at >= end and _LINKED.match(text[end:at][:20])]
    return before[-1] if before else after[0] if after else None


def finding_rows(document: Document, references: list[Reference]) -> dict[int, Reference]:
    """For each line of Issue Details with an ID: the reference of the row with that ID."""
    by_row: dict[int, Reference] = {}
    for reference in references:
        if reference.block == "issues_detected" and reference.row:
            by_row.setdefault(reference.row, reference)
    by_id = {f.id.upper(): by_row[f.line] for f in document.findings if f.line in by_row and f.id}
    return {detail.line: by_id[detail.id.upper()] for detail in document.details if detail.id.upper() in by_id}
