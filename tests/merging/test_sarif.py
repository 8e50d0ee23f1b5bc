"""SARIF of any tool becomes reports, and nothing in it is believed."""

from __future__ import annotations

import hashlib
import json
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import UsageError
from remit.evidence.document import Segment
from remit.evidence.model import Checked, Claim, Facts, Judgement
from remit.merging import adjust
from remit.merging.merge import merge as merge_all
from remit.merging.merge_data import MergeSettings, Report, ReportedFinding
from remit.merging.sarif.read import open_sarif, read_sarif
from remit.merging.sarif.tool_rules import _severities, result_severity
from remit.workspace.files import Workspace, WorkTree

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "sarif"


def code(number: int) -> str:
    """A line of code that is like no other."""
    return f"_{hashlib.sha256(str(number).encode()).hexdigest()[:32]} = {number}"


SOURCE = "".join(f"{code(number)}\n" for number in range(1, 31))


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text(SOURCE)
    (tmp_path / "src" / "b c.py").write_text(SOURCE)
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "image.bin").write_bytes(b"\0\1\2")
    return WorkTree(tmp_path)


def place(uri: str = "src/a.py", line: Any = 3, **more: Any) -> dict[str, Any]:
    region = {"startLine": line, **more.pop("region", {})}
    return {"physicalLocation": {"artifactLocation": {"uri": uri, **more}, "region": region}}


def result(**fields: Any) -> dict[str, Any]:
    return {"ruleId": "X1", "message": {"text": "It is wrong."}, "locations": [place()], **fields}


def run(*results: Any, tool: str = "Some Tool", rules: Any = (), **fields: Any) -> dict[str, Any]:
    return {"tool": {"driver": {"name": tool, "rules": list(rules)}}, "results": list(results), **fields}


def read(*runs: Any, workspace: Workspace | None = None, categories: dict[str, str] | None = None) -> list[Report]:
    data = json.dumps({"version": "2.1.0", "runs": list(runs)}).encode()
    return read_sarif(data, "tool.sarif", workspace, categories or {})


def one(sighting: Any, workspace: Workspace | None = None, **about: Any) -> ReportedFinding:
    categories = about.pop("categories", None)
    (report,) = read(run(sighting, **about), workspace=workspace, categories=categories)
    (row,) = report.rows
    return row


def at(location: dict[str, Any], tree: Workspace | None, **about: Any) -> ReportedFinding:
    return one(result(locations=[location], rank=90), tree, **about)


# What a run and a result become


def test_each_run_is_a_report_named_by_its_tool() -> None:
    reports = read(run(result()), run(tool="Other_Tool"))
    assert [(report.agent, report.status, report.verdict) for report in reports] == [
        ("some-tool", "SUCCESS", None),
        ("other-tool", "SUCCESS", None),
    ]


def test_a_run_without_a_name_is_named_by_its_file() -> None:
    assert read({"results": []})[0].agent == "tool"


def test_a_run_that_reports_failure_is_failed() -> None:
    calls = [{"executionSuccessful": True}, {"executionSuccessful": False}]
    (report,) = read(run(result(), invocations=calls))
    assert (report.status, len(report.rows)) == ("FAILED", 1)


@pytest.mark.parametrize("results", [None, "none", {}])
def test_a_run_that_does_not_say_what_it_found_is_partial(results: Any) -> None:
    assert read(run() | {"results": results})[0].status == "PARTIAL"


def test_a_run_that_found_nothing_is_a_success() -> None:
    assert read(run())[0].status == "SUCCESS"


def test_a_file_without_runs_has_failed() -> None:
    assert [(report.agent, report.status) for report in read()] == [("tool", "FAILED")]


def test_a_result_becomes_a_sighting() -> None:
    rule = {"id": "X1", "fullDescription": {"text": "Why it matters."}}
    sighting = one(result(level="note", rank=42.5), rules=[rule])
    said = sighting.opinion
    assert (said.agent, said.id, said.title, said.line) == ("some-tool", "X1", "It is wrong.", 3)
    assert (said.severity, said.confidence, (sighting.opinion.claimed is None)) == ("minor", 42.5, False)
    assert (sighting.path, sighting.end_line, sighting.category, sighting.verified) == (
        "src/a.py",
        None,
        "general",
        None,
    )
    assert said.details == "Why it matters."


@pytest.mark.parametrize(
    ("given_result", "rule", "severity"),
    [
        ({"level": "error"}, {}, "important"),
        ({"level": "warning"}, {}, "minor"),
        ({"level": "note"}, {}, "minor"),
        ({"level": "none"}, {}, "minor"),
        ({}, {}, "minor"),
        ({}, {"defaultConfiguration": {"level": "error"}}, "important"),
        ({"level": "error"}, {"defaultConfiguration": {"level": "note"}}, "important"),
        ({"kind": "informational"}, {"defaultConfiguration": {"level": "error"}}, "minor"),
        ({"level": "huge"}, {}, "minor"),
        ({"level": ["error"]}, {}, "minor"),
        ({"level": "note"}, {"properties": {"security-severity": "9.0"}}, "critical"),
        ({"level": "error"}, {"properties": {"security-severity": "8.9"}}, "important"),
        ({"level": "error"}, {"properties": {"security-severity": 4}}, "important"),
        ({"level": "error"}, {"properties": {"security-severity": 3.9}}, "minor"),
        ({"level": "error"}, {"properties": {"security-severity": "much"}}, "important"),
        ({"level": "note"}, {"properties": {"security-severity": "CRITICAL"}}, "critical"),
        ({"level": "note"}, {"properties": {"security-severity": "High"}}, "important"),
        ({"level": "error"}, {"properties": {"security-severity": "low"}}, "minor"),
        ({"level": "note", "properties": {"ToolSeverity": "Critical"}}, {}, "critical"),
        ({"level": "error", "properties": {"severity": "CRITICAL"}}, {}, "critical"),
        ({"level": "note"}, {"properties": {"tags": ["vulnerability", "CRITICAL"]}}, "critical"),
        ({"level": "error", "properties": {"issue_severity": "HIGH"}}, {}, "important"),
        ({"properties": {"severity": "critical"}}, {"properties": {"security-severity": "2.0"}}, "minor"),
        ({"properties": {"security-severity": "9.8"}}, {"properties": {"security-severity": "1"}}, "critical"),
    ],
)
def test_levels_become_severities(given_result: dict[str, Any], rule: dict[str, Any], severity: str) -> None:
    assert one(result(**given_result), rules=[{"id": "X1", **rule}]).opinion.severity == severity


