"""Judge a claim: from its words and the facts about it to an outcome, a reliability and a reason.

This is the only place that makes a `Judgement`. The outcome is what the checkout shows. The reliability states how far
an accusation can be trusted; a signal of the text lowers it by one step and never changes the outcome.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from remit.evidence.model import (
    RELIABILITIES,
    Claim,
    CodeFacts,
    Facts,
    Judgement,
    Location,
    NameFacts,
    Outcome,
    Reliability,
)

#: Why a claim has its outcome, as a stable word. `remit.evidence.claims` has the sentences.
Reason = Literal[
    "",
    "name-is-there",
    "definition-is-there",
    "quote-is-there",
    "location-only",
    "code-not-compared",
    "name-not-compared",
    "several-files",
    "outdated",
    "outdated-record",
    "past-end",
    "past-end-of-name",
    "range-past-end",
    "line-zero",
    "range-backwards",
    "missing-in-folder",
    "missing-below-folder",
    "missing-folders",
    "missing-name",
    "missing-path",
    "missing-link",
    "is-folder",
    "hidden-characters",
    "outside",
    "outside-machine",
    "name-nowhere",
    "name-not-in-file",
    "name-elsewhere",
    "definition-elsewhere",
    "quote-altered",
    "quote-differs",
    "quote-without-line",
    "quote-elsewhere",
    "quote-in-other-file",
    "quote-missing-file",
    "command-missing",
    "test-missing",
    "planned",
    "other-repository",
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
#: Outcomes that accuse the text. A claim with one of them has a reliability.
ACCUSING: frozenset[Outcome] = frozenset(
    ("relocated", "outdated", "missing-file", "out-of-range", "outside", "mismatch", "contradicted", "unseen")
)
#: Outcomes of a claim that holds.
HOLDING: frozenset[Outcome] = frozenset(("verified", "exists", "abbreviated", "planned"))
#: A range that ends at most this many lines past the end of its file is likely a miscount.
_MISCOUNT = 2
#: A quote with a line that differs in at most this many tokens is an altered quote.
_FEW_TOKENS = 2
#: The first port that a program can open without rights of the system.
_PORTS = 1024


class _Found(NamedTuple):
    """What the facts show: the outcome, the reason, and the place that was found instead."""

    outcome: Outcome
    reason: Reason = ""
    found: Location | None = None
    last: int | None = None


def judge(
    claim: Claim,
    facts: Facts,
    *,
    strict: bool,
    signals: Sequence[str] = (),
    least: Reliability = "likely",
) -> Judgement:
    """Return the judgement on a claim. In a `strict` text no word excuses anything.

    `signals` are the names of the signals that fire. An accusation fails if its reliability is at least `least`.
    """
    outcome, reason, location, last = _found(claim, facts)
    if "hidden" in claim.notes and outcome not in ACCUSING:
        outcome, reason, location, last = "missing-file", "hidden-characters", None, None
    if reason == "outside-machine" and claim.line is None and not strict:
        outcome = "unchecked"  # `~/.config/app.toml` in a guide states nothing about the checkout
    if facts.then is not None and outcome in (*ACCUSING, "abbreviated") and not strict:
        reason = "outdated-record" if facts.is_of_record else "outdated"
        outcome, location, last = "outdated", facts.then.found, None
    if outcome not in ACCUSING:
        return Judgement(outcome, reason=reason, found=location, found_end=last)
    lowered = () if strict else tuple(signals)
    reliability = "certain" if strict else _reliability(claim, facts, reason, len(lowered))
    fails = RELIABILITIES.index(reliability) <= RELIABILITIES.index(least)
    return Judgement(outcome, reliability, reason, location, last, signals=lowered, fails=fails)


def _reliability(claim: Claim, facts: Facts, reason: Reason, lowered: int) -> Reliability:
    # A signal of the text about an outdated claim explains it: it is history.
    step = RELIABILITIES.index(reliabilities()[reason]) + (2 * lowered if reason == "outdated" else lowered)
    if reason == "name-nowhere" and "code" not in claim.notes:
        step += 1  # a word that is not written as code may be none
    if reason == "name-elsewhere" and "topic" in claim.notes:
        step += 1  # the place may be something about what the entry is about
    if reason in ("quote-altered", "quote-differs") and facts.code is not None and _is_sketch(claim, facts.code):
        step = 2
    if reason == "range-past-end" and (claim.end_line or 0) - (facts.line_count or 0) == 1:
        step = 2  # an editor shows an empty line there
    if "carried" in claim.notes and not reason.startswith("outdated"):
        # The file of the line is named elsewhere, or other files are near. `:8765` past its end may be a port.
        is_port = claim.text.startswith(":") and (claim.line or 0) >= _PORTS and reason.startswith("past-end")
        is_weak = "far" in claim.notes or claim.others or is_port
        step = max(step, 2 if is_weak else 1)
    return RELIABILITIES[min(step, len(RELIABILITIES) - 1)]


def _is_sketch(claim: Claim, code: CodeFacts) -> bool:
    """Return whether a quote may be a sketch of the cited lines: it has several, and they are most similar to it.

    If one token differs, it is not a sketch but an altered quote.
    """
    if code.found is None or claim.line is None or code.quoted_lines < 2 or (code.changed_tokens or 0) <= 1:
        return False
    return claim.line <= (code.found.line or 0) <= (claim.end_line or claim.line)


def share_right(reason: str) -> tuple[int, int]:
    """Return how many of the judged accusations with this reason were right, and how many were judged."""
    return next(
        ((right, judged) for counts in _data().values() for name, (right, judged) in counts.items() if name == reason),
        (0, 0),
    )


@cache
def _data() -> dict[str, dict[str, tuple[int, int]]]:
    """Return the reasons by reliability, each with its judged accusations. The file is part of the package."""
    return tomllib.loads(Path(__file__).with_name("reliability.toml").read_text(encoding="utf-8"))


@cache
def reliabilities() -> dict[str, Reliability]:
    """Return the reliability of an accusation by its reason, without signals."""
    data = _data()
    return {reason: reliability for reliability in RELIABILITIES for reason in data[reliability]}


def _found(claim: Claim, facts: Facts) -> _Found:
    if claim.kind in ("command", "test"):
        return _of_known(claim, facts)
    if facts.state != "file":
        return _of_absent(claim, facts)
    if facts.how == "several":
        return _Found("ambiguous", "several-files")
    finding = _of_quote(claim, facts) if claim.kind == "quote" else _of_place(claim, facts)
    if finding.outcome in ("verified", "exists") and facts.how == "end" and claim.kind != "quote":
        return finding._replace(outcome="abbreviated", found=Location(facts.path, claim.line))
    return finding


def _of_known(claim: Claim, facts: Facts) -> _Found:
    """Judge a command or a test."""
    if facts.is_known is None:
        return _Found("unchecked", "cannot-be-known")
    if facts.is_known:
        return _Found("exists", "location-only")
    if claim.kind == "test":
        return _Found("missing-file" if facts.state == "missing" else "mismatch", "test-missing", facts.suggestion)
    return _Found("mismatch", "missing-path" if "/" in claim.name else "command-missing")  # `uv run tools/x.py`


def _of_absent(claim: Claim, facts: Facts) -> _Found:
    """Judge a claim whose file cannot be read."""
    state = facts.state
    if state == "elsewhere":
        return _Found("unchecked", "other-code-base" if facts.path else "other-repository")
    if state == "none":
        return _Found("unchecked", "cannot-be-known")
    if state == "outside":
        is_of_machine = claim.path.startswith(("/", "~")) or claim.path[1:3] == ":/"
        return _Found("outside", "outside-machine" if is_of_machine else "outside")
    if state == "folder" and claim.line is None and claim.kind != "quote":
        is_end = facts.how == "end"
        return (
            _Found("abbreviated", "location-only", Location(facts.path))
            if is_end
            else _Found("exists", "location-only")
        )
    if state in ("missing", "folder"):
        return _of_missing(claim, facts)
    if state in ("large", "binary") and claim.kind == "path":
        is_end = facts.how == "end"
        return _Found("abbreviated" if is_end else "exists", "location-only", Location(facts.path) if is_end else None)
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
    if claim.kind == "quote":
        return _Found(
            "missing-file", "quote-missing-file" if claim.line is None else _missing_reason(claim, facts), location
        )
    if facts.state == "folder":
        return _Found("missing-file", "is-folder", location)
    return _Found("missing-file", _missing_reason(claim, facts), location)


def _missing_reason(claim: Claim, facts: Facts) -> Reason:
    if "/" not in claim.path.strip("/"):
        return "missing-name"
    if facts.folders == "none":
        return "missing-folders"
    if claim.line is None:
        return "missing-link" if "link" in claim.notes else "missing-path"
    return "missing-in-folder" if facts.folders == "all" else "missing-below-folder"


def _of_place(claim: Claim, facts: Facts) -> _Found:
    """Judge a path, a line, and the name or the quote at it."""
    ranged = _of_range(claim, facts)
    name, code = facts.name, facts.code
    if ranged is not None:
        if name is not None and name.line is not None and _is_name(claim, name):
            return _Found("relocated", "name-elsewhere", Location(facts.path, name.line))
        if code is not None and code.place in ("file", "other"):
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
        return _Found("out-of-range", "range-past-end", Location(facts.path, line), count)
    return _Found("out-of-range", "past-end-of-name" if "bare" in claim.notes else "past-end")


def _of_name(claim: Claim, name: NameFacts, path: str) -> _Found:
    """Judge a name at a line that exists."""
    if name.is_near and not ("defined" in claim.notes and claim.line is not None):
        return _Found("verified", "name-is-there")
    if name.is_near:
        return _of_definition(claim, name, path)
    if name.is_other and not ("defined" in claim.notes and name.definitions):
        return _Found("exists", "name-not-compared")
    if name.line is not None:
        is_moved_definition = name.is_definition and "defined" in claim.notes
        reason: Reason = "definition-elsewhere" if is_moved_definition else "name-elsewhere"
        return _Found("relocated", reason, Location(path, name.line))
    is_nowhere = name.is_anywhere is False and not name.is_imported
    return _Found("mismatch", "name-nowhere" if is_nowhere else "name-not-in-file")


def _of_definition(claim: Claim, name: NameFacts, path: str) -> _Found:
    """Judge a name that, according to the text, is defined at a line near which it occurs."""
    if name.is_definition or not name.definitions:
        return _Found("verified", "definition-is-there" if name.is_definition else "name-is-there")
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
        return _Found("verified", "quote-is-there", code.found)
    if code.place == "file":
        return _Found("relocated", "quote-elsewhere", code.found)
    if code.place == "other":
        # A guide shows what the reader's file of this name may have: only a line states that it is this one.
        return _Found("relocated", "quote-in-other-file" if claim.line else "quote-without-line", code.found)
    if code.place in ("empty", "skipped"):
        reason: Reason = "comments-only" if code.place == "empty" else "too-large-to-compare"
        return _Found(
            "unchecked" if claim.kind == "quote" else "exists", reason if claim.kind == "quote" else "code-not-compared"
        )
    if claim.line is None:
        return _Found("mismatch", "quote-without-line", code.found)
    is_altered = code.changed_tokens is not None and code.changed_tokens <= _FEW_TOKENS
    return _Found("mismatch", "quote-altered" if is_altered else "quote-differs", code.found)
