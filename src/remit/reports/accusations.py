"""What every report states about a claim: the rule that it breaks, the sentence with its reason, and the truth."""

from __future__ import annotations

from collections.abc import Iterable

from remit.evidence.claims import ClaimEntry
from remit.evidence.model import Location, format_location

#: What was found if a claim states nothing that can be compared.
_THINGS = {"command": "the command", "test": "the test"}


def unchecked_lines(claims: Iterable[ClaimEntry]) -> list[str]:
    """Return a line for each claim that could not be checked, with the reason."""
    return [f"line {entry.at}: {message_of(entry)}" for entry in claims if entry.outcome == "unchecked"]


def rule_of(entry: ClaimEntry) -> str:
    """Return the name of the rule that a claim breaks if it fails."""
    if entry.outcome == "outdated":
        return "reference-outdated"
    if entry.kind in ("command", "test"):
        return f"{entry.kind}-missing"
    if entry.kind in ("change", "run"):
        return "change-unseen" if entry.kind == "change" else "test-run-unseen"
    if entry.kind == "quote" and entry.outcome in ("mismatch", "relocated"):
        return f"quote-{entry.outcome}"
    return "symbol-missing" if entry.outcome == "mismatch" else f"reference-{entry.outcome}"


def cited_text(entry: ClaimEntry) -> str:
    """Return the words of a claim, with its location if they do not have the path."""
    if not entry.path or entry.path in entry.text or entry.kind not in ("place", "path", "name"):
        return entry.text
    return f"{entry.text} ({format_location(Location(entry.path, entry.line), entry.end_line)})"


def why_text(entry: ClaimEntry) -> str:
    """Return why a claim has its outcome, or what exists."""
    if entry.reason == "location-only":
        exists = _THINGS.get(entry.kind) or ("the path" if entry.line is None else "the line")
        is_range = entry.line is not None and entry.end_line is not None
        return " · ".join(filter(None, ("the lines exist" if is_range else f"{exists} exists", entry.why)))
    return entry.why


def found_text(entry: ClaimEntry) -> str:
    """Return the location that was found, if it is another one than the cited one and the reason does not name it."""
    if entry.found is None:
        return ""
    is_same_end = entry.found_end is None or entry.found_end == entry.end_line
    if is_same_end and (entry.found.path, entry.found.line) == (entry.path, entry.line):
        return ""
    location = format_location(entry.found, entry.found_end)
    return "" if location in entry.why else location


def message_of(entry: ClaimEntry) -> str:
    """Return a claim, its reason and what is suggested in one sentence without a full stop."""
    suggestion = found_text(entry)
    return f"{cited_text(entry)}: {why_text(entry)}" + (f"; did you mean {suggestion}?" if suggestion else "")