@pytest.mark.parametrize(
    ("fields", "score", "unscored"),
    [
        ({"rank": 0}, 0, False),
        ({"rank": 100.0}, 100, False),
        ({"rank": -1.0}, 80, True),
        ({"rank": 101}, 80, True),
        ({"rank": True}, 80, True),
        ({"rank": "90"}, 80, True),
        ({"properties": {"confidence": "HIGH"}}, 85, False),
        ({"properties": {"confidence": "medium"}}, 70, False),
        ({"properties": {"issue_confidence": "LOW"}}, 50, False),
        ({"properties": {"confidence": 85}}, 85, False),
        ({"properties": {"confidence": 0.85}}, 85, False),
        ({"properties": {"confidence": "sure"}}, 80, True),
        ({"rank": 30, "properties": {"confidence": "HIGH"}}, 30, False),
        ({}, 80, True),
    ],
)
def test_a_score_is_taken_from_where_the_tool_gives_it(fields: dict[str, Any], score: float, unscored: bool) -> None:
    sighting = one(result(**fields))
    assert (sighting.opinion.confidence, (sighting.opinion.claimed is None)) == (score, unscored)


@pytest.mark.parametrize(("word", "score"), [("very-high", 95), ("high", 85), ("medium", 70), ("low", 50)])
def test_the_precision_of_a_rule_is_a_score(word: str, score: float) -> None:
    assert one(result(), rules=[{"id": "X1", "properties": {"precision": word}}]).opinion.confidence == score


# Categories


@pytest.mark.parametrize(
    ("table", "category"),
    [
        ({"S608": "data"}, "data"),
        ({"ruff/S608": "data", "S608": "ux"}, "data"),
        ({"S": "data"}, "data"),
        ({"ruff/S": "data", "S": "ux"}, "data"),
        ({"S6*": "data", "S*": "ux", "*": "operations"}, "data"),
        ({"S6*": "data", "S608": "ux"}, "ux"),
        ({"S[0-9]08": "data", "S608": "ux"}, "ux"),
        ({"other/S608": "data", "SIM": "ux", "s": "ux"}, "security"),
        ({"*": "Data"}, "data"),
    ],
)
def test_the_configured_category_of_a_rule_is_the_nearest_key(table: dict[str, str], category: str) -> None:
    assert one(result(ruleId="S608"), tool="ruff", categories=table).category == category


@pytest.mark.parametrize(
    ("tool", "rule", "tags", "category"),
    [
        ("ruff", "S101", [], "security"),
        ("ruff", "SIM102", [], "quality"),
        ("ruff", "D103", [], "documentation"),
        ("Bandit", "B101", [], "security"),
        ("Semgrep OSS", "python.lang.x", [], "security"),
        ("CodeQL", "py/unused", ["performance", "other"], "performance"),
        ("oxlint", "eslint(no-debugger)", [], "quality"),
        ("golangci-lint", "errcheck", [], "quality"),
        ("golangci-lint", "gosec", [], "security"),
        ("rubocop", "Security/Eval", [], "security"),
        ("other", "X1", ["Security"], "security"),
        ("other", "X1", "security", "general"),
        ("other", "X1", [None, 3], "general"),
    ],
)
def test_without_configuration_tags_and_then_the_tool_decide(tool: str, rule: str, tags: Any, category: str) -> None:
    rules = [{"id": rule, "properties": {"tags": tags}}]
    assert one(result(ruleId=rule), tool=tool, rules=rules).category == category


def test_what_is_configured_counts_more_than_a_tag() -> None:
    rules = [{"id": "X1", "properties": {"tags": ["security"]}}]
    assert one(result(), rules=rules, categories={"X": "data"}).category == "data"


# Rules and messages


def test_a_rule_is_found_by_its_index() -> None:
    rules = [{"id": "X0"}, {"id": "X1", "shortDescription": {"text": "By index"}}]
    sighting = one({"ruleIndex": 1, "message": {"text": "m"}}, rules=rules)
    assert (sighting.opinion.id, sighting.opinion.title) == ("X1", "By index")


def test_a_rule_of_an_extension_is_found() -> None:
    about = run({"rule": {"index": 0, "toolComponent": {"index": 0}}, "message": {"text": "m"}})
    about["tool"]["extensions"] = [{"name": "pack", "rules": [{"id": "py/x", "shortDescription": {"text": "Packed"}}]}]
    (report,) = read(about)
    assert (report.rows[0].opinion.id, report.rows[0].opinion.title) == ("py/x", "Packed")


def test_a_rule_with_a_part_is_found_by_its_whole() -> None:
    rules = [{"id": "X1", "shortDescription": {"text": "The whole"}}]
    assert one(result(ruleId="X1/part"), rules=rules).opinion.title == "The whole"


def test_an_index_that_contradicts_the_id_is_not_believed() -> None:
    rules = [{"id": "X0", "shortDescription": {"text": "Wrong"}}, {"id": "X1", "shortDescription": {"text": "Right"}}]
    assert one(result(ruleIndex=0), rules=rules).opinion.title == "Right"


@pytest.mark.parametrize("index", [True, -1, 2, 1.0, "1", None, [1]])
def test_an_invalid_index_finds_no_rule(index: Any) -> None:
    rules = [{"id": "X0"}, {"id": "X1"}]
    assert one({"ruleIndex": index, "message": {"text": "m"}}, rules=rules).opinion.id == ""


def test_messages_of_a_rule_are_filled_in() -> None:
    rules = [{"id": "X1", "messageStrings": {"default": {"text": "{{{0}}} is {1}, not {7}."}}}]
    message = {"id": "default", "arguments": ["x", "bad", 3]}
    assert one(result(message=message), rules=rules).opinion.title == "{x} is bad, not {7}."


def test_braces_without_arguments_are_left_alone() -> None:
    assert one(result(message={"text": "Use {{x}} or {0}"})).opinion.title == "Use {{x}} or {0}"


def test_a_description_with_placeholders_is_not_a_title() -> None:
    rules = [{"id": "X1", "shortDescription": {"text": "Line too long ({width} > {limit})"}}]
    said = one(result(message={"text": "Line too long (89 > 88)"}), rules=rules).opinion
    assert said.title == "Line too long (89 > 88)"


def test_a_description_that_repeats_the_id_is_not_a_title() -> None:
    rules = [{"id": "x.shell-true", "shortDescription": {"text": "Semgrep Finding: x.shell-true"}}]
    said = one(result(ruleId="x.shell-true", message={"text": "A shell runs it. Pass a list."}), rules=rules).opinion
    assert said.title == "A shell runs it."


def test_the_title_is_the_first_sentence_and_the_details_are_all() -> None:
    said = one(result(message={"text": "A [value](1) e.g. x is bad. It\nmatters."})).opinion
    assert said.title == "A value e.g. x is bad."
    assert said.details == "A value e.g. x is bad. It\nmatters."


@pytest.mark.parametrize("message", [None, {}, {"text": ""}, {"text": 3}, {"id": "x"}, "words"])
def test_a_result_without_words_has_its_rule_for_a_title(message: Any) -> None:
    assert one(result(message=message)).opinion.title == "X1"


