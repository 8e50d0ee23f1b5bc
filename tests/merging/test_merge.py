from __future__ import annotations

import random
from collections import Counter

import msgspec
import pytest
from building import report, reports, row
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import UsageError
from remit.merging.content import AgentError, AgentSummary, AgentTests, Design, MapEntry, Sections
from remit.merging.findings import titles_beside
from remit.merging.grouping import group_rows
from remit.merging.merge import merge
from remit.merging.merge_data import SCALE, Conflict, Denial, FailedRow, Merge, MergeSettings, Report, ReportedFinding

DEFAULT = MergeSettings()


def merged(*given_reports: Report, **settings: object) -> Merge:
    return merge(given_reports, MergeSettings(**settings))  # type: ignore[arg-type]


def pair(first: float, other: float, **rest: object) -> tuple[Report, Report]:
    return (
        report("security-auditor", row("security-auditor", score=first, **rest)),  # type: ignore[arg-type]
        report("qa-engineer", row("qa-engineer", score=other, **rest)),  # type: ignore[arg-type]
    )


def final(agent: str, recoverable: str) -> Report:
    error = AgentError(agent=agent, type="X", recoverable=recoverable)
    return msgspec.structs.replace(report(agent, status="FAILED"), sections=Sections(errors=(error,)))


def test_95_and_78_give_96_and_a_half() -> None:
    (finding,) = merged(*pair(95, 78)).findings
    assert (finding.confidence, finding.mean, finding.max) == (96.5, 86.5, 95)
    assert finding.flags == ("agreed",)


@pytest.mark.parametrize(("policy", "expected"), [("mean", 96.5), ("max", 100.0), ("floor", 96.5)])
def test_policies_combine_scores(policy: str, expected: float) -> None:
    assert merged(*pair(95, 78), policy=policy).findings[0].confidence == expected


def test_floor_never_goes_under_the_best() -> None:
    assert merged(*pair(95, 70), policy="mean", threshold=0).findings[0].confidence == 92.5
    assert merged(*pair(95, 70), policy="floor", threshold=0).findings[0].confidence == 95


def test_agents_that_contradict_each_other_get_no_bonus() -> None:
    (finding,) = merged(*pair(95, 60)).findings
    assert (finding.confidence, finding.mean, finding.max) == (77.5, 77.5, 95)
    mild, bad = pair(80, 90)
    bad = msgspec.structs.replace(bad, rows=(row("qa-engineer", score=90, severity="critical"),))
    mild = msgspec.structs.replace(mild, rows=(row("security-auditor", score=80, severity="minor"),))
    assert merged(mild, bad).findings[0].confidence == 85
    for policy in ("max", "floor"):
        assert merged(*pair(95, 60), policy=policy).findings[0].confidence == 95


def test_a_second_opinion_never_drops_what_one_agent_alone_would_keep() -> None:
    assert [f.confidence for f in merged(*pair(84, 30)).findings] == [57]
    assert merged(*pair(74.9, 30)).dropped


def test_agreement_never_exceeds_100_and_is_lifted_once() -> None:
    agents = ["a", "b", "c", "d"]
    (finding,) = merged(*(report(agent, row(agent, score=97)) for agent in agents)).findings
    assert finding.confidence == 100
    (finding,) = merged(*(report(agent, row(agent, score=70)) for agent in agents)).findings
    assert finding.confidence == 80
    assert finding.flags == ("confirmed",)


def test_two_of_two_is_not_two_of_ten() -> None:
    both = pair(90, 90)
    others = [report(f"agent-{number}") for number in range(8)]
    assert merged(*both).findings[0].agreement == 1
    assert merged(*both, *others).findings[0].agreement == 0.2


def test_weights_count_by_agent_and_category() -> None:
    weights = {"security-auditor/quality": 3.0, "qa-engineer": 1.0}
    assert merged(*pair(90, 70), weights=weights, threshold=0).findings[0].mean == 85
    assert merged(*pair(90, 70), weights={"security-auditor": 0.0, "qa-engineer": 0.0}).findings[0].mean == 80


