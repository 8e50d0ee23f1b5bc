"""Judge a claim: from its words and the facts about it to an outcome, a reason, and whether it fails.

This is the only place that makes a `Judgement`. The outcome is what the checkout shows. Whether it fails depends on the
kind of the text, by one table.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from remit.evidence.model import Claim, CodeFacts, Facts, Judgement, Location, NameFacts, Outcome, TextKind

#: Why a claim has its outcome, as a stable word. `remit.evidence.claims` has the sentences.
Reason = Literal[
    "",
    "name-is-there",
    "definition-is-there",
    "quote-is-there",
    "location-only",
    "code-not-compared",
    "name-not-compared",
    "definition-not-compared",
    "several-files",
    "outdated",
    "past-end",
    "line-zero",
    "range-backwards",
    "no-such-file",
    "is-folder",
    "hidden-characters",
    "outside",
    "name-nowhere",
    "name-not-in-file",
    "name-elsewhere",
    "definition-elsewhere",
    "quote-condensed",
    "quote-differs",
    "quote-elsewhere",
    "command-missing",
    "test-missing",
    "planned",
    "other-code-base",
    "large",
    "binary",
    "special",
    "forbidden",
    "submodule",
    "dangling",
    "comments-only",
    "too-large-to-compare",
    "cannot-be-known",
]
#: Outcomes that accuse the text.
ACCUSING: frozenset[Outcome] = frozenset(
    ("relocated", "outdated", "missing-file", "out-of-range", "mismatch", "contradicted", "unseen")
)
#: Outcomes of a claim that holds.
HOLDING: frozenset[Outcome] = frozenset(("verified", "exists", "planned"))
#: A range that ends at most this many lines past the end of its file is likely a miscount.
_MISCOUNT = 2


class _Found(NamedTuple):
    """What the facts show: the outcome, the reason, and the place that was found instead."""

    outcome: Outcome
    reason: Reason = ""
    found: Location | None = None
    last: int | None = None


def judge(claim: Claim, facts: Facts, text: TextKind = "report", *, is_plan: bool = False) -> Judgement:
    """Return the judgement on a claim in a kind of text. `is_plan`: the document describes work to be done."""
    outcome, reason, location, last = _found(claim, facts)
    if "hidden" in claim.notes and outcome not in ACCUSING:
        outcome, reason, location, last = "missing-file", "hidden-characters", None, None
    if facts.then is not None and outcome in ACCUSING and text != "report":
        outcome, reason, location, last = "outdated", "outdated", facts.then.found, None
    fails = _FAILS[text](claim, facts, outcome) and not (is_plan and text == "document" and claim.kind == "quote")
    return Judgement(outcome, reason, location, last, fails=fails)


def _fails_in_report(_claim: Claim, _facts: Facts, outcome: Outcome) -> bool:
    return outcome in ACCUSING


def _fails_in_document(claim: Claim, facts: Facts, outcome: Outcome) -> bool:
    """Return whether a claim that does not hold is strong: it names one place of this checkout."""
    if outcome == "missing-file":
        return claim.line is not None and facts.folders == "all" and "/" in claim.path.strip("/")
    if outcome == "out-of-range":
        return "carried" not in claim.notes  # the line is directly after a path
    if outcome == "mismatch":
        return claim.kind == "quote" and claim.line is not None
    return outcome == "outdated"


def _fails_in_project(_claim: Claim, facts: Facts, outcome: Outcome) -> bool:
    return outcome == "outdated" and not facts.is_ignored


#: What fails in each kind of text.
_FAILS = {"report": _fails_in_report, "document": _fails_in_document, "project": _fails_in_project}


def _found(claim: Claim, facts: Facts) -> _Found:
    if claim.kind in ("command", "test"):
        return _of_known(claim, facts)
    if facts.state != "file":
        return _of_absent(claim, facts)
    if facts.how == "several":
        return _Found("unchecked", "several-files")
    finding = _of_quote(claim, facts) if claim.kind == "quote" else _of_place(claim, facts)
    if finding.outcome in ("verified", "exists") and facts.how == "end" and claim.kind != "quote":
        return finding._replace(found=Location(facts.path, claim.line))
    return finding


def _of_known(claim: Claim, facts: Facts) -> _Found:
    """Judge a command or a test."""
    if facts.is_known is None:
        return _Found("unchecked", "cannot-be-known")
    if facts.is_known:
        return _Found("exists", "location-only")
    if claim.kind == "test":
        return _Found("missing-file" if facts.state == "missing" else "mismatch", "test-missing", facts.suggestion)
    return _Found("mismatch", "command-missing")


def _of_absent(claim: Claim, facts: Facts) -> _Found:
    """Judge a claim whose file cannot be read."""
    state = facts.state
    if state == "elsewhere":
        return _Found("unchecked", "other-code-base")
    if state == "none":
        return _Found("unchecked", "cannot-be-known")
    if state == "outside":
        return _Found("missing-file", "outside")
    is_there = state in ("large", "binary") and claim.kind == "path"
    if is_there or (state == "folder" and claim.line is None and claim.kind != "quote"):
        return _Found("exists", "location-only", Location(facts.path) if facts.how == "end" else None)
    if state in ("missing", "folder"):
        return _of_missing(claim, facts)
    return _Found("unchecked", _UNREADABLE.get(state, "cannot-be-known"))


_UNREADABLE: dict[str, Reason] = {
    "large": "large",
    "binary": "binary",
    "special": "special",
    "forbidden": "forbidden",
    "submodule": "submodule",
    "dangling": "dangling",
}


def _of_missing(claim: Claim, facts: Facts) -> _Found:
    """Judge a claim whose file does not exist."""
    if "create" in claim.notes:
        return _Found("planned", "planned")
    code = facts.code.found if facts.code is not None else None
    location = code or facts.suggestion
    reason: Reason = "is-folder" if facts.state == "folder" and claim.kind != "quote" else "no-such-file"
    return _Found("missing-file", reason, location)


def _of_place(claim: Claim, facts: Facts) -> _Found:
    """Judge a path, a line, and the name or the quote at it."""
    ranged = _of_range(claim, facts)
    name, code = facts.name, facts.code
    if ranged is not None:
        if name is not None and name.line is not None and _is_name(claim, name):
            return _Found("relocated", "name-elsewhere", Location(facts.path, name.line))
        if code is not None and code.place == "file":
            return _Found("relocated", "quote-elsewhere", code.found)
        return ranged
    named = _of_name(claim, name, facts.path) if name is not None and _is_name(claim, name) else None
    if code is not None:
        of_code = _of_code(claim, code)
        # A quote that is there does not make up for a name that is not.
        return named if named is not None and of_code.outcome == "verified" and named.outcome in ACCUSING else of_code
    return named or _Found("exists", "location-only")


def _is_name(claim: Claim, name: NameFacts) -> bool:
    """Return whether a plain word in brackets is a name: the file defines it."""
    return "plain" not in claim.notes or bool(name.definitions)


def _of_range(claim: Claim, facts: Facts) -> _Found | None:
    """Return what is wrong with the cited lines; None if the file has them."""
    line, last, count = claim.line, claim.end_line, facts.line_count
    if line is None or count is None:
        return None
    if line < 1:
        return _Found("out-of-range", "line-zero")
    if last is not None and last < line:
        return _Found("out-of-range", "range-backwards")
    if max(line, last or 0) <= count:
        return None
    if line <= count and last is not None and last - count <= _MISCOUNT:
        return _Found("out-of-range", "past-end", Location(facts.path, line), count)
    return _Found("out-of-range", "past-end")


def _of_name(claim: Claim, name: NameFacts, path: str) -> _Found:
    """Judge a name at a line that exists."""
    if "defined" in claim.notes and claim.line is not None and (name.is_near or name.line is not None):
        return _of_definition(claim, name, path)
    if name.is_near:
        return _Found("verified", "name-is-there")
    if name.is_other:
        return _Found("exists", "name-not-compared")
    if name.line is not None:
        return _Found("relocated", "name-elsewhere", Location(path, name.line))
    is_nowhere = name.is_anywhere is False and not name.is_imported
    return _Found("mismatch", "name-nowhere" if is_nowhere else "name-not-in-file")


def _of_definition(claim: Claim, name: NameFacts, path: str) -> _Found:
    """Judge a name that, according to the text, is defined at a line. An import or a use is no definition."""
    if name.is_near and name.is_definition:
        return _Found("verified", "definition-is-there")
    if not name.definitions:
        return _Found("exists", "definition-not-compared")
    line = min(name.definitions, key=lambda number: abs(number - (claim.line or 1)))
    return _Found("relocated", "definition-elsewhere", Location(path, line))


def _of_quote(claim: Claim, facts: Facts) -> _Found:
    """Judge quoted code whose file exists."""
    if facts.code is None:
        return _Found("unchecked", "cannot-be-known")
    if facts.code.place == "nowhere" and (ranged := _of_range(claim, facts)) is not None:
        return ranged
    return _of_code(claim, facts.code)


def _of_code(claim: Claim, code: CodeFacts) -> _Found:
    if code.place == "cited":
        is_condensed = code.match == "condensed"
        return _Found(
            "exists" if is_condensed else "verified",
            "quote-condensed" if is_condensed else "quote-is-there",
            code.found,
        )
    if code.place == "file":
        return _Found("relocated", "quote-elsewhere", code.found)
    if code.place in ("empty", "skipped"):
        reason: Reason = "comments-only" if code.place == "empty" else "too-large-to-compare"
        return _Found(
            "unchecked" if claim.kind == "quote" else "exists", reason if claim.kind == "quote" else "code-not-compared"
        )
    return _Found("mismatch", "quote-differs", code.found)
