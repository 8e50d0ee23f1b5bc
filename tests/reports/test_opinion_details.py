"""An agent's details, taken apart: its risk, its fix, other words and code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from merge_samples import opinions

from remit.merging.merge_data import Opinion
from remit.reports.merge.parts import OpinionDetails, opinion_details


def parts(details: str) -> OpinionDetails:
    return opinion_details(
        Opinion(agent="a", id="QA-1", severity=None, confidence=90, line=3, title="A bug", details=details)
    )


def test_the_parts_of_the_templates_details_are_found() -> None:
    text = "**QA-1: A bug**\n```py\n# a.py:3\ncall()\n```\n**Risk**: loss\nof data\n**Fix**: fix it\n\nMore."
    assert parts(text) == OpinionDetails(
        risk="loss of data", fix="fix it", also="", words="More.", code="# a.py:3\ncall()"
    )


@pytest.mark.parametrize(
    "line", ["**Risk**: loss", "Risk: loss", "- **Risk:** loss", "* risk: loss", "_Risk_: loss", "**リスク**：loss"]
)
def test_a_label_is_read_however_it_is_written(line: str) -> None:
    assert parts(line).risk == "loss"


@pytest.mark.parametrize("line", ["At risk: nobody", "Risky: yes", "the fix is easy"])
def test_other_words_are_not_a_label(line: str) -> None:
    assert parts(line) == OpinionDetails("", "", "", line, "")


def test_a_label_inside_code_is_code() -> None:
    assert parts("```\nFix: nothing\n```").code == "Fix: nothing"


LINES = ["", "```py", "```", "**Risk**: w{}", "**Fix**: w{}", "Also: w{}", "# w{}", "- w{}", "    w{}", "w{}"]


@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_no_word_is_lost(lines: list[str]) -> None:
    kept = " ".join(parts("\n".join(line.format(number) for number, line in enumerate(lines)))).split()
    assert all(f"w{number}" in " ".join(kept) for number, line in enumerate(lines) if "{}" in line)


@given(opinions)
def test_any_details_are_read(opinion: Opinion) -> None:
    assert len(" ".join(opinion_details(opinion))) <= 2 * len(opinion.details) + 4
