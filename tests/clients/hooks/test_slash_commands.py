"""Slash commands, run as the client runs them, and judged as tool calls of a model."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest
from hooking import SESSION, Hooks, decision_of

from remit.clients.claude_code.setup import COMMANDS, command_files
from remit.clients.hooks.results import keep_result
from remit.testing import result

pytestmark = pytest.mark.process


def line_of(name: str, arguments: str = "") -> str:
    """Return the shell command that the client runs when the user types the command."""
    line = command_files()[f"{name}.md"].partition("\n!`")[2].partition("`")[0]
    return line.replace("$ARGUMENTS", arguments)


def typed(hooks: Hooks, name: str, arguments: str = "", *, session: str = SESSION) -> str:
    """Return the output of a command that the model sees; nothing else may be printed."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(hooks.project.parent)}
    environment["XDG_STATE_HOME"] = os.environ["XDG_STATE_HOME"]  # that of the hooks
    done = subprocess.run(
        ["/bin/sh", "-c", line_of(name, arguments)],
        cwd=hooks.project,
        env={**environment, "CLAUDE_CODE_SESSION_ID": session},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("report", "", f"remit: session {SESSION} has no checked report of a subagent yet"),
        ("declare", "edit docs/specs/orders.md", "remit: Missing option '--why'"),
        ("declare", "", "remit: Missing argument"),
        ("declare", "everything docs/specs/orders.md --why x", "remit: Invalid value"),
        ("declare", "edit src/app.py --why x", "remit: "),
    ],
)
def test_a_failing_command_prints_the_reason_and_exits_with_zero(
    hooks: Hooks, name: str, arguments: str, answer: str
) -> None:
    hooks.read("src/f0.py")
    text = typed(hooks, name, arguments)
    assert text.startswith(answer)
    assert len(text.splitlines()) == 1


def test_an_internal_error_does_not_make_the_command_fail(hooks: Hooks) -> None:
    (hooks.project / "remit.toml").write_text("[", encoding="utf-8")
    assert typed(hooks, "status").startswith("remit: remit.toml:")


def test_commands_use_the_session_in_which_they_are_typed(hooks: Hooks) -> None:
    hooks.read("src/f0.py")
    about = {"agent": "code-explorer", "agent_id": "a1", "outcome": "accepted", "verdict": "accept"}
    keep_result(str(hooks.folder), SESSION, text=result("exploration"), **about)
    hooks.read("src/f1.py", session_id="a-later-one")
    assert f"session {SESSION}" in typed(hooks, "status")
    assert "code-explorer" in typed(hooks, "report")
    assert typed(hooks, "report", session="a-later-one").startswith(
        "remit: session a-later-one has no checked report of a subagent"
    )
    typed(hooks, "declare", "edit docs/specs/orders.md --why 'a word'")
    assert [entry.paths for entry in hooks.state.declarations] == [["docs/specs/orders.md"]]


def test_a_model_that_runs_the_program_itself_is_judged_as_if_it_ran_remit(hooks: Hooks) -> None:
    answer = {name: hooks.call("Bash", {"command": line_of(name, "edit a.md --why x")}) for name in COMMANDS}
    assert {name: decision_of(one) for name, one in answer.items()} == {
        "declare": "ask",
        "report": None,
        "status": None,
    }
    program = shlex.join(shlex.split(line_of("status"))[:-2])
    assert decision_of(hooks.call("Bash", {"command": f"{program} uninstall --yes"})) == "ask"
