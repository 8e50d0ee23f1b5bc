"""Stored reports: exact, private, limited in size and number."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from remit.clients.hooks import results
from remit.clients.hooks.results import KeptResult, keep_result, latest_result, list_results, remove_expired
from remit.errors import EnvironmentBroken

SESSION = "9f3279c5-453e-45ba-9d76-6896353ab6a1"


def kept_in(folder: Path, agent_id: str = "a1", outcome: str = "accepted", **about: Any) -> KeptResult:
    about.setdefault("text", "a report")
    return keep_result(str(folder), SESSION, agent="code-explorer", agent_id=agent_id, outcome=outcome, **about)


def place(folder: Path) -> Path:
    return folder / "results" / SESSION


def test_stored_reports_are_listed_in_order_with_their_details(tmp_path: Path) -> None:
    violation = {"rule": "status-missing", "level": "L1", "line": 3, "message": "none", "help": "add it"}
    kept_in(tmp_path, outcome="returned", attempt=1, verdict="revise", violations=[violation], check='{"a": 1}')
    kept_in(tmp_path, attempt=2, verdict="accept", files=["app/login.py"])
    first, second = list_results(str(tmp_path), SESSION)
    assert (first.agent, first.agent_id, first.attempt, first.outcome) == ("code-explorer", "a1", 1, "returned")
    assert (first.verdict, first.violations, first.is_final) == ("revise", [violation], False)
    assert Path(first.path).read_text() == "a report"
    assert json.loads(Path(first.check).read_text()) == {"a": 1}
    assert (second.files, second.check, second.is_final) == (["app/login.py"], "", True)


def test_the_latest_report_belongs_to_the_subagent(tmp_path: Path) -> None:
    for number in range(3):
        kept_in(tmp_path, "a1", attempt=number)
        kept_in(tmp_path, "a11", attempt=number + 10)
    found = latest_result(str(tmp_path), SESSION, "a1")
    assert found is not None
    assert found.attempt == 2
    assert latest_result(str(tmp_path), SESSION, "a2") is None
    assert latest_result(str(tmp_path), "another", "a1") is None


@pytest.mark.parametrize("name", ["../../escape", "", "a/b", "x" * 5000, "\0", ".", "\ud800"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "gate"
    kept = keep_result(str(folder), name, agent=name, agent_id=name, outcome="rejected", text="x")
    assert Path(kept.path).resolve().is_relative_to(folder / "results")
    assert latest_result(str(folder), name, name) is not None
    assert [path.name for path in tmp_path.iterdir()] == ["gate"]


def test_an_unknown_outcome_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be one of accepted"):
        kept_in(tmp_path, outcome="fine")


def test_the_oldest_reports_are_removed_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MAX_REPORTS", 5)
    for number in range(9):
        kept_in(tmp_path, f"a{number}", check="{}")
    assert [kept.agent_id for kept in list_results(str(tmp_path), SESSION)] == ["a4", "a5", "a6", "a7", "a8"]
    assert len(list(place(tmp_path).iterdir())) == 15


def test_the_newest_report_stays_beyond_the_limit_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MAX_SESSION_BYTES", 5000)
    for number in range(4):
        kept_in(tmp_path, f"a{number}", text="x" * 2000)
    assert [kept.agent_id for kept in list_results(str(tmp_path), SESSION)] == ["a2", "a3"]
    kept_in(tmp_path, "huge", text="x" * 9000)
    assert [kept.agent_id for kept in list_results(str(tmp_path), SESSION)] == ["huge"]


def test_a_very_long_text_is_truncated_and_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MAX_TEXT_BYTES", 100)
    kept = kept_in(tmp_path, text="x" * 101)
    assert Path(kept.path).stat().st_size == 100
    assert not kept.whole
    assert not list_results(str(tmp_path), SESSION)[0].whole
    assert kept_in(tmp_path, text="x" * 100).whole


def test_long_texts_of_violations_are_truncated(tmp_path: Path) -> None:
    words = dict.fromkeys(("rule", "message", "help", "more"), "é" * 10**6)
    many = [{**words, "level": "L1", "line": 1}]
    kept_in(tmp_path, violations=many * 1000, files=["é" * 10**5] * 10_000)
    [entry] = [path for path in place(tmp_path).iterdir() if path.suffix == ".json"]
    assert entry.stat().st_size < 3_000_000
    [kept] = list_results(str(tmp_path), SESSION)
    assert len(kept.violations) == 60


def test_other_files_in_the_folder_are_ignored(tmp_path: Path) -> None:
    kept_in(tmp_path)
    for name, text in {
        "0.x.json": "[]",
        "1.x.json": "[" * 10**5,
        "2.x.json": '{"schema": "other"}',
        "3.json": "",
    }.items():
        (place(tmp_path) / name).write_text(text)
    (place(tmp_path) / "4.x.json").symlink_to("/etc/passwd")
    os.mkfifo(place(tmp_path) / "5.x.json")
    assert [kept.agent_id for kept in list_results(str(tmp_path), SESSION)] == ["a1"]


def test_an_entry_with_a_value_of_another_type_is_not_listed(tmp_path: Path) -> None:
    kept_in(tmp_path)
    [entry] = [path for path in place(tmp_path).iterdir() if path.suffix == ".json"]
    for name in ("agent", "attempt", "at", "outcome", "violations", "files", "has_text", "verdict", "whole"):
        entry.write_text(json.dumps({"schema": results.SCHEMA, name: {"x": [1]}}))
        assert list_results(str(tmp_path), SESSION) == []
    entry.write_text(json.dumps({"schema": results.SCHEMA}))
    assert len(list_results(str(tmp_path), SESSION)) == 1


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate/results").symlink_to(other)
    with pytest.raises(EnvironmentBroken):
        kept_in(tmp_path / "gate")
    assert list(other.iterdir()) == []


def test_many_reports_at_once_are_all_stored(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: kept_in(tmp_path, "same", attempt=number), range(100)))
    assert sorted(kept.attempt for kept in list_results(str(tmp_path), SESSION)) == list(range(100))


def test_only_expired_sessions_are_removed(tmp_path: Path) -> None:
    kept_in(tmp_path)
    keep_result(str(tmp_path), "old", agent="a", agent_id="a", outcome="failed", text="x", check="{}")
    os.utime(tmp_path / "results/old", (0, 0))
    assert remove_expired(str(tmp_path)) == 1
    assert [path.name for path in (tmp_path / "results").iterdir()] == [SESSION]
    assert remove_expired(str(tmp_path / "nowhere")) == 0


def test_the_first_report_of_a_session_removes_expired_sessions(tmp_path: Path) -> None:
    keep_result(str(tmp_path), "old", agent="a", agent_id="a", outcome="failed", text="x")
    os.utime(tmp_path / "results/old", (0, 0))
    kept_in(tmp_path)
    assert [path.name for path in (tmp_path / "results").iterdir()] == [SESSION]
