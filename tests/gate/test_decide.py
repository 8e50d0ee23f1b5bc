from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shell_table import TABLE

import remit
from remit.errors import UsageError
from remit.gate.decide import decide, decide_stop
from remit.gate.declarations import declare, refuse_without_effect
from remit.gate.delegations import close_delegation, open_delegation
from remit.gate.log import log_entries, session_summary
from remit.gate.rule_texts import RULES
from remit.gate.session import SessionState
from remit.gate.settings import MODES, GateSettings
from remit.gate.settle import settle
from remit.gate.tool_use import ToolUse

SECRET = "sk-live-4f9a8b7c6d5e"


@pytest.mark.parametrize("outcome", ["accepted", "rejected", "failed"])
@pytest.mark.parametrize("what", ["answer", "phase"])
def test_synthesize_early_waits_for_open_delegations(session, outcome: str, what: str) -> None:
    assert decide_stop(session.state, session.settings, what).decision == "allow"
    session.ask("Agent", {"subagent_type": "code-explorer"})
    early = decide_stop(session.state, session.settings, what)
    assert (early.decision, early.rule) == ("deny", "synthesize-early")
    assert "code-explorer" in early.reason
    close_delegation(session.state, "toolu_1", outcome)
    assert decide_stop(session.state, session.settings, what).decision == "allow"


@pytest.mark.parametrize(("lines", "decision"), [(300, "allow"), (301, "warn")])
def test_an_answer_shows_at_most_300_lines(session, lines: int, decision: str) -> None:
    assert decide_stop(session.state, session.settings, shown_lines=lines).decision == decision


def test_an_exception_of_the_project_applies_to_its_paths_until_its_day(start) -> None:
    def exception(**more: str) -> dict[str, Any]:
        return {"rule": "edit-code", "paths": ["src/generated/**"], "reason": "made by a tool", **more}

    allowed = start(exceptions=[exception(expires="2999-01-01")])
    found = allowed.ask("Write", {"file_path": "src/generated/a.py", "content": "x"})
    assert (found.decision, found.exception) == ("allow", "project")
    assert "made by a tool" in found.reason
    assert allowed.ask("Write", {"file_path": "src/a.py", "content": "x"}).decision == "deny"
    expired = start(exceptions=[exception(expires="2020-01-01")])
    assert expired.ask("Write", {"file_path": "src/generated/a.py", "content": "x"}).decision == "deny"


def test_invalid_settings_are_reported_and_the_defaults_are_used() -> None:
    found = GateSettings.from_mapping(
        {
            "trivial_edits": "loose",
            "limits": {"files": -1, "nothing": 3, "lines": True},
            "paths": {"secret": ["a"], "code": "x"},
            "agents": {"explore": 3},
            "exceptions": [{"rule": "edit-code", "reason": "", "expires": "2999-01-01"}, 5],
            "tools": [],
            "colour": 1,
        }
    )
    assert (found.trivial_edits, found.limits["files"], found.limits["lines"]) == ("delegate", 3, 200)
    assert (found.exceptions, len(found.problems)) == ((), 11)


def test_classes_of_paths_and_agents_are_configurable(start) -> None:
    assert start(paths={"code": ["docs/gen/**"]}).ask("Write", {"file_path": "docs/gen/a.md"}).rule == "edit-code"
    session = start(paths={"tests": ["spec/**"]}, agents={"tests": "tester"})
    assert session.ask("Write", {"file_path": "spec/a.rb", "content": "x"}).delegate_to == "tester"
    assert session.ask("Write", {"file_path": "tests/a.rb", "content": "x"}).delegate_to == "tester"


def test_declarations_need_a_known_kind_a_path_and_a_reason(session) -> None:
    for kind, paths, reason in (("all", ["a"], "x"), ("edit", [], "x"), ("edit", ["a"], " ")):
        with pytest.raises(UsageError):
            declare(session.state, kind, paths, reason, cwd="/", project="/")
    assert session.state.declarations == []


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("src/f0.py", "src/f0.py is code and is delegated"),
        ("tests/test_a.py", "tests/test_a.py is tests and is delegated"),
        ("README.md", "README.md may be edited without it"),
    ],
)
def test_only_edits_of_specifications_are_declared(session, path: str, reason: str) -> None:
    project = str(session.project)
    with pytest.raises(UsageError, match=f"only edits of specifications are declared; {reason}"):
        refuse_without_effect([path], session.settings, cwd=project, project=project)
    refuse_without_effect(["docs/specs/orders.md", "src"], session.settings, cwd=project, project=project)


