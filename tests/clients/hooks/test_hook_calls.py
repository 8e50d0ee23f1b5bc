from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hooking import PART, Hooks, decision_of, kind_of


def reason_of(said: dict[str, Any] | None) -> str:
    assert said is not None
    fields = said["hookSpecificOutput"]
    return str(fields.get("permissionDecisionReason") or fields.get("additionalContext"))


def test_the_orchestrators_fourth_file_is_denied_and_a_subagents_is_not(hooks: Hooks) -> None:
    assert [hooks.read(f"src/f{number}.py") for number in range(3)] == [None, None, None]
    said = hooks.read("src/f3.py")
    assert decision_of(said) == "deny"
    assert reason_of(said).startswith("remit (lookup-files): ")
    assert "code-explorer" in reason_of(said)
    assert [hooks.read(f"src/f{number}.py", agent_id="a1", agent_type="x") for number in range(5)] == [None] * 5


def test_a_prompt_of_a_person_opens_a_new_window(hooks: Hooks) -> None:
    for number in range(3):
        hooks.read(f"src/f{number}.py")
    assert hooks.ask("UserPromptSubmit", prompt="go on") is None
    assert hooks.read("src/f3.py") is None


def test_code_is_edited_by_nobody_but_a_subagent(hooks: Hooks) -> None:
    edit = {"file_path": str(hooks.project / "src/app.py"), "old_string": "42", "new_string": "43"}
    assert decision_of(hooks.call("Edit", edit)) == "deny"
    assert decision_of(hooks.call("Bash", {"command": "sed -i s/42/43/ src/app.py"})) == "deny"
    assert hooks.call("Edit", edit, agent_id="a1", agent_type="backend-specialist") is None


def test_a_definitions_tool_limits_bind_its_subagent(start: Callable[..., Hooks]) -> None:
    hooks = start(tools={"code-explorer": ["Read", "Grep"]})
    said = hooks.call("Bash", {"command": "ls"}, agent_id="a1", agent_type="remit:code-explorer")
    assert reason_of(said).startswith("remit (tool-limits): ")
    assert hooks.call("Grep", {"pattern": "x"}, agent_id="a1", agent_type="code-explorer") is None


def test_what_a_person_must_say_is_asked(hooks: Hooks) -> None:
    said = hooks.call("Bash", {"command": "remit gate declare edit docs/specs/orders.md --why typo"})
    assert decision_of(said) == "ask"


def test_a_warning_reaches_the_model(hooks: Hooks) -> None:
    said = hooks.call("Bash", {"command": "./build.sh"})
    assert kind_of(said) == "additionalContext"
    assert reason_of(said).startswith("remit (edit-code): ")


def test_a_launch_is_made_in_the_foreground_and_told_the_contract(hooks: Hooks) -> None:
    said = hooks.call(
        "Agent",
        {
            "description": "d",
            "prompt": "Look",
            "subagent_type": "code-explorer",
            "run_in_background": True,
            "model": "m",
        },
    )
    assert said == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "updatedInput": {
                "description": "d",
                "prompt": f"Look\n\n{PART}",
                "subagent_type": "code-explorer",
                "run_in_background": False,
                "model": "m",
            },
        }
    }
    entry = hooks.state.delegations["toolu_1"]
    assert (entry.state, entry.contract_sent) == ("open", True)


@pytest.mark.parametrize("agent", ["remit:code-explorer", "code-explorer"])
def test_an_agent_of_a_plugin_counts_by_its_own_name(hooks: Hooks, agent: str) -> None:
    assert kind_of(hooks.launch(agent)) == "updatedInput"


def test_a_subagents_own_launch_is_told_the_contract_too(hooks: Hooks) -> None:
    assert kind_of(hooks.launch(agent_id="a1", agent_type="product-manager")) == "updatedInput"
    assert hooks.state.delegations == {}


def test_a_launch_that_is_as_it_should_be_is_left_alone(hooks: Hooks) -> None:
    prompt = {"prompt": f"Look\n\n{PART}\n\nAnd more", "subagent_type": "code-explorer", "run_in_background": False}
    assert hooks.call("Agent", prompt) is None
    assert hooks.call("Task", {**prompt, "run_in_background": None}) == {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {**prompt}}
    }


@pytest.mark.parametrize("agent", ["leaf", "general-purpose", "", "other:leaf"])
def test_who_is_not_under_contract_is_observed_and_not_waited_for(hooks: Hooks, agent: str) -> None:
    assert hooks.launch(agent) is None
    assert [entry.state for entry in hooks.state.delegations.values()] == ["observed"]
    assert hooks.ask("Stop", stop_hook_active=False) is None


