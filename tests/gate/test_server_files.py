"""Files of a project that decide what runs next: one list for the gate, for jobs and for guarded files."""

from __future__ import annotations

import pytest

from remit.deciding_files import DECIDING
from remit.dispatch.tools.deciding import decides_what_runs
from remit.gate.git_settings import decides_what_git_runs
from remit.gate.guarded import is_guarded_name
from remit.gate.settings import GateSettings

NAMES = [
    *(".mcp.json", ".github/mcp.json", "opencode.json", "opencode.jsonc", ".envrc"),
    *(".github/hooks/a.json", ".github/agents/a.md", ".github/workflows/ci.yml"),
    *(".vscode/mcp.json", ".vscode/tasks.json", ".vscode/settings.json"),
    *(".codex/config.toml", ".cursor/mcp.json", ".opencode/plugins/a.js", ".claude/agents/a.md"),
]


@pytest.mark.parametrize("folder", ["", "packages/app/"])
@pytest.mark.parametrize("name", NAMES)
def test_the_gate_and_jobs_protect_the_same_files(name: str, folder: str) -> None:
    assert is_guarded_name(folder + name, GateSettings())
    assert decides_what_runs(folder + name)


@pytest.mark.parametrize("name", ["docs/settings.json", ".github/dependabot.yml", ".vscode/launch.json", "src/mcp.py"])
def test_another_file_is_ordinary(name: str) -> None:
    assert not is_guarded_name(name, GateSettings())
    assert not decides_what_runs(name)


def test_hooks_of_git_are_guarded_and_its_settings_are_watched() -> None:
    assert is_guarded_name(".git/hooks/pre-commit", GateSettings())
    assert decides_what_git_runs(".git/config")
    assert not decides_what_git_runs("config")


def test_every_entry_of_the_list_is_guarded() -> None:
    assert set(DECIDING) <= set(GateSettings().guarded)
