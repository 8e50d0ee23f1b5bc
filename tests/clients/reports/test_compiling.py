"""Compiling the settings and definitions of a project, and again after changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.client_session import Client

from remit.clients.hooks.compiled import is_fresh, read_compiled
from remit.clients.hooks.compiling import compile_project
from remit.clients.hooks.project import ProjectContext
from remit.errors import EnvironmentBroken
from remit.gate.record_store import store_path
from remit.registry.plugins import built_in_team
from remit.surfaces.cli import contract

AGENT = "---\nname: {name}\ndescription: d\n{more}---\nDo it.\n"


def values_of(project: Path) -> dict[str, Any]:
    found = read_compiled(str(project))
    assert found is not None
    return found


def define(folder: Path, name: str, more: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.md"
    file.write_text(AGENT.format(name=name, more=more))
    return file


def test_without_settings_the_built_in_team_is_under_contract(client: Client) -> None:
    expected = {definition.name: definition.kind for definition in built_in_team().definitions}
    assert values_of(client.project)["contract"] == expected


def test_the_instructions_of_each_kind_are_those_of_the_prompt_command(client: Client) -> None:
    values = values_of(client.project)
    assert set(values["prompts"]) == set(values["contract"].values())
    for kind, text in values["prompts"].items():
        printed = CliRunner().invoke(contract.prompt_command, ["--kind", kind])
        assert printed.output.strip() == text.strip()


def test_the_kind_is_the_definitions_then_the_settings_then_generic(begin: Callable[[str], Client]) -> None:
    client = begin('[gate]\nunder_contract = ["a", "b", "c", "kit:d"]\n[agents.kinds]\nb = "review"\n')
    define(client.project / ".claude/agents", "a", "kind: design\n")
    define(client.project / ".claude/agents", "d", "kind: document\n")
    context = ProjectContext.open(str(client.project))
    named = {"a": "design", "b": "review", "c": "generic", "kit:d": "document"}
    assert {name: context.contract[name] for name in named} == named
    assert context.contract["qa-engineer"] == "review"


class TestTools:
    """Return the tools of the definitions that the client would use."""

    def tools(self, client: Client) -> dict[str, tuple[str, ...]]:
        return ProjectContext.open(str(client.project)).settings.tools

    def test_a_definition_limits_its_agent_and_one_without_a_list_does_not(self, client: Client) -> None:
        define(client.project / ".claude/agents", "scout", "tools: Read, Grep\n")
        define(client.project / ".claude/agents/deeper", "free")
        define(client.project / ".claude/agents", "all", 'tools: "*"\n')
        assert self.tools(client) == {"scout": ("Read", "Grep"), "free": ("*",), "all": ("*",)}, "a star limits nothing"

    def test_the_projects_definition_hides_the_users(self, client: Client) -> None:
        define(client.project.parent / ".claude/agents", "scout", "tools: Bash\n")
        define(client.project.parent / ".claude/agents", "mine", "tools: Read\n")
        define(client.project / ".claude/agents", "scout", "tools: Grep\n")
        assert self.tools(client) == {"scout": ("Grep",), "mine": ("Read",)}

    def test_the_users_folder_may_be_elsewhere(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        elsewhere = client.project.parent / "elsewhere"
        define(elsewhere / "agents", "scout", "tools: Bash\n")
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(elsewhere))
        compile_project(client.project)
        assert self.tools(client) == {"scout": ("Bash",)}

    def test_an_unknown_tool_is_kept(self, client: Client) -> None:
        define(client.project / ".claude/agents", "scout", "tools: Read, BrandNewTool, mcp__el__ask\n")
        assert set(self.tools(client)["scout"]) == {"Read", "BrandNewTool", "mcp__el__ask"}

    def test_hostile_definitions_are_handled(self, client: Client) -> None:
        folder = client.project / ".claude/agents"
        define(folder, "scout", "tools: Read\n")
        (folder / "broken.md").write_bytes(b"---\nname: [\xff\n")
        (folder / "huge.md").write_bytes(b"---\n" + b"x" * 1_000_000)
        (folder / "out.md").symlink_to("/etc/passwd")
        (folder / "round").symlink_to(folder)
        assert self.tools(client) == {"scout": ("Read",)}


class TestFresh:
    """The file is outdated when one of its sources has changed."""

    def test_newly_compiled_settings_are_fresh(self, client: Client) -> None:
        assert is_fresh(values_of(client.project))

    def test_a_new_changed_or_removed_definition_is_detected(self, client: Client) -> None:
        file = define(client.project / ".claude/agents", "scout", "tools: Read\n")
        assert ProjectContext.open(str(client.project)).settings.tools == {"scout": ("Read",)}
        file.write_text(AGENT.format(name="scout", more="tools: Read, Grep\n"))
        assert ProjectContext.open(str(client.project)).settings.tools == {"scout": ("Read", "Grep")}
        file.unlink()
        assert ProjectContext.open(str(client.project)).settings.tools == {}


def test_the_store_is_private_and_the_gate_stays_out_of_git(client: Client) -> None:
    compile_project(client.project)
    folder = client.project / ".remit/gate"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (client.project / ".remit/.gitignore").read_text() == "*\n"
    store = Path(store_path(str(folder)))
    assert store.parent.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in store.parent.iterdir()} == {0o600}


def test_an_unusable_folder_is_an_error_with_its_name(client: Client) -> None:
    project = client.project.parent / "other"
    project.mkdir()
    (project / ".remit").write_text("a file")
    with pytest.raises(EnvironmentBroken, match=r"\.remit cannot be written"):
        compile_project(project)