def test_numbers_are_read_from_text_and_floats() -> None:
    call = ToolUse("Read", {"a": " 12 ", "b": 3.9, "c": 4, "d": True, "e": "x", "f": 1e300})
    assert [call.number(key) for key in "abcdefg"] == [12, 3, 4, None, None, None, None]


def test_every_described_rule_is_a_rule_that_decides() -> None:
    source = "".join(
        path.read_text() for path in Path(remit.__file__).parent.glob("gate/*.py") if path.name != "rules.py"
    )
    for name, *_ in RULES:
        assert f'"{name}"' in source


def test_the_log_shows_denied_calls_and_their_cost(session) -> None:
    session.file("src/long.py", 500)
    session.read("src/f0.py")
    session.read("src/long.py")
    denied = log_entries(session.state, denied=True)
    assert [entry["rule"] for entry in denied] == ["lookup-lines"]
    found = session_summary(session.state)
    assert found["answers"] == {"allow": 1, "deny": 1}
    assert found["denied"] == {"lines": 500, "tokens": 5000}
    assert found["exceptions"] == {"used": {"lookup": 1}, "tokens_saved": 600}


class TestPayloads:
    HERE = Path(__file__).parent / "payloads.json"

    def test_every_captured_call_is_answered(self, session) -> None:
        for name, payload in json.loads(self.HERE.read_text()).items():
            call = ToolUse.from_payload(payload)
            decision = decide(call, session.state, session.settings, str(session.project))
            assert (decision.fault, bool(call.tool)) == (None, True), name

    @pytest.mark.parametrize(
        "payload", [None, [], 5, "x", {}, {"tool_name": 3, "tool_input": [], "cwd": {}, "agent_id": 1}]
    )
    def test_an_invalid_payload_is_an_empty_call(self, session, payload: Any) -> None:
        call = ToolUse.from_payload(payload)
        assert (call.tool, call.input, call.agent_id) == ("", {}, "")
        assert decide(call, session.state, session.settings, "/").decision == "allow"

    def test_the_old_name_of_the_tool_is_the_new_one(self) -> None:
        assert ToolUse("Task").tool == "Agent"


class TestHostile:
    @pytest.mark.parametrize(
        "tool", ["Read", "Write", "Edit", "MultiEdit", "Bash", "Grep", "Glob", "Agent", "NotebookEdit"]
    )
    def test_ten_megabytes_in_every_field_are_answered_quickly(self, session, tool: str) -> None:
        large = "A" * 10_000_000
        fields = (
            "file_path",
            "content",
            "old_string",
            "new_string",
            "command",
            "pattern",
            "path",
            "glob",
            "subagent_type",
        )
        call = ToolUse(tool, dict.fromkeys(fields, large), cwd=large, agent_type=large, tool_use_id="t")
        started = time.process_time()
        decision = decide(call, session.state, session.settings, str(session.project))
        assert (decision.fault, time.process_time() - started < 3) == (None, True)
        assert len(json.dumps(session.state, default=vars)) < 20_000

    @pytest.mark.parametrize(
        "path", ["a\0b", "\ud800", "x" * 5000, "/" * 4000, "~nobody/x", "", ".", "a\nb", "/proc/self/mem", "/dev/zero"]
    )
    def test_unusual_names_are_answered(self, session, path: str) -> None:
        for tool, tool_input in (
            ("Read", {"file_path": path}),
            ("Write", {"file_path": path, "content": ""}),
            ("Grep", {"pattern": "x", "path": path}),
            ("Glob", {"pattern": path}),
            ("Bash", {"command": f"cat '{path}' > '{path}'"}),
        ):
            assert session.ask(tool, tool_input).fault is None
        json.dumps(session.state, default=vars)

    def test_a_secret_of_a_call_is_not_stored(self, session, project) -> None:
        for command in (
            f"curl -H 'Authorization: {SECRET}' http://x",
            f"TOKEN={SECRET} ./run.sh",
            f"echo {SECRET} > src/a.py",
            f"grep -r {SECRET} .",
            f"{SECRET}",
            f"python -c \"open('src/a.py','w').write('{SECRET}')\"",
            f"echo '{SECRET}",
        ):
            session.run(command)
        session.ask("Grep", {"pattern": f"password {SECRET}"})
        session.ask("Write", {"file_path": "docs/specs/orders.md", "content": SECRET})
        session.edit("docs/specs/orders.md", "- one", f"- {SECRET}")
        session.ask("Agent", {"subagent_type": "code-explorer", "prompt": SECRET, "description": SECRET})
        session.read("src/f0.py")
        session.settle("Read", {"file": {"content": SECRET}})
        kept = json.dumps(session.state, default=vars)
        assert SECRET.rsplit("-", maxsplit=1)[-1] not in kept.replace(f"`{SECRET}`", "")

    def test_an_error_in_the_gate_is_a_visible_decision(self, start, monkeypatch) -> None:
        def broken(*_: object) -> None:
            raise KeyError(SECRET)

        monkeypatch.setattr("remit.gate.decide.judge_reads", broken)
        for mode, decision in (("orchestrator", "warn"), ("verify", "allow")):
            session = start()
            session.settings.mode = mode
            call = session.call("Read", {"file_path": "src/f0.py"})
            found = decide(call, session.state, session.settings, str(session.project))
            assert found.decision == decision
            assert "KeyError" in str(found.fault)
            assert SECRET not in json.dumps([vars(found), session.state], default=vars)


