"""The fields of sections: scores, labels, bullets with a labelled tail, boxes, counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from strategies import maybe_line
from verdicts import blocking, broken, verdict

from remit.contract.lines import is_none_text, plain_text
from remit.contract.parse import parse
from remit.contract.result_data import (
    Blocker,
    Confidence,
    Count,
    ErrorDetails,
    Issue,
    KeyReference,
    Override,
    Result,
    Tick,
)
from remit.contract.section_fields import is_not_applicable, read_score, read_status
from remit.rules.examples import sample_text

GENERIC = sample_text("generic")
SCORED = """90 - every cited line was opened and read
verified_confidence: 95
inferred_confidence: 85
combined_confidence: 90
"""


def section(name: str, body: str) -> Result:
    (document,) = parse(f"## A Result\n\n### {name}\n{body}\n")
    return document.result


def confidence(body: str) -> Confidence:
    found = section("Confidence", body).confidence
    assert found is not None
    return found


class TestScores:
    @pytest.mark.parametrize(
        ("written", "score", "reason"),
        [
            ("92 - why", 92, "why"),
            ("92% - why", 92, "why"),
            ("92 % - why", 92, "why"),
            ("92/100 - why", 92, "why"),
            ("92 / 100 - why", 92, "why"),
            ("**92** - why", 92, "why"),
            ("**92%** - why", 92, "why"),
            ("**92/100** — why", 92, "why"),
            ("`92` - why", 92, "why"),
            ("92.5 - why", 92.5, "why"),
            ("~92 - why", 92, "why"),
            ("92 (why)", 92, "why"),
            ("92: why", 92, "why"),
            ("92, why", 92, "why"),
            ("92 – why", 92, "why"),
            ("92 because it was read", 92, "because it was read"),
            ("92% confident", 92, "confident"),
            ("92 - (read) and run", 92, "(read) and run"),
            ("92 - `a.py` is **sure**", 92, "`a.py` is **sure**"),
            ("92 - 3 of 4 files", 92, "3 of 4 files"),
            ("Score: 92 - why", 92, "why"),
            ("**Confidence**: 92 - why", 92, "why"),
            ("**Overall score:** 92 - why", 92, "why"),
            ("92", 92, ""),
            ("0 - why", 0, "why"),
            ("-5 - why", -5, "why"),
            ("101 - why", 101, "why"),
        ],
    )
    def test_numbers_are_read_in_many_forms(self, written: str, score: float, reason: str) -> None:
        found = confidence(written)
        assert (found.score, found.reason) == (score, reason)

    @pytest.mark.parametrize(
        "written",
        [
            "high - why",
            "92-95 - why",
            "92–95 - why",
            "92..95 - why",
            "92 to 95 - why",
            "n/a - why",
            "very high",
            "nineteen",
        ],
    )
    def test_words_and_ranges_are_not_numbers(self, written: str) -> None:
        assert isinstance(confidence(written).score, str)
        assert broken(GENERIC.replace("90 - every cited line was opened and read", written)) == ["confidence-range"]

    def test_a_word_keeps_its_reason(self) -> None:
        assert confidence("**high** - read `a.py`") == Confidence(score="high", reason="read `a.py`")

    def test_the_reason_may_continue_on_the_next_line(self) -> None:
        found = confidence("92 - read\nand run\nverified: 92\nagain")
        assert (found.reason, found.verified) == ("read and run again", 92)

    def test_the_breakdown_is_read_in_many_forms(self) -> None:
        expected = Confidence(
            score=92.0, reason="why", verified=95.0, verified_reason="read", inferred=89.0, combined=92.0
        )
        for body in (
            "92 - why\nverified_confidence: 95 (read)\ninferred_confidence: 89\ncombined_confidence: 92",
            "92 - why\n\n- verified: 95 - read\n- inferred: 89%\n- combined: **92**",
            "92 - why\n**Verified Confidence**: 95 read\n**Inferred Confidence:** 89\n**Combined Confidence: 92**",
            "| Score | 92 - why |\n|--|--|\n| verified | 95 (read) |\n| inferred | 89 |\n| combined | 92/100 |",
        ):
            assert confidence(body) == expected, body

    def test_without_a_headline_the_combined_score_is_the_score(self) -> None:
        assert confidence("verified: 95\ninferred: 89\ncombined: 92").score == 92

    def test_the_first_of_two_equal_parts_counts(self) -> None:
        assert confidence("92 - why\nverified: 95\nverified: 11").verified == 95

    @pytest.mark.parametrize("word", ["n/a", "N/A", "na", "none", "not applicable", "-"])
    def test_not_applicable_has_several_spellings(self, word: str) -> None:
        assert is_not_applicable(confidence(f"92 - why\ninferred: {word}").inferred)

    @given(maybe_line)
    def test_reading_is_idempotent(self, text: str) -> None:
        score, _ = read_score(text)
        assert isinstance(score, float) or read_score(score) == (score, "")


class TestConfidenceRules:
    """Section 6 of the contract, with an example on each side of every threshold."""

    def rules(self, body: str, *, justified: bool = True) -> list[str]:
        text = GENERIC.replace(SCORED, body + "\n")
        if not justified:
            start, end = text.index("### Confidence Justification"), text.index("### Verification Completed")
            text = text[:start] + text[end:]
        return [rule for rule in broken(text) if rule.startswith("confidence-")]

    @pytest.mark.parametrize(
        ("score", "expected"),
        [
            ("-1", ["confidence-range"]),
            ("0", []),
            ("74", []),
            ("100.5", ["confidence-range"]),
            ("101", ["confidence-range"]),
        ],
    )
    def test_a_score_is_between_0_and_100(self, score: str, expected: list[str]) -> None:
        rules = self.rules(f"{score} - why", justified=False)
        assert [rule for rule in rules if rule != "confidence-uncertainty"] == expected

    @pytest.mark.parametrize(("score", "expected"), [("74", []), ("74.9", []), ("75", ["confidence-breakdown"])])
    def test_a_breakdown_is_required_from_75(self, score: str, expected: list[str]) -> None:
        assert self.rules(f"{score} - why", justified=False) == expected

    @pytest.mark.parametrize(("score", "expected"), [("84", []), ("84.9", []), ("85", ["confidence-justification"])])
    def test_a_justification_is_required_from_85(self, score: str, expected: list[str]) -> None:
        assert self.rules(f"{score} - why\nverified: {score}\ninferred: {score}", justified=False) == expected

    @pytest.mark.parametrize(("score", "expected"), [("69.9", ["confidence-uncertainty"]), ("70", [])])
    def test_uncertainty_is_required_below_70(self, score: str, expected: list[str]) -> None:
        assert self.rules(f"{score} - why", justified=False) == expected

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ("90 - why\nverified: 95\ninferred: 85\ncombined: 90", []),
            ("90 - why\nverified: 95\ninferred: 85", []),
            ("90 - why\nverified: 95\ninferred: 85\ncombined: 91", []),
            ("90 - why\nverified: 95\ninferred: 85\ncombined: 89", []),
            ("90 - why\nverified: 95\ninferred: 85\ncombined: 91.1", ["confidence-arithmetic"]),
            ("90 - why\nverified: 95\ninferred: 85\ncombined: 88.9", ["confidence-arithmetic"]),
            ("90 - why\nverified: 96\ninferred: 86", []),
            ("90 - why\nverified: 97\ninferred: 85", []),
            ("90 - why\nverified: 97\ninferred: 86", ["confidence-arithmetic"]),
            ("90 - why\nverified: 90.2\ninferred: 89.9\ncombined: 90.05", []),
            ("90 - why\nverified: 91\ninferred: n/a", []),
            ("90 - why\nverified: 91.1\ninferred: n/a", ["confidence-arithmetic"]),
            ("90 - why\nverified: 90\ninferred: n/a\ncombined: 91", []),
            ("90 - why\nverified: n/a\ninferred: 90", ["confidence-breakdown"]),
            ("90 - why\nverified: 95", ["confidence-breakdown"]),
            ("90 - why\ninferred: 95", ["confidence-breakdown"]),
            ("90 - why\ncombined: 90", ["confidence-breakdown"]),
            ("90 - why\nverified: high\ninferred: 85", ["confidence-range"]),
            ("90 - why\nverified: 95\ninferred: 101", ["confidence-range"]),
            ("90\nverified: 95\ninferred: 85", ["confidence-reason"]),
        ],
    )
    def test_the_score_must_match_its_parts(self, body: str, expected: list[str]) -> None:
        assert self.rules(body) == expected

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ("72 - why\nverified: 80\ninferred: 64", []),
            ("72 - why\nverified: 80\ninferred: 60", ["confidence-arithmetic"]),
            ("72 - why\nverified: 72", []),
        ],
    )
    def test_an_optional_breakdown_must_also_match(self, body: str, expected: list[str]) -> None:
        assert self.rules(body, justified=False) == expected

    @pytest.mark.parametrize("written", ["90", "90%", "90/100", "**90**", "90.0"])
    def test_the_justified_score_is_compared_as_a_number(self, written: str) -> None:
        assert broken(GENERIC.replace("**Score**: 90", f"**Score**: {written}")) == []

    @pytest.mark.parametrize("count", ["2", "2 files", "**2**", "0"])
    def test_an_evidence_count_must_be_a_number(self, count: str) -> None:
        assert broken(GENERIC.replace("**Evidence Count**: 2", f"**Evidence Count**: {count}")) == []

    def test_a_failed_result_needs_no_confidence_but_a_stated_one_is_checked(self) -> None:
        assert blocking(sample_text("error") + "\n### Confidence\nhigh\n") == ["confidence-range"]
        assert verdict(sample_text("error")).confidence.claimed is None


class TestLabels:
    def test_a_justification_is_read_from_labelled_lines(self) -> None:
        for body in (
            "**Score**: 90\n**Evidence Count**: 2\n**Verification Method**: read\n**Potential Blind Spots**: none",
            "- Score: 90\n- Evidence Count: 2\n- Verification Method: read\n- Blind Spots: none",
            "**Score:** 90\n**Evidence Count:** 2 places\n**Verification Method: read**\n_Potential Blind Spots_: none",
            "| Score | 90 |\n|--|--|\n| Evidence Count | 2 |\n| Verification Method | read |\n| Blind Spots | none |",
        ):
            found = section("Confidence Justification", body).justification
            assert found is not None
            assert (found.score, found.evidence_count, found.method, found.blind_spots) == (90, 2, "read", "none"), body

    def test_a_value_may_continue_on_the_next_line(self) -> None:
        found = section(
            "Confidence Justification", "Verification Method: read\nand run\nBlind Spots: none"
        ).justification
        assert found is not None
        assert (found.method, found.blind_spots) == ("read and run", "none")

    def test_marks_inside_a_value_are_kept(self) -> None:
        found = section("Confidence Justification", "**Verification Method**: *read* and **run**").justification
        assert found is not None
        assert found.method == "*read* and **run**"

    def test_an_empty_cell_of_the_error_details_stays_empty(self) -> None:
        body = "| Aspect | Value |\n|--|--|\n| Type | Timeout |\n| Message | |\n| Recoverable | true |"
        assert section("Error Details", body).error == ErrorDetails(type="Timeout", recoverable="true")

    def test_error_details_may_be_labelled_lines(self) -> None:
        body = "- **Type**: Timeout\n- **Message**: a: b | c\n- **Occurred At**: `a.py:1`\n- **Recoverable**: true"
        assert section("Error Details", body).error == ErrorDetails(
            type="Timeout", message="a: b | c", occurred_at="`a.py:1`", recoverable="true"
        )

    def test_a_heading_inside_a_section_is_a_line_of_it(self) -> None:
        assert section("Error Details", "#### Type: Timeout\n").error == ErrorDetails(type="Timeout")


class TestLists:
    @pytest.mark.parametrize(
        ("written", "expected"),
        [
            ("- Slow: twice | Severity: minor", Issue(title="Slow", description="twice", severity="minor")),
            ("- Slow: twice | Severity: **Minor**", Issue(title="Slow", description="twice", severity="Minor")),
            ("- Slow: twice | severity：minor", Issue(title="Slow", description="twice", severity="minor")),
            ("- Slow: twice ｜ 重大度：minor", Issue(title="Slow", description="twice", severity="minor")),
            ("- Slow: twice\n  Severity: minor", Issue(title="Slow", description="twice", severity="minor")),
            ("- Slow: twice (Severity: minor)", Issue(title="Slow", description="twice", severity="minor")),
            ("- Slow: twice [Severity: minor]", Issue(title="Slow", description="twice", severity="minor")),
            ("- Slow: a | b | Severity: minor", Issue(title="Slow", description="a | b", severity="minor")),
            ("- Slow: a | Severity: minor\n  and b", Issue(title="Slow", description="a\nand b", severity="minor")),
            ("- Slow: a (Severity: minor)\n  and b", Issue(title="Slow", description="a\nand b", severity="minor")),
            ("- Slow at `a.py:3`: twice", Issue(title="Slow at `a.py:3`", description="twice")),
            ("- Slow", Issue(title="Slow")),
            ("1. Slow: twice | Severity: minor", Issue(title="Slow", description="twice", severity="minor")),
            ("Slow: twice | Severity: minor", Issue(title="Slow", description="twice", severity="minor")),
            ("| Issue | Severity |\n|--|--|\n| Slow | `minor` |", Issue(title="Slow", severity="minor")),
        ],
    )
    def test_issues_are_read_in_many_forms(self, written: str, expected: Issue) -> None:
        assert section("Issues", written).issues == (expected,)

    @pytest.mark.parametrize(
        ("written", "expected"),
        [
            ("- No key | Resolution: ask", Blocker(text="No key", resolution="ask")),
            ("- No key\n  Resolution: ask", Blocker(text="No key", resolution="ask")),
            ("- No key\n  **Resolution**: ask", Blocker(text="No key", resolution="ask")),
            ("- No key\n  - Resolution: ask", Blocker(text="No key", resolution="ask")),
            ("- No key | Resolution: ask\n  now", Blocker(text="No key\nnow", resolution="ask")),
            ("- No key: none | Resolution: ask: twice", Blocker(text="No key: none", resolution="ask: twice")),
            ("- No key", Blocker(text="No key")),
        ],
    )
    def test_a_blocker_may_use_one_line_or_two(self, written: str, expected: Blocker) -> None:
        assert section("Blockers", written).blockers == (expected,)

    @pytest.mark.parametrize(
        ("written", "expected"),
        [
            ("- [x] done", Tick(text="done", ticked=True)),
            ("- [X] done", Tick(text="done", ticked=True)),
            ("- [✓] done", Tick(text="done", ticked=True)),
            ("- ✅ done", Tick(text="done", ticked=True)),
            ("✔️ done", Tick(text="done", ticked=True)),
            ("[x] done", Tick(text="done", ticked=True)),
            ("- [ ] done", Tick(text="done", ticked=False)),
            ("- [] done", Tick(text="done", ticked=False)),
            ("- [-] done", Tick(text="done", ticked=False)),
            ("- ❌ done", Tick(text="done", ticked=False)),
            ("- ☐ done", Tick(text="done", ticked=False)),
        ],
    )
    def test_ticked_boxes_are_read_in_many_forms(self, written: str, expected: Tick) -> None:
        assert section("Verification Completed", written).checklist == (expected,)

    def test_other_lines_of_a_checklist_are_not_boxes(self) -> None:
        assert section("Verification Completed", "All of it:\n- done").checklist == ()

    @pytest.mark.parametrize(
        "written",
        [
            "- Critical: 2\n- Minor: 1",
            "Critical: 2, Minor: 1",
            "**Critical**: 2 | **Minor**: 1",
            "| Critical | 2 |\n|-|-|\n| Minor | 1 |",
        ],
    )
    def test_severity_counts_are_read_in_many_forms(self, written: str) -> None:
        expected = (Count(severity="Critical", count=2), Count(severity="Minor", count=1))
        assert section("Severity Summary", written).severity_summary == expected

    def test_a_severity_without_a_number_is_not_counted(self) -> None:
        assert section("Severity Summary", "- Critical: none\n- Minor: -1\n- Low: 1.5").severity_summary == ()

    def test_an_override_is_a_rule_and_a_reason(self) -> None:
        found = section("Overrides", "- **Single-Source**: one file: all there is | really\n- other").overrides
        assert found == (
            Override(rule="single-source", reason="one file: all there is | really"),
            Override(rule="other", reason=""),
        )

    def test_further_columns_are_added_to_the_relevance(self) -> None:
        body = "| Location | Item | Relevance | Owner |\n|-|-|-|-|\n| `a.py:1` | a | why | me |\n| b | c | | |"
        assert section("Key References", body).references == (
            KeyReference(item="a", location="`a.py:1`", relevance="why; Owner: me"),
            KeyReference(item="c", location="b"),
        )

    def test_a_pipe_in_a_cell_is_part_of_the_cell(self) -> None:
        body = "| Item | Location | Relevance |\n|-|-|-|\n| a \\| b | `c` | d |"
        assert section("Key References", body).references[0].item == "a | b"


class TestStatus:
    @pytest.mark.parametrize(
        ("written", "status", "exact"),
        [
            ("SUCCESS", "SUCCESS", True),
            ("PARTIAL", "PARTIAL", True),
            ("FAILED", "FAILED", True),
            ("failed", "FAILED", False),
            ("**Partial**", "PARTIAL", False),
            ("✅ Success", "SUCCESS", False),
            ("❌ FAILED", "FAILED", False),
            ("⚠️ PARTIAL", "PARTIAL", False),
            ("[SUCCESS]", "SUCCESS", False),
            ("SUCCESS (with notes)", "SUCCESS", False),
            ("SUCCESS - all read", "SUCCESS", False),
            ("SUCCESS.", "SUCCESS", False),
        ],
    )
    def test_a_status_is_read_in_many_forms(self, written: str, status: str, exact: bool) -> None:
        assert read_status(written) == (status, exact)

    @pytest.mark.parametrize(
        "written",
        ["DONE", "NOT SUCCESS", "SUCCESSFUL", "UNSUCCESS", "SUCCESS or FAILED", "SUCCESS/FAILED", "", "✅", "no"],
    )
    def test_other_words_are_returned_unchanged(self, written: str) -> None:
        assert read_status(written) == (written, False)

    @given(maybe_line)
    def test_reading_is_idempotent(self, text: str) -> None:
        status, _ = read_status(text)
        assert read_status(status)[0] == status


@pytest.mark.parametrize("text", ["None", "none.", "N/A", "- None", "なし", "无", "No issues", "", "-"])
def test_an_entry_may_state_that_there_is_nothing(text: str) -> None:
    assert is_none_text(text.removeprefix("- "))


@pytest.mark.parametrize("text", ["None of the tests ran", "no key"])
def test_an_entry_that_starts_with_none_may_have_content(text: str) -> None:
    assert not is_none_text(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**a**", "a"),
        ("`a`", "a"),
        ("a * b", "a  b"),
        ("2*3", "2*3"),
        ("__a__ b", "a b"),
        ("_`_a", "a"),
        ("*_*`*_*", ""),
    ],
)
def test_plain_text_has_no_emphasis(text: str, expected: str) -> None:
    assert plain_text(text) == expected


@given(maybe_line)
def test_plain_text_is_idempotent(text: str) -> None:
    assert plain_text(plain_text(text)) == plain_text(text)


def test_parts_are_equal_regardless_of_their_lines() -> None:
    here: Any = Issue(title="a", line=3)
    there: Any = Issue(title="a", line=9)
    assert here == there
    assert not here != there  # noqa: SIM202 (both operators are meant)
    assert hash(here) == hash(there)
    assert here != Issue(title="b", line=3)
    assert here != Blocker(text="a")
