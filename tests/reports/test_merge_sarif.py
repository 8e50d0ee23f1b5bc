"""A merge as SARIF: valid by the published schema, safe to show, the same bytes every time."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from remit.contract.findings import Severity
from remit.merging.merge_data import (
    AgentReport,
    Conflict,
    Counts,
    FailedRow,
    Merge,
    MergedFinding,
    MergeStatus,
    Opinion,
)
from remit.merging.sarif.read import read_sarif
from remit.reports.merge.sarif import FINGERPRINT, ROOT, merge_sarif
from remit.surfaces.cli.merge import merge_command
from remit.workspace.files import WorkTree

SCHEMA = Path(__file__).parents[1] / "fixtures" / "sarif" / "sarif-schema-2.1.0.json"
RESULT = Path(__file__).parents[2] / "examples" / "results" / "review-quality.md"
#: What the schema's format `uri` asks for: a scheme, and no character that has to be escaped.
URI = re.compile(r"[a-z][a-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")
#: What a terminal, a browser or a reader of text would obey.
CONTROLS = "\x00\x07\x1b\x7f\x9b\n\r\u202e\u2066\u200b\ud800"


@cache
def validator() -> jsonschema.protocols.Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def opinion(agent: str = "security-auditor", line: int | None = 2, **fields: Any) -> Opinion:
    values: dict[str, Any] = {"id": "SEC-001", "severity": "critical", "confidence": 95.0, "title": "Open to anybody"}
    return Opinion(agent=agent, line=line, **(values | fields))


def finding(*opinions: Opinion, **fields: Any) -> MergedFinding:
    opinions = opinions or (opinion(),)
    values: dict[str, Any] = {
        "id": "SEC-001",
        "path": "src/a.py",
        "line": 2,
        "end_line": None,
        "category": "security",
        "severity": "critical",
        "title": "Open to anybody",
        "confidence": 96.5,
        "max": 95.0,
        "mean": 86.5,
        "agreement": 1.0,
        "agents": tuple(said.agent for said in opinions),
        "opinions": opinions,
        "verified": True,
        "flags": ("agreed",),
    }
    return MergedFinding(**(values | fields))


def merge(
    *findings: MergedFinding,
    conflicts: tuple[Conflict, ...] = (),
    dropped: tuple[MergedFinding, ...] = (),
    failed: tuple[FailedRow, ...] = (),
    agents: tuple[AgentReport, ...] | None = None,
    status: MergeStatus = "SUCCESS",
) -> Merge:
    if agents is None:
        names = sorted({agent for each in findings for agent in each.agents})
        agents = (*(AgentReport(name, "SUCCESS", "accept") for name in names), AgentReport("ruff", "SUCCESS", None))
    severities = [each.severity for each in findings]
    return Merge(
        status=status,
        decision="review" if conflicts else "continue",
        agents=agents,
        findings=findings,
        conflicts=conflicts,
        dropped=dropped,
        failed=failed,
        threshold=75,
        counts=Counts(
            inputs=len(agents),
            findings=len(findings),
            dropped=len(dropped),
            conflicts=len(conflicts),
            critical=severities.count("critical"),
            important=severities.count("important"),
            minor=severities.count("minor"),
            unrated=severities.count(None),
            dismissed=0,
            failed=len(failed),
            rows=0,
            looked=1,
        ),
    )


def written(merged: Merge, **options: Any) -> dict[str, Any]:
    log = json.loads(merge_sarif(merged, **({"version": "0.1.0"} | options)))
    validator().validate(log)
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("import os\nos.system(name)\n\n\nos.system(name)\n")
    return WorkTree(tmp_path)


def test_the_schema_refuses_invalid_sarif() -> None:
    log = json.loads(merge_sarif(merge(finding()), version="0.1.0"))
    del log["runs"][0]["tool"]["driver"]["name"]
    assert not validator().is_valid(log)


def test_a_finding_becomes_a_result(tree: WorkTree) -> None:
    said = (
        opinion(),
        opinion("qa-engineer", severity="minor", confidence=78.0, claimed=88.0, id="QA-7", title="Too wide"),
    )
    run = written(merge(finding(*said, end_line=3)), workspace=tree)
    (result,) = run["results"]
    assert (result["ruleId"], result["level"], result["rank"]) == ("security", "error", 96.5)
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "security"
    assert result["message"]["text"] == (
        "Open to anybody. Also stated there: Too wide. Found by security-auditor and qa-engineer, confidence 96.5."
    )
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "src/a.py", "uriBaseId": ROOT}
    assert place["region"] == {"startLine": 2, "endLine": 3, "snippet": {"text": "os.system(name)\n"}}
    about = result["properties"]
    assert (about["verified"], about["agreement"], about["flags"]) == (True, 1.0, ["agreed"])
    assert about["opinions"][1] == {
        "agent": "qa-engineer",
        "id": "QA-7",
        "severity": "minor",
        "confidence": 78.0,
        "line": 2,
        "title": "Too wide",
        "claimed": 88.0,
    }


@pytest.mark.parametrize(
    ("severity", "level"), [("critical", "error"), ("important", "warning"), ("minor", "note"), (None, "warning")]
)
def test_severities_become_levels(severity: Severity | None, level: str) -> None:
    assert written(merge(finding(severity=severity)))["results"][0]["level"] == level


def test_each_category_is_a_rule_and_each_agent_an_extension() -> None:
    findings = [finding(category=name, line=line) for line, name in enumerate(("ux", "security", "ux", ""), 1)]
    run = written(merge(*findings))
    tool = run["tool"]
    assert [rule["id"] for rule in tool["driver"]["rules"]] == ["general", "security", "ux"]
    assert [result["ruleIndex"] for result in run["results"]] == [2, 1, 2, 0]
    assert (tool["driver"]["name"], tool["driver"]["semanticVersion"]) == ("remit", "0.1.0")
    assert [extension["name"] for extension in tool["extensions"]] == ["ruff", "security-auditor"]


@pytest.mark.parametrize(("version", "semantic"), [("1.2.3", True), ("1.2.3-rc.1", True), ("1.2", False), ("", False)])
def test_only_a_semantic_version_is_called_one(version: str, semantic: bool) -> None:
    assert ("semanticVersion" in written(merge(finding()), version=version)["tool"]["driver"]) is semantic


def test_other_lines_that_agents_name_are_related_places() -> None:
    run = written(merge(finding(opinion(), opinion("qa-engineer", line=4), opinion("code-explorer", line=None))))
    (related,) = run["results"][0]["relatedLocations"]
    assert related["physicalLocation"]["region"] == {"startLine": 4, "endLine": 4}
    assert related["message"]["text"] == "qa-engineer: Open to anybody"


def test_conflicts_are_notifications_and_properties() -> None:
    why = "a calls it critical, b minor"
    conflict = Conflict(kind="severity", finding="SEC-001", agents=("a", "b"), why=why)
    run = written(merge(finding(), conflicts=(conflict,)))
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification["level"] == "warning"
    assert notification["message"]["text"] == "Conflict (severity) on SEC-001: a calls it critical, b minor"
    known = {descriptor["id"] for descriptor in run["tool"]["driver"]["notifications"]}
    assert notification["descriptor"]["id"] in known
    assert run["properties"]["remit"]["conflicts"][0]["agents"] == ["a", "b"]
    assert run["properties"]["remit"]["decision"] == "review"


def test_what_did_not_hold_is_a_notification_on_no_line() -> None:
    row = FailedRow("a", "SEC-9", "Invented", "critical", "src/a.py:412", "the file has 3 lines")
    run = written(merge(finding(), failed=(row,)))
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification["descriptor"]["id"] == "did-not-hold"
    assert notification["message"]["text"] == (
        "Did not hold: SEC-9 Invented. a: the file has 3 lines (at src/a.py:412)"
    )
    assert "locations" not in notification
    assert "Invented" not in json.dumps(run["results"])


def test_dropped_findings_are_counted_and_not_shown() -> None:
    run = written(merge(finding(), dropped=(finding(title="Doubtful", reason="confidence 40 is under 75"),)))
    assert (len(run["results"]), run["properties"]["remit"]["counts"]["dropped"]) == (1, 1)
    assert "Doubtful" not in json.dumps(run)


def test_a_failed_merge_is_marked() -> None:
    failed = merge(agents=(AgentReport("a", "FAILED", None),), status="FAILED")
    assert written(failed)["invocations"][0]["executionSuccessful"] is False


def test_an_empty_merge_is_valid() -> None:
    assert written(merge(agents=()))["results"] == []


# Places


@pytest.mark.parametrize(
    ("path", "artifact"),
    [
        ("src/b c#1%.py", {"uri": "src/b%20c%231%25.py", "uriBaseId": ROOT}),
        ("a:b.py", {"uri": "a%3Ab.py", "uriBaseId": ROOT}),
        ("größe.py", {"uri": "gr%C3%B6%C3%9Fe.py", "uriBaseId": ROOT}),
        ("/etc/passwd", {"uri": "file:///etc/passwd"}),
        ("../x.py", {"uri": "../x.py"}),
        ("https://example.org/a b.py", {"uri": "https://example.org/a%20b.py"}),
        ("a\0\x1b\ud800.py", {"uri": "a%00%1B%3F.py", "uriBaseId": ROOT}),
    ],
)
def test_a_path_is_written_as_a_uri(path: str, artifact: dict[str, str]) -> None:
    (result,) = written(merge(finding(path=path)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == artifact


@pytest.mark.parametrize(("line", "end_line"), [(0, None), (-4, 3), (None, None), (None, 5)])
def test_a_line_that_cannot_be_is_not_written(line: int | None, end_line: int | None) -> None:
    merged = merge(finding(line=line, end_line=end_line))
    (result,) = written(merged)["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_a_range_that_runs_backwards_is_one_line() -> None:
    (result,) = written(merge(finding(line=9, end_line=3)))["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 9, "endLine": 9}


def test_for_code_scanning_a_finding_without_a_place_is_a_notification() -> None:
    run = written(merge(finding(path=None, line=None)))
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert (run["results"], notification["level"]) == ([], "error")
    assert notification["descriptor"]["id"] == "finding-without-place"
    assert notification["message"]["text"].startswith("Open to anybody.")


def test_a_snippet_has_at_most_twenty_lines(tree: WorkTree) -> None:
    (tree.root / "long.py").write_text("".join(f"line {number}\n" for number in range(1, 60)))
    (result,) = written(merge(finding(path="long.py", line=5, end_line=50)), workspace=tree)["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region["endLine"] == 50
    assert region["snippet"]["text"].split("\n") == [f"line {number}" for number in range(5, 25)]


@pytest.mark.parametrize("fields", [{"path": "gone.py"}, {"line": 900}, {"path": "/etc/passwd"}, {"path": "wide.py"}])
def test_what_cannot_be_quoted_has_no_snippet(tree: WorkTree, fields: dict[str, Any]) -> None:
    (tree.root / "wide.py").write_text("x\n" + "y" * 4_001)
    (result,) = written(merge(finding(**fields)), workspace=tree)["results"]
    assert "snippet" not in result["locations"][0]["physicalLocation"]["region"]


# The profile for code scanning


def marks(merged: Merge, tree: WorkTree | None) -> list[str]:
    return [result["partialFingerprints"][FINGERPRINT] for result in written(merged, workspace=tree)["results"]]


def test_a_fingerprint_survives_a_move_of_the_line(tree: WorkTree) -> None:
    before = marks(merge(finding(line=2)), tree)
    (tree.root / "src" / "a.py").write_text("import os\n\n# moved\n  os.system(name)  \n")
    assert marks(merge(finding(line=4)), WorkTree(tree.root)) == before


def test_a_fingerprint_distinguishes_path_category_and_code(tree: WorkTree) -> None:
    (tree.root / "b.py").write_text("import os\nos.system(name)\n")
    others = ({}, {"path": "b.py"}, {"category": "quality"}, {"line": 1}, {"path": "gone.py"}, {"path": "gone2.py"})
    assert len({mark for fields in others for mark in marks(merge(finding(**fields)), tree)}) == len(others)


def test_equal_lines_are_counted_from_the_top(tree: WorkTree) -> None:
    low, high = finding(line=5, confidence=99.0), finding(line=2)
    first, second = marks(merge(low, high), tree)
    assert (first.partition(":")[0], first[-2:], second[-2:]) == (second.partition(":")[0], ":2", ":1")


def test_without_the_code_a_fingerprint_is_made_from_the_title() -> None:
    (one,), (same,) = (marks(merge(finding(line=line, title=title)), None) for line, title in ((2, "A b"), (9, "a  B")))
    assert one == same
    assert marks(merge(finding(title="Another")), None) != [one]


def test_the_run_is_named_for_code_scanning() -> None:
    assert written(merge(finding()))["automationDetails"]["id"] == "remit/"


# Where the code comes from


@pytest.mark.parametrize(
    ("repository", "uri"),
    [
        ("https://example.org/o/r.git", "https://example.org/o/r.git"),
        ("https://user:token@example.org:8443/o/r?x=1#y", "https://example.org:8443/o/r"),
        ("git@example.org:o/r.git", "ssh://example.org/o/r.git"),
        ("ssh://git@example.org/o/r", "ssh://example.org/o/r"),
        ("https://[::1]:8443/o/r", "https://[::1]:8443/o/r"),
        ("https://example.org/o/r%zz e.git", "https://example.org/o/r%25zz%20e.git"),
        ("https://user:12/token@example.org/o/r", None),
        ("https://example.org/" + "o" * 3_000, None),
        ("ext::sh -c token", None),
        ("/srv/git/r", None),
        ("C:/git/r", None),
        ("../r", None),
        ("https://[::1", None),
        ("https://example.org:port/x", None),
        ("javascript:alert(1)", None),
        ("file:///srv/r", None),
        ("file://host/srv/r", None),
        ("", None),
    ],
)
def test_a_repository_is_named_without_anybodys_password(repository: str, uri: str | None) -> None:
    run = written(merge(finding()), repository=repository, commit="abc123")
    assert "token" not in json.dumps(run)
    if uri is None:
        assert "versionControlProvenance" not in run
    else:
        (source,) = run["versionControlProvenance"]
        assert source == {"repositoryUri": uri, "mappedTo": {"uriBaseId": ROOT}, "revisionId": "abc123"}
        assert URI.fullmatch(uri)


def test_a_commit_without_a_repository_is_a_property() -> None:
    run = written(merge(finding()), commit="abc123")
    assert run["properties"]["remit"]["commit"] == "abc123"
    assert "versionControlProvenance" not in run


class Checkout:
    """A checkout with one commit, and what `remit merge` writes there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "--quiet")
        who = ("-c", "user.name=Someone", "-c", "user.email=someone@example.com", "-c", "commit.gpgSign=false")
        self.git(*who, "commit", "--quiet", "--allow-empty", "--message", "a commit")
        self.commit = self.git("rev-parse", "HEAD").strip()

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout

    def merged(self, folder: str = ".") -> tuple[dict[str, Any], str]:
        """The run, validated against the schema, and the whole text."""
        words = [str(RESULT), "--repo", str(self.root / folder), "--format", "sarif"]
        text = CliRunner().invoke(merge_command, words, catch_exceptions=False).stdout
        validator().validate(json.loads(text))
        return json.loads(text)["runs"][0], text


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_commit_of_a_checkout_with_a_remote_is_in_its_provenance(checkout: Checkout) -> None:
    checkout.git("remote", "add", "origin", "git@example.org:o/shop.git")
    run, _ = checkout.merged()
    assert run["versionControlProvenance"] == [
        {
            "repositoryUri": "ssh://example.org/o/shop.git",
            "revisionId": checkout.commit,
            "mappedTo": {"uriBaseId": ROOT},
        }
    ]


