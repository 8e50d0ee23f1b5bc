"""A merge for tools: workflow commands with any text of an agent."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from merge_samples import LOST, PLACES, finding, merge_github, merge_of, merges

from remit.contract.findings import Severity
from remit.merging.merge_data import AgentReport, Conflict, Merge
from remit.reports.merge.decision import failures_of

COMMAND = re.compile(r"::(error|warning|notice) ((?:\w+=[^,:]*,)*title=[^,:]*)::(.*)")


@pytest.mark.parametrize(
    ("severity", "command"), [("critical", "error"), ("important", "warning"), ("minor", "notice"), (None, "notice")]
)
def test_the_severity_chooses_the_command(severity: Severity | None, command: str) -> None:
    assert merge_github(merge_of(finding(severity=severity))).startswith(f"::{command} ")


def test_an_annotation_names_the_lines_the_agents_and_their_scores() -> None:
    reported = finding("QA-002", severity="critical", place=PLACES[1], agents=("a", "b"), flags=("agreed",), score=96.5)
    assert merge_github(merge_of(reported, agents=(AgentReport("a", "SUCCESS", "accept"),))) == (
        "::error file=examples/shop/shop/payments.py,line=40,endLine=42,title=critical%2C 96.5%3A QA-002 A bug::"
        "2 of 2 agents, location exists, agreed. a: critical, 96.5; b: critical, 96.5"
    )


@pytest.mark.parametrize("place", [place for place in LOST if place[0]])
def test_a_failed_location_is_in_the_message_and_not_annotated(place: tuple[str, int, int | None]) -> None:
    text = merge_github(merge_of(finding(place=place, verified=False)))
    assert "file=" not in text
    assert f"evidence failed (at {place[0]}:{place[1]}" in text


def test_a_conflict_is_a_warning() -> None:
    conflict = Conflict("score", "QA-001", ("a", "b"), "a gives it 97, b 45")
    assert merge_github(merge_of(conflicts=(conflict,))) == (
        "::warning title=score conflict%3A QA-001::a gives it 97, b 45"
    )


def test_a_conflict_is_annotated_at_the_lines_of_its_finding() -> None:
    reported = finding(agents=("a", "b"), place=PLACES[1], flags=("disputed",))
    text = merge_github(merge_of(reported, conflicts=(Conflict("score", "QA-001", ("a", "b"), "far apart"),)))
    assert text.splitlines()[1] == (
        f"::warning file={PLACES[1][0]},line=40,endLine=42,title=score conflict%3A QA-001 A bug::far apart"
    )
    assert "location exists, disputed. " in text


def test_no_findings_give_no_output() -> None:
    assert merge_github(merge_of()) == ""


@given(merges())
def test_each_finding_conflict_and_failure_is_exactly_one_command(merge: Merge) -> None:
    text = merge_github(merge)
    lines = text.split("\n") if text else []
    assert len(lines) == len(merge.findings) + len(merge.conflicts) + len(failures_of(merge))
    assert all(COMMAND.fullmatch(line) for line in lines)
