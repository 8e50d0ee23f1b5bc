from __future__ import annotations

import random

import msgspec
import pytest
from building import report, reports, row
from hypothesis import given
from hypothesis import strategies as st

from remit.merging.merge import merge_reports
from remit.merging.model import Merge, MergeSettings, Report, ReportedStatement
from remit.merging.previous import reports_of

DEFAULT = MergeSettings()


def merged(*given_reports: Report, **settings: object) -> Merge:
    return merge_reports(given_reports, MergeSettings(**settings))  # type: ignore[arg-type]


def pair(one: float, other: float, **rest: object) -> tuple[Report, Report]:
    return (
        report("security-auditor", row("security-auditor", score=one, **rest)),  # type: ignore[arg-type]
        report("qa-engineer", row("qa-engineer", score=other, **rest)),  # type: ignore[arg-type]
    )


def test_95_and_78_give_96_and_a_half() -> None:
    (finding,) = merged(*pair(95, 78)).findings
    assert (finding.confidence, finding.mean, finding.max) == (96.5, 86.5, 95)
    assert finding.flags == ("agreed",)


@pytest.mark.parametrize(("policy", "expected"), [("mean", 96.5), ("max", 100.0), ("floor", 96.5)])
def test_policies_combine_scores(policy: str, expected: float) -> None:
    assert merged(*pair(95, 78), policy=policy).findings[0].confidence == expected


def test_floor_never_goes_under_the_best() -> None:
    assert merged(*pair(95, 60), policy="mean", threshold=0).findings[0].confidence == 87.5
    assert merged(*pair(95, 60), policy="floor", threshold=0).findings[0].confidence == 95


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
    one = report("qa-engineer", row(score=85, title="First", details="because"))
    other = report("qa-engineer", row(score=92, title="Second", details="therefore"))
    (finding,) = merged(one, other).findings
    assert (finding.confidence, finding.agents, finding.flags) == (92, ("qa-engineer",), ())
    assert finding.title == "Second"
    assert all(word in finding.opinions[0].details for word in ("because", "therefore", "First"))


def test_each_agent_keeps_its_own_severity_and_score() -> None:
    one = report("a", row("a", severity="critical", score=60))
    other = report("b", row("b", severity="important", score=95))
    (finding,) = merged(one, other).findings
    assert finding.severity == "critical"
    assert [(o.agent, o.severity, o.confidence) for o in finding.opinions] == [
        ("a", "critical", 60),
        ("b", "important", 95),
    ]


def test_critical_and_minor_for_one_finding_is_a_conflict() -> None:
    found = merged(report("a", row("a", severity="critical")), report("b", row("b", severity="minor"))).conflicts
    assert [(c.kind, c.agents) for c in found] == [("severity", ("a", "b"))]
    assert not merged(report("a", row("a", severity="critical")), report("b", row("b", severity="important"))).conflicts


def test_of_many_that_disagree_the_same_two_are_always_named() -> None:
    said = (("a", "critical", 95), ("b", "minor", 60), ("c", "critical", 95), ("d", "minor", 60), ("e", None, 80))
    found = [report(agent, row(agent, severity=severity, score=score)) for agent, severity, score in said]  # type: ignore[arg-type]
    assert [conflict.why for conflict in merged(*found).conflicts] == [
        "c gives it 95, b 60 (at a.py:10)",
        "c calls it critical, b minor (at a.py:10)",
    ]


@pytest.mark.parametrize(("low", "count"), [(60.0, 1), (60.1, 0)])
def test_scores_thirty_apart_are_a_conflict(low: float, count: int) -> None:
    assert len(merged(*pair(90, low)).conflicts) == count


def test_a_missing_score_is_not_a_conflict() -> None:
    one, other = report("a", row("a", score=100)), report("b", row("b", score=50, unscored=True))
    outcome = merged(one, other)
    assert not outcome.conflicts
    assert "unscored" in outcome.findings[0].flags


def test_a_conflict_is_listed_even_if_its_finding_is_filtered() -> None:
    outcome = merged(*pair(75, 40))
    assert not outcome.findings
    assert outcome.dropped[0].reason == "confidence 67.5 is under 80"
    assert outcome.conflicts[0].kind == "score"
    assert outcome.decision == "review"


