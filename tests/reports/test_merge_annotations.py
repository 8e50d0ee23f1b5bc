"""A merge for tools: workflow commands with any text of an agent."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from merge_samples import INVENTED, PLACES, conflict, finding, merge_github, merge_of, merges

from remit.contract.findings import Severity
from remit.merging.merge_data import AgentReport, Merge
from remit.reports.merge.decision import failures_of

COMMAND = re.compile(r"::(error|warning|notice) ((?:\w+=[^,:]*,)*title=[^,:]*)::(.*)")


@pytest.mark.parametrize(
    ("severity", "command"), [("critical", "error"), ("important", "warning"), ("minor", "notice"), (None, "notice")]
)
def test_the_severity_chooses_the_command(severity: Severity | None, command: str) -> None:
    assert merge_github(merge_of(finding(severity=severity))).split("\n")[1].startswith(f"::{command} ")


def test_an_annotation_names_the_lines_the_agents_and_their_scores() -> None:
    reported = finding("QA-002", severity="critical", place=PLACES[1], agents=("a", "b"), flags=("agreed",), score=96.5)
    assert merge_github(merge_of(reported, agents=(AgentReport("a", "SUCCESS", "accept"),))).split("\n")[1] == (
        "::error file=examples/shop/shop/payments.py,line=40,endLine=42,title=critical%2C 96.5%3A QA-002 A bug::"
        "2 of 2 agents, the line exists, agreed. a: critical, 96.5; b: critical, 96.5"
    )


def test_the_decision_comes_first_then_conflicts_then_what_did_not_hold() -> None:
    reported = finding(agents=("a", "b"), place=PLACES[1], flags=("disputed",))
    both = (conflict(), conflict("compliance", "OWASP A02"))
    merge = merge_of(reported, conflicts=both, failed=(INVENTED,), decision="review")
    head, *rest = merge_github(merge).split("\n")
    words = "decision review · run SUCCESS · 1 failed (1 critical) · 0 dropped · 0 dismissed"
    assert head == f"::notice title={words}::2 conflicts; 1 claim did not hold"
    why = "ruff: the file has 171 lines (at shop/auth.py:412). This is no finding"
    assert rest[:3] == [
        f"::warning file={PLACES[1][0]},line=40,endLine=42,title=score conflict%3A QA-001 A bug::far apart",
        "::warning title=compliance conflict%3A OWASP A02::far apart",
        f"::warning title=Did not hold (critical)%3A SEC-009 An invented fault::{why}",
    ]


@given(merges())
def test_each_finding_conflict_and_failure_is_exactly_one_command(merge: Merge) -> None:
    text = merge_github(merge)
    lines = text.split("\n")
    parts = (merge.findings, merge.conflicts, merge.failed, failures_of(merge))
    assert len(lines) == 1 + sum(map(len, parts))
    assert all(COMMAND.fullmatch(line) for line in lines)
