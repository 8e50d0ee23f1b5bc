"""State that an earlier version of Remit wrote is read: sessions, settings, records, reports and progress.

The files in `fixtures/claude_code/earlier_state` were written by that version, in a session with its recorded payloads.
Only paths of the machine are replaced, and the record names three of its files.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from install_site import Site, everything

from remit.clients.claude_code.setup import CLIENT as CLAUDE_CODE
from remit.clients.claude_code.setup import hook_entries, is_ours, skill_text
from remit.clients.hooks import results
from remit.clients.hooks.compiled import read_compiled
from remit.clients.hooks.hook_events import handle_event
from remit.clients.hooks.project import ProjectContext
from remit.clients.setup.file_changes import read_record
from remit.clients.setup.settings_file import own_hooks
from remit.gate.record_store import open_store
from remit.gate.session_store import open_session, recorded_sessions
from remit.orchestrate.progress_file import read_progress, update_progress

EARLIER = Path(__file__).parents[1] / "fixtures/claude_code/earlier_state"
SESSION = "5e1f7e57-0000-4000-8000-000000000001"
LAUNCH, RUN = "toolu_selftest_launch", "a5e1f7e5700000001"
NEW_PROJECT = {".git", "app.py"}
#: An entry of another installation, as earlier versions wrote it.
ENTRY = "/opt/earlier/lib/remit/surfaces/hooks/entry.py"


def placed(name: str, project: Path) -> str:
    text = (EARLIER / name).read_text(encoding="utf-8")
    for mark, value in (("@PROJECT@", str(project)), ("@PYTHON@", sys.executable), ("@ENTRY@", ENTRY)):
        text = text.replace(mark, value)
    return text


@pytest.fixture
def gate(site: Site) -> Path:
    """The gate's folder of a project that the earlier version used."""
    gate = site.project / ".remit/gate"
    gate.mkdir(parents=True, mode=0o700)
    for name, target in (("session.json", f"{SESSION}.json"), ("compiled.json", "compiled.json")):
        (gate / target).write_text(placed(name, site.project), encoding="utf-8")
    (gate / "results").mkdir()
    shutil.copytree(EARLIER / "results", gate / "results" / SESSION)
    return gate


def test_session_is_read_and_written_with_the_same_keys(gate: Path) -> None:
    before = json.loads((gate / f"{SESSION}.json").read_bytes())
    assert [one.state.session for one in recorded_sessions([str(gate)])] == [SESSION]
    with open_session(str(gate), SESSION) as state:
        delegation = state.delegations[LAUNCH]
        assert (delegation.agent, delegation.agent_id, delegation.state) == ("code-explorer", RUN, "rejected")
        assert delegation.contract_sent
        assert [entry.decision for entry in state.decisions] == ["allow", "deny"]
        assert state.warnings == ["Agent code-explorer failed, results may be incomplete"]
        assert (state.used, state.saved) == ({"lookup": 1}, 600)
    assert not (gate / f"{SESSION}.json").exists(), "it is imported once"
    after = json.loads(open_store(str(gate)).trusted("session", SESSION) or b"")
    # A newer version adds keys. It keeps the others, but for commands that reverted a whole file and renamed fields.
    assert after["delegations"][LAUNCH].pop("contract_sent") == before["delegations"][LAUNCH].pop("told")
    kept = before.keys() - {"updated", "reverts"}
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}


def test_compiled_settings_stay_effective_while_new_ones_are_invalid(
    site: Site, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_CONFIG", str(site.project / "remit.toml"))
    values = read_compiled(str(site.project))
    assert values is not None
    assert values["version"] == "0.1.0"
    (site.project / "remit.toml").write_text("[gate", encoding="utf-8")
    context = ProjectContext.open(str(site.project))
    assert "the earlier settings stay effective" in context.notice
    assert context.settings.mode == "strict"
    assert context.kind_of("code-explorer") == "exploration"
    assert "#### Entry Points" in context.prompt_for("code-explorer")


def test_session_goes_on_with_recompiled_settings(site: Site, gate: Path) -> None:
    (site.project / "remit.toml").write_text(placed("remit.toml", site.project), encoding="utf-8")
    payload = {"session_id": SESSION, "cwd": str(site.project), "hook_event_name": "SessionStart", "source": "resume"}
    answer = handle_event(payload, project=str(site.project))
    assert answer is not None
    assert "(mode strict)" in answer["hookSpecificOutput"]["additionalContext"]
    assert "Agent code-explorer failed" in answer["hookSpecificOutput"]["additionalContext"]


def test_reports_are_listed_with_their_verdicts(gate: Path) -> None:
    reports = results.list_results(str(gate), SESSION)
    assert [(one.outcome, one.attempt, one.verdict) for one in reports] == [
        ("returned", 1, "revise"),
        ("rejected", 2, "reject"),
        ("failed", 1, ""),
        ("failed", 1, ""),
    ]
    latest = results.latest_result(str(gate), SESSION, RUN)
    assert latest is not None
    assert results.read_text(latest) == "ANSWER is 42, see app.py:900"
    assert [one["rule"] for one in latest.violations] == ["title-missing"]
    assert json.loads(Path(latest.check).read_bytes())["schema"] == "remit.check/1"


@pytest.fixture
def installed(site: Site, gate: Path) -> Site:
    """A project with an install of the earlier version."""
    files = {
        "remit.toml": "remit.toml",
        ".remit/gate/installed.json": "installed.json",
        ".claude/settings.local.json": "settings.local.json",
        ".claude/skills/remit/SKILL.md": "SKILL.md",
        ".claude/agents/code-explorer.md": "code-explorer.md",
    }
    for path, name in files.items():
        (site.project / path).parent.mkdir(parents=True, exist_ok=True)
        (site.project / path).write_text(placed(name, site.project), encoding="utf-8")
    (site.project / ".remit/.gitignore").write_text("*\n", encoding="utf-8")
    return site


def test_install_replaces_an_earlier_install(installed: Site) -> None:
    record = read_record(installed.target)
    assert record is not None
    assert (record.configuration, len(record.files)) != (None, 0)
    assert set(own_hooks(installed.settings.read_text(encoding="utf-8"), is_ours)) <= set(hook_entries())
    plan = installed.install()
    assert plan.kept == []
    claude = installed.project / ".claude"
    assert (claude / "skills/remit/SKILL.md").read_text(encoding="utf-8") == skill_text()
    assert (claude / "agents/code-explorer.md").read_text(encoding="utf-8") == CLAUDE_CODE.agent_files()[
        "code-explorer.md"
    ]
    assert own_hooks(installed.settings.read_text(encoding="utf-8"), is_ours) == hook_entries()
    installed.uninstall()
    assert set(everything(installed.project)) == NEW_PROJECT


def test_uninstall_removes_an_earlier_install(installed: Site) -> None:
    leftover = installed.project / ".claude/agents/.code-explorer.md.remit-new"
    leftover.write_bytes(b"half of a file")
    assert installed.uninstall().kept == []
    assert set(everything(installed.project)) == NEW_PROJECT


def test_progress_is_read_and_continued(tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    shutil.copy(EARLIER / "progress.json", file)
    assert read_progress(file)["resumptionContext"]["nextAction"] == "Run phase 2"
    after = update_progress(file, lambda progress: progress.update(status="completed"))
    assert (after["status"], after["log"][0]["text"]) == ("completed", "phase 1 finished")