def test_the_same_agent_twice_counts_once_with_its_best_score_and_all_its_words() -> None:
    first = report("qa-engineer", row(score=85, title="Total is rounded twice", details="because"))
    other = report("qa-engineer", row(score=92, title="The total is rounded", details="therefore", name="QA-007"))
    (finding,) = merged(first, other).findings
    assert (finding.confidence, finding.agents, finding.flags) == (92, ("qa-engineer",), ())
    assert finding.title == "The total is rounded"
    assert [member.id for member in finding.members] == ["QA-001", "QA-007"]
    assert all(word in finding.opinions[0].details for word in ("because", "therefore", "rounded twice"))


def test_the_same_problem_of_one_agent_has_its_best_score_and_its_worst_severity() -> None:
    rows = (row(score=60, severity="critical"), row(score=95, severity="minor", name="QA-002"))
    (finding,) = merged(report("qa-engineer", *rows)).findings
    (opinion,) = finding.opinions
    assert (finding.severity, finding.confidence) == ("critical", 95)
    assert (opinion.severity, opinion.confidence, opinion.id) == ("critical", 95, "QA-001")


def test_different_problems_of_one_agent_on_one_line_are_different_findings() -> None:
    rows = (
        row(score=95, severity="minor", title="Unused import"),
        row(score=70, severity="critical", title="Query built from user input", name="QA-002"),
    )
    outcome = merged(report("qa-engineer", *rows))
    assert [(finding.title, finding.severity) for finding in outcome.findings] == [
        ("Query built from user input", "critical"),
        ("Unused import", "minor"),
    ]
    assert outcome.counts.critical == 1


def test_rules_of_a_tool_decide_before_titles() -> None:
    same = {"title": "Too many of something"}
    first, other = (
        row("ruff", rule="PLR0912", name="PLR0912", **same),
        row("ruff", rule="PLR0913", name="PLR0913", **same),
    )
    assert len(merged(report("ruff", first, other)).findings) == 2
    again = row("ruff", rule="PLR0912", name="PLR0912", title="Other words")
    (finding,) = merged(report("ruff", first, again)).findings
    assert [(member.agent, member.id) for member in finding.members] == [("ruff", "PLR0912")] * 2


def test_the_same_rule_of_two_tools_on_one_line_agrees() -> None:
    first = row("grype", rule="CVE-2021-1", name="CVE-2021-1", title="openssl 1.0 is vulnerable", category="security")
    other = row("trivy", rule="CVE-2021-1", name="CVE-2021-1", title="Buffer overflow", category="general")
    (finding,) = merged(report("grype", first), report("trivy", other)).findings
    assert finding.agents == ("grype", "trivy")


def test_one_matter_in_two_categories_is_one_finding() -> None:
    first = row("security-auditor", score=95, category="security", title="SQL injection in search", name="SEC-001")
    other = row("qa-engineer", score=78, category="quality", title="Search: SQL Injection", name="QA-001")
    (finding,) = merged(report("security-auditor", first), report("qa-engineer", other)).findings
    assert (finding.confidence, finding.category, finding.id) == (96.5, "security", "SEC-001")
    assert [(member.agent, member.id) for member in finding.members] == [
        ("qa-engineer", "QA-001"),
        ("security-auditor", "SEC-001"),
    ]
    apart = row("qa-engineer", score=90, category="quality", title="Variable name is misleading")
    assert len(merged(report("security-auditor", first), report("qa-engineer", apart)).findings) == 2


def test_an_agent_with_several_problems_at_a_place_splits_it_by_problem() -> None:
    first = row("a", title="Password is logged", name="A-1")
    second = row("a", title="Index is missing for the query", name="A-2")
    third = row("b", title="The password is logged in clear text", name="B-1")
    lonely = row("c", title="Wrong rounding", name="C-1")
    outcome = merged(report("a", first, second), report("b", third), report("c", lonely))
    assert sorted(tuple(member.id for member in finding.members) for finding in outcome.findings) == [
        ("A-1", "B-1"),
        ("A-2",),
        ("C-1",),
    ]


def test_a_row_that_matches_two_problems_of_an_agent_joins_one_of_them() -> None:
    first, second = row("a", title="search: SQL injection", name="A-1"), row("a", title="slow search", name="A-2")
    outcome = merged(report("a", first, second), report("b", row("b", title="search", name="B-1")))
    assert sum(len(finding.members) for finding in outcome.findings) == 3
    assert {len(finding.agents) for finding in outcome.findings} == {1, 2}


