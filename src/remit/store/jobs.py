"""Jobs in the store: claim, return, finish, cancel, retry, list and prune them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

import msgspec
from psycopg.errors import UniqueViolation
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from remit.errors import RemitError, UsageError
from remit.registry.definition import Brief
from remit.store.database import Connection, Database, rows
from remit.store.storable import to_storable

Outcome = Literal["completed", "max-turns", "truncated", "refused", "budget", "timeout", "cancelled", "error"]
State = Literal["queued", "running", "finished"]


class AttemptFenced(RemitError):
    """Another attempt owns the job, so this one can no longer write to it."""

    def __init__(self, job: int, attempt: int) -> None:
        super().__init__(f"job {job} is no longer owned by attempt {attempt}")


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job in the store."""

    id: int
    agent: str
    definition: dict[str, Any] | None
    brief: str
    request: dict[str, Any]
    prompt: str
    workspace: str
    isolation: str | None
    worktree: str | None
    project: str
    queue: str
    ticket_queue: str
    plan: int | None
    priority: int
    idempotency_key: str | None
    parent: int | None
    root: int | None
    depth: int
    state: State
    outcome: Outcome | None
    error: str | None
    verdict: str | None
    result: str | None
    diff: str | None
    is_cancelled: bool
    attempt: int
    deaths: int
    deaths_in_turn: int
    last_death: str | None
    turns: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: float
    is_priced: bool
    max_seconds: float | None
    created: datetime
    started: datetime | None
    finished: datetime | None
    ticket: int | None


#: The columns with a decimal value.
_NUMERIC = ("cost", "max_seconds")


def as_job(row: DictRow) -> Job:
    """Return a job from its row."""
    fields = {name: row[name] for name in Job.__struct_fields__}
    for name in _NUMERIC:
        if fields[name] is not None:
            fields[name] = float(fields[name])
    return Job(**fields)


def due_at(delay: float) -> datetime | None:
    """Return the time after `delay` seconds; None means now."""
    return datetime.now(UTC) + timedelta(seconds=delay) if delay > 0 else None


async def enqueue(connection: Connection, job: int, queue: str, priority: int, delay: float = 0) -> None:
    """Add a ticket for a job, in the transaction that queues the job."""
    await rows(connection, "jobs.enqueue", job=job, queue=queue, priority=priority, at=due_at(delay))


async def claim(
    database: Database, job: int, worker: str, ticket: int | None, queue_limits: Mapping[str, float] | None = None
) -> Job | Literal["busy"] | None:
    """Claim a waiting job. Return None if it is not waiting, or "busy" if its queue has reached its limit."""
    if not queue_limits:
        taken = await database.rows("jobs.claim", job=job, worker=worker, ticket=ticket)
        return as_job(taken[0]) if taken else None

    async def work(connection: Connection) -> Job | Literal["busy"] | None:
        jobs = await rows(connection, "jobs.get", job=job)
        limit = queue_limits.get(jobs[0]["queue"]) if jobs else None
        if limit is not None:
            await rows(connection, "jobs.lock_queue", queue=jobs[0]["queue"])
            running = await rows(connection, "jobs.running_in_queue", queue=jobs[0]["queue"], job=job)
            if running[0]["running"] >= limit:
                return "busy"
        taken = await rows(connection, "jobs.claim", job=job, worker=worker, ticket=ticket)
        return as_job(taken[0]) if taken else None

    return await database.in_transaction(work)


async def give_back(database: Database, job: int, attempt: int, delay: float = 0) -> None:
    """Return a job to the queue, unless another attempt owns it."""

    async def work(connection: Connection) -> None:
        jobs = await rows(connection, "jobs.give_back", job=job, attempt=attempt)
        if jobs:
            await enqueue(connection, job, jobs[0]["queue"], jobs[0]["priority"], delay)

    await database.in_transaction(work)


async def leave(database: Database, job: int, attempt: int, why: str, delay: float) -> None:
    """Return a job that this host cannot run to the queue, unless another attempt owns it."""

    async def work(connection: Connection) -> None:
        jobs = await rows(connection, "jobs.leave", job=job, attempt=attempt, why=to_storable(why))
        if jobs:
            await enqueue(connection, job, jobs[0]["queue"], jobs[0]["priority"], delay)

    await database.in_transaction(work)


async def wake_later(database: Database, job: int, delay: float) -> bool:
    """Add a delayed ticket for a job that could not be claimed yet. Return False if it no longer waits."""

    async def work(connection: Connection) -> bool:
        jobs = await rows(connection, "jobs.get", job=job)
        is_waiting = bool(jobs) and jobs[0]["state"] == "queued"
        if is_waiting:
            await enqueue(connection, job, jobs[0]["ticket_queue"], jobs[0]["priority"], delay)
        return is_waiting

    return await database.in_transaction(work)


