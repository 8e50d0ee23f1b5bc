"""What the source documents require of subagents and orchestrators under a client, shown by its hook events."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.client_session import GOOD, INVENTED, READ, SESSION, Client, context_of, is_block, notice_of

from remit.orchestrate.progress_file import read_progress
from remit.rules.examples import sample_text
from remit.surfaces.cli.group import remit

CALL, AGENT = "toolu_1", "a4f4ad01adececa3d"
RETRY, SECOND = "toolu_2", "b4f4ad01adececa3d"
FAILED = (
    sample_text("error").replace("Backend Specialist", "Code Explorer").replace("`tests/test_login.py:1`", "the set-up")
)
HOPELESS = FAILED.replace("| Recoverable | true |", "| Recoverable | false |")


@pytest.fixture
def client(begin: Callable[[str], Client]) -> Client:
    return begin("")


def read(client: Client, path: str, **fields: object) -> object:
    given = {"file_path": str(client.project / path), **fields}
    return client.ask("PreToolUse.Read", tool_use_id=f"toolu_read_{path}_{fields}", tool_input=given)


class TestAFailedReportIsAFailure:
    """Status FAILED fails the delegation, even if the form of the report is valid."""

    def test_the_delegation_has_failed_and_the_user_is_warned(self, client: Client) -> None:
        assert not is_block(client.run(CALL, AGENT, FAILED)[0]), "the form is right, so nothing is sent back"
        assert client.delegation(CALL) == "failed"
        assert client.state.warnings == ["Agent code-explorer failed, results may be incomplete"]

    def test_the_orchestrator_sees_the_report_and_what_to_do_next(self, client: Client) -> None:
        answer = client.run(CALL, AGENT, FAILED)[-1]
        assert "updatedToolOutput" not in (answer or {}).get("hookSpecificOutput", {})
        assert "the task of code-explorer is not done: it reported FAILED: pytest is not installed" in context_of(
            answer
        )
        assert "Send code-explorer the task again, once, with a reduced scope" in context_of(answer)

    def test_it_opens_no_window_for_direct_reads(self, client: Client) -> None:
        client.ask("UserPromptSubmit", prompt="go")
        for path in ("app/login.py", "app/session.py", "app/store.py"):
            assert read(client, path) is None
        client.run(CALL, AGENT, FAILED)
        assert len(client.state.window.files) == 3
        assert read(client, "tests/test_login.py") is not None

    def test_it_covers_no_files(self, client: Client) -> None:
        client.run(CALL, AGENT, FAILED)
        assert client.state.analysed == {}

    def test_an_error_that_is_not_recoverable_skips_the_retry(self, client: Client) -> None:
        answer = client.run(CALL, AGENT, HOPELESS)[-1]
        assert "(not recoverable)" in context_of(answer)
        assert "Send code-explorer the task again" not in context_of(answer)
        assert client.state.delegations[CALL].allows_fallback

    def test_a_recoverable_error_does_not_allow_a_fallback_read_before_the_retry(self, client: Client) -> None:
        client.run(CALL, AGENT, FAILED)
        assert client.state.delegations[CALL].may_be_retried
        client.run(RETRY, SECOND, FAILED)
        assert client.state.delegations[RETRY].allows_fallback


class TestFailurePolicy:
    """The steps after a failure are those of plans: partial output, one retry, a fallback read, go on or ask."""

    FILES = ("tests/test_login.py", "docs/login.md", "app/clock.py", "app/extra.py")

    def fill_the_window(self, client: Client) -> None:
        """Use up the three files of quick lookups, and leave four more files."""
        for path in self.FILES:
            file = client.project / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("# a line\n" * 250)
        client.ask("UserPromptSubmit", prompt="go")
        for path in READ:
            assert read(client, path, limit=5) is None

    def test_verified_lines_are_handed_on_then_one_retry_then_a_fallback_read_then_the_gap(
        self, client: Client
    ) -> None:
        self.fill_the_window(client)
        first = notice_of(client.run(CALL, AGENT, INVENTED, INVENTED)[-1])
        partial = first.partition('state="partial">')[2].partition("</result>")[0]
        assert "app/login.py:7" in partial, "partial output is handed on as such"
        assert "Send code-explorer the task again, once, with a reduced scope" in first
        early = read(client, self.FILES[0], limit=199)
        assert "delegation-first" in str(early), "no fallback read before the retry"
        assert "Retry it with a reduced scope before you read files" in str(early)

        second = notice_of(client.run(RETRY, SECOND, INVENTED, INVENTED)[-1])
        assert client.state.delegations[RETRY].retry_of == CALL
        assert "Send code-explorer the task again" not in second, "only one retry"
        assert "read what you need within the limits of a fallback" in second
        assert "if the result is not critical, continue and state in your answer what is missing" in second
        assert "if it is critical, ask the user" in second
        for path in self.FILES[:3]:
            told = f"remit: code-explorer failed, so the orchestrator reads {path} in its place"
            assert read(client, path, limit=200) == {"systemMessage": told}
        assert "delegation-first" in str(read(client, self.FILES[3], limit=200)), "three files"
        assert "delegation-first" in str(read(client, self.FILES[0], offset=201, limit=20)), "the first 200 lines"
        assert client.state.used["fallback"] == 3

        assert client.answer("I go on; what code-explorer should have found is missing.") is None
        warnings = read_progress(client.project / ".remit/progress.json")["warnings"]
        assert len(warnings) == 2, "the gap is recorded, for the task and for its retry"
        assert warnings[-1].endswith(f"; the orchestrator read instead: {', '.join(self.FILES[:3])}")

    def test_a_failed_report_follows_the_same_steps(self, client: Client) -> None:
        self.fill_the_window(client)
        assert "Send code-explorer the task again" in context_of(client.run(CALL, AGENT, FAILED)[-1])
        assert "delegation-first" in str(read(client, self.FILES[0], limit=199))
        assert "Send code-explorer the task again" not in context_of(client.run(RETRY, SECOND, FAILED)[-1])
        assert "in its place" in str(read(client, self.FILES[0], limit=200))

    def test_n12_a_fallback_read_is_in_the_progress_file_and_the_person_reads_it(self, client: Client) -> None:
        self.fill_the_window(client)
        client.run(CALL, AGENT, FAILED)
        client.run(RETRY, SECOND, FAILED)
        path, other = self.FILES[:2]
        answer = read(client, path, limit=200)
        assert answer == {
            "systemMessage": f"remit: code-explorer failed, so the orchestrator reads {path} in its place"
        }
        assert "in its place" in str(read(client, other, limit=10))
        progress = read_progress(client.project / ".remit/progress.json")
        logged = [one for one in progress["log"] if one["action"] == "fallback read for code-explorer"]
        assert [one["files"] for one in logged] == [path, f"{path}, {other}"]
        assert progress["warnings"][-1].endswith(
            f"pytest is not installed; the orchestrator read instead: {path}, {other}"
        )

    def test_a_run_that_ended_with_an_error_follows_the_same_steps(self, client: Client) -> None:
        self.fill_the_window(client)
        for call, again in ((CALL, True), (RETRY, False)):
            client.launch(call)
            given = {"subagent_type": "code-explorer", "prompt": "look"}
            answer = client.ask("PostToolUseFailure.Agent", tool_use_id=call, tool_input=given)
            assert ("Send code-explorer the task again" in context_of(answer)) is again
            is_allowed = "in its place" in str(read(client, self.FILES[0], limit=200 - again))
            assert is_allowed is not again

    def test_a_retry_that_is_accepted_ends_the_fallback(self, client: Client) -> None:
        client.run(CALL, AGENT, FAILED)
        client.run(RETRY, SECOND, GOOD)
        assert not any(one.allows_fallback or one.may_be_retried for one in client.state.delegations.values())


class TestPresentation:
    """At most 300 lines are shown to the user; more is reported to the user, not blocked."""

    def test_a_longer_answer_is_reported(self, client: Client) -> None:
        client.ask("UserPromptSubmit", prompt="go")
        assert client.answer("a line\n" * 300) is None
        shown = client.answer("a line\n" * 301)
        assert not is_block(shown)
        assert "remit (presentation-size): 301 lines are shown to the user (limit: 300)" in str(shown)
        assert [(entry.rule, entry.decision) for entry in client.state.decisions] == [("presentation-size", "warn")]

    def test_an_answer_after_a_correction_is_measured_as_well(self, client: Client) -> None:
        client.ask("UserPromptSubmit", prompt="go")
        assert "presentation-size" in str(client.answer("a line\n" * 301, stop_hook_active=True))


class TestWhoSigns:
    """An agent learns its name, and a report under another name is not its report."""

    def test_the_launch_states_the_name_of_the_agent(self, client: Client) -> None:
        answer = client.launch(CALL, "remit:code-explorer")
        prompt = (answer or {})["hookSpecificOutput"]["updatedInput"]["prompt"]
        assert "## Code Explorer Result" in prompt
        assert "[Agent Name]" not in prompt

    def test_an_agent_that_was_not_launched_here_learns_its_name_when_it_starts(self, client: Client) -> None:
        assert "You are QA Engineer." in context_of(client.start(AGENT, "qa-engineer"))

    def test_a_report_under_another_name_is_sent_back_and_then_rejected(self, client: Client) -> None:
        other = GOOD.replace("Code Explorer", "Security Auditor")
        first, second, delivered = client.run(CALL, AGENT, other, other)
        assert is_block(first)
        assert "agent-mismatch" in str(first)
        assert second is None
        assert "agent-mismatch" in notice_of(delivered)
        assert client.delegation(CALL) == "rejected"

    def test_any_spelling_of_its_own_name_is_accepted(self, client: Client) -> None:
        assert client.run(CALL, AGENT, GOOD.replace("Code Explorer", "code_explorer"))[-1] is None
        assert client.delegation(CALL) == "accepted"


class TestPartialOutput:
    """A rejected report's verified parts are handed on, and nothing else of it."""

    def test_lines_whose_locations_hold_are_passed_on_as_partial(self, client: Client) -> None:
        notice = notice_of(client.run(CALL, AGENT, INVENTED, INVENTED)[-1])
        assert "partial output" in notice
        partial = notice.partition('state="partial">')[2].partition("</result>")[0]
        assert "app/login.py:7" in partial
        assert "app/nowhere.py" not in partial

    def test_a_report_without_a_verified_line_hands_on_nothing(self, client: Client) -> None:
        assert "partial" not in notice_of(client.run(CALL, AGENT, "All good.", "All good.")[-1])


