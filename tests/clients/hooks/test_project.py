from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hooking import ENTRY, PART, Hooks

from remit.clients.hooks import compiling, project
from remit.clients.hooks.compiled import SCHEMA, project_of
from remit.clients.hooks.project import ProjectContext, recompile


def test_a_project_has_the_agents_under_contract_and_their_instructions(hooks: Hooks) -> None:
    found = ProjectContext.open(str(hooks.project), mode="orchestrator")
    assert found.folder == str(hooks.folder)
    assert (found.profile, found.settings.mode) == ("v2", "orchestrator")
    for name in ("code-explorer", "remit:code-explorer", "a:b:code-explorer", "Code-Explorer", "code_explorer"):
        assert found.is_under_contract(name)
        assert (found.kind_of(name), found.prompt_for(name)) == ("exploration", PART)
    for name in ("", ":", "leaf", "code-explorer:leaf"):
        assert not found.is_under_contract(name)
        assert (found.kind_of(name), found.prompt_for(name)) == ("", "")


def test_a_variable_that_may_be_secret_is_not_stored(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_DATABASE_URL", "postgresql://me:do-not-keep@localhost/x")
    monkeypatch.setenv("REMIT_PROFILE", "v1")
    assert recompile(str(hooks.project))["environment"] == {"REMIT_PROFILE": "v1"}
    assert "do-not-keep" not in json.dumps(hooks.compiled)


def test_a_new_project_is_compiled_at_the_first_event(hooks: Hooks) -> None:
    hooks.forget_compiled()
    found = ProjectContext.open(str(hooks.project), mode="orchestrator")
    assert found.is_under_contract("code-explorer")
    assert not ProjectContext.open(str(hooks.project)).is_under_contract("code-explorer")
    assert "exploration" in found.prompts
    assert "exploration" in hooks.compiled["prompts"]


@pytest.mark.process
def test_the_libraries_are_found_without_site_packages() -> None:
    program = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "from remit.surfaces.hooks.entry import add_packages\n"
        "add_packages(); import msgspec, pyromark, rapidfuzz, yaml"
    )
    root = str(ENTRY.parents[3])
    subprocess.run([sys.executable, "-I", "-S", "-c", program, root], check=True)


@pytest.mark.process
def test_a_module_of_the_project_does_not_replace_one_of_remit(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hooks.project)
    for name in ("json.py", "pathlib.py", "msgspec.py", "remit.py"):
        (hooks.project / name).write_text("raise SystemExit('mine')\n")
    assert recompile(str(hooks.project))["schema"] == SCHEMA
    payload = json.dumps(hooks.payload("PreToolUse", tool_name="Edit", tool_input={"file_path": "src/app.py"}))
    assert "deny" in str(hooks.process(payload.encode()))


def test_a_project_is_found_from_a_folder_within_it(hooks: Hooks, tmp_path: Path) -> None:
    deep = hooks.project / "src/a/b"
    deep.mkdir(parents=True)
    assert project_of(str(deep)) == str(hooks.project)
    checkout = tmp_path / "checkout"
    (checkout / ".git").mkdir(parents=True)
    (checkout / "x").mkdir()
    assert project_of(str(checkout / "x")) == str(checkout)
    alone = tmp_path / "alone"
    alone.mkdir()
    assert project_of(str(alone)) == str(alone)


def test_many_processes_compile_outdated_settings_once(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def compiles(project: Path) -> None:
        made.append(str(project))
        hooks.compile({"others": "off"})

    monkeypatch.setattr(compiling, "compile_project", compiles)
    hooks.compile({}, stamps=[[str(hooks.project / "remit.toml"), 1, 1]])
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: project.recompile(str(hooks.project)), range(8)))
    assert made == [str(hooks.project)]
    assert [values["gate"] for values in found] == [{"others": "off"}] * 8


def test_settings_are_compiled_again_after_a_change(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_off() -> bool:
        return ProjectContext.open(str(hooks.project)).settings.others == "off"

    def never(_: Path) -> Path:
        raise AssertionError

    hooks.forget_compiled()
    assert not is_off()
    with monkeypatch.context() as patched:
        patched.setattr(compiling, "compile_project", never)
        assert not is_off()
    monkeypatch.setenv("REMIT_GATE_OTHERS", "off")
    assert is_off()
    monkeypatch.delenv("REMIT_GATE_OTHERS")
    assert not is_off()


def test_an_agent_whose_definition_states_it_is_under_contract_in_every_mode(hooks: Hooks) -> None:
    agents = hooks.project / ".claude/agents"
    agents.mkdir(parents=True)
    (agents / "mine.md").write_text("---\nname: mine\ndescription: d\nkind: review\n---\nReview.\n")
    (agents / "other.md").write_text("---\nname: other\ndescription: d\n---\nHelp.\n")
    hooks.forget_compiled()
    found = ProjectContext.open(str(hooks.project), mode="verify")
    assert (found.kind_of("mine"), found.kind_of("other"), found.kind_of("code-explorer")) == ("review", "", "")
    assert ProjectContext.open(str(hooks.project), mode="orchestrator").kind_of("code-explorer") == "exploration"


@pytest.mark.process
def test_one_variable_switches_all_hooks_off(hooks: Hooks) -> None:
    def answer(event: str) -> str:
        payload = hooks.payload(event, source="startup", tool_name="Edit", tool_input={"file_path": "src/app.py"})
        environment = {**hooks.environment(), "REMIT_OFF": "1"}
        data = json.dumps(payload).encode()
        done = subprocess.run(hooks.command(event), input=data, capture_output=True, env=environment, check=True)
        return done.stdout.decode()

    assert answer("PreToolUse") == ""
    assert "REMIT_OFF=1" in answer("SessionStart")