def test_long_words_are_cut() -> None:
    said = one(result(message={"text": "x" * 1_000_000})).opinion
    assert (len(said.title), said.title[-1]) == (300, "…")
    assert (len(said.details), said.details[-1]) == (20_000, "…")


def test_many_placeholders_do_not_multiply_the_file() -> None:
    message = {"text": "{0}" * 6_000, "arguments": ["y" * 1_000_000]}
    assert len(one(result(message=message)).opinion.details) == 20_000
    message = {"text": "{0}" * 60, "arguments": ["y"]}
    assert one(result(message=message)).opinion.title == "y" * 50 + "{0}" * 10


def test_the_words_of_a_rule_in_all_its_results_stay_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.merging.sarif.read._MAX_WORDS", 20_000)
    rules = [{"id": "X1", "fullDescription": {"text": "z" * 12_000}}]
    (report,) = read(run(result(), result(), result(), rules=rules))
    assert [len(row.opinion.details) for row in report.rows] == [12_000, 12_000, 0]


def test_escapes_in_a_title_come_through_for_the_output_to_show() -> None:
    assert one(result(message={"text": "a\x1b[31mred\u202e\x00"})).opinion.title == "a\x1b[31mred\u202e\x00"


# Results that are not findings


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"suppressions": [{"kind": "inSource"}]}, "suppressed for some-tool in the source"),
        (
            {"suppressions": [{"kind": "external", "status": "accepted", "justification": "a  test\nkey"}]},
            "suppressed for some-tool: a test key",
        ),
        ({"baselineState": "absent"}, "some-tool reports that it is fixed (absent since its baseline)"),
        ({"kind": "pass"}, "some-tool reports no fault here (pass)"),
        ({"kind": "notApplicable"}, "some-tool reports no fault here (notApplicable)"),
    ],
)
def test_results_that_are_not_findings_are_dropped_with_the_reason(fields: dict[str, Any], why: str) -> None:
    (report,) = read(run(result(ruleId="X0"), result(**fields)))
    assert (report.status, [row.reason for row in report.rows]) == ("SUCCESS", ["", why])
    merge = merge_all([report])
    assert [finding.reason for finding in merge.dropped] == [why]
    assert merge.counts.rows == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"suppressions": []},
        {"suppressions": [{"kind": "external", "status": "underReview"}]},
        {"suppressions": [{"status": "accepted"}, {"status": "rejected"}]},
        {"suppressions": ["accepted"]},
        {"baselineState": "unchanged"},
        {"kind": ["pass"]},
    ],
)
def test_an_open_result_stays_a_finding(fields: dict[str, Any]) -> None:
    assert "needs-review" not in one(result(**fields)).flags


@pytest.mark.parametrize("kind", ["open", "review"])
def test_what_a_person_should_look_at_is_flagged(kind: str) -> None:
    assert one(result(kind=kind)).flags == ("needs-review", "unscored")


# Places


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("src/a.py", "src/a.py"),
        ("./src/../src/a.py", "src/a.py"),
        ("src\\a.py", "src/a.py"),
        ("src%2Fa.py", "src/a.py"),
        ("src/b%20c.py", "src/b c.py"),
        ("file:src/a.py", "src/a.py"),
    ],
)
def test_a_place_in_the_checkout_is_verified(tree: WorkTree, uri: str, path: str) -> None:
    sighting = at(place(uri), tree)
    assert (sighting.path, sighting.verified, sighting.opinion.confidence) == (path, True, 90)


@pytest.mark.parametrize("form", ["file://{}", "file://localhost{}", "FILE:{}", "{}"])
def test_an_absolute_place_inside_the_checkout_is_made_relative(tree: WorkTree, form: str) -> None:
    sighting = at(place(form.format(tree.root / "src" / "b%20c.py")), tree)
    assert (sighting.path, sighting.verified) == ("src/b c.py", True)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///etc/passwd", "/etc/passwd"),
        ("/etc/passwd", "/etc/passwd"),
        ("../../etc/passwd", "../../etc/passwd"),
        ("%2e%2e/%2E%2e/etc/passwd", "../../etc/passwd"),
        ("src/%2e%2e/%2e%2e/etc/passwd", "src/../../etc/passwd"),
        ("..%5C..%5Cetc", "../../etc"),
        ("%252e%252e/x", "%2e%2e/x"),
        ("file://other/src/a.py", "//other/src/a.py"),
        (".git/config", ".git/config"),
        ("src/a.py%00.txt", "src/a.py\0.txt"),
        ("src/a.py\0", "src/a.py\0"),
        ("src", "src"),
        ("nowhere.py", "nowhere.py"),
        ("SRC/A.py", "SRC/A.py"),
        ("%ff", "\ufffd"),
    ],
)
def test_a_place_that_is_not_in_the_checkout_is_failed_evidence(tree: WorkTree, uri: str, path: str) -> None:
    sighting = at(place(uri), tree)
    assert (sighting.path, sighting.verified, sighting.opinion.line) == (path, False, 3)
    assert sighting.failure


