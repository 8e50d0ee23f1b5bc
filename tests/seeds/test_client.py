"""What the source documents require of subagents and orchestrators under a client, shown by its hook events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.client_session import GOOD, INVENTED, Client, context_of, is_block, notice_of

from remit.rules.examples import sample_text

CALL, AGENT = "toolu_1", "a4f4ad01adececa3d"
RETRY, SECOND = "toolu_2", "b4f4ad01adececa3d"
FAILED = (
    sample_text("error").replace("Backend Specialist", "Code Explorer").replace("`tests/test_login.py:1`", "the set-up")
)
HOPELESS = FAILED.replace("| Recoverable | true |", "| Recoverable | false |")


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Client]:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "REMIT_GATE_MODE", "REMIT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return lambda settings: Client(tmp_path, settings)


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

    def test_observe_mode_records_the_failure_and_gives_no_answer(self, begin: Callable[[str], Client]) -> None:
        client = begin('[gate]\nmode = "observe"\n')
        assert client.run(CALL, AGENT, FAILED) == [None, None]
        assert client.delegation(CALL) == "failed"


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
