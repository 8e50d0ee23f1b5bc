"""What a merge states about its decision, its coverage and a review in which nothing was read."""

from __future__ import annotations

import pytest
from merge_samples import merge_of

from remit.merging.content import AgentError, Sections
from remit.merging.merge import merge, with_coverage
from remit.merging.merge_data import AgentReport, LanguageCoverage, Merge
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
    outcome = with_coverage(merge_of(), (coverage,))
    for written in (
        plain_lines(merge_text_lines(outcome, 140)),
        merge_markdown(outcome),
        merge_sarif(outcome, version="1.0.0"),
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
    outcome = with_coverage(merge_of(agents=agents), coverage)
    assert (outcome.status, outcome.decision) == ("FAILED", decision)
    assert decision_text(outcome).startswith(f"NOT REVIEWED: {text}")


@pytest.mark.parametrize("failed", [False, True])
def test_a_review_that_read_little_of_the_code_is_partial(failed: bool) -> None:
    agents = (AgentReport("zizmor", "SUCCESS", "accept"), *([FAILED] if failed else []))
    unread = merge_of(
        agents=agents, decision="retry" if failed else "continue", status="PARTIAL" if failed else "SUCCESS"
    )
    outcome = with_coverage(unread, (GO, YAML, PROSE))
    assert (outcome.status, outcome.decision) == ("PARTIAL", "retry" if failed else "review")
    if not failed:
        text = "most of the code was not reviewed; files not reviewed: 2 Go, 2 YAML"
        assert decision_text(outcome) == text


def test_a_review_that_read_half_of_the_code_is_a_success() -> None:
    half = LanguageCoverage("Go", 4, {"vet": 2}, 2)
    outcome = with_coverage(merge_of(), (half, PROSE))
    assert (outcome.status, outcome.decision) == ("SUCCESS", "continue")


def merged(text: str) -> Merge:
    return merge([text])


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        ("### Status\nDone\n\n", "its status 'Done' is not SUCCESS, PARTIAL or FAILED"),
        ("", "it has no status (SUCCESS, PARTIAL or FAILED)"),
    ],
)
def test_a_status_that_does_not_exist_is_named(status: str, problem: str) -> None:
    outcome = merged(f"## Qa Engineer Result\n\n{status}### Summary\nAll is well.\n")
    assert outcome.agents[0].status == "PARTIAL"
    assert [(error.type, error.message) for error in outcome.sections.errors] == [("NoStatus", problem)]
    assert decision_text(outcome).startswith(f"qa-engineer: {problem}")
    assert "did not finish" not in decision_text(outcome)
    assert merge([outcome]) == outcome


def test_a_partial_result_did_not_finish() -> None:
    outcome = merged("## Qa Engineer Result\n\n### Status\nPARTIAL\n\n### Summary\nHalf is done.\n")
    assert decision_text(outcome).startswith("qa-engineer did not finish")
    assert not outcome.sections.errors


def test_many_invalid_statuses_are_counted() -> None:
    names = [f"a{number}" for number in range(5)]
    errors = tuple(AgentError(agent=name, type="NoStatus", message="it has no status") for name in names)
    agents = tuple(AgentReport(name, "PARTIAL", "revise") for name in names)
    outcome = merge_of(agents=agents, decision="review", status="PARTIAL", sections=Sections(errors=errors))
    text = decision_text(outcome)
    assert "a2: it has no status; 2 more agents without a valid status" in text
