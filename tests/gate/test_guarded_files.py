"""Only Remit writes its files: no tool, no shell command and no other name of a file can change them."""

from __future__ import annotations

import os

import pytest

from remit.gate import guarded
from remit.gate.session_entries import Declaration
from remit.gate.settings import GUARDED

MAX_ENTRIES = [f"{folder}/a.json" for folder in GUARDED]


@pytest.mark.parametrize("path", [*MAX_ENTRIES, *GUARDED, ".remit/gate/results/s/1.md", ".remit/x/../gate/s.json"])
@pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit", "NotebookEdit"])
def test_no_tool_writes_guarded_files(session, path: str, tool: str) -> None:
    found = session.ask(tool, {"file_path": path, "notebook_path": path, "content": "{}"})
    assert (found.decision, found.rule) == ("deny", "guarded-state")
    assert found.delegate_to is None, "nobody is to do it instead"


@pytest.mark.parametrize(
    "command",
    [
        "echo {} > .remit/gate/s.json",
        "rm -rf .remit/gate",
        "rm -rf .remit/*",
        "rm -rf .remit/g*",
        "rm -rf .remit/**",
        "rm .remit/{gate,progress}/s.json",
        "truncate -s0 .remit/ga?e/s.json",
        "cd .remit/gate && rm s.json",
        "cd .remit; rm -rf *",
        "mv .remit/gate .remit/old",
        "find .remit -delete",
        "cp other.json .remit/gate/s.json",
        "sed -i s/deny/allow/ .remit/gate/s.json",
        "python -c \"open('.remit/gate/s.json', 'w')\"",
        "tee .remit/claude-code/plugin/hooks/hooks.json < x",
    ],
)
def test_the_shell_does_not_write_guarded_files(session, command: str) -> None:
    assert session.run(command).decision == "deny"
    assert session.state.decisions[-1].rule == "guarded-state"


@pytest.mark.parametrize("command", ["rm -rf .remit/gate", "echo {} > .remit/gate/s.json", "cd .remit; rm -rf *"])
def test_a_subagent_does_not_write_guarded_files(session, command: str) -> None:
    own = {"agent_id": "a1", "agent_type": "backend-specialist"}
    assert session.run(command, **own).rule == "guarded-state"
    found = session.ask("Write", {"file_path": ".remit/gate/results/s/a1-1.md", "content": "fine"}, **own)
    assert (found.decision, found.rule) == ("deny", "guarded-state")


@pytest.mark.parametrize("own", [{}, {"agent_id": "a1", "agent_type": "backend-specialist"}])
@pytest.mark.parametrize("program", ["remit", "python3 -m remit", "/opt/py/bin/python -I -m remit"])
def test_a_person_is_asked_before_an_agent_declares(session, program: str, own: dict[str, str]) -> None:
    assert session.run(f"{program} gate declare edit docs/specs/a.md --why x", **own).decision == "ask"
    assert session.run(f"{program} uninstall --yes", **own).decision == "ask"
    assert session.run(f"{program} gate status", **own).decision == "allow"


def test_another_name_of_a_guarded_file_is_recognised(session, project) -> None:
    kept = project / ".remit/gate/s.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    (project / ".remit/link").symlink_to(project / ".remit/gate")
    assert session.ask("Write", {"file_path": ".remit/link/s.json"}).rule == "guarded-state"
    os.link(kept, project / ".remit/second.json")
    assert session.ask("Write", {"file_path": ".remit/second.json"}).rule == "guarded-state"
    assert session.ask("Write", {"file_path": ".remit/GATE/s.json"}).rule == "guarded-state", "some disks fold case"


@pytest.mark.parametrize("path", [".remit/progress.json", ".remit/gates.json", ".remit/notes/gate/a", ".remit/agate/a"])
def test_other_state_is_written(session, project, path: str) -> None:
    assert session.ask("Write", {"file_path": path, "content": ""}).decision == "allow"
    assert session.run(f"echo x > {path}").decision == "allow"
    (project / ".remit/one.json").write_text("")
    os.link(project / ".remit/one.json", project / ".remit/two.json")
    assert session.ask("Write", {"file_path": ".remit/two.json", "content": ""}).decision == "allow"


def test_wildcards_that_cannot_match_guarded_files_are_allowed(session) -> None:
    assert session.run("rm .remit/*.json").decision == "allow"
    assert session.run("rm .remit/tasks/*").decision == "allow"


def test_guarded_files_are_read_like_other_state(session, project) -> None:
    (project / ".remit/gate").mkdir()
    (project / ".remit/gate/s.json").write_text("{}\n" * 900)
    for _ in range(5):
        assert session.read(".remit/gate/s.json").exception == "state"
    assert session.run("cat .remit/gate/s.json").decision == "allow"
    assert session.ask("Grep", {"pattern": "deny", "path": ".remit/gate"}).decision == "allow"
    assert session.state.window.files == {}