def test_a_launch_that_would_write_what_another_writes_is_denied(hooks: Hooks) -> None:
    files = {"writes": ["src/app.py"], "prompt": "p", "subagent_type": "code-explorer"}
    assert kind_of(hooks.call("Agent", files)) == "updatedInput"
    said = hooks.call("Agent", files)
    assert said is not None
    assert decision_of(said) == "deny"
    assert "updatedInput" not in said["hookSpecificOutput"]


@pytest.mark.parametrize(
    ("tool", "tool_input"),
    [
        ("Read", {"file_path": "src/f0.py"}),
        ("Read", {"file_path": ".remit/progress.json"}),
        ("Bash", {"command": "cat src/f0.py; ./unknown-program"}),
        ("Bash", {"command": "remit gate declare edit docs/specs/orders.md --why x"}),
        ("Edit", {"file_path": "src/app.py", "old_string": "42", "new_string": "43"}),
        ("Edit", {"file_path": "docs/specs/orders.md", "old_string": "The  s", "new_string": "The s"}),
        ("Write", {"file_path": "notes.md", "content": "x"}),
        ("Agent", {"prompt": "p", "subagent_type": "code-explorer"}),
        ("Agent", {"prompt": "p", "subagent_type": "leaf"}),
        ("Glob", {"pattern": "**/*"}),
    ],
)
def test_an_event_delivered_twice_is_answered_alike_and_counted_once(
    hooks: Hooks, tool: str, tool_input: dict[str, Any]
) -> None:
    first = hooks.call(tool, tool_input, tool_use_id="toolu_same")
    once = hooks.state.as_dict()
    assert hooks.call(tool, tool_input, tool_use_id="toolu_same") == first
    twice = hooks.state.as_dict()
    assert {key: value for key, value in twice.items() if key != "updated"} == {
        key: value for key, value in once.items() if key != "updated"
    }


def test_a_retry_delivered_twice_is_one_retry(hooks: Hooks) -> None:
    hooks.launch()
    hooks.ask(
        "PostToolUseFailure", tool_name="Agent", tool_input={"subagent_type": "code-explorer"}, tool_use_id="toolu_1"
    )
    for _ in range(2):
        hooks.launch(tool_use_id="toolu_retry")
    assert [entry.retry_of for entry in hooks.state.delegations.values()] == ["", "toolu_1"]


def test_another_call_of_the_same_id_is_judged_for_itself(hooks: Hooks) -> None:
    assert hooks.call("Write", {"file_path": "notes.md", "content": "x"}, tool_use_id="toolu_same") is None
    assert decision_of(hooks.call("Edit", {"file_path": "src/app.py"}, tool_use_id="toolu_same")) == "deny"


def test_a_slow_read_closes_the_window_and_the_model_is_told(hooks: Hooks) -> None:
    hooks.read("src/f0.py")
    said = hooks.ask(
        "PostToolUse", tool_name="Read", tool_input={}, tool_response={}, tool_use_id="toolu_1", duration_ms=12_000
    )
    assert reason_of(said).startswith("remit (lookup-time): ")
    assert decision_of(hooks.read("src/f1.py")) == "deny"


def test_a_read_that_failed_counts_nothing(hooks: Hooks) -> None:
    for number in range(3):
        hooks.read(f"src/f{number}.py")
        hooks.ask("PostToolUseFailure", tool_name="Read", tool_input={}, tool_use_id=f"toolu_{number + 1}", error="no")
    assert hooks.read("src/f3.py") is None
    assert list(hooks.state.window.files) == ["src/f3.py"]


def test_a_read_that_a_person_refused_counts_nothing(hooks: Hooks) -> None:
    hooks.call("Bash", {"command": "cat src/f0.py"})
    hooks.ask("PermissionDenied", tool_name="Bash", tool_input={}, tool_use_id="toolu_1", reason="no")
    assert hooks.state.window.files == {}


def test_a_command_line_that_fails_after_it_showed_a_file_has_read_it(hooks: Hooks) -> None:
    hooks.call("Bash", {"command": "cat src/f0.py; false"})
    hooks.ask("PostToolUseFailure", tool_name="Bash", tool_input={}, tool_use_id="toolu_1", error="x = 1")
    assert hooks.state.window.files == {"src/f0.py": 10}
    assert hooks.state.pending == {}


def test_more_lines_than_were_granted_are_counted_and_told(hooks: Hooks) -> None:
    hooks.read("src/f0.py")
    response = {"file": {"content": "x\n" * 50}}
    said = hooks.ask(
        "PostToolUse", tool_name="Read", tool_input={}, tool_response=response, tool_use_id="toolu_1", duration_ms=1
    )
    assert reason_of(said).startswith("remit (lookup-lines): ")
    assert hooks.state.window.files == {"src/f0.py": 50}


