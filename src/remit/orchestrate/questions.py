"""A user's answer to an orchestrator: it goes on with it, in the same conversation."""

from __future__ import annotations

import re
from typing import NamedTuple

from remit.errors import UsageError
from remit.orchestrate.framing import neutral
from remit.store import jobs, plans
from remit.store.database import Database
from remit.store.transcript import Transcript


class Given(NamedTuple):
    """An answer that was given: the plan it belongs to, and what to do next, in words."""

    plan: int
    next_action: str


async def give_answer(database: Database, escalation: int, verb: str, words: str) -> Given:
    """Answer a question of a plan, which goes on when it is resumed, or of an orchestrator. What to do next."""
    asked = next((one for one in await plans.escalations(database) if one.id == escalation), None)
    plan = await plans.get_plan(database, asked.plan) if asked is not None else None
    question = re.match(r"question-(\d+)-", plan.digest) if plan is not None else None
    if question is None:
        number = await plans.answer(database, escalation, verb, words)
        return Given(number, f"answered; `remit plan --resume {number}` goes on")
    job = int(question[1])
    # First the conversation, then the question: should one fail, the other is still open.
    if not await hand_on(database, job, verb, words):
        raise UsageError(f"job {job} is not waiting for an answer yet; answer again when it has ended its turn")
    number = await plans.answer(database, escalation, verb, words)
    await plans.set_state(database, number, "finished", verb)
    return Given(number, f"answered; `remit worker` goes on with job {job}, `remit logs -f {job}` shows it")


async def hand_on(database: Database, job: int, verb: str, words: str) -> bool:
    """Give an answer to the job that asked; False: it still runs, or is over for another reason."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

    messages = await Transcript(database, job, 0).messages()
    said = neutral(words) if words else verb
    request = ModelRequest(parts=[UserPromptPart(f"The user answers your question: {said}")])
    data = ModelMessagesTypeAdapter.dump_json([request])[1:-1]
    return await jobs.reopen(database, job, len(messages), data)
