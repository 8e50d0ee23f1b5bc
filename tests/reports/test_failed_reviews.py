"""Each format reports a review in which every reviewer failed: the reasons, what to do and what was not read."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest
from merge_samples import merge_github

from remit.merging.inputs import failed_report
from remit.merging.merge import merge as merge_all
from remit.merging.merge import with_coverage
from remit.merging.merge_data import LanguageCoverage, Merge
from remit.reports.formats import format_json
from remit.reports.layout import plain_lines
from remit.reports.merge.decision import failures_of
from remit.reports.merge.html import merge_html
from remit.reports.merge.markdown import merge_markdown
from remit.reports.merge.sarif import merge_sarif
from remit.reports.merge.text import merge_text_lines

REASON, ADVICE = "ruff ended with code 2", "See what it wrote: `remit jobs logs 7`"
FORMATS: dict[str, Callable[[Merge], str]] = {
    "text": lambda merge: plain_lines(merge_text_lines(merge, 300)),
    "json": format_json,
    "markdown": merge_markdown,
    "html": merge_html,
    "sarif": lambda merge: merge_sarif(merge, version="1.0.0"),
    "github": merge_github,
}


def review(*, unread: int = 3, agents: tuple[str, ...] = ("ruff", "quiet")) -> Merge:
    """Return a review by reviewers that failed; the second one gives no reason."""
    reasons = {"ruff": (f"it ended with error: {REASON}", [ADVICE])}
    reports = [failed_report(name, *reasons.get(name, ())) for name in agents]
    coverage = (LanguageCoverage("Python", 3, {}, unread), LanguageCoverage("Go", 2, {}, 2))
    return with_coverage(merge_all(reports), coverage)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_reports_that_nothing_was_reviewed_and_why(name: str) -> None:
    text = " ".join(FORMATS[name](review()).split())
    assert REASON in text
    assert ADVICE.replace("`", "'" if name == "markdown" else "`") in text
    assert "quiet" in text
    assert "Python" in text
    assert "Go" in text
    if name == "json":
        merged = json.loads(text)
        assert (merged["status"], merged["decision"]) == ("FAILED", "retry")
        assert [entry["unread"] for entry in merged["coverage"]] == [3, 2]
    elif name == "sarif":
        run = json.loads(text)["runs"][0]["invocations"][0]
        assert run["executionSuccessful"] is False
        notes = run["toolExecutionNotifications"]
        levels = [(entry["descriptor"]["id"], entry["level"]) for entry in notes]
        assert levels == [("agent-failed", "error")] * 2 + [("not-read", "warning")] * 2
        assert "Go: 2 files, none reviewed" in notes[-1]["message"]["text"]
    else:
        assert "NOT REVIEWED" in text
        assert "Go: 2 files, none reviewed" in text


def test_an_agent_that_gives_no_reason_sent_no_result() -> None:
    assert [(entry.agent, entry.has_failed) for entry in failures_of(review())] == [("ruff", True), ("quiet", True)]
    assert failures_of(review())[1].text == "it sent no result. Run it again"


def test_the_annotation_of_a_failed_review_is_an_error_before_all_others() -> None:
    head, first, second, third = merge_github(review()).splitlines()
    assert head.startswith("::notice title=decision retry")
    assert first.startswith("::error title=NOT REVIEWED::NOT REVIEWED: quiet and ruff failed, and no other reviewer")
    assert first.endswith("Python: 3 files, none reviewed; Go: 2 files, none reviewed")
    assert second.startswith("::error title=ruff failed::RunFailed: it ended with error: ")
    assert third == "::error title=quiet failed::it sent no result. Run it again"


def test_a_review_of_little_code_has_a_warning_as_annotation() -> None:
    first = merge_github(review(unread=1)).splitlines()[1]
    assert first == (
        "::warning title=Most of the code was not reviewed::Python: 3 files, 1 not reviewed; Go: 2 files, none reviewed"
    )


def test_a_part_that_could_not_be_read_is_a_warning() -> None:
    merge = review(agents=("ruff",))
    partial = merge_all([])
    only_errors = msgspec.structs.replace(partial, status="PARTIAL", decision="review", sections=merge.sections)
    assert merge_github(only_errors).split("\n")[1].startswith("::warning title=ruff needs attention::RunFailed")
