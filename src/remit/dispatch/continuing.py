"""A message with which a conversation that has ended goes on."""

from __future__ import annotations

from remit.store.database import Database
from remit.store.jobs import Message
from remit.store.transcript import Transcript


async def next_message(database: Database, job: int, said: str) -> Message:
    """What is said to a job, as the next message of its transcript."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

    messages = await Transcript(database, job, 0).messages()
    request = ModelRequest(parts=[UserPromptPart(said)])
    return Message(job, len(messages), ModelMessagesTypeAdapter.dump_json([request])[1:-1])