def test_a_range_of_another_agent_does_not_join_two_lines_of_one_rule() -> None:
    far = [row("ruff", rule="E501", name="E501", title="Line too long", line=line) for line in (10, 400)]
    outcome = merged(report("ruff", *far), report("a", row("a", title="The module is complex", line=1, end=500)))
    assert len(outcome.findings) == 3


def test_an_agent_that_scored_one_of_two_rows_takes_part_in_score_conflicts() -> None:
    mine = report("a", row("a", score=39), row("a", score=70, unscored=True, name="A-2"))
    outcome = merged(mine, report("b", row("b", score=94)))
    assert [conflict.kind for conflict in outcome.conflicts] == ["score"]
    assert "b gives it 94, a 39" in outcome.conflicts[0].why


@pytest.mark.parametrize("threshold", [75, 95, 100])
def test_no_threshold_drops_what_a_tool_did_not_score(threshold: float) -> None:
    unscored = report("gitleaks", row("gitleaks", score=80, unscored=True))
    assert merged(unscored, threshold=threshold).findings
    assert merged(report("a", row("a", score=70, unscored=True)), threshold=threshold).dropped


def test_rows_that_a_tool_suppressed_are_dropped_with_its_reason_and_hide_nothing() -> None:
    quiet = row("ruff", rule="S608", name="S608", reason="suppressed by ruff: reviewed")
    loud = row("bandit", rule="B608", name="B608")
    outcome = merged(report("ruff", quiet), report("bandit", loud))
    assert [finding.agents for finding in outcome.findings] == [("bandit",)]
    assert [(finding.agents, finding.reason) for finding in outcome.dropped] == [
        (("ruff",), "suppressed by ruff: reviewed")
    ]
    assert merge([outcome]) == outcome


def test_each_agent_keeps_its_own_severity_and_score() -> None:
    first = report("a", row("a", severity="critical", score=60))
    other = report("b", row("b", severity="important", score=95))
    (finding,) = merged(first, other).findings
    assert finding.severity == "critical"
    assert [(o.agent, o.severity, o.confidence) for o in finding.opinions] == [
        ("a", "critical", 60),
        ("b", "important", 95),
    ]


def test_critical_and_minor_for_one_finding_is_a_conflict() -> None:
    conflicts = merged(report("a", row("a", severity="critical")), report("b", row("b", severity="minor"))).conflicts
    assert [(c.kind, c.agents) for c in conflicts] == [("severity", ("a", "b"))]
    assert not merged(report("a", row("a", severity="critical")), report("b", row("b", severity="important"))).conflicts


def test_of_many_that_disagree_the_same_two_are_always_named() -> None:
    said = (("a", "critical", 95), ("b", "minor", 60), ("c", "critical", 95), ("d", "minor", 60), ("e", None, 80))
    agent_reports = [report(agent, row(agent, severity=severity, score=score)) for agent, severity, score in said]  # type: ignore[arg-type]
    assert [conflict.why for conflict in merged(*agent_reports).conflicts] == [
        "c gives it 95, b 60 (at a.py:10)",
        "c calls it critical, b minor (at a.py:10)",
    ]


@pytest.mark.parametrize(("low", "count"), [(60.0, 1), (60.1, 0)])
def test_scores_thirty_apart_are_a_conflict(low: float, count: int) -> None:
    assert len(merged(*pair(90, low)).conflicts) == count


def test_a_missing_score_is_not_a_conflict() -> None:
    first, other = report("a", row("a", score=100)), report("b", row("b", score=50, unscored=True))
    outcome = merged(first, other)
    assert not outcome.conflicts
    assert "unscored" in outcome.findings[0].flags


def test_a_conflict_is_listed_even_if_its_finding_is_filtered() -> None:
    outcome = merged(*pair(74, 40))
    assert not outcome.findings
    assert outcome.dropped[0].reason == "confidence 57 is under 75"
    assert outcome.conflicts[0].kind == "score"
    assert outcome.decision == "review"


