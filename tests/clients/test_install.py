"""`remit install claude-code` and `remit uninstall`: what they write, what they keep, and what they remove."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from install_site import Site, everything

from remit.clients.claude_code import setup
from remit.clients.claude_code.setup import CLIENT as CLAUDE_CODE
from remit.clients.claude_code.setup import hook_groups, is_ours
from remit.clients.hooks import compiling
from remit.clients.setup import file_changes
from remit.clients.setup.install import apply_install, plan_install
from remit.clients.setup.settings_file import own_groups
from remit.clients.setup.uninstall import apply_uninstall, plan_uninstall
from remit.errors import UsageError
from remit.registry.definition import digest_of


def test_the_record_is_private(site: Site) -> None:
    site.install()
    assert stat.S_IMODE((site.project / ".remit/gate").stat().st_mode) == 0o700
    assert stat.S_IMODE((site.project / ".remit/gate/installed.json").stat().st_mode) == 0o600


def test_uninstalling_restores_a_new_project(site: Site) -> None:
    before = everything(site.project)
    site.install()
    (site.project / ".remit/gate/some-session.json").write_text("{}", encoding="utf-8")
    (site.project / ".remit/gate/results").mkdir()
    site.uninstall()
    assert everything(site.project) == before
    assert everything(site.home) == {}


def test_installing_again_changes_nothing(site: Site) -> None:
    site.install()
    before = everything(site.project)
    assert site.install().changes == []
    after = everything(site.project)
    assert after == before


def test_uninstalling_without_an_install_is_reported(site: Site) -> None:
    done = site.remit("uninstall", "--yes")
    assert done.exit_code == 0
    assert done.output == "no client is installed here; nothing to remove\n"


def test_settings_of_the_user_are_restored_exactly(site: Site) -> None:
    site.settings.parent.mkdir()
    text = '{\n    "permissions": {\n        "allow": [\n            "Read"\n        ]\n    },\n    "ключ": "é 🙂"\n}\n'
    site.settings.write_text(text, encoding="utf-8")
    site.settings.chmod(0o660)
    site.install()
    assert stat.S_IMODE(site.settings.stat().st_mode) == 0o660
    site.uninstall()
    assert site.settings.read_text(encoding="utf-8") == text
    assert stat.S_IMODE(site.settings.stat().st_mode) == 0o660


def test_later_additions_to_the_settings_stay(site: Site) -> None:
    site.install()
    settings = json.loads(site.settings.read_text(encoding="utf-8"))
    settings["model"] = "opus"
    site.settings.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    site.uninstall()
    assert json.loads(site.settings.read_text(encoding="utf-8")) == {"model": "opus"}


def test_files_that_the_user_changed_stay_and_are_named(site: Site) -> None:
    site.install()
    skill = site.project / ".claude/skills/remit/SKILL.md"
    skill.write_text("mine now\n", encoding="utf-8")
    done = site.remit("uninstall", "--yes")
    assert done.exit_code == 0
    assert "kept .claude/skills/remit/SKILL.md: it was changed after it was installed, so it stays" in done.output
    assert skill.read_text(encoding="utf-8") == "mine now\n"
    assert sorted(everything(site.project / ".claude")) == ["skills", "skills/remit", "skills/remit/SKILL.md"]


def test_a_changed_file_is_not_overwritten_by_the_next_install(site: Site) -> None:
    site.install()
    agent = site.project / ".claude/agents/code-explorer.md"
    agent.write_text("---\nname: code-explorer\n---\nmine\n", encoding="utf-8")
    plan = site.install()
    assert agent.read_text(encoding="utf-8").endswith("mine\n")
    assert any("code-explorer.md: it was changed after" in line for line in plan.kept)


def test_a_file_of_an_earlier_version_is_updated(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(setup, "skill_text", lambda: "an earlier text\n")
        site.install()
    site.install()
    skill = site.project / ".claude/skills/remit/SKILL.md"
    assert "subagent-contract" in skill.read_text(encoding="utf-8")
    site.uninstall()
    assert not skill.exists()


def test_an_agent_of_the_user_with_the_same_name_stays(site: Site) -> None:
    own = site.project / ".claude/agents/team/explorer.md"
    own.parent.mkdir(parents=True)
    own.write_text("---\nname: Code Explorer\ndescription: mine\n---\nMine.\n", encoding="utf-8")
    before = everything(site.project)
    plan = site.install()
    assert not (site.project / ".claude/agents/code-explorer.md").exists()
    assert any(line.startswith(".claude/agents/code-explorer.md: you already have an agent") for line in plan.kept)
    site.uninstall()
    assert everything(site.project) == before


def test_an_agent_that_the_user_has_for_all_projects_stays_effective(site: Site) -> None:
    folder = site.home / ".claude/agents"
    folder.mkdir(parents=True)
    (folder / "x.md").write_text("---\nname: qa-engineer\ndescription: mine\n---\nMine.\n", encoding="utf-8")
    site.install()
    assert not (site.project / ".claude/agents/qa-engineer.md").exists()
    assert (site.project / ".claude/agents/code-explorer.md").exists()


@pytest.mark.parametrize("content", ["not json", "[]", '{"hooks": []}', '{"hooks": {"Stop": 1}}', ""])
def test_unreadable_settings_stop_the_install(site: Site, content: str) -> None:
    site.settings.parent.mkdir()
    site.settings.write_text(content, encoding="utf-8")
    before = everything(site.project)
    with pytest.raises(UsageError, match="it was not changed"):
        site.install()
    assert everything(site.project) == before


@pytest.mark.parametrize(
    "link", [".claude", ".claude/settings.local.json", ".claude/agents", ".remit", ".remit/gate", ".remit/.gitignore"]
)
def test_a_link_that_leads_elsewhere_is_refused(site: Site, tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = elsewhere / "file.json" if link.endswith((".json", ".gitignore")) else elsewhere
    if target != elsewhere and link.endswith(".json"):
        target.write_text("{}", encoding="utf-8")
    (site.project / link).parent.mkdir(exist_ok=True)
    (site.project / link).symlink_to(target)
    before = everything(elsewhere)
    with pytest.raises(UsageError, match="is a symbolic link"):
        site.install()
    assert everything(elsewhere) == before


class Interrupted(BaseException):
    """An interruption like Ctrl-C, which `except Exception` does not catch."""


def stops(monkeypatch: pytest.MonkeyPatch, at: int) -> Callable[[], int]:
    """Interrupt the write after `at` others; return a function that counts the writes."""
    begun = 0
    real = file_changes.write_bytes

    def write_bytes(path: Path, data: bytes, *, mode: int | None = None) -> None:
        nonlocal begun
        begun += 1
        if begun > at:
            raise Interrupted
        real(path, data, mode=mode)

    monkeypatch.setattr(file_changes, "write_bytes", write_bytes)
    return lambda: begun


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip compiling, which these tests do not interrupt."""
    monkeypatch.setattr(compiling, "compile_project", lambda project, **_: project)


