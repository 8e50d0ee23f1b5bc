"""Every finding of a merge has one id, although agents and tools number their rows alike."""

from __future__ import annotations

import pytest
from building import report, reports, row
from hypothesis import given
from hypothesis import strategies as st

from remit.merging.merge import merge
from remit.merging.merge_data import Merge, MergeSettings, Report


def ids(merge: Merge) -> list[str]:
    return sorted(finding.id for finding in (*merge.findings, *merge.dropped))


def merged(*given_reports: Report) -> Merge:
    return merge(given_reports, MergeSettings())


def test_a_second_id_of_another_agent_gets_a_number() -> None:
    outcome = merged(
        report("alpha", row("alpha", path="b.py", line=1, name="SEC-001", title="one")),
        report("beta", row("beta", path="a.py", line=9, name="sec-001", title="two")),
        report("gamma", row("gamma", path="a.py", line=20, name="SEC2-001", title="three")),
    )
    assert {finding.title: finding.id for finding in outcome.findings} == {
        "one": "SEC-001",
        "two": "sec3-001",
        "three": "SEC2-001",
    }


@pytest.mark.parametrize(
    ("one", "other", "is_rule"),
    [("QA-001", "QA2-001", False), ("QA-2", "QA2", True), ("QA-001", "QA12-001", False), ("QA-1", "QA-01", False)],
)
def test_new_ids_of_two_ids_that_could_become_one_differ(one: str, other: str, is_rule: bool) -> None:
    """The 22nd QA-001 and the second QA2-001 would both be QA22-001, the second QA-2 and rule QA2 both QA2-2."""
    lines = range(1, 50, 2)
    outcome = merged(
        report("a", *(row("a", path="a.py", line=line, name=one, title=f"w{line}") for line in lines)),
        report("b", *(row("b", path="b.py", line=n, name=other, rule=other * is_rule, title=f"w{n}") for n in lines)),
    )
    assert len(ids(outcome)) == len(set(ids(outcome))) == 2 * len(lines)


def test_results_of_one_rule_are_numbered_by_location() -> None:
    lines = (30, 4, 17)
    rows_of_rule = [
        row("bandit", path="a.py", line=line, name="DS-26", rule="DS-26", title=f"at {line}") for line in lines
    ]
    outcome = merged(report("bandit", *rows_of_rule))
    assert {finding.line: finding.id for finding in outcome.findings} == {4: "DS-26", 17: "DS-26-2", 30: "DS-26-3"}


def test_findings_without_an_id_are_numbered() -> None:
    outcome = merged(
        report("a", *(row("a", path="a.py", line=line, name="", title=f"at {line}") for line in (1, 7))),
        report("b", row("b", path="b.py", line=7, name="F-001", title="z")),
    )
    assert ids(outcome) == ["F-001", "F-002", "F-003"]
    assert [member.id for finding in outcome.findings for member in finding.members].count("") == 2


def test_a_conflict_names_the_id_of_its_finding_also_after_a_second_merge() -> None:
    first = merged(
        report("a", row("a", path="z.py", line=1, name="SEC-001", title="one", severity="critical", score=99)),
        report("b", row("b", path="z.py", line=1, name="SEC-001", title="one", severity="minor", score=60)),
        report("c", row("c", path="a.py", line=1, name="SEC-001", title="two")),
    )
    named = {finding.path: finding.id for finding in first.findings}
    assert {conflict.finding for conflict in first.conflicts} == {named["z.py"]}
    other = report("0", row("0", path="b.py", line=3, name="SEC-001", title="three"))
    second = merge([first, other])
    new = {finding.path: finding.id for finding in second.findings}
    assert new["b.py"] == "SEC-001"
    assert {conflict.finding for conflict in second.conflicts} == {new["z.py"]}
    assert new["z.py"] != named["z.py"]


@given(reports(), st.randoms(use_true_random=False))
def test_ids_are_unique_in_any_order_and_stay_in_a_second_merge(given_reports: list[Report], random: object) -> None:
    outcome = merged(*given_reports)
    folded = [name.upper() for name in ids(outcome)]
    assert len(set(folded)) == len(folded)
    assert all(folded)
    shuffled = list(given_reports)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert merged(*shuffled) == outcome
    assert merge([outcome]) == outcome
