"""Print how claims were judged: what was read, the facts that were found, and the judgement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remit.checking import Verdict
from remit.evidence.claims import ACCUSING, ClaimEntry, claims_of, explain
from remit.evidence.model import (
    REFERENCES,
    Checked,
    CodeFacts,
    Facts,
    Judgement,
    Location,
    NameFacts,
    State,
    format_location,
)
from remit.reports.layout import Line, Piece, escape_control, format_count, shorten_text, wrap_text
from remit.reports.verdict_text import OUTCOME_STYLES

_MARGIN = 12
_MAX_VALUE = 400
_MAX_LISTED = 5
#: A number with more digits is not a line.
_MAX_DIGITS = 9
_STATES: dict[State, str] = {
    "file": "a text file",
    "folder": "a folder",
    "missing": "there is nothing at this path",
    "outside": "outside the checkout",
    "large": "a file over 10 MB, not read",
    "binary": "a file that is not text",
    "special": "not a regular file",
    "forbidden": "a file that cannot be read",
    "submodule": "in a submodule",
    "dangling": "a symbolic link whose target does not exist",
    "elsewhere": "not in this repository",
    "none": "not looked up",
}
_RESOLVED = {
    "written": "as written",
    "relative": "from the folder of the document",
    "rooted": "without its first folders, which are of another machine",
    "end": "the only file that ends with the path",
    "several": "several files end with the path",
}
_PLACES = {
    "cited": "at the cited lines",
    "file": "elsewhere in the file",
    "nowhere": "not found",
    "empty": "there is no code to compare",
    "skipped": "too large to compare",
}

Fields = Iterator[tuple[str, str]]


def matching_claims(verdict: Verdict, wanted: str) -> list[Checked | ClaimEntry]:
    """Return the claims that a person means: by the line of the text, by their location, or by a part of their words.

    A location that is exactly the wanted one is preferred to a part of the words.
    """
    listed: list[Checked | ClaimEntry] = [claim for claim in verdict.evidence.checked if not claim.has_quote]
    listed += [entry for entry in claims_of(verdict.evidence) if entry.kind in ("change", "run")]
    if wanted.isdecimal() and len(wanted) <= _MAX_DIGITS:
        return [claim for claim in listed if int(wanted) in _lines(claim)]
    exact = [claim for claim in listed if wanted in (f"{verdict.path}:{claim.at}", *_locations(claim))]
    return exact or [claim for claim in listed if wanted.lower() in _words(claim).lower()]


def _lines(claim: Checked | ClaimEntry) -> tuple[int, ...]:
    return (claim.at, claim.claim.located_at) if isinstance(claim, Checked) else (claim.at,)


def _locations(claim: Checked | ClaimEntry) -> list[str]:
    """Return the cited location with and without its last line, and the one in the checkout."""
    paths = (claim.path, claim.file) if isinstance(claim, Checked) else (claim.path,)
    places = [Location(path, claim.line) for path in paths]
    return [format_location(place, last) for place in places for last in (None, claim.end_line)]


def _words(claim: Checked | ClaimEntry) -> str:
    name = claim.claim.name if isinstance(claim, Checked) else claim.name
    display = claim.display_text if isinstance(claim, Checked) else ""
    return "\n".join((claim.text, display, claim.path, name))


def explain_lines(verdicts: Sequence[Verdict], wanted: str, columns: int | None = None) -> Iterator[Line]:
    """Yield how each matching claim was judged; nothing if no claim matches."""
    is_first = True
    for verdict in verdicts:
        for claim in matching_claims(verdict, wanted):
            if not is_first:
                yield []
            is_first = False
            yield from _claim(verdict, claim, columns)


def _claim(verdict: Verdict, claim: Checked | ClaimEntry, columns: int | None) -> Iterator[Line]:
    head = f"{verdict.path}:{claim.at}"
    what = claim.display_text if isinstance(claim, Checked) else claim.text
    if claim.kind == "quote":
        what = f"quote from {what}"
    yield [
        Piece(escape_control(head), "bold"),
        Piece("  "),
        Piece(claim.outcome, OUTCOME_STYLES[claim.outcome]),
        Piece(f"  {escape_control(what)}"),
    ]
    fields = _checked_fields(claim) if isinstance(claim, Checked) else _entry_fields(claim)
    for label, value in fields:
        text = escape_control(shorten_text(value, _MAX_VALUE))
        rows = wrap_text(text, columns, _MARGIN) if columns is not None else [" " * _MARGIN + text]
        for number, row in enumerate(rows):
            start = f"  {label}" if not number else ""
            yield [Piece(f"{start:<{_MARGIN}}", "dim"), Piece(row[_MARGIN:])]


def _checked_fields(checked: Checked) -> Fields:
    claim, facts = checked.claim, checked.facts
    yield "kind", claim.kind
    yield "words", " ".join(claim.text.split())
    if claim.path:
        yield "cited", format_location(Location(claim.path, claim.line), claim.end_line)
    if claim.name:
        yield "name", claim.name.replace("|", " or ")
    if claim.code:
        yield "code", _code_text(claim.code)
    if claim.notes:
        yield "form", ", ".join(sorted(claim.notes))
    if claim.others:
        yield "or", ", ".join(map(format_location, claim.others[:_MAX_LISTED]))
    yield from _file_fields(checked)
    if facts.name is not None:
        yield "names", _name_text(facts.name)
    if facts.code is not None:
        yield "quote", _quote_text(facts.code)
    yield from _history_fields(facts)
    yield from _judgement_fields(checked.judgement, explain(checked))


def _entry_fields(entry: ClaimEntry) -> Fields:
    yield "kind", entry.kind
    if entry.path:
        yield "cited", format_location(Location(entry.path, entry.line), entry.end_line)
    judgement = Judgement(entry.outcome, entry.reason, entry.found, fails=entry.fails)
    yield from _judgement_fields(judgement, entry.why)


def _code_text(code: str) -> str:
    lines = code.split("\n")
    first = next((line.strip() for line in lines if line.strip()), "")
    return first if len(lines) == 1 else f"{first} … ({len(lines)} lines)"


def _file_fields(checked: Checked) -> Fields:
    facts = checked.facts
    if checked.kind not in (*REFERENCES, "quote"):
        known = {True: "it exists", False: "it does not exist", None: "it cannot be known"}[facts.is_known]
        yield "found", known + (f", in {facts.path}" if facts.path else "")
        return
    state = _STATES[facts.state]
    if facts.state == "missing":
        folders = {
            "all": "its folder is here",
            "some": "some of its folders are here",
            "none": "no folder of it is here",
        }
        state = f"{state}; {folders[facts.folders]}"
    yield "file", f"{state}: {facts.elsewhere}" if facts.elsewhere else state
    if facts.state == "file":
        candidates = ", ".join(facts.candidates[:_MAX_LISTED])
        yield "resolved", f"{_RESOLVED[facts.how]}: {candidates or facts.path}"
    if facts.line_count is not None:
        yield "lines", str(facts.line_count)
    if facts.suggestion is not None:
        yield "nearest", format_location(facts.suggestion)
    if facts.seen is not None:
        yield "opened", {"line": "yes, with the line", "file": "yes, the file", "no": "no"}[facts.seen]


def _name_text(name: NameFacts) -> str:
    if name.is_near:
        text = "at the cited lines"
    elif name.line is not None:
        text = f"{'defined' if name.is_definition else 'used'} at line {name.line}"
    else:
        anywhere = {True: "elsewhere in the checkout", False: "nowhere in the checkout", None: "not searched elsewhere"}
        text = f"not in the file; {anywhere[name.is_anywhere]}"
    if name.definitions:
        text += f"; definitions at {', '.join(map(str, name.definitions[:_MAX_LISTED]))}"
    return text + ("; it is imported from a dependency" if name.is_imported else "")


def _quote_text(code: CodeFacts) -> str:
    text = _PLACES[code.place] + (f" ({code.match})" if code.match else "")
    if code.found is not None:
        text += f"; {format_location(code.found)}"
    if code.similarity is not None and code.place == "nowhere":
        text += f", {min(code.similarity, 0.99):.0%} similar"
    return text + (f"; {format_count(code.changed_tokens, 'token')} changed" if code.changed_tokens is not None else "")


def _history_fields(facts: Facts) -> Fields:
    then = facts.then
    if then is None:
        return
    changed = f"; changed in {then.changed_in[:12]}" if then.changed_in else ""
    today = f"; now at {format_location(then.found)}" if then.found is not None else ""
    verb = "only the file was in" if then.is_file_only else "true in"
    yield "history", f"{verb} {then.commit[:12]} ({then.date[:10]}){changed}{today}"


def _judgement_fields(judgement: Judgement, why: str) -> Fields:
    effect = ": it fails" if judgement.fails else ": it does not fail here" if judgement.outcome in ACCUSING else ""
    yield "outcome", f"{judgement.outcome}{effect}"
    yield "reason", f"{judgement.reason}: {why}" if why else judgement.reason
    if judgement.found is not None:
        yield "instead", format_location(judgement.found, judgement.found_end)
