"""Parsing: decoding, limits and the JSON form."""

from __future__ import annotations

import json

import pytest
from verdicts import broken, verdict

from remit.contract import outline
from remit.contract.parse import MAX_BYTES, MAX_RESULTS, Document, parse
from remit.contract.render import to_json
from remit.contract.result_data import Result
from remit.rules.examples import sample_text

REVIEW = sample_text("review")


def one(text: str | bytes) -> Document:
    (document,) = parse(text)
    return document


def result(text: str | bytes) -> Result:
    return one(text).result


EXPECTED = result(REVIEW)


def test_every_part_has_its_line() -> None:
    table = "| Item | Location |\n|-|-|\n| a | b |\n| c | d |\n"
    document = one(f"words\n\n## A Result\n\n### Status\nSUCCESS\n\n### Key References\n{table}")
    assert document.title_line == 3
    assert document.line_of("status") == 5
    assert document.line_of("summary") == 3
    assert [reference.line for reference in document.result.references] == [11, 12]
    assert document.locate(5, "SUCCESS") == 6
    assert document.locate(5, "nowhere") == 5


class TestDecoding:
    def test_text_that_is_not_utf_8_is_refused_with_the_position(self) -> None:
        assert one(b"## A Result\n\xff").refusal == "it is not UTF-8 text (byte 12)"

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
    def test_other_encodings_are_refused(self, encoding: str) -> None:
        assert one(REVIEW.encode(encoding)).refusal is not None

    def test_a_byte_order_mark_is_not_part_of_the_text(self) -> None:
        assert result(b"\xef\xbb\xbf" + REVIEW.encode()) == EXPECTED
        assert result("\ufeff" + REVIEW) == EXPECTED

    def test_line_ends_of_other_systems_are_accepted(self) -> None:
        assert result(REVIEW.replace("\n", "\r\n")) == EXPECTED
        assert broken(REVIEW.replace("\n", "\r\n")) == []

    def test_a_lone_carriage_return_is_not_a_line_end(self) -> None:
        text = REVIEW.replace("Both can be fixed", "Both can\rbe fixed")
        assert result(text) == EXPECTED

    def test_a_null_character_is_shown_as_unreadable(self) -> None:
        assert "\ufffd" in result(REVIEW.replace("Both can", "Both\0can")).summary

    def test_a_lone_surrogate_becomes_a_question_mark(self) -> None:
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
        assert len(parse("## Explore Result\n" * MAX_RESULTS)) == MAX_RESULTS
        assert one("## Explore Result\n" * (MAX_RESULTS + 1)).refusal == "it contains more than 1,000 results"
        assert one(b"[" + b'{"agent": "a"},' * MAX_RESULTS + b"{}]").refusal == "it contains more than 1,000 results"

    def test_short_rows_below_a_wide_header_count_as_full_rows(self) -> None:
        wide = "|" + "a|" * 400 + "\n|" + "-|" * 400 + "\n"
        assert one(REVIEW + "\n" + wide + "|a\n" * 200).refusal is None
        assert one(REVIEW + "\n" + wide + "|a\n" * 300).refusal == "its tables have more than 100,000 cells"

    def test_the_cells_of_many_small_tables_are_added_up(self) -> None:
        assert one("a|b\n-|-\n" * 30_000).refusal == "its tables have more than 100,000 cells"

    def test_a_status_that_is_only_code_is_missing(self) -> None:
        assert result("## A Result\n\n### Status\n```\nSUCCESS\n```\n").status == ""

    def test_a_refused_text_is_rejected_immediately(self) -> None:
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
    def test_invalid_json_is_refused(self, text: str) -> None:
        assert "starts like JSON" in str(one(text).refusal)

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ('{"agent": "a", "summary": []}', "$.summary"),
            ('{"findings": [{"content": [{"type": "image"}]}]}', "$.findings[0].content[0]"),
            ('{"confidence": {"score": []}}', "$.confidence.score"),
            ('{"schema": "remit.result/2"}', "$.schema"),
        ],
    )
    def test_json_of_another_shape_is_refused_with_its_path(self, text: str, place: str) -> None:
        refusal = str(one(text).refusal)
        assert refusal.startswith("it is JSON but not a result")
        assert place in refusal

    @pytest.mark.parametrize(
        "text", ["[]", "[1]", "[[", "[x] done", "```json\n\n```", "```json\n[]\n```", "```json\n```"]
    )
    def test_brackets_without_a_result_are_markdown(self, text: str) -> None:
        assert one(text).refusal is None
        assert "title-missing" in broken(text)

    @pytest.mark.parametrize("opening", ['{"a":', "[", '{"findings":['])
    def test_deeply_nested_json_is_refused_or_markdown(self, opening: str) -> None:
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

    def test_wide_tables_are_refused_in_json_too(self) -> None:
        table = {"type": "table", "columns": ["a"] * 2000, "rows": [{"cells": []}] * 2000}
        text = json.dumps({"agent": "a", "findings": [{"content": [table]}]})
        assert one(text).refusal == "its tables have more than 100,000 cells"

    def test_numbers_may_be_written_as_text(self) -> None:
        assert result('{"agent": "a", "confidence": {"score": "92", "reason": "read"}}').confidence.score == 92

    def test_the_json_form_has_a_schema_field(self) -> None:
        assert json.loads(to_json(EXPECTED))["schema"] == "remit.result/1"
