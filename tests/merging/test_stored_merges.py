"""A merge of many rows, which are kept in a temporary file: the same report as in memory."""

from __future__ import annotations

import gc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.contract.findings import Severity
from remit.merging.drafts import Drafts, ListInFile, StoredFindings
from remit.merging.inputs import Input
from remit.merging.merge import hide_baseline, only_changed, revise
from remit.merging.merge_data import (
    SCALE,
    Conflict,
    Merge,
    MergedFinding,
    MergeSettings,
    Opinion,
    Report,
    ReportedFinding,
    ReportedStatement,
)
from remit.merging.merge_documents import merge_inputs, merge_stream
from remit.merging.previous import reports_of

AGENTS = ("a", "b", "a\0", "é")
SEVERITIES: tuple[Severity | None, ...] = (*SCALE, None)


@st.composite
def rows(draw: st.DrawFn, agent: str) -> ReportedFinding:
    line = draw(st.sampled_from([None, 1, 2, 3, 40, (1 << 63) - 1]))
    return ReportedFinding(
        opinion=Opinion(
            agent=agent,
            id=draw(st.sampled_from(["", "SEC-001", "sec-001", "SEC2-001", "B608", "B608-2"])),
            severity=draw(st.sampled_from(SEVERITIES)),
            confidence=draw(st.sampled_from([0.0, 20.0, 79.5, 80.0, 99.0])),
            line=line,
            title=draw(st.sampled_from(["", "SQL injection", "Injection of SQL", "Unused import"])),
            flags=draw(st.sampled_from([(), ("unscored",)])),
            rule=draw(st.sampled_from(["", "B608"])),
        ),
        path=draw(st.sampled_from([None, "", "a.py", "b/c.py", "é.py"])),
        end_line=draw(st.sampled_from([None, 2, 45])),
        category=draw(st.sampled_from(["security", "quality"])),
        verified=draw(st.sampled_from([True, False, None])),
        fingerprint=draw(st.sampled_from(["", "mark"])),
        reason=draw(st.sampled_from(["", "", "suppressed in source"])),
    )


@st.composite
def inputs(draw: st.DrawFn) -> Input:
    agent = draw(st.sampled_from(AGENTS))
    rows_of_agent = tuple(draw(st.lists(rows(agent), max_size=5)))
    denied = ReportedStatement(agent, "claim", "it is there", "UNVERIFIED", "a.py", 1)
    report = Report(
        agent=agent,
        status=draw(st.sampled_from(["SUCCESS", "PARTIAL", "FAILED"])),
        verdict="accept",
        rows=rows_of_agent,
        statements=(denied,) if draw(st.booleans()) else (),
        conflicts=(Conflict("score", "SEC-001", ("a", "b"), "they differ"),) if draw(st.booleans()) else (),
    )
    if draw(st.integers(0, 3)):
        return Input([report])
    merge = merge_inputs([Input([report])], MergeSettings(threshold=50))
    return Input(reports_of(merge), merge)


def whole(merge: Merge) -> Merge:
    """Return a merge with its findings in memory."""
    assert isinstance(merge.findings, StoredFindings)
    return msgspec.structs.replace(merge, findings=tuple(merge.findings), dropped=tuple(merge.dropped))


@given(st.lists(inputs(), max_size=4), st.sampled_from([0, 3]))
def test_a_stored_merge_is_the_same_as_one_in_memory(found: list[Input], window: int) -> None:
    settings = MergeSettings(window=window, expect=("a", "absent"))
    expected = merge_inputs(found, settings)
    if not any(report.rows for each in found for report in each.reports):
        assert merge_stream(found, settings, in_memory=0) == expected
        return
    assert whole(merge_stream(iter(found), settings, in_memory=0)) == expected
    changed = {"a.py": [(1, 2)]}
    for name, change in {
        "lines": lambda merge: only_changed(merge, changed, "main"),
        "baseline": lambda merge: hide_baseline(merge, expected),
        "other": lambda merge: revise(merge, _without_quality),
    }.items():
        assert whole(change(merge_stream(iter(found), settings, in_memory=0))) == change(expected), name


def _without_quality(finding: MergedFinding) -> MergedFinding:
    if finding.category != "quality":
        return finding
    return msgspec.structs.replace(finding, reason="no quality", flags=(*finding.flags, "dismissed"))


def one(line: int, **fields: object) -> ReportedFinding:
    opinion = Opinion(agent="a", id="QA-001", severity="minor", confidence=90, line=line, title=f"Fault {line}")
    row = ReportedFinding(opinion=opinion, path="a.py", end_line=None, category="quality", verified=True)
    return msgspec.structs.replace(row, **fields)