class _Deep(dict):  # type: ignore[type-arg]
    """A mapping that breaks when it is asked."""

    def get(self, *_: object) -> object:
        raise RuntimeError


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["src/f0.py", ".", "docs/specs/orders.md"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = """file_path content old_string new_string edits replace_all command pattern path glob limit offset head_limit
    output_mode subagent_type writes notebook_path"""
FIELDS = st.sampled_from(_FIELDS.split())
CALLS = st.builds(
    lambda tool, given, agent: ToolUse(tool, given, cwd="", agent_id=agent, agent_type=agent, tool_use_id="t"),
    st.sampled_from(
        [
            "Read",
            "Write",
            "Edit",
            "MultiEdit",
            "NotebookEdit",
            "Bash",
            "Grep",
            "Glob",
            "Agent",
            "Task",
            "Stop",
            "mcp__x",
            "",
        ]
    ),
    st.dictionaries(FIELDS, VALUES | st.sampled_from([line for line, _ in TABLE]), max_size=6),
    st.sampled_from(["", "", "a1"]),
)
QUICK = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=3 * settings.default.max_examples,
)


@QUICK
@given(st.lists(CALLS, max_size=6), st.sampled_from(MODES))
def test_deciding_and_settling_never_raise_and_a_denied_call_changes_no_window(project, calls, mode) -> None:
    state, given_settings = SessionState("x"), GateSettings()
    given_settings.mode = mode
    for call in calls:
        before = state.window.copy()
        decision = decide(call, state, given_settings, str(project))
        assert decision.fault is None
        assert mode != "verify" or decision.decision == "allow"
        if decision.decision == "deny":
            assert state.window == before
        settle(call, {"stdout": 5, "file": "x"}, float("nan"), state, given_settings, str(project))
    assert SessionState.from_dict(json.loads(json.dumps(state, default=vars))) == state


def test_a_broken_mapping_is_a_fault_and_not_a_crash(session) -> None:
    found = decide(ToolUse("Read", _Deep()), session.state, session.settings, "/")
    assert "RuntimeError" in str(found.fault)


@given(
    st.dictionaries(
        st.text(max_size=8) | st.sampled_from(["trivial_edits", "limits", "paths", "agents", "tools", "exceptions"]),
        VALUES,
    )
)
def test_settings_are_read_from_anything(mapping) -> None:
    assert GateSettings.from_mapping(mapping).trivial_edits in ("delegate", "direct")


@given(st.dictionaries(st.sampled_from(sorted(SessionState._fields)), VALUES))
def test_a_state_is_read_from_anything_and_can_be_used(values) -> None:
    state = SessionState.from_dict(values)
    open_delegation(state, "k", "code-explorer")
    for tool in ("Read", "Write", "Agent"):
        decide(ToolUse(tool, {"file_path": "/nowhere/a.py"}), state, GateSettings(), "/nowhere")
    json.dumps(state, default=vars)
