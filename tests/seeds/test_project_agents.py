"""What the source documents require of definitions in the project and of names, tried on the command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from remit.operations.job_fields import Run
from remit.surfaces.cli.group import remit
from remit.surfaces.cli.job_commands import with_task


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project without configuration, as the current folder."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def define(project: Path, name: str, fields: str = "", body: str = "Print only the command.") -> None:
    folder = project / ".claude/agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\nname: {name}\ndescription: it helps\ntools: Read\n{fields}---\n{body}\n")


def remit_done(*arguments: str) -> Result:
    return CliRunner().invoke(remit, list(arguments), standalone_mode=False)


def brief(*arguments: str) -> tuple[dict[str, Any], str]:
    done = remit_done("agents", "explain", *arguments, "--format", "json")
    assert done.exit_code == 0, done.output
    shape: dict[str, Any] = json.loads(done.stdout)
    return shape, done.stderr


def test_n7_the_agents_of_the_project_are_read_without_configuration(project: Path) -> None:
    define(project, "my-agent")
    (project / "src/deep").mkdir(parents=True)
    found, _ = brief("my-agent")
    assert (found["system"], found["tools"]) == ("Print only the command.", ["Read"])


def test_n7_they_are_found_from_a_subfolder_and_not_above_the_checkout(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    define(project, "my-agent")
    inner = project / "src/deep"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert brief("my-agent")[0]["tools"] == ["Read"]
    subprocess.run(["git", "init", "-q", str(inner)], check=True)
    assert brief("my-agent")[0]["system_from"] == "default"


def test_n7_a_built_in_agent_of_the_same_name_gives_way_with_a_line(project: Path) -> None:
    define(project, "code-explorer", body="Explore it my way.")
    found, printed = brief("code-explorer")
    assert found["system"] == "Explore it my way."
    assert "code-explorer.md' (plugin 'agents') replaces the built-in 'code-explorer'" in printed


def test_n7_a_configured_plugin_comes_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_CONFIG", str(project / "remit.toml"))
    define(project, "my-agent")
    (project / "other").mkdir()
    (project / "other/my-agent.md").write_text("---\nname: my-agent\n---\nFrom the plugin.\n")
    (project / "remit.toml").write_text(f'plugin_path = ["{project / "other"}"]\n')
    assert brief("my-agent")[0]["system"] == "From the plugin."


def test_i25_a_definition_that_does_not_know_the_form_is_not_asked_for_it(project: Path) -> None:
    define(project, "nl-to-shell")
    found, _ = brief("nl-to-shell")
    assert (found["contract"], found["profile"], found["system"]) == ("", "claims", "Print only the command.")


@pytest.mark.parametrize("fields", ["kind: review\n", "contract: v2\n", "profile: v2\n"])
def test_i25_a_definition_that_states_its_kind_or_contract_is_asked_for_a_report(fields: str, project: Path) -> None:
    define(project, "auditor", fields)
    found, _ = brief("auditor")
    assert found["profile"] == "v2"
    assert "## Auditor Result" in found["contract"]


def test_i25_an_agent_of_the_contract_is_asked_for_a_report(project: Path) -> None:
    define(project, "qa-engineer")
    found, _ = brief("qa-engineer")
    assert (found["kind"], found["profile"]) == ("review", "v2")
    assert "## QA Engineer Result" in found["contract"]


def test_item9_a_typo_grants_no_tools(project: Path) -> None:
    for options in ((), ("--detach",)):
        done = remit_done("run", "code-explorr", "trace the login", *options)
        assert "did you mean 'code-explorer'?" in str(done.exception)
        assert "--open" in str(done.exception)


def test_item9_open_falls_through_and_so_does_a_name_that_is_not_a_typo(project: Path) -> None:
    assert with_task(Run(words=["code-explorr", "trace the login"], open=True)).agent == "code-explorr"
    for name in ("nl-to-shell", "code-reviewer", "code_explorer", "x"):
        assert with_task(Run(words=[name, "trace the login"])).agent == name
