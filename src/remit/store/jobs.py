"""Jobs in the store: claimed, given back, finished, cancelled, listed, pruned."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

import msgspec
from psycopg.errors import UniqueViolation
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from remit.errors import RemitError, UsageError
from remit.registry.model import Brief
from remit.store.database import Connection, Database, rows
from remit.store.storable import to_storable

Outcome = Literal["completed", "max-turns", "truncated", "refused", "budget", "timeout", "cancelled", "error"]
State = Literal["queued", "running", "finished"]


class AttemptFenced(RemitError):
    """Somebody else has this job now: nothing more may be written for it here."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as the store has it."""

    id: int
    agent: str
    definition: dict[str, Any] | None
    brief: str
    request: dict[str, Any]
    prompt: str
    workspace: str
    isolation: str | None
    worktree: str | None
    queue: str
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


def as_job(row: DictRow) -> Job:
    """A job from its row."""
    return Job(**{name: _plain(row[name]) for name in Job.__struct_fields__})


def _plain(value: Any) -> Any:
    return float(value) if type(value).__name__ == "Decimal" else value


def due_at(delay: float) -> datetime | None:
    """When a ticket that waits so long is due; None: at once."""
    return datetime.now(UTC) + timedelta(seconds=delay) if delay > 0 else None


async def enqueue(connection: Connection, job: int, queue: str, priority: int, delay: float = 0) -> None:
    """A further ticket for a job, in the transaction that makes it due."""
    await rows(connection, "jobs.enqueue", job=job, queue=queue, priority=priority, at=due_at(delay))


async def claim(
    database: Database, job: int, worker: str, ticket: int | None, queue_limits: Mapping[str, float] | None = None
) -> Job | Literal["busy"] | None:
    """Take a waiting job; None: it is not waiting any more; busy: its queue runs as many as it may."""
    if not queue_limits:
        taken = await database.rows("jobs.claim", job=job, worker=worker, ticket=ticket)
        return as_job(taken[0]) if taken else None

    async def work() -> Job | Literal["busy"] | None:
        async with database.transaction() as connection:
            found = await rows(connection, "jobs.get", job=job)
            limit = queue_limits.get(found[0]["queue"]) if found else None
            if limit is not None:
                await rows(connection, "jobs.lock_queue", queue=found[0]["queue"])
                running = await rows(connection, "jobs.running_in_queue", queue=found[0]["queue"], job=job)
                if running[0]["running"] >= limit:
                    return "busy"
            taken = await rows(connection, "jobs.claim", job=job, worker=worker, ticket=ticket)
            return as_job(taken[0]) if taken else None

    return await database.patiently(work)


async def give_back(database: Database, job: int, attempt: int, delay: float = 0) -> None:
    """Let another worker have a job, unless somebody has it already."""

    async def work() -> None:
        async with database.transaction() as connection:
            found = await rows(connection, "jobs.give_back", job=job, attempt=attempt)
            if found:
                await enqueue(connection, job, found[0]["queue"], found[0]["priority"], delay)

    await database.patiently(work)


async def wake_later(database: Database, job: int, delay: float) -> None:
    """A further ticket for a job that could not be taken yet."""

    async def work() -> None:
        async with database.transaction() as connection:
            found = await rows(connection, "jobs.get", job=job)
            if found and found[0]["state"] == "queued":
                await enqueue(connection, job, found[0]["queue"], found[0]["priority"], delay)

    await database.patiently(work)


async def wake_strays(database: Database, worker: str, silence: float) -> list[int]:
    """New tickets for waiting jobs that no ticket would wake."""
    async with database.transaction() as connection:
        found = await rows(connection, "jobs.strays", worker=worker, silence=silence)
        if found:
            await rows(connection, "jobs.drop_tickets", jobs=[str(row["id"]) for row in found])
        for row in found:
            await enqueue(connection, row["id"], row["queue"], row["priority"])
        await rows(connection, "jobs.drop_lost_tickets", worker=worker, silence=silence)
        return [row["id"] for row in found]


async def take_over(database: Database, worker: str, silence: float) -> list[int] | None:
    """Put the jobs of silent workers back into the queue; None: `worker` cannot judge who is silent."""
    async with database.transaction() as connection:
        looking = await rows(connection, "workers.look", worker=worker, silence=silence)
        if not looking or not looking[0]["may_judge"]:
            return None
        found = await rows(connection, "jobs.take_over", silence=silence)
        for row in found:
            if row["ticket"] is not None:
                await rows(connection, "jobs.drop_ticket", ticket=row["ticket"])
            await enqueue(connection, row["id"], row["queue"], row["priority"])
        return [row["id"] for row in found]


async def touch(database: Database, job: int, attempt: int) -> None:
    """Say that a job does not hang: it waits its turn. Raises Fenced if it is somebody else's."""
    if not await database.rows("jobs.touch", job=job, attempt=attempt):
        raise AttemptFenced(f"job {job} is no longer attempt {attempt}'s")


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
    """Say how a job ended. Raises Fenced if it is somebody else's."""
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
            raise AttemptFenced(f"job {job} is no longer attempt {attempt}'s")