def test_a_link_out_of_the_checkout_is_not_followed(tree: WorkTree, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "secret.py"
    other.write_text(SOURCE)
    (tree.root / "link.py").symlink_to(other)
    assert at(place("link.py"), tree).verified is False


def test_a_binary_file_is_not_checked(tree: WorkTree) -> None:
    sighting = at(place("image.bin"), tree)
    assert (sighting.verified, sighting.opinion.confidence) == (None, 90)


@pytest.mark.parametrize("uri", ["src/a.py", "../x.py", "file:///etc/passwd"])
def test_without_a_checkout_nothing_is_verified(uri: str) -> None:
    sighting = at(place(uri), None)
    assert (sighting.verified, sighting.opinion.confidence) == (None, 90)


def test_an_absolute_place_stays_absolute_without_a_checkout() -> None:
    assert at(place("file:///x/a.py"), None).path == "/x/a.py"


def test_a_result_without_a_place_has_none(tree: WorkTree) -> None:
    for locations in (None, [], [{}], [None], [{"physicalLocation": {}}], [{"logicalLocations": [{"name": "f"}]}]):
        sighting = one(result(locations=locations), tree)
        assert (sighting.path, sighting.opinion.line, sighting.verified) == (None, None, None)


def test_the_first_physical_place_counts(tree: WorkTree) -> None:
    sighting = one(result(locations=[{"logicalLocations": []}, place(line=7), place(line=9)]), tree)
    assert sighting.opinion.line == 7


def test_bases_are_resolved_in_a_chain(tree: WorkTree) -> None:
    bases = {"SRC": {"uri": "src/", "uriBaseId": "ROOT"}, "ROOT": {"uri": tree.root.as_uri() + "/"}}
    assert at(place("a.py", uriBaseId="SRC"), tree, originalUriBaseIds=bases).path == "src/a.py"


@pytest.mark.parametrize(
    "bases",
    [
        {"A": {"uri": "src/", "uriBaseId": "B"}, "B": {"uriBaseId": "A"}},
        {"A": {"uri": "src/", "uriBaseId": "A"}},
        {"A": {"uri": "src", "uriBaseId": "gone"}},
        {"A": {"uri": "src", "uriBaseId": ["A"]}},
    ],
)
def test_bases_that_run_in_a_circle_or_are_missing_end(tree: WorkTree, bases: dict[str, Any]) -> None:
    sighting = at(place("a.py", uriBaseId="A"), tree, originalUriBaseIds=bases)
    assert (sighting.path, sighting.verified) == ("src/a.py", True)


@pytest.mark.parametrize("bases", [None, {}, {"A": None}, {"A": "x"}, ["A"], {"A": {"uri": 3}}])
def test_an_empty_base_means_the_checkout(tree: WorkTree, bases: Any) -> None:
    assert at(place("src/a.py", uriBaseId="A"), tree, originalUriBaseIds=bases).verified is True


def test_a_base_on_another_machine_stands_for_the_checkout(tree: WorkTree) -> None:
    bases = {"%SRCROOT%": {"uri": "file:///elsewhere/x/"}}
    sighting = at(place("src/a.py", uriBaseId="%SRCROOT%"), tree, originalUriBaseIds=bases)
    assert (sighting.path, sighting.verified) == ("src/a.py", True)


def test_a_file_of_a_base_on_another_machine_that_is_not_here_is_outside(tree: WorkTree) -> None:
    bases = {"LIB": {"uri": "file:///usr/lib/"}}
    for uri, path in (("x.py", "/usr/lib/x.py"), ("../../etc/passwd", "/usr/lib/../../etc/passwd")):
        sighting = at(place(uri, uriBaseId="LIB"), tree, originalUriBaseIds=bases)
        assert (sighting.path, sighting.verified) == (path, False)


def test_a_place_may_be_given_by_the_index_of_an_artifact(tree: WorkTree) -> None:
    location = {"physicalLocation": {"artifactLocation": {"index": 1}, "region": {"startLine": 3}}}
    artifacts = [{"location": {"uri": "nowhere"}}, {"location": {"uri": "src/a.py"}}]
    assert at(location, tree, artifacts=artifacts).path == "src/a.py"
    assert at(location, tree, artifacts=artifacts[:1]).path is None


# Regions


@pytest.mark.parametrize(
    ("region", "line", "end_line"),
    [
        ({"startLine": 30}, 30, None),
        ({"startLine": 3, "endLine": 3}, 3, None),
        ({"startLine": 3, "endLine": 30}, 3, 30),
        ({"startLine": 30, "endLine": 31, "endColumn": 1}, 30, None),
        ({"startLine": 30, "endLine": 33}, 30, None),
        ({"startLine": 28, "endLine": 33}, 28, 30),
        ({"startLine": 31}, 30, None),
        ({"charOffset": 12}, 1, None),
    ],
)
def test_lines_that_are_there_are_verified(
    tree: WorkTree, region: dict[str, Any], line: int | None, end_line: int | None
) -> None:
    sighting = at({"physicalLocation": {"artifactLocation": {"uri": "src/a.py"}, "region": region}}, tree)
    assert (sighting.opinion.line, sighting.end_line, sighting.verified) == (line, end_line, True)


@pytest.mark.parametrize(
    ("region", "line"),
    [
        ({"startLine": 32}, 32),
        ({"startLine": 0}, None),
        ({"startLine": -3}, None),
        ({"startLine": 9, "endLine": 3}, 9),
        ({"startLine": 10**30}, None),
        ({"startLine": 2**31 - 1}, 2**31 - 1),
        ({"startLine": "3"}, None),
        ({"startLine": 3.5}, None),
        ({"startLine": True}, None),
        ({"startLine": 3, "endLine": "4"}, 3),
        ({"endLine": 4}, None),
        ("3", None),
        ([3], None),
    ],
)
def test_lines_that_cannot_be_are_failed_evidence(tree: WorkTree, region: Any, line: int | None) -> None:
    sighting = at({"physicalLocation": {"artifactLocation": {"uri": "src/a.py"}, "region": region}}, tree)
    assert (sighting.opinion.line, sighting.verified, sighting.opinion.confidence) == (line, False, 90)


def test_the_first_line_of_an_empty_file_is_there(tree: WorkTree) -> None:
    assert at(place("empty.py", line=1), tree).verified is True
    assert at(place("empty.py", line=2), tree).verified is False


# Snippets


OTHER_COMMIT = [{"repositoryUri": "https://example.org/x", "revisionId": "0" * 40}]


@pytest.fixture
def repository(tree: WorkTree) -> WorkTree:
    """The tree as a checkout of a commit."""
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=tree.root, check=True)
    return tree


def quoted(text: Any, line: int, **region: Any) -> dict[str, Any]:
    return place(line=line, region={"snippet": {"text": text}, **region})


def before(location: dict[str, Any], tree: WorkTree) -> ReportedFinding:
    """The result of a run on another commit."""
    return at(location, tree, versionControlProvenance=OTHER_COMMIT)


def test_the_line_of_a_tool_that_ran_on_this_checkout_is_kept_although_its_snippet_is_of_another_line(
    repository: WorkTree,
) -> None:
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repository.root, check=True, capture_output=True, text=True
    ).stdout.strip()
    here = [{"repositoryUri": "https://example.org/x", "revisionId": head}]
    for about in ({}, {"versionControlProvenance": here}, {"versionControlProvenance": [{"revisionId": "v1"}]}):
        sighting = at(quoted(code(17), 11), repository, **about)
        assert (sighting.opinion.line, sighting.verified, sighting.opinion.confidence) == (11, True, 90)
        assert (sighting.fingerprint, sighting.flags) == ("", ())


def test_a_snippet_at_its_place_is_verified(repository: WorkTree) -> None:
    for look in (at, before):
        sighting = look(quoted(f"{code(9)}\n", 9), repository)
        assert (sighting.opinion.line, sighting.verified, sighting.opinion.confidence) == (9, True, 90)


def test_a_snippet_of_another_commit_corrects_the_place(repository: WorkTree) -> None:
    sighting = before(quoted(f"{code(25)}\n{code(26)}", 3, endLine=4), repository)
    assert (sighting.opinion.line, sighting.end_line, sighting.verified, sighting.opinion.confidence) == (
        25,
        26,
        True,
        80,
    )
    assert "relocated" in sighting.flags


def test_a_snippet_of_another_commit_corrects_a_line_that_is_not_there(repository: WorkTree) -> None:
    for line, there in ((400, 25), (31, 30)):
        sighting = before(quoted(code(there), line), repository)
        assert (sighting.opinion.line, sighting.verified, sighting.opinion.confidence) == (there, True, 80)


