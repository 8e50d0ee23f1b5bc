"""What people ask of a session: which one, and what its decisions cost or saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from remit.errors import UsageError
from remit.gate.decide import decide
from remit.gate.log import exception_cost
from remit.gate.session_store import find_session, open_session, recorded_sessions
from remit.gate.settings import GateSettings
from remit.gate.tool_use import ToolUse


def record(folder: Path, session: str, at: float, *, denied: bool = False) -> None:
    with open_session(str(folder), session) as state:
        if denied:
            call = ToolUse("Write", {"file_path": "src/a.py"}, session=session, tool_use_id="toolu_first99")
            decide(call, state, GateSettings(), "/p")
        state.updated = at


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "gate"
    for session, at in (("aa11", 3.0), ("ab22", 9.0), ("odd name/\x1b", 5.0)):
        record(place, session, at)
    return place


class TestSessions:
    def test_the_last_session_is_the_one_updated_last(self, folder: Path) -> None:
        assert [one.state.session for one in recorded_sessions([str(folder)])] == ["ab22", "odd name/\x1b", "aa11"]
        assert find_session([str(folder)]).name == find_session([str(folder)], "").name == "ab22"

    def test_a_session_is_found_by_its_id_or_a_prefix(self, folder: Path) -> None:
        assert find_session([str(folder)], "aa").state.session == "aa11"
        assert find_session([str(folder)], "odd").state.session == "odd name/\x1b"
        record(folder, "aa1", 1.0)
        assert find_session([str(folder)], "aa1").state.session == "aa1", "a whole id wins over a beginning"

    def test_sessions_of_several_folders_are_found(self, folder: Path, tmp_path: Path) -> None:
        record(tmp_path / "other", "job-7", 20.0)
        folders = [str(folder), str(tmp_path / "other")]
        assert (find_session(folders).name, find_session(folders).folder) == ("job-7", folders[1])

    def test_a_missing_or_ambiguous_session_is_an_error(self, folder: Path, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="there is no session 'zz'; the latest are ab22"):
            find_session([str(folder)], "zz")
        with pytest.raises(UsageError, match="ambiguous \\(2 sessions match: ab22, aa11\\); use a longer prefix"):
            find_session([str(folder)], "a")
        with pytest.raises(UsageError, match=r"no session is recorded in .*; .*`remit install claude-code`"):
            find_session([str(tmp_path / "none")])
        (tmp_path / "fresh").mkdir()
        (tmp_path / "fresh/installed.json").write_text("{}")
        with pytest.raises(UsageError, match="the hooks are installed, start a new session of Claude Code"):
            find_session([str(tmp_path / "fresh")])


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        ({"decision": "deny", "lines": 50}, {"lines": 50, "tokens": 500, "saved": None}),
        ({"decision": "deny"}, {"lines": None, "tokens": None, "saved": None}),
        ({"decision": "allow", "exception": "lookup", "lines": 9}, {"lines": 9, "tokens": 100, "saved": 600}),
        ({"decision": "allow", "exception": "fallback"}, {"lines": None, "tokens": 200, "saved": None}),
        ({"decision": "deny", "lines": "many"}, {"lines": None, "tokens": None, "saved": None}),
        ({}, {"lines": None, "tokens": None, "saved": None}),
    ],
)
def test_the_cost_or_saving_of_a_decision_is_computed(entry: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert exception_cost(entry) == wanted
