"""A user's answer to an orchestrator: it goes on with it, in the same conversation."""

from __future__ import annotations

import re
from typing import NamedTuple

from remit.contract.framing import neutral
from remit.dispatch.continuing import next_message
from remit.errors import UsageError
from remit.store import answering, jobs, plans
from remit.store.database import Database
from remit.store.plans import Escalation


class Given(NamedTuple):
    """An answer that was given: the plan it belongs to, and what to do next, in words."""

    plan: int
    next_action: str


async def give_answer(database: Database, escalation: int, verb: str, words: str) -> Given:
    """Answer a question of a plan, which goes on when it is resumed, or of an orchestrator. What to do next."""
    asked = next((one for one in await plans.escalations(database) if one.id == escalation), None)
    plan = await plans.get_plan(database, asked.plan) if asked is not None else None
    owner = re.match(r"(question|orchestrate)-(\d+)-", plan.digest) if plan is not None else None
    if asked is None or asked.answer is not None or owner is None:
        number = await answering.answer(database, escalation, verb, words)
        return Given(number, f"answered; `remit plan --resume {number}` goes on")
    job, is_question = int(owner[2]), owner[1] == "question"
    said = _to_an_asker(verb, words) if is_question else await _to_a_delegator(database, asked, verb, words)
    told = await next_message(database, job, said)
    if await answering.answer_asker(database, escalation, verb, words, told, is_all=is_question) is None:
        await _refuse_unless_over(database, job, is_question=is_question)
        number = await answering.answer(database, escalation, verb, words)
        return Given(number, f"answered; job {job} is over, so `remit plan --resume {number}` goes on without it")
    return Given(asked.plan, f"answered; `remit worker` goes on with job {job}, `remit logs -f {job}` shows it")


def _to_an_asker(verb: str, words: str) -> str:
    return f"The user answers your question: {neutral(words) if words else verb}"


async def _to_a_delegator(database: Database, asked: Escalation, verb: str, words: str) -> str:
    """An answer to what a delegation of an orchestrator's asked: it has to go on with that phase."""
    phase = (await plans.phases_of(database, asked.plan, whole=False))[asked.phase].name
    why = f" ({neutral(words)})" if words else ""
    return f"The user answers question {asked.id}: {verb}{why}. Call Results for the phase {phase!r} to go on with it."


async def _refuse_unless_over(database: Database, job: int, *, is_question: bool) -> None:
    """A job that still works cannot be told anything now; one that failed never again."""
    found = await jobs.get(database, job)
    if is_question or found.state != "finished":
        raise UsageError(f"job {job} is not waiting for an answer yet; answer again when it has ended its turn")
