"""How an editor shows claims: diagnostics, hovers and code lenses.

The text of a document, of the code and of commits may be hostile: in Markdown it is code or has no marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types

from remit.evidence.claims import ClaimEntry, claims_of
from remit.evidence.model import Checked, Evidence, Reliability, format_location
from remit.lazy import lazy_pattern
from remit.reports.accusations import cited_text, found_text, message_of, rule_of, why_text
from remit.reports.layout import escape_control, shorten_text
from remit.surfaces.lsp.live_documents import CheckedText, Excerpt
from remit.workspace.languages import OTHER, language_of

SEVERITIES: dict[Reliability, types.DiagnosticSeverity] = {
    "certain": types.DiagnosticSeverity.Error,
    "likely": types.DiagnosticSeverity.Warning,
    "look": types.DiagnosticSeverity.Information,
}
#: An editor gets at most this many diagnostics of a document, and characters of a message or a line.
_MAX_DIAGNOSTICS = 1_000
_MAX_MESSAGE = 600
_MAX_LINE = 200
_MARKUP = lazy_pattern(r"([\\`*_{}\[\]()<>#+!|~&])")
_TICKS = lazy_pattern(r"`+")


class MarkedClaim(NamedTuple):
    """A claim, its words for people, and its lines in the editor: indices of lines, and characters in them."""

    checked: Checked
    entry: ClaimEntry
    first: int
    start: int
    last: int
    end: int

    def has(self, line: int, character: int) -> bool:
        """Return whether a position is in it."""
        return (self.first, self.start) <= (line, character) <= (self.last, self.end)


class Ranges:
    """Converts characters of lines to the units of the editor."""

    def __init__(self, lines: Sequence[str], encoding: str = "utf-16") -> None:
        self._lines = lines
        self._encoding = encoding

    def range_of(self, marked: MarkedClaim) -> types.Range:
        """Return the range of a claim."""
        return types.Range(self._position(marked.first, marked.start), self._position(marked.last, marked.end))

    def whole_line(self, line: int) -> types.Range:
        """Return the range of a line without its line end."""
        return types.Range(types.Position(line, 0), self._position(line, len(self._lines[line])))

    def character(self, position: types.Position) -> int:
        """Return the character of a position in its line."""
        line = self._lines[position.line] if 0 <= position.line < len(self._lines) else ""
        if line.isascii() or self._encoding == "utf-32":
            return position.character
        units = 0
        for index, letter in enumerate(line):
            if units >= position.character:
                return index
            units += self._units(letter)
        return len(line)

    def _position(self, line: int, character: int) -> types.Position:
        before = self._lines[line][:character] if line < len(self._lines) else ""
        return types.Position(line, len(before) if before.isascii() else self._units(before))

    def _units(self, text: str) -> int:
        if self._encoding == "utf-32":
            return len(text)
        if self._encoding == "utf-8":
            return len(text.encode("utf-8", "replace"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2


def shown_claims(answer: CheckedText, *, only_accused: bool = False) -> Iterator[MarkedClaim]:
    """Yield the claims of a document with their lines. Equal words of a line are distinguished by their order."""
    searched: dict[tuple[int, str], int] = {}
    for checked in answer.checked:
        is_wanted = not only_accused or checked.reliability is not None
        # None for the location of a quote, which is a claim itself.
        listed = claims_of(Evidence(checked=[checked])) if is_wanted else []
        if not listed or not 1 <= checked.at <= len(answer.lines):
            continue
        index, text = checked.at - 1, checked.text
        line = answer.lines[index]
        if checked.kind == "quote" and checked.claim.segment.kind == "code":
            last = min(len(answer.lines) - 1, index + checked.code.count("\n") + 2)
            yield MarkedClaim(checked, listed[0], index, 0, last, len(answer.lines[last]))
            continue
        start = line.find(text, searched.get((checked.at, text), 0)) if text else -1
        start = line.find(text) if start < 0 and text else start  # the claims of a list have the same words
        if start < 0:
            yield MarkedClaim(checked, listed[0], index, len(line) - len(line.lstrip()), index, len(line))
            continue
        searched[checked.at, text] = start + len(text)
        yield MarkedClaim(checked, listed[0], index, start, index, start + len(text))


def diagnostics_of(answer: CheckedText, root: Path, encoding: str) -> list[types.Diagnostic]:
    """Return what an editor marks: the accused claims. The severity is the reliability."""
    if answer.problem:
        start = types.Range(types.Position(0, 0), types.Position(0, 0))
        severity = types.DiagnosticSeverity.Information
        return [types.Diagnostic(start, answer.problem, severity, code="unreadable", source="remit")]
    ranges = Ranges(answer.lines, encoding)
    diagnostics: list[types.Diagnostic] = []
    for marked in shown_claims(answer, only_accused=True):
        reliability = marked.entry.reliability
        if reliability is None or len(diagnostics) == _MAX_DIAGNOSTICS:
            continue
        message = escape_control(shorten_text(message_of(marked.entry), _MAX_MESSAGE))
        diagnostics.append(
            types.Diagnostic(
                ranges.range_of(marked),
                message if reliability != "look" else f"worth a look: {message}",
                SEVERITIES[reliability],
                code=rule_of(marked.entry),
                source="remit",
                related_information=_related(marked.entry, root),
            )
        )
    return diagnostics


def _related(entry: ClaimEntry, root: Path) -> list[types.DiagnosticRelatedInformation] | None:
    """Return the place at which a claim was found. It is a path of the checkout."""
    if entry.found is None or not entry.found.path:
        return None
    position = types.Position(max(0, (entry.found.line or 1) - 1), 0)
    location = types.Location((root / entry.found.path).as_uri(), types.Range(position, position))
    return [types.DiagnosticRelatedInformation(location, escape_control(format_location(entry.found)))]


def hover_text(marked: MarkedClaim, excerpt: Excerpt | None) -> str:
    """Return the outcome of a claim and the code that it cites, as Markdown."""
    entry = marked.entry
    reliability = f" ({entry.reliability})" if entry.reliability is not None else ""
    parts = [f"**{entry.outcome}**{reliability} {code_span(cited_text(entry))}"]
    suggestion = found_text(entry)
    why = " · ".join(filter(None, (why_text(entry), f"found at {suggestion}" if suggestion else "")))
    if why:
        parts.append(plain_text(shorten_text(why, _MAX_MESSAGE)))
    if excerpt is not None:
        last = excerpt.first + len(excerpt.lines) - 1
        lines = f"{excerpt.first}-{last}" if last > excerpt.first else f"{excerpt.first}"
        parts.append(f"{code_span(f'{excerpt.path}:{lines}')}\n\n{_fenced(excerpt)}")
    return "\n\n".join(parts)


def lens_title(checked: Checked) -> str:
    """Return `true in 6631078, changed since`, or an empty string for a claim that is not outdated."""
    then = checked.then
    return f"true in {then.commit[:7]}, changed since" if checked.outcome == "outdated" and then is not None else ""


def code_span(text: str) -> str:
    """Return a text as code of one line of Markdown."""
    text = escape_control(shorten_text(text, _MAX_LINE)) or " "
    marks = "`" * (max(map(len, _TICKS.findall(text)), default=0) + 1)
    space = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{marks}{space}{text}{space}{marks}"


def plain_text(text: str) -> str:
    """Return a text in which Markdown has no marks, links or images."""
    return re.sub(r"(?i)(https?|www)([:.])", "\\1\u200b\\2", _MARKUP.sub(r"\\\1", escape_control(text)))


def _fenced(excerpt: Excerpt) -> str:
    lines = [escape_control(line)[:_MAX_LINE] for line in excerpt.lines]
    marks = "`" * max(3, max((len(run) for line in lines for run in _TICKS.findall(line)), default=0) + 1)
    language = language_of(excerpt.path)
    return "\n".join((marks + (language.lower().replace(" ", "") if language != OTHER else ""), *lines, marks))
