"""`remit audit`: sentences of assistants are compared with the record of the same session, for each client."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.clients.transcripts.auditing import audit, audit_file
from remit.clients.transcripts.find import TranscriptFile, UnreadableFile, default_folders, find_transcripts
from remit.reports.audit_report import AuditFact, AuditReport, audit_lines

FAILED = "====== 2 failed, 46 passed in 0.91s ======"
PASSED = "====== 48 passed in 0.90s ======"
CLAIM = "All 48 tests pass."
Json = dict[str, Any]


def write(path: Path, lines: Iterable[Json]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


class ClaudeCode:
    """Writes lines of Claude Code."""

    def __init__(self, session: str = "s1") -> None:
        self._session = session
        self.lines: list[Json] = []

    def _add(self, kind: str, content: object, **fields: object) -> ClaudeCode:
        number = len(self.lines)
        line: Json = {"type": kind, "sessionId": self._session, "cwd": "/home/dev/shop", "uuid": f"u{number}"}
        line["parentUuid"] = f"u{number - 1}" if number else None
        line["timestamp"] = f"2026-02-08T10:{number:02d}:00Z"
        model = {"model": "sonnet"} if kind == "assistant" else {}
        self.lines.append({**line, "message": {"content": content, **model}, **fields})
        return self

    def asks(self, words: str) -> ClaudeCode:
        return self._add("user", words)

    def says(self, words: str, **fields: object) -> ClaudeCode:
        return self._add("assistant", [{"type": "text", "text": words}], **fields)

    def runs(self, command: str, output: str, *, failed: bool = False) -> ClaudeCode:
        return self.calls("Bash", {"command": command}, output, failed=failed)

    def calls(self, tool: str, given: Json, output: str = "ok", *, failed: bool = False) -> ClaudeCode:
        name = f"t{len(self.lines)}"
        self._add("assistant", [{"type": "tool_use", "id": name, "name": tool, "input": given}])
        result = {"type": "tool_result", "tool_use_id": name, "content": output, "is_error": failed}
        return self._add("user", [result])


def audited(*paths: Path) -> AuditReport:
    return audit(find_transcripts(paths))


def facts(*paths: Path) -> list[AuditFact]:
    return [fact for _, fact in audited(*paths).facts]


def failing(*, then: str = CLAIM) -> ClaudeCode:
    """A session with a failed run, and a text after it."""
    return ClaudeCode().asks("fix it").runs("pytest -q", f"Exit code 1\n{FAILED}", failed=True).says(then)


class TestClaudeCode:
    def test_a_run_that_failed_contradicts_that_all_tests_pass(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.jsonl", failing().lines)
        [fact] = facts(path)
        assert (fact.kind, fact.text, fact.agent, fact.at) == ("contradicted", CLAIM, "main", "2026-02-08T10:03:00Z")
        assert (fact.path, fact.line, fact.proof.path, fact.proof.line) == (str(path), 4, str(path), 2)
        assert fact.proof.text == f"`pytest -q` printed `{FAILED}`, and nothing changed since"

    @pytest.mark.parametrize(
        "words", ["`pytest -q` passed.", "The stress tests pass.", "I pushed it.", "All 46 tests pass."]
    )
    def test_other_sentences_are_left_alone(self, tmp_path: Path, words: str) -> None:
        assert facts(write(tmp_path / "a.jsonl", failing(then=words).lines)) == []

    @pytest.mark.parametrize("half", ["\ud83d", "\\\ud83d"])
    def test_a_call_with_half_of_a_character_counts(self, tmp_path: Path, half: str) -> None:
        session = ClaudeCode().asks("fix it").runs("pytest -q", f"Exit code 1\n{FAILED}", failed=True)
        session.runs(f"pytest -q # {half}", f"\N{ROCKET}{half} {PASSED}").says(CLAIM)
        assert facts(write(tmp_path / "a.jsonl", session.lines)) == []

    def test_a_sentence_may_announce_the_next_call_of_its_turn(self, tmp_path: Path) -> None:
        refused = ClaudeCode().asks("commit it").runs("git commit -am x", "Exit code 1\nhook failed: x", failed=True)
        assert len(facts(write(tmp_path / "a.jsonl", refused.says("Committed.").lines))) == 1
        refused.runs("git commit -am x", "[main 1234abc] x")
        assert facts(write(tmp_path / "a.jsonl", refused.lines)) == []

    def test_a_call_of_a_later_turn_does_not_count(self, tmp_path: Path) -> None:
        session = failing().asks("really?").runs("pytest -q", PASSED)
        assert len(facts(write(tmp_path / "a.jsonl", session.lines))) == 1

    def test_a_forked_session_does_not_count_its_first_part_again(self, tmp_path: Path) -> None:
        first = failing()
        write(tmp_path / "a.jsonl", first.lines)
        write(tmp_path / "b.jsonl", [{**line, "sessionId": "s2"} for line in first.lines])
        assert len(facts(tmp_path)) == 1
        assert audited(tmp_path).summary.sessions == 2

    def test_errors_of_the_client_are_not_read(self, tmp_path: Path) -> None:
        session = failing()
        session.lines[-1]["message"]["model"] = "<synthetic>"
        assert facts(write(tmp_path / "a.jsonl", session.lines)) == []

    def test_a_notice_of_an_end_that_was_read_does_not_make_a_run_the_last_one(self, tmp_path: Path) -> None:
        session = ClaudeCode().asks("test it").runs("pytest -q", "Command running in background with ID: b1. Output: x")
        session.calls("TaskOutput", {"task_id": "b1"}, FAILED).calls("Edit", {"file_path": "/home/dev/shop/cart.py"})
        session.runs("pytest -q", PASSED)
        session.asks("<task-notification><task-id>b1</task-id><status>completed</status></task-notification>")
        assert facts(write(tmp_path / "a.jsonl", session.says(CLAIM).lines)) == []

    def test_a_run_in_the_background_counts_from_its_end(self, tmp_path: Path) -> None:
        session = ClaudeCode().asks("test it").runs("pytest -q", PASSED)
        session.runs("pytest -q", "Command running in background with ID: b1. Output is being written to: x")
        session.says(CLAIM).asks("and now?").calls("TaskOutput", {"task_id": "b1"}, FAILED).says(CLAIM)
        assert [fact.at[14:16] for fact in facts(write(tmp_path / "a.jsonl", session.lines))] == ["09"]


def codex_lines(*payloads: Json) -> list[Json]:
    meta = {"type": "session_meta", "payload": {"id": "c1", "cwd": "/home/dev/shop"}}
    context = {"type": "turn_context", "payload": {"cwd": "/home/dev/shop", "model": "gpt-5.5"}}
    return [meta, context, *({"type": "response_item", "timestamp": "t", "payload": payload} for payload in payloads)]


def codex_text(words: str) -> Json:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}


class TestCodex:
    def test_a_command_counts_from_its_end(self, tmp_path: Path) -> None:
        start = {"type": "function_call", "name": "exec_command", "call_id": "c", "arguments": '{"cmd": "pytest -q"}'}
        open_yet = {"type": "function_call_output", "call_id": "c", "output": "Process running with session ID 5"}
        item = {"type": "CommandExecution", "id": "c", "command": ["bash", "-lc", "pytest -q"], "exit_code": 1}
        asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]}
        lines = codex_lines(start, open_yet, codex_text(CLAIM), asked, codex_text(CLAIM))
        end = {
            "type": "event_msg",
            "payload": {"type": "item_completed", "item": {**item, "aggregated_output": FAILED}},
        }
        lines.insert(-1, end)
        assert [fact.line for fact in facts(write(tmp_path / "a.jsonl", lines))] == [8]

    @pytest.mark.parametrize(
        "output",
        [
            f"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\n{FAILED}\n",
            f"Exit code: 1\nWall time: 0 seconds\nOutput:\n{FAILED}\n",
            json.dumps({"output": FAILED, "metadata": {"exit_code": 1}}),
            [{"type": "input_text", "text": f"Exit code: 1\nOutput:\n{FAILED}"}],
        ],
    )
    def test_the_calls_of_earlier_versions_are_read(self, tmp_path: Path, output: object) -> None:
        call = {"type": "function_call", "name": "shell", "call_id": "c", "arguments": '{"command": ["pytest", "-q"]}'}
        call["arguments"] = json.dumps({"command": ["bash", "-lc", "pytest -q"]})
        lines = codex_lines(call, {"type": "function_call_output", "call_id": "c", "output": output}, codex_text(CLAIM))
        [fact] = facts(write(tmp_path / "rollout-1.jsonl", lines))
        assert f"`pytest -q` printed `{FAILED}`" in fact.proof.text

    def test_an_item_replaces_its_response_item(self, tmp_path: Path) -> None:
        call = {"type": "function_call", "name": "exec_command", "call_id": "c", "arguments": '{"cmd": "pytest -q"}'}
        item = {"type": "CommandExecution", "id": "c", "command": ["bash", "-lc", "pytest -q"], "exit_code": 1}
        item |= {"status": "completed", "aggregated_output": FAILED}
        lines = [*codex_lines(call), {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}]
        lines += codex_lines(codex_text(CLAIM))[2:]
        assert len(facts(write(tmp_path / "r.jsonl", lines))) == 1


def test_a_session_of_copilot_is_read(tmp_path: Path) -> None:
    lines: list[Json] = [
        {"type": "session.start", "data": {"sessionId": "p1", "context": {"cwd": "/home/dev/shop"}}},
        {"type": "user.message", "data": {"content": "test it"}},
        {
            "type": "tool.execution_start",
            "data": {"toolCallId": "c", "toolName": "bash", "arguments": {"command": "pytest -q"}},
        },
        {
            "type": "tool.execution_complete",
            "data": {
                "toolCallId": "c",
                "success": True,
                "result": {"content": FAILED},
                "shellExecution": {"exitCode": 1},
            },
        },
        {"type": "assistant.message", "data": {"content": CLAIM, "messageId": "m", "model": "opus"}},
    ]
    path = write(tmp_path / ".copilot/session-state/p1/events.jsonl", lines)
    [fact] = facts(path)
    assert FAILED in fact.proof.text
    assert [(entry.id, entry.client, entry.model) for entry in audited(path).sessions] == [("p1", "copilot", "opus")]


def opencode_database(path: Path, parts: list[Json]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE session (id TEXT, directory TEXT, parent_id TEXT, time_created INTEGER);"
        "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
        "CREATE TABLE part (id TEXT, message_id TEXT, time_created INTEGER, data TEXT);"
        "INSERT INTO session VALUES ('o1', '/home/dev/shop', NULL, 1770000000000);"
    )
    info = {"role": "assistant", "agent": "build", "modelID": "sonnet", "path": {"cwd": "/home/dev/shop"}}
    for number, part in enumerate(parts):
        message = (f"m{number}", "o1", 1_770_000_000_000 + number, json.dumps(info))
        connection.execute("INSERT INTO message VALUES (?, ?, ?, ?)", message)
        connection.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (f"p{number}", f"m{number}", 1, json.dumps(part)))
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_the_database_of_opencode_is_read_and_not_changed(tmp_path: Path, mode: str) -> None:
    state = {"status": "completed", "input": {"command": "pytest -q"}, "output": FAILED, "metadata": {"exit": 1}}
    parts = [{"type": "tool", "tool": "bash", "state": state}, {"type": "text", "text": CLAIM}]
    path = opencode_database(tmp_path / "opencode.db", parts)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode={mode}")
    connection.close()
    before = path.read_bytes()
    [fact] = facts(path)
    assert (fact.at, fact.line, FAILED in fact.proof.text) == ("2026-02-02T02:40:00Z", 0, True)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["opencode.db"]


def test_what_a_running_opencode_has_written_is_read(tmp_path: Path) -> None:
    path = opencode_database(tmp_path / "opencode.db", [])
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=wal")
    info = json.dumps({"role": "assistant", "modelID": "sonnet"})
    connection.execute("INSERT INTO message VALUES ('m0', 'o1', 1, ?)", (info,))
    connection.execute("INSERT INTO part VALUES ('p0', 'm0', 1, ?)", (json.dumps({"type": "text", "text": CLAIM}),))
    connection.commit()
    assert [session.model for session in audited(path).sessions] == ["sonnet"]
    connection.close()


class TestFiles:
    def test_the_default_folders_of_all_clients_are_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_DATA_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        paths = [
            write(tmp_path / ".claude/projects/-home-dev-shop/s.jsonl", []),
            write(tmp_path / ".codex/sessions/2026/02/08/rollout-1.jsonl", []),
            write(tmp_path / ".copilot/session-state/s/events.jsonl", []),
            opencode_database(tmp_path / ".local/share/opencode/opencode.db", []),
        ]
        found = [entry.path for entry in find_transcripts()]
        assert sorted(found) == sorted(paths)
        monkeypatch.setenv("CODEX_HOME", str(tmp_path / "other"))
        assert default_folders("codex")[0] == tmp_path / "other/sessions"

    def test_older_files_and_other_files_are_left_out(self, tmp_path: Path) -> None:
        old, new = write(tmp_path / "old.jsonl", []), write(tmp_path / "new.jsonl", [])
        (tmp_path / "notes.txt").write_text("x")
        (tmp_path / "other.db").write_text("x")
        os.utime(old, (1000, 1000))
        assert [entry.path for entry in find_transcripts([tmp_path], since=2000)] == [new]

    def test_a_named_file_without_a_transcript_is_skipped(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.md"
        path.write_text(CLAIM)
        assert [entry.path for entry in audited(path).skipped] == [str(path)]
        write(tmp_path / "empty.jsonl", [])
        assert audited(tmp_path).skipped == []

    def test_a_file_that_cannot_be_read_is_named_and_skipped(self, tmp_path: Path) -> None:
        (tmp_path / "opencode.db").write_text("not a database " * 100)
        write(tmp_path / "a.jsonl", failing().lines)
        read = audited(tmp_path)
        assert [entry.path for entry in read.skipped] == [str(tmp_path / "opencode.db")]
        assert "not a database of opencode" in read.skipped[0].why
        assert len(read.facts) == 1

    @pytest.mark.parametrize(
        "columns", ["n, n, n, '{}'", "n, 'o1', n, zeroblob(9000000)", "n, 'o1', n, zeroblob(99000000)"]
    )
    def test_a_database_with_an_endless_view_is_named_and_skipped(
        self, columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = opencode_database(tmp_path / "opencode.db", [])
        connection = sqlite3.connect(path)
        endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
        connection.executescript(
            f"DROP TABLE message; CREATE VIEW message (id, session_id, time_created, data) AS {endless} "
            f"SELECT {columns} FROM r"
        )
        connection.close()
        monkeypatch.setattr("remit.clients.transcripts.sessions._MAX_STEPS", 5_000_000)
        [skipped] = audited(tmp_path).skipped
        assert skipped.path == str(path)
        assert "too" in skipped.why

    def test_a_sparse_file_of_many_gigabytes_is_named_and_skipped(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.jsonl", ClaudeCode().says(CLAIM).lines)
        os.truncate(path, 20_000_000_000)
        [skipped] = audited(tmp_path).skipped
        assert (skipped.path, skipped.why) == (str(path), "it is larger than 2 GB")

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        [entry] = find_transcripts([tmp_path / "none"])
        assert entry == UnreadableFile(tmp_path / "none", "there is no such file or folder")

    def test_broken_and_cut_lines_are_skipped(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.jsonl", failing().lines)
        path.write_bytes(b"{not json\n\n\xff\xfe\n[1]\n" + path.read_bytes() + b'{"type": "assistant", "mess')
        assert len(facts(path)) == 1
        [skipped] = audited(path).skipped
        assert (skipped.path, skipped.why) == (str(path), "4 lines cannot be read")

    def test_many_files_are_read_in_processes_with_the_same_result(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(4):
            write(tmp_path / f"{number}.jsonl", failing(then=f"All {number + 2} tests pass.").lines)
        alone = audited(tmp_path)
        monkeypatch.setattr("remit.clients.transcripts.auditing._MIN_PARALLEL", 1)
        assert audited(tmp_path) == alone
        assert len(alone.facts) == 4


def test_secrets_are_removed_from_what_is_shown(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    session = ClaudeCode().runs(f"TOKEN={token} pytest -q", f"Exit code 1\n{FAILED} {token}", failed=True)
    read = audited(write(tmp_path / "a.jsonl", session.says(CLAIM).lines))
    assert read.facts
    assert token not in repr(read)


@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=20),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        ["type", "message", "content", "text", "payload", "data", "info", "parts", "role", "id", "name"]
                    ),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=12,
        ),
        max_size=5,
    )
)
def test_any_lines_are_read_without_an_error(tmp_path_factory: pytest.TempPathFactory, lines: list[Any]) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    write(path, lines)
    assert not isinstance(audit_file(path), str)


def test_a_file_of_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    assert all(not isinstance(entry, TranscriptFile) for entry in find_transcripts([tmp_path]))


def run_of_subagent(session: str = "s1", output: str = PASSED) -> list[Json]:
    """A subagent's lines in a separate file, with one run."""
    lines = ClaudeCode(session).asks("Run the tests.").runs("pytest -q", output).lines
    return [{**line, "isSidechain": True, "agentId": "a1b2"} for line in lines]


