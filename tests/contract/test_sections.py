"""Grouping blocks into sections."""

from __future__ import annotations

import pytest

from remit.contract.outline import read_outline
from remit.contract.result_data import Text
from remit.contract.sections import Outline, arrange, has_bold_name, split_name


def arranged(text: str) -> Outline:
    return arrange(read_outline(text), 1)


def keys(text: str) -> list[str | None]:
    return [section.key for section in arranged(text).sections]


def test_a_section_ends_where_the_next_begins() -> None:
    outline = arranged("## A Result\n\n### Status\nSUCCESS\n\n### Other\nx\n\n### Summary\ny")
    assert outline.agent == "A"
    assert [(section.key, section.heading, section.line) for section in outline.sections] == [
        ("status", "Status", 3),
        (None, "Other", 6),
        ("summary", "Summary", 9),
    ]


def test_a_section_name_inside_another_section_is_a_plain_heading_if_the_section_exists() -> None:
    outline = arranged("## Explore Result\n### Status\nSUCCESS\n### Findings\n#### Status\nall good\n")
    status, findings = outline.sections
    assert status.content == [Text(text="SUCCESS")]
    assert [block.heading for block in findings.blocks] == ["Status"]


def test_a_section_may_be_nested_in_another() -> None:
    assert keys("## Explore Result\n### Findings\nx\n#### Next Steps\n1. y") == ["findings", "next_steps"]


def test_blocks_without_a_findings_heading_are_findings() -> None:
    (section,) = arranged("## Explore Result\n#### Claims\nx\n#### Dependencies\ny").sections
    assert (section.key, section.heading) == ("findings", "")
    assert [block.heading for block in section.blocks] == ["Claims", "Dependencies"]


def test_a_block_at_the_level_of_findings_is_a_block() -> None:
    (section,) = arranged("## Explore Result\n### Findings\n### Claims\nx\n").sections
    assert [block.heading for block in section.blocks] == ["Claims"]


def test_headings_inside_a_block_belong_to_it() -> None:
    (section,) = arranged(
        "## Explore Result\n### Findings\n#### Issue Details\n##### SEC-1\nx\n##### SEC-2\ny"
    ).sections
    (block,) = section.blocks
    assert len(block.content) == 4


def test_text_before_the_first_heading_is_kept() -> None:
    first, second = arranged("## Explore Result\nwords\n### Status\nSUCCESS").sections
    assert (first.key, first.heading, first.content) == (None, "", [Text(text="words")])
    assert second.key == "status"


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Status: SUCCESS", ("Status", "SUCCESS")),
        ("Status：SUCCESS", ("Status", "SUCCESS")),
        ("**Status:** SUCCESS", ("**Status", "SUCCESS")),
        ("Status:", ("Status", "")),
        ("Other: x", ("Other: x", "")),
        ("Status", ("Status", "")),
    ],
)
def test_a_heading_may_contain_a_value(heading: str, expected: tuple[str, str]) -> None:
    assert split_name(heading) == expected


def test_bold_lines_of_one_paragraph_are_several_sections() -> None:
    outline = arranged("**A Result**\n**Status**: SUCCESS\n**Summary**: One.\nTwo.\n**Next Steps**\nthree")
    assert outline.agent == "A"
    assert [(section.key, section.content, section.line) for section in outline.sections] == [
        ("status", [Text(text="SUCCESS")], 2),
        ("summary", [Text(text="One.\nTwo.")], 3),
        ("next_steps", [Text(text="three")], 5),
    ]


def test_bold_section_names_inside_findings_are_text() -> None:
    assert keys("## Explore Result\n### Findings\n**Summary**: of the module\n#### Claims\n**Issues**: many") == [
        "findings"
    ]


@pytest.mark.parametrize("text", ["**Summary** x", "a\n**Claims**", "**Foo Result**", "**サマリー**: x"])
def test_bold_names_are_recognised(text: str) -> None:
    assert has_bold_name(text)


@pytest.mark.parametrize("text", ["**Claims** are words", "Summary", "x **Summary**", "**Foo**", "a\n**Foo Result**"])
def test_other_bold_text_is_text(text: str) -> None:
    assert not has_bold_name(text)
