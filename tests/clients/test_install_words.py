"""What `remit install` and `remit uninstall` say: what is in force, where things are, and what stands in the way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from install_site import Site

from remit.clients.claude_code.setup.hook_entries import EVENTS, entry_file
from remit.gate.settings import MODES
from remit.reports.layout import display_width


def last_line(site: Site, *words: str) -> str:
    done = site.remit("install", "claude-code", "--yes", *words)
    assert done.exception is None, done.exception
    return done.output.splitlines()[-1]


@pytest.mark.parametrize("mode", MODES)
def test_the_last_line_says_which_mode_is_in_force(site: Site, mode: str) -> None:
    words = ["--mode", mode] if mode != "standard" else []
    end = "start a new session, and `remit doctor` proves it"
    assert last_line(site, *words) == f"claude-code is under contract (mode {mode}); {end}"
    assert last_line(site) == f"claude-code is already under contract here (mode {mode}): nothing to change"


def test_the_mode_of_the_environment_is_the_one_in_force(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_GATE_MODE", "strict")
    assert "(mode strict)" in last_line(site)


def test_an_install_for_every_project_speaks_of_no_single_mode_and_names_paths_from_home(site: Site) -> None:
    done = site.remit("install", "claude-code", "--user", "--yes")
    lines = done.output.splitlines()
    assert "(each project in its own mode)" in lines[-1]
    assert "+ ~/.claude/settings.json" in lines
    assert "+ ~/.claude/agents/code-explorer.md" in lines
    assert any(line.startswith("+ ~/.remit/claude-code/plugin/ (") for line in lines)
    (site.home / ".claude/agents/code-explorer.md").write_text("mine", encoding="utf-8")
    removed = site.remit("uninstall", "--user", "--yes").output
    assert "- ~/.claude/settings.json\n" in removed
    assert "kept ~/.claude/agents/code-explorer.md: it was changed" in removed


@pytest.mark.parametrize("file", ["{project}/.claude/settings.json", "{home}/.claude/settings.json"])
def test_an_install_warns_at_its_end_where_hooks_are_switched_off(site: Site, file: str) -> None:
    path = Path(file.format(project=site.project, home=site.home))
    path.parent.mkdir()
    path.write_text('{"disableAllHooks": true}', encoding="utf-8")
    shown = ".claude/settings.json" if path.is_relative_to(site.project) else str(path)
    words = f"claude-code is NOT under contract: disableAllHooks in {shown} switches every hook off; take it out first"
    assert last_line(site) == words
    assert last_line(site) == words, "also where nothing was left to do"
    report = json.loads(site.remit("install", "claude-code", "--yes", "--format", "json").output)
    assert report["outcome"] == words


def repository(site: Site, ignored: str = "") -> None:
    (site.project / ".git").rmdir()
    subprocess.run(["git", "init", "--quiet"], cwd=site.project, check=True)
    if ignored:
        (site.project / ".gitignore").write_text(ignored, encoding="utf-8")


@pytest.mark.parametrize(
    ("ignored", "note"),
    [
        ("", ".claude/settings.local.json and .claude/commands/remit hold paths of this machine"),
        ("settings.local.json\n", ".claude/commands/remit holds paths of this machine"),
        (".claude/\n", ""),
    ],
)
def test_git_is_spoken_of_once_and_only_of_files_that_it_would_take(site: Site, ignored: str, note: str) -> None:
    repository(site, ignored)
    first = site.remit("install", "claude-code", "--yes").output
    assert ("keep them out of the project's history" in first) is bool(note)
    assert note in first
    assert "project's history" not in site.remit("install", "claude-code", "--mode", "strict", "--yes").output


def test_git_is_not_spoken_of_where_there_is_none(site: Site) -> None:
    (site.project / ".git").rmdir()
    assert "project's history" not in site.remit("install", "claude-code", "--project", ".", "--yes").output


@pytest.mark.parametrize("command", [("install", "claude-code", "--yes"), ("uninstall", "--yes")])
def test_what_changes_is_shown_within_the_screen(
    site: Site, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    if command[0] == "uninstall":
        site.install()
    lines = site.remit(*command).output.splitlines()
    shown = lines[: next(at for at, line in enumerate(lines) if "the same as a plugin" in line)]
    assert max(map(display_width, shown)) <= 80
    mark = "+" if command[0] == "install" else "-"
    for event in EVENTS:
        assert any(line.startswith(f'    {mark}    "{event}": [') and line.endswith("…") for line in shown), event


def test_the_program_that_hooks_start_is_told_whole(site: Site) -> None:
    words = "".join(site.remit("install", "claude-code", "--yes").output.split())
    assert "".join(f"each entry calls {sys.executable} -I -S {entry_file()} EVENT".split()) in words


def test_the_help_lists_the_modes_and_says_that_there_is_no_server_yet(site: Site) -> None:
    text = " ".join(site.remit("install", "--help").output.split())
    assert "[observe|standard|strict]" in text
    assert "a later version brings the server" in text
    refused = site.remit("install", "claude-code", "--mode", "lax")
    assert "'lax' is not one of 'observe', 'standard', 'strict'" in str(refused.exception)
