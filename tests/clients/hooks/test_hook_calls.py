from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hooking import PART, Hooks, decision_of, kind_of

from remit.gate.session_store import list_sessions


def reason_of(answer: dict[str, Any] | None) -> str:
    assert answer is not None
    fields = answer["hookSpecificOutput"]
    return str(fields.get("permissionDecisionReason") or fields.get("additionalContext"))


def test_the_orchestrators_fourth_file_is_denied_and_a_subagents_is_not(hooks: Hooks) -> None:
    assert [hooks.read(f"src/f{number}.py") for number in range(3)] == [None, None, None]
    answer = hooks.read("src/f3.py")
    assert decision_of(answer) == "deny"
    assert reason_of(answer).startswith("remit (lookup-files): ")
    assert "code-explorer" in reason_of(answer)
    assert [hooks.read(f"src/f{number}.py", agent_id="a1", agent_type="x") for number in range(5)] == [None] * 5


def test_a_prompt_of_the_user_opens_a_new_window(hooks: Hooks) -> None:
    for number in range(3):
        hooks.read(f"src/f{number}.py")
    assert hooks.ask("UserPromptSubmit", prompt="go on") is None
    assert hooks.read("src/f3.py") is None


def test_only_a_subagent_may_edit_code(hooks: Hooks) -> None:
    edit = {"file_path": str(hooks.project / "src/app.py"), "old_string": "42", "new_string": "43"}
    assert decision_of(hooks.call("Edit", edit)) == "deny"
    assert decision_of(hooks.call("Bash", {"command": "sed -i s/42/43/ src/app.py"})) == "deny"
    assert hooks.call("Edit", edit, agent_id="a1", agent_type="backend-specialist") is None


def test_what_only_the_user_can_decide_is_asked(hooks: Hooks) -> None:
    answer = hooks.call("Bash", {"command": "remit gate declare edit docs/specs/orders.md --why typo"})
    assert decision_of(answer) == "ask"


def test_a_launch_runs_in_the_foreground_and_gets_the_contract(hooks: Hooks) -> None:
    answer = hooks.call(
        "Agent",
        {
            "description": "d",
            "prompt": "Look",
            "subagent_type": "code-explorer",
            "run_in_background": True,
            "model": "m",
        },
    )
    assert answer == {
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
def test_an_agent_of_a_plugin_is_matched_by_its_own_name(hooks: Hooks, agent: str) -> None:
    assert kind_of(hooks.launch(agent)) == "updatedInput"


def test_a_launch_by_a_subagent_gets_the_contract_too(hooks: Hooks) -> None:
    assert kind_of(hooks.launch(agent_id="a1", agent_type="product-manager")) == "updatedInput"
    assert list_sessions(str(hooks.folder)) == []


def test_a_correct_launch_is_not_changed(hooks: Hooks) -> None:
    prompt = {"prompt": f"Look\n\n{PART}\n\nAnd more", "subagent_type": "code-explorer", "run_in_background": False}
    assert hooks.call("Agent", prompt) is None
    assert hooks.call("Task", {**prompt, "run_in_background": None}) == {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {**prompt}}
    }


@pytest.mark.parametrize("agent", ["leaf", "general-purpose", "", "other:leaf"])
def test_an_agent_that_is_not_under_contract_can_be_left_alone(start: Callable[..., Hooks], agent: str) -> None:
    hooks = start(others="off")
    assert hooks.launch(agent) is None
    assert [entry.state for entry in hooks.state.delegations.values()] == ["observed"]
    assert hooks.ask("Stop", stop_hook_active=False) is None


def test_another_call_with_the_same_id_is_judged_separately(hooks: Hooks) -> None:
    assert hooks.call("Write", {"file_path": "notes.md", "content": "x"}, tool_use_id="toolu_same") is None
    assert decision_of(hooks.call("Edit", {"file_path": "src/app.py"}, tool_use_id="toolu_same")) == "deny"


def test_a_slow_read_closes_the_window_and_the_model_gets_a_warning(hooks: Hooks) -> None:
    hooks.read("src/f0.py")
    answer = hooks.ask(
        "PostToolUse", tool_name="Read", tool_input={}, tool_response={}, tool_use_id="toolu_1", duration_ms=12_000
    )
    assert reason_of(answer).startswith("remit (lookup-time): ")
    assert decision_of(hooks.read("src/f1.py")) == "deny"


def test_a_failed_read_is_not_counted(hooks: Hooks) -> None:
    for number in range(3):
        hooks.read(f"src/f{number}.py")
        hooks.ask("PostToolUseFailure", tool_name="Read", tool_input={}, tool_use_id=f"toolu_{number + 1}", error="no")
    assert hooks.read("src/f3.py") is None
    assert list(hooks.state.window.files) == ["src/f3.py"]


