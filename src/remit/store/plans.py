"""Plans in the store: phases, delegations, steps and escalations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from remit.errors import UsageError
from remit.store.database import Connection, Database, rows
from remit.store.jobs import Message
from remit.store.storable import to_storable

DelegationState = Literal["queued", "running", "accepted", "rejected", "failed", "escalated", "skipped"]
PlanState = Literal["running", "waiting", "finished", "cancelled"]
#: States in which nothing more happens to a delegation by itself.
SETTLED = ("accepted", "rejected", "failed", "skipped")


class Delegation(msgspec.Struct, kw_only=True):
    """A delegation as the store has it."""

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
    #: How its scope was reduced for the retry.
    scope: str | None = None
    #: What was read in its place.
    fallback: dict[str, Any] | None = None
    result: str | None = None
    error: str | None = None
    warnings: list[str] = msgspec.field(default_factory=list)


class PhaseRow(msgspec.Struct, kw_only=True):
    """A phase as the store has it."""

    number: int
    name: str
    state: Literal["waiting", "running", "finished"]
    decision: str | None = None
    round: int = 1
    merge: dict[str, Any] | None = None


class PlanRow(msgspec.Struct, kw_only=True):
    """A plan as the store has it."""

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
    """A question to a person, and the answer if there is one."""

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
    """What the job of a delegation has used so far; `cost` is None where the price is not known."""

    turns: int
    tokens: int
    cost: float | None
    seconds: float | None


async def open_plan(
    database: Database,
    name: str,
    digest: str,
    document: dict[str, Any],
    workspace: str,
    phases: list[tuple[str, list[tuple[str, str]]]],
) -> tuple[int, bool]:
    """The unfinished plan with this text and workspace, else a new one; and whether it is new."""
    async with database.transaction() as connection:
        await rows(connection, "jobs.lock_queue", queue=f"plan {digest}")
        found = await rows(connection, "plans.open_by_digest", digest=digest, workspace=workspace)
        if found:
            return int(found[0]["id"]), False
        made = await rows(
            connection, "plans.insert", name=name, digest=digest, document=Jsonb(document), workspace=workspace
        )
        plan = int(made[0]["id"])
        for number, (phase, delegations) in enumerate(phases):
            await rows(connection, "plans.insert_phase", plan=plan, number=number, name=phase)
            for own, agent in delegations:
                await rows(connection, "plans.insert_delegation", plan=plan, phase=number, name=own, agent=agent)
        return plan, True


async def get_plan(database: Database, plan: int) -> PlanRow:
    """One plan."""
    row = await database.row("plans.get", plan=plan)
    if row is None:
        raise UsageError(f"there is no plan {plan}")
    return PlanRow(**row)


async def phases_of(database: Database, plan: int, *, whole: bool = True) -> list[PhaseRow]:
    """The phases of a plan, in order; without their merges if they need not be whole."""
    return [PhaseRow(**row) for row in await database.rows("plans.phases", plan=plan, whole=whole)]


async def delegations_of(
    database: Database, plan: int, phases: Sequence[int] | None = None, *, whole: bool = True
) -> list[Delegation]:
    """The delegations of a plan, phase by phase; without what they brought if they need not be whole."""
    wanted = list(phases) if phases is not None else None
    found = await database.rows("plans.delegations", plan=plan, phases=wanted, whole=whole)
    return [_delegation(row) for row in found]


async def whole_delegations(database: Database, numbers: Sequence[int]) -> list[Delegation]:
    """Delegations by their numbers, with what they brought."""
    return [_delegation(row) for row in await database.rows("plans.delegations_by_id", ids=list(numbers))]


async def uses_of(database: Database, plan: int) -> dict[int, JobUsage]:
    """What the jobs of a plan's delegations have used, by their numbers."""
    return {
        row["id"]: JobUsage(
            row["turns"],
            row["tokens"],
            float(row["cost"]) if row["cost"] is not None else None,
            float(row["seconds"]) if row["seconds"] is not None else None,
        )
        for row in await database.rows("plans.uses", plan=plan)
    }


async def ended_jobs(database: Database, plan: int, prefix: str) -> dict[str, int]:
    """Jobs of a plan that ended without completing, by their keys."""
    return {row["key"]: row["id"] for row in await database.rows("plans.ended_jobs", plan=plan, prefix=prefix)}


def _delegation(row: DictRow) -> Delegation:
    return Delegation(**{name: row[name] for name in Delegation.__struct_fields__})


async def set_state(database: Database, plan: int, state: PlanState, outcome: str | None = None) -> None:
    """Write down what a plan has come to."""
    await database.rows("plans.set_state", plan=plan, state=state, outcome=outcome)


async def note(database: Database, plan: int, step: str, reason: str) -> None:
    """A step of the plan itself."""
    await database.rows("plans.add_step", plan=plan, delegation=None, step=step, reason=to_storable(reason))


async def escalate(database: Database, plan: int, phase: int, delegation: int | None, reason: str) -> None:
    """Ask a person; asking the same again changes nothing."""
    await database.rows("plans.escalate", plan=plan, phase=phase, delegation=delegation, reason=to_storable(reason))


async def escalations(database: Database, plan: int | None = None, *, is_open: bool = False) -> list[Escalation]:
    """Questions to a person; `is_open`: only those whose answer somebody waits for."""
    query = "plans.open_escalations" if is_open else "plans.escalations"
    return [Escalation(**row) for row in await database.rows(query, plan=plan)]


async def get_escalation(database: Database, escalation: int) -> Escalation | None:
    """One question."""
    row = await database.row("plans.escalation", escalation=escalation)
    return Escalation(**row) if row else None


async def delete_orphans(database: Database) -> None:
    """Remove what orchestrators left open whose jobs have been removed."""
    await database.rows("plans.delete_orphans")


async def answer_escalation(database: Database, escalation: int, verb: str, words: str) -> int:
    """A person's answer; the plan it belongs to."""

    async def work() -> int:
        async with database.transaction() as connection:
            return await _answered(connection, escalation, verb, words)

    return await database.patiently(work)


async def answer_asker(
    database: Database, escalation: int, verb: str, words: str, told: Message, *, is_all: bool
) -> int | None:
    """A person's answer, told to the job that asked, which goes on; None: that job is not waiting for one.

    Its next step may be to look for the answer, so that is there before the job can take it. `is_all`: the plan was
    nothing but this question.
    """

    async def work() -> int:
        async with database.transaction() as connection:
            number = await _answered(connection, escalation, verb, words)
            if not await rows(connection, "jobs.reopen", **told.values(), ticket_queue=None, is_answer=True):
                raise _NotWaiting
            if is_all:
                await rows(connection, "plans.set_state", plan=number, state="finished", outcome=verb)
            return number

    try:
        return await database.patiently(work)
    except _NotWaiting:
        return None


class _NotWaiting(Exception):
    """The job that asked cannot go on now: nothing is written down."""


async def _answered(connection: Connection, escalation: int, verb: str, words: str) -> int:
    found = await rows(connection, "plans.answer", escalation=escalation, answer=verb, words=to_storable(words))
    if not found:
        raise UsageError(f"there is no open question {escalation}; `remit escalations` lists them")
    return int(found[0]["plan"])
