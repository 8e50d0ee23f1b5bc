"""`remit.testing`: definitions, registries, results and receipts in memory."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from remit import check, resolve, testing
from remit.contract.kinds import KINDS
from remit.errors import UsageError
from remit.rules.examples import RECEIPTS


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("REMIT_", "GBRAIN_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_example_in_the_docstring_is_correct() -> None:
    assert testing.__doc__ is not None
    lines = [line for line in testing.__doc__.splitlines() if re.match(r"from |team|assert", line)]
    assert len(lines) == 4
    exec("\n".join(lines), {})


def test_text_and_fields_give_the_same_definition() -> None:
    text = testing.definition('---\nname: "scout"\ntools: ["Read", "Grep"]\nmax_turns: 5\n---\nLook: {{where}}.')
    fields = testing.definition(
        {"name": "scout", "tools": ["Read", "Grep"], "max_turns": 5, "body": "Look: {{where}}."}
    )
    assert text.digest == fields.digest
    assert text == fields
    assert (fields.name, fields.plugin, fields.tools, fields.body) == (
        "scout",
        "testing",
        ("Read", "Grep"),
        "Look: {{where}}.",
    )


def test_definition_may_have_a_plugin_and_custom_tools() -> None:
    found = testing.definition({"name": "a", "allowed_tools": ["brain"]}, plugin="house", allow_tools=["brain"])
    assert (found.qualified, found.tools) == ("house:a", ("brain",))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Just text.", "not a definition: it has no frontmatter; begin it with a line ---"),
        ("", "not a definition: it has no frontmatter"),
        ("---\nname: a\nname: b\n---\n", "not a definition: line 3, column 1: 'name' occurs twice"),
        ({"name": "a", "allowed_tools": ["Raed"]}, "did you mean 'Read'?"),
        ({"name": "a/b"}, "contains a slash"),
    ],
)
def test_invalid_definition_is_a_usage_error_with_the_line(source: str | dict[str, object], expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        testing.definition(source)
    assert expected in str(raised.value)


def test_registry_has_its_definitions_and_the_team_only_on_request() -> None:
    definition_b = testing.definition({"name": "b"})
    registry = testing.registry("---\nname: a\n---\nA.", {"name": "c", "body": "C."}, definition_b)
    assert [one.name for one in registry] == ["a", "c", "b"]
    assert registry.get("b") is definition_b
    assert registry.get("code-explorer") is None
    assert testing.registry(with_team=True).get("code-explorer") is not None
    assert list(testing.registry()) == []


def test_own_definition_takes_precedence_over_the_team() -> None:
    registry = testing.registry({"name": "code-explorer", "body": "Mine."}, with_team=True)
    assert resolve({"subagent_def": "code-explorer"}, registry=registry).system == "Mine."
    assert resolve({"subagent_def": "built-in:code-explorer"}, registry=registry).system != "Mine."


def test_definitions_keep_their_plugin() -> None:
    registry = testing.registry(testing.definition({"name": "a"}, plugin="house"))
    assert registry.get("house:a") is not None


@pytest.mark.parametrize("kind", KINDS)
def test_result_of_every_kind_is_accepted_against_the_project(kind: str) -> None:
    verdict = check(testing.result(kind), repo=testing.project())
    assert (verdict.verdict, verdict.kind) == ("accept", kind)
    assert verdict.violations == ()


@pytest.mark.parametrize("kind", KINDS)
def test_result_of_every_kind_is_accepted_with_receipts_of_its_work(kind: str) -> None:
    paths = {receipt.path for receipt in RECEIPTS["everything"] if receipt.path}
    did = testing.receipts(
        read=sorted(paths),
        edited=["tests/test_login.py", "app/session.py", "docs/login.md"],
        ran={"python -m pytest tests": 0},
    )
    assert check(testing.result(kind), repo=testing.project(), receipts=did).verdict == "accept"


def test_default_result_is_generic() -> None:
    assert testing.result() == testing.result("generic")


def test_edit_changes_the_result_and_fails_if_its_text_is_missing() -> None:
    text = testing.result("review", ("### Status\nSUCCESS", "### Status\nMAYBE"))
    [violation] = [one for one in check(text, repo=testing.project()).violations if one.level == "L1"]
    assert violation.rule == "status-unknown"
    with pytest.raises(ValueError, match="0 times"):
        testing.result("review", ("no such text", ""))
    with pytest.raises(UsageError, match="there is no kind 'reviw', did you mean 'review'"):
        testing.result("reviw")


def test_receipts_have_what_was_read_edited_and_run() -> None:
    read, edited, passed, failed = testing.receipts(read=["a.py"], edited=["b.py"], ran={"make": 0, "make test": 2})
    assert (read.tool, read.path, read.failed) == ("Read", "a.py", False)
    assert (edited.tool, edited.path) == ("Edit", "b.py")
    assert (passed.tool, passed.arguments, passed.exit, passed.failed) == ("Bash", {"command": "make"}, 0, False)
    assert (failed.exit, failed.failed) == (2, True)
    assert testing.receipts() == ()


def test_result_that_cites_code_is_not_accepted_without_receipts() -> None:
    verdict = check(testing.result("exploration"), repo=testing.project(), receipts=testing.receipts())
    assert verdict.verdict == "revise"
    assert "no-tool-calls" in {violation.rule for violation in verdict.violations}


def test_every_public_name_is_callable() -> None:
    assert sorted(testing.__all__) == ["definition", "project", "receipts", "registry", "result"]
    assert all(callable(getattr(testing, name)) for name in testing.__all__)
