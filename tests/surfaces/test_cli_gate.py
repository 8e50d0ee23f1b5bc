"""`remit gate` and `remit merge --session` as a person or a script meets them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.in_process import Ran, Remit, command_runner

from remit.clients.hooks.compiled import folder_of
from remit.clients.hooks.hook_events import handle_event
from remit.clients.hooks.results import keep_result
from remit.gate.declarations import KINDS
from remit.gate.delegations import close_delegation, link_delegation, open_delegation
from remit.gate.record_store import store_path
from remit.gate.session_store import open_session, read_session
from remit.testing import result

READ = {"tool_name": "Read", "tool_input": {"file_path": "src/long.py"}}
SED = {"tool_name": "Bash", "tool_input": {"command": "sed -i s/a/b/ src/long.py"}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "src").mkdir()
    (root / "src/long.py").write_text("x = 1\n" * 500)
    (root / "docs").mkdir()
    monkeypatch.chdir(root)
    for name in [name for name in os.environ if name.startswith(("REMIT_", "GBRAIN_", "CLAUDE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    return root


@pytest.fixture
def remit(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    return command_runner(monkeypatch, capsys)


def hook(project: Path, payload: dict[str, Any], session: str = "s1", call: str = "toolu_01") -> Any:
    """The client makes a call."""
    more = {"hook_event_name": "PreToolUse", "session_id": session, "cwd": str(project), "tool_use_id": call}
    return handle_event({**more, **payload}, project=str(project), mode="orchestrator")


class TestAsking:
    @pytest.mark.parametrize("words", [["log"], ["status"], ["declare", "edit", "a", "--why", "x"]])
    def test_without_a_session_it_explains_how_to_get_one(self, remit: Remit, project: Path, words: list[str]) -> None:
        found = remit("gate", *words)
        assert (found.code, found.out) == (2, "")
        assert f"no session is recorded in {store_path(str(project / '.remit/gate'))}" in found.err
        assert "remit install claude-code" in found.err
        assert not (project / ".remit").exists()

    def test_the_log_shows_what_a_hook_denied(self, remit: Remit, project: Path) -> None:
        hook(project, READ, call="toolu_01")
        hook(project, SED, call="toolu_02")
        shown = remit("gate", "log", "--denied").out
        assert shown.startswith("session s1  2 decisions, 2 denied\n")
        assert "deny  Read  lookup-lines  src/long.py" in shown
        assert "estimated cost: 5,000 tokens (500 lines)" in shown
        found = remit("gate", "log", "--format", "json").json
        assert found["schema"] == "remit.gate-log/1"
        assert [entry["rule"] for entry in found["decisions"]] == ["lookup-lines", "edit-code"]
        assert found["denied"] == {"lines": 500, "tokens": 5000}

    def test_a_session_is_the_last_or_named_by_how_its_id_begins(self, remit: Remit, project: Path) -> None:
        hook(project, SED, session="aaaa-1")
        hook(project, READ, session="bbbb-2")
        assert "session bbbb-2" in remit("gate", "status").out
        assert "session aaaa-1" in remit("gate", "status", "--session", "aa").out
        wrong = remit("gate", "log", "--session", "cc")
        assert (wrong.code, "there is no session 'cc'; the latest are bbbb-2, aaaa-1" in wrong.err) == (2, True)

    def test_a_command_that_a_client_runs_is_about_that_clients_session(
        self, remit: Remit, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hook(project, SED, session="mine")
        hook(project, READ, session="later")
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "mine")
        assert "session mine" in remit("gate", "status").out
        assert remit("gate", "log", "--format", "json").json["session"] == "mine"
        assert "session later" in remit("gate", "status", "--session", "later").out
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "fresh")
        assert (
            remit("gate", "declare", "verify", "src/long.py", "--why", "x", "--format", "json").json["session"]
            == "fresh"
        )
        state = read_session(folder_of(str(project)), "fresh")
        assert state is not None
        assert state.declarations[0].paths == ["src/long.py"]

    def test_a_command_in_a_folder_of_the_project_finds_its_sessions(
        self, remit: Remit, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hook(project, SED)
        monkeypatch.chdir(project / "src")
        assert "deny  Bash  edit-code" in remit("gate", "log").out

    def test_the_status_shows_results_verdicts_and_warnings(self, remit: Remit, project: Path) -> None:
        sent(project, "qa-engineer", "It is fine.", "rejected", attempt=2)
        sent(project, "code-explorer", result("generic"), "accepted")
        with open_session(folder_of(str(project)), "s1") as state:
            open_delegation(state, "d1", "qa-engineer")
            close_delegation(state, "d1", "rejected")
        text = remit("gate", "status").out
        assert "qa-engineer                  rejected  reject, attempt 2" in text
        assert "code-explorer                accepted  accept" in text
        assert "warning: Agent qa-engineer failed, results may be incomplete" in text
        found = remit("gate", "status", "--format", "json").json
        assert [(one["agent"], one["verdict"]) for one in found["results"]] == [
            ("qa-engineer", "reject"),
            ("code-explorer", "accept"),
        ]
        assert found["results"][0]["path"].endswith(".md")


class TestDeclare:
    def test_a_declaration_holds_for_the_session_and_its_reason_is_kept(self, remit: Remit, project: Path) -> None:
        hook(project, READ)
        found = remit("gate", "declare", "presentation", "src/long.py", "--why", "show me", "--format", "json").json
        assert (found["session"], found["paths"], found["missing"]) == ("s1", ["src/long.py"], [])
        state = read_session(folder_of(str(project)), "s1")
        assert state is not None
        assert state.declarations[0].why == "show me"
        assert "presentation-size" in str(hook(project, READ, call="toolu_02"))
        assert "declared presentation: src/long.py (show me)" in remit("gate", "status").out

    def test_paths_are_relative_to_the_current_folder(
        self, remit: Remit, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hook(project, READ)
        monkeypatch.chdir(project / "src")
        found = remit("gate", "declare", "verify", "long.py", "gone.py", "--why", "x")
        assert "declared verify of src/long.py, src/gone.py for session s1" in " ".join(found.out.split())
        assert "not found: src/gone.py" in found.out

    @pytest.mark.parametrize(
        "words", [["everything", "a", "--why", "x"], ["edit", "--why", "x"], ["edit", "a"], ["edit", "a", "--why", " "]]
    )
    def test_it_needs_a_known_kind_a_path_and_a_reason(self, remit: Remit, project: Path, words: list[str]) -> None:
        hook(project, READ)
        found = remit("gate", "declare", *words)
        assert (found.code, found.out) == (2, "")
        state = read_session(folder_of(str(project)), "s1")
        assert state is not None
        assert state.declarations == []

    @pytest.mark.parametrize("path", ["src/long.py", "../outside.md", "tests/test_a.py"])
    def test_an_edit_that_it_could_not_allow_is_not_declared(self, remit: Remit, project: Path, path: str) -> None:
        hook(project, READ)
        found = remit("gate", "declare", "edit", path, "--why", "quickly")
        assert (found.code, "specification" in found.err) == (2, True)
        state = read_session(folder_of(str(project)), "s1")
        assert state is not None
        assert state.declarations == []

    def test_its_help_explains_every_kind(self, remit: Remit) -> None:
        text = remit("gate", "declare", "--help").out
        assert all(f"{kind}:" in text for kind in KINDS)


def sent(project: Path, agent: str, text: str, outcome: str, **about: Any) -> None:
    """A subagent's report, kept as the hooks keep it."""
    verdict = {"accepted": "accept", "returned": "revise", "rejected": "reject"}.get(outcome, "")
    about = {"agent_id": about.pop("agent_id", agent), "verdict": verdict, "attempt": 1} | about
    with open_session(folder_of(str(project)), "s1"):
        pass
    keep_result(folder_of(str(project)), "s1", agent=agent, outcome=outcome, text=text, **about)


