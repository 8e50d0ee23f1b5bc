"""Write a merge as GitHub annotations."""

from __future__ import annotations

from collections.abc import Iterator

from remit.merging.merge_data import Conflict, Merge, MergedFinding, Opinion
from remit.reports.layout import escape_control
from remit.reports.merge.decision import Failure, decision_text, failures_of
from remit.reports.merge.groups import coverage_text
from remit.reports.merge.parts import (
    MAX_TITLE,
    Subjects,
    agreement,
    answered_agents,
    evidence_state,
    location_of,
    notes_of,
    opinions_by_score,
    score,
    severity_of,
    shared_flags,
    truncate_text,
)

_COMMAND = {"critical": "error", "important": "warning", "minor": "notice", "unrated": "notice"}
#: The most characters of an annotation or a test case; the JSON form has the whole text.
_MAX_MESSAGE = 2000


def github_commands(merge: Merge) -> Iterator[str]:
    """Yield one workflow command per finding, conflict and failed agent.

    A review in which no file was read, or code was not read, has one as well.
    """
    agents = answered_agents(merge)
    subjects = Subjects(merge)
    yield from _unreviewed(merge)
    yield from (_annotation(finding, agents) for finding in merge.findings)
    yield from (_dispute(conflict, subjects.of(conflict)) for conflict in merge.conflicts)
    yield from map(_failure, failures_of(merge))


def _unreviewed(merge: Merge) -> Iterator[str]:
    """Yield what was not reviewed, before the findings: GitHub shows only the first annotations."""
    unread = "; ".join(coverage_text(coverage) for coverage in merge.coverage if coverage.unread)
    if merge.is_unread:
        text = f"{decision_text(merge)}. {unread}".rstrip(". ")
        yield f"::error title=NOT REVIEWED::{_data(truncate_text(text, _MAX_MESSAGE))}"
    elif merge.is_mostly_unread:
        yield f"::warning title=Most of the code was not reviewed::{_data(truncate_text(unread, _MAX_MESSAGE))}"


def _failure(failure: Failure) -> str:
    command, verb = ("error", "failed") if failure.has_failed else ("warning", "was not read completely")
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
    """Return the location for GitHub. A location that failed its check is only in the message: the line is wrong."""
    if finding.path is None or finding.verified is False:
        return ""
    if finding.line is None:
        return f"file={_property(finding.path)},"
    last = f"endLine={finding.end_line}," if finding.end_line is not None else ""
    return f"file={_property(finding.path)},line={finding.line},{last}"


def _name(finding: MergedFinding) -> str:
    return truncate_text(" ".join(filter(None, [finding.id, finding.title])), MAX_TITLE) or "no title"


def _message(finding: MergedFinding, agents: int) -> str:
    opinions = "; ".join(_opinion_text(opinion, finding) for opinion in opinions_by_score(finding))
    state = evidence_state(finding) + (
        f" (at {location_of(finding)})" if finding.verified is False and finding.path else ""
    )
    words = ", ".join([f"{agreement(finding, agents)} agents", state, *shared_flags(finding)])
    return truncate_text(f"{words}. {opinions}", _MAX_MESSAGE)


def _opinion_text(opinion: Opinion, finding: MergedFinding) -> str:
    notes = ", ".join(notes_of(opinion, finding))
    words = f"{opinion.agent}: {opinion.severity or 'unrated'}, {score(opinion.confidence)}"
    return f"{words} ({notes})" if notes else words


def _data(text: str) -> str:
    return escape_control(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