def test_calls_of_subagents_and_other_tools_are_not_settled(hooks: Hooks) -> None:
    for fields in ({"tool_name": "Read", "agent_id": "a1"}, {"tool_name": "TaskCreate"}):
        assert hooks.ask("PostToolUse", tool_input={}, tool_response={}, tool_use_id="t", **fields) is None
    assert not (hooks.folder / "9f3279c5-453e-45ba-9d76-6896353ab6a1.json").exists()


def test_observing_records_what_would_have_been_and_says_nothing(start: Callable[..., Hooks]) -> None:
    hooks = start(mode="observe")
    assert [hooks.read(f"src/f{number}.py") for number in range(5)] == [None] * 5
    assert hooks.call("Edit", {"file_path": "src/app.py"}) is None
    assert hooks.call("Bash", {"command": "./build.sh"}) is None
    assert hooks.launch() is None
    assert hooks.ask("Stop", stop_hook_active=False) is None
    would = [entry["would"] for entry in hooks.state.decisions if entry["would"] not in (None, "allow")]
    assert would == ["deny", "deny", "deny", "warn", "deny"]


def test_another_call_under_an_id_that_was_let_through_is_judged_on_its_own(hooks: Hooks) -> None:
    same = {"tool_use_id": "toolu_same"}
    assert hooks.read("src/f0.py", **same) is None
    assert decision_of(hooks.call("Bash", {"command": "sed -i s/42/43/ src/app.py"}, **same)) == "deny"
    assert decision_of(hooks.call("Bash", {"command": "ls"}, **same)) is None
    assert hooks.launch(tool_use_id="toolu_launch") is not None
    denied = {"file_path": str(hooks.project / "src/app.py"), "content": "x"}
    assert decision_of(hooks.call("Write", denied, tool_use_id="toolu_launch")) == "deny"


def test_a_subagents_call_is_not_answered_for_the_orchestrators_of_the_same_id(hooks: Hooks) -> None:
    edit = {"file_path": str(hooks.project / "src/app.py"), "content": "x"}
    assert hooks.call("Write", edit, tool_use_id="t1", agent_id="a1", agent_type="backend-specialist") is None
    assert decision_of(hooks.call("Write", edit, tool_use_id="t1")) == "deny"
    assert hooks.call("Write", edit, tool_use_id="t1", agent_id="a1", agent_type="backend-specialist") is None


def test_what_tells_calls_apart_says_nothing_of_their_content(hooks: Hooks) -> None:
    hooks.call("Bash", {"command": "echo tok-4711 > src/app.py"})
    assert hooks.state.decisions[-1]["mark"]
    assert b"tok-4711" not in b"".join(path.read_bytes() for path in hooks.folder.iterdir())


@pytest.mark.parametrize("name", ["Code-Explorer", "code_explorer", "CODE EXPLORER", "remit:Code_Explorer"])
def test_an_agent_is_under_contract_however_the_launch_writes_its_name(name: str, hooks: Hooks) -> None:
    said = hooks.launch(name)
    assert said is not None
    assert said["hookSpecificOutput"]["updatedInput"]["run_in_background"] is False
    assert [entry.state for entry in hooks.state.delegations.values()] == ["open"]


def test_a_name_that_only_holds_that_of_an_agent_is_not_under_contract(hooks: Hooks) -> None:
    assert [hooks.launch(name) for name in ("code-explorers", "my-code-explorer", ":", "-")] == [None] * 4


@pytest.mark.parametrize("tool", ["Bash", "Monitor", "PowerShell"])
def test_every_tool_that_runs_a_command_line_is_a_shell(tool: str, hooks: Hooks) -> None:
    assert decision_of(hooks.call(tool, {"command": "sed -i s/42/43/ src/app.py"})) == "deny"
    assert decision_of(hooks.call(tool, {"command": "rm -r .remit/gate"}, agent_id="a1", agent_type="x")) == "deny"
    hooks.call(tool, {"command": "cat src/f0.py"}, tool_use_id="toolu_shown")
    fields = {"tool_name": tool, "tool_input": {}, "tool_use_id": "toolu_shown", "tool_response": {"stdout": "x\n"}}
    hooks.ask("PostToolUse", duration_ms=11_000, **fields)
    assert hooks.state.window.closed


def test_who_edits_without_being_under_contract_is_named_to_the_person(hooks: Hooks) -> None:
    edit = {"file_path": "src/f0.py", "old_string": "a", "new_string": "b"}
    assert hooks.call("Edit", edit, agent_id="a1", agent_type="code-explorer") is None
    assert hooks.state.warnings == []
    assert hooks.call("Edit", edit | {"file_path": "src/f1.py"}, agent_id="a2", agent_type="general-purpose") is None
    [warning] = hooks.state.warnings
    assert warning.startswith("Agent general-purpose is not under contract and edits files")
