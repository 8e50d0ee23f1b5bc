"""A user's answer to an orchestrator: it goes on with it, in the same conversation."""

from __future__ import annotations

import re

from remit.orchestrate.framing import neutral
from remit.store import jobs, plans
from remit.store.database import Database
from remit.store.transcript import Transcript


async def hand_on(database: Database, plan: int, verb: str, words: str) -> bool:
    """Give an answer to the job that asked; False: it was a plan's question, and the plan goes on by itself."""
    row = await plans.get_plan(database, plan)
    asked = re.match(r"question-(\d+)-", row.digest)
    if asked is None:
        return False
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

    job = int(asked[1])
    messages = await Transcript(database, job, 0).messages()
    said = neutral(words) if words else verb
    request = ModelRequest(parts=[UserPromptPart(f"The user answers your question: {said}")])
    data = ModelMessagesTypeAdapter.dump_json([request])[1:-1]
    await plans.set_state(database, plan, "finished", verb)
    return await jobs.reopen(database, job, len(messages), data)
