"""From text to results: what is tolerated, what is refused, and that nothing makes the parser raise."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import FRAGMENTS, documents
from verdicts import broken, verdict

from remit.checking import check_text
from remit.contract import outline
from remit.contract.kinds import KINDS
from remit.contract.model import Justification, Result
from remit.contract.parse import MAX_BYTES, MAX_RESULTS, Document, parse
from remit.contract.render import to_json
from remit.rules.examples import sample

REVIEW = sample("review")


def one(text: str | bytes) -> Document:
    (document,) = parse(text)
    return document


def result(text: str | bytes) -> Result:
    return one(text).result


EXPECTED = result(REVIEW)


def sections(text: str) -> list[str]:
    """The title and the sections of a sample, each with its heading."""
    return re.split(r"^(?=### )", text, flags=re.MULTILINE)


class TestTolerance:
    """Section 3 of the contract: what is accepted on input, one case a test."""

    def test_the_order_of_sections_is_free(self) -> None:
        title, *own = sections(REVIEW)
        backwards = title + "".join(part.rstrip() + "\n\n" for part in reversed(own))
        assert result(backwards) == EXPECTED
        assert broken(backwards) == []

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_title_may_have_level_one_or_two(self, kind: str) -> None:
        level_1 = sample(kind).replace("## ", "# ", 1)
        assert result(level_1) == result(sample(kind))
        assert broken(level_1) == []

    def test_a_title_of_level_three_is_no_title(self) -> None:
        assert "title-missing" in broken(REVIEW.replace("## Security", "### Security", 1))

    @pytest.mark.parametrize(("section", "block"), [("#", "##"), ("##", "###"), ("##", "##"), ("####", "#####")])
    def test_sections_and_blocks_may_have_any_level(self, section: str, block: str) -> None:
        other = re.sub(r"^#### ", f"{block} ", REVIEW, flags=re.MULTILINE)
        other = re.sub(r"^### ", f"{section} ", other, flags=re.MULTILINE)
        assert result(other) == EXPECTED
        assert broken(other) == []

    def test_a_status_may_stand_on_the_line_of_its_heading(self) -> None:
        inline = REVIEW.replace("### Status\nSUCCESS", "### Status: SUCCESS")
        assert result(inline) == EXPECTED
        assert broken(inline) == []

    def test_bold_words_may_stand_for_headings(self) -> None:
        bold = re.sub(r"^(#{3,4}) (.*)$", r"**\2**\n", REVIEW, flags=re.MULTILINE)
        assert result(bold) == EXPECTED
        assert broken(bold) == []

    def test_a_bold_name_and_its_value_may_share_a_line(self) -> None:
        bold = REVIEW.replace("### Status\nSUCCESS", "**Status:** SUCCESS")
        assert result(bold) == EXPECTED
        assert broken(bold) == []

    def test_a_bold_name_that_stands_twice_is_ambiguous_and_no_heading(self) -> None:
        twice = REVIEW.replace("### Status\nSUCCESS", "**Status:** SUCCESS\n\n**Status:** PARTIAL")
        assert "status-missing" in broken(twice)

    def test_a_bold_name_is_no_heading_where_a_heading_of_that_name_exists(self) -> None:
        both = REVIEW.replace("Both can be mended", "**Status**: both can be mended")
        assert result(both).status == "SUCCESS"

    def test_a_bold_title_inside_a_section_is_not_the_title(self) -> None:
        untitled = REVIEW.replace("## Security Auditor Result\n\n", "").replace(
            "Both can", "\n**Final Result**\n\nBoth can"
        )
        assert result(untitled).agent == ""
        assert result(untitled).status == "SUCCESS"

    @pytest.mark.parametrize(
        "heading", ["### Issues (if any)", "### Issues (optional):", "### 4. Issues", "### ISSUES"]
    )
    def test_words_in_brackets_after_a_heading_do_not_matter(self, heading: str) -> None:
        text = REVIEW.replace("### Next Steps", f"{heading}\n- Slow: twice | Severity: minor\n\n### Next Steps")
        assert [issue.title for issue in result(text).issues] == ["Slow"]
        assert broken(text) == []

    @pytest.mark.parametrize(
        "written",
        [
            "success",
            "Success",
            "SUCCESS ✅",
            "✅ SUCCESS",
            "[SUCCESS]",
            "SUCCESS (all files read)",
            "**SUCCESS**",
            "`success`",
        ],
    )
    def test_a_status_in_another_form_is_understood_and_breaks_status_form_only(self, written: str) -> None:
        text = REVIEW.replace("### Status\nSUCCESS", f"### Status\n{written}")
        assert result(text).status == "SUCCESS"
        assert broken(text) == ["status-form"]
        assert verdict(text).accepted

    @pytest.mark.parametrize("fence", ["```markdown", "```md", "```", "~~~markdown", "````markdown", "```text"])
    def test_a_result_may_be_wrapped_in_a_fence(self, fence: str) -> None:
        text = sample("exploration")
        wrapped = f"{fence}\n{text}{fence.rstrip('markdowntex')}\n"
        assert result(wrapped) == result(text)
        assert broken(wrapped) == []

    @pytest.mark.parametrize("kind", ["review", "implementation"])
    def test_fences_of_the_same_length_may_stand_inside_the_wrap(self, kind: str) -> None:
        wrapped = f"Here is my result:\n\n```markdown\n{sample(kind)}```\n\nThat was it.\n"
        assert result(wrapped) == result(sample(kind))
        assert broken(wrapped) == []

    def test_a_bare_fence_after_the_last_heading_of_a_wrapped_result_is_an_example(self) -> None:
        text = sample("generic").replace("1. Tag the release", "1. Tag the release\n\n```\ngit tag v1\n```")
        wrapped = f"```markdown\n{text}```\n"
        assert result(wrapped) == result(text)

    def test_several_wrapped_results_are_each_found(self) -> None:
        wrapped = "".join(
            f"### {kind}\n\n```markdown\n{sample(kind)}```\n\n" for kind in ("review", "generic", "error")
        )
        found = parse(wrapped)
        assert [document.result for document in found] == [result(sample(k)) for k in ("review", "generic", "error")]

    def test_text_before_and_after_does_not_matter(self) -> None:
        text = f"I have finished the review.\n\n- one thing\n\n{REVIEW}\n# Afterwards\n\nAnything else?\n"
        assert result(text) == EXPECTED
        assert broken(text) == []

    def test_lines_are_those_of_the_file_also_after_words_before_the_result(self) -> None:
        faulty = REVIEW.replace("### Status\nSUCCESS", "### Status\nDONE")
        (alone,) = verdict(faulty).violations
        (after,) = verdict("One.\n\nTwo.\n\n" + faulty).violations
        assert after.line == alone.line + 4

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_frame_of_a_client_may_indent_every_line(self, kind: str) -> None:
        indented = "".join(f"  {line}".rstrip(" ") for line in sample(kind).splitlines(keepends=True))
        framed = f"<tools-used-before-summary>Read, Grep</tools-used-before-summary>\n{indented}"
        assert result(framed) == result(sample(kind))
        assert broken(framed) == []

    @pytest.mark.parametrize("width", [1, 3, 4, 8])
    def test_the_frame_may_have_any_width(self, width: int) -> None:
        framed = "".join(" " * width + line for line in REVIEW.splitlines(keepends=True))
        assert result(framed) == EXPECTED

    def test_a_title_that_is_indented_alone_is_a_title(self) -> None:
        assert result("    " + REVIEW) == EXPECTED

    def test_each_of_several_results_in_a_file_is_checked(self) -> None:
        faulty = sample("generic").replace("### Status\nSUCCESS", "### Status\nDONE")
        verdicts = check_text(f"{REVIEW}\n{faulty}\n{sample('error')}")
        assert [found.agent for found in verdicts] == ["security-auditor", "release-helper", "backend-specialist"]
        assert [found.verdict for found in verdicts] == ["accept", "revise", "accept"]

    def test_a_json_document_is_read(self) -> None:
        assert result(to_json(EXPECTED)) == EXPECTED
        assert broken(to_json(EXPECTED)) == []

    def test_a_json_list_holds_several_results(self) -> None:
        texts = b"[" + to_json(EXPECTED) + b", " + to_json(result(sample("error"))) + b"]"
        assert [document.result for document in parse(texts)] == [EXPECTED, result(sample("error"))]

    def test_a_json_document_may_stand_in_a_fence(self) -> None:
        assert result(b"\n```json\n" + to_json(EXPECTED) + b"\n```\n") == EXPECTED

    def test_underlined_headings_are_headings(self) -> None:
        text = REVIEW.replace("## Security Auditor Result", "Security Auditor Result\n=======================")
        text = text.replace("### Status\n", "Status\n------\n").replace("### Summary\n", "Summary\n---\n")
        assert result(text) == EXPECTED
        assert broken(text) == []

    def test_a_section_that_stands_twice_is_joined(self) -> None:
        again = REVIEW + "\n### Next Steps\n1. And rest\n"
        assert result(again).next_steps == ("Mend SEC-001 before the next release", "And rest")

    def test_two_statuses_in_two_sections_are_no_status(self) -> None:
        assert "status-unknown" in broken(REVIEW + "\n### Status\nFAILED\n")

    def test_findings_that_stand_twice_keep_all_their_blocks(self) -> None:
        again = REVIEW + "\n### Findings\n\nMore words.\n\n#### Dependencies\n- none\n"
        names = [block.heading for block in result(again).findings]
        assert names == ["", "Issues Detected", "Issue Details", "Compliance Check", "Dependencies"]

    @pytest.mark.parametrize("fence", ["```", "```markdown", "~~~"])
    def test_a_title_inside_a_fence_of_a_result_is_not_another_result(self, fence: str) -> None:
        quoted = f"{fence}\n## Other Agent Result\n\n### Status\nFAILED\n{fence[:3]}\n"
        text = sample("implementation").replace("#### Implementation Notes", f"{quoted}\n#### Implementation Notes")
        assert result(text).agent == "Backend Specialist"
        assert result(text).status == "SUCCESS"

    def test_a_title_inside_a_fence_in_a_list_is_not_another_result(self) -> None:
        text = (
            sample("generic")
            + "2. Example:\n   ```\n   ## Other Agent Result\n   ```\n3. ```\n   # Third Result\n   ```\n"
        )
        assert result(text).agent == "Release Helper"

    def test_a_fence_that_begins_in_a_list_item_does_not_hide_the_next_result(self) -> None:
        text = sample("generic") + "2. ```\n   git tag\n   ```\n\n" + REVIEW
        assert [document.result.agent for document in parse(text)] == ["Release Helper", "Security Auditor"]

    def test_an_unknown_section_is_kept_and_not_judged(self) -> None:
        text = REVIEW + "\n### Acknowledgements\nThanks.\n"
        assert [extra.heading for extra in result(text).extra] == ["Acknowledgements"]
        assert broken(text) == []


LANGUAGES = Path(__file__).parents[1] / "fixtures" / "languages"


class TestLanguages:
    """Headings, columns, labels and boxes in Japanese and Chinese; enum words stay English."""

    @pytest.mark.parametrize("path", sorted(LANGUAGES.glob("*.md")), ids=lambda path: path.stem)
    def test_a_whole_document_in_another_language_is_accepted(self, path: Path) -> None:
        found = verdict(path.read_text(encoding="utf-8"))
        assert [violation.rule for violation in found.violations] == []
        assert found.kind == path.stem.split("_")[1]

    @pytest.mark.parametrize("path", sorted(LANGUAGES.glob("*.md")), ids=lambda path: path.stem)
    def test_nothing_of_such_a_document_is_left_unknown(self, path: Path) -> None:
        assert result(path.read_text(encoding="utf-8")).extra == ()

    def test_labels_in_another_language_are_read(self) -> None:
        read = result((LANGUAGES / "japanese_review.md").read_text(encoding="utf-8"))
        assert [(issue.title, issue.severity) for issue in read.issues] == [("記録がない", "minor")]
        assert read.justification == Justification(
            score=90.0,
            evidence_count=2.0,
            method="ファイルを読んだ",
            blind_spots="設定から読み込まれるコード",
        )
        read = result((LANGUAGES / "japanese_error.md").read_text(encoding="utf-8"))
        assert [(blocker.text, blocker.resolution) for blocker in read.blockers] == [
            ("テストが動かない", "道具を入れる")
        ]


class TestDecoding:
    def test_text_that_is_not_utf_8_is_refused_with_the_place(self) -> None:
        assert one(b"## A Result\n\xff").refusal == "it is not UTF-8 text (byte 12)"

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
    def test_other_encodings_are_refused(self, encoding: str) -> None:
        assert one(REVIEW.encode(encoding)).refusal is not None

    def test_a_byte_order_mark_is_not_part_of_the_text(self) -> None:
        assert result(b"\xef\xbb\xbf" + REVIEW.encode()) == EXPECTED
        assert result("\ufeff" + REVIEW) == EXPECTED

    def test_line_ends_of_other_systems_are_line_ends(self) -> None:
        assert result(REVIEW.replace("\n", "\r\n")) == EXPECTED
        assert broken(REVIEW.replace("\n", "\r\n")) == []

    def test_a_lone_carriage_return_is_no_line_end(self) -> None:
        text = REVIEW.replace("Both can be mended", "Both can\rbe mended")
        assert result(text) == EXPECTED

    def test_a_null_character_is_shown_as_unreadable(self) -> None:
        assert "\ufffd" in result(REVIEW.replace("Both can", "Both\0can")).summary

    def test_half_a_surrogate_pair_becomes_a_question_mark(self) -> None:
        assert "Both ? can" in result(REVIEW.replace("Both can", "Both \ud800 can")).summary

    def test_text_up_to_the_limit_is_read_and_one_byte_more_is_refused(self) -> None:
        padded = REVIEW.encode() + b"x" * (MAX_BYTES - len(REVIEW.encode()))
        assert one(padded).refusal is None
        assert one(padded + b"x").refusal == "it is larger than 1,024 KiB"

    def test_lines_up_to_the_limit_are_read_and_one_more_is_refused(self) -> None:
        padded = REVIEW + "\n" * (outline.MAX_LINES - REVIEW.count("\n"))
        assert one(padded).refusal is None
        assert one(padded + "\n").refusal == "it has more than 100,000 lines"

    def test_results_up_to_the_limit_are_read_and_one_more_is_refused(self) -> None:
        assert len(parse("## A Result\n" * MAX_RESULTS)) == MAX_RESULTS
        assert one("## A Result\n" * (MAX_RESULTS + 1)).refusal == "it holds more than 1,000 results"
        assert one(b"[" + b'{"agent": "a"},' * MAX_RESULTS + b"{}]").refusal == "it holds more than 1,000 results"

    def test_short_rows_under_a_wide_head_are_refused_by_their_cells(self) -> None:
        wide = "|" + "a|" * 400 + "\n|" + "-|" * 400 + "\n"
        assert one(REVIEW + "\n" + wide + "|a\n" * 200).refusal is None
        assert one(REVIEW + "\n" + wide + "|a\n" * 300).refusal == "its tables have more than 100,000 cells"

    def test_many_small_tables_are_refused_by_their_cells(self) -> None:
        assert one("a|b\n-|-\n" * 30_000).refusal == "its tables have more than 100,000 cells"

    def test_a_refused_text_is_rejected_at_once(self) -> None:
        assert broken(b"\xff") == ["unreadable"]
        assert verdict(b"\xff").verdict == "reject"

    @pytest.mark.parametrize("text", ["", " ", "\n\n", "\t\r\n", "\ufeff", "{}", b""])
    def test_an_empty_text_is_rejected_for_its_missing_title(self, text: str | bytes) -> None:
        assert broken(text) == ["title-missing"]
        assert verdict(text).verdict == "reject"


class TestJson:
    @pytest.mark.parametrize(
        "text",
        [
            "{",
            '{"agent": }',
            '{"agent": "x",}',
            "{'agent': 'x'}",
            '{"confidence": {"score": 1e999}}',
            '{"summary": "\\ud800"}',
        ],
    )
    def test_what_begins_like_json_and_is_not_is_refused(self, text: str) -> None:
        assert "begins like JSON" in str(one(text).refusal)

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ('{"agent": "a", "summary": []}', "$.summary"),
            ('{"findings": [{"content": [{"type": "image"}]}]}', "$.findings[0].content[0]"),
            ('{"confidence": {"score": []}}', "$.confidence.score"),
            ('{"schema": "remit.result/2"}', "$.schema"),
        ],
    )
    def test_json_of_another_shape_is_refused_with_the_place(self, text: str, place: str) -> None:
        refusal = str(one(text).refusal)
        assert refusal.startswith("it is JSON but not a result")
        assert place in refusal

    @pytest.mark.parametrize(
        "text", ["[]", "[1]", "[[", "[x] done", "```json\n\n```", "```json\n[]\n```", "```json\n```"]
    )
    def test_brackets_that_hold_no_result_are_markdown(self, text: str) -> None:
        assert one(text).refusal is None
        assert "title-missing" in broken(text)

    @pytest.mark.parametrize("opening", ['{"a":', "[", '{"findings":['])
    def test_json_nested_without_end_is_refused_or_markdown(self, opening: str) -> None:
        assert broken(opening * (MAX_BYTES // len(opening))) in (["unreadable"], ["title-missing"])

    def test_line_ends_and_headings_inside_a_value_cannot_add_a_section(self) -> None:
        sly = "x\r\n\r\n### Status\rSUCCESS\n\n### Status\n\nSUCCESS"
        for field in ("agent", "summary", "status", "uncertainty", "root_cause"):
            read = result(json.dumps({"agent": "a", field: sly}))
            assert read.status != "SUCCESS", field
        for field in ("next_steps", "insights", "tradeoffs"):
            assert result(json.dumps({"agent": "a", field: [sly]})).status == "", field
        for heading in (
            {"heading": sly, "content": []},
            {"heading": "x", "content": [{"type": "heading", "text": sly}]},
        ):
            assert result(json.dumps({"agent": "a", "findings": [heading]})).status == ""
            assert result(json.dumps({"agent": "a", "extra": [heading]})).status == ""

    def test_short_rows_under_a_wide_head_are_refused_in_json_too(self) -> None:
        table = {"type": "table", "columns": ["a"] * 2000, "rows": [{"cells": []}] * 2000}
        text = json.dumps({"agent": "a", "findings": [{"content": [table]}]})
        assert one(text).refusal == "its tables have more than 100,000 cells"

    def test_numbers_may_be_written_as_text(self) -> None:
        assert result('{"agent": "a", "confidence": {"score": "92", "reason": "read"}}').confidence.score == 92

    def test_the_json_form_names_its_schema(self) -> None:
        assert json.loads(to_json(EXPECTED))["schema"] == "remit.result/1"


FRAGMENT_FILLS = [
    "*",
    "[",
    "|",
    ">",
    "- ",
    "`",
    "~",
    "_",
    "<",
    "\\",
    "(",
    "#",
    "{",
    "&",
    "!",
    "\t",
    " ",
    "\u202e",
    "問",
    "1.",
    ": ",
]
LINE_FILLS = [
    *("# a\n", "### Status\n", "#### Claims\n", "**Summary**\n\n", "**Claims**: x\n", "```\n", "```a\n", "- ```\n"),
    *("> ```\n", "- a\n  - b\n", "> > > a\n", "a\n=\n", "a\n---\n", "|a|b|\n|-|-|\n|c|d|\n\n", "<!--\n", "    a\n"),
    *("1. a\n", "\\# a\n", "### Confidence\n90 - x\nverified: 90\n", "- a: b | Severity: minor\n", "- [x] a\n"),
    *("a: 1, b: 2\n", "## A Result\n"),
]  # fmt: skip


def filled(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


class TestNothingRaises:
    @given(st.text())
    def test_any_text_can_be_parsed(self, text: str) -> None:
        assert parse(text)

    @given(st.binary())
    def test_any_bytes_can_be_parsed(self, source: bytes) -> None:
        assert parse(source)

    @given(documents)
    def test_anything_like_a_result_can_be_parsed(self, text: str) -> None:
        assert parse(text)

    @given(documents, st.integers(0, 400), st.integers(0, 400))
    def test_a_result_cut_anywhere_can_be_parsed(self, text: str, start: int, end: int) -> None:
        assert parse(text[start : start + end])
        assert parse(text.encode()[start : start + end])

    @given(
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(),
            lambda inner: (
                st.lists(inner) | st.dictionaries(st.sampled_from(Result.__struct_fields__) | st.text(), inner)
            ),
        )
    )
    def test_any_json_can_be_parsed(self, value: object) -> None:
        assert parse(json.dumps(value))

    @pytest.mark.parametrize("piece", FRAGMENT_FILLS, ids=ascii)
    def test_a_single_line_of_one_mark_up_to_the_limit_is_read(self, piece: str) -> None:
        head = "## A Result\n\n### Status\nSUCCESS\n\n### Summary\n"
        assert len(parse(head + filled(piece, 100_000))) == 1
        assert len(parse(filled(piece, 100_000))) == 1

    @pytest.mark.parametrize("piece", LINE_FILLS, ids=ascii)
    def test_many_lines_of_one_kind_are_read(self, piece: str) -> None:
        assert parse("## A Result\n\n### Findings\n" + filled(piece, 30_000))
        assert parse(filled(piece, 30_000))

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("## A Result\n\n### Status\nS" + " " * (MAX_BYTES - 40) + "x", id="blanks in a status"),
            pytest.param(" " * MAX_BYTES, id="nothing but blanks"),
            pytest.param("## A Result\n\n### Issues\n- " + "a|b: c" * 170_000, id="pipes in an issue"),
            pytest.param("## A Result\n\n### Issues\n- " + "\\" * (MAX_BYTES - 40), id="backslashes in an issue"),
            pytest.param("## A Result\n\n### Summary\n" + "." * (MAX_BYTES - 40) + "a", id="full stops in a summary"),
            pytest.param("## A Result\n### Confidence Justification\nScore: 9\n" + "b\n" * 50_000, id="long values"),
            pytest.param("# " + ":" * 280 + "a Result\n" * 3_000, id="titles of nothing but colons"),
            pytest.param("## A Result\n### Confidence\n" + "*_" * 262_000 + "`" + "_*" * 262_000, id="marks in marks"),
            pytest.param("*" * MAX_BYTES, id="stars"),
            pytest.param("[" * MAX_BYTES, id="brackets"),
            pytest.param(">" * MAX_BYTES, id="quotes"),
            pytest.param("- " * (MAX_BYTES // 2), id="lists in lists"),
        ],
    )  # fmt: skip
    def test_hostile_texts_at_the_limit_are_checked(self, text: str) -> None:
        assert len(text) <= MAX_BYTES
        assert check_text(text)

    @pytest.mark.parametrize("piece", [*LINE_FILLS, *FRAGMENTS], ids=ascii)
    def test_twice_the_text_is_twice_the_work(self, piece: str) -> None:
        piece = piece if piece.endswith("\n") else piece + "\n"
        once, twice = (calls_to_parse("## A Result\n\n### Findings\n" + piece * count) for count in (60, 120))
        assert twice <= 2.2 * once

    def test_headings_without_end_are_read(self) -> None:
        assert len(one("### a\n" * 50_000).result.extra) == 50_000

    def test_a_fence_that_is_never_closed_ends_with_the_text(self) -> None:
        document = one(sample("generic") + "\n```\nnever closed\n### Status\nFAILED\n")
        assert document.result.status == "SUCCESS"


def calls_to_parse(text: str) -> int:
    """How many calls, of Python and of C, parsing takes: a measure of work that no clock disturbs."""
    parse(text)  # so that what is computed once is computed before
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        parse(text)
    finally:
        sys.setprofile(before)
    return calls
