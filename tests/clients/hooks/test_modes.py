"""What each mode may do: deny a call, ask, send back, give agents the form of a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hooking import SESSION, Hooks, decision_of, kind_of

from remit.clients.hooks import results
from remit.gate.settings import MODES

#: Mode -> whether it denies a call, asks about one, sends a false report back, and gives agents the form.
EXPECTED = {"verify": (False, False, True, False), "orchestrator": (True, True, True, True)}
#: An ordinary session of a person who codes with an assistant.
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("Read", {"file_path": "src/f0.py"}),
    ("Read", {"file_path": "src/f1.py"}),
    ("Read", {"file_path": "src/f2.py"}),
    ("Read", {"file_path": "src/f3.py"}),
    ("Grep", {"pattern": "x", "path": "src"}),
    ("Edit", {"file_path": "src/app.py", "old_string": "42", "new_string": "43"}),
    ("Bash", {"command": "sed -i s/x/y/ src/f0.py && python -m pytest -q"}),
    ("Write", {"file_path": ".claude/agents/mine.md", "content": "---\nname: mine\n---\nHelp.\n"}),
]
ASKED = {"command": "remit gate declare edit docs/specs/orders.md --why now"}


def session(hooks: Hooks) -> list[str | None]:
    decisions = []
    for tool, tool_input in CALLS:
        absolute = {**tool_input}
        for name in ("file_path", "path"):
            if name in absolute:
                absolute[name] = str(hooks.project / absolute[name])
        decisions.append(decision_of(hooks.call(tool, absolute)))
        for event in ("PostToolUse",):
            answer = hooks.ask(
                event, tool_name=tool, tool_input=absolute, tool_use_id=f"toolu_{hooks.calls}", tool_response={}
            )
            assert kind_of(answer) != "block"
    return decisions


def report(hooks: Hooks, text: str, agent: str = "code-explorer", **fields: Any) -> dict[str, Any] | None:
    about = {"agent_id": "a1", "agent_type": agent, "stop_hook_active": False, "last_assistant_message": text}
    return hooks.ask("SubagentStop", **{**about, **fields})


def test_every_mode_is_listed() -> None:
    assert set(EXPECTED) == set(MODES)


@pytest.mark.parametrize("mode", MODES)
def test_what_a_mode_may_do(start: Callable[..., Hooks], mode: str) -> None:
    hooks = start(mode=mode)
    denies = "deny" in session(hooks)
    asks = decision_of(hooks.call("Bash", ASKED)) == "ask"
    gives_form = "How to answer" in str(hooks.launch())
    returns = kind_of(report(hooks, "The handler is at src/gone.py:7.", "Plan")) == "block"
    assert (denies, asks, returns, gives_form) == EXPECTED[mode]


def test_no_call_of_an_ordinary_session_is_denied(start: Callable[..., Hooks]) -> None:
    hooks = start(mode="verify")
    assert session(hooks) == [None] * len(CALLS)
    subagent = {"agent_id": "a1", "agent_type": "code-explorer"}
    path = str(hooks.project / "src/app.py")
    assert hooks.call("Edit", {"file_path": path, "old_string": "42", "new_string": "43"}, **subagent) is None


def test_verify_is_silent_about_calls(start: Callable[..., Hooks]) -> None:
    hooks = start(mode="verify")
    for tool, tool_input in CALLS:
        assert hooks.call(tool, tool_input) is None
    assert (hooks.state.decisions, hooks.state.warnings) == ([], [])


def test_verify_judges_every_agent_by_its_claims(start: Callable[..., Hooks]) -> None:
    hooks = start(mode="verify")
    assert report(hooks, "The answer is computed at src/app.py:2.") is None
    kept = results.latest_result(str(hooks.folder), SESSION, "a1")
    assert kept is not None
    assert (kept.outcome, kept.profile) == ("accepted", "claims")


def test_verify_reports_a_false_claim_that_is_repeated(start: Callable[..., Hooks]) -> None:
    hooks = start(mode="verify")
    hooks.launch()
    false = "The handler is at src/gone.py:7."
    assert kind_of(report(hooks, false)) == "block"
    assert report(hooks, false + " I am sure.", stop_hook_active=True) is None
    answer = hooks.ask(
        "PostToolUse",
        tool_name="Agent",
        tool_input={"subagent_type": "code-explorer", "prompt": "Look at it", "description": "d"},
        tool_use_id="toolu_1",
        tool_response={"status": "completed", "agentId": "a1", "content": [{"type": "text", "text": false}]},
    )
    assert "src/gone.py" in str(answer)
    assert kind_of(answer) == "additionalContext"


def test_a_final_answer_in_verify_waits_for_no_delegation(start: Callable[..., Hooks]) -> None:
    hooks = start(mode="verify")
    hooks.launch()
    assert hooks.ask("Stop", stop_hook_active=False, last_assistant_message="Waiting.") is None
