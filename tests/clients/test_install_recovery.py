"""Installs with problems: a lost record, a failure, several at once, another mode."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from install_site import Site, everything

from remit.clients.claude_code.setup import CLIENT as CLAUDE_CODE
from remit.clients.claude_code.setup import hook_groups, is_ours
from remit.clients.setup import install as alone_module
from remit.clients.setup.install import apply_install, install_lock, plan_install
from remit.clients.setup.settings_file import own_groups
from remit.clients.setup.uninstall import apply_uninstall, plan_uninstall
from remit.errors import EnvironmentBroken, UsageError
from remit.gate.session_store import open_session

OWN = (
    json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}, "model": "opus"}, indent=2)
    + "\n"
)


def lose(*lost: str) -> Callable[[Site], None]:
    def at(site: Site) -> None:
        for name in lost:
            path = site.project / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return at


LOSSES = pytest.mark.parametrize(
    "lose", [lose(".remit"), lose(".remit/gate"), lose(".remit/gate/installed.json")], ids=["all", "gate", "record"]
)


@LOSSES
@pytest.mark.parametrize("settings", [None, OWN], ids=["new", "own"])
def test_uninstalling_without_the_record_leaves_no_trace(
    site: Site, lose: Callable[[Site], None], settings: str | None
) -> None:
    if settings is not None:
        site.settings.parent.mkdir()
        site.settings.write_text(settings, encoding="utf-8")
    before = everything(site.project)
    site.install()
    lose(site)
    site.uninstall()
    assert everything(site.project) == before


@LOSSES
@pytest.mark.parametrize("settings", [None, OWN], ids=["new", "own"])
def test_an_install_adopts_the_files_of_one_with_a_lost_record(
    site: Site, lose: Callable[[Site], None], settings: str | None
) -> None:
    if settings is not None:
        site.settings.parent.mkdir()
        site.settings.write_text(settings, encoding="utf-8")
    before = everything(site.project)
    site.install()
    installed = everything(site.project)
    lose(site)
    plan = site.install()
    assert plan.kept == []
    after = everything(site.project)
    for name in (".remit/gate/installed.json",):
        assert after.pop(name)
        assert installed.pop(name)
    assert after == installed
    site.uninstall()
    assert everything(site.project) == before


def test_without_the_record_files_of_the_user_stay(site: Site) -> None:
    site.install()
    shutil.rmtree(site.project / ".remit")
    skill = site.project / ".claude/skills/remit/SKILL.md"
    skill.write_text("mine now\n", encoding="utf-8")
    other = site.project / ".claude/agents/mine.md"
    other.write_text("---\nname: mine\ndescription: x\n---\nMine.\n", encoding="utf-8")
    site.uninstall()
    left = {name for name, data in everything(site.project / ".claude").items() if data is not None}
    assert left == {"skills/remit/SKILL.md", "agents/mine.md"}


def test_without_the_record_nothing_is_removed_through_a_link(site: Site, tmp_path: Path) -> None:
    site.install()
    shutil.rmtree(site.project / ".remit")
    agents = site.project / ".claude/agents"
    shutil.move(agents, tmp_path / "shared")
    agents.symlink_to(tmp_path / "shared")
    site.uninstall()
    assert len(list((tmp_path / "shared").iterdir())) > 5
    assert not site.settings.exists()


def blocked_by(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("in the way", encoding="utf-8")


@pytest.mark.parametrize("blocked", [".claude", ".claude/agents", ".claude/commands"])
def test_a_failed_install_is_rolled_back(site: Site, blocked: str) -> None:
    blocked_by(site.project / blocked)
    (site.project / "remit.toml").write_text('profile = "v1"\n', encoding="utf-8")
    before = everything(site.project)
    with pytest.raises(
        (EnvironmentBroken, UsageError), match=r"cannot be .*; (nothing was changed|it was not changed)"
    ):
        site.install()
    assert everything(site.project) == before


def test_a_failed_second_install_keeps_the_first_one(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install(mode="verify")
    before = everything(site.project)
    plan = plan_install(site.target, mode="orchestrator")
    settings = next(change for change in plan.changes if change.path == site.settings)
    site.settings.write_text(site.settings.read_text(encoding="utf-8") + " ", encoding="utf-8")
    with pytest.raises(UsageError, match="changed in the meantime; try again; nothing was changed"):
        apply_install(plan)
    assert settings.before is not None
    site.settings.write_bytes(settings.before)
    after = everything(site.project)
    assert after == before


def test_only_one_install_runs_at_a_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone_module, "WAIT_SECONDS", 0.0)
    before = everything(site.project)
    for words in (("install", "claude-code", "--yes"), ("uninstall", "--yes")):
        with install_lock(site.target):
            done = site.remit(*words)
        assert isinstance(done.exception, UsageError)
        assert str(done.exception) == (
            f"another `remit install` or `remit uninstall` is running in {site.project}; nothing was changed. "
            "Try again when it has finished"
        )
        assert everything(site.project) == before
    assert site.remit("install", "claude-code", "--yes").exit_code == 0


@pytest.mark.process
def test_several_installs_at_once_all_succeed(site: Site) -> None:
    command = [sys.executable, "-I", "-m", "remit", "install", "claude-code", "--yes"]
    environment = {"HOME": str(site.home), "PATH": os.environ.get("PATH", os.defpath)}
    started = [
        subprocess.Popen(command, cwd=site.project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(3)
    ]
    answer = [process.communicate(timeout=120)[0].decode().splitlines()[-1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], answer
    assert len([line for line in answer if "is already verified here" in line]) == 2
    assert own_groups(site.settings.read_text(encoding="utf-8"), is_ours) == hook_groups("verify")


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("typed", ["n\n", "\n"])
def test_declining_the_confirmation_changes_nothing(site: Site, typed: str) -> None:
    before = everything(site.project)
    done = site.remit("install", "claude-code", typed=f"verify\n{typed}")
    assert (done.return_value, done.output.splitlines()[-1]) == (1, "nothing was changed")
    assert everything(site.project) == before
    site.install()
    before = everything(site.project)
    done = site.remit("uninstall", typed=typed)
    assert (done.return_value, done.output.splitlines()[-1]) == (1, "nothing was changed")
    assert everything(site.project) == before


@pytest.mark.usefixtures("person")
def test_what_else_is_removed_is_printed_before_the_question(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    site.install()
    with open_session(str(site.project / ".remit/gate"), "one"):
        pass
    shown = site.remit("uninstall", typed="n\n").output
    before, _, after = shown.partition("Continue?")
    assert "the recorded state of 1 session is removed, too: .remit/gate and ~/.local/state/remit/gate/" in before
    assert "recorded state" not in after


def test_what_other_commands_stored_stays_and_is_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    site.install()
    (site.project / ".remit/reports").mkdir()
    (site.project / ".remit/reports/merge.json").write_text("{}", encoding="utf-8")
    assert "other commands of remit made .remit/reports: this stays" in site.remit("uninstall", "--yes").output
    assert [path.name for path in sorted((site.project / ".remit").iterdir())] == [".gitignore", "reports"]
    again = site.remit("uninstall", "--yes").output
    assert again.splitlines() == [
        "other commands of remit made .remit/reports: this stays",
        "no client is installed here; nothing to remove",
    ]


@pytest.mark.usefixtures("person")
def test_accepting_the_confirmation_installs(site: Site) -> None:
    assert site.remit("install", "claude-code", typed="verify\ny\n").return_value == 0
    assert site.settings.exists()


@pytest.mark.usefixtures("person")
def test_aborting_the_confirmation_interrupts(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: str) -> bool:
        raise click.exceptions.Abort

    monkeypatch.setattr(click, "confirm", interrupted)
    assert isinstance(site.remit("install", "claude-code", "--mode", "verify").exception, click.exceptions.Abort)
    assert not site.settings.exists()


def test_uninstalling_for_the_user_does_not_wait_for_a_project(site: Site) -> None:
    user = CLAUDE_CODE.find_target(None, is_user=True)
    with install_lock(site.target), install_lock(user):
        apply_uninstall(plan_uninstall(user))