def test_a_failed_command_that_printed_a_file_counts_as_a_read(hooks: Hooks) -> None:
    hooks.call("Bash", {"command": "cat src/f0.py; false"})
    error = "Exit code 1\n" + "x = 1\n" * 10
    hooks.ask("PostToolUseFailure", tool_name="Bash", tool_input={}, tool_use_id="toolu_1", error=error)
    assert hooks.state.window.files == {"src/f0.py": 11}
    assert hooks.state.pending == {}


def test_lines_beyond_the_limit_are_counted_and_reported(hooks: Hooks) -> None:
    hooks.read("src/f0.py")
    response = {"file": {"content": "x\n" * 50}}
    answer = hooks.ask(
        "PostToolUse", tool_name="Read", tool_input={}, tool_response=response, tool_use_id="toolu_1", duration_ms=1
    )
    assert reason_of(answer).startswith("remit (lookup-lines): ")
    assert hooks.state.window.files == {"src/f0.py": 50}


def test_calls_of_subagents_and_of_other_tools_are_not_recorded(hooks: Hooks) -> None:
    for fields in ({"tool_name": "Read", "agent_id": "a1"}, {"tool_name": "TaskCreate"}):
        assert hooks.ask("PostToolUse", tool_input={}, tool_response={}, tool_use_id="t", **fields) is None
    assert not (hooks.folder / "9f3279c5-453e-45ba-9d76-6896353ab6a1.json").exists()


def test_another_call_with_the_id_of_an_allowed_one_is_judged_separately(hooks: Hooks) -> None:
    same = {"tool_use_id": "toolu_same"}
    assert hooks.read("src/f0.py", **same) is None
    assert decision_of(hooks.call("Bash", {"command": "sed -i s/42/43/ src/app.py"}, **same)) == "deny"
    assert decision_of(hooks.call("Bash", {"command": "ls"}, **same)) is None
    assert hooks.launch(tool_use_id="toolu_launch") is not None
    denied = {"file_path": str(hooks.project / "src/app.py"), "content": "x"}
    assert decision_of(hooks.call("Write", denied, tool_use_id="toolu_launch")) == "deny"


def test_calls_with_the_same_id_of_subagent_and_orchestrator_are_distinct(hooks: Hooks) -> None:
    edit = {"file_path": str(hooks.project / "src/app.py"), "content": "x"}
    assert hooks.call("Write", edit, tool_use_id="t1", agent_id="a1", agent_type="backend-specialist") is None
    assert decision_of(hooks.call("Write", edit, tool_use_id="t1")) == "deny"
    assert hooks.call("Write", edit, tool_use_id="t1", agent_id="a1", agent_type="backend-specialist") is None


@pytest.mark.parametrize("name", ["Code-Explorer", "code_explorer", "CODE EXPLORER", "remit:Code_Explorer"])
def test_an_agent_is_under_contract_in_every_spelling_of_its_name(name: str, hooks: Hooks) -> None:
    answer = hooks.launch(name)
    assert answer is not None
    assert answer["hookSpecificOutput"]["updatedInput"]["run_in_background"] is False
    assert [entry.state for entry in hooks.state.delegations.values()] == ["open"]


def test_a_name_that_only_contains_an_agents_name_is_not_under_contract(hooks: Hooks) -> None:
    assert [hooks.launch(name) for name in ("code-explorers", "my-code-explorer", ":", "-")] == [None] * 4


@pytest.mark.parametrize("tool", ["Bash", "Monitor", "PowerShell"])
def test_every_tool_that_runs_a_command_line_is_a_shell(tool: str, hooks: Hooks) -> None:
    assert decision_of(hooks.call(tool, {"command": "sed -i s/42/43/ src/app.py"})) == "deny"
    assert hooks.call(tool, {"command": "rm -r src"}, agent_id="a1", agent_type="x") is None, "a subagent's call"
    hooks.call(tool, {"command": "cat src/f0.py"}, tool_use_id="toolu_shown")
    fields = {"tool_name": tool, "tool_input": {}, "tool_use_id": "toolu_shown", "tool_response": {"stdout": "x\n"}}
    hooks.ask("PostToolUse", duration_ms=11_000, **fields)
    assert hooks.state.window.closed


def test_a_session_is_named_after_its_first_prompt_and_its_branch_without_secrets(hooks: Hooks) -> None:
    git = hooks.project / ".git"
    git.mkdir(exist_ok=True)
    (git / "HEAD").write_text("ref: refs/heads/vouchers\n")
    hooks.ask("UserPromptSubmit", prompt="Add vouchers with ghp_" + "aB3d" * 9 + "\nand more")
    hooks.ask("UserPromptSubmit", prompt="Now the tests")
    assert hooks.state.title == "Add vouchers with [GitHub token removed]"
    assert hooks.state.branch == "vouchers"
