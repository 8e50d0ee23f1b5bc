"""Installs of other clients: what they write, what they keep, and several of them in one project."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from install_site import Site, everything

from remit.clients.hooks.compiled import folder_of, project_of
from remit.clients.hooks.hook_events import count_unknown, unknown_events, unknown_notice
from remit.clients.known_clients import CLIENTS, client_facts
from remit.dispatch.health import HealthFact
from remit.errors import UsageError
from remit.gate.session_store import open_session

OTHERS = [name for name in CLIENTS if name != "claude-code"]
OWN = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}, indent=4) + "\n"


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


@pytest.mark.parametrize("clients", [["codex"], ["codex", "opencode"], ["opencode", "claude-code"], [*CLIENTS]])
def test_without_a_client_all_are_removed_after_one_question(
    site: Site, monkeypatch: pytest.MonkeyPatch, person: None, clients: list[str]
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    before, at_home = everything(site.project), everything(site.home)
    for client in clients:
        run(site, "install", client)
    with open_session(str(site.project / ".remit/gate"), "one"):
        pass
    shown = site.remit("uninstall", typed="y\n").output
    assert shown.count("Continue?") == 1
    ordered = [name for name in CLIENTS if name in clients]
    assert shown.splitlines()[-1] == f"{', '.join(ordered)}: Remit's hooks and files are removed"
    if len(clients) > 1:
        assert [line[:-1] for line in shown.splitlines() if line[:-1] in CLIENTS] == ordered
    listed, _, _ = shown.partition("Continue?")
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
        run(site, "install", client)
    (site.project / ".remit/codex/installed.json").unlink()
    assert "claude-code, codex: Remit's hooks" in run(site, "uninstall")
    assert everything(site.project) == before


@pytest.mark.parametrize("client", OTHERS)
def test_an_install_for_all_projects_is_removed_without_a_trace(site: Site, client: str) -> None:
    before = everything(site.home), everything(site.project)
    done = site.remit("install", client, "--user", "--yes")
    assert done.exception is None, done.output
    target = CLIENTS[client].find_target(None, is_user=True)
    assert target.settings.is_file()
    assert target.settings.is_relative_to(site.home)
    again = site.remit("install", client, "--project", str(site.project), "--yes")
    assert f"`remit uninstall {client} --user` first" in str(again.exception)  # each event would run both hooks
    done = site.remit("uninstall", client, "--user", "--yes")
    assert done.exception is None, done.output
    assert (everything(site.home), everything(site.project)) == before


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_is_not_on_the_path_is_named(
    site: Site, client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = Path(shutil.which("git") or "git").parent
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    program = CLIENTS[client].program
    absent = f"`{program}` is not on PATH here; the hooks take effect where {client} runs"
    assert absent in run(site, "install", client).splitlines()
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


@pytest.mark.parametrize("client", list(CLIENTS))
def test_a_second_install_that_would_judge_twice_is_refused(site: Site, client: str) -> None:
    run(site, "install", client)
    assert "already installed in this project" in str(site.remit("install", client, "--user", "--yes").exception)
    run(site, "uninstall", client)
    assert site.remit("install", client, "--user", "--yes").exception is None
    done = site.remit("install", client, "--yes")
    assert "already installed for all your projects" in str(done.exception)


@pytest.mark.parametrize("client", OTHERS)
def test_only_claude_code_knows_the_mode_of_an_orchestrator(site: Site, client: str) -> None:
    before = everything(site.project)
    done = site.remit("install", client, "--mode", "orchestrator", "--yes")
    assert isinstance(done.exception, UsageError)
    assert f"{client} knows only the mode verify" in str(done.exception)
    assert everything(site.project) == before


@pytest.mark.process
@pytest.mark.parametrize("client", list(CLIENTS))
def test_doctor_tests_the_hooks_and_names_the_last_event(site: Site, client: str) -> None:
    def fact() -> HealthFact:
        return next(one for one in client_facts(client) if one.what.replace(" ", "-") == client)

    run(site, "install", client)
    assert "it sent a false report back in a test; no event of a session here has come yet" in fact().words
    with open_session(str(site.project / ".remit/gate"), "s", client=client):
        pass
    assert (fact().level, "the last event of a session here was on 2" in fact().words) == ("good", True)
    settings = CLIENTS[client].find_target(site.project, is_user=False).settings
    settings.write_text(settings.read_text().replace("-S", "-E"))
    assert (fact().level, "this installation" in fact().words or "another installation" in fact().words) == (
        "bad",
        True,
    )
