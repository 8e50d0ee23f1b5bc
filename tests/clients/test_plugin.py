"""What an install writes in addition to hooks: definitions, a skill, commands, and a plugin with all of it."""

from __future__ import annotations

import json
import shlex
import sys

import pytest
import yaml

from remit.clients.claude_code.setup import CLIENT as CLAUDE_CODE
from remit.clients.claude_code.setup import COMMANDS, EVENTS, command_files, hook_entries, plugin_files, skill_text
from remit.clients.hooks.hook_events import HANDLERS
from remit.gate.declarations import KINDS
from remit.gate.settings import AGENTS, LIMITS
from remit.registry.plugins import built_in_team

FILES = plugin_files(hook_entries(), "1.2.3")
#: Without the agent that the client defines itself.
TEAM = {one.name: one for one in built_in_team().definitions if one.name != "Explore"}
#: The tools of the real client that the team may have.
CLIENT_TOOLS = {"Read", "Grep", "Glob", "Edit", "Write", "Bash"}


def head(text: str) -> dict[str, object]:
    """Parse the frontmatter."""
    start, written, _ = text.split("---\n", 2)
    assert start == ""
    found = yaml.safe_load(written)
    assert isinstance(found, dict)
    return found


def test_every_handled_event_has_a_hook() -> None:
    assert set(EVENTS) == {event.partition(" ")[0] for event in HANDLERS}


def test_the_whole_team_is_included() -> None:
    assert sorted(CLAUDE_CODE.agent_files()) == sorted(f"{name}.md" for name in TEAM)


@pytest.mark.parametrize("name", TEAM)
def test_a_definition_is_written_in_the_clients_format(name: str) -> None:
    text = CLAUDE_CODE.agent_files()[f"{name}.md"]
    own = head(text)
    assert set(own) == {"name", "description", "tools", "model", "maxTurns"}
    assert own["name"] == name
    assert own["description"] == TEAM[name].description
    assert own["maxTurns"] == TEAM[name].max_turns
    assert text.endswith(f"{TEAM[name].body.strip()}\n")


@pytest.mark.parametrize("name", TEAM)
def test_no_definition_gets_more_tools_than_it_has(name: str) -> None:
    tools = str(head(CLAUDE_CODE.agent_files()[f"{name}.md"])["tools"]).split(", ")
    assert tools
    assert set(tools) == set(TEAM[name].tools or ()) & CLIENT_TOOLS


def test_a_reading_agent_has_no_shell_although_it_may_read_the_history() -> None:
    assert "GitLog" in (TEAM["code-explorer"].tools or ())
    assert head(CLAUDE_CODE.agent_files()["code-explorer.md"])["tools"] == "Read, Grep, Glob"


def test_the_skill_has_the_fields_and_the_phrases_that_trigger_it() -> None:
    own = head(skill_text())
    assert list(own) == ["name", "description", "allowed-tools", "model", "user-invocable"]
    assert own["user-invocable"] is False
    assert own["model"] == "inherit", "whoever works with another model goes on with it"
    words = str(own["description"])
    for phrase in ("subagent format", "agent output", "result format", "orchestrator rules", "delegation protocol"):
        assert phrase in words.partition("Trigger phrases:")[2], phrase
    assert len(words) <= 1024


def test_the_skill_names_the_effective_limits_and_agents() -> None:
    text = skill_text()
    limits = (f"{LIMITS['files']} files", f"{LIMITS['lines']} lines of each", f"{LIMITS['total']} lines in all")
    assert all(words in text for words in (*limits, *AGENTS.values()))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_runs_this_installation_and_nothing_of_its_folder(name: str) -> None:
    text = command_files()[f"{name}.md"]
    program = shlex.join([sys.executable, "-I", "-m", "remit.surfaces.cli.in_client"])
    assert "REMIT" not in text
    assert f"\n!`{program} " in text
    allowed = str(head(text)["allowed-tools"])
    assert allowed.startswith(f"Bash({program} ")
    line = text.partition("\n!`")[2].partition("`")[0]
    assert line.startswith(allowed.removeprefix("Bash(").removesuffix(":*)")), "it is allowed to run just that"


def test_only_the_user_can_declare() -> None:
    own = head(command_files()["declare.md"])
    assert own["disable-model-invocation"] is True
    assert all(kind in str(own["argument-hint"]) for kind in KINDS)


def test_the_plugin_has_everything_that_the_settings_have() -> None:
    assert json.loads(FILES["hooks/hooks.json"])["hooks"] == {
        event: [{"hooks": [entry]}] for event, entry in hook_entries().items()
    }
    for name, text in CLAUDE_CODE.agent_files().items():
        assert FILES[f"agents/{name}"] == text
    for name, text in command_files().items():
        assert FILES[f"commands/{name}"] == text
    assert FILES["skills/subagent-contract/SKILL.md"] == skill_text()


def test_the_plugin_has_a_manifest() -> None:
    manifest = json.loads(FILES[".claude-plugin/plugin.json"])
    assert manifest["name"] == "remit"
    assert manifest["version"] == "1.2.3"
    assert {"description", "author", "license"} <= set(manifest)
    assert len(FILES["README.md"].split()) >= 40
