"""Nothing that the gate records contains a secret."""

from __future__ import annotations

import json

import pytest

from remit.clients.hooks import project
from remit.gate import redaction
from remit.gate.decide import decide
from remit.gate.declarations import declare
from remit.gate.redaction import may_contain_secret, redacted
from remit.gate.session import SessionState
from remit.gate.settings import GateSettings
from remit.gate.tool_use import ToolUse

assert project.ProjectContext, "importing it puts the rules in place"
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.mark.parametrize(
    "text",
    [
        "src/app.py is code, which an orchestrator does not change",
        "612 lines of one file (limit: 200)",
        "docs/a/b/c.md",
    ],
)
def test_an_ordinary_reason_loads_no_rules(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "load_rules", [pytest.fail])
    assert not may_contain_secret(text)
    assert redacted(text) == text


@pytest.mark.parametrize(
    "text", [f"src/{TOKEN}.py", f"key={TOKEN}", "postgres://user:hunter22xyz@host/db", f"'{TOKEN}'"]
)
def test_a_secret_is_removed(text: str) -> None:
    assert TOKEN not in redacted(text)
    assert "hunter22xyz" not in redacted(text)


def test_what_only_looks_like_a_secret_stays() -> None:
    for text in (".remit/gate/reverts/toolu_01A09q90qw90lq917835lq9.patch", "0123456789abcdef0123456789abcdef01234567"):
        assert redacted(text) == text


def test_without_the_rules_everything_that_may_be_a_secret_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "load_rules", [])
    assert redacted(f"the file {TOKEN} is code") == "the file [redacted] is code"


def test_decisions_warnings_exceptions_and_declarations_are_redacted(tmp_path) -> None:
    state = SessionState("s")
    write = {"file_path": str(tmp_path / f"src/{TOKEN}.py"), "content": ""}
    assert TOKEN in decide(ToolUse("Write", write), state, GateSettings(), str(tmp_path)).reason, "the model wrote it"
    state.warn(f"the agent used {TOKEN}")
    state.record_exception("lookup", (f"src/{TOKEN}.py",), 1.0)
    declare(state, "verify", ["src"], f"the key is {TOKEN}", cwd=str(tmp_path), project=str(tmp_path))
    assert len(state.decisions) == len(state.warnings) == len(state.exceptions) == len(state.declarations) == 1
    assert TOKEN not in json.dumps(state, default=vars)