class TestVerifyMinimally:
    """A short read around a location that an accepted report cites needs no declaration."""

    def test_a_section_around_a_cited_line_is_read(self, client: Client) -> None:
        client.run(CALL, AGENT, GOOD)
        assert "app/session.py" in client.state.analysed
        assert (
            read(client, "app/session.py", offset=max(1, client.state.cited["app/session.py"][0] - 3), limit=8) is None
        )
        assert client.state.used == {"verify": 1}
        assert client.state.window.verified == ["app/session.py"]

    def test_a_section_away_from_every_cited_line_is_denied(self, client: Client) -> None:
        client.run(CALL, AGENT, GOOD)
        cited = client.state.cited["app/session.py"]
        free = next(line for line in range(1, 60) if line not in cited)
        assert "reread-analysed" in str(read(client, "app/session.py", offset=free, limit=1))

    def test_more_than_sixty_lines_are_denied(self, client: Client) -> None:
        long = client.project / "app/session.py"
        client.run(CALL, AGENT, GOOD)
        long.write_text(long.read_text() + "# more\n" * 100)
        assert "reread-analysed" in str(read(client, "app/session.py"))
        assert "reread-analysed" in str(read(client, "app/session.py", offset=1, limit=61))
        assert read(client, "app/session.py", offset=1, limit=60) is None


