"""What people ask of a session: which one, what was decided, why; and calls judged on trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remit.errors import UsageError
from remit.gate.decide import decide, dry_run, read_payload
from remit.gate.log import exception_cost, explain_decision, find_decision
from remit.gate.model import ToolUse
from remit.gate.rules import FIRM, INSTEAD, RULES, describe_rule
from remit.gate.session_store import find_session, open_session, read_session, recorded_sessions
from remit.gate.settings import GateSettings


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
    (place / "compiled.json").write_text('{"schema": "remit.compiled/1"}')
    (place / "torn.json").write_text('{"schema"')
    return place


class TestSessions:
    def test_the_last_is_the_one_touched_last(self, folder: Path) -> None:
        assert [one.state.session for one in recorded_sessions([str(folder)])] == ["ab22", "odd name/\x1b", "aa11"]
        assert find_session([str(folder)]).name == find_session([str(folder)], "").name == "ab22"

    def test_one_is_found_by_its_id_or_how_that_begins(self, folder: Path) -> None:
        assert find_session([str(folder)], "aa").state.session == "aa11"
        assert find_session([str(folder)], "odd").state.session == "odd name/\x1b"
        record(folder, "aa1", 1.0)
        assert find_session([str(folder)], "aa1").state.session == "aa1", "a whole id wins over a beginning"

    def test_sessions_of_several_folders_are_found(self, folder: Path, tmp_path: Path) -> None:
        record(tmp_path / "other", "job-7", 20.0)
        folders = [str(folder), str(tmp_path / "other")]
        assert (find_session(folders).name, find_session(folders).folder) == ("job-7", folders[1])

    def test_a_damaged_record_is_named_and_not_taken_for_none(self, folder: Path, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"is damaged: .*torn\.json"):
            find_session([str(folder)], "torn")
        (tmp_path / "only").mkdir()
        (tmp_path / "only" / "torn.json").write_text('{"schema"')
        with pytest.raises(UsageError, match=r"is damaged: .*torn\.json"):
            find_session([str(tmp_path / "only")])

    def test_what_cannot_be_found_is_said(self, folder: Path, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="there is no session 'zz'; the latest are ab22"):
            find_session([str(folder)], "zz")
        with pytest.raises(UsageError, match="begins the ids of 2 sessions: ab22, aa11"):
            find_session([str(folder)], "a")
        with pytest.raises(UsageError, match=r"no session has been recorded in .*none yet; `remit install"):
            find_session([str(tmp_path / "none")])


class TestTrial:
    def test_nothing_is_counted_or_kept(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("x\n" * 10)
        record(tmp_path / "gate", "s", 1.0)
        before = (tmp_path / "gate/s.json").read_bytes()
        payload = read_payload(json.dumps({"tool_name": "Read", "tool_input": {"file_path": "a.py"}}).encode())
        for _ in range(5):
            found = dry_run(payload, read_session(str(tmp_path / "gate"), "s"), GateSettings(), str(tmp_path))
            assert (found.decision, found.files) == ("allow", 1)
        assert (tmp_path / "gate/s.json").read_bytes() == before

    def test_it_is_judged_as_in_its_session(self, tmp_path: Path) -> None:
        with open_session(str(tmp_path / "gate"), "s") as state:
            state.window.files = {"a": 1, "b": 1, "c": 1}
        payload = {"tool_name": "Read", "tool_input": {"file_path": "d.py"}}
        assert (
            dry_run(payload, read_session(str(tmp_path / "gate"), "s"), GateSettings(), str(tmp_path)).rule
            == "lookup-files"
        )

    def test_the_end_of_a_turn_is_judged_too(self) -> None:
        payload = read_payload(b'{"hook_event_name": "Stop"}')
        assert dry_run(payload, None, GateSettings(), "/").decision == "allow"

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"", "is no JSON"),
            (b"{", "is no JSON"),
            (b"\xff", "is no JSON"),
            (b"[" * 100_000, "is no JSON"),
            (b"[]", "a JSON object, not list"),
            (b"{}", "tool_name is missing"),
            (b'{"tool_name": 3}', "tool_name is missing"),
        ],
    )
    def test_what_is_no_payload_is_refused(self, data: bytes, words: str) -> None:
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

    def test_what_is_neither_is_refused_with_a_suggestion(self, tmp_path: Path) -> None:
        record(tmp_path, "s", 1.0)
        for wanted, words in (
            ("edit-tets", "did you mean 'edit-tests'"),
            ("toolu_7", "`remit gate log` shows the ids"),
            ("", "nothing was denied or warned of in session s"),
        ):
            with pytest.raises(UsageError, match=words):
                explain_decision([str(tmp_path)], "last", wanted)

    def test_a_few_letters_are_no_id(self, session) -> None:
        session.ask("Write", {"file_path": "src/a.py"})
        assert find_decision(session.state, "to") is None


def test_every_rule_says_what_to_do_instead() -> None:
    assert [name for name, *_ in RULES] == list(INSTEAD)
    assert all(describe_rule(name) == (level, words, INSTEAD[name]) for name, level, words in RULES)
    assert set(FIRM) <= set(INSTEAD)
    assert describe_rule("nothing") is None


def test_every_rule_that_decides_has_its_words(session, start) -> None:
    session.ask("Write", {"file_path": ".remit/gate/a"})
    session.run("remit gate declare edit a --why x")
    limited = start(tools={"qa-engineer": ["Read"]})
    limited.ask("Bash", {"command": "ls"}, agent_id="a", agent_type="qa-engineer")
    decided = [entry["rule"] for entry in (*session.state.decisions, *limited.state.decisions)]
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
def test_what_a_call_would_have_cost_or_has_saved(entry: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert exception_cost(entry) == wanted