def test_a_data_folder_elsewhere_is_guarded(start, tmp_path) -> None:
    session = start(guarded=["/scratch/data/gate"])
    for path in ("/scratch/data/gate/s.json", "/scratch/data/gate", "/scratch/data"):
        assert session.ask("Write", {"file_path": path, "content": ""}).rule == "guarded-state"
    assert session.ask("Write", {"file_path": "/scratch/data/other", "content": ""}).decision == "allow"
    assert session.ask("Write", {"file_path": ".remit/gate/s.json"}).rule == "guarded-state", "its own stay guarded"


@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/agents/qa-engineer.md",
        ".claude/skills/remit/SKILL.md",
        ".claude/commands/remit/declare.md",
        "~/.claude/agents/a.md",
        "~/.claude/settings.json",
        "remit.toml",
    ],
)
@pytest.mark.parametrize("own", [{}, {"agent_id": "a1", "agent_type": "backend-specialist"}])
def test_settings_definitions_and_hooks_are_changed_by_a_person_only(start, path: str, own: dict[str, str]) -> None:
    for session in (start(), start(paths={"code": ["lib/**"], "prose": ["**"]})):
        assert session.ask("Write", {"file_path": path, "content": ""}, **own).rule == "guarded-state"
        assert session.run(f"echo x > {path}", **own).rule == "guarded-state"


def test_definitions_of_the_client_in_other_folders_are_guarded(start) -> None:
    for session in (start(), start(paths={"code": ["lib/**"], "prose": ["**"]})):
        assert session.run("echo x > docs/.claude/agents/a.md").rule == "guarded-state"
        assert session.run("echo x > docs/.claude/other.json").rule != "guarded-state"


@pytest.mark.parametrize("path", ["~/.claude/plans/a.md", "~/.claude/projects/p/memory/MEMORY.md"])
def test_the_client_lets_an_agent_write_plans_and_memories(session, path: str) -> None:
    own = {"agent_id": "a1", "agent_type": "backend-specialist"}
    assert session.ask("Write", {"file_path": path, "content": ""}, **own).decision == "allow"


@pytest.mark.parametrize("own", [{}, {"agent_id": "a1", "agent_type": "backend-specialist"}])
@pytest.mark.parametrize(
    "command",
    [
        "rm -rf .",
        "rm -rf ..",
        "rm -rf ~",
        "git clean -fdX",
        "git clean -fdx",
        "mv . ../x",
        "mv .claude x",
        "find . -delete",
    ],
)
def test_an_operation_on_a_folder_with_guarded_files_is_denied(session, command: str, own: dict[str, str]) -> None:
    assert session.run(command, **own).rule == "guarded-state"


@pytest.mark.parametrize("command", ["black .", "git stash", "prettier --write .", "ruff format .", "rm -rf build"])
def test_a_subagent_may_rewrite_the_files_of_a_folder(session, command: str) -> None:
    assert session.run(command, agent_id="a1", agent_type="backend-specialist").decision == "allow"


def test_no_exception_or_declaration_opens_guarded_files(start) -> None:
    session = start(exceptions=[{"rule": "edit-code", "reason": "x", "expires": "2999-01-01"}])
    session.state.declarations.append(Declaration(kind="edit", paths=["."], why="x"))
    assert session.ask("Write", {"file_path": ".remit/gate/s.json"}).rule == "guarded-state"


def test_observe_reports_what_would_have_happened(start) -> None:
    found = start(mode="observe").ask("Write", {"file_path": ".remit/gate/s.json"})
    assert (found.decision, found.would, found.rule) == ("allow", "deny", "guarded-state")


@pytest.mark.parametrize(
    "command",
    [
        "remit uninstall --yes",
        "python -m remit uninstall",
        "bash -c 'remit install claude-code --mode observe --yes'",
        "echo '{}' | remit hook UserPromptSubmit",
    ],
)
@pytest.mark.parametrize(("mode", "decision"), [("standard", "ask"), ("strict", "ask"), ("observe", "allow")])
def test_a_person_is_asked_before_the_gate_is_changed(start, command: str, mode: str, decision: str) -> None:
    found = start(mode=mode).run(command)
    assert (found.decision, found.rule) == (decision, "guarded-state")


def test_other_commands_of_remit_are_allowed(session) -> None:
    for command in ("remit gate status", "remit merge --session last", "remit doctor"):
        assert session.run(command).decision == "allow"


def test_a_folder_is_reached_by_what_is_in_it_and_as_a_whole_by_what_contains_it() -> None:
    questions = [(name, whole) for name in (".remit", ".remit/gate", ".remit/gate/a", "src") for whole in (True, False)]
    answers = [guarded.reaches(name, ".remit/gate", whole=whole) for name, whole in questions]
    assert answers == [True, False, True, True, True, True, False, False]
    assert not guarded.reaches("a/" * 200, ".remit/gate")
