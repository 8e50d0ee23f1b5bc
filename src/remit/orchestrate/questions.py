"""A user's answer to an orchestrator: it goes on with it, in the same conversation."""

from __future__ import annotations

import re
from typing import NamedTuple

from remit.contract.framing import neutral
from remit.errors import UsageError
from remit.store import jobs, plans
from remit.store.database import Database
from remit.store.plans import Escalation
from remit.store.transcript import Transcript


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
        number = await plans.answer(database, escalation, verb, words)
        return Given(number, f"answered; `remit plan --resume {number}` goes on")
    job = int(owner[2])
    said = _to_an_asker(verb, words) if owner[1] == "question" else await _to_a_delegator(database, asked, verb, words)
    # First the conversation, then the question: should one fail, the other is still open.
    if not await hand_on(database, job, said):
        await _refuse_unless_over(database, job, is_question=owner[1] == "question")
        number = await plans.answer(database, escalation, verb, words)
        return Given(number, f"answered; job {job} is over, so `remit plan --resume {number}` goes on without it")
    number = await plans.answer(database, escalation, verb, words)
    if owner[1] == "question":
        await plans.set_state(database, number, "finished", verb)
    return Given(number, f"answered; `remit worker` goes on with job {job}, `remit logs -f {job}` shows it")


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


async def hand_on(database: Database, job: int, said: str) -> bool:
    """Tell the job that asked; False: it still runs, or is over for another reason."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

    messages = await Transcript(database, job, 0).messages()
    request = ModelRequest(parts=[UserPromptPart(said)])
    data = ModelMessagesTypeAdapter.dump_json([request])[1:-1]
    return await jobs.reopen(database, job, len(messages), data)
