"""Find the quotes of a document, in fenced blocks and inline, and the location of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from remit.contract.parse import Document
from remit.evidence.file_names import Exists, has_known_ending, looks_like_file
from remit.evidence.grammar import WrittenReference, cursor_reference, references_in
from remit.evidence.model import Quote, Reference
from remit.evidence.quote_text import quote_readings
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
#: What may follow a path without a line in a location comment: the end, or a remark after a dash or bracket.
_REMARK = lazy_pattern(r"\s*(?:$|[-–—:(|,])")
_DIFF_HEAD = lazy_pattern(r"(?:---|\+\+\+) [ab]/")
_CODE_MATCH = lazy_pattern(r"code match\**\s*[:：]\**\s*(`{1,3})(?!`)", re.IGNORECASE)
_LINKED = lazy_pattern(r"`*\s*(?:[(（@]|at\s|in\s|from\s|[-–—→]+\s)\s*[`*\[]{0,3}$", re.IGNORECASE)
#: The label of proposed code, or of the input or output of a program: `**Suggested fix** (...):`.
_LABEL_OF_OTHER = lazy_pattern(
    r"[\s*_>#\-+\d.)]*+(?:(?:suggested|recommended|proposed|possible|secure|safer?|correct(?:ed)?|better|improved|fixed|"
    r"new|expected)\s\w{1,20}(?:\s\w{1,20})?|fix(?:ed)?|solution|recommendation|remediation|mitigation|patch|"
    r"replacement|after|corrected|exploit|attack|payload|poc|proof of concept|request|response|output|suggested|"
    r"recommended|proposed|should be|instead|修正[案後]?|対策|推奨|改善案?|建议|修复|解决方案)"
    r"[\s*_]{0,4}(?:[(（].{0,120}?[)）][\s*_]{0,4})?(?:[:：]|$)",
    re.IGNORECASE,
)
#: Languages whose fences usually contain program output, and the endings of files in these languages.
_OUTPUT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("console", "output", "terminal", "shell-session"), ()),
    **dict.fromkeys(("bash", "sh", "shell", "zsh"), (".sh", ".bash", ".zsh", ".ksh", ".bats", ".env")),
    **dict.fromkeys(("text", "txt"), (".txt", ".md", ".rst", ".cfg", ".ini", ".conf", ".env", ".log", ".csv")),
    "log": (".log",),
}
_LANGUAGE = lazy_pattern(r"[\w+#.\-]+$")
#: A longer first line is not a comment that names a location; at most this many blank lines are skipped.
_MAX_COMMENT = 2_000
_MAX_BLANK = 20
#: At most this many references of the line above, the last ones, may be the location of a quote.
_MAX_CANDIDATES = 8
_ATTRIBUTE = lazy_pattern(r"\b(?:title|file|filename|path|name|src|location|source)=", re.IGNORECASE)


class Fence:
    """A fenced block and its surroundings in the document."""

    def __init__(self, segment: Segment, document: Document) -> None:
        self.segment = segment
        self._document = document
        self.line = segment.line
        has_fence = self._text(self.line).lstrip(" \t>").startswith(("```", "~~~")) or bool(segment.info)
        first = self.line + has_fence
        while segment.text.strip() and first - self.line < _MAX_BLANK and not self._text(first).strip(" \t>"):
            first += 1
        #: The line at which the code begins.
        self.first = first
        below_blank = not self._text(self.line - 1).strip(" \t>")
        #: The line above, ignoring one blank line.
        self.above = self.line - 1 - below_blank
        self.is_adjacent = not below_blank

    @property
    def introduction(self) -> str:
        """The text of the line directly above."""
        return self._text(self.above)

    def _text(self, line: int) -> str:
        return self._document.line_text(line)


class LocatedQuote(NamedTuple):
    """A quote, the references that may be its location, and the one that is written inside its fence."""

    quote: Quote
    candidates: list[Reference]
    in_fence: Reference | None = None


def quote_of_fence(
    fence: Fence, above: list[Reference], finding: Reference | None, workspace: Workspace | None
) -> LocatedQuote | None:
    """Return the quote in a fence, or None if the fence is not a quote.

    `above` are the references of the line above, `finding` is the row with the ID that the details belong to.
    """
    exists: Exists = workspace.exists if workspace is not None else looks_like_file
    lines, at = fence.segment.text.split("\n"), fence.first
    written, written_at = _in_info(fence.segment.info, exists), fence.line
    if written is None and (written := _in_comment(lines[0], exists)) is not None:
        lines, at, written_at = lines[1:], at + 1, at
    text = "\n".join(lines)
    if not quote_readings(text):
        return None
    in_fence = _reference(written, written_at, fence.segment, workspace) if written is not None else None
    if in_fence is not None:
        # A reference with a line to the same file directly above is more precise than a path without a line.
        lined = [one for one in (*above, finding) if one and one.path == in_fence.path and one.line is not None]
        candidates = lined[:1] if in_fence.line is None and lined else [in_fence]
    elif above and _may_quote(fence, above[-1].path):
        candidates = above[-_MAX_CANDIDATES:]
    elif finding is not None and _may_quote(fence, finding.path):
        candidates = [finding]
    else:
        return None
    last = candidates[-1]
    quote = Quote(path=last.path, line=last.line, end_line=last.end_line, at=at, text=text)
    return LocatedQuote(quote, candidates, in_fence)


def _reference(written: WrittenReference, at: int, segment: Segment, workspace: Workspace | None) -> Reference:
    return Reference(
        text=written.text,
        path=display_path(written.path, workspace),
        line=written.line,
        end_line=written.end_line,
        at=at,
        section=segment.section,
        block=segment.block,
    )


def _may_quote(fence: Fence, path: str) -> bool:
    """Return whether a fence that does not name a location may quote a file: it is not output and not a proposal."""
    language = fence.segment.info.split(" ")[0].lower()
    if fence.segment.block == "test_results":
        return False
    if language in _OUTPUT and not path.lower().endswith(_OUTPUT[language]):
        return False
    return not _LABEL_OF_OTHER.match(fence.introduction)


def _in_info(info: str, exists: Exists) -> WrittenReference | None:
    """Parse a location in the info string: `python a/b.py:12`, `12:18:a/b.py`, `ts title="a/b.ts"`, `py:a/b.py`."""
    first, _, rest = info.partition(" ")
    if _LANGUAGE.match(first) and not exists(first) and not ("/" in first and looks_like_file(first)):
        info = rest
    for word in info.split():
        if cursor := cursor_reference(word):
            return cursor
    found = references_in(_ATTRIBUTE.sub(" ", info) if "=" in info else info, exists, bare=True)
    return found[0] if found else None


def _in_comment(line: str, exists: Exists) -> WrittenReference | None:
    """Parse a location at the start of a comment; the words after it are ignored."""
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
    """Return the `Code match: ...` quotes of a line, each with the nearest reference on the line or above it."""
    found = []
    for start, end, text in _code_matches(segment.text):
        reference = _on_same_line(segment.text, start, end, own) or (above[-1] if above else None)
        if reference is not None and quote_readings(text):
            line, end_line = reference.line, reference.end_line
            quote = Quote(path=reference.path, line=line, end_line=end_line, at=segment.line, text=text)
            found.append(LocatedQuote(quote, [reference]))
    return found


def _code_matches(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the quoted text of each `Code match: ...`."""
    mark = _CODE_MATCH.search(text)
    while mark:
        closing = text.find(mark[1], mark.end())
        if closing < 0:
            return
        yield mark.start(), closing + len(mark[1]), text[mark.end() : closing].strip()
        mark = _CODE_MATCH.search(text, closing + len(mark[1]))


def _on_same_line(text: str, start: int, end: int, own: list[Reference]) -> Reference | None:
    """Return the last reference before the quote on its line, or one that is linked to it: `... (a/b.py:12)`."""
    positions = [(text.find(reference.text), reference) for reference in own]
    before = [reference for at, reference in positions if at < start]
    after = [reference for at, reference in positions if at >= end and _LINKED.match(text[end:at][:20])]
    return before[-1] if before else after[0] if after else None


def finding_rows(document: Document, references: list[Reference]) -> dict[int, Reference]:
    """Map each line of Issue Details that has an ID to the reference in the row with that ID."""
    by_row: dict[int, Reference] = {}
    for reference in references:
        if reference.block == "issues_detected" and reference.row:
            by_row.setdefault(reference.row, reference)
    by_id = {f.id.upper(): by_row[f.line] for f in document.findings if f.line in by_row and f.id}
    return {detail.line: by_id[detail.id.upper()] for detail in document.details if detail.id.upper() in by_id}
