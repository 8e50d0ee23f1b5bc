"""Verdicts: levels, attempts, overrides, profiles, and one violation for one fault."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import remit
from remit.checking import Options, Verdict, check_text
from remit.contract.kinds import KINDS
from remit.errors import UsageError
from remit.evidence.sources import Sources
from remit.rules.examples import TREE, sample
from remit.workspace.files import WorkTree


def verdict(text: str | bytes, **options: object) -> Verdict:
    (found,) = check_text(text, options=Options(**options), sources=Sources(workspace=WorkTree(TREE)))  # type: ignore[arg-type]
    return found


GENERIC = sample("generic")
L1 = GENERIC.replace("### Status\nSUCCESS\n\n", "")
L2 = GENERIC.replace("90 - every cited line was opened and read", "90")
L3 = GENERIC.replace("\n### Next Steps\n1. Tag the release\n", "")


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [(GENERIC, "accept", "accept"), (L1, "revise", "reject"), (L2, "revise", "accept"), (L3, "accept", "accept")],
    ids=["faultless", "L1", "L2", "L3"],
)
def test_a_level_decides_by_attempt(text: str, first: str, second: str) -> None:
    assert verdict(text, attempt=1).verdict == first
    assert verdict(text, attempt=2).verdict == second
    assert verdict(text, attempt=3).verdict == second
    assert verdict(text, attempt=1).violations == verdict(text, attempt=2).violations


def test_an_override_with_a_reason_excuses_a_default_rule() -> None:
    found = verdict(L2, overrides=(("confidence-reason", "scored by a tool"),))
    assert found.verdict == "accept"
    assert [(o.rule, o.reason) for o in found.overrides] == [("confidence-reason", "scored by a tool")]
    assert [v.rule for v in found.violations] == ["confidence-reason"]


def test_an_override_in_the_result_counts_too() -> None:
    own = L2.replace("### Next Steps", "### Overrides\n- confidence-reason: scored by a tool\n\n### Next Steps")
    assert verdict(own).verdict == "accept"
    bare = L2.replace("### Next Steps", "### Overrides\n- confidence-reason:\n\n### Next Steps")
    assert verdict(bare).verdict == "revise"


def test_a_hard_rule_cannot_be_overridden() -> None:
    assert verdict(L1, overrides=(("status-missing", "I say so"),)).verdict == "revise"
    own = L1.replace("### Next Steps", "### Overrides\n- status-missing: I say so\n\n### Next Steps")
    assert verdict(own).verdict == "revise"


def test_an_override_needs_a_reason_and_a_rule_that_exists() -> None:
    with pytest.raises(UsageError, match="needs a reason"):
        verdict(L2, overrides=(("confidence-reason", " "),))
    with pytest.raises(UsageError, match="no rule 'confidence-raeson', did you mean 'confidence-reason'"):
        verdict(L2, overrides=(("confidence-raeson", "x"),))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "v3"}, "no profile 'v3'"),
        ({"kind": "reveiw"}, "did you mean 'review'"),
        ({"attempt": 0}, "counted from 1"),
        ({"select": ("nothing",)}, "no rule 'nothing'"),
        ({"kinds": {"helper": "other"}}, "no kind 'other'"),
    ],
)
def test_options_that_do_not_exist_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        verdict(GENERIC, **options)


def sections(text: str) -> list[str]:
    return re.findall(r"^### .*\n(?:(?!### ).*\n)*", text, re.MULTILINE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_section_that_is_taken_out_gives_at_most_one_violation_that_blocks(kind: str) -> None:
    text = sample(kind)
    for section in sections(text):
        found = verdict(text.replace(section, ""), kind=None if kind == "error" else kind)
        blocking = [v.rule for v in found.violations if v.level != "L3"]
        assert len(blocking) <= 1, (section.split("\n")[0], blocking)


def test_a_failed_result_has_kind_error_and_is_accepted_if_it_says_what_went_wrong() -> None:
    found = verdict(sample("error"))
    assert (found.kind, found.status, found.verdict) == ("error", "FAILED", "accept")


@pytest.mark.parametrize("text", ["", " \n\n", b"", b"\xff\xfe\x00", "{", '{"schema": "remit.result/1", "status": 3}'])
def test_a_document_with_nothing_in_it_is_rejected_at_once(text: str | bytes) -> None:
    found = verdict(text)
    assert found.verdict == "reject"
    assert len(found.violations) == 1
    assert found.violations[0].level == "L1"


def test_words_without_any_structure_break_one_rule() -> None:
    found = verdict("Done! Everything works.")
    assert [v.rule for v in found.violations] == ["title-missing"]
    assert found.verdict == "revise"


def test_a_placeholder_is_the_only_fault_of_its_line() -> None:
    found = verdict(GENERIC.replace("90 - every cited line was opened and read", "[0-100] - [Brief justification]"))
    assert [v.rule for v in found.violations] == ["placeholder-left"]


def test_without_a_repository_what_needs_one_is_said_to_be_unchecked() -> None:
    found = remit.check(GENERIC)
    why = {skipped.rule: skipped.why for skipped in found.not_run}
    assert why["reference-missing-file"] == "no repository was given"
    assert why["no-tool-calls"] == "no receipts were given"
    assert {r.outcome for r in found.evidence.references} == {"unchecked"}
    assert found.confidence.supported is None


def test_a_claim_of_a_test_run_that_nobody_checked_is_named() -> None:
    found = verdict(sample("implementation"))
    why = {skipped.rule: skipped.why for skipped in found.not_run}
    assert why["test-run-unseen"] == "no receipts were given; the test run claimed at line 22 was not checked"


def test_selection_hides_rules_but_not_their_consequences() -> None:
    assert verdict(L1, ignore=("status-missing",)).violations == ()
    assert verdict(L1, select=("confidence",)).violations == ()
    assert [v.rule for v in verdict(L1, select=("RES",)).violations] == ["status-missing"]


def test_the_python_function_takes_text_paths_and_receipts(tmp_path: Path) -> None:
    path = tmp_path / "answer.md"
    path.write_text(GENERIC, encoding="utf-8")
    assert remit.check(path, repo=TREE).accepted
    assert remit.check(str(path), repo=str(TREE)).path == str(path)
    assert remit.check(GENERIC, repo=TREE, receipts=[]).verdict == "revise"
    assert len(remit.check_all(GENERIC + GENERIC)) == 2
    with pytest.raises(UsageError, match="2 results"):
        remit.check(GENERIC + GENERIC)
    with pytest.raises(UsageError, match="No such file"):
        remit.check(tmp_path / "none.md")


def test_one_file_as_scope_excuses_a_single_source() -> None:
    text = (
        sample("verification")
        .replace("app/session.py:10", "app/login.py:14")
        .replace("app/session.py:8", "app/login.py:14")
    )
    assert "single-source" in [v.rule for v in verdict(text).violations]
    assert "single-source" not in [v.rule for v in verdict(text, scope=("app/login.py",)).violations]