@pytest.mark.parametrize("at", [0, 1, 2, 6, 14])
@pytest.mark.usefixtures("quick")
def test_an_interrupted_install_can_be_removed_or_repeated(
    site: Site, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    before = everything(site.project)
    with monkeypatch.context() as stopped:
        begun = stops(stopped, at)
        with pytest.raises(Interrupted):
            site.install()
        assert begun() == at + 1
    assert not site.settings.exists(), "hooks come last"
    site.uninstall()
    assert everything(site.project) == before
    with monkeypatch.context() as stopped:
        stops(stopped, at)
        with pytest.raises(Interrupted):
            site.install()
    site.install()
    assert own_groups(site.settings.read_text(encoding="utf-8"), is_ours) == hook_groups("orchestrator")
    site.uninstall()
    assert everything(site.project) == before


def test_a_file_is_written_completely_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")

    def interrupted(_: int) -> None:
        raise Interrupted

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(Interrupted):
        file_changes.write_bytes(file, b"new")
    assert everything(tmp_path) == {"settings.json": b"old"}


def test_a_file_that_changes_in_the_meantime_is_not_overwritten(site: Site) -> None:
    plan = plan_install(site.target)
    site.settings.parent.mkdir()
    site.settings.write_text('{"theirs": 1}', encoding="utf-8")
    with pytest.raises(UsageError, match="changed in the meantime"):
        apply_install(plan)
    assert site.settings.read_text(encoding="utf-8") == '{"theirs": 1}'


def test_uninstalling_does_not_overwrite_a_file_that_changes_in_the_meantime(site: Site) -> None:
    site.install()
    plan = plan_uninstall(site.target)
    site.settings.write_text('{"theirs": 1}', encoding="utf-8")
    with pytest.raises(UsageError, match="changed in the meantime"):
        apply_uninstall(plan)
    assert site.settings.read_text(encoding="utf-8") == '{"theirs": 1}'


def test_an_unknown_mode_is_refused(site: Site) -> None:
    with pytest.raises(UsageError, match="choose from verify, orchestrator"):
        site.install(mode="lax")


def test_an_install_for_all_projects_uses_the_users_folder_and_leaves_it_clean(site: Site) -> None:
    folder = site.home / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text('{\n  "model": "opus"\n}\n', encoding="utf-8")
    before, project = everything(site.home), everything(site.project)
    assert site.remit("install", "claude-code", "--user", "--mode", "orchestrator", "--yes").exit_code == 0
    assert own_groups((folder / "settings.json").read_text(encoding="utf-8"), is_ours) == hook_groups("orchestrator")
    assert (folder / "agents/code-explorer.md").is_file()
    assert everything(site.project) == project
    assert site.remit("uninstall", "--user", "--yes").exit_code == 0
    assert everything(site.home) == before


def test_the_state_of_user_hooks_in_a_project_can_be_removed_there(site: Site) -> None:
    before = everything(site.project)
    (site.project / ".remit/gate").mkdir(parents=True)
    (site.project / ".remit/gate/session.json").write_text("{}", encoding="utf-8")
    (site.project / ".remit/.gitignore").write_text("*\n", encoding="utf-8")
    site.uninstall()
    assert everything(site.project) == before


def test_the_clients_own_variable_names_the_users_folder(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(site.home / "elsewhere"))
    place = CLAUDE_CODE.find_target(None, is_user=True)
    assert place.settings == site.home / "elsewhere/settings.json"
    before = everything(site.home)
    apply_install(plan_install(place))
    assert place.settings.is_file()
    apply_uninstall(plan_uninstall(place))
    assert everything(site.home) == before


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--user", "--project", "."], "omit --project"),
        (["--project", "nowhere"], "the folder does not exist"),
    ],
)
def test_contradictory_options_are_refused(site: Site, words: list[str], why: str) -> None:
    before = everything(site.project)
    done = site.remit("install", "claude-code", "--yes", *words)
    assert isinstance(done.exception, UsageError)
    assert why in str(done.exception)
    assert everything(site.project) == before


