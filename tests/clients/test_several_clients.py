"""Installs of other clients: what they write, what they keep, and several of them in one project."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from install_site import Site, everything

from remit.clients.hooks.compiled import folder_of, project_of
from remit.clients.hooks.hook_events import count_unknown, unknown_events, unknown_notice
from remit.clients.known_clients import CLIENTS
from remit.clients.setup.other_places import second_install_facts
from remit.gate.session_store import open_session

OTHERS = [name for name in CLIENTS if name != "claude-code"]
OWN = '{\n    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}\n}\n'


def run(site: Site, *words: str) -> str:
    done = site.remit(*words, "--project", str(site.project), "--yes")
    assert done.exception is None, done.output
    return done.output


@pytest.mark.parametrize("client", OTHERS)
def test_an_install_is_removed_without_a_trace(site: Site, client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    before, at_home = everything(site.project), everything(site.home)
    shown = run(site, "install", client)
    target = CLIENTS[client].find_target(site.project, is_user=False)
    assert target.display_path(target.settings) in shown
    assert "--client " + client in " ".join(shown.split())
    assert f"{client} is " in shown
    assert "nothing to change" in run(site, "install", client)
    assert everything(site.home) != at_home  # digests of the gate's files
    run(site, "uninstall", client)
    assert (everything(site.project), everything(site.home)) == (before, at_home)
    assert "nothing to remove" in run(site, "uninstall", client)


@pytest.mark.parametrize("client", OTHERS)
def test_files_of_the_user_stay(site: Site, client: str) -> None:
    setup = CLIENTS[client]
    target = setup.find_target(site.project, is_user=False)
    agent = target.folder / setup.agents / f"code-explorer{setup.ending}"
    agent.parent.mkdir(parents=True)
    text = setup.agent_files()[agent.name].replace("orchestrator", "boss")
    agent.write_text(text, encoding="utf-8")
    assert "yours is used" in run(site, "install", client, "--mode", "standard")
    run(site, "uninstall", client)
    assert agent.read_text(encoding="utf-8") == text


def test_hooks_of_the_user_in_codex_stay_byte_for_byte(site: Site) -> None:
    file = site.project / ".codex/hooks.json"
    file.parent.mkdir()
    file.write_text(OWN, encoding="utf-8")
    run(site, "install", "codex")
    hooks = json.loads(file.read_text(encoding="utf-8"))["hooks"]
    assert hooks["Stop"][0]["hooks"][0]["command"] == "true"
    assert hooks["Stop"][1]["hooks"][0]["command"].endswith("Stop --client codex")
    run(site, "uninstall", "codex")
    assert file.read_text(encoding="utf-8") == OWN


def test_clients_are_removed_one_by_one_and_the_state_with_the_last(site: Site) -> None:
    before = everything(site.project)
    for client in CLIENTS:
        run(site, "install", client)
    (site.project / ".remit/gate/session-1.json").write_text("{}")
    *first, last = CLIENTS
    for client in first:
        run(site, "uninstall", client)
        assert (site.project / ".remit/gate/session-1.json").exists()
        assert (site.project / ".remit/.gitignore").exists()
    assert "nothing to change" in run(site, "install", last)
    run(site, "uninstall", last)
    assert everything(site.project) == before


@pytest.mark.parametrize("mode", ["verify", "standard"])
@pytest.mark.parametrize("clients", [["codex"], ["codex", "opencode"], ["opencode", "claude-code"], [*CLIENTS]])
def test_without_a_client_all_are_removed_after_one_question(
    site: Site, monkeypatch: pytest.MonkeyPatch, person: None, clients: list[str], mode: str
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    before, at_home = everything(site.project), everything(site.home)
    for client in clients:
        run(site, "install", client, "--mcp", "--mode", mode)
    with open_session(str(site.project / ".remit/gate"), "one"):
        pass
    shown = site.remit("uninstall", typed="y\n").output
    assert shown.count("Continue?") == 1
    ordered = [name for name in CLIENTS if name in clients]
    assert shown.splitlines()[-1] == f"{', '.join(ordered)}: Remit's hooks and files are removed"
    if len(clients) > 1:
        assert [line[:-1] for line in shown.splitlines() if line[:-1] in CLIENTS] == ordered
    listed, _, _ = shown.partition("Continue?")
    assert listed.count("- remit.toml") == (mode == "verify")  # the other is the default
    assert listed.count("- .remit/.gitignore") == 1
    assert listed.count("the recorded state of 1 session is removed, too") == 1
    assert (everything(site.project), everything(site.home)) == (before, at_home)


def test_without_a_client_the_installs_for_all_projects_are_removed_with_user(site: Site) -> None:
    before = everything(site.home)
    for client in CLIENTS:
        assert site.remit("install", client, "--user", "--yes").exception is None
    shown = site.remit("uninstall", "--yes").output
    assert "no client is installed here; nothing to remove; claude-code, codex, copilot, opencode are still" in shown
    assert "installed for all your projects (`remit uninstall --user`)" in shown
    done = site.remit("uninstall", "--user", "--yes", "--format", "json")
    report = json.loads(done.output)
    assert {change["change"] for change in report["changes"]} == {"-"}
    assert report["outcome"] == "claude-code, codex, copilot, opencode: Remit's hooks and files are removed"
    assert everything(site.home) == before


def test_the_clients_that_stay_are_named(site: Site) -> None:
    run(site, "install", "codex")
    absent = run(site, "uninstall", "claude-code").splitlines()[-1]
    stays = "codex is still installed here (`remit uninstall`)"
    assert absent == f"claude-code is not installed here; nothing to remove; {stays}"
    run(site, "install", "opencode")
    assert run(site, "uninstall", "opencode").splitlines()[-1].endswith(f"are removed; {stays}")


def test_a_client_with_a_lost_record_is_removed_with_the_others(site: Site) -> None:
    before = everything(site.project)
    for client in ("claude-code", "codex"):
        run(site, "install", client, "--mode", "observe")
    (site.project / ".remit/codex/installed.json").unlink()
    assert "claude-code, codex: Remit's hooks" in run(site, "uninstall")
    assert everything(site.project) == before


@pytest.mark.parametrize("client", OTHERS)
def test_an_install_for_all_projects_is_removed_without_a_trace(site: Site, client: str) -> None:
    before = everything(site.home), everything(site.project)
    done = site.remit("install", client, "--user", "--mcp", "--yes")
    assert done.exception is None, done.output
    target = CLIENTS[client].find_target(None, is_user=True)
    assert target.settings.is_file()
    assert target.settings.is_relative_to(site.home)
    again = site.remit("install", client, "--project", str(site.project), "--yes")
    assert f"`remit uninstall {client} --user` first" in str(again.exception)  # each event would run both hooks
    done = site.remit("uninstall", client, "--user", "--yes")
    assert done.exception is None, done.output
    assert (everything(site.home), everything(site.project)) == before


@pytest.mark.parametrize("client", OTHERS)
def test_two_installs_whose_hooks_both_run_are_reported(site: Site, client: str) -> None:
    run(site, "install", client)
    assert list(second_install_facts(CLIENTS[client])) == []
    shown = " ".join(site.remit("install", client, "--user", "--yes").output.split())
    assert f"{client} is installed in this project, too, and here it would run the hooks of both" in shown
    [fact] = second_install_facts(CLIENTS[client])
    assert (fact.what, fact.level) == (client, "odd")
    assert fact.words.endswith(f"for example with `remit uninstall {client} --user`")
    run(site, "uninstall", client)
    assert list(second_install_facts(CLIENTS[client])) == []


def test_equal_hooks_of_claude_code_run_once(site: Site) -> None:
    warning = "would run the hooks of both"
    assert warning not in site.remit("install", "claude-code", "--user", "--yes").output
    assert warning not in run(site, "install", "claude-code")
    assert list(second_install_facts(CLIENTS["claude-code"])) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_is_not_on_the_path_is_named(
    site: Site, client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = Path(shutil.which("git") or "git").parent
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    program = CLIENTS[client].program
    absent = f"`{program}` is not on PATH here; the hooks take effect where {client} runs"
    assert absent in run(site, "install", client).splitlines()
    if client == "claude-code":
        monkeypatch.setattr(type(CLIENTS[client]), "_facts_of", lambda *_: iter(()))
        assert [fact.level for fact in CLIENTS[client].facts(site.project) if fact.words == absent] == ["odd"]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / program).write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{git}")
    run(site, "uninstall", client)
    assert "is not on PATH" not in run(site, "install", client)


def test_an_install_clears_the_count_of_unknown_events(site: Site) -> None:
    run(site, "install", "codex")
    folder = str(site.project / ".remit/gate")
    count_unknown(folder, "codex Thinking")
    assert unknown_events(folder)
    run(site, "install", "codex")
    assert not unknown_events(folder)


def test_doctor_lists_unknown_events(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    run(site, "install", "codex")
    count_unknown(str(site.project / ".remit/gate"), "codex Thinking")
    monkeypatch.chdir(site.project)
    notice = unknown_notice(folder_of(project_of(str(site.project))))
    assert "codex Thinking (1)" in notice
    assert "passed unchecked" in notice