def delegated(project: Path, *ended: tuple[str, str, str]) -> None:
    """Delegations to one agent, one after the other: their key, their subagent, and how they ended."""
    with open_session(folder_of(str(project)), "s1") as state:
        for key, agent_id, outcome in ended:
            open_delegation(state, key, "release-helper")
            link_delegation(state, key, agent_id)
            close_delegation(state, key, outcome)


def agents(found: Ran) -> dict[str, tuple[str, str | None]]:
    return {one["agent"]: (one["status"], one["verdict"]) for one in found.json["agents"]}


class TestUntrueStatements:
    def test_they_are_counted_in_all_sessions(self, remit: Remit, project: Path) -> None:
        folder = str(project / ".remit/gate")
        for name, sent_back, passed in (("one", 5, 2), ("two", 4, 1), ("three", 1, 0)):
            with open_session(folder, name) as state:
                state.count_untrue("prompt 1", ["All tests pass."] * sent_back)
                state.count_untrue("prompt 1", ["All tests pass."] * passed, has_passed=True)
        assert remit("gate", "status", "--since", "7d").out.startswith(
            "7 untrue statements were stopped, 3 got through\n"
        )
        found = remit("gate", "status", "--since", "7d", "--format", "json").json
        assert (found["schema"], found["sessions"], found["stopped"], found["got_through"]) == (
            "remit.gate-untrue/1",
            3,
            7,
            3,
        )
        assert remit("gate", "status", "--since", "2999-01-01").out.startswith("0 untrue statements")
        assert remit("gate", "status", "--since", "soon").code == 2
        assert "3 untrue statements were stopped, 1 got through" in remit("gate", "status", "--session", "two").out


