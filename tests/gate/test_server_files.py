"""Files of a project that decide what runs next: one list for the gate, for jobs and for guarded files."""

from __future__ import annotations

import pytest

from remit.deciding_files import DECIDING
from remit.dispatch.tools.deciding import decides_what_runs
from remit.gate.git_settings import decides_what_git_runs
from remit.gate.guarded import is_guarded_name, is_instruction
from remit.gate.settings import GateSettings

NAMES = [
    *(".mcp.json", ".github/mcp.json", "opencode.json", "opencode.jsonc", ".envrc"),
    *(".github/hooks/a.json", ".github/agents/a.md", ".github/workflows/ci.yml"),
    *(".vscode/mcp.json", ".vscode/tasks.json", ".vscode/settings.json"),
    *(".codex/config.toml", ".cursor/mcp.json", ".opencode/plugins/a.js", ".claude/agents/a.md"),
    *(".devcontainer/devcontainer.json", ".zed/tasks.json", ".windsurf/hooks.json", ".gemini/settings.json"),
    *(".cursor/rules/a.mdc", ".clinerules/hooks/PreToolUse", ".roo/mcp.json", ".roomodes", ".kiro/hooks/a.kiro.hook"),
    *(".aider.conf.yml", ".husky/pre-commit", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.toml"),
    *(".gitlab-ci.yml", "Jenkinsfile", "jenkinsfile", ".circleci/config.yml", ".github/actions/build/action.yml"),
]


@pytest.mark.parametrize("folder", ["", "packages/app/"])
@pytest.mark.parametrize("name", NAMES)
def test_the_gate_and_jobs_protect_the_same_files(name: str, folder: str) -> None:
    assert is_guarded_name(folder + name, GateSettings())
    assert decides_what_runs(folder + name)


@pytest.mark.parametrize(
    "name", ["docs/settings.json", ".github/dependabot.yml", ".vscode/launch.json", "src/mcp.py", ".kiro/specs/a.md"]
)
def test_another_file_is_ordinary(name: str) -> None:
    assert not is_guarded_name(name, GateSettings())
    assert not decides_what_runs(name)


@pytest.mark.parametrize(
    "name", [".cursorrules", ".clinerules", ".clinerules/a.md", "GEMINI.md", ".kiro/steering/a.md"]
)
def test_instructions_of_other_clients_are_not_guarded_and_the_person_reads_it(name: str) -> None:
    assert not is_guarded_name(name, GateSettings())
    assert is_instruction("app/" + name)
    assert is_instruction(name)


def test_hooks_of_git_are_guarded_and_its_settings_are_watched() -> None:
    assert is_guarded_name(".git/hooks/pre-commit", GateSettings())
    assert decides_what_git_runs(".git/config")
    assert not decides_what_git_runs("config")


def test_every_entry_of_the_list_is_guarded() -> None:
    assert set(DECIDING) <= set(GateSettings().guarded)
