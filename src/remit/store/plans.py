"""Plans in the store: phases, delegations, steps and escalations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from remit.errors import UsageError
from remit.secrets.scan import redact
from remit.store.database import Connection, Database, rows
from remit.store.jobs import Message
from remit.store.storable import to_storable

DelegationState = Literal["queued", "running", "accepted", "rejected", "failed", "escalated", "skipped"]
PlanState = Literal["running", "waiting", "finished", "cancelled"]
#: States that a delegation does not leave without an answer of a person.
SETTLED = ("accepted", "rejected", "failed", "skipped")


class Delegation(msgspec.Struct, kw_only=True):
    """A delegation in the store."""

    id: int
    plan: int
    phase: int
    name: str
    agent: str
    state: DelegationState = "queued"
    verdict: str | None = None
    job: int | None = None
    retries: int = 0
    corrections: int = 0
    #: The reduced scope of its retry.
    scope: str | None = None
    #: The fallback that was read instead of its result.
    fallback: dict[str, Any] | None = None
    result: str | None = None
    #: The part of its result in a merge, as it was judged when it arrived.
    reported: dict[str, Any] | None = None
    error: str | None = None
    warnings: list[str] = msgspec.field(default_factory=list)


class PhaseRow(msgspec.Struct, kw_only=True):
    """A phase in the store."""

    number: int
    name: str
    state: Literal["waiting", "running", "finished"]
    decision: str | None = None
    round: int = 1
    merge: dict[str, Any] | None = None


class PlanRow(msgspec.Struct, kw_only=True):
    """A plan in the store."""

    id: int
    name: str
    digest: str
    document: dict[str, Any]
    workspace: str
    state: PlanState
    outcome: str | None
    created: datetime
    finished: datetime | None


class Escalation(msgspec.Struct, kw_only=True):
    """A question to a person, with the answer if there is one."""

    id: int
    plan: int
    delegation: int | None
    phase: int
    reason: str
    answer: str | None
    words: str | None
    is_applied: bool
    created: datetime
    answered: datetime | None
    agent: str | None = None
    delegation_name: str | None = None


class JobUsage(NamedTuple):
    """The usage of a delegation's job so far; `cost` is None if the price is unknown."""

    turns: int
    tokens: int
    cost: float | None
    seconds: float | None
    created: datetime | None = None
    started: datetime | None = None
    finished: datetime | None = None


async def open_plan(
    database: Database,
    name: str,
    digest: str,
    document: dict[str, Any],
    workspace: str,
    phases: list[tuple[str, list[tuple[str, str]]]],
    *,
    is_new: bool = False,
    earlier: str | None = None,
) -> tuple[int, bool]:
    """Return the newest unfinished plan with this digest and workspace, or create one; and whether it is new.

    `is_new` always creates one. `earlier` is the digest that the first version stored.
    """
    async with database.transaction() as connection:
        await rows(connection, "jobs.lock_queue", queue=f"plan {digest}")
        open_plans = await rows(connection, "plans.open_by_digest", digest=digest, workspace=workspace, earlier=earlier)
        if open_plans and not is_new:
            return int(open_plans[0]["id"]), False
        fields = {"name": redact(name), "digest": digest, "document": Jsonb(document), "workspace": workspace}
        inserted = await rows(connection, "plans.insert", **fields)
        plan = int(inserted[0]["id"])
        for number, (phase, delegations) in enumerate(phases):
            await rows(connection, "plans.insert_phase", plan=plan, number=number, name=phase)
            for delegation, agent in delegations:
                await rows(connection, "plans.insert_delegation", plan=plan, phase=number, name=delegation, agent=agent)
        return plan, True


async def get_plan(database: Database, plan: int) -> PlanRow:
    """Return a plan. Raises UsageError if it does not exist."""
    row = await database.row("plans.get", plan=plan)
    if row is None:
        raise UsageError(f"there is no plan {plan}")
    return PlanRow(**row)


async def phases_of(database: Database, plan: int, *, whole: bool = True) -> list[PhaseRow]:
    """Return the phases of a plan in order; without `whole`, their merges are left out."""
    return [PhaseRow(**row) for row in await database.rows("plans.phases", plan=plan, whole=whole)]


