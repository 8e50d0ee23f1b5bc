"""Transcripts of other clients are recognised by their content and read as receipts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.clients.codex.transcript import CodexCalls
from remit.clients.copilot.transcript import CopilotCalls
from remit.clients.opencode.transcript import OpencodeCalls
from remit.clients.transcripts import of_agent, split_agent
from remit.clients.transcripts.calls import TranscriptLine
from remit.clients.transcripts.reading import read_transcript, read_transcripts
from remit.evidence.sources import open_sources

FIXTURES = Path(__file__).parents[2] / "fixtures"


def codex(*items: dict[str, Any]) -> CodexCalls:
    calls = CodexCalls()
    for item in items:
        calls.add(TranscriptLine(type="event_msg", payload={"type": "item_completed", "item": item}))
    return calls


def command(**fields: Any) -> dict[str, Any]:
    item = {"type": "CommandExecution", "command": ["bash", "-lc", "grep -n x a.py"], "cwd": "file:///p/my%20shop"}
    return {**item, "status": "completed", "exit_code": 0, "aggregated_output": "3:x\n", **fields}


def test_a_rollout_of_codex_is_recognised() -> None:
    transcript = read_transcript(FIXTURES / "codex/rollout.jsonl")
    assert transcript.is_known
    assert transcript.roots == ("/home/dev/shop",)
    assert [(one.tool, one.command or one.path) for one in transcript.receipts] == [
        ("Bash", "cat shop/orders.py"),
        ("Edit", "/home/dev/shop/shop/mail.py"),
        ("Edit", "/home/dev/shop/new.txt"),
        ("Agent", None),
    ]


def test_a_command_has_its_status_folder_and_hits() -> None:
    [receipt] = codex(command()).receipts
    assert (receipt.exit, receipt.cwd, receipt.failed) == (0, "/p/my shop", False)
    assert receipt.hits == {"a.py": (3,)}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"exit_code": 2}, (2, False, False)),
        ({"exit_code": None, "status": "in_progress", "aggregated_output": ""}, (None, False, True)),
        ({"exit_code": None, "status": "declined"}, (None, True, False)),
        ({"exit_code": True, "command": None, "cwd": 3, "aggregated_output": []}, (None, False, False)),
    ],
)
def test_other_ends_of_a_command(fields: dict[str, Any], expected: tuple[object, ...]) -> None:
    [receipt] = codex(command(**fields)).receipts
    assert (receipt.exit, receipt.failed, receipt.pending) == expected
    assert not any(receipt.hits.values())


def test_a_moved_file_counts_under_both_names_and_a_failed_change_as_failed() -> None:
    changes = {"/p/a.py": {"type": "update", "move_path": "/p/b.py"}, "/p/c.py": None}
    calls = codex({"type": "FileChange", "status": "failed", "changes": changes})
    assert [(one.path, one.failed) for one in calls.receipts] == [
        ("/p/a.py", True),
        ("/p/b.py", True),
        ("/p/c.py", True),
    ]


@pytest.mark.parametrize("item", [{"type": "FileChange", "changes": []}, {"type": "AgentMessage"}, {"type": None}, {}])
def test_other_items_are_not_calls(item: dict[str, Any]) -> None:
    assert codex(item).receipts == []


@pytest.mark.parametrize(
    ("arguments", "agents"),
    [('{"agent_type": "worker"}', ["worker"]), ("{}", ["default"]), ("[]", ["default"]), ("{", []), (None, [])],
)
def test_a_launch_names_its_agent(arguments: object, agents: list[str]) -> None:
    calls = CodexCalls()
    payload = {"type": "function_call", "name": "collaborationspawn_agent", "arguments": arguments}
    assert calls.add(TranscriptLine(type="response_item", payload=payload))
    assert [one.arguments["subagent_type"] for one in calls.receipts] == agents


def test_lines_of_another_client_are_not_taken() -> None:
    calls = CodexCalls()
    assert not calls.add(TranscriptLine(type="assistant", payload={}))
    assert not calls.add(TranscriptLine(type="event_msg", payload="text"))
    assert calls.add(TranscriptLine(type="turn_context", payload={"cwd": 5}))
    assert calls.is_known
    assert not calls.roots


def test_the_number_of_calls_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.clients.transcripts.calls.MAX_CALLS", 1)
    assert len(codex(command(), command()).receipts) == 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda inner: st.dictionaries(st.text(), inner) | st.lists(inner)
    )
)
def test_any_payload_is_read_without_an_error(value: object) -> None:
    calls = CodexCalls()
    for kind in ("event_msg", "response_item", "session_meta"):
        calls.add(TranscriptLine(type=kind, payload=value))
        calls.add(TranscriptLine(type=kind, payload={"type": "item_completed", "item": value}))
        calls.add(
            TranscriptLine(
                type=kind, payload={"type": "item_completed", "item": {"type": "FileChange", "changes": value}}
            )
        )
        calls.add(
            TranscriptLine(
                type=kind, payload={"type": "item_completed", "item": {"type": "CommandExecution", "command": value}}
            )
        )


def test_a_file_of_an_unknown_client_stays_unknown(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"type": "step", "payload": {"cwd": "/p"}}) + "\n")
    assert not read_transcript(path).is_known


def copilot(*lines: tuple[str, dict[str, Any], str | None], agent: str = "") -> CopilotCalls:
    calls = CopilotCalls(agent=agent)
    for kind, data, owner in lines:
        assert calls.add(TranscriptLine(type=kind, data=data, agentId=owner))
    return calls


def ended(tool: str, arguments: object, **fields: Any) -> list[tuple[str, dict[str, Any], str | None]]:
    start = {"toolCallId": "c", "toolName": tool, "arguments": arguments}
    end = {"toolCallId": "c", "success": True, "result": {"content": "text"}, **fields}
    return [("tool.execution_start", start, None), ("tool.execution_complete", end, None)]


def test_the_events_of_copilot_are_recognised() -> None:
    transcript = read_transcript(FIXTURES / "copilot/events.jsonl")
    assert transcript.is_known
    assert transcript.roots == ("/home/dev/shop",)
    assert [one.tool for one in transcript.receipts] == [
        *("Bash", "Bash", "Read", "Edit", "Write", "Grep", "Glob", "Agent", "Read", "Bash", "Bash")
    ]
    assert transcript.receipts[0].failed  # it was denied
    assert transcript.receipts[7].arguments == {"subagent_type": "code-explorer"}


def test_the_calls_of_one_agent_are_selected() -> None:
    path = of_agent(str(FIXTURES / "copilot/events.jsonl"), "00000000-0000-4000-8000-000000000001")
    (transcript,) = read_transcripts([path])
    read, run = transcript.receipts
    assert read.ranges == ((1, 5),)
    assert (run.command, run.exit, run.failed) == ("cat shop/mail.py; exit 3", 3, False)


def test_an_unknown_transcript_keeps_the_name_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("{}", encoding="utf-8")
    path = of_agent(str(tmp_path / "events.jsonl"), "one")
    assert [(one.name, one.is_known) for one in read_transcripts([path])] == [(path, False)]
    assert open_sources(tmp_path, transcripts=read_transcripts([path])).receipts_problem.startswith(f"{path}: unknown")


@pytest.mark.parametrize("path", ["/p/events.jsonl", "/p#agent=x/events.jsonl", "#agent"])
def test_other_paths_select_nothing(path: str) -> None:
    assert split_agent(path) == (path, "")


def test_a_view_shows_the_lines_of_its_range() -> None:
    [receipt] = copilot(
        *ended("view", {"path": "/p/a.py", "view_range": [10, -1]}, result={"content": "a\nb"})
    ).receipts
    assert (receipt.path, receipt.ranges) == ("/p/a.py", ((10, 11),))
    [receipt] = copilot(*ended("view", {"path": 3, "view_range": ["x"]})).receipts
    assert (receipt.path, receipt.ranges) == (None, ((1, 1),))


def test_a_command_without_a_status_still_runs() -> None:
    [receipt] = copilot(*ended("bash", {"command": "sleep 9"})).receipts
    assert (receipt.exit, receipt.pending) == (None, True)


def test_a_call_without_a_result_or_with_an_error_counts_as_failed() -> None:
    start, _ = ended("bash", "text")
    assert copilot(start).receipts[0].failed
    assert copilot(*ended("grep", {"pattern": "x"}, success=False, result=None)).receipts[0].failed


def test_a_result_without_its_call_and_lines_without_a_call_are_skipped() -> None:
    _, end = ended("bash", {})
    assert copilot(end, ("assistant.message", {}, None), ("session.start", {"context": 1}, None)).receipts == []


def test_lines_of_another_client_are_not_those_of_copilot() -> None:
    assert not CopilotCalls().add(TranscriptLine(type="user", data={}))
    assert not CopilotCalls().add(TranscriptLine(type="tool.execution_start", data=[]))


def part(tool: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": tool, "state": {"status": "completed", "input": {}, "output": "", **state}}


def opencode(*parts: object, **info: Any) -> OpencodeCalls:
    calls = OpencodeCalls()
    assert calls.add(TranscriptLine(info={"role": "assistant", **info}, parts=list(parts)))
    return calls


def test_the_messages_of_opencode_are_recognised() -> None:
    transcript = read_transcript(FIXTURES / "opencode/messages.jsonl")
    assert transcript.is_known
    assert transcript.roots == ("/home/dev/shop",)
    read, run = transcript.receipts
    assert (read.tool, read.path, read.ranges) == ("Read", "/home/dev/shop/shop/orders.py", ((1, 78),))
    assert (run.tool, run.command, run.exit) == ("Bash", "cat shop/mail.py", 0)


def test_a_read_without_known_lines_is_read_from_its_output() -> None:
    [receipt] = opencode(part("read", input={"filePath": 3}, metadata={"display": {"lineStart": "x"}})).receipts
    assert (receipt.path, receipt.ranges) == (None, ((0, 0),))
    [receipt] = opencode(part("read")).receipts
    assert receipt.cwd is None


def test_searches_of_opencode_have_hits() -> None:
    # As opencode 1.18 prints them.
    shown = "Found 3 matches\n/p/a.py:\n  Line 3: x\n\n  Line 5: /p/b.py:\n\n\n/p/c.py:\n  Line 20: x\n"
    search, listing, command = opencode(
        part("grep", output=shown, metadata={"matches": 3, "truncated": False}),
        part("glob", output="/p/a.py\n/p/c.py", metadata={"count": 2, "truncated": False}),
        part("bash", input={"command": "grep -n x a.py"}, output="3:x\n", metadata={"exit": 0}),
    ).receipts
    assert search.hits == {"/p/a.py": (3, 5), "/p/c.py": (20,)}
    assert listing.hits == {"/p/a.py": (), "/p/c.py": ()}
    assert (command.hits, command.exit) == ({"a.py": (3,)}, 0)


@pytest.mark.parametrize("output", ["No files found", "", "Line 3: x", "/p/a.py:\n  Line y: z\n", "(truncated)"])
@pytest.mark.parametrize("tool", ["grep", "glob"])
def test_a_search_of_opencode_without_a_hit_shows_no_line(tool: str, output: str) -> None:
    [receipt] = opencode(part(tool, output=output)).receipts
    assert not any((receipt.hits or {}).values())


def test_a_search_of_opencode_with_many_hits_is_read_in_linear_time() -> None:
    [receipt] = opencode(part("grep", output="/p/a.py:\n" + "Line 3:\n" * 240_000)).receipts
    assert receipt.hits is not None
    assert len(receipt.hits["/p/a.py"]) == 240_000


def test_a_failed_call_and_a_launch_of_opencode() -> None:
    failed, launch = opencode(
        part("edit", status="error", input={"filePath": "/p/a.py"}), part("task", input={"subagent_type": "x"})
    ).receipts
    assert (failed.failed, failed.path) == (True, "/p/a.py")
    assert (launch.tool, launch.arguments) == ("Agent", {"subagent_type": "x"})


@pytest.mark.parametrize("entry", [None, {"type": "text"}, "text"])
def test_other_parts_of_a_message_are_not_calls(entry: object) -> None:
    assert opencode(entry, path="x").receipts == []


def test_a_part_without_a_state_counts_as_failed() -> None:
    assert opencode({"type": "tool", "tool": "bash"}).receipts[0].failed


@pytest.mark.parametrize(("info", "parts"), [(None, []), ({"role": "user"}, {}), ({"role": "system"}, [])])
def test_lines_of_another_client_are_not_those_of_opencode(info: object, parts: object) -> None:
    assert not OpencodeCalls().add(TranscriptLine(info=info, parts=parts))