def test_a_finding_in_a_conflict_is_disputed_and_stays_so_when_merged_again() -> None:
    claim = ReportedStatement("verifier", "claim", "there is a bug", "UNVERIFIED", "b.py", 10)
    outcome = merged(
        *pair(95, 60),
        report("a", row("a", path="b.py"), row("a", path="c.py")),
        report("verifier", statements=(claim,)),
    )
    assert {f.path: "disputed" in f.flags for f in outcome.findings} == {"a.py": True, "b.py": True, "c.py": False}
    assert merge_reports(reports_of(outcome), DEFAULT, [outcome]) == outcome


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ({}, ""),
        ({"flags": ("revise",)}, ""),
        ({"unscored": True}, " (no score given)"),
        ({"claimed": 80.0, "flags": ("relocated",)}, " (claimed 80, location corrected)"),
        (
            {"claimed": 90.0, "evidence": "there is no such file"},
            " (claimed 90, evidence failed: there is no such file)",
        ),
        ({"unscored": True, "evidence": "it is a folder"}, " (no score given, evidence failed: it is a folder)"),
    ],
)
def test_a_reason_names_the_cause_of_a_low_score(said: dict[str, object], cause: str) -> None:
    one = row("a", score=70, **said)  # type: ignore[arg-type]
    assert merged(report("a", one)).dropped[0].reason == f"confidence 70 is under 80{cause}"


def test_a_reason_of_several_agents_names_the_agent_of_each_cause() -> None:
    one, other = row("a", score=60, unscored=True), row("b", score=62)
    assert merged(report("a", one), report("b", other)).dropped[0].reason == (
        "confidence 71 is under 80 (a: no score given)"
    )


def test_flags_of_one_agent_stay_with_its_opinion() -> None:
    one, other = row("a", flags=("revise",)), row("b", unscored=True)
    (finding,) = merged(report("a", one), report("b", other)).findings
    assert [opinion.flags for opinion in finding.opinions] == [("revise",), ("unscored",)]
    assert finding.flags == ("agreed", "revise", "unscored")


def test_flags_of_a_merge_written_before_opinions_had_any_are_kept() -> None:
    told = msgspec.to_builtins(merged(report("a", row("a", flags=("revise",))), *pair(95, 60)))
    for opinion in told["findings"][0]["opinions"]:
        del opinion["flags"], opinion["evidence"], opinion["claimed_line"]
    old = msgspec.convert(told, Merge)
    assert merge_reports(reports_of(old), DEFAULT, [old]).findings[0].flags == old.findings[0].flags


def test_repeated_help_of_an_agent_occurs_once_and_each_title_is_kept() -> None:
    first = row("ruff", name="ARG001", title="Unused argument: `a`", details="Unused\n\nWhy this is bad.")
    second = row("ruff", name="ARG001", title="Unused argument: `b`", details="Unused\n\nWhy this is bad.")
    (finding,) = merged(report("ruff", first, second)).findings
    assert finding.opinions[0].details == "Unused\n\nWhy this is bad.\n\nAlso: ARG001: Unused argument: `b`"


def test_fenced_code_is_never_taken_apart() -> None:
    code = "```\none\n\ntwo\n```"
    first, second = row(details="two\n```"), row(score=80, title="Other", details=code)
    (finding,) = merged(report("qa-engineer", first, second)).findings
    assert code in finding.opinions[0].details


def test_an_input_merged_with_its_own_merge_repeats_nothing() -> None:
    both = (report("a", row("a", title="First", details="why"), row("a", score=80, title="Second")),)
    once = merged(*both)
    again = merge_reports([*reports_of(once), *both], DEFAULT, [once])
    assert again.findings[0].opinions == once.findings[0].opinions


def test_a_standard_is_compared_without_case_and_printed_as_written() -> None:
    one = report("a", statements=(ReportedStatement("a", "compliance", "OWASP A02  Crypto", "PASS"),))
    other = report("b", statements=(ReportedStatement("b", "compliance", "owasp a02 crypto", "FAIL"),))
    assert [c.finding for c in merged(one, other).conflicts] == ["OWASP A02 Crypto"]


