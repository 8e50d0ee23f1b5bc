"""One correction: the violations with their help go back into the same conversation."""

from __future__ import annotations

from remit.contract.feedback import correction_text
from remit.store import jobs
from remit.store.database import Database
from remit.store.jobs import Message
from remit.store.transcript import Transcript


async def correct(database: Database, job: int, queue: str | None = None) -> bool:
    """Send a completed job's last result back with what is wrong; False: that has been done already."""
    told = correction_text(await jobs.violations_of(database, job))
    return await jobs.reopen(database, await next_message(database, job, told), queue)


async def next_message(database: Database, job: int, said: str) -> Message:
    """What is said to a job, as the next message of its transcript."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

    messages = await Transcript(database, job, 0).messages()
    request = ModelRequest(parts=[UserPromptPart(said)])
    return Message(job, len(messages), ModelMessagesTypeAdapter.dump_json([request])[1:-1])
