"""A merged report is a result under the contract: accepted for any text of the agents, and it cites nothing false."""

from __future__ import annotations

import pytest
from hypothesis import example as also
from hypothesis import given
from hypothesis import strategies as st
from merge_samples import LOST, PIECES, PLACES, ROOT, SHOP, example, finding, hostile, merge_of, merges, sources

from remit.checking import Options, Verdict, check_text
from remit.contract.findings import findings_of
from remit.contract.parse import parse
from remit.contract.render import render
from remit.contract.template import find_placeholders
from remit.evidence.sources import Sources
from remit.merging.content import DesignDifference, Sections, Statement
from remit.merging.merge_data import AgentReport, Conflict, Merge
from remit.reports.merge.markdown import merge_markdown, merged_result
from remit.reports.merge.parts import safe_text

FAILED = (AgentReport("qa-engineer", "FAILED", None), AgentReport("ruff", "FAILED", "reject"))
#: The names of agents are heads of columns.
UNFILLED = Sections(differences=(DesignDifference("Store", (Statement("a", "[Name]"), Statement("b", "<b>c"))),))
CITING = Sections(differences=(DesignDifference("Store", (Statement("app/none.py:3", "a"), Statement("b", "c"))),))
#: The only code that an agent quotes is a placeholder of the template.
TEMPLATE = merge_of(finding(category="security", details="```py\n[Name]\n```"))
SQL = "f\"SELECT * FROM products WHERE name LIKE '%{text}%'\""


def verdicts(text: str, *, with_checkout: bool = True) -> list[Verdict]:
    """Of the report as it is, and as a review."""
    against = sources() if with_checkout else Sources()
    return [
        verdict for kind in (None, "review") for verdict in check_text(text, "merged.md", Options(kind=kind), against)
    ]


def refused(text: str) -> list[tuple[str, str, str]]:
    """The violations that prevent acceptance."""
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
@also(merge_of(sections=CITING), False)
@also(merge_of(sections=UNFILLED), False)
@also(TEMPLATE, False)
def test_any_merge_gives_a_report_that_is_accepted(merge: Merge, with_checkout: bool) -> None:
    text = merge_markdown(merge, sources().workspace if with_checkout else None)
    if with_checkout:
        assert refused(text) == []
    else:  # unchecked locations are not called real; what else is left is overridden
        violations = [first for verdict in verdicts(text, with_checkout=False) for first in verdict.violations]
        assert [first.rule for first in violations if first.level == "L1"] == []
    assert len(verdicts(text)) == 2


@given(merges())
def test_the_report_reads_back_as_it_was_meant(merge: Merge) -> None:
    result = merged_result(merge)
    (document,) = parse(render(result))
    assert document.result == result


def test_the_examples_merge_into_a_report_without_a_single_complaint_but_its_length() -> None:
    names = ("review-security", "review-quality", "verification")
    text = merge_markdown(example(*names), sources().workspace)
    assert {violation.rule for verdict in verdicts(text) for violation in verdict.violations} == {"result-too-long"}
    assert "### Overrides" not in text


def test_every_finding_is_a_row_with_its_place_severity_score_and_category() -> None:
    merge = example()
    rows = findings_of(merged_result(merge))
    assert [(row.severity, row.confidence, row.category) for row in rows] == [
        (first.severity, first.confidence, first.category) for first in merge.findings
    ]
    assert rows[0].location == f"`{SHOP}/catalog.py:63`"


def test_ids_are_those_of_the_merge_and_have_details() -> None:
    names = ["SEC-001", "SEC2-001", "B608", "B608-2", "F-001", "py/sql-injection", "java:S2068", "a | b"]
    result = merged_result(merge_of(*(finding(name) for name in names)))
    (verdict, _) = verdicts(render(result))
    assert [row.id for row in verdict.document.findings] == names
    assert [detail.id for detail in verdict.document.details] == names