class TestSubagents:
    """What a subagent did is in another file, and counts for the session that asked it."""

    def asked(self) -> ClaudeCode:
        return ClaudeCode().asks("test it").calls("Task", {"subagent_type": "tester", "prompt": "run the tests"})

    @pytest.mark.parametrize("place", ["agent-a1b2.jsonl", "s1/subagents/agent-a1b2.jsonl"])
    def test_its_failed_run_contradicts_the_session(self, tmp_path: Path, place: str) -> None:
        path = write(tmp_path / "s1.jsonl", self.asked().says(CLAIM).lines)
        assert facts(tmp_path) == []
        other = write(tmp_path / place, run_of_subagent(output=FAILED))
        [fact] = facts(tmp_path)
        assert (fact.agent, fact.path, fact.line, fact.proof.path, fact.proof.line) == (
            "main",
            str(path),
            4,
            str(other),
            2,
        )
        write(tmp_path / place, run_of_subagent("s2", output=FAILED))
        assert len(facts(tmp_path)) == (0 if "/" not in place else 1), "one of another session does not count"

    def test_its_own_statement_has_the_place_in_its_own_file(self, tmp_path: Path) -> None:
        write(tmp_path / "s1.jsonl", self.asked().lines)
        session = ClaudeCode().asks("Run the tests.").runs("pytest -q", FAILED).says(CLAIM)
        lines = [{**line, "isSidechain": True, "agentId": "a1b2"} for line in session.lines]
        path = write(tmp_path / "agent-a1b2.jsonl", lines)
        report = audited(tmp_path)
        [(_, fact)] = report.facts
        assert (fact.agent, fact.path, fact.line) == ("subagent a1b2", str(path), 4)
        assert f"  {path}:4, {path}:2" in "".join(piece.text for line in audit_lines(report) for piece in line)

    @pytest.mark.parametrize(
        ("words", "count"), [("The bug is at shop/cart.py:12.", 1), ("I am ready to help.", 0), ("Done.", 0)]
    )
    def test_a_report_about_code_without_a_call_is_a_fact(self, tmp_path: Path, words: str, count: int) -> None:
        inside = self.asked().says(words, isSidechain=True, agentId="a1b2")
        found = facts(write(tmp_path / "a.jsonl", inside.lines))
        assert [(fact.kind, fact.agent) for fact in found] == [("subagent-without-call", "subagent a1b2")] * count
        lines = [
            {**line, "isSidechain": True, "agentId": "c3"} for line in ClaudeCode("s9").asks("x").says(words).lines
        ]
        assert len(facts(write(tmp_path / "agent-c3.jsonl", lines))) == count
        called = [*lines, *({**line, "sessionId": "s9"} for line in run_of_subagent())]
        called = [{**line, "agentId": "c3"} for line in called]
        assert facts(write(tmp_path / "agent-c3.jsonl", called)) == []

    def test_a_thread_of_codex_counts_for_the_one_that_started_it(self, tmp_path: Path) -> None:
        main, child = "01a00000-0000-7000-8000-000000000004", "01a00000-0000-7000-8000-000000000007"
        spawn = {"type": "function_call", "name": "spawn_agent", "call_id": "c", "arguments": "{}"}
        lines = codex_lines(spawn, codex_text(CLAIM))
        lines[0]["payload"]["id"] = main
        write(tmp_path / f"rollout-2026-01-01T12-00-00-{main}.jsonl", lines)
        run = {"type": "function_call", "name": "exec_command", "call_id": "d", "arguments": '{"cmd": "pytest -q"}'}
        end = {
            "type": "function_call_output",
            "call_id": "d",
            "output": f"Process exited with code 1\nOutput:\n{FAILED}",
        }
        others = codex_lines(run, end, codex_text("I ran them."))
        others[0]["payload"] |= {"id": child, "parent_thread_id": main}
        write(tmp_path / f"rollout-2026-01-01T12-00-01-{child}.jsonl", others)
        assert len(facts(tmp_path)) == 1
