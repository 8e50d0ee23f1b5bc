"""People are asked once about each finding, conflict and result that needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from remit.ledger.dismissing import add_dismissal, remove_dismissal, stored_dismissals
from remit.ledger.items import AgentVersion, ItemOrigin, items_of
from remit.ledger.recorded_merge import record_of
from remit.merging.dismissals import FILE, apply_dismissals
from remit.merging.merge import merge_reports
from remit.merging.merge_data import Merge, MergeSettings, Opinion, Report, ReportedFinding, ReportedStatement
from remit.workspace.files import WorkTree

CODE = "first = 1\nquery = 'SELECT ' + text\nrun(query)\nlast = 4\n"
ORIGIN = ItemOrigin("plan", plan=3)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(CODE, encoding="utf-8")
    return tmp_path


def finding(agent: str = "bandit", **fields: Any) -> ReportedFinding:
    values: dict[str, Any] = {"id": "B1", "severity": "important", "confidence": 90.0, "line": 2, "title": "SQL"}
    opinion = Opinion(agent=agent, **(values | fields))
    return ReportedFinding(opinion=opinion, path="a.py", end_line=None, category="security", verified=True)


def report(agent: str, *rows: ReportedFinding, **fields: Any) -> Report:
    return Report(**({"agent": agent, "status": "SUCCESS", "verdict": "accept", "rows": rows, "looked": True} | fields))


def merged(*reports: Report) -> Merge:
    return merge_reports(reports, MergeSettings())


def test_a_finding_is_an_item_with_the_opinions_of_its_agents(root: Path) -> None:
    versions = {"bandit": AgentVersion("sha256:d", "m")}
    found = merged(report("bandit", finding()), report("qa", finding("qa", claimed_confidence=95.0)))
    (item,) = record_of(found, ORIGIN, root, versions).items

    assert (item.kind, item.severity, item.path, item.line, item.plan) == ("finding", "important", "a.py", 2, 3)
    assert item.agents == ("bandit", "qa")
    assert [(one.agent, one.claimed, one.definition) for one in item.opinions] == [
        ("bandit", 90.0, "sha256:d"),
        ("qa", 95.0, ""),
    ]
    assert item.body["finding"]["title"] == "SQL"
    assert item.fingerprint


def test_a_finding_whose_line_moved_is_the_same_item(root: Path) -> None:
    (before,) = record_of(merged(report("bandit", finding())), ORIGIN, root).items
    (root / "a.py").write_text("import os\n" + CODE, encoding="utf-8")
    (after,) = record_of(merged(report("bandit", finding(line=3))), ItemOrigin("review"), root).items

    assert before.key == after.key


def test_another_project_has_its_own_items(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "a.py").write_text(CODE, encoding="utf-8")
    found = merged(report("bandit", finding()))

    assert record_of(found, ORIGIN, root).items[0].key != record_of(found, ORIGIN, other).items[0].key


def test_a_disputed_finding_is_one_item_with_its_conflicts(root: Path) -> None:
    found = merged(
        report("bandit", finding(severity="critical")), report("qa", finding("qa", severity="minor", confidence=40.0))
    )
    (item,) = record_of(found, ORIGIN, root).items

    assert item.kind == "conflict"
    assert {one["kind"] for one in item.body["conflicts"]} == {"severity", "score"}
    assert item.rank == 0


def test_a_conflict_about_a_standard_is_an_item_without_a_finding() -> None:
    passed = ReportedStatement("a", "compliance", "Tokens", "PASS")
    failed = ReportedStatement("b", "compliance", "Tokens", "FAIL")
    found = merged(report("a", statements=(passed,)), report("b", statements=(failed,)))
    (item,) = items_of(found, ORIGIN)

    assert (item.kind, item.agents, item.opinions) == ("conflict", ("a", "b"), ())
    assert item.title == "Tokens: PASS by a; FAIL by b"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"status": "PARTIAL"}, "the result is partial"),
        ({"status": "FAILED", "verdict": None}, "the agent failed"),
        ({"verdict": "reject"}, "the result was rejected"),
        ({"confidence": 40.0}, "the agent gives its result a confidence of 40"),
        ({"status": "OBSERVED", "verdict": None}, None),
        ({"confidence": 60.0}, None),
        ({"verdict": "revise"}, None),
    ],
)
def test_results_that_need_a_person_are_items(fields: dict[str, Any], why: str | None) -> None:
    items = items_of(merged(report("qa", **fields)), ORIGIN)

    assert [item.body["why"] for item in items] == ([why] if why else [])
    assert all(item.kind == "result" for item in items)


def test_dropped_and_dismissed_findings_are_not_asked(root: Path) -> None:
    found = merged(report("bandit", finding()), report("qa", finding("qa", confidence=20.0, line=4, title="Other")))
    kept = record_of(found, ORIGIN, root)
    assert len(kept.items) == 1
    marked = apply_dismissals(found, (), WorkTree(root))
    add_dismissal(root, marked.findings[0], "a constant", "Ada", kept.entry.at.date())

    assert record_of(found, ORIGIN, root).items == []
    assert record_of(found, ORIGIN, root).entry.findings == 0


def test_an_unscored_finding_is_not_part_of_a_calibration(root: Path) -> None:
    (item,) = record_of(merged(report("ruff", finding("ruff", flags=("unscored",)))), ORIGIN, root).items

    assert item.opinions[0].claimed is None


def test_worse_findings_come_first(root: Path) -> None:
    rows = [
        finding(id=f"B{line}", line=line, title=f"t{line}", severity=severity)
        for line, severity in enumerate(("minor", None, "critical", "important"), 1)
    ]
    items = sorted(record_of(merged(report("bandit", *rows)), ORIGIN, root).items, key=lambda item: item.rank)

    assert [item.severity for item in items] == ["critical", "important", "minor", None]


def test_a_merge_has_one_entry_however_often_it_is_recorded(root: Path) -> None:
    found = merged(report("bandit", finding()))
    one, other = (record_of(found, ItemOrigin("merge"), root).entry for _ in range(2))

    assert one.key == other.key
    assert (one.verdict, one.status, one.findings, one.project) == ("continue", "SUCCESS", 1, str(root))
    assert record_of(merged(report("bandit")), ItemOrigin("merge"), root).entry.key != one.key


def test_a_broken_file_of_dismissals_does_not_stop_a_plan(root: Path) -> None:
    (root / FILE).write_text("not = [toml", encoding="utf-8")

    assert len(record_of(merged(report("bandit", finding())), ORIGIN, root).items) == 1


def test_dismissals_are_added_and_removed_by_id(root: Path) -> None:
    (one,) = apply_dismissals(merged(report("bandit", finding())), (), WorkTree(root)).findings
    today = record_of(merged(), ORIGIN, root).entry.at.date()
    add_dismissal(root, one, "first", "Ada", today)
    entry = add_dismissal(root, one, "second", "Bob", today)

    assert [(stored.why, stored.by) for stored in stored_dismissals(root)] == [("second", "Bob")]
    assert remove_dismissal(root, entry.id) == entry
    assert remove_dismissal(root, entry.id) is None
    assert stored_dismissals(root) == []
    assert msgspec.json.encode(entry)