async def cancel(database: Database, job: int) -> None:
    """Cancel a job: it ends now, or its worker is told to stop it. Raises UsageError if there is nothing to cancel."""

    async def work() -> bool:
        async with database.transaction() as connection:
            return await _cancelled(connection, job)

    if not await database.patiently(work):
        existing = await get(database, job)
        raise UsageError(f"job {job} is finished already ({existing.outcome})")


async def cancel_under(database: Database, job: int) -> None:
    """Cancel what a job that was cancelled had started: nobody waits for it any more."""

    async def work() -> None:
        async with database.transaction() as connection:
            await _cancelled_under(connection, job)

    await database.patiently(work)


async def _cancelled(connection: Connection, job: int) -> bool:
    found = await rows(connection, "jobs.cancel", job=job)
    if found and found[0]["state"] == "finished":
        await _written_off(connection, job)
        await _cancelled_under(connection, job)
    return bool(found)


async def _cancelled_under(connection: Connection, job: int) -> None:
    await rows(connection, "plans.cancel_of_job", job=job)
    for row in await rows(connection, "jobs.under", job=job):
        await _cancelled(connection, row["id"])


async def retry(database: Database, job: int) -> None:
    """Let a job that did not complete go on from where it stopped."""
    try:
        async with database.transaction() as connection:
            found = await rows(connection, "jobs.retry", job=job)
            if found:
                await enqueue(connection, job, found[0]["queue"], found[0]["priority"])
                return
    except UniqueViolation as error:
        raise UsageError(f"job {job} cannot be retried: another job has its key now") from error
    existing = await get(database, job)
    why = "it is not finished" if existing.state != "finished" else "it is completed"
    raise UsageError(f"job {job} cannot be retried: {why}")


async def free_reserved(database: Database, job: int) -> None:
    """Write off what a job had set aside for a call in flight: nobody knows what came of it, so it counts as used."""

    async def work() -> None:
        async with database.transaction() as connection:
            await _written_off(connection, job)

    await database.patiently(work)


async def _written_off(connection: Connection, job: int) -> None:
    for row in await rows(connection, "jobs.free_reserved", job=job):
        values = {"tokens": row["reserved_tokens"], "cost": row["reserved_cost"], "top": row["top"]}
        await rows(connection, "jobs.free_reserved_tree", **values)


async def end_hung(database: Database, seconds: float) -> list[int]:
    """End jobs that have not got any further for so long although their workers live; which."""

    async def work() -> list[int]:
        async with database.transaction() as connection:
            found = await rows(connection, "jobs.hung", seconds=seconds)
            for row in found:
                await _written_off(connection, row["id"])
            return [row["id"] for row in found]

    return await database.patiently(work)


async def wake_next(database: Database, queue: str) -> None:
    """There is room in a limited queue again: a ticket for the job that has waited longest."""
    async with database.transaction() as connection:
        for row in await rows(connection, "jobs.next_waiting", queue=queue):
            await enqueue(connection, row["id"], queue, row["priority"])


class Message(NamedTuple):
    """A message with which a completed job goes on, and its place in the transcript."""

    job: int
    number: int
    body: bytes

    def values(self) -> dict[str, Any]:
        """As the query wants them."""
        body = Jsonb(self.body.decode(), dumps=lambda text: text)
        return {"job": self.job, "number": self.number, "message": body}


async def reopen(database: Database, message: Message, queue: str | None = None) -> bool:
    """Let a completed job go on with one more message; False: it has that message, or is not completed."""
    return bool(await database.rows("jobs.reopen", **message.values(), ticket_queue=queue, is_answer=False))


async def get(database: Database, job: int) -> Job:
    """One job."""
    row = await database.row("jobs.get", job=job)
    if row is None:
        raise UsageError(f"there is no job {job}; `remit jobs list` shows them")
    return as_job(row)


async def violations_of(database: Database, job: int) -> list[dict[str, Any]]:
    """What the check said of a job's last result."""
    found = await database.rows("transcript.results", job=job)
    return list(found[-1]["report"].get("violations", [])) if found else []


async def brief_of(database: Database, job: Job) -> Brief:
    """The brief that a job was given when it was submitted."""
    row = await database.row("jobs.brief", digest=job.brief)
    if row is None:
        raise RemitError(f"the brief of job {job.id} is gone")
    return msgspec.convert(row["brief"], Brief)


async def list_jobs(
    database: Database, *, state: str | None, agent: str | None, limit: int, is_whole: bool = False
) -> list[Job]:
    """Jobs, the newest first; not `is_whole`: without result, diff and request, and with the prompt's beginning."""
    query = "jobs.list_whole" if is_whole else "jobs.list"
    return [as_job(row) for row in await database.rows(query, state=state, agent=agent, limit=limit)]


async def prune(database: Database, days: int) -> int:
    """Remove finished jobs with all that belongs to them; how many."""
    await database.rows("jobs.prune_plans", days=days)
    row = await database.row("jobs.prune", days=days)
    await database.rows("jobs.prune_briefs")
    return int(row["jobs"]) if row else 0
