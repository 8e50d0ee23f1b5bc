"""The operations of a merge grow with the number of its findings. They are counted, not timed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from remit.evidence.sources import open_sources
from remit.merging import grouping
from remit.merging.dismissals import apply_dismissals
from remit.merging.drafts import ListInFile, StoredFindings
from remit.merging.inputs import Input
from remit.merging.merge import merge_reports
from remit.merging.merge_data import Merge, MergeSettings, Opinion, Report, ReportedFinding
from remit.merging.merge_documents import merge_stream
from remit.reports.merge.sarif import merge_sarif
from remit.workspace import files
from remit.workspace.files import Workspace

FEW, MANY = 200, 2000
#: Ten times the findings, and a little for what does not depend on their number.
LINEAR = 10.5


def reports(number: int, *, in_file: int, lines: int = 1000) -> list[Report]:
    """Return reports of five agents with this number of findings, a fixed number in each file, all with a few ids."""
    rows: dict[str, list[ReportedFinding]] = {}
    for index in range(number):
        agent = f"agent-{index % 5}"
        opinion = Opinion(
            agent=agent,
            id=f"QA-{index % 7:03}",
            severity=("minor", "important", "critical")[index % 3],  # type: ignore[arg-type]
            confidence=float(50 + index % 50),
            line=1 + index * 37 % lines,
            title=f"Fault {index % 11} of the kind {index % 13}",
        )
        row = ReportedFinding(
            opinion=opinion, path=f"m{index // in_file}.py", end_line=None, category="quality", verified=True
        )
        rows.setdefault(agent, []).append(row)
    return [
        Report(agent=name, status="SUCCESS", verdict="accept", rows=tuple(agent_rows))
        for name, agent_rows in rows.items()
    ]


def operations(work: Callable[[], object]) -> int:
    """Return how many functions are called."""
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("in_file", [10, 100], ids=["many-files", "few-files"])
def test_a_merge_calls_functions_in_proportion_to_its_findings(in_file: int) -> None:
    merge_reports(reports(FEW, in_file=in_file), MergeSettings())  # so that what is computed once is computed before
    each = [reports(number, in_file=in_file) for number in (FEW, MANY)]
    few, many = (operations(partial(merge_reports, reports_of_merge, MergeSettings())) for reports_of_merge in each)
    assert many <= LINEAR * few


@pytest.mark.parametrize("lines", [1, 20, 1000], ids=["one-line", "dense", "sparse"])
def test_a_finding_is_compared_with_a_limited_number_of_others(lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = Counter[int]()
    original = grouping.same_problem

    def same_problem(first: ReportedFinding, other: ReportedFinding) -> float:
        compared[number] += 1
        return original(first, other)

    monkeypatch.setattr(grouping, "same_problem", same_problem)
    for number in (FEW, MANY):
        merge_reports(reports(number, in_file=number, lines=lines), MergeSettings())
    assert all(compared[number] <= 30 * number for number in (FEW, MANY)), "24 neighbours, and a few by their words"


def tree(folder: Path, count: int) -> Workspace:
    for number in range(count):
        (folder / f"m{number}.py").write_text("".join(f"value_{line} = 1\n" for line in range(1000)), encoding="utf-8")
    workspace = open_sources(folder).workspace
    assert workspace is not None
    return workspace


def stored(number: int) -> Merge:
    merge = merge_stream([Input(reports(number, in_file=50))], MergeSettings(threshold=0), in_memory=0)
    assert isinstance(merge.findings, StoredFindings)
    return merge


def test_a_stored_merge_reads_and_writes_in_proportion_to_its_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tree(tmp_path, MANY // 50)
    used = Counter[int]()
    for name in ("__getitem__", "__setitem__"):
        original = getattr(ListInFile, name)

        def counted(*arguments: Any, original: Callable[..., Any] = original) -> Any:
            used[number] += 1
            return original(*arguments)

        monkeypatch.setattr(ListInFile, name, counted)
    for number in (FEW, MANY):
        merge_sarif(apply_dismissals(stored(number), (), workspace), workspace=workspace, version="1.0.0")
    assert used[FEW] > 5 * FEW
    assert used[MANY] <= LINEAR * used[FEW]


def test_a_file_is_read_once_however_many_findings_cite_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the cache keeps only one file: findings are looked up file by file."""
    monkeypatch.setattr(files, "MAX_CACHE", 1)
    count = FEW // 50
    workspace = tree(tmp_path, count)
    made: list[str] = []
    original = files.SourceFile.__init__

    def init(self: files.SourceFile, path: str, data: bytes) -> None:
        made.append(path)
        original(self, path, data)

    monkeypatch.setattr(files.SourceFile, "__init__", init)
    for merge in (stored(FEW), merge_reports(reports(FEW, in_file=50), MergeSettings(threshold=0))):
        made.clear()
        marked = apply_dismissals(merge, (), workspace)
        merge_sarif(marked, workspace=workspace, version="1.0.0")
        assert len(made) <= 2 * count, "once for the fingerprints, once for the cited lines"
