"""Print which claims of a project's documents fail: grouped by document, the documents with most failures first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remit.checking import Verdict
from remit.evidence.claims import ACCUSING, ClaimEntry, claims_of, claims_text
from remit.reports.accusations import cited_text, found_text, why_text
from remit.reports.layout import Line, Piece, display_width, escape_control, format_count, shorten_text, wrap_text
from remit.reports.verdict_text import OUTCOME_STYLES
from remit.reports.verify_text import history_problems

_INDENT = "  "
_MARGIN = 6
#: A reason is cut after this many columns; it may contain long lines of code.
_MAX_WHY = 400


class _Document(NamedTuple):
    path: str
    failing: list[ClaimEntry]

    @property
    def order(self) -> tuple[bool, int, str]:
        """Documents that fail come first, those with most failures before the others."""
        return not self.failing, -len(self.failing), self.path


def project_lines(verdicts: Sequence[Verdict], columns: int | None, *, root: str, change: str = "") -> Iterator[Line]:
    """Yield the lines of the report. Without `columns`, for a pipe, each claim is one line that names its document.

    `change` states what a change made false, if only that is reported.
    """
    documents = sorted((_document(verdict) for verdict in verdicts), key=lambda document: document.order)
    for document in documents:
        if document.failing:
            yield from _failing(document, columns)
    yield from _unreadable(verdicts, columns)
    yield from _summary(verdicts, documents, columns, root, change)


def _unreadable(verdicts: Sequence[Verdict], columns: int | None) -> Iterator[Line]:
    """Yield the documents that cannot be read, and why."""
    for verdict in verdicts:
        for violation in (one for one in verdict.violations if one.rule == "unreadable"):
            text = f"  {escape_control(violation.message)}"
            room = columns - display_width(f"{verdict.path}  unreadable") if columns is not None else None
            shown = shorten_text(text, max(20, room)) if room is not None else text
            yield [Piece(escape_control(verdict.path), "bold"), Piece("  unreadable", "red"), Piece(shown)]


def _document(verdict: Verdict) -> _Document:
    failing = [entry for entry in claims_of(verdict.evidence) if entry.fails]
    return _Document(verdict.path, sorted(failing, key=lambda entry: (entry.outcome != "outdated", entry.at)))


def _failing(document: _Document, columns: int | None) -> Iterator[Line]:
    if columns is None:
        yield from (_row(document.path, entry, None) for entry in document.failing)
        return
    outdated = sum(entry.outcome == "outdated" for entry in document.failing)
    wrong = len(document.failing) - outdated
    counts = ", ".join(filter(None, (f"{outdated} outdated" * bool(outdated), f"{wrong} wrong" * bool(wrong))))
    yield [Piece(escape_control(document.path), "bold"), Piece(f"  {counts}", "red")]
    for entry in document.failing:
        yield from _entry(entry, columns)


def _row(path: str, entry: ClaimEntry, columns: int | None) -> Line:
    """Return a claim as one line with its document, of any length in a pipe."""
    truth = _truth(entry)
    text = f"  {escape_control(cited_text(entry))}{f'  {truth}' if truth else ''}"
    place = escape_control(f"{path}:{entry.at}")
    if columns is not None:
        used = display_width(place) + display_width(entry.outcome) + 4
        text = shorten_text(text, max(20, columns - used))
    return [Piece(place, "bold"), Piece("  "), Piece(entry.outcome, OUTCOME_STYLES[entry.outcome]), Piece(text)]


def _entry(entry: ClaimEntry, columns: int) -> Iterator[Line]:
    """Yield a claim below the name of its document; the reason follows on its line, or below it."""
    what, truth = escape_control(cited_text(entry)), _truth(entry)
    head = [Piece(f"{_INDENT}{entry.at:>4}  "), Piece(entry.outcome, OUTCOME_STYLES[entry.outcome]), Piece(f"  {what}")]
    used = sum(display_width(piece.text) for piece in head)
    if used + 2 + display_width(truth) <= columns:
        yield [*head, Piece(f"  {truth}" if truth else "", "dim")]
        return
    yield head
    yield from ([Piece(row, "dim")] for row in wrap_text(truth, columns, _MARGIN))


def _truth(entry: ClaimEntry) -> str:
    suggestion = found_text(entry)
    text = " ".join(filter(None, (why_text(entry), f"→ {suggestion}" if suggestion else "")))
    return escape_control(shorten_text(text, _MAX_WHY))


def _summary(
    verdicts: Sequence[Verdict], documents: Sequence[_Document], columns: int | None, root: str, change: str
) -> Iterator[Line]:
    claims = [entry for verdict in verdicts for entry in claims_of(verdict.evidence)]
    failing = sum(bool(document.failing) for document in documents)
    text = change
    if not text:
        text = f"{format_count(len(documents), 'document')}, {failing:,} with failures; {claims_text(claims)}"
    for row in wrap_text(text, columns) if columns is not None else [text]:
        yield [Piece(row, "bold" if not failing else "bold red")]
    notes = [*history_problems(verdicts), f"checked against {escape_control(root)}, the files on disk"]
    if not change and any(entry.outcome in ACCUSING and not entry.fails for entry in claims):
        notes.append("`remit verify FILE --all` lists what does not fail, too")
    for note in notes:
        yield from ([Piece(row, "dim")] for row in (wrap_text(note, columns) if columns is not None else [note]))
