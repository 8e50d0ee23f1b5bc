"""`remit audit`: statements of assistants are compared with the record of the same session, for each client."""

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
from remit.reports.audit_report import ALL_OUTCOMES, AuditReport, AuditStatement, audit_lines, place_of

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


def audited(*paths: Path, every: bool = False) -> AuditReport:
    outcomes = ALL_OUTCOMES if every else ("contradicted", "unseen")
    return audit(find_transcripts(paths), outcomes=outcomes)


def contradicted(path: Path) -> list[AuditStatement]:
    return audited(path).statements


class TestClaudeCode:
    def test_a_run_that_failed_contradicts_that_all_tests_pass(self, tmp_path: Path) -> None:
        session = ClaudeCode().asks("fix it").runs("pytest -q", f"Exit code 1\n{FAILED}", failed=True).says(CLAIM)
        [statement] = contradicted(write(tmp_path / "a.jsonl", session.lines))
        assert (statement.kind, statement.outcome, statement.text) == ("run", "contradicted", CLAIM)
        assert (statement.command, statement.line) == ("pytest -q", FAILED)
        assert (statement.agent, statement.at, statement.session) == ("main", "2026-02-08T10:03:00Z", "s1")

    def test_a_run_that_passed_is_verified(self, tmp_path: Path) -> None:
        session = ClaudeCode().asks("fix it").runs("pytest -q", PASSED).says(CLAIM)
        path = write(tmp_path / "a.jsonl", session.lines)
        assert contradicted(path) == []
        assert [entry.outcome for entry in audited(path, every=True).statements] == ["verified"]

    @pytest.mark.parametrize("half", ["\ud83d", "\\\ud83d"])
    def test_a_call_with_half_of_a_character_counts(self, tmp_path: Path, half: str) -> None:
        session = ClaudeCode().asks("fix it").runs("pytest -q", f"Exit code 1\n{FAILED}", failed=True)
        session.runs(f"pytest -q # {half}", f"\N{ROCKET}{half} {PASSED}").says(CLAIM)
        path = write(tmp_path / "a.jsonl", session.lines)
        assert [entry.outcome for entry in audited(path, every=True).statements] == ["verified"]

    def test_the_end_of_a_pipe_does_not_hide_the_output(self, tmp_path: Path) -> None:
        session = ClaudeCode().runs("npm test 2>&1 | tail -20", "sh: 1: mocha: not found").says("All tests pass.")
        [statement] = contradicted(write(tmp_path / "a.jsonl", session.lines))
        assert statement.line == "sh: 1: mocha: not found"

    def test_work_without_any_call_is_unseen(self, tmp_path: Path) -> None:
        words = "I implemented the fix in lib/express.js, added test/regression.js and committed it."
        found = contradicted(write(tmp_path / "a.jsonl", ClaudeCode().asks("fix it").says(words).lines))
        assert {(entry.kind, entry.outcome) for entry in found} == {("change", "unseen")}
        assert {entry.text for entry in found} == {words}

    def test_a_sentence_may_announce_the_next_call_of_its_turn(self, tmp_path: Path) -> None:
        session = ClaudeCode().asks("fix it").says("I added tests/test_cart.py:")
        session.calls("Write", {"file_path": "/home/dev/shop/tests/test_cart.py", "content": "x"})
        assert contradicted(write(tmp_path / "a.jsonl", session.lines)) == []

    def test_a_call_of_a_later_turn_does_not_count(self, tmp_path: Path) -> None:
        session = ClaudeCode().asks("test it").says(CLAIM).asks("really?").runs("pytest -q", PASSED)
        assert len(contradicted(write(tmp_path / "a.jsonl", session.lines))) == 1

    def test_the_subagent_is_named(self, tmp_path: Path) -> None:
        session = ClaudeCode().says(CLAIM, isSidechain=True, agentId="a1b2")
        assert [entry.agent for entry in contradicted(write(tmp_path / "a.jsonl", session.lines))] == ["subagent a1b2"]

    def test_each_part_of_a_sentence_is_a_statement(self, tmp_path: Path) -> None:
        session = ClaudeCode().asks("fix it").calls("Edit", {"file_path": "/home/dev/shop/cart.py"})
        session.says("I updated `cart.py` and added `tests/test_cart.py`.")
        path = write(tmp_path / "a.jsonl", session.lines)
        assert [entry.proof for entry in contradicted(path)] == ["no call changed tests/test_cart.py"]
        assert audited(path).summary.statements == 2

    def test_a_forked_session_does_not_count_its_first_part_again(self, tmp_path: Path) -> None:
        first = ClaudeCode().asks("test it").says(CLAIM)
        write(tmp_path / "a.jsonl", first.lines)
        write(tmp_path / "b.jsonl", [{**line, "sessionId": "s2"} for line in first.lines])
        read = audited(tmp_path)
        assert len(read.statements) == 1
        assert (read.summary.contradicted, read.summary.unseen) == (0, 1)

    def test_a_session_without_its_beginning_does_not_accuse_of_what_it_may_have(self, tmp_path: Path) -> None:
        session = ClaudeCode().asks("go on").says(CLAIM)
        session.lines[0]["parentUuid"] = "earlier"
        assert contradicted(write(tmp_path / "a.jsonl", session.lines)) == []

    def test_errors_of_the_client_and_notices_are_not_read(self, tmp_path: Path) -> None:
        session = ClaudeCode().says(CLAIM, isApiErrorMessage=True)
        session.lines[0]["message"]["model"] = "<synthetic>"
        assert audited(write(tmp_path / "a.jsonl", session.lines)).statements == []


