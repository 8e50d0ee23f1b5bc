"""The mode of an install: which one it gets, what it installs, and how it is changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from install_site import Site, everything

from remit.clients.claude_code.setup import CALLS, EVENTS, is_ours
from remit.clients.known_clients import CLIENTS
from remit.clients.setup.file_changes import read_record, record_file
from remit.clients.setup.install import installed_mode
from remit.clients.setup.settings_file import own_groups
from remit.gate.settings import MODES
from remit.surfaces.cli.clients import MEANINGS

FOLDERS = {"claude-code": ".claude", "codex": ".codex", "copilot": ".github", "opencode": ".opencode"}
#: The only files of an install in the client's folder without a team.
HOOKS = {
    "claude-code": {"settings.local.json"},
    "codex": {"hooks.json"},
    "copilot": {"hooks/remit.json"},
    "opencode": {"plugins/remit.js"},
}


def run(site: Site, *words: str) -> str:
    done = site.remit(*words, "--project", str(site.project), "--yes")
    assert done.exit_code == 0, done.output
    return done.output


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_every_mode_is_explained_in_one_line() -> None:
    assert list(MEANINGS) == list(MODES)
    assert all(len(name) + len(meaning) < 100 for name, meaning in MEANINGS.items())


@pytest.mark.parametrize("client", list(CLIENTS))
def test_a_new_install_verifies_and_installs_hooks_and_nothing_else(site: Site, client: str) -> None:
    shown = run(site, "install", client)
    assert "mode verify" in shown
    assert "no call is denied: the orchestrator's limits need `--mode orchestrator`" in shown
    assert files(site.project / FOLDERS[client]) == HOOKS[client]
    assert "permissions" not in (site.project / FOLDERS[client] / next(iter(HOOKS[client]))).read_text()
    assert "nothing to change" in run(site, "install", client)


def test_an_ordinary_call_matches_no_hook_in_verify(site: Site) -> None:
    site.install(mode="verify")
    groups = own_groups(site.settings.read_text(), is_ours)
    assert set(groups) == set(EVENTS)
    matched = {event: group["matcher"] for event, group in groups.items() if "matcher" in group}
    assert matched == dict.fromkeys(("PreToolUse", "PostToolUse", "PostToolUseFailure"), CALLS)
    assert CALLS.split("|") == ["Agent", "Task", "SendMessage"]
    site.install(mode="orchestrator")
    groups = own_groups(site.settings.read_text(), is_ours)
    assert not any("matcher" in group for group in groups.values())
    assert {hook["args"][-1] for group in groups.values() for hook in group["hooks"]} == {"orchestrator"}


def test_a_changed_mode_leaves_nothing_of_the_other_mode_behind(site: Site) -> None:
    before = everything(site.project)
    for mode in ("verify", "orchestrator", "verify", "orchestrator"):
        site.install(mode=mode)
        assert installed_mode(site.target) == mode
        assert (files(site.project / ".claude") == HOOKS["claude-code"]) is (mode == "verify")
        assert ("permissions" in json.loads(site.settings.read_text())) is (mode == "orchestrator")
    run(site, "install", "claude-code")
    assert installed_mode(site.target) == "orchestrator", "an install without a mode keeps the installed one"
    site.uninstall()
    assert everything(site.project) == before


def test_an_orchestrator_gets_agents_a_skill_commands_and_rules(site: Site) -> None:
    site.install(mode="orchestrator")
    found = files(site.project / ".claude")
    assert {"agents/code-explorer.md", "skills/remit/SKILL.md", "commands/remit/declare.md"} <= found
    assert f"Edit(/{site.project}/.remit/gate/**)" in json.loads(site.settings.read_text())["permissions"]["deny"]


def test_rules_and_files_of_the_user_stay_when_the_mode_changes(site: Site) -> None:
    site.install(mode="orchestrator")
    settings = json.loads(site.settings.read_text())
    settings["permissions"]["deny"].append("Bash(rm:*)")
    site.settings.write_text(json.dumps(settings))
    agent = site.project / ".claude/agents/qa-engineer.md"
    agent.write_text(agent.read_text() + "\nMore.\n")
    shown = run(site, "install", "claude-code", "--mode", "verify")
    assert json.loads(site.settings.read_text())["permissions"] == {"deny": ["Bash(rm:*)"]}
    assert files(site.project / ".claude") == {"settings.local.json", "agents/qa-engineer.md"}
    assert "it was changed after it was installed, so it stays" in " ".join(shown.split())


def test_a_lost_record_leaves_nothing_behind_either(site: Site) -> None:
    site.install(mode="orchestrator")
    record_file(site.target).unlink()
    site.install(mode="verify")
    assert files(site.project / ".claude") == HOOKS["claude-code"]
    assert "permissions" not in json.loads(site.settings.read_text())


@pytest.mark.parametrize(("typed", "mode"), [("\ny\n", "verify"), ("lax\norchestrator\ny\n", "orchestrator")])
@pytest.mark.usefixtures("person")
def test_a_person_on_a_terminal_is_asked(site: Site, typed: str, mode: str) -> None:
    done = site.remit("install", "claude-code", typed=typed)
    assert done.exit_code == 0, done.output
    assert all(meaning in " ".join(done.output.split()) for meaning in MEANINGS.values())
    assert installed_mode(site.target) == mode
    assert "Which mode?" not in site.remit("install", "claude-code", typed="y\n").output


def test_the_record_names_the_files_of_the_mode(site: Site) -> None:
    site.install(mode="orchestrator")
    site.install(mode="verify")
    record = read_record(site.target)
    assert record is not None
    assert (list(record.files), record.rules) == ([".remit/.gitignore"], [])
