"""The findings of a result: rows of Issues Detected and bullets of Issues."""

from __future__ import annotations

import pytest

from remit.contract.findings import category_of, details_of, findings_of, flags_in, severity_of
from remit.contract.parse import parse
from remit.contract.result_data import Result
from remit.rules.examples import sample_text


def read(text: str) -> Result:
    return parse(text)[0].result


def rows(*lines: str, columns: str = "| ID | Issue | File:Line | Severity | Confidence |") -> Result:
    marks = "|" + "---|" * (columns.count("|") - 1)
    return read("\n".join(["## QA Engineer Result", "### Findings", "#### Issues Detected", columns, marks, *lines]))


def test_rows_come_before_bullets_and_both_have_lines() -> None:
    text = sample_text("review").replace("### Next Steps", "### Issues\n- Slow | Severity: low\n\n### Next Steps")
    found = findings_of(read(text))
    assert [(finding.id, finding.source) for finding in found] == [
        ("SEC-001", "row"),
        ("SEC-002", "row"),
        ("", "bullet"),
    ]
    lines = text.split("\n")
    assert all(finding.title in lines[finding.line - 1] for finding in found)


def test_a_row_is_a_finding() -> None:
    (found,) = findings_of(rows("| `SEC-1` | **Bad** | `a.py:1` | High | 92% |"))
    assert (found.id, found.title, found.location) == ("SEC-1", "Bad", "`a.py:1`")
    assert (found.severity, found.severity_text, found.confidence) == ("important", "High", 92)
    assert (found.category, found.flags) == ("security", ())


@pytest.mark.parametrize(
    ("word", "severity"),
    [
        ("Critical", "critical"),
        ("important", "important"),
        ("High", "important"),
        ("MEDIUM", "important"),
        ("Low", "minor"),
        ("Info", "minor"),
        ("minor", "minor"),
        ("**Critical**", "critical"),
        ("🔴 Critical", "critical"),
        ("Severe", None),
        ("Critical or minor", None),
        ("", None),
    ],
)
def test_severities_are_folded_and_not_guessed(word: str, severity: str | None) -> None:
    assert severity_of(word) == severity


def test_a_severity_is_not_derived_from_confidence() -> None:
    (found,) = findings_of(rows("| A-1 | Bad | `a.py:1` |  | 99 |"))
    assert found.severity is None


@pytest.mark.parametrize(
    ("stated", "name", "agent", "category"),
    [
        ("Performance", "SEC-1", "qa-engineer", "performance"),
        ("", "SEC-1", "qa-engineer", "security"),
        ("", "qa-1", "security-auditor", "quality"),
        ("", "PERF-1", "x", "performance"),
        ("", "ARCH-1", "x", "architecture"),
        ("", "TEST-1", "x", "testing"),
        ("", "DOC-1", "x", "documentation"),
        ("", "OPS-1", "x", "operations"),
        ("", "UX-1", "x", "ux"),
        ("", "DATA-1", "x", "data"),
        ("", "BUG-1", "security-auditor", "bug"),
        ("", "1", "Security Auditor", "security"),
        ("", "", "QA Engineer", "quality"),
        ("", "", "code-architect", "architecture"),
        ("", "", "system-architect", "architecture"),
        ("", "", "plugin:devops", "operations"),
        ("", "", "anyone", "general"),
    ],
)
def test_the_category_comes_from_the_column_the_prefix_or_the_agent(
    stated: str, name: str, agent: str, category: str
) -> None:
    assert category_of(stated, name, agent) == category


@pytest.mark.parametrize(
    "row", ["| None | | | | |", "| - | - | - | - | - |", "| N/A | none | n/a | | |", "| | | | | |"]
)
def test_a_row_that_states_nothing_is_not_a_finding(row: str) -> None:
    assert findings_of(rows(row)) == []


def test_a_bullet_that_states_nothing_is_not_a_finding() -> None:
    assert findings_of(read("## A Result\n### Issues\n- None\n")) == []
    assert len(findings_of(read("## A Result\n### Issues\n- None: but slow\n"))) == 1


def test_a_bullet_may_start_with_its_id() -> None:
    (found,) = findings_of(read("## A Result\n### Issues\n- SEC-7 Bad: at `a.py:3` | Severity: critical\n"))
    assert (found.id, found.category, found.severity) == ("SEC-7", "security", "critical")


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ("uncertain whether it is used", ("uncertain",)),
        ("Assumed from the name", ("assumed",)),
        ("needs corroboration", ("needs-corroboration",)),
        ("uncertain, assumed, needs-corroboration", ("uncertain", "assumed", "needs-corroboration")),
        ("推測です、要確認", ("assumed", "needs-corroboration")),
        ("certainly", ()),
    ],
)
def test_words_of_uncertainty_become_flags(words: str, flags: tuple[str, ...]) -> None:
    assert flags_in(words) == flags
    (found,) = findings_of(rows(f"| A-1 | {words} | `a.py:1` | Low | 9 |"))
    assert found.flags == flags


def test_a_table_may_omit_or_reorder_columns() -> None:
    (found,) = findings_of(rows("| Bad | `a.py:1` |", columns="| Problem | Location |"))
    assert (found.id, found.title, found.location, found.confidence) == ("", "Bad", "`a.py:1`", None)


def test_details_are_found_by_ids_in_bold_or_headings() -> None:
    text = "\n".join(
        [
            *(
                "## A Result",
                "### Findings",
                "#### Issue Details",
                "before any",
                "",
                "**SEC-1: Bad**",
                "```",
                "x",
                "```",
            ),
            *("**Risk**: much", "", "##### SEC-2 - Worse", "Code match: `y`", "", "**Note**: SEC-3 is not here"),
        ]
    )
    found = details_of(read(text))
    assert [(detail.id, detail.title, detail.line, detail.has_quote) for detail in found] == [
        ("SEC-1", "Bad", 6, True),
        ("SEC-2", "Worse", 12, True),
    ]
