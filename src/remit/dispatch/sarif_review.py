"""What the runs of one program reported, ready for a result: the worst first, each with its place in the checkout.

A finding whose place is not in the checkout keeps what it claimed, in words. Words of the program hold no reference,
link, tag or code span; code is copied from the checkout.
"""

from __future__ import annotations

import re

import msgspec

from remit.contract import model
from remit.contract.findings import CATEGORY_BY_PREFIX, Severity
from remit.contract.render import number
from remit.contract.tokens import estimate_tokens
from remit.evidence.grammar import references_in
from remit.gate.paths import fits
from remit.gate.settings import PATHS
from remit.merging.model import SCALE, Report, Sighting
from remit.workspace.files import SourceFile, Workspace

MAX_ROWS = 50
#: Findings with details although they are no matter of security.
_MAX_DETAILS = 5
_MAX_QUOTE = 3
_MAX_COLUMNS = 160

#: Rules of bandit and ruff on literals that look like passwords. In tests they are made up, and an empty one is none.
_PASSWORD_RULES = re.compile(r"[BS]10[567]")
_EMPTY = re.compile(r"""password(?: assigned to)?: *(?:''|"")""", re.IGNORECASE)
_MADE_UP = 30.0
_TESTS = (*PATHS["tests"], "**/tests/**", "**/test/**", "**/conftest.py")

_PREFIXES = {category: prefix for prefix, category in CATEGORY_BY_PREFIX.items()}
_DIGIT = re.compile(r"\d")
_OPENING = re.compile(r"[\[<]")
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_PLAIN_PATH = re.compile(r"[\w./@+\-]+")


class Entry(msgspec.Struct, frozen=True):
    """A finding as the result lists it: with its place, or with what it claimed if that is not in the checkout."""

    id: str
    sighting: Sighting
    place: str
    lost: str
    row: model.Row
    quote: model.Code | None


class Review(msgspec.Struct, frozen=True):
    """What the runs of one program say together, the worst first; `unread` are results that are not among it."""

    reports: list[Report]
    unread: int
    sightings: list[Sighting]
    entries: list[Entry]

    @property
    def cited(self) -> list[Entry]:
        """Those whose places hold."""
        return [entry for entry in self.entries if entry.place]

    @property
    def status(self) -> model.Status:
        """What the runs came to together."""
        each = {report.status for report in self.reports}
        is_whole = each == {"SUCCESS"} and len(self.sightings) == len(self.entries)
        return "FAILED" if each == {"FAILED"} else "SUCCESS" if is_whole else "PARTIAL"


def reviewed(reports: list[Report], unread: int, checkout: Workspace) -> Review:
    """The findings of all runs, as many as a result lists; `unread` could not be read."""
    sightings = sorted(
        (_less_sure(one) for report in reports for one in report.sightings),
        key=lambda one: (-SCALE.index(severity_of(one)), one.category != "security", -one.opinion.confidence),
    )
    entries = [_entry(one, place, checkout) for place, one in enumerate(sightings[:MAX_ROWS], 1)]
    room = sum(estimate_tokens(" ".join(entry.row.cells)) for entry in entries)  # code is never most of a result
    for at, entry in enumerate(entries):
        room -= estimate_tokens(entry.quote.text) if entry.quote is not None else 0
        entries[at] = entry if room >= 0 else msgspec.structs.replace(entry, quote=None)
    return Review(reports, unread, sightings, entries)


def _less_sure(sighting: Sighting) -> Sighting:
    """A finding as sure as it can be: a program does not know that a password belongs to a test."""
    why = why_no_password(sighting)
    if not why:
        return sighting
    said = sighting.opinion
    lowered = min(said.confidence, _MADE_UP)
    opinion = msgspec.structs.replace(said, title=f"{why}: {said.title}", confidence=lowered)
    return msgspec.structs.replace(sighting, opinion=opinion)


