"""The mode of an install: which one it gets, what it installs, and how it is changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from install_site import Site, everything

from remit.clients.hooks.compiled import read_compiled
from remit.clients.hooks.compiling import compile_project
from remit.clients.known_clients import CLIENTS
from remit.clients.setup.file_changes import read_record, record_file
from remit.clients.setup.install import effective_mode
from remit.configuration import load
from remit.gate.decide import decide
from remit.gate.session import SessionState
from remit.gate.settings import MODES, from_configuration
from remit.gate.tool_use import ToolUse
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


def configured(site: Site) -> str:
    return effective_mode(site.target)


def test_every_mode_is_explained_in_one_line() -> None:
    assert list(MEANINGS) == list(MODES)
    assert all(len(name) + len(meaning) < 100 for name, meaning in MEANINGS.items())


@pytest.mark.parametrize("client", list(CLIENTS))
@pytest.mark.parametrize("mode", ["verify", "observe"])
def test_a_mode_without_a_team_installs_hooks_and_nothing_else(site: Site, client: str, mode: str) -> None:
    shown = run(site, "install", client, "--mode", mode)
    assert f"mode {mode}" in shown
    assert files(site.project / FOLDERS[client]) == HOOKS[client]
    assert "permissions" not in (site.project / FOLDERS[client] / next(iter(HOOKS[client]))).read_text()
    assert not (site.project / ".remit/claude-code").exists()


@pytest.mark.parametrize("client", list(CLIENTS))
def test_the_default_of_a_new_install_is_verify(site: Site, client: str) -> None:
    assert "mode verify" in run(site, "install", client)
    assert configured(site) == "verify"
    assert "nothing to change" in run(site, "install", client)


@pytest.mark.parametrize("client", list(CLIENTS))
@pytest.mark.parametrize("mode", ["verify", "observe"])
def test_a_changed_mode_leaves_nothing_of_the_other_mode_behind(site: Site, client: str, mode: str) -> None:
    before = everything(site.project)
    run(site, "install", client, "--mode", mode)
    alone = everything(site.project)
    run(site, "install", client, "--mode", "standard")
    team = everything(site.project)
    assert len(files(site.project / FOLDERS[client])) > len(HOOKS[client])
    run(site, "install", client, "--mode", mode)
    assert without_state(everything(site.project)) == without_state(alone)
    run(site, "install", client, "--mode", "standard")
    assert without_state(everything(site.project)) == without_state(team)
    run(site, "uninstall", client)
    assert everything(site.project) == before


def without_state(found: dict[str, bytes | None]) -> dict[str, bytes | None]:
    return {path: data for path, data in found.items() if not path.startswith(".remit/gate/")}


def test_rules_and_files_of_the_user_stay_when_the_mode_changes(site: Site) -> None:
    run(site, "install", "claude-code", "--mode", "standard")
    settings = json.loads(site.settings.read_text())
    settings["permissions"]["deny"].append("Bash(rm:*)")
    site.settings.write_text(json.dumps(settings))
    agent = site.project / ".claude/agents/qa-engineer.md"
    agent.write_text(agent.read_text() + "\nMore.\n")
    shown = run(site, "install", "claude-code", "--mode", "verify")
    assert json.loads(site.settings.read_text())["permissions"] == {"deny": ["Bash(rm:*)"]}
    assert files(site.project / ".claude") == {"settings.local.json", "agents/qa-engineer.md"}
    assert "it was changed after it was installed, so it stays" in " ".join(shown.split())


@pytest.mark.parametrize("mode", [[], ["--mode", "standard"]])
@pytest.mark.usefixtures("person")
def test_a_faulty_configuration_is_refused_before_the_question(
    site: Site, mode: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_CONFIG", str(site.project / "remit.toml"))
    (site.project / "remit.toml").write_text('[gate]\nmodes = "verify"\n')
    before = everything(site.project)
    done = site.remit("install", "codex", *mode, typed="y\n" * 3)
    assert done.exit_code != 0
    assert "gate.modes" in str(done.exception)
    assert "Continue?" not in done.output
    assert everything(site.project) == before


def test_a_lost_record_leaves_nothing_behind_either(site: Site) -> None:
    run(site, "install", "claude-code", "--mode", "standard")
    record_file(site.target).unlink()
    run(site, "install", "claude-code", "--mode", "verify")
    assert files(site.project / ".claude") == HOOKS["claude-code"]
    assert "permissions" not in json.loads(site.settings.read_text())


def test_an_install_of_an_earlier_version_keeps_its_mode(site: Site) -> None:
    site.install()  # as version 0.1.0 did: no configuration states a mode
    before = everything(site.project)
    assert "mode standard" in run(site, "install", "claude-code")
    assert without_state(everything(site.project)) == without_state(before)


@pytest.mark.parametrize("mode", ["standard", "strict", "observe"])
def test_a_project_that_states_a_mode_keeps_it(site: Site, mode: str) -> None:
    (site.project / "remit.toml").write_text(f'[gate]\nmode = "{mode}"\n')
    assert f"mode {mode}" in run(site, "install", "codex")
    assert (site.project / ".codex/agents").exists() is (mode != "observe")
    assert (site.project / "remit.toml").read_text() == f'[gate]\nmode = "{mode}"\n'


def test_clients_of_one_project_change_their_mode_together(site: Site) -> None:
    run(site, "install", "claude-code", "--mode", "standard")
    run(site, "install", "codex")
    assert (site.project / ".codex/agents").is_dir()
    shown = run(site, "install", "codex", "--mode", "verify")
    assert "claude-code is installed here, too" in shown
    assert files(site.project / ".claude") == HOOKS["claude-code"]
    assert files(site.project / ".codex") == HOOKS["codex"]


@pytest.mark.parametrize("client", list(CLIENTS))
def test_an_install_for_all_projects_has_a_mode(site: Site, client: str) -> None:
    before = everything(site.home)
    done = site.remit("install", client, "--user", "--yes")
    assert "mode verify" in done.output
    target = CLIENTS[client].find_target(None, is_user=True)
    assert not (target.folder / "agents").exists()
    compile_project(site.project)
    assert (read_compiled(str(site.project)) or {})["gate"]["mode"] == "verify"
    assert site.remit("install", client, "--user", "--mode", "standard", "--yes").exit_code == 0
    assert (target.folder / "agents").is_dir()
    (site.project / "remit.toml").write_text('[gate]\nmode = "observe"\n')
    compile_project(site.project, confirm=True)
    assert (read_compiled(str(site.project)) or {})["gate"]["mode"] == "observe"
    assert site.remit("uninstall", client, "--user", "--yes").exit_code == 0
    assert everything(site.home) == before


@pytest.mark.parametrize(
    "call",
    [
        ("Write", {"file_path": "{home}/.remit/gate/mode", "content": "observe"}),
        ("Bash", {"command": "echo observe > ~/.remit/gate/mode"}),
    ],
)
def test_an_agent_cannot_change_the_mode_of_all_projects(site: Site, call: tuple[str, dict[str, str]]) -> None:
    site.remit("install", "claude-code", "--user", "--mode", "standard", "--yes")
    tool, tool_input = call
    values = {name: value.replace("{home}", str(site.home)) for name, value in tool_input.items()}
    payload = {"tool_name": tool, "tool_input": values, "cwd": str(site.project), "session_id": "s"}
    decision = decide(
        ToolUse.from_payload(payload), SessionState(), from_configuration(load(site.project)), str(site.project)
    )
    assert (decision.decision, decision.rule) == ("deny", "guarded-state")


def test_an_install_for_all_projects_of_an_earlier_version_keeps_its_mode(site: Site) -> None:
    site.remit("install", "claude-code", "--user", "--mode", "standard", "--yes")
    (site.home / ".remit/gate/mode").unlink()
    assert "mode standard" in site.remit("install", "claude-code", "--user", "--yes").output
    assert (site.home / ".claude/agents").is_dir()


@pytest.mark.parametrize(
    ("typed", "mode"), [("\ny\n", "verify"), ("observe\ny\n", "observe"), ("lax\nstrict\ny\n", "strict")]
)
@pytest.mark.usefixtures("person")
def test_a_person_on_a_terminal_is_asked(site: Site, typed: str, mode: str) -> None:
    done = site.remit("install", "claude-code", typed=typed)
    assert done.exit_code == 0, done.output
    assert all(meaning in " ".join(done.output.split()) for meaning in MEANINGS.values())
    assert configured(site) == mode
    assert "Which mode?" not in site.remit("install", "claude-code", typed="y\n").output


def test_the_record_names_the_files_of_the_mode(site: Site) -> None:
    run(site, "install", "claude-code", "--mode", "standard")
    run(site, "install", "claude-code", "--mode", "verify")
    record = read_record(site.target)
    assert record is not None
    assert (list(record.files), record.rules) == ([".remit/.gitignore"], [])


def test_the_mode_of_a_project_stays_until_its_last_client_is_removed(site: Site) -> None:
    before = everything(site.project)
    run(site, "install", "claude-code")
    run(site, "install", "codex")
    run(site, "uninstall", "claude-code")
    assert configured(site) == "verify"
    run(site, "install", "codex", "--mode", "observe")
    assert configured(site) == "observe"
    run(site, "uninstall", "codex")
    assert everything(site.project) == before
