"""Submission: refused values, text that cannot be stored, and lost connections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from support.running import Play

from remit.dispatch import submit as submitting
from remit.dispatch.submit import MAX_DELAY, MAX_KEY, MAX_PRIORITY, Queueing
from remit.dispatch.worker_settings import load_settings
from remit.errors import ConfigurationError, EnvironmentBroken, UsageError
from remit.store import jobs
from remit.testing import registry

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
NAN, INFINITE = float("nan"), float("inf")
COUNT = "SELECT count(*) FROM remit.jobs"
KILL = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'remit %%'
"""
REFUSED: list[tuple[dict[str, Any], str]] = [
    *(({"delay": delay}, f"a delay must be from 0 to {MAX_DELAY} seconds") for delay in (INFINITE, NAN, 1e300, -1)),
    *(
        ({"priority": priority}, "a priority must be from -1000000 to 1000000")
        for priority in (99_999_999_999, -(10**7))
    ),
    *(({"key": key}, f"a key must be text of 1 to {MAX_KEY} bytes") for key in ("", "k" * 12_000, "k\0", "k\udcff")),
    *(({"queue": queue}, "the name of a queue must have 1 to 40 characters") for queue in ("", "q\udcff", "q" * 41)),
    *(({"parent": parent}, f"the parent job {parent} does not exist") for parent in (-1, 0, 7, 2**70)),
    *(({f"tree_max_{what}": 10**20}, f"tree_max_{what} must be") for what in ("tokens", "turns")),
    *(({f"tree_max_{what}": -1}, f"tree_max_{what} must be") for what in ("tokens", "turns", "cost", "seconds")),
    *(({f"tree_max_{what}": NAN}, f"tree_max_{what} must be") for what in ("cost", "seconds")),
    *(({f"tree_max_{what}": INFINITE}, f"tree_max_{what} must be") for what in ("cost", "seconds")),
]


@pytest.mark.parametrize(("queueing", "said"), REFUSED, ids=[str(one[0])[:40] for one in REFUSED])
async def test_values_that_the_queue_cannot_store_are_refused(play: Play, queueing: dict[str, Any], said: str) -> None:
    async with play({"text": "never"}) as fleet:
        with pytest.raises(UsageError) as refused:
            await fleet.submit(queueing=Queueing(**queueing))
        assert said in str(refused.value)
        assert await fleet.rows(COUNT) == [(0,)]


@pytest.mark.parametrize(
    "limits", [{"cost": INFINITE}, {"seconds": NAN}, {"tokens": 10**20}, {"tokens": 0}, {"cost": -1.0}], ids=str
)
async def test_an_invalid_limit_is_reported_with_its_range(play: Play, limits: dict[str, Any]) -> None:
    async with play({"text": "never"}) as fleet:
        with pytest.raises(UsageError, match=f"max_{next(iter(limits))} must be greater than 0 and less than"):
            await fleet.submit(limits=limits)


