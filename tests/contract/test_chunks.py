"""Where in a text the results are."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import documents

from remit.contract.chunks import is_blank_content, split, title_agent


@pytest.mark.parametrize(
    ("heading", "agent"),
    [
        ("Code Explorer Result", "Code Explorer"),
        ("Code Explorer Results", "Code Explorer"),
        ("code-explorer result", "code-explorer"),
        ("Code Explorer — Result", "Code Explorer"),
        ("Code Explorer: Result:", "Code Explorer"),
        ("**Code Explorer Result**", "Code Explorer"),
        ("*Code Explorer* Result", "Code Explorer"),
        ("`code-explorer` Result", "code-explorer"),
        ("Code Explorer 結果", "Code Explorer"),
        ("コード調査員の結果", "コード調査員の"),
        ("代码审查结果", "代码审查"),
        ("Result", ""),
        ("Result Result", "Result"),
        ("plugin:agent Result", "plugin:agent"),
    ],
)
def test_a_title_names_its_agent(heading: str, agent: str) -> None:
    assert title_agent(heading) == agent


@pytest.mark.parametrize(
    "heading",
    ["Test Results", "調査結果", "テスト結果", "Resulting", "The Result is good", "Findings", "x" * 301 + " Result"],
)
def test_other_headings_are_no_titles(heading: str) -> None:
    assert title_agent(heading) is None


def test_a_text_without_a_title_is_one_chunk() -> None:
    assert [chunk.text for chunk in split("### Status\nSUCCESS")] == ["### Status\nSUCCESS"]


def test_each_title_begins_a_chunk() -> None:
    chunks = split("before\n## A Result\none\n# B Result\ntwo\n")
    assert [(chunk.text, chunk.first_line) for chunk in chunks] == [("## A Result\none", 2), ("# B Result\ntwo\n", 4)]


def test_a_heading_of_the_titles_level_that_the_contract_does_not_know_ends_a_result() -> None:
    (chunk,) = split("## A Result\n## Status\nSUCCESS\n## Status: again\n## Test Results\nx\n## Notes\nafter")
    assert chunk.text == "## A Result\n## Status\nSUCCESS\n## Status: again\n## Test Results\nx"


def test_a_heading_below_the_title_does_not_end_a_result() -> None:
    (chunk,) = split("# A Result\n## Notes\nx")
    assert chunk.text == "# A Result\n## Notes\nx"


@pytest.mark.parametrize(
    "inside",
    [
        "```\n## B Result\n```",
        "~~~\n## B Result\n~~~",
        "~~~ a`b\n## B Result\n~~~",
        "````\n```\n## B Result\n````",
        "- ```\n  ## B Result\n  ```",
    ],
)
def test_a_title_in_a_fence_begins_nothing(inside: str) -> None:
    chunks = split(f"## A Result\n{inside}\nx\n## C Result\n")
    assert [chunk.text.split("\n")[0] for chunk in chunks] == ["## A Result", "## C Result"]


@pytest.mark.parametrize("line", ["``` not `a` fence", "``", "x ```"])
def test_what_only_looks_like_a_fence_hides_nothing(line: str) -> None:
    assert len(split(f"## A Result\n{line}\n## B Result\n")) == 2


def test_a_wrapped_result_ends_with_its_fence() -> None:
    (chunk,) = split("words\n```markdown\n\n## A Result\n### Status\nSUCCESS\n```\nwords")
    assert chunk.text == "## A Result\n### Status\nSUCCESS"
    assert chunk.first_line == 4


def test_a_wrap_that_is_never_closed_ends_with_the_text() -> None:
    (chunk,) = split("```markdown\n## A Result\n### Status\nSUCCESS")
    assert chunk.text == "## A Result\n### Status\nSUCCESS"


def test_a_fence_in_another_language_does_not_wrap_a_result() -> None:
    (chunk,) = split("```python\n## A Result\n```\n")
    assert chunk.first_line == 1


def test_words_before_a_title_inside_a_fence_make_it_an_example() -> None:
    (chunk,) = split("```\nfor instance:\n## A Result\n```\n")
    assert chunk.first_line == 1


def test_a_frame_ends_where_the_indentation_ends() -> None:
    (chunk,) = split("  ## A Result\n\n  ### Status\n  SUCCESS\nafter the frame")
    assert chunk.text == "## A Result\n\n### Status\nSUCCESS"


@given(documents)
def test_chunks_are_lines_of_the_text_in_their_order(text: str) -> None:
    lines = text.split("\n")
    last = 0
    for chunk in split(text):
        assert chunk.first_line > last
        own = chunk.text.split("\n")
        for offset, line in enumerate(own):
            assert lines[chunk.first_line - 1 + offset].endswith(line)
        last = chunk.first_line + len(own) - 1
    assert last <= len(lines)


@pytest.mark.parametrize(
    ("text", "inert"), [("words", True), ("# Notes", False), ("## B Result", False), ("### x", True)]
)
def test_headings_that_end_a_result_are_not_inert(text: str, inert: bool) -> None:
    assert is_blank_content(text) == inert
    assert is_blank_content(f"a\n```\n{text}\n```\n")


def test_a_fence_that_stays_open_is_not_inert() -> None:
    assert not is_blank_content("a\n```\nb")
