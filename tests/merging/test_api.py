"""`remit.merge` on the example reviews: what each form of input contributes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

import remit
from remit.errors import UsageError
from remit.merging.filters import Narrowing
from remit.merging.inputs import failed_report, with_error
from remit.merging.merge import merge as merge_all
from remit.merging.merge_data import Merge, MergedFinding

ROOT = Path(__file__).parents[2]
INPUTS = sorted((ROOT / "examples/reviews/inputs").iterdir())
QUALITY = ROOT / "examples/results/review-quality.md"
SECURITY = ROOT / "examples/results/review-security.md"


@pytest.fixture(scope="module")
def merge() -> Merge:
    return remit.merge(INPUTS, repo=ROOT)


def finding_of(merge: Merge, name: str, agent: str) -> MergedFinding:
    (matching,) = [
        finding
        for finding in (*merge.findings, *merge.dropped)
        if any(opinion.id == name and opinion.agent == agent for opinion in finding.opinions)
    ]
    return matching


def test_the_examples_merge_into_the_documented_counts(merge: Merge) -> None:
    counts = merge.counts
    assert (merge.status, merge.decision) == ("SUCCESS", "review")
    assert (counts.inputs, counts.findings, counts.failed, counts.conflicts, counts.dropped) == (6, 12, 3, 4, 2)
    assert [(conflict.kind, conflict.finding) for conflict in merge.conflicts if conflict.kind == "compliance"] == [
        ("compliance", "OWASP A02 Cryptographic Failures")
    ]
    assert any(conflict.kind == "presence" for conflict in merge.conflicts)


def test_a_quote_elsewhere_moves_its_finding_and_costs_ten_points(merge: Merge) -> None:
    finding = finding_of(merge, "SEC-004", "security-auditor")
    (opinion,) = [opinion for opinion in finding.opinions if opinion.id == "SEC-004"]
    assert opinion.line != 44
    assert opinion.claimed is not None
    assert opinion.confidence == opinion.claimed - 10
    assert "Stated at" in opinion.details
    assert "relocated" in finding.flags


def test_a_row_of_a_missing_file_is_no_finding(merge: Merge) -> None:
    (row,) = [row for row in merge.failed if row.id == "SEC-006"]
    assert (row.agent, row.severity) == ("security-auditor", "critical")
    assert row.why
    assert not any(m.id == "SEC-006" for f in (*merge.findings, *merge.dropped) for m in f.members)


def test_text_bytes_files_and_verdicts_are_the_same_input() -> None:
    text = QUALITY.read_text("utf-8")
    forms = [QUALITY, text, text.encode(), remit.check(text, repo=ROOT)]
    merges = [remit.merge([form], repo=ROOT) for form in forms]
    assert all(each == merges[0] for each in merges)


def test_merging_a_merge_again_changes_nothing(merge: Merge, tmp_path: Path) -> None:
    assert remit.merge([merge], repo=ROOT) == merge
    file = tmp_path / "merge.json"
    file.write_bytes(msgspec.json.encode(merge))
    assert remit.merge([file], repo=ROOT) == merge


@pytest.mark.parametrize("threshold", [0, 50, 72.5, 80, 95])
def test_merging_a_merge_again_keeps_its_threshold(threshold: float) -> None:
    files = sorted((ROOT / "examples/results").glob("*.md"))
    once = remit.merge(files, repo=ROOT, threshold=threshold)
    again = remit.merge([once], repo=ROOT)
    assert [finding.id for finding in again.findings] == [finding.id for finding in once.findings]
    assert [finding.reason for finding in again.dropped] == [finding.reason for finding in once.dropped]
    stricter = remit.merge([once], repo=ROOT, threshold=100)
    assert all(f.severity == "critical" or max(f.confidence, f.max) == 100 for f in stricter.findings)


def test_an_empty_result_is_failed_and_named_after_its_file(tmp_path: Path) -> None:
    empty = tmp_path / "empty.md"
    empty.write_text("", encoding="utf-8")
    merge = remit.merge([empty], repo=ROOT)
    assert [(report.agent, report.status) for report in merge.agents] == [(f"unknown ({empty})", "FAILED")]
    assert [report.agent for report in remit.merge(["no result\n"], repo=ROOT).agents] == ["unknown"]


def test_a_result_without_a_known_status_is_partial() -> None:
    text = QUALITY.read_text("utf-8").replace("SUCCESS", "DONE", 1)
    assert [report.status for report in remit.merge([text], repo=ROOT).agents] == ["PARTIAL"]


def test_an_agent_that_sent_nothing_is_failed() -> None:
    merge = remit.merge([QUALITY], repo=ROOT, expect=("security-auditor",))
    assert (merge.status, merge.decision) == ("PARTIAL", "retry")


def test_a_baseline_and_unchanged_lines_drop_findings_with_a_reason() -> None:
    quality, both = remit.merge([QUALITY], repo=ROOT), remit.merge([QUALITY, SECURITY], repo=ROOT)
    new = merge_all([both], narrowing=Narrowing(baseline=quality))
    assert 0 < new.counts.findings < both.counts.findings
    assert {finding.reason for finding in new.dropped} >= {"already in the baseline"}
    first = next(finding for finding in both.findings if finding.path and finding.line)
    lines = {first.path or "": [(first.line or 1, first.line or 1)]}
    changed = merge_all([both], narrowing=Narrowing(changed=lines, since="main"))
    assert first in changed.findings
    assert any(finding.reason == "not on lines changed since main" for finding in changed.dropped)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "median"}, "unknown policy 'median'; choose from mean, max, floor"),
        ({"threshold": 101}, "the threshold must be from 0 to 100, not 101"),
        ({"weights": {"ruff": -1}}, "the weight of ruff must be at least 0, not -1"),
    ],
)
def test_invalid_settings_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        remit.merge([QUALITY], repo=ROOT, **options)  # type: ignore[arg-type]
    assert str(raised.value) == message


def test_files_that_cannot_be_read_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.md: No such file or directory"):
        remit.merge([tmp_path / "missing.md"])
    broken = tmp_path / "merge.json"
    broken.write_text(json.dumps({"schema": "remit.merge/1", "status": "SUCCESS"}), encoding="utf-8")
    with pytest.raises(UsageError, match=r"not a valid remit\.merge/2 document"):
        remit.merge([broken])


def test_a_failed_agent_states_why_and_a_long_reason_keeps_both_ends() -> None:
    report = failed_report("rubocop", f"cannot load such file\n{'in a file ' * 200} at the end")
    merged = merge_all([report])
    (error,) = merged.sections.errors
    assert (error.agent, error.type) == ("rubocop", "RunFailed")
    assert error.message.startswith("cannot load such file in a file")
    assert error.message.endswith("at the end")
    assert len(error.message) < 610
    assert with_error(report, "another reason") == report
    assert failed_report("rubocop").sections.errors == ()