class StrayScan:
    """How far the search for waiting jobs without a ticket has come; it looks at a number of jobs at a time."""

    def __init__(self, window: int = 1_000) -> None:
        self.window = window
        self.after = 0


async def wake_strays(database: Database, worker: str, seconds: float, scan: StrayScan | None = None) -> list[int]:
    """Add tickets for waiting jobs that have no usable ticket, and return the jobs. The next call continues `scan`."""
    scan = scan or StrayScan()
    async with database.transaction() as connection:
        (looked,) = await rows(connection, "jobs.next_window", after=scan.after, window=scan.window)
        strays = []
        if looked["number"]:
            window = {"after": scan.after, "window": scan.window}
            strays = await rows(connection, "jobs.strays", worker=worker, timeout=seconds, **window)
        if strays:
            await rows(connection, "jobs.drop_tickets", jobs=[str(row["id"]) for row in strays])
        for row in strays:
            await enqueue(connection, row["id"], row["queue"], row["priority"])
        await rows(connection, "jobs.drop_held_tickets", worker=worker, timeout=seconds)
        await rows(connection, "jobs.drop_command_tickets", worker=worker, timeout=seconds)
    scan.after = looked["last"] if looked["number"] == scan.window else 0
    return [row["id"] for row in strays]


async def take_over(database: Database, worker: str, seconds: float) -> list[int] | None:
    """Queue the jobs of workers without a heartbeat for `seconds`, and return the jobs.

    Return None if `worker` cannot decide that, because it had no heartbeat itself.
    """
    async with database.transaction() as connection:
        looking = await rows(connection, "workers.look", worker=worker, timeout=seconds)
        if not looking or not looking[0]["may_judge"]:
            return None
        taken = await rows(connection, "jobs.take_over", timeout=seconds)
        for row in taken:
            if row["ticket"] is not None:
                await rows(connection, "jobs.drop_ticket", ticket=row["ticket"])
            await enqueue(connection, row["id"], row["queue"], row["priority"])
        return [row["id"] for row in taken]


async def touch(database: Database, job: int, attempt: int) -> None:
    """Mark a job that waits as alive. Raises AttemptFenced if another attempt owns it."""
    if not await database.rows("jobs.touch", job=job, attempt=attempt):
        raise AttemptFenced(job, attempt)


async def finish(
    database: Database,
    job: int,
    attempt: int,
    outcome: Outcome,
    *,
    error: str | None = None,
    verdict: str | None = None,
    result: str | None = None,
    diff: str | None = None,
) -> None:
    """Store the end of a job. Raises AttemptFenced if another attempt owns it."""
    done = await database.rows(
        "jobs.finish",
        job=job,
        attempt=attempt,
        outcome=outcome,
        error=to_storable(error) or None,
        verdict=verdict,
        result=to_storable(result),
        diff=to_storable(diff),
    )
    if not done:
        current = await database.row("jobs.get", job=job)
        if current is None or current["state"] != "finished" or current["attempt"] != attempt:
            raise AttemptFenced(job, attempt)


async def cancel(database: Database, job: int) -> None:
    """Cancel a job: end it now, or have its worker stop it. Raises UsageError if it is finished."""

    async def work(connection: Connection) -> bool:
        if await _cancel(connection, job):
            return True
        # An orchestrator that waits for an answer has completed its turn, but its questions and plans are open.
        open_plans = await rows(connection, "plans.open_of_job", job=job)
        if open_plans:
            await _cancel_under(connection, job)
        return bool(open_plans)

    if not await database.in_transaction(work):
        existing = await get(database, job)
        raise UsageError(f"job {job} is already finished ({existing.outcome})")


async def cancel_under(database: Database, job: int) -> None:
    """Cancel the jobs and plans that a cancelled job had started."""

    await database.in_transaction(lambda connection: _cancel_under(connection, job))


async def cancel_plan(database: Database, plan: int, why: str) -> bool:
    """Cancel a plan with its questions and its unfinished jobs. Return False if it is not running or waiting."""

    async def work(connection: Connection) -> bool:
        ended = await rows(connection, "plans.cancel", plan=plan, why=why)
        for row in await rows(connection, "jobs.of_plan", plan=plan):
            await _cancel(connection, row["id"])
        return bool(ended)

    return await database.in_transaction(work)


async def _cancel(connection: Connection, job: int) -> bool:
    cancelled = await rows(connection, "jobs.cancel", job=job)
    if cancelled and cancelled[0]["state"] == "finished":
        await _write_off(connection, job)
        await _cancel_under(connection, job)
    return bool(cancelled)


async def _cancel_under(connection: Connection, job: int) -> None:
    await rows(connection, "plans.cancel_of_job", job=job)
    for row in await rows(connection, "jobs.under", job=job):
        await _cancel(connection, row["id"])


