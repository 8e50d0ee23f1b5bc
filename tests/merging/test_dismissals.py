"""Dismissals: matched by rule or title, path and code; they expire with the code, and hide nothing that is worse."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

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
    new_dismissal,
    read_dismissals,
    render_dismissals,
)
from remit.merging.merge import merge, with_findings
from remit.merging.merge_data import DISMISSED_BEFORE, Merge, ReportedFinding
from remit.workspace.files import WorkTree

CODE = "first = 1\nquery = 'SELECT ' + text\nrun(query)\nlast = 4\n"


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    (tmp_path / "a.py").write_text(CODE, encoding="utf-8")
    return WorkTree(tmp_path)


def merged(*rows: ReportedFinding) -> Merge:
    return merge([report(each.opinion.agent, each) for each in rows])


def sql(**fields: Any) -> ReportedFinding:
    return row(**{"agent": "bandit", "rule": "B608", "name": "B608", "title": "SQL injection", "line": 2, **fields})


def dismissed(merge: Merge, tree: WorkTree) -> Dismissal:
    return new_dismissal(merge.findings[0], tree, "the text is a constant", "Ada", "2026-11-16")


def judged(outcome: Merge, entries: list[Dismissal], tree: WorkTree) -> Merge:
    findings = (*outcome.findings, *outcome.dropped)
    return with_findings(outcome, apply_dismissals(findings, entries, WorkTree(tree.root), outcome.threshold))


def after(outcome: Merge, entry: Dismissal, tree: WorkTree) -> list[str]:
    """The titles that are kept."""
    return [finding.title for finding in judged(outcome, [entry], tree).findings]


def test_a_dismissed_finding_is_listed_as_dropped_with_the_reason(tree: WorkTree) -> None:
    before = merged(sql(), row("a", path="b.py"))
    outcome = judged(before, [dismissed(before, tree)], tree)
    (dropped,) = outcome.dropped
    assert dropped.reason == "dismissed by Ada on 2026-11-16: the text is a constant"
    assert "dismissed" in dropped.flags
    assert (outcome.counts.findings, outcome.counts.dropped, outcome.counts.dismissed) == (1, 1, 1)
    assert outcome.counts.rows == before.counts.rows


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


def test_a_dismissal_ends_with_its_code(tree: WorkTree) -> None:
    outcome = merged(sql())
    entry = dismissed(outcome, tree)
    (tree.root / "a.py").write_text(CODE.replace("+ text", "+ user_text"), encoding="utf-8")
    assert after(outcome, entry, tree) == ["SQL injection"]


def test_a_dismissal_covers_only_the_titles_that_the_person_saw(tree: WorkTree) -> None:
    evil = row("evil", title="Tokens are a bit short", line=2, name="SEC-009", severity="critical")
    honest = row("honest", title="Session tokens are predictable", line=2, name="SEC-001", severity="critical")
    entry = dismissed(merged(evil), tree)
    assert after(merged(evil), entry, tree) == []
    (shown,) = judged(merged(evil, honest), [entry], tree).findings
    assert DISMISSED_BEFORE in shown.flags
    assert after(merged(honest), entry, tree) == ["Session tokens are predictable"]
    both = dismissed(merged(evil, honest), tree)
    assert after(merged(evil, honest), both, tree) == after(merged(honest), both, tree) == []


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
    before = merged(sql())
    entry = dismissed(before, tree)
    once = judged(before, [entry], tree)
    assert judged(merge([once]), [], tree) == before
    assert judged(merge([once]), [entry], tree) == once
    assert judged(merge([once, report("other")]), [], tree).counts.findings == 1


def test_a_finding_is_found_by_its_id_or_its_location(tree: WorkTree) -> None:
    outcome = merged(sql(), row("a", path="a.py", line=4, name="QA-1"))
    finding = next(each for each in outcome.findings if each.id == "B608")
    assert find_finding(outcome, "b608") == find_finding(outcome, "a.py:2") == finding
    with pytest.raises(UsageError, match="no finding 'zzz' in this report"):
        find_finding(outcome, "zzz")
    two = merged(sql(), row("a", path="a.py", line=2, name="QA-1", title="slow", category="speed"))
    with pytest.raises(UsageError, match=r"2 findings match 'a\.py:2'; use one of B608, QA-1"):
        find_finding(two, "a.py:2")


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
    monkeypatch.chdir(tree.root)
    monkeypatch.setenv("XDG_STATE_HOME", str(tree.root.parent / "state"))
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


def test_a_person_dismisses_a_finding_and_takes_it_back(remit: Remit, tree: WorkTree) -> None:
    (tree.root / "bandit.sarif").write_text(sarif(), encoding="utf-8")
    again = ("merge", "bandit.sarif", "--fail-on", "important")
    assert remit(*again).code == 1
    done = remit("dismiss", "B608", "--why", "a constant")
    assert done.out.startswith("dismissed B608  a.py:2  SQL injection\n")
    outcome = remit(*again)
    assert outcome.code == 0
    assert "0 dropped · 1 dismissed" in outcome.out.split("\n")[0]
    assert "Dismissed  1" in outcome.out
    written = json.loads(remit("merge", "bandit.sarif", "--format", "sarif").out)
    (result,) = written["runs"][0]["results"]
    assert result["suppressions"][0]["status"] == "accepted"
    assert "a constant" in result["suppressions"][0]["justification"]
    assert remit("dismiss", "B608", "--undo").out.startswith("B608 counts again")
    assert remit(*again).code == 1
    assert read_dismissals((tree.root / FILE).read_bytes()) == []


def test_nothing_is_written_into_the_checkout_but_the_file(remit: Remit, tree: WorkTree) -> None:
    (tree.root / "bandit.sarif").write_text(sarif(), encoding="utf-8")
    before = set(tree.root.rglob("*"))
    assert remit("merge", "bandit.sarif").code == 0
    assert set(tree.root.rglob("*")) == before
    assert remit("dismiss", "B608", "--why", "a constant").code == 0
    assert set(tree.root.rglob("*")) == {*before, tree.root / FILE}


def test_with_a_base_dismissals_count_as_of_the_merge_base(remit: Remit, tree: WorkTree) -> None:
    (tree.root / ".git").rmdir()

    def git(*words: str) -> None:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *who, *words], cwd=tree.root, check=True, capture_output=True)

    git("init", "-q")
    (tree.root / "a.py").write_text("first = 1\n", encoding="utf-8")
    git("add", "a.py")
    git("commit", "-qm", "base")
    git("checkout", "-qb", "work")
    (tree.root / "a.py").write_text(CODE, encoding="utf-8")
    (tree.root / "bandit.sarif").write_text(sarif(), encoding="utf-8")
    assert remit("dismiss", "B608", "--why", "a constant", "--from", "bandit.sarif").code == 0
    git("add", FILE)
    git("commit", "-qam", "change")
    again = ("merge", "bandit.sarif", "--fail-on", "important")
    assert remit(*again).code == 0
    assert remit(*again, "--changed-since", "main").code == 1, "a change cannot dismiss its own findings"
    git("branch", "-qf", "main", "HEAD")
    (tree.root / "a.py").write_text("import os\n" + CODE, encoding="utf-8")
    (tree.root / "bandit.sarif").write_text(sarif(3), encoding="utf-8")
    assert remit(*again, "--changed-since", "main").code == 0


def review(*rows: str) -> str:
    head = "| ID | Issue | File:Line | Severity | Confidence |\n|---|---|---|---|---|\n"
    table = head + "".join(f"| {each} |\n" for each in rows)
    return f"### Status\nSUCCESS\n\n### Findings\n\n#### Issues Detected\n{table}"


def test_the_id_of_every_format_dismisses_exactly_this_finding(remit: Remit, tree: WorkTree) -> None:
    first, second = "SEC-001 | Search text in SQL | `a.py:2` | High | 90", "SEC-001 | It is slow | `a.py:4` | Low | 90"
    (tree.root / "a.md").write_text(f"## Alpha Result\n\n{review(first)}", encoding="utf-8")
    (tree.root / "b.md").write_text(f"## Beta Result\n\n{review(second)}", encoding="utf-8")
    merge = ("merge", "a.md", "b.md", "--format")
    for form in ("text", "json", "markdown", "html", "sarif", "github"):
        written = remit(*merge, form).out
        assert "SEC-001" in written
        assert "SEC2-001" in written, form
    assert remit("dismiss", "SEC2-001", "--why", "rare").out.startswith("dismissed SEC2-001  a.py:4")
    (listed,) = json.loads(remit(*merge, "json").out)["dropped"]
    assert (listed["id"], listed["title"]) == ("SEC2-001", "It is slow")
    assert remit("dismiss", "SEC2-001", "--undo").code == 0
    assert remit("dismiss", "a.py:4", "--why", "rare").code == 0
    (entry,) = read_dismissals((tree.root / FILE).read_bytes())
    assert remit("dismiss", entry.id, "--undo").code == 0
    assert json.loads(remit(*merge, "json").out)["dropped"] == []


def test_an_id_of_two_dismissals_is_refused_with_the_ids_of_both(remit: Remit, tree: WorkTree) -> None:
    for line in (2, 4):
        (tree.root / "bandit.sarif").write_text(sarif(line), encoding="utf-8")
        assert remit("merge", "bandit.sarif").code == 0
        assert remit("dismiss", "B608", "--why", "a constant").code == 0
    first, second = read_dismissals((tree.root / FILE).read_bytes())
    refused = remit("dismiss", "B608", "--undo").err
    assert "2 dismissals 'B608'" in refused
    assert first.id in refused
    assert second.id in refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("dismiss", "x", "--why", "y"), "no report to look in: run `remit merge` here first"),
        (("dismiss", "x", "--why", " "), "--why TEXT is missing"),
        (("dismiss", "x", "--why", "y", "--from", "gone.json"), "gone.json: No such file or directory"),
        (("dismiss", "abcd", "--undo"), "no dismissal 'abcd'; nothing is dismissed"),
    ],
)
def test_mistakes_are_one_line(remit: Remit, words: tuple[str, ...], message: str) -> None:
    outcome = remit(*words)
    assert (outcome.code, message in outcome.err, outcome.err.count("\n")) == (2, True, 1)