@pytest.mark.parametrize("place", LOST)
def test_a_failed_location_is_described_and_never_cited(place: tuple[str | None, int | None, int | None]) -> None:
    text = merge_markdown(merge_of(finding(place=place, verified=False), finding("QA-002", place=PLACES[1])))
    (verdict, _) = verdicts(text)
    assert {reference.path for reference in verdict.evidence.references} == {f"{SHOP}/payments.py"}
    assert "#### Locations Not Cited\n\n- QA-001: " in text
    assert "- finding-without-reference: " in text
    assert place[0] is None or place[0] in text


def test_two_findings_of_one_place_are_kept_apart_although_their_severities_differ() -> None:
    whole = (f"{SHOP}/auth.py", None, None)
    merge = merge_of(finding(place=whole, severity="critical"), finding(place=whole, severity="minor", title="Other"))
    text = merge_markdown(merge)
    assert refused(text) == []
    assert "- self-conflict: different findings at one location stay separate" in text


def test_a_missing_severity_is_not_invented() -> None:
    text = merge_markdown(merge_of(finding(severity=None)))
    assert refused(text) == []
    assert "- severity-missing: no agent gave a severity, and a merge does not invent one" in text
    assert "### Severity Summary\n- Critical: 0\n- Important: 0\n- Minor: 0\n" in text


def test_a_checkout_is_asked_again_before_a_place_is_cited() -> None:
    planned = merge_of(finding(place=("shop/planned.py", 3, None), verified=None))
    assert refused(merge_markdown(planned)) != []
    assert refused(merge_markdown(planned, sources().workspace)) == []


def test_code_is_quoted_from_the_checkout_and_holds() -> None:
    text = merge_markdown(merge_of(finding(details="```py\nsomething else\n```")), sources().workspace)
    assert f"```py {SHOP}/catalog.py:63\n        {SQL}\n```" in text
    assert [quote.outcome for verdict in verdicts(text) for quote in verdict.evidence.quotes] == ["verified"] * 2


def test_without_a_checkout_an_agents_code_is_text_and_not_a_claim() -> None:
    details = f"```python\n# {SHOP}/catalog.py:63\nmade_up()\n```"
    text = merge_markdown(merge_of(finding(category="security", details=details)))
    assert "Code as qa-engineer quoted it, not checked:" in text
    assert "made_up()" in text
    assert refused(text) == []
    assert all(not verdict.evidence.quotes for verdict in verdicts(text))


def test_each_agents_severity_score_and_words_stay_together() -> None:
    first = finding(
        "SEC-001", agents=("qa-engineer", "ruff"), details="**SEC-001: A bug**\n\n**Risk**: loss\n**Fix**: fix it"
    )
    assert "- qa-engineer: important, 90 (SEC-001). Risk: loss · Fix: fix it\n" in merge_markdown(merge_of(first))


def test_the_score_is_the_mean_of_what_is_verified_and_what_is_not() -> None:
    holds = [finding("QA-001", score=95), finding("QA-002", score=91, place=PLACES[1])]
    text = merge_markdown(merge_of(*holds, finding("QA-003", score=80, verified=None, place=PLACES[2])))
    assert "### Confidence\n86.5 - the evidence of 2 of 3 findings holds\n" in text
    assert "verified_confidence: 93 - mean of 2 findings whose evidence holds\n" in text
    assert "inferred_confidence: 80 - mean of 1 finding unchecked or failed\n" in text
    assert "**Score**: 86.5\n**Evidence Count**: 2\n" in text


def test_without_verified_findings_the_score_is_halved_and_the_uncertainty_stated() -> None:
    text = merge_markdown(merge_of(finding(score=90, verified=None)))
    assert "### Confidence\n45 - the evidence of 0 of 1 finding holds\n" in text
    assert "### Uncertainty\nThe evidence of 0 findings failed and that of 1 could not be checked; " in text


def test_no_findings_are_reported_and_scored_as_unscored() -> None:
    text = merge_markdown(merge_of())
    assert "Merged 1 result into no findings. The decision is continue." in text
    assert "### Confidence\n70 - no findings, so the score of an unscored finding is used" in text