class TestOtherSubagents:
    """Subagents that were never asked for a form are checked by their claims alone."""

    HONEST = "The login begins at app/login.py:7."
    LIE = "The login begins at app/nowhere.py:99, all good."

    def test_their_launch_is_not_changed(self, client: Client) -> None:
        assert client.launch(CALL, "general-purpose") is None
        assert client.start(AGENT, "general-purpose") is None

    def test_an_honest_text_in_any_form_is_accepted(self, client: Client) -> None:
        assert client.run(CALL, AGENT, self.HONEST, agent="general-purpose") == [None, None]
        assert client.delegation(CALL) == "accepted"

    def test_a_text_without_claims_is_accepted(self, client: Client) -> None:
        assert client.run(CALL, AGENT, "Done.", agent="Plan") == [None, None]

    def test_an_invented_location_is_sent_back_once(self, client: Client) -> None:
        first, *rest = client.run(CALL, AGENT, self.LIE, self.HONEST, agent="general-purpose")
        assert is_block(first)
        assert "app/nowhere.py:99" in str(first)
        assert rest == [None, None]

    def test_the_second_time_the_orchestrator_learns_what_does_not_hold(self, client: Client) -> None:
        _, second, delivered = client.run(CALL, AGENT, self.LIE, self.LIE, agent="general-purpose")
        assert second is None
        assert "updatedToolOutput" not in (delivered or {})["hookSpecificOutput"], "the report itself is delivered"
        assert "app/nowhere.py:99" in context_of(delivered)
        assert "do not repeat them" in context_of(delivered)

    def test_the_report_of_a_session_states_what_was_checked_of_them(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(client.project)
        client.run(CALL, AGENT, GOOD)
        client.run(RETRY, SECOND, self.HONEST, agent="general-purpose")
        client.run("toolu_3", "c1", self.LIE, self.LIE, agent="Plan")
        found = json.loads(CliRunner().invoke(remit, ["merge", "--session", "last", "--format", "json"]).stdout)
        assert {(one["agent"], one["status"], one["verdict"]) for one in found["agents"]} == {
            ("code-explorer", "SUCCESS", "accept"),
            ("general-purpose", "OBSERVED", "accept"),
            ("plan", "FAILED", "reject"),
        }
        shown = " ".join(CliRunner().invoke(remit, ["merge", "--session", "last"]).stdout.split())
        assert "only claims were checked: general-purpose" in shown
        assert "Look the user up → app/store.py:14 (find_user)" in shown, "not only findings are merged"

    def test_a_final_answer_waits_for_them(self, client: Client) -> None:
        client.launch(CALL, "general-purpose")
        client.start(AGENT, "general-purpose")
        running = [{"id": AGENT, "type": "subagent", "status": "running", "agent_type": "general-purpose"}]
        assert is_block(client.ask("Stop", last_assistant_message="Done.", background_tasks=running))

    def test_off_checks_nothing(self, begin: Callable[[str], Client]) -> None:
        client = begin('[gate]\nothers = "off"\n')
        assert client.run(CALL, AGENT, self.LIE, agent="general-purpose") == [None, None]
        [kept] = client.kept
        assert (kept.outcome, kept.verdict) == ("observed", "")

    def test_explore_is_under_contract(self, client: Client) -> None:
        prompt = (client.launch(CALL, "Explore") or {})["hookSpecificOutput"]["updatedInput"]["prompt"]
        assert "## Explore Result" in prompt
        assert "### Key References" in prompt
        assert "#### Execution Flow" not in prompt, "a search has the short form"
        assert is_block(client.stop(AGENT, "at src/nope.py:99, all good.", "Explore"))


class TestFinalClaims:
    """The final answer agrees with the record of the session."""

    LIES = (
        ("The fix is in app/nowhere.py:36.", "app/nowhere.py:36"),
        ("See `app/login.py:900` for the check.", "app/login.py:900"),
        ("I suggest a rotation; the bug is in `app/nowhere.py:12`.", "app/nowhere.py:12"),
        ("This should no longer happen in `app/login.py:999`.", "app/login.py:999"),
        ("The check is `frob_mac()` in `app/login.py:7`.", "`frob_mac` exists nowhere in this checkout"),
        ("The security-auditor confirmed that the login is safe.", "security-auditor was not asked"),
        ("I delegated the review to the QA Engineer.", "qa-engineer was not asked"),
        ("I used the `Explore` subagent to find it.", "Explore was not asked"),
        ("The general-purpose agent reviewed the login.", "general-purpose was not asked"),
        ("修正は app/nowhere.py:36 にあります。", "app/nowhere.py:36"),
        ("security-auditor がログインの安全性を確認しました。", "security-auditor was not asked"),
        ("レビューは security-auditor に依頼しました。", "security-auditor was not asked"),
        ("修复位于 app/nowhere.py:36。", "app/nowhere.py:36"),
        ("我将审查委托给了 security-auditor。", "security-auditor was not asked"),
        ("`Explore` 代理发现了入口。", "Explore was not asked"),
    )
    HONEST = (
        "The login begins at app/login.py:7.",
        "There is no app/nowhere.py:36 in this repository.",
        "The report cited app/nowhere.py:36, which does not exist, so it was rejected.",
        "The parser is in parser/ghost.py:12 of the other project.",
        "See setup.py:10 there.",
        "I did not run the tests.",
        "All 12 tests pass.",
        "I ran the suite: 12 passed.",
        "I implemented the fix, added a test and committed it.",
        "I committed and pushed the changes.",
        "The tests should pass after this change.",
        "Once the tests pass, merge it.",
        "Do you want me to ask the security-auditor?",
        "Next, the security-auditor should review this.",
        "You can have the qa-engineer check it.",
        "Let me explore the code first.",
        "This is a general purpose module that was tested by hand.",
        "Run `make migrate` and `npm run nothing`.",
        "テストは実行していません。",
        "すべてのテストが成功しました。",
        "次に security-auditor がレビューすべきです。",
        "security-auditor はまだ確認していません。",
        "我没有运行测试。",
        "测试全部通过。",
        "要不要请 security-auditor 审查？",
        "security-auditor 将审查代码。",
        "Done.",
        "",
    )

    def begin_at_login(self, client: Client) -> None:
        client.ask("UserPromptSubmit", prompt="go")
        client.calls(("Read", {"file_path": str(client.project / "app/login.py")}, "1\tx"))

    @pytest.mark.parametrize(("lie", "named"), LIES)
    def test_a_false_claim_is_sent_back_once_and_then_the_person_is_told(
        self, client: Client, lie: str, named: str
    ) -> None:
        self.begin_at_login(client)
        first = client.answer(f"I looked at it. {lie}")
        assert is_block(first)
        assert "final-claims" in str(first)
        assert named in str(first)
        repeated = client.answer(f"I looked at it. {lie}", stop_hook_active=True)
        assert repeated is not None
        assert list(repeated) == ["systemMessage"], "no loop, and the person is told"
        assert "still states what is not true: " in repeated["systemMessage"]
        assert lie.partition("。")[0] in repeated["systemMessage"]
        assert "\n" not in repeated["systemMessage"]
        assert client.answer(f"I looked at it. {lie}") is None

    @pytest.mark.parametrize("honest", HONEST)
    def test_an_honest_answer_and_what_is_only_unseen_are_not_touched(self, client: Client, honest: str) -> None:
        self.begin_at_login(client)
        assert client.answer(honest) is None

    def test_untrue_statements_are_counted(self, client: Client) -> None:
        lies = "The fix is in app/nowhere.py:36.\nThe security-auditor confirmed that the login is safe."
        for number, second in enumerate(("I ran no tests.", "The fix is in app/nowhere.py:36.", lies)):
            self.begin_at_login(client)
            assert is_block(client.answer(lies)), number
            client.answer(second, stop_hook_active=True)
        assert client.state.untrue_since() == (3, 3)

    def test_tests_that_ran_and_passed_may_be_reported(self, client: Client) -> None:
        client.calls(("Bash", {"command": "python -m pytest -q"}, "2 passed in 0.01s"))
        assert client.answer("All tests pass.") is None

    @pytest.mark.parametrize(
        ("command", "output", "answer", "line"),
        [
            ("python -m pytest -q", "Exit code 1\n1 failed, 1 passed in 0.1s", "All tests pass.", "1 failed, 1 passed"),
            ("npm test 2>&1 | tail -20", "sh: 1: mocha: not found", "All 1,200 tests pass.", "mocha: not found"),
            ("npm test || true", "  11 passing (9ms)\n  1 failing", "Fixed it, and all tests pass.", "1 failing"),
            ("npm run build", "Exit code 2\nsrc/a.ts(1,2): error TS2322: no", "构建成功。", "error TS2322"),
            ("git push", "Exit code 1\n ! [rejected] main -> main", "I pushed it.", "[rejected] main"),
        ],
    )
    def test_a_printed_failure_of_the_last_run_is_sent_back(
        self, client: Client, command: str, output: str, answer: str, line: str
    ) -> None:
        client.ask("UserPromptSubmit", prompt="go")
        client.calls(("Bash", {"command": command}, output))
        sent_back = str(client.answer(answer))
        assert f"`{command}` printed `" in sent_back
        assert line in sent_back
        assert answer in sent_back, "the whole sentence"
        edit = {"file_path": str(client.project / "app/login.py"), "old_string": "a", "new_string": "b"}
        client.ask("UserPromptSubmit", prompt="go")
        client.calls(("Edit", edit, "The file was updated."))
        assert (client.answer(answer) is None) == ("push" not in command), "something changed since"

    def test_the_order_of_what_subagents_did_is_that_of_time(self, client: Client) -> None:
        client.ask("UserPromptSubmit", prompt="go")
        path = client.transcript(AGENT, call=CALL, read=())
        runs = ((client.session_transcript, "2 passed in 0.1s", "11"), (str(path), "1 failed in 0.1s", "10"))
        for file, output, minute in runs:
            use = {"type": "tool_use", "id": f"t{minute}", "name": "Bash", "input": {"command": "pytest -q"}}
            result = {"type": "tool_result", "tool_use_id": f"t{minute}", "content": output}
            at = f"2026-01-31T10:{minute}:00Z"
            lines = [
                {"type": who, "timestamp": at, "message": {"content": [part]}}
                for who, part in (("assistant", use), ("user", result))
            ]
            with Path(file).open("a") as opened:
                opened.writelines(json.dumps(line) + "\n" for line in lines)
        assert client.answer("All tests pass.") is None

    def test_a_delegation_that_took_place_may_be_reported(self, client: Client) -> None:
        client.calls(("Agent", {"subagent_type": "remit:security-auditor", "prompt": "look"}, "fine"))
        assert client.answer("The security-auditor found nothing.") is None

    def test_without_a_record_the_person_is_told_what_was_not_checked(self, client: Client) -> None:
        client.ask("UserPromptSubmit", prompt="go")
        told = "remit: what this answer states about runs and changes was not checked: the session has no transcript"
        assert client.answer("All tests pass.") == {"systemMessage": told}
        assert client.answer("The login begins at app/login.py:7.") is None
        assert is_block(client.answer("All tests pass. The fix is in app/nowhere.py:36."))

    def test_the_person_is_told_that_an_answer_is_too_long(self, client: Client) -> None:
        client.ask("UserPromptSubmit", prompt="go")
        told = client.answer("See app/nowhere.py:36. " * 10_000) or {}
        assert (
            told["systemMessage"] == "remit: this answer was not checked, because it has more than 200,000 characters"
        )

    def test_the_next_prompt_is_checked_again(self, client: Client) -> None:
        for _ in range(2):
            client.ask("UserPromptSubmit", prompt="go")
            assert is_block(client.answer("See app/nowhere.py:36."))


class TestRevertOfAnEdit:
    """The offered revert undoes exactly the edit, and the gate allows it."""

    SPEC = "docs/specs/orders.md"
    BEFORE = "# Orders\n\nA line.\nAnother line.  \n\nThe end.\n"

    def settle(self, client: Client, after: str) -> str:
        spec = client.project / self.SPEC
        spec.parent.mkdir(parents=True)
        spec.write_text(self.BEFORE)
        given = {"file_path": str(spec), "old_string": "Another line.  \n", "new_string": "Another line.\n"}
        assert client.ask("PreToolUse.Read", tool_name="Edit", tool_use_id="toolu_e", tool_input=given) is None
        spec.write_text(after)
        response = {"filePath": str(spec), "originalFile": self.BEFORE}
        answer = client.ask(
            "PostToolUse.Read", tool_name="Edit", tool_use_id="toolu_e", tool_input=given, tool_response=response
        )
        return context_of(answer)

    def test_other_work_in_the_file_stays_and_the_command_is_allowed(self, client: Client) -> None:
        subprocess.run(["git", "init", "--quiet", str(client.project)], check=True)
        offered = self.settle(
            client, self.BEFORE.replace("A line.", "Some other line.").replace("line.  \n", "line.\n")
        )
        command = offered.rpartition("offer to revert exactly this edit: ")[2].strip()
        assert command.startswith("git apply ")
        spec = client.project / self.SPEC
        spec.write_text(spec.read_text() + "\nA paragraph that the user adds meanwhile.\n")
        assert client.ask("PreToolUse.Bash", tool_use_id="toolu_r", tool_input={"command": command}) is None
        subprocess.run(command.split(), cwd=client.project, check=True)
        assert spec.read_text() == self.BEFORE + "\nA paragraph that the user adds meanwhile.\n"

    def test_an_edit_as_announced_needs_no_revert(self, client: Client) -> None:
        assert self.settle(client, self.BEFORE.replace("line.  \n", "line.\n")) == ""


class TestProgress:
    """A session writes the progress file: prompts as phases, delegations, failures with agent, cause and action."""

    def progress(self, client: Client) -> dict[str, Any]:
        return read_progress(client.project / ".remit/progress.json")

    def test_prompts_are_phases_and_delegations_are_listed(self, client: Client) -> None:
        client.ask("UserPromptSubmit", prompt="secret words")
        client.launch(CALL)
        client.transcript(AGENT, call=CALL)
        client.start(AGENT)
        progress = self.progress(client)
        assert (progress["currentPhase"], progress["status"]) == ("prompt 1", "in_progress")
        assert progress["resumptionContext"]["nextAction"] == "Wait for code-explorer"
        client.stop(AGENT, GOOD)
        client.done(CALL, AGENT, GOOD)
        client.answer("Done.")
        progress = self.progress(client)
        [delegation] = progress["delegations"]
        assert (delegation["agent"], delegation["state"], delegation["verdict"]) == (
            "code-explorer",
            "accepted",
            "accept",
        )
        assert progress["status"] == "completed"
        assert f"claude --resume {SESSION}" in progress["resumptionContext"]["nextAction"]
        assert any(file.startswith("app/session.py:") for file in progress["resumptionContext"]["keyFiles"])
        assert "secret words" not in json.dumps(progress), "no content of a prompt is written"

    def test_a_failure_is_a_warning_with_agent_cause_and_action(self, client: Client) -> None:
        client.run(CALL, AGENT, FAILED)
        [warning] = self.progress(client)["warnings"]
        assert warning.startswith("Agent code-explorer failed, results may be incomplete (session 9f3279c5, toolu_1): ")
        assert "it reported FAILED: pytest is not installed" in warning
        assert warning.endswith("it may be retried once with a reduced scope")

    def test_a_failure_that_a_retry_resolved_is_marked(self, client: Client) -> None:
        client.run(CALL, AGENT, FAILED)
        client.run(RETRY, SECOND, GOOD)
        [warning] = self.progress(client)["warnings"]
        assert warning.startswith("Agent code-explorer failed, resolved by a retry")

    def test_a_run_that_was_interrupted_is_a_warning(self, client: Client) -> None:
        client.launch(CALL)
        client.start(AGENT)
        client.answer("Stopped.")
        [warning] = self.progress(client)["warnings"]
        assert "it ended without a report" in warning

    def test_a_progress_file_that_cannot_be_written_does_not_stop_the_session(self, client: Client) -> None:
        (client.project / ".remit/progress.lock").mkdir()
        assert client.ask("UserPromptSubmit", prompt="go") is None
        assert any("progress file" in warning for warning in client.state.warnings)

    def test_the_command_line_shows_it(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        client.ask("UserPromptSubmit", prompt="go")
        client.run(CALL, AGENT, GOOD)
        monkeypatch.chdir(client.project)
        done = CliRunner().invoke(remit, ["plan", "progress"])
        assert done.exit_code == 0, done.output
        assert "prompt 1" in done.output
        assert "code-explorer accepted accept" in done.output


class TestConflicts:
    """Accepted reports that contradict each other are reported when the second one arrives."""

    SECURITY = sample_text("review")
    QUALITY = (
        SECURITY.replace("## Security Auditor Result", "## QA Engineer Result")
        .replace("| Critical |", "| Minor |")
        .replace("- Critical: 1", "- Critical: 0")
        .replace("- Minor: 1", "- Minor: 2")
    )

    def run(self, client: Client, call: str, agent_id: str, report: str, agent: str) -> object:
        client.launch(call, agent)
        client.transcript(agent_id, call=call, read=(*READ, "tests/test_login.py", "docs/login.md"))
        client.start(agent_id, agent)
        assert client.stop(agent_id, report, agent) is None
        return client.done(call, agent_id, report, agent)

    def test_the_orchestrator_and_the_user_learn_of_it_at_once(self, client: Client) -> None:
        assert self.run(client, CALL, AGENT, self.SECURITY, "security-auditor") is None
        notice = context_of(self.run(client, RETRY, SECOND, self.QUALITY, "qa-engineer"))
        assert "accepted reports contradict each other" in notice
        assert "severity" in notice
        assert "qa-engineer, security-auditor" in notice
        assert any("contradict each other" in warning for warning in client.state.warnings)

    def test_it_is_reported_once(self, client: Client) -> None:
        self.run(client, CALL, AGENT, self.SECURITY, "security-auditor")
        self.run(client, RETRY, SECOND, self.QUALITY, "qa-engineer")
        assert self.run(client, "toolu_3", "c1", self.QUALITY, "qa-engineer") is None

    def test_reports_that_agree_are_not_mentioned(self, client: Client) -> None:
        self.run(client, CALL, AGENT, self.SECURITY, "security-auditor")
        same = self.SECURITY.replace("## Security Auditor Result", "## QA Engineer Result")
        assert self.run(client, RETRY, SECOND, same, "qa-engineer") is None


class TestTeams:
    """A teammate's report is held to the same rules as a subagent's. Its events name the teammate."""

    LIE = "The login begins at app/nowhere.py:99."
    MATE = "ascout-408e3c97dad6b614"

    def spawn(self, client: Client, agent: str = "code-explorer", *, has_metadata: bool = True) -> None:
        client.launch(CALL, agent)
        path = client.transcript(self.MATE)
        if has_metadata:
            meta = {"agentType": "scout", "name": "scout", "spawnedAgentType": agent}
            path.with_suffix(".meta.json").write_text(json.dumps(meta))
        given = {"subagent_type": agent, "name": "scout", "prompt": "look"}
        assert client.ask("PostToolUse.Agent.teammate_spawned", tool_use_id=CALL, tool_input=given) is None
        client.ask("SubagentStart.teammate")

    def stop(self, client: Client, text: str, **fields: Any) -> Any:
        path = client.transcripts / f"agent-{self.MATE}.jsonl"
        fields = {"agent_transcript_path": str(path), "last_assistant_message": text, **fields}
        return client.ask("SubagentStop.teammate", **fields)

    def test_a_launch_that_starts_a_teammate_has_no_report_yet(self, client: Client) -> None:
        self.spawn(client)
        assert client.delegation(CALL) == "open"
        assert client.kept == []

    def test_a_report_that_was_judged_when_it_stopped_is_not_judged_again(self, client: Client) -> None:
        self.spawn(client)
        assert is_block(self.stop(client, INVENTED))
        assert self.stop(client, GOOD, stop_hook_active=True) is None
        assert client.outcomes == ["returned", "accepted"]

    def test_the_lead_learns_once_of_a_report_that_is_not_accepted(self, client: Client) -> None:
        self.spawn(client)
        self.stop(client, INVENTED)
        self.stop(client, INVENTED, stop_hook_active=True)
        told = client.ask("Stop.teammate")
        assert is_block(told)
        assert "app/nowhere.py:14" in str(told)
        assert "app/login.py:7" in str(told), "its verified lines are handed on"
        assert client.ask("Stop.teammate") is None

    def test_a_call_of_the_lead_brings_the_same_notice(self, client: Client) -> None:
        self.spawn(client)
        self.stop(client, INVENTED)
        self.stop(client, INVENTED, stop_hook_active=True)
        told = read(client, "app/login.py", limit=2)
        assert isinstance(told, dict)
        assert "app/nowhere.py:14" in context_of(told)
        assert client.ask("Stop.teammate") is None

    def test_the_lead_learns_of_a_conflict_between_accepted_reports(self, client: Client) -> None:
        conflicts = TestConflicts()
        conflicts.run(client, RETRY, SECOND, conflicts.SECURITY, "security-auditor")
        self.spawn(client, "qa-engineer")
        path = client.transcript(self.MATE, read=(*READ, "tests/test_login.py", "docs/login.md"))
        path.with_suffix(".meta.json").write_text(json.dumps({"spawnedAgentType": "qa-engineer"}))
        assert self.stop(client, conflicts.QUALITY) is None
        assert client.delegation(CALL) == "accepted"
        told = client.ask("Stop.teammate")
        assert is_block(told)
        assert "accepted reports contradict each other" in str(told)
        assert client.ask("Stop.teammate") is None

    def test_a_lead_that_stops_while_a_teammate_works_has_lost_nothing(self, client: Client) -> None:
        self.spawn(client)
        assert is_block(client.ask("Stop.teammate")), "a delegation is open"
        assert client.delegation(CALL) == "open"
        assert client.state.warnings == []
        client.answer("Done.", stop_hook_active=True)
        assert client.delegation(CALL) == "failed", "the client lists no teammate any more"
