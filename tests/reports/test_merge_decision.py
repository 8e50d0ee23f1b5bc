"""What a merge states about its decision, its coverage and a review in which nothing was read."""

from __future__ import annotations

import pytest
from merge_samples import merge_of

from remit.checking import Options, check_text
from remit.evidence.sources import open_sources
from remit.merging.inputs import read_input
from remit.merging.merge import merge_reports, with_coverage
from remit.merging.merge_data import AgentReport, LanguageCoverage, Merge, MergeSettings
from remit.merging.previous import reports_of
from remit.reports.layout import plain_lines
from remit.reports.merge.decision import decision_text
from remit.reports.merge.groups import coverage_text
from remit.reports.merge.markdown import merge_markdown
from remit.reports.merge.sarif import merge_sarif
from remit.reports.merge.text import merge_text_lines

READERS = {"scout": 3, "auditor": 2}


@pytest.mark.parametrize(
    ("coverage", "text"),
    [
        (
            LanguageCoverage("Python", 3, READERS, 0),
            "Python: 3 files, reviewed by scout, auditor 2",
        ),
        (
            LanguageCoverage("Python", 4, READERS, 1),
            "Python: 4 files, 1 not reviewed; reviewed by scout 3, auditor 2",
        ),
        (LanguageCoverage("Go", 1, {}, 1), "Go: 1 file, none reviewed"),
    ],
)
def test_each_format_names_who_read_the_files_of_a_language(coverage: LanguageCoverage, text: str) -> None:
    assert coverage_text(coverage) == text
    merge = with_coverage(merge_of(), (coverage,))
    for written in (
        plain_lines(merge_text_lines(merge, 140)),
        merge_markdown(merge),
        merge_sarif(merge, version="1.0.0"),
    ):
        assert text in written


DONE = AgentReport("secret-scan", "SUCCESS", "accept")
YAML = LanguageCoverage("YAML", 3, {"zizmor": 1}, 2)
PROSE = LanguageCoverage("Markdown", 90, {}, 90)
FAILED = AgentReport("ruff", "FAILED", None)
GO = LanguageCoverage("Go", 2, {}, 2)


@pytest.mark.parametrize(
    ("agents", "coverage", "decision", "text"),
    [
        ((), (), "review", "there is no file to review here, or git ignores all of them; name a folder"),
        (
            (AgentReport("ruff", "SUCCESS", "accept"),),
            (GO,),
            "review",
            "no reviewer could read a file; `remit review --list`",
        ),
        ((FAILED,), (GO,), "retry", "ruff failed, and no other reviewer could read a file"),
    ],
    ids=["no files", "no reviewer", "a failed reviewer"],
)
def test_a_review_of_nothing_states_why_and_what_helps(
    agents: tuple[AgentReport, ...], coverage: tuple[LanguageCoverage, ...], decision: str, text: str
) -> None:
    merge = with_coverage(merge_of(agents=agents), coverage)
    assert (merge.status, merge.decision) == ("FAILED", decision)
    assert decision_text(merge).startswith(f"NOT REVIEWED: {text}")
    written = merge_markdown(merge)
    assert "nothing to merge" not in written
    for kind in (None, "review"):
        (verdict,) = check_text(written, "merged.md", Options(kind=kind), open_sources(None))
        assert verdict.accepted, verdict.violations


@pytest.mark.parametrize("failed", [False, True])
def test_a_review_that_read_little_of_the_code_is_partial(failed: bool) -> None:
    agents = (AgentReport("zizmor", "SUCCESS", "accept"), *([FAILED] if failed else []))
    unread = merge_of(
        agents=agents, decision="retry" if failed else "continue", status="PARTIAL" if failed else "SUCCESS"
    )
    merge = with_coverage(unread, (GO, YAML, PROSE))
    assert (merge.status, merge.decision) == ("PARTIAL", "retry" if failed else "review")
    if not failed:
        text = "most of the code was not reviewed; files not reviewed: 2 Go, 2 YAML"
        assert decision_text(merge) == text
    written = merge_markdown(merge)
    for kind in (None, "review"):
        (verdict,) = check_text(written, "merged.md", Options(kind=kind), open_sources(None))
        assert verdict.accepted, verdict.violations


def test_a_review_that_read_half_of_the_code_is_a_success() -> None:
    half = LanguageCoverage("Go", 4, {"vet": 2}, 2)
    merge = with_coverage(merge_of(), (half, PROSE))
    assert (merge.status, merge.decision) == ("SUCCESS", "continue")


def merged(text: str) -> Merge:
    return merge_reports(read_input(text.encode(), "a.md", Options(), open_sources(None)).reports, MergeSettings())


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        ("### Status\nDone\n\n", "its status 'Done' is not SUCCESS, PARTIAL or FAILED"),
        ("", "it has no status (SUCCESS, PARTIAL or FAILED)"),
    ],
)
def test_a_status_that_does_not_exist_is_named(status: str, problem: str) -> None:
    merge = merged(f"## Qa Engineer Result\n\n{status}### Summary\nAll is well.\n")
    assert (merge.agents[0].status, merge.agents[0].problem) == ("PARTIAL", problem)
    assert decision_text(merge).startswith(f"qa-engineer: {problem}")
    assert "did not finish" not in decision_text(merge)
    assert merge_reports(reports_of(merge), MergeSettings(), [merge]) == merge


def test_a_partial_result_did_not_finish() -> None:
    merge = merged("## Qa Engineer Result\n\n### Status\nPARTIAL\n\n### Summary\nHalf is done.\n")
    assert decision_text(merge).startswith("qa-engineer did not finish")
    assert not merge.agents[0].problem


def test_many_invalid_statuses_are_counted() -> None:
    agents = tuple(AgentReport(f"a{number}", "PARTIAL", "revise", problem="it has no status") for number in range(5))
    merge = merge_of(agents=agents, decision="review", status="PARTIAL")
    text = decision_text(merge)
    assert "a2: it has no status; 2 more agents without a valid status" in text