def test_a_checkout_without_a_remote_reports_its_commit_only(checkout: Checkout) -> None:
    run, text = checkout.merged()
    assert "versionControlProvenance" not in run
    assert run["properties"]["remit"]["commit"] == checkout.commit
    assert str(checkout.root) not in text


def test_a_local_remote_is_not_published(checkout: Checkout, tmp_path: Path) -> None:
    checkout.git("remote", "add", "origin", str(tmp_path / "upstream.git"))
    run, text = checkout.merged()
    assert "versionControlProvenance" not in run
    assert "upstream" not in text


def test_a_token_in_the_address_of_a_remote_is_not_written(checkout: Checkout) -> None:
    checkout.git("remote", "add", "origin", "https://someone:ghp_token@example.org/o/shop.git?private_token=ghp_token")
    run, text = checkout.merged()
    assert run["versionControlProvenance"][0]["repositoryUri"] == "https://example.org/o/shop.git"
    assert not re.search("ghp_token|someone", text)


def test_a_part_of_a_checkout_is_not_mapped_to_its_root(checkout: Checkout) -> None:
    checkout.git("remote", "add", "origin", "https://example.org/o/shop.git")
    (checkout.root / "part").mkdir()
    run, _ = checkout.merged("part")
    assert "versionControlProvenance" not in run
    assert run["properties"]["remit"]["commit"] == checkout.commit


