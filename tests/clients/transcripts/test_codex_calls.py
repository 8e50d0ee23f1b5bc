"""Codex: a command that is left running is read by later calls, and a script calls tools."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.clients.codex.code_mode import ScriptCall, script_calls
from remit.clients.codex.transcript import CodexCalls
from remit.clients.transcripts.calls import TranscriptLine
from remit.clients.transcripts.sessions import read_sessions
from remit.evidence.judge_work import WorkJudge
from remit.evidence.receipts import ReceiptIndex
from remit.evidence.sentences import read_sentences

Json = dict[str, Any]
FAILED = "FAILED tests/test_cart.py::test_total\n==== 2 failed, 46 passed in 0.91s ====\n"
PASSED = "==== 48 passed in 0.90s ====\n"
CLAIM = "All 48 tests pass."
SHOWN = "\ntext(r.output);"


def function(name: str, arguments: Json, call: str) -> Json:
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "call_id": call}


def output(call: str, text: str) -> Json:
    return {"type": "function_call_output", "call_id": call, "output": text}


def script(source: str, call: str = "s") -> Json:
    return {"type": "custom_tool_call", "name": "exec", "call_id": call, "input": source}


def printed(*parts: str, call: str = "s", state: str = "completed") -> Json:
    texts = [f"Script {state}\nWall time 3.2 seconds\nOutput:\n", *parts]
    content = [{"type": "input_text", "text": text} for text in texts]
    return {"type": "custom_tool_call_output", "call_id": call, "output": content}


def running(session: int) -> str:
    return f"Chunk ID: a\nWall time: 1.0 seconds\nProcess running with session ID {session}\nOutput:\n"


def ended(status: int, text: str) -> str:
    return f"Chunk ID: b\nWall time: 3.0 seconds\nProcess exited with code {status}\nOutput:\n{text}"


def run(call: str = "c", session: int = 7) -> list[Json]:
    return [function("exec_command", {"cmd": "pytest -q"}, call), output(call, running(session))]


def poll(call: str, text: str, *, session: int = 7, chars: str = "") -> list[Json]:
    return [function("write_stdin", {"session_id": session, "chars": chars}, call), output(call, text)]


def calls_of(*payloads: Json) -> CodexCalls:
    calls = CodexCalls()
    for payload in payloads:
        calls.add(TranscriptLine(type="response_item", payload=payload))
    return calls


def judged(folder: Path, *payloads: Json, claim: str = CLAIM) -> list[tuple[str, str]]:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": claim}]}
    lines: list[Json] = [{"type": "session_meta", "payload": {"id": "c1", "cwd": "/home/dev/shop"}}]
    lines += ({"type": "response_item", "timestamp": "t", "payload": payload} for payload in (*payloads, said))
    path = folder / "rollout-1.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (session,) = read_sessions(path)
    judge = WorkJudge(ReceiptIndex(session.receipts, "/home/dev/shop"))
    found = map(judge.judge, read_sentences(session.said[-1].words))
    return [(statement.outcome, statement.line or statement.reason) for statement in found]


class TestRunningCommands:
    def test_the_last_poll_decides(self, tmp_path: Path) -> None:
        [(outcome, line)] = judged(tmp_path, *run(), *poll("d", running(7)), *poll("e", ended(1, FAILED)))
        assert (outcome, line) == ("contradicted", "==== 2 failed, 46 passed in 0.91s ====")
        assert judged(tmp_path, *run(), *poll("d", ended(0, PASSED)))[0][0] == "verified"

    def test_what_was_printed_before_belongs_to_it(self) -> None:
        first, last = f"{running(7)}1 failed\n", ended(1, "2 failed\n")
        [receipt] = calls_of(*run(), *poll("d", first), *poll("e", last)).receipts
        assert (receipt.output, receipt.exit, receipt.pending) == ("1 failed\n2 failed", 1, False)

    def test_the_last_output_is_kept_after_many(self) -> None:
        part = running(7) + "\n".join(f"test {number} passed {'x' * 280}" for number in range(120))
        polls = [payload for number in range(60) for payload in poll(f"p{number}", part)]
        [receipt] = calls_of(*run(), *polls, *poll("e", ended(1, FAILED))).receipts
        assert receipt.output is not None
        assert receipt.output.endswith("==== 2 failed, 46 passed in 0.91s ====")

    def test_what_was_typed_begins_a_new_output(self) -> None:
        [receipt] = calls_of(*run(), *poll("d", f"{running(7)}1 failed\n"), *poll("e", running(7), chars="r")).receipts
        assert (receipt.output, receipt.pending) == ("", True)

    def test_another_session_is_not_its_output(self, tmp_path: Path) -> None:
        assert judged(tmp_path, *run(), *poll("d", ended(0, PASSED), session=8)) == [("unchecked", "run-unclear")]

    def test_a_session_that_ended_is_not_changed(self) -> None:
        late = poll("e", "write_stdin failed: Unknown process id 7")
        [receipt] = calls_of(*run(), *poll("d", ended(0, PASSED)), *late).receipts
        assert (receipt.exit, receipt.failed) == (0, False)

    def test_a_commit_that_was_left_running_is_seen(self, tmp_path: Path) -> None:
        start = [function("exec_command", {"cmd": "git commit -qm x"}, "c"), output("c", running(7))]
        done = poll("d", ended(0, "[main 1234abc] x\n"))
        assert judged(tmp_path, *start, *done, claim="I committed the change.")[0][0] == "verified"


class TestScripts:
    @pytest.mark.parametrize(("text", "outcome"), [(PASSED, "verified"), (FAILED, "contradicted")])
    def test_the_command_of_a_script_is_a_run(self, tmp_path: Path, text: str, outcome: str) -> None:
        source = 'const r = await tools.exec_command({"cmd":"pytest -q","yield_time_ms":30000});' + SHOWN
        assert judged(tmp_path, script(source), printed(text))[0][0] == outcome

    def test_a_result_that_is_printed_whole_has_its_status(self) -> None:
        text = json.dumps({"output": "2 failed\n", "exit_code": 1})
        [receipt] = calls_of(script('text(await tools.exec_command({cmd: "pytest"}))'), printed(text)).receipts
        assert (receipt.command, receipt.output, receipt.exit) == ("pytest", "2 failed", 1)

    def test_a_session_is_continued(self, tmp_path: Path) -> None:
        first = 'const r = await tools.exec_command({"cmd":"pytest -q"});' + SHOWN
        more = 'const r = await tools.write_stdin({"session_id":7,"chars":""});' + SHOWN
        lines = [script(first), printed("collecting", "SESSION_ID=7"), script(more, "t"), printed(FAILED, call="t")]
        assert judged(tmp_path, *lines)[0][0] == "contradicted"

    def test_a_script_that_is_waited_for_has_its_output_later(self, tmp_path: Path) -> None:
        source = 'const r = await tools.exec_command({"cmd":"pytest -q"});' + SHOWN
        start = [script(source), printed(state="running with cell ID 9")]
        end = printed(FAILED, call="w") | {"type": "function_call_output"}
        assert judged(tmp_path, *start)[0][0] == "unchecked"
        assert judged(tmp_path, *start, function("wait", {"cell_id": "9"}, "w"), end)[0][0] == "contradicted"

    def test_the_output_of_several_commands_is_that_of_none(self, tmp_path: Path) -> None:
        source = "".join(
            f'const {name} = await tools.exec_command({{"cmd":"{command}"}}); text({name}.output);\n'
            for name, command in (("a", "pytest -q"), ("b", "cat old.log"))
        )
        assert judged(tmp_path, script(source), printed("ok", FAILED)) == [("unchecked", "run-unclear")]

    def test_an_output_that_is_not_printed_proves_nothing(self, tmp_path: Path) -> None:
        source = 'const r = await tools.exec_command({"cmd":"mypy src"}); text("done");'
        found = judged(tmp_path, script(source), printed(""), claim="The type check passes.")
        assert found == [("unchecked", "run-unclear")]

    def test_a_patch_changes_its_files(self, tmp_path: Path) -> None:
        patch = json.dumps("*** Begin Patch\n*** Add File: shop/tax.py\n+x\n*** End Patch")
        source = f"const patch = {patch};\ntext(await tools.apply_patch(patch));"
        claim = "I created `shop/tax.py`."
        assert judged(tmp_path, script(source), printed("{}"), claim=claim)[0][0] == "verified"
        assert judged(tmp_path, script(source), printed("{}", state="failed"), claim=claim)[0][0] != "verified"

    @pytest.mark.parametrize(
        "source",
        [
            'const c = ["pytest -q"]; for (const x of c) { text(await tools.exec_command({cmd: x})); }',
            'const r = await tools.exec_command({"cmd": "pytest " + folder});',
            'if (await ready()) { text(await tools.exec_command({"cmd": "pytest -q"})); }',
            "const t = tools; text(await t.exec_command(x));",
            "const r = await tools.exec_command({cmd: `pytest ${folder}`});",
        ],
    )
    def test_with_a_script_that_is_not_understood_the_record_is_incomplete(self, tmp_path: Path, source: str) -> None:
        assert judged(tmp_path, script(source), printed(PASSED)) == [("unchecked", "run-unclear")]
        # It may have repeated the run that failed before.
        before = [function("exec_command", {"cmd": "pytest -q"}, "c"), output("c", ended(1, FAILED))]
        assert judged(tmp_path, *before, script(source), printed(PASSED)) == [("unchecked", "run-unclear")]

    def test_an_item_of_its_command_replaces_it(self) -> None:
        calls = calls_of(script('const r = await tools.exec_command({"cmd":"pytest -q"});' + SHOWN))
        item = {"type": "CommandExecution", "id": "x", "command": ["bash", "-lc", "pytest -q"], "exit_code": 1}
        calls.add(TranscriptLine(type="event_msg", payload={"type": "item_completed", "item": item}))
        calls.add(TranscriptLine(type="response_item", payload=printed(PASSED)))
        assert [(receipt.command, receipt.exit) for receipt in calls.receipts] == [("pytest -q", 1)]

    def test_the_items_of_a_script_that_is_not_understood_are_the_record(self, tmp_path: Path) -> None:
        calls = calls_of(script("for (const x of c) { await tools.exec_command({cmd: x}); }"))
        item = {"type": "CommandExecution", "id": "x", "command": ["bash", "-lc", "pytest -q"], "exit_code": 1}
        calls.add(TranscriptLine(type="event_msg", payload={"type": "item_completed", "item": item}))
        assert [(receipt.tool, receipt.failed) for receipt in calls.receipts] == [("Script", True), ("Bash", False)]

    @pytest.mark.parametrize("kind", ["Plan", "AgentMessage", "Reasoning"])
    def test_a_plan_or_a_message_does_not_show_what_a_script_did(self, kind: str) -> None:
        calls = calls_of(script("for (const x of c) { await tools.exec_command({cmd: x}); }"))
        item = {"type": kind, "id": "x", "text": "1. Run the tests"}
        calls.add(TranscriptLine(type="event_msg", payload={"type": "item_completed", "item": item}))
        assert [(receipt.tool, receipt.failed) for receipt in calls.receipts] == [("Script", False)]

    def test_the_items_of_a_long_script_are_read_in_linear_time(self) -> None:
        calls = calls_of(script("await tools.exec_command({cmd: 'x'});" * 1_500))
        start = time.process_time()
        for number in range(5_000):
            item = {"type": "CommandExecution", "id": str(number), "command": ["pytest"], "exit_code": 0}
            calls.add(TranscriptLine(type="event_msg", payload={"type": "item_completed", "item": item}))
        assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("source", "calls"),
    [
        ('text("no call");', []),
        ("await tools.f({a: [1, 'x\\n', true,], b: {c: null}});", [("f", {"a": [1, "x\n", True], "b": {"c": None}})]),
        ("await tools.f(/* all */);", [("f", None)]),
        ("const a = {cmd: 'x'}\nawait tools.f(a); await tools.g(a);", [("f", {"cmd": "x"}), ("g", {"cmd": "x"})]),
        ("const a = {cmd: 'x'}; a.cmd = 'y'; await tools.f(a);", None),
        ("const a = 'x'.repeat(2); await tools.f(a);", None),
        ("await tools['f']({});", None),
        ("await tools.f({}", None),
        ("await tools.f({...a});", None),
        ("x = 1 / 2; await tools.f({});", None),
        ("await tools.f('a \\u{1f680} \\x41 \\\n b');", [("f", "a \N{ROCKET} A  b")]),
        ("text(`${(await tools.f({})).output}`);", None),
        ("a: { break a; await tools.f({}); }", None),
        ("const o = { async run() { await tools.f({}); } };", None),
        ("text(`${x}`); await tools.f(`tools`);", [("f", "tools")]),
        ("await tools.f({" + "a:{" * 30 + "}" * 31 + ");", None),
    ],
)
def test_the_calls_of_a_script_are_those_with_literals(source: str, calls: list[tuple[str, Any]] | None) -> None:
    found = script_calls(source)
    assert (found if found is None else [(call.tool, call.argument) for call in found]) == calls


@pytest.mark.parametrize(
    ("printing", "is_shown"),
    [
        ("text(r.output)", True),
        ("text( ( r ) )", True),
        ("text((r).output);", True),
        ("text(JSON.stringify(r))", True),
        ("text(r.exit_code)", False),
        ("text(r.output.replaceAll('failed', 'passed'))", False),
        ("text(r.output ? '5 passed' : '')", False),
        ("// text(r.output)\ntext('5 passed')", False),
        ("text('text(r.output)')", False),
        ("x.text(r)", False),
        ("text(r.output); text('48 passed in 0.9s');", False),
        ("const s = '48 passed'; text(r.output); text(s);", False),
        ("text(r.output); if (r.session_id) text(`SESSION_ID=${r.session_id}`);", True),
        ("text(r.output); text(`SESSION_ID=7 48 passed`);", False),
    ],
)
def test_a_result_is_shown_if_the_script_prints_it_as_it_is(printing: str, *, is_shown: bool) -> None:
    found = script_calls(f"const r = await tools.exec_command({{cmd: 'x'}}); {printing}")
    assert found == [ScriptCall("exec_command", {"cmd": "x"}, is_shown)]


@pytest.mark.parametrize(
    ("source", "is_shown"),
    [
        ("text(await tools.f({}))", True),
        ("text((await tools.f({})).output)", True),
        ("text(JSON.stringify(await tools.f({})));", True),
        ("text((await tools.f({})).output.trim())", False),
        ("text(await tools.f({}) + '5 passed')", False),
    ],
)
def test_a_call_is_shown_if_it_is_printed_as_it_is(source: str, *, is_shown: bool) -> None:
    assert script_calls(source) == [ScriptCall("f", {}, is_shown)]


@given(
    st.lists(st.sampled_from(["tools", ".f", "(", ")", "{", "}", "a", ":", '"x"', "[", "]", ",", "const a=", "`${"]))
)
def test_any_script_is_read_without_an_error(parts: list[str]) -> None:
    found = script_calls("".join(parts))
    assert found is None or all(call.tool for call in found)


@pytest.mark.parametrize(
    "part", ['"\\\\', "'\\\\", "`\\\\", "/*", "tools.f({a:", "text(", " ", "const r = await tools.f();text(r       "]
)
def test_a_hostile_script_is_read_in_linear_time(part: str) -> None:
    start = time.process_time()
    script_calls(part * 100_000)
    script_calls(f"await tools.f({{}}); text({part * 20_000}")
    assert time.process_time() - start < 2
