"""Write a merge for tools that show findings next to the code: GitHub annotations and JUnit XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from xml.etree import ElementTree

from remit.merging.merge_data import Conflict, Merge, MergedFinding, Opinion
from remit.reports.layout import escape_control
from remit.reports.merge.decision import Failure, contract_status, decision_text, failures_of
from remit.reports.merge.groups import NOTHING_TO_REVIEW, coverage_text
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


def merge_junit(merge: Merge) -> str:
    """Return suites in which each agent, finding and conflict, and each language of a review, is a test case.

    An agent fails if it FAILED or broke the contract. Findings and conflicts always fail. A dropped finding is a
    skipped test. A language is skipped if some of its files were not reviewed, and fails if no file was reviewed.
    """
    root = ElementTree.Element("testsuites")
    suites = {"agents": _agents, "findings": _findings, "conflicts": _conflicts}
    if merge.coverage:
        suites["coverage"] = _coverage
    for name, cases in ((name, cases_of(merge)) for name, cases_of in suites.items()):
        suite = ElementTree.SubElement(root, "testsuite", {"name": f"remit merge: {name}"})
        suite.extend(_unique(cases))
        _count(suite, list(suite))
    _count(root, [case for suite in root for case in suite])
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def _case(group: str, name: str) -> ElementTree.Element:
    return ElementTree.Element(
        "testcase", {"classname": escape_control(group), "name": escape_control(name) or "unnamed"}
    )


def _with(case: ElementTree.Element, tag: str, attributes: dict[str, str], text: str) -> ElementTree.Element:
    inner = ElementTree.SubElement(case, tag, {name: escape_control(value) for name, value in attributes.items()})
    inner.text = escape_control(text) or None
    return case


def _coverage(merge: Merge) -> Iterator[ElementTree.Element]:
    for coverage in merge.coverage:
        text = coverage_text(coverage) if coverage.files else NOTHING_TO_REVIEW
        case = _case("coverage", coverage.language)
        if merge.is_unread:
            yield _with(case, "failure", {"type": "NOT REVIEWED", "message": text}, "")
        else:
            yield (
                _with(case, "skipped", {"message": text}, "")
                if coverage.unread
                else _with(case, "system-out", {}, text)
            )


def _agents(merge: Merge) -> Iterator[ElementTree.Element]:
    reasons: dict[str, list[str]] = {}
    for failure in failures_of(merge):
        reasons.setdefault(failure.agent, []).append(failure.text)
    for report in merge.agents:
        case = _case("agents", truncate_text(report.agent, MAX_TITLE))
        words = f"{report.status}, {contract_status(report)}"
        if report.status == "FAILED" or report.verdict in ("revise", "reject"):
            kind = "FAILED" if report.status == "FAILED" else report.verdict or ""
            why = truncate_text("; ".join(reasons.get(report.agent, ())), _MAX_MESSAGE)
            yield _with(case, "failure", {"type": kind, "message": words}, why)
        else:
            yield _with(case, "system-out", {}, words)


def _findings(merge: Merge) -> Iterator[ElementTree.Element]:
    agents = answered_agents(merge)
    for finding in merge.findings:
        severity = severity_of(finding)
        message = f"{severity}, confidence {score(finding.confidence)}, at {location_of(finding) or 'no location'}"
        case = _case(finding.path or "no location", _name(finding))
        yield _with(case, "failure", {"type": severity, "message": message}, _message(finding, agents))
    for finding in merge.dropped:
        reason = finding.reason if isinstance(finding.reason, str) else ""
        case = _case(finding.path or "no location", _name(finding))
        yield _with(case, "skipped", {"message": truncate_text(reason, MAX_TITLE) or "dropped"}, "")


def _conflicts(merge: Merge) -> Iterator[ElementTree.Element]:
    for conflict in merge.conflicts:
        case = _case("conflicts", f"{conflict.kind}: {truncate_text(conflict.finding, MAX_TITLE)}")
        why = truncate_text(conflict.why, _MAX_MESSAGE)
        yield _with(case, "failure", {"type": f"{conflict.kind} conflict", "message": why}, "")


def _unique(cases: Iterator[ElementTree.Element]) -> Iterator[ElementTree.Element]:
    """Make names unique: JUnit readers treat two cases with one name as one case that ran twice."""
    taken: set[tuple[str, str]] = set()
    times: Counter[tuple[str, str]] = Counter()
    for case in cases:
        group, name = case.attrib["classname"], case.attrib["name"]
        while (group, case.attrib["name"]) in taken:
            times[group, name] += 1
            case.set("name", f"{name} ({times[group, name] + 1})")
        taken.add((group, case.attrib["name"]))
        yield case


def _count(parent: ElementTree.Element, cases: list[ElementTree.Element]) -> None:
    parent.set("tests", str(len(cases)))
    parent.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    parent.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
    parent.set("errors", "0")
