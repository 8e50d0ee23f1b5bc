"""Continue a finished job: send it a correction, or an answer, as the next message of its conversation."""

from __future__ import annotations

from remit.contract.feedback import correction_text
from remit.errors import UsageError
from remit.failure_policy import can_correct
from remit.store import jobs
from remit.store.database import Database
from remit.store.jobs import Message
from remit.store.transcript import Transcript


async def correct(database: Database, job: int, queue: str | None = None) -> bool:
    """Send the violations of a completed job's last result back to it. Return False if that was already done."""
    text = correction_text(await jobs.violations_of(database, job))
    return await jobs.reopen(database, await next_message(database, job, text), queue)


async def retry(database: Database, job: int) -> str:
    """Continue a job that did not complete, or ask for the correction of a result that was `revise`.

    Return what it will do, as an addition to a sentence. Raises UsageError if there is nothing to continue.
    """
    found = await jobs.get(database, job)
    if found.outcome != "completed" or found.verdict == "accept":
        await jobs.retry(database, job)
        return ""
    submissions = len(await database.rows("transcript.results", job=job))
    if found.verdict != "revise" or not can_correct(submissions):
        why = f"its result is final ({found.verdict})" if found.verdict else "it is completed"
        raise UsageError(f"job {job} cannot be retried: {why}")
    if not await correct(database, job):
        raise UsageError(f"job {job} was already asked for the correction")
    return " to correct its result"


async def next_message(database: Database, job: int, text: str) -> Message:
    """Return a text as the next message of a job's transcript."""
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    from remit.dispatch.stored_messages import stored_json

    messages = await Transcript(database, job, 0).messages()
    request = ModelRequest(parts=[UserPromptPart(text)])
    return Message(job, len(messages), stored_json(request, is_redacting=False))