@pytest.mark.parametrize("region", [{"startLine": "25"}, {"endLine": 3}])
def test_a_snippet_does_not_repair_an_invalid_region(repository: WorkTree, region: dict[str, Any]) -> None:
    sighting = before(place(line=25, region={"snippet": {"text": code(25)}, **region}), repository)
    assert (sighting.verified, bool(sighting.failure)) == (False, True)


def test_a_snippet_of_another_commit_that_is_nowhere_is_failed_evidence(repository: WorkTree) -> None:
    sighting = before(quoted("os.system(user_input)", 9), repository)
    assert (sighting.opinion.line, sighting.verified, sighting.opinion.confidence) == (9, False, 90)


@pytest.mark.parametrize("text", ["", "  \n", None, 3, ["x"]])
def test_an_empty_snippet_is_not_evidence(tree: WorkTree, text: Any) -> None:
    assert at(quoted(text, 9), tree).verified is True


def test_a_very_long_snippet_is_compared_by_its_first_lines(repository: WorkTree) -> None:
    tree = repository
    (tree.root / "long.py").write_text(text := "".join(f"name_{number} = {number}\n" for number in range(3_000)))
    location = place("long.py", line=1, region={"endLine": 3_000, "snippet": {"text": text}})
    sighting = before(location, tree)
    assert (sighting.verified, bool(sighting.fingerprint)) == (True, True)


def test_a_snippet_gives_the_fingerprint_that_a_quote_of_a_result_gives(repository: WorkTree) -> None:
    tree = repository
    fence = Segment("code", code(9), 1, None, None, 1)
    claim = Claim("quote", "src/a.py:9", 1, fence, path="src/a.py", line=9, code=f"  {code(9)}  ")
    quote = Checked(claim, Facts(state="file", path="src/a.py"), Judgement("verified"))
    expected = adjust._first_fingerprint([quote], tree)
    assert expected
    assert before(quoted(f"{code(9)}\n", 9), tree).fingerprint == expected


def test_short_or_repeated_code_gives_no_fingerprint(repository: WorkTree) -> None:
    tree = repository
    (tree.root / "src" / "a.py").write_text("do_the_work(now)\nx = 1\ndo_the_work(now)\n")
    assert before(quoted("do_the_work(now)", 1), tree).fingerprint == ""
    assert before(quoted("x = 1", 2), tree).fingerprint == ""