async def delegations_of(
    database: Database, plan: int, phases: Sequence[int] | None = None, *, whole: bool = True
) -> list[Delegation]:
    """Return the delegations of a plan by phase; without `whole`, their results and fallbacks are left out."""
    wanted = list(phases) if phases is not None else None
    delegations = await database.rows("plans.delegations", plan=plan, phases=wanted, whole=whole)
    return [_delegation(row) for row in delegations]


async def whole_delegations(database: Database, numbers: Sequence[int]) -> list[Delegation]:
    """Return delegations by their numbers, with results and fallbacks."""
    return [_delegation(row) for row in await database.rows("plans.delegations_by_id", ids=list(numbers))]


async def uses_of(database: Database, plan: int) -> dict[int, JobUsage]:
    """Return the usage of the jobs of a plan's delegations, by job number."""
    return {
        row["id"]: JobUsage(
            row["turns"],
            row["tokens"],
            float(row["cost"]) if row["cost"] is not None else None,
            float(row["seconds"]) if row["seconds"] is not None else None,
            row["created"],
            row["started"],
            row["finished"],
        )
        for row in await database.rows("plans.uses", plan=plan)
    }


async def ended_jobs(database: Database, plan: int) -> dict[str, int]:
    """Return the jobs of a plan that ended without completing, by their keys."""
    return {row["key"]: row["id"] for row in await database.rows("plans.ended_jobs", plan=plan)}


def _delegation(row: DictRow) -> Delegation:
    return Delegation(**{name: row[name] for name in Delegation.__struct_fields__})


async def set_state(database: Database, plan: int, state: PlanState, outcome: str | None = None) -> None:
    """Store the state of a plan."""
    await database.rows("plans.set_state", plan=plan, state=state, outcome=outcome)


async def note(database: Database, plan: int, step: str, reason: str) -> None:
    """Store a step of the plan itself."""
    await database.rows("plans.add_step", plan=plan, delegation=None, step=step, reason=to_storable(reason))


async def escalate(database: Database, plan: int, phase: int, delegation: int | None, reason: str) -> None:
    """Ask a person. An open question of the same phase and delegation is not asked again."""
    await database.rows("plans.escalate", plan=plan, phase=phase, delegation=delegation, reason=to_storable(reason))


async def escalations(database: Database, plan: int | None = None, *, is_open: bool = False) -> list[Escalation]:
    """Return questions to a person; with `is_open`, only those that can still be answered."""
    query = "plans.open_escalations" if is_open else "plans.escalations"
    return [Escalation(**row) for row in await database.rows(query, plan=plan)]


async def get_escalation(database: Database, escalation: int) -> Escalation | None:
    """Return a question, or None."""
    row = await database.row("plans.escalation", escalation=escalation)
    return Escalation(**row) if row else None


async def delete_orphans(database: Database) -> None:
    """Remove unfinished plans and questions of orchestrators whose jobs have been removed."""
    await database.rows("plans.delete_orphans")


async def answer_escalation(database: Database, escalation: int, verb: str, words: str) -> int:
    """Store a person's answer and return the plan it belongs to."""
    return await database.in_transaction(lambda connection: _answer(connection, escalation, verb, words))


async def answer_orchestrator(
    database: Database, escalation: int, verb: str, words: str, message: Message, *, is_all: bool
) -> int | None:
    """Store a person's answer, send it as `message` to the orchestrator that asked, and return the plan.

    Return None if the orchestrator's job cannot continue now. Both writes are one transaction, because the first step
    of the job may be to read the answer. `is_all`: the plan consists of this question only.
    """

    async def work(connection: Connection) -> int:
        number = await _answer(connection, escalation, verb, words)
        if not await rows(connection, "jobs.reopen", **message.values(), first_queue=None, is_answer=True):
            raise _NotWaiting
        if is_all:
            await rows(connection, "plans.set_state", plan=number, state="finished", outcome=verb)
        return number

    try:
        return await database.in_transaction(work)
    except _NotWaiting:
        return None


class _NotWaiting(Exception):
    """The job that asked cannot continue now, so nothing is stored."""