# Untrusted text


def test_nothing_in_an_agents_words_is_obeyed() -> None:
    bad = f'x{CONTROLS}"}}],[click](javascript:alert(1)) {{0}}'
    said = opinion(bad, id=bad, title=bad, line=7)
    findings = finding(said, id=bad, title=bad, category=bad, flags=(bad,))
    conflict = Conflict(kind="score", finding=bad, agents=(bad, "b"), why=bad)
    merged = merge(findings, conflicts=(conflict,))
    run = written(merged, commit=bad, repository=f"https://example.org/{bad}")
    for text in strings(run):
        assert not set(text) & set(CONTROLS.replace("\n", "")), text
    for message in (run["results"][0]["message"]["text"], run["results"][0]["relatedLocations"][0]["message"]["text"]):
        assert "\n" not in message
        assert "](" not in message


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, inner in value.items() for text in (key, *strings(inner))]
    if isinstance(value, list):
        return [text for inner in value for text in strings(inner)]
    return [value] if isinstance(value, str) else []


def test_long_words_are_cut() -> None:
    long = "w" * 1_000_000
    findings = finding(opinion(long, title=long, id=long), title=long, category=long, id=long)
    assert len(merge_sarif(merge(findings), version="0.1.0")) < 20_000


def test_the_same_merge_gives_the_same_bytes(tree: WorkTree) -> None:
    merged = merge(finding(), finding(line=5), finding(path=None, line=None))
    texts = {merge_sarif(merged, workspace=WorkTree(tree.root), version="1") for _ in range(3)}
    assert len(texts) == 1


