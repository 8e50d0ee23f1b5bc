"""A merge at a terminal: the decision first, conflicts never hidden, and no line is longer than the window."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merge_samples import INVENTED, SHOP, conflict, example, finding, merge_of, merges, sources

from remit.merging.merge_data import AgentReport, Merge
from remit.reports.layout import display_width, escape_control, plain_lines, wrap_text
from remit.reports.merge.text import merge_text_lines


def written(merge: Merge, columns: int = 80, *, with_checkout: bool = True) -> str:
    return plain_lines(merge_text_lines(merge, columns, sources().workspace if with_checkout else None))


def test_the_decision_and_what_does_not_count_come_first() -> None:
    merge = merge_of(
        finding(),
        agents=(AgentReport("a", "PARTIAL", "accept"),),
        status="PARTIAL",
        decision="review",
        failed=(INVENTED, msgspec.structs.replace(INVENTED, severity="minor")),
        dropped=(finding("QA-2", reason="x"), finding("QA-3", reason="y", flags=("dismissed",))),
    )
    first, reason, *_ = written(merge, 140).splitlines()
    assert first == "decision review · run PARTIAL · 2 failed (1 critical, 1 minor) · 1 dropped · 1 dismissed"
    assert reason == "2 claims did not hold; a did not finish"


def test_the_reason_states_why_a_person_should_look() -> None:
    agents = tuple(
        AgentReport(name, "SUCCESS", verdict)
        for name, verdict in (("a", "revise"), ("a", "accept"), ("b", "accept"), ("c", None))
    )
    merge = merge_of(finding(), agents=agents, conflicts=(conflict(),), decision="review")
    assert written(merge, 140).splitlines()[1] == (
        "1 conflict; 1 of 3 results breaks the contract; several inputs are of a and count as one agent"
    )


def test_sections_come_in_the_order_in_which_a_reader_needs_them() -> None:
    dropped = (finding("QA-009", reason="confidence 60 is under 75"),)
    merge = merge_of(finding(), dropped=dropped, conflicts=(conflict(),), failed=(INVENTED,))
    heads = [line.split("  ")[0] for line in written(merge, 140).splitlines() if line and not line.startswith(" ")]
    assert heads[2:] == [
        "Conflicts",
        "Claims that did not hold",
        "Findings",
        "Agents",
        "Dropped",
        "1 finding: 1 important",
        "of 1 result",
    ]


def test_a_row_that_does_not_hold_is_listed_with_the_reason() -> None:
    text = written(merge_of(failed=(INVENTED,)))
    assert "  critical  SEC-009  An invented fault\n" in text
    assert "ruff: the file has 171 lines (shop/auth.py:412)\n" in text
    assert "no finding holds" in text


def test_every_other_title_stands_beside_that_of_the_finding() -> None:
    other = finding(agents=("b",), title="Something else").opinions
    both = msgspec.structs.replace(finding(), agents=("b", "qa-engineer"), opinions=(*other, *finding().opinions))
    assert "      also stated there: Something else\n" in written(merge_of(both))


def test_an_agent_shows_how_it_ended_and_whether_it_keeps_the_contract() -> None:
    agents = (AgentReport("qa-engineer", "PARTIAL", "revise"), AgentReport("ruff", "FAILED", None))
    assert "  qa-engineer  PARTIAL  revise\n  ruff         FAILED   no result\n" in written(merge_of(agents=agents))


def test_a_tool_differs_from_an_agent_that_sent_nothing() -> None:
    assert "  ruff  SUCCESS  tool\n" in written(merge_of(agents=(AgentReport("ruff", "SUCCESS", None),)))


def test_a_finding_shows_title_location_confidence_and_agents() -> None:
    first = finding(
        "SEC-001", severity="critical", title="Pasted SQL", agents=("a", "b"), flags=("agreed",), score=96.5
    )
    agents = tuple(AgentReport(name, "SUCCESS", "accept") for name in "abc")
    text = written(merge_of(first, agents=agents), 140)
    assert "  critical   96.5  SEC-001  Pasted SQL\n" in text
    assert "      examples/shop/shop/catalog.py:63   the line exists · 2 of 3 agents · quality · agreed\n" in text
    assert "      critical   96.5  a SEC-001\n      critical   96.5  b SEC-001\n" in text


def test_a_quote_that_was_compared_is_named_as_such() -> None:
    for flag, words in (("quote-verified", "the quote is there · "), ("name-verified", "the name is there · ")):
        text = written(merge_of(finding("SEC-001", flags=(flag,))))
        assert words in text
        assert "the line exists" not in text
        assert flag not in text


def test_the_claimed_score_is_shown_if_the_evidence_changed_it() -> None:
    assert "   84  qa-engineer QA-001 · claimed 94\n" in written(merge_of(finding(score=84, said={"claimed": 94.0})))
    assert "qa-engineer QA-001 · no score given\n" in written(merge_of(finding(said={"claimed": None})))


def test_the_cited_line_is_shown_where_there_is_a_checkout() -> None:
    code = "63 │         f\"SELECT * FROM products WHERE name LIKE '%{text}%'\""
    assert code in written(merge_of(finding()))
    assert "│" not in written(merge_of(finding()), with_checkout=False)


def test_every_conflict_is_listed_even_if_its_finding_was_dropped() -> None:
    conflicts = tuple(conflict("severity", f"QA-{number:03}", f"reason {number}") for number in range(300))
    text = written(merge_of(dropped=(finding("QA-001", reason="unsure"),), conflicts=conflicts))
    assert all(f"reason {number}" in text for number in range(300))


def test_the_surest_opinion_comes_first() -> None:
    low, high = finding(agents=("a",), score=55).opinions, finding(agents=("b",), score=96).opinions
    both = msgspec.structs.replace(finding(agents=("a", "b")), opinions=(*low, *high))
    text = written(merge_of(both))
    assert text.index("   96  b QA-001") < text.index("   55  a QA-001")


def test_risk_and_fix_are_wrapped() -> None:
    details = "**QA-001: A bug**\n```py\ncode()\n```\n**Risk**: " + "loss " * 40 + "\n**Fix**: Mend it"
    lines = written(merge_of(finding(details=details))).splitlines()
    (number,) = [number for number, line in enumerate(lines) if line.startswith("      Risk: loss loss")]
    assert lines[number + 1].startswith("            loss loss")
    assert " ".join(lines[number : number + 4]).count("loss") == 40
    assert "      Fix: Mend it" in lines


def test_a_long_id_and_all_notes_are_shown_whole() -> None:
    name = "python.lang.security.audit.dangerous-subprocess-use"
    flags = ("agreed", "baseline-unchanged", "disputed", "needs-review")
    merge = merge_of(finding(name, title="A long title " * 8, flags=flags))
    lines = written(merge).splitlines()
    assert f"  important    90  {name}" in lines
    assert all(len(line) <= 80 for line in lines)
    assert {"agreed", "disputed", "needs-review"} <= set(" ".join(lines).replace("·", " ").split())


def test_many_dropped_findings_are_counted_by_reason() -> None:
    dropped = [finding(f"QA-{number:03}", reason=f"confidence {60 + number % 2} is under 75") for number in range(31)]
    text = written(merge_of(dropped=tuple(dropped)))
    assert "Dropped  31; the JSON form has all of them\n      16  confidence 60 is under 75\n      15  " in text


def test_the_worst_findings_come_first_as_the_merge_orders_them() -> None:
    merge = example()
    text = written(merge)
    titles = [text.index(first.title[:40]) for first in merge.findings]
    assert titles == sorted(titles)
    assert len(titles) == 10


@given(merges(), st.sampled_from([80, 140]))
def test_no_line_is_wider_than_the_terminal_and_nothing_in_it_is_obeyed(merge: Merge, columns: int) -> None:
    for line in written(merge, columns).split("\n"):
        assert display_width(line) <= columns
        assert escape_control(line) == line


@pytest.mark.parametrize("unit", ["x", "漢", "a\u0301", "a" + "\u0301" * 20])
def test_a_word_of_any_length_is_split_without_a_loss(unit: str) -> None:
    word = unit * (100_000 // len(unit))
    rows = wrap_text(f"before {word} after", 80, 4)
    assert max(map(display_width, rows)) <= 80
    assert "".join("".join(rows).split()) == f"before{word}after"


def test_an_empty_merge_is_reported() -> None:
    text = written(merge_of(agents=(), status="FAILED", decision="retry"))
    assert "none: there is nothing to merge" in text
    assert text.splitlines()[-2:] == ["0 findings", "of 0 results"]


def test_a_title_of_a_million_characters_is_cut() -> None:
    assert len(written(merge_of(finding(title="x" * 1_000_000)))) < 2000


def test_a_report_of_many_inputs_starts_with_findings() -> None:
    agents = tuple(AgentReport(f"agent-{number}", "SUCCESS", "accept") for number in range(120))
    text = written(merge_of(finding(), agents=agents))
    assert text.index("\nFindings  1") < text.index("\nAgents\n") < text.index("agent-119")


def test_the_text_has_no_heading_of_issue_details() -> None:
    text = written(example())
    assert "####" not in text
    assert "**" not in text


def test_dismissed_findings_have_their_own_list() -> None:
    quiet = finding("B608", flags=("dismissed",), reason="dismissed by Ada: a constant")
    text = written(merge_of(dropped=(quiet, finding("B311", reason="confidence 70 is under 75"))))
    assert text.index("Dismissed  1") < text.index("a constant") < text.index("Dropped  1") < text.index("under 75")


@pytest.mark.parametrize("columns", [40, 80])
def test_a_narrow_screen_or_a_pipe_keeps_locations_and_outcomes_whole(columns: int) -> None:
    path = f"{'very-long-folder/' * 8}module_with_a_long_name.py"
    first = finding(place=(path, 1234, 1240), verified=None, details="**Risk**: see `" + path + ":77` for more")
    dropped = finding("QA-002", title="Another bug", place=(path, 7, None), reason="confidence 60 is under 75")
    text = written(merge_of(first, dropped=(dropped,)), columns)

    assert f"      {path}:1234-1240\n" in text
    assert "unchecked" in text
    assert f"{path}:7:" in text
    assert "confidence 60 is under 75" in " ".join(text.split())
    assert "A bug" in text
    assert "…" not in text


def test_equal_findings_of_one_rule_are_one_entry_with_their_places() -> None:
    title = "no-unused-vars: {} is not used"
    unused = [
        finding(
            f"QA-{line:03}",
            title=title.format(name),
            agents=("oxlint",),
            place=(f"{SHOP}/catalog.py", line, None),
            said={"rule": "no-unused-vars"},
        )
        for line, name in ((3, "a"), (5, "a"), (9, "b"))
    ]
    other = finding("SEC-001", title="B608: Pasted SQL", agents=("bandit",))
    text = written(merge_of(*unused, other), 140)
    assert "Findings  4 of 2 kinds, worst first\n" in text
    assert text.count("no-unused-vars: a is not used") == 1
    assert "and 2 more places of this kind:\n        examples/shop/shop/catalog.py:5  QA-005\n" in text
    assert "catalog.py:9  QA-009\n          no-unused-vars: b is not used\n" in text
    assert text.count("B608") == 1


def test_findings_of_subagents_are_one_entry_only_if_their_titles_are_equal() -> None:
    findings = [
        finding(f"QA-00{number}", title=title) for number, title in enumerate(("Race: a", "Race: b", "Race: a"), 1)
    ]
    text = written(merge_of(*findings), 140)
    assert "Findings  3 of 2 kinds, worst first\n" in text
    assert (text.count("Race: a"), text.count("Race: b")) == (1, 1)
