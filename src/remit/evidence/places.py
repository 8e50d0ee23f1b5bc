"""Which fenced blocks and inline pieces are quotes, and of which place."""

from __future__ import annotations

import re

from remit.contract.findings import details_of
from remit.contract.parse import Document
from remit.evidence.grammar import Exists, Written, cursor_place, looks_like_file, references_in
from remit.evidence.model import Quote, Reference
from remit.evidence.references import shown_path
from remit.evidence.segments import Segment
from remit.workspace.files import Workspace

_COMMENT = re.compile(
    r"^\s*(?://+|#+|--+|;+|%+|/\*+|<!--|\"\"\"|''')\s*(?:(?:file|from|in|at|source)\s*:?\s+)?(.*?)\s*(?:\*/|-->)?\s*$",
    re.I,
)
_CODE_MATCH = re.compile(r"code match\**\s*[:：]\**\s*(`+)(.+?)\1", re.IGNORECASE)
#: Languages whose fences hold what a program printed; a reference above them is not their place.
_OUTPUT = frozenset({"console", "shell", "bash", "sh", "text", "txt", "output", "log", "terminal", "shell-session"})
_LANGUAGE = re.compile(r"^[\w+#.\-]+$")


def quote_of_fence(
    fence: Segment, above: list[Reference], own: list[Reference], finding: Reference | None, workspace: Workspace | None
) -> tuple[Quote, Reference | None] | None:
    """The quote that a fence holds, and the reference that gives its place; None if it is no quote.

    `above` are the references of the line directly above, `finding` the row whose ID the details stand under.
    `own` receives the place if it is written inside the fence: it is a reference, too.
    """
    exists: Exists = workspace.exists if workspace is not None else looks_like_file
    lines = fence.text.split("\n")
    at = fence.line + 1
    place = _in_info(fence.info, exists)
    if place is None and lines and (place := _in_comment(lines[0], exists)) is not None:
        lines, at = lines[1:], at + 1
    if place is not None:
        line = fence.line if at == fence.line + 1 else fence.line + 1
        reference = Reference(
            text=place.text,
            path=shown_path(place.path, workspace),
            line=place.line,
            end_line=place.end_line,
            at=line,
            section=fence.section,
            block=fence.block,
            is_quote_place=True,
        )
        own.append(reference)
    elif above and not _is_output(fence):
        reference = above[-1]
        reference.is_quote_place = True
    elif finding is not None and not _is_output(fence):
        reference = finding
    else:
        return None
    text = "\n".join(lines)
    if not text.strip():
        return None
    quote = Quote(path=reference.path, line=reference.line, end_line=reference.end_line, at=at, text=text)
    return quote, reference if reference.is_quote_place else None


def _is_output(fence: Segment) -> bool:
    return fence.block == "test_results" or fence.info.split(" ")[0].lower() in _OUTPUT


def _in_info(info: str, exists: Exists) -> Written | None:
    """A place after the opening fence: `python a/b.py:12`, `12:18:a/b.py`, `ts title="a/b.ts"`."""
    words = info.replace('"', " ").replace("'", " ").replace("=", " ").split()
    if (
        words
        and _LANGUAGE.match(words[0])
        and ":" not in words[0]
        and not ("/" in words[0] and looks_like_file(words[0]))
    ):
        words = words[1:]
    for word in words:
        if cursor := cursor_place(word):
            return cursor
        if found := references_in(word, exists, bare=True):
            return found[0]
    return None


def _in_comment(line: str, exists: Exists) -> Written | None:
    """A place at the start of a comment; the words after it do not matter."""
    comment = _COMMENT.match(line)
    if comment is None:
        return None
    found = references_in(comment.group(1), exists, bare=True)
    if not found or found[0].start > 1:
        return None
    first = found[0]
    if first.line is None and comment.group(1)[first.end : first.end + 1].strip(" `-–—:("):
        return None
    return first


def inline_quotes(segment: Segment, above: list[Reference], own: list[Reference]) -> list[tuple[Quote, Reference]]:
    """`Code match: ...` quotes of a line, each with the nearest reference above it (or before it on the line)."""
    found = []
    for match in _CODE_MATCH.finditer(segment.text):
        before = [ref for ref in own if segment.text.find(ref.text) < match.start()]
        place = (before or above)[-1] if before or above else None
        if place is not None:
            place.is_quote_place = True
            quote = Quote(
                path=place.path, line=place.line, end_line=place.end_line, at=segment.line, text=match.group(2).strip()
            )
            found.append((quote, place))
    return found


def finding_rows(document: Document, references: list[Reference]) -> dict[int, Reference]:
    """For each line of Issue Details with an ID: the reference of the row with that ID."""
    by_row: dict[int, Reference] = {}
    for reference in references:
        if reference.block == "issues_detected" and reference.row:
            by_row.setdefault(reference.row, reference)
    from remit.contract.findings import findings_of

    by_id = {f.id.upper(): by_row[f.line] for f in findings_of(document.result) if f.line in by_row and f.id}
    return {
        detail.line: by_id[detail.id.upper()] for detail in details_of(document.result) if detail.id.upper() in by_id
    }
