"""A person's answer: written down together with what it starts, or not at all."""

from __future__ import annotations

from remit.errors import UsageError
from remit.store.database import Connection, Database, rows
from remit.store.jobs import Message
from remit.store.storable import storable


async def answer(database: Database, escalation: int, verb: str, words: str) -> int:
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
    found = await rows(connection, "plans.answer", escalation=escalation, answer=verb, words=storable(words))
    if not found:
        raise UsageError(f"there is no open question {escalation}; `remit escalations` lists them")
    return int(found[0]["plan"])