def why_no_password(sighting: Sighting) -> str:
    """Why a literal that looks like a password is hardly one; empty: it may be."""
    if not _PASSWORD_RULES.fullmatch(sighting.opinion.id):
        return ""
    if _EMPTY.search(sighting.opinion.title):
        return "empty, so hardly one"
    return "made up for a test" if any(fits(sighting.path or "", glob) for glob in _TESTS) else ""


def severity_of(sighting: Sighting) -> Severity:
    """How bad a finding is."""
    return sighting.opinion.severity or "minor"


def _entry(sighting: Sighting, count: int, checkout: Workspace) -> Entry:
    said, place, category = sighting.opinion, _place(sighting, checkout), sighting.category
    name = f"{_PREFIXES.get(category, 'F')}-{count:03}"
    title = as_words(": ".join(filter(None, dict.fromkeys((said.id, said.title)))), checkout)
    cells = (name, title, place, severity_of(sighting), number(round(said.confidence, 1)), category)
    claimed = f"{name}: the program says {sighting.path or 'no file'} at {said.line or 'no line'}"
    lost = "" if place else as_words(claimed, checkout, 300)
    is_detailed = count <= _MAX_DETAILS or category == "security"
    quote = _quote(sighting, place, checkout) if is_detailed else None
    return Entry(name, sighting, place, lost, model.Row(cells=cells), quote)


def as_words(text: str, checkout: Workspace, most: int = 160) -> str:
    """Untrusted text as one line of Markdown in which nothing is a reference, a link, a tag, code or an escape."""
    line = " ".join(text[: 8 * most].split())
    line = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in line)
    line = (line if len(line) <= most else line[: most - 1].rstrip() + "…").replace("`", "'")
    line = _OPENING.sub(r"\\\g<0>", _BACKSLASH.sub(r"\\\\", line))
    for _ in range(20):
        found = {written.start: written for written in references_in(line, checkout.exists)}
        if not found:
            return line.strip()
        for start in sorted(found, reverse=True):
            _, end, _, path, first, last = found[start]
            line = f"{line[:start]}{path} at {first}{f' to {last}' if last else ''}{line[end:]}"
    return _DIGIT.sub("#", line).strip()  # a line made to defy this: a place needs a number


def _place(sighting: Sighting, checkout: Workspace) -> str:
    """The cell that cites a finding's place; empty if it is not in the checkout, line and all."""
    path, line = sighting.path, sighting.opinion.line
    file = checkout.read(path) if path is not None and sighting.verified else None
    if path is None or not isinstance(file, SourceFile):
        return ""
    line = line if file.lines else None  # programs call the whole of an empty file its first line
    last = sighting.end_line if line is not None and sighting.end_line != line else None
    if line is not None and not 1 <= line <= (last or line) <= len(file.lines):
        return ""
    place = path + (f":{line}" if line is not None else "") + (f"-{last}" if last is not None else "")
    read = references_in(f"`{place}`", checkout.exists, bare=True)
    same = [(found.path, found.line, found.end_line) for found in read] == [(path, line, last)]
    return f"`{place}`" if same and "|" not in place and place.isprintable() else ""


def _quote(sighting: Sighting, place: str, checkout: Workspace) -> model.Code | None:
    """The first cited lines as they stand in the file; None if they cannot be shown as they are."""
    path, line = sighting.path or "", sighting.opinion.line
    file = checkout.read(path) if place and _PLAIN_PATH.fullmatch(path) else None
    if line is None or not isinstance(file, SourceFile):
        return None
    last = min(sighting.end_line or line, line + _MAX_QUOTE - 1)
    code = "\n".join(file.lines[line - 1 : last]).rstrip().split("\n")
    exact = all(len(row) <= _MAX_COLUMNS and row.replace("\t", " ").isprintable() for row in code)
    if not exact or not any(map(str.isalnum, "".join(code))):
        return None
    language = path.rpartition(".")[2] if "." in path.rpartition("/")[2] else "text"
    return model.Code(text="\n".join(code), info=f"{language} {place.strip('`')}")