def test_a_finding_in_a_conflict_is_disputed_and_stays_so_when_merged_again() -> None:
    denial = Denial("verifier", "there is a bug", "b.py", 10)
    verifier = msgspec.structs.replace(report("verifier"), denials=(denial,))
    outcome = merged(*pair(95, 60), report("a", row("a", path="b.py"), row("a", path="c.py")), verifier)
    assert {f.path: "disputed" in f.flags for f in outcome.findings} == {"a.py": True, "b.py": True, "c.py": False}
    assert merge([outcome]) == outcome


def test_repeated_help_of_an_agent_occurs_once_and_each_title_is_kept() -> None:
    about = {"name": "ARG001", "rule": "ARG001", "details": "Unused\n\nWhy this is bad."}
    first = row("ruff", title="Unused argument: `a`", **about)
    second = row("ruff", title="Unused argument: `b`", **about)
    (finding,) = merged(report("ruff", first, second)).findings
    assert finding.opinions[0].details == "Unused\n\nWhy this is bad.\n\nAlso: ARG001: Unused argument: `b`"


def test_fenced_code_is_never_taken_apart() -> None:
    code = "```\none\n\ntwo\n```"
    first, second = row(details="two\n```"), row(score=80, title="A bug, other", details=code)
    (finding,) = merged(report("qa-engineer", first, second)).findings
    assert code in finding.opinions[0].details


def test_an_input_merged_with_its_own_merge_repeats_nothing() -> None:
    both = (report("a", row("a", title="First try", details="why"), row("a", score=80, title="first")),)
    once = merged(*both)
    again = merge([once, *both], DEFAULT)
    assert again.findings[0].opinions == once.findings[0].opinions


def test_a_standard_is_compared_without_case_and_printed_as_written() -> None:
    first = report("a", compliance={"OWASP A02  Crypto": "PASS"})
    other = report("b", compliance={"owasp a02 crypto": "FAIL"})
    assert [c.finding for c in merged(first, other).conflicts] == ["OWASP A02 Crypto"]


def test_pass_and_fail_for_one_standard_is_a_conflict() -> None:
    first, other = report("a", compliance={"tokens": "PASS"}), report("b", compliance={"tokens": "FAIL"})
    assert [c.kind for c in merged(first, other).conflicts] == ["compliance"]
    assert not merged(first).conflicts


def test_a_claim_that_could_not_be_verified_at_the_place_of_a_finding_is_a_conflict() -> None:
    denial = Denial("verifier", "there is a bug", "a.py", 10)
    outcome = merged(report("a", row("a")), msgspec.structs.replace(report("verifier"), denials=(denial,)))
    assert [(c.kind, c.finding) for c in outcome.conflicts] == [("presence", "QA-001")]


@pytest.mark.parametrize(("score", "kept"), [(75.0, 1), (74.99, 0)])
def test_findings_under_the_threshold_are_dropped_with_the_reason(score: float, kept: int) -> None:
    outcome = merged(report("a", row("a", score=score)))
    assert (len(outcome.findings), len(outcome.dropped)) == (kept, 1 - kept)


def test_critical_findings_are_always_kept() -> None:
    assert merged(report("a", row("a", score=1, severity="critical"))).findings


@pytest.mark.parametrize(
    ("statuses", "status", "decision"),
    [
        (["SUCCESS", "SUCCESS"], "SUCCESS", "continue"),
        (["SUCCESS", "PARTIAL"], "PARTIAL", "review"),
        (["SUCCESS", "FAILED"], "PARTIAL", "retry"),
        (["FAILED", "FAILED"], "FAILED", "retry"),
    ],
)
def test_status_and_decision_follow_the_inputs(statuses: list[str], status: str, decision: str) -> None:
    outcome = merged(*(report(f"agent-{n}", status=s) for n, s in enumerate(statuses)))
    assert (outcome.status, outcome.decision) == (status, decision)


def test_a_result_under_60_asks_for_a_person() -> None:
    summary = AgentSummary(agent="a", status="SUCCESS", kind="review", text="", confidence=59.9)
    unsure = Report(agent="a", status="SUCCESS", verdict="accept", sections=Sections(summaries=(summary,)))
    assert merged(unsure).decision == "review"


