"""Finding the results in a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import documents

from remit.contract.chunks import is_self_contained, split, title_agent


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
def test_other_headings_are_not_titles(heading: str) -> None:
    assert title_agent(heading) is None


def test_a_text_without_a_title_is_one_chunk() -> None:
    assert [chunk.text for chunk in split("### Status\nSUCCESS")] == ["### Status\nSUCCESS"]


def test_each_title_starts_a_chunk() -> None:
    chunks = split("before\n## Explore Result\none\n# QA Engineer Result\ntwo\n")
    assert [(chunk.text, chunk.first_line) for chunk in chunks] == [
        ("## Explore Result\none", 2),
        ("# QA Engineer Result\ntwo\n", 4),
    ]


def test_an_unknown_heading_at_the_level_of_the_title_ends_a_result() -> None:
    (chunk,) = split("## Explore Result\n## Status\nSUCCESS\n## Status: again\n## Test Results\nx\n## Notes\nafter")
    assert chunk.text == "## Explore Result\n## Status\nSUCCESS\n## Status: again\n## Test Results\nx"


def test_a_heading_below_the_title_does_not_end_a_result() -> None:
    (chunk,) = split("# Explore Result\n## Notes\nx")
    assert chunk.text == "# Explore Result\n## Notes\nx"


@pytest.mark.parametrize(
    "inside",
    [
        "```\n## QA Engineer Result\n```",
        "~~~\n## QA Engineer Result\n~~~",
        "~~~ a`b\n## QA Engineer Result\n~~~",
        "````\n```\n## QA Engineer Result\n````",
        "- ```\n  ## QA Engineer Result\n  ```",
    ],
)
def test_a_title_in_a_fence_does_not_start_a_chunk(inside: str) -> None:
    chunks = split(f"## Explore Result\n{inside}\nx\n## Explore Result\n")
    assert [chunk.text.split("\n")[0] for chunk in chunks] == ["## Explore Result", "## Explore Result"]


@pytest.mark.parametrize("line", ["``` not `a` fence", "``", "x ```"])
def test_text_that_resembles_a_fence_does_not_hide_a_title(line: str) -> None:
    assert len(split(f"## Explore Result\n{line}\n## QA Engineer Result\n")) == 2


def test_a_wrapped_result_ends_at_its_closing_fence() -> None:
    (chunk,) = split("words\n```markdown\n\n## Explore Result\n### Status\nSUCCESS\n```\nwords")
    assert chunk.text == "## Explore Result\n### Status\nSUCCESS"
    assert chunk.first_line == 4


def test_an_unclosed_wrap_ends_at_the_end_of_the_text() -> None:
    (chunk,) = split("```markdown\n## Explore Result\n### Status\nSUCCESS")
    assert chunk.text == "## Explore Result\n### Status\nSUCCESS"


def test_a_fence_in_another_language_does_not_wrap_a_result() -> None:
    (chunk,) = split("```python\n## Explore Result\n```\n")
    assert chunk.first_line == 1


def test_text_before_a_title_inside_a_fence_makes_it_an_example() -> None:
    (chunk,) = split("```\nfor instance:\n## Explore Result\n```\n")
    assert chunk.first_line == 1


def test_a_frame_ends_at_the_end_of_the_indentation() -> None:
    (chunk,) = split("  ## Explore Result\n\n  ### Status\n  SUCCESS\nafter the frame")
    assert chunk.text == "## Explore Result\n\n### Status\nSUCCESS"


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
    ("text", "is_part"), [("words", True), ("# Notes", False), ("## QA Engineer Result", False), ("### x", True)]
)
def test_headings_that_end_a_result_are_not_self_contained(text: str, is_part: bool) -> None:
    assert is_self_contained(text) == is_part
    assert is_self_contained(f"a\n```\n{text}\n```\n")


def test_an_open_fence_is_not_self_contained() -> None:
    assert not is_self_contained("a\n```\nb")


# --- Which titles start a result


@pytest.mark.parametrize(
    "text",
    [
        "## Explore Result\nwords",
        "## Security Auditor Results\nwords",
        "## plugin:qa-engineer Result\nwords",
        "## Custom Helper Result\n\n### Status\nSUCCESS",
        "## Custom Helper Result\n\n### Status: FAILED",
        "## Custom Helper Result\n**Status**: SUCCESS",
        "## Custom Helper Result\n- Status: partial",
        "## 監査 結果\n### ステータス\nSUCCESS",
    ],
)
def test_a_known_agent_or_a_status_starts_a_result(text: str) -> None:
    (chunk,) = split(f"words\n{text}")
    assert chunk.first_line == 2


@pytest.mark.parametrize(
    "text",
    [
        "## Testing Results\nAll 12 pass.",
        "## Testing Results\nThe status is good.",
        "## Benchmark Result\nStatus: we do not know yet",
        "## Custom Helper Result\n### Summary\nOne.",
    ],
)
def test_another_heading_that_ends_with_result_does_not_start_one(text: str) -> None:
    (chunk,) = split(f"words\n{text}")
    assert (chunk.first_line, chunk.around) == (1, ())


def test_a_status_belongs_to_the_nearest_title_above_it() -> None:
    (chunk,) = split("## Testing Results\nx\n## Custom Helper Result\n### Status\nSUCCESS")
    assert (chunk.first_line, [one.text for one in chunk.around]) == (3, ["## Testing Results\nx"])


# --- The text around a result


def around(text: str) -> list[tuple[int, str]]:
    return [(one.first_line, one.text) for chunk in split(text) for one in chunk.around]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Explore Result\nx", []),
        ("before\n\n## Explore Result\nx", [(1, "before\n")]),
        ("\n\n## Explore Result\nx\n\n", []),
        ("## Explore Result\nx\n## Notes\nafter", [(3, "## Notes\nafter")]),
        ("a\n```markdown\n## Explore Result\nx\n```\nb", [(1, "a"), (6, "b")]),
        ("  ## Explore Result\n\n  x\nafter the frame", [(4, "after the frame")]),
        (
            "a\n## Explore Result\n# Notes\nb\n## QA Engineer Result\n# Notes\nc",
            [(1, "a"), (3, "# Notes\nb"), (6, "# Notes\nc")],
        ),
    ],
)
def test_the_other_text_of_a_file_is_kept_with_the_nearest_result(text: str, expected: list[tuple[int, str]]) -> None:
    assert around(text) == expected


@given(documents)
def test_every_line_with_text_is_in_a_chunk_or_around_one(text: str) -> None:
    lines = text.split("\n")
    covered: set[int] = set()
    for chunk in split(text):
        for piece in (chunk, *chunk.around):
            covered.update(range(piece.first_line, piece.first_line + piece.text.count("\n") + 1))
    left = [line for number, line in enumerate(lines, 1) if number not in covered and line.strip()]
    assert all(line.lstrip().startswith(("```", "~~~")) for line in left)