def test_conflicts_are_listed_with_the_name_that_the_report_gives_the_finding() -> None:
    first, other = finding("SEC-001", agents=("a",)), finding("SEC2-001", agents=("b", "c"), place=PLACES[1])
    conflict = Conflict("score", "SEC2-001", ("b", "c"), "b gives it 97, c 45")
    text = merge_markdown(merge_of(first, other, conflicts=(conflict,), decision="review"))
    assert "| score | SEC2-001: A bug | b, c | b gives it 97, c 45 |" in text
    assert "1. Ask a person to decide 1 conflict\n" in text


def test_key_references_count_by_file() -> None:
    text = merge_markdown(merge_of(finding(), finding("QA-002", place=(PLACES[0][0], 31, None))))
    assert f"| QA-001 and 1 more | `{SHOP}/catalog.py:63` | 2 findings in this file, the worst important |" in text


def test_what_was_left_out_has_its_name_its_place_and_the_reason() -> None:
    text = merge_markdown(merge_of(dropped=(finding("QA-009", reason="confidence 60 is under 80 (no score given)"),)))
    assert f"- important QA-009: A bug; {SHOP}/catalog.py:63; confidence 60 is under 80 (no score given)\n" in text


def test_a_report_states_why_evidence_failed_and_which_form_to_merge() -> None:
    said = {"evidence": "there is no such file", "claimed_confidence": 88.0}
    text = merge_markdown(merge_of(finding(place=LOST[0], verified=False, said=said, flags=("disputed",))))
    assert "was claimed; evidence failed: there is no such file\n" in text
    assert "Flags: evidence failed: there is no such file, disputed\n" in text
    assert "(QA-001, claimed with 88)" in text
    assert "To merge this with other results, use the JSON form" in text


def test_who_did_not_finish_is_a_blocker_and_who_failed_a_next_step() -> None:
    agents = (AgentReport("a", "PARTIAL", "accept"), AgentReport("b", "FAILED", None))
    text = merge_markdown(merge_of(finding(), agents=agents, status="PARTIAL", decision="retry"))
    assert (
        "- a ended PARTIAL | Resolution: let it finish, or accept the gap\n- b ended FAILED | Resolution: run it again"
        in text
    )
    assert "1. Run again: b\n" in text


def test_a_failed_merge_states_the_cause_and_the_recovery() -> None:
    text = merge_markdown(merge_of(agents=FAILED, status="FAILED", decision="retry"))
    (verdict, _) = verdicts(text)
    assert (verdict.kind, verdict.status, verdict.violations) == ("error", "FAILED", ())


@pytest.mark.parametrize("count", [0, 1, 200, 201, 5000])
def test_a_long_merge_is_cut_with_a_note(count: int) -> None:
    text = merge_markdown(merge_of(*(finding(f"QA-{number}", title="漢" * 400) for number in range(count))))
    assert refused(text) == []
    assert len(text.encode()) < 500_000
    assert ("of lower rank not listed" in text) is (count > 200)


def test_a_title_of_a_million_characters_is_cut_to_three_hundred() -> None:
    for title in ("x" * 1_000_000, "a/b.py:1 " * 111_111, "[Name] " * 142_857):
        text = merge_markdown(merge_of(finding(title=title)), sources().workspace)
        assert refused(text) == []
        assert len(text) < 9000


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("<script>alert(1)</script>", "\\<script>alert(1)\\</script>"),
        ("[Name] and [x](javascript:y)", "\\[Name] and \\[x](javascript:y)"),
        ("a `code` b", "a 'code' b"),
        ("C:\\[x]", "C:\\\\\\[x]"),
        ("one\n\n  two\tthree", "one two three"),
        ("\x1b[31mred", "␛\\[31mred"),
    ],
)
def test_an_agents_words_become_plain_markdown(written: str, expected: str) -> None:
    assert safe_text(written) == expected


@given(st.one_of(hostile, st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join)))
def test_no_words_hold_a_placeholder(text: str) -> None:
    assert list(find_placeholders(safe_text(text))) == []


def test_the_fixture_tree_has_the_locations_of_the_samples() -> None:
    for path, line, _ in PLACES:
        assert len((ROOT / path).read_text().splitlines()) >= (line or 1)