@pytest.mark.parametrize(
    ("reports", "decision"),
    [
        ([report("a", row("a", failure="no such file"))], "review"),
        ([msgspec.structs.replace(report("a"), verdict="revise")], "review"),
        ([msgspec.structs.replace(report("a"), failed=(FailedRow("a", "", "x", None, "a.py:9", "gone"),))], "review"),
        ([report("a"), final("b", "false")], "review"),
        ([report("a"), final("b", "true")], "retry"),
        ([report("a"), final("b", "")], "retry"),
        ([final("a", "false")], "review"),
        ([], "retry"),
    ],
)
def test_the_decision_follows_what_did_not_hold_and_what_may_be_retried(reports: list[Report], decision: str) -> None:
    assert merged(*reports).decision == decision


def test_a_row_that_failed_is_no_finding_and_counts_for_nothing() -> None:
    invented = row("a", failure="no such file", severity="critical", score=100, line=412, end=415, name="SEC-009")
    outcome = merged(report("a", invented, row("a", severity="minor", name="A-2")), report("b", row("b")))
    assert [f.agents for f in outcome.findings] == [("a", "b")]
    assert outcome.failed == (FailedRow("a", "SEC-009", "A bug", "critical", "a.py:412-415", "no such file"),)
    assert (outcome.counts.failed, outcome.counts.critical, outcome.conflicts) == (1, 0, ())


@pytest.mark.parametrize(
    ("evil", "title", "beside"),
    [
        ({"score": 100, "accepted": False}, "Tokens are predictable", ["Nothing to do here"]),
        ({"score": 100, "severity": "important"}, "Tokens are predictable", ["Nothing to do here"]),
        ({"score": 100, "end": 14, "severity": "critical"}, "Tokens are predictable", ["Nothing to do here"]),
        ({"score": 89}, "Tokens are predictable", ["Nothing to do here"]),
        ({"score": 100}, "Nothing to do here", ["Tokens are predictable"]),
    ],
)
def test_the_worst_accepted_narrowest_row_leads_and_other_titles_stand_beside_it(
    evil: dict[str, object], title: str, beside: list[str]
) -> None:
    honest = row("honest", title="Tokens are predictable", name="SEC-001", severity="critical", score=90)
    other = row("evil", **({"title": "Nothing to do here", "name": "SEC-009", "severity": "critical"} | evil))  # type: ignore[arg-type]
    (finding,) = merged(report("honest", honest), report("evil", other)).findings
    assert finding.title == title
    assert list(titles_beside(finding)) == beside
    assert (finding.line, finding.end_line) == (10, None)


def test_the_titles_of_one_agent_that_do_not_match_stay_in_its_opinion() -> None:
    rows = (row("ruff", rule="S1", title="One thing"), row("ruff", rule="S1", title="Quite another", name="S2"))
    (finding,) = merged(report("ruff", *rows)).findings
    assert titles_beside(finding) == ("Quite another",)


def test_findings_that_begin_at_one_line_may_be_a_conflict_of_severity() -> None:
    bad = row("a", severity="critical", category="security", title="Injection", name="SEC-001")
    mild = row("b", severity="minor", category="quality", title="Long name", name="QA-001")
    outcome = merged(report("a", bad), report("b", mild))
    assert [(c.kind, c.agents, c.finding) for c in outcome.conflicts] == [("severity", ("a", "b"), "SEC-001")]
    assert "b calls QA-001 minor (at a.py:10)" in outcome.conflicts[0].why
    worse = row("b", severity="important", category="other", title="Else", name="QA-002")
    assert not merged(report("a", bad), report("b", mild, worse)).conflicts


def test_runs_and_maps_that_exclude_each_other_are_conflicts() -> None:
    def ran(agent: str, *, passed: bool) -> Report:
        tests = AgentTests(agent=agent, text="x", runs={"tests/test_cart.py": passed})
        return msgspec.structs.replace(report(agent), sections=Sections(tests=(tests,)))

    def mapped(agent: str, action: str) -> Report:
        design = Design(agent=agent, map=(MapEntry("Cart", "shop/cart.py", action),))
        return msgspec.structs.replace(report(agent), sections=Sections(designs=(design,)))

    assert [c.why for c in merged(ran("a", passed=True), ran("b", passed=False)).conflicts] == [
        "passed by a; failed by b"
    ]
    (conflict,) = merged(mapped("a", "Delete"), mapped("b", "Modify (add a row)")).conflicts
    assert (conflict.kind, conflict.finding, conflict.why) == ("work", "shop/cart.py", "deleted by a; changed by b")
    assert not merged(mapped("a", "Modify"), mapped("b", "Modify (add a row)")).conflicts