def test_each_file_is_read_in_one_go(tree: WorkTree, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    read_file = tree.read
    monkeypatch.setattr(tree, "read", lambda path: (asked.append(path), read_file(path))[1])
    read(run(*(result(locations=[place(uri)]) for uri in ("src/a.py", "empty.py") * 3)), workspace=tree)
    assert asked == ["empty.py"] * 3 + ["src/a.py"] * 3


def test_fingerprints_stop_when_they_have_cost_enough(repository: WorkTree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = repository
    monkeypatch.setattr("remit.merging.sarif.read._MAX_COUNTED", len(SOURCE))
    located = [result(locations=[quoted(code(n), n)]) for n in (7, 8, 9)]
    (report,) = read(run(*located, versionControlProvenance=OTHER_COMMIT), workspace=tree)
    assert [bool(row.fingerprint) for row in report.rows] == [True, True, False]


# Images, packages and the further parts of a result


@pytest.mark.parametrize(
    ("uri", "rule"),
    [
        ("library/alpine", "CVE-2021-36159"),
        ("alpine:3.18", "X1"),
        ("registry.example/team/app:1.2", "X1"),
        ("docker://alpine:3.18/lib/apk/db/installed", "X1"),
        ("lib/apk/db/installed", "CVE-2019-14697"),
        ("web/package-lock.json", "GHSA-xxxx-yyyy"),
        ("yarn.lock", "X1"),
        ("usr/bin/app", "GO-2022-0969"),
        ("https://example.org/login", "X1"),
    ],
)
def test_an_image_or_a_package_is_unchecked_and_not_failed(tree: WorkTree, uri: str, rule: str) -> None:
    sighting = one(result(ruleId=rule, locations=[place(uri)], properties={"security-severity": "9.8"}), tree)
    assert (sighting.verified, sighting.opinion.confidence, sighting.failure) == (None, 80, "")
    assert merge_all(read(run(result(ruleId=rule, locations=[place(uri)])), workspace=tree), MergeSettings()).findings


def test_a_line_of_a_lock_file_is_unchecked_if_it_is_not_there(tree: WorkTree) -> None:
    (tree.root / "poetry.lock").write_text("one\n")
    assert at(place("poetry.lock", line=1), tree).verified is True
    assert at(place("poetry.lock", line=70), tree).verified is None


def test_a_package_named_by_a_logical_location_is_unchecked(tree: WorkTree) -> None:
    location = place("lib/x") | {"logicalLocations": [{"fullyQualifiedName": "alpine@sha256:00:/lib/x"}]}
    assert at(location, tree).verified is None
    assert at(place("lib/x"), tree).verified is False


def test_taxa_related_locations_flows_and_fixes_are_details() -> None:
    step = {"location": {**place(line=4), "message": {"text": "source"}}}
    sighting = one(
        result(
            taxa=[{"id": "89", "toolComponent": {"name": "CWE"}}],
            relatedLocations=[{**place(line=7), "message": {"text": "the  query"}}, None, 3],
            codeFlows=[{"threadFlows": [{"locations": [step, {"location": place(line=9)}]}]}, {}, None],
            fixes=[{"description": {"text": "Use a parameter."}}],
        ),
        taxonomies=[{"name": "CWE", "taxa": [{"id": "89", "shortDescription": {"text": "SQL Injection"}}]}],
    )
    assert sighting.opinion.details.split("\n\n") == [
        "Taxa: CWE-89 (SQL Injection)",
        "Related: src/a.py:7 (the query)",
        "Flow: src/a.py:4 (source) -> src/a.py:9",
        "Fix: Use a parameter.",
    ]


OFFSETS = [{"byteOffset": 7, "byteLength": 2}, {"charOffset": 9}]


def test_further_locations_of_a_result_are_details() -> None:
    """A tool may report one result with all its places."""
    places = [place(line=line) for line in (3, 7, 7, 9)]
    assert one(result(locations=places)).opinion.details == "Also at: src/a.py:7; src/a.py:9"
    many = one(result(locations=[place(line=line) for line in range(1, 350)])).opinion.details
    assert many.startswith("Also at: src/a.py:2; ")
    assert many.endswith("; src/a.py:201; and 148 more places")
    offsets = [
        place(),
        *({"physicalLocation": {**place()["physicalLocation"], "region": region}} for region in OFFSETS),
    ]
    assert one(result(locations=offsets)).opinion.details == "Also at: src/a.py at byte 7; src/a.py at character 9"


def test_a_result_without_a_file_names_what_it_is_about() -> None:
    location = {"logicalLocations": [{"fullyQualifiedName": "Shop.Cart.Add()"}, {"name": "Add"}]}
    assert one(result(locations=[location])).opinion.details == "In: Shop.Cart.Add()"
    assert one(result(locations=[{"logicalLocations": [{"name": "Add"}]}])).opinion.details == "In: Add"


def test_steps_of_a_flow_may_be_functions_and_what_is_left_out_is_counted() -> None:
    step = {"location": {"logicalLocations": [{"name": "get_form"}]}}
    flow = {"threadFlows": [{"locations": [step, {"location": place(line=4)}]}]}
    assert one(result(codeFlows=[flow])).opinion.details == "Flow: get_form -> src/a.py:4"
    long = {"threadFlows": [{"locations": [{"location": place(line=line)} for line in range(1, 23)]}]}
    details = one(result(codeFlows=[long] * 5)).opinion.details.split("\n\n")
    assert details[0].endswith("src/a.py:20 -> and 2 more places")
    assert details[-1] == "and 2 more flows"


def test_every_thread_of_a_flow_is_a_detail() -> None:
    threads = [{"locations": [{"location": place(line=line)}]} for line in (4, 5)]
    assert one(result(codeFlows=[{"threadFlows": threads}])).opinion.details == "Flow: src/a.py:4\n\nFlow: src/a.py:5"


def test_a_taxon_may_be_named_by_its_index() -> None:
    taxonomies = [{"name": "OTHER"}, {"name": "CWE", "taxa": [{"id": "CWE-1"}, {"id": "CWE-89"}]}]
    named = {"index": 1, "toolComponent": {"name": "CWE", "index": 1}}
    assert one(result(taxa=[named]), taxonomies=taxonomies).opinion.details == "Taxa: CWE-89"
    unknown = "Taxa: number 7, which the file does not describe"
    assert one(result(taxa=[{"index": 7}]), taxonomies=taxonomies).opinion.details == unknown
    assert one(result(taxa=[{"index": "7"}, {}]), taxonomies=taxonomies).opinion.details == ""


def test_a_taxon_may_be_one_of_the_tool_or_of_its_extension() -> None:
    driver = {"name": "Some Tool", "taxa": [{"id": "T1"}, {"id": "T2"}]}
    extensions = [{"name": "Pack", "taxa": [{"id": "P1"}]}]
    sighting = run(result(taxa=[{"index": 1}, {"index": 0, "toolComponent": {"index": 0}}]))
    sighting["tool"] = {"driver": driver, "extensions": extensions}
    (report,) = read(sighting)
    assert report.rows[0].opinion.details == "Taxa: T2; P1"


def test_steps_and_names_that_a_run_lists_once_are_looked_up() -> None:
    location = {"logicalLocations": [{"index": 1}]}
    flow = [{"threadFlows": [{"locations": [{"index": 0}, {"index": 1, "location": place(line=9)}, {"index": 8}, {}]}]}]
    sighting = one(
        result(locations=[location], codeFlows=flow),
        logicalLocations=[{"name": "a"}, {"name": "b", "fullyQualifiedName": "a.b"}],
        threadFlowLocations=[{"location": place(line=4)}, {"location": place(line=5)}],
    )
    assert sighting.opinion.details.split("\n\n") == [
        "In: a.b",
        "Flow: src/a.py:4 -> src/a.py:9 -> step 8, which the file does not describe",
    ]


def test_a_message_whose_string_is_elsewhere_shows_its_arguments_or_its_markdown() -> None:
    assert one(result(message={"id": "far", "arguments": ["runs[0]", "", "a tool"]})).opinion.title == "runs[0], a tool"
    assert one(result(message={"id": "far"})).opinion.details == "Message: far"
    assert one(result(message={"markdown": "It **breaks**."})).opinion.title == "It **breaks**."


@pytest.mark.parametrize(
    ("region", "lines"),
    [
        ({"charOffset": 0}, (1, None)),
        ({"charOffset": 4, "charLength": 1}, (1, None)),
        ({"charOffset": 5, "charLength": 1}, (2, None)),
        ({"charOffset": 2, "charLength": 6}, (1, 2)),
        ({"charOffset": 2, "charLength": 4_000}, (1, 3)),
        ({"byteOffset": 6, "byteLength": 2}, (2, None)),
        ({"byteOffset": 5}, (1, None)),
        ({"charOffset": 4_000}, (None, None)),
        ({"charOffset": -1}, (None, None)),
        ({"charOffset": "5"}, (None, None)),
        ({"charOffset": 5, "startLine": 3}, (3, None)),
    ],
)
def test_an_offset_is_a_line(tmp_path: Path, region: dict[str, Any], lines: tuple[int | None, int | None]) -> None:
    (tmp_path / "a.sol").write_bytes("fü()\nbar()\nbaz()".encode())
    location = {"physicalLocation": {"artifactLocation": {"uri": "a.sol"}, "region": region}}
    sighting = at(location, WorkTree(tmp_path))
    assert (sighting.opinion.line, sighting.end_line, sighting.verified) == (*lines, True)


@pytest.mark.parametrize(("offset", "line"), [(0, 1), (3, 1), (4, 1), (5, 2), (10, 3)])
def test_an_offset_counts_the_carriage_returns_of_the_file(tmp_path: Path, offset: int, line: int) -> None:
    (tmp_path / "a.sol").write_bytes(b"one\r\ntwo\r\nthree")
    location = {"physicalLocation": {"artifactLocation": {"uri": "a.sol"}, "region": {"charOffset": offset}}}
    assert at(location, WorkTree(tmp_path)).opinion.line == line


def test_an_offset_in_a_file_with_two_kinds_of_line_ends_gives_no_line(tmp_path: Path) -> None:
    (tmp_path / "a.sol").write_bytes(b"one\r\ntwo\nthree\r\nfour\n")
    location = {"physicalLocation": {"artifactLocation": {"uri": "a.sol"}, "region": {"charOffset": 5}}}
    assert at(location, WorkTree(tmp_path)).opinion.line is None
    assert at(location, None).opinion.line is None


def test_the_taxa_of_a_rule_are_found_through_its_relationships() -> None:
    target = {"id": "CWE-79", "toolComponent": {"name": "CWE"}}
    sighting = one(result(), rules=[{"id": "X1", "relationships": [{"target": target}]}])
    assert sighting.opinion.details == "Taxa: CWE-79"


def test_the_state_since_a_baseline_is_a_flag() -> None:
    assert one(result(baselineState="new")).flags == ("baseline-new", "unscored")


def test_the_hash_of_a_line_identifies_a_result_of_one_tool_and_rule_if_it_is_unique() -> None:
    def hashed(value: str, line: int) -> dict[str, Any]:
        return result(locations=[place(line=line)], partialFingerprints={"primaryLocationLineHash": value})

    old, new = read(run(hashed("ab:1", 3))), read(run(hashed("ab:1", 9)))
    (finding,) = merge_all([*old, *new]).findings
    assert [member.id for member in finding.members] == ["X1", "X1"]
    (report,) = read(run(hashed("same", 3), hashed("same", 9)))
    assert [row.fingerprint for row in report.rows] == ["", ""]


def test_fingerprints_that_do_not_identify_a_line_are_ignored() -> None:
    marks = {"commitSha": "1", "author": "x", "matchBasedId/v1": "requires login"}
    assert one(result(partialFingerprints=marks, fingerprints=marks)).fingerprint == ""


def test_what_was_not_read_and_why_a_run_failed_is_in_the_merged_report() -> None:
    note = {"message": {"text": "no such option"}}
    calls = [{"executionSuccessful": False, "toolExecutionNotifications": [note]}]
    merge = merge_all(read(run("broken", invocations=calls)))
    assert [(error.type, error.message) for error in merge.sections.errors] == [
        ("NotRead", "1 results were not read: unreadable"),
        ("RunFailed", "no such option"),
    ]


# The file as a whole


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\xfd",
        b"{}",
        b'{"runs": {}}',
        b'{"runs": null}',
        b'{"runs": [1,]}',
        b'{"runs":' + b"[" * 100_000,
        b'{"version": "1.0.0", "runs": []}',
        b'{"version": "2.0.0", "runs": []}',
        b'{"runs": [' + b"1," * 1_000 + b"1]}",
    ],
)
def test_a_file_that_is_not_sarif_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(UsageError) as refusal:
        read_sarif(data, "x.sarif", None, {})
    assert str(refusal.value).startswith("x.sarif: ")
    assert "\n" not in str(refusal.value)


