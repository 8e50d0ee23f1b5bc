"""The judged statements of the audit: their rows have no text, and the documentation has their counts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench/accuracy"))

import audited  # noqa: E402 (the path must be known first)

VALID: dict[str, Any] = {
    "set": "planted",
    "repo": "0123456789ab",
    "statement": "ba9876543210",
    "plant": "run-failed",
    "kind": "run",
    "reason": "run-failed",
    "outcome": "contradicted",
    "truth": True,
}


def rows_of(tmp_path: Path, **changed: Any) -> list[audited.AuditedRow]:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({**VALID, **changed}) + "\n", encoding="utf-8")
    return audited.read_rows(file)


def test_every_row_is_valid_and_the_planted_statements_are_enough() -> None:
    rows = audited.read_rows()
    assert sum(row.set == "planted" for row in rows) >= 200
    assert all(row.truth for row in rows if row.set == "planted")


def test_a_valid_row_is_read_and_counted(tmp_path: Path) -> None:
    rows = rows_of(tmp_path)
    assert audited.counts(rows) == {"planted": (1, 1), "run-failed": (1, 1)}


@pytest.mark.parametrize(
    "changed",
    [
        {"set": "other"},
        {"repo": "owner/name"},
        {"statement": "All tests pass."},
        {"reason": "The tests failed."},
        {"plant": ""},
        {"outcome": "wrong"},
        {"text": "All tests pass."},
    ],
)
def test_a_row_with_anything_else_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"rows\.jsonl:1"):
        rows_of(tmp_path, **changed)


def test_the_reasons_are_those_of_remit() -> None:
    model = pytest.importorskip("remit.evidence.model", exc_type=ImportError)
    assert {row.reason for row in audited.read_rows()} <= {*model.StatementReason.__args__, "not-read"}


def test_the_documentation_has_the_counts() -> None:
    text = (ROOT / "docs/accuracy.md").read_text("utf-8")
    history = (ROOT / "bench/accuracy/HISTORY.md").read_text("utf-8")
    counts = audited.counts(audited.read_rows())
    sums = [0] * 7
    for name in audited.BLIND:
        row = next(line for line in history.splitlines() if line.startswith(f"| {name} |"))
        total, true = counts.get(name, (0, 0))
        unseen, unseen_true = counts.get(f"{name} unseen", (0, 0))
        assert row.endswith(f"| {total} | {true} | {unseen} | {unseen_true} |")
        sums = [old + int(cell) for old, cell in zip(sums, row.strip("| ").split(" | ")[1:], strict=True)]
    assert f"| {len(audited.BLIND)} blind sets | {' | '.join(map(str, sums))} |" in text
    total, found = counts["planted"]
    assert f"{found} of {total} planted statements" in text
    for kind in audited.PLANTS[1:]:
        assert f"| {kind} | {counts[kind][0]} | {counts[kind][1]} |" in history


def test_at_least_95_of_100_planted_statements_are_found() -> None:
    total, found = audited.counts(audited.read_rows())["planted"]
    assert found >= 0.95 * total
