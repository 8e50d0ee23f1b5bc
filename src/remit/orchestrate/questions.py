"""A user's answer to an orchestrator: it goes on with it, in the same conversation."""

from __future__ import annotations

from typing import NamedTuple

from remit.contract.framing import neutral
from remit.dispatch.continuing import next_message
from remit.errors import UsageError
from remit.orchestrate.ownership import Owner, owner_of
from remit.store import answering, plans
from remit.store.database import Database
from remit.store.plans import Escalation


class Given(NamedTuple):
    """An answer that was given: the plan it belongs to, and what to do next, in words."""

    plan: int
    next_action: str


async def give_answer(database: Database, escalation: int, verb: str, words: str) -> Given:
    """Answer a question of a plan, which goes on when it is resumed, or of an orchestrator. What to do next."""
    asked = await plans.get_escalation(database, escalation)
    owner = owner_of(await plans.get_plan(database, asked.plan)) if asked is not None else None
    if asked is None or owner is None:
        number = await answering.answer(database, escalation, verb, words)
        return Given(number, f"answered; `remit plan --resume {number}` goes on")
    await _refuse_if_over(database, owner.job)
    told = await next_message(database, owner.job, await _said(database, asked, owner, verb, words))
    if await answering.answer_asker(database, escalation, verb, words, told, is_all=owner.is_question) is None:
        await _refuse_if_over(database, owner.job)
        raise UsageError(f"job {owner.job} is not waiting for an answer yet; answer again when it has ended its turn")
    return Given(
        asked.plan, f"answered; `remit worker` goes on with job {owner.job}, `remit logs -f {owner.job}` shows it"
    )


async def _said(database: Database, asked: Escalation, owner: Owner, verb: str, words: str) -> str:
    """What the orchestrator is told. If it was a delegation of its own that asked, it has to go on with that phase."""
    if owner.is_question:
        return f"The user answers your question: {neutral(words) if words else verb}"
    phase = (await plans.phases_of(database, asked.plan, whole=False))[asked.phase].name
    why = f" ({neutral(words)})" if words else ""
    return f"The user answers question {asked.id}: {verb}{why}. Call Results for the phase {phase!r} to go on with it."


async def _refuse_if_over(database: Database, job: int) -> None:
    """Nobody waits for an answer any more where the orchestrator ended without completing its turn."""
    row = await database.row("jobs.get", job=job)
    if row is None:
        raise UsageError(f"job {job} was removed, and its questions with it; `remit orchestrate` begins anew")
    if row["state"] == "finished" and row["outcome"] != "completed":
        raise UsageError(
            f"job {job} is over ({row['outcome']}), and its questions with it; `remit retry {job}` lets it go on, "
            "`remit orchestrate` begins anew"
        )