async def retry(database: Database, job: int) -> None:
    """Queue a job that did not complete, to continue from where it stopped. Raises UsageError if it cannot."""
    try:
        async with database.transaction() as connection:
            jobs = await rows(connection, "jobs.retry", job=job)
            if jobs:
                await enqueue(connection, job, jobs[0]["queue"], jobs[0]["priority"])
                return
    except UniqueViolation as error:
        raise UsageError(f"job {job} cannot be retried: another job has its key now") from error
    existing = await get(database, job)
    why = "it is not finished" if existing.state != "finished" else "it is completed"
    raise UsageError(f"job {job} cannot be retried: {why}")


async def free_reserved(database: Database, job: int) -> None:
    """Count the reservation of a job's interrupted request as used, because its actual usage is unknown."""

    await database.in_transaction(lambda connection: _write_off(connection, job))


async def _write_off(connection: Connection, job: int) -> None:
    for row in await rows(connection, "jobs.free_reserved", job=job):
        values = {"tokens": row["reserved_tokens"], "cost": row["reserved_cost"], "top": row["top"]}
        await rows(connection, "jobs.free_reserved_tree", **values)


async def end_hung(database: Database, seconds: float) -> list[int]:
    """End the jobs that made no progress for `seconds` although their workers are alive, and return them."""

    async def work(connection: Connection) -> list[int]:
        hung = await rows(connection, "jobs.hung", seconds=seconds)
        for row in hung:
            await _write_off(connection, row["id"])
        return [row["id"] for row in hung]

    return await database.in_transaction(work)


async def wake_next(database: Database, queue: str) -> None:
    """Add a ticket for the next waiting job of a limited queue."""
    async with database.transaction() as connection:
        for row in await rows(connection, "jobs.next_waiting", queue=queue):
            await enqueue(connection, row["id"], row["ticket_queue"], row["priority"])


class Message(NamedTuple):
    """A message with which a completed job continues, and its number in the transcript."""

    job: int
    number: int
    body: bytes

    def values(self) -> dict[str, Any]:
        """Return the parameters of the query."""
        body = Jsonb(self.body.decode(), dumps=lambda text: text)
        return {"job": self.job, "number": self.number, "message": body}


async def reopen(database: Database, message: Message, queue: str | None = None) -> bool:
    """Queue a completed job with one more message. Return False if it has that message or is not completed."""
    return bool(await database.rows("jobs.reopen", **message.values(), first_queue=queue, is_answer=False))


async def get(database: Database, job: int) -> Job:
    """Return a job. Raises UsageError if it does not exist."""
    row = await database.row("jobs.get", job=job)
    if row is None:
        raise UsageError(f"there is no job {job}; `remit jobs list` shows all jobs")
    return as_job(row)


async def violations_of(database: Database, job: int) -> list[dict[str, Any]]:
    """Return the violations of a job's last result."""
    results = await database.rows("transcript.results", job=job)
    return list(results[-1]["report"].get("violations", [])) if results else []


async def brief_of(database: Database, job: Job) -> Brief:
    """Return the brief of a job as it was when the job was submitted."""
    row = await database.row("jobs.brief", digest=job.brief)
    if row is None:
        raise RemitError(f"the brief of job {job.id} is missing")
    return msgspec.convert(row["brief"], Brief)


async def list_jobs(
    database: Database,
    *,
    limit: int,
    project: str | None = None,
    state: str | None = None,
    agent: str | None = None,
    verdict: str | None = None,
    before: int | None = None,
    is_whole: bool = False,
) -> list[Job]:
    """Return jobs of a project, or of all, the newest first, those before the number `before`.

    Unless `is_whole`, without result, diff and request, and with a short prompt.
    """
    query = "jobs.list_whole" if is_whole else "jobs.list"
    values = {"project": project, "state": state, "agent": agent, "verdict": verdict, "before": before, "limit": limit}
    return [as_job(row) for row in await database.filtered(query, **values)]


async def hosts_of(database: Database, listed: Iterable[Job]) -> dict[int, str]:
    """Return where the running ones of some jobs run: the host and the process of the worker, by the job's number."""
    running = [job.id for job in listed if job.state == "running"]
    found = await database.rows("jobs.hosts", jobs=running) if running else []
    return {row["id"]: f"{row['host']} pid {row['pid']}" for row in found}


async def left_folders(database: Database) -> list[DictRow]:
    """Return the folders that workers lack, each with the number of jobs that wait for it, and the first of them."""
    return await database.rows("jobs.left")


async def prune(database: Database, days: int) -> int:
    """Remove finished jobs older than `days` with everything that belongs to them, and return their number."""
    await database.rows("jobs.prune_plans", days=days)
    row = await database.row("jobs.prune", days=days)
    await database.rows("jobs.prune_briefs")
    return int(row["jobs"]) if row else 0