def test_a_file_over_64_mib_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match=r"^big\.sarif: 65 MiB of SARIF; the limit is 64 MiB, so split the file$"):
        read_sarif(bytes(65 << 20), "big.sarif", None, {})


def test_results_beyond_the_limit_are_left_out_and_the_run_is_partial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.merging.sarif.read.MAX_RESULTS", 3)
    data = json.dumps({"runs": [run(*[result()] * 5), run(result()), run()]}).encode()
    reports, left_out = open_sarif(data, "x", None, {})
    assert [report.status for report in reports] == ["PARTIAL", "PARTIAL", "SUCCESS"]
    assert [len(report.rows) for report in reports] == [3, 0, 0]
    assert left_out == {"over the limit": 3}


@pytest.mark.slow
def test_of_a_million_results_a_hundred_thousand_are_looked_at() -> None:
    data = b'{"runs": [{"results": [' + b"0," * 999_999 + b"0]}]}"
    (report,), left_out = open_sarif(data, "x", None, {})
    assert report.status == "PARTIAL"
    assert left_out == {"unreadable": 100_000, "over the limit": 900_000}


def test_a_broken_result_costs_only_itself() -> None:
    (report,) = read(run(result(), "words", None, 3, result()))
    assert (report.status, len(report.rows)) == ("PARTIAL", 2)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-8"])
def test_files_are_read_as_other_systems_write_them(encoding: str) -> None:
    text = json.dumps({"runs": [run(result(message={"text": "Größe 😀"}))]}, ensure_ascii=False)
    (report,) = read_sarif(text.encode(encoding), "x", None, {})
    assert report.rows[0].opinion.title == "Größe 😀"


def test_halves_of_characters_and_broken_bytes_are_replaced() -> None:
    data = b'{"runs": [{"results": [{"message": {"text": "a\\ud800b \\ud83d\\ude00 \xff"}}]}]}'
    (report,) = read_sarif(data, "x", None, {})
    assert report.rows[0].opinion.title == "a\ufffdb 😀 \ufffd"


