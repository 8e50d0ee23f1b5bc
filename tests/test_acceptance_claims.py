"""The claims of a report are stored with the code that they cite."""

from __future__ import annotations

from pathlib import Path

from remit.acceptance import claims_with_code, judge_report
from remit.checking import Options


def test_a_claim_is_stored_with_its_outcome_and_its_code(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("\n".join(f"line_{number} = {number}" for number in range(1, 21)), encoding="utf-8")
    text = "See `a.py:10`, `a.py:99` and `missing.py:1`."
    judgement = judge_report(text, Options(profile="claims"), tmp_path)
    claims = claims_with_code(judgement.verdicts, tmp_path)
    assert [(one["text"], one["outcome"]) for one in claims] == [
        ("a.py:10", "exists"),
        ("a.py:99", "out-of-range"),
        ("missing.py:1", "missing-file"),
    ]
    lines = [f"line_{number} = {number}" for number in range(7, 14)]
    assert claims[0]["code"] == {"start": 7, "text": "\n".join(lines)}
    assert [one["code"] for one in claims[1:]] == [None, None]
    assert claims[0]["at"] == 1


def test_long_lines_and_many_claims_are_limited(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x" * 5_000 + "\n", encoding="utf-8")
    text = "\n".join(f"{number}: `a.py:1`" for number in range(500))
    claims = claims_with_code(judge_report(text, Options(profile="claims"), tmp_path).verdicts, tmp_path)
    assert len(claims) <= 200
    assert {len(one["code"]["text"]) for one in claims} == {300}
