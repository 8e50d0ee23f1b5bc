"""A session under the gate as people and programs read it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remit.gate.decide import decide, decide_final
from remit.gate.delegations import close_delegation, open_delegation
from remit.gate.session import SessionState
from remit.gate.session_entries import DecisionEntry, Declaration, UntrueStatement
from remit.gate.settings import MODES, GateSettings
from remit.gate.tool_use import ToolUse
from remit.reports.gate_sessions import (
    declared_lines,
    declared_shape,
    log_lines,
    log_shape,
    status_lines,
    status_shape,
)
from remit.reports.layout import display_width, plain_lines

GITHUB = "ghp_" + "a1B2" * 9
NASTY = "src/\x1b[31mred\x1b]0;title\x07\u202e-long-name-without-any-blank" + "x" * 90 + ".py"
CALLS = [
    ("Read", {"file_path": "/nowhere/a.py"}),
    ("Write", {"file_path": "src/app.tsx"}),
    ("Write", {"file_path": NASTY}),
    ("Bash", {"command": "./frobnicate.sh"}),
    ("Bash", {"command": "bandit -r src"}),
    ("Write", {"file_path": "README.md"}),
    ("Write", {"file_path": ".remit/gate/state.json"}),
]
RESULTS: list[dict[str, Any]] = [
    {
        "agent": agent,
        "agent_id": agent_id,
        "attempt": attempt,
        "outcome": outcome,
        "verdict": verdict,
        "violations": [
            {"rule": "status-missing", "level": "L1", "line": 3, "message": f"{number} \x1b[2J", "help": ""}
            for number in range(5 if verdict != "accept" else 0)
        ],
        "path": f"/p/.remit/gate/results/s/{agent_id}{attempt}.md",
        "check": None,
    }
    for agent, agent_id, attempt, outcome, verdict in (
        ("code-explorer", "a1", 1, "accepted", "accept"),
        ("team:qa-engineer\x1b[1m", "a2", 1, "returned", "revise"),
        ("team:qa-engineer\x1b[1m", "a2", 2, "rejected", "reject"),
        ("devops", "a3", 1, "observed", "accept"),
    )
]
EXCEPTIONS = [
    {"rule": "edit-code", "paths": ["gen/**"], "reason": "made by a tool", "expires": day}
    for day in ("2031-01-01", "2020-01-01")
]


def state(mode: str = "orchestrator") -> tuple[SessionState, GateSettings]:
    made, settings = (
        SessionState("0f3b6c1e-8a0e-4a57"),
        GateSettings.from_mapping({"exceptions": EXCEPTIONS}),
    )
    settings.mode = made.mode = mode
    for number, (tool, tool_input) in enumerate(CALLS):
        decide(ToolUse(tool, tool_input, tool_use_id=f"toolu_{number}"), made, settings, "/p")
    made.decisions.append(
        DecisionEntry(at=5.0, tool="Read", decision="deny", rule="lookup-lines", reason="too long", lines=1500)
    )
    made.declarations.append(Declaration(kind="verify", paths=[NASTY], why="I doubt \x07 it", at=1.0))
    open_delegation(made, "d1", "code-explorer")
    open_delegation(made, "d2", "qa-engineer")
    close_delegation(made, "d1", "failed")
    return made, settings


def everything(columns: int, mode: str = "orchestrator") -> dict[str, str]:
    made, settings = state(mode)
    sessions = [{"session": name, "updated": 1.0} for name in (made.session, "other", "\x1b[1mthird", "d", "e")]
    status = status_shape(made, settings, RESULTS, sessions, project="/p", today="2026-05-05")
    declared = declared_shape(made.session, "verify", [NASTY, "b"], "why", [NASTY])
    return {
        "status": plain_lines(status_lines(status, columns)),
        "log": plain_lines(log_lines(made, columns, denied=False)),
        "denied": plain_lines(log_lines(made, columns, denied=True)),
        "declared": plain_lines(declared_lines(declared, "reading", columns)),
    }


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("columns", [60, 80, 140])
def test_every_report_fits_the_width_and_obeys_nothing_in_it(columns: int, mode: str) -> None:
    for name, text in everything(columns, mode).items():
        assert text, name
        assert max(map(display_width, text.split("\n"))) <= columns, name
        assert not {"\x1b", "\x07", "\u202e"} & set(text), name


def test_the_log_shows_denied_calls_with_reason_and_saving() -> None:
    texts = everything(80)
    assert "7 decisions, 5 denied" in texts["log"]
    assert "deny  Write  edit-code  src/app.tsx" in texts["denied"]
    assert "frontend-specialist" in texts["denied"]
    assert "delegate to: frontend-specialist" in texts["denied"]
    assert "estimated cost: 15,000 tokens (1,500 lines)" in texts["denied"]
    assert "the denied reads would have cost an estimated 15,000 tokens" in texts["denied"]
    assert "README.md" not in texts["denied"]
    assert "README.md is prose" in texts["log"]
    assert "estimated saving against a delegation: 600 tokens" in texts["log"]


@pytest.mark.parametrize("mode", MODES)
def test_the_untrue_statements_of_an_answer_are_listed_with_their_proofs(mode: str) -> None:
    made = SessionState("s")
    untrue = [
        UntrueStatement(text="All tests pass.", proof="`pytest` printed `1 failed`"),
        UntrueStatement(text=f"I pushed with {GITHUB}.", proof="no push \x1b[2J", outcome="unseen"),
    ]
    settings = GateSettings()
    settings.mode = mode
    assert decide_final(["for the model"], untrue, made, settings).decision == "deny"
    reason = made.decisions[-1].reason
    assert "contradicts 1 statement of the answer, and no call of this session shows 1 statement" in reason
    shape = log_shape(SessionState.from_dict(json.loads(json.dumps(made, default=vars))), denied=False)
    for statements in (shape["decisions"][0]["statements"],):
        assert statements[0] == {
            "text": "All tests pass.",
            "proof": "`pytest` printed `1 failed`",
            "outcome": "contradicted",
        }
        assert [statement["outcome"] for statement in statements] == ["contradicted", "unseen"]
    for columns in (80, 140):
        for lines in (list(log_lines(made, columns, denied=False)),):
            text = plain_lines(lines)
            assert "“All tests pass.”: `pytest` printed `1 failed`" in text
            assert "I pushed with" in text
            assert GITHUB not in text
            assert "\x1b" not in text
            assert all(display_width(line) <= columns for line in text.splitlines())


def test_long_statements_are_cut_and_those_of_old_answers_are_dropped() -> None:
    made, settings = SessionState("s"), GateSettings()
    for _ in range(30):
        decide_final(["x"], [UntrueStatement(text="all tests pass " * 99, proof="no " * 999)], made, settings)
    kept = [entry.statements for entry in made.decisions]
    assert [bool(statements) for statements in kept] == [False] * 20 + [True] * 10
    assert kept[-1] is not None
    assert [len(kept[-1][0].text), len(kept[-1][0].proof)] == [240, 240]


def test_an_answer_is_sent_back_and_not_denied() -> None:
    made, settings = SessionState("s"), GateSettings()
    made.mode = "verify"
    made.decisions.append(DecisionEntry(at=5.0, tool="answer", decision="deny", rule="final-claims", reason="untrue"))
    assert "1 decision, 1 answer sent back" in plain_lines(log_lines(made, 80, denied=False))
    assert "send back  answer  final-claims" in plain_lines(log_lines(made, 80, denied=True))
    shape = status_shape(made, settings, [], [], project="/p", today="2026-05-05")
    assert "decisions   1 answer sent back" in plain_lines(status_lines(shape, 80))


def test_the_status_shows_results_with_their_verdicts_and_what_to_mind() -> None:
    text = everything(80)["status"]
    assert text.startswith("session 0f3b6c1e-8a0e-4a57  mode orchestrator  ")
    assert "code-explorer                accepted  accept" in text
    assert "rejected  reject, attempt 2\n" in text
    assert "observed  accept" in text
    assert text.count("L1 status-missing line 3") == 3, "only of the last attempt, and not all"
    assert "      and 2 more\n" in text
    assert "      .remit/gate/results/s/a22.md\n" in text, "in one piece, to be copied"
    assert "open: qa-engineer" in text
    assert "warning: Agent code-explorer failed, results may be incomplete" in text
    assert "expired on 2020-01-01" in text
    assert "until 2031-01-01" in text
    assert "other sessions (--session): other" in text
    assert " and 1 more" in text


def test_the_json_shapes_are_named_and_plain_data() -> None:
    made, settings = state()
    shapes = {
        "remit.gate-log/1": log_shape(made, denied=True),
        "remit.gate-status/1": status_shape(made, settings, RESULTS, [], project="/p", today="2026-05-05"),
        "remit.gate-declare/1": declared_shape("s", "edit", ["a"], "x", []),
    }
    for name, shape in shapes.items():
        assert shape["schema"] == name
        assert json.loads(json.dumps(shape)) == shape
    assert [entry["cost"]["tokens"] for entry in shapes["remit.gate-log/1"]["decisions"]][-1] == 15_000
    assert [entry["expired"] for entry in shapes["remit.gate-status/1"]["project_exceptions"]] == [False, True]


@pytest.mark.parametrize("odd", [{}, {"at": "x", "paths": 5, "decision": 3, "lines": True}, {"at": 1e300, "id": None}])
def test_a_state_with_unexpected_values_is_shown(odd: dict[str, Any]) -> None:
    made = SessionState.from_dict({"decisions": [odd], "declarations": [odd], "delegations": {"d": odd}})
    assert plain_lines(log_lines(made, 80, denied=False))
    assert plain_lines(status_lines(status_shape(made, GateSettings(), [], [], project="/p", today=""), 80))
