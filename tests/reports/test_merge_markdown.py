"""A merge as Markdown: the decision first, everything in it, and no text of an agent that breaks the page."""

from __future__ import annotations

import re

import msgspec
from hypothesis import given
from merge_samples import INVENTED, PLACES, conflict, example, finding, merge_of, merges, sources

from remit.merging.merge_data import AgentReport, Merge
from remit.reports.merge.markdown import merge_markdown


def headings(text: str) -> list[str]:
    return [line.removeprefix("## ") for line in text.split("\n") if line.startswith("## ")]


def test_the_decision_is_the_first_line_then_conflicts_then_what_did_not_hold() -> None:
    dropped = (finding("QA-009", reason="confidence 60 is under 75"),)
    text = merge_markdown(merge_of(finding(), dropped=dropped, conflicts=(conflict(),), failed=(INVENTED,)))
    assert text.split("\n")[2] == (
        "**decision continue · run SUCCESS · 1 failed (1 critical) · 1 dropped · 0 dismissed**"
    )
    assert headings(text) == [
        "Conflicts for a person to decide",
        "Claims that did not hold",
        "Findings",
        "Agents",
        "Dropped",
    ]
    assert "- **score** QA-001: A bug. far apart\n" in text
    assert "- critical SEC-009 An invented fault (`shop/auth.py:412`). ruff: the file has 171 lines\n" in text
    assert "- important QA-009 A bug (`examples/shop/shop/catalog.py:63`): confidence 60 is under 75\n" in text


def test_a_finding_has_its_place_its_code_and_each_opinion() -> None:
    other = finding(agents=("b",), title="Something | else", score=80).opinions
    details = "**Risk**: loss\n**Fix**: mend it"
    both = msgspec.structs.replace(
        finding(details=details), agents=("b", "qa-engineer"), opinions=(*other, *finding(details=details).opinions)
    )
    text = merge_markdown(merge_of(both), sources().workspace)
    assert "### Important, 90: QA-001 A bug\n\nAlso stated there: Something | else\n\n" in text
    assert "`examples/shop/shop/catalog.py:63` · the line exists · 2 of 2 agents · quality\n" in text
    assert "```\n   63         f\"SELECT * FROM products WHERE name LIKE '%{text}%'\"\n```\n" in text
    assert (
        "- qa-engineer: important, 90\n  - Risk: loss\n  - Fix: mend it\n- b: important, 80. Something | else\n" in text
    )


def test_agents_are_a_table_that_no_name_breaks() -> None:
    text = merge_markdown(
        merge_of(agents=(AgentReport("a|b", "SUCCESS", "accept"), AgentReport("ruff", "FAILED", None)))
    )
    assert "| a\\|b | SUCCESS | accept |\n| ruff | FAILED | no result |\n" in text


def test_code_with_a_fence_does_not_end_its_block() -> None:
    place = ("README.md", 1, 12)
    text = merge_markdown(merge_of(finding(place=place)), sources().workspace)
    fences = re.findall(r"^`{3,}", text, re.MULTILINE)
    assert len(fences) >= 2


@given(merges())
def test_no_words_of_an_agent_become_a_heading_or_a_tag(merge: Merge) -> None:
    text = merge_markdown(merge)
    known = {"Merged review", "Conflicts for a person to decide", "Claims that did not hold", "Findings", "Agents"}
    known |= {"Dropped", "Errors", "Blockers", "Coverage", "Summaries", "Different Designs", "Designs", "Explorations"}
    known |= {"Changes", "Tests", "Verified Claims", "Compliance", "Notes", "References", "Next Steps"}
    for line in text.split("\n"):
        if match := re.match(r"#{1,2} (.*)", line):
            assert match[1] in known
        assert not re.search(r"(?<!\\)<(?:script|img|/style)", re.sub(r"`[^`]*`", "", line))
    assert text.count("\n### ") <= len(merge.findings)


def test_the_same_merge_gives_the_same_bytes() -> None:
    assert merge_markdown(example(), sources().workspace) == merge_markdown(example(), sources().workspace)


def test_a_range_is_shown_with_its_lines() -> None:
    text = merge_markdown(merge_of(finding(place=PLACES[1])), sources().workspace)
    assert "   40 " in text
    assert "   42 " in text
