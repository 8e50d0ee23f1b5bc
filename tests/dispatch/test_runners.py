"""Programs as subagents: input on stdin, answer on stdout, and their end with the job."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import sys
import time
from pathlib import Path

import pytest
from support.running import Fleet, Play, there
from support.waiting import fastest, until_async

from remit.dispatch.runners import MAX_OUTPUT, PRESETS
from remit.errors import UsageError
from remit.testing import project as sample_project
from remit.testing import registry
from remit.testing import result as sample

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
SHOP = Path(__file__).resolve().parents[2] / "examples" / "shop"
AGENT = "---\nname: outsider\nrunner: command\ncommand: helper\n---\nBe brief.\n"


def program(folder: Path, text: str) -> str:
    """Return a command line that runs a small Python program."""
    file = folder.parent / "helper.py"
    file.write_text(f"import json, os, subprocess, sys, time, pathlib\n{text}\n", encoding="utf-8")
    return shlex.join([sys.executable, str(file)])


def hire(fleet: Fleet, text: str) -> None:
    fleet.settings = fleet.settings._replace(runners={"helper": program(fleet.project, text)})
    fleet.registry = registry(AGENT)


async def test_a_program_gets_brief_and_task_and_its_answer_is_checked(play: Play) -> None:
    async with play({"text": "never asked"}) as fleet:
        hire(fleet, "pathlib.Path('told.json').write_text(sys.stdin.read())\nprint('Fine.')")
        done = await fleet.run("look around", subagent_def="outsider")
        told = json.loads((fleet.project / "told.json").read_text(encoding="utf-8"))
        assert (done.outcome, done.verdict, done.result) == ("completed", "reject", "Fine.")
        assert fleet.requests == []
    assert (told["schema"], told["job"], told["agent"], told["prompt"]) == (
        "remit.task/1",
        done.id,
        "outsider",
        "look around",
    )
    assert told["brief"]["system"] == "Be brief."
    assert "### Status" in told["brief"]["contract"]


async def test_a_valid_result_is_accepted(play: Play) -> None:
    async with play({"text": "never asked"}) as fleet:
        shutil.copytree(sample_project(), fleet.project, dirs_exist_ok=True)
        (fleet.project.parent / "result.md").write_text(
            sample("error").replace("Backend Specialist", "Outsider"), encoding="utf-8"
        )
        hire(fleet, "print(pathlib.Path('../result.md').read_text())")
        done = await fleet.run(subagent_def="outsider")
        assert (done.outcome, done.verdict) == ("completed", "accept")


async def test_a_program_that_does_not_read_its_input_works(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        hire(fleet, "sys.stdin.close()\nprint('Fine.')")
        done = await fleet.run("x" * 1_000_000, subagent_def="outsider")
        assert (done.outcome, done.result) == ("completed", "Fine.")


async def test_the_error_and_output_of_a_failing_program_are_kept(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        hire(fleet, "print('half a result')\nsys.exit('no licence\\n')")
        done = await fleet.run(subagent_def="outsider")
        assert done.outcome == "error"
        assert done.error == "helper ended with code 1: no licence"
        assert await fleet.outputs(done.id) == ["no licence\n\n\nhalf a result\n"], "the error comes first"
        assert done.result == "half a result"


async def test_a_program_that_cannot_be_started_is_an_error_with_its_name(play: Play) -> None:
    async with play({"text": "never"}, runners={"helper": "/nowhere/helper --x"}) as fleet:
        fleet.registry = registry(AGENT)
        done = await fleet.run(subagent_def="outsider")
        assert (done.outcome, done.error) == ("error", "/nowhere/helper cannot be started: No such file or directory")


async def test_a_command_line_that_cannot_be_read_is_an_error(play: Play) -> None:
    async with play({"text": "never"}, runners={"helper": "helper 'open"}) as fleet:
        fleet.registry = registry(AGENT)
        done = await fleet.run(subagent_def="outsider")
        assert done.outcome == "error"
        assert "the command line of 'helper' cannot be parsed" in str(done.error)


async def test_a_flood_of_output_is_bounded(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        hire(fleet, "for _ in range(20): sys.stdout.write('x' * 1_000_000 + '\\n')\nsys.exit(3)")
        done = await fleet.run(subagent_def="outsider")
        assert done.outcome == "error"
        assert len(str(done.error)) < 1_000
        assert all(len(output) <= 10_000 for output in await fleet.outputs(done.id))
        assert len(done.result or "") <= MAX_OUTPUT


async def test_bytes_that_are_not_text_are_replaced(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        hire(fleet, "sys.stdout.buffer.write(b'a\\0b\\xff')")
        done = await fleet.run(subagent_def="outsider")
        assert (done.outcome, done.result) == ("completed", "a\ufffdb\ufffd")


HANGS = """
pathlib.Path('child').write_text(str(subprocess.Popen(['sleep', '1000']).pid))
pathlib.Path('self').write_text(str(os.getpid()))
pathlib.Path('ready').touch()
time.sleep(1000)
"""


async def test_a_program_that_hangs_is_cancelled_with_its_children(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        hire(fleet, HANGS)

        async def cancelled() -> float:
            number = await fleet.submit(subagent_def="outsider")
            await there(fleet.project / "ready")
            (fleet.project / "ready").unlink()
            began = time.monotonic()
            await fleet.cancel(number)
            done = await fleet.reached(number, "finished")
            took = time.monotonic() - began
            assert done.outcome == "cancelled"
            for name in ("self", "child"):
                await _gone(int((fleet.project / name).read_text(encoding="utf-8")))
            return took

        async with fleet.working():
            assert await fastest(cancelled, 1.5) < 1.5


async def test_a_program_that_takes_too_long_is_a_timeout(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        hire(fleet, HANGS)
        done = await fleet.run(subagent_def="outsider", limits={"seconds": 0.5})
        assert done.outcome == "timeout"
        if (fleet.project / "child").exists():
            await _gone(int((fleet.project / "child").read_text(encoding="utf-8")))


async def test_background_processes_of_a_program_do_not_block_the_job_and_are_ended(play: Play) -> None:
    left = "child = subprocess.Popen(['sh', '-c', \"trap '' TERM; sleep 1000\"])"
    async with play({"text": "never"}) as fleet:
        hire(fleet, f"{left}\npathlib.Path('child').write_text(str(child.pid))\nprint('Fine.')")
        done = await fleet.run(subagent_def="outsider")
        assert (done.outcome, done.result) == ("completed", "Fine.")
        await _gone(int((fleet.project / "child").read_text(encoding="utf-8")))


#: A daemon in a new session that keeps the output of the program open.
DAEMON = """
child = subprocess.Popen(['sh', '-c', "trap '' TERM HUP; sleep 1000; :"], start_new_session=True)
pathlib.Path('daemon').write_text(str(child.pid))
pathlib.Path('self').write_text(str(os.getpid()))
"""


async def test_a_daemon_of_a_program_does_not_block_the_job_and_is_ended(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        hire(fleet, f"{DAEMON}\nprint('Fine.')")
        done = await fleet.run(subagent_def="outsider")
        assert (done.outcome, done.result) == ("completed", "Fine.")
        await _gone(int((fleet.project / "daemon").read_text(encoding="utf-8")))


async def test_a_cancelled_program_ends_with_its_daemons(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        hire(fleet, f"{DAEMON}\npathlib.Path('ready').touch()\ntime.sleep(1000)")
        number = await fleet.submit(subagent_def="outsider")
        async with fleet.working():
            await there(fleet.project / "ready")
            await fleet.cancel(number)
            assert (await fleet.reached(number, "finished")).outcome == "cancelled"
        for name in ("self", "daemon"):
            await _gone(int((fleet.project / name).read_text(encoding="utf-8")))


async def test_a_program_ends_when_another_worker_has_its_job(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.dispatch.worker_settings._MAX_KEEPALIVE_SECONDS", 0.05)
    async with play({"text": "never"}) as fleet:
        hire(fleet, HANGS)
        await fleet.submit(subagent_def="outsider")
        async with fleet.working():
            await there(fleet.project / "ready")
            await fleet.rows("UPDATE remit.jobs SET attempt = attempt + 1, state = 'finished', outcome = 'error'")
            for name in ("self", "child"):
                await _gone(int((fleet.project / name).read_text(encoding="utf-8")))


@pytest.mark.process
async def test_a_program_ends_with_its_killed_worker(tmp_path: Path) -> None:
    worker = (
        "import asyncio, os, pathlib, sys\nfrom remit.dispatch.runners import run_supervised\n"
        "asyncio.run(run_supervised([sys.executable, 'hangs.py'], b'', pathlib.Path.cwd(), os.environ))"
    )
    hangs = f"import os, subprocess, sys, time, pathlib\n{DAEMON}\npathlib.Path('ready').touch()\ntime.sleep(1000)"
    (tmp_path / "hangs.py").write_text(hangs, encoding="utf-8")
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", worker, cwd=tmp_path)
    try:
        await there(tmp_path / "ready")
    finally:
        process.kill()
        await process.wait()
    for name in ("self", "daemon"):
        await _gone(int((tmp_path / name).read_text(encoding="utf-8")))


async def test_an_empty_command_line_is_an_error(play: Play) -> None:
    async with play({"text": "never"}, runners={"helper": ""}) as fleet:
        fleet.registry = registry(AGENT)
        done = await fleet.run(subagent_def="outsider")
        assert (done.outcome, done.error) == ("error", "the command line of 'helper' is empty")


async def _gone(pid: int) -> None:
    """Wait until a process has ended or is a zombie."""
    await until_async(lambda: asyncio.to_thread(_is_over, pid), f"process {pid} is gone")


def _is_over(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


async def test_a_program_does_not_get_the_address_of_the_store(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async with play({"text": "never"}) as fleet:
        monkeypatch.setenv("REMIT_DATABASE_URL", "postgresql://secret")
        hire(fleet, "print([name for name in os.environ if name.startswith('REMIT_')])")
        assert (await fleet.run(subagent_def="outsider")).result == "[]"


def test_presets_exist_for_other_agents() -> None:
    assert set(PRESETS) >= {"claude", "codex", "gemini"}
    assert PRESETS["claude"].startswith("claude -p -- ")
    assert PRESETS["codex"].startswith("codex exec -- ")
    assert PRESETS["gemini"].startswith("gemini -- ")
    assert all("{prompt}" in PRESETS[name] for name in ("claude", "codex", "gemini"))


async def test_a_preset_gets_the_whole_task_as_one_argument(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    fake = folder / "claude"
    fake.write_text('#!/bin/sh\nprintf "%s|%s|%s|%s" "$#" "$1" "$2" "$3"\n', encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    async with play({"text": "never"}, runners={"claude": "preset"}) as fleet:
        fleet.registry = registry("---\nname: other\nrunner: command\ncommand: claude\n---\nBe brief.\n")
        done = await fleet.run("mind; the $(quotes) 'here'", subagent_def="other")
        assert str(done.result).startswith("3|-p|--|Be brief.\n\n# How to answer")
        assert str(done.result).endswith("mind; the $(quotes) 'here'")


async def test_a_definition_cannot_add_a_command(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        fleet.registry = registry("---\nname: evil\nrunner: command\ncommand: rm -rf .\n---\nx\n")
        with pytest.raises(UsageError, match=r"there is no command 'rm -rf \.' under `commands`"):
            await fleet.submit(subagent_def="evil")


async def test_a_worker_without_the_command_ends_the_job_with_a_message(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        hire(fleet, "print('x')")
        number = await fleet.submit(subagent_def="outsider")
        fleet.settings = fleet.settings._replace(runners={})
        await fleet.work()
        done = await fleet.job(number)
        assert (done.outcome, done.error) == (
            "error",
            "this worker has no command 'helper' under `commands` in its configuration",
        )
