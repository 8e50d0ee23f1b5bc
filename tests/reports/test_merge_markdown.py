"""A merged report is a result in the contract: whatever the agents wrote, it is accepted, and it vouches for nothing false."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example as also
from hypothesis import given
from hypothesis import strategies as st
from merge_samples import LOST, PIECES, PLACES, ROOT, SHOP, example, finding, hostile, merge_of, merges, sources

from remit.checking import Options, Verdict, check_text
from remit.contract.model import Code
from remit.contract.parse import parse
from remit.contract.render import render
from remit.evidence.grammar import references_in
from remit.merging.model import AgentReport, Conflict, Merge
from remit.reports.merge_markdown import merge_markdown, merged_result
from remit.reports.merge_words import harmless, words

FAILED = (AgentReport("qa-engineer", "FAILED", None), AgentReport("ruff", "FAILED", "reject"))


def verdicts(text: str) -> list[Verdict]:
    """Of the report as it is, and as a review."""
    return [
        verdict for kind in (None, "review") for verdict in check_text(text, "merged.md", Options(kind=kind), sources())
    ]


def refused(text: str) -> list[tuple[str, str, str]]:
    """What stands in the way of accepting it."""
    return [
        (verdict.kind, violation.rule, violation.message)
        for verdict in verdicts(text)
        for violation in verdict.violations
        if not verdict.accepted and violation.level != "L3"
    ]


@given(merges(), st.booleans())
@also(merge_of(), False)
@also(merge_of(agents=FAILED, status="FAILED", decision="retry"), False)
@also(merge_of(agents=(), status="FAILED", decision="retry"), False)
def test_any_merge_gives_a_report_that_is_accepted(merge: Merge, with_checkout: bool) -> None:
    text = merge_markdown(merge, sources().workspace if with_checkout else None)
    assert refused(text) == []
    assert len(verdicts(text)) == 2


@given(merges())
def test_the_report_reads_back_as_it_was_meant(merge: Merge) -> None:
    result = merged_result(merge)
    (document,) = parse(render(result))
    assert document.result == result