class TestMergeOfASession:
    def test_the_last_word_of_each_subagent_is_merged(self, remit: Remit, project: Path) -> None:
        good = result("generic")
        sent(project, "team:release-helper", "It is fine.", "returned")
        sent(project, "team:release-helper", good, "accepted", attempt=2, agent_id="team:release-helper")
        sent(project, "qa-engineer", "It is fine.", "returned")
        sent(project, "qa-engineer", "It is fine.", "rejected", attempt=2)
        found = remit("merge", "--session", "last", "--format", "json")
        assert found.code == 0
        assert agents(found) == {"release-helper": ("SUCCESS", "accept"), "qa-engineer": ("FAILED", "reject")}
        assert found.json["decision"] == "retry"

    def test_what_a_retry_made_good_is_superseded(self, remit: Remit, project: Path) -> None:
        delegated(project, ("d1", "a1", "rejected"), ("d2", "a2", "accepted"))
        sent(project, "release-helper", "It is fine.", "rejected", agent_id="a1")
        sent(project, "release-helper", result("generic"), "accepted", agent_id="a2")
        assert agents(remit("merge", "--session", "s", "--format", "json")) == {"release-helper": ("SUCCESS", "accept")}

    def test_another_task_of_the_same_agent_makes_nothing_good(self, remit: Remit, project: Path) -> None:
        delegated(project, ("d1", "a1", "accepted"), ("d2", "a2", "rejected"))
        sent(project, "release-helper", result("generic"), "accepted", agent_id="a1")
        sent(project, "release-helper", "It is fine.", "rejected", agent_id="a2")
        found = remit("merge", "--session", "last", "--format", "json")
        assert sorted(str(one["verdict"]) for one in found.json["agents"]) == ["accept", "reject"]
        assert found.json["decision"] != "continue"

    def test_the_verdict_is_the_one_given_with_the_receipts_at_hand(self, remit: Remit, project: Path) -> None:
        sent(project, "release-helper", result("generic"), "rejected", attempt=2)
        assert agents(remit("merge", "--session", "s1", "--format", "json")) == {"release-helper": ("FAILED", "reject")}

    def test_who_failed_takes_part_as_failed(self, remit: Remit, project: Path) -> None:
        sent(project, "release-helper", result("generic"), "accepted")
        sent(project, "qa-engineer", "I looked at", "failed")
        with open_session(folder_of(str(project)), "s1") as state:
            open_delegation(state, "d1", "team:security-auditor")
            close_delegation(state, "d1", "failed")
        found = remit("merge", "--session", "last", "--format", "json")
        assert agents(found)["qa-engineer"][0] == "FAILED"
        assert agents(found)["security-auditor"] == ("FAILED", None)
        assert found.json["decision"] == "retry"

    def test_those_who_are_only_observed_do_not_take_part(self, remit: Remit, project: Path) -> None:
        sent(project, "Explore", "Some prose.", "observed", verdict="")
        found = remit("merge", "--session", "last")
        assert (found.code, "no checked report of a subagent" in found.err) == (2, True)

    def test_those_who_are_only_observed_are_named_as_such(self, remit: Remit, project: Path) -> None:
        sent(project, "release-helper", result("generic"), "accepted")
        sent(project, "Explore", "Some prose.", "observed", verdict="")
        found = remit("merge", "--session", "last", "--format", "json")
        assert agents(found) == {"release-helper": ("SUCCESS", "accept"), "explore": ("OBSERVED", None)}
        assert (found.json["status"], found.json["decision"]) == ("SUCCESS", "continue")
        text = remit("merge", "--session", "last").out
        assert "all checked agents finished" in text
        assert "not checked, only observed: explore" in " ".join(text.split())

    def test_files_may_be_merged_with_it(self, remit: Remit, project: Path) -> None:
        sent(project, "release-helper", result("generic"), "accepted")
        (project / "other.md").write_text(result("review"))
        assert len(agents(remit("merge", "other.md", "--session", "last", "--format", "json"))) == 2

    def test_neither_files_nor_a_session_is_an_error(self, remit: Remit) -> None:
        found = remit("merge")
        assert (found.code, "pass files, a session with --session last" in found.err) == (2, True)
        assert "no session is recorded" in remit("merge", "--session", "last").err

    def test_a_report_of_a_subagent_cannot_drive_the_terminal(self, remit: Remit, project: Path) -> None:
        sent(project, "qa-engineer", "\x1b[2J\x1b]0;x\x07 fine", "rejected", attempt=2)
        for words in (["merge", "--session", "last"], ["gate", "status"]):
            assert "\x1b" not in remit(*words).out


@pytest.mark.parametrize("name", ["declare", "log", "status"])
def test_every_command_has_help_with_examples(remit: Remit, name: str) -> None:
    found = remit("gate", name, "--help")
    assert found.code == 0
    assert f"Examples:\n    remit gate {name}" in found.out
    assert "--format" in found.out


def test_alone_it_shows_its_commands(remit: Remit) -> None:
    found = remit("gate", "--help")
    assert all(f"\n  {name} " in found.out for name in ("declare", "log", "status"))
