"""The output of `remit install` and `remit uninstall`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from install_site import Site

from remit.clients.claude_code.setup import entry_file
from remit.gate.settings import MODES
from remit.reports.layout import display_width
from remit.surfaces.cli import clients


def last_line(site: Site, *words: str) -> str:
    done = site.remit("install", "claude-code", "--yes", *words)
    assert done.exception is None, done.exception
    return done.output.splitlines()[-1]


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("wide", [60, 80, 140])
def test_what_a_person_reads_on_a_terminal_fits_in_its_width(
    site: Site, monkeypatch: pytest.MonkeyPatch, wide: int
) -> None:
    monkeypatch.setattr(clients, "terminal_columns", lambda: wide)
    monkeypatch.setattr(clients, "columns", lambda: wide)
    shown = site.remit("install", "codex", typed="y\n").output
    shown += site.remit("uninstall", typed="y\n").output
    assert "approve Remit's hooks" in " ".join(shown.split())
    asked = [line for line in shown.splitlines() if not line.startswith(("Which mode?", "Continue?"))]
    assert [line for line in asked if display_width(line) > wide] == []


@pytest.mark.parametrize("mode", MODES)
def test_the_last_line_names_the_effective_mode(site: Site, mode: str) -> None:
    state = {"verify": "verified"}.get(mode, "under contract")
    end = "start a new session, and check it with `remit doctor`"
    done = site.remit("install", "claude-code", "--yes", "--mode", mode).output.splitlines()
    assert f"claude-code is {state} (mode {mode}); {end}" in done[-2:]
    assert done[-1].startswith("no call is denied") is (mode == "verify")
    assert last_line(site) == f"claude-code is already {state} here (mode {mode}); nothing to change"


def test_an_install_for_all_projects_names_its_mode_and_shows_paths_from_home(site: Site) -> None:
    done = site.remit("install", "claude-code", "--user", "--mode", "orchestrator", "--yes")
    lines = done.output.splitlines()
    assert "(mode orchestrator)" in lines[-1]
    assert "+ ~/.claude/settings.json" in lines
    assert "+ ~/.claude/agents/code-explorer.md" in lines
    (site.home / ".claude/agents/code-explorer.md").write_text("mine", encoding="utf-8")
    removed = site.remit("uninstall", "--user", "--yes").output
    assert "- ~/.claude/settings.json\n" in removed
    assert "kept ~/.claude/agents/code-explorer.md: it was changed" in removed


@pytest.mark.parametrize("file", ["{project}/.claude/settings.json", "{home}/.claude/settings.json"])
def test_an_install_warns_if_hooks_are_switched_off(site: Site, file: str) -> None:
    path = Path(file.format(project=site.project, home=site.home))
    path.parent.mkdir()
    path.write_text('{"disableAllHooks": true}', encoding="utf-8")
    shown = ".claude/settings.json" if path.is_relative_to(site.project) else str(path)
    words = f"claude-code is NOT verified: disableAllHooks in {shown} switches all hooks off; remove it first"
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
        ("", ".claude/settings.local.json and .claude/commands/remit contain paths of this machine"),
        ("settings.local.json\n", ".claude/commands/remit contains paths of this machine"),
        (".claude/\n", ""),
    ],
)
def test_the_note_on_git_appears_once_and_only_for_files_that_git_would_track(
    site: Site, ignored: str, note: str
) -> None:
    repository(site, ignored)
    first = site.remit("install", "claude-code", "--mode", "orchestrator", "--yes").output
    assert ("do not commit them" in first) is bool(note)
    assert note in first
    assert "project's history" not in site.remit("install", "claude-code", "--mode", "verify", "--yes").output


def test_there_is_no_note_on_git_without_a_repository(site: Site) -> None:
    (site.project / ".git").rmdir()
    assert "project's history" not in site.remit("install", "claude-code", "--project", ".", "--yes").output


def test_the_command_of_the_hooks_is_shown_completely(site: Site) -> None:
    words = "".join(site.remit("install", "claude-code", "--yes").output.split())
    assert "".join(f"each entry calls {sys.executable} -I -S {entry_file()} EVENT".split()) in words