async def test_the_largest_allowed_values_are_stored(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        wanted = Queueing(key="ä" * (MAX_KEY // 2), priority=MAX_PRIORITY, delay=MAX_DELAY)
        number = await fleet.submit(queueing=wanted._replace(tree_max_turns=10**11, tree_max_seconds=0.5))
        job = await fleet.job(number)
        assert (job.idempotency_key, job.priority) == (wanted.key, MAX_PRIORITY)
        found = await fleet.rows(
            "SELECT tree_max_turns, tree_max_seconds, scheduled_at > now() FROM remit.jobs, procrastinate_jobs"
        )
        assert [(turns, float(seconds), later) for turns, seconds, later in found] == [(10**11, 0.5, True)]


async def test_a_child_cannot_set_limits_of_the_tree(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        top = await fleet.submit()
        with pytest.raises(UsageError, match="only the first job of a tree can have tree limits"):
            await fleet.submit(queueing=Queueing(parent=top, tree_max_tokens=5_000))


@pytest.mark.parametrize("bad", ["\0", chr(0xDCFF), chr(0xD800)], ids=["zero", "a byte", "half a character"])
async def test_text_that_cannot_be_stored_is_replaced_in_every_field(play: Play, bad: str) -> None:
    async with play({"text": "done"}) as fleet:
        done = await fleet.run(
            f"look{bad} at it",
            system=f"You{bad} look.",
            input_vars={f"na{bad}me": f"val{bad}ue"},
            subagent_def=f"kee{bad}per",
            allowed_tools=[f"Re{bad}ad", "Read"],
            scope=[f"a{bad}.py"],
        )
        assert done.outcome == "completed"
        assert (done.prompt, done.agent) == ("look\ufffd at it", "kee\ufffdper")
        assert done.request["input_vars"] == {"na\ufffdme": "val\ufffdue"}
        assert (await fleet.brief(done)).system == "You\ufffd look."
        assert "look\ufffd at it" in str(fleet.requests[0].body["messages"])


async def test_a_definition_with_a_nul_character_can_be_run(play: Play) -> None:
    async with play({"text": "done"}) as fleet:
        fleet.registry = registry("---\nname: keeper\n---\n\nYou look\0 after it.\n")
        done = await fleet.run()
        assert done.outcome == "completed"
        assert "\0" not in (await fleet.brief(done)).system


@pytest.mark.parametrize("name", [b"b\xe9", b"sub"], ids=["itself", "below one"])
async def test_a_folder_whose_name_cannot_be_stored_is_refused(play: Play, tmp_path: Path, name: bytes) -> None:
    async with play({"text": "never"}) as fleet:
        fleet.project = tmp_path / "link"
        real = tmp_path / b"b\xe9".decode("utf-8", "surrogateescape")
        (real / "sub").mkdir(parents=True)
        if name == b"sub":
            fleet.project.symlink_to(real / "sub")
        else:
            fleet.project = real
        with pytest.raises(UsageError, match="is not valid UTF-8"):
            await fleet.submit()


async def test_a_deeply_nested_request_is_refused(play: Play) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    async with play({"text": "never"}) as fleet:
        with pytest.raises(UsageError, match="nested too deeply"):
            await fleet.submit(input_vars={"a": deep})


@pytest.mark.parametrize("when", ["waiting", "running", "finished"])
async def test_a_cancelled_job_gets_no_children(play: Play, when: str) -> None:
    async with play({"text": "never"}) as fleet:
        parent = await fleet.submit()
        if when == "running":
            await fleet.rows("UPDATE remit.jobs SET state = 'running'")
        await fleet.cancel(parent)
        if when == "finished":
            await fleet.rows("UPDATE remit.jobs SET is_cancelled = false")
        with pytest.raises(UsageError, match=f"job {parent} is cancelled and cannot have more children"):
            await fleet.submit(queueing=Queueing(parent=parent))


async def test_a_cancelled_job_that_is_retried_may_have_children(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        parent = await fleet.submit()
        await fleet.cancel(parent)
        await jobs.retry(fleet.database, parent)
        assert await fleet.submit(queueing=Queueing(parent=parent))


@pytest.mark.parametrize("queueing", [{}, {"key": "k"}, {"parent": 1}], ids=["plain", "with a key", "a child"])
async def test_a_dead_connection_does_not_prevent_a_submission(play: Play, queueing: dict[str, Any]) -> None:
    async with play({"text": "never"}) as fleet:
        await fleet.submit()
        await fleet.rows(KILL)
        number = await fleet.submit(queueing=Queueing(**queueing))
        assert (await fleet.job(number)).state == "queued"
        assert await fleet.rows(COUNT) == [(2,)]


def lose_the_end(monkeypatch: pytest.MonkeyPatch, kill: Any) -> None:
    """Lose the connection, once: between a submission and its commit, or the reply if the statement has committed."""
    real = submitting.rows
    lost: list[bool] = []

    async def losing(connection: Any, name: str, /, **values: Any) -> Any:
        found = await real(connection, name, **values)
        if name == "jobs.submit" and not lost:
            lost.append(True)
            await kill("SELECT pg_terminate_backend(%s)", connection.info.backend_pid)
            if connection.info.transaction_status is TransactionStatus.IDLE:
                raise psycopg.OperationalError("server closed the connection unexpectedly")
        return found

    monkeypatch.setattr(submitting, "rows", losing)


@pytest.mark.parametrize("queueing", [{}, {"parent": 1}], ids=["plain", "a child"])
async def test_a_submission_with_an_unknown_outcome_is_reported(
    play: Play, monkeypatch: pytest.MonkeyPatch, queueing: dict[str, Any]
) -> None:
    async with play({"text": "never"}) as fleet:
        await fleet.submit()
        lose_the_end(monkeypatch, fleet.rows)
        with pytest.raises(EnvironmentBroken, match=r"may or may not be in the queue: check with `remit jobs list`"):
            await fleet.submit(queueing=Queueing(**queueing))


@pytest.mark.parametrize(
    "state", [psycopg.errors.CrashShutdown, psycopg.errors.ConnectionFailure, psycopg.errors.SystemError]
)
async def test_an_error_that_may_follow_the_commit_is_reported(
    play: Play, monkeypatch: pytest.MonkeyPatch, state: type[psycopg.Error]
) -> None:
    async def failing(*_: Any, **__: Any) -> Any:
        raise state("terminating connection because of crash of another server process")

    async with play({"text": "never"}) as fleet:
        monkeypatch.setattr(submitting, "rows", failing)
        with pytest.raises(EnvironmentBroken, match="may or may not be in the queue"):
            await fleet.submit()


async def test_a_submission_that_the_server_rolled_back_is_repeated(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        await fleet.rows("CREATE SEQUENCE remit.ended")
        await fleet.rows(
            "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "IF nextval('remit.ended') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(1); END IF; "
            "RETURN NEW; END $$"
        )
        await fleet.rows("CREATE TRIGGER ended AFTER INSERT ON remit.jobs FOR EACH ROW EXECUTE FUNCTION end_session()")
        assert (await fleet.job(await fleet.submit())).state == "queued"
        assert await fleet.rows("SELECT last_value FROM remit.ended") == [(2,)]
        assert await fleet.rows(COUNT) == [(1,)]


async def test_a_stored_submission_is_returned_although_its_connection_is_lost(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = submitting.rows

    async def closing(connection: Any, name: str, /, **values: Any) -> Any:
        found = await real(connection, name, **values)
        await kill("SELECT pg_terminate_backend(%s, 10000)", connection.info.backend_pid)
        return found

    async with play({"text": "never"}) as fleet:
        kill = fleet.rows
        monkeypatch.setattr(submitting, "rows", closing)
        assert await fleet.submit()
        assert await fleet.rows(COUNT) == [(1,)]


async def test_with_a_key_the_submission_is_repeated(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async with play({"text": "never"}) as fleet:
        lose_the_end(monkeypatch, fleet.rows)
        number = await fleet.submit(queueing=Queueing(key="k"))
        assert (await fleet.job(number)).idempotency_key == "k"
        assert await fleet.rows(COUNT) == [(1,)]


async def test_a_brief_pruned_during_a_submission_is_written_again(play: Play) -> None:
    async with play({"text": "done"}) as fleet:
        await fleet.submit()
        await fleet.rows("DELETE FROM remit.jobs")
        await fleet.rows("CREATE SEQUENCE remit.pruned")
        await fleet.rows(
            "CREATE FUNCTION prune() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "IF nextval('remit.pruned') = 1 THEN DELETE FROM remit.briefs; END IF; RETURN NEW; END $$"
        )
        await fleet.rows('CREATE TRIGGER "A" AFTER INSERT ON remit.jobs FOR EACH ROW EXECUTE FUNCTION prune()')
        number = await fleet.submit()
        assert await fleet.rows("SELECT last_value FROM remit.pruned") == [(2,)]
        assert (await fleet.brief(await fleet.job(number))).system


@pytest.mark.parametrize(
    ("variable", "value", "least"),
    [
        ("REMIT_TAKEOVER_SECONDS", "0", "0.5"),
        ("REMIT_TAKEOVER_SECONDS", "-1", "0.5"),
        ("REMIT_HUNG_SECONDS", "0", "1"),
        ("REMIT_SHUTDOWN_SECONDS", "-1", "0"),
        ("REMIT_LIMITS_COST", "-1", "0"),
    ],
)
def test_an_invalid_worker_setting_is_refused(
    quiet: None, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, least: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=f"{variable}: .* must be at least {least}, not {value}"):
        load_settings()
    monkeypatch.setenv(variable, least)
    assert load_settings()


@pytest.mark.parametrize("table", ["queue_limits", "provider_limits"])
def test_a_queue_limit_of_zero_is_refused(
    quiet: None, tmp_path: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_CONFIG", str(tmp_path / "remit.toml"))
    file = tmp_path / "remit.toml"
    file.write_text(f"[{table}]\nslow = 0\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=rf"{table}\.slow must be at least 1, not 0"):
        load_settings(start=tmp_path)
