"""Programs as subagents: their environment, their location and their time."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from support.running import Fleet, Play, there
from support.waiting import until_async

from remit.testing import registry

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
NEVER = {"text": "never asked"}
#: Variables in which a worker may have secrets, in addition to those of the providers.
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "aws-of-this-test",
    "github_token": "github-of-this-test",
    "PGPASSWORD": "password-of-this-test",
    "MY_CREDENTIALS": "credentials-of-this-test",
}


AGENT = "---\nname: outsider\nrunner: command\ncommand: helper\n---\nBe brief.\n"


def hire(fleet: Fleet, text: str) -> None:
    """Configure a small Python program as the subagent `outsider`."""
    file = fleet.project.parent / "helper.py"
    file.write_text(f"import json, os, pathlib, time\n{text}\n", encoding="utf-8")
    fleet.settings = fleet.settings._replace(runners={"helper": shlex.join([sys.executable, str(file)])})
    fleet.registry = registry(AGENT)


async def test_a_program_that_runs_longer_than_a_step_is_not_hung(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async with play(NEVER, takeover_seconds=0.6) as fleet:
        assert fleet.settings.hung_seconds > 2 * fleet.settings.keepalive_seconds, "it reports progress often enough"
        monkeypatch.setattr("remit.dispatch.worker_settings._MAX_KEEPALIVE_SECONDS", 0.01)
        begins = "pathlib.Path('begun').touch()"
        works = "while not pathlib.Path('enough').exists(): time.sleep(0.01)"
        hire(fleet, f"{begins}\n{works}\nprint('Fine.')")
        number = await fleet.submit(subagent_def="outsider")
        async with fleet.working():
            await there(fleet.project / "begun")
            for _ in range(2):
                await fleet.rows("UPDATE remit.jobs SET checkpoint = now() - interval '800 seconds'")
                await until_async(lambda: _is_fresh(fleet), "it is said again and again that the job does not hang")
            (fleet.project / "enough").touch()
            done = await fleet.reached(number, "finished")
        assert (done.outcome, done.result, done.attempt) == ("completed", "Fine.", 1)


async def _is_fresh(fleet: Fleet) -> bool:
    found = await fleet.rows("SELECT checkpoint > now() - interval '400 seconds' FROM remit.jobs")
    return bool(found[0][0])


@pytest.mark.parametrize("line", ["./helper", "bin/helper --fast", "../project/helper", "'bin/../helper'"])
async def test_a_checkout_cannot_bring_the_program_that_is_run(play: Play, line: str) -> None:
    async with play(NEVER, runners={"helper": line}) as fleet:
        (fleet.project / "bin").mkdir()
        for place in ("helper", "bin/helper"):
            _executable(fleet.project / place, "touch was-run")
        fleet.registry = registry(AGENT)
        done = await fleet.run(subagent_def="outsider")
        assert (done.outcome, done.error) == (
            "error",
            "the command 'helper' must name a program on the PATH or an absolute path",
        )
        assert not (fleet.project / "was-run").exists()


async def test_a_program_of_the_checkout_is_not_found_by_its_bare_name(play: Play) -> None:
    async with play(NEVER, runners={"helper": "remit-test-helper"}) as fleet:
        _executable(fleet.project / "remit-test-helper", "touch was-run")
        fleet.registry = registry(AGENT)
        done = await fleet.run(subagent_def="outsider")
        assert (done.outcome, done.error) == (
            "error",
            "remit-test-helper cannot be started: No such file or directory",
        )
        assert not (fleet.project / "was-run").exists()


def _executable(file: Path, line: str) -> None:
    file.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    file.chmod(0o755)
