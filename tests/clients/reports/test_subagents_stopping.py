"""SubagentStop: a report is checked, sent back once, and stored; its delegation is closed."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.client_session import GOOD, INVENTED, SESSION, VAGUE, Client, context_of, is_block

from remit.clients.hooks import results
from remit.gate.delegations import open_delegation
from remit.gate.session_store import open_session

CALL, AGENT = "toolu_1", "a4f4ad01adececa3d"


def test_an_invented_reference_is_sent_back_with_a_request_for_the_complete_report(client: Client) -> None:
    client.launch(CALL)
    client.transcript(AGENT, call=CALL)
    client.start(AGENT)
    reply = client.stop(AGENT, INVENTED)
    assert is_block(reply)
    assert reply is not None
    assert "resend the COMPLETE result" in reply["reason"]
    assert "reference-missing-file" in reply["reason"]
    assert "app/nowhere.py" in reply["reason"]
    assert client.delegation(CALL) == "open", "a correction is waited for"


def test_the_corrected_report_is_accepted_and_reaches_the_orchestrator_unchanged(client: Client) -> None:
    reply = client.run(CALL, AGENT, INVENTED, GOOD)
    assert is_block(reply[0])
    assert reply[1:] == [None, None]
    assert client.outcomes == ["returned", "accepted"]
    assert client.delegation(CALL) == "accepted"


def test_an_accepted_report_covers_its_key_references(client: Client) -> None:
    assert client.run(CALL, AGENT, GOOD) == [None, None]
    assert client.state.analysed == dict.fromkeys(("app/login.py", "app/session.py"), "code-explorer")
    assert client.state.window.why == "delegation", "and opens a fresh budget"
    assert client.state.warnings == []


def test_a_second_report_that_is_not_accepted_is_not_sent_back_again(client: Client) -> None:
    reply = client.run(CALL, AGENT, INVENTED, INVENTED)
    assert is_block(reply[0])
    assert reply[1] is None
    assert [(kept.outcome, kept.attempt, kept.verdict) for kept in client.kept] == [
        ("returned", 1, "revise"),
        ("rejected", 2, "reject"),
    ]
    assert client.delegation(CALL) == "rejected"
    assert client.state.analysed == {}
    assert client.state.warnings == ["Agent code-explorer failed, results may be incomplete"]


def test_a_minor_violation_is_accepted_the_second_time(client: Client) -> None:
    reply = client.run(CALL, AGENT, VAGUE, VAGUE)
    assert is_block(reply[0])
    assert client.outcomes == ["returned", "accepted"]


@pytest.mark.parametrize("report", [None, "", "  \n"])
def test_an_empty_report_is_requested_again(client: Client, report: str | None) -> None:
    client.launch(CALL)
    reply = client.stop(AGENT, report)
    assert is_block(reply)
    assert reply is not None
    assert "resend the COMPLETE result" in reply["reason"]


def test_receipts_are_read_from_the_transcript(client: Client) -> None:
    client.transcript(AGENT, read=())
    assert "no-tool-calls" in str(client.stop(AGENT, GOOD))
    client.transcript("other", read=("app/login.py",))
    assert "reference-unseen" in str(client.stop("other", GOOD)), "cites what it never opened"


@pytest.mark.parametrize("path", ["", "/nowhere/agent.jsonl", "\0", "/dev/zero"])
def test_a_report_without_a_transcript_is_judged(client: Client, path: str) -> None:
    assert client.stop(AGENT, GOOD, agent_transcript_path=path) is None
    assert is_block(client.stop("other", INVENTED, agent_transcript_path=path))


def test_an_invalid_transcript_is_ignored(client: Client) -> None:
    path = client.transcript(AGENT)
    lines = path.read_text()
    path.write_bytes(b'{"type":\xff\n[[[[' + b"[" * 100_000 + b"\n\0\0\n" + lines.encode() + b'{"type":"assistant"')
    assert client.stop(AGENT, GOOD) is None


def test_the_clients_own_subagents_are_ignored(client: Client) -> None:
    assert client.ask("SubagentStop.compaction") is None
    assert client.kept == []


def test_a_resumed_run_starts_at_the_first_attempt(client: Client) -> None:
    client.run(CALL, AGENT, INVENTED, INVENTED)
    client.start(AGENT)
    assert client.delegation(CALL) == "open"
    assert is_block(client.stop(AGENT, INVENTED)), "one correction more: this is another run"
    assert client.stop_again(AGENT, GOOD) is None
    assert client.outcomes == ["returned", "rejected", "returned", "accepted"]
    assert client.delegation(CALL) == "accepted"


def test_a_resumed_run_without_a_start_event_starts_at_the_first_attempt(client: Client) -> None:
    client.run(CALL, AGENT, INVENTED, INVENTED)
    assert client.stop(AGENT, GOOD) is None
    assert client.delegation(CALL) == "accepted"


def test_a_continuation_by_another_hook_does_not_add_corrections(client: Client) -> None:
    client.run(CALL, AGENT, INVENTED, INVENTED)
    assert client.stop_again(AGENT, INVENTED.replace("SUCCESS", "DONE")) is None
    assert client.outcomes[-1] == "rejected"


def test_a_stop_delivered_twice_counts_once(client: Client) -> None:
    client.launch(CALL)
    client.transcript(AGENT, call=CALL)
    first, second = client.stop(AGENT, INVENTED), client.stop(AGENT, INVENTED)
    assert is_block(first)
    assert first == second
    assert client.stop_again(AGENT, INVENTED) is None
    assert client.stop_again(AGENT, INVENTED) is None
    assert client.outcomes == ["returned", "rejected"]


def test_a_stop_delivered_twice_at_once_counts_once(client: Client) -> None:
    client.launch(CALL)
    client.transcript(AGENT, call=CALL)
    with ThreadPoolExecutor(4) as pool:
        reply = list(pool.map(lambda _: client.stop(AGENT, INVENTED), range(4)))
    assert all(is_block(one) for one in reply)
    assert client.outcomes == ["returned"]


def test_an_identical_report_after_a_correction_is_the_second_attempt(client: Client) -> None:
    """Also if the client does not send `stop_hook_active`."""
    assert is_block(client.stop(AGENT, INVENTED, stop_hook_active=None))
    assert client.stop(AGENT, INVENTED, stop_hook_active=None) is None
    assert client.outcomes == ["returned", "rejected"]


def test_parallel_subagents_are_kept_apart(client: Client) -> None:
    runs = [(f"toolu_{number}", f"a{number}") for number in range(6)]
    for call, agent_id in runs:
        client.launch(call)
        client.transcript(agent_id, call=call)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(client.start, (agent_id for _, agent_id in runs)))
        reports = [INVENTED if number % 2 else GOOD for number in range(6)]
        reply = list(pool.map(client.stop, (agent_id for _, agent_id in runs), reports))
        again = list(pool.map(client.stop_again, (agent_id for _, agent_id in runs[1::2]), [GOOD, INVENTED, GOOD]))
    assert [is_block(one) for one in reply] == [False, True] * 3
    assert again == [None, None, None]
    expected = ["accepted", "accepted", "accepted", "rejected", "accepted", "accepted"]
    assert [client.delegation(call) for call, _ in runs] == expected


def test_indistinguishable_launches_are_closed_by_their_calls(client: Client) -> None:
    """Two runs of one agent at once, without metadata next to their transcripts."""
    for call in ("toolu_1", "toolu_2"):
        client.launch(call)
    for agent_id in ("a1", "a2"):
        client.transcript(agent_id)
        client.start(agent_id)
        assert client.stop(agent_id, GOOD) is None
    assert [client.delegation(call) for call in ("toolu_1", "toolu_2")] == ["open", "open"]
    client.done("toolu_2", "a1", GOOD)
    client.done("toolu_1", "a2", GOOD)
    assert [client.delegation(call) for call in ("toolu_1", "toolu_2")] == ["accepted", "accepted"]
    assert client.state.delegations["toolu_2"].agent_id == "a1"


def test_a_nested_subagent_is_checked_but_is_not_a_delegation_of_the_orchestrator(client: Client) -> None:
    client.launch(CALL)
    client.transcript(AGENT, call=CALL)
    client.start(AGENT)
    client.launch("toolu_inner", agent_id=AGENT, agent_type="code-explorer")
    client.transcript("inner", call="toolu_inner", parent=AGENT)
    assert client.start("inner") is None, "its launch has sent the contract"
    assert is_block(client.stop("inner", INVENTED))
    assert client.stop_again("inner", GOOD) is None
    assert [kept.agent_id for kept in client.kept] == ["inner", "inner"]
    assert list(client.state.delegations) == [CALL]
    assert client.delegation(CALL) == "open"
    assert client.state.analysed == {}
    assert client.state.window.why != "delegation"


def test_a_rejected_nested_subagent_causes_a_warning(client: Client) -> None:
    client.transcript("inner", call="toolu_inner", parent=AGENT)
    client.stop("inner", INVENTED)
    client.stop_again("inner", INVENTED)
    assert client.state.warnings == ["Agent code-explorer failed, results may be incomplete"]


def test_agents_that_are_not_under_contract_can_be_left_alone(begin: Callable[[str], Client]) -> None:
    client = begin('[gate]\nothers = "off"\n')
    client.launch(CALL, "Plan")
    client.transcript(AGENT, call=CALL)
    assert client.start(AGENT, "Plan") is None
    assert client.stop(AGENT, "Nothing of that form.", "Plan") is None
    assert client.done(CALL, AGENT, "Nothing of that form.", "Plan") is None
    [kept] = client.kept
    assert (kept.agent, kept.outcome, kept.path, kept.check) == ("Plan", "observed", "", "")
    assert client.delegation(CALL) == "observed"
    assert client.ask("Stop", background_tasks=None) is None, "nobody waits for them"


def test_a_run_that_is_left_alone_is_not_waited_for(begin: Callable[[str], Client]) -> None:
    client = begin('[gate]\nothers = "off"\n')
    with open_session(client.folder, SESSION) as state:
        open_delegation(state, CALL, "Plan")
    client.start(AGENT, "Plan")
    assert client.delegation(CALL) == "observed"


def test_the_project_configures_which_agents_are_under_contract(begin: Callable[[str], Client]) -> None:
    client = begin('[gate]\nunder_contract = ["scout"]\n[agents.kinds]\nscout = "exploration"\n')
    assert is_block(client.stop("b", INVENTED, "scout"))
    assert client.stop("c", GOOD.replace("Code Explorer", "Scout"), "scout") is None


def test_an_agent_of_a_plugin_is_under_contract_by_its_own_name(client: Client) -> None:
    assert is_block(client.stop(AGENT, INVENTED, "remit:code-explorer"))


def test_rules_that_the_person_ignores_are_ignored_except_those_of_level_l1(begin: Callable[[str], Client]) -> None:
    client = begin('[check]\nignore = ["evidence", "confidence-unsupported"]\n')
    client.transcript(AGENT)
    told = str(client.stop(AGENT, INVENTED))
    assert "reference-missing-file" in told
    assert "confidence-unsupported" not in told


class TestStarting:
    """SubagentStart sends the contract if the launch did not."""

    def test_a_recorded_launch_has_sent_the_contract(self, client: Client) -> None:
        assert "How to answer" in str(client.launch(CALL))
        client.transcript(AGENT, call=CALL)
        assert client.start(AGENT) is None
        assert client.state.delegations[CALL].agent_id == AGENT

    def test_a_run_without_a_recorded_launch_gets_the_contract_at_its_start(self, client: Client) -> None:
        assert "How to answer" in context_of(client.start(AGENT))

    def test_the_only_matching_launch_is_linked(self, client: Client) -> None:
        client.launch(CALL)
        client.launch("toolu_2", "qa-engineer")
        assert client.start(AGENT) is None
        assert client.state.delegations[CALL].agent_id == AGENT
        assert client.state.delegations["toolu_2"].agent_id == ""

    def test_metadata_next_to_a_transcript_is_not_trusted(self, client: Client) -> None:
        client.launch(CALL)
        meta = client.transcript(AGENT).with_suffix(".meta.json")
        for text in ("[]", "[" * 100_000, '{"toolUseId": 7}', '{"toolUseId": "toolu_unknown"}', "x" * 1_000_000):
            meta.write_text(text)
            client.start(AGENT)
        assert list(client.state.delegations) == [CALL]


@pytest.mark.slow
def test_a_report_of_ten_megabytes_is_answered_and_stored_exactly(client: Client) -> None:
    report = GOOD + "x" * 10_000_000
    reply = client.stop(AGENT, report)
    assert is_block(reply)
    assert reply is not None
    assert "larger than" in reply["reason"]
    assert len(json.dumps(reply)) < 50_000
    assert Path(client.kept[0].path).read_text() == report


@pytest.mark.slow
def test_the_answer_to_ten_thousand_violations_is_limited(client: Client) -> None:
    many = "".join(f"- see `app/nowhere{number}.py:{number}`\n" for number in range(10_000))
    reply = client.stop(AGENT, GOOD.replace("### Key References", many + "\n### Key References"))
    assert is_block(reply)
    assert reply is not None
    assert len(reply["reason"]) <= 21_000
    assert len(client.kept[0].violations) <= 60


def test_the_stored_report_is_exact(client: Client) -> None:
    report = INVENTED.replace("\n", "\r\n") + "\x1b[31m\0\u202e<b>\ud800\ttab \n\n"
    client.stop(AGENT, report)
    [kept] = client.kept
    assert Path(kept.path).read_bytes() == report.encode("utf-8", "surrogatepass")
    assert kept.whole
    assert json.loads(Path(kept.check).read_text())["schema"] == "remit.check/1"


def test_reports_are_private(client: Client) -> None:
    client.stop(AGENT, INVENTED)
    [kept] = client.kept
    place = Path(kept.path).parent
    assert {file.stat().st_mode & 0o777 for file in place.iterdir()} == {0o600}
    assert {folder.stat().st_mode & 0o777 for folder in (place, place.parent)} == {0o700}
    assert results.list_results(client.folder, SESSION)[0].agent_id == AGENT
