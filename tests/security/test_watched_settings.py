"""Settings that change while a job runs are not obeyed, also if its worker is killed and wherever they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit.configuration import load, settings_digests
from remit.dispatch.tools.deciding import deciding_entries, watched_settings
from remit.errors import ConfigurationError
from remit.unconfirmed import confirm, settle, state_folder, watch


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_a_change_is_not_obeyed_while_the_job_runs_or_after_its_worker_was_killed(work: Path) -> None:
    file = work / "remit.toml"
    file.write_text('allow_tools = ["Read"]\n')
    watch(settings_digests(work), 7)
    assert load(work)["allow_tools"] == ["Read"]
    file.write_text('allow_tools = ["Bash"]\n')
    with pytest.raises(ConfigurationError, match="changed after job 7 started, which still runs or whose worker was"):
        load(work)
    file.unlink()
    with pytest.raises(ConfigurationError, match="were removed after job 7 started"):
        load(work)
    file.write_text('# the same\nallow_tools = ["Read"]\n')
    assert load(work)["allow_tools"] == ["Read"]


def test_the_next_attempt_at_the_job_knows_the_settings_before_the_first_one(work: Path) -> None:
    file = work / "remit.toml"
    watch(settings_digests(work), 7)
    file.write_text('policy = "open"\n')
    watch(settings_digests(work), 7)  # the second attempt
    assert settle(settings_digests(work), settings_digests(work), 7) == [str(file)]
    with pytest.raises(ConfigurationError, match="changed while job 7 ran"):
        load(work)
    assert json.loads((state_folder() / "watched.json").read_text()) == {}


def test_settings_that_a_person_confirms_during_a_job_stay_confirmed_when_it_ends(work: Path) -> None:
    file = work / "remit.toml"
    before = settings_digests(work)
    watch(before, 7)
    file.write_text('policy = "open"\n')
    assert confirm(work, settings_digests(work)) == [str(file)]
    assert load(work)["policy"] == "open"
    assert settle(before, settings_digests(work), 7) == []
    assert load(work)["policy"] == "open"


def test_a_job_that_changes_nothing_leaves_no_watch_and_nothing_to_confirm(work: Path) -> None:
    (work / "remit.toml").write_text('policy = "open"\n')
    before = settings_digests(work)
    for job in (7, 8):
        watch(before, job)
    assert settle(before, settings_digests(work), 7) == []
    assert confirm(work, settings_digests(work)) == []
    (work / "remit.toml").write_text('policy = "strict"\n')
    with pytest.raises(ConfigurationError, match="after job 8 started"):
        load(work)
    assert settle(before, settings_digests(work), 8) == [str(work / "remit.toml")]


def test_lists_that_cannot_be_read_are_empty(work: Path) -> None:
    state_folder().mkdir(parents=True)
    for text in ("[]", "{", '{"a": 1}', '{"/x/remit.toml": {"job": "seven"}}'):
        for name in ("watched.json", "unconfirmed.json"):
            (state_folder() / name).write_text(text)
        assert load(work)["policy"]
        assert confirm(work, {}) == []


def test_settings_in_folders_below_are_watched_too(work: Path) -> None:
    below = work / "packages" / "one"
    below.mkdir(parents=True)
    (below / "pyproject.toml").write_text('[tool.remit]\npolicy = "open"\n')
    hidden = work / "node_modules" / "two"
    hidden.mkdir(parents=True)
    (hidden / "remit.toml").write_text('policy = "open"\n')
    before = watched_settings(work)
    assert {str(below / "pyproject.toml"), str(below / "remit.toml"), str(work / "remit.toml")} == set(before)
    (below / "pyproject.toml").write_text('[project]\nname = "a"\n[tool.remit]\npolicy = "strict"\n')
    (work / "packages" / "remit.toml").write_text('policy = "open"\n')
    changed = settle(before, watched_settings(work), 7)
    assert sorted(changed) == [str(below / "pyproject.toml"), str(work / "packages" / "remit.toml")]
    for folder in (below, work / "packages"):
        with pytest.raises(ConfigurationError, match="changed while job 7 ran"):
            load(folder)
    assert load(work)["policy"]


def test_deciding_files_are_found_in_every_folder(work: Path) -> None:
    for name in ("a/b/.claude/settings.json", "a/REMIT.toml", "c/.mcp.json", ".git/remit.toml", "d/plain.txt"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("")
    (work / "link").symlink_to(work / "c")
    assert sorted(deciding_entries(work)) == ["a/REMIT.toml", "a/b/.claude", "c/.mcp.json"]
