from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hooking import ENTRY, Hooks, decision_of, kind_of

pytestmark = pytest.mark.process

AT_ONCE = 50


@pytest.mark.parametrize("name", ["PreToolUse.Write.json", "PreToolUse.Read.json", "SubagentStop.json", "Stop.json"])
def test_a_process_answers_as_the_function_does(hooks: Hooks, name: str) -> None:
    payload = hooks.captured(name)
    reply = hooks.process(json.dumps(payload).encode(), payload["hook_event_name"])
    assert reply == hooks.say(payload)
    assert kind_of(reply) == {"PreToolUse.Write.json": "deny", "SubagentStop.json": "block"}.get(name, "nothing")


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff\xfe\x00", b"null", b"[" * 200_000, b'{"a":' * 200_000, b'{"hook_event_name": 5}', b"NaN"],
    ids=["empty", "torn", "bytes", "null", "deep", "deep tables", "wrong type", "nan"],
)
def test_an_invalid_payload_exits_with_zero_and_is_reported(start: Callable[..., Hooks], data: bytes) -> None:
    reply = start().process(data)
    assert reply is not None
    assert reply["systemMessage"].startswith("remit could not answer PreToolUse: ")


def test_numbers_that_json_lacks_are_not_passed_on(hooks: Hooks) -> None:
    payload = json.dumps(hooks.captured("PreToolUse.Agent.json"))
    for number, kind in (("NaN", "updatedInput"), ("1e999", "message")):
        changed = payload.replace('"description"', f'"number": {number}, "description"', 1)
        reply = hooks.process(changed.encode())
        assert kind_of(reply) == kind
        assert "NaN" not in json.dumps(reply)


def test_a_payload_of_ten_megabytes_is_answered(hooks: Hooks) -> None:
    payload = hooks.payload(
        "PreToolUse", tool_name="Write", tool_input={"file_path": "src/a.py", "content": "é" * 10**7}
    )
    assert decision_of(hooks.process(json.dumps(payload, ensure_ascii=False).encode())) == "deny"


def test_an_endless_payload_is_refused(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from remit.clients import answer_event as clients_run
    from remit.clients.hooks import payload

    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(hooks.project))
    monkeypatch.setattr(payload.read, "__defaults__", (1000,))
    out_read, out_write = os.pipe()
    with open("/dev/zero", "rb") as endless:  # noqa: PTH123 - a device
        clients_run.run("PreToolUse", source=endless.fileno(), target=out_write)
    reply = json.loads(os.read(out_read, 10_000))
    os.close(out_read)
    os.close(out_write)
    assert "more than 1000 bytes" in reply["systemMessage"]


def test_a_closed_output_is_not_an_error(hooks: Hooks) -> None:
    process = subprocess.Popen(
        hooks.command("PreToolUse"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=hooks.environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.write(json.dumps(hooks.captured("PreToolUse.Write.json")).encode())
    process.stdin.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_an_entry_whose_package_is_missing_reports_it(tmp_path: Path) -> None:
    alone = tmp_path / "remit/surfaces/hooks/entry.py"
    alone.parent.mkdir(parents=True)
    shutil.copy(ENTRY, alone)
    done = subprocess.run([sys.executable, "-I", "-S", str(alone)], input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "could not be loaded (ModuleNotFoundError)" in json.loads(done.stdout)["systemMessage"]


def test_without_the_clients_variable_the_project_is_found_by_the_working_folder(hooks: Hooks) -> None:
    payload = hooks.payload("PreToolUse", tool_name="Edit", tool_input={"file_path": "app.py"})
    payload["cwd"] = str(hooks.project / "src")
    environment = {name: value for name, value in hooks.environment().items() if name != "CLAUDE_PROJECT_DIR"}
    data = json.dumps(payload).encode()
    done = subprocess.run(hooks.command("PreToolUse"), input=data, capture_output=True, env=environment, check=True)
    assert "src/app.py is code" in done.stdout.decode()


def test_the_command_answers_like_the_process(hooks: Hooks) -> None:
    for name in ("PreToolUse.Write.json", "UserPromptSubmit.json"):
        data = json.dumps(hooks.captured(name)).encode()
        command = [
            sys.executable,
            "-c",
            "from remit.surfaces.cli import main; main()",
            "hook",
            "--mode",
            hooks.mode,
            "X",
        ]
        done = subprocess.run(command, input=data, capture_output=True, env=hooks.environment(), check=True)
        assert (json.loads(done.stdout) if done.stdout else None) == hooks.process(data)
    command[-1:] = []
    done = subprocess.run(command, input=b"{", capture_output=True, env=hooks.environment(), check=True)
    assert "systemMessage" in json.loads(done.stdout)


def test_fifty_hooks_at_once_lose_no_update_and_wait_within_limits(start: Callable[..., Hooks]) -> None:
    hooks = start(limits={"files": 1000, "lines": 1000, "total": 100_000})
    payloads = []
    for number in range(AT_ONCE):
        (hooks.project / f"src/at{number}.py").write_text("x = 1\n" * (number + 1))
        tool_input = {"file_path": f"src/at{number}.py"}
        payloads.append(
            hooks.payload("PreToolUse", tool_name="Read", tool_input=tool_input, tool_use_id=f"toolu_{number}")
        )
    running = [
        subprocess.Popen(
            hooks.command("PreToolUse"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=hooks.environment()
        )
        for _ in payloads
    ]
    for process, payload in zip(running, payloads, strict=True):
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        process.stdin = None
    # Each process waits for the state up to its own limit, and would report a timeout.
    answers = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0] * AT_ONCE
    assert answers == [b""] * AT_ONCE
    assert hooks.state.window.files == {f"src/at{number}.py": number + 1 for number in range(AT_ONCE)}
    assert len(hooks.state.pending) == AT_ONCE
    assert len(hooks.state.decisions) == AT_ONCE
    assert [file.name for file in hooks.folder.iterdir() if "broken" in file.name or file.name.endswith(".tmp")] == []