KEYS = st.sampled_from(
    [
        *("ruleId", "ruleIndex", "rule", "level", "kind", "message", "text", "id", "arguments", "locations", "A"),
        *("physicalLocation", "artifactLocation", "uri", "uriBaseId", "index", "region", "startLine", "endLine"),
        *("endColumn", "snippet", "rank", "properties", "tags", "confidence", "suppressions", "status", "name"),
        *("toolComponent", "driver", "rules", "extensions", "shortDescription", "messageStrings"),
    ]
)
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["src/a.py", "file:///x", "../x", "%2e%2e/%00", "A", "error", "pass", "X1", "{0}", "accepted"]),
)
JSON = st.recursive(
    ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
BENT = st.fixed_dictionaries(
    {},
    optional={
        "tool": st.fixed_dictionaries({"driver": st.dictionaries(KEYS, JSON, max_size=4)}) | JSON,
        "results": st.lists(
            st.fixed_dictionaries({}, optional=dict.fromkeys(result(rule=0, kind=0, rank=0, level=0), JSON))
            | st.builds(lambda where: result(locations=[{"physicalLocation": where}]), JSON)
            | JSON,
            max_size=4,
        )
        | JSON,
        "originalUriBaseIds": st.dictionaries(st.sampled_from(["A", "B"]), JSON) | JSON,
        "artifacts": st.lists(JSON, max_size=2) | JSON,
        "invocations": st.lists(JSON, max_size=2) | JSON,
    },
)


@given(st.lists(BENT | JSON, max_size=3), st.booleans())
def test_bent_sarif_never_breaks_the_reader_or_the_merge(
    tmp_path_factory: pytest.TempPathFactory, runs: list[Any], with_tree: bool
) -> None:
    workspace = None
    if with_tree:
        folder = tmp_path_factory.getbasetemp() / "bent"
        (folder / "src").mkdir(parents=True, exist_ok=True)
        (folder / "src" / "a.py").write_text(SOURCE)
        workspace = WorkTree(folder)
    try:
        reports = read(*runs, workspace=workspace)
    except UsageError:
        return
    assert all(0 <= row.opinion.confidence <= 100 for report in reports for row in report.rows)
    merge_all(reports)


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(UsageError):
        read_sarif(data, "x", None, {})


# Files of real tools


def fixture(name: str) -> bytes:
    return (FIXTURES / name).read_bytes().replace(b"file:///checkout", ROOT.as_uri().encode())


def test_all_places_of_real_files_hold() -> None:
    workspace = WorkTree(ROOT)
    for name, agent, count in (("ruff.sarif", "ruff", 103), ("bandit.sarif", "bandit", 66)):
        (report,) = read_sarif(fixture(name), name, workspace, {})
        assert (report.agent, report.status, len(report.rows)) == (agent, "SUCCESS", count)
        assert {row.verified for row in report.rows} == {True}
        assert all(row.path and row.path.startswith("examples/shop/") for row in report.rows)


def test_two_tools_that_see_the_same_fault_agree() -> None:
    workspace = WorkTree(ROOT)
    names = ("ruff.sarif", "bandit.sarif")
    reports = [report for name in names for report in read_sarif(fixture(name), name, workspace, {})]
    merged = merge_all(reports)
    query = next(finding for finding in (*merged.findings, *merged.dropped) if "SQL" in finding.title)
    assert query.path == "examples/shop/shop/catalog.py"
    assert (query.agents, query.category, query.verified) == (("bandit", "ruff"), "security", True)
    assert "agreed" in query.flags
    assert (query.severity, merged.counts.critical, merged.counts.conflicts) == ("critical", 1, 0)


#: The files that the samples of four tools are about.
PROJECT = {
    "app.py": (
        "import subprocess\nfrom flask import Flask, request\n\napp = Flask(__name__)\n\n\ndef create(\n"
        '    host="0.0.0.0",\n    key="hunter2-secret",\n):\n    app.config.from_mapping(\n        SECRET_KEY="dev",\n'
        '        DATABASE="x.sqlite",\n    )\n    return app\n\n\n@app.route("/run")\ndef run():\n'
        '    return subprocess.check_output(\n        request.args["command"],\n        shell=True,\n    )\n'
    ),
    "Dockerfile": "FROM python:3.11\nRUN apt-get update\nADD . /app\nCMD python -m shop\n",
    "main.tf": 'resource "aws_s3_bucket" "b" {\n  bucket = "x"\n  acl    = "public-read"\n}\n',
    ".github/workflows/ci.yml": (
        "name: ci\non: [push, pull_request_target]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n"
        '      - uses: actions/checkout@v4\n      - run: echo "${{ github.event.pull_request.title }}"\n'
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> WorkTree:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return WorkTree(tmp_path)


@pytest.mark.parametrize(
    ("name", "agent", "count"),
    [
        ("bandit-multiline.sarif", "bandit", 4),
        ("zizmor.sarif", "zizmor", 5),
        ("semgrep.sarif", "semgrep-oss", 1),
        ("checkov.sarif", "checkov", 14),
    ],
)
def test_results_of_real_tools_stay_where_the_tool_put_them(
    project: WorkTree, name: str, agent: str, count: int
) -> None:
    data = (FIXTURES / name).read_bytes().replace(b"file:///checkout", project.root.as_uri().encode())
    (report,) = read_sarif(data, name, project, {})
    assert (report.agent, report.status, len(report.rows)) == (agent, "SUCCESS", count)
    assert {row.verified for row in report.rows} == {True}
    regions = [
        each["locations"][0]["physicalLocation"]["region"]["startLine"]
        for each in json.loads(data)["runs"][0]["results"]
    ]
    assert sorted(row.opinion.line or 0 for row in report.rows) == sorted(regions)
    assert merge_all([report]).counts.rows == count


def test_a_wrong_snippet_of_bandit_does_not_move_its_finding(project: WorkTree) -> None:
    (report,) = read_sarif((FIXTURES / "bandit-multiline.sarif").read_bytes(), "bandit.sarif", project, {})
    (shell,) = [row for row in report.rows if row.opinion.rule == "B602"]
    assert (shell.opinion.line, "relocated" in shell.flags, shell.verified) == (20, False, True)


def trivy(name: str, title: str, said: str, path: str, line: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A rule and a result in the form that Trivy writes for infrastructure code, written by hand."""
    link = f"https://tool.example/{name.lower()}"
    rule = {
        "id": name,
        "name": "Misconfiguration",
        "shortDescription": {"text": title},
        "fullDescription": {"text": said},
        "defaultConfiguration": {"level": "error"},
        "helpUri": link,
        "properties": {
            "precision": "very-high",
            "security-severity": "8.0",
            "tags": ["misconfiguration", "security", "HIGH"],
        },
    }
    text = f"Artifact: {path}\nType: iac\nVulnerability {name}\nSeverity: HIGH\nMessage: {said}\nLink: [{name}]({link})"
    where = place(path, line, uriBaseId="ROOTPATH", region={"startColumn": 1, "endLine": line, "endColumn": 1})
    return rule, {"ruleId": name, "level": "error", "message": {"text": text}, "locations": [where]}


def test_results_in_the_form_of_trivy_have_a_title_a_severity_and_a_verified_line(project: WorkTree) -> None:
    rules, results = zip(
        trivy("DS-0002", "Image user should not be 'root'", "Specify a USER", "Dockerfile", 1),
        trivy("AWS-0092", "S3 Buckets not publicly accessible", "Bucket has a public ACL", "main.tf", 3),
        strict=True,
    )
    base = {"ROOTPATH": {"uri": f"{project.root.as_uri()}/"}}
    (report,) = read(run(*results, tool="Trivy", rules=rules, originalUriBaseIds=base), workspace=project)
    assert report.agent == "trivy"
    assert [(row.opinion.rule, row.opinion.title, row.path, row.opinion.line) for row in report.rows] == [
        ("DS-0002", "Image user should not be 'root'", "Dockerfile", 1),
        ("AWS-0092", "S3 Buckets not publicly accessible", "main.tf", 3),
    ]
    rated = {(row.opinion.severity, row.opinion.confidence, row.category, row.verified) for row in report.rows}
    assert rated == {("important", 95.0, "security", True)}
    assert "Message: Bucket has a public ACL" in report.rows[1].opinion.details


@pytest.mark.parametrize(
    ("tool", "rule", "level", "cwe", "severity"),
    [
        ("bandit", "B608", "warning", "external/cwe/cwe-89", "critical"),
        ("bandit", "B602", "note", "external/cwe/cwe-78", "important"),
        ("bandit", "B404", "error", "external/cwe/cwe-78", "minor"),
        ("bandit", "B311", "note", "external/cwe/cwe-330", "important"),
        ("ruff", "S608", "error", "", "critical"),
        ("ruff", "I001", "error", "", "minor"),
        ("ruff", "F821", "error", "", "important"),
        ("ruff", "C408", "error", "", "minor"),
        ("zizmor", "zizmor/unpinned-uses", "error", "", "minor"),
        ("semgrep", "python.lang.injection", "warning", "CWE-89: SQL Injection", "critical"),
        ("semgrep", "python.lang.injection", "note", "CWE-89: SQL Injection", "important"),
        ("semgrep", "python.lang.other", "warning", "CWE-99999", "minor"),
        ("rubocop", "Layout/IndentationWidth", "error", "", "minor"),
    ],
)
def test_the_rule_decides_the_severity_then_its_weakness_then_its_level(
    tool: str, rule: str, level: str, cwe: str, severity: str
) -> None:
    assert result_severity({"level": level}, {"properties": {"tags": [cwe]}}, tool, rule) == severity


def test_each_pattern_of_the_table_of_severities_names_a_tool() -> None:
    table = _severities()
    patterns = [*(pattern for known in table.rules.values() for pattern in known), *table.style]
    assert all("/" in pattern for pattern in patterns)
    assert len(table.weaknesses) > 50