def test_conflicts_have_ids_and_no_answer() -> None:
    assert [(c.id, c.answer) for c in merged(*pair(95, 60)).conflicts] == [("conflict-1", None)]


def test_more_findings_than_fit_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.merging.merge.MAX_FINDINGS", 1)
    with pytest.raises(UsageError, match="2 findings; a merge takes at most 1: merge fewer files at a time"):
        merged(*pair(95, 60))


def test_an_expected_agent_that_is_missing_has_failed() -> None:
    outcome = merged(report("a"), expect=("a", "b"))
    assert [(a.agent, a.status) for a in outcome.agents] == [("a", "SUCCESS"), ("b", "FAILED")]
    assert outcome.decision == "retry"


@given(reports(), st.randoms(use_true_random=False))
def test_the_order_of_the_inputs_does_not_change_a_byte(given_reports: list[Report], chance: random.Random) -> None:
    shuffled = [msgspec.structs.replace(r, rows=tuple(chance.sample(r.rows, len(r.rows)))) for r in given_reports]
    chance.shuffle(shuffled)
    first, other = merge(given_reports, DEFAULT), merge(shuffled, DEFAULT)
    assert msgspec.json.encode(first.findings) == msgspec.json.encode(other.findings)
    assert msgspec.json.encode(first) == msgspec.json.encode(other)


@pytest.mark.parametrize(
    "places",
    [
        [{"path": None, "line": None}, {"path": "", "line": None}],
        [{"path": None}, {"path": ""}],
        [{"line": None}, {"line": 0}],
        [{"path": None, "line": None}, {"path": None, "line": 0}],
        [{"line": None, "fingerprint": "abc"}, {"line": 0, "fingerprint": "abc"}],
        [{"end": None}, {"end": 0}],
    ],
)
def test_nothing_and_almost_nothing_keep_one_order(places: list[dict[str, object]]) -> None:
    first, other = (report("a", row("a", **place)) for place in places)  # type: ignore[arg-type]
    assert msgspec.json.encode(merged(first, other)) == msgspec.json.encode(merged(other, first))


def test_a_confidence_of_zero_is_printed_as_0_with_either_sign() -> None:
    for score in (-0.0, 0.0):
        assert merged(report("a", row("a", score=score)), threshold=33).dropped[0].reason == "confidence 0 is under 33"


@given(reports(), st.sampled_from(["mean", "max", "floor"]))
def test_merging_a_merge_gives_the_same_bytes(given_reports: list[Report], policy: str) -> None:
    once = merge(given_reports, MergeSettings(policy=policy))  # type: ignore[arg-type]
    read = msgspec.json.decode(msgspec.json.encode(once), type=Merge)
    assert msgspec.json.encode(merge([read])) == msgspec.json.encode(once)


@given(reports())
def test_merging_a_merge_with_another_keeps_its_rows(given_reports: list[Report]) -> None:
    once = merge(given_reports, DEFAULT)
    again = merge([once, report("someone else")], DEFAULT)
    assert again.failed == once.failed
    assert members_of(again) == members_of(once)
    assert {f.members: f.severity for f in (*again.findings, *again.dropped)} == {
        f.members: f.severity for f in (*once.findings, *once.dropped)
    }


def members_of(merge: Merge) -> Counter[tuple[str, str]]:
    return Counter((m.agent, m.id) for f in (*merge.findings, *merge.dropped) for m in f.members)


@given(reports())
def test_every_row_is_in_exactly_one_finding_or_failed(given_reports: list[Report]) -> None:
    outcome = merge(given_reports, DEFAULT)
    rows = [row for report in given_reports for row in report.rows]
    held = Counter((row.opinion.agent, row.opinion.id) for row in rows if not row.failure)
    assert members_of(outcome) == held
    assert outcome.counts.rows == held.total()
    lost = {(row.opinion.agent, row.opinion.id, row.opinion.title) for row in rows if row.failure}
    assert {(row.agent, row.id, row.title) for row in outcome.failed} == lost
    assert all(isinstance(finding.reason, str) and finding.reason for finding in outcome.dropped)