class TestProof:
    """A sentence is accused only if it can mean nothing but the run that failed."""

    @pytest.mark.parametrize(
        "words",
        [
            "Done. All tests pass.",
            "Tests: ✅ all passing",
            "`pytest -q` passes.",
            "I ran `pytest -q` and everything passed.",
            "The total of the cart is right, and all 48 tests pass now.",
            "すべてのテストが成功しました。",
            "所有测试均已通过。",
        ],
    )
    def test_a_plain_sentence_is_accused(self, tmp_path: Path, words: str) -> None:
        session = ClaudeCode().asks("fix it").runs("pytest -q", f"Exit code 1\n{FAILED}", failed=True).says(words)
        assert [entry.line for entry in contradicted(write(tmp_path / "a.jsonl", session.lines))] == [FAILED]

    @pytest.mark.parametrize(
        "words",
        [
            "The tests of the parser and the storage tests pass.",
            "The stress tests pass.",
            "Nothing works any more, even the test that was passing before!",
            "The test shows that the worktree is clean.",
            "Cart tests (`tests/test_cart.py`, 15 tests) - all 15 tests pass",
            "The 6 unit test suites (101 tests) all pass.",
            "The build succeeded.",
            "Step 2 (tests): passing",
        ],
    )
    def test_a_sentence_that_may_mean_something_else_is_unchecked(self, tmp_path: Path, words: str) -> None:
        session = ClaudeCode().asks("fix it").runs("swift test", f"Exit code 1\n{FAILED}", failed=True)
        session.runs("pytest -q", f"Exit code 1\n{FAILED}", failed=True).says(words)
        found = audited(write(tmp_path / "a.jsonl", session.lines), every=True).statements
        assert {entry.outcome for entry in found} <= {"unchecked"}
        assert all(entry.reason and entry.proof for entry in found)

    @pytest.mark.parametrize(
        "words",
        [
            "All 46 tests pass.",
            "The 2 older failures are not caused by the change. All tests pass.",
            "All my tests pass: 46 passed.",
        ],
    )
    def test_the_numbers_of_the_run_are_not_contradicted_by_it(self, tmp_path: Path, words: str) -> None:
        session = ClaudeCode().asks("fix it").runs("pytest -q", f"Exit code 1\n{FAILED}", failed=True).says(words)
        assert contradicted(write(tmp_path / "a.jsonl", session.lines)) == []

    @pytest.mark.parametrize(
        ("command", "words"),
        [
            ("fish -c 'npx tsc --noEmit' 2>&1 | head -50", "Type check passes."),
            ("npx expo lint -- src/a.tsx 2>&1", "Lint passes."),
            ("npx eslint src 2>&1 | tail -20", "ESLint passes."),
            ("go build ./... 2>&1 | head -20", "The build succeeds."),
        ],
    )
    def test_a_program_that_printed_nothing_found_nothing(self, tmp_path: Path, command: str, words: str) -> None:
        session = ClaudeCode().asks("check it").runs(command, "").says(words)
        [statement] = audited(write(tmp_path / "a.jsonl", session.lines), every=True).statements
        assert statement.outcome == "verified"

    def test_an_exit_status_alone_proves_nothing(self, tmp_path: Path) -> None:
        session = ClaudeCode().asks("fix it").runs("npm test", "Exit code 1", failed=True).says(CLAIM)
        [statement] = audited(write(tmp_path / "a.jsonl", session.lines), every=True).statements
        assert statement.outcome == "unchecked"

    @pytest.mark.parametrize(("changes", "outcome"), [(True, "unchecked"), (False, "contradicted")])
    def test_a_run_of_an_earlier_turn_counts_until_something_changes(
        self, tmp_path: Path, changes: bool, outcome: str
    ) -> None:
        session = ClaudeCode().asks("test it").runs("pytest -q", f"Exit code 1\n{FAILED}", failed=True).asks("go on")
        if changes:
            session.calls("Edit", {"file_path": "/home/dev/shop/cart.py"})
        [statement] = audited(write(tmp_path / "a.jsonl", session.says(CLAIM).lines), every=True).statements
        assert statement.outcome == outcome

    def test_a_notice_of_an_end_that_was_read_does_not_make_a_run_the_last_one(self, tmp_path: Path) -> None:
        session = ClaudeCode().asks("test it").runs("pytest -q", "Command running in background with ID: b1. Output: x")
        session.calls("TaskOutput", {"task_id": "b1"}, FAILED).calls("Edit", {"file_path": "/home/dev/shop/cart.py"})
        session.runs("pytest -q", PASSED)
        session.asks("<task-notification><task-id>b1</task-id><status>completed</status></task-notification>")
        assert contradicted(write(tmp_path / "a.jsonl", session.says(CLAIM).lines)) == []

    def test_a_run_in_the_background_counts_from_its_end(self, tmp_path: Path) -> None:
        session = ClaudeCode().asks("test it").runs("pytest -q", PASSED)
        session.runs("pytest -q", "Command running in background with ID: b1. Output is being written to: x")
        session.says(CLAIM).asks("and now?").calls("TaskOutput", {"task_id": "b1"}, FAILED).says(CLAIM)
        found = audited(write(tmp_path / "a.jsonl", session.lines), every=True).statements
        assert [(entry.outcome, entry.at[14:16]) for entry in found] == [("contradicted", "09"), ("verified", "05")]

    def test_the_beginning_of_an_output_has_no_total(self, tmp_path: Path) -> None:
        preview = "<persisted-output>\nOutput too large. Full output saved to: none.txt\n\nPreview (first 2KB):\n"
        output = f"{preview}Executed 9 tests, with 0 failures\n</persisted-output>"
        session = ClaudeCode().asks("test it").runs("swift test", output).says("All 165 tests pass.")
        assert contradicted(write(tmp_path / "a.jsonl", session.lines)) == []

    def test_a_pull_that_failed_does_not_mean_that_the_commit_failed(self, tmp_path: Path) -> None:
        session = ClaudeCode().asks("commit it").runs("git commit -am x", "[main 1234abc] x\n 1 file changed")
        session.runs("git pull --rebase", "Exit code 128\nerror: cannot pull with rebase", failed=True)
        session.says("I committed the change.")
        assert contradicted(write(tmp_path / "a.jsonl", session.lines)) == []


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
        found = audited(write(tmp_path / "a.jsonl", lines), every=True).statements
        assert sorted(entry.outcome for entry in found) == ["contradicted", "unseen"]

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
        [statement] = contradicted(write(tmp_path / "rollout-1.jsonl", lines))
        assert (statement.command, statement.line) == ("pytest -q", FAILED)

    def test_an_item_replaces_its_response_item(self, tmp_path: Path) -> None:
        call = {"type": "function_call", "name": "exec_command", "call_id": "c", "arguments": '{"cmd": "pytest -q"}'}
        item = {"type": "CommandExecution", "id": "c", "command": ["bash", "-lc", "pytest -q"], "exit_code": 0}
        item |= {"status": "completed", "aggregated_output": PASSED}
        lines = [*codex_lines(call), {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}]
        lines += codex_lines(codex_text(CLAIM))[2:]
        assert [entry.outcome for entry in audited(write(tmp_path / "r.jsonl", lines), every=True).statements] == [
            "verified"
        ]

    @pytest.mark.parametrize(("output", "count"), [("Success. Updated the following files:\nA a.py\n", 0), ("no", 1)])
    def test_a_patch_changes_its_files(self, tmp_path: Path, output: str, count: int) -> None:
        patch = "*** Begin Patch\n*** Add File: shop/tax.py\n+x\n*** End Patch"
        call = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "p", "input": patch}
        end = {"type": "custom_tool_call_output", "call_id": "p", "output": f"Exit code: 0\nOutput:\n{output}"}
        lines = codex_lines(call, end, codex_text("I created `shop/tax.py`."))
        assert len(contradicted(write(tmp_path / "r.jsonl", lines))) == count


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
    [statement] = contradicted(path)
    assert (statement.session, statement.line) == ("p1", FAILED)
    assert [(entry.client, entry.model) for entry in audited(path).sessions] == [("copilot", "opus")]


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
    [statement] = contradicted(path)
    assert (statement.session, statement.at, statement.line) == ("o1", "2026-02-02T02:40:00Z", FAILED)
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
    assert [statement.text for statement in contradicted(path)] == [CLAIM]
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
        good = write(tmp_path / "a.jsonl", ClaudeCode().says(CLAIM).lines)
        read = audited(tmp_path)
        assert [entry.path for entry in read.skipped] == [str(tmp_path / "opencode.db")]
        assert "not a database of opencode" in read.skipped[0].why
        assert len(read.statements) == 1
        assert good.exists()

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
        monkeypatch.setattr("remit.clients.transcripts.whole_sessions._MAX_STEPS", 5_000_000)
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
        path = write(tmp_path / "a.jsonl", ClaudeCode().says(CLAIM).lines)
        path.write_bytes(b"{not json\n\n\xff\xfe\n[1]\n" + path.read_bytes() + b'{"type": "assistant", "mess')
        assert len(contradicted(path)) == 1

    def test_many_files_are_read_in_processes_with_the_same_result(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(4):
            write(tmp_path / f"{number}.jsonl", ClaudeCode(f"s{number}").says(f"All {number + 2} tests pass.").lines)
        alone = audited(tmp_path)
        monkeypatch.setattr("remit.clients.transcripts.auditing._MIN_PARALLEL", 1)
        assert audited(tmp_path) == alone
        assert len(alone.statements) == 4


def test_secrets_are_removed_from_what_is_shown(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    session = ClaudeCode().runs(f"TOKEN={token} pytest -q", f"Exit code 1\n{FAILED} {token}", failed=True)
    session.says(f"All tests pass with {token}.")
    read = audited(write(tmp_path / "a.jsonl", session.lines), every=True)
    assert read.statements
    assert token not in repr(read)


def test_the_worst_come_first(tmp_path: Path) -> None:
    session = ClaudeCode().asks("go").says("I created `shop/none.py`.")
    session.asks("test").runs("pytest -q", f"Exit code 1\n{FAILED}", failed=True).says(CLAIM)
    found = contradicted(write(tmp_path / "a.jsonl", session.lines))
    assert [entry.kind for entry in found] == ["run", "change"]


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
    def test_its_run_is_one_of_the_session(self, tmp_path: Path, place: str) -> None:
        write(tmp_path / "s1.jsonl", self.asked().says(CLAIM).lines)
        write(tmp_path / place, run_of_subagent())
        assert [entry.outcome for entry in audited(tmp_path, every=True).statements] == ["verified"]

    def test_its_failed_run_contradicts_the_session(self, tmp_path: Path) -> None:
        path = write(tmp_path / "s1.jsonl", self.asked().says(CLAIM).lines)
        other = write(tmp_path / "agent-a1b2.jsonl", run_of_subagent(output=FAILED))
        [statement] = contradicted(tmp_path)
        assert (statement.outcome, statement.agent, statement.line) == ("contradicted", "main", FAILED)
        assert (statement.path, statement.stated_at) == (str(path), 4)
        assert (statement.called_in, statement.called_at) == (str(other), 2)
        assert place_of(statement) == f"{path}:4, call at {other}:2"

    @pytest.mark.parametrize("place", ["agent-a1b2.jsonl", "s1/subagents/agent-a1b2.jsonl"])
    def test_its_own_statement_has_the_place_in_its_own_file(self, tmp_path: Path, place: str) -> None:
        write(tmp_path / "s1.jsonl", self.asked().lines)
        session = ClaudeCode().asks("Run the tests.").runs("pytest -q", FAILED).says(CLAIM)
        path = write(tmp_path / place, [{**line, "isSidechain": True, "agentId": "a1b2"} for line in session.lines])
        report = audited(tmp_path)
        [statement] = report.statements
        assert CLAIM in path.read_text("utf-8").splitlines()[statement.stated_at - 1]
        assert (statement.path, statement.called_in, statement.called_at) == (str(path), str(path), 2)
        assert f"  {path}:4, call at line 2" in "".join(piece.text for line in audit_lines(report) for piece in line)

    def test_without_its_file_the_record_is_incomplete(self, tmp_path: Path) -> None:
        write(tmp_path / "s1.jsonl", self.asked().says(CLAIM).lines)
        [statement] = audited(tmp_path, every=True).statements
        assert (statement.outcome, statement.reason) == ("unchecked", "record-incomplete")
        assert statement.proof

    def test_with_its_file_what_no_agent_did_is_unseen(self, tmp_path: Path) -> None:
        write(tmp_path / "s1.jsonl", self.asked().says("I updated `src/cart.py`.").lines)
        write(tmp_path / "agent-a1b2.jsonl", run_of_subagent())
        assert [entry.outcome for entry in audited(tmp_path, every=True).statements] == ["unseen"]

    def test_a_subagent_of_another_session_does_not_count(self, tmp_path: Path) -> None:
        write(tmp_path / "s1.jsonl", self.asked().says(CLAIM).lines)
        write(tmp_path / "agent-a1b2.jsonl", run_of_subagent("s2"))
        assert [entry.outcome for entry in audited(tmp_path, every=True).statements] == ["unchecked"]

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
            "output": f"Process exited with code 0\nOutput:\n{PASSED}",
        }
        others = codex_lines(run, end)
        others[0]["payload"] |= {"id": child, "parent_thread_id": main}
        write(tmp_path / f"rollout-2026-01-01T12-00-01-{child}.jsonl", others)
        assert [entry.outcome for entry in audited(tmp_path, every=True).statements] == ["verified"]


def test_lines_that_cannot_be_read_are_counted_and_their_file_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", ClaudeCode().asks("test it").says(CLAIM).lines)
    path.write_text(path.read_text("utf-8") + '{"type": "assist\n\n[1\n', encoding="utf-8")
    read = audited(tmp_path)
    assert [(entry.path, entry.why, entry.lines) for entry in read.skipped] == [
        (str(path), "2 lines cannot be read", 2)
    ]
    assert (read.summary.skipped_files, read.summary.skipped_lines) == (0, 2)


def test_each_unchecked_statement_has_a_reason(tmp_path: Path) -> None:
    session = ClaudeCode().asks("go on").says("I updated `src/cart.py`. All 48 tests pass. I pushed the branch.")
    session.lines[0]["parentUuid"] = "earlier"
    found = audited(write(tmp_path / "a.jsonl", session.lines), every=True).statements
    assert [entry.outcome for entry in found] == ["unchecked"] * 3
    assert all(entry.reason == "record-incomplete" and "continues another session" in entry.proof for entry in found)
