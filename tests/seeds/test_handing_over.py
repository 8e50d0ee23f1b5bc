"""What reaches the orchestrator and the person at the end of a delegation: long reports, early answers, costs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.client_session import GOOD, Client, context_of, is_block, notice_of

from remit.contract.tokens import estimate_tokens
from remit.surfaces.cli.group import remit

CALL, AGENT = "toolu_1", "a4f4ad01adececa3d"
PROSE = (
    "The login form is where a session begins, and each request of the site comes in at app/login.py:7. " * 10 + "\n\n"
)
#: A report of more than 8,000 tokens.
LONG = GOOD.replace("### Key References", "#### Architecture\n\n" + PROSE * 40 + "### Key References")


@pytest.fixture
def client(begin: Callable[[str], Client]) -> Client:
    return begin("")


@pytest.fixture(scope="module")
def skill(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the skill that an install writes."""
    home = tmp_path_factory.mktemp("home")
    project = home / "project"
    (project / ".git").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.chdir(project)
        ran = CliRunner().invoke(remit, ["install", "claude-code", "--mode", "orchestrator", "--yes"])
        assert ran.exit_code == 0, ran.output
    return (project / ".claude/skills/remit/SKILL.md").read_text("utf-8")


class TestN5TheInstalledSkill:
    """The skill of the orchestrator states the habits that no hook can check."""

    @pytest.mark.parametrize(
        "habit",
        [
            "Show the user the results of a phase before the next one starts",
            "Run independent delegations in parallel",
            "haiku for lookups, sonnet for analysis, opus for requirements",
            "Write the progress after each phase",
            "Split a large task into phases",
            "Ask instead of guessing",
            "Record failures",
            "**PARTIAL**: read what is missing, then decide",
            "**Confidence under 60**: the result asks a question",
            "**Blockers**: show them to the user",
        ],
    )
    def test_it_has_every_habit(self, skill: str, habit: str) -> None:
        assert habit in skill


class TestC8TheSecondFinalAnswer:
    """An answer that is given again while a subagent runs passes, and the person learns what is missing in it."""

    RUNNING = ({"id": AGENT, "type": "subagent", "status": "running", "agent_type": "general-purpose"},)

    def answer(self, client: Client, **fields: object) -> dict[str, object] | None:
        return client.ask("Stop", last_assistant_message="Final answer.", background_tasks=self.RUNNING, **fields)

    def test_the_first_is_sent_back_and_the_second_is_reported_to_the_person(self, client: Client) -> None:
        client.launch(CALL, "general-purpose")
        client.start(AGENT, "general-purpose")
        assert is_block(self.answer(client, stop_hook_active=False))
        shown = (self.answer(client, stop_hook_active=True) or {})["systemMessage"]
        notice = "the answer was given before general-purpose had reported, so it does not contain that result"
        assert shown == f"remit (synthesize-early): {notice}"
        assert client.state.warnings == [notice.capitalize()]

    def test_an_answer_after_the_result_is_not_mentioned(self, client: Client) -> None:
        client.run(CALL, AGENT, "Done.", agent="general-purpose")
        assert client.answer("Final answer.", stop_hook_active=True) is None


class TestN6ALongReport:
    """A report of more than about 2,000 tokens is handed over shortened, with a pointer to the whole."""

    def test_every_section_keeps_its_beginning_and_the_whole_is_stored(self, client: Client) -> None:
        assert estimate_tokens(LONG) > 8_000
        delivered = client.run(CALL, AGENT, LONG)[-1]
        assert client.delegation(CALL) == "accepted"
        shown = notice_of(delivered)
        assert estimate_tokens(shown) < 2_300
        [kept] = client.kept
        assert Path(kept.path).read_text("utf-8") == LONG
        assert f"more lines of this section: {kept.path}]" in shown
        for heading in (line for line in LONG.split("\n") if line.startswith("#")):
            assert heading in shown
        assert "SUCCESS" in shown
        assert "Look the user up" in shown, "short sections are complete"
        assert f"Here it is shortened; the whole is in {kept.path}" in context_of(delivered)

    def test_a_short_report_is_handed_over_as_it_is(self, client: Client) -> None:
        assert client.run(CALL, AGENT, GOOD)[-1] is None

    def test_an_agent_outside_the_contract_is_not_shortened(self, client: Client) -> None:
        text = "The login begins at app/login.py:7 and nothing else is in there.\n" * 300
        assert client.run(CALL, AGENT, text, agent="general-purpose")[-1] is None


class TestN13Costs:
    """The figures of `gate status` are estimates, and a delegation is counted with what it cost here."""

    def look_up(self, client: Client) -> None:
        path = str(client.project / "app/clock.py")
        client.ask("PreToolUse.Read", tool_use_id="toolu_read", tool_input={"file_path": path, "limit": 5})

    def status(self) -> str:
        ran = CliRunner().invoke(remit, ["gate", "status"])
        assert ran.exit_code == 0, ran.output
        return " ".join(ran.stdout.split())

    def test_without_a_delegation_the_default_is_used(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(client.project)
        (client.project / "app/clock.py").write_text("# a line\n" * 20)
        self.look_up(client)
        assert "exceptions 1 lookup; estimated saving: 600 tokens" in self.status()

    def test_a_lookup_is_compared_with_what_a_delegation_cost(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(client.project)
        (client.project / "app/clock.py").write_text("# a line\n" * 20)
        self.look_up(client)
        prompt = (client.launch(CALL) or {})["hookSpecificOutput"]["updatedInput"]["prompt"]
        client.run(CALL, AGENT, GOOD)
        cost = estimate_tokens(prompt.partition("\n\n")[2]) + estimate_tokens(GOOD)
        assert cost > 700
        shown = self.status()
        [kept] = client.kept
        assert kept.tokens == cost
        assert f"estimated saving: {cost - 100:,} tokens; a delegation to code-explorer cost about {cost:,}" in shown