@given(reports())
def test_the_severity_of_a_row_is_never_lowered(given_reports: list[Report]) -> None:
    """Each id names its severity, so that members show which rows a finding has."""
    marked = [
        msgspec.structs.replace(
            report,
            rows=tuple(
                msgspec.structs.replace(
                    row, opinion=msgspec.structs.replace(row.opinion, id=f"{row.opinion.severity}-{position}-{number}")
                )
                for number, row in enumerate(report.rows)
            ),
        )
        for position, report in enumerate(given_reports)
    ]
    outcome = merge(marked, DEFAULT)
    for finding in (*outcome.findings, *outcome.dropped):
        words = [member.id.partition("-")[0] for member in finding.members]
        ranks = [SCALE.index(word) for word in words if word in SCALE]  # type: ignore[arg-type]
        assert (SCALE.index(finding.severity) if finding.severity else None) == max(ranks, default=None)


@given(reports(), reports())
def test_another_input_loses_no_row_and_hides_no_critical_finding(before: list[Report], more: list[Report]) -> None:
    first, both = merge(before, DEFAULT), merge([*before, *more], DEFAULT)

    def members(merge: Merge, findings: str) -> Counter[tuple[str, str]]:
        return Counter((m.agent, m.id) for f in getattr(merge, findings) for m in f.members)

    everything = members(both, "findings") + members(both, "dropped")
    assert members(first, "findings") + members(first, "dropped") <= everything
    rows = [row for report in before for row in report.rows if not row.failure]
    critical = [row for row in rows if row.opinion.severity == "critical" and not row.reason]
    kept = members(both, "findings")
    assert all(kept[row.opinion.agent, row.opinion.id] for row in critical)
    assert bool(both.counts.critical) >= bool(first.counts.critical)


@given(reports())
def test_a_finding_has_at_most_one_problem_of_an_agent(given_reports: list[Report]) -> None:
    rows = [row for report in given_reports for row in report.rows]
    for group in group_rows(rows):
        by_agent: dict[str, list[ReportedFinding]] = {}
        for member in group:
            by_agent.setdefault(member.opinion.agent, []).append(member)
        for agent_members in by_agent.values():
            rules = {member.opinion.rule for member in agent_members if member.opinion.rule}
            assert len(rules) <= 1 or any(not member.opinion.rule for member in agent_members)


@given(reports())
def test_nothing_is_lost(given_reports: list[Report]) -> None:
    outcome = merge(given_reports, DEFAULT)
    said = [o for f in (*outcome.findings, *outcome.dropped) for o in f.opinions]
    for given_report in given_reports:
        for opinion in (seen.opinion for seen in given_report.rows if not seen.failure):
            assert any(
                o.agent == opinion.agent
                and (o.title == opinion.title or opinion.title in o.details)
                and all(part in o.details for part in opinion.details.split("\n\n"))
                for o in said
            )


@given(reports())
def test_scores_stay_between_0_and_100_and_counts_add_up(given_reports: list[Report]) -> None:
    outcome = merge(given_reports, DEFAULT)
    for finding in (*outcome.findings, *outcome.dropped):
        assert 0 <= finding.mean <= finding.max <= 100
        assert finding.mean <= finding.confidence <= 100
        assert 0 < finding.agreement <= 1
    counts = outcome.counts
    assert counts.findings == len(outcome.findings)
    assert counts.findings == counts.critical + counts.important + counts.minor + counts.unrated
    assert counts.dropped == len(outcome.dropped)
    assert outcome.counts.inputs == len(outcome.agents)


def test_a_conflict_of_an_agent_with_itself_names_the_finding_that_its_own_was_merged_into() -> None:
    doubtful = row("qa-engineer", score=70.0, name="QA-001", title="A race")
    better = row("security-auditor", score=95.0, name="SEC-007", title="A race")
    conflict = Conflict(kind="self", finding="QA-001", agents=("qa-engineer",), why="qa-engineer: two statements")
    made = [
        msgspec.structs.replace(report("qa-engineer", doubtful), conflicts=(conflict,)),
        report("security-auditor", better),
    ]
    merged = merge(made, MergeSettings())
    assert [merged_part.id for merged_part in merged.findings] == ["SEC-007"]
    assert [(merged_part.kind, merged_part.finding) for merged_part in merged.conflicts] == [("self", "SEC-007")]
