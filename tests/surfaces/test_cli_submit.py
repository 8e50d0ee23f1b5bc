"""`remit run --detach` with hostile values: a sentence and exit code 2, or a job; never a traceback."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.commands import Commands, Ran
from support.running import Fleet, Play

from remit.surfaces.cli import main

pytest_plugins = ("support.running",)
BYTES = os.fsdecode(b"caf\xe9")


@pytest.fixture
def remit(address: str, project: Path, tmp_path: Path) -> Commands:
    return Commands(address, project, tmp_path / "data", "http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--priority", "99999999999"], "a priority must be from"),
        (["--tree-max-tokens", "99999999999999999999"], "tree_max_tokens must be"),
        (["--tree-max-cost", "nan"], "tree_max_cost must be"),
        (["--tree-max-turns", "0"], "tree_max_turns must be"),
        (["--tree-max-seconds", "inf"], "tree_max_seconds must be"),
        (["--max-cost", "0"], "max_cost must be"),
        (["--key", BYTES], "a key must be text of 1 to"),
        (["--key", "k" * 12_000], "a key must be text of 1 to"),
        (["--repo", BYTES], "is not valid UTF-8"),
    ],
    ids=lambda part: str(part)[:30],
)
def test_what_cannot_be_kept_is_refused_in_a_sentence(remit: Commands, options: list[str], said: str) -> None:
    (remit.project / BYTES).mkdir()
    ran = remit("run", "--detach", "generic", "go", *options)
    assert (ran.code, ran.out) == (2, "")
    assert said in " ".join(ran.err.split())
    assert "Traceback" not in ran.err


@pytest.mark.anyio
async def test_the_trees_limits_are_where_the_options_say(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        limits = ["--tree-max-turns", "7", "--tree-max-seconds", "90", "--tree-max-tokens", "5000"]
        ran = await _submit(fleet, "go", *limits)
        assert ran.code == 0, ran.err
        found = await fleet.rows("SELECT tree_max_turns, tree_max_seconds::int, tree_max_tokens FROM remit.jobs")
        assert found == [(7, 90, 5000)]


@pytest.mark.anyio
@pytest.mark.parametrize(("task", "given"), [(BYTES, None), ("-", b"caf\0"), ("-", b"caf\xe9")], ids=ascii)
async def test_a_task_in_bad_bytes_is_stored_readably(play: Play, task: str, given: bytes | None) -> None:
    async with play({"text": "never"}) as fleet:
        ran = await _submit(fleet, task, "--var", f"{BYTES}={BYTES}", "--system", BYTES, given=given)
        assert ran.code == 0, ran.err
        assert await fleet.rows("SELECT prompt FROM remit.jobs") == [("caf\ufffd",)]


def test_a_retry_without_a_database_fails_with_one_sentence(
    remit: Commands, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in remit.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["remit", "jobs", "retry", "1"])

    async def lost(*_: Any) -> None:
        raise psycopg.OperationalError("terminating connection")

    monkeypatch.setattr("remit.operations.jobs.retry", lost)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 3
    assert capsys.readouterr().err == "remit: the database does not answer: terminating connection\n"


async def _submit(fleet: Fleet, task: str, *options: str, given: bytes | None = None) -> Ran:
    commands = Commands(fleet.database.address, fleet.project, fleet.settings.state, "http://127.0.0.1:9")
    with tempfile.TemporaryFile() as typed:
        typed.write(given or b"")
        typed.seek(0)
        return await asyncio.to_thread(commands, "run", "--detach", "generic", task, *options, stdin=typed.fileno())
