"""Continue a completed job: send it a correction, or an answer, as the next message of its conversation."""

from __future__ import annotations

from remit.contract.feedback import correction_text
from remit.store import jobs
from remit.store.database import Database
from remit.store.jobs import Message
from remit.store.transcript import Transcript


async def correct(database: Database, job: int, queue: str | None = None) -> bool:
    """Send the violations of a completed job's last result back to it. Return False if that was already done."""
    text = correction_text(await jobs.violations_of(database, job))
    return await jobs.reopen(database, await next_message(database, job, text), queue)


async def next_message(database: Database, job: int, text: str) -> Message:
    """Return a text as the next message of a job's transcript."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

    messages = await Transcript(database, job, 0).messages()
    request = ModelRequest(parts=[UserPromptPart(text)])
    return Message(job, len(messages), ModelMessagesTypeAdapter.dump_json([request])[1:-1])