async def _answer(connection: Connection, escalation: int, verb: str, words: str) -> int:
    answered = await rows(connection, "plans.answer", escalation=escalation, answer=verb, words=to_storable(words))
    if not answered:
        raise UsageError(f"there is no open question {escalation}; `remit plan questions` lists the open questions")
    return int(answered[0]["plan"])


class PlanLease:
    """A driver's lease on one plan. After another driver has acquired it, each write raises UsageError."""

    def __init__(self, database: Database, plan: int, driver: str) -> None:
        self._database = database
        self._plan = plan
        self._driver = driver

    async def acquire(self, timeout: float) -> bool:  # noqa: ASYNC109 (the age of the other driver's lease)
        """Become the driver if there is no other, or if the other has not renewed its lease for `timeout` seconds."""
        acquired = await self._database.rows(
            "plans.acquire_lease", plan=self._plan, driver=self._driver, timeout=timeout
        )
        return bool(acquired)

    async def renew(self) -> None:
        """Stay the driver. Raises UsageError if another process has acquired the lease."""
        if not await self._database.rows("plans.renew_lease", plan=self._plan, driver=self._driver):
            raise self._lost()

    async def holder(self) -> tuple[Any, ...]:
        """Return the current driver and the time of its last renewal."""
        row = await self._database.row("plans.lease_holder", plan=self._plan)
        return (row["driver"], row["heartbeat"]) if row else ()

    async def release(self) -> None:
        """Stop driving the plan."""
        await self._database.rows("plans.release_lease", plan=self._plan, driver=self._driver)

    async def set_state(self, state: PlanState, outcome: str | None = None) -> None:
        """Store the state of the plan."""

        async def work(connection: Connection) -> None:
            await rows(connection, "plans.set_state", plan=self._plan, state=state, outcome=outcome)

        await self._write(work)

    async def save(self, delegation: Delegation, step: str, reason: str) -> None:
        """Store a delegation and the step that changed it, in one transaction."""
        await self._write(lambda connection: self._save(connection, delegation, step, reason))

    async def save_phase(self, phase: PhaseRow) -> None:
        """Store a phase."""
        await self._write(lambda connection: self._save_phase(connection, phase))

    async def apply(
        self, escalation: Escalation, changed: list[Delegation], phase: PhaseRow, step: str, reason: str
    ) -> None:
        """Store all effects of an answered escalation in one transaction, so that a crash leaves all or none."""

        async def work(connection: Connection) -> None:
            for delegation in changed:
                await self._save(connection, delegation, step, reason)
            await self._save_phase(connection, phase)
            await rows(connection, "plans.applied", escalation=escalation.id)

        await self._write(work)

    async def _write(self, write: Callable[[Connection], Awaitable[None]]) -> None:
        """Write in a transaction in which no other process can acquire the lease."""

        async def work(connection: Connection) -> None:
            if not await rows(connection, "plans.lock_lease", plan=self._plan, driver=self._driver):
                raise self._lost()
            await write(connection)

        await self._database.in_transaction(work)

    def _lost(self) -> UsageError:
        return UsageError(f"plan {self._plan} is now driven by another process")

    async def _save(self, connection: Connection, delegation: Delegation, step: str, reason: str) -> None:
        values = msgspec.to_builtins(delegation)
        for name in ("plan", "phase", "name", "agent"):
            values.pop(name)
        values["fallback"] = Jsonb(to_storable(delegation.fallback)) if delegation.fallback is not None else None
        values["result"] = to_storable(delegation.result)
        values["error"] = to_storable(delegation.error)
        await rows(connection, "plans.set_delegation", **values)
        row = {"plan": self._plan, "delegation": delegation.id, "step": step, "reason": to_storable(reason)}
        await rows(connection, "plans.add_step", **row)

    async def _save_phase(self, connection: Connection, phase: PhaseRow) -> None:
        values = msgspec.to_builtins(phase)
        values.pop("name")
        values["merge"] = Jsonb(to_storable(phase.merge)) if phase.merge is not None else None
        await rows(connection, "plans.set_phase", plan=self._plan, **values)