def stored(count: int) -> Merge:
    report = Report(agent="a", status="SUCCESS", verdict="accept", rows=tuple(map(one, range(1, count + 1))))
    return merge_stream([Input([report])], MergeSettings(), in_memory=0)


def test_findings_are_read_by_position_and_in_parts() -> None:
    findings = stored(2500).findings
    lines = list(range(1, 2501))
    assert [finding.line for finding in findings] == lines
    assert (findings[0].line, findings[-1].line, findings[1200].line) == (1, 2500, 1201)
    assert [finding.line for finding in findings[990:1010]] == lines[990:1010]
    assert [finding.line for finding in findings[2400:][50:60]] == lines[2450:2460]
    assert [finding.line for finding in findings[:10:3]] == lines[:10:3]
    assert (len(findings[5:3]), list(findings[5:3]), len(findings[2400:9999])) == (0, [], 100)
    with pytest.raises(IndexError):
        findings[2500]
    assert findings[2400:].tally().rows == 100  # type: ignore[attr-defined]


def test_few_rows_stay_in_memory() -> None:
    report = Report(agent="a", status="SUCCESS", verdict="accept", rows=(one(1), one(2)))
    assert isinstance(merge_stream([Input([report])], MergeSettings(), in_memory=2).findings, tuple)
    assert isinstance(merge_stream([Input([report])] * 2, MergeSettings(), in_memory=2).findings, StoredFindings)


def test_a_change_that_changes_nothing_keeps_what_is_stored() -> None:
    merge = stored(3)
    assert whole(revise(merge, lambda finding: finding)) == whole(stored(3))


def test_findings_are_changed_file_by_file() -> None:
    """Also those of several rows: a file that is looked at is read once."""
    reports = [
        Report(
            agent=agent,
            status="SUCCESS",
            verdict=None,
            rows=tuple(
                msgspec.structs.replace(row, opinion=msgspec.structs.replace(row.opinion, agent=agent))
                for row in (one(line, path=path) for path in ("b.py", "a.py", "c.py") for line in (3 + start, 40))
            ),
        )
        for start, agent in enumerate("ab")
    ]
    visited: list[str | None] = []

    def visit(finding: MergedFinding) -> MergedFinding:
        visited.append(finding.path)
        return finding

    merge = revise(merge_stream([Input(reports)], MergeSettings(), in_memory=0), visit)
    assert {len(finding.members) for finding in merge.findings} == {1, 2}
    assert visited == ["a.py"] * 3 + ["b.py"] * 3 + ["c.py"] * 3


@pytest.mark.parametrize("in_memory", [None, 0, 2, 4])
@pytest.mark.parametrize(
    ("together", "batches"),
    [
        (1, [["", "", ""], ["a.py"], ["b.py", "b.py"]]),
        (4, [["", "", "", "a.py"], ["b.py", "b.py"]]),
        (9, [["", "", "", "a.py", "b.py", "b.py"]]),
    ],
)
def test_the_rows_of_a_file_come_together(
    together: int, batches: list[list[str]], in_memory: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.merging.drafts._TOGETHER", together)
    drafts = Drafts(in_memory)
    for line, path in enumerate(["b.py", None, "a.py", "", "b.py", None], 1):
        drafts.add_rows([one(line, path=path)])
    assert [[row.path or "" for row in rows] for rows in drafts.row_batches()] == batches


def test_the_file_is_closed_with_its_last_reader() -> None:
    values: ListInFile[str] = ListInFile(str)
    file = values._file
    values.append("a")
    assert (values[0], file.closed) == ("a", False)
    del values
    gc.collect()
    assert file.closed


def test_a_list_in_a_file_keeps_every_value() -> None:
    """Also a number that the fast format does not have, and values that are read between two others."""
    values: ListInFile[ReportedFinding] = ListInFile(ReportedFinding, 1)
    written = [one(1), one(1 << 70), one(3)]
    values[0] = written[0]
    values.append(written[1])
    assert values[0] == written[0]
    values.append(written[2])
    assert [values[index] for index in range(len(values))] == written


def test_a_merge_of_few_rows_writes_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise AssertionError("a file was made")

    monkeypatch.setattr(ListInFile, "__init__", broken)
    report = Report(agent="a", status="SUCCESS", verdict="accept", rows=(one(1), one(2)))
    merge = revise(merge_stream([Input([report])], MergeSettings(), in_memory=2), _without_quality)
    assert len(merge.dropped) == 2
    with pytest.raises(AssertionError, match="a file was made"):
        merge_stream([Input([report])], MergeSettings(), in_memory=1)