def test_pass_and_fail_for_one_standard_is_a_conflict() -> None:
    one = report("a", statements=(ReportedStatement("a", "compliance", "tokens", "PASS"),))
    other = report("b", statements=(ReportedStatement("b", "compliance", "tokens", "FAIL"),))
    assert [c.kind for c in merged(one, other).conflicts] == ["compliance"]
    assert not merged(one).conflicts


def test_a_claim_that_could_not_be_verified_at_the_place_of_a_finding_is_a_conflict() -> None:
    claim = ReportedStatement("verifier", "claim", "there is a bug", "UNVERIFIED", "a.py", 10)
    outcome = merged(report("a", row("a")), report("verifier", statements=(claim,)))
    assert [(c.kind, c.finding) for c in outcome.conflicts] == [("presence", "QA-001")]


@pytest.mark.parametrize(("score", "kept"), [(80.0, 1), (79.99, 0)])
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
    unsure = Report(agent="a", status="SUCCESS", verdict="accept", confidence=59.9)
    assert merged(unsure).decision == "review"


def test_an_expected_agent_that_is_missing_has_failed() -> None:
    outcome = merged(report("a"), expect=("a", "b"))
    assert [(a.agent, a.status) for a in outcome.agents] == [("a", "SUCCESS"), ("b", "FAILED")]
    assert outcome.decision == "retry"


@given(reports(), st.randoms(use_true_random=False))
def test_the_order_of_the_inputs_does_not_change_a_byte(given_reports: list[Report], chance: random.Random) -> None:
    shuffled = [msgspec.structs.replace(r, rows=tuple(chance.sample(r.rows, len(r.rows)))) for r in given_reports]
    chance.shuffle(shuffled)
    one, other = merge_reports(given_reports, DEFAULT), merge_reports(shuffled, DEFAULT)
    assert msgspec.json.encode(one.findings) == msgspec.json.encode(other.findings)
    assert msgspec.json.encode(one) == msgspec.json.encode(other)


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
    one, other = (report("a", row("a", **place)) for place in places)  # type: ignore[arg-type]
    assert msgspec.json.encode(merged(one, other)) == msgspec.json.encode(merged(other, one))


def test_a_confidence_of_zero_is_printed_as_0_with_either_sign() -> None:
    for score in (-0.0, 0.0):
        assert merged(report("a", row("a", score=score)), threshold=33).dropped[0].reason == "confidence 0 is under 33"


def test_an_agent_without_a_verdict_sorts_next_to_one_with_an_empty_verdict() -> None:
    one, other = (Report(agent="a", status="SUCCESS", verdict=verdict) for verdict in (None, ""))
    assert merged(one, other) == merged(other, one)


@given(reports(), st.sampled_from(["mean", "max", "floor"]))
def test_merging_a_merge_gives_the_same_bytes(given_reports: list[Report], policy: str) -> None:
    settings = MergeSettings(policy=policy)  # type: ignore[arg-type]
    once = merge_reports(given_reports, settings)
    read = msgspec.json.decode(msgspec.json.encode(once), type=Merge)
    assert msgspec.json.encode(merge_reports(reports_of(read), settings, [read])) == msgspec.json.encode(once)


@given(reports())
def test_nothing_is_lost(given_reports: list[Report]) -> None:
    outcome = merge_reports(given_reports, DEFAULT)
    said = [(f, o) for f in (*outcome.findings, *outcome.dropped) for o in f.opinions]
    for given_report in given_reports:
        for seen in given_report.rows:
            opinion = seen.opinion
            assert any(
                o.agent == opinion.agent
                and f.category == seen.category
                and (o.title == opinion.title or opinion.title in o.details)
                and all(part in o.details for part in opinion.details.split("\n\n"))
                for f, o in said
            )


@given(reports())
def test_scores_stay_between_0_and_100_and_counts_add_up(given_reports: list[Report]) -> None:
    outcome = merge_reports(given_reports, DEFAULT)
    for finding in (*outcome.findings, *outcome.dropped):
        assert 0 <= finding.mean <= finding.max <= 100
        assert finding.mean <= finding.confidence <= 100
        assert 0 < finding.agreement <= 1
    assert outcome.counts.findings == len(outcome.findings)
    assert outcome.counts.inputs == len(outcome.agents)
