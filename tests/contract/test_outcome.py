"""A report that states FAILED is a failure of the work, and its status is the worst of its results."""

from __future__ import annotations

import pytest

from remit.contract.feedback import frame_file
from remit.contract.outcome import failure_in, status_in
from remit.contract.parse import parse_whole
from remit.testing import result


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (None, None),
        ("", None),
        ("It is fine.", None),
        (result("generic"), "SUCCESS"),
        (result("error"), "FAILED"),
        (result("generic") + "\n\n" + result("error"), "FAILED"),
        (result("generic").replace("SUCCESS", "PARTIAL"), "PARTIAL"),
    ],
)
def test_the_status_of_a_report_is_the_worst_of_its_results(text: str | None, status: str | None) -> None:
    assert status_in(text) == status
    assert (failure_in(text) is not None) == (status == "FAILED")


def test_only_false_makes_a_failure_final() -> None:
    failure = failure_in(result("error"))
    assert failure is not None
    assert failure.is_recoverable
    final = failure_in(result("error").replace("true", "false"))
    assert final is not None
    assert not final.is_recoverable
    assert final.text.endswith("(not recoverable)")


def test_a_file_read_instead_of_a_result_keeps_its_path() -> None:
    text = frame_file('src/a".py', "x = 1", "code-explorer", 1, 20)
    assert '<file path="src/a&quot;.py" lines="1-1" of="20">\nx = 1\n</file>' in text
    assert "code-explorer" in text


def test_any_text_is_one_document_unless_it_cannot_be_read() -> None:
    assert parse_whole("plain prose")[0].refusal is None
    assert parse_whole(b"\0\1\2")[0].refusal
    assert parse_whole(b"\xff\xfe broken")[0].refusal
    assert parse_whole('{"schema": "remit.result/1"')[0].refusal is None
