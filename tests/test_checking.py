"""Verdicts: levels and attempts, overrides, profiles, and one violation for each fault."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from strategies import documents
from verdicts import SAMPLE_TREE, blocking, broken, verdict

import remit
from remit.checking import Options, check_text
from remit.contract.kinds import KINDS
from remit.contract.profiles import CLAIM_RULES, PROFILES
from remit.errors import UsageError
from remit.rules.catalog import NAMES, every_rule, find_name
from remit.rules.examples import TREE, sample_text

GENERIC = sample_text("generic")
#: One fault of each level, in a result that has no other.
FAULTS = {
    "L1": GENERIC.replace("### Status\nSUCCESS", "### Status\nDONE"),
    "L2": GENERIC.replace("90 - every cited line was opened and read", "90"),
    "L3": GENERIC.replace("### Next Steps\n1. Tag the release\n", ""),
}
RULES = {"L1": "status-unknown", "L2": "confidence-reason", "L3": "next-steps-missing"}


def with_overrides(text: str, *lines: str) -> str:
    return text + "\n### Overrides\n" + "".join(f"- {line}\n" for line in lines)


class TestLevels:
    """Section 1 of the contract: the table of levels and attempts."""

    @pytest.mark.parametrize(
        ("level", "attempt", "expected"),
        [
            ("L1", 1, "revise"),
            ("L1", 2, "reject"),
            ("L1", 3, "reject"),
            ("L2", 1, "revise"),
            ("L2", 2, "accept"),
            ("L3", 1, "accept"),
            ("L3", 2, "accept"),
        ],
    )
    def test_the_level_and_the_attempt_decide(self, level: str, attempt: int, expected: str) -> None:
        found = verdict(FAULTS[level], attempt=attempt)
        assert [(violation.rule, violation.level) for violation in found.violations] == [(RULES[level], level)]
        assert found.verdict == expected
        assert found.accepted == (expected == "accept")

    def test_a_valid_result_is_accepted_at_any_attempt(self) -> None:
        assert [verdict(GENERIC, attempt=attempt).verdict for attempt in (1, 2)] == ["accept", "accept"]

    def test_the_highest_level_decides(self) -> None:
        all_three = FAULTS["L1"].replace("90 - every cited line was opened and read", "90").replace("1. Tag", "Tag")
        assert verdict(all_three, attempt=2).verdict == "reject"

    @pytest.mark.parametrize("attempt", [0, -1])
    def test_attempts_are_counted_from_one(self, attempt: int) -> None:
        with pytest.raises(UsageError, match="the attempt must be at least 1"):
            verdict(GENERIC, attempt=attempt)


class TestOverrides:
    def test_an_override_in_the_result_excuses_a_default_rule(self) -> None:
        found = verdict(with_overrides(FAULTS["L2"], "confidence-reason: scored by a tool"))
        assert found.verdict == "accept"
        assert [violation.rule for violation in found.violations] == ["confidence-reason"]
        assert [(override.rule, override.reason) for override in found.overrides] == [
            ("confidence-reason", "scored by a tool")
        ]

    def test_a_callers_override_excuses_a_default_rule(self) -> None:
        found = verdict(FAULTS["L2"], overrides=(("confidence-reason", "scored by a tool"),))
        assert found.verdict == "accept"
        assert found.overrides[0].reason == "scored by a tool"

    def test_the_callers_reason_has_priority(self) -> None:
        text = with_overrides(FAULTS["L2"], "confidence-reason: mine")
        assert verdict(text, overrides=(("confidence-reason", "yours"),)).overrides[0].reason == "yours"

    @pytest.mark.parametrize(("attempt", "expected"), [(1, "revise"), (2, "reject")])
    def test_a_hard_rule_cannot_be_overridden(self, attempt: int, expected: str) -> None:
        text = with_overrides(FAULTS["L1"], "status-unknown: because")
        assert verdict(text, attempt=attempt).verdict == expected
        assert verdict(text, attempt=attempt, overrides=(("status-unknown", "because"),)).verdict == expected

    def test_a_default_rule_that_the_profile_raises_cannot_be_overridden(self) -> None:
        text = with_overrides(FAULTS["L2"], "confidence-reason: because")
        assert verdict(text, profile="v1").verdict == "revise"

    @pytest.mark.parametrize("line", ["confidence-reason", "confidence-reason:", "confidence-reason:  "])
    def test_an_override_without_a_reason_does_not_count(self, line: str) -> None:
        found = verdict(with_overrides(FAULTS["L2"], line))
        assert found.verdict == "revise"
        assert found.overrides == ()

    def test_a_callers_override_without_a_reason_is_a_usage_error(self) -> None:
        with pytest.raises(UsageError, match="needs a reason"):
            verdict(GENERIC, overrides=(("confidence-reason", " "),))

    def test_an_override_of_an_unknown_rule_does_not_count_in_a_result(self) -> None:
        assert verdict(with_overrides(FAULTS["L2"], "confidence-resaon: because")).verdict == "revise"

    def test_a_callers_override_of_an_unknown_rule_is_a_usage_error(self) -> None:
        with pytest.raises(UsageError, match="did you mean 'confidence-reason'"):
            verdict(GENERIC, overrides=(("confidence-resaon", "because"),))

    @pytest.mark.parametrize(
        "line", ["**confidence-reason**: why", "`confidence-reason`: why", "Confidence-Reason: why"]
    )
    def test_an_override_may_be_emphasised(self, line: str) -> None:
        assert verdict(with_overrides(FAULTS["L2"], line)).verdict == "accept"

    def test_an_override_of_one_rule_does_not_excuse_another(self) -> None:
        both = FAULTS["L2"].replace("**Score**: 90\n", "")
        assert verdict(with_overrides(both, "confidence-reason: because")).verdict == "revise"


class TestProfiles:
    """Section 2 of the contract, rule by rule."""

    NOT_IN_V1 = (
        "confidence-breakdown",
        "confidence-justification",
        "confidence-uncertainty",
        "checklist-missing",
        "checklist-unticked",
        "quote-condensed",
        "single-source",
        "security-without-quote",
    )
    OTHER_IN_V1 = {
        "confidence-reason": "L1",
        "block-missing": "L2",
        "finding-without-reference": "L1",
        "line-missing": "L1",
    }

    @pytest.mark.parametrize("rule", every_rule(), ids=lambda rule: rule.name)
    def test_v1_applies_the_rules_of_the_first_version(self, rule: Any) -> None:
        expected = None if rule.name in self.NOT_IN_V1 else self.OTHER_IN_V1.get(rule.name, rule.level)
        assert rule.level_in("v1") == expected

    @pytest.mark.parametrize("rule", every_rule(), ids=lambda rule: rule.name)
    def test_v2_applies_every_rule_at_its_default_level(self, rule: Any) -> None:
        assert rule.level_in("v2") == rule.level

    #: Note 2 of the contract: the L1 evidence rules, three L2 rules on locations, and self-conflict. A file that is not
    #: text is reported in every profile.
    IN_CLAIMS = {
        "unreadable": "L1",
        "reference-missing-file": "L1",
        "reference-out-of-range": "L1",
        "quote-mismatch": "L1",
        "no-tool-calls": "L1",
        "test-run-unseen": "L1",
        "change-unseen": "L1",
        "symbol-missing": "L1",
        "reference-relocated": "L2",
        "reference-outdated": "L2",
        "quote-relocated": "L2",
        "command-missing": "L2",
        "test-missing": "L2",
        "self-conflict": "L2",
    }

    @pytest.mark.parametrize("rule", every_rule(), ids=lambda rule: rule.name)
    def test_claims_applies_only_the_rules_on_claims(self, rule: Any) -> None:
        assert rule.level_in("claims") == self.IN_CLAIMS.get(rule.name)

    def test_every_rule_of_the_profile_claims_exists(self) -> None:
        assert CLAIM_RULES == set(self.IN_CLAIMS) <= set(NAMES)

    def test_a_result_without_scored_parts_is_checked_by_its_profile(self) -> None:
        bare = re.sub(r"verified_confidence.*?(?=### Next Steps)", "", GENERIC, flags=re.DOTALL)
        assert sorted(blocking(bare)) == ["checklist-missing", "confidence-breakdown", "confidence-justification"]
        assert verdict(bare).verdict == "revise"
        assert broken(bare, profile="v1") == []
        assert verdict(bare, profile="v1").verdict == "accept"

    @pytest.mark.parametrize("profile", PROFILES)
    @pytest.mark.parametrize("kind", KINDS)
    def test_every_sample_is_accepted_under_every_profile(self, kind: str, profile: str) -> None:
        assert broken(sample_text(kind), profile=profile) == []

    def test_an_unknown_profile_is_reported_with_the_valid_ones(self) -> None:
        with pytest.raises(UsageError, match="there is no profile 'v3'; choose from v2, v1, claims"):
            verdict(GENERIC, profile="v3")


class TestKinds:
    def test_a_failed_result_has_the_kind_error_and_may_be_accepted(self) -> None:
        found = verdict(sample_text("error"))
        assert (found.status, found.kind, found.verdict) == ("FAILED", "error", "accept")

    def test_a_failed_result_has_the_kind_error_even_if_the_caller_names_another(self) -> None:
        assert verdict(sample_text("error"), kind="implementation").kind == "error"

    def test_the_agents_name_decides_the_kind(self) -> None:
        assert {kind: verdict(sample_text(kind)).kind for kind in KINDS} == {kind: kind for kind in KINDS}

    def test_the_caller_may_name_the_kind(self) -> None:
        found = verdict(GENERIC, kind="verification")
        assert found.kind == "verification"
        assert [violation.rule for violation in found.violations] == ["block-missing"]

    def test_the_configuration_may_name_the_kind_of_an_agent(self) -> None:
        assert verdict(GENERIC, kinds={"release-helper": "document"}).kind == "document"
        assert verdict(GENERIC, kinds={"other": "document"}).kind == "generic"

    def test_the_agents_name_is_compared_as_a_slug(self) -> None:
        for name in ("code-explorer", "CODE EXPLORER", "Code_Explorer", "`code-explorer`", "my-plugin:code-explorer"):
            found = verdict(sample_text("exploration").replace("Code Explorer", name, 1))
            assert found.kind == "exploration", name

    def test_output_uses_the_slug(self) -> None:
        assert verdict(sample_text("exploration")).agent == "code-explorer"

    def test_an_unknown_kind_is_reported_with_the_nearest(self) -> None:
        with pytest.raises(UsageError, match="there is no kind 'reveiw', did you mean 'review'"):
            verdict(GENERIC, kind="reveiw")
        with pytest.raises(UsageError, match="there is no kind"):
            verdict(GENERIC, kinds={"a": "nonsense"})


class TestStatus:
    @pytest.mark.parametrize(
        "written",
        [
            "### Status\n\n",
            "",
            "### Status\n[SUCCESS | PARTIAL | FAILED]\n\n",
            "### Status\n-\n\n",
            "### Status\n✅\n\n",
        ],
    )
    def test_a_missing_or_empty_status_is_never_success(self, written: str) -> None:
        text = GENERIC.replace("### Status\nSUCCESS\n\n", written)
        found = verdict(text)
        assert found.status != "SUCCESS"
        assert found.verdict == "revise"
        assert len(found.violations) == 1

    def test_a_status_in_the_summary_is_not_a_status(self) -> None:
        text = GENERIC.replace("### Status\nSUCCESS\n\n", "").replace(
            "nothing waits", "the status is SUCCESS and nothing waits"
        )
        assert verdict(text).status is None


def without(text: str, place: int, *, mark: str) -> tuple[str, str]:
    """Return a text without its n-th part, where `mark` starts a part, and the first line of that part."""
    parts = re.split(rf"^(?={mark} )", text, flags=re.MULTILINE)
    return "".join(parts[:place] + parts[place + 1 :]), parts[place].split("\n", 1)[0]


def places(mark: str) -> list[tuple[str, int]]:
    return [
        (kind, place)
        for kind in KINDS
        for place in range(1, len(re.split(rf"^(?={mark} )", sample_text(kind), flags=re.MULTILINE)))
    ]


class TestOneFault:
    """One fault gives one violation."""

    OPTIONAL = {
        "### Next Steps": ["next-steps-missing"],
        "### Trade-offs Considered": ["tradeoffs-missing"],
        "### Severity Summary": [],
        "### Attempted Actions": ["error-details-missing"],
        "### Root Cause Analysis": ["error-details-missing"],
        "### Recovery Options": ["error-details-missing"],
        "### Blockers": [],
    }

    @pytest.mark.parametrize(("kind", "place"), places("###"))
    def test_a_missing_section_is_one_violation(self, kind: str, place: int) -> None:
        text, heading = without(sample_text(kind), place, mark="###")
        found = verdict(text)
        if heading in self.OPTIONAL:
            assert [violation.rule for violation in found.violations] == self.OPTIONAL[heading]
            assert found.verdict == "accept"
        else:
            assert len(found.violations) == 1
            assert found.violations[0].level in ("L1", "L2")
            assert found.verdict == "revise"

    @pytest.mark.parametrize(("kind", "place"), places("###"))
    def test_an_empty_section_is_the_same_violation_as_a_missing_one(self, kind: str, place: int) -> None:
        missing, heading = without(sample_text(kind), place, mark="###")
        parts = re.split(r"^(?=### )", sample_text(kind), flags=re.MULTILINE)
        empty = "".join([*parts[:place], f"{heading}\n\n", *parts[place + 1 :]])
        assert broken(empty) == broken(missing)

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_missing_title_is_one_violation(self, kind: str) -> None:
        asked = {"agent": "Explore"} if kind == "search" else {}
        assert broken(sample_text(kind).split("\n", 1)[1], **asked) == ["title-missing"]

    @pytest.mark.parametrize(("kind", "place"), places("####?"))
    def test_a_missing_or_empty_block_is_one_kind_of_violation(self, kind: str, place: int) -> None:
        text, heading = without(sample_text(kind), place, mark="####?")
        parts = re.split(r"^(?=####? )", sample_text(kind), flags=re.MULTILINE)
        empty = "".join([*parts[:place], f"{heading}\n\n", *parts[place + 1 :]])
        assert len(set(broken(text))) <= 1
        assert len(set(broken(empty))) <= 1

    def test_an_unfilled_placeholder_is_the_only_violation_of_its_line(self) -> None:
        text = GENERIC.replace("90 - every cited line was opened and read", "[0-100] - [why]")
        assert broken(text) == ["placeholder-left"]

    def test_prose_violates_only_title_missing(self) -> None:
        assert broken("I could not do it. Sorry.") == ["title-missing"]

    def test_violations_are_in_document_order(self) -> None:
        text = re.sub(r"### Status\nSUCCESS", "### Status\nDONE", sample_text("review")).replace(
            "| Minor |", "| Severe |"
        )
        lines = [violation.line for violation in verdict(text).violations]
        assert lines == sorted(lines)
        assert len(lines) == 2


class TestSelection:
    FAULTY = FAULTS["L1"].replace("90 - every cited line was opened and read", "90")

    def test_without_a_selection_every_rule_is_checked(self) -> None:
        assert broken(self.FAULTY) == ["status-unknown", "confidence-reason"]

    @pytest.mark.parametrize("selector", ["confidence-reason", "CNF003", "cnf003", "confidence", "CNF"])
    def test_a_selection_keeps_a_rule_a_code_or_a_family(self, selector: str) -> None:
        both = FAULTS["L3"].replace("90 - every cited line was opened and read", "90")
        assert broken(both) == ["next-steps-missing", "confidence-reason"]
        assert broken(both, select=(selector,)) == ["confidence-reason"]

    @pytest.mark.parametrize("selector", ["confidence-reason", "CNF003", "confidence"])
    def test_a_rule_that_is_ignored_is_not_reported_and_does_not_block(self, selector: str) -> None:
        assert broken(self.FAULTY, ignore=(selector,)) == ["status-unknown"]
        assert verdict(FAULTS["L2"], ignore=(selector,)).verdict == "accept"

    def test_ignore_has_priority_over_select(self) -> None:
        assert broken(FAULTS["L2"], select=("confidence", "result"), ignore=("confidence-reason",)) == []

    @pytest.mark.parametrize(
        "options",
        [
            {"ignore": ("result",)},
            {"ignore": ("status-unknown",)},
            {"select": ("confidence",)},
            {"select": ("CNF003",)},
        ],
        ids=str,
    )
    def test_a_rule_of_level_l1_is_never_left_out(self, options: dict[str, tuple[str, ...]]) -> None:
        assert "status-unknown" in broken(self.FAULTY, **options)
        assert verdict(self.FAULTY, **options).verdict == "revise"

    @pytest.mark.parametrize("selector", ["status-unknown", "RES003"])
    def test_a_rule_of_level_l1_that_is_named_to_be_ignored_is_refused(self, selector: str) -> None:
        name = find_name(selector)
        with pytest.raises(UsageError, match=f"{name} has the level L1 and is never ignored"):
            Options(ignore=("CNF", selector)).without_ignored_l1()
        assert Options(ignore=("result", "CNF")).without_ignored_l1()

    def test_a_deselected_rule_still_disables_dependent_rules(self) -> None:
        text = GENERIC.replace("### Status\nSUCCESS\n\n", "")
        assert broken(text, select=("confidence",)) == ["status-missing"]

    def test_an_unknown_rule_is_reported_with_the_nearest(self) -> None:
        with pytest.raises(UsageError, match="there is no rule 'status-mising', did you mean 'status-missing'"):
            verdict(GENERIC, select=("status-mising",))
        with pytest.raises(UsageError, match="there is no rule"):
            verdict(GENERIC, ignore=("nonsense",))


class TestLibrary:
    @pytest.fixture(autouse=True)
    def _in_the_project(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(TREE)

    def test_check_takes_text(self) -> None:
        assert remit.check(GENERIC).accepted

    def test_check_takes_a_path(self, tmp_path: Path) -> None:
        path = tmp_path / "answer.md"
        path.write_text(GENERIC, encoding="utf-8")
        assert remit.check(path).accepted
        with pytest.warns(DeprecationWarning, match="pass pathlib.Path"):
            assert remit.check(str(path)).path == str(path)

    def test_check_refuses_several_results(self) -> None:
        with pytest.raises(UsageError, match="check_all"):
            remit.check(GENERIC + GENERIC)
        assert len(remit.check_all(GENERIC + GENERIC)) == 2

    def test_a_missing_file_is_a_usage_error(self) -> None:
        with pytest.raises(UsageError, match=r"no-such-file\.md"):
            remit.check(Path("no-such-file.md"))

    def test_the_claimed_scores_are_part_of_the_verdict(self) -> None:
        scores = verdict(GENERIC).confidence
        assert (scores.claimed, scores.verified, scores.inferred, scores.supported) == (90, 95, 85, None)

    def test_a_score_in_words_is_not_a_number(self) -> None:
        assert verdict(GENERIC.replace("90 - every", "high - every")).confidence.claimed is None


class TestEvidence:
    def test_without_a_repository_the_checkout_of_the_file_or_else_of_the_current_folder_is_checked(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(TREE)
        (tmp_path / "answer.md").write_text(GENERIC, encoding="utf-8")
        invented = GENERIC.replace("app/", "invented/")
        for found in (remit.check(GENERIC), remit.check(tmp_path / "answer.md")):
            assert found.accepted
            assert "reference-missing-file" not in {skipped.rule for skipped in found.not_run}
        assert not remit.check(invented).accepted
        assert not remit.verify(invented).accepted
        (tmp_path / ".git").mkdir()
        assert not remit.check(tmp_path / "answer.md").accepted

    def test_an_unchecked_test_run_claim_is_reported(self) -> None:
        found = verdict(sample_text("implementation"), SAMPLE_TREE)
        why = {skipped.rule: skipped.why for skipped in found.not_run}
        assert why["test-run-unseen"] == "no receipts were given"

    def test_the_python_function_takes_a_repository_and_receipts(self, tmp_path: Path) -> None:
        path = tmp_path / "answer.md"
        path.write_text(GENERIC, encoding="utf-8")
        assert remit.check(path, repo=TREE).accepted
        assert remit.check(path, repo=str(TREE)).path == str(path)
        assert remit.check(GENERIC, repo=TREE, receipts=[]).verdict == "revise"

    @pytest.mark.parametrize("function", ["check", "check_all", "verify"])
    def test_the_python_functions_read_transcripts_and_files_of_receipts(self, function: str, tmp_path: Path) -> None:
        def seen_in(receipts: Path | str) -> str:
            found = getattr(remit, function)(GENERIC, repo=TREE, receipts=receipts)
            (one,) = found if isinstance(found, list) else [found]
            return ", ".join(sorted({str(reference.opened) for reference in one.evidence.references}))

        (tmp_path / "receipts.json").write_text('{"receipts": []}', encoding="utf-8")
        (tmp_path / "no-calls.jsonl").write_text('{"type": "user", "message": {"content": "hello"}}', encoding="utf-8")
        (tmp_path / "unknown.jsonl").write_text("{}", encoding="utf-8")
        assert [seen_in(tmp_path / name) for name in ("receipts.json", "no-calls.jsonl")] == ["no", "no"]
        assert seen_in(str(tmp_path / "unknown.jsonl")) == "None"

    @pytest.mark.parametrize("function", ["check", "check_all", "verify"])
    def test_the_python_functions_report_the_first_source_that_is_missing(self, function: str, tmp_path: Path) -> None:
        transcript = tmp_path / "none.jsonl"
        for repo, message in ((TREE, f"{transcript}: No such file"), (tmp_path / "none", "none: not a folder")):
            with pytest.raises(UsageError, match=re.escape(message)):
                getattr(remit, function)(GENERIC, repo=repo, receipts=transcript)

    def test_a_scope_of_one_file_excuses_a_single_source(self) -> None:
        text = sample_text("verification").replace("app/session.py:10", "app/login.py:14")
        text = text.replace("app/session.py:8", "app/login.py:14")
        assert "single-source" in broken(text, SAMPLE_TREE)
        assert "single-source" not in broken(text, SAMPLE_TREE, scope=("app/login.py",))

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_sample_is_verified_against_its_tree(self, kind: str) -> None:
        assert broken(sample_text(kind), SAMPLE_TREE) == []


@given(documents)
def test_a_check_never_raises(text: str) -> None:
    for profile in PROFILES:
        for found in check_text(text, "x.md", Options(profile=profile)):
            assert found.verdict in ("accept", "revise", "reject")
            assert all(violation.line >= 1 for violation in found.violations)


@given(documents)
def test_a_second_attempt_is_never_revised(text: str) -> None:
    assert all(found.verdict != "revise" for found in check_text(text, "x.md", Options(attempt=2)))