def test_without_a_terminal_or_yes_nothing_is_done(site: Site) -> None:
    before = everything(site.project)
    done = site.remit("install", "claude-code")
    assert isinstance(done.exception, UsageError)
    assert "--yes" in str(done.exception)
    assert '"PreToolUse": [' in done.output, "the change is shown all the same"
    assert everything(site.project) == before


def test_the_report_of_an_install_is_available_as_json(site: Site) -> None:
    done = site.remit("install", "claude-code", "--yes", "--format", "json")
    report = json.loads(done.output)
    assert report["schema"] == "remit.install/1"
    assert {"path": str(site.settings), "change": "+"} in report["changes"]
    assert {change["change"] for change in report["changes"]} == {"+"}


def test_control_characters_in_settings_are_escaped(site: Site) -> None:
    site.settings.parent.mkdir()
    site.settings.write_text('{"a\u202e": "\x9b31m"}', encoding="utf-8")
    done = site.remit("install", "claude-code", "--yes")
    assert done.exit_code == 0
    assert "\u202e" not in done.output
    assert "\x9b" not in done.output


def test_other_data_of_remit_stays(site: Site) -> None:
    own = site.project / ".remit/progress.json"
    own.parent.mkdir()
    own.write_text("{}", encoding="utf-8")
    site.install()
    site.uninstall()
    assert own.read_text(encoding="utf-8") == "{}"
    assert (site.project / ".remit/.gitignore").exists(), "what is left is still no part of the project's history"


def test_an_invalid_record_is_refused_by_name(site: Site) -> None:
    site.install()
    (site.project / ".remit/gate/installed.json").write_text("[]", encoding="utf-8")
    with pytest.raises(UsageError, match="not a valid install record"):
        site.uninstall()


@pytest.mark.parametrize(
    "change",
    [
        {"files": {"../precious.txt": "DIGEST"}},
        {"files": {".claude/../../precious.txt": "DIGEST"}},
        {"files": {"{outside}/precious.txt": "DIGEST"}},
        {"files": {"app.py": "DIGEST"}},
        {"folders": ["../empty"]},
        {"settings": "../other/settings.json"},
    ],
)
def test_a_record_from_a_clone_removes_nothing_outside(site: Site, change: dict[str, Any]) -> None:
    outside = site.project.parent
    precious = outside / "precious.txt"
    precious.write_text("gold\n", encoding="utf-8")
    (outside / "empty").mkdir()
    (site.project / "app.py").write_text("gold\n", encoding="utf-8")
    text = json.dumps({"schema": "remit.installed/1", **change})
    text = text.replace("DIGEST", digest_of(b"gold\n")).replace("{outside}", str(outside))
    (site.project / ".remit/gate").mkdir(parents=True)
    (site.project / ".remit/gate/installed.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="not part of this install"):
        site.uninstall()
    assert precious.read_text(encoding="utf-8") == "gold\n"
    assert (outside / "empty").is_dir()
    assert (site.project / "app.py").is_file()


def test_an_install_can_be_removed_from_a_moved_project(site: Site) -> None:
    before = everything(site.project)
    site.install()
    moved = site.project.rename(site.project.with_name("moved"))
    Site(moved, site.home).uninstall()
    assert everything(moved) == before
