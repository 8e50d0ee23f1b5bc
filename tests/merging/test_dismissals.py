"""Dismissals: matched by rule or title, path and code; they expire with the code, and hide nothing that is worse."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from building import report, row
from hypothesis import given
from hypothesis import strategies as st
from support.in_process import Remit, command_runner

from remit.errors import UsageError
from remit.merging.dismissals import (
    FILE,
    Dismissal,
    apply_dismissals,
    find_finding,
    is_expired,
    new_dismissal,
    read_dismissals,
    render_dismissals,
)
from remit.merging.merge import merge_reports
from remit.merging.merge_data import Merge, MergeSettings, ReportedFinding
from remit.merging.previous import reports_of
from remit.workspace.files import WorkTree

pytestmark = pytest.mark.usefixtures("terminal")

CODE = "first = 1\nquery = 'SELECT ' + text\nrun(query)\nlast = 4\n"


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    (tmp_path / "a.py").write_text(CODE, encoding="utf-8")
    return WorkTree(tmp_path)


def merged(*rows: ReportedFinding) -> Merge:
    return merge_reports([report(each.opinion.agent, each) for each in rows], MergeSettings())


def sql(**fields: Any) -> ReportedFinding:
    return row(**{"agent": "bandit", "rule": "B608", "name": "B608", "title": "SQL injection", "line": 2, **fields})


def dismissed(merge: Merge, tree: WorkTree) -> Dismissal:
    return new_dismissal(merge.findings[0], tree, "the text is a constant", "Ada", "2026-11-16")


def after(merge: Merge, entry: Dismissal, tree: WorkTree) -> list[str]:
    """The titles that are kept."""
    return [finding.title for finding in apply_dismissals(merge, [entry], WorkTree(tree.root)).findings]


def test_a_dismissed_finding_is_listed_as_dropped_with_the_reason(tree: WorkTree) -> None:
    merge = merged(sql(), row("a", path="b.py"))
    outcome = apply_dismissals(merge, [dismissed(merge, tree)], tree)
    (dropped,) = outcome.dropped
    assert dropped.reason == "dismissed by Ada on 2026-11-16: the text is a constant"
    assert "dismissed" in dropped.flags
    assert (outcome.counts.findings, outcome.counts.dropped, outcome.counts.dismissed) == (1, 1, 1)
    assert outcome.counts.rows == merge.counts.rows


def test_a_dismissal_holds_when_the_line_moves_or_is_indented(tree: WorkTree) -> None:
    entry = dismissed(merged(sql()), tree)
    (tree.root / "a.py").write_text("import os\n\n" + CODE.replace("query =", "    query   ="), encoding="utf-8")
    assert after(merged(sql(line=4)), entry, tree) == []


@pytest.mark.parametrize(
    "change",
    [
        {"rule": "B311", "name": "B311"},
        {"path": "b.py"},
        {"line": 3},
        {"severity": "critical"},
        {"rule": "", "title": "Another matter"},
    ],
)
def test_another_rule_path_code_or_a_worse_severity_is_not_dismissed(tree: WorkTree, change: dict[str, Any]) -> None:
    (tree.root / "b.py").write_text(CODE.replace("text", "other"), encoding="utf-8")
    entry = dismissed(merged(sql()), tree)
    assert after(merged(sql(**change)), entry, tree) != []


def test_a_dismissal_expires_with_its_code(tree: WorkTree) -> None:
    merge = merged(sql())
    entry = dismissed(merge, tree)
    assert not is_expired(entry, tree)
    (tree.root / "a.py").write_text(CODE.replace("+ text", "+ user_text"), encoding="utf-8")
    assert after(merge, entry, tree) == ["SQL injection"]
    assert is_expired(entry, WorkTree(tree.root))


def test_a_finding_of_an_agent_is_matched_by_its_title(tree: WorkTree) -> None:
    reported = row("security-auditor", title="Search text is pasted into SQL", line=2, name="SEC-001")
    entry = dismissed(merged(reported), tree)
    again = row("security-auditor", title="Search text is pasted  into sql.", line=2, name="SEC-009")
    assert after(merged(again), entry, tree) == []


def test_an_agent_that_joins_with_a_worse_severity_brings_the_finding_back(tree: WorkTree) -> None:
    entry = dismissed(merged(sql(severity="minor")), tree)
    joined = merged(sql(severity="minor"), sql(agent="a", rule="", name="SEC-1", severity="critical"))
    assert after(joined, entry, tree) == ["SQL injection"]


def test_without_a_file_the_title_and_the_path_decide(tree: WorkTree) -> None:
    bare = row("a", path=None, line=None, title="No tests")
    entry = dismissed(merged(bare), tree)
    assert after(merged(bare), entry, tree) == []


def test_a_dismissal_is_judged_again_when_a_merge_is_merged(tree: WorkTree) -> None:
    merge = merged(sql())
    entry = dismissed(merge, tree)
    once = apply_dismissals(merge, [entry], tree)
    again = merge_reports(reports_of(once), MergeSettings(), [once])
    assert again.counts.findings == 1
    assert apply_dismissals(again, [entry], tree) == once


def test_a_finding_is_found_by_its_fingerprint_its_id_or_its_location(tree: WorkTree) -> None:
    merge = apply_dismissals(merged(sql(), row("a", path="a.py", line=4, name="QA-1")), [], tree)
    finding = next(each for each in merge.findings if each.id == "B608")
    for name in (finding.fingerprint, finding.fingerprint[:6].upper(), "B608", "a.py:2"):
        assert find_finding(merge, name) == finding
    with pytest.raises(UsageError, match="no finding 'zzz' in this report"):
        find_finding(merge, "zzz")
    other = row("a", path="a.py", line=2, name="QA-1", title="slow", category="speed")
    two = apply_dismissals(merged(sql(), other), [], tree)
    with pytest.raises(
        UsageError, match=r"2 findings match 'a.py:2'; use one of these ids: B608 \(a.py:2, #\w+\), QA-1"
    ):
        find_finding(two, "a.py:2")
    assert find_finding(two, "qa-1").title == "slow"


def test_an_id_that_looks_like_a_fingerprint_is_an_id(tree: WorkTree) -> None:
    merge = apply_dismissals(merged(sql(), sql(line=4, name="QA-1", title="slow", agent="a")), [], tree)
    other = next(each for each in merge.findings if each.id == "QA-1")
    swapped = msgspec.structs.replace(other, fingerprint="b608b608b608")
    mixed = msgspec.structs.replace(merge, findings=(swapped, *(each for each in merge.findings if each.id == "B608")))
    assert find_finding(mixed, "B608").id == "B608"
    assert find_finding(mixed, "b608b").id == "QA-1"


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
entries = st.lists(
    st.builds(
        Dismissal,
        id=texts.filter(bool),
        finding=texts,
        path=texts,
        title=texts,
        rules=st.lists(texts, max_size=2).map(tuple),
        titles=st.lists(texts, max_size=2).map(tuple),
        code=texts,
        lines=st.integers(0, 50),
        severity=st.sampled_from([None, "critical", "minor"]),
        why=texts.filter(bool),
        by=texts,
        on=texts,
    ),
    max_size=4,
)


@given(entries)
def test_any_entries_are_read_back_as_they_were_written(given_entries: list[Dismissal]) -> None:
    entries = read_dismissals(render_dismissals(given_entries).encode())
    assert sorted(entries, key=repr) == sorted(given_entries, key=repr)
    assert render_dismissals(entries) == render_dismissals(reversed(given_entries))


@pytest.mark.parametrize(
    "data",
    [b"[[dismissal]]\nid = 3", b"x = 1", b"[[", b"\xff", b'[[dismissal]]\nid = "a"', b"dismissal = 1"],
)
def test_a_broken_file_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"^\.remit-dismissals\.toml: not a file of dismissals: "):
        read_dismissals(data)


@pytest.fixture
def remit(tree: WorkTree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    (tree.root / ".git").mkdir()
    (tree.root / ".remit").mkdir()
    monkeypatch.chdir(tree.root)
    return command_runner(monkeypatch, capsys)


def sarif(line: int = 2) -> str:
    location = {"artifactLocation": {"uri": "a.py"}, "region": {"startLine": line}}
    result = {
        "ruleId": "B608",
        "level": "error",
        "message": {"text": "SQL injection"},
        "locations": [{"physicalLocation": location}],
    }
    return json.dumps({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "bandit"}}, "results": [result]}]})


def test_a_person_dismisses_a_finding_and_restores_it(remit: Remit, tree: WorkTree) -> None:
    (tree.root / "bandit.sarif").write_text(sarif(), encoding="utf-8")
    merge = ("merge", "bandit.sarif", "--fail-on", "important")
    first = remit(*merge)
    assert first.code == 1
    name = first.out.partition("#")[2].split()[0]
    done = remit("dismiss", name, "--why", "a constant")
    assert re.match(rf"dismissed B608 #{name}\w{{4}}  a.py:2  SQL injection\n", done.out)
    outcome = remit(*merge)
    assert outcome.code == 0
    assert "Dismissed  1" in outcome.out
    assert "0 findings · 1 result · 0 conflicts · 1 dropped (1 dismissed)" in outcome.out
    written = json.loads(remit("merge", "bandit.sarif", "--format", "sarif").out)
    (result,) = written["runs"][0]["results"]
    assert result["suppressions"][0]["status"] == "accepted"
    assert "a constant" in result["suppressions"][0]["justification"]
    assert remit("restore", name[:5]).code == 0
    assert remit(*merge).code == 1
    assert read_dismissals((tree.root / FILE).read_bytes()) == []


def review(*rows: str) -> str:
    head = "| ID | Issue | File:Line | Severity | Confidence |\n|---|---|---|---|---|\n"
    table = head + "".join(f"| {each} |\n" for each in rows)
    return f"### Status\nSUCCESS\n\n### Findings\n\n#### Issues Detected\n{table}"


def test_the_id_of_every_format_dismisses_exactly_this_finding_and_restores_it(remit: Remit, tree: WorkTree) -> None:
    first, second = "SEC-001 | Search text in SQL | `a.py:2` | High | 90", "SEC-001 | It is slow | `a.py:4` | Low | 90"
    (tree.root / "a.md").write_text(f"## Alpha Result\n\n{review(first)}", encoding="utf-8")
    (tree.root / "b.md").write_text(f"## Beta Result\n\n{review(second)}", encoding="utf-8")
    merge = ("merge", "a.md", "b.md", "--format")
    for form in ("text", "json", "markdown", "html", "sarif", "github"):
        written = remit(*merge, form).out
        assert "SEC-001" in written
        assert "SEC2-001" in written, form
    assert remit("dismiss", "SEC2-001", "--why", "rare").out.startswith("dismissed SEC2-001 #")
    (listed,) = json.loads(remit(*merge, "json").out)["dropped"]
    assert (listed["id"], listed["title"]) == ("SEC2-001", "It is slow")
    assert remit("restore", "SEC2-001").out.startswith(f"restored SEC2-001 #{listed['fingerprint']}")
    assert remit("dismiss", "a.py:4", "--why", "rare").code == 0
    assert remit("restore", "a.py:4").code == 0
    assert json.loads(remit(*merge, "json").out)["dropped"] == []


def test_an_id_of_two_dismissals_is_the_one_of_the_last_report(remit: Remit, tree: WorkTree) -> None:
    for line in (2, 4):
        (tree.root / "bandit.sarif").write_text(sarif(line), encoding="utf-8")
        assert remit("merge", "bandit.sarif").code == 0
        assert remit("dismiss", "B608", "--why", "a constant").code == 0
    assert remit("restore", "B608").code == 0
    (left,) = read_dismissals((tree.root / FILE).read_bytes())
    assert left.finding == "B608"
    (tree.root / "bandit.sarif").write_text(sarif(2), encoding="utf-8")
    listed = json.loads(remit("merge", "bandit.sarif", "--format", "json").out)
    assert listed["counts"]["dismissed"] == 1
    (tree.root / ".remit" / "reports" / "merge.json").unlink()
    assert "no dismissal 'QA-1'; dismissed: B608 (#" in remit("restore", "QA-1").err


def test_a_check_lists_a_dismissed_finding_as_dismissed_and_gives_the_same_verdict(
    remit: Remit, tree: WorkTree
) -> None:
    (tree.root / "review.md").write_text(
        "## Qa Engineer Result\n\n### Status\nSUCCESS\n\n### Findings\n\n#### Issues Detected\n"
        "| ID | Issue | File:Line | Severity | Confidence |\n|---|---|---|---|---|\n"
        "| SEC-001 | Search text is pasted into SQL | `a.py:2` | High | 90 |\n"
        "| QA-001 | It is slow | `a.py:4` | Low | 90 |\n",
        encoding="utf-8",
    )
    code, before, _ = remit("check", "review.md", "--format", "json")
    assert remit("dismiss", "SEC-001", "--why", "a constant", "--from", "review.md")[0] == 0
    after_code, after, _ = remit("check", "review.md", "--format", "json")
    (old,), (new,) = json.loads(before)["results"], json.loads(after)["results"]
    assert (code, old.pop("dismissed")) == (after_code, [])
    (listed,) = new.pop("dismissed")
    assert old == new
    assert (listed["id"], listed["path"], listed["line"]) == ("SEC-001", "a.py", 2)
    assert listed["reason"].endswith(": a constant")
    text = remit("check", "review.md")[1]
    assert f"(#{listed['fingerprint']})" in " ".join(text.split())
    assert "QA-001  a.py" not in text
    assert remit("restore", listed["fingerprint"])[0] == 0
    assert "dismissed, the verdict is the same" not in remit("check", "review.md")[1]


def test_a_dismissal_whose_code_changed_is_reported(remit: Remit, tree: WorkTree) -> None:
    (tree.root / "bandit.sarif").write_text(sarif(), encoding="utf-8")
    assert remit("dismiss", "a.py:2", "--why", "a constant", "--from", "bandit.sarif").code == 0
    (tree.root / "a.py").write_text(CODE.replace("SELECT", "DELETE"), encoding="utf-8")
    outcome = remit("merge", "bandit.sarif", "--fail-on", "important")
    assert outcome.code == 1
    assert "the code of 1 dismissed finding changed" in outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("dismiss", "x", "--why", "y"), "no report to look in: pass one with --from FILE"),
        (("dismiss", "x", "--why", " "), "--why must not be empty"),
        (("dismiss", "x", "--why", "y", "--from", "gone.json"), "gone.json: No such file or directory"),
        (("restore", "abcd"), "no dismissal 'abcd'; nothing is dismissed"),
    ],
)
def test_mistakes_are_one_line(remit: Remit, words: tuple[str, ...], message: str) -> None:
    outcome = remit(*words)
    assert (outcome.code, message in outcome.err, outcome.err.count("\n")) == (2, True, 1)


def test_a_merge_from_before_there_were_fingerprints_can_be_searched(remit: Remit, tree: WorkTree) -> None:
    (tree.root / "bandit.sarif").write_text(sarif(), encoding="utf-8")
    old = json.loads(remit("merge", "bandit.sarif", "--format", "json").out)
    for finding in old["findings"]:
        del finding["fingerprint"], finding["members"]
    (tree.root / "old.json").write_text(json.dumps(old), encoding="utf-8")
    assert msgspec.json.decode(json.dumps(old), type=Merge)
    assert remit("dismiss", "B608", "--why", "a constant", "--from", "old.json").code == 0