WORDS = st.text(max_size=12) | st.sampled_from(["a\ud800", "\x00", "src/a.py", "../x", "file:///x", "](", ""])
FOUND = st.builds(
    lambda said, **fields: finding(*said, **fields),
    said=st.lists(
        st.builds(opinion, WORDS, st.none() | st.integers(-2, 9), title=WORDS, id=WORDS), min_size=1, max_size=3
    ),
    path=st.none() | WORDS,
    line=st.none() | st.integers(-2, 9),
    end_line=st.none() | st.integers(-2, 9),
    category=WORDS,
    severity=st.sampled_from([None, "critical", "important", "minor"]),
    title=WORDS,
    confidence=st.floats(0, 100),
    verified=st.sampled_from([None, True]),
)


@given(st.lists(FOUND, max_size=4), st.none() | WORDS, st.none() | WORDS)
def test_every_merge_is_valid_sarif(found: list[MergedFinding], commit: str | None, repository: str | None) -> None:
    run = written(merge(*found), commit=commit, repository=repository)
    shown = len(run["results"]) + len(run["invocations"][0]["toolExecutionNotifications"])
    assert shown == len(found)


# There and back


def test_what_is_written_can_be_read_again(tree: WorkTree) -> None:
    text = merge_sarif(merge(finding(), finding(line=5, severity="minor", title="Second")), workspace=tree, version="1")
    (report,) = read_sarif(text.encode(), "merge.sarif", tree, {})
    assert (report.agent, report.status) == ("remit", "SUCCESS")
    seen = [
        (
            findings.path,
            findings.opinion.line,
            findings.opinion.severity,
            findings.opinion.confidence,
            findings.category,
        )
        for findings in report.rows
    ]
    assert seen == [("src/a.py", 2, "critical", 96.5, "security"), ("src/a.py", 5, "minor", 96.5, "security")]
    assert all(findings.verified for findings in report.rows)
