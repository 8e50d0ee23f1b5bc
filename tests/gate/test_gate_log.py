"""What people ask of a session: which one, what was decided, why; and calls judged on trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remit.errors import UsageError
from remit.gate.decide import decide
from remit.gate.log import dry_run, exception_cost, explain_decision, find_decision, read_payload
from remit.gate.record_store import open_store
from remit.gate.rule_texts import FIRM, INSTEAD, RULES, describe_rule
from remit.gate.session_store import find_session, open_session, read_session, recorded_sessions
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


class TestTrial:
    def test_a_dry_run_counts_and_stores_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("x\n" * 10)
        record(tmp_path / "gate", "s", 1.0)
        store = open_store(str(tmp_path / "gate"))
        before = store.trusted("session", "s")
        payload = read_payload(json.dumps({"tool_name": "Read", "tool_input": {"file_path": "a.py"}}).encode())
        for _ in range(5):
            found = dry_run(payload, read_session(str(tmp_path / "gate"), "s"), GateSettings(), str(tmp_path))
            assert (found.decision, found.files) == ("allow", 1)
        assert store.trusted("session", "s") == before

    def test_a_dry_run_uses_the_state_of_the_session(self, tmp_path: Path) -> None:
        with open_session(str(tmp_path / "gate"), "s") as state:
            state.window.files = {"a": 1, "b": 1, "c": 1}
        payload = {"tool_name": "Read", "tool_input": {"file_path": "d.py"}}
        assert (
            dry_run(payload, read_session(str(tmp_path / "gate"), "s"), GateSettings(), str(tmp_path)).rule
            == "lookup-files"
        )

    def test_the_end_of_a_turn_is_judged(self) -> None:
        payload = read_payload(b'{"hook_event_name": "Stop"}')
        assert dry_run(payload, None, GateSettings(), "/").decision == "allow"

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"", "is not JSON"),
            (b"{", "is not JSON"),
            (b"\xff", "is not JSON"),
            (b"[" * 100_000, "is not JSON"),
            (b"[]", "a JSON object, not list"),
            (b"{}", "tool_name is missing"),
            (b'{"tool_name": 3}', "tool_name is missing"),
        ],
    )
    def test_an_invalid_payload_is_an_error(self, data: bytes, words: str) -> None:
        with pytest.raises(UsageError, match=words):
            read_payload(data)


class TestWhy:
    def test_a_decision_is_found_by_its_call_or_rule(self, tmp_path: Path) -> None:
        record(tmp_path, "s", 1.0, denied=True)
        for wanted in ("", "toolu_first99", "toolu_fi", "rst99", "edit-code"):
            entry, rule, session = explain_decision([str(tmp_path)], "last", wanted)
            assert entry is not None
            assert (entry["id"], rule, session) == ("toolu_first99", "edit-code", "s")

    def test_a_rule_is_explained_without_any_session(self, tmp_path: Path) -> None:
        assert explain_decision([str(tmp_path)], "last", "edit-tests") == (None, "edit-tests", None)
        record(tmp_path, "s", 1.0)
        assert explain_decision([str(tmp_path)], "last", "edit-tests") == (None, "edit-tests", "s")

    def test_an_unknown_name_is_an_error_with_a_suggestion(self, tmp_path: Path) -> None:
        record(tmp_path, "s", 1.0)
        for wanted, words in (
            ("edit-tets", "did you mean 'edit-tests'"),
            ("toolu_7", "`remit gate log` shows the ids"),
            ("", "session s has no denials or warnings"),
        ):
            with pytest.raises(UsageError, match=words):
                explain_decision([str(tmp_path)], "last", wanted)

    def test_a_short_part_of_an_id_is_not_enough(self, session) -> None:
        session.ask("Write", {"file_path": "src/a.py"})
        assert find_decision(session.state, "to") is None


def test_every_rule_has_an_alternative() -> None:
    assert [name for name, *_ in RULES] == list(INSTEAD)
    assert all(describe_rule(name) == (level, words, INSTEAD[name]) for name, level, words in RULES)
    assert set(FIRM) <= set(INSTEAD)
    assert describe_rule("nothing") is None


def test_every_rule_that_decides_is_described(session, start) -> None:
    session.ask("Write", {"file_path": ".remit/gate/a"})
    session.run("remit gate declare edit a --why x")
    limited = start(tools={"qa-engineer": ["Read"]})
    limited.ask("Bash", {"command": "ls"}, agent_id="a", agent_type="qa-engineer")
    decided = [entry.rule for entry in (*session.state.decisions, *limited.state.decisions)]
    assert decided == ["guarded-state", "declare", "tool-limits"]
    assert all(describe_rule(rule) for rule in decided)


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        ({"decision": "deny", "lines": 50}, {"lines": 50, "tokens": 500, "saved": None}),
        ({"decision": "allow", "would": "deny", "lines": 50}, {"lines": 50, "tokens": 500, "saved": None}),
        ({"decision": "deny"}, {"lines": None, "tokens": None, "saved": None}),
        ({"decision": "allow", "exception": "lookup", "lines": 9}, {"lines": 9, "tokens": 100, "saved": 600}),
        ({"decision": "allow", "exception": "fallback"}, {"lines": None, "tokens": 200, "saved": None}),
        ({"decision": "deny", "lines": "many"}, {"lines": None, "tokens": None, "saved": None}),
        ({}, {"lines": None, "tokens": None, "saved": None}),
    ],
)
def test_the_cost_or_saving_of_a_decision_is_computed(entry: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert exception_cost(entry) == wanted
