"""Aggregation: everything that subagents report is in the merged report, in every format."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from remit.rules.examples import TREE, sample_text
from remit.surfaces.cli import main

ROOT = Path(__file__).parents[2]
ALL_KINDS = ("exploration", "design", "implementation", "document", "error", "verification")
#: One statement of each part that used to disappear.
STATEMENTS = (
    "Followed an order from the browser's form",  # summary
    "POST /payments/webhook",  # entry point
    "Receipt queued",  # flow
    "functions over an explicit connection",  # pattern
    "none beyond the standard library",  # dependency
    "A domain module keyed by user",  # recommended architecture
    "wishlist_pages.py",  # implementation map
    "Register the routes",  # build sequence
    "A flag on cart lines: rejected",  # trade-off
    "Shipping: Free from forty pounds",  # key reference
    "test_cart.py",  # files created
    "15 passed in 0.92s",  # test results
    "Amounts are whole pence everywhere",  # implementation notes
    "start, settings, path of a request",  # files of a document
    "Access to the provider's sandbox is missing",  # blocker
    "An account, or a recorded exchange",  # its resolution
    "No sandbox account and no route",  # error
    "one charge and one refund as sent",  # recovery option
    "Connect the cart to the checkout",  # next step
    "Tokens come from the random module",  # claim
)

Remit = Callable[..., str]


@pytest.fixture
def remit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["remit", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main()
        return capsys.readouterr().out

    return run


def files(*names: str) -> list[str]:
    return [f"examples/results/{name}.md" for name in names]


def flat(text: str) -> str:
    """The words of a report, without line breaks, tags and entities."""
    text = re.sub(r"<[^>]*>", " ", text).replace("&#39;", "'").replace("&#34;", '"')
    return " ".join(text.split())


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_a_merge_of_all_kinds_loses_no_part_in_any_format(remit: Remit, form: str) -> None:
    report = flat(remit("merge", *files(*ALL_KINDS), "--format", form))
    for statement in STATEMENTS:
        parts = statement.split(": ") if form in ("json", "markdown") else [statement]
        assert all(part in report for part in parts), statement


def test_a_merge_without_reviews_does_not_state_that_no_issues_were_found(remit: Remit) -> None:
    for form in ("text", "markdown", "html"):
        report = remit("merge", *files("exploration", "design"), "--format", form).lower()
        assert "no issues were found" not in report
        assert "no agent looked for issues" in report


def test_a_clean_review_states_that_no_issues_were_found(remit: Remit, tmp_path: Path) -> None:
    review = re.sub(
        r"#### Issues Detected.*?(?=\n### )",
        "#### Issues Detected\n\nNo issues were found.\n",
        (ROOT / "examples/results/review-quality.md").read_text("utf-8"),
        flags=re.DOTALL,
    )
    (tmp_path / "clean.md").write_text(review, encoding="utf-8")
    assert "no issues were found" in remit("merge", str(tmp_path / "clean.md")).lower()


def test_each_agent_is_listed_with_how_it_ended(remit: Remit) -> None:
    merged = json.loads(remit("merge", *files(*ALL_KINDS), "--format", "json"))
    assert {(one["agent"], one["status"], one["kind"]) for one in merged["sections"]["summaries"]} == {
        ("backend-specialist", "FAILED", "error"),
        ("backend-specialist", "SUCCESS", "implementation"),
        ("code-architect", "SUCCESS", "design"),
        ("code-explorer", "SUCCESS", "exploration"),
        ("technical-writer", "SUCCESS", "document"),
        ("verification-specialist", "SUCCESS", "verification"),
    }
    assert merged["decision"] == "retry"


def test_key_references_are_listed_once_with_the_agents_that_cite_them(remit: Remit) -> None:
    merged = json.loads(remit("merge", *files("design", "implementation"), "--format", "json"))
    references = merged["sections"]["references"]
    locations = [(one["path"], one["line"], one["end_line"]) for one in references]
    assert len(locations) == len(set(locations))
    (shared,) = [one for one in references if one["location"] == "examples/shop/shop/cart.py:61"]
    assert shared["agents"] == ["backend-specialist", "code-architect"]
    assert shared["outcome"] == "exists"


def test_two_designs_of_one_file_are_shown_side_by_side(remit: Remit, tmp_path: Path) -> None:
    other = (ROOT / "examples/results/design.md").read_text("utf-8")
    other = other.replace("## Code Architect Result", "## System Architect Result")
    other = other.replace(
        "`examples/shop/shop/storage.py:5` | Modify (add wishes)",
        "`examples/shop/shop/storage.py:5` | Modify (add a column)",
    )
    (tmp_path / "other.md").write_text(other, encoding="utf-8")
    words = ["merge", *files("design"), str(tmp_path / "other.md"), "--repo", "."]
    merged = json.loads(remit(*words, "--format", "json"))
    assert merged["sections"]["differences"] == [
        {
            "subject": "examples/shop/shop/storage.py",
            "statements": [
                {"agent": "code-architect", "text": "Table: Modify (add wishes)"},
                {"agent": "system-architect", "text": "Table: Modify (add a column)"},
            ],
        }
    ]
    for form in ("text", "markdown", "html"):
        report = flat(remit(*words, "--format", form))
        start = report.index("Different Designs")
        assert "Modify (add wishes)" in report[start : start + 400]
        assert "Modify (add a column)" in report[start : start + 400]
    assert "| By code-architect | By system-architect |" in remit(*words, "--format", "markdown")
    (row,) = [line for line in remit(*words).split("\n") if "add wishes" in line and "add a column" in line]
    assert row.index("add wishes") < 40 < row.index("add a column"), "next to each other in 80 columns"


def test_a_merge_of_all_kinds_can_be_merged_again(remit: Remit, tmp_path: Path) -> None:
    once = remit("merge", *files(*ALL_KINDS), "--format", "json")
    (tmp_path / "merge.json").write_text(once, encoding="utf-8")
    assert remit("merge", str(tmp_path / "merge.json"), "--repo", ".", "--format", "json") == once


def test_the_seeds_own_example_agrees_across_categories(remit: Remit, tmp_path: Path) -> None:
    """security-auditor reports SEC-001 with 95, and qa-engineer reports the same as QA-001 with 78."""
    table = "| ID | Issue | File:Line | Severity | Confidence |\n|---|---|---|---|---|\n"
    for agent, name, score in (("Security Auditor", "SEC-001", 95), ("QA Engineer", "QA-001", 78)):
        row = f"| {name} | SQL injection in search | `examples/shop/shop/catalog.py:63` | critical | {score} |\n"
        text = f"## {agent} Result\n\n### Status\nSUCCESS\n\n### Summary\nx\n\n### Findings\n\n#### Issues Detected\n"
        (tmp_path / f"{name}.md").write_text(text + table + row, encoding="utf-8")
    words = ["merge", str(tmp_path), "--repo", ".", "--format", "json"]
    (finding,) = json.loads(remit(*words))["findings"]
    assert (finding["confidence"], finding["flags"]) == (96.5, ["agreed", "revise"])
    assert finding["members"] == [
        {"agent": "qa-engineer", "id": "QA-001"},
        {"agent": "security-auditor", "id": "SEC-001"},
    ]


def test_critical_and_minor_for_one_problem_are_a_conflict_across_categories(remit: Remit, tmp_path: Path) -> None:
    test_the_seeds_own_example_agrees_across_categories(remit, tmp_path)
    file = tmp_path / "QA-001.md"
    file.write_text(file.read_text("utf-8").replace("| critical | 78 |", "| minor | 150 |"), encoding="utf-8")
    merged = json.loads(remit("merge", str(tmp_path), "--repo", ".", "--format", "json"))
    [conflict] = merged["conflicts"]
    assert (conflict["kind"], conflict["agents"]) == ("severity", ["qa-engineer", "security-auditor"])
    assert merged["decision"] == "review"
    claimed = {one["agent"]: one["claimed"] for one in merged["findings"][0]["opinions"]}
    assert claimed == {"qa-engineer": 150.0, "security-auditor": 95.0}, "a score that was clamped is kept"


def test_bullets_of_issues_have_the_score_of_their_result(remit: Remit, tmp_path: Path) -> None:
    text = (ROOT / "examples/results/exploration.md").read_text("utf-8")
    bullet = "### Issues\n- Cart is slow: it reads twice (`examples/shop/shop/cart.py:50`) | Severity: minor\n\n"
    (tmp_path / "a.md").write_text(text.replace("### Next Steps", f"{bullet}### Next Steps"), encoding="utf-8")
    merged = json.loads(remit("merge", str(tmp_path / "a.md"), "--repo", ".", "--format", "json"))
    (finding,) = merged["findings"]
    assert finding["confidence"] == merged["sections"]["summaries"][0]["confidence"]
    assert finding["flags"] == []


def test_g18_a_conflict_that_an_agent_reports_itself_is_a_conflict(remit: Remit, tmp_path: Path) -> None:
    text = sample_text("review").replace(
        "| SEC-002 |", "| SEC-003 | Tokens cannot be guessed | `app/session.py:10` | Minor | 90 |\n| SEC-002 |"
    )
    text = text.replace("- Minor: 1", "- Minor: 2")
    text = text.replace("### Next Steps", "### Overrides\n- self-conflict: a person must decide\n\n### Next Steps")
    report = tmp_path / "report.md"
    report.write_text(text)
    merged = remit("merge", str(report), "--repo", str(TREE), "--format", "json")
    found = json.loads(merged)
    assert (found["status"], found["decision"]) == ("SUCCESS", "review")
    [conflict] = found["conflicts"]
    assert (conflict["kind"], conflict["agents"]) == ("self", ["security-auditor"])
    assert "calls app/session.py:10 (security) critical, this line minor" in conflict["why"]
    again = tmp_path / "merged.json"
    again.write_text(merged)
    kept = json.loads(remit("merge", str(again), str(report), "--repo", str(TREE), "--format", "json"))
    assert [one["kind"] for one in kept["conflicts"]] == ["self"], "a second merge keeps it"
