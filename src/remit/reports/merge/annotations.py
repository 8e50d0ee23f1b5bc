"""Write a merge as GitHub annotations, next to the code."""

from __future__ import annotations

from collections.abc import Iterator

from remit.merging.findings import titles_beside
from remit.merging.merge_data import Conflict, FailedRow, Merge, MergedFinding, Opinion
from remit.reports.layout import escape_control
from remit.reports.merge.decision import Failure, decision_text, failures_of, headline
from remit.reports.merge.groups import coverage_text
from remit.reports.merge.parts import (
    MAX_TITLE,
    agreement,
    answered_agents,
    evidence_state,
    notes_of,
    opinions_by_score,
    score,
    severity_of,
    shown_flags,
    truncate_text,
)

_COMMAND = {"critical": "error", "important": "warning", "minor": "notice", "unrated": "notice"}
#: The most characters of an annotation or a test case; the JSON form has the whole text.
_MAX_MESSAGE = 2000


def github_commands(merge: Merge) -> Iterator[str]:
    """Yield workflow commands: the decision, then the conflicts, what did not hold, the findings, and what failed.

    A review in which no file was read, or code was not read, has one as well.
    """
    agents = answered_agents(merge)
    words = truncate_text(decision_text(merge), _MAX_MESSAGE)
    yield f"::notice title={_property(headline(merge))}::{_data(words)}"
    yield from _unreviewed(merge)
    findings = {finding.id: finding for finding in (*merge.dropped, *merge.findings)}
    yield from (_dispute(conflict, findings.get(conflict.finding)) for conflict in merge.conflicts)
    yield from map(_failed, merge.failed)
    yield from (_annotation(finding, agents) for finding in merge.findings)
    yield from map(_failure, failures_of(merge))


def _failed(row: FailedRow) -> str:
    """Return a row that does not hold. It has no place: the line is wrong."""
    named = truncate_text(" ".join(filter(None, [row.id, row.title])), MAX_TITLE)
    where = f" (at {row.location})" if row.location else ""
    message = f"{row.agent}: {row.why}{where}. This is no finding"
    title = f"Did not hold ({row.severity or 'unrated'}): {named}"
    return f"::warning title={_property(title)}::{_data(truncate_text(message, _MAX_MESSAGE))}"


def _unreviewed(merge: Merge) -> Iterator[str]:
    """Yield what was not reviewed, before the findings: GitHub shows only the first annotations."""
    unread = "; ".join(coverage_text(coverage) for coverage in merge.coverage if coverage.unread)
    if merge.is_unread:
        text = f"{decision_text(merge)}. {unread}".rstrip(". ")
        yield f"::error title=NOT REVIEWED::{_data(truncate_text(text, _MAX_MESSAGE))}"
    elif merge.is_mostly_unread:
        yield f"::warning title=Most of the code was not reviewed::{_data(truncate_text(unread, _MAX_MESSAGE))}"


def _failure(failure: Failure) -> str:
    command, verb = ("error", "failed") if failure.has_failed else ("warning", "needs attention")
    title = _property(f"{truncate_text(failure.agent, MAX_TITLE)} {verb}")
    return f"::{command} title={title}::{_data(truncate_text(failure.text, _MAX_MESSAGE))}"


def _annotation(finding: MergedFinding, agents: int) -> str:
    title = f"{severity_of(finding)}, {score(finding.confidence)}: {_name(finding)}"
    command = f"::{_COMMAND[severity_of(finding)]} {_lines(finding)}title={_property(title)}"
    return f"{command}::{_data(_message(finding, agents))}"


def _dispute(conflict: Conflict, finding: MergedFinding | None) -> str:
    about = _name(finding) if finding is not None else truncate_text(conflict.finding, MAX_TITLE)
    place = _lines(finding) if finding is not None else ""
    title = f"{conflict.kind} conflict: {about}"
    return f"::warning {place}title={_property(title)}::{_data(truncate_text(conflict.why, _MAX_MESSAGE))}"


def _lines(finding: MergedFinding) -> str:
    """Return the location for GitHub."""
    if finding.path is None:
        return ""
    if finding.line is None:
        return f"file={_property(finding.path)},"
    last = f"endLine={finding.end_line}," if finding.end_line is not None else ""
    return f"file={_property(finding.path)},line={finding.line},{last}"


def _name(finding: MergedFinding) -> str:
    return truncate_text(" ".join(filter(None, [finding.id, finding.title])), MAX_TITLE) or "no title"


def _message(finding: MergedFinding, agents: int) -> str:
    opinions = "; ".join(map(_opinion_text, opinions_by_score(finding)))
    also = "".join(f" Also stated there: {truncate_text(title, MAX_TITLE)}." for title in titles_beside(finding))
    words = ", ".join([f"{agreement(finding, agents)} agents", evidence_state(finding), *shown_flags(finding)])
    return truncate_text(f"{words}.{also} {opinions}", _MAX_MESSAGE)


def _opinion_text(opinion: Opinion) -> str:
    notes = ", ".join(notes_of(opinion))
    words = f"{opinion.agent}: {opinion.severity or 'unrated'}, {score(opinion.confidence)}"
    return f"{words} ({notes})" if notes else words


def _data(text: str) -> str:
    return escape_control(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
